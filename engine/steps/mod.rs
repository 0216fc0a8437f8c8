//! Steps: what a program does over and over, and the phases that they divide a recording into.
//!
//! A step is told by the outermost range that repeats and holds most of the GPU work ([`ranges`]), by the program's own
//! `cudaProfilerStart` and `cudaProfilerStop` ([`region`]), or, where neither tells, by a sequence of launches that
//! repeats ([`sequence`]), which ends with the step of an optimizer where that is known. On the device a step lasts from the first
//! operation that it launched to the first one that the next step launched; the host may be far ahead of that. Where the host is behind,
//! and the device waits for a marked step, that wait is a part of the step that it waits for.

mod kernel_tuning;
pub mod kinds;
mod launches;
pub mod phases;
mod ranges;
mod region;
pub mod rows;
mod sequence;
mod start_up;
mod step;
mod trials;

pub use kernel_tuning::{KernelTuning, kernel_tunings};
pub use launches::Launches;
pub use phases::{Phase, Phases};
pub use ranges::{Marks, names, without_numbers};
pub use start_up::start_up;
pub use step::{Certainty, MIN_STEP_COUNT, Step, Steps, ToldBy, WARM_UP_FACTOR};
pub(crate) use step::{median, median_ns};

use crate::timeline::Timeline;

/// The steps that the launches of a device within its window tell; `wanted` is the name of the range that the user calls a step.
/// `None` where nothing repeats.
pub fn find(timeline: &Timeline, marks: &Marks, launches: &Launches, wanted: Option<&str>) -> Option<Steps> {
    if let Some(name) = wanted {
        return ranges::named(timeline, launches, name);
    }
    let told = || ranges::find(marks, launches).or_else(|| region::find(timeline, launches));
    let mut found = told().or_else(|| of_launches(timeline, marks, launches))?;
    if found.certainty < Certainty::High && ranges::are_parts_of_one(marks, launches, &found) {
        return None;
    }
    // One step or two that the program marks show what a step is: what repeats within them is none.
    if found.certainty < Certainty::High && ranges::has_few_steps(marks, launches) {
        found.certainty = Certainty::Low;
    }
    Some(found)
}

/// What launches tell: rounds, or, where these are sure, steps of which an optimizer tells the ends.
fn of_launches(timeline: &Timeline, marks: &Marks, launches: &Launches) -> Option<Steps> {
    let rounds = sequence::find(timeline, launches)?;
    let is_sure = rounds.certainty > Certainty::Low;
    let steps = is_sure.then(|| ranges::of_optimizer(marks, launches, &rounds)).flatten();
    Some(steps.unwrap_or(rounds))
}

#[cfg(test)]
mod tests;
