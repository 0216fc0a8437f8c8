//! Kernels and ranges that changed, in one call and in total.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::interval::{Interval, Spread};
use super::launches::is_as_often;
use super::measure::{Change, Noise, Trend, Values, per_unit};
use super::runs::{Run, Runs, in_half, int, name_of};
use super::sides::{Side, Sides};
use super::work::Work;
use crate::facts::{Entity, EntityKind};

/// What changed less than this part of the window of all devices is left out.
const LEAST_SHARE: f64 = 0.001;
/// Kernels that take a smaller part of the kernel time say nothing of clocks.
const TELLING_SHARE: f64 = 0.005;
/// As many kernels that all changed alike are no change of a kernel.
const TELLING_COUNT: usize = 3;
/// The part of the kernel time that changed alike when clocks did.
const ALIKE_SHARE: f64 = 0.95;
/// Clocks that differ by less are the same.
const LEAST_CLOCK_SHARE: f64 = 0.02;
/// The part of the kernels that changed alike when clocks did.
const ALIKE_COUNT_SHARE: f64 = 0.75;
/// How far kernels may differ in what clocks do to them.
const SLACK_SHARE: f64 = 0.01;

/// A kernel or a range, all of one name on all devices, or on one of several.
#[derive(Debug, Clone, PartialEq)]
pub struct CallChange {
    /// Its name in the report: hostile.
    pub name: String,
    /// The name of the kernel that it replaced; absent where it replaced none.
    pub was: Option<String>,
    /// The index of the device that it changed on; absent where it changed on all of them.
    pub device: Option<usize>,
    /// How often, of the whole sides.
    pub count: Sides<i64>,
    /// Time of one call, the mean; absent when a side lacks it.
    pub call: Option<Change>,
    /// Time of all calls, per unit of comparison; 0 for a side that lacks it.
    pub total: Change,
    /// By how much the median call changed, as a share; absent where a side does not tell it.
    usual_share: Option<f64>,
}

/// What a run says of one name.
#[derive(Debug, Clone, Copy, Default)]
struct Named {
    count: i64,
    sum_ns: i64,
    /// Squared distances of its calls from their mean, together; absent where one of the entities does not tell.
    squares: Option<f64>,
    min_ns: i64,
    /// The sum if all calls were as long as the median of their entity.
    usual_ns: f64,
}

type ByName = BTreeMap<String, Named>;

/// What the runs of both sides say of the entities of a kind.
struct Recorded<'a> {
    runs: Sides<Vec<ByName>>,
    work: &'a Work,
    noise: &'a Noise,
    device: Option<usize>,
    /// Whether a side has more of the kind than is told one by one.
    omits: Sides<bool>,
    /// The names of kernels that were replaced, by that of the one in their place.
    was: BTreeMap<&'a str, &'a str>,
}

impl<'a> Recorded<'a> {
    /// On all devices, or on the one of an index.
    fn new(kind: EntityKind, device: Option<usize>, sides: Sides<Runs<'_>>, work: &'a Work, noise: &'a Noise) -> Self {
        let runs = Sides::of(|side| {
            let runs = sides.get(side).runs.iter().map(|run| named(run, kind, device));
            runs.map(|named| if side == Side::Base { renamed(named, work) } else { named }).collect()
        });
        let was = work.replaced.iter().map(|pair| (pair.new.as_str(), pair.old.as_str())).collect();
        let omits = Sides::of(|side| {
            let hides = kind == EntityKind::Kernel && *work.hides_kernels.get(side);
            hides || sides.get(side).runs.iter().any(|run| run.omits(kind))
        });
        Self { runs, work, noise, device, omits, was }
    }

    /// The names of all runs.
    fn all_names(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().flatten().flat_map(|run| run.keys().map(String::as_str))
    }

    /// The names that may have changed: of the others the middle run of both sides has nothing.
    fn names(&self) -> BTreeSet<&str> {
        self.runs.iter().flat_map(|runs| in_half(runs)).collect()
    }

