//! Which of the program's own ranges launch most of what a GPU does, where its work is what takes the time.

use crate::facts::Entity;
use crate::ledger::Account;
use crate::text::number::percent;
use crate::text::plural::counted;
use crate::text::spans::Sentence;

/// The facts of each: its name, its part, and how often it came.
const FACTS: [[&str; 3]; 2] = [
    ["work_range", "work_range_share", "work_range_count"],
    ["work_second_range", "work_second_range_share", "work_second_range_count"],
];
/// On a GPU that computes for a smaller part of its window something else comes first.
const COMPUTING_SHARE: f64 = 0.7;
/// A range that launches less is not told.
const LEAST_SHARE: f64 = 0.2;
/// Nor are they where both launch less: then no range is where the time goes.
const MAIN_SHARE: f64 = 0.4;
/// Those that are told launch so much together: with less, most of the work lies elsewhere.
const MOST_SHARE: f64 = 0.8;
/// What launches more is all that the program does.
const WHOLE_SHARE: f64 = 0.95;
/// What comes fewer times need not come with the same inputs.
const LEAST_COUNT: i64 = 4;

/// The sentence; `None` where the GPU waits, in training, whose passes all differ, and where no range stands out.
pub(super) fn work_ranges(device: &Entity, window_ns: i64) -> Option<Sentence> {
    let computes = device.int(Account::Compute.fact())? as f64 >= COMPUTING_SHARE * window_ns as f64;
    let trains = device.int("optimizer_step_count").is_some_and(|count| count > 0);
    let shares: Vec<f64> = FACTS.iter().filter_map(|[_, share, _]| device.number(share)).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    if !computes || trains || !(MAIN_SHARE..WHOLE_SHARE).contains(&most) {
        return None;
    }
    let (told, shares): (Vec<Sentence>, Vec<f64>) = FACTS.into_iter().filter_map(|facts| told(device, facts)).unzip();
    if shares.into_iter().sum::<f64>() < MOST_SHARE {
        return None;
    }
    let words = Sentence::default().own("Of the GPU's work, ");
    let words = match told.as_slice() {
        [one, other] => words.sentence(one).own(", and ").sentence(other),
        [one] => words.sentence(one),
        _ => return None,
    };
    Some(words.own(": what one of them computes from the same inputs each time needs to be computed only once."))
}

/// What is told of a range, and the share that it launches.
fn told(device: &Entity, [name, share, count]: [&str; 3]) -> Option<(Sentence, f64)> {
    let share = device.number(share).filter(|share| *share >= LEAST_SHARE)?;
    let count = device.int(count).filter(|count| *count >= LEAST_COUNT)?;
    let words = Sentence::default().own(&format!("{} is launched in ", percent(share))).code(device.text(name)?);
    Some((words.own(&format!(", entered {}", counted(count, "time"))), share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;

    fn device(compute_ns: i64, facts: [(&'static str, f64, i64); 2]) -> Entity {
        let mut device = Entity::new(EntityKind::Device, "gpu0".to_owned(), Vec::new());
        device.set("compute_ns", compute_ns);
        for ((name, share, count), [name_fact, share_fact, count_fact]) in facts.into_iter().zip(FACTS) {
            device.set(name_fact, name);
            device.set(share_fact, share);
            device.set(count_fact, count);
        }
        device
    }

    #[test]
    fn ranges_are_told_where_the_gpu_works_and_one_stands_out() {
        let said = |device: &Entity| work_ranges(device, 1_000).map(|words| words.plain());
        let both = [("denoise", 0.52, 12), ("encode", 0.4, 12)];
        assert_eq!(
            said(&device(700, both)).as_deref(),
            Some(
                "Of the GPU's work, 52 % is launched in denoise, entered 12 times, and 40 % is launched in encode, entered 12 times: \
                 what one of them computes from the same inputs each time needs to be computed only once."
            )
        );
        assert_eq!(said(&device(699, both)), None, "the GPU waits");
        assert_eq!(said(&device(700, [("denoise", 0.39, 12), ("encode", 0.3, 12)])), None, "none stands out");
        assert!(!said(&device(700, [("denoise", 0.8, 12), ("encode", 0.19, 12)])).unwrap().contains("encode"));
        assert_eq!(said(&device(700, [("layer", 0.95, 12), ("norm", 0.3, 12)])), None, "all that it does");
        assert_eq!(said(&device(700, [("attend", 0.5, 12), ("encode", 0.29, 12)])), None, "much lies elsewhere");
        let mut trains = device(700, both);
        trains.set("optimizer_step_count", 3);
        assert_eq!(said(&trains), None);
    }
}
