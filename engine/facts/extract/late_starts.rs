//! Facts of work that starts late each time. Where the driver hands launches over in batches, as in virtual machines and under
//! Windows, every kernel that is launched on a GPU that ran dry waits as long. Where a GPU takes long to dispatch, so does every
//! other that begins on an idle GPU. That is no wait for something.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::projection::{InGroup, OpenRanges, telling};
use super::stats::median;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::idle::ordinary_spacing_ns;
use crate::ledger::{Account, OpKind};

/// Fewer starts show no rule.
const MIN_COUNT: usize = 8;
/// This part of all kernels that find the GPU idle starts late, where that is the rule.
const MIN_SHARE: f64 = 0.8;
/// Or this part of those that are launched on a GPU that had run dry, where so many times less of those in its queue do.
const MIN_DRY_SHARE: f64 = 0.4;
const FAR_LESS: f64 = 4.0;
/// What takes no more than so many times the usual is as late as the others.
const EVEN_FACTOR: i64 = 3;
/// Delays no further apart than this part of their length are of one length: what holds the GPU there is no driver that is late.
const FIXED_SHARE: f64 = 0.03;
/// What is so much of the time in which launched work does not start is most of it.
const MOST_SHARE: f64 = 0.5;

/// A kernel that begins, on an idle GPU, after its launch had returned.
struct Late {
    thread: u32,
    /// When it was launched.
    at: i64,
    /// Idle time since the launch returned.
    idle_ns: i64,
    /// Whether it was launched after the GPU ran dry, and did not stand in its queue before.
    is_dry: bool,
}

/// The kernels that begin on an idle GPU, more than the ordinary distance after the work before them.
#[derive(Default)]
struct Starts {
    count: usize,
    /// Those that were launched after the GPU ran dry.
    dry_count: usize,
    /// Kernels that stood in its queue while it worked, those that begin at once included; and which of them begin late.
    queued_count: usize,
    queued_late_count: usize,
    late: Vec<Late>,
}

impl Starts {
    /// `is_apart`: it begins more than the ordinary distance after the work before it.
    fn add(&mut self, start: Late, is_apart: bool, ordinary_ns: i64) {
        let is_late = start.idle_ns > ordinary_ns;
        if !start.is_dry {
            self.queued_count += 1;
            self.queued_late_count += usize::from(is_late);
        }
        if is_apart {
            self.count += 1;
            self.dry_count += usize::from(start.is_dry);
            self.late.extend(is_late.then_some(start));
        }
    }

    /// Which part of those launched where the GPU had run dry so many are.
    fn dry_share(&self, late_count: usize) -> f64 {
        late_count as f64 / self.dry_count.max(1) as f64
    }

    /// Whether kernels that stood in the GPU's queue are late as well, beside `late_count` of those launched where it had run dry.
    fn is_late_when_queued(&self, late_count: usize) -> bool {
        let queued_share = self.queued_late_count as f64 / self.queued_count.max(1) as f64;
        FAR_LESS * queued_share > self.dry_share(late_count)
    }

    /// Whether kernels are late where the GPU had run dry, `late_count` of them, and not where they stood in its queue.
    fn is_late_when_dry(&self, late_count: usize) -> bool {
        late_count >= MIN_COUNT
            && self.queued_count >= MIN_COUNT
            && self.dry_share(late_count) >= MIN_DRY_SHARE
            && !self.is_late_when_queued(late_count)
    }
}

/// How late the middle one of some starts is, where nearly all are late.
fn usual_ns(late: &[Late], count: usize) -> Option<i64> {
    if late.len() < MIN_COUNT || (late.len() as f64) < MIN_SHARE * count as f64 {
        return None;
    }
    middle_ns(late)
}

fn middle_ns(late: &[Late]) -> Option<i64> {
    median(&mut late.iter().map(|late| late.idle_ns).collect::<Vec<_>>())
}

