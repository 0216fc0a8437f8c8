//! What of the work of a side is in no number: what was lost, failed or was not read, and what graphs hide.

use super::measure::SAME_SHARE;
use super::runs::{Run, Runs, int};
use super::sides::{Side, Sides};
use crate::facts::NotWhole;
use crate::text::number;
use crate::text::spans::Sentence;

/// Recordings of which a part is missing: what is missing looks like less work and more idle time.
pub(super) fn incomplete(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    let of = |lacks: fn(NotWhole) -> bool| {
        sides.map(|side| side.runs.iter().filter_map(|run| run.facts.not_whole()).any(lacks))
    };
    let damaged = of(|why| why == NotWhole::Damaged);
    let incomplete = of(|why| matches!(why, NotWhole::Damaged | NotWhole::Missing | NotWhole::Unusable(_)));
    let words = match (damaged.base, damaged.head, incomplete.base, incomplete.head) {
        (true, true, ..) => "a part of what ran is in the files of neither side",
        (true, false, ..) => "a part of what ran is not in a file of the base",
        (false, true, ..) => "a part of what ran is not in a file of the head",
        (.., true, true) => {
            "work of the GPU is missing on both sides, lost by the profiler or unreadable, so that a part of what ran is in neither"
        }
        (.., true, false) => {
            "work of the GPU of the base is missing, lost by the profiler or unreadable, so that a part of what ran is not in it"
        }
        (.., false, true) => {
            "work of the GPU of the head is missing, lost by the profiler or unreadable, so that a part of what ran is not in it"
        }
        (.., false, false) => return unmeasured(sides).or_else(|| lost(sides)),
    };
    Some(own(words))
}

/// A side with so many more graphs, as a share of its launches, hides kernels that the other tells.
const HIDDEN_SHARE: f64 = 0.02;

/// Whether a side runs more of its work in graphs that are recorded as a whole.
pub(super) fn hides_kernels(sides: Sides<Runs<'_>>) -> Sides<bool> {
    let share = |run: &Run| {
        let [graphs, kernels] = ["graph_launch_count", "kernel_count"].map(|fact| run.sum(fact) as f64);
        if graphs > 0.0 { graphs / (graphs + kernels) } else { 0.0 }
    };
    let Sides { base, head } = sides.map(|side| side.runs.iter().map(|run| share(run)).fold(0.0, f64::max));
    Sides { base: base > head + HIDDEN_SHARE, head: head > base + HIDDEN_SHARE }
}

/// GPUs that work outside of what is measured on others, where that grew or shrank by a part of the whole that matters.
fn beside(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    let of = |fact: &str| sides.map(|side| side.median(|run| most_of_devices(run, fact)));
    let (busy, whole) = (of("left_out_devices_busy_ns"), of("whole_window_ns"));
    let is_much = busy.base.abs_diff(busy.head) as f64 > SAME_SHARE * whole.base.max(whole.head) as f64;
    let [base, head] = [busy.base, busy.head].map(number::duration);
    is_much.then(|| {
        own(&format!(
            "GPUs that do nothing in the steady state of the others work for {head} in the head, for {base} in the base"
        ))
    })
}

fn most_of_devices(run: &Run, fact: &str) -> i64 {
    run.devices().iter().map(|(_, device)| int(device, fact)).max().unwrap_or(0)
}

/// Sides that launch successfully by so much less, as a share of all their launches, do not do the same.
const FAILED_SHARE: f64 = 0.01;

/// Programs that failed, and recordings of which a part was not read.
fn unmeasured(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    let of = |side: Side| {
        sides.get(side).runs.iter().find_map(|run| match run.facts.not_whole()? {
            NotWhole::Unmeasured(why) => Some(why),
            _ => None,
        })
    };
    let told = [Side::Head, Side::Base].into_iter().find_map(|side| Some((side, of(side)?)));
    if let Some((side, why)) = told {
        return Some(own(&format!("in the {} {why}", side.name())));
    }
    if let Some(because) = beside(sides) {
        return Some(because);
    }
    let most = |runs: Runs<'_>| runs.runs.iter().map(|run| run.facts.failed_launch_share()).fold(0.0, f64::max);
    let Sides { base, head } = sides.map(most);
    let [base_share, head_share] = [base, head].map(number::percent);
    let words = "of the launches return an error, so that a part of the work did not run";
    ((base - head).abs() >= FAILED_SHARE)
        .then(|| own(&format!("in the head {head_share} {words}; in the base {base_share}")))
}

fn own(words: &str) -> Sentence {
    Sentence::default().own(words)
}

/// A capture that ends by itself leaves about as many launches without work on both sides.
const MORE_LOST: f64 = 0.1;

/// Where one side lacks the work of many more of its launches than the other: its end, for all that is known, which may be the
/// slower part.
fn lost(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    let of_run = |run: &Run| {
        let (lost, all) = (int(run.entity()?, "lost_launch_count"), int(run.entity()?, "launch_call_count"));
        Some(lost as f64 / all.max(lost).max(1) as f64)
    };
    let Sides { base, head } = sides.map(|side| side.runs.iter().filter_map(|run| of_run(run)).fold(0.0, f64::max));
    ((base - head).abs() > MORE_LOST).then(|| {
        let (base, head) = (number::percent(base), number::percent(head));
        own(&format!("the base holds no work of {base} of its launches, the head of {head}: what is missing may have taken any time"))
    })
}
