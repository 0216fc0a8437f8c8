//! Which framework a program uses, told from the names that a recording holds.

use crate::text::paths::file_name;
use crate::timeline::{NameId, Timeline};

/// Every framework, as rules name it.
pub(in crate::facts) const FRAMEWORKS: [&str; 11] =
    ["pytorch", "jax", "tensorflow", "rapids", "cupy", "numba", "julia", "openacc", "openmp", "kokkos", "cuda"];

/// Engines that serve language models, with their own loop around a framework, as rules name them.
pub(in crate::facts) const SERVING_ENGINES: [&str; 2] = ["sglang", "vllm"];

/// Beginnings of names of ranges, of threads and processes, and parts of names of kernels that give a serving engine away.
const ENGINE_MARKS: [(&str, &[&str]); 2] = [
    ("sglang", &["sglang::", "sglang/srt/", "sgl_kernel::", "sgl::"]),
    (
        "vllm",
        &["vllm::", "VLLM::", "vllm/v1/", "vllm/engine/", "vllm/worker/", "vllm/model_executor/", "vllm/entrypoints/"],
    ),
];

/// Others use kernels of vLLM as well: alone they tell it only where they keep its cache of keys and values.
const VLLM_KERNELS: (&str, [&str; 3]) = ("vllm::", ["reshape_and_cache", "paged_attention", "concat_and_cache"]);

/// How PyTorch begins the names of the ranges of nodes of the backward pass.
pub(super) const BACKWARD_NODE: &str = "autograd::engine::evaluate_function";

/// A part of a name that gives a framework away.
type Mark = (&'static str, &'static str);

/// Parts of names of kernels, the most telling first.
const KERNEL_MARKS: [Mark; 18] = [
    ("at::native", "pytorch"),
    ("c10::", "pytorch"),
    ("torch::", "pytorch"),
    ("tensorflow::", "tensorflow"),
    ("Eigen::internal", "tensorflow"),
    ("EigenMetaKernel", "tensorflow"),
    ("cudf::", "rapids"),
    ("cupy_", "cupy"),
    ("cudapy", "numba"),
    // The flags that Numba compiles with, packed into the tag of each function.
    ("cw51cXT", "numba"),
    ("julia_", "julia"),
    ("ptxcall_", "julia"),
    ("CuKernelContext", "julia"),
    ("CuDeviceArray", "julia"),
    ("__omp_offloading", "openmp"),
    ("Kokkos::", "kokkos"),
    ("triton_", "pytorch"),
    ("input_reduce_fusion", "jax"),
];
/// Beginnings of names of ranges.
const RANGE_MARKS: [Mark; 8] = [
    ("aten::", "pytorch"),
    ("autograd::", "pytorch"),
    ("ProfilerStep", "pytorch"),
    ("enumerate(DataLoader)", "pytorch"),
    ("TSL:", "jax"),
    ("XlaModule", "jax"),
    ("tensorflow", "tensorflow"),
    ("Kokkos::", "kokkos"),
];
/// Beginnings of names of threads of the recorded processes.
const THREAD_MARKS: [Mark; 8] = [
    ("pt_main_thread", "pytorch"),
    ("pt_nccl_", "pytorch"),
    ("pt_autograd", "pytorch"),
    ("pt_elastic", "pytorch"),
    ("tf_data_", "tensorflow"),
    ("tf_Compute", "tensorflow"),
    ("py_xla_", "jax"),
    ("jax_", "jax"),
];
/// Names of the programs of the recorded processes.
const PROGRAM_MARKS: [Mark; 1] = [("julia", "julia")];
/// Beginnings of names of files that call stacks lie in, the most telling first.
const FILE_MARKS: [Mark; 12] = [
    ("libtorch_", "pytorch"),
    ("libtensorflow", "tensorflow"),
    ("_pywrap_tensorflow", "tensorflow"),
    ("libjax", "jax"),
    ("xla_extension", "jax"),
    ("xla_cuda_plugin", "jax"),
    ("libcudf", "rapids"),
    ("libllvmlite", "numba"),
    ("libjulia", "julia"),
    ("libacchost", "openacc"),
    ("libomptarget", "openmp"),
    ("libnvomp", "openmp"),
];

