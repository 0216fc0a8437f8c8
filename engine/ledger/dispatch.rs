//! How long a thread takes to prepare a launch, told by recurrence.
//!
//! A framework does the same things before every launch, and how long that takes depends on the framework: no length tells it
//! from a program's own work. What recurs before most launches of a thread, about equally long, is the price of a launch.

use crate::timeline::Timeline;
use crate::timeline::api::ApiClass;
use crate::timeline::interval::Interval;

/// Fewer launches say nothing of what recurs.
const LEAST_COUNT: usize = 50;
/// What takes this many times as long as the median is something else: a batch that is loaded, a step that is planned.
const FACTOR: i64 = 5;
/// Nobody takes longer to prepare one launch, the recording of it included: what does is work.
const MOST_NS: i64 = 1_000_000;

/// Whether host code before a call may prepare a launch: before a launch, and before the small calls that lead to one. What
/// comes before a copy prepares its data.
pub(super) const fn may_precede(class: ApiClass) -> bool {
    matches!(class, ApiClass::Launch | ApiClass::Memset | ApiClass::Init | ApiClass::Other)
}

/// The longest host code that still is what a thread usually does before a launch; 0 where nothing recurs. `calls` are those
/// of the thread by start, `classes` are by name.
pub(super) fn usual_ns(timeline: &Timeline, classes: &[ApiClass], calls: &[u32]) -> i64 {
    let class_of = |name: u32| classes.get(name as usize).copied().unwrap_or(ApiClass::Other);
    let mut last_end = None;
    let (mut longest, mut has_waited) = (0, false);
    let mut holes = Holes::default();
    for call in calls {
        let Interval { start, end } = timeline.api.times.at(*call as usize);
        let class = timeline.api.name.get(*call as usize).map_or(ApiClass::Other, |name| class_of(*name));
        let before = last_end.map_or(0, |last_end| start - last_end);
        if may_precede(class) {
            longest = longest.max(before);
        }
        last_end = last_end.max(Some(end));
        has_waited |= matches!(class, ApiClass::Wait(_) | ApiClass::CopyBlocking);
        // A launch within another call is that call's.
        if before >= 0 && class == ApiClass::Launch {
            let own = if std::mem::take(&mut has_waited) { &mut holes.after_waits } else { &mut holes.others };
            own.push(std::mem::take(&mut longest));
        }
    }
    holes.usual_ns()
}

/// For each launch of a thread the longest host code between it and the launch before.
#[derive(Default)]
struct Holes {
    /// Where the thread waited for the device meanwhile.
    after_waits: Vec<i64>,
    others: Vec<i64>,
}

impl Holes {
    /// Where the thread does far more before the launches behind waits than before others, it works there on what it waited for: that is
    /// not what a launch takes.
    fn usual_ns(mut self) -> i64 {
        let are_many = self.after_waits.len() >= LEAST_COUNT && self.others.len() >= LEAST_COUNT;
        if !are_many || median(&mut self.after_waits) <= median(&mut self.others).saturating_mul(FACTOR) {
            self.others.append(&mut self.after_waits);
        }
        usual_of(self.others)
    }
}

/// Of some lengths that are not none.
pub(super) fn median(lengths: &mut [i64]) -> i64 {
    let middle = lengths.len() / 2;
    *lengths.select_nth_unstable(middle).1
}

fn usual_of(mut holes: Vec<i64>) -> i64 {
    if holes.len() < LEAST_COUNT {
        return 0;
    }
    let median = median(&mut holes);
    let most = median.saturating_mul(FACTOR).min(MOST_NS);
    let usual = || holes.iter().filter(|hole| **hole <= most).map(|hole| *hole as f64);
    let count = usual().count() as f64;
    let mean = usual().sum::<f64>() / count;
    let variance = usual().map(|hole| (hole - mean).powi(2)).sum::<f64>() / count;
    if median <= most && variance.sqrt() < mean { most } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` holes about `ns` long.
    fn about(ns: i64, count: usize) -> Vec<i64> {
        (0..count as i64).map(|index| ns * (8 + index % 5) / 10).collect()
    }

    #[test]
    fn what_recurs_before_most_launches_is_their_price_however_long() {
        assert!((100_000..1_000_000).contains(&usual_of(about(90_000, 1_000))));
        let with_a_long_one = [about(90_000, 999), vec![175_000_000]].concat();
        assert!((100_000..1_000_000).contains(&usual_of(with_a_long_one)));
    }

    #[test]
    fn what_comes_behind_waits_alone_is_work() {
        let usual = |after_waits, others| Holes { after_waits, others }.usual_ns();
        // A thread that works on what it has waited for, and then launches twice.
        assert!(usual(about(75_000, 300), about(500, 300)) <= 5 * 500);
        assert!(usual(about(75_000, 300), about(75_000, 300)) > 75_000, "as long before each launch");
        assert!(usual(about(75_000, 600), Vec::new()) > 75_000, "it waits before each");
        assert!(usual(about(75_000, 600), about(500, 49)) > 75_000, "too few");
    }

    #[test]
    fn a_few_launches_and_work_of_its_own_are_not() {
        assert_eq!(usual_of(about(90_000, 49)), 0);
        assert_eq!(usual_of(about(20_000_000, 1_000)), 0);
        // Work before every tenth launch.
        assert!(usual_of([about(2_000, 900), about(300_000, 100)].concat()) < 50_000);
    }
}
