//! Casts that an operator of a product asks for itself, as `torch.autocast` lets it: what each of them reads is cast each time.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::limits::MAX_OPEN_RANGE_COUNT;
use crate::timeline::columns::RangeKind;
use crate::timeline::open::Open;
use crate::timeline::{NONE, ThreadRanges, Timeline};

/// Operators of matrix products and convolutions that a program calls.
pub(super) const PRODUCTS: [&str; 16] = [
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
/// The node of the backward pass that casts a gradient back, for each cast of the forward pass.
const BACKWARD_CASTS: [&str; 2] = ["ToCopyBackward0", "autograd::engine::evaluate_function: ToCopyBackward0"];

/// What an operator is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    Cast,
    BackwardCast,
    Other,
}

/// Whose a cast is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cast {
    /// A product asks for it.
    OfProduct,
    /// The program asks for it, or another operator.
    OfOther,
    /// It casts a gradient back.
    Backward,
}

/// How many casts there are of a kind, and how long they run.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: i64,
    ns: i64,
}

impl Sum {
    fn add(&mut self, ns: i64) {
        self.count += 1;
        self.ns = self.ns.saturating_add(ns);
    }
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
    let (mut of_products, mut of_others, mut backward) = (Sum::default(), Sum::default(), Sum::default());
    for of_thread in launches.chunk_by(|a, b| a.thread == b.thread) {
        let ranges = of_thread.first().and_then(|first| timeline.ranges.of_thread(first.thread));
        let Some(ranges) = ranges else { continue };
        let mut open = Labels { ranges, kinds: &kinds, next: 0, open: Open::new() };
        for launch in of_thread {
            match open.cast(launch.at) {
                Some(Cast::OfProduct) => of_products.add(launch.ns),
                Some(Cast::OfOther) => of_others.add(launch.ns),
                Some(Cast::Backward) => backward.add(launch.ns),
                None => {}
            }
        }
    }
    facts.set(
        "tensor_copy_in_product_ns",
        of_products.ns.saturating_add(asked_for(backward.ns, of_products, of_others)),
    );
}

/// Of the time in which gradients are cast back, the part of the casts that products asked for: each of the forward pass has one.
fn asked_for(backward_ns: i64, of_products: Sum, of_others: Sum) -> i64 {
    let casts = of_products.count.saturating_add(of_others.count);
    if casts == 0 { 0 } else { (backward_ns as f64 * of_products.count as f64 / casts as f64) as i64 }
}

fn kinds(timeline: &Timeline) -> Vec<Kind> {
    let labels = timeline.ranges.labels.iter();
    let kind = |name: &str| match name {
        name if PRODUCTS.contains(&name) => Kind::Product,
        name if CASTS.contains(&name) => Kind::Cast,
        name if BACKWARD_CASTS.contains(&name) => Kind::BackwardCast,
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
struct Labels<'all> {
    ranges: &'all ThreadRanges,
    kinds: &'all [Kind],
    next: usize,
    open: Open<Kind>,
}

impl Labels<'_> {
    /// The cast that is open at a moment.
    fn cast(&mut self, moment: i64) -> Option<Cast> {
        while self.open.pop_ended(moment).is_some() {}
        while let Some(range) = self.ranges.times.get(self.next).filter(|range| range.start <= moment) {
            let label = self.ranges.label.get(self.next).copied().unwrap_or(NONE);
            self.next += 1;
            let kind = self.kinds.get(label as usize).copied().unwrap_or(Kind::Other);
            if range.end > moment && kind != Kind::Other && self.open.len() < MAX_OPEN_RANGE_COUNT {
                self.open.push(range.end, kind);
            }
        }
        let kinds = || self.open.iter().map(|(_, kind)| *kind);
        let is_open = |kind: Kind| kinds().any(|open| open == kind);
        let mut within = kinds().skip_while(|kind| *kind != Kind::Product);
        if is_open(Kind::BackwardCast) {
            Some(Cast::Backward)
        } else if within.any(|kind| kind == Kind::Cast) {
            Some(Cast::OfProduct)
        } else {
            is_open(Kind::Cast).then_some(Cast::OfOther)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_are_cast_back_for_whom_the_forward_pass_cast() {
        let sum = |count| Sum { count, ns: 1_000 };
        assert_eq!(asked_for(600, sum(4), sum(0)), 600);
        assert_eq!(asked_for(600, sum(1), sum(2)), 200);
        assert_eq!(asked_for(600, sum(0), sum(0)), 0, "the forward pass is not in the window");
    }
}