/// The framework, and the name that gave it away.
pub(super) fn of(timeline: &Timeline) -> (&'static str, Option<String>) {
    let found = of_kernels(timeline)
        .or_else(|| of_compilers(timeline))
        .or_else(|| of_ranges(timeline))
        .or_else(|| of_processes(timeline).filter(|found| is_likely(timeline, found)))
        .or_else(|| of_files(timeline).filter(|found| is_likely(timeline, found)))
        .or_else(|| of_output(timeline));
    match found {
        Some((framework, name)) => (framework, Some(name)),
        // The profiler of a framework records any program: without a kernel of a library, it is the program's own code.
        None => (timeline.source.framework.filter(|_| may_be_of_framework(timeline)).unwrap_or("cuda"), None),
    }
}

/// Whether the work is that of a framework whose threads or files are there: PyTorch also carries extensions with all their own kernels.
fn is_likely(timeline: &Timeline, (framework, _): &Found) -> bool {
    *framework != "pytorch" || may_be_of_framework(timeline)
}

/// Parts of names of kernels that frameworks launch from libraries.
const LIBRARY_MARKS: [&str; 15] = [
    "Cijk_", "miopen", "_fft", "cusparse", "cusolver", "gemm", "gemv", "cudnn", "cutlass", "nvjet", "xmma", "flash",
    "fmha", "nccl", "cub::",
];

/// Whether a framework may have launched what a recording holds, by its kernels.
fn may_be_of_framework(timeline: &Timeline) -> bool {
    let kernels = kernel_names(timeline);
    let is_of_library = |name: &&str| LIBRARY_MARKS.iter().any(|mark| name.contains(mark));
    kernels.is_empty() || kernels.iter().any(is_of_library)
}

/// The serving engine that runs the program's loop, if one does.
pub(super) fn serving_engine(timeline: &Timeline) -> Option<&'static str> {
    let mut names: Vec<&str> = kernel_names(timeline).into_iter().filter(|name| is_of_one_engine(name)).collect();
    names.extend(range_names(timeline));
    names.extend(timeline.surroundings.thread_names.iter().map(String::as_str));
    names.extend(timeline.processes.iter().filter_map(|process| process.name.as_deref()));
    let is_of = |name: &str, mark: &str| {
        // The namespace of a kernel comes after its return type, and within the arguments of a template.
        name.match_indices(mark)
            .any(|(at, _)| !name[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_'))
    };
    let is_any = |marks: &[&str]| names.iter().any(|name| marks.iter().any(|mark| is_of(name, mark)));
    ENGINE_MARKS.into_iter().find(|(_, marks)| is_any(marks)).map(|(engine, _)| engine)
}

/// Whether a kernel is none that several engines use.
fn is_of_one_engine(kernel: &str) -> bool {
    let (namespace, own) = VLLM_KERNELS;
    !kernel.contains(namespace) || own.iter().any(|part| kernel.contains(part))
}

type Found = (&'static str, String);

/// The names of ranges, each once: one may have a label in each of many domains.
fn range_names(timeline: &Timeline) -> Vec<&str> {
    let mut ids: Vec<NameId> = timeline.ranges.labels.iter().map(|label| label.name).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| timeline.name(id)).collect()
}

fn kernel_names(timeline: &Timeline) -> Vec<&str> {
    let mut ids: Vec<NameId> = timeline.kernels.shapes.iter().flat_map(|shape| [shape.full_name, shape.name]).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| timeline.name(id)).collect()
}

