//! The event tables: which columns are read, and what becomes of a row.

pub(super) mod nvtx;

use super::keys::{KernelKey, Keys, StreamKey};
use super::take::Cells;
use crate::timeline::columns::{Direction, HostMemory, MigrationCause, OverheadKind};
use crate::timeline::interval::Interval;
use crate::timeline::{Geometry, NONE, Times};
use nvtx::NvtxRows;

/// Why a row is left out.
pub(super) type Reason = &'static str;

const NO_TIMES: Reason = "times missing or not numbers";
const REVERSED: Reason = "ends before it starts";
const ABSURD: Reason = "times over 100 days away";
/// Beyond this no recording reaches; sums of a window stay far from overflow.
const ABSURD_NS: i64 = 100 * 24 * 3_600 * 1_000_000_000;

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
}

impl Table {
    /// In the order in which they are assembled; the longest to read come first in the queue anyway.
    pub(super) const ALL: [Self; 10] = [
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
        }
    }

    /// The columns that facts need, in the order in which `push` takes them.
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
            ],
            Self::Memset => {
                &["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId", "bytes"]
            }
            Self::Api => &["start", "end", "globalTid", "correlationId", "nameId", "returnValue"],
            Self::OsCall => &["start", "end", "globalTid", "nameId"],
            Self::Schedule => &["start", "globalTid", "isSchedIn"],
            Self::ProfilerOverhead => &["start", "end", "globalTid", "nameId"],
            Self::CudaOverhead => &["start", "end", "globalTid", "nameId", "overheadType"],
            Self::Nvtx => &["start", "end", "globalTid", "eventType", "text", "textId", "domainId"],
        }
    }

    /// An empty sink for its rows.
    pub(super) fn sink(self) -> Sink {
        match self {
            Self::Kernel => Sink::Kernels(KernelRows::default()),
            Self::Graph => Sink::Graphs(OpRows::default()),
            Self::Copy => Sink::Copies(Box::default()),
            Self::Memset => Sink::Memsets(MemsetRows::default()),
            Self::Api => Sink::Api(ApiRows::default()),
            Self::OsCall => Sink::OsCalls(HostRows::default()),
            Self::Schedule => Sink::Schedule(ScheduleRows::default()),
            Self::ProfilerOverhead => Sink::ProfilerOverheads(HostRows::default()),
            Self::CudaOverhead => Sink::CudaOverheads(HostRows::default(), Vec::new()),
            Self::Nvtx => Sink::Nvtx(NvtxRows::default()),
        }
    }
}

