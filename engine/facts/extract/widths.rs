//! Facts of a kernel by how wide its launches are: a few blocks, or enough for every SM; and by what migrates under them.

use std::collections::BTreeMap;

use super::launch_shapes::LANES_OF_SM;
use super::launches::Shape;
use super::stats::{clamped, median};
use super::tally::KernelTally;
use crate::facts::Entity;
use crate::steps::kinds::first_kind;
use crate::timeline::DeviceProperties;

/// Threads of a warp.
const WARP_THREADS: i64 = 32;

/// Launches of one width: a single block, or more of them.
#[derive(Default)]
struct Narrow<'all> {
    tally: KernelTally,
    count: i64,
    loss_ns: i64,
    /// The launch shape that most of this time goes to.
    main: Option<&'all Shape>,
    /// The one with the longest launch.
    longest: Option<&'all Shape>,
    /// How much of this time grids of each number of blocks take.
    by_blocks: BTreeMap<i64, i64>,
}

/// Of the warps that a device has room for, those of some launches: the mean of their time.
pub(super) fn warp_share(known: &DeviceProperties, own: &[Shape]) -> Option<f64> {
    let room = known.sm_count?.checked_mul(known.max_warps_per_sm?).filter(|room| *room > 0)?;
    let mut sum = 0.0;
    let mut all_ns = 0.0;
    for Shape { shape, launches, .. } in own {
        if shape.grid_blocks <= 0 || shape.block_threads <= 0 {
            return None;
        }
        sum += share_of_warps(shape.grid_blocks, shape.block_threads, room) * launches.sum_ns as f64;
        all_ns += launches.sum_ns as f64;
    }
    (all_ns > 0.0).then_some(sum / all_ns)
}

/// Of the warps that there is room for, those of one launch.
pub(super) fn share_of_warps(grid_blocks: i64, block_threads: i64, room: i64) -> f64 {
    let warps_of_block = block_threads.saturating_add(WARP_THREADS - 1) / WARP_THREADS;
    (grid_blocks as f64 * warps_of_block as f64 / room as f64).min(1.0)
}

impl<'all> Narrow<'all> {
    fn add(&mut self, shape: &'all Shape, lanes: i64, shortest_ns: i64) {
        let count = shape.launches.durations.len() as i64;
        let tally = &shape.tally;
        let idle_lanes_ns = clamped(tally.unused_lane_ns / i128::from(lanes.max(1)));
        // However wide, a launch does not get shorter than the shortest.
        let most_ns = tally.underfilled_ns.saturating_sub(count.saturating_mul(shortest_ns)).max(0);
        self.loss_ns = self.loss_ns.saturating_add(idle_lanes_ns.min(most_ns));
        self.count += count;
        self.tally.add(*tally);
        if self.longest.is_none_or(|longest| longest.launches.longest_ns < shape.launches.longest_ns) {
            self.longest = Some(shape);
        }
        let of_blocks = self.by_blocks.entry(shape.shape.grid_blocks).or_default();
        *of_blocks = of_blocks.saturating_add(tally.underfilled_ns);
        if self.main.is_none_or(|main| main.tally.underfilled_ns < tally.underfilled_ns) {
            self.main = Some(shape);
        }
    }

    /// The least and the most blocks, where grids of no one number take half of the time.
    fn range_of_blocks(&self) -> Option<(i64, i64)> {
        let most_ns = self.by_blocks.values().copied().max()?;
        let range = (*self.by_blocks.keys().next()?, *self.by_blocks.keys().next_back()?);
        (most_ns.saturating_mul(2) < self.tally.underfilled_ns).then_some(range)
    }

