//! The fuzz targets run over their seeds and simple changes of them, so that they work when somebody fuzzes, and so that
//! what they found once stays found.

use std::fs;
use std::path::Path;

use crate::support::mutate::Random;
use crate::support::temp;

/// Every seed, and as many changes of each.
fn run(target: &str, changes: usize, entry: fn(&[u8])) {
    // The targets ask for temporary folders themselves.
    temp::root();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in &files {
        let seed = fs::read(file).unwrap();
        entry(&seed);
        let mut random = Random::new(seed.len() as u64);
        for _ in 0..changes {
            let mut changed = seed.clone();
            for _ in 0..1 + random.below(4) {
                change(&mut changed, &mut random);
            }
            entry(&changed);
        }
    }
}

/// Changes a byte, cuts, doubles, or puts in what grammars trip over.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    const PIECES: [&str; 16] = [
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
    match random.below(4) {
        0 => bytes[at] = random.next() as u8,
        1 => bytes.truncate(at),
        2 => {
            let piece = bytes[at..(at + 20).min(bytes.len())].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => _ = bytes.splice(at..at, random.pick(&PIECES).bytes()),
    }
}

#[test]
fn reports() {
    // The tests of mutants change reports far more often.
    run("sqlite", 3, crate::entries::sqlite);
}

#[test]
fn traces() {
    run("trace", 20, crate::entries::trace);
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
