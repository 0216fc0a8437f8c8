//! How often threads are laid out, whatever the number of devices that they launch on.

use std::sync::atomic::Ordering;

use super::*;
use crate::facts::Entity;
use crate::ledger::Breakdown;
use crate::timeline::Geometry;
use crate::timeline::builder::{Builder, CallEvent, KernelKey, Limits, OpEvent, StreamKey, ThreadKey};

const THREAD: ThreadKey = ThreadKey { process: 7, id: 1 };

/// A thread that launches in turns on so many devices, sets them up before and frees what they hold at the end.
fn program(device_count: i64) -> Timeline {
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

/// A thread that launches on all of so many devices now and then, one after the other, and does this and that between in many calls.
fn busy_program(device_count: i64, call_count: i64, host_rows: u64) -> Timeline {
    const NAMES: [&str; 7] = [
        "cudaEventRecord",
        "cudaStreamWaitEvent",
        "cudaStreamSynchronize",
        "cudaMalloc",
        "cudaEventQuery",
        "cuModuleLoadData",
        "cudaMemcpy",
    ];
    let mut builder = Builder::new(Limits { host_rows, ..Limits::default() });
    let mut chunk = builder.chunk("events");
    let geometry = Geometry { grid_blocks: 8, block_threads: 64, registers: 0, shared_memory_bytes: 0 };
    let mut now = 0;
    for number in 0..call_count {
        let name = chunk.text(NAMES[number as usize % NAMES.len()].as_bytes()).unwrap();
        let length = 700 + number * 7_919 % 1_300;
        chunk.api_call(&CallEvent { start: now, end: now + length, thread: Some(THREAD), name }, None, None);
        // Host code, some of it too long to be a part of launching.
        now += length + if number % 11 == 3 { 90_000 } else { 400 };
        if number % (call_count / 20) > 0 {
            continue;
        }
        for device in 0..device_count {
            let correlation = (number * device_count + device + 1) as u32;
            let name = chunk.text(b"cudaLaunchKernel").unwrap();
            let call = CallEvent { start: now, end: now + 4_000, thread: Some(THREAD), name };
            chunk.api_call(&call, Some(correlation), None);
            let stream = StreamKey { process: Some(7), device, context: 0, stream: 7 };
            let op = OpEvent { start: now + 6_000, end: now + 20_000, stream, correlation: Some(correlation) };
            let name = chunk.text(b"gemm").unwrap();
            chunk.kernel(&op, KernelKey { name, full_name: name, geometry });
            now += 5_000;
        }
    }
    builder.take(chunk);
    builder.finish()
}

/// How many pieces of what the thread did are read for all devices, and the facts.
fn read(device_count: i64, call_count: i64, host_rows: u64) -> (usize, Facts) {
    let timeline = busy_program(device_count, call_count, host_rows);
    extract_view_then(&timeline, &Scope::All, &View::default(), Some(1), |facts, replays| {
        (replays.context.devices.iter().map(|device| device.idle().visited_count).sum(), facts)
    })
    .unwrap()
}

#[test]
fn many_calls_are_read_for_as_many_devices_as_are_usual_and_added_up_for_further_ones() {
    let pieces = |device_count: i64, call_count: i64| read(device_count, call_count, 1).0;
    let (usual, many) = (pieces(8, 4_000), pieces(32, 4_000));
    assert!(usual > 8 * 4_000 && many < 2 * usual, "{usual} {many}");
    let of_limit = read(32, 4_000, u64::from(u32::MAX)).0;
    assert!(of_limit > 3 * usual, "{of_limit}");
    // What 24 devices more take does not grow with the calls.
    let (more, twice) = (many - usual, pieces(32, 8_000) - pieces(8, 8_000));
    assert!(twice < more + more / 2, "{more} {twice}");
}

#[test]
fn what_is_told_in_sums_is_what_is_told_piece_by_piece() {
    let ((_, whole), (_, summed)) = (read(20, 4_000, u64::from(u32::MAX)), read(20, 4_000, 1));
    let devices =
        |facts: &Facts| facts.of_kind(EntityKind::Device).map(|(_, device)| device.clone()).collect::<Vec<_>>();
    let (whole, summed) = (devices(&whole), devices(&summed));
    assert_eq!((whole.len(), summed.len()), (20, 20));
    let count = |device: &Entity| device.int("summed_idle_stretch_count").unwrap_or(0);
    assert_eq!(whole.iter().map(count).sum::<i64>(), 0);
    assert_eq!(summed.iter().filter(|device| count(device) > 0).count(), 12);
    for (whole, summed) in whole.iter().zip(&summed) {
        let is_summed = count(summed) > 0;
        for account in Account::all() {
            assert_eq!(whole.int(account.fact()), summed.int(account.fact()), "{}", account.id());
            for fact in [account.once_fact(), account.once_count_fact()].into_iter().filter(|_| account.can_be_once()) {
                assert_eq!(whole.int(fact), summed.int(fact), "{fact}");
            }
            let is_lost = is_summed && account.part_of() == Some(Breakdown::Activity);
            let kept = whole.int(account.longest_fact()).filter(|_| !is_lost);
            assert_eq!(summed.int(account.longest_fact()), kept, "{}", account.id());
        }
        for fact in ["sync_run_ahead_ns", "idle_host_after_sync_ns", "launch_bound_ns", "idle_launch_stretch_count"] {
            assert_eq!(whole.get(fact), summed.get(fact), "{fact}");
        }
    }
}
