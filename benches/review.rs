//! What a review costs, stage by stage, against the floor: a bare single-threaded scan of the same columns.
//!
//! `cargo bench` enlarges a bundled fixture. `COLDSPOT_BENCH_REPORT=run.sqlite cargo bench` takes a report of your own.
//! After the table of each stage, the last line gives the whole review, from the start of the program to its last byte, as
//! a multiple of the floor, and the peak memory of that program.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod support {
    pub(crate) mod enlarge;
    pub(crate) mod floor;
}

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use coldspot::analysis::{Analysis, Project, Reading, Request};
use coldspot::facts::{Facts, extract};
use coldspot::ledger::accounts::Sums;
use coldspot::ledger::{DeviceOps, Scope, sweep};
use coldspot::render::Format;
use coldspot::report::Report;
use coldspot::rules::{Library, Params, evaluate};
use coldspot::source::{ReadOptions, read};
use coldspot::timeline::Timeline;
use divan::{Bencher, black_box};

/// Large enough that starting the program does not count.
const COPIES: u32 = 2_000;

/// The enlarged report, and the folder that goes with the process.
static REPORT: LazyLock<(PathBuf, Option<tempfile::TempDir>)> = LazyLock::new(|| {
    if let Some(report) = std::env::var_os("COLDSPOT_BENCH_REPORT") {
        return (report.into(), None);
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("enlarged.sqlite");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/training-step.sqlite");
    support::enlarge::enlarge(&fixture, &report, COPIES).unwrap();
    (report, Some(folder))
});

fn report() -> &'static Path {
    &REPORT.0
}

fn timeline() -> Timeline {
    read(report(), &ReadOptions::default(), &()).unwrap().into_timeline()
}

fn facts() -> Facts {
    extract(&timeline(), &Scope::All).unwrap()
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn floor_single_threaded_scan() -> u64 {
    support::floor::scan(report()).unwrap()
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn reading(bencher: Bencher) {
    bencher.bench(|| read(report(), &ReadOptions::default(), &()).unwrap());
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn reading_with_one_thread(bencher: Bencher) {
    let options = ReadOptions { threads: Some(1), ..ReadOptions::default() };
    bencher.bench(|| read(report(), &options, &()).unwrap());
}

/// The accounts of every device, one after the other.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn ledger(bencher: Bencher) {
    let timeline = timeline();
    bencher.bench_local(|| {
        let mut accounts = Sums::default();
        for device in DeviceOps::all(&timeline, &[]) {
            for part in sweep::parts(&device) {
                sweep::sweep(&timeline, part, |moment| accounts[moment.account] += moment.interval.len_ns());
            }
        }
        accounts
    });
}

/// The ledger again, idle time on its threads, and everything else that is extracted.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn ledger_and_facts(bencher: Bencher) {
    let timeline = timeline();
    bencher.bench_local(|| extract(black_box(&timeline), &Scope::All).unwrap());
}

#[divan::bench(sample_count = 10)]
fn loading_rules() -> usize {
    Library::builtin().unwrap().rules().len()
}

#[divan::bench(sample_count = 10)]
fn rules(bencher: Bencher) {
    let (library, facts) = (Library::builtin().unwrap(), facts());
    bencher.bench_local(|| evaluate(&library, black_box(&facts), &Params::default()));
}

/// Rules, findings and the page.
#[divan::bench(sample_count = 10)]
fn review_and_rendering(bencher: Bencher) {
    let (analysis, facts) = (Analysis::new(Project::builtin().unwrap(), Reading::default()), facts());
    bencher.bench_local(|| {
        let report = analysis.review_facts(black_box(&facts), "report", &Request::default());
        analysis.render(&Report::Review(Box::new(report)), Format::Markdown).unwrap()
    });
}

/// The seconds and the peak memory (where Linux tells it) of `coldspot review`, its output thrown away.
fn review_by_the_program() -> (f64, Option<u64>) {
    let started = Instant::now();
    let mut program = Command::new(env!("CARGO_BIN_EXE_coldspot"));
    let program = program.args(["review", "--quiet", "--no-config"]).arg(report()).stdout(Stdio::null());
    let mut child = program.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kb = None;
    while child.try_wait().unwrap().is_none() {
        peak_kb = peak_kb.max(peak_of(&status));
        std::thread::sleep(Duration::from_millis(2));
    }
    (started.elapsed().as_secs_f64(), peak_kb)
}

fn peak_of(status: &str) -> Option<u64> {
    let status = std::fs::read_to_string(status).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// The fastest of some runs.
fn fastest(run: impl FnMut(usize) -> f64) -> f64 {
    (0..5).map(run).fold(f64::INFINITY, f64::min)
}

fn main() {
    divan::main();
    if std::env::args().any(|argument| argument == "--list" || argument == "--test") {
        return;
    }
    let floor = fastest(|_| {
        let started = Instant::now();
        support::floor::scan(report()).unwrap();
        started.elapsed().as_secs_f64()
    });
    let mut peak_kb = None;
    let review = fastest(|_| {
        let (seconds, peak) = review_by_the_program();
        peak_kb = peak_kb.max(peak);
        seconds
    });
    let bytes = std::fs::metadata(report()).unwrap().len();
    let peak = peak_kb.map_or_else(|| "not known".to_owned(), |peak| format!("{:.0} MB", peak as f64 / 1e3));
    println!(
        "report {:.0} MB; floor {floor:.3} s; whole review {review:.3} s = {:.2} times the floor; peak memory {peak}",
        bytes as f64 / 1e6,
        review / floor
    );
}
