//! The kinds of errors that a program's output can tell of, and where in the source. Nothing else is taken from an output, and never its
//! text.

/// An error that a program's output tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputError {
    /// The kind, of the fixed list.
    pub kind: &'static str,
    /// Whether the output ends with it, as it ended the program.
    pub is_end: bool,
}

/// Where in the source an error is, as the output says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPlace {
    /// The file, without its folders.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// The function, where that is told.
    pub function: Option<String>,
}

/// Where the words of an error stand in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    /// At its beginning, and no number follows: programs print how exact their results are.
    Beginning,
    /// The name of an exception, at its beginning, with or without its module.
    Exception,
    /// The line in which pytest counts tests: its words are among them, and none passed.
    TestCounts,
}

/// Whether a program that says so has ended thereby.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ends {
    /// It may go on.
    Never,
    /// When it is the last line of its output.
    AsLastLine,
    /// When it stands near the end of its output: what it says of where comes after it.
    NearEnd,
}

/// Words that tell of an error.
#[derive(Debug)]
pub struct Sign {
    words: &'static str,
    kind: &'static str,
    place: Place,
    ends: Ends,
}

impl Sign {
    /// What is said of it.
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Whether a program that says so has ended thereby.
    pub const fn ends(&self) -> Ends {
        self.ends
    }

    /// Whether its words alone tell an error, wherever they stand, and tell more than that a test failed.
    pub fn is_telling(&self) -> bool {
        self.place == Place::Anywhere && self.words != TRACEBACK && !self.is_vague()
    }

    /// Whether it stands in the line in which pytest counts tests.
    pub fn is_of_tests(&self) -> bool {
        self.place == Place::TestCounts
    }

    /// Whether the text of any exception may hold its words: the class of the exception says more.
    pub fn is_vague(&self) -> bool {
        self.place == Place::Anywhere && VAGUE_KINDS.contains(&self.kind)
    }

    /// Whether a line of an output holds it.
    pub fn is_in(&self, line: &str) -> bool {
        if NO_SIGNS.iter().any(|words| line.contains(words)) {
            return false;
        }
        match self.place {
            Place::Anywhere => line.contains(self.words),
            Place::Beginning => line.trim_start().strip_prefix(self.words).is_some_and(|rest| {
                let first = rest.split_whitespace().next().unwrap_or("");
                first.starts_with(char::is_alphabetic) && first.parse::<f64>().is_err()
            }),
            Place::Exception => {
                let name = line.split([':', ' ']).next().unwrap_or("");
                name.strip_suffix(self.words).is_some_and(|module| module.is_empty() || module.ends_with('.'))
            }
            Place::TestCounts => test_outcomes(line)
                .is_some_and(|outcomes| outcomes.contains(&self.words) && !outcomes.contains(&"passed")),
        }
    }
}

/// The outcomes of tests that a line of pytest counts: `== 1 failed, 3 skipped, 4 warnings in 4.11s ==`.
fn test_outcomes(line: &str) -> Option<Vec<&str>> {
    let (counts, time) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    time.split(' ').next()?.strip_suffix('s')?.parse::<f64>().ok()?;
    counts
        .split(", ")
        .map(|count| {
            let (number, outcome) = count.split_once(' ')?;
            number.parse::<u32>().ok().map(|_| outcome)
        })
        .collect()
}

/// Kinds of which the words stand in the texts of many exceptions.
const VAGUE_KINDS: [&str; 3] =
    ["a file that was not found", "a command that was not found", "a file that ends too early"];

/// What libraries say of how they set up, and what says that all is well.
const NO_SIGNS: [&str; 6] = ["no error", " INFO ", "[info]", "[INFO]", " WARN ", "Warning"];

const fn sign(words: &'static str, kind: &'static str, place: Place, ends: Ends) -> Sign {
    Sign { words, kind, place, ends }
}

/// What may stand in the output of a program that goes on.
const fn error(words: &'static str, kind: &'static str) -> Sign {
    sign(words, kind, Place::Anywhere, Ends::Never)
}