    fn set(&self, name: &str, facts: &mut Entity) {
        facts.set(&format!("{name}_launch_count"), self.count);
        facts.set(&format!("{name}_ns"), self.tally.underfilled_ns);
        facts.set(&format!("{name}_loss_ns"), self.loss_ns);
        let threads = self.main.map(|main| main.shape.block_threads).filter(|threads| *threads > 0);
        facts.set_some(&format!("{name}_thread_count"), threads);
        if let Some(longest) = self.longest {
            facts.set(&format!("{name}_longest_ns"), longest.launches.longest_ns);
            facts.set(&format!("{name}_longest_start_ns"), longest.launches.longest_start_ns);
        }
    }
}

/// Launches of many blocks that take at least this part of what those of few take show that more blocks do not shorten them.
const SAME_SHARE: f64 = 0.8;
/// Fewer launches in turns may be chance.
const MIN_TURN_COUNT: usize = 8;
/// A launch that is no longer may wait for unified memory all the time that it takes.
const FAULT_NS: i64 = 1_000_000;
/// Where memory migrates for this part of such launches: of the hundreds of microseconds that a group of faults takes, moving the pages is a few.
const FAULT_SHARE: f64 = 0.01;

/// What filling the GPU could win of a kernel by its facts: nothing where its own wider launches take as long, nor of the time that
/// unified memory takes to come.
pub(super) fn loss_ns(kernel: &Entity) -> i64 {
    let median = |name| kernel.int(name).map(|ns| ns as f64);
    if let (Some(wide), Some(narrow)) = (median("wide_median_ns"), median("narrow_median_ns"))
        && wide >= SAME_SHARE * narrow
    {
        return 0;
    }
    let of = |name| kernel.int(name).unwrap_or(0);
    // Memory that migrates for a good part of every short launch may be all that they wait for.
    let waits = of("faulting_launch_count") > 0 && of("faulting_launch_count") == of("launch_count");
    let is_much = of("faulting_ns") as f64 >= FAULT_SHARE * of("faulting_launch_ns") as f64;
    if waits && is_much && of("max_ns") <= FAULT_NS {
        return 0;
    }
    let moving_ns = of("faulting_ns").max(of("faulting_excess_ns"));
    of("one_block_loss_ns").saturating_add(of("small_grid_loss_ns")).saturating_sub(moving_ns).max(0)
}

/// Launches of few blocks and of many of one kernel, in time order.
#[derive(Debug, Default)]
pub(super) struct Turns {
    last: Option<bool>,
    count: usize,
    switch_count: usize,
}

impl Turns {
    /// Adds the next launch, by whether it has few blocks.
    pub(super) fn add(&mut self, is_narrow: bool) {
        self.count += 1;
        self.switch_count += usize::from(self.last.is_some_and(|last| last != is_narrow));
        self.last = Some(is_narrow);
    }

    /// Whether they take turns, but for what the window cuts.
    pub(super) const fn are_all(&self) -> bool {
        self.count >= MIN_TURN_COUNT && self.switch_count * 10 >= (self.count - 1) * 9
    }
}

/// Whether a kernel may be launched so: as often with few blocks as with many.
pub(super) fn may_take_turns(sm_count: i64, shapes: &[Shape]) -> bool {
    let known = || shapes.iter().filter(|shape| shape.shape.grid_blocks > 0);
    let count = |is_narrow: bool| {
        let of = known().filter(|shape| (shape.shape.grid_blocks < sm_count) == is_narrow);
        of.map(|shape| shape.launches.durations.len()).sum::<usize>()
    };
    let (narrow, wide) = (count(true), count(false));
    narrow > 0 && wide > 0 && 10 * narrow.abs_diff(wide) <= narrow + wide
}

