//! What kernels copy within a device, into another type or layout: by the sizes and types that the framework told.

use foldhash::HashMap;

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::details::Copied;

/// Sets which tensor is copied for longest, where sizes were recorded.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let copied = &context.timeline.details.copied;
    if copied.is_empty() {
        return;
    }
    let mut sums: HashMap<Copied, i64> = HashMap::default();
    let copies = device.ops.in_window().filter(|op| op.kind == OpKind::Kernel);
    for op in copies.filter(|op| context.traits_of(*op).is_some_and(|traits| traits.is_tensor_copy)) {
        if let Some(what) = copied.of(op.interval()) {
            let sum = sums.entry(what).or_default();
            *sum = sum.saturating_add(op.interval().clip(device.window()).len_ns());
        }
    }
    let Some((main, ns)) = sums.into_iter().max_by_key(|(what, ns)| (*ns, *what)) else { return };
    let sizes: Vec<String> =
        main.sizes.iter().take(usize::from(main.dimension_count)).map(|size| size.to_string()).collect();
    facts.set("tensor_copy_main_sizes", format!("[{}]", sizes.join(", ")));
    facts.set("tensor_copy_main_from", main.from);
    facts.set("tensor_copy_main_to", main.to);
    facts.set("tensor_copy_main_ns", ns);
}
