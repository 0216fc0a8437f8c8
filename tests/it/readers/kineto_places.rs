//! Which lines of the program traces tell, by frames of Python and by stacks of operators.

use std::collections::BTreeSet;

use coldspot::facts::{EntityKind, Facts};

use super::kineto::{device, facts, try_facts};
use crate::support::trace::{Spelling, framed_trace, trace};

/// The line that a kernel, and the values of a device, come from.
fn sources(facts: &Facts) -> Vec<(String, String)> {
    let kernels = facts.of_kind(EntityKind::Kernel).filter_map(|(_, kernel)| {
        let file = kernel.text("source_file")?;
        let line = format!("{file}:{} ({})", kernel.int("source_line")?, kernel.text("source_function")?);
        Some((kernel.text("name")?.to_owned(), line))
    });
    let device = facts.of_kind(EntityKind::Device).next().unwrap().1;
    let told = device.facts().filter(|(name, _)| name.ends_with("_source"));
    let told: Vec<_> = told.filter_map(|(name, _)| Some((name.to_owned(), device.text(name)?.to_owned()))).collect();
    kernels.chain(told).collect()
}

#[test]
fn python_frames_tell_the_lines_of_the_program_and_the_backward_pass_those_of_the_forward() {
    let text = framed_trace(8);
    let facts = facts(&text);
    let told = sources(&facts);
    // Wherever in the file the first event is.
    let (front, events) = text.split_once("\"traceEvents\": [").unwrap();
    let mut lines: Vec<&str> = events.trim_end().trim_end_matches("\n]}").split(",\n  ").collect();
    lines.reverse();
    let reversed = format!("{front}\"traceEvents\": [{}]}}", lines.join(",\n  "));
    assert_eq!(sources(&try_facts(reversed).unwrap()), told);
    let of = |name: &str| told.iter().find(|(known, _)| known == name).map(|(_, line)| line.as_str());
    assert_eq!(of("forward_kernel"), Some("train.py:40 (train_step)"));
    assert_eq!(of("backward_kernel"), Some("train.py:40 (train_step)"));
    assert_eq!(of("data_loading_source"), Some("images.py:31 (__getitem__)"));
    // What fetches data is left out.
    assert_eq!(of("idle_host_source"), Some("train.py:10 (main)"));
    assert_eq!(of("scalar_readback_source"), Some("train.py:77 (log)"));
    assert_eq!(device(&facts, "data_loading_count"), 7);
}

#[test]
fn another_process_numbers_its_operators_on_its_own() {
    let text = framed_trace(8);
    let (front, events) = text.split_once("\"traceEvents\": [").unwrap();
    let other: Vec<&str> = events.lines().filter(|line| line.contains("\"Fwd thread id\": 0")).collect();
    let other = other.join("\n").trim_end_matches(',').replace("\"pid\": 99", "\"pid\": 98");
    assert!(other.contains("\"pid\": 98"));
    let both = format!("{front}\"traceEvents\": [{other},{events}");
    let told = sources(&facts(both));
    let of = |name: &str| told.iter().find(|(known, _)| known == name).map(|(_, line)| line.as_str());
    assert_eq!(of("backward_kernel"), Some("train.py:40 (train_step)"), "{told:?}");
}

#[test]
fn stacks_of_operators_stand_for_frames_and_the_script_tells_what_is_its_own() {
    let frames = r#""Sequence number": 3, "Fwd thread id": 0"#;
    let stack = r#""Sequence number": 3, "Fwd thread id": 0, "Call stack": "/opt/x/functional.py(9): linear;run.py(3): go;run.py(8): <module>""#;
    let text = framed_trace(8);
    assert!(text.contains(frames));
    // Without frames, in the way of 2022.
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.retain(|line| !line.contains("python_function"));
    let text = lines
        .join("\n")
        .replace(", \"Fwd thread id\": 0", &format!(", \"Fwd thread id\": 0, {}", stack.split_once("0, ").unwrap().1));
    let facts = facts(text);
    let told = sources(&facts);
    assert!(told.contains(&("forward_kernel".to_owned(), "run.py:3 (go)".to_owned())), "{told:?}");
}