/// Sets what the widths of a kernel's launches tell, where the number of SMs is known. No launch is taken to get shorter than
/// `shortest_ns`. Launches of few blocks and of many that are stages of one operation are not compared.
pub(super) fn set(
    (properties, is_in_stages): (Option<&DeviceProperties>, bool),
    shortest_ns: i64,
    shapes: &[Shape],
    facts: &mut Entity,
) {
    let Some(sm_count) = properties.and_then(|known| known.sm_count) else { return };
    let lanes = sm_count.saturating_mul(LANES_OF_SM);
    let (mut one_block, mut small) = (Narrow::default(), Narrow::default());
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    for shape in shapes.iter().filter(|shape| shape.shape.grid_blocks > 0) {
        let blocks = shape.shape.grid_blocks;
        match blocks {
            1 => one_block.add(shape, lanes, shortest_ns),
            _ if blocks < sm_count => small.add(shape, lanes, shortest_ns),
            _ => {}
        }
        let same = if blocks < sm_count { &mut narrow } else { &mut wide };
        same.extend(shape.launches.durations.iter().map(|ns| (*ns, blocks)));
    }
    one_block.set("one_block", facts);
    small.set("small_grid", facts);
    facts.set_some("small_grid_block_count", small.main.map(|main| main.shape.grid_blocks));
    if let Some((least, most)) = small.range_of_blocks() {
        facts.set("small_grid_least_block_count", least);
        facts.set("small_grid_most_block_count", most);
    }
    facts.set_some("narrow_median_ns", median(&mut narrow).map(|(ns, _)| ns));
    facts.set("wide_launch_count", wide.len() as i64);
    if is_in_stages {
        return;
    }
    let median = median(&mut wide);
    facts.set_some("wide_median_ns", median.map(|(ns, _)| ns));
    facts.set_some("wide_block_count", median.map(|(_, blocks)| blocks));
}

/// Sets what launches take beyond others of the same launch shape because unified memory migrates during them. Where a shape has no
/// others that is all that it takes; of a single block, the time in which memory moves.
pub(super) fn set_faulting(shapes: &[Shape], facts: &mut Entity) {
    let (mut count, mut excess_ns, mut matched_ns, mut all_ns) = (0, 0_i128, 0_i128, 0_i128);
    for shape in shapes {
        let launches = &shape.launches;
        let sum_ns: i128 = launches.migrating.iter().map(|ns| i128::from(*ns)).sum();
        count += launches.migrating.len() as i64;
        all_ns += sum_ns;
        let Some(clean_ns) = clean_median(&launches.durations, &launches.migrating) else {
            excess_ns += if shape.shape.grid_blocks == 1 { i128::from(shape.tally.faulting_ns) } else { sum_ns };
            continue;
        };
        matched_ns += sum_ns;
        excess_ns += launches.migrating.iter().map(|ns| i128::from((ns - clean_ns).max(0))).sum::<i128>();
    }
    facts.set("faulting_launch_count", count);
    facts.set("faulting_launch_ns", clamped(all_ns));
    facts.set_some("faulting_excess_ns", (count > 0 && 2 * matched_ns >= all_ns).then(|| clamped(excess_ns)));
}

/// The most that a kernel waits for unified memory. What one of a single block takes beyond its migrations is a matter of its grid.
pub(super) fn waits_for_pages_ns(kernel: &Entity) -> i64 {
    let has_one_block = kernel.int("one_block_launch_count").is_some_and(|count| count > 0);
    let at_most = if has_one_block { "faulting_ns" } else { "faulting_launch_ns" };
    kernel.int("faulting_excess_ns").or_else(|| kernel.int(at_most)).unwrap_or(0)
}

/// Launches of one grid are told by how much they differ where they are this part of a kernel's time, and so many.
const ONE_GRID_SHARE: f64 = 0.8;
const MIN_VARYING_COUNT: usize = 20;

