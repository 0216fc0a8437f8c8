//! The last line of defence: ends the program when a run takes more time or memory than a file of its size can need.
//!
//! Everything else has bounds of its own, which end in better messages. This one holds where one of them has a hole, and
//! where one step of a template makes a string as large as memory.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use coldspot::interrupt;
use coldspot::limits::{
    MAX_PRINTING_BYTES, MAX_PRINTING_TIME, MAX_RUN_BYTES, MAX_RUN_BYTES_PER_BYTE, MAX_RUN_TIME, MAX_RUN_TIME_PER_GIB,
};
use memory_stats::memory_stats;

use super::exit::Exit;
use super::output;

const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The most that counts between two looks: a machine that slept meanwhile, or a program that was stopped, used no time.
const LONGEST_LOOK: Duration = Duration::from_secs(1);
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// How many times its size a report takes once it is exported or inflated, as a rule.
const GROWTH: u64 = 16;
/// The ends of the names of such reports.
const PACKED: [&str; 4] = ["nsys-rep", "qdrep", "gz", "zst"];

/// How much a run may take.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Seconds that the run may take, without those of nsys; 0 for no bound [default: 600, and 120 for each GiB of the reports]
    #[arg(long, global = true, value_name = "SECONDS", help_heading = "Bounds")]
    max_time: Option<u64>,
    /// MiB of memory that the run may take; 0 for no bound [default: 2048, and 4 times the size of the reports]
    #[arg(long, global = true, value_name = "MIB", help_heading = "Bounds")]
    max_memory: Option<u64>,
}

/// What a run has to do.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The files that it reads.
    pub(super) files: Vec<PathBuf>,
    /// How long it may wait for others.
    pub(super) waits: Duration,
}

impl Work {
    /// That reads these files.
    pub(super) fn of<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        Self { files: files.into_iter().cloned().collect(), waits: Duration::ZERO }
    }

    fn byte_count(&self) -> u64 {
        let sizes = self.files.iter().map(|file| {
            let size = file.metadata().map_or(0, |found| found.len());
            let is_packed = file.extension().is_some_and(|end| PACKED.iter().any(|packed| end == *packed));
            if is_packed { size.saturating_mul(GROWTH) } else { size }
        });
        sizes.fold(0, u64::saturating_add)
    }
}

/// What ends a run; absent where nothing does.
#[derive(Debug, PartialEq, Eq)]
struct Bounds {
    time: Option<Duration>,
    bytes: Option<u64>,
}

impl Bounds {
    fn new(arguments: &Arguments, work: &Work) -> Self {
        let size = work.byte_count();
        let gib_count = u32::try_from(size.div_ceil(GIB)).unwrap_or(u32::MAX);
        let usual_time = MAX_RUN_TIME + MAX_RUN_TIME_PER_GIB.saturating_mul(gib_count) + work.waits;
        let usual_bytes = MAX_RUN_BYTES.saturating_add(size.saturating_mul(MAX_RUN_BYTES_PER_BYTE));
        let time = arguments.max_time.map_or(usual_time, Duration::from_secs);
        let bytes = arguments.max_memory.map_or(usual_bytes, |count| count.saturating_mul(MIB));
        Self { time: Some(time).filter(|time| !time.is_zero()), bytes: Some(bytes).filter(|bytes| *bytes > 0) }
    }

    /// Which one does not hold.
    fn broken(&self, spent: Duration, bytes: u64) -> Option<String> {
        if let Some(time) = self.time.filter(|time| spent > *time) {
            return Some(format!("{} s (--max-time)", time.as_secs()));
        }
        self.bytes.filter(|most| bytes > *most).map(|most| format!("{} MiB of memory (--max-memory)", most / MIB))
    }
}

