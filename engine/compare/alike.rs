//! Whether the runs of both sides measure the same thing: the same part of a run, on the same GPUs.

use std::collections::BTreeSet;

use super::runs::{Run, Runs, devices_with_work, int};
use super::sides::Sides;
use crate::facts::{Entity, FactValue, Facts};
use crate::text::plural::counted as many;
use crate::text::spans::Sentence;

/// A phase that is as much of the window is all of it.
const WHOLE_SHARE: f64 = 0.98;

/// Somebody chose a part of one side, and all of the other.
pub(super) fn narrowed(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    let is_narrowed =
        |run: &Run| run.entity().and_then(|run| run.get("is_window_narrowed")) == Some(&FactValue::Bool(true));
    let is_chosen = |runs: Runs<'_>| runs.runs.iter().any(|run| is_narrowed(run));
    let Sides { base, head } = sides.map(is_chosen);
    let words = match (base, head) {
        (true, false) => {
            "the facts of the base are of a part of its recording that somebody chose, those of the head are not"
        }
        (false, true) => {
            "the facts of the head are of a part of its recording that somebody chose, those of the base are not"
        }
        _ => return None,
    };
    Some(own(words))
}

/// Runs of which other parts are measured: all of one, and the steady state of another.
pub(super) fn parts_differ(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    let parts = sides.map(|side| side.runs.iter().map(|run| measured_part(&run.facts)).collect::<BTreeSet<&str>>());
    let one = |parts: &BTreeSet<&str>| parts.iter().copied().collect::<Vec<_>>().join(" and ");
    (parts.base.union(&parts.head).count() > 1).then(|| {
        own(&format!(
            "of the base {} is measured, of the head {}: measure the same part of both, with --phase steady or --phase whole",
            one(&parts.base),
            one(&parts.head)
        ))
    })
}

/// The part of a run that is measured.
pub(crate) fn measured_part(facts: &Facts) -> &'static str {
    let is_narrower =
        |device: &Entity| (int(device, "window_ns") as f64) < WHOLE_SHARE * int(device, "whole_window_ns") as f64;
    let devices = devices_with_work(facts);
    let mut narrower = devices.iter().filter(|(_, device)| is_narrower(device));
    match narrower.find_map(|(_, device)| device.text("phase")) {
        Some("steady") => "the steady state",
        Some("set-up") => "the set-up",
        Some("warm-up") => "the warm-up",
        Some("tear-down") => "the tear-down",
        _ => "the whole",
    }
}

/// The names of a run's GPUs, by number; absent where none is recorded.
type Gpus<'a> = Vec<Option<&'a str>>;

fn gpus(run: &Run) -> Gpus<'_> {
    run.devices().into_iter().map(|(_, device)| device.text("name").filter(|name| !name.is_empty())).collect()
}

/// Other GPUs, or none.
pub(super) fn devices_differ(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    let counts = sides.map(|side| side.first().map(|run| run.devices().len())).both()?;
    match (counts.base, counts.head) {
        (0, 0) => return Some(own("neither side recorded GPU work")),
        (0, _) => return Some(own("the base recorded no GPU work")),
        (_, 0) => return Some(own("the head recorded no GPU work")),
        (b, h) if b != h => {
            let way_out = "of one GPU that both have, choose it with --device N";
            return Some(own(&format!("the base used {}, the head {}: {way_out}", many(b, "GPU"), many(h, "GPU"))));
        }
        _ => {}
    }
    let each = sides.map(|side| side.runs.iter().map(|run| gpus(run)).collect::<BTreeSet<_>>());
    let words = |first: &str, second: &str, pair: (&str, &str)| own(first).value(pair.0).own(second).value(pair.1);
    for base in &each.base {
        for head in &each.head {
            match others(base, head) {
                Some(Others::Gpus(pair)) => return Some(words("the base ran on ", ", the head on ", pair)),
                Some(Others::Order(pair)) => {
                    let first = "the GPUs of the head stand in another order: in the place of ";
                    return Some(words(first, " it has ", pair));
                }
                None => {}
            }
        }
    }
    [("base", &each.base), ("head", &each.head)].into_iter().find_map(|(side, runs)| {
        let pairs = runs.iter().zip(runs.iter().skip(1));
        let other = pairs.into_iter().find_map(|(one, other)| others(one, other))?;
        let (Others::Gpus(pair) | Others::Order(pair)) = other;
        Some(words(&format!("the runs of the {side} ran on other GPUs: "), " and ", pair))
    })
}

/// What differs in the GPUs of two runs, with a pair that does.
enum Others<'a> {
    Gpus((&'a str, &'a str)),
    /// The same ones, numbered otherwise: each is held against the one in its place.
    Order((&'a str, &'a str)),
}

/// `None` where they may be the same: a GPU without a name may be any.
fn others<'a>(base: &Gpus<'a>, head: &Gpus<'a>) -> Option<Others<'a>> {
    let pair = base.iter().zip(head).find_map(|(base, head)| (*base).zip(*head).filter(|(base, head)| base != head))?;
    // What of one run no GPU of the other is.
    let left = |of: &Gpus<'a>, other: &Gpus<'a>| {
        let mut others: Vec<&str> = other.iter().copied().flatten().collect();
        let mut left = of.iter().copied().flatten();
        left.find(|name| others.iter().position(|other| other == name).map(|index| others.swap_remove(index)).is_none())
    };
    Some(match (left(base, head), left(head, base)) {
        (Some(base), Some(head)) => Others::Gpus((base, head)),
        _ => Others::Order(pair),
    })
}

/// That nothing tells whether the GPUs are the same.
pub(super) fn unnamed(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    let is_unnamed = sides.map(|side| side.runs.iter().any(|run| gpus(run).contains(&None)));
    let whose = match (is_unnamed.base, is_unnamed.head) {
        (true, true) => "neither side",
        (true, false) => "the base",
        (false, true) => "the head",
        (false, false) => return None,
    };
    let verb = if whose == "neither side" { "names every GPU" } else { "does not name every GPU" };
    Some(own(&format!("{whose} {verb}: whether both sides ran on the same cannot be told")))
}

fn own(words: &str) -> Sentence {
    Sentence::default().own(words)
}
