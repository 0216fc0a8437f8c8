//! The last line of defence: ends the program when a run takes more time or memory than a file of its size can need.
//!
//! Everything else has bounds of its own, which end in better messages. This one holds where one of them has a hole, and
//! where one step of a template makes a string as large as memory.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use coldspot::interrupt;
use coldspot::limits::{
    MAX_PRINTING_BYTES, MAX_PRINTING_TIME, MAX_REPORT_RUN_BYTES, MAX_RUN_BYTES, MAX_RUN_BYTES_PER_BYTE,
    MAX_RUN_PROCESSOR_TIME, MAX_RUN_PROCESSOR_TIME_PER_REPORT, MAX_RUN_TIME, MAX_RUN_TIME_PER_GIB,
    MIN_RUN_BYTES_PER_PROCESSOR_SECOND,
};
use coldspot::source::{self, Packing};
use cpu_time::ProcessTime;
use memory_stats::memory_stats;

use super::exit::Exit;
use super::output;

/// A look takes a few hundredths of a millisecond. What a run can fill between two of them, at the four GB a second of fresh
/// memory, is less than the 64 MiB that are left between what it may take in any case and the 256 MiB that are promised.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The most that counts between two looks: a machine that slept meanwhile, or a program that was stopped, used no time.
const LONGEST_LOOK: Duration = Duration::from_secs(1);
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// How many times its size a packed report takes once it is exported or inflated, as a rule.
const GROWTH: u64 = 16;
/// The same of a compressed trace: real ones inflate twenty times, and are read five times as fast as what others are given.
const INFLATED_GROWTH: u64 = 4;
/// The same in memory: what is held of it is bounded by its size as it is stored.
const INFLATED_GROWTH_IN_MEMORY: u64 = 1;

/// How much a run may take.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Seconds that the run may take, without those of nsys and ncu; 0 for no bound [default: 600, and 120 for each GiB of the reports;
    /// of processor time 8, one for each 32 MiB, and for each report after the first a two-hundredth]
    #[arg(long, global = true, value_name = "SECONDS", help_heading = "Bounds")]
    max_time: Option<u64>,
    /// MiB of memory that the run may take; 0 for no bound [default: 192, and 4 times the size of the reports; 2048 without
    /// reports]
    #[arg(long, global = true, value_name = "MIB", help_heading = "Bounds")]
    max_memory: Option<u64>,
}

/// What a run has to do.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The reports that it reads: files of strangers, by whose sizes its bounds are tight.
    pub(super) reports: Vec<PathBuf>,
    /// How long it may wait for others.
    pub(super) waits: Duration,
}

impl Work {
    /// That reads these reports.
    pub(super) fn of<'a>(reports: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        Self { reports: reports.into_iter().cloned().collect(), waits: Duration::ZERO }
    }

    /// Bytes of the reports, those that are packed as many times as they may grow.
    fn byte_count(&self, exported: u64, inflated: u64) -> u64 {
        let sizes = self.reports.iter().map(|report| {
            let size = report.metadata().map_or(0, |found| found.len());
            let growth = match source::packing(report) {
                Packing::Exported => exported,
                Packing::Compressed => inflated,
                Packing::Plain => 1,
            };
            size.saturating_mul(growth)
        });
        sizes.fold(0, u64::saturating_add)
    }
}

/// What ends a run; absent where nothing does.
#[derive(Debug, PartialEq, Eq)]
struct Bounds {
    time: Option<Duration>,
    processor_time: Option<Duration>,
    bytes: Option<u64>,
}

/// What a run has taken.
#[derive(Debug, Default, Clone, Copy)]
struct Use {
    time: Duration,
    processor_time: Duration,
    bytes: u64,
}

/// Builds that are made to be debugged, as those of tests, take several times as long.
const SLOWNESS: u32 = if cfg!(debug_assertions) { 10 } else { 1 };

