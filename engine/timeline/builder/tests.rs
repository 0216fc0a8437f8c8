//! The builder, filled as a reader of a plain list of events would.

use super::*;
use crate::limits::{MAX_STREAM_COUNT, MAX_THREAD_COUNT};
use crate::timeline::columns::{Direction, HostMemory, OverheadKind, RangeKind, ThreadState};
use crate::timeline::interval::Interval;
use crate::timeline::{Geometry, PageFaults, Stream, StreamKind, Thread};

/// Process and thread of the host, as a trace numbers them.
const HOST: ThreadKey = ThreadKey { process: 4_242, id: 1 };
const LOADER: ThreadKey = ThreadKey { process: 4_242, id: 9 };

/// Kind, start, end, name, stream or thread, correlation: in no order.
const TRACE: &str = "\
kernel,300,350,gemm,7,12
range,0,400,step,1,
api,110,120,cudaMemcpyAsync_v3020,1,11
copy,130,200,,7,11
kernel,500,450,gemm,7,13
api,210,220,cudaLaunchKernel,1,12
operator,205,230,aten::mm,1,
kernel,360,370,relu,20,99
open,240,,forward,1,
os,0,90,poll,9,
api,5,6,cudaLaunchKernel,9,
";

fn stream(number: i64) -> StreamKey {
    StreamKey { process: Some(4_242), device: 0, context: 0, stream: number }
}

fn add(chunk: &mut Chunk, line: &str) {
    let [kind, start, end, name, on, correlation] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let (start, end) = (start.parse().unwrap(), end.parse().ok());
    let (on, correlation) = (on.parse().unwrap(), correlation.parse().ok());
    let name = chunk.text(name.as_bytes()).unwrap();
    let thread = Some(ThreadKey { id: on, ..HOST });
    let op = OpEvent { start, end: end.unwrap_or(start), stream: stream(on), correlation };
    let call = CallEvent { start, end: op.end, thread, name };
    let label = |kind| LabelKey { kind, domain: 0, name };
    match kind {
        "kernel" => {
            let geometry = Geometry { grid_blocks: 8, block_threads: 64, registers: 0, shared_memory_bytes: 0 };
            chunk.kernel(&op, KernelKey { name, full_name: name, geometry });
        }
        "copy" => chunk.copy(&op, 1_024, Direction::HostToDevice, HostMemory::Pinned),
        "api" => chunk.api_call(&call, correlation, None),
        "os" => chunk.os_call(&call),
        "operator" => chunk.range(&RangeEvent { start, end, thread, label: label(RangeKind::Operator) }),
        _ => chunk.range(&RangeEvent { start, end, thread, label: label(RangeKind::Annotation) }),
    }
}

/// The trace in chunks of so many lines.
fn read(lines: usize) -> Timeline {
    let mut builder = Builder::new(Limits::default());
    let all: Vec<&str> = TRACE.lines().collect();
    for part in all.chunks(lines) {
        let mut chunk = builder.chunk("events");
        part.iter().for_each(|line| add(&mut chunk, line));
        builder.take(chunk);
    }
    builder.finish()
}

#[test]
fn a_list_of_events_becomes_a_timeline() {
    let timeline = read(100);
    let [process] = &timeline.processes[..] else { panic!("{:?}", timeline.processes) };
    assert_eq!((process.pid, process.label.as_str()), (4_242, ""));
    assert_eq!(timeline.threads, [Thread { process: 0, id: 1 }, Thread { process: 0, id: 9 }]);
    assert_eq!(timeline.devices.iter().map(|device| device.number).collect::<Vec<_>>(), [0]);
    assert_eq!(timeline.streams.iter().map(|stream| stream.number).collect::<Vec<_>>(), [7, 20]);
    assert!(timeline.device_identity_known);

    assert_eq!(
        timeline.kernels.ops.times.iter().collect::<Vec<_>>(),
        [Interval::new(300, 350), Interval::new(360, 370)]
    );
    let names: Vec<&str> = (0..2).map(|kernel| timeline.name(timeline.kernels.shape_of(kernel).name)).collect();
    assert_eq!(names, ["gemm", "relu"]);
    assert_eq!(timeline.geometry_of(0).map(|geometry| geometry.grid_blocks), Some(8));
    // The call of the first kernel; that of the second is not in the recording.
    assert_eq!(timeline.kernels.ops.call, [1, NONE]);
    assert_eq!(timeline.copies.ops.call, [0]);
    let api: Vec<&str> = timeline.api.name.iter().map(|name| timeline.name(*name)).collect();
    assert_eq!(api, ["cudaMemcpyAsync", "cudaLaunchKernel", "cudaLaunchKernel"]);
    assert_eq!(timeline.api.thread, [0, 0, 1]);
    assert_eq!(timeline.os_calls.thread, [1]);

    let [dropped] = &timeline.dropped[..] else { panic!("{:?}", timeline.dropped) };
    assert_eq!((dropped.events, dropped.reason, dropped.count), ("events", "ends before it starts", 1));
}

