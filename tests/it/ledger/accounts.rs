//! The ledger's promise, on random timelines: every nanosecond of a window belongs to exactly one account, and idle time
//! to exactly one activity and one trigger.

use coldspot::facts::{EntityKind, Facts, extract};
use coldspot::ledger::{Account, Breakdown, Scope};
use coldspot::timeline::columns::{
    Direction, GpuOps, HostMemory, KernelShape, MigrationCause, OverheadKind, ThreadState,
};
use coldspot::timeline::interval::Interval;
use coldspot::timeline::{Device, NONE, Process, Stream, StreamKind, Thread, Timeline};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::support::{Scenario, SchemaVersion, analysis, temp};

/// One GPU operation: kind, start, length, stream, and the API call that asks for it, if any.
type Op = (u8, i64, i64, u32, Option<usize>);
/// One host interval: kind, start, length.
type Host = (u8, i64, i64);

const APIS: [&str; 9] = [
    "cudaLaunchKernel",
    "cudaStreamSynchronize",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaMalloc",
    "cudaStreamCreate",
    "cudaEventQuery",
    "cuModuleLoadData",
    "cudaEventRecord",
];

fn timeline(ops: &[Op], hosts: &[Host], scale: i64) -> Timeline {
    let mut timeline = Timeline {
        processes: vec![Process { pid: 1, label: String::new(), name: None }],
        threads: vec![Thread { process: 0, id: 1 }],
        devices: vec![Device::default()],
        ..Timeline::default()
    };
    timeline.streams =
        (0..3).map(|number| Stream { process: 0, device: 0, context: 1, number, kind: StreamKind::Unknown }).collect();
    let kernel = timeline.names.intern("work");
    let collective = timeline.names.intern("ncclDevKernel_AllReduce");
    timeline.kernels.shapes = [kernel, collective]
        .map(|name| KernelShape { name, full_name: kernel, function: name, geometry: NONE })
        .to_vec();
    for (kind, start, length) in hosts {
        let times = Interval::new(start * scale, (start + length) * scale);
        match kind {
            0..9 => {
                let name = timeline.names.intern(APIS[*kind as usize]);
                timeline.api.times.push(times);
                timeline.api.name.push(name);
                timeline.api.thread.push(0);
            }
            9 => {
                let name = timeline.names.intern("poll");
                timeline.os_calls.times.push(times);
                timeline.os_calls.name.push(name);
                timeline.os_calls.thread.push(0);
            }
            10 => {
                timeline.thread_states.times.push(times);
                timeline.thread_states.thread.push(0);
                timeline.thread_states.state.push(ThreadState::OffCpu);
            }
            _ => {
                let name = timeline.names.intern("CUPTI Buffer flush");
                timeline.overheads.times.push(times);
                timeline.overheads.kind.push(OverheadKind::Profiler);
                timeline.overheads.name.push(name);
                timeline.overheads.thread.push(if times.start % 2 == 0 { 0 } else { NONE });
            }
        }
    }
    let calls = timeline.api.len();
    for (kind, start, length, stream, call) in ops {
        let call = call.filter(|_| calls > 0).map_or(NONE, |call| (call % calls) as u32);
        let push = |columns: &mut GpuOps| {
            columns.times.push(Interval::new(start * scale, (start + length) * scale));
            columns.stream.push(*stream);
            columns.call.push(call);
        };
        match kind {
            0 | 1 => {
                push(&mut timeline.kernels.ops);
                timeline.kernels.shape.push(u32::from(*kind));
            }
            2 => {
                push(&mut timeline.copies.ops);
                timeline.copies.bytes.push(1_000);
                timeline.copies.direction.push(Direction::HostToDevice);
                timeline.copies.host_memory.push(if length % 2 == 0 {
                    HostMemory::Pageable
                } else {
                    HostMemory::Pinned
                });
            }
            3 => {
                push(&mut timeline.migrations.ops);
                timeline.migrations.bytes.push(4_096);
                timeline.migrations.direction.push(Direction::DeviceToHost);
                timeline.migrations.cause.push(MigrationCause::Fault);
                timeline.migrations.address.push(0);
            }
            4 => {
                push(&mut timeline.memsets.ops);
                timeline.memsets.bytes.push(8);
            }
            _ => push(&mut timeline.graphs.ops),
        }
    }
    timeline
}

