//! Stretches in which a thread compiles although nothing in them says so: it waits for a compiler that runs as a program.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, Timeline, modules};

/// When a thread compiles, and the call that tells it.
pub(super) type Found = (u32, Interval, NameId);

/// Calls in which a thread sleeps.
const SLEEPS: [&str; 4] = ["nanosleep", "clock_nanosleep", "usleep", "sleep"];
/// Calls that wait for a child.
const CHILD_WAITS: [&str; 6] = ["waitpid", "wait4", "waitid", "wait", "system", "pclose"];
/// Calls that wait for another thread.
const JOINS: [&str; 2] = ["pthread_join", "pthread_tryjoin_np"];
/// A shorter wait is for something that was there already.
const SHORT_WAIT_NS: i64 = 1_000_000;
/// The part of a wait for a thread in which that one waits for a compiler, at least.
const JOINED_SHARE: f64 = 0.8;
/// Of the waits of a process for compilers so many, the longest, are held against those for threads: each is against each.
const MOST_WAITS: usize = 64;

/// Calls in which a process may wait for one that it started: for its output, or for a thread that waits so.
const OTHER_WAITS: [&str; 16] = [
    "poll",
    "ppoll",
    "select",
    "pselect",
    "epoll_wait",
    "epoll_pwait",
    "read",
    "fread",
    "fgets",
    "futex",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
];
/// All of these: calls that may wait for another process, or for a thread that does.
pub(crate) const PROCESS_WAITS: [&[&str]; 3] = [&CHILD_WAITS, &JOINS, &OTHER_WAITS];
/// A wait is for compilers when those that run within it take this part of it, and each lies in it with this part of its own time.
const RUN_SHARE: f64 = 0.8;

/// Waits for children where compilers ran, and waits for threads that wait so.
pub(super) fn of_children(timeline: &Timeline) -> Vec<Found> {
    let surroundings = &timeline.surroundings;
    let mut found: Vec<Found> = Vec::new();
    let has_compiler = surroundings.program_names.iter().any(|name| modules::is_compiler_program(name));
    if !has_compiler && surroundings.compiler_runs.is_empty() {
        return found;
    }
    let named = |names: &[&str]| -> Vec<NameId> { names.iter().filter_map(|name| timeline.names.find(name)).collect() };
    let (waits, others, joins) = (named(&CHILD_WAITS), named(&OTHER_WAITS), named(&JOINS));
    let calls = &timeline.os_calls;
    let calls = || {
        calls.times.iter().zip(&calls.thread).zip(&calls.name).filter(|((times, _), _)| times.len_ns() >= SHORT_WAIT_NS)
    };
    let asked = calls().filter(|(_, name)| waits.contains(name) || others.contains(name));
    for ((times, thread), name) in longest(asked.collect()) {
        let program = waited_for(timeline, *thread, times);
        let program = program.or((waits.contains(name) && has_compiler).then_some(*name));
        found.extend(program.map(|program| (*thread, times, program)));
    }
    let mut of_process: HashMap<u32, Vec<(u32, Interval)>> = HashMap::default();
    for (thread, times, _) in found.iter().filter(|(thread, ..)| *thread != NONE) {
        of_process.entry(timeline.process_of(*thread)).or_default().push((*thread, *times));
    }
    for waits in of_process.values_mut() {
        waits.sort_by_key(|(_, wait)| Reverse(wait.len_ns()));
        waits.truncate(MOST_WAITS);
    }
    let waits_for_compiler = |thread: u32, join: Interval| {
        let others = of_process.get(&timeline.process_of(thread)).into_iter().flatten();
        let longest_ns = others.filter(|(other, _)| *other != thread).map(|(_, wait)| wait.overlap_ns(join)).max();
        longest_ns.is_some_and(|ns| ns as f64 >= JOINED_SHARE * join.len_ns() as f64)
    };
    let joins = calls().filter(|((times, thread), name)| {
        **thread != NONE && joins.contains(name) && waits_for_compiler(**thread, *times)
    });
    let joins: Vec<Found> = joins.map(|((times, thread), name)| (*thread, times, *name)).collect();
    found.extend(joins);
    found
}

