//! Work of a GPU that an export lacks: what ran then looks like idle time, and like work that went away.

use super::rows::Table;
use crate::parallel::{self, Threads};
use crate::source::{doubled, lost};
use crate::timeline::Timeline;
use crate::timeline::api::{self, ApiClass};
use crate::timeline::builder::OPS_OF_UNKNOWN_DEVICE;
use crate::timeline::names::Told;

/// A single call that left no trace may have had nothing to copy.
const LEAST_COPY_CALLS: i64 = 2;

/// Tells of work that is missing.
pub(super) fn tell(timeline: &mut Timeline, threads: Threads) {
    let (doubled, lost) = parallel::both(threads, || doubled::count(timeline), || lost::kernel_launches(timeline));
    let unusable = unusable(timeline) + doubled;
    if unusable > 0 {
        timeline.source.unusable_gpu_row_count = i64::try_from(unusable).ok();
        if timeline.is_much_unusable(unusable) {
            timeline.source.lacks_gpu_work = Some(true);
        }
    }
    // The work of launches whose rows make no sense is told as such rows.
    if unusable == 0
        && timeline.gpu_op_count() > 0
        && let Some(lost) = lost
    {
        timeline.source.lost_launches = Some(lost);
        if lost.is_amid {
            timeline.source.lacks_gpu_work = Some(true);
        }
    }
    let copies = unrecorded_copies(timeline);
    if copies >= LEAST_COPY_CALLS {
        timeline.source.unrecorded_copy_count = Some(copies);
        timeline.source.lacks_gpu_work = Some(true);
    }
}

/// Rows of operations that make no sense.
fn unusable(timeline: &Timeline) -> u64 {
    let tables = [Table::Kernel, Table::Graph, Table::Copy, Table::Memset].map(Table::name);
    let is_gpu_work = |events: &str| tables.contains(&events) || OPS_OF_UNKNOWN_DEVICE.contains(&events);
    let of_gpu = timeline.dropped.iter().filter(|dropped| is_gpu_work(dropped.events));
    of_gpu.fold(0_u64, |sum, dropped| sum.saturating_add(dropped.count))
}

/// Calls that copied, where kernels are recorded and not one copy is. Copies of graphs are recorded with them, or not at all, and calls
/// that record a graph copy nothing.
fn unrecorded_copies(timeline: &Timeline) -> i64 {
    if !timeline.copies.ops.is_empty() || timeline.kernels.ops.is_empty() {
        return 0;
    }
    let mut is_of_graph = Told::new(&timeline.names, |name| name.contains("Graph") || name.contains("BeginCapture"));
    if timeline.api.name.iter().any(|name| is_of_graph.of(*name)) {
        return 0;
    }
    let mut is_copy =
        Told::new(&timeline.names, |name| matches!(api::classify(name), ApiClass::CopyBlocking | ApiClass::CopyAsync));
    let copies = timeline.api.name.iter().filter(|name| is_copy.of(**name)).count() as i64;
    let failed: i64 =
        timeline.api.errors.iter().filter(|error| is_copy.of(error.call)).map(|error| error.count as i64).sum();
    copies - failed
}
