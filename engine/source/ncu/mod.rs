//! Nsight Compute: the pages `raw` and `details` of a report, printed as CSV, and `.ncu-rep` through the user's own `ncu --import`.
//!
//! Rows differ in length, units stand in a row of their own or beside each number, and a program writes its own lines between
//! them: each row is read for itself, and what is broken is counted.

mod capture;
mod counters;
mod lines;
mod number;
mod pages;
mod rep;

use std::io::{BufReader, Cursor, Read};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use csv::{ReaderBuilder, StringRecord};
use foldhash::HashMap;

pub(super) use self::capture::script_of;
pub use self::capture::{KernelFilter, NameBase};
use self::lines::Rationed;
use self::pages::{Columns, Launch, Row};
use super::format::{Format, Head, NearMiss, Reader};
use super::{Progress, ReadError, ReadOptions, Recording};
use crate::files;
use crate::limits::MAX_KERNEL_PROFILE_COUNT;
use crate::text::cut;
use crate::text::mangled::Demangler;
use crate::timeline::{Counter, Counters, KernelProfile, KernelProfiles, Page};

const IMPORT: &str = "Print a report of Nsight Compute with: ncu --import FILE.ncu-rep --csv --page raw > kernels.csv";

/// Prints all that a report holds of each kernel.
pub const PRINT_ALL_COUNTERS: &str = "ncu --import FILE.ncu-rep --csv --page raw";

/// A launch of no time is none, nor is one of a day, many of which would be too long for what counts them.
const DURATIONS_NS: RangeInclusive<f64> = 1.0..=1e15;

/// A table, with or without lines of a log before it.
pub(super) const FORMAT: Format = Format {
    id: "ncu-csv",
    name: "kernels of Nsight Compute, as CSV, or its .ncu-rep",
    profiler: "ncu",
    hint: IMPORT,
    reader,
    near_miss,
    capture: capture::command,
    script: capture::script,
};

/// Whether a file begins as a report of Nsight Compute does that its program prints.
pub(super) fn is_rep(head: &[u8]) -> bool {
    head.starts_with(rep::MAGIC)
}

fn reader(head: &[u8]) -> Option<Reader> {
    if is_rep(head) {
        return Some(rep::read);
    }
    let is_page = head.split(|byte| *byte == b'\n').any(lines::is_header) || head.starts_with(b"==PROF==");
    // Of text, which may begin as a list of JSON does.
    let has = |words: &[u8]| memchr::memmem::find(head, words).is_some();
    (is_page || (has(b"Section: ") && has(b", Stream "))).then_some(read as Reader)
}

fn near_miss(head: Head<'_>) -> Option<NearMiss> {
    let is_named_so = matches!(head.extension, "ncu-rep" | "nsight-cuprof-report") && !head.bytes.is_empty();
    is_named_so.then_some(NearMiss {
        found: "is named as a report of Nsight Compute, but does not begin as one",
        hint: IMPORT,
    })
}

/// Reads a page.
///
/// # Errors
/// When the file cannot be read, or holds no kernel.
fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Recording, ReadError> {
    let name = path.display().to_string();
    let file = files::open(path).map_err(|source| ReadError::Open { path: name.clone(), source })?;
    let not_a_report =
        |found: &str| ReadError::NotAReport { path: name.clone(), found: found.to_owned(), hint: IMPORT.to_owned() };
    let damaged = |detail: String| ReadError::Damaged { path: name.clone(), detail, hint: IMPORT.to_owned() };
    let mut reader = BufReader::new(file);
    let header = lines::header(&mut reader).map_err(|error| damaged(error.to_string()))?;
    let (header, has_failed) =
        header.ok_or_else(|| not_a_report("holds no table of kernels as CSV: it may be a page printed as text"))?;
    let mut profiles = kernels(Cursor::new(header).chain(reader), options, progress).map_err(|error| match error {
        Problem::Csv(error) => damaged(error),
        Problem::Header => not_a_report("is a table of Nsight Compute, but not of its page raw or details"),
        Problem::DecimalComma => ReadError::NotAReport {
            path: name.clone(),
            found: "writes a comma before decimals, so that its numbers can be read in two ways".to_owned(),
            hint:
                "Print it again in the plain locale: LC_ALL=C ncu --import FILE.ncu-rep --csv --page raw > kernels.csv"
                    .to_owned(),
        },
    })?;
    profiles.has_failed |= has_failed;
    if profiles.kernels.is_empty() {
        return Err(not_a_report("is a table of Nsight Compute without a kernel"));
    }
    Ok(Recording::Kernels(Box::new(profiles)))
}

/// What cannot be got over.
#[derive(Debug)]
enum Problem {
    Csv(String),
    Header,
    DecimalComma,
}

