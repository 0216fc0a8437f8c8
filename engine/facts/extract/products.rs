//! Facts of the matrix products that kernels compute: their sizes, and how well these fit what a GPU loads at once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::tally::kernel_name;
use super::{Context, DeviceContext, DevicePart};
use crate::timeline::NameId;
use crate::timeline::details::Product;

/// Bytes that a thread loads at once, at most.
const LOAD_BYTES: i64 = 16;

/// Adds to the kernels of a device, whose index among the entities is given by name.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    kernels: &HashMap<NameId, usize>,
    part: &mut DevicePart,
) {
    let timeline = context.timeline;
    let mut times: BTreeMap<(usize, Product), i64> = BTreeMap::new();
    if !timeline.details.products.is_empty() {
        for op in device.ops.in_window() {
            let kernel = kernel_name(timeline, op).and_then(|name| kernels.get(&name));
            if let (Some(kernel), Some(product)) = (kernel, timeline.details.products.of(op.interval())) {
                *times.entry((*kernel, product)).or_default() += op.end - op.start;
            }
        }
    }
    let mut most: BTreeMap<usize, (i64, Reverse<Product>)> = BTreeMap::new();
    for ((kernel, product), ns) in times {
        let this = (ns, Reverse(product));
        let known = most.entry(kernel).or_insert(this);
        *known = (*known).max(this);
    }
    for (name, index) in kernels {
        let is_product = context.traits.get(*name as usize).is_some_and(|traits| traits.is_matrix_product);
        let Some(entity) = part.entities.get_mut(*index).filter(|_| is_product) else { continue };
        let product = most.get(index).map(|(_, Reverse(product))| *product);
        entity.set_some("matmul_shape", product.map(shape));
        let by_name = named_alignment(entity.text("full_name").unwrap_or_default());
        entity.set_some("aligned_element_count", by_name.or(product.and_then(alignment)));
    }
}

/// As people write it: M x N x K.
fn shape(product: Product) -> String {
    let Product { m, n, k, batch, .. } = product;
    let batch = if batch > 1 { format!(", batch {batch}") } else { String::new() };
    format!("M={m}, N={n}, K={k}{batch}")
}

/// Elements that rows of both matrices, and of the result, let a thread load at once.
fn alignment(product: Product) -> Option<i64> {
    let most = LOAD_BYTES.checked_div(product.element_bytes).filter(|most| *most > 0)?;
    let of = |size: i64| most.min(1 << size.trailing_zeros().min(16));
    Some(of(product.n).min(of(product.k)))
}

/// The same, from the name that CUTLASS gives its kernels: `cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1`.
fn named_alignment(name: &str) -> Option<i64> {
    let digits = name.split("_align").nth(1)?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|count: &i64| (1..=LOAD_BYTES).contains(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_tell_how_much_is_loaded_at_once() {
        let of = |n, k, element_bytes| alignment(Product { m: 7, n, k, batch: 1, element_bytes });
        assert_eq!(of(4096, 64, 2), Some(8));
        assert_eq!(of(5185, 64, 2), Some(1));
        assert_eq!(of(50_258, 64, 2), Some(2));
        assert_eq!(of(1_000, 1_000, 4), Some(4));
        assert_eq!(of(1_000, 1_000, 0), None);
    }

    #[test]
    fn names_tell_it_too() {
        assert_eq!(named_alignment("void cutlass::Kernel2<cutlass_75_tensorop_tn_align1>(Params)"), Some(1));
        assert_eq!(named_alignment("cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align8"), Some(8));
        for odd in ["sgemm", "x_align", "x_align0", "x_align99", "_aligned"] {
            assert_eq!(named_alignment(odd), None, "{odd}");
        }
    }
}
