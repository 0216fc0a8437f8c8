//! What the file of a function, and its name, tell of it: whether it is the program's own, a library's, or of those that only do
//! what others ask for. Files are names without folders.

/// Functions that everything lies in: the beginnings of programs and threads.
const ENTRIES: [&str; 12] = [
    "main",
    "MAIN_",
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "__libc_start_main_impl",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "__GI___clone3",
];
/// Those of them in which something of the program's own can be.
const PROGRAM_ENTRIES: [&str; 2] = ["main", "MAIN_"];
/// Functions of the interpreter of Python, which tells nothing of what it interprets, by how their names begin.
const INTERPRETER: [&str; 6] =
    ["pymain_", "cfunction_call", "cfunction_vectorcall", "method_vectorcall", "vectorcall_", "object_vacall"];
/// One of them by its whole name.
const RUN_MOD: &str = "run_mod";
/// Files of interpreters, by how their names begin.
const INTERPRETER_FILES: [&str; 6] = ["python", "libpython", "java", "libjvm", "node", "julia"];
/// Files of the system, by how their names begin: what they do, others ask for.
const SYSTEM_FILES: [&str; 14] = [
    "libc.",
    "libc-",
    "libm.",
    "libm-",
    "libpthread",
    "libdl",
    "librt",
    "ld-",
    "libstdc++",
    "libc++",
    "libgcc",
    "[vdso]",
    "[kernel",
    "libmvec",
];
/// Files of the profiler.
const PROFILER_FILES: [&str; 2] = ["libToolsInjection", "libcupti"];
/// Files of CUDA that calls of it lie in.
const CUDA_FILES: [&str; 2] = ["libcuda.", "libcudart"];

fn begins_with_any(text: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}

/// A function's name without the version that its symbol may have.
fn plain(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// Whether a file is of the system or of the profiler.
pub fn is_system(file: &str) -> bool {
    begins_with_any(file, &SYSTEM_FILES) || is_profiler(file)
}

/// Whether it is of the profiler.
pub fn is_profiler(file: &str) -> bool {
    begins_with_any(file, &PROFILER_FILES)
}

/// Whether it is of CUDA itself: its driver or its runtime.
pub fn is_cuda(file: &str) -> bool {
    begins_with_any(file, &CUDA_FILES)
}

/// Whether it is of the system, of CUDA, or an interpreter; or not known.
pub fn is_plumbing(file: &str) -> bool {
    file.is_empty() || is_system(file) || is_cuda(file) || begins_with_any(file, &INTERPRETER_FILES)
}

/// Files that decode images and videos, or change them, by how their names begin: of Pillow, libjpeg, libpng, OpenCV, FFmpeg.
const IMAGE_FILES: [&str; 12] = [
    "_imaging.",
    "_webp.",
    "libjpeg",
    "libturbojpeg",
    "libpng",
    "libwebp",
    "libtiff",
    "libopenjp2",
    "cv2.",
    "libopencv_",
    "libavcodec",
    "libswscale",
];

/// Whether it decodes or changes images.
pub fn is_of_images(file: &str) -> bool {
    begins_with_any(file, &IMAGE_FILES)
}

/// Files of NumPy that make random numbers, by how their names begin.
const RANDOM_FILES: [&str; 6] = ["mtrand.", "_generator.", "_mt19937.", "_pcg64.", "_philox.", "_sfc64."];
/// Functions that do, by a part of their names, and by their whole names.
const RANDOM_PARTS: [&str; 6] = [
    "generate_canonical",
    "_M_gen_rand",
    "mersenne_twister",
    "normal_distribution",
    "legacy_gauss",
    "random_standard_",
];
const RANDOM_NAMES: [&str; 8] = ["rand", "random", "random_r", "rand_r", "drand48", "erand48", "lrand48", "nrand48"];

/// Whether a function of a file makes random numbers; one that is given a generator does so as far as it calls it.
pub fn makes_random(name: &str, file: &str) -> bool {
    let name = without_arguments(plain(name));
    begins_with_any(file, &RANDOM_FILES)
        || RANDOM_NAMES.contains(&name)
        || RANDOM_PARTS.iter().any(|part| name.contains(part))
}

/// Programs that compile, assemble or link.
const COMPILER_PROGRAMS: [&str; 22] = [
    "ptxas",
    "cicc",
    "nvcc",
    "nvlink",
    "fatbinary",
    "tileiras",
    "cudafe++",
    "cc1",
    "cc1plus",
    "collect2",
    "gcc",
    "g++",
    "clang",
    "clang++",
    "as",
    "ld",
    "ld.bfd",
    "ld.gold",
    "ld.lld",
    "mold",
    "ptxas-blackwell",
    "triton-opt",
];

/// Whether a program of this name compiles, or is a step of that.
pub fn is_compiler_program(file: &str) -> bool {
    COMPILER_PROGRAMS.contains(&file)
}

/// How calls of CUDA and of the profiler's interface to it begin; an upper letter follows.
const CUDA_CALLS: [&str; 3] = ["cuda", "cupti", "cu"];

/// What the templates of CUDA's own headers give, which are compiled into the program: `cudaError cudaMalloc<double>(double**, unsigned long)`.
const CUDA_RESULTS: [&str; 2] = ["cudaError ", "cudaError_t "];

/// Whether a function is named as calls of CUDA's runtime and driver are: `cudaLaunchKernel`, `cuLaunchKernel_ptsz`. A runtime that is
/// linked into the program has its file's name. Functions of the program with arguments or a namespace are not.
pub fn is_cuda_call(name: &str) -> bool {
    cuda_call(name).is_some()
}

/// The call of CUDA that a function is named as, if it is: without the version of its symbol, and what a template has beside it.
pub fn cuda_call(name: &str) -> Option<&str> {
    let of_header = CUDA_RESULTS.iter().find_map(|result| name.strip_prefix(result)?.split_once('<'));
    let name = of_header.map_or_else(|| plain(name), |(name, _)| name);
    let rest = CUDA_CALLS
        .iter()
        .find_map(|begin| name.strip_prefix(begin).filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase())))?;
    rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(name)
}

