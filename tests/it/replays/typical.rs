//! Gains are told of steps and rounds like all of them, where not all are played again.

use coldspot::replay::Change;
use serde_json::Value;

use super::trace::{TO_HOST, Trace};
use crate::readers::host_turns;
use crate::support::SchemaVersion;
use crate::support::project::Project;

#[test]
fn rounds_that_are_played_again_are_as_long_as_all_of_them() {
    // A value is read back after each kernel; a quarter of the kernels take five times as long as the others, a few in a row.
    let (long_us, short_us, count) = (500.0, 100.0, 600);
    let mut trace = Trace::default();
    for round in 0..count {
        let is_long = round % 40 >= 30;
        trace.launch("sweep", if is_long { long_us } else { short_us });
        trace.copy(TO_HOST, 1.0);
        trace.wait();
    }
    let mean_us = trace.host_us / f64::from(count);
    let (gain, step_ns) = trace.gain(Change::NoSync);
    let step_us = step_ns as f64 / 1e3;
    assert!((0.85..1.05).contains(&(step_us / mean_us)), "{step_us} of {mean_us}");
    // No more than what all of it is idle for, but for what another run may take longer.
    let idle_share = 1.0 - (long_us + 3.0 * short_us) / 4.0 / mean_us;
    let most = gain.ceiling_ns as f64 / step_ns as f64;
    assert!((idle_share * 0.7..idle_share * 1.5).contains(&most), "{most} of {idle_share}");
}

/// A kernel that is waited for, so often, and then so often one that takes eight times as long.
pub fn of_two_sizes(short: usize, long: usize) -> String {
    let turns = |count: usize, launch: &str| {
        format!(
            r#"{{ repeat = {{ times = {count}, do = [{{ launch = {launch} }}, {{ sync = {{ api = "cudaStreamSynchronize" }} }}] }} }},"#
        )
    };
    let both = turns(short, r#"{ kernel = "k" }"#) + &turns(long, r#"{ kernel = "k", run_us = 800 }"#);
    format!("[[thread]]\nscript = [{both}]\n")
}

/// Steps of one kernel, with host code of so many microseconds in one of them.
fn with_slow_step(host_us: i64) -> String {
    let step = |from: usize, count: usize, us: i64| {
        format!(
            r#"{{ repeat = {{ times = {count}, from = {from}, do = [{{ range = {{ name = "step {{i}}", do = [
                {{ host = {{ us = {us} }} }}, {{ launch = {{ kernel = "k" }} }}, {{ sync = {{ api = "cudaStreamSynchronize" }} }},
            ] }} }}] }} }},"#
        )
    };
    format!("[[thread]]\nscript = [{}{}{}]\n", step(0, 150, 100), step(150, 1, host_us), step(151, 20, 100))
}

fn device(threads: &str) -> Value {
    let project = Project::empty();
    host_turns::program(threads).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    project.facts()["devices"][0].clone()
}

#[test]
fn of_rounds_of_two_sizes_one_after_the_other_those_are_played_that_take_more_time() {
    let told = |short: usize, long: usize| {
        let device = device(&of_two_sizes(short, long));
        let step_us = device["replay_recorded_step_ns"].as_f64().unwrap_or(0.0) / 1e3;
        let share = (device["replay_alike_share"].as_f64().unwrap_or(1.0) * 100.0).round() as i64;
        (step_us as i64 / 100 * 100, device["replay_of_step_count"].as_i64().unwrap_or(0) / 10 * 10, share)
    };
    assert_eq!(told(400, 30), (100, 400, 64));
    assert_eq!(told(200, 100), (800, 100, 79));
    assert_eq!(told(400, 10).2, 100, "few");
}

#[test]
fn a_step_that_is_far_slower_is_none_of_those_that_are_played() {
    let told = |host_us: i64| {
        let device = device(&with_slow_step(host_us));
        let step_us = device["replay_recorded_step_ns"].as_f64().unwrap_or(0.0) / 1e3;
        let is_told = !device["steady_steps_expected_gain_ns"].is_null();
        (step_us, device["replay_alike_share"].as_f64(), is_told)
    };
    let (plain_us, share, is_told) = told(100);
    assert!(share.is_none() && is_told, "{share:?}");
    let (step_us, share, is_told) = told(100_000);
    assert!((step_us - plain_us).abs() < 0.01 * plain_us, "{step_us} and {plain_us}");
    assert!(share.is_some_and(|share| (0.2..0.4).contains(&share)) && !is_told, "{share:?}");
    let (step_us, share, is_told) = told(300);
    assert!(share.is_none() && is_told && step_us < 1.1 * plain_us, "{step_us}, {share:?}");
}

#[test]
fn launches_of_one_length_that_follow_those_of_another_are_told_apart() {
    let told = |threads: &str| {
        let project = Project::empty();
        host_turns::program(threads).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        let kernel = project.facts()["kernels"][0].clone();
        ["one_grid_first_count", "one_grid_first_ns", "one_grid_second_count", "one_grid_second_ns"]
            .map(|name| kernel[name].as_i64())
    };
    assert_eq!(told(&of_two_sizes(400, 30)), [Some(400), Some(100_000), Some(30), Some(800_000)]);
    assert_eq!(told(&of_two_sizes(400, 10)), [None; 4]);
}
