//! What a GPU with a single copy engine can win of copies that run beside other work.

use std::fs;

use coldspot::analysis::Reading;
use coldspot::replay::Change;
use rusqlite::Connection;

use crate::support::temp;

/// What overlapping copies wins of a step of a recording, at most, where its GPU has so many engines.
fn most(engine_count: i64) -> f64 {
    let folder = temp::folder();
    let report = folder.path().join("copies.sqlite");
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/replays/kept/05_copy_compute_copy.bad.cu12.sqlite");
    fs::copy(kept, &report).unwrap();
    let changed = Connection::open(&report).unwrap();
    changed.execute("UPDATE TARGET_INFO_GPU SET asyncEngines = ?1", [engine_count]).unwrap();
    drop(changed);
    let answers = Reading::default().what_if(&report, &[Change::OverlapCopies]).unwrap();
    let predicted = answers[0].outcome.as_ref().unwrap_or_else(|none| panic!("{}", none.id()));
    predicted.together.ceiling_ns as f64 / predicted.step_ns as f64
}

#[test]
fn one_engine_copies_one_way_at_a_time() {
    // A step copies in for 0.30 ms, computes for 0.39 ms and copies back for 0.30 ms: with an engine for each way at best the
    // longest of the three is left, with one engine both copies.
    let (one, two, three) = (most(1), most(2), most(3));
    assert!((0.35..0.45).contains(&one), "{one}");
    assert!(two > 0.6 && (two - three).abs() < 1e-9, "{two} {three}");
}
