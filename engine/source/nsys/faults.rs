//! GPU page faults of unified memory.

use rusqlite::Connection;

use super::database::Schema;
use super::ids::process_key;
use crate::timeline::builder::Builder;

/// Tells the builder of the page faults. Rows name the CUDA ordinal of their process.
pub(super) fn read(db: &Connection, schema: &Schema, builder: &mut Builder) -> rusqlite::Result<()> {
    const TABLE: &str = "CUDA_UM_GPU_PAGE_FAULT_EVENTS";
    if !schema.has(TABLE) {
        return Ok(());
    }
    let sql = schema.select(TABLE, &["globalPid", "deviceId", "numberOfPageFaults"]);
    schema.each(db, &sql, u64::MAX, |cells| {
        if let Some(ordinal) = cells.int(1) {
            let count = cells.int(2).unwrap_or(0).clamp(0, i64::from(u32::MAX));
            builder.page_faults(cells.int(0).map(process_key), ordinal, count);
        }
    })
}