/// Whether it is the program itself, not a library.
pub fn is_program(file: &str) -> bool {
    !file.is_empty() && !file.starts_with('[') && !file.contains(".so")
}

/// Whether everything of a program or a thread lies in a function of this name.
pub fn is_entry(name: &str) -> bool {
    ENTRIES.contains(&plain(name))
}

/// Whether it is such a one in which something of the program's own can be.
pub fn is_program_entry(name: &str) -> bool {
    PROGRAM_ENTRIES.contains(&plain(name))
}

/// Whether a thread or a program begins in a function of this name, before anything of its own: nothing calls it.
pub fn is_root(name: &str) -> bool {
    is_entry(name) && !is_program_entry(name)
}

/// Whether it is of the interpreter of Python.
pub fn is_of_interpreter(name: &str) -> bool {
    is_python_api(name) || plain(name) == RUN_MOD || begins_with_any(name, &INTERPRETER)
}

/// Whether it is named as Python's own functions in C are: `Py_RunMain`, `PyObject_Call`, `_PyEval_EvalFrameDefault`.
fn is_python_api(name: &str) -> bool {
    let plain = plain(name);
    let of_python = plain.strip_prefix('_').unwrap_or(plain).strip_prefix("Py");
    let Some((module, _)) = of_python.and_then(|rest| rest.split_once('_')) else { return false };
    module.chars().all(|c| c.is_ascii_alphanumeric()) && !module.starts_with(|c: char| c.is_ascii_lowercase())
}

/// How many digits the hash has that Rust ends names with.
const HASH_DIGITS: usize = 16;

/// A function's name without the hash that Rust ends it with: `app::load::h0123456789abcdef` is `app::load`, which a build of the same
/// code by another compiler is called as well.
pub fn without_hash(name: &str) -> &str {
    let whole = name.split_once(".llvm.").map_or(name, |(whole, _)| whole);
    let is_hash = |digits: &str| {
        digits.len() == HASH_DIGITS && digits.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
    };
    match whole.rsplit_once("::h") {
        Some((path, digits)) if is_hash(digits) && !path.is_empty() => path,
        _ => name,
    }
}

