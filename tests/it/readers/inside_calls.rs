//! What calls of CUDA hold: locks within launches of several threads, what kernels print within waits, and code that is loaded.

use std::fmt::Write;

use serde_json::Value;

use crate::support::project::Project;
use crate::support::{Scenario, SchemaVersion};

const KERNEL: &str =
    "about = \"Inside of calls.\"\n[kernel]\nk = { run_us = 2, grid = [8, 1, 1], block = [256, 1, 1] }\n";

/// The facts of the GPU of a program.
fn of(program: &Scenario) -> Value {
    let project = Project::empty();
    program.write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    project.facts()["devices"][0].clone()
}

fn exact(text: &mut String, what: &str, name: &str, (start_us, end_us): (i64, i64), correlation: i64) {
    let (start, end) = (1_000 * start_us, 1_000 * end_us);
    writeln!(text, "[[exact]]\nwhat = \"{what}\"\nname = \"{name}\"\nstart_ns = {start}\nend_ns = {end}").unwrap();
    if correlation > 0 {
        writeln!(text, "correlation = {correlation}").unwrap();
    }
}

/// Two threads that launch at the same time, each launch of which asks for a lock for so long, by this call; one of them goes on alone.
pub fn contending(call: &str, lock_us: i64) -> Scenario {
    let mut text = format!(
        "{KERNEL}[[thread]]\nscript = []\n[[thread]]\nscript = [{{ repeat = {{ times = 300, do = [{{ launch = {{ kernel = \"k\", stream = 14, api_us = 40 }} }}] }} }}]\n"
    );
    for launch in 0..250 {
        let start = 1_000 + 40 * launch;
        exact(&mut text, "call", "cudaLaunchKernel_v7000", (start, start + 39), 10_000 + launch);
        exact(&mut text, "os", call, (start + 2, start + 2 + lock_us), 0);
        exact(&mut text, "kernel", "k", (start + 42, start + 44), 10_000 + launch);
    }
    Scenario::parse(&text)
}

/// Waits that go on for so long after the GPU is done, within which a file is flushed.
pub fn printing(call: &str, tail_us: i64) -> Scenario {
    let mut text = KERNEL.to_owned();
    for round in 0..30 {
        let start = 1_000 + 2_000 * round;
        exact(&mut text, "call", "cudaLaunchKernel_v7000", (start, start + 5), 10 + round);
        exact(&mut text, "kernel", "k", (start + 8, start + 308), 10 + round);
        exact(&mut text, "call", "cudaStreamSynchronize_v3020", (start + 10, start + 308 + tail_us), 0);
        exact(&mut text, "os", call, (start + 300 + tail_us, start + 302 + tail_us), 0);
    }
    Scenario::parse(&text)
}

/// Steps that load code, launch something so long after, and unload it.
fn loading(behind_us: i64) -> Scenario {
    let step = format!(
        "{{ call = {{ api = \"cuModuleLoadData\", us = 10 }} }}, {{ host = {{ us = {behind_us} }} }}, {{ launch = {{ kernel = \"k\" }} }}, {{ sync = {{ api = \"cudaStreamSynchronize\" }} }}, {{ call = {{ api = \"cuModuleUnload\", us = 3 }} }}"
    );
    let range = format!("{{ range = {{ name = \"request\", do = [{step}] }} }}");
    Scenario::parse(&format!("{KERNEL}[[thread]]\nscript = [{{ repeat = {{ times = 50, do = [{range}] }} }}]\n"))
}

#[test]
fn launches_of_threads_that_wait_for_a_lock_within_them_contend() {
    let told = of(&contending("pthread_mutex_lock", 30));
    let int = |name: &str| told[name].as_i64().unwrap_or(-1);
    assert_eq!(int("launching_thread_count"), 2, "{told:#}");
    let count = int("contended_launch_count");
    assert!((495..=501).contains(&count), "{count}");
    assert_eq!(told["contended_launch_call"], "cudaLaunchKernel");
    assert_eq!(told["contended_launch_lock_call"], "pthread_mutex_lock");
    // The first launch has ended as the window begins.
    assert_eq!(int("contended_launch_lock_ns"), 249 * 30_000);
    assert_eq!(int("lone_launch_mean_ns"), 40_000);
    // Eight blocks of 256 threads take a hundredth of the GPU.
    let (won_ns, window_ns) = (int("contended_launch_won_ns"), int("window_ns"));
    assert!(won_ns < window_ns && won_ns > window_ns * 99 / 100, "{won_ns} of {window_ns}");
    let told = of(&contending("read", 30));
    assert!(told["contended_launch_lock_ns"].is_null() && told["contended_launch_count"].is_i64(), "{told:#}");
}

#[test]
fn a_wait_in_which_a_file_is_flushed_prints() {
    let of_call = |call: &str| {
        let told = of(&printing(call, 800));
        let int = |name: &str| told[name].as_i64().unwrap_or(-1);
        (int("print_wait_count"), int("print_wait_compute_ns"), int("idle_print_ns"), int("idle_sync_ns"))
    };
    // The last wait ends after the window.
    assert_eq!(of_call("fflush"), (30, 30 * 298_000, 29 * 800_000, 0));
    assert_eq!(of_call("poll"), (-1, -1, 0, 29 * 800_000));
}

#[test]
fn what_follows_right_behind_a_call_that_loads_is_loading() {
    let of_steps = |behind_us: i64| {
        let told = of(&loading(behind_us));
        let int = |name: &str| told[name].as_i64().unwrap_or(-1);
        assert_eq!((int("loading_step_count"), int("code_reload_count")), (50, 49), "{told:#}");
        (int("idle_load_ns") / 50_000, int("code_reload_idle_ns") / 50_000, int("idle_load_after_sync_ns") / 50_000)
    };
    let (close, far) = (of_steps(12), of_steps(60));
    assert!(close.0 >= 23 && close.1 >= 23 && close.2 >= 23, "{close:?}");
    assert!(far.0 < 15 && far.1 < 15, "{far:?}");
}
