//! The fuzz targets run over their seeds and changes of them, so that they work when somebody fuzzes, and so that what they
//! found once stays found.
//!
//! `COLDSPOT_FUZZ_SECONDS=60 cargo test --release --test it fuzz_seeds` goes on for so many seconds a target. A failure names
//! its number; `COLDSPOT_FUZZ_FIRST=NUMBER COLDSPOT_FUZZ_SECONDS=1` begins there.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::mutate::Random;
use crate::support::{SchemaVersion, scenario, temp};

/// No input may take longer, on a machine that does other things as well.
const LONGEST: Duration = Duration::from_secs(20);
/// Inputs do not grow beyond this.
const LARGEST: usize = 200_000;

/// Names the input when the target panics.
struct Running<'a>(&'a str, u64);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("target {}: COLDSPOT_FUZZ_FIRST={}", self.0, self.1);
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What is kept for a target.
fn seeds_of(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Reports of the tables that the kept one lacks, which are too large to be kept: samples and stacks of the CPU, operating system and
/// scheduler, unified memory, MPI, graphs, metrics.
fn written_reports() -> Vec<Vec<u8>> {
    let names = [
        "sampled-hashing",
        "native-call-stacks",
        "prints-between-rounds",
        "sleeps",
        "unified-memory",
        "waits-in-mpi",
        "whole-graphs",
        "low-sm-active",
    ];
    let folder = temp::folder();
    let write = |name: &str| {
        let path = folder.path().join(name);
        scenario(name).write(SchemaVersion::Nsys2025, &path);
        let bytes = fs::read(path).unwrap();
        assert!(bytes.len() < LARGEST, "{name} is cut");
        bytes
    };
    names.into_iter().map(write).collect()
}

/// Every seed, and as many changes of each; then others, for as long as the environment says.
fn run(target: &str, changes: u64, entry: fn(&[u8])) {
    run_over(target, &seeds_of(target), changes, entry);
}

fn run_over(target: &str, seeds: &[Vec<u8>], changes: u64, entry: fn(&[u8])) {
    // The targets ask for temporary folders themselves.
    temp::root();
    let try_one = |number: u64| {
        let (_running, start) = (Running(target, number), Instant::now());
        entry(&input(seeds, number));
        assert!(start.elapsed() < LONGEST, "{:?}", start.elapsed());
    };
    seeds.iter().for_each(|seed| entry(seed));
    (0..changes * seeds.len() as u64).for_each(try_one);
    let (start, seconds) = (Instant::now(), number("COLDSPOT_FUZZ_SECONDS").unwrap_or(0));
    let first = number("COLDSPOT_FUZZ_FIRST").unwrap_or(changes * seeds.len() as u64);
    (first..).take_while(|_| start.elapsed().as_secs() < seconds).for_each(try_one);
}

/// The input of a number: a seed, changed in one to four ways.
fn input(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut random = Random::new(number);
    let mut changed = seeds[number as usize % seeds.len()].clone();
    for _ in 0..1 + random.below(4) {
        let other = random.pick(seeds);
        change(&mut changed, other, &mut random);
    }
    changed.truncate(LARGEST);
    changed
}

/// Changes bytes, cuts, doubles, takes from another seed, or puts in what grammars trip over.
fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    const PIECES: [&str; 24] = [
        "{#",
        "#}",
        "elif ",
        "]]",
        "::error::",
        "\u{0}",
        "\u{1b}[",
        "1e999",
        "{{",
        "}}",
        "{%",
        "%}",
        "((((((((",
        "[[[[[[[[",
        "not ",
        "'",
        "\"",
        "\\",
        "\n",
        "..",
        "9999999999999999999",
        "-",
        "|",
        "\u{202e}",
    ];
    if bytes.is_empty() {
        return bytes.push(b'x');
    }
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(40)).min(bytes.len());
    match random.below(9) {
        0 => bytes[at] = random.next() as u8,
        1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes.truncate(at),
        3 => _ = bytes.drain(at..end),
        4 => {
            // Often enough for what is quadratic, or as deep as it is long.
            let piece = bytes[at..end].repeat(1 << random.below(10));
            bytes.splice(at..at, piece);
        }
        5 => {
            let start = random.below(other.len().max(1));
            bytes.splice(at..end, other[start..].iter().copied().take(4_096));
        }
        6 => {
            let piece = random.pick(&PIECES).repeat(1 << random.below(8));
            bytes.splice(at..at, piece.bytes());
        }
        7 => {
            let digits = [0, 1, -1, i64::MAX, i64::MIN, 1 << 53, 1 << 32][random.below(7)].to_string();
            bytes.splice(at..end, digits.bytes());
        }
        _ => _ = bytes.splice(at..at, random.pick(&PIECES).bytes()),
    }
}

#[test]
fn reports() {
    // The tests of mutants change reports far more often.
    let seeds = [seeds_of("sqlite"), written_reports()].concat();
    run_over("sqlite", &seeds, 3, crate::entries::sqlite);
}

#[test]
fn traces() {
    run("trace", 20, crate::entries::trace);
}

#[test]
fn pages() {
    run("page", 20, crate::entries::page);
}

#[test]
fn facts_files() {
    run("facts", 30, crate::entries::facts);
}

#[test]
fn configurations() {
    run("config", 200, crate::entries::config);
}

#[test]
fn rule_files() {
    run("rule", 20, crate::entries::rule);
}

#[test]
fn expressions() {
    run("expression", 6, crate::entries::expression);
}

#[test]
fn templates() {
    run("template", 60, crate::entries::template);
}

#[test]
fn strings() {
    run("escape", 500, crate::entries::escape);
}

#[test]
fn times() {
    run("times", 500, crate::entries::times);
}

#[test]
fn nests_are_too_deep_and_no_more() {
    temp::root();
    for (open, close) in
        [("(", ")"), ("[", "]"), ("not ", ""), ("-", ""), ("{", "}"), ("1 if 1 else ", ""), ("min(", ")")]
    {
        for depth in [20_000, 1_000 / (open.len() + close.len())] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            crate::entries::expression(nested.as_bytes());
        }
        crate::entries::expression(format!("1{}", "+1".repeat(500)).as_bytes());
        crate::entries::expression(format!("{{{{ 1{} }}}}", "+1".repeat(500)).as_bytes());
        crate::entries::expression(format!("1{}", " | default(1)".repeat(70)).as_bytes());
        crate::entries::template(format!("{{{{ {} }}}}", open.repeat(1_900 / open.len())).as_bytes());
    }
    for block in ["{% if 1 %}", "{% for a in b %}", "{% macro a() %}", "{% set a %}", "{% filter own %}"] {
        crate::entries::template(block.repeat(100).as_bytes());
    }
    crate::entries::rule(format!("a = {}1{}", "[".repeat(50_000), "]".repeat(50_000)).as_bytes());
    crate::entries::rule(format!("{}a = 1", "a.".repeat(50_000)).as_bytes());
}