fn kernels(bytes: impl Read, options: &ReadOptions, progress: &dyn Progress) -> Result<KernelProfiles, Problem> {
    let mut reader = ReaderBuilder::new().flexible(true).has_headers(false).from_reader(Rationed::new(bytes));
    let mut next = || {
        reader.get_mut().grant();
        let mut row = csv::ByteRecord::new();
        let is_row = reader.read_byte_record(&mut row).map_err(|error| Problem::Csv(error.to_string()))?;
        let end = reader.get_ref().end_of_row();
        Ok(is_row.then(|| (StringRecord::from_byte_record_lossy(row), end)))
    };
    let (header, _) = next()?.ok_or(Problem::Header)?;
    let mut columns = Columns::new(&without_mark(&header)).ok_or(Problem::Header)?;
    let mut groups = Groups::new(options.limits.name_bytes);
    groups.profiles.page = columns.page();
    let (mut count, mut open): (u64, Option<Box<Launch>>) = (0, None);
    while let Some((row, end)) = next()? {
        count += 1;
        if count > options.limits.rows {
            groups.profiles.beyond_limit_count += 1;
            continue;
        }
        progress.rows(count, count);
        groups.profiles.has_failed |= row.get(0).is_some_and(|first| lines::is_error(first.as_bytes()));
        if columns.is_cut(&row, end) {
            groups.profiles.is_cut = true;
            groups.profiles.dropped_count += 1;
            continue;
        }
        // Several runs may have been written to one file.
        if row.get(0) == Some("ID")
            && let Some(next) = Columns::new(&row)
        {
            columns = next;
            open.take().into_iter().for_each(|done| groups.add(*done));
            continue;
        }
        match columns.read(&row) {
            // A quotation mark that nothing closes takes rows in.
            Row::Other if row.iter().any(|cell| cell.contains('\n')) => groups.profiles.dropped_count += 1,
            Row::Other => {}
            Row::Broken => groups.profiles.dropped_count += 1,
            Row::DecimalComma => return Err(Problem::DecimalComma),
            Row::Launch(next) => {
                groups.profiles.lacks_units |= columns.lacks_units();
                match &mut open {
                    // Rows of the page `raw` hold a launch each.
                    Some(open) if columns.page() == Page::Details && open.is_of(&next) => {
                        groups.profiles.dropped_count += u64::from(open.take(&next));
                    }
                    _ => open.replace(next).into_iter().for_each(|done| groups.add(*done)),
                }
            }
        }
    }
    open.into_iter().for_each(|done| groups.add(*done));
    Ok(groups.profiles)
}

/// A header whose first name has lost the mark that some programs begin a text with.
fn without_mark(header: &StringRecord) -> StringRecord {
    header.iter().map(|name| name.trim_start_matches('\u{feff}').trim_matches('"')).collect()
}

/// What tells the launches of one kernel from those of another.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    name: String,
    device: i64,
    grid_blocks: i64,
    block_threads: i64,
}

/// Launches by kernel, grid and block.
struct Groups {
    profiles: KernelProfiles,
    known: HashMap<Key, usize>,
    name_bytes: usize,
    demangler: Demangler,
    /// All durations that are in a sum.
    total_ns: i64,
}

impl Groups {
    fn new(name_bytes: usize) -> Self {
        Self {
            profiles: KernelProfiles::default(),
            known: HashMap::default(),
            name_bytes,
            demangler: Demangler::default(),
            total_ns: 0,
        }
    }

    fn add(&mut self, mut launch: Launch) {
        launch.counters.derive_excess();
        let ns = duration_ns(&mut launch.counters);
        // A page can be printed with the names that the linker knows.
        let printed: Arc<str> = std::mem::take(&mut launch.name).into();
        let full = self.demangler.read(&printed).unwrap_or(printed);
        let name = cut::distinct(&full, self.name_bytes);
        self.profiles.cut_name_count += u64::from(name.len() < full.len());
        let key = Key {
            name: name.clone().into_owned(),
            device: launch.device,
            grid_blocks: launch.grid_blocks,
            block_threads: launch.block_threads,
        };
        let kernels = &mut self.profiles.kernels;
        let index = match self.known.get(&key) {
            Some(index) => *index,
            None if kernels.len() >= MAX_KERNEL_PROFILE_COUNT => {
                self.profiles.beyond_limit_count += 1;
                return;
            }
            None => {
                kernels.push(KernelProfile {
                    name: key.name.clone(),
                    device: key.device,
                    grid_blocks: key.grid_blocks,
                    block_threads: key.block_threads,
                    compute_capability: launch.compute_capability,
                    device_name: launch.device_name.take(),
                    ..KernelProfile::default()
                });
                self.known.insert(key, kernels.len() - 1);
                kernels.len() - 1
            }
        };
        // Beyond what a sum can hold nothing is a time.
        let total_ns = ns.and_then(|ns| self.total_ns.checked_add(ns));
        let ns = ns.filter(|_| total_ns.is_some());
        self.total_ns = total_ns.unwrap_or(self.total_ns);
        self.profiles.untimed_launch_count += u64::from(ns.is_none());
        let is_counted = Counter::OF_HARDWARE.iter().any(|counter| launch.counters.get(*counter).is_some());
        self.profiles.uncounted_launch_count += u64::from(launch.lacks_counters && !is_counted);
        if let Some(kernel) = kernels.get_mut(index) {
            add_to(kernel, launch, ns);
        }
    }
}

/// How long a launch took; one that cannot be is forgotten.
fn duration_ns(counters: &mut Counters) -> Option<i64> {
    let ns = counters.get(Counter::Duration).map(f64::round).filter(|ns| DURATIONS_NS.contains(ns));
    if ns.is_none() {
        counters.clear(Counter::Duration);
    }
    ns.map(|ns| ns as i64)
}

fn add_to(kernel: &mut KernelProfile, launch: Launch, ns: Option<i64>) {
    kernel.launch_count += 1;
    let duration = |counters: &Counters| counters.get(Counter::Duration);
    if let Some(ns) = ns {
        kernel.sum_ns = Some(kernel.sum_ns.unwrap_or(0).saturating_add(ns));
    }
    if kernel.launch_count == 1 || duration(&launch.counters) > duration(&kernel.counters) {
        kernel.counters = launch.counters;
    }
}
