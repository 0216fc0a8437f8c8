//! What both sides launch, weighed by the time that it takes: whether one holds the work of the other, and which kernels were
//! replaced by others.

use std::collections::{BTreeMap, BTreeSet};

use super::measure::SAME_SHARE;
use super::runs::{Run, Runs, in_half, int, name_of};
use super::sides::{Side, Sides};
use crate::facts::{Entity, EntityKind};

/// Kernels that differ and take less of the kernel time than this are a detail of the same work.
const DETAIL_SHARE: f64 = 0.02;
/// Kernels that are not launched a whole number of times in each repetition may take as much of the kernel time.
const UNDIVIDED_SHARE: f64 = 0.1;
/// With more of the kernel time in kernels that differ, it is other work.
const MOST_OTHER_SHARE: f64 = 0.25;
/// The most repetitions of the work that a side is taken apart into.
const MAX_UNITS: i64 = 1_000;
/// The most repetitions that one side may hold of all of the other's work.
const MAX_MULTIPLE: i64 = 10_000;
/// Kernels whose places in the sequence of launches differ by less, as a share of it, may have replaced each other.
const SAME_PLACE_SHARE: f64 = 0.03;
/// What stands for the kernels that have no facts of their own, as there are more than are told: no name has this character.
const OTHERS: &str = "\0";
/// Kernels of a side that are looked at for a replacement: the longest.
const MAX_PAIRED: usize = 500;

/// All launches of one name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Launch {
    pub(super) count: i64,
    time_ns: i64,
    shape: Option<Shape>,
    /// Where in the sequence of launches the first one is and all are on average, from 0 to 1.
    place: Option<[f64; 2]>,
    is_matrix_product: bool,
}

/// Blocks of the grid and threads of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    blocks: i64,
    threads: i64,
}

type Named = BTreeMap<String, Launch>;

/// A kernel of the base, and the one that the head launches in its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Replaced {
    /// The name in the base: hostile.
    pub old: String,
    /// The name in the head: hostile.
    pub new: String,
}

/// The launches of each side; those of several runs are the median.
#[derive(Debug)]
pub(super) struct Launches {
    named: Sides<Named>,
    pub(super) replaced: Vec<Replaced>,
}

impl Launches {
    pub(super) fn new(sides: Sides<Runs<'_>>) -> Self {
        let mut launches = Self { named: known(sides.map(named)), replaced: Vec::new() };
        let units = launches.multiple(1).unwrap_or(Sides { base: 1, head: 1 });
        launches.replaced = replaced(&launches.named, units.map(|units| units as f64));
        launches
    }

    pub(super) fn totals(&self) -> Sides<i64> {
        self.named.each_ref().map(|named| named.values().map(|launch| launch.count).fold(0, i64::saturating_add))
    }

