//! The event tables: which columns are read, and what becomes of a row.

use super::cells::Cells;
use super::ids::{process_key, thread_key};
use crate::timeline::Geometry;
use crate::timeline::builder::{
    CallEvent, Chunk, KernelKey, LabelKey, MigrationEvent, NameKey, OpEvent, RangeEvent, Reason, StreamKey, ThreadKey,
};
use crate::timeline::columns::{Direction, HostMemory, MigrationCause, OverheadKind, RangeKind};

const NO_TIMES: Reason = "times missing or not numbers";
/// CUPTI writes zero for a time that it lost.
const LOST_TIMES: Reason = "times lost by the profiler";

/// What begins at zero and ends within this may have begun when the capture did.
const LONGEST_FROM_ZERO_NS: i64 = 1_000_000_000;

/// An event table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Table {
    Kernel,
    Graph,
    Copy,
    Memset,
    Api,
    OsCall,
    Schedule,
    ProfilerOverhead,
    CudaOverhead,
    Nvtx,
    /// A table of calls of a library that the profiler traces, by its index in [`LIBRARIES`].
    Library(usize),
}

/// The tables of calls of libraries, and the column that holds the name.
const LIBRARIES: [(&str, &str); 16] = [
    ("MPI_P2P_EVENTS", "textId"),
    ("MPI_COLLECTIVES_EVENTS", "textId"),
    ("MPI_START_WAIT_EVENTS", "textId"),
    ("MPI_OTHER_EVENTS", "textId"),
    ("CUPTI_ACTIVITY_KIND_OPENACC_DATA", "nameId"),
    ("CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", "nameId"),
    ("CUPTI_ACTIVITY_KIND_OPENACC_OTHER", "nameId"),
    ("OPENMP_EVENT_KIND_PARALLEL", "nameId"),
    ("OPENMP_EVENT_KIND_SYNC_REGION", "nameId"),
    ("OPENMP_EVENT_KIND_SYNC_REGION_WAIT", "nameId"),
    ("OPENMP_EVENT_KIND_TASK", "nameId"),
    ("OPENMP_EVENT_KIND_WORKSHARE", "nameId"),
    ("OPENMP_EVENT_KIND_MUTEX_WAIT", "nameId"),
    ("OPENMP_EVENT_KIND_CRITICAL_SECTION", "nameId"),
    ("CUDNN_EVENTS", "nameId"),
    ("CUBLAS_EVENTS", "nameId"),
];
/// The columns of each, in the order of [`LIBRARIES`].
const LIBRARY_COLUMNS: [[&str; 4]; 2] =
    [["start", "end", "globalTid", "textId"], ["start", "end", "globalTid", "nameId"]];

