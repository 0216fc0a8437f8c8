//! Hands the events of a trace to the timeline's builder.

use super::details;
use super::event::{Activity, CopyWork, Event, GpuWork, Id, Kernel, MemoryKind, Sink};
use super::numbering::Numbering;
use super::pids::Pids;
use super::pipeline::Frame;
use super::places::Places;
use super::text::Text;
use crate::timeline::Geometry;
use crate::timeline::builder::{
    CallEvent, Chunk, KernelKey, LabelKey, Limits, NameKey, OpEvent, RangeEvent, StreamKey, ThreadKey,
};
use crate::timeline::columns::{Direction, HostMemory, OverheadKind, RangeKind};
use crate::timeline::interval::Interval;

/// What events are called where some of them are dropped.
pub(super) const EVENTS: &str = "events of the trace";
/// The name of every step; its number is no part of it.
const STEP: &[u8] = b"ProfilerStep";
/// Bytes of a raw name for each byte of one that may be used: an escape is at most six.
const ESCAPED: usize = 6;

/// What events there are that have to do with accelerators.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Calls of the runtime of a GPU, or its work.
    pub(super) gpu: bool,
    /// Those of an accelerator that is no GPU.
    pub(super) other: bool,
    /// Kernels of which metrics were recorded in place of times.
    pub(super) kernel_metric_count: i64,
}

impl Seen {
    pub(super) const fn merge(&mut self, other: Self) {
        self.gpu |= other.gpu;
        self.other |= other.other;
        self.kernel_metric_count = self.kernel_metric_count.saturating_add(other.kernel_metric_count);
    }
}

/// The events of one block.
pub(super) struct Part {
    pub(super) chunk: Chunk,
    /// Events that were handed on, up to the limit.
    pub(super) count: u64,
    /// Events beyond it.
    pub(super) beyond: u64,
    /// What there is of accelerators.
    pub(super) seen: Seen,
    /// Where in the program's code threads were.
    pub(super) places: Places,
    /// What is said of the work beside its times.
    pub(super) details: details::Found,
    /// When kernels start that have no correlation.
    pub(super) uncorrelated: Vec<i64>,
    /// When the first event begins, of all that a viewer of traces shows: the timeline has no rows of some of them, such as the
    /// profiler's own. On the clock of [`Part::times`].
    pub(super) first_ns: Option<i64>,
    /// Processes and GPUs that are called by words.
    pub(super) pids: Pids,
    /// The numbers of what was recorded.
    pub(super) numbering: Numbering,
    frame: Frame,
    limits: Limits,
}

impl Part {
    pub(super) fn new(limits: Limits, frame: Frame) -> Self {
        let chunk = Chunk::new(EVENTS, limits);
        Self {
            chunk,
            count: 0,
            beyond: 0,
            seen: Seen::default(),
            places: Places::default(),
            details: details::Found::default(),
            uncorrelated: Vec::new(),
            first_ns: None,
            pids: Pids::default(),
            numbering: Numbering::default(),
            frame,
            limits,
        }
    }
}

impl Sink for Part {
    fn event(&mut self, event: &Event<'_>) {
        if self.count >= self.limits.rows {
            self.beyond += 1;
            return;
        }
        self.count += 1;
        self.see_start(event);
        match &event.activity {
            Activity::Kernel(kernel) => {
                self.seen.gpu = true;
                self.kernel(event, kernel);
            }
            Activity::OtherKernel(kernel) => {
                self.seen.other = true;
                self.kernel(event, kernel);
            }
            Activity::Copy(copy) => self.copy(event, copy),
            Activity::Memset(memset) => {
                self.seen.gpu = true;
                let op = self.op(event, &memset.work);
                self.chunk.memset(&op, memset.bytes.unwrap_or(0).max(0));
            }
            Activity::Call(call) => {
                self.seen.gpu = true;
                self.see_correlation(call.correlation);
                let correlation = link(call.correlation, call.external_id);
                let call = self.call(event);
                self.chunk.api_call(&call, correlation, None);
            }
            Activity::Operator(operator) => {
                if let Some(id) = operator.external_id {
                    self.numbering.operators.add(id);
                }
                self.range(event, RangeKind::Operator, event.name);
                let (times, thread) = (self.interval(event), self.thread(event));
                self.places.operator(event.name, operator, (times, thread));
                self.details.operator(event, operator, (times, thread));
            }
            Activity::Range => self.range(event, RangeKind::Annotation, event.name),
            Activity::Step => {
                self.range(event, RangeKind::Annotation, Text::new(STEP, false));
                self.details.step(event.name.raw(), self.interval(event));
            }
            Activity::Frame => {
                self.range(event, RangeKind::PythonFrame, event.name);
                let (times, thread) = (self.interval(event), self.thread(event));
                self.places.frame(event, times, thread);
            }
            Activity::Overhead => {
                let call = self.call(event);
                self.chunk.overhead(&call, overhead_kind(event.name.raw()));
            }
            Activity::OtherAccelerator => self.seen.other = true,
            Activity::KernelMetrics => self.seen.kernel_metric_count += 1,
            Activity::Memory(memory) => self.details.memory(memory),
            // The host's ranges say the same as the device's, and calls the same as the records of waits.
            Activity::DeviceRange | Activity::Wait | Activity::Recorded | Activity::RecordedEnd | Activity::Named => {}
        }
    }
}

