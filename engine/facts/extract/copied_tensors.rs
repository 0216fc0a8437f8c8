//! What kernels copy within a device, into another type or layout: by the sizes and types that the framework told, and by the operators
//! that ask for it.

use foldhash::HashMap;

use super::cpu_operators::OPERATOR;
use super::{Context, DeviceContext, operators};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::columns::RangeKind;
use crate::timeline::details::Copied;

/// Operators that copy, cast or look at a tensor another way and nothing else: who calls them says more.
const COPYING: [&str; 22] = [
    "_reshape_alias",
    "_to_copy",
    "_unsafe_view",
    "as_strided",
    "clone",
    "contiguous",
    "copy_",
    "empty_like",
    "expand",
    "flatten",
    "movedim",
    "narrow",
    "permute",
    "reshape",
    "select",
    "slice",
    "split",
    "t",
    "to",
    "transpose",
    "unsqueeze",
    "view",
];
/// The operator that writes a row of zeros and a one for each index.
const ONE_HOT: &str = "aten::one_hot";

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    main_tensor(context, device, facts);
    asking(context, device, facts);
}

/// The kernels of the window that only copy a tensor.
fn copies(context: &Context<'_>, device: &DeviceContext) -> impl Iterator<Item = Op> {
    let kernels = device.ops.in_window().filter(|op| op.kind == OpKind::Kernel);
    kernels.filter(|op| context.traits_of(*op).is_some_and(|traits| traits.is_tensor_copy))
}

/// Sets the operators within which most of the copies are asked for, where they do more than that.
fn asking(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    if !timeline.ranges.hold_operators() {
        return;
    }
    let does_more = |name: &str| name.strip_prefix(OPERATOR).is_some_and(|name| !COPYING.contains(&name));
    let labels = timeline.ranges.labels.iter();
    let names = labels.map(|label| (label.kind == RangeKind::Operator).then(|| timeline.name(label.name)));
    let names: Vec<Option<&str>> = names.collect();
    let is_whole: Vec<bool> = names.iter().map(|name| name.is_some_and(does_more)).collect();
    let asking = operators::main_within(timeline, device, copies(context, device), &is_whole);
    let mut asking = asking.into_iter().map(|name| timeline.name(name)).take_while(|name| does_more(name));
    facts.set_some("tensor_copy_operator", asking.next());
    facts.set_some("tensor_copy_second_operator", asking.next());
    facts.set("has_one_hot", names.contains(&Some(ONE_HOT)));
}

/// Sets which tensor is copied for longest, where sizes were recorded.
fn main_tensor(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let copied = &context.timeline.details.copied;
    if copied.is_empty() {
        return;
    }
    let mut sums: HashMap<Copied, i64> = HashMap::default();
    for op in copies(context, device) {
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