impl Table {
    /// In the order in which they are read; the longest to read come first in the queue anyway.
    pub(super) const ALL: [Self; 26] = [
        Self::Kernel,
        Self::Graph,
        Self::Copy,
        Self::Memset,
        Self::Api,
        Self::OsCall,
        Self::Schedule,
        Self::ProfilerOverhead,
        Self::CudaOverhead,
        Self::Nvtx,
        Self::Library(0),
        Self::Library(1),
        Self::Library(2),
        Self::Library(3),
        Self::Library(4),
        Self::Library(5),
        Self::Library(6),
        Self::Library(7),
        Self::Library(8),
        Self::Library(9),
        Self::Library(10),
        Self::Library(11),
        Self::Library(12),
        Self::Library(13),
        Self::Library(14),
        Self::Library(15),
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "CUPTI_ACTIVITY_KIND_KERNEL",
            Self::Graph => "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
            Self::Copy => "CUPTI_ACTIVITY_KIND_MEMCPY",
            Self::Memset => "CUPTI_ACTIVITY_KIND_MEMSET",
            Self::Api => "CUPTI_ACTIVITY_KIND_RUNTIME",
            Self::OsCall => "OSRT_API",
            Self::Schedule => "SCHED_EVENTS",
            Self::ProfilerOverhead => "PROFILER_OVERHEAD",
            Self::CudaOverhead => "CUPTI_ACTIVITY_KIND_OVERHEAD",
            Self::Nvtx => "NVTX_EVENTS",
            Self::Library(index) => LIBRARIES[index].0,
        }
    }

    /// The columns that facts need, in the order in which `read` takes them.
    pub(super) const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Kernel => &[
                "start",
                "end",
                "globalPid",
                "deviceId",
                "contextId",
                "streamId",
                "correlationId",
                "shortName",
                "demangledName",
                "gridX",
                "gridY",
                "gridZ",
                "blockX",
                "blockY",
                "blockZ",
                "registersPerThread",
                "staticSharedMemory",
                "dynamicSharedMemory",
                "localMemoryTotal",
            ],
            Self::Graph => &["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"],
            Self::Copy => &[
                "start",
                "end",
                "globalPid",
                "deviceId",
                "contextId",
                "streamId",
                "correlationId",
                "bytes",
                "copyKind",
                "srcKind",
                "dstKind",
                "migrationCause",
                "virtualAddress",
            ],
            Self::Memset => {
                &["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId", "bytes"]
            }
            Self::Api => &["start", "end", "globalTid", "correlationId", "nameId", "returnValue"],
            Self::OsCall => &["start", "end", "globalTid", "nameId", "callchainId"],
            Self::Schedule => &["start", "globalTid", "isSchedIn"],
            Self::ProfilerOverhead => &["start", "end", "globalTid", "nameId"],
            Self::CudaOverhead => &["start", "end", "globalTid", "nameId", "overheadType"],
            Self::Nvtx => &["start", "end", "globalTid", "eventType", "text", "textId", "domainId"],
            Self::Library(index) if LIBRARIES[index].1.as_bytes()[0] == b't' => &LIBRARY_COLUMNS[0],
            Self::Library(_) => &LIBRARY_COLUMNS[1],
        }
    }
}

impl Table {
    /// Hands one of its rows to a chunk.
    pub(super) fn read(self, cells: &impl Cells, chunk: &mut Chunk) {
        let read = match self {
            Self::Kernel => kernel(cells, chunk),
            Self::Graph => op(cells).map(|op| chunk.graph(&op)),
            Self::Copy => copy(cells, chunk),
            Self::Memset => op(cells).map(|op| chunk.memset(&op, cells.int(7).unwrap_or(0).max(0))),
            Self::Api => api_call(cells, chunk),
            Self::OsCall => {
                // Most calls are too short for a stack, and have none or the one of number 0.
                let stack = cells.int(4).filter(|stack| *stack > 0);
                call(cells, 3).map(|call| chunk.os_call_with_stack(&call, stack))
            }
            Self::Schedule => scheduled(cells, chunk),
            // What these stand for their names say, which are known later.
            Self::ProfilerOverhead => call(cells, 3).map(|call| chunk.overhead(&call, OverheadKind::Profiler)),
            Self::CudaOverhead => match overhead_kind(cells.int(4)) {
                Some(kind) => call(cells, 3).map(|call| chunk.overhead(&call, kind)),
                None => Ok(()),
            },
            Self::Nvtx => nvtx(cells, chunk),
            Self::Library(_) => library(cells, chunk),
        };
        if let Err(reason) = read {
            chunk.drop_event(reason);
        }
    }
}

fn correlation(id: Option<i64>) -> Option<u32> {
    id.filter(|id| *id != 0).and_then(|id| u32::try_from(id).ok())
}

fn op(cells: &impl Cells) -> Result<OpEvent, Reason> {
    let (Some(start), Some(end)) = (cells.int(0), cells.int(1)) else { return Err(NO_TIMES) };
    if end == 0 || (start == 0 && end > LONGEST_FROM_ZERO_NS) {
        return Err(LOST_TIMES);
    }
    let stream = StreamKey {
        process: cells.int(2).map(process_key),
        device: cells.int(3).unwrap_or(0),
        context: cells.int(4).unwrap_or(0),
        stream: cells.int(5).unwrap_or(0),
    };
    Ok(OpEvent { start, end, stream, correlation: correlation(cells.int(6)) })
}

/// No block has more threads, now or soon: such a value is none.
const MAX_BLOCK_THREADS: i64 = 1 << 16;

