//! Facts of kernels that make random numbers in order.

use foldhash::HashSet;

use super::{Context, DeviceContext};
use crate::facts::Entity;

/// With which cuRAND makes the numbers of a generator.
const MAKES: &str = "gen_sequenced";

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let mut shapes = HashSet::default();
    for (index, _) in &device.passed(context).shapes {
        let shape = timeline.kernels.shapes.get(*index as usize);
        if shape.is_some_and(|shape| timeline.name(shape.name).starts_with(MAKES)) {
            shapes.extend(context.launch_shapes.index_of_shape(*index));
        }
    }
    if !shapes.is_empty() {
        let tallies = shapes.iter().filter_map(|shape| device.tally.kernels.get(*shape));
        facts.set("random_number_kernel_ns", tallies.map(|tally| tally.attributed_ns).sum::<i64>());
    }
}
