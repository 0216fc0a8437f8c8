//! Facts of idle time in which the launching thread waits for others, in MPI, NCCL or OpenMP: by the calls of MPI that were traced,
//! and by samples and call stacks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::DeviceContext;
use super::profile::name_of;
use super::projection::told_name;
use crate::facts::Entity;
use crate::ledger::Account;
use crate::ledger::reading::RangeIdle;
use crate::timeline::columns::RangeKind;
use crate::timeline::peers::{Called, PEER_LIBRARIES, Peers, Wait, is_mpi_call, wait_of};
use crate::timeline::union::Follower;
use crate::timeline::{CpuSamples, Timeline, TraitsOfFrames};

/// A caller that this part of the waits lies in is the one to name, in percent; otherwise two are.
const MAIN_PERCENT: i64 = 60;

/// The functions that stacks of a recording name, by what they tell of waits.
struct Known<'all>(&'all TraitsOfFrames);

impl<'all> Known<'all> {
    fn of(timeline: &Timeline, stacks: &'all CpuSamples) -> Self {
        Self(stacks.traits(&timeline.names))
    }

    /// The wait that a stack tells, with the indices of the functions that stand for its call and its caller.
    fn wait(&self, stack: &[u32]) -> Option<(Peers, Option<u32>, Option<u32>)> {
        if !self.0.may_wait() {
            return None;
        }
        let called: Vec<Called> = stack.iter().map(|frame| self.0.of(*frame).called).collect();
        let Wait { peers, call, caller } = wait_of(&called)?;
        let function = |place: Option<usize>| place.and_then(|place| stack.get(place)).copied();
        Some((peers, function(call), function(caller)))
    }
}

/// Waits of one library, weighed.
#[derive(Default)]
struct Waits {
    whole: i64,
    calls: BTreeMap<u32, i64>,
    callers: BTreeMap<u32, i64>,
}

/// Those that hold most, with how much.
fn most(weights: &BTreeMap<u32, i64>) -> Vec<(u32, i64)> {
    let mut weights: Vec<(u32, i64)> = weights.iter().map(|(function, weight)| (*function, *weight)).collect();
    weights.sort_by_key(|(function, weight)| (Reverse(*weight), *function));
    weights
}

/// Stacks that wait for others, by the library.
#[derive(Default)]
pub(super) struct PeerWaits(BTreeMap<Peers, Waits>);

impl PeerWaits {
    /// Of stacks, each with what it stands for; hands back those that do not wait so.
    pub(super) fn split(timeline: &Timeline, stacks: &CpuSamples, weighed: Vec<(u32, i64)>) -> (Self, Vec<(u32, i64)>) {
        let known = Known::of(timeline, stacks);
        let mut all = Self::default();
        let mut rest = Vec::new();
        for (stack, weight) in weighed {
            let Some((peers, call, caller)) = known.wait(stacks.stack(stack as usize)) else {
                rest.push((stack, weight));
                continue;
            };
            let waits = all.0.entry(peers).or_default();
            waits.whole += weight;
            for (function, weights) in [(call, &mut waits.calls), (caller, &mut waits.callers)] {
                if let Some(function) = function {
                    *weights.entry(function).or_default() += weight;
                }
            }
        }
        (all, rest)
    }

    /// What all of them weigh.
    pub(super) fn weight(&self) -> i64 {
        self.0.values().map(|waits| waits.whole).sum()
    }

    /// The library that most of them lie in.
    fn main(&self) -> Option<(Peers, &Waits)> {
        let main = self.0.iter().max_by_key(|(peers, waits)| (waits.whole, Reverse(**peers)))?;
        Some((*main.0, main.1))
    }
}

/// The calls of MPI that the profiler traced, in an account of idle time: how much of it, and the one with most, or two.
fn traced(timeline: &Timeline, device: &DeviceContext, time: fn(&RangeIdle) -> i64) -> Option<(i64, Vec<u32>)> {
    let is_mpi = |label: u32| {
        let label = timeline.ranges.labels.get(label as usize);
        label.is_some_and(|label| label.kind == RangeKind::Library && is_mpi_call(timeline.name(label.name)))
    };
    let mut by_label: BTreeMap<u32, i64> = BTreeMap::new();
    for ((_, label), idle) in device.idle().ranges.iter().filter(|((_, label), idle)| time(idle) > 0 && is_mpi(*label))
    {
        *by_label.entry(label).or_default() += time(idle);
    }
    let all_ns = by_label.values().sum();
    let labels = main(&by_label, all_ns);
    (!labels.is_empty()).then_some((all_ns, labels))
}

/// Calls that take at least this part of the longest, in percent, are like it.
const LIKE_PERCENT: i64 = 50;

/// How often the thread that launches is in a call of this name while the device is idle, about as long as the longest time and with
/// work of the device in between, and how long in all: what comes so often comes again.
fn like_waits(timeline: &Timeline, device: &DeviceContext, label: u32) -> Option<(i64, i64)> {
    let labels = &timeline.ranges.labels;
    let name = labels.get(label as usize)?.name;
    let ranges = timeline.ranges.of_thread(device.main_thread?)?;
    let mut busy = Follower::new(&device.tally.busy);
    // By idle stretch, in time order.
    let mut waits: Vec<(usize, i64)> = Vec::new();
    for (times, label) in ranges.times.iter().zip(&ranges.label) {
        if labels.get(*label as usize).is_none_or(|of| of.kind != RangeKind::Library || of.name != name) {
            continue;
        }
        let call = times.clip(device.window());
        let idle_ns = call.len_ns() - busy.overlap_ns(call);
        let stretch = busy.gap_of(call);
        match waits.last_mut().filter(|(last, _)| *last == stretch) {
            Some((_, held_ns)) => *held_ns += idle_ns,
            None => waits.push((stretch, idle_ns)),
        }
    }
    let longest_ns = waits.iter().map(|(_, ns)| *ns).max()?;
    let like = waits.iter().filter(|(_, ns)| *ns > 0 && *ns * 100 >= longest_ns * LIKE_PERCENT);
    Some(like.fold((0, 0), |(count, sum_ns), (_, ns)| (count + 1, sum_ns + ns)))
}

