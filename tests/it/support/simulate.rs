//! A tiny machine that runs a scenario: a clock for each thread, one for each stream, one for each copy engine.

use std::collections::{BTreeMap, VecDeque};

use super::language::{Direction, Exact, ExactKind, HostMemory, Launch, Memcpy, Script, Side, Step};
use super::recording::{Call, Fault, OffCpu, Op, OpKind, Overhead, Range, Recording, Sample, Wait, WaitKind};

/// From the return of a launch to the start of its work on an idle device.
const LATENCY_NS: i64 = 2_500;
/// Between two operations of one stream that are both queued.
const GAP_NS: i64 = 800;
/// Time 0 is the start of the capture; programs begin a little later.
const FIRST_NS: i64 = 1_000_000;
/// Causes of migrations, as the tool numbers them.
const PREFETCH: i64 = 1;
const PAGE_FAULT: i64 = 2;
const SPECULATIVE: i64 = 3;
const EVICTION: i64 = 4;
/// What one touch asks for.
const PAGE: i64 = 4_096;
const PAGEABLE: i64 = 0;
const PINNED: i64 = 1;
const DEVICE: i64 = 2;

/// Memory that a thread touches: where it begins, and how much of each block a touch asks for.
#[derive(Clone, Copy)]
struct Moved {
    address: Option<i64>,
    bytes: i64,
    touched: i64,
}

/// One migration.
#[derive(Clone, Copy)]
struct Piece {
    bytes: i64,
    cause: i64,
    address: Option<i64>,
}

pub(super) fn run(script: &Script) -> Recording {
    let mut machine = Machine::new(script);
    let mut lanes: Vec<Lane> = script.thread.iter().enumerate().map(|(index, _)| Lane::new(script, index)).collect();
    // The thread that is furthest behind goes next, so that streams see launches in the order of time.
    while let Some(lane) = lanes.iter_mut().filter(|lane| !lane.todo.is_empty()).min_by_key(|lane| lane.now_ns) {
        if let Some(action) = lane.todo.pop_front() {
            machine.act(lane, action);
        }
    }
    script.exact.iter().for_each(|exact| machine.place(exact));
    machine.recording
}

/// Thread ids: the first thread of a process has the process's own.
pub(super) fn tid_of(script: &Script, thread: usize) -> i64 {
    let process = script.thread[thread].process;
    let before = script.thread[..thread].iter().filter(|other| other.process == process).count();
    script.process[process].pid + before as i64
}

