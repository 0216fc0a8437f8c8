//! A part of a recording: single events go in, columns come out, whose cells are indices in tables of the chunk's own.

use std::collections::BTreeMap;

use super::keys::{KernelKey, Keys, LabelKey, NameKey, StreamKey, ThreadKey};
use super::limits::Limits;
use super::ranges::RangeRows;
use super::threads::SchedulerRows;
use crate::timeline::api::error_code;
use crate::timeline::columns::ApiError;
use crate::timeline::columns::{
    ApiCalls, Copies, Direction, GpuOps, Graphs, HostMemory, Kernels, Memsets, MigrationCause, Migrations, OsCalls,
    OverheadKind, Overheads, ThreadState, ThreadStates,
};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId};

/// Why an event is left out.
pub type Reason = &'static str;

const REVERSED: Reason = "ends before it starts";
const ABSURD: Reason = "times over 100 days away";
/// Beyond this no recording reaches; sums of a window stay far from overflow.
pub(crate) const ABSURD_NS: i64 = 100 * 24 * 3_600 * 1_000_000_000;

/// What every operation of a GPU has.
#[derive(Debug, Clone, Copy)]
pub struct OpEvent {
    /// When it begins, nanoseconds since the start of the recording.
    pub start: i64,
    /// When it ends.
    pub end: i64,
    /// Where it runs.
    pub stream: StreamKey,
    /// What it has in common with the API call of the same process that asked for it.
    pub correlation: Option<u32>,
}

/// What a migration has beside that.
#[derive(Debug, Clone, Copy)]
pub struct MigrationEvent {
    /// Bytes.
    pub bytes: i64,
    /// Where they go.
    pub direction: Direction,
    /// Why.
    pub cause: MigrationCause,
    /// Where the memory begins; 0 where that is not known.
    pub address: i64,
}

/// What every call of a host thread has.
#[derive(Debug, Clone, Copy)]
pub struct CallEvent {
    /// When it begins, nanoseconds since the start of the recording.
    pub start: i64,
    /// When it returns.
    pub end: i64,
    /// Who calls.
    pub thread: Option<ThreadKey>,
    /// What is called.
    pub name: NameKey,
}

/// A range that the program or its framework marked.
#[derive(Debug, Clone, Copy)]
pub struct RangeEvent {
    /// When it was entered, nanoseconds since the start of the recording.
    pub start: i64,
    /// When it was left; `None` when it never was: it then ends with the recording.
    pub end: Option<i64>,
    /// Who entered it.
    pub thread: Option<ThreadKey>,
    /// What it is called.
    pub label: LabelKey,
}

/// Events of a recording, in any order. One that cannot be used is counted and left out.
///
/// A small recording is one chunk. Of a large one, several can be filled on several threads; [`super::Builder::take`] joins
/// them in the order in which it is given them, so that a timeline does not depend on the number of threads.
#[derive(Debug, Default)]
pub struct Chunk {
    /// What its events are called where some of them are dropped: the table that they are from.
    pub(super) events: &'static str,
    pub(super) keys: Keys,
    /// Without `shapes`: `shape` holds indices in the keys.
    pub(super) kernels: Kernels,
    pub(super) graphs: Graphs,
    pub(super) copies: Copies,
    pub(super) memsets: Memsets,
    pub(super) migrations: Migrations,
    pub(super) api: ApiCalls,
    pub(super) api_correlations: Vec<u32>,
    pub(super) os_calls: OsCalls,
    /// The indices of those that have a call stack, with its id.
    pub(super) os_call_stacks: Vec<(u32, i64)>,
    pub(super) overheads: Overheads,
    pub(super) scheduler: SchedulerRows,
    pub(super) thread_states: ThreadStates,
    pub(super) ranges: RangeRows,
    /// Thread, NVTX domain and name of each domain that was created.
    pub(super) domains: Vec<(u32, i64, NameKey)>,
    pub(super) dropped: BTreeMap<Reason, u64>,
}