#[test]
fn the_profiler_itself_is_no_line_of_the_program() {
    let stack = "/src/x/profiler.py(614): __enter__;/src/x/profiler.py(313): step;run.py(3): go;run.py(8): <module>";
    let mut lines: Vec<String> = framed_trace(8).lines().map(str::to_owned).collect();
    lines.retain(|line| !line.contains("python_function"));
    let text = lines
        .join("\n")
        .replace(", \"Fwd thread id\": 0", &format!(", \"Fwd thread id\": 0, \"Call stack\": \"{stack}\""));
    let told = sources(&facts(text));
    assert!(told.contains(&("forward_kernel".to_owned(), "run.py:3 (go)".to_owned())), "{told:?}");
}

#[test]
fn what_a_script_runs_from_elsewhere_is_the_programs_own_too() {
    let text = framed_trace(8)
        .replace("train.py(10): main", "runner.py(10): <module>")
        .replace("train.py(40): train_step", "/root/code/train.py(40): train_step");
    let told = sources(&facts(text));
    assert!(told.contains(&("forward_kernel".to_owned(), "train.py:40 (train_step)".to_owned())), "{told:?}");
}

#[test]
fn a_facts_file_tells_no_folders_of_the_machine_and_keeps_ranges_of_one_name_apart() {
    let frame = "\"name\": \"train.py(40): train_step\"";
    let mut users =
        ["/home/ann/run/train.py(40)", "/home/ben/run 2/train.py(40)", "C:\\\\Users\\\\ann\\\\train.py(40)"].iter();
    let text: String = framed_trace(8)
        .split_inclusive(frame)
        .map(|part| match part.strip_suffix(frame) {
            Some(before) => {
                let file = users.next().copied().unwrap_or("train.py(40)");
                format!("{before}\"name\": \"{file}: train_step\"")
            }
            None => part.to_owned(),
        })
        .collect();
    let facts = facts(text);
    let ranges: Vec<_> = facts.of_kind(EntityKind::Range).map(|(_, range)| range).collect();
    let keys: BTreeSet<&str> = ranges.iter().map(|range| range.key.as_str()).collect();
    assert_eq!(keys.len(), ranges.len());
    assert!(keys.iter().all(|key| !key.contains("ann") && !key.contains("ben")), "{keys:?}");
    let of_step = ranges.iter().filter(|range| range.text("name") == Some("train.py(40): train_step"));
    assert_eq!(of_step.count(), 4, "{keys:?}");
}

/// An operator and a mark of one name are numbered alike in every run, whichever takes longer.
#[test]
fn ranges_of_one_name_keep_their_keys_from_run_to_run() {
    let keys = |mark_us: i64, operator_us: i64| {
        let event = |step: i64, category: &str, length: i64| {
            let at = 1_062 + 100 * step;
            format!(
                r#"{{"ph": "X", "cat": "{category}", "name": "pack", "pid": 99, "tid": "99", "ts": {at}, "dur": {length}}},"#
            )
        };
        let events = (0..6).map(|step| {
            let (mark, operator) = (event(step, "user_annotation", mark_us), event(step, "cpu_op", operator_us));
            if mark_us > operator_us { mark + &operator } else { operator + &mark }
        });
        let events: String = events.collect();
        let text = trace(6, Spelling::Today).replace("\"traceEvents\": [", &format!("\"traceEvents\": [{events}"));
        let facts = facts(text);
        let ranges = facts.of_kind(EntityKind::Range).map(|(_, range)| range);
        let own = ranges.filter(|range| range.text("name") == Some("pack"));
        own.map(|range| (range.key.clone(), range.int("sum_ns"))).collect::<Vec<_>>()
    };
    let (first, second) = (keys(30, 10), keys(10, 30));
    assert_eq!(first.len(), 2, "{first:?}");
    let names = |of: &[(String, Option<i64>)]| of.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(names(&first), names(&second));
    assert_eq!(
        first.iter().map(|(_, ns)| *ns).collect::<Vec<_>>(),
        [Some(150_000), Some(50_000)],
        "the mark comes first"
    );
    assert_eq!(second.iter().map(|(_, ns)| *ns).collect::<Vec<_>>(), [Some(50_000), Some(150_000)]);
}
