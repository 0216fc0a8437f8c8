//! Matrix products that take much of the time together, though none of their kernels does; and those in plain fp32 of which no finding
//! tells, as something else limits the steps.

use super::gain::LEAST_EXPECTED_SHARE;
use super::work::NEARLY_ALL_COVERED;
use crate::facts::Entity;
use crate::text::number::percent;
use crate::text::spans::Sentence;

/// Products that take a smaller part of the window are not told.
const LEAST_SHARE: f64 = 0.4;
/// A kernel that holds a larger part of them stands in the table of kernels, and tells by itself.
const MOST_OF_ONE: f64 = 0.5;
/// Those of fewer kernels stand there as well.
const LEAST_COUNT: i64 = 4;

/// Products in plain fp32 that take a smaller part of the window, or of what the GPU computes, are no matter even where nothing else
/// limits a step.
const LEAST_FP32_SHARE: f64 = 0.1;
const LEAST_COMPUTE_SHARE: f64 = 0.5;

/// The sentence; `None` where products take little, or are told kernel by kernel: those in fp32 and TF32 by rules of their own.
pub(super) fn products(device: &Entity, window_ns: i64) -> Option<Sentence> {
    narrow(device, window_ns).or_else(|| hidden_fp32(device, window_ns))
}

/// Products in plain fp32 that tensor cores could do: steps played again take as long without them, so that the rule on these tells
/// nothing.
fn hidden_fp32(device: &Entity, window_ns: i64) -> Option<Sentence> {
    let (sum_ns, compute_ns) = (device.int("fp32_product_ns")?, device.int("compute_ns")?);
    let (most_ns, step_ns) = (device.int("lower_precision_ceiling_gain_ns")?, device.int("replay_step_ns")?);
    let is_all_played = device.number("replay_covered_share").is_none_or(|share| share >= NEARLY_ALL_COVERED);
    let wins_nothing = (most_ns as f64) < LEAST_EXPECTED_SHARE * step_ns as f64;
    let could = device.number("half_peak_ratio").is_some_and(|ratio| ratio > 1.0);
    let share = sum_ns as f64 / window_ns.max(1) as f64;
    let of_compute = sum_ns as f64 / compute_ns.max(1) as f64;
    let is_much = share >= LEAST_FP32_SHARE && of_compute >= LEAST_COMPUTE_SHARE;
    (is_much && could && wins_nothing && is_all_played).then(|| {
        Sentence::default().own(&format!(
            "Matrix products in plain fp32 take {} of the window, {} of what the GPU computes: in lower precision they win nothing before what holds the GPU up is mended.",
            percent(share),
            percent(of_compute),
        ))
    })
}

fn narrow(device: &Entity, window_ns: i64) -> Option<Sentence> {
    let sum_ns = device.int("narrow_product_ns")?;
    let most_ns = device.int("narrow_product_most_ns")?;
    let count = device.int("narrow_product_kernel_count").filter(|count| *count >= LEAST_COUNT)?;
    let share = sum_ns as f64 / window_ns.max(1) as f64;
    let is_spread = most_ns as f64 <= MOST_OF_ONE * sum_ns as f64;
    (share >= LEAST_SHARE && is_spread).then(|| {
        Sentence::default().own(&format!(
            "Matrix products take {} of the window, spread over {count} kernels by their names, of which the largest takes {}.",
            percent(share),
            percent(most_ns as f64 / window_ns.max(1) as f64),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;

    #[test]
    fn products_in_fp32_are_told_where_something_else_limits_the_steps() {
        let told = |sum_ns: i64, most_ns: i64| {
            let mut device = Entity::new(EntityKind::Device, "gpu0".to_owned(), Vec::new());
            let facts = [("fp32_product_ns", sum_ns), ("compute_ns", 360), ("replay_step_ns", 10_000)];
            facts.into_iter().for_each(|(fact, ns)| device.set(fact, ns));
            device.set("lower_precision_ceiling_gain_ns", most_ns);
            device.set("half_peak_ratio", 4.0);
            products(&device, 1_000).map(|sentence| sentence.plain())
        };
        let words = "Matrix products in plain fp32 take 28 % of the window, 78 % of what the GPU computes: in lower precision they win nothing before what holds the GPU up is mended.";
        assert_eq!(told(280, 9).as_deref(), Some(words));
        assert_eq!((told(280, 10), told(179, 0)), (None, None));
    }

    #[test]
    fn products_are_told_where_they_are_much_and_spread() {
        let said = |sum_ns: i64, most_ns: i64, count: i64| {
            let mut device = Entity::new(EntityKind::Device, "gpu0".to_owned(), Vec::new());
            device.set("narrow_product_ns", sum_ns);
            device.set("narrow_product_most_ns", most_ns);
            device.set("narrow_product_kernel_count", count);
            products(&device, 1_000).map(|words| words.plain())
        };
        let words = "Matrix products take 60 % of the window, spread over 18 kernels by their names, of which the largest takes 12 %.";
        assert_eq!(said(600, 120, 18).as_deref(), Some(words));
        assert!(said(400, 200, 4).is_some());
        assert_eq!(said(399, 120, 18), None, "little");
        assert_eq!(said(600, 301, 18), None, "one takes most");
        assert_eq!(said(600, 250, 3), None, "few");
    }
}
