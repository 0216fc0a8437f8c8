//! Sources: one folder a format, and the table of them, [`FORMATS`]. Nothing outside this module knows a
//! table, a column, or an option of a profiler.

mod doubled;
mod error;
mod format;
mod kineto;
mod lost;
mod ncu;
mod nsys;
mod own_code;
mod program;
mod sniff;

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::files;
use sniff::HEAD_BYTES;

pub use crate::timeline::builder::Limits;
use crate::timeline::{Capability, KernelProfiles, Timeline};
pub use error::ReadError;
pub use format::{CaptureCommand, Format, Language, Script};
pub use ncu::{KernelFilter, NameBase, PRINT_ALL_COUNTERS};

/// How a file of a report is packed, by its first bytes: its name is whatever somebody gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// It is inflated as it is read.
    Compressed,
    /// The profiler's own format, which its program exports first.
    Exported,
}

/// How a file is packed; [`Packing::Plain`] for one that cannot be opened.
pub fn packing(path: &Path) -> Packing {
    let mut head = Vec::new();
    let is_read = files::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    match is_read {
        Ok(_) if nsys::rep::is_rep(&head) || ncu::is_rep(&head) => Packing::Exported,
        Ok(_) if kineto::open::is_compressed(&head) => Packing::Compressed,
        _ => Packing::Plain,
    }
}

/// Every format. A new source is a row here and a folder beside this file.
///
/// Before the page of Nsight Compute there may be anything, also what a trace may begin with.
pub const FORMATS: [&Format; 3] = [&nsys::FORMAT, &ncu::FORMAT, &kineto::FORMAT];

/// The ids of all formats.
pub const FORMAT_IDS: [&str; FORMATS.len()] = {
    let mut ids = [""; FORMATS.len()];
    let mut index = 0;
    while index < ids.len() {
        ids[index] = FORMATS[index].id;
        index += 1;
    }
    ids
};

/// The format of kernels that were profiled one by one: its recordings hold no time between them.
pub const KERNELS_FORMAT_ID: &str = ncu::FORMAT.id;

/// Whether the profiler of a format can record a capability.
pub fn can_record(format: &str, needs: Capability) -> bool {
    let known = FORMATS.iter().find(|known| known.id == format);
    // What any recording has needs no option.
    known.is_some_and(|format| needs == Capability::Report || (format.capture)(&[needs]).is_some())
}

/// What to run for a recording that has these capabilities, with the profiler that writes a format; of a recording whose
/// format is not known, with the first of the table. `None` for what any recording has.
pub fn how_to_capture(format: Option<&str>, wanted: &[Capability]) -> Option<CaptureCommand> {
    let known = FORMATS.iter().find(|known| Some(known.id) == format);
    // What one profiler cannot record another can.
    known.into_iter().chain(&FORMATS).find_map(|format| (format.capture)(wanted))
}

/// Whole lines that record these with the profiler of a format; `None` where it cannot record all of them.
pub fn script(format: &str, wanted: &[Capability]) -> Option<Script> {
    let known = FORMATS.iter().find(|known| known.id == format)?;
    Some((known.script)(&(known.capture)(wanted)?))
}

/// Whole lines that profile single kernels.
pub fn script_of_kernels(filter: &KernelFilter<'_>) -> Script {
    ncu::script_of(filter)
}

/// Whether a command records with the profiler that writes a format; so does every command where the format is not known.
pub fn is_capture_of(format: Option<&str>, command: &str) -> bool {
    let known = FORMATS.iter().find(|known| Some(known.id) == format);
    known.is_none_or(|format| command.starts_with(format.profiler))
}

/// Told how far reading has come.
pub trait Progress: Sync {
    /// `done` of about `total` rows have been read. Called a few times a second.
    fn rows(&self, done: u64, total: u64);
}

/// Shows nothing.
impl Progress for () {
    fn rows(&self, _done: u64, _total: u64) {}
}

/// How to read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Threads to read with; as many as the machine has, up to eight, when `None`.
    pub threads: Option<usize>,
    /// The `nsys` program that exports `.nsys-rep` files; looked for on PATH when `None`.
    pub nsys: Option<PathBuf>,
    /// The `ncu` program that prints `.ncu-rep` files; looked for on PATH when `None`.
    pub ncu: Option<PathBuf>,
    /// How much is taken in.
    pub limits: Limits,
    /// The project's folder: of paths in call stacks only what lies below it is kept. Without it file names alone.
    pub root: Option<PathBuf>,
}

/// What a file turns out to hold.
#[derive(Debug)]
pub enum Recording {
    /// Events in time.
    Timeline(Box<Timeline>),
    /// Counters of single kernels.
    Kernels(Box<KernelProfiles>),
}

impl Recording {
    /// The timeline; an empty one of a profiler that records none.
    pub fn into_timeline(self) -> Timeline {
        match self {
            Self::Timeline(timeline) => *timeline,
            Self::Kernels(_) => Timeline::default(),
        }
    }
}

/// Reads a file of any format of the table.
///
/// # Errors
/// When the file is none of them, or is damaged: a report is read whole or not at all.
pub fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Recording, ReadError> {
    sniff::sniff(path, &FORMATS)?(path, options, progress)
}

/// The event tables of an Nsight Systems export, with the columns that are read of each: what the benchmark scans.
#[doc(hidden)]
pub fn nsys_event_tables() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    nsys::event_tables()
}
