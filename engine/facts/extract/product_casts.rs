//! Casts that an operator of a product asks for itself, as `torch.autocast` lets it: what each of them reads is cast each time.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::columns::RangeKind;
use crate::timeline::{NONE, ThreadRanges, Timeline};

/// Operators of matrix products and convolutions that a program calls.
const PRODUCTS: [&str; 16] = [
    "aten::linear",
    "aten::matmul",
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::baddbmm",
    "aten::einsum",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::conv_transpose1d",
    "aten::conv_transpose2d",
    "aten::conv_transpose3d",
    "aten::convolution",
    "aten::_convolution",
    "aten::scaled_dot_product_attention",
];
/// Operators that cast. A product that makes its input contiguous copies it by others.
const CASTS: [&str; 2] = ["aten::to", "aten::_to_copy"];

/// What an operator is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    Cast,
    Other,
}

/// A launch of a kernel that copies a tensor: by thread and time, and how long that runs.
struct Launch {
    thread: u32,
    at: i64,
    ns: i64,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let kinds: Vec<Kind> = kinds(timeline);
    if !kinds.contains(&Kind::Product) {
        return;
    }
    let launches = launches(context, device);
    let mut sum_ns = 0_i64;
    for of_thread in launches.chunk_by(|a, b| a.thread == b.thread) {
        let ranges = of_thread.first().and_then(|first| timeline.ranges.of_thread(first.thread));
        let Some(ranges) = ranges else { continue };
        let mut open = Open { ranges, kinds: &kinds, next: 0, open: Vec::new() };
        let casts = of_thread.iter().filter(|launch| open.is_cast_of_product(launch.at));
        sum_ns = casts.fold(sum_ns, |sum, launch| sum.saturating_add(launch.ns));
    }
    facts.set("tensor_copy_in_product_ns", sum_ns);
}

fn kinds(timeline: &Timeline) -> Vec<Kind> {
    let labels = timeline.ranges.labels.iter();
    let kind = |name: &str| match name {
        name if PRODUCTS.contains(&name) => Kind::Product,
        name if CASTS.contains(&name) => Kind::Cast,
        _ => Kind::Other,
    };
    let kinds = labels.map(|label| match label.kind {
        RangeKind::Operator => kind(timeline.name(label.name)),
        _ => Kind::Other,
    });
    kinds.collect()
}

fn launches(context: &Context<'_>, device: &DeviceContext) -> Vec<Launch> {
    let timeline = context.timeline;
    let copies = device.ops.in_window().filter(|op| op.kind == OpKind::Kernel);
    let copies = copies.filter(|op| context.traits_of(*op).is_some_and(|traits| traits.is_tensor_copy));
    let launch = |op: crate::ledger::Op| {
        let call = op.call(timeline)? as usize;
        let thread = timeline.api.thread.get(call).copied().filter(|thread| *thread != NONE)?;
        let ns = op.interval().clip(device.window()).len_ns();
        Some(Launch { thread, at: timeline.api.times.start(call), ns })
    };
    let mut launches: Vec<Launch> = copies.filter_map(launch).collect();
    launches.sort_unstable_by_key(|launch| (launch.thread, launch.at));
    launches
}

/// The products and casts of a thread that are open, read in time order.
struct Open<'all> {
    ranges: &'all ThreadRanges,
    kinds: &'all [Kind],
    next: usize,
    /// When each ends, and what it is.
    open: Vec<(i64, Kind)>,
}

impl Open<'_> {
    /// Whether a cast is open at a moment, and a product around it.
    fn is_cast_of_product(&mut self, moment: i64) -> bool {
        while let Some(range) = self.ranges.times.get(self.next).filter(|range| range.start <= moment) {
            let label = self.ranges.label.get(self.next).copied().unwrap_or(NONE);
            self.next += 1;
            let kind = self.kinds.get(label as usize).copied().unwrap_or(Kind::Other);
            if range.end > moment && kind != Kind::Other {
                self.open.push((range.end, kind));
            }
        }
        self.open.retain(|(end, _)| *end > moment);
        let mut within = self.open.iter().skip_while(|(_, kind)| *kind != Kind::Product);
        within.any(|(_, kind)| *kind == Kind::Cast)
    }
}
