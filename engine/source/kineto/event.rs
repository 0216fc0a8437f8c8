//! What a trace says happened, event by event: the words of the profiler turned into types, nothing joined yet. What no
//! reader asks for is left where it stands.

use super::text::Text;

/// The number of a process, thread or the like, or the words that stand in its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum Id<'a> {
    /// A number, with or without quotes.
    Number(i64),
    /// Words, such as `Traces`, and numbers beyond 64 bits.
    Text(Text<'a>),
    /// The event has none.
    #[default]
    Missing,
}

/// One event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event<'a> {
    /// Nanoseconds since the trace's base, which is 0 in old traces: times are since 1970 there.
    pub(super) start_ns: i64,
    /// 0 for instants.
    pub(super) duration_ns: i64,
    /// The process; of GPU work the device, in most dialects.
    pub(super) pid: Id<'a>,
    /// The thread; of GPU work the stream, in most dialects.
    pub(super) tid: Id<'a>,
    /// What it is called; may be empty.
    pub(super) name: Text<'a>,
    /// What it is.
    pub(super) activity: Activity<'a>,
}

/// What an event is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Activity<'a> {
    /// A kernel ran.
    Kernel(Kernel<'a>),
    /// A copy ran on a GPU.
    Copy(CopyWork),
    /// A memset ran on a GPU.
    Memset(MemsetWork),
    /// A call of the CUDA or HIP runtime or driver.
    Call(Call),
    /// An operator of the framework ran on a host thread.
    Operator(Operator<'a>),
    /// A range that the program or the framework annotated.
    Range,
    /// The same range again, from the first to the last GPU operation that it launched.
    DeviceRange,
    /// A Python function, on the thread's stack; its name says file, line and function, or that it is built in.
    Frame,
    /// A step of the training loop, on the host.
    Step,
    /// An allocator took or gave back memory.
    Memory(Memory),
    /// A wait of the host or of a stream, as the profiler's own record of it.
    Wait,
    /// What an accelerator that is no GPU records as a kernel: something that ran, or that waited.
    OtherKernel(Kernel<'a>),
    /// Something else that has to do with one.
    OtherAccelerator,
    /// Metrics of a kernel, recorded in place of when it ran.
    KernelMetrics,
    /// The profiler's own cost.
    Overhead,
    /// The span that the profiler recorded.
    Recorded,
    /// The moment at which a recorded window ends.
    RecordedEnd,
    /// A process or a thread is called something.
    Named,
}

/// Where GPU work ran and who asked for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GpuWork {
    /// The device's number within the process.
    pub(super) device: i64,
    /// The stream's number within its device.
    pub(super) stream: Option<i64>,
    /// The context.
    pub(super) context: Option<i64>,
    /// Shared with the call that launched it. Kernels of one graph launch share one.
    pub(super) correlation: Option<i64>,
    /// The operator's external id.
    pub(super) external_id: Option<i64>,
}

/// A kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel<'a> {
    /// Where it ran.
    pub(super) work: GpuWork,
    /// Blocks.
    pub(super) grid: Option<[u32; 3]>,
    /// Threads of a block.
    pub(super) block: Option<[u32; 3]>,
    /// Registers of a thread.
    pub(super) registers: Option<i64>,
    /// Bytes of shared memory of a block.
    pub(super) shared_memory: Option<i64>,
    /// What it communicates.
    pub(super) collective: Option<Collective<'a>>,
}

/// A place that memory can be in, as the profiler names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum MemoryKind {
    /// Host memory that is not locked.
    Pageable,
    /// Host memory that is locked.
    Pinned,
    /// Host memory; the profiler does not say which (AMD).
    Host,
    /// Memory of a device, arrays included.
    Device,
    /// Managed memory.
    Managed,
    /// The profiler does not say.
    #[default]
    Unknown,
}

/// A copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CopyWork {
    /// Where it ran.
    pub(super) work: GpuWork,
    /// Bytes copied.
    pub(super) bytes: Option<i64>,
    /// What it read.
    pub(super) from: MemoryKind,
    /// What it wrote.
    pub(super) to: MemoryKind,
    /// Whether it goes from one device to another.
    pub(super) is_peer: bool,
}

/// A memset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MemsetWork {
    /// Where it ran.
    pub(super) work: GpuWork,
    /// Bytes set.
    pub(super) bytes: Option<i64>,
}

/// A call of an API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Call {
    /// Shared with the GPU work that it asked for.
    pub(super) correlation: Option<i64>,
    /// The operator's external id.
    pub(super) external_id: Option<i64>,
}

/// An operator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operator<'a> {
    /// What tells it from all others: operators are numbered one after the other.
    pub(super) external_id: Option<i64>,
    /// Shared by a forward operator and its backward.
    pub(super) sequence: Option<i64>,
    /// Of a backward operator: the thread of the forward one, numbered by the framework.
    pub(super) forward_thread: Option<i64>,
    /// Sizes of the inputs, a JSON array of arrays.
    pub(super) input_shapes: Option<&'a [u8]>,
    /// Types of the inputs, a JSON array.
    pub(super) input_types: Option<&'a [u8]>,
    /// Python frames, innermost first, with `;` between them: `train.py(118): forward`.
    pub(super) call_stack: Option<Text<'a>>,
    /// What it communicates.
    pub(super) collective: Option<Collective<'a>>,
}

/// A change of memory that an allocator holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// The framework's number of the kind of device: 0 is the host, 1 CUDA.
    pub(super) device_type: Option<i64>,
    /// The device's number; -1 for the host.
    pub(super) device: Option<i64>,
    /// Bytes in use after it.
    pub(super) allocated: Option<i64>,
    /// Bytes that the allocator holds after it.
    pub(super) reserved: Option<i64>,
}

/// What a collective moves, and among how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Collective<'a> {
    /// `allreduce` and the like.
    pub(super) name: Text<'a>,
    /// The type of its elements.
    pub(super) data_type: Option<Text<'a>>,
    /// Elements that go in.
    pub(super) input_elements: Option<i64>,
    /// Elements that come out.
    pub(super) output_elements: Option<i64>,
    /// Ranks in the group.
    pub(super) group_size: Option<i64>,
}

/// Takes the events of one block, in the order of the file.
pub(super) trait Sink: Send {
    /// Takes an event. Its texts live as long as the block.
    fn event(&mut self, event: &Event<'_>);
}