    /// The names that only one side launches and that replaced nothing, the longest first.
    pub(super) fn only_on(&self, side: Side) -> Vec<&str> {
        let (here, there) = match side {
            Side::Base => (&self.named.base, &self.named.head),
            Side::Head => (&self.named.head, &self.named.base),
        };
        let is_paired =
            |name: &str| name == OTHERS || self.replaced.iter().any(|pair| pair.old == name || pair.new == name);
        let mut names: Vec<(&String, &Launch)> =
            here.iter().filter(|(name, _)| !there.contains_key(*name) && !is_paired(name)).collect();
        names.sort_by_key(|(name, launch)| (std::cmp::Reverse((launch.time_ns, launch.count)), name.as_str()));
        names.into_iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Every kernel with what stands in its place on the other side, as counts of both sides and the part of the kernel time.
    fn pairs(&self) -> Vec<(Sides<i64>, f64)> {
        let partner: BTreeMap<&str, &str> =
            self.replaced.iter().map(|pair| (pair.old.as_str(), pair.new.as_str())).collect();
        let news: BTreeSet<&str> = partner.values().copied().collect();
        let totals = self.named.each_ref().map(weights);
        let of = |side: Option<&Launch>, total: Weights| side.map_or(0.0, |launch| total.share(launch));
        let mut pairs = Vec::new();
        for (name, launch) in &self.named.base {
            let other = self.named.head.get(partner.get(name.as_str()).copied().unwrap_or(name));
            let counts = Sides { base: launch.count, head: other.map_or(0, |other| other.count) };
            pairs.push((counts, of(Some(launch), totals.base).max(of(other, totals.head))));
        }
        for (name, launch) in &self.named.head {
            if !self.named.base.contains_key(name) && !news.contains(name.as_str()) {
                pairs.push((Sides { base: 0, head: launch.count }, of(Some(launch), totals.head)));
            }
        }
        pairs
    }

    /// The part of the kernel time in kernels that are not launched as often on both sides, in so many units of work.
    pub(super) fn other_share(&self, units: Sides<f64>) -> f64 {
        share_of(&self.pairs(), |counts| !is_as_often(counts, units))
    }

    /// The part of the kernel time in kernels that are not told one by one, where they are as many on both sides: nothing tells
    /// whether they are the same.
    pub(super) fn counted_share(&self, units: Sides<f64>) -> Option<f64> {
        let others = self.named.each_ref().map(|named| named.get(OTHERS)).both()?;
        let totals = self.named.each_ref().map(weights);
        let share = totals.base.share(others.base).max(totals.head.share(others.head));
        (is_as_often(others.map(|others| others.count), units) && share > DETAIL_SHARE).then_some(share)
    }

    /// Whether a side holds as many launches of every kernel, but for details.
    pub(super) fn is_same(&self, units: Sides<f64>) -> bool {
        let total = self.totals();
        total.base > 0 && total.head > 0 && self.other_share(units) <= DETAIL_SHARE
    }

    /// Whether both sides do the same work, or one does the other's a whole number of times, in other numbers of steps than that makes.
    /// As many steps are the same steps, and one side does more in each.
    pub(super) fn parts_steps_otherwise(&self, steps: Sides<i64>) -> bool {
        let once = Sides { base: 1, head: 1 };
        let units = if self.is_same(once.map(|unit| unit as f64)) { Some(once) } else { self.multiple(1) };
        let is_so_often = |units: Sides<i64>| {
            let Sides { base, head } = steps.zip(units).map(|(count, units)| count as f64 / units as f64);
            (base - head).abs() <= 2.0 * SAME_SHARE * base.max(head)
        };
        units.is_some_and(|units| !is_so_often(units) && !is_so_often(once))
    }

    /// Whether most of the work is the same, and what differs may be the change under review.
    pub(super) fn is_mostly_same(&self) -> bool {
        let total = self.totals();
        total.base > 0 && total.head > 0 && self.other_share(Sides { base: 1.0, head: 1.0 }) <= MOST_OTHER_SHARE
    }

    /// Whether all launches are the same, details too.
    pub(super) fn is_equal(&self, units: Sides<f64>) -> bool {
        self.replaced.is_empty() && self.pairs().iter().all(|(counts, _)| is_as_often(*counts, units))
    }

    /// The units when one side holds the other's work a whole number of times, or both hold the same work several times. At most
    /// so many are tried for the shorter side.
    pub(super) fn multiple(&self, most: i64) -> Option<Sides<i64>> {
        let total = self.totals();
        if total.base == 0 || total.head == 0 {
            return None;
        }
        let is_longer = total.head >= total.base;
        let ratio = total.head.max(total.base) as f64 / total.head.min(total.base) as f64;
        let pairs = self.pairs();
        (1..=most.min(MAX_UNITS)).find_map(|shorter| {
            let longer = (ratio * shorter as f64).round() as i64;
            let units =
                if is_longer { Sides { base: shorter, head: longer } } else { Sides { base: longer, head: shorter } };
            let is_multiple = longer > shorter && longer <= MAX_MULTIPLE.max(shorter);
            (is_multiple && is_made_of(&pairs, units)).then_some(units)
        })
    }

    /// The units when both hold the same work several times: 7 of 10 repetitions against 10.
    pub(super) fn repetitions(&self) -> Option<Sides<i64>> {
        self.multiple(MAX_UNITS)
    }
}

/// Whether both sides are so many units of the same work: each kernel is launched as often in each unit, and a whole number of
/// times where there are several on both sides.
fn is_made_of(pairs: &[(Sides<i64>, f64)], units: Sides<i64>) -> bool {
    let is_whole = |count: i64, units: i64| count % units == 0;
    let is_single = units.base == 1 || units.head == 1;
    let is_divided = |counts: Sides<i64>| is_whole(counts.base, units.base) && is_whole(counts.head, units.head);
    share_of(pairs, |counts| !is_as_often(counts, units.map(|units| units as f64))) <= DETAIL_SHARE
        && (is_single || share_of(pairs, |counts| !is_divided(counts)) <= UNDIVIDED_SHARE)
}

/// The part of all time that some pairs have.
fn share_of(pairs: &[(Sides<i64>, f64)], is_meant: impl Fn(Sides<i64>) -> bool) -> f64 {
    let all: f64 = pairs.iter().map(|(_, share)| share).sum();
    let meant: f64 = pairs.iter().filter(|(counts, _)| is_meant(*counts)).map(|(_, share)| share).sum();
    if all > 0.0 { meant / all } else { 0.0 }
}

/// Whether both sides launch as often in each unit of work.
pub(super) fn is_as_often(counts: Sides<i64>, units: Sides<f64>) -> bool {
    let Sides { base, head } = counts.zip(units).map(|(count, units)| count as f64 / units);
    (base - head).abs() <= SAME_SHARE * base.max(head)
}

/// What the shares of launches are of.
#[derive(Debug, Clone, Copy)]
struct Weights {
    time_ns: f64,
    count: f64,
}

impl Weights {
    /// By time; by number where nothing takes any.
    fn share(self, launch: &Launch) -> f64 {
        if self.time_ns > 0.0 {
            launch.time_ns as f64 / self.time_ns
        } else {
            launch.count as f64 / self.count.max(1.0)
        }
    }
}

fn weights(named: &Named) -> Weights {
    let sum = |of: fn(&Launch) -> i64| named.values().map(|launch| of(launch) as f64).sum();
    Weights { time_ns: sum(|launch| launch.time_ns), count: sum(|launch| launch.count) }
}

/// Kernels of one side alone that stand where one of the other side alone stood: launched as often, at the same place of the
/// sequence, on the same grid; matrix products may tile their work in another way.
fn replaced(named: &Sides<Named>, units: Sides<f64>) -> Vec<Replaced> {
    let alone = |here: &'_ Named, there: &'_ Named| -> Vec<(String, Launch)> {
        let mut alone: Vec<(String, Launch)> = here
            .iter()
            .filter(|(name, _)| !there.contains_key(*name) && *name != OTHERS)
            .map(|(name, launch)| (name.clone(), launch.clone()))
            .collect();
        alone.sort_by_key(|(_, launch)| std::cmp::Reverse(launch.time_ns));
        alone.truncate(MAX_PAIRED);
        alone
    };
    let olds = alone(&named.base, &named.head);
    let mut news = alone(&named.head, &named.base);
    let mut pairs = Vec::new();
    for (old, launch) in olds {
        let fit = |new: &Launch| launch.fit(new, units);
        let best = news.iter().enumerate().filter_map(|(index, (_, new))| Some((index, fit(new)?)));
        let Some((index, _)) = best.min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let (new, _) = news.remove(index);
        pairs.push(Replaced { old, new });
    }
    pairs
}

impl Launch {
    /// How far a launch of the other side is from the place of this one; `None` where it cannot stand for it.
    fn fit(&self, new: &Self, units: Sides<f64>) -> Option<f64> {
        let is_often = is_as_often(Sides { base: self.count, head: new.count }, units);
        let is_same_shape = self.shape.is_some() && self.shape == new.shape;
        let is_product = self.is_matrix_product && new.is_matrix_product;
        if !is_often || !(is_same_shape || is_product) {
            return None;
        }
        let far = match (self.place, new.place) {
            (Some(old), Some(new)) => (old[0] - new[0]).abs().max((old[1] - new[1]).abs()),
            // A file that does not tell the sequence: only the grid speaks for it.
            _ if is_same_shape => 0.0,
            _ => return None,
        };
        (far <= SAME_PLACE_SHARE).then_some(far)
    }

