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

/// In the names of kernels that look for what a mask chooses: they compute where it is.
const SEARCHES: &str = "cub::";

/// Whether a kernel copies what is chosen, by its name, and not only looks for it.
pub fn copies_chosen(name: &str) -> bool {
    !name.contains(SEARCHES)
}

/// Of what is copied by an index this part is expected to be needed.
const NEEDED_SHARE: f64 = 0.5;

impl Play<'_> {
    /// Half of what is copied by an index is expected to stay, nothing of it at best. The operators are launched as before: something
    /// reads what they choose.
    pub(super) fn read_in_place(&mut self, extent: Extent, setting: &Setting<'_>) {
        let (part, timeline) = (&self.model.part, setting.subject.timeline);
        let operators = operators_of_calls(timeline, part, gathers);
        let needed_share = if extent == Extent::Expected { NEEDED_SHARE } else { 0.0 };
        self.set_runs(|_, op, run_ns| {
            let operator = operators.get(op.call as usize).copied().flatten();
            let copies = || copies_chosen(timeline.name(timeline.kernels.shape_of(op.index).full_name));
            let is_gather = op.kind == OpKind::Kernel && operator.is_some_and(|operator| operator.told) && copies();
            is_gather.then_some((run_ns as f64 * needed_share) as i64)
        });
    }
}