    fn change(&self, name: &str) -> Option<CallChange> {
        // Looked for in each run once: a comparison has runs, devices and names by the thousand.
        let named = self
            .runs
            .each_ref()
            .map(|runs| runs.iter().map(|run| run.get(name).copied().unwrap_or_default()).collect::<Vec<Named>>());
        let values = |side: Side, of: &dyn Fn(Named, usize) -> i64| {
            Values::of(named.get(side).iter().enumerate().map(|(index, named)| of(*named, index)))
        };
        let count = Sides::of(|side| values(side, &|named, _| named.count)).both()?;
        let count = count.map(|count| count.measure().median);
        // What is not told one by one need not be gone, or new.
        if (count.base == 0 && self.omits.base) || (count.head == 0 && self.omits.head) {
            return None;
        }
        let call = Sides::of(|side| values(side, &|named, _| named.mean_ns())).both()?;
        let units = |side, run| self.work.units_of(side, run);
        let total = Sides::of(|side| values(side, &|named, run| per_unit(named.sum_ns, units(side, run))));
        let mut call = (count.base > 0 && count.head > 0).then(|| Change::of(&call, self.noise));
        let mut total = Change::of(&total.both()?, self.noise);
        let usual = Sides::of(|side| values(side, &|named, _| named.usual_call_ns())).both()?;
        let usual = usual.map(|usual| usual.measure().median as f64);
        let usual_share = (usual.base > 0.0 && usual.head > 0.0).then(|| usual.head / usual.base - 1.0);
        if let Some(call) = call.as_mut().filter(|call| is_within_calls(&named, call)) {
            // As many calls, which differ as much within each run, take no other time.
            total.is_change &= !is_as_often(count, self.work.units());
            call.is_change = false;
        }
        Some(CallChange {
            name: name.to_owned(),
            was: self.was.get(name).map(|old| (*old).to_owned()),
            device: self.device,
            count,
            call,
            total,
            usual_share,
        })
    }

    fn changes(&self) -> impl Iterator<Item = CallChange> {
        self.names().into_iter().filter_map(|name| self.change(name))
    }
}

/// With one run a side: whether calls that differ within a run as much as these do explain a change of their mean.
fn is_within_calls(named: &Sides<Vec<Named>>, call: &Change) -> bool {
    let spread = |runs: &Vec<Named>| runs.first().filter(|_| runs.len() == 1)?.spread();
    let Some(spread) = named.each_ref().map(spread).both() else { return false };
    let interval = Interval::of_calls(call.share.unwrap_or(0.0), spread.base, spread.head);
    interval.is_some_and(|interval| !interval.excludes_zero())
}

impl Named {
    fn mean_ns(self) -> i64 {
        if self.count > 0 { self.sum_ns / self.count } else { 0 }
    }

    /// The median call; 0 where that is not told.
    fn usual_call_ns(self) -> i64 {
        if self.count > 0 { (self.usual_ns / self.count as f64) as i64 } else { 0 }
    }

    fn add(&mut self, count: i64, entity: &Entity) {
        let squares = entity.int("spread_ns").map(|ns| (ns as f64).powi(2) * count as f64);
        let is_first = self.count == 0;
        self.squares = if is_first { squares } else { self.squares.zip(squares).map(|(a, b)| a + b) };
        self.min_ns = if is_first { int(entity, "min_ns") } else { self.min_ns.min(int(entity, "min_ns")) };
        self.usual_ns += int(entity, "median_ns") as f64 * count as f64;
        self.count = self.count.saturating_add(count);
        self.sum_ns = self.sum_ns.saturating_add(int(entity, "sum_ns"));
    }

