//! Stretches in which a thread compiles or loads code, whatever calls that hides in: told by the functions and files of its
//! call stacks, by the names of ranges, and by waits for the programs of a compiler.

use std::ops::Range;

use foldhash::{HashMap, HashSet};

use super::code_waits::{self, other_ends};
use super::{compile_ranges, first_uses};
use crate::text::paths::file_name;
use crate::timeline::interval::Interval;
use crate::timeline::samples::CpuSamples;
use crate::timeline::{NONE, NameId, Timeline, Times};

/// What is done with code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeWork {
    /// It is compiled, linked or optimised.
    Compile,
    /// A library is loaded.
    Load,
    /// A graph is recorded: what is launched meanwhile does not run yet.
    Record,
}

/// Who compiles, as a fact says it.
pub const COMPILERS: [&str; 10] =
    ["xla", "triton", "inductor", "dynamo", "nvrtc", "ptx", "numba", "julia", "llvm", "other"];

/// Files of compilers, by how their names begin, and whose they are.
const COMPILER_FILES: [(&str, &str); 11] = [
    ("libnvrtc", "nvrtc"),
    ("libnvidia-ptxjitcompiler", "ptx"),
    ("libnvptxcompiler", "ptx"),
    ("libnvJitLink", "ptx"),
    ("libnvidia-nvvm", "ptx"),
    ("libnvvm", "llvm"),
    ("libtriton", "triton"),
    ("libllvmlite", "numba"),
    ("libjulia-codegen", "julia"),
    ("libLLVM", "llvm"),
    ("libclang", "llvm"),
];
/// What functions of compilers have in their names, and whose they are; the first that fits counts.
const COMPILER_FUNCTIONS: [(&str, &str); 9] = [
    ("jl_type_infer", "julia"),
    ("jl_compile", "julia"),
    ("jl_generate_fptr", "julia"),
    ("typeinf", "julia"),
    ("nvrtcCompileProgram", "nvrtc"),
    ("xla::HloPass", "xla"),
    ("mlir::", "llvm"),
    ("llvm::", "llvm"),
    ("clang::", "llvm"),
];
/// How calls begin between which a thread records a graph, and those that end that; without the prefix of the API.
const RECORDING: (&str, &str) = ("StreamBeginCapture", "StreamEndCapture");
/// How the profiler begins to name that a program loads what Triton compiles to launch a kernel.
const TRITON_LAUNCHER: &str = "dlopen(__triton_launcher";
/// How the file of CUPTI is called, by which profilers record.
const CUPTI: &str = "libcupti";
/// Functions of the loader of libraries, by how their names begin.
const LOADERS: [&str; 7] =
    ["_dl_open", "dl_open_worker", "_dl_map_object", "_dl_relocate_object", "dlopen", "__dlopen", "_dl_catch_"];
/// Samples of one kind of work further apart than so many times the usual are two pieces of work.
const GAP_PERIODS: i64 = 10;
/// Fewer samples in a row are chance.
const MIN_SAMPLES: usize = 2;

/// Stretches of all threads, in the columns that the walk over a thread reads.
#[derive(Debug, Default)]
pub struct CodeStretches {
    /// When.
    pub times: Times,
    /// The index of the thread.
    pub thread: Vec<u32>,
    /// What is done.
    pub work: Vec<CodeWork>,
    /// What tells it: a function, a file, a range or a call.
    pub name: Vec<NameId>,
}

impl CodeStretches {
    /// Of every thread of a timeline.
    pub fn new(timeline: &Timeline) -> Self {
        let mut all = Self::default();
        for (thread, times, name) in compile_ranges::of_names(timeline) {
            all.push(thread, times, CodeWork::Compile, name);
        }
        all.of_samples(timeline);
        all.of_waits(timeline);
        all.of_graphs(timeline);
        all.of_launchers(timeline);
        all
    }

    fn push(&mut self, thread: u32, times: Interval, work: CodeWork, name: NameId) {
        self.times.push(times);
        self.thread.push(thread);
        self.work.push(work);
        self.name.push(name);
    }

