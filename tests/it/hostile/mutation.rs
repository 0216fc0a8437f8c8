//! Thousands of reports that are nearly right, and a few that are made to be slow. Each must end in a report or in an
//! error: no panic, no hang, no memory out of proportion to the file.
//!
//! `COLDSPOT_MUTATIONS=10000 cargo test --release --test it mutation` is the long run; the ordinary one takes the first few
//! hundred seeds. `COLDSPOT_MUTATION_FIRST` says where to begin. A failure names its seed.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use coldspot::facts::{EntityKind, Facts, extract, file};
use coldspot::ledger::{Breakdown, Scope};
use coldspot::render::facts::facts_json;
use coldspot::source::ReadOptions;
use tempfile::TempDir;

use crate::support::analysis::{facts, try_timeline};
use crate::support::formats::{Printer, fault};
use crate::support::{
    bombs, heavy, heavy_gpus, heavy_names, heavy_threads, heavy_traces, kernels, mutate, mutate_text, packed, temp,
    trace, watch,
};

/// Seeds of the ordinary run.
const ORDINARY: u64 = 300;
/// What is changed: reports, traces, facts files, pages of Nsight Compute.
const KINDS: [&str; 4] = ["seed", "trace", "facts", "page"];
/// Rows of a heavy report, in the ordinary run and in the long one.
const ROWS: (i64, i64) = (2_000, 300_000);
/// The same of one in which each of many threads does what each of many GPUs tells apart: there as many take what they can.
const THREAD_ROWS: (i64, i64) = (40_000, 600_000);
/// The same of one that stands for many times its size.
const BOMB_ROWS: (i64, i64) = (2_000, 20_000);
/// No report may take more of the processors. The clock on the wall would measure what else the machine does. What users run
/// has ten seconds. An unoptimized build takes eight times as long (140,000 names of kernels: 7.4 s against 0.9 s), and more
/// beside other tests on the same cores.
const MOST_CPU: Duration = Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 10 });
/// Peak memory is at most this many times the file, and a constant.
const TIMES_THE_FILE: u64 = 4;
const CONSTANT_BYTES: u64 = 256 << 20;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn mutants_end_in_a_report_or_an_error() {
    let count = number("COLDSPOT_MUTATIONS").unwrap_or(ORDINARY);
    let first = number("COLDSPOT_MUTATION_FIRST").unwrap_or(0);
    let folder = stage();
    mutate::bases(&folder.path().join(BASES));
    let seeds = first..first + count;
    let jobs: Vec<String> = seeds.flat_map(|seed| KINDS.map(|kind| format!("{kind} {seed}"))).collect();
    run_all(folder.path(), &jobs);
}

#[test]
fn heavy_reports_end_in_a_report_or_an_error() {
    let is_long = number("COLDSPOT_MUTATIONS").is_some();
    let only = std::env::var("COLDSPOT_MUTATION_ONLY").unwrap_or_default();
    let jobs = cases().filter(|(name, ..)| name.contains(&only));
    let jobs: Vec<String> =
        jobs.map(|(name, _, (few, many))| format!("{name} {}", if is_long { many } else { few })).collect();
    // Each in a process of its own: memory that one has had and given back would be counted for the next.
    let folder = stage();
    let failures: Vec<String> = jobs.iter().flat_map(|job| run_half(folder.path(), &[job])).collect();
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), jobs.len(), failures.join("\n"));
}

/// Name, maker, and rows in the ordinary run and in the long one.
type Heavy = (&'static str, fn(&Path, i64), (i64, i64));

fn cases() -> impl Iterator<Item = Heavy> {
    let bombs = bombs::CASES.iter().chain(packed::CASES).map(|(name, make)| (*name, *make, BOMB_ROWS));
    let plain = heavy::CASES.iter().chain(heavy_gpus::CASES).chain(heavy_names::CASES).chain(heavy_traces::CASES);
    let threads = heavy_threads::CASES.iter().map(|(name, make)| (*name, *make, THREAD_ROWS));
    plain.map(|(name, make)| (*name, *make, ROWS)).chain(threads).chain(bombs)
}

/// Where the children find the reports that they change.
const BASES: &str = "bases";

/// A folder for everything that the children write, which outlives those that are killed.
fn stage() -> TempDir {
    let folder = temp::folder();
    std::fs::create_dir(folder.path().join(BASES)).unwrap();
    folder
}

/// Runs the jobs in two children.
fn run_all(folder: &Path, jobs: &[String]) {
    let halves: Vec<Vec<&String>> = (0..2).map(|half| jobs.iter().skip(half).step_by(2).collect()).collect();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = halves.iter().map(|half| scope.spawn(|| run_half(folder, half))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), jobs.len(), failures.join("\n"));
}

