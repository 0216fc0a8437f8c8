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
    let parts = sides.map(|side| side.runs.iter().map(|run| measured_parts(&run.facts)).collect::<BTreeSet<_>>());
    let mut all = parts.base.union(&parts.head);
    let first = all.next()?;
    let is_of_all = |part: &Part| all.clone().all(|others| others.contains(part));
    if first.iter().any(is_of_all) {
        return None;
    }
    let told = |parts: &BTreeSet<Vec<Part>>| {
        let names: BTreeSet<&str> = parts.iter().filter_map(|parts| parts.first().map(|part| part.name())).collect();
        names.into_iter().collect::<Vec<_>>().join(" and ")
    };
    Some(own(&format!(
        "of the base {} is measured, of the head {}: measure the same part of both, with --phase steady or --phase whole",
        told(&parts.base),
        told(&parts.head)
    )))
}

/// What of a run may be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Steady,
    SetUp,
    WarmUp,
    TearDown,
    WithoutEnds,
    Whole,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Steady => "the steady state",
            Self::SetUp => "the set-up",
            Self::WarmUp => "the warm-up",
            Self::TearDown => "the tear-down",
            Self::WithoutEnds => "the window without its ends",
            Self::Whole => "the whole",
        }
    }
}

/// The part of a run that is measured, by its name; of several that it is, the narrowest, as that of other runs may be.
pub(crate) fn measured_part(facts: &Facts) -> &'static str {
    measured_parts(facts).last().map_or("", |part| part.name())
}

/// The parts of a run that what is measured is, the plainest first: a steady state without anything before it is the whole run.
fn measured_parts(facts: &Facts) -> Vec<Part> {
    let is_narrower =
        |device: &Entity| (int(device, "window_ns") as f64) < WHOLE_SHARE * int(device, "whole_window_ns") as f64;
    let devices = devices_with_work(facts);
    let mut narrower = devices.iter().filter(|(_, device)| is_narrower(device));
    match narrower.find_map(|(_, device)| device.text("phase")) {
        Some("steady") => return vec![Part::Steady],
        Some("set-up") => return vec![Part::SetUp],
        Some("warm-up") => return vec![Part::WarmUp],
        Some("tear-down") => return vec![Part::TearDown],
        _ => {}
    }
    let is_steady = |device: &Entity| int(device, "steady_ns") as f64 >= WHOLE_SHARE * int(device, "window_ns") as f64;
    // A steady state is asked for: what comes behind a long pause, and pages that move after the work, are no part of it.
    let is_cut = || devices.iter().any(|(_, device)| is_cut(device));
    let mut parts = match asked_phase(facts) {
        Some("steady") if is_cut() => vec![Part::WithoutEnds],
        Some("steady") => vec![Part::Whole, Part::WithoutEnds],
        _ => vec![Part::Whole],
    };
    if !devices.is_empty() && devices.iter().all(|(_, device)| is_steady(device)) {
        parts.push(Part::Steady);
    }
    parts
}

fn asked_phase(facts: &Facts) -> Option<&str> {
    facts.run()?.text("asked_phase")
}

/// Whether something is cut off the window of a steady state although no phase is told.
fn is_cut(device: &Entity) -> bool {
    ["last_pages_ns", "pause_ns"].iter().any(|fact| int(device, fact) > 0)
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

/// Whether a run ran on other GPUs than another one, or on more or fewer.
pub(super) fn is_on_others(run: &Run, other: &Run) -> bool {
    let (own, theirs) = (gpus(run), gpus(other));
    own.len() != theirs.len() || others(&own, &theirs).is_some()
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