/// The smallest of the names that fit, so that their order does not matter.
fn first<'all>(names: impl Iterator<Item = &'all str>, fits: impl Fn(&str) -> bool) -> Option<String> {
    names.filter(|name| fits(name)).min().map(str::to_owned)
}

fn of_kernels(timeline: &Timeline) -> Option<Found> {
    let kernels = kernel_names(timeline);
    let of_mark = |(mark, framework): &Mark| {
        first(kernels.iter().copied(), |name| name.contains(mark)).map(|name| (*framework, name))
    };
    KERNEL_MARKS.iter().find_map(of_mark)
}

/// A part of the names of kernels of the runtime of the NVIDIA HPC compilers: it fills arrays with them.
const COMPILER_RUNTIME: &str = "pgi_uacc";

/// Launches of kernels that a compiler's runtime has for itself: none of them is the program's own.
pub(super) fn runtime_kernel_count(timeline: &Timeline) -> i64 {
    let of_runtime = timeline.tell_shapes(|name| name.contains(COMPILER_RUNTIME));
    if !of_runtime.contains(&true) {
        return 0;
    }
    let launches = timeline.kernels.shape.iter();
    launches.filter(|shape| of_runtime.get(**shape as usize) == Some(&true)).count() as i64
}

/// Kernels that the NVIDIA HPC compilers named; those of their runtime, which OpenMP uses too, tell nothing.
fn of_compilers(timeline: &Timeline) -> Option<Found> {
    let kernels = kernel_names(timeline);
    let own = || kernels.iter().copied().filter(|name| !name.contains(COMPILER_RUNTIME));
    let openmp = || first(own(), is_openmp).map(|name| ("openmp", name));
    openmp().or_else(|| first(own(), is_openacc).map(|name| ("openacc", name)))
}

fn of_ranges(timeline: &Timeline) -> Option<Found> {
    let of_ranges = range_names(timeline);
    let names = || of_ranges.iter().copied();
    let of_mark =
        |(mark, framework): &Mark| first(names(), |name| name.starts_with(mark)).map(|name| (*framework, name));
    RANGE_MARKS.iter().find_map(of_mark)
}

fn of_processes(timeline: &Timeline) -> Option<Found> {
    let threads = || timeline.surroundings.thread_names.iter().map(String::as_str);
    let of_mark =
        |(mark, framework): &Mark| first(threads(), |name| name.starts_with(mark)).map(|name| (*framework, name));
    let programs = || timeline.processes.iter().filter_map(|process| process.name.as_deref()).chain(threads());
    let of_program = |(mark, framework): &Mark| first(programs(), |name| name == *mark).map(|name| (*framework, name));
    PROGRAM_MARKS.iter().find_map(of_program).or_else(|| THREAD_MARKS.iter().find_map(of_mark))
}

fn of_files(timeline: &Timeline) -> Option<Found> {
    let stacks = [&timeline.cpu_samples, &timeline.os_stacks.samples];
    let mut modules: Vec<NameId> =
        stacks.into_iter().flat_map(|stacks| stacks.frames.iter().map(|frame| frame.module)).collect();
    modules.sort_unstable();
    modules.dedup();
    let files: Vec<&str> = modules.into_iter().map(|module| file_name(timeline.name(module))).collect();
    let of_mark = |(mark, framework): &Mark| {
        first(files.iter().copied(), |name| name.starts_with(mark)).map(|name| (*framework, name))
    };
    FILE_MARKS.iter().find_map(of_mark)
}