/// How far the middle eight tenths of some starts lie apart, as a share of the usual one.
fn spread_share(late: &[Late], usual_ns: i64) -> f64 {
    let mut lengths: Vec<i64> = late.iter().map(|late| late.idle_ns).collect();
    lengths.sort_unstable();
    let tenth = lengths.len() / 10;
    let (least, most) = (lengths.get(tenth), lengths.get(lengths.len().saturating_sub(1 + tenth)));
    (most.copied().unwrap_or(0) - least.copied().unwrap_or(0)) as f64 / usual_ns.max(1) as f64
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !device.knows_host {
        return;
    }
    let ordinary_ns = ordinary_spacing_ns(context.timeline);
    let mut starts = starts(context, device, ordinary_ns);
    if let Some(usual_ns) = usual_ns(&starts.late, starts.count) {
        let even = starts.late.iter().filter(|late| late.idle_ns <= usual_ns.saturating_mul(EVEN_FACTOR));
        facts.set("dispatch_usual_ns", usual_ns);
        facts.set("dispatch_even_ns", even.map(|late| late.idle_ns - ordinary_ns).fold(0, i64::saturating_add));
    }
    let dry: Vec<Late> = std::mem::take(&mut starts.late).into_iter().filter(|late| late.is_dry).collect();
    let when_dry = || middle_ns(&dry).filter(|_| starts.is_late_when_dry(dry.len()));
    facts.set("sync_late_ns", 0_i64);
    let Some(usual_ns) = usual_ns(&dry, starts.dry_count).or_else(when_dry) else { return };
    facts.set("late_start_count", dry.len() as i64);
    facts.set("dry_start_count", starts.dry_count as i64);
    facts.set("queued_start_count", starts.queued_count as i64);
    facts.set("queued_late_start_count", starts.queued_late_count as i64);
    facts.set("late_start_usual_ns", usual_ns);
    let spread_share = spread_share(&dry, usual_ns);
    facts.set("late_start_spread_share", spread_share);
    if spread_share > FIXED_SHARE && !starts.is_late_when_queued(dry.len()) {
        of_waits(context, device, facts);
    }
    let late_ns = dry.iter().map(|late| late.idle_ns - ordinary_ns).fold(0, i64::saturating_add);
    facts.set("late_start_ns", late_ns);
    facts.set_some("late_start_range", main_range(context, dry, device.account_ns(Account::IdleQueue)));
}

/// What of it waits cost, by which the device had run dry.
fn of_waits(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let of_syncs = device.idle().drained.iter().filter(|((_, trigger, _), _)| *trigger == Account::AfterSync);
    let mut of_calls: BTreeMap<&str, i64> = BTreeMap::new();
    for ((_, _, name), drained) in of_syncs {
        let sum_ns = of_calls.entry(context.timeline.name(*name)).or_default();
        *sum_ns = sum_ns.saturating_add(drained.late_start_ns);
    }
    let sum_ns = of_calls.values().fold(0_i64, |sum, ns| sum.saturating_add(*ns));
    let ahead_ns = ["sync_run_ahead_ns", "blocking_copy_run_ahead_ns"].map(|fact| facts.int(fact).unwrap_or(0));
    let ahead_ns = ahead_ns.into_iter().fold(0, i64::saturating_add);
    let most_ns = device.overlap_ceiling().unwrap_or(0).saturating_sub(ahead_ns).max(0);
    let queued_ns = device.account_ns(Account::IdleQueue);
    let won_ns = sum_ns.min(queued_ns).min(most_ns);
    if (sum_ns as f64) < MOST_SHARE * queued_ns as f64 || won_ns <= 0 {
        return;
    }
    facts.set("sync_late_ns", won_ns);
    let main = of_calls.into_iter().max_by_key(|(name, ns)| (*ns, Reverse(*name)));
    facts.set_some("sync_late_call", main.map(|(name, _)| name));
}

