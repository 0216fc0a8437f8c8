//! The small tables of an export: who wrote it, processes, GPUs, streams, and what the profiler said of itself.
//!
//! Command lines are never selected, nor is anything of the captured environment and of the program's output here.

use foldhash::{HashMap, HashSet};
use rusqlite::Connection;

use super::database::{Cells, Schema};
use crate::text::{cut, paths};
use crate::timeline::{DeviceProperties, NoticeLevel, Source, StreamKind};

/// Messages kept; a capture that failed a thousand times has said enough.
const MAX_MESSAGES: usize = 1_000;
/// Rows of each of these tables: far more than a machine has processes, contexts or streams.
const MAX_ROWS: u64 = 1_000_000;
/// Bytes of one message, and of the names of processes and GPUs.
const MAX_TEXT_BYTES: usize = 600;

/// What the small tables say.
#[derive(Debug, Default)]
pub(super) struct Info {
    pub(super) source: Source,
    /// Executables by process key.
    pub(super) process_names: HashMap<i64, String>,
    /// GPUs by their id in the report.
    pub(super) gpus: Vec<Gpu>,
    /// The number of each GPU by its id in the report, where the two may differ.
    pub(super) gpu_numbers: HashMap<i64, i64>,
    /// (pid, CUDA ordinal) to GPU id.
    pub(super) ordinals: HashMap<(i64, i64), i64>,
    /// (pid, context, stream) to kind.
    pub(super) streams: HashMap<(i64, i64, i64), StreamKind>,
    /// (pid, context) to the number of its legacy default stream.
    pub(super) default_streams: HashMap<(i64, i64), i64>,
    /// (pid, context) to CUDA ordinal.
    pub(super) contexts: HashMap<(i64, i64), i64>,
    /// What the profiler said of its capture, each once.
    pub(super) messages: Vec<(NoticeLevel, String)>,
}

/// One row of the table of GPUs.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) id: i64,
    /// The CUDA ordinal, as the profiler saw it.
    pub(super) ordinal: Option<i64>,
    pub(super) properties: DeviceProperties,
}

/// Reads them all.
pub(super) fn read(db: &Connection, schema: &Schema) -> rusqlite::Result<Info> {
    let reader = Reader { db, schema };
    let mut info = Info::default();
    reader.source(&mut info)?;
    reader.rows("PROCESSES", &["globalPid", "name"], |cells| {
        if let (Some(key), Some(name)) = (cells.int(0), cells.text(1)) {
            info.process_names.insert(key >> 24, shortened(paths::file_name(name)).to_owned());
        }
    })?;
    reader.streams(&mut info)?;
    reader.messages(&mut info)?;
    Ok(info)
}

/// Whether a table is there and holds a row.
pub(super) fn has_rows(db: &Connection, schema: &Schema, table: &str) -> rusqlite::Result<bool> {
    if !schema.has(table) {
        return Ok(false);
    }
    db.query_row(&format!("SELECT EXISTS (SELECT 1 FROM \"{table}\")"), [], |row| row.get(0))
}

pub(super) struct Reader<'db> {
    pub(super) db: &'db Connection,
    pub(super) schema: &'db Schema,
}

impl Reader<'_> {
    pub(super) fn rows(&self, table: &str, columns: &[&str], take: impl FnMut(&Cells<'_>)) -> rusqlite::Result<()> {
        if !self.schema.has(table) {
            return Ok(());
        }
        self.schema.each(self.db, &self.schema.select(table, columns), MAX_ROWS, take)
    }

    fn source(&self, info: &mut Info) -> rusqlite::Result<()> {
        for table in ["META_DATA_EXPORT", "EXPORT_META_DATA"] {
            self.rows(table, &["name", "value"], |cells| {
                let value = || cells.text(1).map(shortened).map(str::to_owned);
                match cells.text(0) {
                    Some("EXPORT_PRODUCT_VERSION") => info.source.product_version = value(),
                    Some("EXPORT_SCHEMA_VERSION") => info.source.schema_version = value(),
                    _ => {}
                }
            })?;
        }
        // The other rows of this table hold command lines and the environment.
        const CAPTURE: &str = "META_DATA_CAPTURE";
        if self.schema.has_column(CAPTURE, "name") && self.schema.has_column(CAPTURE, "value") {
            // Neither DISTINCT nor ORDER BY: SQLite would keep all texts until it has the last.
            let sql = "SELECT value FROM META_DATA_CAPTURE WHERE name = 'CAPTURE_EVENT_TYPE'";
            self.schema.each(self.db, sql, MAX_ROWS, |cells| {
                if let Some(kind) = cells.text(0) {
                    *info.source.cuda_requested.get_or_insert_default() |= kind == "Cuda";
                }
            })?;
        }
        Ok(())
    }

    fn streams(&self, info: &mut Info) -> rusqlite::Result<()> {
        self.rows("TARGET_INFO_CUDA_STREAM", &["processId", "contextId", "streamId", "flag"], |cells| {
            if let (Some(pid), Some(context), Some(stream)) = (cells.int(0), cells.int(1), cells.int(2)) {
                let kind = match cells.int(3) {
                    Some(1) => StreamKind::Blocking,
                    Some(2) => StreamKind::NonBlocking,
                    Some(3) => StreamKind::Default,
                    _ => StreamKind::Unknown,
                };
                info.streams.insert((pid, context, stream), kind);
            }
        })?;
        self.rows("TARGET_INFO_CUDA_NULL_STREAM", &["processId", "contextId", "streamId"], |cells| {
            if let (Some(pid), Some(context), Some(stream)) = (cells.int(0), cells.int(1), cells.int(2)) {
                info.default_streams.insert((pid, context), stream);
            }
        })?;
        self.rows("TARGET_INFO_CUDA_CONTEXT_INFO", &["processId", "contextId", "nullStreamId", "deviceId"], |cells| {
            let (Some(pid), Some(context)) = (cells.int(0), cells.int(1)) else { return };
            if let Some(stream) = cells.int(2) {
                info.default_streams.insert((pid, context), stream);
            }
            if let Some(ordinal) = cells.int(3) {
                info.contexts.insert((pid, context), ordinal);
            }
        })
    }

    fn messages(&self, info: &mut Info) -> rusqlite::Result<()> {
        let mut known = HashSet::default();
        self.rows("DIAGNOSTIC_EVENT", &["severity", "text"], |cells| {
            let level = match cells.int(0) {
                Some(3) => NoticeLevel::Error,
                Some(2) => NoticeLevel::Warning,
                Some(1) => NoticeLevel::Info,
                _ => return,
            };
            let Some(text) = cells.text(1).map(shortened) else { return };
            if info.messages.len() < MAX_MESSAGES && known.insert(text.to_owned()) {
                info.messages.push((level, text.to_owned()));
            }
        })
    }
}

/// The beginning of a long text, cut between characters.
pub(super) fn shortened(text: &str) -> &str {
    cut::to_bytes(text, MAX_TEXT_BYTES)
}