/// Waits that are held against all runs of compilers, the longest: far more than a build has.
const MOST_ASKED_WAITS: usize = 20_000;

/// The longest waits, where there are too many, in the order in which they came.
fn longest<'all>(mut waits: Vec<Wait<'all>>) -> Vec<Wait<'all>> {
    let mut lengths: Vec<i64> = waits.iter().map(|((times, _), _)| times.len_ns()).collect();
    let Some(beyond) = lengths.len().checked_sub(MOST_ASKED_WAITS).filter(|beyond| *beyond > 0) else { return waits };
    let least_ns = *lengths.select_nth_unstable(beyond).1;
    let longer_count = waits.iter().filter(|((times, _), _)| times.len_ns() > least_ns).count();
    let mut room = MOST_ASKED_WAITS.saturating_sub(longer_count);
    waits.retain(|((times, _), _)| {
        let is_as_long = times.len_ns() == least_ns && room > 0;
        room -= usize::from(is_as_long);
        times.len_ns() > least_ns || is_as_long
    });
    waits
}

/// A call of the OS: when, on which thread, and its name.
type Wait<'all> = ((Interval, &'all u32), &'all NameId);

/// The compiler that a wait of a thread is for, by the samples of other processes: the one of those that run within it that runs longest.
fn waited_for(timeline: &Timeline, thread: u32, wait: Interval) -> Option<NameId> {
    let pid = timeline.processes.get(timeline.process_of(thread) as usize).map(|process| process.pid);
    let runs = timeline.surroundings.compiler_runs.iter().take_while(|run| run.times.start < wait.end);
    let is_within = |run: &Interval| wait.overlap_ns(*run) as f64 >= RUN_SHARE * run.len_ns() as f64;
    let within: Vec<_> = runs.filter(|run| Some(run.pid) != pid && is_within(&run.times)).collect();
    let taken_ns = Union::of(within.iter().map(|run| run.times)).overlap_ns(wait);
    let longest = within.into_iter().max_by_key(|run| run.times.len_ns())?;
    (taken_ns as f64 >= RUN_SHARE * wait.len_ns() as f64).then_some(longest.program)
}

/// The names of calls that sleep, where any was made.
pub fn sleeps(timeline: &Timeline) -> HashSet<NameId> {
    SLEEPS.iter().filter_map(|name| timeline.names.find(name)).collect()
}

/// When something else of a thread than a call of CUDA ends: a sleep, or the begin or the end of a range.
pub(super) fn other_ends(timeline: &Timeline, is_making: impl Fn(u32) -> bool) -> Vec<(u32, i64, NameId)> {
    let sleeps = sleeps(timeline);
    let os_calls = timeline.os_calls.times.iter().zip(&timeline.os_calls.name).zip(&timeline.os_calls.thread);
    let sleeps = os_calls.filter(|((_, name), thread)| is_making(**thread) && sleeps.contains(name));
    let mut ends: Vec<(u32, i64, NameId)> = sleeps.map(|((sleep, _), thread)| (*thread, sleep.end, NONE)).collect();
    for ranges in timeline.ranges.threads.iter().filter(|ranges| is_making(ranges.thread)) {
        let both = ranges.times.iter().flat_map(|range| [range.start, range.end]);
        ends.extend(both.map(|at| (ranges.thread, at, NONE)));
    }
    ends
}

/// Names, and calls of the host, for tests.
#[cfg(test)]
pub(super) mod host {
    use super::*;

    pub(in crate::ledger) fn named(timeline: &mut Timeline, name: &str) -> NameId {
        timeline.names.intern(name.to_owned())
    }

    /// A call of the OS on a thread, by milliseconds.
    pub(in crate::ledger) fn os_call(timeline: &mut Timeline, name: &str, thread: u32, start_ms: i64, end_ms: i64) {
        let name = named(timeline, name);
        timeline.os_calls.times.push(Interval::new(start_ms * 1_000_000, end_ms * 1_000_000));
        timeline.os_calls.name.push(name);
        timeline.os_calls.thread.push(thread);
    }
}

