//! The most that changes win: what stays of a step for certain, and how much longer what goes may take in another run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::change::{Change, Extent, LARGE_SHARE, is_large_copy, is_scalar_readback};
use super::model::{Edge, Model, Play};
use super::record::Op;
use super::setting::Setting;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// What the host does takes this much longer in one run than in another: between two machines of one kind, docs/gains.md.
pub(super) const HOST_SPREAD: f64 = 1.28;
/// The same of what calls take that allocate and free.
pub(super) const ALLOCATION_SPREAD: f64 = 1.6;
/// The same of copies from and to pageable memory, docs/gains.md.
const PAGEABLE_SPREAD: f64 = 1.2;
/// The same of what the device does: kernels take up to so much longer at other clocks, and beside other neighbours in memory.
pub(super) const DEVICE_SPREAD: f64 = 1.05;

/// How much longer what changes take away may take in another run.
pub fn spread(changes: &[Change]) -> f64 {
    let of = |change: &Change| match change {
        Change::CacheAllocations => ALLOCATION_SPREAD,
        Change::PinCopies => PAGEABLE_SPREAD,
        change if change.is_of_host() => HOST_SPREAD,
        _ => DEVICE_SPREAD,
    };
    changes.iter().map(of).fold(1.0, f64::max)
}

/// A step that changes win of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole<'all> {
    pub(super) model: &'all Model,
    pub(super) setting: &'all Setting<'all>,
    /// The edges without the profiler, and the step that they make.
    pub(super) bare: &'all [Edge],
    pub(super) step_ns: f64,
    /// The most that it takes without the profiler.
    pub(super) most_ns: f64,
}

impl Whole<'_> {
    /// The same of what they take away of the time in which the device is busy.
    pub(super) fn device_spread(self, changes: &[Change]) -> f64 {
        let pins = changes.contains(&Change::PinCopies) || changes.contains(&Change::KeepData);
        let is_pageable = pins && self.model.part.ops.iter().any(|op| op.is_pageable);
        if is_pageable { PAGEABLE_SPREAD } else { DEVICE_SPREAD }
    }

    /// The most that changes win where they only take idle time away.
    pub(super) fn most_won_ns(self, changes: &[Change], extent: Extent) -> f64 {
        if !changes.iter().all(|change| change.is_of_idle_time()) {
            return f64::INFINITY;
        }
        let busy_ns = self.busy_ns(changes, extent);
        let idle_ns = (self.step_ns - busy_ns).max(0.0) * spread(changes);
        let idle_ns = if extent == Extent::Ceiling { idle_ns.max(self.most_ns - busy_ns) } else { idle_ns };
        self.step_ns * idle_ns / (busy_ns + idle_ns).max(1.0)
    }

    /// The most that hiding copies wins where they are little of a step: nobody builds a pipeline to hide more than them, and what the
    /// host waits for otherwise is another matter.
    pub(super) fn most_hidden_ns(self, changes: &[Change]) -> f64 {
        if matches!(changes, [Change::OverlapCopies]) { self.hidden_copies_ns() } else { f64::INFINITY }
    }

    /// What is left to win of copies between host and device that run alone, where they are little of a step; no bound where they are much.
    pub(super) fn hidden_copies_ns(self) -> f64 {
        let model = self.model;
        let Some((played, count)) = model.recorded_span() else { return f64::INFINITY };
        let own = model.part.ops.iter().filter(|op| op.device == self.setting.own_device());
        let (copies, others): (Vec<&Op>, Vec<&Op>) = own.partition(|op| is_large_copy(op));
        let union = |ops: Vec<&Op>| Union::of(ops.into_iter().map(|op| Interval::new(op.start, op.end).clip(played)));
        let (copies, others) = (union(copies), union(others));
        let alone_ns = (copies.len_ns() - copies.common_ns(&others)) as f64 / count as f64;
        if alone_ns < LARGE_SHARE * self.step_ns { DEVICE_SPREAD * alone_ns } else { f64::INFINITY }
    }

    /// How long the device is busy in a step with what stays after changes that only take idle time away: kernels of a graph that
    /// are small can become one, and values that nobody waits for need not come back. Another device of the process that is busy
    /// for longer is what the host waits for: no step is expected to get shorter than that.
    fn busy_ns(self, changes: &[Change], extent: Extent) -> f64 {
        let model = self.model;
        let device = self.setting.own_device();
        // What the host does stands in the edges, and nothing else that is asked here.
        let edges = if changes.contains(&Change::HostAside) { self.bare } else { &[] };
        let as_recorded = Play::of(model, edges);
        let of_host = if changes.contains(&Change::HostAside) {
            as_recorded.copies_of_host_code(self.setting)
        } else {
            Vec::new()
        };
        let merged = match extent {
            _ if !changes.contains(&Change::Graph) => Cow::Owned(HashMap::default()),
            Extent::Ceiling => Cow::Borrowed(as_recorded.merged_runs(self.setting)),
            Extent::Expected if self.setting.looped_cell_count > 0 => {
                Cow::Owned(as_recorded.runs_in_layers(self.setting))
            }
            Extent::Expected => Cow::Owned(HashMap::default()),
        };
        let joined = changes.contains(&Change::NoSync).then(|| as_recorded.joined_runs(extent, self.setting));
        let vanishes = |op: &Op| {
            of_host.get(op.call as usize) == Some(&true) || changes.contains(&Change::NoSync) && is_scalar_readback(op)
        };
        let staying_ns = |index: u32, op: &Op| {
            let run_ns = op.end - op.start;
            let joined_ns = joined.as_ref().and_then(|joined| joined(op, run_ns));
            joined_ns.unwrap_or_else(|| merged.get(&index).copied().unwrap_or(run_ns))
        };
        let counts = |op: &Op| op.device == device || extent == Extent::Expected;
        let staying = (0_u32..).zip(&model.part.ops).filter(|(_, op)| counts(op) && !vanishes(op));
        let Some((played, count)) = model.recorded_span() else { return 0.0 };
        // Without waits, what runs in one stream need not wait for what runs in another.
        let is_one = |op: &Op| {
            let stream = if changes.contains(&Change::NoSync) { op.stream } else { 0 };
            (op.device, if op.device == device { stream } else { 0 })
        };
        let mut of_stream: BTreeMap<(u32, u32), Vec<Interval>> = BTreeMap::new();
        staying.for_each(|(index, op)| {
            let left = Interval::new(op.start, op.start + staying_ns(index, op));
            of_stream.entry(is_one(op)).or_default().push(left);
        });
        let busiest_ns = of_stream.into_values().map(|ops| Union::of(ops).overlap_ns(played)).max();
        busiest_ns.unwrap_or(0) as f64 / count as f64
    }
}
