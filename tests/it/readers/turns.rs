//! Work that takes turns at exact times: of streams, of GPUs, behind the blocks of another kernel; and copies that another GPU waits for.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::support::project::Project;
use crate::support::{Scenario, SchemaVersion};

const KERNELS: &str = "
[kernel]
k = { run_us = 20, grid = [54, 1, 1], block = [256, 1, 1], registers = 32 }
large = { run_us = 200, grid = [8640, 1, 1], block = [256, 1, 1], registers = 32 }
small = { run_us = 12, grid = [16, 1, 1], block = [256, 1, 1], registers = 32 }
";

/// Events at exact times, in microseconds.
struct Exact(String);

impl Exact {
    /// Of so many GPUs and processes, each of which knows all GPUs.
    fn new(gpu_count: usize, process_count: usize) -> Self {
        let mut text = format!("about = \"Turns.\"\n{KERNELS}");
        let ids: Vec<usize> = (0..gpu_count).collect();
        ids.iter().for_each(|id| writeln!(text, "[[gpu]]\nid = {id}").unwrap());
        for process in 0..process_count {
            writeln!(text, "[[process]]\npid = {}\nname = \"run\"\ngpus = {ids:?}", 100 + process).unwrap();
        }
        Self(text)
    }

    fn add(&mut self, what: &str, name: &str, (start_us, end_us): (i64, i64), more: &str) {
        let (start, end) = (1_000 * start_us, 1_000 * end_us);
        writeln!(self.0, "[[exact]]\nwhat = \"{what}\"\nname = \"{name}\"\nstart_ns = {start}\nend_ns = {end}\n{more}")
            .unwrap();
    }

    fn scenario(&self) -> Scenario {
        Scenario::parse(&self.0)
    }
}

fn devices(scenario: &Scenario) -> Value {
    let project = Project::empty();
    scenario.write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    project.facts()["devices"].clone()
}

/// Two streams of a process whose kernels run one after the other, and waits of so manieth a process, which has run a kernel, between
/// their launches.
pub fn in_turns(waiting: usize) -> Scenario {
    let mut exact = Exact::new(1, 2);
    let more = "process = 1\ncorrelation = 1";
    exact.add("call", "cudaLaunchKernel", (500, 503), more);
    exact.add("kernel", "k", (510, 530), &format!("{more}\nstream = 13"));
    for turn in 0..20 {
        let (stream, start) = (13 + turn % 2, 1_000 + 40 * turn);
        let more = format!("correlation = {}", turn + 2);
        exact.add("call", "cudaLaunchKernel", (start - 5, start - 2), &more);
        exact.add("kernel", "k", (start, start + 20), &format!("{more}\nstream = {stream}"));
        exact.add("call", "cudaStreamSynchronize", (start - 1, start + 21), &format!("process = {waiting}"));
    }
    exact.scenario()
}

/// Kernels that run one after the other, each asked for while the one before it runs: of so many processes, each in its default stream or
/// in a stream of its own.
fn slices(process_count: usize, is_default: bool) -> Scenario {
    let mut exact = Exact::new(1, process_count);
    for turn in 0..20 {
        let (process, start) = (turn as usize % process_count, 1_000 + 40 * turn);
        let stream = if is_default { 7 } else { 13 + turn % 2 };
        let more = format!("process = {process}\ncorrelation = {}", turn + 1);
        exact.add("call", "cudaLaunchKernel", (start - 45, start - 42), &more);
        exact.add("kernel", "k", (start, start + 20), &format!("{more}\nstream = {stream}"));
        exact.add("call", "cudaStreamSynchronize", (start - 41, start + 21), &format!("process = {process}"));
    }
    exact.scenario()
}

