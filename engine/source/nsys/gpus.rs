//! The tables of GPUs: that of today, that of the exporters of 2020 and 2021, and what is known of a GPU by its name.

use std::collections::BTreeMap;

use foldhash::HashMap;
use rusqlite::Connection;

use super::database::{Cells, Schema};
use super::info::{Gpu, Info, Reader, shortened};
use crate::timeline::{DeviceProperties, occupancy};

/// Rows of the table of GPUs.
const MAX_GPUS: usize = 1_024;
/// No GPU has more SMs, warps, blocks, registers or bytes of shared memory for each.
const MAX_OF_A_GPU: i64 = 1 << 24;
/// The old table has the bandwidth in kB/s. No GPU reads less than this many bytes a second, nor so many kB.
const LEAST_BANDWIDTH: i64 = 5_000_000_000;

/// Reads them all.
pub(super) fn read(db: &Connection, schema: &Schema, info: &mut Info) -> rusqlite::Result<()> {
    let reader = &Reader { db, schema };
    of_today(reader, info)?;
    of_2021(reader, info)?;
    info.gpus.sort_by_key(|gpu| gpu.id);
    info.gpus.iter_mut().for_each(|gpu| {
        by_name(&mut gpu.properties);
        occupancy::fill_limits(&mut gpu.properties);
    });
    reader.rows("TARGET_INFO_CUDA_DEVICE", &["pid", "cudaId", "gpuId", "numMultiprocessors"], |cells| {
        let (Some(pid), Some(ordinal), Some(id)) = (cells.int(0), cells.int(1), cells.int(2)) else { return };
        info.ordinals.insert((pid, ordinal), id);
        // A process that sees fewer SMs than the GPU has works on a part of it.
        let gpu = info.gpus.iter_mut().find(|gpu| gpu.id == id);
        if let (Some(gpu), Some(count)) = (gpu, positive(cells, 3))
            && gpu.properties.sm_count.is_none_or(|all| count < all)
        {
            gpu.properties.is_partition |= gpu.properties.sm_count.is_some();
            gpu.properties.sm_count = Some(count);
        }
    })?;
    let places = bus_places(reader)?;
    renumber(info, &places);
    Ok(())
}

/// Where each GPU sits on the bus, by its id; empty where a place is not known, or holds several, as parts of a GPU do.
fn bus_places(reader: &Reader<'_>) -> rusqlite::Result<BTreeMap<String, i64>> {
    let (mut places, mut is_whole) = (BTreeMap::new(), true);
    reader.rows("TARGET_INFO_GPU", &["id", "busLocation"], |cells| {
        let place = cells.text(1).filter(|place| !place.is_empty() && places.len() < MAX_GPUS);
        let is_new = cells
            .int(0)
            .zip(place)
            .is_some_and(|(id, place)| places.insert(shortened(place).to_ascii_lowercase(), id).is_none());
        is_whole &= is_new;
    })?;
    Ok(if is_whole { places } else { BTreeMap::new() })
}

/// Numbers GPUs as CUDA does; in the order of the bus, as `nvidia-smi` does, where processes see them under different numbers. The
/// profiler has an order of its own.
fn renumber(info: &mut Info, places: &BTreeMap<String, i64>) {
    let by_cuda: BTreeMap<i64, i64> = info.gpus.iter().filter_map(|gpu| Some((gpu.ordinal?, gpu.id))).collect();
    let is_whole = by_cuda.len() == info.gpus.len() && by_cuda.keys().copied().eq((0..).take(by_cuda.len()));
    let in_order: Vec<i64> =
        if is_whole { by_cuda.into_values().collect() } else { places.values().copied().collect() };
    let numbers: HashMap<i64, i64> = in_order.into_iter().zip(0..).collect();
    if numbers.len() != info.gpus.len() || info.gpus.iter().any(|gpu| !numbers.contains_key(&gpu.id)) {
        return;
    }
    let number = |id: &mut i64| *id = numbers.get(id).copied().unwrap_or(*id);
    info.gpus.iter_mut().for_each(|gpu| number(&mut gpu.id));
    info.ordinals.values_mut().for_each(number);
    info.gpus.sort_by_key(|gpu| gpu.id);
    info.gpu_numbers = numbers;
}

/// What a GPU cannot have is not known; products of these stay far from overflow.
fn positive(cells: &Cells<'_>, column: usize) -> Option<i64> {
    cells.int(column).filter(|value| (1..=MAX_OF_A_GPU).contains(value))
}

fn name(cells: &Cells<'_>, column: usize) -> Option<String> {
    cells.text(column).map(shortened).map(str::to_owned)
}

