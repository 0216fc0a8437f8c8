//! What is said of the time outside of the GPU's work.

use super::*;
use crate::facts::EntityKind;

fn recorded() -> (Facts, EntityId) {
    let mut facts = Facts::default();
    let run = facts.add(EntityKind::Run, "", &[]);
    facts.get_mut(run).set("duration_ns", 10_000_000_000_i64);
    let device = facts.add(EntityKind::Device, "gpu0", &[run]);
    let own = facts.get_mut(device);
    own.set("window_ns", 1_000_000_000_i64);
    own.set("outside_before_ns", 6_000_000_000_i64);
    own.set("outside_after_ns", 3_000_000_000_i64);
    own.set("outside_call", "cudaMalloc");
    own.set("outside_call_ns", 900_000_000_i64);
    (facts, device)
}

#[test]
fn what_lies_outside_is_told_with_what_took_it() {
    let (mut facts, device) = recorded();
    facts.get_mut(device).set("outside_host_ns", 7_200_000_000_i64);
    facts.get_mut(device).set("outside_function", "fill");
    facts.get_mut(device).set("outside_function_share", 0.5);
    let told = |facts: &Facts| outside(facts, device).map(|words| words.plain());
    assert_eq!(
        told(&facts).as_deref(),
        Some(
            "Events span 10 s: 6 s before the GPU's first work, 3 s after its last. Of the launching thread there: \
             7.2 s in host code with 50 % of its CPU samples in fill, 900 ms in cudaMalloc."
        )
    );
    facts.get_mut(device).set("outside_second_call", "cudaFreeHost");
    facts.get_mut(device).set("outside_second_call_ns", 900_000_000_i64);
    assert!(told(&facts).is_some_and(|words| words.ends_with(", 900 ms in cudaMalloc, 900 ms in cudaFreeHost.")));
    facts.get_mut(device).set("outside_second_call_ns", 899_000_000_i64);
    assert!(told(&facts).is_some_and(|words| words.ends_with(", 900 ms in cudaMalloc.")));
    facts.get_mut(device).set("outside_call_ns", 899_000_000_i64);
    assert!(told(&facts).is_some_and(|words| words.ends_with("samples in fill.")));
    facts.get_mut(device).set("outside_call", "hipStreamBeginCapture");
    facts.get_mut(device).set("outside_call_ns", 900_000_000_i64);
    assert!(
        told(&facts)
            .is_some_and(|words| { words.ends_with(", 900 ms in recording a graph (from hipStreamBeginCapture on).") })
    );
    facts.get_mut(device).set("outside_before_ns", 500_000_000_i64);
    facts.get_mut(device).set("outside_after_ns", 500_000_000_i64);
    assert_eq!(told(&facts), None);
}

#[test]
fn whose_time_it_is_and_who_calls_what_takes_it_is_told() {
    let (mut facts, device) = recorded();
    let own = facts.get_mut(device);
    own.set("outside_host_ns", 7_200_000_000_i64);
    own.set("outside_function", "__random");
    own.set("outside_function_share", 0.5);
    own.set("outside_function_caller", "main");
    own.set("is_outside_of_first_caller", true);
    let told = outside(&facts, device).map_or_else(String::new, |words| words.plain());
    let thread = "Of the thread that called CUDA first, there:";
    assert!(
        told.contains(&format!(
            "{thread} 7.2 s in host code with 50 % of its CPU samples in __random, called by main, "
        ))
    );
    let own = facts.get_mut(device);
    own.set("outside_module", "app");
    own.set("outside_module_share", 0.9);
    let told = outside(&facts, device).map_or_else(String::new, |words| words.plain());
    assert!(told.contains("with 90 % of its CPU samples in app (50 % in __random, called by main)"), "{told}");
}

