//! How often threads are laid out, whatever the number of devices that they launch on.

use std::sync::atomic::Ordering;

use super::*;
use crate::timeline::Geometry;
use crate::timeline::builder::{Builder, CallEvent, KernelKey, Limits, OpEvent, StreamKey, ThreadKey};

/// A thread that launches in turns on so many devices, sets them up before and frees what they hold at the end.
fn program(device_count: i64) -> Timeline {
    const THREAD: ThreadKey = ThreadKey { process: 7, id: 1 };
    let mut builder = Builder::new(Limits::default());
    let mut chunk = builder.chunk("events");
    let geometry = Geometry { grid_blocks: 8, block_threads: 64, registers: 0, shared_memory_bytes: 0 };
    let mut now = 0;
    for number in 0..400_u32 {
        let api = match number {
            0..50 => "cudaMalloc",
            350.. => "cudaFree",
            _ => "cudaLaunchKernel",
        };
        let name = chunk.text(api.as_bytes()).unwrap();
        let call = CallEvent { start: now, end: now + 5_000, thread: Some(THREAD), name };
        chunk.api_call(&call, Some(number + 1), None);
        now += 100_000;
        if api == "cudaLaunchKernel" {
            let device = i64::from(number) / 2 % device_count;
            let stream = StreamKey { process: Some(7), device, context: 0, stream: 7 };
            let op = OpEvent { start: now - 90_000, end: now - 20_000, stream, correlation: Some(number + 1) };
            let name = chunk.text(["gemm", "norm"][number as usize % 2].as_bytes()).unwrap();
            chunk.kernel(&op, KernelKey { name, full_name: name, geometry });
        }
    }
    builder.take(chunk);
    builder.finish()
}

fn layout_count(device_count: i64) -> usize {
    let timeline = program(device_count);
    let view = View { phase: Some(Phase::Steady), step: None };
    let count = |facts: Facts, replays: &Replays<'_>| {
        assert_eq!(facts.devices().len() as i64, device_count);
        replays.context.calls.layout_count.load(Ordering::Relaxed)
    };
    extract_view_then(&timeline, &Scope::All, &view, Some(2), count).unwrap()
}

#[test]
fn a_thread_is_laid_out_once_however_many_ask_what_it_does() {
    assert_eq!([1, 2, 32].map(layout_count), [1; 3]);
}
