//! Theoretical occupancy: how many blocks of a launch an SM can hold, and what limits them.
//!
//! The limits are the device's own; registers are given out by warp in units of 256, as on every GPU since Kepler, and
//! each block takes 1 KiB of shared memory more on compute capability 8.0 and later (CUDA occupancy calculator).

use super::{DeviceProperties, Geometry};

/// Kernels that a device runs at once, since compute capability 3.5 but for some small ones (CUDA C++ Programming Guide, technical
/// specifications per compute capability).
pub(crate) const MAX_KERNELS_AT_ONCE: usize = 128;
const WARP: i64 = 32;
const REGISTER_UNIT: i64 = 256;
const SHARED_UNIT: i64 = 128;
/// Parts of an SM with a scheduler and registers of their own.
const QUARTERS: i64 = 4;

/// What a launch geometry allows on one SM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Occupancy {
    pub(crate) blocks_per_sm: i64,
    /// Warps resident, against the most that fit.
    pub(crate) share: f64,
    /// What keeps the share under 1.
    pub(crate) limiter: &'static str,
}

/// `None` when a limit that is needed, or the geometry, is not known. Every kernel has registers: one without any is of a
/// recording that does not tell them.
pub(crate) fn theoretical(properties: &DeviceProperties, geometry: Geometry) -> Option<Occupancy> {
    let max_warps = properties.max_warps_per_sm?;
    // No GPU has blocks as large as this: a report that says so is not to be reckoned with.
    const ABSURD: i64 = 1 << 20;
    if !(1..ABSURD).contains(&geometry.block_threads) || !(1..ABSURD).contains(&max_warps) {
        return None;
    }
    let block_warps = (geometry.block_threads + WARP - 1) / WARP;
    let by_warps = max_warps / block_warps;
    let by_blocks = properties.max_blocks_per_sm;
    let by_registers = by_registers(properties, geometry, block_warps)?;
    let by_shared = by_shared(properties, geometry)?;
    let limits = [
        ("registers", by_registers),
        ("shared_memory", by_shared),
        ("blocks", by_blocks.unwrap_or(i64::MAX)),
        ("block_size", by_warps),
    ];
    let (limiter, blocks_per_sm) = limits.into_iter().min_by_key(|(_, blocks)| *blocks)?;
    let warps = blocks_per_sm.saturating_mul(block_warps);
    let share = (warps as f64 / max_warps as f64).min(1.0);
    Some(Occupancy { blocks_per_sm, share, limiter: if warps >= max_warps { "none" } else { limiter } })
}

fn by_registers(properties: &DeviceProperties, geometry: Geometry, block_warps: i64) -> Option<i64> {
    if geometry.registers <= 0 {
        return None;
    }
    let warp_registers = (geometry.registers.min(255) * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    // Each quarter of an SM hands out its own registers.
    Some(properties.registers_per_sm? / QUARTERS / warp_registers * QUARTERS / block_warps)
}

fn by_shared(properties: &DeviceProperties, geometry: Geometry) -> Option<i64> {
    let reserved = if properties.compute_capability.is_some_and(|(major, _)| major >= 8) { 1_024 } else { 0 };
    let asked = geometry.shared_memory_bytes.saturating_add(reserved);
    if asked <= 0 {
        return Some(i64::MAX);
    }
    let block_shared = (asked.saturating_add(SHARED_UNIT - 1)) / SHARED_UNIT * SHARED_UNIT;
    Some(properties.shared_memory_per_sm_bytes? / block_shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a100() -> DeviceProperties {
        DeviceProperties {
            compute_capability: Some((8, 0)),
            max_warps_per_sm: Some(64),
            max_blocks_per_sm: Some(32),
            registers_per_sm: Some(65_536),
            shared_memory_per_sm_bytes: Some(167_936),
            ..DeviceProperties::default()
        }
    }

    fn geometry(block_threads: i64, registers: i64, shared_memory_bytes: i64) -> Geometry {
        Geometry { grid_blocks: 1_000, block_threads, registers, shared_memory_bytes }
    }

    #[test]
    fn limits_as_in_the_occupancy_calculator() {
        let full = theoretical(&a100(), geometry(256, 32, 0)).expect("known");
        assert_eq!((full.blocks_per_sm, full.limiter), (8, "none"));
        let registers = theoretical(&a100(), geometry(256, 128, 0)).expect("known");
        assert_eq!((registers.blocks_per_sm, registers.share, registers.limiter), (2, 0.25, "registers"));
        let quarters = theoretical(&a100(), geometry(32, 144, 0)).expect("known");
        assert_eq!((quarters.blocks_per_sm, quarters.limiter), (12, "registers"));
        let quarters = theoretical(&a100(), geometry(96, 96, 0)).expect("known");
        assert_eq!(quarters.blocks_per_sm, 6);
        let shared = theoretical(&a100(), geometry(128, 32, 98_304)).expect("known");
        assert_eq!((shared.blocks_per_sm, shared.limiter), (1, "shared_memory"));
        let blocks = theoretical(&a100(), geometry(32, 16, 0)).expect("known");
        assert_eq!((blocks.blocks_per_sm, blocks.share, blocks.limiter), (32, 0.5, "blocks"));
        assert_eq!(theoretical(&DeviceProperties::default(), geometry(32, 16, 0)), None);
    }
}
