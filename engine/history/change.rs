//! Where a series of times changes.
//!
//! Circular binary segmentation (Olshen, Venkatraman, Lucito and Wigler 2004): of a series the stretch is cut out that differs
//! most from the rest of it by Student's t of the logarithms, when it differs more than chance has it, and each part is looked at
//! again. What chance has, a permutation test tells: the largest t of the same times in other orders, as E-divisive does (Matteson
//! and James 2014), which MongoDB's change point detection uses (Daly et al. 2020). A cut at one end of the stretch alone is one
//! change; in the end the two parts at each cut must differ by such a test of their own, as in Hunter (Fleming et al. 2023).

/// A part has at least so many points: one slow night is no change.
const LEAST_POINTS: usize = 3;
/// Other orders that are tried.
const ORDERS: usize = 999;
/// So seldom chance makes a t as large.
const MOST_CHANCE: f64 = 0.01;
/// The latest points that are looked at: the time it takes grows with the square.
const MAX_POINTS: usize = 300;
/// Sums of the same points in another order differ by so much of all squares, at most, in their last digits.
const NOISE_OF_DIGITS: f64 = 1e-12;

/// A point from which on time is other than before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first point of the new time.
    pub index: usize,
    /// The mean before, since the change before it, in nanoseconds.
    pub before_ns: f64,
    /// The mean from there on, up to the next change.
    pub after_ns: f64,
    /// The change as a share.
    pub share: f64,
    /// How often chance alone makes a difference as large.
    pub chance: f64,
}

/// The changes of a series by at least this share, in order.
pub(super) fn points(times: &[f64], least_share: f64) -> Vec<ChangePoint> {
    let skipped = times.len().saturating_sub(MAX_POINTS);
    let logs: Vec<f64> = times[skipped..].iter().map(|time| time.ln()).collect();
    let mut dice = Dice(0x5eed);
    let mut cuts: Vec<(usize, f64)> = Vec::new();
    let mut open = vec![(0, logs.len())];
    while let Some((start, end)) = open.pop() {
        let part = &logs[start..end];
        let Some((stretch, between)) = most_other(&Sums::new(part)) else { continue };
        let chance = chance(part, between, &mut dice);
        if chance <= MOST_CHANCE {
            let inner = stretch.iter().map(|at| start + at).filter(|at| *at > start && *at < end);
            let inner: Vec<usize> = inner.collect();
            let ends = inner.iter().copied().chain([end]);
            open.extend(std::iter::once(start).chain(inner.iter().copied()).zip(ends));
            cuts.extend(inner.into_iter().map(|at| (at, chance)));
        }
    }
    cuts.sort_by_key(|(at, _)| *at);
    told(&logs, &mut cuts, least_share, &mut dice);
    changes(&logs, &cuts).map(|change| ChangePoint { index: change.index + skipped, ..change }).collect()
}

/// Leaves out cuts between parts that differ by less, or not beyond what chance has of these two parts alone, the smallest first,
/// since each makes one part of two.
fn told(logs: &[f64], cuts: &mut Vec<(usize, f64)>, least_share: f64, dice: &mut Dice) {
    // What was found of each cut between its parts: only the neighbours of one that is left out are looked at again.
    let mut known: Vec<Option<bool>> = vec![None; cuts.len()];
    loop {
        let end_of = |index: usize| cuts.get(index).map_or(logs.len(), |(at, _)| *at);
        let mut is_told = |index: usize, change: &ChangePoint| {
            let start = if index > 0 { end_of(index - 1) } else { 0 };
            let both = &logs[start..end_of(index + 1)];
            change.share.abs() >= least_share
                && chance(both, Sums::new(both).between(0, change.index - start), dice) <= MOST_CHANCE
        };
        let mut least: Option<(usize, f64)> = None;
        for (index, change) in changes(logs, cuts).enumerate() {
            let share = change.share.abs();
            let is_kept = *known[index].get_or_insert_with(|| is_told(index, &change));
            if !is_kept && least.is_none_or(|(_, known)| share < known) {
                least = Some((index, share));
            }
        }
        let Some((index, _)) = least else { return };
        cuts.remove(index);
        known.remove(index);
        for neighbour in [index.checked_sub(1), Some(index)].into_iter().flatten() {
            known.get_mut(neighbour).into_iter().for_each(|known| *known = None);
        }
    }
}

fn changes<'a>(logs: &'a [f64], cuts: &'a [(usize, f64)]) -> impl Iterator<Item = ChangePoint> + 'a {
    let end_of = |index: usize| cuts.get(index).map_or(logs.len(), |(at, _)| *at);
    cuts.iter().enumerate().map(move |(index, (at, chance))| {
        let start = if index > 0 { end_of(index - 1) } else { 0 };
        let [before, after] = [&logs[start..*at], &logs[*at..end_of(index + 1)]].map(mean);
        ChangePoint {
            index: *at,
            before_ns: before.exp(),
            after_ns: after.exp(),
            share: (after - before).exp_m1(),
            chance: *chance,
        }
    })
}

/// From where to where a stretch differs most from the rest, and how much of the squares lies between the two; `None` of too few
/// points.
fn most_other(sums: &Sums) -> Option<([usize; 2], f64)> {
    let mut most: Option<([usize; 2], f64)> = None;
    for (start, first, last) in sums.stretches() {
        for end in first..=last {
            let between = sums.between(start, end);
            if most.is_none_or(|(_, known)| between > known) {
                most = Some(([start, end], between));
            }
        }
    }
    most
}

