//! What the capture itself was missing.

use crate::facts::{Entity, EntityKind, FactValue, Facts};
use crate::source;
use crate::text::number;
use crate::text::plural::counted_as;
use crate::text::spans::Sentence;
use crate::timeline::Capability;

pub(super) fn notes(facts: &Facts) -> Vec<Sentence> {
    let Some(run) = facts.run() else { return Vec::new() };
    let mut notes = Vec::new();
    for (name, words) in [
        ("lost_event_notice", "Events may be missing: "),
        ("driver_notice", "The profiler says of the driver or device: "),
        ("capture_notice", "The profiler warned: "),
        ("incomplete_profile_notice", "What Nsight Compute profiled is not told as a whole: "),
    ] {
        if let Some(notice) = run.text(name) {
            notes.push(Sentence::default().own(words).own("“").value(notice).own("”"));
        }
    }
    if run.text("format") == Some(source::KERNELS_FORMAT_ID) {
        let words = "Nsight Compute runs kernels one by one, with fixed clocks and empty caches unless it is told otherwise: the \
                     window here is the time of the profiled launches, not that of the program. `coldspot review REPORT --ncu kernels.csv` tells how much of the \
                     program each kernel is.";
        notes.push(Sentence::default().own(words));
    }
    if run.int("joined_profile_count") == Some(0) {
        let words = "No kernel that Nsight Compute profiled has the name, grid and block of one of the recording, on a GPU of the \
                     same compute capability: nothing of its report is used. Profile the same program with the same input, and \
                     leave `--kernel-name-base` and `--print-kernel-base` as they are.";
        notes.push(Sentence::default().own(words));
    }
    notes.extend(cost_of_tracing(facts, run));
    notes.extend(memory_not_told(facts, run));
    let positive = |name: &str| run.int(name).filter(|count| *count > 0);
    if let Some(count) = positive("dropped_event_count") {
        let words = "that could not be used: broken or cut off, reversed or lost times, ids that refer to nothing, values of the wrong type.";
        notes.push(
            Sentence::default()
                .own(&format!("The report holds {} {words}", counted_as(count, "row or event", "rows or events"))),
        );
    }
    if let Some(count) = positive("untimed_launch_count") {
        let (does, they) = if count == 1 { ("does", "it") } else { ("do", "they") };
        let words = format!(
            "{} {does} not tell how long {they} took: that is in no time here.",
            counted_as(count, "profiled launch", "profiled launches")
        );
        notes.push(Sentence::default().own(&words));
    }
    notes.extend(limits(facts, run));
    if let Some(count) = positive("graph_launch_count") {
        let launches = counted_as(count, "CUDA graph launch is", "CUDA graph launches are");
        let words = "recorded as a whole: the kernels in them are hidden, and count as compute together.";
        let how = source::how_to_capture(run.text("format"), &[Capability::GraphKernels]);
        let how = how.map_or_else(String::new, |how| format!(" `{how}` records them one by one, at some cost."));
        notes.push(Sentence::default().own(&format!("{launches} {words}{how}")));
    }
    notes.extend(unknown(facts, run).map(|words| Sentence::default().own(words)));
    notes
}

/// What nothing tells of this recording.
fn unknown(facts: &Facts, run: &Entity) -> impl Iterator<Item = &'static str> {
    let has_work = run.int("gpu_op_count").is_some_and(|count| count > 0);
    let lacks_calls = has_work && run.int("api_call_count") == Some(0) && !facts.is_damaged();
    let calls = "No CUDA API calls were recorded, so nothing tells what the host did while a GPU was idle.";
    let lacks_identity = run.get("device_identity_known") == Some(&FactValue::Bool(false));
    let identity = "Several processes use the same CUDA device number, and the export does not say whether they mean the \
                    same GPU: the devices below may each be several GPUs.";
    [lacks_calls.then_some(calls), lacks_identity.then_some(identity)].into_iter().flatten()
}

/// Where the host decides how long a step takes, a smaller idle share of the window is not the matter.
const HOST_BOUND_SHARE: f64 = 0.1;