/// Feeds a child one job at a time; one that panics, hangs or is killed is replaced and its job noted.
fn run_half(folder: &Path, jobs: &[&String]) -> Vec<String> {
    let mut failures = Vec::new();
    let mut slowest = (0, String::new());
    let mut rest = jobs.iter();
    while !rest.as_slice().is_empty() {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "hostile::mutation::child", "--ignored", "--nocapture"])
            .env("COLDSPOT_MUTATION_FOLDER", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(from).lines().map_while(Result::ok).all(|line| send.send(line).is_ok())
        });
        for job in rest.by_ref() {
            writeln!(to, "{job}").unwrap();
            // The heavy ones take their time to be written, too.
            let answer = wait(&lines, "made ").and_then(|_| wait(&lines, "done "));
            match answer {
                Ok(answer) => {
                    let mut words = answer.splitn(3, ' ');
                    let (_, ms, problem) = (words.next(), words.next().unwrap().parse::<u64>().unwrap(), words.next());
                    slowest = slowest.max((ms, (*job).clone()));
                    failures.extend(problem.filter(|problem| !problem.is_empty()).map(|p| format!("{job}: {p}")));
                }
                Err(error) => {
                    failures.push(format!("{job}: {error}"));
                    break;
                }
            }
        }
        drop(to);
        child.kill().ok();
        child.wait().unwrap();
    }
    println!("slowest of {}: {} ms ({})", jobs.len(), slowest.0, slowest.1);
    failures
}

fn wait(lines: &mpsc::Receiver<String>, beginning: &str) -> Result<String, String> {
    let end = Instant::now() + watch::PATIENCE;
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            // The test harness writes its own words before the first line.
            Ok(line) => match line.find(beginning) {
                Some(at) => return Ok(line[at..].to_owned()),
                None => continue,
            },
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Err(format!("no answer after {} s", watch::PATIENCE.as_secs()));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err("the process died".to_owned()),
        }
    }
}

/// A facts file of one of the reports, changed, and what was done.
fn facts_mutant(bases: &[PathBuf], seed: u64) -> (Vec<u8>, String) {
    let mut random = mutate::Random::new(seed);
    let base = random.pick(bases);
    let facts = facts_json(&facts(base)).unwrap();
    let mut bytes = facts.into_bytes();
    let done = mutate_text::change(&mut bytes, &mut random);
    (bytes, format!("{}: {done}", base.display()))
}