    fn spread(&self) -> Option<Spread> {
        let count = usize::try_from(self.count).ok().filter(|count| *count > 1)?;
        let of_one = |sum: f64| sum / count as f64;
        Some(Spread {
            count,
            mean: of_one(self.sum_ns as f64),
            deviation: of_one(self.squares?).sqrt(),
            shortest: self.min_ns as f64,
            usual: of_one(self.usual_ns),
        })
    }
}

/// All entities of a kind on both sides.
pub(super) struct Calls<'a> {
    all: Vec<CallChange>,
    /// The same on each device, of kernels on several.
    each: Vec<Recorded<'a>>,
    /// What all devices did, per unit of the head.
    window_ns: i64,
    is_comparable: bool,
}

impl<'a> Calls<'a> {
    pub(super) fn new(kind: EntityKind, sides: Sides<Runs<'_>>, work: &'a Work, noise: &'a Noise) -> Self {
        let device_counts = sides.map(|side| side.first().map_or(0, |run| run.devices().len()));
        let each = match kind {
            EntityKind::Kernel if device_counts.head > 1 && device_counts.base == device_counts.head => {
                (0..device_counts.head).map(|device| Recorded::new(kind, Some(device), sides, work, noise)).collect()
            }
            _ => Vec::new(),
        };
        Self {
            all: Recorded::new(kind, None, sides, work, noise).changes().collect(),
            each,
            window_ns: per_unit(sides.head.median(|run: &Run| run.sum("window_ns")), work.units().head),
            is_comparable: work.basis.is_comparable(),
        }
    }

    /// Those that changed, the largest difference first: of the totals, or of what the head's calls took longer or shorter
    /// each where totals of different work cannot be compared.
    pub(super) fn changed(self) -> Vec<CallChange> {
        let Self { all, each, window_ns, is_comparable } = self;
        // Where a name never ran nothing changed.
        let mut devices_of: HashMap<&str, BTreeSet<usize>> = HashMap::default();
        for (device, recorded) in each.iter().enumerate() {
            for name in recorded.all_names() {
                devices_of.entry(name).or_default().insert(device);
            }
        }
        let mut changes: Vec<(i64, CallChange)> = Vec::new();
        for change in all {
            let devices = devices_of.get(change.name.as_str()).into_iter().flatten();
            let on_some = on_some_devices(&each, devices.copied(), (&change.name, is_comparable));
            for change in if on_some.is_empty() { vec![change] } else { on_some } {
                let (is_change, weight) = change.weight(is_comparable);
                if is_change && weight as f64 >= LEAST_SHARE * window_ns as f64 {
                    changes.push((weight, change));
                }
            }
        }
        changes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (&a.1.name, a.1.device).cmp(&(&b.1.name, b.1.device))));
        changes.into_iter().map(|(_, change)| change).collect()
    }

    /// How much of the head's time in kernels is in those of both sides, and the part of that in which calls take as long as
    /// before; `None` without such kernels.
    pub(super) fn same(&self) -> Option<SameCalls> {
        let (mut all, mut shared, mut same) = (0.0, 0.0, 0.0);
        for change in &self.all {
            let time = change.total.head.median as f64;
            all += time;
            let Some(call) = change.call else { continue };
            shared += time;
            same += if call.is_change { 0.0 } else { time };
        }
        (shared > 0.0).then(|| SameCalls { shared: shared / all, same: same / shared })
    }

    /// By how much a call of every kernel became longer or shorter, as a share, where all did by the same: what clocks, power
    /// or another machine do, and a change of code hardly ever. `None` where kernels went different ways.
    pub(super) fn common_factor(&self) -> Option<f64> {
        let all_ns: f64 = self.all.iter().map(|change| change.total.base.median as f64).sum();
        let mut ratios: Vec<(f64, f64)> = Vec::new();
        for change in self.all.iter().filter(|change| change.was.is_none()) {
            let time_ns = change.total.base.median as f64;
            let Some(share) = change.alike_share() else { continue };
            if time_ns >= TELLING_SHARE * all_ns {
                ratios.push((share, time_ns));
            }
        }
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = ratios.get(ratios.len() / 2)?.0;
        let is_alike = |share: f64| (share - middle).abs() <= (middle.abs() / 4.0).max(SLACK_SHARE);
        let sum =
            |of: &dyn Fn(f64) -> bool| ratios.iter().filter(|(share, _)| of(*share)).map(|(_, ns)| ns).sum::<f64>();
        let alike_ns = sum(&is_alike);
        let is_common = ratios.len() >= TELLING_COUNT
            && middle.abs() >= LEAST_CLOCK_SHARE
            && alike_ns >= ALIKE_SHARE * sum(&|_| true)
            && ratios.iter().filter(|(share, _)| is_alike(*share)).count() as f64
                >= ALIKE_COUNT_SHARE * ratios.len() as f64;
        is_common.then_some(middle)
    }
}

