//! GPU page faults of unified memory.

use std::collections::BTreeMap;

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::database::{Cells, Schema};
use crate::timeline::{PageFaults, Timeline};

/// GPU page faults of unified memory, by device.
pub(super) fn page_faults(db: &Connection, schema: &Schema, timeline: &Timeline) -> rusqlite::Result<Vec<PageFaults>> {
    const TABLE: &str = "CUDA_UM_GPU_PAGE_FAULT_EVENTS";
    let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
    if !schema.has(TABLE) {
        return Ok(Vec::new());
    }
    // Rows name the CUDA ordinal of their process. By process and ordinal, or by the ordinal alone.
    let mut used: FxHashMap<(Option<i64>, i64), u32> = FxHashMap::default();
    for stream in &timeline.streams {
        let process = timeline.processes.get(stream.process as usize).map(|process| process.key);
        used.entry((process, stream.ordinal)).or_insert(stream.device);
        used.entry((None, stream.ordinal)).or_insert(stream.device);
    }
    let mut statement = db.prepare(&schema.select(TABLE, &["globalPid", "deviceId", "numberOfPageFaults"]))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = Cells(row);
        let process = cells.int(0).map(|key| key >> 24);
        let device = cells.int(1).and_then(|ordinal| used.get(&(process, ordinal)));
        if let Some(device) = device {
            let count = counts.entry(*device).or_default();
            *count = count.saturating_add(cells.int(2).unwrap_or(0).clamp(0, i64::from(u32::MAX)));
        }
    }
    Ok(counts.into_iter().map(|(device, count)| PageFaults { device, count }).collect())
}