/// What the profiler of PyTorch costs, which records each operator of the host.
fn cost_of_tracing(facts: &Facts, run: &Entity) -> Option<Sentence> {
    let is_late = |device: &Entity| {
        let share = |name: &str| Some(device.int(name)? as f64 / device.int("window_ns")? as f64);
        share("idle_launch_ns").unwrap_or(0.0) + share("idle_host_ns").unwrap_or(0.0) >= HOST_BOUND_SHARE
    };
    let is_trace = run.text("format") == Some("kineto");
    if !is_trace || !facts.of_kind(EntityKind::Device).any(|(_, device)| is_late(device)) {
        return None;
    }
    let with =
        run.text("costly_profiler_options").map_or_else(String::new, |options| format!(" (here with {options})"));
    let words = "a traced step can take twice as long as one that is not. Time one without the profiler.";
    let what = if run.int("operator_count") == Some(0) { "each call of the runtime" } else { "every operator" };
    Some(Sentence::default().own(&format!("PyTorch's profiler records {what}{with}: {words}")))
}

/// Copies from or to memory of the host of which a trace does not tell whether it is pageable.
fn memory_not_told(facts: &Facts, run: &Entity) -> Option<Sentence> {
    let groups = facts.of_kind(EntityKind::CopyGroup).map(|(_, group)| group);
    let is_meant = |group: &&Entity| {
        group.get("is_pageable").is_none()
            && matches!(group.text("direction"), Some("host_to_device" | "device_to_host"))
    };
    let (mut count, mut sum_ns) = (0_i64, 0_i64);
    for group in groups.filter(is_meant) {
        count = count.saturating_add(group.int("count").unwrap_or(0));
        sum_ns = sum_ns.saturating_add(group.int("sum_ns").unwrap_or(0));
    }
    if count == 0 || run.text("format") != Some("kineto") {
        return None;
    }
    let why = if run.text("gpu_vendor") == Some("amd") { " (traces of AMD GPUs never tell that)" } else { "" };
    let copies = counted_as(count, "copy", "copies");
    let words = format!(
        "The trace does not tell whether the host memory of {copies} ({}) is pageable{why}.",
        number::duration(sum_ns)
    );
    Some(Sentence::default().own(&words))
}

/// What was left out because a limit was reached, and the way out where there is one.
fn limits(facts: &Facts, run: &Entity) -> Vec<Sentence> {
    let of_devices = |name: &str| -> i64 {
        facts.of_kind(EntityKind::Device).filter_map(|(_, device)| device.int(name)).fold(0, i64::saturating_add)
    };
    let of_run = |name: &str| run.int(name).unwrap_or(0);
    let left_out = of_run("omitted_entity_count").saturating_add(of_devices("omitted_entity_count"));
    let counts = [
        (
            of_run("unread_row_count"),
            "row",
            "beyond the limit of rows of one table: not read. `--limit rows=N` raises it.",
        ),
        (of_run("truncated_name_count"), "name", "longer than the limit: cut off. `--limit name-bytes=N` raises it."),
        (
            of_run("merged_name_count"),
            "mention",
            "of names beyond the limit of different names: taken for one. `--limit names=N` raises it.",
        ),
        (
            of_run("merged_thread_count"),
            "thread or stream",
            "beyond the limit: what these threads did is told of no thread, the operations of these streams of others.",
        ),
        (of_run("omitted_device_count"), "GPU", "beyond the limit: left out with all that ran on it."),
        (
            left_out,
            "kernel, stream, group of copies or process",
            "beyond the limit: counted in the sums, without facts of their own.",
        ),
        (
            of_devices("omitted_launch_shape_count"),
            "grid and block of a kernel",
            "beyond the limit: counted with their kernel, without facts of their own.",
        ),
        (
            of_devices("too_deep_range_count"),
            "range",
            "entered while as many were open on the thread as are followed: not told of idle time.",
        ),
        (
            of_devices("summed_idle_stretch_count"),
            "idle stretch",
            "of which only is told for how long the host did what: too many rows of the host for so many GPUs. \
             `--limit host-rows=N` raises it.",
        ),
    ];
    let reached = counts.into_iter().filter(|(count, _, _)| *count > 0);
    reached
        .map(|(count, what, words)| {
            Sentence::default().own(&format!("A limit was reached: {} × {what} {words}", number::count(count)))
        })
        .collect()
}
