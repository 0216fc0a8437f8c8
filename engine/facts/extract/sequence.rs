//! Where in the sequence of launches the kernels of a device stand: another kernel at the same place has replaced one.

use foldhash::HashMap;

use super::by_index::ByIndex;
use super::tally::kernel_name;
use super::{Context, DeviceContext, DevicePart};
use crate::timeline::NameId;

/// Numbers of the launches of one kernel, counted from 1.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    first: i64,
    sum: i64,
    count: i64,
}

/// Adds the numbers to the kernels, of which `indices` are those among the entities.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    indices: &HashMap<NameId, usize>,
    part: &mut DevicePart,
) {
    let timeline = context.timeline;
    let mut kernels: ByIndex<Numbers> = ByIndex::default();
    let launches = device.ops.in_window().filter_map(|op| kernel_name(timeline, op));
    for (number, name) in (1_i64..).zip(launches) {
        let numbers = kernels.of(name, || Numbers { first: number, sum: 0, count: 0 });
        numbers.sum = numbers.sum.saturating_add(number);
        numbers.count += 1;
    }
    for (name, index) in indices {
        let (Some(numbers), Some(entity)) = (kernels.get(*name), part.entities.get_mut(*index)) else { continue };
        entity.set("first_launch_number", numbers.first);
        entity.set("mean_launch_number", numbers.sum / numbers.count);
    }
}
