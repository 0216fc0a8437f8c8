//! The columns of each kind of event. The vectors of one kind have the same length.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::NONE;
use super::interval::Interval;
use super::names::NameId;
use super::times::Times;

/// What every operation of a GPU has.
#[derive(Debug, Default)]
pub struct GpuOps {
    /// When it runs, nanoseconds since the start of the capture; it never ends before it begins.
    pub times: Times,
    /// The index of its stream.
    pub stream: Vec<u32>,
    /// The index of the API call that asked for it, or [`super::NONE`].
    pub call: Vec<u32>,
}

impl GpuOps {
    /// How many operations.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Takes all of them away; the memory stays.
    pub(crate) fn clear(&mut self) {
        self.times.clear();
        self.stream.clear();
        self.call.clear();
    }
}

/// Kernels.
#[derive(Debug, Default)]
pub struct Kernels {
    /// When, where, and asked for by which call.
    pub ops: GpuOps,
    /// The index of what was launched in `shapes`.
    pub shape: Vec<u32>,
    /// What was launched, each once.
    pub shapes: Vec<KernelShape>,
    /// The local memory that their context holds while they run, for all threads that the device has room for, in KiB. Zero: the report
    /// does not say.
    pub local_memory_kib: Vec<u32>,
}

impl Kernels {
    /// What was launched as the kernel at an index.
    #[inline]
    pub fn shape_of(&self, index: u32) -> KernelShape {
        let shape = self.shape.get(index as usize).and_then(|shape| self.shapes.get(*shape as usize));
        shape.copied().unwrap_or_default()
    }
}

/// Which kernel was launched, and how wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelShape {
    /// What people call it: see [`crate::text::kernel_names::called`].
    pub name: NameId,
    /// The demangled name.
    pub full_name: NameId,
    /// The function that was launched: of a library's template, the template.
    pub function: NameId,
    /// The index of the launch geometry.
    pub geometry: u32,
}

impl Default for KernelShape {
    fn default() -> Self {
        Self { name: NONE, full_name: NONE, function: NONE, geometry: NONE }
    }
}

/// Graph launches recorded as a whole.
#[derive(Debug, Default)]
pub struct Graphs {
    /// When, where, and asked for by which call.
    pub ops: GpuOps,
}

/// Where the bytes of a copy go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// To the device.
    HostToDevice,
    /// To the host.
    DeviceToHost,
    /// Within one device.
    DeviceToDevice,
    /// Between devices.
    Peer,
    /// Within the host.
    HostToHost,
    /// The report does not say.
    Unknown,
}

/// The host memory that a copy touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostMemory {
    /// Pageable: the driver stages it.
    Pageable,
    /// Page-locked.
    Pinned,
    /// Unified memory.
    Managed,
    /// The copy touches no host memory.
    None,
    /// The report does not say.
    Unknown,
}

/// Copies.
#[derive(Debug, Default)]
pub struct Copies {
    /// When, where, and asked for by which call.
    pub ops: GpuOps,
    /// Bytes.
    pub bytes: Vec<i64>,
    /// Where they go.
    pub direction: Vec<Direction>,
    /// The host memory that they come from or go to.
    pub host_memory: Vec<HostMemory>,
}

/// Memsets.
#[derive(Debug, Default)]
pub struct Memsets {
    /// When, where, and asked for by which call.
    pub ops: GpuOps,
    /// Bytes.
    pub bytes: Vec<i64>,
}

/// Why memory migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationCause {
    /// The report does not say.
    Unknown,
    /// The program asked: a prefetch.
    Prefetch,
    /// A page fault.
    Fault,
    /// The driver guessed: what lies beside a page that was touched and was not there moves with it.
    Speculative,
    /// Room was needed.
    Eviction,
    /// It is often used from afar.
    AccessCounters,
}

impl MigrationCause {
    /// Whether somebody touched memory that was not there, what the driver moves beside it taken in.
    pub const fn is_touch(self) -> bool {
        matches!(self, Self::Fault | Self::Speculative)
    }
}