    fn add(&mut self, entity: &Entity, count: i64, time_ns: i64, launch_count: i64) {
        if time_ns >= self.time_ns {
            let (blocks, threads) = (int(entity, "grid_block_count"), int(entity, "block_thread_count"));
            self.shape = (blocks > 0 && threads > 0).then_some(Shape { blocks, threads });
            let place = |fact: &str| Some(entity.int(fact)? as f64 / launch_count.max(1) as f64);
            self.place = place("first_launch_number").zip(place("mean_launch_number")).map(|(a, b)| [a, b]);
        }
        self.count = self.count.saturating_add(count);
        self.time_ns = self.time_ns.saturating_add(time_ns);
        self.is_matrix_product |= entity.get("is_matrix_product") == Some(&crate::facts::FactValue::Bool(true));
    }
}

/// What one side tells, and the other may have among the kernels that it does not tell one by one, is none of that side alone: it goes to
/// those of its own side that are not told.
fn known(named: Sides<Named>) -> Sides<Named> {
    let names = named.each_ref().map(|named| named.keys().cloned().collect::<BTreeSet<String>>());
    let with_others = |mut here: Named, there: &BTreeSet<String>| {
        let mut others = here.remove(OTHERS);
        if there.contains(OTHERS) {
            let others = others.get_or_insert_default();
            here.retain(|name, launch| {
                let is_known = there.contains(name);
                if !is_known {
                    others.count = others.count.saturating_add(launch.count);
                    others.time_ns = others.time_ns.saturating_add(launch.time_ns);
                }
                is_known
            });
        }
        here.extend(others.filter(|others| others.count > 0).map(|others| (OTHERS.to_owned(), others)));
        here
    };
    Sides { base: with_others(named.base, &names.head), head: with_others(named.head, &names.base) }
}

/// The launches of a side by name: kernels on all devices; copies by kind where no kernel ran, and what else ran where neither
/// did. The median of the runs.
fn named(side: Runs<'_>) -> Named {
    let each: Vec<Named> = side.runs.iter().map(|run| of_run(run)).collect();
    let mut all = Named::new();
    for name in in_half(&each) {
        let runs = || each.iter().map(|named| named.get(name).cloned().unwrap_or_default());
        let middle =
            |of: fn(&Launch) -> i64| super::Measure::of(runs().map(|launch| of(&launch))).map_or(0, |m| m.median);
        let Some(first) = each.iter().find_map(|named| named.get(name)) else { continue };
        let (count, time_ns) = (middle(|launch| launch.count), middle(|launch| launch.time_ns));
        if count > 0 {
            all.insert(name.to_owned(), Launch { count, time_ns, ..first.clone() });
        }
    }
    all
}

/// The launches of one run.
pub(super) fn of_run(run: &Run) -> Named {
    let mut kernels = entities(run, EntityKind::Kernel, "launch_count", "sum_ns");
    if !kernels.is_empty() {
        kernels.extend(untold(run, &kernels).map(|others| (OTHERS.to_owned(), others)));
    }
    let copies = || entities(run, EntityKind::CopyGroup, "count", "busy_ns");
    let others = || {
        let others = ["memset_count", "migration_count"];
        let launches = others.map(|fact| (fact.to_owned(), Launch { count: run.sum(fact), ..Launch::default() }));
        launches.into_iter().filter(|(_, launch)| launch.count > 0).collect()
    };
    [kernels, copies(), others()].into_iter().find(|named| !named.is_empty()).unwrap_or_default()
}

/// The launches of kernels beyond those that are told one by one, all together.
fn untold(run: &Run, told: &Named) -> Option<Launch> {
    let left = |fact: &str, of: fn(&Launch) -> i64| {
        told.values().fold(run.sum(fact), |left, launch| left.saturating_sub(of(launch)))
    };
    let (count, time_ns) =
        (left("kernel_count", |launch| launch.count), left("kernel_sum_ns", |launch| launch.time_ns));
    (run.omits(EntityKind::Kernel) && count > 0).then(|| Launch { count, time_ns: time_ns.max(0), ..Launch::default() })
}

fn entities(run: &Run, kind: EntityKind, count: &str, time: &str) -> Named {
    let launch_count = run.devices().iter().map(|(_, device)| int(device, "kernel_count")).max().unwrap_or(0);
    let mut named = Named::new();
    for (_, entity) in run.facts.of_kind(kind) {
        let name = name_of(entity);
        // A file that somebody wrote may hold the name that is kept for the others.
        let name = if name == OTHERS { OTHERS.repeat(2) } else { name.to_owned() };
        let launch = named.entry(name).or_default();
        launch.add(entity, int(entity, count), int(entity, time), launch_count);
    }
    named
}

/// Whether two runs of one side did different work.
pub(super) fn is_uneven(side: Runs<'_>) -> bool {
    let each: Vec<Sides<Named>> =
        side.runs.windows(2).map(|pair| Sides { base: of_run(pair[0]), head: of_run(pair[1]) }).collect();
    let one = Sides { base: 1.0, head: 1.0 };
    each.into_iter().any(|named| Launches { named: known(named), replaced: Vec::new() }.other_share(one) > DETAIL_SHARE)
}
