//! What the text of a stack's frame says of the line of code that it stands for.
//!
//! The documents of Nsight Systems do not say how it writes frames of Python, and no public report shows it. So only texts
//! that can be read in one way count: `File "train.py", line 42` and `train.py:42`. Frames of compiled code name functions only.

use crate::source::own_code::{self, Project};
use crate::text::paths;
use crate::timeline::{SourceLocation, modules};

/// Longer texts are no frames: demangled names of C++ are, and they name no line.
pub(super) const MAX_BYTES: usize = 4_096;
const EXTENSIONS: [&str; 20] = [
    "py", "pyx", "pxd", "pxi", "cu", "cuh", "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "inl", "rs", "jl", "f",
    "f90", "F90",
];
/// The line that a frame's text names, when it is one of the program's own code.
pub(super) fn location(text: &str, project: Option<&Project<'_>>) -> Option<SourceLocation> {
    let (path, line) = path_and_line(text)?;
    if own_code::is_foreign(path) {
        return None;
    }
    let (file, is_in_project) = match project.and_then(|project| project.path(path)) {
        Some(file) => (file, true),
        None => (paths::file_name(path).to_owned(), false),
    };
    paths::inside(&file).ok().map(|file| SourceLocation { file, line: Some(line), function: None, is_in_project })
}

/// A path with its line, when the text holds exactly one.
fn path_and_line(text: &str) -> Option<(&str, u32)> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut found = quoted(text).into_iter().chain(with_colon(text));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// `File "train.py", line 42`, as Python's own tracebacks have it.
fn quoted(text: &str) -> Option<(&str, u32)> {
    let (_, rest) = text.split_once("File \"")?;
    let (path, rest) = rest.split_once('"')?;
    Some((path, number(rest.strip_prefix(", line ")?)?))
}

/// A function of a program or of a library that a frame names, without a line; `module` is the path of its file.
pub(super) fn function(name: &str, module: &str) -> Option<(Rank, SourceLocation)> {
    let file = paths::file_name(module);
    let rank = match () {
        () if modules::is_plumbing(file) || modules::is_cuda_call(name) => return None,
        () if modules::is_of_interpreter(name) || !is_name(name) => return None,
        () if modules::is_entry(name) && !modules::is_program_entry(name) => return None,
        () if modules::is_entry(name) => Rank::Entry,
        () if modules::is_program(file) => Rank::Program,
        () => Rank::Library,
    };
    let file = paths::inside(file).ok()?;
    let name = paths::without_folders(modules::without_arguments(name));
    Some((rank, SourceLocation { file, line: None, function: Some(name), is_in_project: false }))
}

/// How much a frame says of who made a call: the first of a stack that says most is told, the innermost of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A line of the program's own code.
    Line,
    /// A function of the program itself.
    Program,
    /// A function of a library that it uses.
    Library,
    /// The beginning of the program, in which everything lies.
    Entry,
}

/// Where a name is not known the profiler writes an address, or what went wrong in brackets.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with("0x") && !text.starts_with('[')
}

/// Every `train.py:42`, in one pass: a text can be nothing but colons.
fn with_colon(text: &str) -> impl Iterator<Item = (&str, u32)> {
    // A text that is nothing but an absolute path may have blanks in it.
    let bare = text.rfind(':').filter(|_| text.starts_with('/'));
    let bare = bare.filter(|colon| text[colon + 1..].bytes().all(|byte| byte.is_ascii_digit()));
    let (mut seen, mut begins) = (0, Some(0));
    text.match_indices(':').filter_map(move |(colon, _)| {
        if let Some(at) = text[seen..colon].rfind(is_delimiter) {
            begins = begin(text, seen + at);
        }
        seen = colon;
        let begin = if bare == Some(colon) { 0 } else { begins? };
        let path = &text[begin..colon];
        let stem = stem(path)?;
        let is_file = !stem.is_empty() && !stem.ends_with(['/', '\\']);
        is_file.then_some((path, number(&text[colon + 1..])?))
    })
}

/// A path without the extension of a file of code.
fn stem(path: &str) -> Option<&str> {
    EXTENSIONS.iter().find_map(|extension| path.strip_suffix(extension)?.strip_suffix('.'))
}

