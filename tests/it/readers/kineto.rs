//! Traces of the PyTorch Profiler, from the file to the facts. Samples in the optional folder are held against numbers that
//! were computed without coldspot; `COLDSPOT_CORPUS=required` makes its absence a failure.

use coldspot::facts::{EntityKind, Facts};
use coldspot::ledger::{Account, Breakdown};
use coldspot::source::{ReadError, ReadOptions};

use crate::support::analysis::{facts_of, try_timeline};
use crate::support::trace::Spelling::{Old, Today};
use crate::support::trace::{damaged, framed_trace, trace, with};
use crate::support::{sample_reports, temp};

pub(super) fn facts(text: impl AsRef<[u8]>) -> Facts {
    try_facts(text).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn try_facts(text: impl AsRef<[u8]>) -> Result<Facts, ReadError> {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, text).unwrap();
    try_timeline(&path, &ReadOptions::default()).map(|timeline| facts_of(&timeline))
}

pub(super) fn device(facts: &Facts, name: &str) -> i64 {
    facts.of_kind(EntityKind::Device).next().and_then(|(_, device)| device.int(name)).unwrap_or(-1)
}

#[test]
fn a_trace_gives_the_facts_of_its_gpus_in_every_dialect() {
    let today = trace(6, Today);
    let bare = today.split_once("\"traceEvents\": ").unwrap().1.trim_end().trim_end_matches('}').to_owned();
    for text in [&today, &trace(6, Old), &bare] {
        let facts = facts(text.as_str());
        // From the first kernel's start to the last copy's end.
        assert_eq!(device(&facts, "window_ns"), 552_375);
        assert_eq!(device(&facts, "compute_ns"), 6 * 30_250);
        assert_eq!(device(&facts, "exposed_copy_ns"), 6 * 10_000);
        assert_eq!((device(&facts, "kernel_count"), device(&facts, "copy_count")), (6, 6));
        assert_eq!((device(&facts, "pageable_copy_count"), device(&facts, "pageable_copy_bytes")), (6, 6 * 4_096));
        assert_eq!(device(&facts, "step_count"), 6);
        assert_eq!(device(&facts, "idle_unknown_ns"), 0);
    }
    assert_eq!(device(&facts(&today), "sm_count"), 132);
}