    /// From the call that begins to record a graph to the one that ends it.
    fn of_graphs(&mut self, timeline: &Timeline) {
        let api = &timeline.api;
        let called = |what: &str| -> HashSet<NameId> {
            (0..timeline.names.len() as NameId).filter(|name| is_call(timeline.name(*name), what)).collect()
        };
        let (begins, ends) = (called(RECORDING.0), called(RECORDING.1));
        if begins.is_empty() {
            return;
        }
        let mut marks: Vec<(u32, i64, NameId)> = Vec::new();
        for ((times, name), thread) in api.times.iter().zip(&api.name).zip(&api.thread) {
            if *thread != NONE && begins.contains(name) {
                marks.push((*thread, times.start, *name));
            } else if *thread != NONE && ends.contains(name) {
                marks.push((*thread, times.end, NONE));
            }
        }
        marks.sort_unstable();
        for pair in marks.windows(2) {
            let [(thread, start, name), (same, end, next)] = pair else { continue };
            if thread == same && *name != NONE && *next == NONE {
                self.push(*thread, Interval::new(*start, *end), CodeWork::Record, *name);
            }
        }
    }

    /// What a thread does after the last that is known to be something else, a call of CUDA, a sleep, the begin or the end of a range,
    /// until it loads the launcher of a kernel that Triton has compiled; where samples tell what it does, these say more.
    fn of_launchers(&mut self, timeline: &Timeline) {
        let overheads = &timeline.overheads;
        let is_launcher = |name: &NameId| timeline.name(*name).starts_with(TRITON_LAUNCHER);
        let loads = overheads.times.iter().zip(&overheads.name).zip(&overheads.thread);
        let is_sampled = |thread: u32| !timeline.cpu_samples.of_thread(thread).is_empty();
        let loads = loads.filter(|((_, name), thread)| **thread != NONE && is_launcher(name) && !is_sampled(**thread));
        let mut marks: Vec<(u32, i64, NameId)> =
            loads.map(|((load, name), thread)| (*thread, load.start, *name)).collect();
        if marks.is_empty() {
            return;
        }
        let threads: HashSet<u32> = marks.iter().map(|(thread, ..)| *thread).collect();
        let calls = timeline.api.times.iter().zip(&timeline.api.thread);
        marks.extend(
            calls.filter(|(_, thread)| threads.contains(*thread)).map(|(call, thread)| (*thread, call.end, NONE)),
        );
        marks.extend(other_ends(timeline, |thread| threads.contains(&thread)));
        marks.sort_unstable();
        for pair in marks.windows(2) {
            let [(thread, start, _), (same, end, name)] = pair else { continue };
            if thread == same && *name != NONE {
                self.push(*thread, Interval::new(*start, *end), CodeWork::Compile, *name);
            }
        }
    }

    /// Samples in a row that lie in a compiler or a loader.
    fn of_samples(&mut self, timeline: &Timeline) {
        let samples = &timeline.cpu_samples;
        let marks = Marks::of(timeline, samples);
        if marks.work.iter().all(Option::is_none) {
            return;
        }
        for (thread, rows) in samples.threads() {
            self.of_thread(samples, &marks, thread, rows);
        }
    }

    fn of_thread(&mut self, samples: &CpuSamples, marks: &Marks, thread: u32, rows: Range<usize>) {
        let Some(period) = samples.period_ns(rows.clone()) else { return };
        let mut run: Option<Run> = None;
        for row in rows {
            let stack = samples.stack(row);
            if !stack.iter().any(|frame| samples.is_named(*frame)) {
                continue;
            }
            let found = marks.find(stack);
            let at = samples.time_ns[row];
            let goes_on = run.as_ref().is_some_and(|run| {
                found.is_some_and(|(work, _)| work == run.work) && at.saturating_sub(run.last) <= GAP_PERIODS * period
            });
            if !goes_on {
                self.end(thread, run.take(), period);
            }
            if let Some((work, name)) = found {
                let run = run.get_or_insert(Run { work, name, first: at, last: at, count: 0 });
                run.last = at;
                run.count += 1;
            }
        }
        self.end(thread, run, period);
    }

    fn end(&mut self, thread: u32, run: Option<Run>, period: i64) {
        if let Some(run) = run.filter(|run| run.count >= MIN_SAMPLES) {
            let times = Interval::new(run.first.saturating_sub(period / 2), run.last.saturating_add(period / 2));
            self.push(thread, times, run.work, run.name);
        }
    }