const fn line(words: &'static str, kind: &'static str) -> Sign {
    sign(words, kind, Place::Beginning, Ends::Never)
}

/// What ends a program when it says no more.
const fn last(words: &'static str, kind: &'static str) -> Sign {
    sign(words, kind, Place::Anywhere, Ends::AsLastLine)
}

/// What ends a program.
const fn end(words: &'static str, kind: &'static str) -> Sign {
    sign(words, kind, Place::Anywhere, Ends::NearEnd)
}

/// An exception of Python, by its name.
const fn exception(name: &'static str) -> Sign {
    sign(name, name, Place::Exception, Ends::Never)
}

/// What a user's interrupt leaves in the output of Python.
pub const INTERRUPT: &str = "KeyboardInterrupt";
/// What Python prints before an exception that nothing caught.
pub const TRACEBACK: &str = "Traceback (most recent call last)";
/// What an interpreter of Julia prints before it reads what to do next, with colours around it.
const COLOURED_PROMPT: &str = "julia> ";
/// What other interpreters begin such a line with, and a part of what each says as it starts: programs begin lines of their logs so
/// as well.
const PROMPTS: [(&str, &str); 2] =
    [(">>> ", "Type \"help\", \"copyright\""), ("In [", "An enhanced Interactive Python")];

/// The lines behind the last in which an interpreter asks for the next command: what failed before it has not ended the program.
pub fn after_prompt<'lines, 'line>(lines: &'lines [&'line str]) -> &'lines [&'line str] {
    let started = PROMPTS.map(|(_, banner)| lines.iter().position(|line| line.contains(banner)));
    let asks = |(row, line): (usize, &&str)| {
        let begins = |((prompt, _), started): (&(&str, &str), &Option<usize>)| {
            line.starts_with(prompt) && started.is_some_and(|started| started < row)
        };
        line.contains(COLOURED_PROMPT) || PROMPTS.iter().zip(&started).any(begins)
    };
    let last = lines.iter().enumerate().rfind(|line| asks(*line)).map(|(row, _)| row);
    last.and_then(|row| lines.get(row + 1..)).unwrap_or(lines)
}

/// What the profiler's own library leaves where the system is too new for it.
const PROFILER_SYMBOL: &str = "libToolsInjectionProxy64.so: undefined symbol";

/// What a test says whose own profiler got no events, and how that is told.
const NO_EVENTS: &str = "No CUDA events found";
const NO_EVENTS_KIND: &str = "no CUDA events for the program's own profiler";

