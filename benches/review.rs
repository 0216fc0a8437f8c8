//! What a review costs, stage by stage, against the floor: a bare single-threaded scan of the same columns.
//!
//! `cargo bench` enlarges a bundled fixture. `COLDSPOT_BENCH_REPORT=run.sqlite cargo bench` takes a report of your own.
//! After the table of each stage, the last lines give the whole review as a multiple of the floor, and peak memory.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod support {
    pub(crate) mod enlarge;
}

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Instant;

use coldspot::facts::{Facts, extract};
use coldspot::findings::{RuleCard, review};
use coldspot::ledger::Scope;
use coldspot::read::{ReadOptions, read, scan_floor};
use coldspot::render::Templates;
use coldspot::rules::{Library, Params, evaluate};
use divan::{Bencher, black_box};

/// The enlarged report, and the folder that goes with the process.
static REPORT: LazyLock<(PathBuf, Option<tempfile::TempDir>)> = LazyLock::new(|| {
    if let Some(report) = std::env::var_os("COLDSPOT_BENCH_REPORT") {
        return (report.into(), None);
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("enlarged.sqlite");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/training-step.sqlite");
    support::enlarge::enlarge(&fixture, &report, 300).unwrap();
    (report, Some(folder))
});

fn report() -> &'static Path {
    &REPORT.0
}

fn facts() -> Facts {
    extract(&read(report(), &ReadOptions::default(), &()).unwrap(), &Scope::All).unwrap()
}

fn whole() -> String {
    let library = Library::builtin().unwrap();
    let templates = Templates::load(None).unwrap();
    let facts = facts();
    let judgements = evaluate(&library, &facts, &Params::default());
    let review = review(&facts, &RuleCard::of_library(&library), &judgements, templates.scorecard());
    templates.review(&review, "report").unwrap()
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn floor_single_threaded_scan() -> u64 {
    scan_floor(report()).unwrap()
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

#[divan::bench(sample_count = 3, sample_size = 1)]
fn ledger_and_facts(bencher: Bencher) {
    let timeline = read(report(), &ReadOptions::default(), &()).unwrap();
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

#[divan::bench(sample_count = 10)]
fn findings_and_rendering(bencher: Bencher) {
    let (library, templates, facts) = (Library::builtin().unwrap(), Templates::load(None).unwrap(), facts());
    let judgements = evaluate(&library, &facts, &Params::default());
    let cards = RuleCard::of_library(&library);
    bencher.bench_local(|| {
        let review = review(&facts, &cards, black_box(&judgements), templates.scorecard());
        templates.review(&review, "report").unwrap()
    });
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn whole_review() -> String {
    whole()
}

/// The fastest of some runs, in seconds.
fn fastest<T>(mut run: impl FnMut() -> T) -> f64 {
    let time = |run: &mut dyn FnMut() -> T| {
        let started = Instant::now();
        black_box(run());
        started.elapsed().as_secs_f64()
    };
    (0..3).map(|_| time(&mut run)).fold(f64::INFINITY, f64::min)
}

fn main() {
    divan::main();
    if std::env::args().any(|argument| argument == "--list" || argument == "--test") {
        return;
    }
    let floor = fastest(|| scan_floor(report()).unwrap());
    let review = fastest(whole);
    let bytes = std::fs::metadata(report()).unwrap().len();
    println!(
        "report {:.0} MB; floor {floor:.3} s; whole review {review:.3} s = {:.2} times the floor",
        bytes as f64 / 1e6,
        review / floor
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find(|line| line.starts_with("VmHWM")) {
        println!("peak memory of this process, {peak}");
    }
}
