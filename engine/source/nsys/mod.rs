//! Nsight Systems: the SQLite export, and `.nsys-rep` through the user's own `nsys export`.
//!
//! Tables and columns are probed, never assumed: exporters from 2020 on differ, and a missing table is a missing fact.

mod aggregate;
mod callchains;
mod database;
mod describe;
mod faults;
mod frames;
mod info;
mod metrics;
mod notices;
pub(super) mod rep;
mod rows;
mod scan;
mod strings;

use std::path::Path;

use super::{Progress, ReadError, ReadOptions};
use crate::parallel::Threads;
use crate::timeline::Timeline;
use crate::timeline::builder::Builder;
use crate::timeline::columns::OverheadKind;

/// Reads a SQLite export.
///
/// # Errors
/// When the file is no export of Nsight Systems, or is damaged.
pub(super) fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Timeline, ReadError> {
    database::check_length(path)?;
    let threads = Threads::new(options.threads);
    let not_a_report = |found: &str| ReadError::NotAReport {
        path: path.display().to_string(),
        found: found.to_owned(),
        way_out: "Export the report with: nsys export --type sqlite FILE.nsys-rep".to_owned(),
    };
    match read_database(path, threads, options, progress) {
        Ok(Content::Report(timeline)) => Ok(*timeline),
        Ok(Content::Foreign) => {
            Err(not_a_report("is a SQLite database, but none that Nsight Systems exports: it has none of its tables"))
        }
        Ok(Content::Disguised(what)) => {
            Err(not_a_report(&format!("has {what} where an export has an ordinary table, and is not read")))
        }
        Err(error) => Err(ReadError::Damaged { path: path.display().to_string(), detail: error.to_string() }),
    }
}

/// A bare scan of the columns that reading takes.
pub(super) fn scan_floor(path: &Path) -> rusqlite::Result<u64> {
    let db = database::open(path, &database::Budget::of(path))?;
    scan::floor(&db, &database::Schema::probe(&db)?)
}

/// What a database turns out to be.
enum Content {
    Report(Box<Timeline>),
    /// None of the tables of an export.
    Foreign,
    /// Something else, in these words, under the name of a table.
    Disguised(String),
}

fn read_database(
    path: &Path,
    threads: Threads,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> rusqlite::Result<Content> {
    let limits = &options.limits;
    let db = database::open(path, &database::Budget::of(path))?;
    let schema = database::Schema::probe(&db)?;
    if let Some(what) = schema.disguised() {
        return Ok(Content::Disguised(what.to_owned()));
    }
    if !schema.is_nsys() {
        return Ok(Content::Foreign);
    }
    let info = info::read(&db, &schema)?;
    let mut builder = Builder::new(*limits);
    let has_echoes = callchains::has_echoes(&db, &schema)?;
    let scan_options = scan::Options { threads, limits, progress, has_echoes };
    let beyond_limit = scan::scan(path, &db, &schema, &scan_options, |chunk| builder.take(chunk))?;
    builder.skip_rows(beyond_limit);
    strings::read(&db, &schema, &mut builder)?;
    describe::describe(&mut builder, &info);
    faults::read(&db, &schema, &mut builder)?;
    let mut timeline = builder.finish();
    load_libraries(&mut timeline);
    timeline.notices = notices::classify(&info.messages, timeline.gpu_op_count() == 0);
    timeline.source = info.source;
    timeline.metrics = metrics::read(&db, &schema)?;
    timeline.has_cpu_samples = info::has_rows(&db, &schema, "SAMPLING_CALLCHAINS")?;
    let located = callchains::locations(&db, &schema, &timeline, options.root.as_deref(), limits)?;
    timeline.call_locations = located.locations;
    timeline.reached.row_count += located.beyond;
    Ok(Content::Report(Box::new(timeline)))
}

/// The profiler files the loading of shared libraries under its overhead; the library would have been loaded without it.
fn load_libraries(timeline: &mut Timeline) {
    let Timeline { overheads, names, .. } = timeline;
    for (kind, name) in overheads.kind.iter_mut().zip(&overheads.name) {
        let name = names.get(*name);
        if *kind == OverheadKind::Profiler && (name.starts_with("dlopen") || name.starts_with("dlclose")) {
            *kind = OverheadKind::Load;
        }
    }
}