/// Unified-memory migrations.
#[derive(Debug, Default)]
pub struct Migrations {
    /// When and where. They are asked for by no call.
    pub ops: GpuOps,
    /// Bytes.
    pub bytes: Vec<i64>,
    /// Where they go.
    pub direction: Vec<Direction>,
    /// Why.
    pub cause: Vec<MigrationCause>,
    /// Where the memory begins; 0 where that was not recorded.
    pub address: Vec<i64>,
}

/// CUDA API calls, in the order of the recording.
#[derive(Debug, Default)]
pub struct ApiCalls {
    /// From the beginning of the call to its return.
    pub times: Times,
    /// The name without version suffix.
    pub name: Vec<NameId>,
    /// The index of the calling thread, or [`super::NONE`].
    pub thread: Vec<u32>,
    /// Calls that returned an error, by API and error, most first.
    pub errors: Vec<ApiError>,
}

/// Calls of one API that returned the same error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiError {
    /// The API.
    pub call: NameId,
    /// CUDA's number of the error; 0 for one that CUDA does not know.
    pub code: u16,
    /// How many calls.
    pub count: u64,
    /// When the first of them began.
    pub first_ns: i64,
}

impl ApiCalls {
    /// How many calls.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
}

/// OS runtime calls.
#[derive(Debug, Default)]
pub struct OsCalls {
    /// From the beginning of the call to its return.
    pub times: Times,
    /// The name.
    pub name: Vec<NameId>,
    /// The index of the calling thread.
    pub thread: Vec<u32>,
}

/// What a thread does that does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadState {
    /// It is off the CPU; the recording does not say why.
    OffCpu,
    /// It waits for something.
    Blocked,
    /// It could run, and waits for a CPU.
    Runnable,
}

/// Stretches in which a thread did not run.
#[derive(Debug, Default)]
pub struct ThreadStates {
    /// From when the thread left the CPU, or changed to this state, to when it left the state.
    pub times: Times,
    /// The index of the thread.
    pub thread: Vec<u32>,
    /// What it does.
    pub state: Vec<ThreadState>,
    /// By index of the thread, from the first moment to the last in which the scheduler put it on a CPU or took it off; threads of
    /// which it tells nothing are missing.
    pub scheduled: HashMap<u32, Interval>,
}

/// What an overhead row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverheadKind {
    /// The profiler's own work.
    Profiler,
    /// Compiling code for the GPU, just in time.
    Compile,
    /// Loading of code: modules, lazily loaded functions, shared libraries.
    Load,
    /// The launch queue was full.
    QueueFull,
}

/// Overhead on the host.
#[derive(Debug, Default)]
pub struct Overheads {
    /// From its beginning to its end.
    pub times: Times,
    /// What it stands for.
    pub kind: Vec<OverheadKind>,
    /// The report's name for it.
    pub name: Vec<NameId>,
    /// The index of the thread; [`super::NONE`] when all threads of the capture are meant.
    pub thread: Vec<u32>,
}

/// Ranges that the program or its framework marked.
#[derive(Debug, Default)]
pub struct Ranges {
    /// Those of each thread that wrote any, in the order of the indices of the threads.
    pub threads: Vec<ThreadRanges>,
    /// What ranges are called, each once.
    pub labels: Vec<Label>,
    /// Names of NVTX domains: process, domain, name; in the order of processes and domains.
    pub domains: Vec<(u32, i64, NameId)>,
}

impl Ranges {
    /// Whether any range is one of a framework's operators.
    pub fn hold_operators(&self) -> bool {
        self.labels.iter().any(|label| label.kind == RangeKind::Operator)
    }
}

/// The ranges that one thread entered: by start, and of those that start together the longer first.
#[derive(Debug, Default)]
pub struct ThreadRanges {
    /// The index of the thread, or [`NONE`].
    pub thread: u32,
    /// From when it was entered to when it was left, or to the end of the capture for one that was not.
    pub times: Times,
    /// The index of its label in [`Ranges::labels`].
    pub label: Vec<u32>,
}

impl ThreadRanges {
    /// When the thread was in those whose labels are told, by the index of the label.
    pub fn labelled(&self, is_told: &[bool]) -> impl Iterator<Item = Interval> {
        let all = self.times.iter().zip(&self.label);
        all.filter(|(_, label)| is_told.get(**label as usize) == Some(&true)).map(|(times, _)| times)
    }