fn kernel(cells: &impl Cells, chunk: &mut Chunk) -> Result<(), Reason> {
    let op = op(cells)?;
    let geometry = Geometry {
        grid_blocks: product(cells, [9, 10, 11]),
        block_threads: Some(product(cells, [12, 13, 14])).filter(|threads| *threads <= MAX_BLOCK_THREADS).unwrap_or(0),
        registers: cells.int(15).unwrap_or(0).max(0),
        shared_memory_bytes: cells.int(16).unwrap_or(0).max(0).saturating_add(cells.int(17).unwrap_or(0).max(0)),
    };
    let (short, full) = (cells.int(7), cells.int(8));
    let (name, full_name) = (NameKey::of_id(short.or(full)), NameKey::of_id(full.or(short)));
    chunk.kernel_with_local_memory(&op, KernelKey { name, full_name, geometry }, cells.int(18).unwrap_or(0));
    Ok(())
}

fn product(cells: &impl Cells, columns: [usize; 3]) -> i64 {
    let product = columns.iter().try_fold(1_i64, |product, column| product.checked_mul(cells.int(*column)?.max(0)));
    product.unwrap_or(0)
}

fn copy(cells: &impl Cells, chunk: &mut Chunk) -> Result<(), Reason> {
    let op = op(cells)?;
    let kind = cells.int(8).unwrap_or(0);
    let bytes = cells.int(7).unwrap_or(0).max(0);
    if let Some(direction) = migration_direction(kind) {
        let address = cells.int(12).unwrap_or(0);
        chunk.migration(&op, &MigrationEvent { bytes, direction, cause: migration_cause(cells.int(11)), address });
    } else {
        let direction = copy_direction(kind);
        chunk.copy(&op, bytes, direction, host_memory(direction, cells.int(9), cells.int(10)));
    }
    Ok(())
}

const fn migration_direction(copy_kind: i64) -> Option<Direction> {
    match copy_kind {
        11 => Some(Direction::HostToDevice),
        12 => Some(Direction::DeviceToHost),
        13 => Some(Direction::DeviceToDevice),
        _ => None,
    }
}

const fn migration_cause(cause: Option<i64>) -> MigrationCause {
    match cause {
        Some(1) => MigrationCause::Prefetch,
        Some(2) => MigrationCause::Fault,
        Some(3) => MigrationCause::Speculative,
        Some(4) => MigrationCause::Eviction,
        Some(5) => MigrationCause::AccessCounters,
        _ => MigrationCause::Unknown,
    }
}

const fn copy_direction(copy_kind: i64) -> Direction {
    match copy_kind {
        1 | 3 => Direction::HostToDevice,
        2 | 4 => Direction::DeviceToHost,
        5..=8 => Direction::DeviceToDevice,
        9 => Direction::HostToHost,
        10 => Direction::Peer,
        _ => Direction::Unknown,
    }
}

/// Either end of a copy that is pageable makes it so: it is the host's end, whatever the direction says.
fn host_memory(direction: Direction, source: Option<i64>, target: Option<i64>) -> HostMemory {
    let ends = [source, target];
    if ends.contains(&Some(0)) {
        return HostMemory::Pageable;
    }
    if matches!(direction, Direction::DeviceToDevice | Direction::Peer) {
        return HostMemory::None;
    }
    let host_end = if direction == Direction::DeviceToHost { target } else { source };
    match host_end {
        Some(1) => HostMemory::Pinned,
        Some(4 | 6) => HostMemory::Managed,
        _ => HostMemory::Unknown,
    }
}

fn thread(cells: &impl Cells) -> Option<ThreadKey> {
    cells.int(2).map(thread_key)
}

fn call(cells: &impl Cells, name_column: usize) -> Result<CallEvent, Reason> {
    let (Some(start), Some(end)) = (cells.int(0), cells.int(1)) else { return Err(NO_TIMES) };
    Ok(CallEvent { start, end, thread: thread(cells), name: NameKey::of_id(cells.int(name_column)) })
}

/// Not an error: a polling call says "not ready".
const CUDA_ERROR_NOT_READY: i64 = 600;

