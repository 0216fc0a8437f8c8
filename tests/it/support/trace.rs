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

pub const DEVICE: &str =
    r#"{"id": 0, "name": "NVIDIA H100", "numSms": 132, "computeMajor": 9, "computeMinor": 0, "warpSize": 32}"#;

/// A trace of so many steps.
pub fn trace(steps: i64, spelling: Spelling) -> String {
    let events: Vec<String> = (0..steps).map(|number| step(number, spelling)).collect();
    format!("{{\"deviceProperties\": [{DEVICE}], \"traceEvents\": [{}\n]}}\n", events.join(","))
}

/// Two ranks in one file, one behind the other: process 99 with GPU 0, and process 98 with GPU 1, whose events come later.
pub fn two_ranks(later_us: i64) -> String {
    let first = trace(6, Spelling::Today);
    let (head, events) = first.split_once("\"traceEvents\": [").unwrap();
    let events = events.trim_end().trim_end_matches("]}");
    let later = |at: &str| (at.parse::<i64>().unwrap() + later_us).to_string();
    let mut second = String::new();
    for part in events.replace("\"ts\": \"", "\"ts\": ").split_inclusive("\"ts\": ") {
        let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(0);
        let at = if second.ends_with("\"ts\": ") { later(&part[..digits]) } else { part[..digits].to_owned() };
        second.push_str(&at);
        second.push_str(part[digits..].strip_prefix('"').filter(|_| digits > 0).unwrap_or(&part[digits..]));
    }
    let second = second.replace("\"pid\": 99", "\"pid\": 98").replace("\"device\": 0", "\"device\": 1");
    format!("{head}\"traceEvents\": [{events},{}\n]}}\n", second.replace("\"pid\": 0", "\"pid\": 1"))
}

/// Processes and their GPUs in one file, with the ids of their calls from these on: each as the process of `text`. GPU `None` leaves out
/// what ran there.
pub fn ranks(of: &[(&str, i64, Option<i64>, i64)]) -> String {
    let mut events = Vec::new();
    for (text, process, gpu, first_id) in of {
        let trace: serde_json::Value = serde_json::from_str(text).unwrap();
        for event in trace["traceEvents"].as_array().unwrap() {
            let mut event = event.clone();
            let is_on_gpu = event["pid"] == 0;
            if is_on_gpu && gpu.is_none() {
                continue;
            }
            event["pid"] = if is_on_gpu { (*gpu).into() } else { (*process).into() };
            if let Some(id) = event["args"].get("correlation").and_then(serde_json::Value::as_i64) {
                event["args"]["correlation"] = (first_id + id).into();
            }
            if is_on_gpu {
                event["args"]["device"] = (*gpu).into();
            }
            events.push(event.to_string());
        }
    }
    format!("{{\"deviceProperties\": [{DEVICE}], \"traceEvents\": [{}]}}\n", events.join(",\n"))
}