/// The kernels that begin on an idle GPU, and which of them late.
fn starts(context: &Context<'_>, device: &DeviceContext, ordinary_ns: i64) -> Starts {
    let api = &context.timeline.api;
    let (mut starts, mut busy_until) = (Starts::default(), None);
    for op in device.ops.in_window() {
        let call = op.call(context.timeline).filter(|_| op.kind == OpKind::Kernel);
        if let (Some(call), Some(busy_until)) = (call, busy_until) {
            let (thread, at) = (api.thread[call as usize], api.times.start(call as usize));
            let returned = api.times.end(call as usize);
            let (is_dry, idle_ns) = (returned >= busy_until, op.start.saturating_sub(returned.max(busy_until)));
            let is_apart = op.start.saturating_sub(busy_until) > ordinary_ns;
            starts.add(Late { thread, at, idle_ns, is_dry }, is_apart, ordinary_ns);
        }
        busy_until = Some(busy_until.map_or(op.end, |busy_until: i64| busy_until.max(op.end)));
    }
    starts
}

/// The innermost range that half of the time lies in, by where the kernels were launched: of all in which launched work does not
/// start, where that is more than these begin late.
fn main_range(context: &Context<'_>, mut late: Vec<Late>, idle_queue_ns: i64) -> Option<String> {
    let (timeline, folded) = (context.timeline, context.folded());
    late.sort_unstable_by_key(|late| (late.thread, late.at));
    let mut groups: BTreeMap<u32, InGroup> = BTreeMap::new();
    for of_thread in late.chunk_by(|a, b| a.thread == b.thread) {
        let ranges = of_thread.first().and_then(|first| timeline.ranges.of_thread(first.thread));
        let Some(ranges) = ranges else { continue };
        let mut open = OpenRanges::of(ranges, timeline.devices.len(), |label| folded.group_of(label));
        of_thread.iter().for_each(|start| open.book(start.at, start.idle_ns));
        open.finish().into_iter().for_each(|(group, sum)| groups.entry(group).or_default().add(sum));
    }
    let whole_ns = late.iter().map(|late| late.idle_ns).fold(0, i64::saturating_add);
    telling(&groups, whole_ns.max(idle_queue_ns)).map(|(group, _)| folded.name(group).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(idle_ns: &[i64]) -> Vec<Late> {
        idle_ns.iter().map(|ns| Late { thread: 0, at: 0, idle_ns: *ns, is_dry: true }).collect()
    }

    #[test]
    fn the_spread_is_that_of_the_middle_eight_tenths() {
        let even: Vec<i64> = [10, 9_000].into_iter().chain([1_000; 8]).collect();
        assert_eq!(spread_share(&late(&even), 1_000), 0.0);
        let apart = [100, 980, 990, 1_000, 1_000, 1_000, 1_000, 1_000, 1_020, 5_000];
        assert!((spread_share(&late(&apart), 1_000) - 0.04).abs() < 1e-9);
        assert_eq!(spread_share(&[], 0), 0.0);
    }

    #[test]
    fn starts_are_late_because_the_gpu_had_run_dry_where_those_in_its_queue_are_not() {
        let of = |dry: [usize; 2], queued: [usize; 2]| {
            let mut starts = Starts::default();
            let mut add = |[count, late]: [usize; 2], is_dry: bool| {
                (0..count).for_each(|index| {
                    let idle_ns = if index < late { 100 } else { 1 };
                    starts.add(Late { thread: 0, at: 0, idle_ns, is_dry }, is_dry || index < late, 5);
                });
            };
            add(dry, true);
            add(queued, false);
            let dry_late = starts.late.iter().filter(|late| late.is_dry).count();
            starts.is_late_when_dry(dry_late)
        };
        assert!(of([20, 8], [100, 10]));
        assert!(!of([20, 7], [100, 0]));
        assert!(!of([21, 8], [100, 0]));
        assert!(!of([20, 8], [100, 11]));
        assert!(!of([20, 8], [7, 0]));
    }

    #[test]
    fn that_nearly_all_kernels_start_late_is_usual() {
        let eight = late(&[10, 20, 30, 40, 50, 60, 70, 80]);
        let usual = usual_ns(&eight, 10);
        assert!(usual == Some(40) || usual == Some(50), "{usual:?}");
        // Of eleven starts that is less than four in five; and seven show no rule.
        assert_eq!(usual_ns(&eight, 11), None);
        assert_eq!(usual_ns(&late(&[10; 7]), 7), None);
        assert_eq!(usual_ns(&late(&[10; 8]), 8), Some(10));
    }
}