/// What t of any stretch is made of. Of two stretches of a series, or of its points in another order, that has the larger t of which
/// more of the squares lies between it and the rest: t² = between / ((all − between) / (points − 2)).
struct Sums {
    /// Up to each point, of distances from the mean: logarithms of times would lose digits.
    sums: Vec<f64>,
    /// What the square of a sum over so many points counts for.
    weights: Vec<f64>,
}

impl Sums {
    fn new(logs: &[f64]) -> Self {
        let count = logs.len();
        let weight = |length: usize| count as f64 / (length * (count - length)).max(1) as f64;
        let mut sums = Self { sums: vec![0.0; count + 1], weights: (0..=count).map(weight).collect() };
        sums.fill(logs);
        sums
    }

    /// Takes the same points in another order.
    fn fill(&mut self, logs: &[f64]) {
        let center = mean(logs);
        let mut sum = 0.0;
        for (place, log) in self.sums[1..].iter_mut().zip(logs) {
            sum += log - center;
            *place = sum;
        }
    }

    /// The stretches that are looked at: where they start, and from where to where they may end. No part is too short: neither a
    /// stretch nor what is left of the series before or after it.
    fn stretches(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let count = self.sums.len() - 1;
        let last = count.saturating_sub(LEAST_POINTS);
        let starts = std::iter::once(0).chain(LEAST_POINTS..=last).filter(move |_| count >= 2 * LEAST_POINTS);
        starts.flat_map(move |start| {
            // Those that end with the series begin within it.
            let to_the_end = (start > 0).then_some((start, count, count));
            [Some((start, start + LEAST_POINTS, last)), to_the_end].into_iter().flatten()
        })
    }

    /// How much of the squares lies between a stretch and the rest; both have points.
    fn between(&self, start: usize, end: usize) -> f64 {
        (self.sums[end] - self.sums[start]).powi(2) * self.weights[end - start]
    }

    /// Whether any stretch has as much.
    fn has(&self, between: f64) -> bool {
        self.stretches().any(|(start, first, last)| {
            let Some(ends) = self.sums.get(first..=last) else { return false };
            let begin = self.sums[start];
            let weighed = ends.iter().zip(&self.weights[first - start..]);
            // Counted, not looked for: so processors go through several at once.
            weighed.filter(|(end, weight)| (*end - begin) * (*end - begin) * *weight >= between).count() > 0
        })
    }
}

/// How often the same points in another order differ as much. Once that is more than chance may have, how much more is not asked.
fn chance(logs: &[f64], between: f64, dice: &mut Dice) -> f64 {
    let mut order = logs.to_vec();
    let mut sums = Sums::new(logs);
    let center = mean(logs);
    let square: f64 = logs.iter().map(|log| (log - center).powi(2)).sum();
    // Where the same time comes again and again, digits that were lost are no difference.
    let least = between - NOISE_OF_DIGITS * square;
    let share = |as_large: usize| (as_large + 1) as f64 / (ORDERS + 1) as f64;
    let mut as_large = 0;
    for _ in 0..ORDERS {
        dice.shuffle(&mut order);
        sums.fill(&order);
        as_large += usize::from(sums.has(least));
        if share(as_large) > MOST_CHANCE {
            break;
        }
    }
    share(as_large)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Numbers that look random, the same each time: a history says the same whenever it is asked for.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    fn shuffle(&mut self, values: &mut [f64]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series with noise of 2 %, in parts of so many points with these means.
    fn series(seed: u64, parts: &[(usize, f64)]) -> Vec<f64> {
        let mut dice = Dice(seed);
        // The sum of twelve: nearly normal, with a deviation of one.
        let mut noise = || (0..12).map(|_| dice.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
        parts.iter().flat_map(|(count, mean)| vec![*mean; *count]).map(|mean| mean * (1.0 + 0.02 * noise())).collect()
    }

    fn found(times: &[f64]) -> Vec<usize> {
        points(times, 0.02).iter().map(|change| change.index).collect()
    }

    #[test]
    fn noise_alone_changes_seldom() {
        let wrong = (1..=60).filter(|seed| !found(&series(seed * 7919, &[(30, 1e7)])).is_empty()).count();
        assert!(wrong <= 2, "{wrong} of 60");
    }

    #[test]
    fn a_change_is_found_at_its_commit() {
        // With a change of two and a half deviations the point is told to within two.
        let near = |seed: u64| {
            let changes = points(&series(seed * 104_729, &[(15, 1e7), (15, 1.05e7)]), 0.02);
            changes.len() == 1 && changes[0].index.abs_diff(15) <= 2 && (changes[0].share - 0.05).abs() < 0.03
        };
        let right = (1..=25).filter(|seed| near(*seed)).count();
        assert!(right >= 23, "{right} of 25");
        let back = points(&series(3, &[(10, 1e7), (10, 1.2e7), (10, 1e7)]), 0.02);
        assert_eq!(back.iter().map(|change| change.index).collect::<Vec<_>>(), [10, 20]);
        assert!(back[0].share > 0.15 && back[1].share < -0.13);
    }

    #[test]
    fn one_slow_night_small_changes_and_few_points_are_no_change() {
        let mut times = series(5, &[(20, 1e7)]);
        times[9] = 3e7;
        assert_eq!(found(&times), [0_usize; 0]);
        assert_eq!(found(&[1e7, 1e7, 2e7, 2e7]), [0_usize; 0]);
        let exact: Vec<f64> = (0..20).map(|index| if index < 10 { 1e7 } else { 1.01e7 }).collect();
        assert_eq!(found(&exact), [0_usize; 0], "one per cent");
    }
}