/// The one that holds most of a whole, and a second where it is not most of it.
fn main(weights: &BTreeMap<u32, i64>, whole: i64) -> Vec<u32> {
    let most = most(weights);
    let is_main = most.first().is_some_and(|(_, weight)| weight * 100 >= whole * MAIN_PERCENT);
    most.into_iter().take(if is_main { 1 } else { 2 }).map(|(function, _)| function).collect()
}

/// The names of the facts of an account of idle time: the library, its call, who called it most, and who called it second.
struct Names {
    library: &'static str,
    calls: &'static [&'static str],
    callers: [(&'static str, &'static str); 2],
}

const OF_HOST: Names = Names {
    library: "idle_peers_library",
    calls: &["idle_peers_call", "idle_peers_second_call"],
    callers: [
        ("idle_peers_caller", "idle_peers_caller_share"),
        ("idle_peers_second_caller", "idle_peers_second_caller_share"),
    ],
};
const OF_BLOCKED: Names = Names {
    library: "idle_blocked_peers_library",
    calls: &["idle_blocked_peers_call"],
    callers: [
        ("idle_blocked_peers_caller", "idle_blocked_peers_caller_share"),
        ("idle_blocked_peers_second_caller", "idle_blocked_peers_second_caller_share"),
    ],
};

impl Names {
    /// Says which library it is, by the call that was traced, else by stacks.
    fn tell(
        &self,
        timeline: &Timeline,
        (stacks, waits): (&CpuSamples, &PeerWaits),
        traced: Option<&[u32]>,
        facts: &mut Entity,
    ) {
        if let Some(labels) = traced {
            facts.set(self.library, PEER_LIBRARIES[Peers::Mpi as usize]);
            for (fact, label) in self.calls.iter().zip(labels) {
                facts.set(fact, told_name(timeline, *label));
            }
        }
        let Some((peers, waits)) = waits.main().filter(|(peers, _)| traced.is_none() || *peers == Peers::Mpi) else {
            return;
        };
        let name = |function: u32| name_of(timeline, stacks, stacks.frames.get(function as usize).copied());
        if traced.is_none() {
            facts.set(self.library, PEER_LIBRARIES[peers as usize]);
            for (fact, call) in self.calls.iter().zip(main(&waits.calls, waits.whole)) {
                facts.set(fact, name(call));
            }
        }
        let callers = most(&waits.callers);
        let is_main = callers.first().is_some_and(|(_, weight)| weight * 100 >= waits.whole * MAIN_PERCENT);
        let told = if is_main { 1 } else { self.callers.len() };
        for ((function, weight), (fact, share)) in callers.into_iter().zip(self.callers).take(told) {
            facts.set(fact, name(function));
            facts.set(share, weight as f64 / waits.whole.max(1) as f64);
        }
    }
}

/// The facts of waits in host code, of which samples tell so much, where they tell it; returns how much it is.
pub(super) fn of_host(
    timeline: &Timeline,
    device: &DeviceContext,
    (waits, sampled_ns): (&PeerWaits, Option<i64>),
    facts: &mut Entity,
) -> i64 {
    let is_sampled = sampled_ns.is_some();
    let sampled_ns = sampled_ns.unwrap_or(0);
    let traced = traced(timeline, device, |idle| idle.host_ns).filter(|(ns, _)| *ns >= sampled_ns);
    let peers_ns = traced.as_ref().map_or(sampled_ns, |(ns, _)| *ns).min(device.account_ns(Account::IdleHost));
    // Without samples, and without calls that were traced, there may be waits all the same.
    if peers_ns > 0 || is_sampled {
        facts.set("idle_peers_ns", peers_ns);
    }
    if peers_ns > 0 {
        facts.set("is_idle_peers_traced", traced.is_some());
        let main = traced.as_ref().and_then(|(_, labels)| labels.first());
        if let Some((count, like_ns)) = main.and_then(|label| like_waits(timeline, device, *label)) {
            facts.set("idle_peers_like_count", count);
            facts.set("idle_peers_like_ns", like_ns.min(peers_ns));
        }
        OF_HOST.tell(
            timeline,
            (&timeline.cpu_samples, waits),
            traced.as_ref().map(|(_, labels)| labels.as_slice()),
            facts,
        );
    }
    peers_ns
}

/// The same of time blocked in the OS, where most of it waits so.
pub(super) fn of_blocked(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let blocked_ns = device.account_ns(Account::IdleBlocked);
    let is_most = |ns: i64| ns > 0 && 2 * ns >= blocked_ns;
    let stacks = &timeline.os_stacks.samples;
    let weighed = device.idle().stacked_ns.iter().map(|(call, ns)| (*call, *ns)).collect();
    let (waits, _) = PeerWaits::split(timeline, stacks, weighed);
    let traced = traced(timeline, device, |idle| idle.blocked_ns).filter(|(ns, _)| is_most(*ns));
    if traced.is_some() || is_most(waits.weight()) {
        OF_BLOCKED.tell(timeline, (stacks, &waits), traced.as_ref().map(|(_, labels)| labels.as_slice()), facts);
    }
}
