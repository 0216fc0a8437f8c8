//! What operators of a framework put in order again and again: it lies in order already, or less of it is sorted.

use std::collections::BTreeMap;

use foldhash::HashSet;

use super::super::model::Play;
use super::super::record::Op;
use super::super::setting::Setting;
use super::operators::operators_of_calls;
use super::{Extent, LARGE_SHARE};

/// Operators of PyTorch that sort on the way, some of them by calling others of these.
pub const SORTING: [&str; 20] = [
    "aten::coalesce",
    "aten::_coalesce",
    "aten::_unique",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::kthvalue",
    "aten::median",
    "aten::nanmedian",
    "aten::quantile",
    "aten::nanquantile",
    "aten::mode",
    "aten::isin",
    "aten::randperm",
    "aten::multinomial",
    "aten::embedding_dense_backward",
    "aten::_embedding_bag_dense_backward",
    "aten::sort",
    "aten::argsort",
    "aten::msort",
    "aten::lexsort",
];
/// Of these, those whose result does not lie in the order that they sort by: nothing behind them works on less where they sort less.
pub const UNFOLLOWED: [&str; 4] =
    ["aten::randperm", "aten::multinomial", "aten::embedding_dense_backward", "aten::_embedding_bag_dense_backward"];

impl Play<'_> {
    /// Operators that sort go, with all that they launch and wait for but what fills gradients of whole tables. Whoever sorts less works
    /// on less behind that as well: at best what follows in the step goes too, where sorting takes enough of it to be changed for that.
    pub(super) fn keep_order(&mut self, extent: Extent, setting: &Setting<'_>) {
        let part = &self.model.part;
        let is_followed = |name: &str| SORTING.contains(&name).then(|| !UNFOLLOWED.contains(&name));
        let operators = operators_of_calls(setting.subject.timeline, part, is_followed);
        if operators.iter().all(Option::is_none) {
            return;
        }
        let operator = |op: &Op| operators.get(op.call as usize).copied().flatten();
        let key = |op: &Op| Some((part.calls.get(op.call as usize)?.thread, operator(op)?.times.start));
        let keyed = part.ops.iter().filter_map(|op| Some((op, key(op)?)));
        let sorts: HashSet<(u32, i64)> =
            keyed.filter(|(op, _)| setting.marks_of(op).is_sort).map(|(_, key)| key).collect();
        if sorts.is_empty() {
            return;
        }
        let calls = part.calls.iter().zip(&operators);
        let mut is_gone: Vec<bool> = calls
            .map(|(call, operator)| operator.is_some_and(|own| sorts.contains(&(call.thread, own.times.start))))
            .collect();
        // The gradient of a whole table is filled however it is summed up.
        let is_fill = |op: &Op| setting.marks_of(op).is_fill && operator(op).is_some_and(|own| !own.told);
        for op in part.ops.iter().filter(|op| is_fill(op)) {
            if let Some(is_gone) = is_gone.get_mut(op.call as usize) {
                *is_gone = false;
            }
        }
        let of_call = |is_gone: &[bool], op: &Op| is_gone.get(op.call as usize) == Some(&true);
        let own = || part.ops.iter().filter(|op| of_call(&is_gone, op));
        let run_ns = |op: &Op| (op.end - op.start) as f64;
        let is_large = own().map(run_ns).sum::<f64>() >= LARGE_SHARE * part.ops.iter().map(run_ns).sum::<f64>();
        let mut since: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        if extent == Extent::Ceiling && is_large {
            for op in own().filter(|op| operator(op).is_some_and(|operator| operator.told)) {
                let first = since.entry((op.device, op.step)).or_insert(op.start);
                *first = op.start.min(*first);
            }
        }
        let is_behind = |op: &Op| since.get(&(op.device, op.step)).is_some_and(|since| op.start >= *since);
        for op in part.ops.iter().filter(|op| is_behind(op)) {
            if let Some(is_gone) = is_gone.get_mut(op.call as usize) {
                *is_gone = true;
            }
        }
        self.drop_ops(|op| of_call(&is_gone, op) || is_behind(op));
        self.free_launches(&is_gone, extent, setting);
    }
}
