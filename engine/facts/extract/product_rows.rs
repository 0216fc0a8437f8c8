//! Rows of matrix products that a loop launches one by one: the same few kernels again and again in a stream, a product among them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::tally::kernel_name;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::NameId;

/// What a loop does in one turn: more kernels are a layer of a model, or a step.
const MAX_PERIOD: usize = 8;
/// Fewer turns are few layers of one shape.
const MIN_REPEAT_COUNT: usize = 16;

/// A row: where its kernels stand among those of a stream, and how many of them come again.
struct Row {
    kernels: Range<usize>,
    period: usize,
}

impl Row {
    fn repeat_count(&self) -> usize {
        self.kernels.len() / self.period
    }
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let is_product = |name: NameId| context.traits.get(name as usize).is_some_and(|traits| traits.is_matrix_product);
    let mut streams: BTreeMap<u32, Vec<NameId>> = BTreeMap::new();
    for op in device.ops.in_window() {
        if let Some(name) = kernel_name(timeline, op) {
            streams.entry(op.stream(timeline)).or_default().push(name);
        }
    }
    let mut kernel_count = 0;
    let mut longest: Option<Row> = None;
    for names in streams.values().filter(|names| names.iter().any(|name| is_product(*name))) {
        for row in rows(names) {
            if !names[row.kernels.start..row.kernels.start + row.period].iter().any(|name| is_product(*name)) {
                continue;
            }
            kernel_count += row.kernels.len() as i64;
            if longest.as_ref().is_none_or(|longest| row.kernels.len() > longest.kernels.len()) {
                longest = Some(row);
            }
        }
    }
    let Some(row) = longest else { return };
    facts.set("product_row_kernel_count", kernel_count);
    facts.set("product_row_repeat_count", row.repeat_count() as i64);
    facts.set("product_row_period_count", row.period as i64);
}

/// The rows of a stream, in order; none lies in another.
fn rows(names: &[NameId]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut first = 0;
    while first < names.len() {
        let like = |period: usize| {
            let pairs = names[first..].iter().zip(names[first..].iter().skip(period));
            pairs.take_while(|(this, next)| this == next).count()
        };
        let row = (1..=MAX_PERIOD).find_map(|period| {
            let repeat_count = 1 + like(period) / period;
            (repeat_count >= MIN_REPEAT_COUNT).then(|| Row { kernels: first..first + period * repeat_count, period })
        });
        first = row.as_ref().map_or(first + 1, |row| row.kernels.end);
        rows.extend(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_between_other_kernels() {
        let turns = |count: usize| [7, 8, 7].repeat(count);
        let names = [vec![1, 2, 3], turns(16), vec![4], turns(15), vec![5; 16]].concat();
        let found: Vec<_> =
            rows(&names).into_iter().map(|row| (row.kernels.clone(), row.period, row.repeat_count())).collect();
        assert_eq!(found, [(3..51, 3, 16), (97..113, 1, 16)]);
        assert!(rows(&[]).is_empty());
    }
}
