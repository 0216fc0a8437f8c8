//! What holds most of the time of ranges: operators in a mark of the program's, functions in what fetches data, and the lines of the
//! program around both.

use coldspot::facts::{Entity, EntityKind, Facts};

use super::kineto::{device, facts};
use super::kineto_operators::rounds;

const LOADER: &str = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
const ZOOM: &str = "<built-in function zoom_shift>";

fn gpu(facts: &Facts) -> &Entity {
    facts.of_kind(EntityKind::Device).next().unwrap().1
}

/// Rounds in which a mark of the program's holds an operator for so long, and another mark sets gradients to zero.
pub(crate) fn broadcasts(operator_until: i64) -> String {
    let ranges = [
        ("user_annotation", "forward", 800, 1_280),
        ("cpu_op", "aten::unflatten_dense_tensors", 820, operator_until),
        ("cpu_op", "c10d::broadcast_", 1_200, 1_210),
        ("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 600, 700),
    ];
    rounds(&ranges, "gemm")
}

#[test]
fn an_operator_that_holds_most_of_a_mark_is_told() {
    let of = |until: i64| {
        let facts = facts(broadcasts(until));
        let (range, held) = (gpu(&facts).text("idle_host_range"), gpu(&facts).text("idle_host_held_range"));
        assert_eq!(range, Some("forward"));
        let numbers = ["idle_host_held_range_ns", "joined_broadcast_count", "idle_host_joined_broadcast_ns"]
            .map(|name| device(&facts, name));
        (held.map(str::to_owned), numbers, device(&facts, "idle_zero_grad_ns"))
    };
    let (held, numbers, zeroed_ns) = of(1_170);
    assert_eq!(held.as_deref(), Some("aten::unflatten_dense_tensors"));
    // Behind the last round no work follows.
    assert_eq!((numbers, zeroed_ns), ([11 * 350_000, 11, 11 * 350_000], 11 * 100_000));
    // Less than 60 % of it.
    let (held, numbers, _) = of(1_100);
    assert_eq!((held, numbers[2]), (None, 11 * 280_000));
}

#[test]
fn what_lies_elsewhere_as_well_is_in_no_mark() {
    let text = broadcasts(1_170).replace("\"traceEvents\": [", "\"traceEvents\": [{\"ph\": \"X\", \"pid\": 99, \"tid\": 99, \"cat\": \"cpu_op\", \"name\": \"aten::unflatten_dense_tensors\", \"ts\": 1720, \"dur\": 10},");
    assert_eq!(gpu(&facts(text)).text("idle_host_held_range"), None);
}

/// Rounds that fetch data, most of it in a function that is built into a library.
pub(crate) fn zooming() -> String {
    let ranges = [
        ("cpu_op", LOADER, 600, 1_280),
        ("python_function", "scipy/ndimage/_interpolation.py(739): zoom", 610, 1_250),
        ("python_function", ZOOM, 620, 1_240),
    ];
    rounds(&ranges, "gemm")
}

/// The same within a function that encloses all of it.
fn enclosed(text: &str) -> String {
    let main = r#"{"ph": "X", "pid": 99, "tid": 99, "cat": "python_function", "name": "train.py(10): main", "ts": 0, "dur": 20000}"#;
    text.replace("\"traceEvents\": [", &format!("\"traceEvents\": [{main},"))
}

#[test]
fn a_function_that_holds_most_of_data_loading_is_told_and_not_the_one_around_everything() {
    let facts = facts(enclosed(&zooming()));
    let told = ["data_loading_held_range", "data_loading_held_caller", "data_loading_source", "idle_host_source"]
        .map(|name| gpu(&facts).text(name));
    assert_eq!(told, [Some(ZOOM), Some("_interpolation.py(739): zoom"), None, None]);
    assert_eq!(device(&facts, "data_loading_held_ns"), 11 * 620_000);
}

#[test]
fn where_nothing_tells_more_the_function_around_everything_is_told() {
    let text = enclosed(&rounds(&[("cpu_op", LOADER, 900, 1_280)], "gemm"));
    let facts = facts(text);
    assert_eq!(gpu(&facts).text("data_loading_source"), Some("train.py:10 (main)"));
    // The host code beside it, of which nothing else tells where it is.
    assert_eq!(gpu(&facts).text("idle_host_source"), Some("train.py:10 (main)"));
}

/// Rounds with two operators, called at these places.
fn called(first: &str, second: &str) -> String {
    let ranges = [("cpu_op", "first", 600, 900), ("cpu_op", "second", 950, 1_280)];
    let mut text = rounds(&ranges, "gemm");
    for (name, stack) in [("first", first), ("second", second)] {
        let name = format!("\"name\": \"{name}\"");
        text = text.replace(&name, &format!("{name}, \"args\": {{\"Call stack\": \"{stack};run.py(8): <module>\"}}"));
    }
    text
}

#[test]
fn lines_of_one_function_that_share_the_time_tell_the_function() {
    let of = |first: &str, second: &str| gpu(&facts(called(first, second))).text("idle_host_source").map(str::to_owned);
    assert_eq!(of("run.py(3): go", "run.py(4): go").as_deref(), Some("go (run.py)"));
    assert_eq!(of("run.py(3): go", "run.py(4): stop"), None);
    assert_eq!(of("run.py(3): go", "run.py(3): go").as_deref(), Some("run.py:3 (go)"));
}

#[test]
fn folders_of_torchs_own_code_are_told_by_its_functions() {
    let own = "/src/y/functional.py(9): to_tensor;/src/y/dataloader.py(561): _next_data;run.py(3): go";
    let told = facts(called(own, own));
    assert_eq!(gpu(&told).text("idle_host_source"), Some("run.py:3 (go)"));
    let other = "/src/y/functional.py(9): to_tensor;/src/y/dataloader.py(561): my_data;run.py(3): go";
    let told = facts(called(other, other));
    assert_eq!(gpu(&told).text("idle_host_source"), Some("functional.py:9 (to_tensor)"));
}

/// Rounds in which an operator copies within the device.
pub(crate) fn copies_within(around: &str) -> String {
    let ranges =
        [("cpu_op", around, 280, 400), ("cpu_op", "aten::clone", 285, 320), ("cpu_op", "aten::copy_", 290, 315)];
    rounds(&ranges, "copy").replace("Memcpy HtoD (Pageable -> Device)", "Memcpy DtoD (Device -> Device)")
}

#[test]
fn what_launches_copies_within_the_device_is_told() {
    let of = |around: &str| {
        let facts = facts(copies_within(around));
        let operator = gpu(&facts).text("device_copy_operator").map(str::to_owned);
        (operator, gpu(&facts).number("device_copy_compiled_share"))
    };
    assert_eq!(of("CompiledFunctionBackward"), (Some("aten::clone".to_owned()), Some(1.0)));
    assert_eq!(of("ConvolutionBackward0"), (Some("aten::clone".to_owned()), Some(0.0)));
}
