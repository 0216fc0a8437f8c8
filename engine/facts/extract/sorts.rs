//! Facts of sorts: each is made of several kernels of a library, of which none need stand out.

use super::stats::clamped;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::NameId;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let is_sort = |name: NameId| context.traits.get(name as usize).is_some_and(|told| told.is_sort);
    if !context.traits.iter().any(|told| told.is_sort) {
        return;
    }
    let sorts = device.passed(context).launched(context.timeline).filter(|(_, shape)| is_sort(shape.full_name));
    let (mut launch_count, mut sum_ns) = (0, 0);
    for (of, _) in sorts {
        launch_count += of.launch_count;
        sum_ns += of.sum_ns;
    }
    if launch_count > 0 {
        facts.set("sort_kernel_launch_count", launch_count);
        facts.set("sort_kernel_sum_ns", clamped(sum_ns));
    }
}
