//! Ranges and functions of Python whose names say that code is compiled in them.

use foldhash::HashMap;

use super::code_waits::Found;
use crate::timeline::columns::{Label, RangeKind, ThreadRanges};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, Timeline};

/// Files of Python in which code is compiled, by how their paths end, and the functions of each that do it; any where none is
/// named. A function that only has such a name may run what was compiled, or only ask whether something is.
const PYTHON_COMPILERS: [(&str, &[&str]); 13] = [
    // Called where no compiled code fits.
    ("torch/_dynamo/convert_frame.py", &[]),
    ("torch/_dynamo/symbolic_convert.py", &[]),
    ("torch/_functorch/aot_autograd.py", &["aot_module_simplified", "create_aot_dispatcher_function"]),
    (
        "torch/_inductor/compile_fx.py",
        &["compile_fx", "compile_fx_inner", "codegen_and_compile", "bw_compiler", "fw_compiler"],
    ),
    ("torch/_inductor/async_compile.py", &["wait"]),
    (
        "torch/_inductor/runtime/triton_heuristics.py",
        &["precompile", "autotune_to_one_config", "benchmark_all_configs"],
    ),
    ("torch/utils/cpp_extension.py", &["_jit_compile", "_write_ninja_file_and_build_library"]),
    ("triton/compiler/compiler.py", &["compile"]),
    ("triton/runtime/jit.py", &["_do_compile"]),
    ("jax/_src/compiler.py", &["backend_compile", "compile_or_get_cached"]),
    ("numba/core/dispatcher.py", &["compile"]),
    ("numba/cuda/dispatcher.py", &["compile"]),
    ("cupy/cuda/compiler.py", &["compile_using_nvrtc", "_compile_module_with_cache"]),
];
/// What PyTorch appends to the names of its compiler's own ranges.
const OF_DYNAMO: &str = "(dynamo_timed)";
/// The one of them that compiles nothing: it records a graph.
const GRAPH_RECORDER: &str = "CUDAGraph";

/// What a range says of compiling by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Nothing,
    /// All of it is compiling.
    All,
    /// The program gave it that name: beside compiling it holds the first run of what was compiled.
    Loosely,
}

/// Ranges that are called compiling. Of what the program called so itself, only that counts which lies in no operator, and nothing where
/// the compiler has ranges of its own.
pub(super) fn of_names(timeline: &Timeline) -> Vec<Found> {
    let labels = &timeline.ranges.labels;
    let says = labels_say(timeline);
    if says.iter().all(|says| *says == Says::Nothing) {
        return Vec::new();
    }
    let is_own = |(label, says): (&Label, &Says)| *says == Says::All && timeline.name(label.name).ends_with(OF_DYNAMO);
    let has_own = labels.iter().zip(&says).any(is_own);
    let mut found = Vec::new();
    for ranges in timeline.ranges.threads.iter().filter(|ranges| ranges.thread != NONE) {
        let mut operators: Option<Vec<Interval>> = None;
        // By start: of those in each other the outer one holds all, and tells most.
        let (mut until, mut until_own) = (i64::MIN, i64::MIN);
        for (times, label) in ranges.times.iter().zip(&ranges.label) {
            let index = *label as usize;
            match says.get(index) {
                Some(Says::All) if times.end > until_own => {
                    until_own = times.end;
                    found.push((ranges.thread, times, labels[index].name));
                }
                Some(Says::Loosely) if !has_own && times.start >= until => {
                    until = times.end;
                    let operators = operators.get_or_insert_with(|| operators_of(labels, ranges));
                    let parts = beside(times, operators).into_iter();
                    found.extend(parts.map(|part| (ranges.thread, part, labels[index].name)));
                }
                _ => {}
            }
        }
    }
    found
}

/// By index of the label.
fn labels_say(timeline: &Timeline) -> Vec<Says> {
    // A name may have a label in each of many domains.
    let mut known: HashMap<(NameId, bool), bool> = HashMap::default();
    let mut compiles = |label: &Label| {
        let (name, is_frame) = (label.name, label.kind == RangeKind::PythonFrame);
        let compiles = || {
            let name = timeline.name(name);
            if is_frame { is_compile_frame(name) } else { is_compile_range(name) }
        };
        *known.entry((name, is_frame)).or_insert_with(compiles)
    };
    let says = timeline.ranges.labels.iter().map(|label| match label.kind {
        _ if !compiles(label) => Says::Nothing,
        RangeKind::Annotation if !timeline.name(label.name).ends_with(OF_DYNAMO) => Says::Loosely,
        _ => Says::All,
    });
    says.collect()
}

/// When a thread is in operators of a framework.
fn operators_of(labels: &[Label], ranges: &ThreadRanges) -> Vec<Interval> {
    let is_operator = |label: &u32| labels.get(*label as usize).is_some_and(|label| label.kind == RangeKind::Operator);
    let rows = ranges.times.iter().zip(&ranges.label);
    Union::of(rows.filter(|(_, label)| is_operator(label)).map(|(times, _)| times)).parts().collect()
}