impl Part {
    /// Names of threads have no time.
    fn see_start(&mut self, event: &Event<'_>) {
        if !matches!(event.activity, Activity::Named) {
            let start = self.times(event).0;
            self.first_ns = Some(self.first_ns.map_or(start, |first| first.min(start)));
        }
    }

    fn see_correlation(&mut self, correlation: Option<i64>) {
        if let Some(id) = correlation {
            self.numbering.correlations.add(id);
        }
    }

    /// From when to when, since the start of the recording.
    const fn times(&self, event: &Event<'_>) -> (i64, i64) {
        let start = event.start_ns.saturating_sub(self.frame.zero_ns);
        (start, start.saturating_add(event.duration_ns))
    }

    const fn interval(&self, event: &Event<'_>) -> Interval {
        let (start, end) = self.times(event);
        Interval::new(start, end)
    }

    fn op(&mut self, event: &Event<'_>, work: &GpuWork) -> OpEvent {
        let (start, end) = self.times(event);
        self.see_correlation(work.correlation);
        let of_thread = || match event.tid {
            Id::Number(number) => Some(number),
            _ => None,
        };
        let device = match event.pid {
            Id::Text(words) => self.pids.of_device(words, work.device).unwrap_or(work.device),
            _ => work.device,
        };
        let stream = StreamKey {
            // The trace tells the device alone: whose work it is, the calls tell.
            process: None,
            device,
            context: work.context.unwrap_or(0),
            stream: work.stream.or_else(of_thread).unwrap_or(0),
        };
        OpEvent { start, end, stream, correlation: link(work.correlation, work.external_id) }
    }

    fn kernel(&mut self, event: &Event<'_>, kernel: &Kernel<'_>) {
        self.details.kernel(kernel, self.interval(event));
        let op = self.op(event, &kernel.work);
        if kernel.work.correlation.is_none_or(|id| id == 0) {
            self.uncorrelated.push(op.start);
        }
        let name = self.name(event.name);
        let geometry = Geometry {
            grid_blocks: product(kernel.grid),
            block_threads: Some(product(kernel.block)).filter(|threads| *threads <= MAX_BLOCK_THREADS).unwrap_or(0),
            registers: kernel.registers.unwrap_or(0).max(0),
            shared_memory_bytes: kernel.shared_memory.unwrap_or(0).max(0),
        };
        self.chunk.kernel(&op, KernelKey { name, full_name: name, geometry });
    }

    fn copy(&mut self, event: &Event<'_>, copy: &CopyWork) {
        self.seen.gpu = true;
        let op = self.op(event, &copy.work);
        let direction = direction(event.name.raw(), copy);
        self.chunk.copy(&op, copy.bytes.unwrap_or(0), direction, host_memory(direction, copy));
    }

    fn call(&mut self, event: &Event<'_>) -> CallEvent {
        let (start, end) = self.times(event);
        CallEvent { start, end, thread: self.thread(event), name: self.name(event.name) }
    }

    fn range(&mut self, event: &Event<'_>, kind: RangeKind, name: Text<'_>) {
        let (start, end) = self.times(event);
        let label = LabelKey { kind, domain: 0, name: self.name(name) };
        let thread = self.thread(event);
        self.chunk.range(&RangeEvent { start, end: Some(end), thread, label });
    }

    /// Rows of the profiler itself have a negative process: they are about all threads.
    fn thread(&mut self, event: &Event<'_>) -> Option<ThreadKey> {
        let Id::Number(id) = event.tid else { return None };
        let process = match event.pid {
            Id::Number(process) => (process >= 0).then_some(process),
            Id::Text(words) => self.pids.of_process(words),
            Id::Missing => None,
        }?;
        Some(ThreadKey { process, id })
    }

    fn name(&mut self, text: Text<'_>) -> NameKey {
        let text = text.start(self.limits.name_bytes.saturating_mul(ESCAPED));
        let known = text.plain().and_then(|raw| self.chunk.text(raw));
        known.or_else(|| self.chunk.text(text.to_str().as_bytes())).unwrap_or(NameKey::Missing)
    }
}

/// No block has more threads, now or soon: such a value is none.
const MAX_BLOCK_THREADS: i64 = 1 << 16;

fn product(sizes: Option<[u32; 3]>) -> i64 {
    let product = sizes.and_then(|sizes| sizes.iter().try_fold(1_i64, |all, one| all.checked_mul(i64::from(*one))));
    product.unwrap_or(0)
}