impl Chunk {
    /// An empty one. `events` is what its events are called where some of them are dropped.
    pub fn new(events: &'static str, limits: Limits) -> Self {
        Self { events, keys: Keys::new(limits), ..Self::default() }
    }

    /// One to fill after this, in the memory of what there mostly is most of: to get other memory from the system costs as much
    /// as to fill it.
    pub(crate) fn renewed(self, events: &'static str, limits: Limits) -> Self {
        let Self { mut kernels, mut api, mut api_correlations, mut os_calls, mut os_call_stacks, mut ranges, .. } =
            self;
        kernels.ops.clear();
        kernels.shape.clear();
        kernels.local_memory_kib.clear();
        api.times.clear();
        api.name.clear();
        api.thread.clear();
        api.errors.clear();
        api_correlations.clear();
        os_calls.times.clear();
        os_calls.thread.clear();
        os_calls.name.clear();
        os_call_stacks.clear();
        ranges.clear();
        Self { kernels, api, api_correlations, os_calls, os_call_stacks, ranges, ..Self::new(events, limits) }
    }

    /// Ends filling it. [`super::Builder::take`] does the same; this does it on the thread that filled it.
    pub fn seal(&mut self) {
        self.keys.seal();
    }

    /// How many different kernels, streams and threads its events refer to: each takes memory of its own.
    pub fn key_count(&self) -> usize {
        self.keys.kernels.list().len() + self.keys.streams.list().len() + self.keys.threads.list().len()
    }

    /// Counts an event that the reader cannot use.
    pub fn drop_event(&mut self, reason: Reason) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// The name that a text is, to be used in events of this chunk; `None` for bytes that are no UTF-8.
    pub fn text(&mut self, text: &[u8]) -> Option<NameKey> {
        self.keys.text(text).map(NameKey::Text)
    }

    /// Adds a kernel.
    pub fn kernel(&mut self, op: &OpEvent, kernel: KernelKey) {
        self.kernel_with_local_memory(op, kernel, 0);
    }

    /// Adds a kernel with the bytes of local memory that its context holds while it runs; zero where the report does not say.
    pub fn kernel_with_local_memory(&mut self, op: &OpEvent, kernel: KernelKey, local_bytes: i64) {
        if push_op(&mut self.kernels.ops, &mut self.keys, &mut self.dropped, op) {
            self.kernels.shape.push(self.keys.kernels.index(kernel));
            self.kernels.local_memory_kib.push(u32::try_from(local_bytes.max(0) / 1_024).unwrap_or(u32::MAX));
        }
    }

    /// Adds a graph launch that was recorded as a whole.
    pub fn graph(&mut self, op: &OpEvent) {
        push_op(&mut self.graphs.ops, &mut self.keys, &mut self.dropped, op);
    }

    /// Adds a copy.
    pub fn copy(&mut self, op: &OpEvent, bytes: i64, direction: Direction, host_memory: HostMemory) {
        if push_op(&mut self.copies.ops, &mut self.keys, &mut self.dropped, op) {
            self.copies.bytes.push(bytes);
            self.copies.direction.push(direction);
            self.copies.host_memory.push(host_memory);
        }
    }

    /// Adds a memset.
    pub fn memset(&mut self, op: &OpEvent, bytes: i64) {
        if push_op(&mut self.memsets.ops, &mut self.keys, &mut self.dropped, op) {
            self.memsets.bytes.push(bytes);
        }
    }

    /// Adds a migration of unified memory. No call asks for one: its correlation does not count.
    pub fn migration(&mut self, op: &OpEvent, moved: &MigrationEvent) {
        if push_op(&mut self.migrations.ops, &mut self.keys, &mut self.dropped, op) {
            self.migrations.bytes.push(moved.bytes);
            self.migrations.direction.push(moved.direction);
            self.migrations.cause.push(moved.cause);
            self.migrations.address.push(moved.address);
        }
    }