    /// Calls of the OS whose own stack lies in a compiler, waits for compilers that ran as programs, and what leads to a kernel that a framework makes.
    fn of_waits(&mut self, timeline: &Timeline) {
        let stacked = &timeline.os_stacks;
        let marks = Marks::of(timeline, &stacked.samples);
        for row in 0..stacked.samples.len() {
            if let Some((work, name)) = marks.find(stacked.samples.stack(row)) {
                self.push(stacked.samples.thread[row], stacked.interval(row), work, name);
            }
        }
        for (thread, times, name) in
            code_waits::of_children(timeline).into_iter().chain(first_uses::of_frameworks(timeline))
        {
            self.push(thread, times, CodeWork::Compile, name);
        }
    }
}

/// Whether a name is that of a call of CUDA or HIP, whose version may come behind it.
fn is_call(name: &str, what: &str) -> bool {
    ["cuda", "hip", "cu"].iter().any(|api| name.strip_prefix(api).is_some_and(|rest| rest.starts_with(what)))
}

/// Samples in a row of one kind of work.
struct Run {
    work: CodeWork,
    name: NameId,
    first: i64,
    last: i64,
    count: usize,
}

/// What the functions of some stacks tell of the work that they do for whatever calls them.
struct Marks {
    /// Of each function the work, and the name that tells it.
    work: Vec<Option<(CodeWork, NameId)>>,
    /// Whether it is one of CUPTI.
    is_cupti: Vec<bool>,
}

impl Marks {
    fn of(timeline: &Timeline, stacks: &CpuSamples) -> Self {
        // One function may be in many files, and its name may be long.
        let mut of_functions: HashMap<NameId, Option<CodeWork>> = HashMap::default();
        let work = stacks.frames.iter().map(|frame| {
            if is_compiler_file(file_name(timeline.name(frame.module))) {
                return Some((CodeWork::Compile, frame.module));
            }
            let work = *of_functions.entry(frame.function).or_insert_with(|| work_of(timeline.name(frame.function)));
            work.map(|work| (work, frame.function))
        });
        let is_cupti = stacks.frames.iter().map(|frame| file_name(timeline.name(frame.module)).starts_with(CUPTI));
        Self { work: work.collect(), is_cupti: is_cupti.collect() }
    }

    /// The work that a stack, the innermost function first, is in. What CUPTI has compiled or loaded is the profiler's own.
    fn find(&self, stack: &[u32]) -> Option<(CodeWork, NameId)> {
        let work = |frame: &u32| self.work.get(*frame as usize).copied().flatten();
        let at = stack.iter().position(|frame| work(frame).is_some())?;
        let is_cupti = |frame: &u32| self.is_cupti.get(*frame as usize).copied().unwrap_or(false);
        work(&stack[at]).filter(|_| !stack[at..].iter().any(is_cupti))
    }
}

fn work_of(function: &str) -> Option<CodeWork> {
    if COMPILER_FUNCTIONS.iter().any(|(part, _)| function.contains(part)) {
        return Some(CodeWork::Compile);
    }
    LOADERS.iter().any(|begin| function.starts_with(begin)).then_some(CodeWork::Load)
}

fn is_compiler_file(file: &str) -> bool {
    COMPILER_FILES.iter().any(|(begin, _)| file.starts_with(begin))
}

