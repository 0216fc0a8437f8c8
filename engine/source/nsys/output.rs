//! Which error a program's output tells of, by fixed words.

use crate::timeline::output::{Ends, OutputError, SIGNS, Sign, TRACEBACK, after_prompt};

/// What ends a program stands so near the end of its output: only what the runtime adds comes after it.
const LAST_LINES: usize = 40;
/// An exception is told in one line, and some of advice.
const LINES_AFTER_EXCEPTION: usize = 20;
/// What Python prints before an exception that did not end the program.
const SURVIVED: [&str; 2] = ["Exception ignored in", "Exception in thread"];

/// The error that one output tells of: what ended the program, else the most telling one.
pub(super) fn error_of(output: &str) -> Option<OutputError> {
    let lines: Vec<&str> = output.lines().map(of_rank).filter(|line| !line.trim().is_empty()).collect();
    let lines = after_prompt(&lines);
    let is_of_pytest = is_of_pytest(lines);
    let signs = || SIGNS.iter().filter(move |sign| is_of_pytest || !sign.is_of_tests());
    let kind_of = |lines: &[&str]| signs().find(|sign| lines.iter().any(|line| sign.is_in(line)));
    let exception = uncaught(lines);
    match exception.or_else(|| fatal(lines, is_of_pytest)) {
        Some(end) => {
            let is_told = |sign: &Sign| exception.is_none() || !sign.is_vague();
            let kind = signs().find(|sign| is_told(sign) && end.iter().any(|line| sign.is_in(line)));
            let kind = kind.or_else(|| kind_of(&[TRACEBACK]));
            let kind = kind.filter(|sign| sign.is_of_tests()).and_then(|_| why_failed(lines)).or(kind);
            kind.map(|sign| OutputError { kind: sign.kind(), is_end: true })
        }
        None => kind_of(lines).map(|sign| OutputError { kind: sign.kind(), is_end: false }),
    }
}

/// The more telling of what two outputs of a run tell of.
pub(super) fn worse(one: OutputError, other: OutputError) -> OutputError {
    let rank = |error: &OutputError| (!error.is_end, SIGNS.iter().position(|sign| sign.kind() == error.kind));
    if rank(&other) < rank(&one) { other } else { one }
}

/// What pytest begins the lines with that say why a test failed.
const WHY: &str = "E   ";

/// Whether pytest wrote an output: other programs count what failed as well.
fn is_of_pytest(lines: &[&str]) -> bool {
    let is_result = |line: &str| line.starts_with("FAILED ") || line.starts_with("ERROR ");
    let titles = ["test session starts", "short test summary info"];
    lines.iter().any(|line| {
        line.starts_with(WHY)
            || is_result(line) && line.contains("::")
            || line.starts_with('=') && titles.iter().any(|title| line.contains(title))
    })
}

/// What pytest says of why a test failed, where that tells more.
fn why_failed(lines: &[&str]) -> Option<&'static Sign> {
    let why: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(WHY)).collect();
    SIGNS.iter().find(|sign| sign.is_telling() && why.iter().any(|line| sign.is_in(line)))
}

/// A line without what a launcher of several processes puts before it.
pub(super) fn of_rank(line: &str) -> &str {
    let rest = line.strip_prefix("[rank").and_then(|rest| rest.split_once("]: "));
    rest.map_or(line, |(_, rest)| rest)
}

