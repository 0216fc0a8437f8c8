//! Where a series of times changes.
//!
//! Binary segmentation: a series is cut where Student's t of the logarithms of both parts is largest, when it is larger than
//! chance has it, and each part is looked at again. What chance has, a permutation test tells: the largest t of the same times in
//! other orders. This is how E-divisive tells (Matteson and James 2014), which MongoDB's and DataStax' change point detection use
//! (Daly et al. 2020, Fleming et al. 2023), with t in place of the energy statistic, as the latter has it.

/// A part has at least so many points: one slow night is no change.
const LEAST_POINTS: usize = 3;
/// Other orders that are tried.
const ORDERS: usize = 999;
/// So seldom chance makes a t as large.
const MOST_CHANCE: f64 = 0.01;
/// The latest points that are looked at: the time it takes grows with the square.
const MAX_POINTS: usize = 500;
/// Where the same time comes again and again, it still differs by so much, as a share.
const LEAST_SPREAD: f64 = 0.001;

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
        let Some((at, t)) = best_cut(part) else { continue };
        let chance = chance(part, t, &mut dice);
        if chance <= MOST_CHANCE {
            cuts.push((start + at, chance));
            open.extend([(start, start + at), (start + at, end)]);
        }
    }
    cuts.sort_by_key(|(at, _)| *at);
    told(&logs, &mut cuts, least_share);
    changes(&logs, &cuts).map(|change| ChangePoint { index: change.index + skipped, ..change }).collect()
}

/// Leaves out cuts between parts that differ by less, the smallest first, since each makes one part of two.
fn told(logs: &[f64], cuts: &mut Vec<(usize, f64)>, least_share: f64) {
    loop {
        let sizes = changes(logs, cuts).map(|change| change.share.abs()).enumerate();
        match sizes.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((index, size)) if size < least_share => cuts.remove(index),
            _ => return,
        };
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

/// Where t is largest, and how large; `None` of too few points.
fn best_cut(logs: &[f64]) -> Option<(usize, f64)> {
    let count = logs.len();
    if count < 2 * LEAST_POINTS {
        return None;
    }
    // Sums from the first point on, of distances from the mean: times of nanoseconds would lose digits.
    let center = mean(logs);
    let (mut sum, mut square) = (0.0, 0.0);
    let sums: Vec<(f64, f64)> = logs
        .iter()
        .map(|log| {
            sum += log - center;
            square += (log - center).powi(2);
            (sum, square)
        })
        .collect();
    let all = *sums.last()?;
    let t = |at: usize| {
        let (left, right) = (at as f64, (count - at) as f64);
        let (sum, _) = sums[at - 1];
        let (mean_left, mean_right) = (sum / left, (all.0 - sum) / right);
        let within = all.1 - left * mean_left.powi(2) - right * mean_right.powi(2);
        let spread = (within.max(0.0) / (count as f64 - 2.0)).sqrt().max(LEAST_SPREAD);
        (mean_right - mean_left).abs() / (spread * (1.0 / left + 1.0 / right).sqrt())
    };
    let cuts = (LEAST_POINTS..=count - LEAST_POINTS).map(|at| (at, t(at)));
    cuts.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
}

/// How often the same points in another order have a t as large.
fn chance(logs: &[f64], t: f64, dice: &mut Dice) -> f64 {
    let mut order = logs.to_vec();
    let as_large = (0..ORDERS).filter(|_| {
        dice.shuffle(&mut order);
        best_cut(&order).is_some_and(|(_, other)| other >= t - 1e-9)
    });
    (as_large.count() + 1) as f64 / (ORDERS + 1) as f64
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
        let wrong = (1..=100).filter(|seed| !found(&series(seed * 7919, &[(30, 1e7)])).is_empty()).count();
        assert!(wrong <= 3, "{wrong} of 100");
    }

    #[test]
    fn a_change_is_found_at_its_commit() {
        let near = |seed: u64| {
            let changes = points(&series(seed * 104_729, &[(15, 1e7), (15, 1.05e7)]), 0.02);
            changes.len() == 1 && changes[0].index.abs_diff(15) <= 1 && (changes[0].share - 0.05).abs() < 0.03
        };
        let right = (1..=50).filter(|seed| near(*seed)).count();
        assert!(right >= 45, "{right} of 50");
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