#[test]
fn idle_time_before_work_that_nothing_launched_is_unknown() {
    let whole = facts(trace(6, Today));
    // The window of the recording began after this launch.
    let late =
        trace(6, Today).replace(r#""ts": "1301", "dur": 5, "args": {"correlation": 7}"#, r#""ts": "1301", "dur": 5"#);
    let facts = facts(&late);
    assert_eq!(device(&facts, "window_ns"), device(&whole, "window_ns"));
    assert_eq!(device(&facts, "kernel_count"), 6);
    // Since the copy before.
    assert_eq!(device(&facts, "idle_unknown_ns"), 47_625);
}

/// A trace whose fourth copy no recorded call asked for.
pub(crate) fn without_a_call() -> String {
    trace(6, Today).replace(r#""ts": 1340, "dur": 25, "args": {"correlation": 8}"#, r#""ts": 1340, "dur": 5"#)
}

/// With operators of these threads from 1,330 to these moments.
pub(crate) fn in_operators(threads: &[(i64, i64)], text: &str) -> String {
    let operators = threads.iter().map(|(thread, end)| {
        let (head, length) = (r#"{"ph": "X", "cat": "cpu_op", "name": "aten::_fft_c2c", "pid": 99"#, end - 1_330);
        format!(r#"{head}, "tid": "{thread}", "ts": 1330, "dur": {length}}},"#)
    });
    text.replace("\"traceEvents\": [", &format!("\"traceEvents\": [{}", operators.collect::<String>()))
}

#[test]
fn idle_time_before_a_pageable_copy_that_nothing_asked_for_is_read_where_one_thread_is_in_an_operator() {
    let late = without_a_call();
    let within = |threads: &[(i64, i64)], text: &str| {
        let facts = facts(in_operators(threads, text));
        let (_, found) = facts.of_kind(EntityKind::Device).next().unwrap();
        let told = ["idle_unknown_ns", "idle_uncorrelated_ns"].map(|name| device(&facts, name));
        assert_eq!(found.text("uncalled_copy_operator"), (told[1] > 0).then_some("aten::_fft_c2c"));
        assert_eq!(found.int("uncalled_copy_idle_ns"), Some(told[1]).filter(|ns| *ns > 0));
        told
    };
    // From the kernel to the copy at 1,350.5.
    let (unknown, read) = ([12_125, 0], [0, 12_125]);
    assert_eq!(within(&[], &late), unknown);
    assert_eq!(within(&[(99, 1_360)], &late), read);
    assert_eq!(within(&[(98, 1_360)], &late), unknown, "a thread without calls");
    assert_eq!(within(&[(99, 1_350)], &late), unknown, "it has ended");
    assert_eq!(within(&[(98, 1_360), (99, 1_360)], &late), unknown, "either may have asked for it");
    let waiting = late.replace(r#""ts": 1340, "dur": 5"#, r#""ts": 1340, "dur": 15"#);
    assert_eq!(within(&[(99, 1_360)], &waiting), unknown, "it is in a call");
    assert_eq!(
        within(&[(99, 1_360)], &late.replace("Pageable", "Pinned")),
        unknown,
        "it may have been asked for long before"
    );
}

/// A trace without some of its kernels, whose launches are there.
pub(super) fn without_kernels(steps: i64, lost: std::ops::Range<i64>) -> String {
    let text = trace(steps, Today);
    let kernels = lost.map(|step| {
        format!(r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {}.125"#, 1_008 + step * 100)
    });
    kernels.fold(text, |text, kernel| {
        assert!(text.contains(&kernel), "{kernel}");
        text.replace(&kernel, &kernel.replace("kernel", "no_kernel"))
    })
}

#[test]
fn launches_without_their_work_are_counted_and_told() {
    let of = |text: String| {
        let facts = facts(text);
        let run = facts.run().unwrap();
        let lacks = run.get("lacks_gpu_work").cloned();
        (run.int("lost_launch_count"), lacks, run.text("lost_event_notice").unwrap_or_default().to_owned())
    };
    assert_eq!(of(trace(6, Today)), (None, Some(false.into()), String::new()));
    let (count, lacks, notice) = of(without_kernels(6, 2..4));
    assert_eq!((count, lacks), (Some(2), Some(true.into())));
    assert!(notice.contains("no work of 2 of the 6 calls"), "{notice}");
    // Copies of the last step are there: they come after it.
    let last = without_kernels(6, 5..6).replace(
        r#""gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 1550"#,
        r#""none", "name": "", "ts": 1550"#,
    );
    let (count, lacks, notice) = of(last);
    assert_eq!((count, lacks), (Some(1), Some(false.into())));
    assert!(notice.contains("of what was recorded"), "{notice}");
    // A launch into a graph that is being recorded starts nothing.
    let calls = r#"{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamBeginCapture", "pid": 99, "tid": 99, "ts": 1100, "dur": 0},
      {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamEndCapture", "pid": 99, "tid": 99, "ts": 1499, "dur": 1},"#;
    let recorded = without_kernels(6, 1..5).replace("\"traceEvents\": [", &format!("\"traceEvents\": [{calls}"));
    assert_eq!(of(recorded).0, None);
}

#[test]
fn a_trace_does_not_say_what_calls_return() {
    let facts = facts(trace(6, Today));
    let run = facts.run().unwrap();
    assert_eq!((run.int("launch_call_count"), run.get("api_error_count")), (Some(6), None));
    assert_eq!(run.get("failed_launch_count"), None);
}

#[test]
fn work_that_does_not_say_what_launched_it_is_not_lost() {
    let cases = [(vec![0, 2, 5], ""), ((0..6).collect(), ""), (vec![0, 2, 5], r#""External id": 1, "#)];
    for (unlinked, by) in cases {
        let text = unlinked.iter().fold(trace(6, Today), |text, step| {
            let kernel = format!(r#""stream": 7, "correlation": {}, "grid""#, 2 * step + 1);
            assert!(text.contains(&kernel), "{kernel}");
            text.replace(&kernel, &format!(r#""stream": 7, {by}"grid""#))
        });
        let facts = facts(text);
        let run = facts.run().unwrap();
        assert_eq!(run.int("lost_launch_count"), None, "{unlinked:?}");
        assert_eq!(run.get("lacks_gpu_work"), Some(&false.into()), "{unlinked:?}");
        assert_eq!(device(&facts, "kernel_count"), 6);
    }
    // Where the other id joins kernels to their calls, the rest of the calls have lost theirs.
    let joined = without_kernels(6, 2..4).replace("\"correlation\"", "\"External id\"");
    assert_eq!(facts(joined).run().unwrap().int("lost_launch_count"), Some(2));
}

/// Two products, launched one behind the other, and computed in turn. Both kernels name ids: those of their operators, or what
/// they are correlated by, which here are those of the other operator.
fn products(ids: [i64; 2]) -> String {
    let host = r#""pid": 99, "tid": 99"#;
    let one = |place: usize, sizes: &str, name: &str| {
        let (at, id, correlation) = (1_000 + 100 * place, 21 + place, 22 - place);
        format!(
            r#"
  {{"ph": "X", "cat": "cpu_op", "name": "model", {host}, "ts": {at}, "dur": 60, "args": {{"External id": {}}}}},
  {{"ph": "X", "cat": "cpu_op", "name": "aten::mm", {host}, "ts": {at}, "dur": 50,
    "args": {{"External id": {id}, "Input Dims": {sizes}, "Input type": ["c10::Half", "c10::Half"]}}}},
  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", {host}, "ts": {}, "dur": 5,
    "args": {{"External id": {}, "correlation": {correlation}}}}},
  {{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {}, "dur": 80,
    "args": {{"External id": {}, "device": 0, "stream": 7, "correlation": {correlation}, "grid": [8, 1, 1], "block": [64, 1, 1]}}}}"#,
            31 + place,
            at + 10,
            ids[place],
            at + 20,
            ids[place],
        )
    };
    let (first, second) =
        (one(0, "[[64, 512], [512, 1000]]", "h16816gemm_a"), one(1, "[[8, 16], [16, 30]]", "h16816gemm_b"));
    format!("{{\"traceEvents\": [{first},{second}\n]}}\n")
}

#[test]
fn sizes_of_products_are_those_of_the_operator_that_launches_whatever_the_ids_count() {
    // The last names no operator at all.
    for ids in [[21, 22], [22, 21], [0, 0], [7, 8]] {
        let facts = facts(products(ids));
        let shape = |name: &str| {
            let kernel =
                facts.of_kind(EntityKind::Kernel).find(|(_, kernel)| kernel.text("name") == Some(name)).unwrap().1;
            (kernel.text("matmul_shape").map(str::to_owned), kernel.int("aligned_element_count"))
        };
        assert_eq!(shape("h16816gemm_a"), (Some("M=64, N=1000, K=512".to_owned()), Some(8)), "{ids:?}");
        assert_eq!(shape("h16816gemm_b"), (Some("M=8, N=30, K=16".to_owned()), Some(2)), "{ids:?}");
    }
}

/// Steps of 1 ms: a graph with 20 values that are read back and a wait of 100 µs for it, then a kernel and a wait of 900 µs.
fn graphs_of_readbacks() -> String {
    let step = |number: i64| {
        let (at, graph, launch) = (1_000 + 1_100 * number, 2 * number + 1, 2 * number + 2);
        let call = |name: &str, start: i64, length: i64, id: i64| {
            format!(
                r#"{{"ph": "X", "cat": "cuda_runtime", "name": "{name}", "pid": 99, "tid": 99, "ts": {start}, "dur": {length}, "args": {{"correlation": {id}}}}}"#
            )
        };
        let work = |category: &str, name: &str, start: i64, length: i64, args: &str| {
            format!(
                r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 0, "tid": 7, "ts": {start}, "dur": {length}, "args": {{"device": 0, "stream": 7, {args}}}}}"#
            )
        };
        let copy = |index: i64| {
            let args = format!(r#""correlation": {graph}, "bytes": 4"#);
            work("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", at + 10 + 4 * index, 2, &args)
        };
        let mut events = vec![
            call("cudaGraphLaunch", at, 5, graph),
            call("cudaStreamSynchronize", at + 6, 100, 0),
            call("cudaLaunchKernel", at + 110, 5, launch),
            call("cudaDeviceSynchronize", at + 160, 900, 0),
            work(
                "kernel",
                "solve",
                at + 120,
                935,
                &format!(r#""correlation": {launch}, "grid": [264, 1, 1], "block": [256, 1, 1]"#),
            ),
        ];
        events.extend((0..20).map(copy));
        events.join(",\n  ")
    };
    let steps: Vec<String> = (0..10).map(step).collect();
    format!("{{\"traceEvents\": [\n  {}\n]}}\n", steps.join(",\n  "))
}

#[test]
fn a_graph_is_waited_for_once_whatever_it_copies() {
    let facts = facts(graphs_of_readbacks());
    let device = facts.of_kind(EntityKind::Device).next().unwrap().1;
    assert_eq!(device.int("scalar_readback_count"), Some(200));
    let share = device.number("scalar_readback_wait_share").unwrap();
    assert!((share - 0.1).abs() < 1e-9, "{share}");
}

/// One pass: a kernel, host code for 1 ms, then a graph of 32 layers of two kernels.
fn one_pass_of_a_graph() -> String {
    let kernel = |name: &str, start: i64, id: i64| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {start}, "dur": 45, "args": {{"device": 0, "stream": 7, "correlation": {id}, "grid": [264, 1, 1], "block": [256, 1, 1]}}}}"#
        )
    };
    let call = |name: &str, start: i64, id: i64| {
        format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "{name}", "pid": 99, "tid": 99, "ts": {start}, "dur": 10, "args": {{"correlation": {id}}}}}"#
        )
    };
    let mut events =
        vec![call("cudaLaunchKernel", 1_000, 1), kernel("gather", 1_015, 1), call("cudaGraphLaunch", 2_060, 2)];
    let layers =
        (0..32).flat_map(|layer| [("product", 0), ("attend", 50)].map(|(name, at)| (name, 2_075 + 100 * layer + at)));
    events.extend(layers.map(|(name, start)| kernel(name, start, 2)));
    format!("{{\"traceEvents\": [\n  {}\n]}}\n", events.join(",\n  "))
}

#[test]
fn the_layers_in_one_launch_of_a_graph_are_one_pass() {
    let facts = facts(one_pass_of_a_graph());
    let device = facts.of_kind(EntityKind::Device).next().unwrap().1;
    assert_eq!(device.int("repeat_count"), Some(1));
    assert!(device.int("idle_host_ns").unwrap() > 900_000);
    assert_eq!(device.int("idle_host_once_count").unwrap_or(0), 0);
}

#[test]
fn a_trace_that_is_cut_before_its_gpu_work_is_not_called_one_of_the_cpu() {
    let whole = trace(6, Today);
    let cut = &whole[..whole.find("cuda_runtime").unwrap()];
    let facts = facts(cut);
    let run = facts.run().unwrap();
    assert_eq!(run.get("cuda_trace_requested"), None);
    assert!(run.text("lost_event_notice").is_some_and(|notice| notice.contains("ends before the trace")));
}

#[test]
fn what_is_broken_is_counted_and_costs_nothing_else() {
    let run = |facts: &Facts, name: &str| facts.run().and_then(|run| run.int(name)).unwrap();
    let broken = trace(6, Today).replace("\"ts\": 1308.125, \"dur\": 30.25", "\"ts\": 1308.125, \"dur\": 9e15");
    let absurd = facts(&broken);
    assert_eq!((device(&absurd, "kernel_count"), run(&absurd, "dropped_event_count")), (5, 1));
    assert_eq!(device(&absurd, "window_ns"), 552_375);
    let cut = trace(6, Today);
    let cut = facts(&cut[..cut.len() * 2 / 3]);
    assert!(device(&cut, "kernel_count") >= 3);
    assert_eq!(run(&cut, "dropped_event_count"), 1);
}

#[test]
fn what_is_no_trace_gets_one_message_with_the_way_out() {
    let folder = temp::folder();
    for (text, found) in [
        ("{\"a\": 1}", "it has no traceEvents"),
        ("{\"traceEvents\": []}", "without events"),
        ("[{\"ph\": \"X\"}]", "no event of"),
        ("[{\"ph\": \"X\"}, {\"ph\": \"X\"}]", "none of them an event"),
        ("{", "it has no traceEvents"),
    ] {
        let path = folder.path().join("trace.json");
        std::fs::write(&path, text).unwrap();
        let error = try_timeline(&path, &ReadOptions::default()).err().unwrap().to_string();
        assert!(error.contains(found) && error.contains("torch.profiler.profile"), "{error}");
    }
}

#[test]
fn damage_costs_the_events_that_it_hits_and_no_more() {
    let good = facts(trace(6, Today));
    let damaged = damaged();
    assert!(damaged.len() > 20);
    for (kind, bytes) in damaged {
        let facts = try_facts(bytes).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let run = facts.run().unwrap();
        let count = |name: &str| run.int(name).unwrap_or(0);
        // Nearly everything is there, and what is not is told of.
        let is_cut = kind.starts_with("cut off");
        let kernels = device(&facts, "kernel_count");
        assert!(kernels >= if is_cut { 2 } else { 5 }, "{kind}: {kernels} kernels");
        let is_told = count("dropped_event_count") > 0 || run.text("lost_event_notice").is_some();
        assert!(is_told || kernels == 6, "{kind}: {run:?}");
        let accounts = Breakdown::Operation.accounts().map(Account::fact);
        assert_eq!(accounts.map(|name| device(&facts, name)).sum::<i64>(), device(&facts, "window_ns"), "{kind}");
        let idle_share = device(&facts, "idle_ns") as f64 / device(&facts, "window_ns") as f64;
        assert!(is_cut || (0.55..0.63).contains(&idle_share), "{kind}: idle {idle_share}");
        assert!(device(&facts, "window_ns") <= device(&good, "window_ns"), "{kind}");
    }
}

#[test]
fn a_compressed_trace_is_the_same_trace_whatever_it_is_called() {
    use std::io::Write;
    let text = trace(40, Today);
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zipped.write_all(text.as_bytes()).unwrap();
    let zipped = zipped.finish().unwrap();
    assert_eq!(facts(&text), facts(&zipped));
    // The compressed data ends early.
    let cut = facts(&zipped[..zipped.len() * 3 / 4]);
    assert!(cut.run().unwrap().text("lost_event_notice").is_some_and(|notice| notice.contains("damaged")));
}

#[test]
fn time_begins_with_the_earliest_event_wherever_in_the_file_it_is() {
    let text = trace(6, Today);
    let (front, events) = text.split_once("\"traceEvents\": [").unwrap();
    let mut events: Vec<&str> = events.trim_end().trim_end_matches("]}").split(",\n  {\"ph\"").collect();
    events[1..].reverse();
    let reversed = format!("{front}\"traceEvents\": [{}]}}", events.join(",\n  {\"ph\""));
    let (first, last) = (facts(&text), facts(&reversed));
    assert_eq!(device(&first, "window_start_ns"), 8_125);
    assert_eq!(device(&last, "window_start_ns"), 8_125);
    assert_eq!(device(&last, "idle_ns"), device(&first, "idle_ns"));
}

#[test]
fn time_begins_with_the_profilers_own_span_as_viewers_show_it_however_much_of_the_file_is_read_at_once() {
    // It begins before the program's first event; how much of the file comes with the first events must not matter.
    let span = r#"{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 100, "dur": 5000},"#;
    let text = trace(6, Today).replace("\"traceEvents\": [", &format!("\"traceEvents\": [{span}"));
    for blanks in [0, 2 << 20] {
        let text = text.replacen(",\n  {", &format!(",\n{}  {{", " ".repeat(blanks)), 1);
        let facts = facts(text);
        assert_eq!(device(&facts, "window_start_ns"), 908_125, "{blanks}");
        // What was recorded is as long as the program's events.
        assert_eq!(device(&facts, "outside_before_ns"), 8_125, "{blanks}");
    }
}

#[test]
fn the_only_gpu_of_a_trace_is_that_of_its_memory_whatever_their_numbers() {
    let peak = |text: String| device(&facts(text), "memory_reserved_peak_bytes");
    assert_eq!(peak(framed_trace(3)), 1_000);
    assert_eq!(peak(framed_trace(3).replace("\"Device Id\": 0", "\"Device Id\": 5")), 1_000);
    let two = framed_trace(3).replacen("\"Device Id\": 0", "\"Device Id\": 4", 1);
    assert_eq!(peak(two.replace("\"Device Id\": 0", "\"Device Id\": 5")), -1);
}

#[test]
fn an_archive_of_traces_is_no_trace() {
    use std::io::Write;
    // As `tar` writes a file: a header of 512 bytes, then what is in it.
    let mut header = vec![0_u8; 512];
    header[..10].copy_from_slice(b"rank0.json");
    header[257..262].copy_from_slice(b"ustar");
    let archive = [header, trace(6, Today).into_bytes()].concat();
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zipped.write_all(&archive).unwrap();
    for bytes in [zipped.finish().unwrap(), archive] {
        let error = try_facts(bytes).err().unwrap().to_string();
        assert!(error.contains("an archive") && error.contains("Unpack it"), "{error}");
    }
    // In a string the word says nothing.
    let name = format!("{{\"traceName\": \"{}ustar\",", "x".repeat(257 - 15));
    let text = trace(6, Today).replacen('{', &name, 1);
    assert_eq!(&text.as_bytes()[257..262], b"ustar");
    assert_eq!(device(&facts(text), "kernel_count"), 6);
}

#[test]
fn copies_of_amd_do_not_tell_their_host_memory() {
    let text = trace(6, Today).replace("(Pageable -> Device)", "(Host -> Device)").replace("cudaL", "hipL");
    let facts =
        facts(text.replace("cudaMemcpyAsync", "hipMemcpyAsync").replace("\"warpSize\": 32", "\"warpSize\": 64"));
    assert_eq!(device(&facts, "copy_count"), 6);
    let devices: Vec<_> = facts.of_kind(EntityKind::Device).collect();
    assert!(devices.iter().all(|(_, device)| device.int("pageable_copy_count").is_none()), "{devices:?}");
    let groups: Vec<_> = facts.of_kind(EntityKind::CopyGroup).collect();
    assert!(groups.iter().all(|(_, group)| group.text("host_memory") == Some("unknown")), "{groups:?}");
}

/// What a device's fact has to be, by the name that it has in the file of expected numbers.
const EXPECTED: [(&str, &str); 10] = [
    ("window_ns", "span_us"),
    ("idle_ns", "idle_us"),
    ("compute_ns", "compute_union_us"),
    ("exposed_communication_ns", "exposed_comm_us"),
    ("exposed_copy_ns", "exposed_memcpy_us"),
    ("copy_busy_ns", "memcpy_union_us"),
    ("kernel_sum_ns", "kernel_time_sum_us"),
    ("kernel_count", "kernels"),
    ("copy_count", "memcpys"),
    ("memset_count", "memsets"),
];

/// Where the expected numbers are wrong, and by how much ours may differ.
fn tolerance_ns(trace: &str, fact: &str) -> f64 {
    match (trace.get(..3), fact) {
        // Microseconds since 1970 went through floats there, which hold no nanoseconds that large.
        (Some("032"), "window_ns" | "idle_ns") => 1.0,
        _ => 0.0,
    }
}

#[test]
fn sample_traces_agree_with_an_independent_computation() {
    let Some(folder) = sample_reports() else { return };
    let expected = std::fs::read_to_string(folder.join("kineto-expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let mut compared = 0;
    for (name, trace) in expected["traces"].as_object().unwrap() {
        let path = folder.join("kineto").join(name);
        if !path.exists() {
            continue;
        }
        let facts = facts_of(&try_timeline(&path, &ReadOptions::default()).unwrap());
        let devices = trace["devices"].as_object().unwrap();
        assert_eq!(facts.of_kind(EntityKind::Device).count(), devices.len(), "{name}");
        for (_, device) in facts.of_kind(EntityKind::Device) {
            let numbers = &devices[&device.int("number").unwrap().to_string()];
            for (fact, key) in EXPECTED {
                let Some(number) = numbers[key].as_f64() else { continue };
                let wanted = if key.ends_with("_us") { (number * 1_000.0).round() } else { number };
                let found = device.int(fact).unwrap() as f64;
                let difference = (found - wanted).abs();
                assert!(difference <= tolerance_ns(name, fact), "{name}: {fact} is {found}, not {wanted}");
                compared += 1;
            }
        }
    }
    println!("{compared} numbers of sample traces compared");
    assert!(compared > 0);
}

#[test]
fn calls_and_work_without_correlation_are_linked_by_their_external_id() {
    // As ROCm's tracer wrote it until 2024.
    let text =
        trace(6, Today).replace("\"correlation\"", "\"External id\"").replace("cudaL", "hipL").replace("cudaM", "hipM");
    let of = |text: &str, name: &str| device(&facts(text), name);
    for name in ["idle_unknown_ns", "idle_launch_ns", "idle_queue_ns", "idle_host_ns", "copy_count"] {
        assert_eq!(
            of(&text, name),
            of(&trace(6, Today).replace("cudaL", "hipL").replace("cudaM", "hipM"), name),
            "{name}"
        );
    }
    assert_eq!(of(&text, "idle_unknown_ns"), 0);
    assert_eq!(facts(&text).run().unwrap().int("lost_launch_count"), None);
}

#[test]
fn collectives_beside_other_kernels_tell_nothing_of_late_ranks() {
    let uneven = |text: String| {
        let facts = facts(text);
        (device(&facts, "collective_uneven_ns"), device(&facts, "collective_late_ns"))
    };
    assert_eq!(uneven(framed_trace(12)), (6_000, 6_000));
    let beside = (1..12).step_by(2).fold(framed_trace(12), |text, step| {
        let kernel = |us| format!(r#""update", "pid": 0, "tid": 7, "ts": {}, "dur": {us},"#, 1_760 + step * 1_000);
        String::from_utf8(with(&text, &kernel(3), &kernel(25))).unwrap()
    });
    assert_eq!(uneven(beside), (6_000, 0));
}

#[test]
fn work_of_a_gpu_that_makes_no_sense_is_counted_whatever_is_wrong_with_it() {
    let of = |from: &str, to: &str| {
        let text = trace(6, Today);
        let kernel = text.find("\"cat\": \"kernel\"").unwrap();
        let at = kernel + text[kernel..].find(from).unwrap();
        let text = format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
        let facts = facts(text);
        let run = facts.run().unwrap();
        (run.int("unusable_gpu_row_count"), run.get("lacks_gpu_work").cloned())
    };
    assert_eq!(of("\"dur\": ", "\"dur\": "), (None, Some(false.into())));
    for (from, to) in [("\"dur\": ", "\"dur\": -"), ("\"ts\": ", "\"ts\": 9e17")] {
        assert_eq!(of(from, to), (Some(1), Some(true.into())), "{to}");
    }
}

/// A list without an end may be all that was written, and may be the first half of it.
#[test]
fn a_list_of_events_without_an_end_leaves_gates_open() {
    let whole = trace(6, Today);
    let list = whole.split_once("\"traceEvents\": ").unwrap().1.trim_end().trim_end_matches('}').trim_end();
    assert_eq!(facts(list).why_not_whole(), None);
    let open = facts(list.trim_end_matches(']'));
    assert!(!open.is_damaged());
    assert!(open.why_not_whole().unwrap().starts_with("the list of events has no end"), "{:?}", open.not_whole());
}