/// What became of a name on those devices where it changed, when on others it did not.
fn on_some_devices(
    each: &[Recorded<'_>],
    devices: impl Iterator<Item = usize>,
    (name, is_comparable): (&str, bool),
) -> Vec<CallChange> {
    let all = devices.filter_map(|device| each.get(device)?.change(name));
    let changed: Vec<CallChange> = all.filter(|change| change.weight(is_comparable).0).collect();
    if changed.len() < each.len() { changed } else { Vec::new() }
}

impl CallChange {
    /// Whether it changed, and by how much in all.
    fn weight(&self, is_comparable: bool) -> (bool, i64) {
        match &self.call {
            Some(call) if !is_comparable => (call.is_change, call.difference.abs().saturating_mul(self.count.head)),
            _ => (self.total.is_change, self.total.difference.abs()),
        }
    }

    /// By how much all of its calls became longer or shorter alike, as a share: clocks move the median call as they move the mean,
    /// single calls that are slow move the mean alone.
    fn alike_share(&self) -> Option<f64> {
        let mean = self.call?.share?;
        match self.usual_share {
            Some(usual) if usual * mean <= 0.0 => Some(0.0),
            Some(usual) if usual.abs() < mean.abs() => Some(usual),
            _ => Some(mean),
        }
    }

    /// Which way all of its calls together went.
    pub(super) fn trend(&self) -> Trend {
        self.total.trend()
    }
}

/// Parts of the head's time in kernels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SameCalls {
    /// In kernels that both sides run.
    pub(super) shared: f64,
    /// Of that, in kernels whose calls take as long as before.
    pub(super) same: f64,
}

fn named(run: &Run, kind: EntityKind, device: Option<usize>) -> ByName {
    let count_fact = if kind == EntityKind::Kernel { "launch_count" } else { "count" };
    let step = run.step_name().filter(|_| kind == EntityKind::Range);
    let device = device.and_then(|index| run.devices().get(index).map(|(id, _)| *id));
    let mut named = ByName::new();
    for (id, entity) in run.facts.of_kind(kind) {
        if device.is_some() && run.facts.related(id, EntityKind::Device) != device {
            continue;
        }
        let name = name_of(entity);
        // Steps carry their numbers, and are one thing; of those that are told in part nothing can be said of all.
        let as_step = step.filter(|step| is_step(name, step));
        if as_step.is_some() && run.omits(kind) {
            continue;
        }
        let name = as_step.unwrap_or(name);
        let calls = named.entry(name.to_owned()).or_default();
        calls.add(int(entity, count_fact), entity);
    }
    named
}

/// Kernels of the base under the names of those that replaced them.
fn renamed(mut named: ByName, work: &Work) -> ByName {
    for pair in &work.replaced {
        if let Some(calls) = named.remove(&pair.old) {
            named.insert(pair.new.clone(), calls);
        }
    }
    named
}

/// Whether a range is a step: the step's name, with a number for its `#` or behind it.
fn is_step(name: &str, step: &str) -> bool {
    let bare = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '#').to_owned();
    step.ends_with('#') && name != bare(name) && bare(name) == bare(step)
}