/// Who compiles, told from the name that told that something is compiled.
pub fn compiler_of(name: &str) -> &'static str {
    let file = file_name(name);
    if let Some((_, compiler)) = COMPILER_FILES.iter().find(|(begin, _)| file.starts_with(begin)) {
        return compiler;
    }
    if let Some((_, compiler)) = COMPILER_FUNCTIONS.iter().find(|(part, _)| name.contains(part)) {
        return compiler;
    }
    const WORDS: [(&str, &str); 14] = [
        ("graphlowering", "inductor"),
        ("xla", "xla"),
        ("hlo", "xla"),
        ("triton", "triton"),
        ("inductor", "inductor"),
        ("compile_fx", "inductor"),
        ("nvrtc", "nvrtc"),
        ("dynamo", "dynamo"),
        // What Dynamo calls all that it does for a function, and for its backward pass.
        ("entire_frame_compile", "dynamo"),
        ("entire_backward_compile", "dynamo"),
        ("torch/_functorch", "dynamo"),
        ("numba", "numba"),
        ("culinkcreate", "numba"),
        ("cupy", "nvrtc"),
    ];
    let name = name.to_ascii_lowercase();
    WORDS.iter().find(|(word, _)| name.contains(word)).map_or("other", |(_, compiler)| compiler)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::columns::ThreadRanges;
    use crate::timeline::samples::Frame;

    #[test]
    fn triton_compiles_before_it_loads_a_launcher() {
        let mut timeline = Timeline::default();
        let name = |timeline: &mut Timeline, name: &str| timeline.names.intern(name.to_owned());
        let (call, launcher) = (name(&mut timeline, "cudaMalloc"), name(&mut timeline, "dlopen(__triton_launcher.so)"));
        let other = name(&mut timeline, "dlopen(libcuda.so.1)");
        for (start, end, thread) in [(0, 10, 0), (20, 30, 0), (35, 40, 1), (200, 210, 0)] {
            timeline.api.times.push(Interval::new(start, end));
            timeline.api.name.push(call);
            timeline.api.thread.push(thread);
        }
        for (start, name, thread) in [(90, launcher, 0), (95, launcher, NONE), (220, other, 0)] {
            timeline.overheads.times.push(Interval::new(start, start + 5));
            timeline.overheads.name.push(name);
            timeline.overheads.thread.push(thread);
        }
        let mut all = CodeStretches::default();
        all.of_launchers(&timeline);
        assert_eq!(all.times.iter().collect::<Vec<_>>(), [Interval::new(30, 90)]);
        assert_eq!((all.thread, all.work, all.name), (vec![0], vec![CodeWork::Compile], vec![launcher]));
        assert_eq!(compiler_of(timeline.name(launcher)), "triton");
        assert_eq!(compiler_of("entire_frame_compile"), "dynamo");
        let sleep = name(&mut timeline, "clock_nanosleep");
        for (start, end, thread) in [(31, 40, 0), (41, 80, 1)] {
            timeline.os_calls.times.push(Interval::new(start, end));
            timeline.os_calls.name.push(sleep);
            timeline.os_calls.thread.push(thread);
        }
        let mut all = CodeStretches::default();
        all.of_launchers(&timeline);
        assert_eq!(all.times.iter().collect::<Vec<_>>(), [Interval::new(40, 90)]);
        // Reading data is a range of its own; one that goes on may be what compiles.
        let times = [Interval::new(42, 60), Interval::new(62, 100)].into_iter().collect();
        timeline.ranges.threads.push(ThreadRanges { thread: 0, times, label: vec![0, 0] });
        let mut all = CodeStretches::default();
        all.of_launchers(&timeline);
        assert_eq!(all.times.iter().collect::<Vec<_>>(), [Interval::new(62, 90)]);
        timeline.cpu_samples = CpuSamples::new(vec![Frame { function: call, module: NONE }]);
        timeline.cpu_samples.push(0, 50, [0].into_iter());
        let mut all = CodeStretches::default();
        all.of_launchers(&timeline);
        assert!(all.times.is_empty());
    }

    #[test]
    fn what_the_profiler_has_compiled_is_its_own() {
        let mut timeline = Timeline::default();
        let files =
            ["/usr/lib/libnvidia-ptxjitcompiler.so.450", "/usr/lib/libcuda.so.1", "/opt/libcupti.so.11.0", "/opt/app"];
        let frames = files.map(|file| Frame { function: NONE, module: timeline.names.intern(file.to_owned()) });
        let stacks = CpuSamples::new(frames.to_vec());
        let marks = Marks::of(&timeline, &stacks);
        assert_eq!(marks.find(&[0, 1, 3]).map(|(work, _)| work), Some(CodeWork::Compile));
        assert_eq!(marks.find(&[0, 1, 2, 3]), None, "CUPTI asks for it");
        assert_eq!(marks.find(&[2, 0, 1, 3]).map(|(work, _)| work), Some(CodeWork::Compile), "the program does");
        assert_eq!(marks.find(&[1, 3]), None);
    }

    #[test]
    fn compilers_are_told_by_files_functions_and_words() {
        for (name, compiler) in [
            ("/usr/lib64/libnvidia-ptxjitcompiler.so.525.85.12", "ptx"),
            ("/opt/libLLVM-15jl.so", "llvm"),
            ("llvm::SelectionDAGISel::runOnMachineFunction", "llvm"),
            ("XlaCompile", "xla"),
            ("HloPassPipeline", "xla"),
            ("GraphLowering.run (dynamo_timed)", "inductor"),
            ("CompiledFunctionBackward.compile (dynamo_timed)", "dynamo"),
            ("waitpid", "other"),
            ("cuLinkCreate", "numba"),
        ] {
            assert_eq!(compiler_of(name), compiler, "{name}");
            assert!(COMPILERS.contains(&compiler));
        }
    }
}