/// Two GPUs that run one after the other what was asked for long before, so long before the other ends.
pub fn gpus_in_turns(beside_us: i64) -> Scenario {
    let mut exact = Exact::new(2, 1);
    for turn in 0..12 {
        let more = format!("correlation = {}", turn + 1);
        exact.add("call", "cudaLaunchKernel", (500 + 2 * turn, 501 + 2 * turn), &more);
        let (start, more) = (1_000 + 100 * turn, format!("{more}\ndevice = {}\nstream = 13", turn % 2));
        exact.add("kernel", "k", (start, start + 95 + beside_us), &more);
    }
    exact.scenario()
}

/// Copies to the host, each followed by one of so many bytes to another GPU, behind this call.
pub fn staged(call: &str, bytes: i64) -> Scenario {
    let mut exact = Exact::new(2, 1);
    for round in 0..4 {
        let at = 1_000 + 400 * round;
        let more = |index: i64, device: i64, bytes: i64| {
            format!("correlation = {}\ndevice = {device}\nstream = {}\nbytes = {bytes}", 2 * round + index, 13 + device)
        };
        let (first, second) = (more(1, 0, 1 << 20), more(2, 1, bytes));
        exact.add("call", "cudaMemcpyAsync", (at - 20, at - 18), &first);
        exact.add("d2h_pinned", "", (at, at + 100), &first);
        exact.add("call", call, (at - 10, at - 9), "");
        exact.add("call", "cudaMemcpyAsync", (at - 8, at - 6), &second);
        exact.add("h2d_pinned", "", (at + 102, at + 202), &second);
    }
    exact.scenario()
}

/// Small kernels that begin so long before a large one of another stream ends, while the host waits for them; and the call before their
/// launch.
pub fn behind_blocks(before_end_us: i64, call: &str) -> Scenario {
    let mut exact = Exact::new(1, 1);
    for round in 0..12 {
        let at = 1_000 + 400 * round;
        let (large, small) = (format!("correlation = {}", 2 * round + 1), format!("correlation = {}", 2 * round + 2));
        exact.add("call", "cudaLaunchKernel", (at, at + 3), &large);
        exact.add("kernel", "large", (at + 5, at + 205), &format!("{large}\nstream = 13"));
        exact.add("call", call, (at + 3, at + 4), "");
        exact.add("call", "cudaLaunchKernel", (at + 4, at + 6), &small);
        let start = at + 205 - before_end_us;
        exact.add("kernel", "small", (start, (start + 12).max(at + 207)), &format!("{small}\nstream = 14"));
        exact.add("call", "cudaStreamSynchronize", (at + 7, at + 220), "");
    }
    exact.scenario()
}

/// Waits for the device in which the thread is in this call of the OS.
pub fn sleeping(os_call: &str) -> Scenario {
    let mut exact = Exact::new(1, 1);
    for round in 0..60 {
        let (at, more) = (1_000 + 100 * round, format!("correlation = {}", round + 1));
        exact.add("call", "cudaLaunchKernel", (at, at + 3), &more);
        exact.add("kernel", "k", (at + 5, at + 25), &format!("{more}\nstream = 13"));
        exact.add("call", "cudaEventSynchronize", (at + 4, at + 50), "");
        exact.add("os", os_call, (at + 8, at + 45), "");
    }
    exact.scenario()
}

#[test]
fn waits_of_another_process_keep_no_streams_apart() {
    let told = |waiting| devices(&in_turns(waiting))[0]["host_wait_turn_count"].as_i64().unwrap();
    assert!(told(0) >= 9, "{}", told(0));
    assert_eq!(told(1), 0);
}

#[test]
fn processes_get_the_gpu_in_turns_whatever_their_hosts_wait_for() {
    let told = |process_count, is_default| {
        let device = devices(&slices(process_count, is_default))[0].clone();
        let facts = ["process_turn_count", "process_concurrent_ns", "process_turn_ns", "host_wait_turn_count"];
        facts.map(|fact| device[fact].clone())
    };
    assert_eq!(told(2, false), [json!(19), json!(0), json!(200_000), json!(0)]);
    assert_eq!(told(2, true), [json!(19), json!(0), json!(200_000), json!(0)]);
    // Two of three run beside the one that has most.
    assert_eq!(told(3, true)[2], json!(260_000));
    let [turns, .., host_waits] = told(1, false);
    assert!(turns.is_null() && host_waits.as_i64().unwrap() >= 9, "{host_waits}");
}