/// An error of the OpenACC runtime in the program's output.
fn of_output(timeline: &Timeline) -> Option<Found> {
    let kind = timeline.surroundings.output_error.map(|error| error.kind)?;
    kind.contains("OpenACC").then(|| ("openacc", kind.to_owned()))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The NVIDIA HPC compilers name the kernel of an OpenACC loop after its function and line: `solve_25_gpu`.
fn is_openacc(name: &str) -> bool {
    let stem = name.strip_suffix("_gpu").or_else(|| name.strip_suffix("_gpu__red"));
    let line = stem.and_then(|stem| stem.rsplit_once('_')).map(|(_, line)| line);
    line.is_some_and(is_number)
}

/// And that of an OpenMP region after its function, file, line and number: `nvkernel_solve_F1L115_7`.
fn is_openmp(name: &str) -> bool {
    let Some((rest, number)) =
        name.strip_prefix("nvkernel_").and_then(|rest| rest.trim_end_matches('_').rsplit_once('_'))
    else {
        return false;
    };
    let place = rest.rsplit_once("_F").and_then(|(_, place)| place.split_once('L'));
    is_number(number) && place.is_some_and(|(file, line)| is_number(file) && is_number(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::columns::KernelShape;
    use crate::timeline::output::OutputError;

    #[test]
    fn kernels_of_its_own_make_a_program_of_its_own() {
        let of = |kernel: &str| {
            let mut timeline = Timeline::default();
            timeline.source.framework = Some("pytorch");
            timeline.surroundings.thread_names = vec!["pt_main_thread".to_owned()];
            let name = timeline.names.intern(kernel);
            timeline.kernels.shapes.push(KernelShape { name, full_name: name, ..KernelShape::default() });
            super::of(&timeline).0
        };
        assert_eq!((of("axpy"), of("nvjet_hsh_64x256")), ("cuda", "pytorch"));
        assert_eq!(of("void at::native::fill<float>"), "pytorch");
        assert_eq!(of("numba_blur::blur[abi:v1][abi:cw51cXTLSUwv1sDUa](Array<float, 2>)"), "numba");
        assert_eq!(of("numba_blur::blur[abi:v1,cw51cXTLSUwv1sDUa](Array<float, 2>)"), "numba");
    }

    #[test]
    fn kernels_of_openacc_are_named_after_their_line() {
        assert!(is_openacc("solve_25_gpu") && is_openacc("solve_25_gpu__red"));
        assert!(!is_openacc("copy_to_gpu") && !is_openacc("_gpu") && !is_openacc("solve_25"));
    }

    #[test]
    fn a_serving_engine_is_told_by_its_own_names() {
        let mut timeline = Timeline::default();
        assert_eq!(serving_engine(&timeline), None);
        let mut told = |name: &str| {
            timeline.surroundings.thread_names = vec![name.to_owned()];
            serving_engine(&timeline)
        };
        assert_eq!(told("VLLM::EngineCor"), Some("vllm"));
        assert_eq!(told("vllm::Worker"), Some("vllm"));
        assert_eq!(told("sglang::schedul"), Some("sglang"));
        assert_eq!((told("myvllm::kernel"), told("python3"), told("_sgl::x")), (None, None, None));
        assert!(!is_of_one_engine("void vllm::rms_norm_kernel<c10::BFloat16>"), "others call it as well");
        assert!(is_of_one_engine("void vllm::reshape_and_cache_flash_kernel<c10::BFloat16>"));
        assert!(is_of_one_engine("void sgl_kernel::rope<float>") && is_of_one_engine("void at::native::add<float>"));
    }

    #[test]
    fn an_error_of_the_runtime_tells_whose_program_it_is() {
        let mut timeline = Timeline::default();
        assert_eq!(of(&timeline), ("cuda", None));
        let mut told = |kind: &'static str| {
            timeline.surroundings.output_error = Some(OutputError { kind, is_end: true });
            of(&timeline).0
        };
        assert_eq!((told("OpenACC data that is not on the device"), told("an abort")), ("openacc", "cuda"));
    }

    #[test]
    fn kernels_of_openmp_are_named_after_their_place() {
        assert!(is_openmp("nvkernel_main_F1L115_7") && is_openmp("nvkernel_ppush__F1L665_1_"));
        assert!(!is_openmp("nvkernel_main") && !is_openmp("nvkernel_a_FxL1_2") && !is_openmp("kernel_F1L1_2"));
    }
}
