//! Changes of what kernels compute in, and of the copies that this costs.

use foldhash::HashMap;

use super::super::Role;
use super::super::model::Play;
use super::super::record::Op;
use super::super::setting::Setting;
use super::{Extent, LARGE_SHARE};
use crate::timeline::TensorRatios;

/// Of the ratio of peaks, what matrix products reach on tensor cores.
const TENSOR_EFFICIENCY: f64 = 0.75;

/// What a product on tensor cores takes besides multiplying, however short it is: to begin, to fill its pipeline and to write its tiles.
const BESIDE_PRODUCT_NS: i64 = 5_000;
/// By Winograd's method a convolution multiplies so many times less (tiles of 2 x 2, filters of 3 x 3) than tensor cores, which do not
/// take it.
const WINOGRAD_SAVING: f64 = 2.25;

/// Elements in double precision are so many times as wide as in single, and those in single as in half.
const DOUBLE_WIDTH: f64 = 2.0;
const HALF_WIDTH: f64 = 2.0;

/// Of casts and layout copies that have no element-wise kernel beside them, what is expected to be needed: nothing tells it.
const NEEDED_SHARE: f64 = 0.5;

impl Play<'_> {
    /// Casts and layout copies of tensors go, with the calls that launched them. What is beside them makes or reads elements one by
    /// one, and can do so in another type or layout; of copies that have no such kernel beside them, some are needed.
    pub(super) fn keep_tensors(&mut self, extent: Extent, setting: &Setting<'_>) {
        let ops = &self.model.part.ops;
        let mut is_gone: Vec<bool> = ops.iter().map(|op| setting.is_tensor_copy(op)).collect();
        let mut run_of: HashMap<u32, i64> = HashMap::default();
        if extent == Extent::Expected {
            for op in self.copies_between_others(setting) {
                is_gone[op as usize] = false;
                let run_ns = ops[op as usize].end - ops[op as usize].start;
                run_of.insert(op, (run_ns as f64 * NEEDED_SHARE) as i64);
            }
        }
        self.take_away(&is_gone, &run_of, setting);
    }

    /// The casts and layout copies in a row of which neither side is a kernel of the step that passes over elements.
    fn copies_between_others(&self, setting: &Setting<'_>) -> Vec<u32> {
        let model = self.model;
        let mut others = Vec::new();
        for ops in model.by_stream() {
            let key = |op: &u32| (model.op(*op).step, setting.is_tensor_copy(model.op(*op)));
            let rows: Vec<&[u32]> = ops.chunk_by(|one, next| key(one) == key(next)).collect();
            let passes = |row: Option<&&[u32]>, step: u32, end: fn(&[u32]) -> Option<&u32>| {
                let op = row.and_then(|row| end(row)).map(|op| model.op(*op)).filter(|op| op.step == step);
                op.is_some_and(|op| setting.role_of(op).passes_over_elements())
            };
            for (place, row) in rows.iter().enumerate().filter(|(_, row)| key(&row[0]).1) {
                let step = model.op(row[0]).step;
                let before = place.checked_sub(1).and_then(|before| rows.get(before));
                let is_beside =
                    passes(before, step, <[u32]>::last) || passes(rows.get(place + 1), step, <[u32]>::first);
                if !is_beside {
                    others.extend_from_slice(row);
                }
            }
        }
        others
    }

    /// Whether products in plain fp32 take so much of the time of kernels that all of a model may be in half precision.
    pub(in super::super) fn has_many_fp32_products(&self, setting: &Setting<'_>) -> bool {
        let sum_ns = |counts: &dyn Fn(&Op) -> bool| -> i64 {
            let own = self.model.part.ops.iter().filter(|op| op.kind.is_compute() && counts(op));
            own.map(|op| op.end - op.start).fold(0, i64::saturating_add)
        };
        let products_ns = sum_ns(&|op| setting.role_of(op) == Role::Fp32Product);
        products_ns > 0 && products_ns as f64 >= LARGE_SHARE * sum_ns(&|_| true) as f64
    }

    pub(super) fn lower_precision(&mut self, extent: Extent, setting: &Setting<'_>) {
        let Some(TensorRatios { half, tf32 }) = setting.tensor_ratios() else { return };
        let factor = match extent {
            // Where TF32 is no faster, the next type is what one changes to.
            Extent::Expected => (tf32.filter(|tf32| *tf32 > 1.0).unwrap_or(half) * TENSOR_EFFICIENCY).max(1.0),
            Extent::Ceiling => half.max(tf32.unwrap_or(0.0)),
        };
        // A model in half precision moves half as much elsewhere, and its products in TF32 are faster as well.
        let elsewhere = (extent == Extent::Ceiling && self.has_many_fp32_products(setting)).then_some(HALF_WIDTH);
        self.set_runs(|_, op, run_ns| {
            let is_product = setting.role_of(op) == Role::Fp32Product;
            if is_product && extent == Extent::Expected {
                let saved = if setting.is_winograd(op) { WINOGRAD_SAVING } else { 1.0 };
                let multiplying_ns = (run_ns - BESIDE_PRODUCT_NS).max(0);
                return Some(run_ns - multiplying_ns + (multiplying_ns as f64 * (saved / factor).min(1.0)) as i64);
            }
            // In half precision, attention in one kernel multiplies on the tensor cores as well.
            let multiplies = is_product || setting.role_of(op) == Role::Fp32Attention && elsewhere.is_some();
            let factor = if multiplies { Some(factor) } else { elsewhere.filter(|_| op.kind.is_compute()) };
            factor.map(|factor| (run_ns as f64 / factor) as i64)
        });
    }

    /// Elements become half as wide; at best kernels are as much faster as the GPU computes in fp32. Products are expected to use
    /// tensor cores in TF32, at best in half precision.
    pub(super) fn single_precision(&mut self, extent: Extent, setting: &Setting<'_>) {
        let fp64 = setting.fp64_ratio().unwrap_or(1.0);
        let tensor = setting.tensor_ratios();
        let (tf32, half) =
            (tensor.and_then(|ratios| ratios.tf32).unwrap_or(1.0), tensor.map_or(1.0, |ratios| ratios.half));
        self.set_runs(|_, op, run_ns| {
            let is_product = matches!(setting.role_of(op), Role::Product | Role::Fp32Product);
            let factor = match (extent, is_product) {
                (Extent::Expected, true) => (fp64 * tf32.max(1.0) * TENSOR_EFFICIENCY).max(DOUBLE_WIDTH),
                (Extent::Expected, false) => DOUBLE_WIDTH,
                (Extent::Ceiling, true) => (fp64 * half.max(tf32)).max(DOUBLE_WIDTH),
                (Extent::Ceiling, false) => fp64.max(DOUBLE_WIDTH),
            };
            setting.is_fp64(op).then(|| (run_ns as f64 / factor) as i64)
        });
    }
}
