//! Kernels and annotations that changed, in one call and in total.

use std::collections::BTreeMap;

use serde::Serialize;

use super::measure::{Change, Measure, Noise};
use super::side::{Run, Side, int, name_of};
use super::work::Work;
use crate::facts::EntityKind;

/// What changed less than this part of the window of all devices is left out.
const LEAST_SHARE: f64 = 0.001;

/// A kernel or an annotation, all of one name on all devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallChange {
    /// Its name in the report: hostile.
    pub name: String,
    /// How often: base, then head, of the whole sides.
    pub count: [i64; 2],
    /// Time of one call, the mean; absent when a side lacks it.
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// Those that changed, the largest difference first: of the totals, or of what the head's calls took longer or shorter
/// each where totals of different work cannot be compared.
pub(super) fn calls(kind: EntityKind, base: Side<'_>, head: Side<'_>, work: &Work, noise: &Noise) -> Vec<CallChange> {
    let named = [base, head].map(|side| side.runs.iter().map(|run| named(run, kind)).collect::<Vec<Named>>());
    let names: std::collections::BTreeSet<&String> = named.iter().flatten().flat_map(BTreeMap::keys).collect();
    let is_comparable = work.basis.is_comparable();
    let window = head.median(|run: &Run| run.sum("window_ns")) / work.units()[1];
    let mut changes: Vec<(i64, CallChange)> = Vec::new();
    for name in names {
        let Some(change) = change(name, &named, |side, run| work.units_of(side, run), noise) else { continue };
        let weight = match (is_comparable, &change.call) {
            (true, _) => change.total.difference.abs(),
            (false, Some(call)) => call.difference.abs().saturating_mul(change.count[1]),
            (false, None) => change.total.difference.abs(),
        };
        let is_change = match (is_comparable, &change.call) {
            (true, _) | (_, None) => change.total.is_change,
            (false, Some(call)) => call.is_change,
        };
        if is_change && weight as f64 >= LEAST_SHARE * window as f64 {
            changes.push((weight, change));
        }
    }
    changes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    changes.into_iter().map(|(_, change)| change).collect()
}

/// How much of the head's time in kernels is in those of both sides, and the part of that in which calls take as long as
/// before; `None` without such kernels.
pub(super) fn same_calls(base: Side<'_>, head: Side<'_>, noise: &Noise) -> Option<SameCalls> {
    let named =
        [base, head].map(|side| side.runs.iter().map(|run| named(run, EntityKind::Kernel)).collect::<Vec<Named>>());
    let names: std::collections::BTreeSet<&String> = named.iter().flatten().flat_map(BTreeMap::keys).collect();
    let (mut all, mut shared, mut same) = (0.0, 0.0, 0.0);
    for change in names.into_iter().filter_map(|name| change(name, &named, |_, _| 1, noise)) {
        all += change.total.head.median as f64;
        let Some(call) = change.call else { continue };
        shared += change.total.head.median as f64;
        same += if call.is_change { 0.0 } else { change.total.head.median as f64 };
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

/// `units` says how much work a run of a side holds.
fn change(
    name: &str,
    named: &[Vec<Named>; 2],
    units: impl Fn(usize, usize) -> i64,
    noise: &Noise,
) -> Option<CallChange> {
    let measure = |side: usize, of: &dyn Fn(Calls) -> i64| {
        Measure::of(named[side].iter().map(|run| of(run.get(name).copied().unwrap_or_default())))
    };
    let mean = |calls: Calls| if calls.count > 0 { calls.sum_ns / calls.count } else { 0 };
    let count = [measure(0, &|calls| calls.count)?.median, measure(1, &|calls| calls.count)?.median];
    let sum_ns = |run: &Named| run.get(name).map_or(0, |calls| calls.sum_ns);
    let total =
        |side: usize| Measure::of(named[side].iter().enumerate().map(|(place, run)| sum_ns(run) / units(side, place)));
    let call = Change::new(measure(0, &mean)?, measure(1, &mean)?, noise);
    Some(CallChange {
        name: name.to_owned(),
        count,
        call: (count[0] > 0 && count[1] > 0).then_some(call),
        total: Change::new(total(0)?, total(1)?, noise),
    })
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

/// Whether an annotation is a step: the step's name, with a number for its `#` or behind it.
fn is_step(name: &str, step: &str) -> bool {
    let bare = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '#').to_owned();
    step.ends_with('#') && name != bare(name) && bare(name) == bare(step)
}