/// How long launches of one shape take, short ones and long ones: where that differs, the number of blocks does not decide it.
pub(super) fn set_varying(own: &[Shape], facts: &mut Entity) {
    let all_ns: i128 = own.iter().map(|shape| shape.launches.sum_ns).sum();
    let Some(main) = own.iter().max_by_key(|shape| shape.launches.sum_ns) else { return };
    let durations = &main.launches.durations;
    let is_main = main.launches.sum_ns as f64 >= ONE_GRID_SHARE * all_ns as f64;
    if !is_main
        || main.shape.grid_blocks == 0
        || durations.len() < MIN_VARYING_COUNT
        || !main.launches.migrating.is_empty()
    {
        return;
    }
    if let Some(count) = first_kind(durations) {
        let (first, second) = durations.split_at(count);
        facts.set("one_grid_first_count", first.len() as i64);
        facts.set("one_grid_second_count", second.len() as i64);
        facts.set_some("one_grid_first_ns", median(&mut first.to_vec()));
        facts.set_some("one_grid_second_ns", median(&mut second.to_vec()));
    }
    let mut durations = durations.clone();
    let (short, long) = (durations.len() / 10, durations.len() - 1 - durations.len() / 10);
    facts.set("one_grid_short_ns", *durations.select_nth_unstable(short).1);
    facts.set("one_grid_long_ns", *durations.select_nth_unstable(long).1);
}

/// The median of the durations that are not among those of migrating launches; `None` without any.
fn clean_median(all: &[i64], migrating: &[i64]) -> Option<i64> {
    if migrating.is_empty() || all.len() == migrating.len() {
        return None;
    }
    let (mut all, mut migrating) = (all.to_vec(), migrating.to_vec());
    all.sort_unstable();
    migrating.sort_unstable();
    let mut migrating = migrating.into_iter().peekable();
    let mut clean: Vec<i64> = all.into_iter().filter(|ns| migrating.next_if_eq(ns).is_none()).collect();
    median(&mut clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;

    #[test]
    fn nothing_is_lost_by_grids_where_memory_migrates_for_much_of_every_short_launch() {
        let of = |faulting: i64, max_ns: i64, migrating_ns: i64| {
            let mut kernel = Entity::new(EntityKind::Kernel, String::new(), Vec::new());
            let facts = [("one_block_loss_ns", 500), ("launch_count", 3), ("faulting_launch_count", faulting)];
            facts.into_iter().for_each(|(name, value)| kernel.set(name, value));
            kernel.set("max_ns", max_ns);
            kernel.set("faulting_launch_ns", 400_i64);
            kernel.set("faulting_ns", migrating_ns);
            loss_ns(&kernel)
        };
        assert_eq!((of(3, FAULT_NS, 4), of(3, FAULT_NS, 3)), (0, 497));
        assert_eq!((of(3, FAULT_NS + 1, 100), of(2, FAULT_NS, 100), of(0, FAULT_NS, 0)), (400, 400, 500));
    }

    #[test]
    fn grids_that_vary_have_no_number_of_blocks_that_stands_for_all() {
        let range = |times: &[(i64, i64)]| {
            let tally = KernelTally { underfilled_ns: times.iter().map(|(_, ns)| ns).sum(), ..KernelTally::default() };
            Narrow { by_blocks: times.iter().copied().collect(), tally, ..Narrow::default() }.range_of_blocks()
        };
        assert_eq!(range(&[(4, 49), (8, 30), (20, 21)]), Some((4, 20)));
        assert_eq!(range(&[(4, 50), (8, 30), (20, 20)]), None);
        assert_eq!(range(&[]), None);
    }

    #[test]
    fn turns_are_one_for_one() {
        let are_all = |narrow: &[bool]| {
            let mut turns = Turns::default();
            narrow.iter().for_each(|is_narrow| turns.add(*is_narrow));
            turns.are_all()
        };
        assert!(are_all(&[true, false, true, false, true, false, true, false]));
        assert!(!are_all(&[true, false, true, false, true, false, true]));
        assert!(!are_all(&[true, true, true, true, false, false, false, false]));
        assert!(!are_all(&[true, false, true, false, true, false, false, true, false]));
    }

    #[test]
    fn clean_launches_are_the_others() {
        assert_eq!(clean_median(&[5, 90, 7, 80, 5], &[80, 90]), Some(5));
        assert_eq!(clean_median(&[5, 5], &[5]), Some(5));
        assert_eq!(clean_median(&[5, 6], &[]), None);
        assert_eq!(clean_median(&[5, 6], &[6, 5]), None);
    }
}
