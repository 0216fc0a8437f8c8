//! Where in the sequence of launches the kernels of a device stand: another kernel at the same place has replaced one.

use foldhash::HashMap;

use super::by_index::ByIndex;
use super::once::OfShape;
use super::{Context, DeviceContext, DevicePart};
use crate::timeline::NameId;

/// Adds the numbers to the kernels, of which `indices` are those among the entities.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    indices: &HashMap<NameId, usize>,
    part: &mut DevicePart,
) {
    let mut kernels: ByIndex<OfShape> = ByIndex::default();
    let shapes = device.passed(context).launched(context.timeline);
    for (of_shape, shape) in shapes.filter(|(of_shape, _)| of_shape.first_number.is_some()) {
        kernels.of(shape.name, OfShape::default).add(*of_shape);
    }
    for (name, index) in indices {
        let (Some(numbers), Some(entity)) = (kernels.get(*name), part.entities.get_mut(*index)) else { continue };
        entity.set_some("first_launch_number", numbers.first_number);
        entity.set("mean_launch_number", numbers.number_sum / numbers.launch_count.max(1));
    }
}