fn of_today(reader: &Reader<'_>, info: &mut Info) -> rusqlite::Result<()> {
    const COLUMNS: [&str; 15] = [
        "id",
        "cuDevice",
        "name",
        "smCount",
        "computeMajor",
        "computeMinor",
        "memoryBandwidth",
        "totalMemory",
        "maxWarpsPerSm",
        "maxBlocksPerSm",
        "maxRegistersPerSm",
        "maxShmemPerSm",
        "isDiscrete",
        "deviceId",
        "asyncEngines",
    ];
    reader.rows("TARGET_INFO_GPU", &COLUMNS, |cells| {
        let properties = DeviceProperties {
            name: name(cells, 2),
            sm_count: positive(cells, 3),
            compute_capability: positive(cells, 4).zip(cells.int(5)),
            memory_bandwidth: cells.int(6).filter(|value| *value > 0),
            total_memory_bytes: cells.int(7).filter(|value| *value > 0),
            max_warps_per_sm: positive(cells, 8),
            max_blocks_per_sm: positive(cells, 9),
            registers_per_sm: positive(cells, 10),
            shared_memory_per_sm_bytes: positive(cells, 11),
            copy_engine_count: positive(cells, 14),
            is_integrated: cells.int(12).map(|is_discrete| is_discrete == 0),
            is_partition: false,
        };
        // The first exports with this table have the CUDA ordinal in place of an id.
        if let Some(id) = cells.int(0).or_else(|| cells.int(13))
            && info.gpus.len() < MAX_GPUS
        {
            info.gpus.push(Gpu { id, ordinal: cells.int(1), properties });
        }
    })
}

/// One row a process and CUDA ordinal. What the newer table says counts first.
fn of_2021(reader: &Reader<'_>, info: &mut Info) -> rusqlite::Result<()> {
    const COLUMNS: [&str; 13] = [
        "deviceId",
        "name",
        "numMultiprocessors",
        "computeCapabilityMajor",
        "computeCapabilityMinor",
        "globalMemoryBandwidth",
        "globalMemorySize",
        "maxWarpsPerMultiprocessor",
        "maxBlocksPerMultiprocessor",
        "maxRegistersPerMultiprocessor",
        "maxSharedMemoryPerMultiprocessor",
        "id",
        "memoryBandwidth",
    ];
    reader.rows("TARGET_INFO_CUDA_GPU", &COLUMNS, |cells| {
        let Some(id) = cells.int(0).or_else(|| cells.int(11)) else { return };
        let bandwidth = cells.int(5).or_else(|| cells.int(12)).filter(|value| *value > 0);
        let in_bytes = |value: i64| if value < LEAST_BANDWIDTH { value.saturating_mul(1_000) } else { value };
        let properties = DeviceProperties {
            name: name(cells, 1),
            sm_count: positive(cells, 2),
            compute_capability: positive(cells, 3).zip(cells.int(4)),
            memory_bandwidth: bandwidth.map(in_bytes),
            total_memory_bytes: cells.int(6).filter(|value| *value > 0),
            max_warps_per_sm: positive(cells, 7),
            max_blocks_per_sm: positive(cells, 8),
            registers_per_sm: positive(cells, 9),
            shared_memory_per_sm_bytes: positive(cells, 10),
            ..DeviceProperties::default()
        };
        if let Some(gpu) = info.gpus.iter_mut().find(|gpu| gpu.id == id) {
            complete(&mut gpu.properties, properties);
        } else if info.gpus.len() < MAX_GPUS {
            info.gpus.push(Gpu { id, ordinal: Some(id), properties });
        }
    })
}

/// Fills in what is not known.
fn complete(known: &mut DeviceProperties, other: DeviceProperties) {
    known.name = known.name.take().or(other.name);
    known.sm_count = known.sm_count.or(other.sm_count);
    known.compute_capability = known.compute_capability.or(other.compute_capability);
    known.memory_bandwidth = known.memory_bandwidth.or(other.memory_bandwidth);
    known.total_memory_bytes = known.total_memory_bytes.or(other.total_memory_bytes);
    known.max_warps_per_sm = known.max_warps_per_sm.or(other.max_warps_per_sm);
    known.max_blocks_per_sm = known.max_blocks_per_sm.or(other.max_blocks_per_sm);
    known.registers_per_sm = known.registers_per_sm.or(other.registers_per_sm);
    known.shared_memory_per_sm_bytes = known.shared_memory_per_sm_bytes.or(other.shared_memory_per_sm_bytes);
}

