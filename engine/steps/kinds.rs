//! Where things of one length follow those of another: two kinds of work, one after the other.

use super::median;

/// Two rows are of two kinds where either is so long at least, their medians are so many times apart, and so many of each row are nearer
/// to their own.
const MIN_ROW_COUNT: usize = 16;
const KIND_RATIO: f64 = 1.5;
const OWN_SHARE: f64 = 0.9;

/// How many come before those of the other kind, of lengths in the order of time; `None` where they are of one kind, or in turns.
pub fn first_kind(lengths: &[i64]) -> Option<usize> {
    if lengths.len() < 2 * MIN_ROW_COUNT {
        return None;
    }
    let logs: Vec<f64> = lengths.iter().map(|length| (*length).max(1) as f64).map(f64::ln).collect();
    let (count, mean) = (logs.len() as f64, logs.iter().sum::<f64>() / logs.len() as f64);
    // Where the sums before and behind are furthest from those of things that are all alike.
    let (mut before, mut furthest) = (0.0, (0, 0.0));
    for (index, log) in logs.iter().enumerate().take(logs.len() - MIN_ROW_COUNT) {
        before += log - mean;
        let place = (index + 1) as f64;
        let distance = before * before / (place * (count - place));
        if index + 1 >= MIN_ROW_COUNT && distance > furthest.1 {
            furthest = (index + 1, distance);
        }
    }
    let (first, second) = lengths.split_at(furthest.0);
    (!first.is_empty() && are_two_kinds(first, second)).then_some(furthest.0)
}

fn are_two_kinds(first: &[i64], second: &[i64]) -> bool {
    let of = |row: &[i64]| median(row.iter().copied()).max(1) as f64;
    let (one, other) = (of(first), of(second));
    let (less, more) = (one.min(other), one.max(other));
    let border = (less * more).sqrt();
    let is_own = |row: &[i64], is_short: bool| {
        let own = row.iter().filter(|length| (**length as f64 <= border) == is_short).count();
        own as f64 >= OWN_SHARE * row.len() as f64
    };
    more >= KIND_RATIO * less && is_own(first, one <= other) && is_own(second, other < one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_kinds_follow_each_other() {
        let of = |first: (i64, usize), second: (i64, usize)| {
            first_kind(&[vec![first.0; first.1], vec![second.0; second.1]].concat())
        };
        assert_eq!(of((10, 200), (40, 20)), Some(200));
        assert_eq!(of((40, 20), (10, 60)), Some(20));
        assert_eq!(of((10, 60), (40, 13)), None, "few");
        assert_eq!(of((10, 40), (14, 40)), None, "about as long");
        assert_eq!(first_kind(&[10, 40].repeat(40)), None, "in turns");
        let mut mixed = [vec![10; 200], vec![40; 20]].concat();
        mixed[200..203].fill(10);
        assert_eq!(first_kind(&mixed), Some(203));
        // A few of the other kind among them.
        mixed[50..60].fill(40);
        assert_eq!(first_kind(&mixed), Some(203));
        mixed[50..90].fill(40);
        assert_eq!(first_kind(&mixed), None);
        assert_eq!(first_kind(&[]), None);
    }
}