impl Bounds {
    fn new(arguments: &Arguments, work: &Work) -> Self {
        let size = work.byte_count(GROWTH, INFLATED_GROWTH);
        let size_in_memory = work.byte_count(GROWTH, INFLATED_GROWTH_IN_MEMORY);
        let gib_count = u32::try_from(size.div_ceil(GIB)).unwrap_or(u32::MAX);
        let usual_time = MAX_RUN_TIME + MAX_RUN_TIME_PER_GIB.saturating_mul(gib_count) + work.waits;
        let further_count = u32::try_from(work.reports.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let of_further = MAX_RUN_PROCESSOR_TIME_PER_REPORT.saturating_mul(further_count);
        let usual_processor_time =
            MAX_RUN_PROCESSOR_TIME + Duration::from_secs(size / MIN_RUN_BYTES_PER_PROCESSOR_SECOND) + of_further;
        let reads_reports = !work.reports.is_empty();
        let constant_bytes = if reads_reports { MAX_REPORT_RUN_BYTES } else { MAX_RUN_BYTES };
        let usual_bytes = constant_bytes.saturating_add(size_in_memory.saturating_mul(MAX_RUN_BYTES_PER_BYTE));
        let time = arguments.max_time.map_or(usual_time, Duration::from_secs);
        let bytes = arguments.max_memory.map_or(usual_bytes, |count| count.saturating_mul(MIB));
        Self {
            time: Some(time).filter(|time| !time.is_zero()),
            // Who says how long a run may take says so for all that it does.
            processor_time: Some(usual_processor_time.saturating_mul(SLOWNESS))
                .filter(|_| reads_reports && arguments.max_time.is_none()),
            bytes: Some(bytes).filter(|bytes| *bytes > 0),
        }
    }

    /// Which one does not hold.
    fn broken(&self, used: Use) -> Option<String> {
        if let Some(time) = self.time.filter(|time| used.time > *time) {
            return Some(format!("{} s (--max-time)", time.as_secs()));
        }
        if let Some(time) = self.processor_time.filter(|time| used.processor_time > *time) {
            return Some(format!("{} s of processor time (--max-time)", time.as_secs()));
        }
        let bytes = self.bytes.filter(|most| used.bytes > *most);
        bytes.map(|most| format!("{} MiB of memory (--max-memory)", most / MIB))
    }
}

/// Watches the program to its end.
pub(super) fn watch(arguments: &Arguments, work: &Work) {
    let bounds = Bounds::new(arguments, work);
    // Without a watcher all other bounds still hold.
    let _ = thread::Builder::new().name("guard".to_owned()).spawn(move || {
        let (mut time, mut last) = (Duration::ZERO, Instant::now());
        loop {
            thread::sleep(LOOK_EVERY);
            let now = Instant::now();
            // nsys and ncu have limits of their own.
            if !interrupt::runs_program() {
                time += (now - last).min(LONGEST_LOOK);
            }
            last = now;
            PASSED_NS.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
            let used = Use { time, processor_time: processor_time(), bytes: bytes_in_use() };
            if let Some(bound) = Printing::get().and_then(|printing| printing.broken(used)) {
                end(Exit::Rules, &format!("the templates take more than {bound}: they are wrong"));
            }
            if let Some(bound) = bounds.broken(used) {
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

/// A page that templates of the user print: these have bounds of their own beside those of the run. They wait for nothing, so
/// that only the time of the processors tells of them, not what else the machine does meanwhile.
#[derive(Debug, Clone, Copy)]
struct Printing {
    processor_time_before: Duration,
    bytes_before: u64,
}

impl Printing {
    fn set(printing: Option<Self>) {
        *PRINTING.lock().unwrap_or_else(PoisonError::into_inner) = printing;
    }

    fn get() -> Option<Self> {
        *PRINTING.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn broken(&self, used: Use) -> Option<String> {
        if used.processor_time.saturating_sub(self.processor_time_before) > MAX_PRINTING_TIME * SLOWNESS {
            return Some(format!("{} s of processor time", MAX_PRINTING_TIME.as_secs()));
        }
        let is_too_much = used.bytes.saturating_sub(self.bytes_before) > MAX_PRINTING_BYTES;
        is_too_much.then(|| format!("{} MiB of memory", MAX_PRINTING_BYTES / MIB))
    }
}

/// Holds what prints a page with templates of the user to the bounds of printing.
pub(super) fn while_printing<T>(print: impl FnOnce() -> T) -> T {
    Printing::set(Some(Printing { processor_time_before: processor_time(), bytes_before: bytes_in_use() }));
    let printed = print();
    Printing::set(None);
    printed
}

/// The time that has passed as far as it counts, at the last look.
static PASSED_NS: AtomicU64 = AtomicU64::new(0);

/// What all threads have used of the processors; where the operating system does not tell, the time that has passed.
fn processor_time() -> Duration {
    let passed = || Duration::from_nanos(PASSED_NS.load(Ordering::Relaxed));
    ProcessTime::try_now().map_or_else(|_| passed(), |time| time.as_duration())
}

/// Memory in use; 0 where the operating system does not tell, where all other bounds still hold.
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
        assert_eq!(none, Bounds { time: Some(MAX_RUN_TIME), processor_time: None, bytes: Some(MAX_RUN_BYTES) });
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, begin: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, begin).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_len(32 * MIB).unwrap();
            path
        };
        // What a file is tells its bytes, not its name.
        let reports =
            [file("a.nsys-rep", b"SQLite format 3\0"), file("b", b"NVR\0"), file("c.json", &[0x1f, 0x8b, 8, 0])];
        let some = Bounds::new(&usual, &Work::of(&reports));
        assert_eq!(some.bytes, Some(MAX_REPORT_RUN_BYTES + 4 * (1 + 16 + 1) * 32 * MIB));
        assert_eq!(some.time, Some(Duration::from_secs(720)));
        assert_eq!(some.processor_time, Some((MAX_RUN_PROCESSOR_TIME + Duration::from_millis(21_010)) * SLOWNESS));
        let most = Use { time: Duration::MAX, processor_time: Duration::MAX, bytes: u64::MAX };
        let off = Bounds::new(&Arguments { max_time: Some(0), max_memory: Some(0) }, &Work::of(&reports));
        assert_eq!(off.broken(most), None);
        let tight = Bounds::new(&Arguments { max_time: Some(2), max_memory: Some(3) }, &Work::of(&reports));
        let used = Use { time: Duration::from_secs(2), bytes: 3 * MIB, ..most };
        assert_eq!(tight.broken(used), None);
        let long = Use { time: Duration::from_secs(3), ..used };
        assert_eq!(tight.broken(long).unwrap(), "2 s (--max-time)");
        assert_eq!(tight.broken(Use { bytes: 3 * MIB + 1, ..used }).unwrap(), "3 MiB of memory (--max-memory)");
        let busy = Use { processor_time: Duration::from_millis(29_011) * SLOWNESS, ..Use::default() };
        assert!(some.broken(busy).unwrap().ends_with(" s of processor time (--max-time)"));
    }

    #[test]
    fn printing_is_bounded_from_where_it_begins() {
        let printing = Printing { processor_time_before: MAX_RUN_PROCESSOR_TIME, bytes_before: MIB };
        let processor_time = MAX_RUN_PROCESSOR_TIME + MAX_PRINTING_TIME * SLOWNESS;
        let most = Use { time: Duration::MAX, processor_time, bytes: MIB + MAX_PRINTING_BYTES };
        assert_eq!(printing.broken(most), None);
        let long = Use { processor_time: processor_time + Duration::from_nanos(1), ..most };
        assert!(printing.broken(long).unwrap().ends_with("s of processor time"));
        assert!(printing.broken(Use { bytes: most.bytes + 1, ..most }).unwrap().ends_with("MiB of memory"));
    }

    #[test]
    fn the_system_says_how_much_memory_is_in_use() {
        assert!(bytes_in_use() > MIB);
    }
}