fn api_call(cells: &impl Cells, chunk: &mut Chunk) -> Result<(), Reason> {
    let call = call(cells, 4)?;
    let error = cells.int(5).filter(|value| *value != 0 && *value != CUDA_ERROR_NOT_READY);
    chunk.api_call(&call, correlation(cells.int(3)), error);
    Ok(())
}

fn scheduled(cells: &impl Cells, chunk: &mut Chunk) -> Result<(), Reason> {
    let (Some(at), Some(thread), Some(is_in)) = (cells.int(0), cells.int(1), cells.int(2)) else {
        return Err(NO_TIMES);
    };
    chunk.scheduled(thread_key(thread), at, is_in != 0);
    Ok(())
}

const fn overhead_kind(overhead_type: Option<i64>) -> Option<OverheadKind> {
    match overhead_type {
        Some(2) => Some(OverheadKind::Compile),
        Some(6 | 7) => Some(OverheadKind::Load),
        Some(3..=5) => Some(OverheadKind::Profiler),
        Some(8) => Some(OverheadKind::QueueFull),
        _ => None,
    }
}

const NVTX_RANGES: [i64; 4] = [59, 60, 70, 71];
const NVTX_DOMAIN: i64 = 75;

/// Push/pop and start/end ranges, and the domains that they are in.
fn nvtx(cells: &impl Cells, chunk: &mut Chunk) -> Result<(), Reason> {
    let event = cells.int(3).unwrap_or(-1);
    let is_range = NVTX_RANGES.contains(&event);
    if !is_range && event != NVTX_DOMAIN {
        return Ok(());
    }
    let thread = thread(cells);
    let domain = cells.int(6).unwrap_or(0);
    let text = cells.bytes(4).and_then(|text| chunk.text(without_counters(text)));
    let name = text.unwrap_or_else(|| NameKey::of_id(cells.int(5)));
    if is_range {
        let start = cells.int(0).ok_or(NO_TIMES)?;
        let label = LabelKey { kind: RangeKind::Nvtx, domain, name };
        chunk.range(&RangeEvent { start, end: cells.int(1), thread, label });
    } else {
        chunk.domain(thread, domain, name);
    }
    Ok(())
}

/// A call of a library: a range around what it does.
fn library(cells: &impl Cells, chunk: &mut Chunk) -> Result<(), Reason> {
    let CallEvent { start, end, thread, name } = call(cells, 3)?;
    let label = LabelKey { kind: RangeKind::Library, domain: 0, name };
    chunk.range(&RangeEvent { start, end: Some(end), thread, label });
    Ok(())
}

/// PyTorch appends a running number to the range of an operator: `aten::view, op_id = 17`.
fn without_counters(text: &[u8]) -> &[u8] {
    const COUNTERS: [&[u8]; 2] = [b", op_id = ", b", seq = "];
    let mut commas = memchr::memchr_iter(b',', text);
    commas.find(|at| COUNTERS.iter().any(|counter| text[*at..].starts_with(counter))).map_or(text, |at| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_memory_is_that_of_the_host_end() {
        assert_eq!(host_memory(Direction::HostToDevice, Some(0), Some(2)), HostMemory::Pageable);
        assert_eq!(host_memory(Direction::HostToDevice, Some(1), Some(2)), HostMemory::Pinned);
        assert_eq!(host_memory(Direction::DeviceToHost, Some(2), Some(1)), HostMemory::Pinned);
        assert_eq!(host_memory(Direction::DeviceToHost, Some(2), Some(4)), HostMemory::Managed);
        assert_eq!(host_memory(Direction::DeviceToDevice, Some(2), Some(2)), HostMemory::None);
        assert_eq!(host_memory(Direction::HostToDevice, None, Some(2)), HostMemory::Unknown);
    }

    #[test]
    fn running_numbers_are_no_part_of_a_name() {
        assert_eq!(without_counters(b"aten::view, op_id = 314290"), b"aten::view");
        assert_eq!(without_counters(b"aten::mul, seq = 5, op_id = 6"), b"aten::mul");
        assert_eq!(without_counters(b"step 5"), b"step 5");
    }
}