#[test]
fn it_comes_first_where_the_first_finding_gains_little_of_it() {
    let (mut facts, device) = recorded();
    let told = |facts: &Facts| outside_first(facts, device, None, true).map(|words| words.plain());
    let begin = "90 % of the 10 s that were recorded lie outside of the GPU's work, ";
    assert_eq!(told(&facts), Some(format!("{begin}900 ms of it in cudaMalloc. ")));
    facts.get_mut(device).set("outside_call", "cudaHostAlloc");
    let locks = "of it in cudaHostAlloc, which locks pages of the host";
    assert_eq!(told(&facts), Some(format!("{begin}900 ms {locks}. ")));
    facts.get_mut(device).set("outside_call_ns", 3_600_000_000_i64);
    assert_eq!(told(&facts), Some(format!("{begin}3.6 s {locks}: look there first. ")));
    // The first call sets CUDA up as well: how much of it is locking pages nothing tells.
    facts.get_mut(device).set("does_outside_call_set_up", true);
    let sets_up = "of it in cudaHostAlloc (which sets CUDA up, and locks pages of the host)";
    assert_eq!(told(&facts), Some(format!("{begin}3.6 s {sets_up}. ")));
    facts.get_mut(device).set("does_outside_call_set_up", false);
    // No finding tells what to look at.
    let unfound = |facts: &Facts| outside_first(facts, device, None, false).map(|words| words.plain());
    assert_eq!(unfound(&facts), Some(format!("{begin}3.6 s {locks}. ")));
    facts.get_mut(device).set("repeat_count", REPEATED);
    assert_eq!(unfound(&facts), Some(format!("{begin}3.6 s {locks}. ")));
    facts.get_mut(device).set("outside_after_ns", 1_999_000_000_i64);
    assert!(unfound(&facts).is_none() && told(&facts).is_some());
    facts.get_mut(device).set("outside_after_ns", 3_000_000_000_i64);
    facts.get_mut(device).set("repeat_count", 1_i64);
    let run = facts.of_kind(EntityKind::Run).next().map(|(id, _)| id).unwrap();
    facts.get_mut(run).set("duration_ns", 249_999_999_i64);
    facts.get_mut(device).set("outside_before_ns", 249_999_000_i64);
    facts.get_mut(device).set("outside_after_ns", 0_i64);
    facts.get_mut(device).set("outside_call_ns", 200_000_000_i64);
    assert!(told(&facts).is_some_and(|words| words.ends_with("which locks pages of the host. ")));
    facts.get_mut(run).set("duration_ns", 10_000_000_000_i64);
    facts.get_mut(device).set("outside_before_ns", 6_000_000_000_i64);
    facts.get_mut(device).set("outside_after_ns", 3_000_000_000_i64);
    facts.get_mut(device).set("outside_call_ns", 3_599_000_000_i64);
    assert_eq!(told(&facts), Some(format!("{begin}3.6 s {locks}. ")));
    facts.get_mut(device).set("repeat_count", REPEATED);
    assert_eq!(told(&facts), None);
    facts.get_mut(device).set("repeat_count", REPEATED - 1);
    assert!(told(&facts).is_some());
    facts.get_mut(device).set("outside_host_ns", 4_000_000_000_i64);
    assert_eq!(told(&facts), Some(format!("{begin}4 s of it in host code: look there first. ")));
    facts.get_mut(device).set("outside_function", "fill");
    facts.get_mut(device).set("outside_function_share", 0.4);
    assert_eq!(
        told(&facts),
        Some(format!("{begin}4 s of it in host code with 40 % of its CPU samples in fill: look there first. "))
    );
    facts.get_mut(device).set("outside_blocked_call", "getc");
    facts.get_mut(device).set("outside_blocked_call_ns", 4_100_000_000_i64);
    assert_eq!(told(&facts), Some(format!("{begin}4.1 s of it in getc: look there first. ")));
    facts.get_mut(device).set("outside_before_ns", 2_000_000_000_i64);
    facts.get_mut(device).set("outside_after_ns", 2_999_000_000_i64);
    assert_eq!(told(&facts), None);
}

#[test]
fn beside_many_times_as_much_that_has_a_name_a_gain_is_little() {
    assert!(is_little(49.0, 1_000.0, 500.0, None));
    assert!(!is_little(50.0, 1_000.0, 900.0, None));
    assert!(is_little(100.0, 1_000.0, 800.0, Some(500)));
    assert!(!is_little(100.0, 1_000.0, 800.0, Some(499)));
    assert!(!is_little(100.0, 1_000.0, 799.0, Some(500)));
}