/// In the order of precedence.
const ACCOUNTS: [Account; 6] = [
    Account::Compute,
    Account::ExposedCommunication,
    Account::ExposedCopy,
    Account::ExposedMigration,
    Account::ExposedMemset,
    Account::Idle,
];

fn device(facts: &Facts, name: &str) -> i64 {
    let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
    device.int(name).unwrap_or_else(|| panic!("device.{name} is absent"))
}

/// The accounts that one is divided into, together. Those of idle time that are absent, because nothing is known of the host,
/// hold nothing.
fn sum(facts: &Facts, breakdown: Breakdown) -> i64 {
    let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
    breakdown.accounts().filter_map(|account| device.int(account.fact())).sum()
}

/// The account of one moment, straight from the definition.
fn account_at(ops: &[Op], moment: i64) -> usize {
    let runs = |kinds: &[u8]| {
        ops.iter()
            .any(|(kind, start, length, _, _)| kinds.contains(kind) && *start <= moment && moment < start + length)
    };
    [&[0_u8, 5][..], &[1], &[2], &[3], &[4]].into_iter().position(runs).unwrap_or(5)
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = (0..6_u8, 0..120_i64, 0..25_i64, 0..3_u32, proptest::option::of(0..40_usize));
    proptest::collection::vec(op, 1..40)
}

fn hosts() -> impl Strategy<Value = Vec<Host>> {
    proptest::collection::vec((0..12_u8, -20..140_i64, 0..30_i64), 0..40)
}

/// Cases that once failed are kept beside this file and run first.
fn config() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { failure_persistence: Some(Box::new(persistence)), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn accounts_are_disjoint_and_cover_the_window(ops in ops(), hosts in hosts()) {
        let facts = extract(&timeline(&ops, &hosts, 1), &Scope::All).unwrap();
        let (first, last) = (ops.iter().map(|op| op.1).min().unwrap(), ops.iter().map(|op| op.1 + op.2).max().unwrap());
        prop_assert_eq!(device(&facts, "window_ns"), last - first);
        for (index, account) in ACCOUNTS.into_iter().enumerate() {
            let moments = (first..last).filter(|moment| account_at(&ops, *moment) == index).count() as i64;
            prop_assert_eq!(device(&facts, account.fact()), moments, "{}", account.id());
        }
        prop_assert_eq!(sum(&facts, Breakdown::CopyKind), device(&facts, "exposed_copy_ns"));
        let groups: i64 = facts.of_kind(EntityKind::CopyGroup).filter_map(|(_, group)| group.int("exposed_ns")).sum();
        prop_assert_eq!(groups, device(&facts, "exposed_copy_ns"));
    }

    #[test]
    fn idle_time_has_one_activity_and_one_trigger(ops in ops(), hosts in hosts(), scale in 1..20_000_i64) {
        let facts = extract(&timeline(&ops, &hosts, scale), &Scope::All).unwrap();
        prop_assert_eq!(sum(&facts, Breakdown::Activity), device(&facts, "idle_ns"));
        prop_assert_eq!(sum(&facts, Breakdown::Trigger), device(&facts, "idle_ns"));
        prop_assert_eq!(sum(&facts, Breakdown::Operation), device(&facts, "window_ns"));
    }

    #[test]
    fn a_narrower_window_is_accounted_for_as_well(ops in ops(), hosts in hosts(), from in 0..150_i64, length in 1..80_i64) {
        let scope = Scope::Times { start: Some(from), end: Some(from + length) };
        let (first, last) = (ops.iter().map(|op| op.1).min().unwrap(), ops.iter().map(|op| op.1 + op.2).max().unwrap());
        let window = (from.max(first))..(last.min(from + length));
        let result = extract(&timeline(&ops, &hosts, 1), &scope);
        prop_assert_eq!(result.is_err(), window.is_empty());
        let Ok(facts) = result else { return Ok(()) };
        for (index, account) in ACCOUNTS.into_iter().enumerate() {
            let moments = window.clone().filter(|moment| account_at(&ops, *moment) == index).count() as i64;
            prop_assert_eq!(device(&facts, account.fact()), moments, "{}", account.id());
        }
        prop_assert_eq!(sum(&facts, Breakdown::Activity), device(&facts, "idle_ns"));
        prop_assert_eq!(sum(&facts, Breakdown::Trigger), device(&facts, "idle_ns"));
    }
}