/// Where a path begins after a delimiter; `None` where it may be the end of an odd name (`a|b.py`).
fn begin(text: &str, at: usize) -> Option<usize> {
    let delimiter = text[at..].chars().next()?;
    let opens = delimiter.is_whitespace() || matches!(delimiter, '(' | '[' | '"' | '\'');
    opens.then_some(at + delimiter.len_utf8())
}

fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | '\'' | '`' | ',' | ';' | '=' | '|' | '@')
}

/// The whole number at the beginning of a text, if it is a line's.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
    own_code::line(digits).filter(|_| !goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_read_in_one_way_is_a_path_and_line() {
        for (text, expected) in [
            ("train.py:42", Some(("train.py", 42))),
            ("forward (train.py:42)", Some(("train.py", 42))),
            ("a|train.py:42", None),
            ("@train.py:42", None),
            ("train_step (/home/me/train.py:42)", Some(("/home/me/train.py", 42))),
            ("/home/me/my code/train.py:42", Some(("/home/me/my code/train.py", 42))),
            ("src/kernels.cu:7:3", Some(("src/kernels.cu", 7))),
            ("C:\\code\\train.py:42", Some(("C:\\code\\train.py", 42))),
            ("  File \"my code/train.py\", line 42, in step", Some(("my code/train.py", 42))),
            ("a.py:1 b.py:2", None),
            ("File \"a.py\", line 1 b.py:2", None),
            ("train.py", None),
            ("train.py:0", None),
            ("train.py:99999999999", None),
            ("train.py:42x", None),
            ("train.py:4.2", None),
            (".py:42", None),
            ("src/.py:42", None),
            ("std::vector<int>::size:3", None),
            ("localhost:8080", None),
            ("File \"train.py\", in step", None),
            ("", None),
        ] {
            assert_eq!(path_and_line(text), expected, "{text}");
        }
        assert_eq!(path_and_line(&format!("{}.py:1", "x".repeat(MAX_BYTES))), None);
    }

    #[test]
    fn a_call_of_cuda_within_the_program_did_not_launch_itself() {
        let of = |name: &str| function(name, "/home/me/app").map(|(rank, _)| rank);
        assert_eq!(of("cudaDeviceSynchronize"), None);
        assert_eq!(of("cuLaunchKernel"), None);
        assert_eq!(of("cudaSolve(float*)"), Some(Rank::Program));
        assert_eq!(of("main"), Some(Rank::Entry));
    }

    #[test]
    fn frames_of_others_are_no_locations() {
        for text in [
            "/usr/lib/python3.12/threading.py:10",
            "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py:1500",
            "/usr/lib/python3/dist-packages/numpy/core.py:3",
            "File \"<frozen importlib._bootstrap>\", line 5",
            "../aten/src/ATen/native/cuda/Copy.cu:90",
            "/tmp/torchinductor_me/ab/cab.py:12",
        ] {
            assert_eq!(location(text, None), None, "{text}");
        }
    }

    #[test]
    fn no_folder_outside_of_the_project_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("src")).unwrap();
        std::fs::write(root.join("src/train.py"), "").unwrap();
        let of = |path: &str| {
            let found = location(&format!("{path}:3"), Some(&Project::new(root)))?;
            Some((found.file, found.is_in_project))
        };
        let inside = |file: &str| Some((file.to_owned(), true));
        let outside = |file: &str| Some((file.to_owned(), false));
        assert_eq!(of(&root.join("src/new.py").display().to_string()), inside("src/new.py"));
        assert_eq!(of("./src/train.py"), inside("src/train.py"));
        assert_eq!(of("src/other.py"), outside("other.py"));
        assert_eq!(of("/home/me/secret/train.py"), outside("train.py"));
        assert_eq!(of("../src/train.py"), outside("train.py"));
        assert_eq!(of(&format!("{}/../x.py", root.display())), outside("x.py"));
        assert_eq!(of("C:\\Users\\me\\train.py"), outside("train.py"));
        assert_eq!(of("a\u{202e}b.py"), None, "a name that hides something");
        assert_eq!(location("src/train.py:3", None).map(|found| found.is_in_project), Some(false));
    }
}