#[test]
fn beside_too_little_work_it_is_told_where_it_has_a_name() {
    let (mut facts, device) = recorded();
    let told = |facts: &Facts| outside_named(facts, device).map(|words| words.plain());
    facts.get_mut(device).set("outside_host_ns", 7_200_000_000_i64);
    let unnamed = "90 % of the 10 s that were recorded lie outside of the GPU's work, 7.2 s of it in host code.";
    assert_eq!(told(&facts).as_deref(), Some(unnamed));
    facts.get_mut(device).set("outside_after_ns", 2_999_000_000_i64);
    assert_eq!(told(&facts), None);
    facts.get_mut(device).set("outside_after_ns", 3_000_000_000_i64);
    facts.get_mut(device).set("outside_function", "fill");
    facts.get_mut(device).set("outside_function_share", 0.4);
    let words = "90 % of the 10 s that were recorded lie outside of the GPU's work, 7.2 s of it in host code with 40 % of its CPU samples in fill.";
    assert_eq!(told(&facts).as_deref(), Some(words));
    facts.get_mut(device).set("outside_host_ns", 800_000_000_i64);
    assert_eq!(told(&facts), None);
    facts.get_mut(device).set("outside_range", "load");
    facts.get_mut(device).set("outside_range_ns", 7_000_000_000_i64);
    assert!(told(&facts).is_some_and(|words| words.ends_with("7 s of it in the range load.")));
    facts.get_mut(device).set("outside_before_ns", 1_999_000_000_i64);
    facts.get_mut(device).set("outside_range_ns", 3_000_000_000_i64);
    assert_eq!(told(&facts), None, "of less than half, nobody has to know");
}

#[test]
fn a_file_is_told_as_one_with_the_function_that_holds_most() {
    let (mut facts, device) = recorded();
    let own = facts.get_mut(device);
    own.set("outside_host_ns", 7_200_000_000_i64);
    own.set("outside_module", "main");
    own.set("outside_module_share", 0.67);
    own.set("is_outside_module_program", true);
    let told = |facts: &Facts| outside(facts, device).map_or_else(String::new, |words| words.plain());
    let begin = "7.2 s in host code with 67 % of its CPU samples in";
    let words = told(&facts);
    assert!(words.contains(&format!("{begin} the program's own binary main, ")), "{words}");
    facts.get_mut(device).set("outside_function", "write_png");
    facts.get_mut(device).set("outside_function_share", 0.32);
    let words = told(&facts);
    assert!(words.contains(&format!("{begin} the program's own binary main (32 % in write_png), ")), "{words}");
    facts.get_mut(device).set("is_outside_module_program", false);
    assert!(told(&facts).contains(&format!("{begin} main (32 % ")));
}

#[test]
fn it_is_told_whose_time_it_is() {
    let (mut facts, device) = recorded();
    let told = |facts: &Facts| outside(facts, device).map_or_else(String::new, |words| words.plain());
    assert!(told(&facts).contains(" Of the launching thread there: 900 ms in cudaMalloc."));
    facts.get_mut(device).set("is_outside_of_first_caller", true);
    assert!(told(&facts).contains(" Of the thread that called CUDA first, there: 900 ms in cudaMalloc."));
}

#[test]
fn without_calls_of_the_os_it_may_wait() {
    let (mut facts, device) = recorded();
    let own = facts.get_mut(device);
    own.set("outside_host_ns", 7_200_000_000_i64);
    own.set("os_runtime_captured", false);
    own.set("scheduler_captured", false);
    let told = |facts: &Facts| outside_first(facts, device, None, true).map_or_else(String::new, |words| words.plain());
    let words = ", 7.2 s of it in no CUDA call (calls of the OS were not recorded): look there first. ";
    assert!(told(&facts).ends_with(words), "{}", told(&facts));
    facts.get_mut(device).set("scheduler_captured", true);
    assert!(told(&facts).ends_with("7.2 s of it in host code: look there first. "));
}