/// The parts of an interval that lie in none of others, which follow each other.
fn beside(within: Interval, others: &[Interval]) -> Vec<Interval> {
    let (mut parts, mut from) = (Vec::new(), within.start);
    let first = others.partition_point(|part| part.end <= within.start);
    let inside = others[first..].iter().take_while(|part| part.start < within.end);
    for part in inside.map(|part| part.clip(within)) {
        parts.push(Interval::new(from, part.start));
        from = part.end;
    }
    parts.push(Interval::new(from, within.end));
    parts.retain(|part| part.len_ns() > 0);
    parts
}

/// Whether a function of Python, `file.py(12): function`, compiles.
fn is_compile_frame(name: &str) -> bool {
    let Some((place, function)) = name.rsplit_once(": ") else { return false };
    let Some((path, _)) = place.rsplit_once('(') else { return false };
    let of_file = PYTHON_COMPILERS.iter().find(|(end, _)| path.ends_with(end));
    of_file.is_some_and(|(_, functions)| functions.is_empty() || functions.contains(&function))
}

/// Whether a range is called compiling: `XlaCompile`, `compile_fx`, and not `Torch-Compiled Region`, which runs what was compiled.
fn is_compile_range(name: &str) -> bool {
    if name.ends_with(OF_DYNAMO) {
        return !name.starts_with(GRAPH_RECORDER);
    }
    let name = name.to_ascii_lowercase();
    ["compile", "compiling", "compilation"].iter().any(|word| {
        name.match_indices(word)
            .any(|(at, _)| !name[at + word.len()..].starts_with('d') && !name[..at].ends_with("pre"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found of the ranges of one thread: kind, name, begin and end.
    fn found(ranges: &[(RangeKind, &str, i64, i64)]) -> Vec<(String, i64, i64)> {
        let mut timeline = Timeline::default();
        let mut own = ThreadRanges { thread: 0, ..ThreadRanges::default() };
        for (index, (kind, name, start, end)) in ranges.iter().enumerate() {
            let name = timeline.names.intern((*name).to_owned());
            timeline.ranges.labels.push(Label { kind: *kind, name, domain: 0 });
            own.times.push(Interval::new(*start, *end));
            own.label.push(index as u32);
        }
        timeline.ranges.threads.push(own);
        let told = |(_, times, name): Found| (timeline.name(name).to_owned(), times.start, times.end);
        of_names(&timeline).into_iter().map(told).collect()
    }

    #[test]
    fn what_the_program_called_compiling_holds_the_first_run_too() {
        use RangeKind::{Annotation, Nvtx, Operator};
        let own = (Annotation, "warm-up compile", 0, 100);
        let (run, within) = ((Operator, "Torch-Compiled Region: 0/0", 60, 90), (Operator, "aten::mm", 70, 80));
        assert_eq!(
            found(&[own, run, within]),
            [("warm-up compile".to_owned(), 0, 60), ("warm-up compile".to_owned(), 90, 100)]
        );
        let sure = (Annotation, "compile_inner (dynamo_timed)", 10, 50);
        assert_eq!(found(&[own, sure, run, within]), [("compile_inner (dynamo_timed)".to_owned(), 10, 50)]);
        // A library marks what it does with NVTX.
        assert_eq!(found(&[(Nvtx, "XlaCompile", 0, 100), within]), [("XlaCompile".to_owned(), 0, 100)]);
        assert_eq!(found(&[(Annotation, "forward", 0, 100)]), []);
    }

    #[test]
    fn ranges_are_told_by_what_they_are_called() {
        for name in [
            "XlaCompile",
            "Nvrtc::CompileProgram",
            "compile_fx",
            "jit_compile:#module=train#",
            "recompile",
            "GraphLowering.run (dynamo_timed)",
        ] {
            assert!(is_compile_range(name), "{name}");
        }
        for name in
            ["Torch-Compiled Region: 0/0", "run_compiled", "precompile", "## Call CompiledFxGraph fx ##", "forward"]
        {
            assert!(!is_compile_range(name), "{name}");
        }
    }

    #[test]
    fn functions_of_python_compile_where_their_file_does() {
        for name in [
            "torch/_dynamo/convert_frame.py(1165): __call__",
            "/venv/lib/python3.11/site-packages/torch/_inductor/compile_fx.py(601): compile_fx_inner",
            "triton/compiler/compiler.py(226): compile",
        ] {
            assert!(is_compile_frame(name), "{name}");
        }
        for name in [
            "torch/_dynamo/eval_frame.py(791): compile_wrapper",
            "torch/compiler/__init__.py(90): is_compiling",
            "torch/_inductor/compile_fx.py(12): run",
            "gpu_worker.py(522): compile_or_warm_up_model",
            "<built-in function compile>",
        ] {
            assert!(!is_compile_frame(name), "{name}");
        }
    }
}
