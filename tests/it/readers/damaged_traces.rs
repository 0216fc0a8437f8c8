//! What is said of a trace of which a part is missing: nothing of idle time, and of all else that it is not the whole.

use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::support::cli::{Printed, coldspot_in};
use crate::support::temp;
use crate::support::trace::Spelling::Today;
use crate::support::trace::{thinned_trace, trace, with};

const STEPS: i64 = 60;

fn review_of(name: &str, bytes: &[u8], more: &[&str]) -> Value {
    let folder = temp::folder();
    write(folder.path(), name, bytes);
    coldspot_in(folder.path(), &[&["review", name, "--format", "json", "--phase", "whole"], more].concat()).json()
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::File::create(folder.join(name)).and_then(|mut file| file.write_all(bytes)).unwrap();
}

/// The same trace as the profiler writes it: what the host did first, what the GPU did behind that.
fn in_order() -> String {
    let whole = trace(STEPS, Today);
    let (head, rest) = whole.split_once("\"traceEvents\": [").unwrap();
    let (events, tail) = rest.rsplit_once("\n]").unwrap();
    let (host, gpu): (Vec<&str>, Vec<&str>) = events.split(",\n  {").partition(|event| !event.contains("\"tid\": 7,"));
    let all: Vec<String> =
        host.into_iter().chain(gpu).map(|event| event.trim_start_matches(['\n', ' ', '{']).to_owned()).collect();
    format!("{head}\"traceEvents\": [\n  {{{}\n]{tail}", all.join(",\n  {"))
}

/// The trace without its end: all of the host, a part of what the GPU did.
fn cut_amid_gpu() -> String {
    let whole = in_order();
    whole[..whole.len() * 9 / 10].to_owned()
}

fn accounts(review: &Value) -> Vec<&str> {
    let parts = review["devices"][0]["parts"].as_array().unwrap();
    parts.iter().map(|part| part["account"].as_str().unwrap()).filter(|account| account.starts_with("idle")).collect()
}

fn findings(review: &Value) -> &Vec<Value> {
    review["findings"].as_array().unwrap()
}

fn verdict(review: &Value) -> &str {
    review["verdict"]["plain"].as_str().unwrap()
}

#[test]
fn of_a_cut_file_no_idle_time_is_told_and_no_gate_passes() {
    let whole = review_of("whole.json", in_order().as_bytes(), &[]);
    assert!(!verdict(&whole).contains("damaged") && accounts(&whole) != ["idle_unknown"], "{whole:#}");
    for bytes in [cut_amid_gpu().as_bytes(), &in_order().as_bytes()[..in_order().len() * 8 / 10]] {
        let review = review_of("cut.json", bytes, &["--budget", "device.idle_share<=0.9"]);
        assert!(verdict(&review).contains("he file is damaged"), "{}", verdict(&review));
        assert_eq!(accounts(&review), ["idle_unknown"]);
        assert_eq!(review["gates"][0]["outcome"], "unknown");
        let of_work = findings(&review).iter().filter(|finding| finding["subject"]["kind"] != "run");
        assert!(of_work.into_iter().all(|finding| finding["confidence"] == "low"), "{:#}", review["findings"]);
        assert!(findings(&review).iter().all(|finding| finding["gain"]["replay"].is_null()), "{review:#}");
        let scores = review["devices"][0]["scores"].as_array().unwrap();
        assert!(scores.iter().all(|score| score["meets"].is_null()), "{scores:?}");
    }
}

#[test]
fn a_cut_file_is_not_compared() {
    let folder = temp::folder();
    write(folder.path(), "whole.json", in_order().as_bytes());
    write(folder.path(), "cut.json", cut_amid_gpu().as_bytes());
    // That the head is damaged is a grave finding, and new; of a base that is damaged nothing is known.
    for (base, head, side, is_new) in
        [("whole.json", "cut.json", "head", "failed"), ("cut.json", "whole.json", "base", "unknown")]
    {
        let gates = ["--fail-on", "high", "--budget", "window_time=+50%", "--format", "json", "--same-work"];
        let comparison = coldspot_in(folder.path(), &[&["compare", base, head], gates.as_slice()].concat()).json();
        let says = comparison["verdict"]["plain"].as_str().unwrap();
        assert!(
            says.starts_with(&format!("Not comparable: a part of what ran is not in a file of the {side}")),
            "{says}"
        );
        let gates = comparison["gates"].as_array().unwrap();
        let outcomes: Vec<_> = gates.iter().map(|gate| gate["outcome"].as_str().unwrap()).collect();
        assert_eq!(outcomes, ["unknown", is_new, "unknown"], "{gates:?}");
    }
}