/// A product: words that its name ends in, how many SMs it has, and its compute capability.
type Product = (&'static str, i64, (i64, i64));

/// Products whose name tells how many SMs they have, by NVIDIA's data sheets. The first that fits counts.
const PRODUCTS: [Product; 40] = [
    ("P100", 56, (6, 0)),
    ("GTX 1080 Ti", 28, (6, 1)),
    ("GTX 1080", 20, (6, 1)),
    ("GTX 1070", 15, (6, 1)),
    ("GTX 1060 6GB", 10, (6, 1)),
    ("GTX 1050 Ti", 6, (6, 1)),
    ("TITAN Xp", 30, (6, 1)),
    ("V100", 80, (7, 0)),
    ("TITAN V", 80, (7, 0)),
    ("TITAN RTX", 72, (7, 5)),
    ("Quadro RTX 8000", 72, (7, 5)),
    ("Quadro RTX 6000", 72, (7, 5)),
    ("RTX 2080 Ti", 68, (7, 5)),
    ("RTX 2080 SUPER", 48, (7, 5)),
    ("RTX 2080", 46, (7, 5)),
    ("RTX 2070 SUPER", 40, (7, 5)),
    ("RTX 2070", 36, (7, 5)),
    ("RTX 2060 SUPER", 34, (7, 5)),
    ("GTX 1660 Ti", 24, (7, 5)),
    ("GTX 1660 SUPER", 22, (7, 5)),
    ("GTX 1660", 22, (7, 5)),
    ("Tesla T4", 40, (7, 5)),
    ("A100", 108, (8, 0)),
    ("A40", 84, (8, 6)),
    ("A10", 72, (8, 6)),
    ("RTX A6000", 84, (8, 6)),
    ("RTX A5000", 64, (8, 6)),
    ("RTX A4000", 48, (8, 6)),
    ("RTX 3090 Ti", 84, (8, 6)),
    ("RTX 3090", 82, (8, 6)),
    ("RTX 3080 Ti", 80, (8, 6)),
    ("RTX 3070 Ti", 48, (8, 6)),
    ("RTX 3070", 46, (8, 6)),
    ("RTX 3060 Ti", 38, (8, 6)),
    ("L40S", 142, (8, 9)),
    ("L40", 142, (8, 9)),
    ("L4", 58, (8, 9)),
    ("RTX 4090", 128, (8, 9)),
    ("H100 PCIe", 114, (9, 0)),
    ("H100", 132, (9, 0)),
];

/// Fills in what the name of a product tells. Laptop GPUs and parts of a GPU (MIG) have fewer SMs.
fn by_name(properties: &mut DeviceProperties) {
    let Some(name) = properties.name.as_deref() else { return };
    properties.is_partition |= name.split_whitespace().any(|word| word == "MIG");
    if properties.sm_count.is_some() || properties.is_partition || name.contains("Laptop") || name.contains("Max-Q") {
        return;
    }
    let is_one = |(product, _, _): &&Product| {
        let rest = name.split_once(product).map(|(_, rest)| rest);
        let is_other = |rest: &str| rest.starts_with(" Ti") || rest.starts_with(" SUPER");
        rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with([' ', '-']) && !is_other(rest)))
    };
    if let Some((_, sm_count, capability)) = PRODUCTS.iter().find(is_one) {
        properties.sm_count = Some(*sm_count);
        properties.compute_capability = properties.compute_capability.or(Some(*capability));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sm_count(name: &str) -> Option<i64> {
        let mut properties = DeviceProperties { name: Some(name.to_owned()), ..DeviceProperties::default() };
        by_name(&mut properties);
        properties.sm_count
    }

    #[test]
    fn names_tell_sm_counts_of_whole_desktop_products() {
        for (name, count) in [
            ("Tesla V100-PCIE-32GB", Some(80)),
            ("NVIDIA A100-SXM4-80GB", Some(108)),
            ("NVIDIA H100 PCIe", Some(114)),
            ("NVIDIA GeForce RTX 3090", Some(82)),
            ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
            ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
            ("NVIDIA A1000", None),
            ("NVIDIA GeForce RTX 3070 Ti", Some(48)),
            // On a desktop it has 14 SMs, in a laptop 16, under one name.
            ("GeForce GTX 1650", None),
            ("GeForce GTX 1660 SUPER", Some(22)),
            ("Xavier", None),
        ] {
            assert_eq!(sm_count(name), count, "{name}");
        }
    }

    #[test]
    fn gpus_are_numbered_as_cuda_does_or_as_they_sit_on_the_bus() {
        let gpu = |id, ordinal| Gpu { id, ordinal, properties: DeviceProperties::default() };
        let mut info = Info { gpus: vec![gpu(0, Some(1)), gpu(1, Some(0))], ..Info::default() };
        renumber(&mut info, &BTreeMap::new());
        assert_eq!(info.gpu_numbers, HashMap::from_iter([(1, 0), (0, 1)]));
        let gpu = |id| gpu(id, Some(0));
        let mut info = Info { gpus: vec![gpu(0), gpu(1)], ..Info::default() };
        info.ordinals.insert((7, 0), 1);
        let places = |of: &[(&str, i64)]| of.iter().map(|(place, id)| ((*place).to_owned(), *id)).collect();
        renumber(&mut info, &places(&[("0000:01:00.0", 1)]));
        assert_eq!(info.ordinals[&(7, 0)], 1);
        renumber(&mut info, &places(&[("0000:41:00.0", 0), ("0000:01:00.0", 1)]));
        assert_eq!(info.ordinals[&(7, 0)], 0);
        assert_eq!(info.gpu_numbers, HashMap::from_iter([(1, 0), (0, 1)]));
    }

    #[test]
    fn what_is_known_is_not_overwritten() {
        let mut known = DeviceProperties { sm_count: Some(40), ..DeviceProperties::default() };
        complete(
            &mut known,
            DeviceProperties { sm_count: Some(80), memory_bandwidth: Some(1), ..DeviceProperties::default() },
        );
        assert_eq!((known.sm_count, known.memory_bandwidth), (Some(40), Some(1)));
    }
}