/// What the last panic said.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// What the children do; by itself it has nothing to do.
#[test]
#[ignore = "run by the other tests in a process of its own"]
fn child() {
    let Some(folder) = std::env::var_os("COLDSPOT_MUTATION_FOLDER").map(PathBuf::from) else { return };
    let own = TempDir::new_in(&folder).unwrap();
    let report = own.path().join("mutant.sqlite");
    let mut bases: Vec<PathBuf> =
        std::fs::read_dir(folder.join(BASES)).unwrap().map(|entry| entry.unwrap().path()).collect();
    bases.sort();
    let printer = Printer::new();
    let before = status("VmRSS:");
    std::panic::set_hook(Box::new(|info| *PANIC.lock().unwrap() = info.to_string()));
    for job in std::io::stdin().lines().map_while(Result::ok) {
        let (kind, number) = job.split_once(' ').unwrap();
        let number: u64 = number.parse().unwrap();
        let what = match cases().find(|(name, ..)| *name == kind) {
            Some((name, make, _)) => {
                if std::panic::catch_unwind(|| make(&report, number as i64)).is_err() {
                    eprintln!("{name} cannot be made: {}", PANIC.lock().unwrap());
                    return;
                }
                name.to_owned()
            }
            None if kind != "seed" => {
                let (bytes, done) = match kind {
                    "trace" => trace::mutant(number),
                    "page" => kernels::mutant(number),
                    _ => facts_mutant(&bases, number),
                };
                std::fs::write(&report, bytes).unwrap();
                done
            }
            None => mutate::mutant(&bases, number, &report),
        };
        println!("\nmade {job}");
        reset_peak();
        let start = cpu_time();
        let problem = std::panic::catch_unwind(AssertUnwindSafe(|| review(&printer, &report)))
            .unwrap_or_else(|_| Err(format!("panic: {}", PANIC.lock().unwrap())));
        let spent = cpu_time().saturating_sub(start);
        let ms = spent.as_millis();
        let (peak, size) = (status("VmHWM:").saturating_sub(before), std::fs::metadata(&report).unwrap().len());
        if let Some(folder) = std::env::var_os("COLDSPOT_MUTATION_KEEP").map(PathBuf::from) {
            std::fs::copy(&report, folder.join(job.replace(' ', "-"))).unwrap();
        }
        // The heavy ones would fill the disk together.
        std::fs::remove_file(&report).unwrap();
        if std::env::var_os("COLDSPOT_MUTATION_VERBOSE").is_some() {
            eprintln!("{job}: {ms} ms, {} kB, peak {} kB, {problem:?}", size >> 10, peak >> 10);
        }
        let too_much = peak > TIMES_THE_FILE * size + CONSTANT_BYTES;
        let problem = match problem {
            Err(problem) => format!("{problem} ({what})"),
            Ok(_) if spent > MOST_CPU => format!("{ms} ms of processor time ({what})"),
            Ok(_) if too_much => format!("{} MB of memory for {} MB ({what})", peak >> 20, size >> 20),
            Ok(_) => String::new(),
        };
        println!("\ndone {ms} {}", problem.replace('\n', " "));
    }
}

/// What this process and its threads have used of the processors; nothing without /proc.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which stands in brackets: the 12th and 13th fields, in ticks of which Linux tells a hundred a second.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// A line of the operating system's account of this process, in bytes.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("0");
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Lets the peak begin anew. Without /proc nothing is measured.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The whole way. What is wrong with the result, if anything.
fn review(printer: &Printer, report: &Path) -> Result<&'static str, String> {
    if file::is_facts_file(report) {
        return match file::read(report) {
            Ok(facts) => print(printer, &facts),
            Err(error) => {
                if error.to_string().is_empty() {
                    Err("no message".into())
                } else {
                    Ok("refused")
                }
            }
        };
    }
    let timeline = match try_timeline(report, &ReadOptions { threads: Some(2), ..ReadOptions::default() }) {
        Ok(timeline) => timeline,
        Err(error) => return if error.to_string().is_empty() { Err("no message".into()) } else { Ok("refused") },
    };
    let facts = extract(&timeline, &Scope::All).map_err(|error| error.to_string())?;
    drop(timeline);
    adds_up(&facts)?;
    print(printer, &facts)
}

fn print(printer: &Printer, facts: &Facts) -> Result<&'static str, String> {
    match printer.print(facts, "mutant.sqlite")?.iter().find_map(fault) {
        Some(fault) => Err(fault),
        None => Ok("reviewed"),
    }
}

/// The accounts of every device sum to its window, and the two readings of idle time to the idle time.
fn adds_up(facts: &Facts) -> Result<(), String> {
    for (_, device) in facts.of_kind(EntityKind::Device) {
        for breakdown in [Breakdown::Operation, Breakdown::CopyKind, Breakdown::Activity, Breakdown::Trigger] {
            let sum: i64 = breakdown.accounts().filter_map(|account| device.int(account.fact())).sum();
            let whole = device.int(breakdown.whole().fact()).unwrap_or(0);
            if sum != whole {
                return Err(format!("{breakdown:?} of {}: the parts sum to {sum}, not {whole}", device.key));
            }
        }
    }
    Ok(())
}