    /// Puts them in order.
    pub(crate) fn sort(&mut self) {
        let key = |interval: Interval| (interval.start, Reverse(interval.end));
        if self.times.iter().is_sorted_by_key(key) {
            return;
        }
        let mut rows: Vec<(Interval, u32)> = self.times.iter().zip(self.label.iter().copied()).collect();
        settle(&mut rows, |(interval, _)| key(*interval));
        self.times = rows.iter().map(|(interval, _)| *interval).collect();
        self.label = rows.into_iter().map(|(_, label)| label).collect();
    }
}

/// Places that a row moves in the mean at most, before sorting them all is cheaper.
const MOST_PLACES: usize = 24;

/// Sorts rows, and leaves those that are equal in their order. Profilers write a range when it is left: each comes a few places
/// behind its own, those within it.
fn settle<T: Copy, K: Ord>(rows: &mut [T], key: impl Fn(&T) -> K) {
    let mut left = rows.len().saturating_mul(MOST_PLACES);
    for index in 1..rows.len() {
        let (row, own) = (rows[index], key(&rows[index]));
        let mut reach = 1;
        while reach <= index && key(&rows[index - reach]) > own {
            reach *= 2;
        }
        if reach == 1 {
            continue;
        }
        // The last half of the way is looked through: all behind it are greater.
        let begin = (index + 1).saturating_sub(reach);
        let place = begin + rows[begin..=index - reach / 2].partition_point(|other| key(other) <= own);
        let Some(rest) = left.checked_sub(index - place) else {
            rows.sort_by_key(key);
            return;
        };
        left = rest;
        rows.copy_within(place..index, place + 1);
        rows[place] = row;
    }
}

impl Ranges {
    /// How many ranges.
    pub fn len(&self) -> usize {
        self.threads.iter().map(|thread| thread.times.len()).sum()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// The ranges of a thread; `None` where it marked none.
    pub fn of_thread(&self, thread: u32) -> Option<&ThreadRanges> {
        let index = self.threads.binary_search_by_key(&thread, |ranges| ranges.thread).ok()?;
        self.threads.get(index)
    }

    /// The name of a label's domain in one process; `None` for the default domain.
    pub fn domain_name(&self, process: u32, label: u32) -> Option<NameId> {
        let domain = self.labels.get(label as usize)?.domain;
        let index = self.domains.binary_search_by_key(&(process, domain), |known| (known.0, known.1)).ok()?;
        self.domains.get(index).map(|known| known.2)
    }
}

/// Who marked a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum RangeKind {
    /// The program, or a library, through NVTX.
    #[default]
    Nvtx,
    /// The program, through its framework (`record_function` of PyTorch).
    Annotation,
    /// The framework: one of its operators.
    Operator,
    /// The profiler, around a call of a library that it traces: MPI, OpenACC, OpenMP, cuDNN, cuBLAS.
    Library,
    /// The interpreter: a function of Python.
    PythonFrame,
}

/// What a range is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label {
    /// Who marked it.
    pub kind: RangeKind,
    /// Its text, without the numbers that a framework appends.
    pub name: NameId,
    /// Its NVTX domain in its process; 0 is the default domain.
    pub domain: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_settle_as_they_are_sorted(
            mut rows in proptest::collection::vec(0..40_i64, 0..300),
            nearly in any::<bool>(),
            apart in 0..20_usize,
        ) {
            if nearly {
                rows.sort_unstable();
                let moved = rows.len().min(apart);
                rows.rotate_left(moved / 2);
                rows.chunks_mut(apart + 1).for_each(|chunk| chunk.reverse());
            }
            let rows: Vec<(i64, usize)> = rows.into_iter().zip(0..).collect();
            let (mut settled, mut sorted) = (rows.clone(), rows);
            settle(&mut settled, |row| row.0);
            sorted.sort_by_key(|row| row.0);
            prop_assert_eq!(settled, sorted);
        }
    }

    #[test]
    fn rows_that_are_far_from_their_places_are_sorted() {
        let mut rows: Vec<i64> = (0..10_000).rev().collect();
        settle(&mut rows, |row| *row);
        assert!(rows.is_sorted());
    }
}
