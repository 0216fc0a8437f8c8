//! Nsight Systems: the SQLite export, and `.nsys-rep` through the user's own `nsys export`.
//!
//! Tables and columns are probed, never assumed: exporters from 2020 on differ, and a missing table is a missing fact.

mod aggregate;
mod budget;
mod callchains;
mod capture;
mod cells;
mod collect;
mod compilers;
mod database;
mod describe;
mod faults;
mod frames;
mod gpus;
mod ids;
mod info;
mod lazy_loads;
mod metrics;
mod missing;
mod notices;
mod output;
mod output_place;
mod pages;
mod record;
pub(super) mod rep;
mod rows;
mod samples;
mod scan;
mod schema_size;
mod strings;
mod surroundings;
mod whose_stack;

use std::path::Path;

use foldhash::HashSet;

use super::format::{Format, Head, NearMiss, Reader};
use super::{Progress, ReadError, ReadOptions, Recording};
use crate::parallel::Threads;
use crate::timeline::builder::Builder;
use crate::timeline::columns::OverheadKind;
use crate::timeline::{GpuVendor, NONE, NameId, Source, Timeline};

const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
const EXPORT: &str = "Export the report with: nsys export --type sqlite FILE.nsys-rep";
const EXPORT_AGAIN: &str = "Export it again from the .nsys-rep: nsys export --type sqlite FILE.nsys-rep";

/// A report becomes an export when it is read.
pub(super) const FORMAT: Format = Format {
    id: "nsys-sqlite",
    name: "a SQLite export of Nsight Systems, or its .nsys-rep",
    profiler: "nsys",
    hint: EXPORT,
    reader,
    near_miss,
    capture: capture::command,
    script: capture::script,
};

fn reader(head: &[u8]) -> Option<Reader> {
    if head.starts_with(SQLITE_MAGIC) {
        return Some(read);
    }
    rep::is_rep(head).then_some(rep::read as Reader)
}

fn near_miss(head: Head<'_>) -> Option<NearMiss> {
    let (found, hint) = if !head.bytes.is_empty() && SQLITE_MAGIC.starts_with(head.bytes) {
        ("is cut off within its first bytes", EXPORT)
    } else if head.bytes.starts_with(b"U3w[END]NVIDIA Nsight Systems Stream") {
        (
            "is a raw recording of Nsight Systems (.qdstrm), which it could not turn into a report",
            "Do that with its importer: QdstrmImporter --input-file FILE.qdstrm",
        )
    } else if is_summary(head.bytes) {
        ("is a summary that nsys stats printed: sums, without the events that they are of", EXPORT)
    } else if !head.bytes.is_empty() && matches!(head.extension, "nsys-rep" | "qdrep") {
        ("is named as a report of Nsight Systems, but does not begin as one", "Copy it again from where it was made")
    } else {
        return None;
    };
    Some(NearMiss { found, hint })
}

/// Whether a text is what `nsys stats` prints, as a table or as CSV.
fn is_summary(bytes: &[u8]) -> bool {
    let has = |words: &[u8]| memchr::memmem::find(bytes, words).is_some();
    has(b"Total Time (ns)") && has(b"Time (%)")
}

/// Reads a SQLite export.
///
/// # Errors
/// When the file is no export of Nsight Systems, or is damaged.
fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Recording, ReadError> {
    database::check_whole(path)?;
    schema_size::check(path)?;
    let threads = Threads::new(options.threads);
    let not_a_report = |found: &str| ReadError::NotAReport {
        path: path.display().to_string(),
        found: found.to_owned(),
        hint: EXPORT.to_owned(),
    };
    match read_database(path, threads, options, progress) {
        Ok(Content::Report(timeline)) => Ok(Recording::Timeline(timeline)),
        Ok(Content::Foreign) => {
            Err(not_a_report("is a SQLite database, but none that Nsight Systems exports: it has none of its tables"))
        }
        Ok(Content::Disguised(what)) => {
            Err(not_a_report(&format!("has {what} where an export has an ordinary table, and is not read")))
        }
        Err(error) => Err(refused(path, &error)),
    }
}

/// Why a database was not read to its end. Nobody but the budget interrupts a statement.
fn refused(path: &Path, error: &rusqlite::Error) -> ReadError {
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) {
        return ReadError::GivenUp { path: path.display().to_string(), hint: EXPORT_AGAIN.to_owned() };
    }
    damaged(path, error.to_string())
}

fn damaged(path: &Path, detail: String) -> ReadError {
    ReadError::Damaged { path: path.display().to_string(), detail, hint: EXPORT_AGAIN.to_owned() }
}