#[test]
fn a_trace_that_lost_work_is_not_compared_and_passes_no_gate() {
    let folder = temp::folder();
    let whole = in_order();
    let kernels: Vec<&str> = whole.split(",\n  {").filter(|event| event.contains("\"kernel\"")).collect();
    let lost = kernels
        .iter()
        .step_by(3)
        .fold(whole.clone(), |text, kernel| text.replace(kernel, &kernel.replace("\"kernel\"", "\"no_kernel\"")));
    write(folder.path(), "whole.json", whole.as_bytes());
    write(folder.path(), "lost.json", lost.as_bytes());
    let args = ["compare", "whole.json", "lost.json", "--format", "json", "--fail-on", "slower"];
    let budgets = ["--budget", "device.idle_share<=0.01", "--budget", "window_time=+50%"];
    let comparison = coldspot_in(folder.path(), &[&args[..], &budgets].concat()).json();
    let says = comparison["verdict"]["plain"].as_str().unwrap();
    assert!(says.contains("work of the GPU of the head is missing"), "{says}");
    assert_eq!(comparison["causes"].as_array().map(Vec::len), Some(0), "{comparison:#}");
    let gates = comparison["gates"].as_array().unwrap();
    assert_eq!(gates.len(), 3);
    assert!(gates.iter().all(|gate| gate["outcome"] == "unknown"), "{gates:#?}");
    let review = review_of("lost.json", lost.as_bytes(), &["--budget", "device.idle_share<=0.01"]);
    assert_eq!(review["gates"][0]["outcome"], "unknown", "{:#}", review["gates"]);
}

/// Each may have taken any time: that there are few of them says nothing.
#[test]
fn kernels_of_a_trace_that_make_no_sense_pass_no_gate() {
    let whole = in_order();
    let kernels: Vec<&str> = whole.split(",\n  {").filter(|event| event.contains("\"kernel\"")).collect();
    for (count, has_verdict) in [(1, true), (kernels.len() / 4, false)] {
        let text = kernels
            .iter()
            .take(count)
            .fold(whole.clone(), |text, kernel| text.replace(kernel, &kernel.replace("\"dur\": ", "\"dur\": -")));
        assert_ne!(text, whole);
        let review =
            review_of("reversed.json", text.as_bytes(), &["--fail-on", "high", "--budget", "device.idle_share<=0.999"]);
        let outcomes: Vec<&Value> = review["gates"].as_array().unwrap().iter().map(|gate| &gate["outcome"]).collect();
        assert!(outcomes[0] != "passed" && outcomes[1] == "unknown", "{count}: {:#}", review["gates"]);
        assert_eq!(!verdict(&review).contains("Read with care"), has_verdict, "{count}: {}", verdict(&review));
    }
    let review = review_of("whole.json", whole.as_bytes(), &["--budget", "device.idle_share<=0.999"]);
    assert_eq!(review["gates"][0]["outcome"], "passed");
}

#[test]
fn a_cut_file_without_gpu_work_is_not_called_one_of_the_cpu() {
    let whole = in_order();
    let host = whole.find("\"name\": \"cudaLaunchKernel\"").unwrap();
    let review = review_of("cut.json", &whole.as_bytes()[..host], &[]);
    assert!(verdict(&review).starts_with("What is left of the file holds no GPU work"), "{}", verdict(&review));
    assert!(!review.to_string().contains("CPU only"), "{review:#}");
    assert_eq!(findings(&review)[0]["confidence"], "low");
}