#[test]
fn a_wait_is_a_trigger_and_the_host_code_behind_it_an_activity() {
    // Kernel until 1 ms; the wait for it ends 9 us later, 7 ms of host code follow, then a launch of 10 us.
    let ops = [(0, 0, 1_000, 0, Some(0)), (0, 8_020, 100, 0, Some(2))];
    let hosts = [(0, -20, 10), (1, -5, 1_014), (0, 8_009, 10)];
    let facts = extract(&timeline(&ops, &hosts, 1_000), &Scope::All).unwrap();
    assert_eq!(device(&facts, "idle_ns"), 7_020_000);
    assert_eq!(device(&facts, "idle_sync_ns"), 9_000);
    assert_eq!(device(&facts, "idle_host_ns"), 7_000_000);
    assert_eq!(device(&facts, "idle_launch_ns"), 10_000);
    assert_eq!(device(&facts, "idle_inter_kernel_gap_ns"), 1_000);
    assert_eq!(device(&facts, "idle_after_sync_ns"), 7_020_000);
    // Had the host run ahead, its own 7.1 ms would still remain: the wait itself can win next to nothing.
    let ceiling = device(&facts, "overlap_ceiling_ns");
    assert!(ceiling <= 1_009_000, "{ceiling}");
}

#[test]
fn a_thread_that_does_not_run_prepares_no_launch() {
    // Between the end of a launch and the next one lie 40 us, of which the thread is off the CPU for 30, and within the call for 5.
    let ops = [(0, 0, 10, 0, Some(0)), (0, 60, 10, 0, Some(1))];
    let hosts = [(0, -20, 30), (0, 50, 10), (10, 15, 30), (10, 52, 5)];
    let facts = extract(&timeline(&ops, &hosts, 1_000), &Scope::All).unwrap();
    let told = ["idle_ns", "idle_launch_ns", "idle_blocked_ns"].map(|fact| device(&facts, fact));
    assert_eq!(told, [50_000, 20_000, 30_000]);
    assert_eq!(sum(&facts, Breakdown::Activity), 50_000);
}

#[test]
fn work_that_was_queued_blames_no_wait() {
    // Three kernels launched ahead, a few us apart on the device, while the host waits for all of them.
    let ops = [(0, 100, 50, 0, Some(0)), (0, 152, 50, 0, Some(1)), (0, 212, 50, 0, Some(2))];
    let hosts = [(0, 0, 5), (0, 6, 5), (0, 12, 5), (1, 20, 250)];
    let facts = extract(&timeline(&ops, &hosts, 1_000), &Scope::All).unwrap();
    assert_eq!(device(&facts, "idle_while_queued_ns"), 12_000);
    assert_eq!(device(&facts, "idle_after_sync_ns"), 0);
    assert_eq!(device(&facts, "idle_inter_kernel_gap_ns"), 7_000);
    assert_eq!(device(&facts, "idle_queue_ns"), 5_000);
    assert_eq!(device(&facts, "idle_queue_first_ns"), 0);
}