/// The event tables, with the columns that are read of each.
pub(super) fn event_tables() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    rows::Table::ALL.into_iter().map(|table| (table.name(), table.columns()))
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
    let budget = budget::Budget::of(path);
    let db = database::open(path, &budget)?;
    let schema = database::Schema::probe(&db, budget)?;
    if let Some(what) = schema.disguised() {
        return Ok(Content::Disguised(what.to_owned()));
    }
    if !schema.is_nsys() {
        return Ok(Content::Foreign);
    }
    let mut info = info::read(&db, &schema)?;
    gpus::read(&db, &schema, &mut info)?;
    let mut builder = Builder::new(*limits);
    let has_echoes = callchains::has_echoes(&db, &schema)?;
    let scan_options = scan::Options { threads, limits, progress, has_echoes };
    let beyond_limit = scan::scan(path, &db, &schema, &scan_options, |chunk| builder.take_out_of(chunk))?;
    builder.skip_rows(beyond_limit);
    strings::read(&db, &schema, &mut builder)?;
    describe::describe(&mut builder, &info);
    faults::read(&db, &schema, &mut builder)?;
    let processes = builder.process_keys();
    let os_call_stacks = builder.take_os_call_stacks();
    let mut timeline = builder.finish_on(threads);
    load_libraries(&mut timeline);
    lazy_loads::tell(&mut timeline);
    timeline.notices = notices::classify(&info.messages, timeline.gpu_op_count() == 0);
    timeline.source = Source { format: Some(FORMAT.id), gpu_vendor: Some(GpuVendor::Nvidia), ..info.source };
    missing::tell(&mut timeline, threads);
    timeline.metrics = metrics::read(&db, &schema)?;
    for series in &mut timeline.metrics {
        series.gpu = info.gpu_numbers.get(&series.gpu).copied().unwrap_or(series.gpu);
    }
    timeline.has_cpu_samples = info::has_rows(&db, &schema, samples::CHAINS)?;
    samples::read(&db, &schema, &mut timeline, (&os_call_stacks, limits))?;
    timeline.surroundings = surroundings::read(&db, &schema, &processes, &timeline.names)?;
    timeline.surroundings.compiler_runs = compilers::read(&db, &schema, &mut timeline, limits)?;
    let located = callchains::locations(&db, &schema, &timeline, options.root.as_deref(), limits)?;
    timeline.call_locations = located.locations;
    timeline.reached.merged_name_count += timeline.call_locations.bound(timeline.devices.len());
    timeline.reached.row_count += located.beyond;
    Ok(Content::Report(Box::new(timeline)))
}

/// Libraries of the profiler, in the names of overhead rows.
const PROFILER_LIBRARIES: [&str; 2] = ["libcupti", "libToolsInjection"];

/// The profiler files the loading of shared libraries under its overhead; the library would have been loaded without it. What it
/// then does with one that is there already is its own, as are its own libraries.
fn load_libraries(timeline: &mut Timeline) {
    let overheads = &timeline.overheads;
    let mut in_order: Vec<usize> = (0..overheads.kind.len()).collect();
    in_order.sort_by_key(|row| overheads.times.at(*row).start);
    let mut loaded: HashSet<(u32, NameId)> = HashSet::default();
    for row in in_order {
        let (kind, name) = (timeline.overheads.kind[row], timeline.overheads.name[row]);
        let text = timeline.name(name);
        let library = ["dlopen(", "dlclose("].into_iter().find_map(|call| text.strip_prefix(call));
        let Some(library) = library.filter(|_| kind == OverheadKind::Profiler) else { continue };
        let is_own = PROFILER_LIBRARIES.iter().any(|own| library.starts_with(own));
        let thread = timeline.overheads.thread[row];
        let process = if thread == NONE { NONE } else { timeline.process_of(thread) };
        let is_first = loaded.insert((process, name));
        if is_first && !is_own {
            timeline.overheads.kind[row] = OverheadKind::Load;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_given_up_and_what_is_wrong_is_damaged() {
        let failure = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let given_up = refused(Path::new("run.sqlite"), &failure(rusqlite::ffi::SQLITE_INTERRUPT)).to_string();
        assert!(given_up.starts_with("run.sqlite: is given up: reading it takes more processor time"), "{given_up}");
        let damaged = refused(Path::new("run.sqlite"), &failure(rusqlite::ffi::SQLITE_CORRUPT)).to_string();
        assert!(damaged.starts_with("run.sqlite: is damaged (Error code 11: "), "{damaged}");
    }
}
