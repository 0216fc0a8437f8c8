//! Whether a program came to its end, by what it called last.

use foldhash::HashMap;

use crate::timeline::api::{self, ApiClass};
use crate::timeline::{NONE, NameId, Timeline};

/// The last calls of a program that ends in order.
const LAST_CALL_COUNT: usize = 20;

/// How the profiler calls what it does as the process that it is in exits.
const EXIT_NOTICE: &str = "CUDA profiling data flush on process exit";

/// Whether the profiler noticed that each process exits that called CUDA, after all its calls that were recorded; where none did, that any
/// does. Then the program ended while it was recorded: a helper that ends says nothing of the others.
pub(super) fn is_exit_recorded(timeline: &Timeline) -> bool {
    // A notice of no known thread may be of any.
    let exits = exits(timeline);
    let api = &timeline.api;
    let calls = api.times.iter().zip(&api.thread);
    let calls = last_of_each(calls.map(|(times, thread)| (timeline.process_of(*thread), times.start)));
    let of_any = exits.get(&NONE).copied();
    let has_exited = |(process, call): (&u32, &i64)| exits.get(process).copied().max(of_any) >= Some(*call);
    !exits.is_empty() && calls.iter().all(has_exited)
}

fn last_of_each(moments: impl Iterator<Item = (u32, i64)>) -> HashMap<u32, i64> {
    let mut last = HashMap::default();
    for (process, moment) in moments {
        let known = last.entry(process).or_insert(moment);
        *known = moment.max(*known);
    }
    last
}

/// By process, when the profiler was done with what it does as that exits.
pub(super) fn exits(timeline: &Timeline) -> HashMap<u32, i64> {
    let (overheads, name) = (&timeline.overheads, timeline.names.find(EXIT_NOTICE));
    let all = overheads.times.iter().zip(&overheads.name).zip(&overheads.thread);
    let own = all.filter(|((_, own), _)| Some(**own) == name);
    last_of_each(own.map(|((times, _), thread)| (timeline.process_of(*thread), times.end)))
}

/// Whether what the program called last frees, destroys and waits, and nothing else: it came to its end.
pub(super) fn is_torn_down(timeline: &Timeline) -> bool {
    let api = &timeline.api;
    if api.len() < LAST_CALL_COUNT {
        return false;
    }
    // They mostly are in order: from the end on, few are later than the last that are known.
    let mut last: Vec<(i64, NameId)> = Vec::new();
    for (call, name) in api.times.iter().zip(&api.name).rev() {
        let call = (call.start, *name);
        if last.len() == LAST_CALL_COUNT && last.last().is_some_and(|least| call <= *least) {
            continue;
        }
        last.truncate(LAST_CALL_COUNT - 1);
        last.insert(last.partition_point(|other| *other > call), call);
    }
    let last = last.into_iter().map(|(_, name)| timeline.name(name));
    let undoes = |name: &str| {
        ["Free", "Destroy", "Unregister", "Unload", "Release", "Reset"].iter().any(|part| name.contains(part))
    };
    let mut undone = 0;
    for name in last {
        if undoes(name) {
            undone += 1;
        } else if !matches!(api::classify(name), ApiClass::Wait(_) | ApiClass::Query) {
            return false;
        }
    }
    undone > 0
}