#[test]
fn ranges_are_by_thread_in_time_order_and_open_ones_end_with_the_recording() {
    let timeline = read(100);
    let [ranges] = &timeline.ranges.threads[..] else { panic!("{:?}", timeline.ranges) };
    let of = |index: usize| {
        let label = timeline.ranges.labels[ranges.label[index] as usize];
        (ranges.times.at(index), timeline.name(label.name), label.kind)
    };
    assert_eq!(of(0), (Interval::new(0, 400), "step", RangeKind::Annotation));
    assert_eq!(of(1), (Interval::new(205, 230), "aten::mm", RangeKind::Operator));
    assert_eq!(of(2), (Interval::new(240, 400), "forward", RangeKind::Annotation));
}

#[test]
fn chunks_make_no_difference() {
    let print = |lines| {
        let timeline = read(lines);
        format!("{:?} {:?} {:?} {:?}", timeline.kernels, timeline.copies, timeline.ranges, timeline.api)
    };
    assert_eq!(print(1), print(100));
    assert_eq!(print(3), print(100));
}

#[test]
fn a_thread_is_off_the_cpu_between_two_moments() {
    let mut builder = Builder::new(Limits::default());
    let mut chunk = builder.chunk("events");
    for (thread, at, is_on) in [(HOST, 90, true), (LOADER, 20, false), (HOST, 10, false), (LOADER, 30, false)] {
        chunk.scheduled(thread, at, is_on);
    }
    chunk.thread_state(LOADER, 1, 2, ThreadState::Runnable);
    builder.take(chunk);
    let states = builder.finish().thread_states;
    assert_eq!(states.times.iter().collect::<Vec<_>>(), [Interval::new(1, 2), Interval::new(10, 90)]);
    assert_eq!(states.thread, [1, 0]);
    assert_eq!(states.state, [ThreadState::Runnable, ThreadState::OffCpu]);
}

#[test]
fn what_is_described_is_taken_over() {
    let mut builder = Builder::new(Limits::default());
    let mut chunk = builder.chunk("events");
    let op = |number, start| OpEvent { start, end: start + 1, stream: stream(number), correlation: None };
    chunk.memset(&op(1, 0), 16);
    chunk.graph(&op(2, 5));
    chunk.overhead(&CallEvent { start: 0, end: 1, thread: None, name: NameKey::Id(5) }, OverheadKind::Load);
    builder.take(chunk);
    assert_eq!(builder.string_ids().into_iter().collect::<Vec<_>>(), [5]);
    builder.define_string(5, "JIT");
    for key in builder.process_keys() {
        builder.describe_process(key, Process { pid: 42, label: "vm".to_owned(), name: Some("train".to_owned()) });
    }
    let known = StreamInfo { device: Some(3), is_device_certain: true, kind: StreamKind::NonBlocking };
    builder.describe_stream(stream(1), known);
    builder.describe_stream(stream(2), StreamInfo { device: None, ..known });
    builder.page_faults(Some(4_242), 0, 7);
    builder.page_faults(None, 0, 2);
    builder.page_faults(Some(1), 0, 100);
    let timeline = builder.finish();
    assert_eq!((timeline.processes[0].pid, timeline.processes[0].name.as_deref()), (42, Some("train")));
    assert_eq!(
        timeline.streams,
        [Stream { process: 0, device: 0, context: 0, number: 1, kind: StreamKind::NonBlocking }]
    );
    assert_eq!(timeline.devices[0].number, 3);
    assert_eq!(timeline.page_faults, [PageFaults { device: 0, count: 9 }]);
    assert_eq!(timeline.name(timeline.overheads.name[0]), "JIT");
    assert_eq!((timeline.memsets.ops.len(), timeline.graphs.ops.len()), (1, 0));
    assert_eq!(timeline.dropped[0].events, "graph launches");
}