#[test]
fn an_import_before_steps_that_repeat_is_start_up() {
    let (mut facts, device) = recorded();
    let run = facts.of_kind(EntityKind::Run).next().map(|(id, _)| id).unwrap();
    facts.get_mut(run).set("framework", "pytorch");
    let own = facts.get_mut(device);
    own.set("outside_host_ns", 7_200_000_000_i64);
    own.set("repeat_count", REPEATED);
    own.set("step_count", REPEATED);
    own.set("outside_before_ns", 8_000_000_001_i64);
    own.set("outside_after_ns", 999_999_999_i64);
    let leads = |facts: &Facts| outside_first(facts, device, None, true).is_some();
    assert!(!leads(&facts));
    // A range names it, the framework is none that is imported, or it takes longer.
    facts.get_mut(device).set("outside_range", "load");
    facts.get_mut(device).set("outside_range_ns", 7_000_000_000_i64);
    assert!(leads(&facts));
    facts.get_mut(device).set("outside_range_ns", 0_i64);
    assert!(!leads(&facts));
    facts.get_mut(run).set("framework", "openacc");
    assert!(leads(&facts));
    facts.get_mut(run).set("framework", "cupy");
    assert!(leads(&facts));
    facts.get_mut(run).set("framework", "pytorch");
    facts.get_mut(run).set("duration_ns", 11_000_000_000_i64);
    facts.get_mut(device).set("outside_before_ns", 9_999_999_999_i64);
    assert!(!leads(&facts));
    facts.get_mut(device).set("outside_before_ns", 10_000_000_000_i64);
    assert!(leads(&facts));
    // What lies after the work is no import.
    facts.get_mut(device).set("outside_before_ns", 8_000_000_000_i64);
    facts.get_mut(device).set("outside_after_ns", 1_000_000_000_i64);
    assert!(leads(&facts));
}

#[test]
fn what_the_profiler_takes_is_no_part_of_it() {
    let (mut facts, device) = recorded();
    let told = |facts: &Facts| outside_first(facts, device, None, true).map(|words| words.plain());
    facts.get_mut(device).set("outside_host_ns", 40_000_000_i64);
    facts.get_mut(device).set("outside_profiler_ns", 8_900_000_000_i64);
    // 100 ms are left outside of 1.1 s.
    assert_eq!(told(&facts), None);
    facts.get_mut(device).set("outside_profiler_ns", 7_000_000_000_i64);
    facts.get_mut(device).set("outside_host_ns", 1_500_000_000_i64);
    let words = "67 % of the 3 s that were recorded beside the profiler's own work lie outside of the GPU's work, 1.5 s of it in host code: look there first. ";
    assert_eq!(told(&facts).as_deref(), Some(words));
    facts.get_mut(device).set("outside_profiler_ns", 10_000_000_000_i64);
    assert_eq!(told(&facts), None);
}

#[test]
fn what_a_trace_does_not_hold_is_the_profilers() {
    let (mut facts, device) = recorded();
    facts.get_mut(device).set("outside_unknown_ns", 8_900_000_000_i64);
    let told = |facts: &Facts| outside_first(facts, device, None, true).map(|words| words.plain());
    assert!(told(&facts).is_some_and(|words| words.starts_with("90 % of the 10 s")));
    facts.get_mut(device).set("outside_untraced_ns", 8_900_000_000_i64);
    assert_eq!(told(&facts), None);
}

#[test]
fn a_pause_of_most_of_the_recording_is_told_whatever_is_known_of_it() {
    let (mut facts, device) = recorded();
    let own = facts.get_mut(device);
    own.set("outside_call_ns", 0_i64);
    own.set("outside_unknown_ns", 8_000_000_000_i64);
    own.set("repeat_count", 100_i64);
    own.set("pause_ns", 4_999_000_000_i64);
    own.set("pause_start_ns", 1_000_000_000_i64);
    let told = |facts: &Facts| outside_first(facts, device, None, true).map(|words| words.plain());
    assert_eq!(told(&facts), None);
    facts.get_mut(device).set("pause_ns", 5_000_000_000_i64);
    let words = "90 % of the 10 s that were recorded lie outside of the work judged here, 5 s in one pause of the GPU; what the launching thread does there was not recorded: look there first. ";
    assert_eq!(told(&facts).as_deref(), Some(words));
    facts.get_mut(device).set("is_pause_before_record", true);
    assert_eq!(told(&facts), None);
}