/// From an exception that nothing caught to the end of the output.
fn uncaught<'a>(lines: &'a [&'a str]) -> Option<&'a [&'a str]> {
    let begin = lines.iter().rposition(|line| line.starts_with(TRACEBACK))?;
    let is_survived =
        begin.checked_sub(1).is_some_and(|before| SURVIVED.iter().any(|said| lines[before].starts_with(said)));
    let after = &lines[begin + 1..];
    let exception = &after[after.iter().position(|line| !line.starts_with(char::is_whitespace))?..];
    (!is_survived && exception.len() <= LINES_AFTER_EXCEPTION).then_some(exception)
}

/// From what ends a program to the end of the output.
fn fatal<'a>(lines: &'a [&'a str], is_of_pytest: bool) -> Option<&'a [&'a str]> {
    let ends = |line: &str, how: Ends| {
        let mut signs = SIGNS.iter().filter(|sign| is_of_pytest || !sign.is_of_tests());
        signs.any(|sign| sign.ends() >= how && sign.is_in(line))
    };
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let begin = last.iter().position(|line| ends(line, Ends::NearEnd));
    let begin = begin.or_else(|| last.len().checked_sub(1).filter(|at| ends(last[*at], Ends::AsLastLine)))?;
    Some(&last[begin..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: &str) -> Option<(&'static str, bool)> {
        error_of(output).map(|error| (error.kind, error.is_end))
    }

    #[test]
    fn errors_are_told_by_fixed_words_the_most_telling_first() {
        assert_eq!(of("step 1\nstep 2\n"), None);
        assert_eq!(of("ImportError: a\nlost: CUDA_ERROR_OUT_OF_MEMORY\n"), Some(("out of GPU memory", false)));
        let plugin = "n:1 [0] NCCL INFO NET/Plugin : libnccl-net.so: cannot open: No such file or directory\n";
        assert_eq!((of(plugin), of("DeprecationWarning: RuntimeError")), (None, None));
        assert_eq!(of("sh: a: No such file or directory\nstep 1\n"), Some(("a file that was not found", false)));
        assert_eq!(of("step 1\nCouldn't open file: a.weights"), Some(("a file that was not found", true)));
        assert_eq!(of("  File \"a.py\", line 3\n    x =\nSyntaxError: invalid syntax"), Some(("SyntaxError", true)));
        assert_eq!(of("lib: symbol lookup error: /opt/libToolsInjectionProxy64.so: undefined symbol: x"), {
            Some(("a symbol that the profiler's own library needs and the system lacks", true))
        });
        assert_eq!(of("./a: symbol lookup error: libb.so: undefined symbol: x"), {
            Some(("a symbol that no shared library has", true))
        });
    }

    #[test]
    fn an_exception_that_nothing_caught_ends_the_program() {
        let traceback =
            |last: &str| format!("start\nTraceback (most recent call last):\n  File \"a.py\"\n    f()\n{last}");
        assert_eq!(of(&traceback("KeyboardInterrupt\n")), Some(("KeyboardInterrupt", true)));
        assert_eq!(of(&traceback("ValueError: too many values")), Some(("ValueError", true)));
        // What an exception quotes says less than its class.
        let quotes = "liba.so: cannot open shared object file: No such file or directory";
        assert_eq!(
            of(&traceback(&format!("lib.NvvmSupportError: no NVVM:\n{quotes}"))),
            Some(("NvvmSupportError", true))
        );
        assert_eq!(of(&traceback(&format!("lib.OwnError: {quotes}"))), Some(("a Python exception", true)));
        assert_eq!(of(&traceback(&format!("FileNotFoundError: {quotes}"))), Some(("FileNotFoundError", true)));
        assert_eq!(of(&traceback("a.b.MyError: no RuntimeError")), Some(("a Python exception", true)));
        assert_eq!(of(&traceback("torch.OutOfMemoryError: CUDA out of memory.")), Some(("out of GPU memory", true)));
        // What came before it did not end the program.
        assert_eq!(of(&format!("W failed: CUDA_ERROR_OUT_OF_MEMORY\n{}", traceback("KeyError: 1"))), {
            Some(("KeyError", true))
        });
        let of_rank =
            "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\"\n[rank0]: RuntimeError: x\n";
        assert_eq!(of(of_rank), Some(("RuntimeError", true)));
        // The program went on.
        assert_eq!(of(&format!("{}{}", traceback("KeyError: 1\n"), "step\n".repeat(20))), Some(("KeyError", false)));
        let survived = "Exception ignored in: <f>\nTraceback (most recent call last):\n  File \"a.py\"\nOSError: x\n";
        assert_eq!(of(survived), Some(("OSError", false)));
        assert_eq!(of("Traceback (most recent call last):\n  File"), Some(("a Python exception", false)));
    }

    #[test]
    fn what_ends_a_program_stands_near_the_end() {
        let fatal = "FATAL ERROR: variable in data clause is partially present on the device: name=a\n file:a.c\n";
        assert_eq!(of(fatal), Some(("OpenACC data that is on the device in part", true)));
        assert_eq!(of(" FATAL ERROR: no\n"), Some(("a fatal error", true)));
        assert_eq!(of(&format!("FATAL ERROR: no\n{}", "step\n".repeat(40))), Some(("a fatal error", false)));
        for crash in ["run.sh: line 3: 412 Illegal instruction (core dumped) ./a", "已放弃 (吐核)"] {
            assert_eq!(of(crash), Some(("a crash", true)), "{crash}");
        }
        let other = "Accelerator Fatal Error: Failed to find device function 'f'!\nRebuild this file\n File: a.cpp\n";
        assert_eq!(of(other), Some(("device code that was compiled for another GPU", true)));
    }

    #[test]
    fn tests_that_all_failed_end_the_program() {
        let counts =
            |line: &str| of(&format!("E   AssertionError: no\n\na.py:1: AssertionError\nFAILED a.py::f[x]\n{line}\n"));
        let failed = Some(("a failed test", true));
        assert_eq!(counts("===== 1 failed, 3 skipped, 8 deselected, 4 warnings in 4.11s ====="), failed);
        assert_eq!(counts("2 errors in 70.10s (0:01:10)"), failed);
        // What passed may be what the program does.
        assert_eq!(counts("== 1 failed, 40 passed in 4.11s =="), None);
        assert_eq!(counts("== 40 passed in 4.11s =="), None);
        assert_eq!(counts("1 failed in a row"), None);
        assert_eq!(counts("step 1 failed in 3s"), None);
        // The program went on.
        assert_eq!(counts("== 1 failed in 4.11s ==\nstep 1"), Some(("a failed test", false)));
        // Another program counts what failed.
        assert_eq!(of("checks of kernels\n1 failed in 4.11s\n"), None);
        assert_eq!(of("== short test summary info ==\n== 1 failed in 4.11s ==\n"), failed);
        assert_eq!(of("ERROR a.py::f - no\n1 error in 0.10s\n"), failed);
        // Why it failed tells more than that it did.
        let why = |words: &str| of(&format!("E       {words}\nFAILED a.py::f\n== 1 failed in 4.11s ==\n"));
        assert_eq!(why("torch.OutOfMemoryError: CUDA out of memory."), Some(("out of GPU memory", true)));
        let no_events = Some(("no CUDA events for the program's own profiler", true));
        assert_eq!(why("AssertionError: No CUDA events found"), no_events);
        assert_eq!(why("RuntimeError: no"), failed);
    }

    #[test]
    fn plain_lines_of_errors_are_no_results() {
        assert_eq!(of("Error: Keygen failed."), Some(("an error", false)));
        assert_eq!(of("error: 29.98\nerror: nan\nError (L2norm): 1e-11\nMax error: none\ncudaError: no error"), None);
        assert_eq!(of("Error: Unexpected end of file at a.h:1"), Some(("a file that ends too early", false)));
    }

    #[test]
    fn what_each_error_of_pytorch_ends_with_tells_nothing() {
        let advice = "\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n";
        let of_error =
            |what: &str| of(&format!("Traceback (most recent call last):\n  File\nRuntimeError: {what}{advice}"));
        assert_eq!(of_error("CUDA error: invalid device ordinal"), Some(("a GPU that is not there", true)));
        assert_eq!(of_error("CUDA error: device-side assert triggered"), Some(("a device-side assert", true)));
        let capture = Some(("an error while a CUDA graph was captured", true));
        assert_eq!(of_error("CUDA error: operation failed due to a previous error during capture"), capture);
        assert_eq!(of_error("CUDA error: operation not permitted when stream is capturing"), capture);
        assert_eq!(of_error("CUDA error: unknown"), Some(("a CUDA error", true)));
    }

    #[test]
    fn what_failed_before_an_interpreter_asks_again_ended_nothing() {
        let failed = "ERROR: LoadError: MethodError: no method\nStacktrace:\n [1] f\n";
        assert_eq!(of(failed), Some(("a Julia error", true)));
        assert_eq!(of(&format!("{failed}\n\u{1b}[0Kjulia> \u{1b}[7Cinclude(\"a.jl\")\n")), None);
        assert_eq!(of(&format!("julia> f()\n{failed}")), Some(("a Julia error", true)));
        let traceback = "Traceback (most recent call last):\n  File\nKeyError: 1\n";
        let python =
            "Python 3.11.4 (main) on linux\nType \"help\", \"copyright\", \"credits\" or \"license\" for more.\n";
        let ipython = "Python 3.11.4\nIPython 8.12.0 -- An enhanced Interactive Python. Type '?' for help.\n";
        assert_eq!(of(&format!("{python}>>> g()\n{traceback}>>> f()\n")), None);
        assert_eq!(of(&format!("{ipython}{traceback}In [2]: f()\n")), None);
        assert_eq!(of(&format!("{python}>>> f()\n{traceback}")), Some(("KeyError", true)));
        // Lines of a log that look so.
        let failed = Some(("KeyError", true));
        assert_eq!(of(&format!("{traceback}>>> rank 1: epoch 2 done\n")), failed);
        assert_eq!(of(&format!(">>> start\n>>> load\n{traceback}>>> rank 1: epoch 2 done\n")), failed);
        assert_eq!(of(&format!("{traceback}In [12] of 20\n")), failed);
        assert_eq!(of(&format!("{python}{traceback}In [12] of 20\n")), failed);
    }

    #[test]
    fn what_ended_the_program_is_worse() {
        let [end, other] = ["FATAL ERROR: no", "CUDA out of memory"].map(|output| error_of(output).unwrap());
        assert_eq!((worse(end, other), worse(other, end)), (end, end));
    }
}