#[cfg(test)]
mod tests {
    use super::host::{named, os_call};
    use super::*;
    use crate::timeline::{CompilerRun, Process, Thread};

    #[test]
    fn a_wait_for_a_compiler_compiles_and_so_does_one_for_a_thread_that_waits_so() {
        let mut timeline = Timeline::default();
        os_call(&mut timeline, "system", 1, 0, 100);
        os_call(&mut timeline, "pthread_join", 0, 0, 125);
        os_call(&mut timeline, "pthread_join", 0, 200, 300);
        os_call(&mut timeline, "pthread_join", 1, 20, 80);
        os_call(&mut timeline, "read", 0, 300, 400);
        assert!(of_children(&timeline).is_empty());
        timeline.surroundings.program_names = vec!["nvcc".to_owned()];
        let of = |timeline: &Timeline| {
            of_children(timeline)
                .into_iter()
                .map(|(thread, times, _)| (thread, times.len_ns() / 1_000_000))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&timeline), [(1, 100), (0, 125)]);
        timeline.os_calls.times = [(0, 100), (0, 126), (200, 300), (20, 80), (300, 400)]
            .map(|(start, end)| Interval::new(start * 1_000_000, end * 1_000_000))
            .into_iter()
            .collect();
        assert_eq!(of(&timeline), [(1, 100)]);
    }

    #[test]
    fn a_wait_for_a_process_that_compiles_compiles_whatever_the_call() {
        let mut timeline = Timeline::default();
        for pid in [100, 101] {
            timeline.processes.push(Process { pid, label: String::new(), name: None });
        }
        timeline.threads.push(Thread { process: 0, id: 7 });
        os_call(&mut timeline, "poll", 0, 0, 100);
        os_call(&mut timeline, "futex", 0, 200, 300);
        os_call(&mut timeline, "wait4", 0, 400, 500);
        os_call(&mut timeline, "write", 0, 600, 700);
        let program = named(&mut timeline, "tileiras");
        let run = |pid: i64, start_ms: i64, end_ms: i64| CompilerRun {
            times: Interval::new(start_ms * 1_000_000, end_ms * 1_000_000),
            pid,
            program,
        };
        let mut of = |runs: Vec<CompilerRun>| {
            timeline.surroundings.compiler_runs = runs;
            of_children(&timeline).into_iter().map(|(_, wait, name)| (wait.start / 1_000_000, name)).collect::<Vec<_>>()
        };
        let all = vec![run(101, 5, 95), run(101, 205, 240), run(102, 240, 285), run(101, 410, 490), run(101, 600, 700)];
        assert_eq!(of(all), [(0, program), (200, program), (400, program)]);
        // Too little of the wait, too much of the run elsewhere, or the process itself.
        assert!(of(vec![run(101, 0, 80)]).len() == 1 && of(vec![run(101, 0, 79)]).is_empty());
        assert!(of(vec![run(101, 0, 125)]).len() == 1 && of(vec![run(101, 0, 126)]).is_empty());
        assert!(of(vec![run(100, 5, 95)]).is_empty());
    }

    #[test]
    fn of_too_many_waits_the_longest_are_looked_at() {
        let times: Vec<Interval> =
            (0..MOST_ASKED_WAITS as i64 + 5).map(|start| Interval::new(start, start + 10 + start % 2)).collect();
        let waits: Vec<Wait<'_>> = times.iter().map(|times| ((*times, &0), &0)).collect();
        assert_eq!(longest(waits[..MOST_ASKED_WAITS].to_vec()).len(), MOST_ASKED_WAITS);
        let kept = longest(waits.clone());
        assert_eq!(kept.len(), MOST_ASKED_WAITS);
        assert!(kept.is_sorted_by_key(|((times, _), _)| times.start));
        let long = |waits: &[Wait<'_>]| waits.iter().filter(|((times, _), _)| times.len_ns() == 11).count();
        assert_eq!(long(&kept), long(&waits), "all of the longer ones stay");
    }
}
