//! Operations of GPUs: those of known devices stay, each with the call that asked for it.

use super::Builder;
use super::inventory::Placed;
use super::join::Join;
use super::launchers;
use crate::parallel::{self, Threads};
use crate::timeline::columns::{GpuOps, KernelShape, Kernels};
use crate::timeline::{NONE, Timeline, Times};

/// Fewer rows are not worth a thread.
const MIN_ROWS_OF_THREAD: usize = 1 << 16;

/// What operations on a device that the recording does not name are called where they are dropped: kernels, graph launches,
/// copies, memsets.
pub(crate) const OPS_OF_UNKNOWN_DEVICE: [&str; 4] = ["kernels", "graph launches", "copies", "memsets"];

impl Builder {
    /// Drops the operations whose device is not known, and finds the call of each of the others.
    pub(super) fn resolve_ops(&mut self, streams: &[Placed], on: Threads) {
        let timeline = &mut self.timeline;
        let (kernels, graphs, copies) = (&mut timeline.kernels, &mut timeline.graphs, &mut timeline.copies);
        let (memsets, migrations) = (&mut timeline.memsets, &mut timeline.migrations);
        let of_kernels = keep_known(&mut kernels.ops, streams);
        of_kernels.apply(&mut kernels.shape);
        of_kernels.apply(&mut kernels.local_memory_kib);
        if of_kernels.lost() > 0 {
            forget_unused(kernels);
        }
        let of_graphs = keep_known(&mut graphs.ops, streams);
        let of_copies = keep_known(&mut copies.ops, streams);
        of_copies.apply(&mut copies.bytes);
        of_copies.apply(&mut copies.direction);
        of_copies.apply(&mut copies.host_memory);
        let of_memsets = keep_known(&mut memsets.ops, streams);
        of_memsets.apply(&mut memsets.bytes);
        let of_migrations = keep_known(&mut migrations.ops, streams);
        of_migrations.apply(&mut migrations.bytes);
        of_migrations.apply(&mut migrations.direction);
        of_migrations.apply(&mut migrations.cause);
        of_migrations.apply(&mut migrations.address);
        let [kernel, graph, copy, memset] = OPS_OF_UNKNOWN_DEVICE;
        for (events, kept) in [
            (kernel, of_kernels),
            (graph, of_graphs),
            (copy, of_copies),
            (memset, of_memsets),
            ("migrations", of_migrations),
        ] {
            // Those of GPUs beyond the limit make sense, and are told with it.
            let unknown = kept.lost().saturating_sub(kept.beyond_count);
            if unknown > 0 {
                self.dropped.insert((events, "on a device that the recording does not name"), unknown);
            }
        }
        let correlations = std::mem::take(&mut self.api_correlations);
        let join = Join::new(&timeline.threads, timeline.processes.len(), &timeline.api.thread, &correlations);
        launchers::tell(timeline, &join);
        let Timeline { kernels, graphs, copies, memsets, streams, .. } = timeline;
        for ops in [&mut kernels.ops, &mut graphs.ops, &mut copies.ops, &mut memsets.ops] {
            let rows = ops.len().div_ceil(on.at_most(usize::MAX)).max(MIN_ROWS_OF_THREAD);
            let parts = ops.call.chunks_mut(rows).zip(ops.stream.chunks(rows));
            parallel::map(on, parts, |(calls, of)| {
                let mut near = 0;
                for (call, stream) in calls.iter_mut().zip(of).filter(|(call, _)| **call != NONE) {
                    let process = streams.get(*stream as usize).map_or(NONE, |stream| stream.process);
                    *call = join.find(process, *call, &mut near);
                }
            });
        }
        timeline.migrations.ops.call.fill(NONE);
    }
}

/// Which rows stay.
pub(super) struct Kept {
    /// All when absent.
    stays: Option<Vec<bool>>,
    /// Of those that do not, how many lie beyond a limit.
    beyond_count: u64,
}

impl Kept {
    /// Of each row whether it stays.
    pub(super) fn these(stays: Vec<bool>) -> Self {
        Self { stays: (!stays.iter().all(|stays| *stays)).then_some(stays), beyond_count: 0 }
    }

    pub(super) fn apply<T>(&self, column: &mut Vec<T>) {
        if let Some(kept) = &self.stays {
            let mut kept = kept.iter();
            column.retain(|_| kept.next().copied().unwrap_or(false));
        }
    }

    pub(super) fn apply_to_times(&self, times: &mut Times) {
        if let Some(kept) = &self.stays {
            *times = times.iter().zip(kept).filter(|(_, kept)| **kept).map(|(times, _)| times).collect();
        }
    }

    pub(super) fn lost(&self) -> u64 {
        self.stays.as_ref().map_or(0, |kept| kept.iter().filter(|kept| !**kept).count() as u64)
    }
}

fn keep_known(ops: &mut GpuOps, streams: &[Placed]) -> Kept {
    let place = |raw: &u32| streams.get(*raw as usize).copied().unwrap_or(Placed::Unknown);
    let mut kept = Kept::these(ops.stream.iter().map(|raw| matches!(place(raw), Placed::At(_))).collect());
    if kept.stays.is_some() {
        kept.beyond_count = ops.stream.iter().filter(|raw| place(raw) == Placed::Beyond).count() as u64;
    }
    kept.apply_to_times(&mut ops.times);
    kept.apply(&mut ops.stream);
    kept.apply(&mut ops.call);
    for raw in &mut ops.stream {
        *raw = if let Placed::At(index) = place(raw) { index } else { NONE };
    }
    kept
}

/// What only dropped rows launched is nobody's.
fn forget_unused(kernels: &mut Kernels) {
    let mut is_used = vec![false; kernels.shapes.len()];
    for shape in &kernels.shape {
        if let Some(is_used) = is_used.get_mut(*shape as usize) {
            *is_used = true;
        }
    }
    let unused = kernels.shapes.iter_mut().zip(is_used).filter(|(_, is_used)| !is_used);
    unused.for_each(|(shape, _)| *shape = KernelShape::default());
}