/// What every GPU row has; the correlation id is [`NONE`] when there is none.
#[derive(Debug, Default)]
pub(super) struct OpRows {
    pub(super) times: Times,
    pub(super) stream: Vec<u32>,
    pub(super) correlation: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct KernelRows {
    pub(super) ops: OpRows,
    pub(super) shape: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct CopyRows {
    pub(super) ops: OpRows,
    pub(super) bytes: Vec<i64>,
    pub(super) direction: Vec<Direction>,
    pub(super) host_memory: Vec<HostMemory>,
    pub(super) migrations: MigrationRows,
}

#[derive(Debug, Default)]
pub(super) struct MigrationRows {
    pub(super) ops: OpRows,
    pub(super) bytes: Vec<i64>,
    pub(super) direction: Vec<Direction>,
    pub(super) cause: Vec<MigrationCause>,
}

#[derive(Debug, Default)]
pub(super) struct MemsetRows {
    pub(super) ops: OpRows,
    pub(super) bytes: Vec<i64>,
}

#[derive(Debug, Default)]
pub(super) struct HostRows {
    pub(super) times: Times,
    pub(super) thread: Vec<u32>,
    pub(super) name: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct ApiRows {
    pub(super) calls: HostRows,
    pub(super) correlation: Vec<u32>,
    /// The names of calls that returned an error.
    pub(super) failed: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct ScheduleRows {
    pub(super) at: Vec<i64>,
    pub(super) thread: Vec<u32>,
    pub(super) is_in: Vec<bool>,
}

/// The rows of one chunk of one table.
#[derive(Debug)]
pub(super) enum Sink {
    Kernels(KernelRows),
    Graphs(OpRows),
    Copies(Box<CopyRows>),
    Memsets(MemsetRows),
    Api(ApiRows),
    OsCalls(HostRows),
    Schedule(ScheduleRows),
    ProfilerOverheads(HostRows),
    CudaOverheads(HostRows, Vec<OverheadKind>),
    Nvtx(NvtxRows),
}

impl Sink {
    /// Takes one row in.
    pub(super) fn push(&mut self, cells: &Cells<'_, '_>, keys: &mut Keys) -> Result<(), Reason> {
        match self {
            Self::Kernels(rows) => rows.push(cells, keys),
            Self::Graphs(rows) => rows.push(cells, keys),
            Self::Copies(rows) => rows.push(cells, keys),
            Self::Memsets(rows) => {
                rows.ops.push(cells, keys)?;
                rows.bytes.push(cells.int(7).unwrap_or(0).max(0));
                Ok(())
            }
            Self::Api(rows) => rows.push(cells, keys),
            Self::OsCalls(rows) | Self::ProfilerOverheads(rows) => rows.push(cells, keys, 3),
            Self::Schedule(rows) => rows.push(cells, keys),
            Self::CudaOverheads(rows, kinds) => {
                let Some(kind) = overhead_kind(cells.int(4)) else { return Ok(()) };
                rows.push(cells, keys, 3)?;
                kinds.push(kind);
                Ok(())
            }
            Self::Nvtx(rows) => rows.push(cells, keys),
        }
    }
}

impl Sink {
    /// Ends reading.
    pub(super) fn seal(&mut self) {
        if let Self::Nvtx(rows) = self {
            rows.group();
        }
    }
}

fn times(cells: &Cells<'_, '_>) -> Result<Interval, Reason> {
    let (Some(start), Some(end)) = (cells.int(0), cells.int(1)) else { return Err(NO_TIMES) };
    check(start, end)
}

fn check(start: i64, end: i64) -> Result<Interval, Reason> {
    if end < start {
        return Err(REVERSED);
    }
    if start < -ABSURD_NS || end > ABSURD_NS {
        return Err(ABSURD);
    }
    Ok(Interval::new(start, end))
}

fn correlation(id: Option<i64>) -> u32 {
    id.filter(|id| *id != 0).and_then(|id| u32::try_from(id).ok()).unwrap_or(NONE)
}

/// The process part of a global id: hardware, virtual machine and process, without the thread.
const fn process_key(global_id: i64) -> i64 {
    global_id >> 24
}

impl OpRows {
    fn push(&mut self, cells: &Cells<'_, '_>, keys: &mut Keys) -> Result<(), Reason> {
        self.times.push(op_times(cells)?);
        let key = StreamKey {
            process: cells.int(2).map(process_key),
            ordinal: cells.int(3).unwrap_or(0),
            context: cells.int(4).unwrap_or(0),
            stream: cells.int(5).unwrap_or(0),
        };
        self.stream.push(keys.streams.place(key));
        self.correlation.push(correlation(cells.int(6)));
        Ok(())
    }
}

/// CUPTI writes zero for a time that it lost.
fn op_times(cells: &Cells<'_, '_>) -> Result<Interval, Reason> {
    let (Some(start), Some(end)) = (cells.int(0), cells.int(1)) else { return Err(NO_TIMES) };
    if start == 0 || end == 0 {
        return Err("times lost by the profiler");
    }
    check(start, end)
}

/// No block has more threads, now or soon: such a value is none.
const MOST_BLOCK_THREADS: i64 = 1 << 16;

impl KernelRows {
    fn push(&mut self, cells: &Cells<'_, '_>, keys: &mut Keys) -> Result<(), Reason> {
        self.ops.push(cells, keys)?;
        let product = |columns: [usize; 3]| {
            columns
                .iter()
                .try_fold(1_i64, |product, column| product.checked_mul(cells.int(*column)?.max(0)))
                .unwrap_or(0)
        };
        let geometry = Geometry {
            grid_blocks: product([9, 10, 11]),
            block_threads: Some(product([12, 13, 14])).filter(|threads| *threads <= MOST_BLOCK_THREADS).unwrap_or(0),
            registers: cells.int(15).unwrap_or(0).max(0),
            shared_memory_bytes: cells.int(16).unwrap_or(0).max(0).saturating_add(cells.int(17).unwrap_or(0).max(0)),
        };
        let (short, full) = (cells.int(7), cells.int(8));
        self.shape.push(keys.kernels.place(KernelKey { name: short.or(full), full_name: full.or(short), geometry }));
        Ok(())
    }
}

impl CopyRows {
    fn push(&mut self, cells: &Cells<'_, '_>, keys: &mut Keys) -> Result<(), Reason> {
        let kind = cells.int(8).unwrap_or(0);
        let bytes = cells.int(7).unwrap_or(0).max(0);
        if let Some(direction) = migration_direction(kind) {
            let rows = &mut self.migrations;
            rows.ops.push(cells, keys)?;
            rows.bytes.push(bytes);
            rows.direction.push(direction);
            rows.cause.push(migration_cause(cells.int(11)));
            return Ok(());
        }
        self.ops.push(cells, keys)?;
        let direction = copy_direction(kind);
        self.bytes.push(bytes);
        self.direction.push(direction);
        self.host_memory.push(host_memory(direction, cells.int(9), cells.int(10)));
        Ok(())
    }
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
        Some(3 | 5) => MigrationCause::Speculative,
        Some(4) => MigrationCause::Eviction,
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

impl HostRows {
    fn push(&mut self, cells: &Cells<'_, '_>, keys: &mut Keys, name_column: usize) -> Result<(), Reason> {
        self.times.push(times(cells)?);
        self.thread.push(cells.int(2).map_or(NONE, |thread| keys.threads.place(thread)));
        self.name.push(keys.string_id(cells.int(name_column)));
        Ok(())
    }
}

/// Not an error: a polling call says "not ready".
const CUDA_ERROR_NOT_READY: i64 = 600;

impl ApiRows {
    fn push(&mut self, cells: &Cells<'_, '_>, keys: &mut Keys) -> Result<(), Reason> {
        self.calls.push(cells, keys, 4)?;
        self.correlation.push(correlation(cells.int(3)));
        if cells.int(5).is_some_and(|value| value != 0 && value != CUDA_ERROR_NOT_READY) {
            self.failed.extend(self.calls.name.last());
        }
        Ok(())
    }
}

impl ScheduleRows {
    fn push(&mut self, cells: &Cells<'_, '_>, keys: &mut Keys) -> Result<(), Reason> {
        let (Some(at), Some(thread), Some(is_in)) = (cells.int(0), cells.int(1), cells.int(2)) else {
            return Err(NO_TIMES);
        };
        check(at, at)?;
        self.at.push(at);
        self.thread.push(keys.threads.place(thread));
        self.is_in.push(is_in != 0);
        Ok(())
    }
}

const fn overhead_kind(overhead_type: Option<i64>) -> Option<OverheadKind> {
    match overhead_type {
        Some(2 | 6 | 7) => Some(OverheadKind::Load),
        Some(3..=5) => Some(OverheadKind::Profiler),
        Some(8) => Some(OverheadKind::QueueFull),
        _ => None,
    }
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
}
