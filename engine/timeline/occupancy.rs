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

/// What an SM holds: warps, blocks, registers, and KiB of shared memory.
type Limits = (i64, i64, i64, i64);

/// The limits of an SM by compute capability (CUDA C++ Programming Guide, technical specifications per compute capability).
const LIMITS: [((i64, i64), Limits); 11] = [
    ((5, 0), (64, 32, 65_536, 64)),
    ((5, 2), (64, 32, 65_536, 96)),
    ((6, 0), (64, 32, 65_536, 64)),
    ((6, 1), (64, 32, 65_536, 96)),
    ((7, 0), (64, 32, 65_536, 96)),
    ((7, 5), (32, 16, 65_536, 64)),
    ((8, 0), (64, 32, 65_536, 164)),
    ((8, 6), (48, 16, 65_536, 100)),
    ((8, 7), (48, 16, 65_536, 164)),
    ((8, 9), (48, 24, 65_536, 100)),
    ((9, 0), (64, 32, 65_536, 228)),
];

/// Fills in the limits of an SM where a recording tells none of them, and the compute capability is known.
pub(crate) fn fill_limits(properties: &mut DeviceProperties) {
    let told = [
        properties.max_warps_per_sm,
        properties.max_blocks_per_sm,
        properties.registers_per_sm,
        properties.shared_memory_per_sm_bytes,
    ];
    let limits = LIMITS.iter().find(|(capability, _)| properties.compute_capability == Some(*capability));
    if let Some((_, (warps, blocks, registers, shared_kib))) = limits.filter(|_| told.iter().all(Option::is_none)) {
        properties.max_warps_per_sm = Some(*warps);
        properties.max_blocks_per_sm = Some(*blocks);
        properties.registers_per_sm = Some(*registers);
        properties.shared_memory_per_sm_bytes = Some(shared_kib * 1_024);
    }
}

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
    fn limits_that_are_not_told_are_those_of_the_generation() {
        let of = |capability| DeviceProperties { compute_capability: capability, ..DeviceProperties::default() };
        let mut turing = of(Some((7, 5)));
        fill_limits(&mut turing);
        let narrow = theoretical(&turing, geometry(32, 40, 0)).expect("known");
        assert_eq!((narrow.blocks_per_sm, narrow.share, narrow.limiter), (16, 0.5, "blocks"));
        let mut ampere = of(Some((8, 0)));
        fill_limits(&mut ampere);
        assert_eq!(ampere, a100());
        let mut told = DeviceProperties { max_warps_per_sm: Some(48), ..of(Some((8, 0))) };
        fill_limits(&mut told);
        assert_eq!(told.registers_per_sm, None);
        let mut unknown = of(None);
        fill_limits(&mut unknown);
        assert_eq!(unknown, of(None));
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
