//! What is copied by an index: it is read where it lies, or less of it is copied.

use super::super::model::Play;
use super::super::setting::Setting;
use super::Extent;
use super::operators::operators_of_calls;
use crate::ledger::OpKind;

/// Operators of PyTorch that write a tensor of what an index chooses.
const GATHERING: [&str; 6] =
    ["aten::gather", "aten::index", "aten::index_select", "aten::masked_select", "aten::take", "aten::take_along_dim"];
/// Operators that gather within what they are for: a table is there to be looked up, and who sorts has computed what it chooses.
const LOOKING_UP: [&str; 3] = ["aten::embedding", "aten::embedding_bag", "aten::sort"];

/// Whether an operator gathers for its own sake, by its name; `None` of those that do not gather.
pub fn gathers(name: &str) -> Option<bool> {
    let is_gather = GATHERING.contains(&name);
    (is_gather || LOOKING_UP.contains(&name)).then_some(is_gather)
}

/// Of what is copied by an index this part is expected to be needed.
const NEEDED_SHARE: f64 = 0.5;

impl Play<'_> {
    /// Half of what is copied by an index is expected to stay, nothing of it at best. The operators are launched as before: something
    /// reads what they choose.
    pub(super) fn read_in_place(&mut self, extent: Extent, setting: &Setting<'_>) {
        let operators = operators_of_calls(setting.subject.timeline, &self.model.part, gathers);
        let needed_share = if extent == Extent::Expected { NEEDED_SHARE } else { 0.0 };
        self.set_runs(|_, op, run_ns| {
            let operator = operators.get(op.call as usize).copied().flatten();
            let is_of_gather = op.kind == OpKind::Kernel && operator.is_some_and(|operator| operator.told);
            let is_gather = is_of_gather && !setting.marks_of(op).searches;
            is_gather.then_some((run_ns as f64 * needed_share) as i64)
        });
    }
}