enum Action<'a> {
    Step(&'a Step),
    Open { name: String, domain: Option<String>, registered: bool },
    Close,
    Enter(&'a [String]),
    Leave,
    BeginSamples,
    EndSamples { every_us: f64, stack: &'a [String] },
}

struct Lane<'a> {
    process: usize,
    device: i64,
    tid: i64,
    now_ns: i64,
    todo: VecDeque<Action<'a>>,
    open: Vec<Range>,
    stacks: Vec<&'a [String]>,
    /// When steps began that are sampled.
    sampled: Vec<i64>,
}

impl<'a> Lane<'a> {
    fn new(script: &'a Script, index: usize) -> Self {
        let thread = &script.thread[index];
        let mut todo = VecDeque::new();
        flatten(&thread.script, 0, &mut todo);
        let now_ns = FIRST_NS + ns(thread.start_us);
        let (process, device, tid) = (thread.process, thread.device, tid_of(script, index));
        Self { process, device, tid, now_ns, todo, open: vec![], stacks: vec![], sampled: vec![] }
    }
}

/// Unrolls loops and ranges; `{i}` in a range's name is the iteration of the innermost loop.
fn flatten<'a>(steps: &'a [Step], iteration: usize, todo: &mut VecDeque<Action<'a>>) {
    let named = |name: &str| name.replace("{i}", &iteration.to_string());
    for step in steps {
        match step {
            Step::Repeat { times, from, r#do } => (*from..from + times).for_each(|i| flatten(r#do, i, todo)),
            Step::Range { name, domain, registered, r#do } => {
                let registered = *registered;
                todo.push_back(Action::Open { name: named(name), domain: domain.clone(), registered });
                flatten(r#do, iteration, todo);
                todo.push_back(Action::Close);
            }
            Step::From { stack, r#do } => {
                todo.push_back(Action::Enter(stack));
                flatten(r#do, iteration, todo);
                todo.push_back(Action::Leave);
            }
            Step::Sampled { every_us, stack, r#do } => {
                todo.push_back(Action::BeginSamples);
                flatten(r#do, iteration, todo);
                todo.push_back(Action::EndSamples { every_us: *every_us, stack });
            }
            Step::Host { range: Some(range), .. } => {
                todo.push_back(Action::Open { name: named(range), domain: None, registered: false });
                todo.push_back(Action::Step(step));
                todo.push_back(Action::Close);
            }
            other => todo.push_back(Action::Step(other)),
        }
    }
}

struct Machine<'a> {
    script: &'a Script,
    recording: Recording,
    /// When the stream of (process, device, stream) has done what it was given.
    streams: BTreeMap<(usize, i64, i64), i64>,
    /// When the copy engine of (process, device, direction) is free. Processes do not share GPUs in scenarios.
    engines: BTreeMap<(usize, i64, i64), i64>,
    /// Correlation ids are counted per process: two processes have the same.
    correlations: Vec<i64>,
    noise: u64,
}

impl<'a> Machine<'a> {
    fn new(script: &'a Script) -> Self {
        let correlations = vec![100; script.process.len()];
        let (streams, engines) = (BTreeMap::new(), BTreeMap::new());
        Self { script, recording: Recording::default(), streams, engines, correlations, noise: 0x2545_F491_4F6C_DD1D }
    }

    fn act<'b>(&mut self, lane: &mut Lane<'b>, action: Action<'b>) {
        match action {
            Action::Enter(stack) => lane.stacks.push(stack),
            Action::Leave => {
                lane.stacks.pop();
            }
            Action::BeginSamples => lane.sampled.push(lane.now_ns),
            Action::EndSamples { every_us, stack } => {
                let from_ns = lane.sampled.pop().expect("samples end in the order of flatten");
                for at_ns in (from_ns..lane.now_ns).step_by(ns(every_us) as usize) {
                    let (process, tid, stack) = (lane.process, lane.tid, stack.to_vec());
                    self.recording.samples.push(Sample { at_ns, process, tid, stack });
                }
            }
            Action::Step(step) => self.step(lane, step),
            Action::Open { name, domain, registered } => lane.open.push(Range {
                start_ns: lane.now_ns,
                end_ns: None,
                process: lane.process,
                tid: lane.tid,
                text: name,
                domain,
                registered,
                mark: false,
            }),
            Action::Close => {
                let range = lane.open.pop().expect("ranges close in the order of flatten");
                self.recording.ranges.push(Range { end_ns: Some(lane.now_ns), ..range });
            }
        }
    }

    fn step(&mut self, lane: &mut Lane, step: &Step) {
        match step {
            Step::Repeat { .. } | Step::Range { .. } | Step::From { .. } | Step::Sampled { .. } => {
                unreachable!("flattened before")
            }
            Step::Host { us, .. } => lane.now_ns += self.jittered(*us),
            Step::Mark { text } => self.mark(lane, text),
            Step::Call { api, us, result } => {
                self.call(lane, api, ns(*us));
                self.recording.calls.last_mut().expect("just pushed").result = *result;
            }
            Step::Os { call, us } => self.os_call(lane, call, *us),
            Step::Off { us } => {
                let start_ns = lane.now_ns;
                lane.now_ns += ns(*us);
                let (process, tid, end_ns) = (lane.process, lane.tid, lane.now_ns);
                self.recording.off_cpu.push(OffCpu { start_ns, end_ns, process, tid });
            }
            Step::Profiler { name, us } => self.overhead(lane, name, ns(*us)),
            Step::Launch(launch) => self.launch(lane, launch),
            Step::Graph { run_us, api_us, stream } => {
                let correlation = self.call(lane, "cudaGraphLaunch_v10000", ns(*api_us));
                let run_ns = self.jittered(*run_us);
                self.enqueue(lane, *stream, correlation, run_ns, OpKind::Graph);
            }
            Step::Memcpy(copy) => self.memcpy(lane, copy),
            Step::Memset { bytes, gb_per_s, stream } => {
                let correlation = self.call(lane, "cudaMemsetAsync_v3020", ns(3.0));
                let run_ns = transfer_ns(*bytes, *gb_per_s);
                self.enqueue(lane, *stream, correlation, run_ns, OpKind::Memset { bytes: *bytes });
            }
            Step::Sync { api, stream, tail_us } => self.sync(lane, api, *stream, ns(*tail_us)),
            Step::WaitFor { stream, on } => self.wait_for(lane, *stream, *on),
            Step::Migrate { to, bytes, gb_per_s, evicts, prefetches, speculates, address } => {
                let cause = match (evicts, prefetches) {
                    (true, _) => EVICTION,
                    (false, true) => PREFETCH,
                    (false, false) => PAGE_FAULT,
                };
                let touched = if *speculates { PAGE } else { i64::MAX };
                self.migrate(lane, *to, *gb_per_s, cause, Moved { address: *address, bytes: *bytes, touched });
            }
        }
    }

    /// Records a call of the thread, moves its clock, and gives the correlation id.
    fn call(&mut self, lane: &mut Lane, api: &str, duration_ns: i64) -> i64 {
        let correlation = self.correlate(lane.process);
        let start_ns = lane.now_ns;
        lane.now_ns += duration_ns;
        let (process, tid, end_ns) = (lane.process, lane.tid, lane.now_ns);
        self.recording.calls.push(Call {
            start_ns,
            end_ns,
            process,
            tid,
            name: versioned(api),
            correlation,
            result: 0,
            stack: lane.stacks.last().map(|stack| stack.to_vec()).unwrap_or_default(),
        });
        correlation
    }

    /// Calls take an id each; ids are not dense in real reports either.
    fn correlate(&mut self, process: usize) -> i64 {
        self.correlations[process] += 3;
        self.correlations[process]
    }

    /// Puts an operation into a stream and gives its times.
    fn enqueue(&mut self, lane: &Lane, stream: i64, correlation: i64, run_ns: i64, kind: OpKind) -> (i64, i64) {
        let key = (lane.process, lane.device, stream);
        let mut start_ns = lane.now_ns + LATENCY_NS;
        if let Some(free_ns) = self.streams.get(&key) {
            start_ns = start_ns.max(free_ns + GAP_NS);
        }
        if let OpKind::Copy { kind: direction, .. } = kind {
            let gpu = self.script.gpu.iter().find(|gpu| gpu.id == lane.device);
            let engine = if gpu.is_some_and(|gpu| gpu.copy_engines == 1) { 0 } else { direction };
            let engine = self.engines.entry((lane.process, lane.device, engine)).or_default();
            start_ns = start_ns.max(*engine);
            *engine = start_ns + run_ns;
        }
        let end_ns = start_ns + run_ns;
        self.streams.insert(key, end_ns);
        let (process, device) = (lane.process, lane.device);
        self.recording.ops.push(Op { start_ns, end_ns, process, device, stream, correlation: Some(correlation), kind });
        (start_ns, end_ns)
    }

    fn launch(&mut self, lane: &mut Lane, launch: &Launch) {
        let called_ns = lane.now_ns;
        let load_ns = ns(launch.load_us);
        let correlation = self.call(lane, "cudaLaunchKernel_v7000", ns(launch.api_us) + load_ns);
        if load_ns > 0 {
            let (process, tid) = (lane.process, lane.tid);
            let (start_ns, end_ns) = (called_ns + 500, called_ns + 500 + load_ns);
            let name = "Lazy Function Loading".to_string();
            let overhead = Overhead { start_ns, end_ns, process, tid, name, driver_type: Some(7), correlation };
            self.recording.overheads.push(overhead);
        }
        let run_us = launch.run_us.unwrap_or(self.kernel(&launch.kernel).run_us);
        let run_ns = self.jittered(run_us);
        let kind = self.kernel_op(&launch.kernel, launch.grid);
        let (start_ns, end_ns) = self.enqueue(lane, launch.stream, correlation, run_ns, kind);
        let Some(faults) = &launch.faults else { return };
        let share_ns = (end_ns - start_ns) / faults.count.max(1);
        let one_ns = transfer_ns(faults.bytes, faults.gb_per_s).min(share_ns);
        let piece = Piece { bytes: faults.bytes, cause: PAGE_FAULT, address: None };
        for i in 0..faults.count {
            let at_ns = start_ns + i * share_ns;
            self.migration(lane, Side::Device, at_ns, at_ns + one_ns, piece);
            let (process, device, pages) = (lane.process, lane.device, faults.bytes / 4096);
            self.recording.faults.push(Fault { start_ns: at_ns, end_ns: at_ns + one_ns, process, device, pages });
        }
    }

    fn kernel(&self, short: &str) -> &'a super::language::Kernel {
        self.script.kernel.get(short).unwrap_or_else(|| panic!("[kernel.{short}] is not in the scenario"))
    }

    fn kernel_op(&self, short: &str, grid: Option<[i64; 3]>) -> OpKind {
        let shape = self.kernel(short);
        OpKind::Kernel {
            short: short.into(),
            long: shape.name.clone().unwrap_or_else(|| short.into()),
            grid: grid.unwrap_or(shape.grid),
            block: shape.block,
            registers: shape.registers,
            shared_bytes: shape.shared_bytes,
            local_total_bytes: shape.local_total_bytes,
        }
    }

    fn memcpy(&mut self, lane: &mut Lane, copy: &Memcpy) {
        let blocks = copy.api == "cudaMemcpy" || (copy.host == HostMemory::Pageable && copy.dir != Direction::D2d);
        let correlation = self.call(lane, &copy.api, ns(copy.api_us));
        let run_ns = transfer_ns(copy.bytes, copy.gb_per_s);
        let (_, end_ns) =
            self.enqueue(lane, copy.stream, correlation, run_ns, copy_op(copy.dir, copy.host, copy.bytes));
        if blocks {
            lane.now_ns = end_ns + ns(2.0);
            self.recording.calls.last_mut().expect("just pushed").end_ns = lane.now_ns;
        }
    }

    fn sync(&mut self, lane: &mut Lane, api: &str, stream: Option<i64>, tail_ns: i64) {
        let start_ns = lane.now_ns;
        let stream = stream.unwrap_or(super::language::DEFAULT_STREAM);
        let kind = match api {
            api if api.contains("StreamSynchronize") => WaitKind::Stream,
            api if api.contains("EventSynchronize") => WaitKind::Event,
            _ => WaitKind::Device,
        };
        let of_interest = |key: &(usize, i64, i64)| {
            key.0 == lane.process && key.1 == lane.device && (kind == WaitKind::Device || key.2 == stream)
        };
        let drained_ns = self.streams.iter().filter(|(key, _)| of_interest(key)).map(|(_, free_ns)| *free_ns).max();
        let end_ns = (start_ns + 1_200).max(drained_ns.unwrap_or(0) + tail_ns);
        let correlation = self.call(lane, api, end_ns - start_ns);
        let (process, device) = (lane.process, lane.device);
        let (start_ns, end_ns) = (start_ns + 400, end_ns - 300);
        // Other calls that wait, such as cudaFree, leave no row in the table of waits.
        if api.contains("Synchronize") {
            self.recording.waits.push(Wait { start_ns, end_ns, process, device, stream, correlation, kind });
        }
    }

    /// `stream` waits on the device for what `on` holds now: an event is recorded and waited for.
    fn wait_for(&mut self, lane: &mut Lane, stream: i64, on: i64) {
        self.call(lane, "cudaEventRecord_v3020", ns(1.5));
        let start_ns = lane.now_ns;
        let correlation = self.call(lane, "cudaStreamWaitEvent_v3020", ns(1.5));
        let (process, device) = (lane.process, lane.device);
        let ready_ns = self.streams.get(&(process, device, on)).copied().unwrap_or(0);
        let free_ns = self.streams.entry((process, device, stream)).or_default();
        *free_ns = (*free_ns).max(ready_ns);
        let (end_ns, kind) = (lane.now_ns, WaitKind::StreamOnEvent);
        self.recording.waits.push(Wait { start_ns, end_ns, process, device, stream, correlation, kind });
    }

    /// The thread touches managed memory and waits for the pages, in blocks of at most 2 MiB.
    fn migrate(&mut self, lane: &mut Lane, to: Side, gb_per_s: f64, cause: i64, moved: Moved) {
        const BLOCK: i64 = 2 << 20;
        for at in (0..moved.bytes).step_by(BLOCK as usize) {
            let block = BLOCK.min(moved.bytes - at);
            let touched = block.min(moved.touched);
            let address = moved.address.map(|address| address + at);
            for (at, bytes, cause) in [(0, touched, cause), (touched, block - touched, SPECULATIVE)] {
                if bytes == 0 {
                    continue;
                }
                let start_ns = lane.now_ns;
                let end_ns = start_ns + transfer_ns(bytes, gb_per_s);
                let piece = Piece { bytes, cause, address: address.map(|address| address + at) };
                self.migration(lane, to, start_ns, end_ns, piece);
                lane.now_ns = end_ns + 2_000;
            }
        }
    }

    fn migration(&mut self, lane: &Lane, to: Side, start_ns: i64, end_ns: i64, piece: Piece) {
        let Piece { bytes, cause, address } = piece;
        let kind = match to {
            Side::Device => 11,
            Side::Host => 12,
        };
        // The tool names unknown memory (7) on both sides of a migration.
        let kind = OpKind::Copy { bytes, kind, source: 7, target: 7, cause: Some(cause), address };
        let (process, device) = (lane.process, lane.device);
        self.recording.ops.push(Op { start_ns, end_ns, process, device, stream: 0, correlation: None, kind });
    }

    fn mark(&mut self, lane: &Lane, text: &str) {
        let (start_ns, process, tid) = (lane.now_ns, lane.process, lane.tid);
        let (text, domain) = (text.to_string(), None);
        let mark = Range { start_ns, end_ns: None, process, tid, text, domain, registered: false, mark: true };
        self.recording.ranges.push(mark);
    }

    fn os_call(&mut self, lane: &mut Lane, name: &str, us: f64) {
        let start_ns = lane.now_ns;
        lane.now_ns += self.jittered(us);
        let (end_ns, process, tid) = (lane.now_ns, lane.process, lane.tid);
        let name = name.to_string();
        self.recording.os_calls.push(Call {
            start_ns,
            end_ns,
            process,
            tid,
            name,
            correlation: 0,
            result: 0,
            stack: lane.stacks.last().map(|stack| stack.to_vec()).unwrap_or_default(),
        });
    }

    fn overhead(&mut self, lane: &mut Lane, name: &str, duration_ns: i64) {
        let start_ns = lane.now_ns;
        lane.now_ns += duration_ns;
        let (end_ns, process, tid) = (lane.now_ns, lane.process, lane.tid);
        let name = name.to_string();
        let overhead = Overhead { start_ns, end_ns, process, tid, name, driver_type: None, correlation: 0 };
        self.recording.overheads.push(overhead);
    }

    fn place(&mut self, exact: &Exact) {
        let process = exact.process;
        let tid = self.script.process[process].pid;
        let correlation = exact.correlation.unwrap_or(0);
        let (start_ns, end_ns, name) = (exact.start_ns, exact.end_ns.unwrap_or(exact.start_ns), exact.name.clone());
        let copy = |dir, host| copy_op(dir, host, exact.bytes);
        let kind = match exact.what {
            ExactKind::Kernel => self.kernel_op(&name, None),
            ExactKind::H2dPageable => copy(Direction::H2d, HostMemory::Pageable),
            ExactKind::H2dPinned => copy(Direction::H2d, HostMemory::Pinned),
            ExactKind::D2hPageable => copy(Direction::D2h, HostMemory::Pageable),
            ExactKind::D2hPinned => copy(Direction::D2h, HostMemory::Pinned),
            ExactKind::Memset => OpKind::Memset { bytes: exact.bytes },
            ExactKind::Call => {
                let call = Call {
                    start_ns,
                    end_ns,
                    process,
                    tid,
                    name: versioned(&name),
                    correlation,
                    result: 0,
                    stack: vec![],
                };
                return self.recording.calls.push(call);
            }
            ExactKind::Os => {
                let call = Call { start_ns, end_ns, process, tid, name, correlation, result: 0, stack: vec![] };
                return self.recording.os_calls.push(call);
            }
            ExactKind::Range => {
                let (end_ns, text, domain) = (exact.end_ns, name, None);
                let range = Range { start_ns, end_ns, process, tid, text, domain, registered: false, mark: false };
                return self.recording.ranges.push(range);
            }
        };
        let (device, stream, correlation) = (exact.device, exact.stream, exact.correlation);
        self.recording.ops.push(Op { start_ns, end_ns, process, device, stream, correlation, kind });
    }

    /// The duration, moved by the scenario's jitter; a xorshift, so that every run is the same.
    fn jittered(&mut self, us: f64) -> i64 {
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 7;
        self.noise ^= self.noise << 17;
        let unit = (self.noise >> 11) as f64 / (1_u64 << 53) as f64;
        ns(us * (1.0 + self.script.jitter * (2.0 * unit - 1.0)))
    }
}

fn copy_op(dir: Direction, host: HostMemory, bytes: i64) -> OpKind {
    let host = match host {
        HostMemory::Pageable => PAGEABLE,
        HostMemory::Pinned => PINNED,
    };
    let (kind, source, target) = match dir {
        Direction::H2d => (1, host, DEVICE),
        Direction::D2h => (2, DEVICE, host),
        Direction::D2d => (8, DEVICE, DEVICE),
    };
    OpKind::Copy { bytes, kind, source, target, cause: None, address: None }
}

/// The name as the tool writes it: runtime calls carry the version that brought them.
fn versioned(api: &str) -> String {
    if api.starts_with("cuda") && !api.contains("_v") { format!("{api}_v3020") } else { api.to_string() }
}

fn transfer_ns(bytes: i64, gb_per_s: f64) -> i64 {
    // Set-up of a transfer; bytes over GB/s are nanoseconds.
    900 + (bytes as f64 / gb_per_s).round() as i64
}

fn ns(us: f64) -> i64 {
    (us * 1000.0).round() as i64
}
