//! What operators of a trace tell of kernels and of host code.

use coldspot::facts::{EntityKind, FactValue};

use super::kineto::{device, facts};
use crate::support::trace::{casting_trace, growing_trace, grown_trace};

#[test]
fn a_tensor_that_is_copied_whole_to_append_to_it_is_told() {
    let growing = facts(growing_trace(12));
    // The first appends to what nothing that was recorded made.
    assert_eq!(device(&growing, "growing_join_count"), 11);
    assert_eq!(device(&growing, "growing_join_sum_ns"), 11 * 200_000);
    let share = growing.of_kind(EntityKind::Device).next().unwrap().1.number("growing_join_copied_share").unwrap();
    assert!((0.99..0.992).contains(&share), "{share}");
    // The same sizes in each round are no growth, nor is a second tensor as large as the first.
    let of_one_size =
        (0..12).fold(growing_trace(12), |text, round| text.replace(&format!("[[[{},", 100 + round), "[[[100,"));
    assert_eq!(device(&facts(of_one_size), "growing_join_count"), 0);
    // Nor are two tensors that are joined to a third in turn, to the same two sizes each round.
    let in_turn = (0..12).fold(growing_trace(12), |text, round| {
        text.replace(&format!("[[[{},", 100 + round), &format!("[[[{},", 100 + round % 2))
    });
    assert_eq!(device(&facts(in_turn), "growing_join_count"), 0);
    let of_two_halves = growing_trace(12).replace("[1,64]", "[100,64]");
    assert_eq!(device(&facts(of_two_halves), "growing_join_count"), 0);
    let without_sizes = growing_trace(12).replace("Input Dims", "Dims");
    assert_eq!(device(&facts(without_sizes), "growing_join_count"), -1);
}

#[test]
fn a_tensor_that_is_copied_is_told_by_sizes_and_types_and_a_chain_by_its_operators() {
    let told = |text: String| {
        let facts = facts(text);
        let device = facts.of_kind(EntityKind::Device).next().unwrap().1;
        let names = ["tensor_copy_main_sizes", "tensor_copy_main_from", "tensor_copy_main_to", "chain_operators"];
        let texts = names.map(|name| device.text(name).unwrap_or("").to_owned());
        (texts, device.int("tensor_copy_main_ns"))
    };
    let (texts, copied_ns) = told(casting_trace(6));
    assert_eq!(texts, ["[64, 40]", "int64", "float32", "aten::mul, aten::copy_"]);
    assert_eq!(copied_ns, Some(6 * 200_000));
    let (texts, copied_ns) = told(casting_trace(6).replace("Input type", "types"));
    assert_eq!((texts[0].as_str(), texts[3].as_str(), copied_ns), ("", "aten::mul, aten::copy_", None), "no types");
    let (texts, _) = told(casting_trace(6).replace("cpu_op", "user_annotation"));
    assert_eq!(texts, ["", "", "", ""], "no operators");
}

/// Copies that two normalizations ask for, three each, beside rows of zeros and a one.
pub fn asked_copies() -> String {
    let text = casting_trace(6).replacen("aten::mul", "aten::one_hot", 1);
    let text = text.replacen("aten::copy_", "aten::layer_norm", 3);
    text.replace("aten::copy_", "aten::native_layer_norm_backward")
}

#[test]
fn operators_that_ask_for_copies_are_told_unless_they_only_copy() {
    let told = |text: String| {
        let facts = facts(text);
        let device = facts.of_kind(EntityKind::Device).next().unwrap().1;
        let names = ["tensor_copy_operator", "tensor_copy_second_operator"];
        let texts = names.map(|name| device.text(name).unwrap_or("").to_owned());
        (texts.join(" "), device.get("has_one_hot").cloned())
    };
    let both = "aten::layer_norm aten::native_layer_norm_backward";
    assert_eq!(told(asked_copies()), (both.to_owned(), Some(FactValue::Bool(true))));
    assert_eq!(told(casting_trace(6)), (" ".to_owned(), Some(FactValue::Bool(false))));
    assert_eq!(told(casting_trace(6).replace("cpu_op", "user_annotation")), (" ".to_owned(), None));
}

/// Copies of which an operator asks for five that chooses by an index, once within a lookup.
pub fn gathered() -> String {
    casting_trace(6).replace("aten::copy_", "aten::index_select").replacen("aten::index_select", "aten::embedding", 1)
}

