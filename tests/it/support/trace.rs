//! Small traces of the PyTorch Profiler, whole and damaged.

use super::mutate::Random;
use super::mutate_text;

/// How a trace is written: as years differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `Kernel`, whole microseconds, as in 2021.
    Old,
    /// `kernel`, with nanoseconds.
    Today,
}

/// A training step of 100 µs: a launch, a kernel behind it, a copy from pageable memory.
fn step(number: i64, spelling: Spelling) -> String {
    let at = 1_000 + number * 100;
    let [operator, runtime, kernel, copy] = match spelling {
        Spelling::Old => ["Operator", "Runtime", "Kernel", "Memcpy"],
        Spelling::Today => ["cpu_op", "cuda_runtime", "kernel", "gpu_memcpy"],
    };
    let (first, second) = (2 * number + 1, 2 * number + 2);
    let host = r#""pid": 99, "tid": "99""#;
    format!(
        r#"
  {{"ph": "X", "cat": "{operator}", "name": "ProfilerStep#{number}", {host}, "ts": {at}, "dur": 99.5, "args": null}},
  {{"ph": "X", "cat": "{runtime}", "name": "cudaLaunchKernel", {host}, "ts": "{}", "dur": 5, "args": {{"correlation": {first}}}}},
  {{"ph": "X", "cat": "{runtime}", "name": "cudaMemcpyAsync", {host}, "ts": {}, "dur": 25, "args": {{"correlation": {second}}}}},
  {{"ph": "X", "cat": "{kernel}", "name": "gemm", "pid": 0, "tid": 7, "ts": {}.125, "dur": 30.25,
    "args": {{"device": 0, "stream": 7, "correlation": {first}, "grid": [264, 1, 1], "block": [256, 1, 1]}}}},
  {{"ph": "X", "cat": "{copy}", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": {}.500, "dur": 10,
    "args": {{"device": 0, "stream": 7, "correlation": {second}, "bytes": "4096"}}}}"#,
        at + 1,
        at + 40,
        at + 8,
        at + 50,
    )
}

const DEVICE: &str =
    r#"{"id": 0, "name": "NVIDIA H100", "numSms": 132, "computeMajor": 9, "computeMinor": 0, "warpSize": 32}"#;

/// A trace of so many steps.
pub fn trace(steps: i64, spelling: Spelling) -> String {
    let events: Vec<String> = (0..steps).map(|number| step(number, spelling)).collect();
    format!("{{\"deviceProperties\": [{DEVICE}], \"traceEvents\": [{}\n]}}\n", events.join(","))
}

/// The same text with every occurrence of a part replaced, at least one.
pub fn with(text: &str, part: &str, by: &str) -> Vec<u8> {
    assert!(text.contains(part), "{part}");
    text.replace(part, by).into_bytes()
}

/// Kinds of damage that traces come with, each done to a good trace.
pub fn damaged() -> Vec<(&'static str, Vec<u8>)> {
    let good = trace(6, Spelling::Today);
    let third = good.len() / 3;
    let spliced = |bytes: &[u8]| {
        // Between two events.
        let at = third + good[third..].find("},\n  {\"ph\"").unwrap() + 2;
        [&good.as_bytes()[..at], bytes, &good.as_bytes()[at..]].concat()
    };
    let step3 = "\"name\": \"ProfilerStep#3\"";
    vec![
        ("cut off in an event", good.as_bytes()[..2 * third].to_vec()),
        ("cut off before the end", good.trim_end().trim_end_matches(']').trim_end_matches("]}").as_bytes().to_vec()),
        ("cut off at the front", good.as_bytes()[third..].to_vec()),
        ("a backslash that escapes nothing", with(&good, step3, r#""name": "C:\Users\qux""#)),
        ("quotes without backslashes", with(&good, step3, r#""name": "a "quoted" word""#)),
        ("control characters", with(&good, step3, "\"name\": \"a\u{1}b\nc\td\"")),
        ("bad UTF-8", {
            let mut bytes = good.clone().into_bytes();
            let at = good.find("gemm").unwrap();
            bytes[at..at + 4].copy_from_slice(&[0xff, 0xfe, 0xc3, 0x28]);
            bytes
        }),
        ("inf", with(&good, "\"dur\": 99.5", "\"dur\": inf")),
        (
            "Infinity and NaN",
            with(&good, "\"args\": null", "\"args\": {\"a\": Infinity, \"b\": -Infinity, \"c\": NaN}"),
        ),
        ("N/A", with(&good, "\"block\": [256, 1, 1]", "\"block\": N/A")),
        ("trailing commas", with(&good, "1, 1]}},", "1, 1,],},},")),
        ("a comma too many between events", with(&good, "\"args\": null},", "\"args\": null},,")),
        ("lines of a log between events", spliced(b"\n[W kineto.cpp:41] buffers are \"full\" {\n")),
        ("lines of a log in front", [b"INFO: starting {\n".as_slice(), good.as_bytes()].concat()),
        ("text behind the end", [good.as_bytes(), b"Segmentation fault\n".as_slice()].concat()),
        ("nul bytes", spliced(&[0; 64])),
        ("an id beyond 64 bits", with(&good, "\"correlation\": 7,", "\"correlation\": 99999999999999999999999,")),
        ("a duration of 9e15", with(&good, "\"ts\": 1308.125, \"dur\": 30.25", "\"ts\": 1308.125, \"dur\": 9e15")),
        ("a negative duration", with(&good, "\"ts\": 1308.125, \"dur\": 30.25", "\"ts\": 1308.125, \"dur\": -30.25")),
        ("no start", with(&good, "\"ts\": 1308.125, ", "")),
        ("a start in another century", with(&good, "\"ts\": 1308.125", "\"ts\": 8999999999999999.125")),
        ("no device", with(&good, "\"device\": 0, \"stream\": 7, \"correlation\": 7", "\"correlation\": 7")),
        (
            "a device below zero",
            with(&good, "\"device\": 0, \"stream\": 7, \"correlation\": 7", "\"device\": -1, \"correlation\": 7"),
        ),
        (
            "an object within itself",
            with(&good, "\"args\": null", &format!("\"args\": {}1{}", "{\"a\":".repeat(200), "}".repeat(200))),
        ),
        ("a key twice", with(&good, "\"dur\": 30.25", "\"dur\": 1, \"dur\": 30.25")),
    ]
}

/// A trace of a seed, changed, and what was done.
pub fn mutant(seed: u64) -> (Vec<u8>, String) {
    let mut random = Random::new(seed);
    let spelling = *random.pick(&[Spelling::Old, Spelling::Today]);
    let mut bytes = trace(1 + random.below(40) as i64, spelling).into_bytes();
    let done = mutate_text::change(&mut bytes, &mut random);
    (bytes, done)
}