/// A training step of 1 ms with Python frames (`with_stack`): a batch that the loop prepares itself, a forward operator in
/// `train_step`, its backward on another thread, and a value read back in `log`.
fn framed_step(number: i64) -> String {
    let at = 1_000 + number * 1_000;
    let first = 3 * number + 1;
    let event = |category: &str, name: &str, thread: i64, start: i64, length: i64, args: &str| {
        let (start, pid) = (at + start, if thread == 0 { 0 } else { 99 });
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {}, "ts": {start}, "dur": {length}, "args": {{{args}}}}}"#,
            if thread == 0 { 7 } else { thread },
        )
    };
    let call = |name, thread, start, correlation| {
        event("cuda_runtime", name, thread, start, 5, &format!("\"correlation\": {correlation}"))
    };
    let on_gpu = |category, name, start, length, correlation, args: &str| {
        let args = format!("\"device\": 0, \"stream\": 7, \"correlation\": {correlation}{args}");
        event(category, name, 0, start, length, &args)
    };
    let grid = r#", "grid": [264, 1, 1], "block": [256, 1, 1]"#;
    [
        event("user_annotation", &format!("ProfilerStep#{number}"), 1, 0, 999, ""),
        event("python_function", "train.py(10): main", 1, 0, 998, ""),
        event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 1, 400, ""),
        event("python_function", "data/images.py(31): __getitem__", 1, 2, 390, ""),
        event("python_function", "PIL/Image.py(2220): resize", 1, 3, 380, ""),
        event("python_function", "train.py(40): train_step", 1, 410, 60, ""),
        event("python_function", "torch/nn/functional.py(1): linear", 1, 411, 50, ""),
        event("python_function", "train.py(40): torch_dynamo_resume_in_train_step_at_44", 1, 462, 4, ""),
        event("cpu_op", "aten::linear", 1, 412, 40, &format!(r#""Sequence number": {number}, "Fwd thread id": 0"#)),
        call("cudaLaunchKernel", 1, 420, first),
        on_gpu("kernel", "forward_kernel", 430, 100, first, grid),
        event("cpu_op", "aten::mm", 1, 500, 8, &format!(r#""External id": {first}, "Input Dims": [[64, 512], [512, 1001]], "Input type": ["c10::Half", "c10::Half"]"#)),
        call("cudaLaunchKernel", 1, 502, 2_000_000 + first),
        on_gpu("kernel", "h16816gemm", 745, 3, 2_000_000 + first, &format!(r#", "External id": {first}{grid}"#)),
        event("user_annotation", "Optimizer.step#SGD.step", 1, 511, 8, ""),
        call("cudaLaunchKernel", 1, 512, 1_000_000 + first),
        on_gpu("kernel", "update", 760, 3, 1_000_000 + first, grid),
        on_gpu("kernel", "ncclDevKernel_AllReduce", 770, 20 + number % 2, 0, &format!(r#"{grid}, "Collective name": "allreduce", "In msg nelems": 1048576, "dtype": "Float", "Group size": 2"#)),
        format!(
            r#"{{"ph": "i", "name": "[memory]", "pid": 99, "tid": 1, "ts": {at}, "args": {{"Device Type": 1, "Device Id": 0, "Bytes": 8, "Total Allocated": 900, "Total Reserved": 1000}}}}"#
        ),
        event("cpu_op", "LinearBackward0", 2, 480, 30, &format!(r#""Sequence number": {number}, "Fwd thread id": 1"#)),
        call("cudaLaunchKernel", 2, 485, first + 1),
        on_gpu("kernel", "backward_kernel", 540, 200, first + 1, grid),
        event("python_function", "train.py(77): log", 1, 520, 300, ""),
        event("cuda_runtime", "cudaMemcpyAsync", 1, 525, 260, &format!("\"correlation\": {}", first + 2)),
        call("cudaStreamSynchronize", 1, 800, 0),
        on_gpu("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 750, 2, first + 2, ", \"bytes\": 4"),
    ]
    .join(",\n  ")
}

/// A trace of so many such steps.
pub fn framed_trace(steps: i64) -> String {
    let events: Vec<String> = (0..steps).map(framed_step).collect();
    let job = r#"{"rank": 1, "world_size": 2, "backend": "nccl"}"#;
    let events = events.join(",\n  ");
    format!(
        "{{\"deviceProperties\": [{DEVICE}], \"distributedInfo\": {job}, \"with_stack\": 1, \"traceEvents\": [\n  {events}\n]}}\n"
    )
}

/// One event of a thread of the host.
pub fn host_event(category: &str, name: &str, thread: i64, start: i64, length: i64, args: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 99, "tid": {thread}, "ts": {start}, "dur": {length}, "args": {{{args}}}}}"#
    )
}

/// Launches of kernels on one stream, each under a number of its own.
#[derive(Default)]
pub struct Launches(i64);

impl Launches {
    /// A thread's call, which takes 2 us, and the kernel; `sent` is what else is recorded of that.
    pub fn add(
        &mut self,
        events: &mut Vec<String>,
        (thread, at): (i64, i64),
        kernel: &str,
        (start, length): (i64, i64),
        sent: &str,
    ) {
        self.0 += 1;
        let id = format!("\"correlation\": {}", self.0);
        events.push(host_event("cuda_runtime", "cudaLaunchKernel", thread, at, 2, &id));
        events.push(format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 7, "ts": {start}, "dur": {length}, "args": {{"device": 0, "stream": 7, {id}, "grid": [64, 1, 1], "block": [256, 1, 1]{sent}}}}}"#
        ));
    }
}

/// What a block of a model runs.
pub const BLOCK: &[&str] = &["aten::layer_norm", "aten::linear", "aten::gelu", "aten::linear", "aten::add"];

/// A trace of training steps of 1 ms: in the forward pass each operator of [`BLOCK`] launches a kernel of 100 µs; in a node of the
/// backward pass run some that have numbers of forward operators, a kernel of 40 µs each, and one of its own of 100 µs, which the host
/// waits for.
pub fn checkpointed_trace(steps: i64, node: &str, again: &[&str]) -> String {
    let mut events = Vec::new();
    let mut id = 0;
    let mut launch = |events: &mut Vec<String>, thread: i64, at: i64, (kernel, start, length): (&str, i64, i64)| {
        id += 1;
        events.push(host_event("cuda_runtime", "cudaLaunchKernel", thread, at, 2, &format!("\"correlation\": {id}")));
        events.push(format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 7, "ts": {start}, "dur": {length}, "args": {{"device": 0, "stream": 7, "correlation": {id}, "grid": [264, 1, 1], "block": [256, 1, 1]}}}}"#
        ));
    };
    for step in 0..steps {
        let begin = 1_000 + 1_000 * step;
        events.push(host_event("user_annotation", &format!("ProfilerStep#{step}"), 1, begin, 999, ""));
        let number = |forward: i64| format!("\"Sequence number\": {step}, \"Fwd thread id\": {forward}");
        for (name, nth) in BLOCK.iter().zip(0..) {
            let at = begin + 10 + 10 * nth;
            events.push(host_event("cpu_op", name, 1, at, 8, &number(0)));
            launch(&mut events, 1, at + 2, ("forward_kernel", begin + 20 + 100 * nth, 100));
        }
        let length = 30 + 10 * again.len() as i64;
        let full = format!("autograd::engine::evaluate_function: {node}");
        events.push(host_event("cpu_op", &full, 2, begin + 300, length, &number(1)));
        for (name, nth) in again.iter().zip(0..) {
            let at = begin + 310 + 10 * nth;
            events.push(host_event("cpu_op", name, 2, at, 8, &number(0)));
            launch(&mut events, 2, at + 2, ("again_kernel", begin + 520 + 40 * nth, 40));
        }
        let at = begin + 300 + length - 12;
        events.push(host_event("cpu_op", "aten::mm", 2, at, 8, ""));
        let last = begin + 520 + 40 * again.len() as i64;
        launch(&mut events, 2, at + 2, ("backward_kernel", last, 100));
        events.push(host_event("cuda_runtime", "cudaDeviceSynchronize", 1, begin + 400, last + 102 - begin - 400, ""));
    }
    format!("{{\"deviceProperties\": [{DEVICE}], \"traceEvents\": [{}]}}\n", events.join(",\n  "))
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

