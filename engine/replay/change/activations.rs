//! What the forward pass computes is kept for the backward pass.

use foldhash::HashMap;

use super::super::model::{Play, What, Why};
use super::super::setting::Setting;
use crate::timeline::NONE;

impl Play<'_> {
    /// Operators of the forward pass that run again in the backward pass go, with what they launch and the host code in them.
    pub(super) fn keep_activations(&mut self, setting: &Setting<'_>) {
        let model = self.model;
        let Some(recomputed) = &setting.subject.timeline.details.recomputed else { return };
        let calls = model.part.calls.iter();
        let is_again: Vec<bool> = calls.map(|call| recomputed.holds(call.thread, call.start)).collect();
        let of_call = |call: u32| call != NONE && is_again.get(call as usize) == Some(&true);
        let is_gone: Vec<bool> = model.part.ops.iter().map(|op| of_call(op.call)).collect();
        self.take_away(&is_gone, &HashMap::default(), setting);
        for edge in &mut self.edges {
            match (edge.why, model.what[edge.to as usize]) {
                (Why::Call | Why::Queue, What::CallEnd(call)) | (Why::Program, What::CallStart(call))
                    if of_call(call) =>
                {
                    edge.lag_ns = 0;
                }
                _ => {}
            }
        }
    }
}