/// Watches the program to its end.
pub(super) fn watch(arguments: &Arguments, work: &Work) {
    let bounds = Bounds::new(arguments, work);
    // Without a watcher all other bounds still hold.
    let _ = thread::Builder::new().name("guard".to_owned()).spawn(move || {
        let (mut spent, mut last) = (Duration::ZERO, Instant::now());
        loop {
            thread::sleep(LOOK_EVERY);
            let now = Instant::now();
            // nsys has a limit of its own.
            if !interrupt::runs_program() {
                spent += (now - last).min(LONGEST_LOOK);
            }
            last = now;
            let bytes = bytes_in_use();
            if let Some(bound) = Printing::broken(bytes) {
                end(Exit::Rules, &format!("the templates take more than {bound}: they are wrong"));
            }
            if let Some(bound) = bounds.broken(spent, bytes) {
                end(Exit::Bounds, &format!("the run takes more than {bound}, and is ended"));
            }
        }
    });
}

fn end(exit: Exit, message: &str) -> ! {
    output::eprint_message(&format!("coldspot: {message}"));
    interrupt::end(i32::from(exit as u8))
}

static PRINTING: Mutex<Option<Printing>> = Mutex::new(None);

/// A page that is being printed: templates of the user have tighter bounds than all the rest.
#[derive(Debug, Clone, Copy)]
struct Printing {
    since: Instant,
    bytes_before: u64,
}

impl Printing {
    fn set(printing: Option<Self>) {
        *PRINTING.lock().unwrap_or_else(PoisonError::into_inner) = printing;
    }

    fn broken(bytes: u64) -> Option<String> {
        let printing = (*PRINTING.lock().unwrap_or_else(PoisonError::into_inner))?;
        if printing.since.elapsed() > MAX_PRINTING_TIME {
            return Some(format!("{} s", MAX_PRINTING_TIME.as_secs()));
        }
        let is_too_much = bytes.saturating_sub(printing.bytes_before) > MAX_PRINTING_BYTES;
        is_too_much.then(|| format!("{} GiB of memory", MAX_PRINTING_BYTES / GIB))
    }
}

/// Holds what prints a page to the bounds of printing.
pub(super) fn while_printing<T>(print: impl FnOnce() -> T) -> T {
    Printing::set(Some(Printing { since: Instant::now(), bytes_before: bytes_in_use() }));
    let printed = print();
    Printing::set(None);
    printed
}

/// Memory in use; 0 where the operating system does not tell.
fn bytes_in_use() -> u64 {
    memory_stats().map_or(0, |found| found.physical_mem as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_grow_with_the_files_and_are_off_with_0() {
        let usual = Arguments { max_time: None, max_memory: None };
        let none = Bounds::new(&usual, &Work::default());
        assert_eq!(none, Bounds { time: Some(MAX_RUN_TIME), bytes: Some(MAX_RUN_BYTES) });
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::File::create(&path).unwrap().set_len(3 * MIB).unwrap();
            path
        };
        let files = [file("a.sqlite"), file("b.nsys-rep")];
        let some = Bounds::new(&usual, &Work::of(&files));
        assert_eq!(some.bytes, Some(MAX_RUN_BYTES + 4 * (3 + 48) * MIB));
        assert_eq!(some.time, Some(Duration::from_secs(720)));
        let off = Bounds::new(&Arguments { max_time: Some(0), max_memory: Some(0) }, &Work::default());
        assert_eq!(off.broken(Duration::MAX, u64::MAX), None);
        let tight = Bounds::new(&Arguments { max_time: Some(2), max_memory: Some(3) }, &Work::of(&files));
        assert_eq!(tight.broken(Duration::from_secs(2), 3 * MIB), None);
        assert_eq!(tight.broken(Duration::from_secs(3), 0).unwrap(), "2 s (--max-time)");
        assert_eq!(tight.broken(Duration::ZERO, 3 * MIB + 1).unwrap(), "3 MiB of memory (--max-memory)");
    }

    #[test]
    fn the_system_says_how_much_memory_is_in_use() {
        assert!(bytes_in_use() > MIB);
    }
}
