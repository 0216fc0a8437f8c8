//! What ranges that are called warm-up say of the steps behind them.

use std::cmp::Reverse;

use foldhash::HashSet;

use super::{Group, Marks, UNNAMED_INSIDE_SHARE, words};
use crate::steps::Launches;
use crate::steps::phases::MAX_WARM_UP_STEPS;
use crate::steps::step::{Certainty, MIN_STEP_COUNT, Steps};
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// What repeats after steps that are called warm-up: the outermost range that launches nearly all of the work there.
pub(super) fn behind(marks: &Marks, launches: &Launches, warm_up: &Steps) -> Option<Steps> {
    let end = warm_up.steps.iter().map(|step| step.host.end).max()?;
    let after_ns = launches.work_ns(Interval::new(end, i64::MAX));
    let groups = marks.with_parts(launches).filter(|group| !group.called.is_warm_up);
    let later: Vec<Group> = groups.map(|group| group.after(end)).collect();
    let inside_ns = |group: &Group| group.hosts.iter().map(|host| launches.work_ns(*host)).sum::<i64>();
    let holds = later.iter().map(|group| (group, inside_ns(group))).filter(|(group, inside_ns)| {
        group.hosts.len() >= MIN_STEP_COUNT && *inside_ns as f64 >= UNNAMED_INSIDE_SHARE * after_ns as f64
    });
    let (group, work_ns) = holds.min_by_key(|(group, work_ns)| (group.hosts.len(), Reverse(*work_ns)))?;
    // The program itself says that what comes before is warm-up.
    group.steps(launches, Certainty::High, work_ns).filter(|steps| steps.steps.len() >= MIN_STEP_COUNT)
}

/// When the last range ends that the program calls warm-up and that launches what steps behind it do. `None` where it calls none so, or
/// where the first steps behind it launch kernels that had not run before.
pub(super) fn end_before(marks: &Marks, launches: &Launches, steps: &Steps) -> Option<i64> {
    let last = steps.steps.last()?.host.start;
    let warm_up = marks.with_parts(launches).filter(|group| group.called.is_warm_up);
    let hosts = warm_up.flat_map(|group| group.hosts.iter());
    let end = hosts.filter(|host| host.end <= last && launches.work_ns(**host) > 0).map(|host| host.end).max()?;
    let before = launches.within(Interval::new(i64::MIN, end));
    let known: HashSet<u32> = before.iter().map(|launch| launch.symbol).collect();
    let behind = steps.steps.iter().filter(|step| step.host.start >= end).take(MAX_WARM_UP_STEPS);
    let mut kernels = behind.flat_map(|step| launches.within(step.host)).filter(|launch| launch.is_kernel);
    kernels.all(|launch| known.contains(&launch.symbol)).then_some(end)
}

/// The range of a program that measures one pass after one that it calls warm-up: both are called the same but for that word, as
/// `warmup|forward` and `measure|forward`, and launch about as much. The later of several.
pub(in crate::steps) fn measured(timeline: &Timeline, marks: &Marks, launches: &Launches) -> Option<Interval> {
    let all = || marks.with_parts(launches);
    let warm_up: Vec<(&Group, Vec<String>)> =
        all().filter(|group| group.called.is_warm_up).map(|group| (group, without_warm_up(group))).collect();
    let follows = |host: Interval, own: &[String]| {
        let of = |(group, words): &(&Group, Vec<String>)| {
            let is_same = own.len() == words.len() + 1 && is_without_one(own, words);
            let earlier = group.hosts.iter().filter(|earlier| earlier.end <= host.start);
            is_same
                && earlier
                    .map(|earlier| launches.count(*earlier))
                    .max()
                    .is_some_and(|most| is_near(most, launches.count(host)))
        };
        warm_up.iter().any(of)
    };
    let single = all().filter(|group| !group.called.is_warm_up).filter_map(|group| match group.hosts[..] {
        [host] => Some((group, host, words(&group.called.name))),
        _ => None,
    });
    let measured = single.filter(|(_, host, own)| follows(*host, own));
    let (group, host, _) = measured.max_by_key(|(_, host, _)| host.start)?;
    Some(innermost(timeline, group, host, launches))
}

/// Of ranges of one name within each other, the innermost that launches all: what lies around it prepares the measurement.
fn innermost(timeline: &Timeline, group: &Group, host: Interval, launches: &Launches) -> Interval {
    let Some(ranges) = timeline.ranges.of_thread(group.thread) else { return host };
    let same = ranges.times.iter().zip(&ranges.label).filter(|(_, label)| **label == group.first_label);
    let inside = same.map(|(times, _)| times).filter(|times| host.start <= times.start && times.end <= host.end);
    let holding = inside.filter(|times| launches.count(*times) == launches.count(host));
    holding.min_by_key(|times| times.len_ns()).unwrap_or(host)
}

/// Whether two counts of launches may be those of one pass, of which the first sets something up.
fn is_near(one: usize, other: usize) -> bool {
    other > 0 && 2 * one.min(other) >= one.max(other)
}

/// The words of a name but for those that say that it warms up.
fn without_warm_up(group: &Group) -> Vec<String> {
    let said = ["warmup", "prewarm", "warm", "up"];
    words(&group.called.name).into_iter().filter(|word| !said.contains(&word.as_str())).collect()
}

/// Whether words are the others but for one of these.
fn is_without_one(all: &[String], others: &[String]) -> bool {
    let same = all.iter().zip(others).take_while(|(one, other)| one == other).count();
    !others.is_empty() && all.get(same + 1..) == others.get(same..)
}
