//! Where in the source the error is that a program's output ends with: of the forms in which compilers, runtimes and interpreters say that.

use super::output::of_rank;
use crate::text::cut;
use crate::text::paths::file_name;
use crate::timeline::output::OutputPlace;

/// An error is told at the end, with no more lines than these.
const LAST_LINES: usize = 400;
/// Longer names say no more.
const MAX_NAME_BYTES: usize = 80;
/// How the names of files of source code end.
const SOURCES: [&str; 17] = [
    ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".py", ".f", ".f90", ".F90", ".f95", ".jl", ".rs", ".go",
    ".hip",
];
/// Folders of what others wrote: the error lies in how that is called.
const OF_OTHERS: [&str; 4] = ["site-packages/", "dist-packages/", "lib/python", "<frozen "];
/// What a line of another form holds where it tells the place of an error.
const TELLING: [&str; 9] = [
    "Assertion `",
    "AssertionError",
    "panicked at",
    "CUDA error",
    "CUDA Error",
    "GPUassert",
    "Check failed",
    "Error:",
    "at ",
];

/// The last place that an output names for an error.
pub(super) fn place_of(output: &str) -> Option<OutputPlace> {
    let lines: Vec<&str> = output.lines().map(of_rank).filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let own = || last.iter().rev().copied().filter(|line| !OF_OTHERS.iter().any(|folder| line.contains(folder)));
    own().find_map(of_runtime).or_else(|| own().find_map(of_traceback)).or_else(|| own().find_map(of_message))
}

/// As the OpenACC runtime says it: ` file:/home/me/main.c train line:116`.
fn of_runtime(line: &str) -> Option<OutputPlace> {
    let (path, rest) = line.trim().strip_prefix("file:")?.split_once(' ')?;
    let (function, number) = rest.rsplit_once("line:")?;
    place(path, number.trim(), Some(function.trim()))
}

/// As Python does: `  File "train.py", line 12, in main`.
fn of_traceback(line: &str) -> Option<OutputPlace> {
    let (path, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, function) = rest.split_once(", in ").map_or((rest, None), |(number, name)| (number, Some(name)));
    place(path, number, function.filter(|function| !function.starts_with('<')))
}

/// As most others do: `main.cu:12: …`, `main.cu(12)`, `src/main.rs:4:5`.
fn of_message(line: &str) -> Option<OutputPlace> {
    if !TELLING.iter().any(|words| line.contains(words)) {
        return None;
    }
    line.split([' ', ',', '\'', '"']).find_map(|word| {
        let (path, rest) = word.split_once([':', '('])?;
        let number = rest.split([':', ')']).next()?;
        place(path, number, None)
    })
}

fn place(path: &str, number: &str, function: Option<&str>) -> Option<OutputPlace> {
    let file = file_name(path);
    let line = number.parse().ok().filter(|line| *line > 0)?;
    let is_source = SOURCES.iter().any(|end| file.ends_with(end) && file.len() > end.len());
    let is_name = |name: &&str| !name.is_empty() && !name.contains(char::is_whitespace);
    let short = |name: &str| cut::to_bytes(name, MAX_NAME_BYTES).to_owned();
    is_source.then(|| OutputPlace { file: short(file), line, function: function.filter(is_name).map(short) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: &str) -> Option<(String, u32, Option<String>)> {
        place_of(output).map(|place| (place.file, place.line, place.function))
    }

    fn told(file: &str, line: u32, function: Option<&str>) -> Option<(String, u32, Option<String>)> {
        Some((file.to_owned(), line, function.map(str::to_owned)))
    }

    #[test]
    fn runtimes_and_interpreters_tell_the_place_of_an_error() {
        let openacc =
            "FATAL ERROR: partially present on the device: name=a\n file:/home/me/net/main.c train line:116\n";
        assert_eq!(of(openacc), told("main.c", 116, Some("train")));
        let python = "Traceback (most recent call last):\n  File \"/home/me/train.py\", line 12, in main\n    f()\n  File \"/opt/lib/python3.11/site-packages/torch/nn.py\", line 3, in call\nRuntimeError: x\n";
        assert_eq!(of(python), told("train.py", 12, Some("main")));
        assert_eq!(of("  File \"a.py\", line 3, in <module>\nKeyError: 1"), told("a.py", 3, None));
        assert_eq!(of("E   AssertionError: no\n\nbench/core.py:194: AssertionError\n"), told("core.py", 194, None));
        assert_eq!(of("a: src/main.cu:12: int main(): Assertion `a' failed."), told("main.cu", 12, None));
        assert_eq!(of("CUDA error at main.cu(37): invalid value"), told("main.cu", 37, None));
        assert_eq!(of("thread 'main' panicked at src/main.rs:4:5:"), told("main.rs", 4, None));
    }

    #[test]
    fn what_is_no_place_of_an_error_tells_none() {
        for output in ["step 1\nlr: 0.1", "wrote out.c:12", "Error: a.bin:3", "CUDA error: 3", "Error at main.cu:x", ""]
        {
            assert_eq!(of(output), None, "{output}");
        }
    }
}
