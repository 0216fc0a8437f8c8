//! What the simulated profiler recorded: flat lists of events, without a schema.

/// An operation on a GPU.
#[derive(Debug, Clone)]
pub struct Op {
    pub start_ns: i64,
    pub end_ns: i64,
    pub process: usize,
    /// The CUDA ordinal in that process.
    pub device: i64,
    pub stream: i64,
    /// Absent where no API call caused it.
    pub correlation: Option<i64>,
    pub kind: OpKind,
}

#[derive(Debug, Clone)]
pub enum OpKind {
    Kernel {
        short: String,
        long: String,
        grid: [i64; 3],
        block: [i64; 3],
        registers: i64,
        shared_bytes: i64,
        local_total_bytes: i64,
    },
    Graph,
    Copy {
        bytes: i64,
        kind: i64,
        source: i64,
        target: i64,
        cause: Option<i64>,
        address: Option<i64>,
    },
    Memset {
        bytes: i64,
    },
}

/// A call of the runtime or driver API, or of the operating system.
#[derive(Debug, Clone)]
pub struct Call {
    pub start_ns: i64,
    pub end_ns: i64,
    pub process: usize,
    pub tid: i64,
    pub name: String,
    pub correlation: i64,
    pub result: i64,
    /// The frames of its call stack, the innermost first; empty where none was recorded.
    pub stack: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitKind {
    Device,
    Stream,
    Event,
    /// A stream waits on the device; the host goes on.
    StreamOnEvent,
}

#[derive(Debug, Clone)]
pub struct Wait {
    pub start_ns: i64,
    pub end_ns: i64,
    pub process: usize,
    pub device: i64,
    pub stream: i64,
    pub correlation: i64,
    pub kind: WaitKind,
}

/// A stretch in which a thread did not run, by the scheduler's record.
#[derive(Debug, Clone, Copy)]
pub struct OffCpu {
    pub start_ns: i64,
    pub end_ns: i64,
    pub process: usize,
    pub tid: i64,
}

/// A sample of the stack of a thread that ran on a CPU.
#[derive(Debug, Clone)]
pub struct Sample {
    pub at_ns: i64,
    pub process: usize,
    pub tid: i64,
    /// The innermost frame first: `function @ module`.
    pub stack: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Range {
    pub start_ns: i64,
    /// Absent for a mark or a range that never ended.
    pub end_ns: Option<i64>,
    pub process: usize,
    pub tid: i64,
    pub text: String,
    pub domain: Option<String>,
    pub registered: bool,
    pub mark: bool,
}

/// Time that the profiler or the driver took. The type is the tool's own number; none for the profiler itself.
#[derive(Debug, Clone)]
pub struct Overhead {
    pub start_ns: i64,
    pub end_ns: i64,
    pub process: usize,
    pub tid: i64,
    pub name: String,
    pub driver_type: Option<i64>,
    pub correlation: i64,
}

/// Page faults of unified memory on a device.
#[derive(Debug, Clone)]
pub struct Fault {
    pub start_ns: i64,
    pub end_ns: i64,
    pub process: usize,
    pub device: i64,
    pub pages: i64,
}

/// All that was recorded, each list in the order of its making.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    pub ops: Vec<Op>,
    pub calls: Vec<Call>,
    pub os_calls: Vec<Call>,
    pub waits: Vec<Wait>,
    pub ranges: Vec<Range>,
    pub overheads: Vec<Overhead>,
    pub faults: Vec<Fault>,
    pub samples: Vec<Sample>,
    pub off_cpu: Vec<OffCpu>,
}

impl Recording {
    /// The end of the last event; 0 when nothing happened.
    pub fn end_ns(&self) -> i64 {
        let ops = self.ops.iter().map(|op| op.end_ns);
        let calls = self.calls.iter().chain(&self.os_calls).map(|call| call.end_ns);
        ops.chain(calls).chain(self.ranges.iter().filter_map(|range| range.end_ns)).max().unwrap_or(0)
    }
}