/// A function's name without its arguments: `load(Config const&)` is `load`. What is written within a function is another than that:
/// `load(int)::{lambda()#1}::operator()() const` is `load(int)::{lambda()#1}::operator()`.
pub fn without_arguments(name: &str) -> &str {
    let name = without_hash(name);
    let (mut open_angles, mut open_braces, mut goes_on_at) = (0_usize, 0_usize, 0_usize);
    for (at, c) in name.char_indices() {
        let before = &name[..at];
        match c {
            _ if at < goes_on_at => {}
            '<' if !before.ends_with("operator") && !before.ends_with("operator<") => open_angles += 1,
            '>' if !before.ends_with('-') && !before.ends_with("operator") => {
                open_angles = open_angles.saturating_sub(1)
            }
            '{' | '[' => open_braces += 1,
            '}' | ']' => open_braces = open_braces.saturating_sub(1),
            '(' if open_angles == 0 && open_braces == 0 && at > 0 => {
                let is_of_name =
                    before.trim_end().ends_with("operator") || name[at..].starts_with("(anonymous namespace)");
                if !is_of_name {
                    match within_function(&name[at..]) {
                        Some(length) => goes_on_at = at + length,
                        None => return before,
                    }
                }
            }
            _ => {}
        }
    }
    name
}

/// Namespaces of the standard library of C++, whose templates are compiled into the program that asks for them.
const STANDARD_NAMESPACES: [&str; 2] = ["std::", "__gnu_cxx::"];

/// Whether a function is of the standard library of C++, whatever file holds it: `void std::_Destroy<app::Mesh*>(app::Mesh*)`.
pub fn is_of_standard_library(name: &str) -> bool {
    let name = without_arguments(name);
    let (mut open, mut begins_at) = (0_usize, 0_usize);
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' | '{' | '[' => open += 1,
            '>' | ')' | '}' | ']' => open = open.saturating_sub(1),
            // A conversion is called by what it gives.
            ' ' if open == 0 && !name[..at].ends_with("operator") => begins_at = at + 1,
            _ => {}
        }
    }
    begins_with_any(&name[begins_at..], &STANDARD_NAMESPACES)
}