#[test]
fn what_is_copied_by_an_index_is_told_unless_a_table_is_looked_up() {
    let told = |text: String| {
        let facts = facts(text);
        let name = facts.of_kind(EntityKind::Device).next().unwrap().1.text("gather_operator").map(str::to_owned);
        (name, device(&facts, "gather_launch_count"), device(&facts, "gather_ns"))
    };
    let (name, count, ns) = told(gathered());
    assert_eq!(name.as_deref(), Some("aten::index_select"));
    assert_eq!((count, ns % count), (5, 0));
    assert_eq!(told(casting_trace(6)), (None, -1, -1), "nothing is chosen");
    let without = gathered().replace("cpu_op", "user_annotation");
    assert_eq!(told(without), (None, -1, -1), "no operators");
}

#[test]
fn products_of_all_rows_of_a_tensor_that_grows_are_told() {
    let told = |text: String| {
        let facts = facts(text);
        (device(&facts, "grown_product_count"), device(&facts, "grown_product_span_busy_ns"))
    };
    // Of the second round on, to the end of the last product.
    assert_eq!(told(grown_trace(12)), (11, 11 * 600_000));
    assert_eq!(told(growing_trace(12)), (0, -1), "no products");
    // What is multiplied with the weight is the new row alone: the others are kept.
    let of_new_row = (0..12).fold(grown_trace(12), |text, round| {
        text.replace(&format!("[[{},64],[64,256]]", 101 + round), "[[1,64],[64,256]]")
    });
    assert_eq!(told(of_new_row), (0, -1), "one row");
    let of_others = (0..12).fold(grown_trace(12), |text, round| {
        text.replace(&format!("[[{},64],[64,256]]", 101 + round), &format!("[[{},64],[64,256]]", 7 * (round + 1)))
    });
    assert_eq!(told(of_others), (0, -1), "other rows");
    let of_batches = (0..12).fold(grown_trace(12), |text, round| {
        text.replace(&format!("[[{},64],[64,256]]", 101 + round), &format!("[[8,{},64],[8,64,256]]", 101 + round))
    });
    assert_eq!(told(of_batches.replace("aten::mm", "aten::bmm")), (0, -1), "no weight");
}

#[test]
fn kernels_and_host_code_go_by_the_innermost_operator() {
    let growing = facts(growing_trace(12));
    let operator = |facts: &coldspot::facts::Facts| {
        facts.of_kind(EntityKind::Kernel).next().unwrap().1.text("operator").map(str::to_owned)
    };
    assert_eq!(operator(&growing).as_deref(), Some("aten::cat"));
    // Of 772 µs between two kernels the operator holds 20 before the launch.
    let (all_ns, in_operators_ns) = (device(&growing, "idle_host_ns"), device(&growing, "idle_host_operator_ns"));
    assert!(
        in_operators_ns > 0 && in_operators_ns <= 12 * 25_000 && all_ns > 11 * 700_000,
        "{in_operators_ns} of {all_ns}"
    );
    let without = facts(growing_trace(12).replace("cpu_op", "user_annotation"));
    assert_eq!((operator(&without), device(&without, "idle_host_operator_ns")), (None, -1));
}