#[test]
fn gpus_take_turns_where_one_waits_while_the_other_runs() {
    let told = |beside_us| {
        let device = devices(&gpus_in_turns(beside_us))[0].clone();
        ["peer_turn_count", "peer_turn_ns", "peer_concurrent_ns"].map(|fact| device[fact].clone())
    };
    assert_eq!(told(0), [json!(5), json!(5 * 95_000), json!(0)]);
    // From kernel to kernel no more than 15 us are left.
    let [turns, _, concurrent_ns] = told(90);
    assert_eq!((turns, concurrent_ns.as_i64().unwrap() > 500_000), (json!(0), true));
    assert!(devices(&in_turns(0))[0]["peer_turn_count"].is_null(), "one GPU");
}

#[test]
fn copies_that_another_gpu_waits_for_may_go_there_through_the_host() {
    let told = |call: &str, bytes| {
        let devices = devices(&staged(call, bytes));
        [0, 1].map(|device| devices[device]["staged_copy_count"].clone())
    };
    let mebibyte = 1 << 20;
    assert_eq!(told("cudaStreamWaitEvent", mebibyte), [json!(4), Value::Null]);
    assert_eq!(told("cudaStreamWaitEvent", mebibyte - 1), [Value::Null, Value::Null], "other bytes");
    assert_eq!(told("cudaEventRecord", mebibyte), [Value::Null, Value::Null], "nothing waits");
}

#[test]
fn small_kernels_that_begin_with_the_last_blocks_of_another_wait_for_these() {
    let told = |before_end_us, call: &str| devices(&behind_blocks(before_end_us, call))[0]["queued_behind_ns"].clone();
    // In the first round nothing tells that their stream is empty.
    assert_eq!(told(10, "cudaEventRecord"), json!(11 * 189_000));
    assert_eq!(told(41, "cudaEventRecord"), Value::Null, "before the last blocks");
    assert_eq!(told(10, "cudaStreamWaitEvent"), Value::Null, "an event may hold them");
}

#[test]
fn a_thread_that_waits_for_the_gpu_in_the_system_sleeps() {
    let told = |os_call: &str| {
        let project = Project::empty();
        sleeping(os_call).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        project.facts()["sync_groups"][0]["slept_count"].clone()
    };
    assert_eq!(told("sem_wait"), json!(60));
    assert_eq!(told("read"), json!(0));
}

/// A thread that is off the CPU for the same time in each round sleeps, unless another thread calls CUDA meanwhile: it waits for that.
#[test]
fn a_thread_that_waits_for_another_one_that_calls_cuda_does_not_sleep() {
    let told = |other: &str| {
        let text = format!(
            r#"
            about = "The launching thread is off the CPU in each round."
            [kernel]
            push = {{ name = "void push<float>(float*, int)", run_us = 300, grid = [2160, 1, 1], block = [256, 1, 1] }}
            [[thread]]
            script = [
              {{ repeat = {{ times = 30, do = [{{ off = {{ us = 1100 }} }}, {{ host = {{ us = 300 }} }}, {{ launch = {{ kernel = "push" }} }}] }} }},
              {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
            ]
            [[thread]]
            script = [{{ repeat = {{ times = 50, do = [{other}, {{ host = {{ us = 400 }} }}] }} }}]
            "#
        );
        let project = Project::empty();
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        project.facts()["devices"][0]["idle_sleep_count"].clone()
    };
    assert!(told("{ host = { us = 400 } }").as_i64() >= Some(28));
    assert_eq!(told(r#"{ call = { api = "cudaEventRecord", us = 400 } }"#), Value::Null);
}