/// How long the arguments are that a text begins with, where the name of something written within their function follows.
fn within_function(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let end = text.char_indices().find_map(|(at, c)| {
        match c {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        (open == 0).then_some(at + 1)
    })?;
    let rest = text[end..].trim_start_matches(" const").trim_start_matches([' ', '&']);
    rest.starts_with("::").then_some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_named_without_its_arguments() {
        for (name, expected) in [
            ("load", "load"),
            ("load(Config const&)", "load"),
            ("app::Loader::load(std::string) const", "app::Loader::load"),
            ("void run<float (*)(int)>(float*)", "void run<float (*)(int)>"),
            ("(anonymous namespace)::step(int)", "(anonymous namespace)::step"),
            ("app::(anonymous namespace)::step(int)", "app::(anonymous namespace)::step"),
            ("Add::operator()(int)", "Add::operator()"),
            ("operator<(A, B)", "operator<"),
            ("load(int)::{lambda(int)#1}::operator()(int) const", "load(int)::{lambda(int)#1}::operator()"),
            ("run()::$_0::operator()() const", "run()::$_0::operator()"),
            ("run() const::Local::step(int)", "run() const::Local::step"),
            ("run() [clone .cold]", "run"),
            ("run(int", "run"),
            ("app::load::h0123456789abcdef", "app::load"),
            (
                "<app::Mesh as core::iter::Sum<f32>>::sum::h0123456789abcdef.llvm.77",
                "<app::Mesh as core::iter::Sum<f32>>::sum",
            ),
            ("app::h0123456789abcdeg", "app::h0123456789abcdeg"),
            ("::h0123456789abcdef", "::h0123456789abcdef"),
            ("(", "("),
            ("", ""),
        ] {
            assert_eq!(without_arguments(name), expected, "{name}");
        }
    }

    #[test]
    fn functions_of_the_standard_library_are_told_by_their_namespace() {
        for name in [
            "std::vector<int, std::allocator<int> >::~vector()",
            "void std::_Destroy<app::Mesh*>(app::Mesh*, app::Mesh*)",
            "std::vector<int>* std::__uninitialized_default_n_1<false>::__uninit<std::vector<int>*>(int)",
            "__gnu_cxx::new_allocator<int>::deallocate(int*, unsigned long)",
        ] {
            assert!(is_of_standard_library(name), "{name}");
        }
        for name in [
            "app::sort(std::vector<int>&)",
            "std::vector<int> app::load(int)",
            "app::Mesh<std::vector<int> >::step()",
            "stdlib_read",
            "void app::run<std::vector<int> >()",
            "app::Foo::operator std::string() const",
            "app::run(int)::{lambda(int, std::string)#1}::operator()",
            "",
        ] {
            assert!(!is_of_standard_library(name), "{name}");
        }
    }

    #[test]
    fn files_tell_whose_a_function_is() {
        assert!(is_program("train") && !is_program("libfoo.so.1") && !is_program("[vdso]") && !is_program(""));
        assert!(
            is_plumbing("libcuda.so.550") && is_plumbing("libc.so.6") && is_plumbing("python3.12") && is_plumbing("")
        );
        assert!(!is_plumbing("train") && !is_plumbing("libcublas.so.12"));
        assert!(is_entry("main") && is_entry("clone3@@GLIBC_2.34") && !is_entry("main_loop"));
        assert!(is_root("_start") && is_root("clone3@@GLIBC_2.34") && !is_root("main") && !is_root("start"));
    }

    #[test]
    fn calls_of_cuda_are_told_by_their_names() {
        for name in [
            "cudaDeviceSynchronize",
            "cuLaunchKernel_ptsz",
            "cuptiActivityEnable",
            "cudaFree@libcudart.so.12",
            "cudaError cudaMalloc<double>(double**, unsigned long)",
            "cudaError_t cudaLaunchKernel<char>(char const*, dim3, dim3, void**, unsigned long, CUstream_st*)",
        ] {
            assert!(is_cuda_call(name), "{name}");
        }
        for name in [
            "cuda_solve",
            "cudart",
            "cut",
            "cuda::Solver",
            "cudaSolve(float*)",
            "myCudaCall",
            "cuda",
            "main",
            "cudaError app::cudaRun<int>(int)",
            "cudaError run<int>(int)",
            "float cudaRun<int>(int)",
        ] {
            assert!(!is_cuda_call(name), "{name}");
        }
    }

    #[test]
    fn a_program_may_have_names_like_those_of_the_interpreter() {
        for name in ["Py_RunMain", "PyObject_Call", "_PyEval_EvalFrameDefault", "_Py_HandleSystemExit", "run_mod"] {
            assert!(is_of_interpreter(name), "{name}");
        }
        for name in ["Pyramid_build", "Pyramid::level", "run_model", "cfunction_table", "Python", "PyNet::forward"] {
            assert!(!is_of_interpreter(name), "{name}");
        }
    }

    #[test]
    fn files_and_functions_tell_what_they_are_for() {
        assert!(is_of_images("_imaging.cpython-312-x86_64-linux-gnu.so") && is_of_images("libjpeg-31e2ca52.so.62.4.0"));
        assert!(!is_of_images("libtorch_cpu.so") && !is_of_images("") && !is_of_images("app_libjpeg"));
        let of_program = |name: &str| makes_random(name, "app");
        assert!(of_program("rand") && of_program("double std::generate_canonical<double, 53ul>(std::mt19937&)"));
        assert!(of_program("std::mersenne_twister_engine<unsigned long, 32ul>::operator()()"));
        // What is given a generator is the program's own.
        assert!(!of_program("draw_shocks(std::mersenne_twister_engine<unsigned long, 32ul>&)"));
        assert!(!of_program("operand") && !of_program("random_walk"));
        assert!(makes_random("0x7f12", "_mt19937.cpython-312-x86_64-linux-gnu.so"));
    }
}