#[test]
fn what_is_compressed_is_read_as_far_as_it_inflates() {
    let whole = in_order();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    // Several blocks, all within one window.
    let packed = ruzstd::encoding::compress_to_vec(trace(4_000, Today).as_bytes(), level);
    let review = review_of("cut.json.zst", &packed[..packed.len() * 6 / 10], &[]);
    let kernels = review["devices"][0]["kernels"][0]["launch_count"].as_i64().unwrap();
    assert!(kernels > 2_000, "{kernels}");
    let notes = review["capture"].to_string();
    assert!(notes.contains("its compressed data is cut off"), "{notes}");
    let packed = ruzstd::encoding::compress_to_vec(whole.as_bytes(), level);
    let folder = temp::folder();
    write(folder.path(), "cut.json.zst", &packed[..20]);
    let error = coldspot_in(folder.path(), &["review", "cut.json.zst"]).code(3).err();
    assert!(error.contains("is damaged, and holds nothing that can be read"), "{error}");
}

#[test]
fn events_of_a_kind_that_is_not_read_are_counted() {
    let whole = in_order();
    for (from, to) in [
        (r#"{"ph": "X", "cat": "kernel""#, r#"{"ph": "B", "cat": "kernel""#),
        (r#"{"ph": "X", "cat": "kernel""#, r#"{"ph": 1, "cat": "kernel""#),
        (r#"{"ph": "X", "cat": "kernel""#, r#"{"ph": "X", "cat": 5"#),
    ] {
        let review = review_of("trace.json", &with(&whole, from, to), &[]);
        let notes = review["capture"].to_string();
        assert!(notes.contains(&format!("The report holds {STEPS} rows or events that could not be used")), "{notes}");
        assert!(verdict(&review).contains("damaged"), "{to}: {}", verdict(&review));
    }
}

#[test]
fn what_costs_nothing_is_no_damage() {
    let whole = in_order();
    let with_end = |by: &str| with(&whole, "\n]}", by);
    for (what, bytes) in [
        ("behind the events", with_end("\n], \"distributedInfo\": {\"rank\": , \"baseTimeNanoseconds\": 1e}")),
        ("cut behind the events", with_end("\n], \"distributedIn")),
        ("padding", [whole.as_bytes(), &[0; 4_000]].concat()),
        ("one of many", whole.replacen("\"dur\": 30.25", "\"dur\": inf", 1).into_bytes()),
        ("a list that is left open", {
            let (_, events) = whole.split_once("\"traceEvents\": ").unwrap();
            events.trim_end().trim_end_matches("]}").trim_end().as_bytes().to_vec()
        }),
        (
            "lines of a log",
            [
                b"I0101 started\nW0101 {\"a\": 1}\n".as_slice(),
                &with(&whole, "{\"deviceP", "{\n \"meta\": {\"a\": 1},\n \"deviceP"),
            ]
            .concat(),
        ),
    ] {
        let review = review_of("trace.json", &bytes, &[]);
        assert!(!verdict(&review).contains("damaged"), "{what}: {}", verdict(&review));
        assert_ne!(accounts(&review), ["idle_unknown"], "{what}");
    }
}

#[test]
fn a_hole_of_zeros_is_damage_wherever_it_begins() {
    let whole = in_order();
    let middle = whole.len() / 2;
    let event = middle + whole[middle..].find(",\n  {\"ph\"").unwrap();
    let length = whole[event + 1..].find(",\n  {\"ph\"").unwrap();
    // In names and in values, between members and between events; strings that run on through it are none.
    for start in (event..event + length).step_by(7) {
        let mut bytes = whole.clone().into_bytes();
        bytes[start..start + 2_000].fill(0);
        let review = review_of("trace.json", &bytes, &[]);
        assert!(verdict(&review).contains("damaged"), "{}: {}", &whole[event..start], verdict(&review));
    }
}

#[test]
fn memory_that_a_trace_does_not_tell_is_none_of_a_kind() {
    let whole =
        in_order().replace("Pageable -> Device", "Host -> Device").replace("\"name\": \"cuda", "\"name\": \"hip");
    let review = review_of("trace.json", whole.as_bytes(), &[]);
    let notes = review["capture"].to_string();
    assert!(notes.contains(&format!("host memory of {STEPS} copies")) && notes.contains("AMD"), "{notes}");
    let unjudged = review["unjudged"].to_string();
    assert!(unjudged.contains("\"pageable-copy\""), "{unjudged}");
    let folder = temp::folder();
    write(folder.path(), "trace.json", whole.as_bytes());
    let facts = coldspot_in(folder.path(), &["facts", "trace.json", "--format", "json"]).json();
    assert!(facts["devices"][0]["exposed_copy_h2d_pageable_ns"].is_null(), "{:#}", facts["devices"][0]);
    assert!(facts["devices"][0]["exposed_copy_d2h_pageable_ns"].is_i64());
}

/// The trace with a line behind every so many events.
fn with_lines(line: &str) -> String {
    let whole = in_order();
    let events: Vec<&str> = whole.split_inclusive(",\n  {").collect();
    let lines = events.chunks(5).map(|some| {
        let some = some.concat();
        some.strip_suffix('{').map_or_else(|| some.clone(), |rest| format!("{rest}\n{line}\n  {{"))
    });
    lines.collect()
}

#[test]
fn lines_of_a_log_are_no_part_of_the_trace() {
    let line = "I0101 12:00:00 \u{1b}[32mstep\u{1b}[0m done, loss 0.25, and all is well with the one who wrote this much of it";
    for (where_to, bytes) in
        [("before", format!("{}\n{}", [line; 40].join("\n"), in_order())), ("between", with_lines(line))]
    {
        let review = review_of("trace.json", bytes.as_bytes(), &["--budget", "device.idle_share<=0.9"]);
        assert!(!verdict(&review).contains("damaged"), "{where_to}: {}", verdict(&review));
        assert_ne!(accounts(&review), ["idle_unknown"], "{where_to}");
        assert_eq!(review["gates"][0]["outcome"], "passed", "{where_to}");
    }
    // What is no text may have been anything.
    assert!(verdict(&review_of("trace.json", with_lines(&"\0".repeat(900)).as_bytes(), &[])).contains("damaged"));
}

#[test]
fn events_of_no_use_are_no_damage_of_the_file() {
    // Of a single one, too, idle time may be any part.
    for (dur, count, gate) in [("-0.5", 1, "unknown"), ("-0.5", 20, "unknown"), ("9e15", 20, "unknown")] {
        let bytes = in_order().replacen("\"dur\": 30.25", &format!("\"dur\": {dur}"), count);
        let review = review_of("trace.json", bytes.as_bytes(), &["--budget", "device.idle_share<=0.9"]);
        assert!(!review.to_string().contains("damaged"), "{dur} {count}: {review:#}");
        assert_ne!(accounts(&review), ["idle_unknown"], "{dur} {count}");
        assert_eq!(review["gates"][0]["outcome"], gate, "{dur} {count}");
        assert!(review["capture"].to_string().contains("could not be used"), "{}", review["capture"]);
    }
}

#[test]
fn a_broken_event_or_two_are_no_missing_part() {
    for (count, is_damaged) in [(1, false), (2, false), (3, true)] {
        let bytes = trace(20, Today).replacen("\"dur\": 5,", "\"dur\": ,", count);
        let review = review_of("trace.json", bytes.as_bytes(), &[]);
        assert_eq!(review.to_string().contains("damaged"), is_damaged, "{count}: {review:#}");
    }
}

#[test]
fn what_a_damaged_file_lacks_is_not_outside_of_the_work() {
    let folder = temp::folder();
    write(folder.path(), "cut.json", cut_amid_gpu().as_bytes());
    let facts = coldspot_in(folder.path(), &["facts", "cut.json", "--format", "json"]).json();
    let device = &facts["devices"][0];
    assert!(device["window_ns"].is_i64() && device["outside_after_ns"].is_null(), "{device:#}");
    assert_eq!(device["replay_refused"], "incomplete");
    assert!(!review_of("cut.json", cut_amid_gpu().as_bytes(), &[]).to_string().contains("that were recorded lie"));
    let what_if = coldspot_in(folder.path(), &["whatif", "cut.json"]).out();
    assert!(what_if.contains("A part of what ran is missing from the recording"), "{what_if}");
}

#[test]
fn the_checksum_of_compressed_data_is_compared() {
    let level = ruzstd::encoding::CompressionLevel::Uncompressed;
    let packed = ruzstd::encoding::compress_to_vec(in_order().as_bytes(), level);
    assert!(!verdict(&review_of("whole.json.zst", &packed, &[])).contains("damaged"));
    let dur = b"\"dur\": 30.25";
    let at = packed.windows(dur.len()).position(|bytes| bytes == dur).unwrap() + dur.len() - 1;
    let mut flipped = packed;
    flipped[at] ^= 1;
    let review = review_of("flipped.json.zst", &flipped, &[]);
    assert!(verdict(&review).contains("damaged"), "{}", verdict(&review));
    assert!(review["capture"].to_string().contains("its checksum is not that of the trace"), "{}", review["capture"]);
}

#[test]
fn a_launch_within_a_launch_is_one() {
    for (is_outer_first, is_shared) in [(true, true), (false, true), (true, false), (false, false)] {
        let mut nested = in_order();
        for number in 0..STEPS {
            let (at, id) = (1_000 + number * 100, 2 * number + 1);
            let call = |category: &str, name: &str, start: i64, length: i64, id: i64| {
                format!(
                    r#""ph": "X", "cat": "{category}", "name": "{name}", "pid": 99, "tid": "99", "ts": "{start}", "dur": {length}, "args": {{"correlation": {id}}}}}"#
                )
            };
            let whole = call("cuda_runtime", "cudaLaunchKernel", at + 1, 5, id);
            let outer = call("cuda_runtime", "cudaLaunchKernelExC", at + 1, 5, if is_shared { id } else { 9_000 + id });
            let inner = call("cuda_driver", "cuLaunchKernelEx", at + 2, 3, id);
            let both = if is_outer_first { [outer, inner] } else { [inner, outer] };
            assert!(nested.contains(&whole), "{whole}");
            nested = nested.replace(&whole, &both.join(",\n  {"));
        }
        let review = review_of("trace.json", nested.as_bytes(), &[]);
        assert!(!review["capture"].to_string().contains("holds no work"), "{is_outer_first} {is_shared}: {review:#}");
        assert!(!verdict(&review).contains("Read with care"), "{is_outer_first} {is_shared}: {}", verdict(&review));
    }
}

#[test]
fn a_second_trace_that_is_not_read_leaves_gates_open() {
    let whole = in_order();
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(whole.as_bytes()).unwrap();
    let zipped = zipped.finish().unwrap();
    let nested = whole.replacen("\"traceEvents\": [", &format!("\"traceEvents\": [{whole},"), 1);
    let gates = ["--budget", "window_time<=60s"];
    let outcome = |name: &str, bytes: &[u8]| review_of(name, bytes, &gates)["gates"][0]["outcome"].clone();
    assert_eq!(outcome("trace.json.gz", &zipped), "passed");
    let behind = [&zipped, whole.as_bytes()].concat();
    for (name, bytes, told) in [
        ("trace.json.gz", &behind[..], "Behind the trace the file holds more"),
        ("trace.json", nested.as_bytes(), "1 row or event that could not be used"),
    ] {
        assert_eq!(outcome(name, bytes), "unknown", "{told}");
        let notes = review_of(name, bytes, &[])["capture"].to_string();
        assert!(notes.contains(told), "{notes}");
    }
}

/// What ran is written as what lasts. Under another phase it was none of that, for all that is known.
#[test]
fn work_of_another_phase_is_told_and_leaves_gates_open() {
    let whole = trace(STEPS, Today);
    for phase in ["b", "E", "i", "C", "x"] {
        let (first, last) = whole.rsplit_once("{\"ph\": \"X\", \"cat\": \"kernel\"").unwrap();
        let text = format!("{first}{{\"ph\": \"{phase}\", \"cat\": \"kernel\"{last}");
        let review = review_of("trace.json", text.as_bytes(), &["--budget", "device.idle_share<=1"]);
        assert_eq!(review["gates"][0]["outcome"], "unknown", "{phase}: {}", review["verdict"]["plain"]);
    }
}

#[test]
fn a_thinned_trace_is_judged_by_no_rule_on_its_gpus() {
    let review = review_of("thinned.json", thinned_trace(20).as_bytes(), &[]);
    let rules = || review["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap());
    assert_eq!(rules().collect::<Vec<_>>(), ["events-lost"], "{review:#}");
    assert!(review.to_string().contains("The trace was thinned out: most of what ran is not in it"), "{review:#}");
    // Of a whole one all operators have the numbers of others beside them.
    let whole = review_of("whole.json", thinned_trace(1).as_bytes(), &[]);
    assert!(!whole.to_string().contains("thinned out"));
}