/// What a call and its work have alike. Where neither has a `correlation`, as in traces of ROCm of 2024 and before, `External id` is
/// that; it is told apart, as elsewhere it names operators.
fn link(correlation: Option<i64>, external_id: Option<i64>) -> Option<u32> {
    const EXTERNAL: u32 = 1 << 31;
    let number = |id: i64| u32::try_from(id).ok();
    match correlation {
        Some(id) => number(id),
        None => external_id.filter(|id| *id > 0).and_then(number).filter(|id| *id < EXTERNAL).map(|id| id | EXTERNAL),
    }
}

/// The name says it, else what the copy reads and writes.
fn direction(name: &[u8], copy: &CopyWork) -> Direction {
    use MemoryKind::{Device, Host, Managed, Pageable, Pinned};
    let by_name = [
        (&b"Memcpy HtoD"[..], Direction::HostToDevice),
        (b"Memcpy DtoH", Direction::DeviceToHost),
        (b"Memcpy PtoP", Direction::Peer),
        (b"Memcpy HtoH", Direction::HostToHost),
    ];
    if let Some((_, direction)) = by_name.into_iter().find(|(start, _)| name.starts_with(start)) {
        return direction;
    }
    match (copy.from, copy.to) {
        _ if copy.is_peer => Direction::Peer,
        (Device, Device) => Direction::DeviceToDevice,
        (Pageable | Pinned | Host, Device | Managed) => Direction::HostToDevice,
        (Device | Managed, Pageable | Pinned | Host) => Direction::DeviceToHost,
        (Pageable | Pinned | Host, Pageable | Pinned | Host) => Direction::HostToHost,
        _ if name.starts_with(b"Memcpy DtoD") => Direction::DeviceToDevice,
        _ => Direction::Unknown,
    }
}

/// Either end of a copy that is pageable makes it so. AMD's traces do not tell pageable memory from pinned.
fn host_memory(direction: Direction, copy: &CopyWork) -> HostMemory {
    let ends = [copy.from, copy.to];
    if ends.contains(&MemoryKind::Pageable) {
        return HostMemory::Pageable;
    }
    if matches!(direction, Direction::DeviceToDevice | Direction::Peer) {
        return HostMemory::None;
    }
    match if direction == Direction::DeviceToHost { copy.to } else { copy.from } {
        MemoryKind::Pinned => HostMemory::Pinned,
        MemoryKind::Managed => HostMemory::Managed,
        _ => HostMemory::Unknown,
    }
}

fn overhead_kind(name: &[u8]) -> OverheadKind {
    let has = |word: &[u8]| memchr::memmem::find(name, word).is_some();
    if has(b"Command Buffer Full") {
        OverheadKind::QueueFull
    } else if has(b"Loading") || has(b"Compil") {
        OverheadKind::Load
    } else {
        OverheadKind::Profiler
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_by_name_and_ends() {
        use MemoryKind::{Device, Host, Pageable, Pinned, Unknown};
        let of = |name: &str, from, to| {
            let copy = CopyWork { from, to, ..CopyWork::default() };
            let direction = direction(name.as_bytes(), &copy);
            (direction, host_memory(direction, &copy))
        };
        let (to_device, to_host) = (Direction::HostToDevice, Direction::DeviceToHost);
        assert_eq!(of("Memcpy HtoD (Pageable -> Device)", Pageable, Device), (to_device, HostMemory::Pageable));
        assert_eq!(of("Memcpy DtoH (Device -> Pinned)", Device, Pinned), (to_host, HostMemory::Pinned));
        assert_eq!(of("Memcpy HtoD (Host -> Device)", Host, Device), (to_device, HostMemory::Unknown));
        assert_eq!(of("CopyDeviceToHost", Device, Host), (to_host, HostMemory::Unknown));
        assert_eq!(of("Memcpy DtoD (Device -> Device)", Device, Device), (Direction::DeviceToDevice, HostMemory::None));
        assert_eq!(of("Memcpy PtoP (Device -> Device)", Device, Device), (Direction::Peer, HostMemory::None));
        assert_eq!(of("Memcpy", Unknown, Unknown), (Direction::Unknown, HostMemory::Unknown));
    }

    #[test]
    fn what_has_no_correlation_is_linked_by_its_other_id_alone() {
        assert_eq!(link(Some(30), Some(7)), Some(30));
        assert_eq!(link(Some(0), Some(7)), Some(0));
        assert_eq!(link(None, Some(30)), Some(30 | 1 << 31));
        assert_eq!((link(None, Some(0)), link(None, Some(1 << 31)), link(None, None)), (None, None, None));
    }

    #[test]
    fn overheads_are_told_by_name() {
        assert_eq!(overhead_kind(b"Lazy Function Loading"), OverheadKind::Load);
        assert_eq!(overhead_kind(b"Command Buffer Full"), OverheadKind::QueueFull);
        assert_eq!(overhead_kind(b"Activity Buffer Request"), OverheadKind::Profiler);
    }
}