    /// Adds a CUDA API call, with the code of the error that it returned, if any. Suffixes of its name, such as `_v3020`, go.
    pub fn api_call(&mut self, call: &CallEvent, correlation: Option<u32>, error: Option<i64>) {
        let Some(times) = checked(call.start, call.end, &mut self.dropped) else { return };
        let name = self.keys.api_names.index(call.name);
        self.api.times.push(times);
        self.api.thread.push(self.keys.thread(call.thread));
        self.api.name.push(name);
        self.api_correlations.push(correlation.unwrap_or(NONE));
        if let Some(code) = error {
            self.api.errors.push(ApiError { call: name, code: error_code(code), count: 1, first_ns: times.start });
        }
    }

    /// Adds a call of the OS runtime.
    pub fn os_call(&mut self, call: &CallEvent) {
        self.os_call_with_stack(call, None);
    }

    /// Adds a call of the OS runtime with the id of its call stack, if it has one.
    pub(crate) fn os_call_with_stack(&mut self, call: &CallEvent, stack: Option<i64>) {
        let Some((times, thread, name)) = self.call(call) else { return };
        self.os_call_stacks.extend(stack.map(|stack| (self.os_calls.name.len() as u32, stack)));
        self.os_calls.times.push(times);
        self.os_calls.thread.push(thread);
        self.os_calls.name.push(name);
    }

    /// Adds an overhead; one that names no thread is one of all.
    pub fn overhead(&mut self, call: &CallEvent, kind: OverheadKind) {
        let Some((times, thread, name)) = self.call(call) else { return };
        self.overheads.times.push(times);
        self.overheads.thread.push(thread);
        self.overheads.name.push(name);
        self.overheads.kind.push(kind);
    }

    fn call(&mut self, call: &CallEvent) -> Option<(Interval, u32, NameId)> {
        let times = checked(call.start, call.end, &mut self.dropped)?;
        Some((times, self.keys.thread(call.thread), self.keys.names.index(call.name)))
    }

    /// Adds a moment in which a thread was put on a CPU, or taken off it; those of a thread are paired at the end.
    pub fn scheduled(&mut self, thread: ThreadKey, at: i64, is_on: bool) {
        if checked(at, at, &mut self.dropped).is_some() {
            self.scheduler.at.push(at);
            self.scheduler.thread.push(self.keys.threads.index(thread));
            self.scheduler.is_on.push(is_on);
        }
    }

    /// Adds a stretch in which a thread did not run.
    pub fn thread_state(&mut self, thread: ThreadKey, start: i64, end: i64, state: ThreadState) {
        if let Some(times) = checked(start, end, &mut self.dropped) {
            self.thread_states.times.push(times);
            self.thread_states.thread.push(self.keys.threads.index(thread));
            self.thread_states.state.push(state);
        }
    }

    /// Adds a range.
    pub fn range(&mut self, range: &RangeEvent) {
        let end = range.end.unwrap_or(range.start);
        let Some(times) = checked(range.start, end, &mut self.dropped) else { return };
        let times = Interval::new(times.start, range.end.unwrap_or(i64::MAX));
        self.ranges.push(self.keys.thread(range.thread), times, self.keys.label(range.label));
    }

    /// Names an NVTX domain of the thread's process. The first name of a domain counts.
    pub fn domain(&mut self, thread: Option<ThreadKey>, domain: i64, name: NameKey) {
        self.domains.push((self.keys.thread(thread), domain, name));
    }
}

/// Times that can be computed with; others are counted.
fn checked(start: i64, end: i64, dropped: &mut BTreeMap<Reason, u64>) -> Option<Interval> {
    let reason = if end < start {
        REVERSED
    } else if start < -ABSURD_NS || end > ABSURD_NS {
        ABSURD
    } else {
        return Some(Interval::new(start, end));
    };
    *dropped.entry(reason).or_default() += 1;
    None
}

/// Returns whether it can be used.
fn push_op(ops: &mut GpuOps, keys: &mut Keys, dropped: &mut BTreeMap<Reason, u64>, op: &OpEvent) -> bool {
    let Some(times) = checked(op.start, op.end, dropped) else { return false };
    ops.times.push(times);
    ops.stream.push(keys.streams.index(op.stream));
    ops.call.push(op.correlation.unwrap_or(NONE));
    true
}
