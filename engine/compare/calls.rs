//! Kernels and ranges that changed, in one call and in total.

use std::collections::{BTreeMap, BTreeSet};

use super::measure::{Change, Measure, Noise};
use super::runs::{Run, Runs, int, name_of};
use super::sides::{Side, Sides};
use super::work::Work;
use crate::facts::EntityKind;

/// What changed less than this part of the window of all devices is left out.
const LEAST_SHARE: f64 = 0.001;

/// A kernel or a range, all of one name on all devices.
#[derive(Debug, Clone, PartialEq)]
pub struct CallChange {
    /// Its name in the report: hostile.
    pub name: String,
    /// How often, of the whole sides.
    pub count: Sides<i64>,
    /// Time of one call, the mean; absent when a side lacks it.
    pub call: Option<Change>,
    /// Time of all calls, per unit of comparison; 0 for a side that lacks it.
    pub total: Change,
}

/// What a run says of one name.
#[derive(Debug, Clone, Copy, Default)]
struct Calls {
    count: i64,
    sum_ns: i64,
}

type Named = BTreeMap<String, Calls>;

/// What the runs of both sides say of the entities of a kind.
struct Recorded<'a> {
    runs: Sides<Vec<Named>>,
    noise: &'a Noise,
}

impl<'a> Recorded<'a> {
    fn new(kind: EntityKind, sides: Sides<Runs<'_>>, noise: &'a Noise) -> Self {
        Self { runs: sides.map(|side| side.runs.iter().map(|run| named(run, kind)).collect()), noise }
    }

    fn names(&self) -> BTreeSet<&String> {
        self.runs.iter().flatten().flat_map(BTreeMap::keys).collect()
    }

    /// `units` says how much work a run of a side holds.
    fn change(&self, name: &str, units: impl Fn(Side, usize) -> i64) -> Option<CallChange> {
        let count =
            Sides::of(|side| self.measure(side, name, |calls, _| calls.count)).both()?.map(|count| count.median);
        let call = Sides::of(|side| self.measure(side, name, |calls, _| calls.mean_ns())).both()?;
        let total = Sides::of(|side| self.measure(side, name, |calls, run| calls.sum_ns / units(side, run))).both()?;
        Some(CallChange {
            name: name.to_owned(),
            count,
            call: (count.base > 0 && count.head > 0).then_some(Change::of(call, self.noise)),
            total: Change::of(total, self.noise),
        })
    }

    fn measure(&self, side: Side, name: &str, of: impl Fn(Calls, usize) -> i64) -> Option<Measure> {
        let runs = self.runs.get(side).iter().enumerate();
        Measure::of(runs.map(|(index, run)| of(run.get(name).copied().unwrap_or_default(), index)))
    }
}

impl Calls {
    fn mean_ns(self) -> i64 {
        if self.count > 0 { self.sum_ns / self.count } else { 0 }
    }
}

/// Those that changed, the largest difference first: of the totals, or of what the head's calls took longer or shorter
/// each where totals of different work cannot be compared.
pub(super) fn calls(kind: EntityKind, sides: Sides<Runs<'_>>, work: &Work, noise: &Noise) -> Vec<CallChange> {
    let recorded = Recorded::new(kind, sides, noise);
    let window = sides.head.median(|run: &Run| run.sum("window_ns")) / work.units().head;
    let mut changes: Vec<(i64, CallChange)> = Vec::new();
    for name in recorded.names() {
        let Some(change) = recorded.change(name, |side, run| work.units_of(side, run)) else { continue };
        let (is_change, weight) = change.weight(work.basis.is_comparable());
        if is_change && weight as f64 >= LEAST_SHARE * window as f64 {
            changes.push((weight, change));
        }
    }
    changes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    changes.into_iter().map(|(_, change)| change).collect()
}

impl CallChange {
    /// Whether it changed, and by how much in all.
    fn weight(&self, is_comparable: bool) -> (bool, i64) {
        match &self.call {
            Some(call) if !is_comparable => (call.is_change, call.difference.abs().saturating_mul(self.count.head)),
            _ => (self.total.is_change, self.total.difference.abs()),
        }
    }
}

/// How much of the head's time in kernels is in those of both sides, and the part of that in which calls take as long as
/// before; `None` without such kernels.
pub(super) fn same_calls(sides: Sides<Runs<'_>>, noise: &Noise) -> Option<SameCalls> {
    let recorded = Recorded::new(EntityKind::Kernel, sides, noise);
    let (mut all, mut shared, mut same) = (0.0, 0.0, 0.0);
    for change in recorded.names().into_iter().filter_map(|name| recorded.change(name, |_, _| 1)) {
        let time = change.total.head.median as f64;
        all += time;
        let Some(call) = change.call else { continue };
        shared += time;
        same += if call.is_change { 0.0 } else { time };
    }
    (shared > 0.0).then(|| SameCalls { shared: shared / all, same: same / shared })
}

/// Parts of the head's time in kernels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SameCalls {
    /// In kernels that both sides run.
    pub(super) shared: f64,
    /// Of that, in kernels whose calls take as long as before.
    pub(super) same: f64,
}

fn named(run: &Run, kind: EntityKind) -> Named {
    let count_fact = if kind == EntityKind::Kernel { "launch_count" } else { "count" };
    let step = run.step_name().filter(|_| kind == EntityKind::Range);
    let mut named = Named::new();
    for (_, entity) in run.facts.of_kind(kind) {
        let name = name_of(entity);
        // Steps carry their numbers, and are one thing.
        let name = step.filter(|step| is_step(name, step)).unwrap_or(name);
        let calls = named.entry(name.to_owned()).or_default();
        calls.count += int(entity, count_fact);
        calls.sum_ns = calls.sum_ns.saturating_add(int(entity, "sum_ns"));
    }
    named
}

/// Whether a range is a step: the step's name, with a number for its `#` or behind it.
fn is_step(name: &str, step: &str) -> bool {
    let bare = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '#').to_owned();
    step.ends_with('#') && name != bare(name) && bare(name) == bare(step)
}
