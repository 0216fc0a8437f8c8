//! Whether a program came to its end, by what it called last.

use crate::timeline::api::{self, ApiClass};
use crate::timeline::{NameId, Timeline};

/// The last calls of a program that ends in order.
const LAST_CALL_COUNT: usize = 20;

/// How the profiler calls what it does as the process that it is in exits.
const EXIT_NOTICE: &str = "CUDA profiling data flush on process exit";

/// Whether the profiler noticed that a process exits, after all calls that were recorded: the program ended while it was recorded.
pub(super) fn is_exit_recorded(timeline: &Timeline) -> bool {
    let last_exit = exits(timeline).map(|(end, _)| end).max();
    let last_call = timeline.api.times.iter().map(|call| call.start).max();
    last_exit.is_some_and(|exit| last_call.is_none_or(|call| call <= exit))
}

/// When the profiler was done with what it does as a process exits, on which thread.
pub(super) fn exits(timeline: &Timeline) -> impl Iterator<Item = (i64, u32)> + '_ {
    let (overheads, name) = (&timeline.overheads, timeline.names.find(EXIT_NOTICE));
    let all = overheads.times.iter().zip(&overheads.name).zip(&overheads.thread);
    all.filter(move |((_, own), _)| Some(**own) == name).map(|((times, _), thread)| (times.end, *thread))
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
