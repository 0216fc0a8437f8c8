//! Matrix products that take much of the time together, though none of their kernels does.

use crate::facts::Entity;
use crate::text::number::percent;
use crate::text::spans::Sentence;

/// Products that take a smaller part of the window are not told.
const LEAST_SHARE: f64 = 0.4;
/// A kernel that holds a larger part of them stands in the table of kernels, and tells by itself.
const MOST_OF_ONE: f64 = 0.5;
/// Those of fewer kernels stand there as well.
const LEAST_COUNT: i64 = 4;

/// The sentence; `None` where products take little, or are told kernel by kernel: those in fp32 and TF32 by rules of their own.
pub(super) fn products(device: &Entity, window_ns: i64) -> Option<Sentence> {
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