#[test]
fn names_beyond_the_limits_are_cut_or_merged() {
    let mut builder = Builder::new(Limits { names: 2, name_bytes: 3, ..Limits::default() });
    let mut chunk = builder.chunk("events");
    for text in ["long name", "b", "c", "d"] {
        let name = chunk.text(text.as_bytes()).unwrap();
        chunk.os_call(&CallEvent { start: 0, end: 1, thread: Some(HOST), name });
    }
    assert_eq!(chunk.text(&[0xff]), None, "no UTF-8");
    builder.take(chunk);
    let timeline = builder.finish();
    let names: Vec<&str> = timeline.os_calls.name.iter().map(|name| timeline.name(*name)).collect();
    assert_eq!(names, ["lon", "b", "(another name)", "(another name)"]);
    assert_eq!((timeline.reached.cut_name_count, timeline.reached.merged_name_count), (1, 2));
}

#[test]
fn threads_and_streams_beyond_the_limits_are_taken_for_none_and_for_others() {
    let mut builder = Builder::new(Limits::default());
    let mut chunk = builder.chunk("events");
    let threads = MAX_THREAD_COUNT as i64 + 3;
    for id in (0..threads).chain([0]) {
        let thread = Some(ThreadKey { process: 1, id });
        chunk.os_call(&CallEvent { start: id, end: id + 1, thread, name: NameKey::Missing });
    }
    let streams = MAX_STREAM_COUNT as i64 + 2;
    for (number, process) in (0..streams).map(|number| (number, Some(1))).chain([(0, Some(2))]) {
        let stream = StreamKey { process, device: 0, context: 0, stream: number };
        chunk.memset(&OpEvent { start: number, end: number + 1, stream, correlation: None }, 1);
    }
    builder.take(chunk);
    let timeline = builder.finish();
    assert_eq!(timeline.reached.merged_thread_count, 3 + 3);
    assert_eq!(timeline.threads.len(), MAX_THREAD_COUNT);
    assert_eq!(timeline.os_calls.thread.iter().filter(|thread| **thread == NONE).count(), 3);
    assert_eq!(timeline.os_calls.thread.last(), Some(&0), "a known one stays known");
    assert_eq!(timeline.streams.len(), MAX_STREAM_COUNT);
    assert_eq!(timeline.memsets.ops.stream[MAX_STREAM_COUNT..], [0, 0], "the process has others on the device");
    assert_eq!(timeline.dropped[0].count, 1, "and that one has none");
}

#[test]
fn calls_of_mpi_in_a_domain_of_the_profiler_are_calls_of_a_library() {
    let mut builder = Builder::new(Limits::default());
    let mut chunk = builder.chunk("events");
    for (domain, name) in [(1, "MPI"), (2, "app")] {
        let name = chunk.text(name.as_bytes()).unwrap();
        chunk.domain(Some(HOST), domain, name);
    }
    for (start, domain, name) in [(0, 1, "MPI_Send"), (10, 1, "gather"), (20, 2, "MPI_Send"), (30, 0, "MPI_Send")] {
        let label = LabelKey { kind: RangeKind::Nvtx, domain, name: chunk.text(name.as_bytes()).unwrap() };
        chunk.range(&RangeEvent { start, end: Some(start + 5), thread: Some(HOST), label });
    }
    builder.take(chunk);
    let timeline = builder.finish();
    let kinds: Vec<(RangeKind, i64)> = timeline.ranges.threads[0]
        .label
        .iter()
        .map(|label| timeline.ranges.labels[*label as usize])
        .map(|label| (label.kind, label.domain))
        .collect();
    assert_eq!(kinds, [(RangeKind::Library, 0), (RangeKind::Nvtx, 1), (RangeKind::Nvtx, 2), (RangeKind::Nvtx, 0)]);
}
