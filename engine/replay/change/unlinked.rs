//! What no recorded call asked for keeps a distance from the call before it. Host code in that distance goes with the host code
//! before the next call: the launch lies between both calls.

use super::super::model::{Play, What, Why};
use super::super::setting::Setting;
use super::{Change, Extent};

impl Play<'_> {
    /// The host code before each call, nanoseconds, where anything was asked for by no call that was recorded: mostly nothing was.
    pub(in crate::replay) fn host_code_of_unlinked_ns(&self) -> Option<Vec<i64>> {
        let has_unlinked = self.edges.iter().any(|edge| edge.why == Why::Unlinked);
        has_unlinked.then(|| self.host_code_ns())
    }

    /// The host code before each call, nanoseconds.
    fn host_code_ns(&self) -> Vec<i64> {
        let model = self.model;
        let mut gaps = vec![0; model.part.calls.len()];
        for edge in self.edges.iter().filter(|edge| matches!(edge.why, Why::Program | Why::HandOver)) {
            if let What::CallStart(call) = model.what[edge.to as usize] {
                gaps[call as usize] = edge.lag_ns;
            }
        }
        gaps
    }

    /// Takes out of the distances what a change took of the host code there was before. At best a change of what the host does
    /// leaves the launch alone: the recording does not say what lies before it.
    pub(super) fn shorten_unlinked(
        &mut self,
        before_ns: &[i64],
        change: Change,
        extent: Extent,
        setting: &Setting<'_>,
    ) {
        let model = self.model;
        let after_ns = self.host_code_ns();
        let thread = |call: usize| model.part.calls.get(call).map(|row| row.thread);
        for edge in self.edges.iter_mut().filter(|edge| edge.why == Why::Unlinked) {
            let (What::CallStart(call) | What::CallEnd(call)) = model.what[edge.from as usize] else { continue };
            let (call, next) = (call as usize, call as usize + 1);
            let launch_ns = edge.lag_ns.min(setting.launch_ns);
            let won_ns = if extent == Extent::Ceiling && change.is_of_host() {
                i64::MAX
            } else if thread(call) == thread(next) {
                before_ns[next] - after_ns[next]
            } else {
                0
            };
            edge.lag_ns = edge.lag_ns.saturating_sub(won_ns.max(0)).max(launch_ns);
        }
    }
}