/// Rounds of 1 ms of one thread: ranges and operators, then a call that asks for GPU work and that work, all by the microsecond of the
/// round.
pub(crate) fn rounds(ranges: &[(&str, &str, i64, i64)], work: &str) -> String {
    let mut events = Vec::new();
    for round in 0..12 {
        let at = |us: i64| 1_000 * round + us;
        let host = r#""ph": "X", "pid": 99, "tid": 99"#;
        for (category, name, start, end) in ranges {
            let (start, length) = (at(*start), end - start);
            events
                .push(format!(r#"{{{host}, "cat": "{category}", "name": "{name}", "ts": {start}, "dur": {length}}}"#));
        }
        let (call, name, more) = match work {
            "copy" => ("cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", r#""bytes": 4096"#),
            _ => ("cudaLaunchKernel", work, r#""grid": [64, 1, 1], "block": [256, 1, 1]"#),
        };
        let category = if work == "copy" { "gpu_memcpy" } else { "kernel" };
        let (asked, ran) = (at(300), at(320));
        events.push(format!(
            r#"{{{host}, "cat": "cuda_runtime", "name": "{call}", "ts": {asked}, "dur": 5, "args": {{"correlation": {}}}}}"#,
            round + 1
        ));
        events.push(format!(
            r#"{{"ph": "X", "pid": 0, "tid": 7, "cat": "{category}", "name": "{name}", "ts": {ran}, "dur": 200,
              "args": {{"device": 0, "stream": 7, "correlation": {}, {more}}}}}"#,
            round + 1
        ));
    }
    format!("{{\"traceEvents\": [{}]}}", events.join(",\n"))
}

#[test]
fn casts_that_a_product_asks_for_are_told() {
    let of = |inner: &str| {
        let ranges = [("cpu_op", "aten::linear", 100, 400), ("cpu_op", inner, 200, 350)];
        device(&facts(rounds(&ranges, "direct_copy_kernel_cuda")), "tensor_copy_in_product_ns")
    };
    assert_eq!(of("aten::to"), 12 * 200_000);
    // A product that makes its input contiguous.
    assert_eq!(of("aten::clone"), 0);
    // A cast beside products, and a trace without operators.
    let beside = [("cpu_op", "aten::linear", 100, 200), ("cpu_op", "aten::to", 250, 350)];
    assert_eq!(device(&facts(rounds(&beside, "direct_copy_kernel_cuda")), "tensor_copy_in_product_ns"), 0);
    assert_eq!(device(&facts(rounds(&[], "direct_copy_kernel_cuda")), "tensor_copy_in_product_ns"), -1);
}

#[test]
fn gradients_that_are_cast_back_count_by_the_casts_of_the_forward_pass() {
    let of = |inner: &str, more: &[(&str, &str, i64, i64)]| {
        let forward = [("cpu_op", "aten::linear", 100, 200), ("cpu_op", inner, 120, 180)];
        let ranges: Vec<_> = forward.iter().chain(more).copied().collect();
        device(&facts(rounds(&ranges, "direct_copy_kernel_cuda")), "tensor_copy_in_product_ns")
    };
    // Every launch lies in the backward pass, and none in the forward pass: nothing tells whose it is.
    let backward = [("cpu_op", "ToCopyBackward0", 250, 400), ("cpu_op", "aten::to", 260, 350)];
    assert_eq!(of("aten::to", &backward), 0);
    assert_eq!(of("aten::to", &[]), 0);
}

/// Rounds in which memory is filled by an operator that runs at such microseconds, beside one that hands it out.
pub(crate) fn filled(start: i64, end: i64) -> String {
    rounds(&[("cpu_op", "aten::empty_like", 100, 200), ("cpu_op", "aten::fill_", start, end)], "FillFunctor")
}

#[test]
fn memory_that_is_filled_as_it_is_handed_out_is_told() {
    let of = |start, end| device(&facts(filled(start, end)), "filled_memory_count");
    // The window begins with the first kernel.
    assert_eq!((of(120, 180), of(120, 201), of(250, 290)), (11, 0, 0));
    let alone = rounds(&[("cpu_op", "aten::fill_", 120, 180)], "FillFunctor");
    assert_eq!(device(&facts(alone), "filled_memory_count"), -1);
}

#[test]
fn operators_that_launch_nothing_are_told_of_host_code() {
    let of = |name: &'static str, end: i64| {
        let facts = facts(rounds(&[("cpu_op", name, 100, end), ("cpu_op", "aten::empty", 270, 280)], "copy"));
        let operator = facts.of_kind(EntityKind::Device).next().unwrap().1.text("idle_host_first_cpu_operator");
        (operator.map(str::to_owned), device(&facts, "idle_host_cpu_operator_ns"))
    };
    // The window begins with the first kernel.
    assert_eq!(of("aten::add_", 200), (Some("aten::add_".to_owned()), 11 * 100_000));
    // One that launches the kernel, and one that is too short to work on anything.
    assert_eq!(of("aten::add_", 500), (None, 0));
    assert_eq!(of("aten::add_", 119), (None, 0));
    // Another view of a tensor, which may lie on the device.
    assert_eq!(of("aten::unflatten_dense_tensors", 200), (None, 0));
    let without = facts(rounds(&[("user_annotation", "mask", 100, 200)], "copy"));
    assert_eq!(device(&without, "idle_host_cpu_operator_ns"), -1);
}

/// Loops over a loader of four batches and an end each; the first batch of a loop takes 3 ms, others 20 µs. Each is followed by so many
/// launches.
pub(crate) fn loops(count: usize, launch_count: usize) -> String {
    let (mut events, mut at, mut correlation) = (Vec::new(), 0, 0);
    let host = r#""ph": "X", "pid": 99, "tid": 99"#;
    for fetch in (0..5).cycle().take(5 * count) {
        let length = if fetch == 0 { 3_000 } else { 20 };
        let name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
        let times = format!(r#""ts": {at}, "dur": {length}"#);
        events.push(format!(r#"{{{host}, "cat": "user_annotation", "name": "{name}", {times}}}"#));
        at += length;
        for _ in 0..if fetch < 4 { launch_count } else { 0 } {
            correlation += 1;
            let call = r#""cat": "cuda_runtime", "name": "cudaLaunchKernel""#;
            let args = format!(r#""args": {{"correlation": {correlation}}}"#);
            events.push(format!(r#"{{{host}, {call}, "ts": {at}, "dur": 5, {args}}}"#));
            let args = format!(r#""args": {{"device": 0, "stream": 7, "correlation": {correlation}}}"#);
            let kernel = r#""ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "add""#;
            events.push(format!(r#"{{{kernel}, "ts": {}, "dur": 10, {args}}}"#, at + 8));
            at += 20;
        }
    }
    format!("{{\"traceEvents\": [{}]}}", events.join(",\n"))
}

#[test]
fn where_a_loop_over_a_loader_begins_anew_is_told() {
    let of = |launch_count| {
        let facts = facts(loops(3, launch_count));
        let of = |name| device(&facts, name);
        (of("data_loading_median_ns"), of("data_loading_new_loop_count"), of("data_loading_new_loop_ns"))
    };
    // Two loops begin where another ended, each with a first batch and two more behind it: what begins and ends the recording is none.
    assert_eq!(of(9), (20_000, 2, 2 * (3_000_000 + 2 * 20_000 + 20_000)));
    // Meanwhile the GPU has nothing to do.
    let facts = facts(loops(3, 9));
    let (idle_ns, host_ns) = (device(&facts, "loader_restart_idle_ns"), device(&facts, "loader_restart_host_ns"));
    assert_eq!(idle_ns, 2 * (3_000_000 + 2 * 20_000 + 20_000));
    assert!(host_ns > 6_000_000 && host_ns <= idle_ns, "{host_ns}");
    // With fewer calls a batch nothing tells.
    assert_eq!(of(7), (20_000, -1, -1));
}

/// Rounds in which a range makes a tensor on the host by an operator and another, and copies it to the device.
pub(crate) fn made_again(operator: &str) -> String {
    let range =
        [("user_annotation", "mask", 10, 280), ("cpu_op", operator, 20, 150), ("cpu_op", "aten::triu", 150, 270)];
    rounds(&range, "copy")
}

#[test]
fn a_range_that_makes_the_same_tensor_again_is_told() {
    let of = |operator: &str| {
        let facts = facts(made_again(operator));
        let made_by =
            facts.of_kind(EntityKind::Device).next().unwrap().1.text("idle_host_range_made_by").map(str::to_owned);
        (made_by, device(&facts, "idle_host_range_made_bytes"))
    };
    let (made_by, bytes) = of("aten::full");
    assert_eq!((made_by.as_deref(), bytes), (Some("aten::full, aten::triu"), 4096));
    // What works on an input, or draws numbers, makes another one.
    assert_eq!((of("aten::add"), of("aten::randn")), ((None, -1), (None, -1)));
}

/// Rounds in which a range of the program's calls an operator again and again, with one launch in each.
pub(crate) fn pieces(operator: &str) -> String {
    let mut events = Vec::new();
    let host = r#""ph": "X", "pid": 99, "tid": 99"#;
    for round in 0..6 {
        let from = 10_000 * round;
        for (name, length) in [(format!("ProfilerStep#{round}"), 9_900), ("augment".to_owned(), 9_000)] {
            events.push(format!(
                r#"{{{host}, "cat": "user_annotation", "name": "{name}", "ts": {from}, "dur": {length}}}"#
            ));
        }
        for piece in 0..60 {
            let (at, id) = (from + 10 + 100 * piece, 1 + 60 * round + piece);
            for (start, length) in [(at, 90), (at + 5, 80)] {
                events.push(format!(
                    r#"{{{host}, "cat": "cpu_op", "name": "{operator}", "ts": {start}, "dur": {length}}}"#
                ));
            }
            events.push(format!(
                r#"{{{host}, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": {}, "dur": 60,
                  "args": {{"correlation": {id}}}}}"#,
                at + 20
            ));
            events.push(format!(
                r#"{{"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "resize", "ts": {}, "dur": 2,
                  "args": {{"device": 0, "stream": 7, "correlation": {id}, "grid": [64, 1, 1], "block": [256, 1, 1]}}}}"#,
                at + 82
            ));
        }
    }
    format!("{{\"traceEvents\": [{}]}}", events.join(",\n"))
}

#[test]
fn an_operator_that_a_range_calls_for_one_piece_after_the_other_is_told() {
    let of = |operator: &str| {
        let facts = facts(pieces(operator));
        let (_, device_facts) = facts.of_kind(EntityKind::Device).next().unwrap();
        let told = device_facts.text("idle_launch_range_operator").map(str::to_owned);
        (told, device(&facts, "idle_launch_range_operator_count"))
    };
    // Each holds one of its own name, as operators with several ways in do.
    assert_eq!(of("aten::upsample_bilinear2d"), (Some("aten::upsample_bilinear2d".to_owned()), 60));
    assert_eq!(of("aten::linear"), (None, -1), "layers of a model");
}