/// Events of a trace on an A100, written one after the other: the host's on thread 99, those of the GPU on their stream.
#[derive(Default)]
pub struct EventsOfA100 {
    events: String,
}

impl EventsOfA100 {
    pub fn event(&mut self, category: &str, name: &str, tid: u32, start: f64, length: f64, args: &str) {
        let comma = if self.events.is_empty() { "" } else { "," };
        let pid = if tid == 99 { 99 } else { 0 };
        self.events.push_str(&format!(
            r#"{comma}{{"ph":"X","cat":"{category}","name":"{name}","pid":{pid},"tid":{tid},"ts":{start},"dur":{length},"args":{{{args}}}}}"#
        ));
    }

    /// The whole trace.
    pub fn text(&self) -> String {
        let device =
            r#"{"id":0,"name":"NVIDIA A100-SXM4-40GB","numSms":108,"computeMajor":8,"computeMinor":0,"warpSize":32}"#;
        format!(r#"{{"deviceProperties":[{device}],"traceEvents":[{}]}}"#, self.events)
    }
}

/// A trace of steps on an A100, each of which computes and then saves a checkpoint, with the stacks of Python.
pub fn saving_trace(steps: u32) -> String {
    let mut events = EventsOfA100::default();
    for step in 0..steps {
        let begin = f64::from(step) * 20_000.0 + 1_000.0;
        events.event("user_annotation", &format!("ProfilerStep#{step}"), 99, begin, 19_900.0, "");
        events.event("python_function", "train.py(27): step", 99, begin + 1.0, 19_800.0, "");
        for launch in 0..4 {
            let (at, correlation) = (begin + 10.0 + 20.0 * f64::from(launch), 1 + 4 * step + launch);
            let args = format!(r#""correlation":{correlation}"#);
            events.event("cuda_runtime", "cudaLaunchKernel", 99, at, 5.0, &args);
            let args = format!(r#"{args},"device":0,"stream":7,"grid":[4096,1,1],"block":[256,1,1]"#);
            events.event("kernel", "ampere_fp16_s16816gemm_fp16_128x64_nn", 7, at + 8.0, 11.0, &args);
        }
        events.event("python_function", "torch/serialization.py(945): save", 99, begin + 200.0, 19_000.0, "");
        events.event("python_function", "torch/serialization.py(1184): _save", 99, begin + 300.0, 16_000.0, "");
        events.event("python_function", "<built-in method write_record of Writer>", 99, begin + 400.0, 12_000.0, "");
    }
    events.text()
}

/// A trace of rounds on an A100, in each of which a tensor is copied whole to append one row to it, with the sizes of tensors; the host
/// is in no operator most of the time.
pub fn growing_trace(rounds: u32) -> String {
    let mut events = EventsOfA100::default();
    growing_rounds(&mut events, rounds);
    events.text()
}

fn growing_rounds(events: &mut EventsOfA100, rounds: u32) {
    for round in 0..rounds {
        let (at, rows) = (f64::from(round) * 1_000.0 + 1_000.0, 100 + round);
        let sizes = format!(r#""Input Dims":[[[{rows},64],[1,64]],[]]"#);
        events.event("cpu_op", "aten::concat", 99, at, 60.0, "");
        events.event("cpu_op", "aten::cat", 99, at + 1.0, 50.0, &sizes);
        let args = format!(r#""correlation":{}"#, round + 1);
        events.event("cuda_runtime", "cudaLaunchKernel", 99, at + 20.0, 5.0, &args);
        let args = format!(r#"{args},"device":0,"stream":7,"grid":[4096,1,1],"block":[256,1,1]"#);
        events.event("kernel", "CatArrayBatchedCopy", 7, at + 28.0, 200.0, &args);
    }
}

/// The same with a product of all rows and one weight in each round, after the tensor has grown.
pub fn grown_trace(rounds: u32) -> String {
    let mut events = EventsOfA100::default();
    growing_rounds(&mut events, rounds);
    for round in 0..rounds {
        let (at, rows) = (f64::from(round) * 1_000.0 + 1_300.0, 101 + round);
        let sizes = format!(r#""Input Dims":[[{rows},64],[64,256]],"Input type":["float","float"]"#);
        events.event("cpu_op", "aten::mm", 99, at, 60.0, &sizes);
        let args = format!(r#""correlation":{}"#, 1_000 + round);
        events.event("cuda_runtime", "cudaLaunchKernel", 99, at + 20.0, 5.0, &args);
        let args = format!(r#"{args},"device":0,"stream":7,"grid":[4096,1,1],"block":[256,1,1]"#);
        events.event("kernel", "ampere_sgemm_128x64_nn", 7, at + 28.0, 400.0, &args);
    }
    events.text()
}

/// A trace of rounds on an A100 in which operators of PyTorch copy a tensor into another type and multiply it by another, twice, with
/// the sizes and types of what is copied.
pub fn casting_trace(rounds: u32) -> String {
    const COPY: &str = "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}>(int)";
    const PRODUCT: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > >(int)";
    let copied = r#""Input Dims":[[64,40],[64,40],[]],"Input type":["float","long int","Scalar"]"#;
    let mut events = EventsOfA100::default();
    for round in 0..rounds {
        let begin = f64::from(round) * 1_000.0 + 1_000.0;
        let launched = [("aten::copy_", copied, COPY, 200.0), ("aten::mul", "", PRODUCT, 150.0)];
        let twice = launched.iter().chain(&launched[1..]);
        for (place, (operator, args, kernel, run_us)) in (0_u32..).zip(twice) {
            let at = begin + 20.0 * f64::from(place);
            events.event("cpu_op", operator, 99, at, 15.0, args);
            let args = format!(r#""correlation":{}"#, 3 * round + place + 1);
            events.event("cuda_runtime", "cudaLaunchKernel", 99, at + 2.0, 5.0, &args);
            let args = format!(r#"{args},"device":0,"stream":7,"grid":[4096,1,1],"block":[256,1,1]"#);
            events.event("kernel", kernel, 7, begin + 100.0 + 210.0 * f64::from(place), *run_us, &args);
        }
    }
    events.text()
}

/// A trace of passes over two convolutions on an A100, forward and backward. In the first of them, each of which has inputs of new
/// sizes, a convolution tries five kernels and waits for each before it runs. Steps are marked where that is asked for.
pub fn tuned_trace(passes: u32, of_new_sizes: u32, is_marked: bool) -> String {
    let mut events = EventsOfA100::default();
    let (mut at, mut correlation) = (1_000.0, 0);
    let mut launch = |events: &mut EventsOfA100, at: f64, name: &str| {
        correlation += 1;
        let args = format!(r#""correlation":{correlation}"#);
        events.event("cuda_runtime", "cudaLaunchKernel", 99, at, 5.0, &args);
        let args = format!(r#"{args},"device":0,"stream":7,"grid":[4096,1,1],"block":[256,1,1]"#);
        events.event("kernel", name, 7, at + 8.0, 90.0, &args);
    };
    for pass in 0..passes {
        let (begin, is_new) = (at, pass < of_new_sizes);
        for (layer, operator) in [(0, FORWARD), (1, FORWARD), (1, BACKWARD), (0, BACKWARD)] {
            let (first, trial_count) = (at, if is_new { 5 } else { 0 });
            for trial in 0..trial_count {
                launch(&mut events, at + 3_000.0, &format!("cutlass_fprop_{trial}"));
                events.event("cuda_runtime", "cudaEventSynchronize", 99, at + 3_010.0, 100.0, "");
                at += 3_200.0;
            }
            launch(&mut events, at + 10.0, "cutlass_fprop_0");
            at += 150.0;
            let width = if is_new { 100 + pass } else { 100 };
            let args = format!(r#""Input Dims":[[48,{layer},32,{width}],[64,{layer},3,3]]"#);
            events.event("cpu_op", operator, 99, first, at - first - 5.0, &args);
        }
        if is_marked {
            events.event("user_annotation", &format!("ProfilerStep#{pass}"), 99, begin - 2.0, at - begin, "");
        }
    }
    events.text()
}

const FORWARD: &str = "aten::cudnn_convolution";
const BACKWARD: &str = "aten::convolution_backward";

/// A trace on an A100 of which somebody kept some operators, each with its launch and kernel: by their numbers, one of `of`.
pub fn thinned_trace(of: u32) -> String {
    let mut events = EventsOfA100::default();
    for kept in 0..220 {
        let (at, id, correlation) = (1_000.0 + 500.0 * f64::from(kept), 10 + of * kept, 100 + 7 * of * kept);
        events.event("cpu_op", "aten::mul", 99, at, 20.0, &format!(r#""External id":{id}"#));
        let args = format!(r#""External id":{id},"correlation":{correlation}"#);
        events.event("cuda_runtime", "cudaLaunchKernel", 99, at + 5.0, 5.0, &args);
        let args = format!(r#"{args},"device":0,"stream":7,"grid":[4096,1,1],"block":[256,1,1]"#);
        events.event("kernel", "vectorized_elementwise_kernel", 7, at + 12.0, 40.0, &args);
    }
    events.text()
}