#[test]
fn work_from_before_the_recording_may_hold_the_first_of_a_stream() {
    // Two kernels of one stream begin 70 us after their launches returned; nothing of that stream was recorded before the first.
    let ops = [(0, 0, 10, 0, Some(0)), (0, 100, 10, 1, Some(1)), (0, 200, 10, 1, Some(2))];
    let hosts = [(0, -20, 10), (0, 20, 10), (0, 120, 10)];
    let facts = extract(&timeline(&ops, &hosts, 1_000), &Scope::All).unwrap();
    assert_eq!(device(&facts, "idle_queue_ns"), 130_000);
    assert_eq!(device(&facts, "idle_queue_first_ns"), 65_000);
}

#[test]
fn idle_time_before_a_migration_is_read_on_a_guessed_thread_and_counted_as_such() {
    // A kernel, then a migration that no call asked for, while the only thread runs host code between two calls.
    let ops = [(0, 0, 100, 0, Some(0)), (3, 400, 50, 0, None)];
    let hosts = [(0, -20, 10), (8, 600, 10)];
    let facts = extract(&timeline(&ops, &hosts, 1_000), &Scope::All).unwrap();
    assert_eq!(device(&facts, "idle_uncorrelated_ns"), 300_000);
    assert_eq!(device(&facts, "idle_host_uncorrelated_ns"), 300_000);
    assert_eq!(device(&facts, "idle_host_ns"), 300_000);
}

/// Last waves with fewer blocks than there are SMs, with more of them than SMs, and with fewer again.
const LAST_WAVES: &str = r#"
about = "Last waves."
[kernel]
few = { name = "few(float*)", run_us = 500, grid = [130, 1, 1], block = [1024, 1, 1], registers = 64 }
more = { name = "more(float*)", run_us = 700, grid = [330, 1, 1], block = [512, 1, 1], registers = 64 }
some = { name = "some(float*)", run_us = 900, grid = [250, 1, 1], block = [512, 1, 1], registers = 64 }
[[thread]]
script = [
  { repeat = { times = 20, do = [{ launch = { kernel = "few" } }, { launch = { kernel = "more" } }, { launch = { kernel = "some" } }] } },
  { sync = { api = "cudaDeviceSynchronize" } },
]
"#;

#[test]
fn each_launch_shape_has_the_last_wave_of_its_own_and_they_add_up_to_that_of_the_device() {
    let folder = temp::folder();
    let path = folder.path().join("last_waves.sqlite");
    Scenario::parse(LAST_WAVES).write(SchemaVersion::Nsys2025, &path);
    let facts = analysis::facts(&path);
    let shapes = facts.of_kind(EntityKind::LaunchShape);
    let tails: Vec<(&str, i64)> =
        shapes.filter_map(|(_, shape)| Some((shape.name(), shape.int("tail_effect_sm_ns")?))).collect();
    let of = |name: &str| tails.iter().find(|(known, _)| *known == name).map(|(_, ns)| *ns);
    // 86 of 108 SMs are empty in one round of two, and 74.
    assert!(of("few").is_some_and(|ns| ns.abs_diff(20 * 500_000 * 43 / 108) < 20_000), "{tails:?}");
    assert!(of("some").is_some_and(|ns| ns.abs_diff(20 * 900_000 * 37 / 108) < 40_000), "{tails:?}");
    assert_eq!(of("more"), Some(0));
    let sum: i64 = tails.iter().map(|(_, ns)| ns).sum();
    assert!(device(&facts, "tail_effect_sm_ns").abs_diff(sum) <= 3, "{tails:?}");
}

#[test]
fn operations_that_follow_each_other_are_ordinarily_apart_whoever_launched_them() {
    // Two kernels a microsecond apart, the second of a call that was not recorded; then one that comes late.
    let ops = [(0, 0, 100, 0, Some(0)), (0, 101, 50, 0, None), (0, 400, 50, 0, None)];
    let hosts = [(0, -20, 10)];
    let facts = extract(&timeline(&ops, &hosts, 1_000), &Scope::All).unwrap();
    assert_eq!(device(&facts, "idle_inter_kernel_gap_ns"), 1_000);
    assert_eq!(device(&facts, "idle_ns"), 250_000);
    assert_eq!(device(&facts, "idle_unknown_ns"), 249_000);
}
