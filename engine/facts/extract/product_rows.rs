//! Rows of matrix products that a loop launches one by one: the same few kernels again and again in a stream, a product among them.

use std::collections::BTreeSet;

use super::by_index::ByIndex;
use super::framework::BACKWARD_NODE;
use super::tally::kernel_name;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::steps::rows::{Row, rows};
use crate::timeline::{NameId, Timeline};

/// What a loop does in one turn: more kernels are a layer of a model, or a step.
const MAX_PERIOD: usize = 8;
/// Fewer turns are few layers of one shape.
const MIN_REPEAT_COUNT: usize = 16;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let is_product = |name: NameId| context.traits.get(name as usize).is_some_and(|traits| traits.is_matrix_product);
    let products = device.passed(context).launched(timeline).filter(|(_, shape)| is_product(shape.name));
    if products.map(|(of, _)| of.launch_count).sum::<i64>() < MIN_REPEAT_COUNT as i64 {
        return;
    }
    let streams = streams(context, device);
    // There is a product in each turn.
    let has_enough = |names: &[NameId]| {
        names.iter().filter(|name| is_product(**name)).take(MIN_REPEAT_COUNT).count() == MIN_REPEAT_COUNT
    };
    let mut kernel_count = 0;
    let mut longest: Option<Row> = None;
    for (_, names) in streams.iter().filter(|(_, names)| has_enough(names)) {
        for row in rows(names, MAX_PERIOD, MIN_REPEAT_COUNT) {
            if !names[row.first..row.first + row.period].iter().any(|name| is_product(*name)) {
                continue;
            }
            kernel_count += row.places().len() as i64;
            if longest.as_ref().is_none_or(|longest| row.places().len() > longest.places().len()) {
                longest = Some(row);
            }
        }
    }
    let Some(row) = longest else { return };
    facts.set("product_row_kernel_count", kernel_count);
    facts.set("product_row_repeat_count", row.count as i64);
    facts.set("product_row_period_count", row.period as i64);
}

/// The kernels of each stream that no backward pass launches, in the order of the streams.
fn streams(context: &Context<'_>, device: &DeviceContext) -> Vec<(u32, Vec<NameId>)> {
    let timeline = context.timeline;
    let backward = backward_threads(timeline);
    let is_backward =
        |call: u32| timeline.api.thread.get(call as usize).is_some_and(|thread| backward.contains(thread));
    let mut streams: ByIndex<Vec<NameId>> = ByIndex::default();
    for op in device.ops.in_window() {
        let Some(name) = kernel_name(timeline, op) else { continue };
        // Mostly there are no such threads, and then nothing is asked of the call.
        if backward.is_empty() || !op.call(timeline).is_some_and(is_backward) {
            let stream = op.stream(timeline);
            let room = || Vec::with_capacity(device.passed(context).stream(stream).count);
            streams.of(stream, room).push(name);
        }
    }
    let mut streams = streams.into_list();
    streams.sort_unstable_by_key(|(stream, _)| *stream);
    streams
}

/// The threads that launch a backward pass: each of its products needs the gradient that the one before gives, whatever they look like.
fn backward_threads(timeline: &Timeline) -> BTreeSet<u32> {
    let labels = &timeline.ranges.labels;
    let is_node: Vec<bool> = labels.iter().map(|label| timeline.name(label.name).starts_with(BACKWARD_NODE)).collect();
    if !is_node.contains(&true) {
        return BTreeSet::new();
    }
    let has_node = |labels: &[u32]| labels.iter().any(|label| is_node.get(*label as usize) == Some(&true));
    timeline.ranges.threads.iter().filter(|ranges| has_node(&ranges.label)).map(|ranges| ranges.thread).collect()
}