#[test]
fn of_several_gpus_it_is_what_lies_outside_of_the_work_of_all() {
    let (mut facts, device) = recorded();
    let run = facts.of_kind(EntityKind::Run).next().map(|(id, _)| id).unwrap();
    facts.get_mut(run).set("device_count", 2_i64);
    facts.get_mut(device).set("outside_host_ns", 4_000_000_000_i64);
    let told = outside(&facts, device).map(|words| words.plain()).unwrap_or_default();
    assert!(told.starts_with("Events span 10 s: 6 s before the first work of any GPU, 3 s after the last."));
    let told = outside_first(&facts, device, None, true).map(|words| words.plain()).unwrap_or_default();
    assert!(told.starts_with("90 % of the 10 s that were recorded lie outside of the work of all GPUs, 4 s"));
}

#[test]
fn a_short_time_without_a_name_is_start_up() {
    let (mut facts, device) = recorded();
    facts.get_mut(device).set("outside_profiler_ns", 8_750_000_001_i64);
    facts.get_mut(device).set("outside_host_ns", 200_000_000_i64);
    facts.get_mut(device).set("outside_call_ns", 0_i64);
    let run = facts.of_kind(EntityKind::Run).next().map(|(id, _)| id).unwrap();
    facts.get_mut(run).set("duration_ns", 9_100_000_000_i64);
    let told = |facts: &Facts| outside_first(facts, device, None, true).map_or(String::new(), |words| words.plain());
    assert!(told(&facts).ends_with("200 ms of it in host code. "));
    facts.get_mut(device).set("outside_profiler_ns", 8_750_000_000_i64);
    assert!(told(&facts).ends_with("200 ms of it in host code: look there first. "));
}

#[test]
fn what_is_not_told_of_the_profiler_is_not_taken_off() {
    let (mut facts, device) = recorded();
    let told = |facts: &Facts| outside_first(facts, device, None, true).map(|words| words.plain()).unwrap();
    facts.get_mut(device).set("outside_profiler_ns", 899_000_000_i64);
    assert!(told(&facts).starts_with("90 % of the 10 s that were recorded lie"), "{}", told(&facts));
    facts.get_mut(device).set("outside_profiler_ns", 900_000_000_i64);
    assert!(told(&facts).starts_with("89 % of the 9.1 s that were recorded beside the profiler's own work lie"));
}

#[test]
fn a_range_holds_what_is_told_beside_it_and_what_is_small_in_all_is_not_told() {
    let (mut facts, device) = recorded();
    let told = |facts: &Facts| outside(facts, device).map(|words| words.plain()).unwrap();
    let own = facts.get_mut(device);
    own.set("does_outside_call_set_up", true);
    own.set("outside_off_cpu_ns", 4_000_000_000_i64);
    own.set("outside_unknown_ns", 900_000_000_i64);
    own.set("outside_range", "start");
    own.set("outside_range_ns", 5_000_000_000_i64);
    assert!(told(&facts).ends_with(
        "4 s off the CPU in no recorded call, 900 ms in cudaMalloc (which sets CUDA up), 900 ms that were not \
         recorded; the range start holds 5 s of all that."
    ));
    // Half of it is the profiler's: of the rest it is a tenth, of all of it less.
    let own = facts.get_mut(device);
    own.set("outside_profiler_ns", 4_500_000_000_i64);
    own.set("outside_call_ns", 899_000_000_i64);
    own.set("outside_off_cpu_ns", 0_i64);
    own.set("outside_unknown_ns", 0_i64);
    own.set("outside_range_ns", 0_i64);
    assert!(told(&facts).ends_with("4.5 s that the profiler takes."), "{}", told(&facts));
}