/// The kinds that are looked for, the most telling first; those of one kind stand together.
pub const SIGNS: [Sign; 86] = [
    end(PROFILER_SYMBOL, "a symbol that the profiler's own library needs and the system lacks"),
    error(NO_EVENTS, NO_EVENTS_KIND),
    error("CUDA out of memory", "out of GPU memory"),
    error("CUDA_ERROR_OUT_OF_MEMORY", "out of GPU memory"),
    error("cudaErrorMemoryAllocation", "out of GPU memory"),
    end("GPUassert: out of memory", "out of GPU memory"),
    error("no CUDA-capable device", "no CUDA-capable device"),
    error("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device"),
    error("CUDA driver version is insufficient", "a driver too old for this CUDA"),
    error("no kernel image is available", "no kernel image for this GPU"),
    end("Failed to find device function", "device code that was compiled for another GPU"),
    error("PTX was compiled with an unsupported toolchain", "PTX that this driver cannot compile"),
    // Each error of PyTorch ends with how to enable such asserts.
    error("device-side assert triggered", "a device-side assert"),
    error("invalid device ordinal", "a GPU that is not there"),
    error("previous error during capture", "an error while a CUDA graph was captured"),
    error("not permitted when stream is capturing", "an error while a CUDA graph was captured"),
    error("illegal memory access", "an illegal memory access on the GPU"),
    error("misaligned address", "a misaligned address on the GPU"),
    error("unspecified launch failure", "a launch failure"),
    end("partially present on the device", "OpenACC data that is on the device in part"),
    end("clause was not found on device", "OpenACC data that is not on the device"),
    end("Accelerator Fatal Error", "a fatal error of the OpenACC runtime"),
    end("GPUassert:", "a CUDA error"),
    end("CUDA error at", "a CUDA error"),
    error("CUDA error", "a CUDA error"),
    error("CUDA Error", "a CUDA error"),
    error("cudaError", "a CUDA error"),
    error(INTERRUPT, INTERRUPT),
    end("Segmentation fault", "a segmentation fault"),
    end("SIGSEGV", "a segmentation fault"),
    end("exited on signal 11", "a segmentation fault"),
    end("SIGABRT", "an abort"),
    end("exited on signal 6", "an abort"),
    end("exited on signal", "a signal"),
    end("Aborted (core dumped)", "an abort"),
    end("Bus error (", "a bus error"),
    last("Bus error", "a bus error"),
    // What shells say of the rest, and in other languages.
    end("core dumped)", "a crash"),
    end("吐核", "a crash"),
    end("核心已转储", "a crash"),
    end("Speicherabzug geschrieben", "a crash"),
    // Of the program itself it comes without a traceback.
    sign("SyntaxError", "SyntaxError", Place::Exception, Ends::AsLastLine),
    exception("ModuleNotFoundError"),
    exception("ImportError"),
    exception("NvvmSupportError"),
    exception("FileNotFoundError"),
    end("error while loading shared libraries", "a shared library that was not found"),
    end("symbol lookup error", "a symbol that no shared library has"),
    end("terminate called after throwing", "an uncaught C++ exception"),
    end("panicked at", "a Rust panic"),
    end("ERROR: LoadError", "a Julia error"),
    exception("RuntimeError"),
    exception("ValueError"),
    exception("TypeError"),
    exception("AttributeError"),
    exception("NameError"),
    exception("KeyError"),
    exception("IndexError"),
    exception("AssertionError"),
    exception("NotImplementedError"),
    exception("ZeroDivisionError"),
    exception("MemoryError"),
    exception("OSError"),
    error(TRACEBACK, "a Python exception"),
    error("caught exception", "an exception"),
    end("Assertion `", "a failed assertion"),
    end("Check failed: ", "a failed check"),
    error("Unexpected end of file", "a file that ends too early"),
    error("unexpected end of file", "a file that ends too early"),
    last("No such file or directory", "a file that was not found"),
    last("Couldn't open file", "a file that was not found"),
    last("could not open file", "a file that was not found"),
    last("Could not open file", "a file that was not found"),
    last("Cannot open file", "a file that was not found"),
    last("cannot open file", "a file that was not found"),
    error("command not found", "a command that was not found"),
    sign("FATAL ERROR:", "a fatal error", Place::Beginning, Ends::NearEnd),
    sign("Fatal error:", "a fatal error", Place::Beginning, Ends::NearEnd),
    sign("FATAL:", "a fatal error", Place::Beginning, Ends::NearEnd),
    // Where no test passed, what failed ended what they do.
    sign("failed", "a failed test", Place::TestCounts, Ends::AsLastLine),
    sign("error", "a failed test", Place::TestCounts, Ends::AsLastLine),
    sign("errors", "a failed test", Place::TestCounts, Ends::AsLastLine),
    line("ERROR:", "an error"),
    line("Error:", "an error"),
    line("error:", "an error"),
    line("[ERROR]", "an error"),
];

/// Each kind once.
pub const KINDS: [&str; KIND_COUNT] = {
    let mut kinds = [""; KIND_COUNT];
    let (mut index, mut count) = (0, 0);
    while index < SIGNS.len() {
        if is_new(index) {
            kinds[count] = SIGNS[index].kind;
            count += 1;
        }
        index += 1;
    }
    kinds
};

const KIND_COUNT: usize = {
    let (mut index, mut count) = (0, 0);
    while index < SIGNS.len() {
        count += is_new(index) as usize;
        index += 1;
    }
    count
};

/// Whether the sign of that index is the first of its kind.
const fn is_new(index: usize) -> bool {
    index == 0 || !is_same(SIGNS[index].kind, SIGNS[index - 1].kind)
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}
