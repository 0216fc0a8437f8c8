//! The part of a recording that facts are measured in: the window of each device, narrowed to times or to a range.

use crate::ledger::{DeviceOps, Scope};
use crate::source;
use crate::text::escape;
use crate::text::nearest::most_alike_first;
use crate::text::number;
use crate::timeline::interval::Interval;
use crate::timeline::{Capability, ThreadRanges, Timeline};

/// Why nothing can be looked at in the way that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// No operation lies in the window.
    #[error(
        "no GPU operation lies in the window that was asked for; the operations of this report lie between {} and {}",
        number::instant(*first_ns),
        number::instant(*last_ns)
    )]
    Empty {
        /// When the first operation begins.
        first_ns: i64,
        /// When the last one ends.
        last_ns: i64,
    },
    /// No range has that name, or not that many.
    #[error("the report has {found} range(s) named '{name}', number {number} was asked for; {hint}")]
    NoSuchRange {
        /// The name asked for.
        name: String,
        /// The number asked for.
        number: usize,
        /// How many there are.
        found: usize,
        /// Names that are there.
        hint: String,
    },
    /// No range with that name holds GPU work.
    #[error("no GPU operation was launched inside ranges named '{name}'; names that the report has: {names}")]
    NoSuchStep {
        /// The name asked for.
        name: String,
        /// Names that are there.
        names: String,
    },
    /// Nothing repeats, so that no phases are told.
    #[error("the report shows no phase '{phase}': nothing in it repeats, or it has none")]
    NoSuchPhase {
        /// The phase asked for.
        phase: &'static str,
    },
    /// The range launched nothing.
    #[error("no GPU operation was launched inside range '{name}' (number {number})")]
    NothingLaunched {
        /// The name asked for.
        name: String,
        /// The number asked for.
        number: usize,
    },
}

/// Narrows the windows; devices of which nothing is left are dropped.
pub(super) fn apply(timeline: &Timeline, devices: &mut Vec<DeviceOps>, scope: &Scope) -> Result<(), ScopeError> {
    let first_ns = devices.iter().map(|device| device.window.start).min();
    let last_ns = devices.iter().map(|device| device.window.end).max();
    let (Some(first_ns), Some(last_ns)) = (first_ns, last_ns) else { return Ok(()) };
    match scope {
        Scope::All => return Ok(()),
        Scope::Times { start, end } => {
            let to = Interval::new(start.unwrap_or(i64::MIN), end.unwrap_or(i64::MAX));
            devices.iter_mut().for_each(|device| device.asked_from_ns = to.start);
            devices.retain_mut(|device| device.narrow(to));
        }
        Scope::Range { name, number } => {
            let (range, thread) = find_range(timeline, name, *number)?;
            // What its own thread launched; where that launched nothing, such as in a range around work that other
            // threads do, what its process launched.
            let by_thread = |call: u32| timeline.api.thread[call as usize] == thread;
            let process = timeline.process_of(thread);
            let by_process = |call: u32| timeline.process_of(timeline.api.thread[call as usize]) == process;
            let has_own = devices.iter().any(|device| launched_in(timeline, device, range, by_thread).is_some());
            devices.retain_mut(|device| {
                let launched = if has_own {
                    launched_in(timeline, device, range, by_thread)
                } else {
                    launched_in(timeline, device, range, by_process)
                };
                launched.is_some_and(|launched| device.narrow(launched))
            });
            if devices.is_empty() {
                return Err(ScopeError::NothingLaunched { name: name.clone(), number: *number });
            }
        }
    }
    if devices.is_empty() { Err(ScopeError::Empty { first_ns, last_ns }) } else { Ok(()) }
}

/// When a range was entered and left, and by which thread.
fn find_range(timeline: &Timeline, name: &str, number: usize) -> Result<(Interval, u32), ScopeError> {
    let ranges = &timeline.ranges;
    let wanted = timeline.names.find(name);
    let is_wanted =
        |label: &u32| wanted.is_some() && ranges.labels.get(*label as usize).map(|label| label.name) == wanted;
    let of_thread = |of: &ThreadRanges| {
        let fitting = of.times.iter().zip(&of.label).filter(|(_, label)| is_wanted(label));
        fitting.map(|(times, _)| (times, of.thread)).collect::<Vec<_>>()
    };
    let mut found: Vec<(Interval, u32)> = ranges.threads.iter().flat_map(of_thread).collect();
    found.sort_by_key(|(times, thread)| (times.start, *thread));
    let wanted = number.checked_sub(1).and_then(|index| found.get(index)).copied();
    wanted.ok_or_else(|| ScopeError::NoSuchRange {
        name: name.to_owned(),
        number,
        found: found.len(),
        hint: range_hint(timeline, name),
    })
}

/// The ranges whose names are nearest to one that is not there.
fn range_hint(timeline: &Timeline, name: &str) -> String {
    let known = timeline.ranges.labels.iter().map(|label| timeline.name(label.name));
    match most_alike_first(name, known).as_slice() {
        [] => {
            let how = source::how_to_capture(timeline.source.format, &[Capability::Nvtx]);
            let how = how.map_or_else(String::new, |how| format!(": capture them with {how}"));
            format!("the report has no ranges{how}")
        }
        names => format!(
            "names that it has: {}",
            names.iter().take(5).map(|name| escape::short(name)).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// From the first start to the last end of what was launched on a device within a range, by calls that count.
fn launched_in(
    timeline: &Timeline,
    device: &DeviceOps,
    range: Interval,
    counts: impl Fn(u32) -> bool,
) -> Option<Interval> {
    let launched = device.all_ops().filter(|op| {
        let Some(call) = op.call(timeline) else { return false };
        let start = timeline.api.times.start(call as usize);
        range.start <= start && start < range.end && counts(call)
    });
    launched.map(|op| op.interval()).reduce(Interval::hull)
}
