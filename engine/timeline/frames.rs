//! Functions on call stacks, and what their names and files tell, asked once for each: a stack has hundreds of functions, there are
//! millions of stacks, and a name may be long.

use foldhash::HashMap;

use super::modules;
use super::names::{NameId, Names};
use super::peers::{Called, CalledName};
use crate::text::paths::file_name;

/// A function on a call stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Its name; [`NONE`](super::NONE) where only an address is known.
    pub function: NameId,
    /// The file that holds it, with its folders; [`NONE`](super::NONE) where that is not known.
    pub module: NameId,
}

/// What the name and the file of a function tell.
#[derive(Debug, Clone, Copy, Default)]
pub struct FrameTraits {
    /// It belongs to the driver or the runtime of CUDA.
    pub is_cuda: bool,
    /// The same, or it is called as a call of CUDA is.
    pub is_in_cuda: bool,
    /// It belongs to the system's kernel.
    pub is_kernel: bool,
    /// It belongs to the profiler.
    pub is_profiler: bool,
    /// It belongs to the system or to the profiler.
    pub is_system: bool,
    /// It belongs to the system, to CUDA, or to an interpreter: what they do, others ask for.
    pub is_plumbing: bool,
    /// It has a name, and is neither plumbing nor of a library of C++ nor merely where a program begins outside of itself.
    pub is_telling: bool,
    /// Everything of a program or a thread lies in it.
    pub is_entry: bool,
    /// The same, and something of the program's own can be in it.
    pub is_program_entry: bool,
    /// What it tells of waits for others.
    pub called: Called,
}

/// How what is told in the place of a file begins for functions of the system's kernel.
const KERNEL_FILE: &str = "[kernel";

/// What a name tells, whatever the file.
#[derive(Clone, Copy)]
struct OfName {
    is_cuda_call: bool,
    is_telling: bool,
    is_entry: bool,
    is_program_entry: bool,
    called: CalledName,
}

impl OfName {
    fn new(name: &str) -> Self {
        let is_of_others =
            modules::is_root(name) || modules::is_of_interpreter(name) || modules::is_of_standard_library(name);
        Self {
            is_cuda_call: modules::is_cuda_call(name),
            is_telling: !name.is_empty() && !is_of_others,
            is_entry: modules::is_entry(name),
            is_program_entry: modules::is_program_entry(name),
            called: CalledName::new(modules::without_arguments(name)),
        }
    }
}

/// The same of every function of some stacks.
#[derive(Debug, Default)]
pub struct TraitsOfFrames {
    all: Vec<FrameTraits>,
    may_wait: bool,
}

impl TraitsOfFrames {
    pub(super) fn new(names: &Names, frames: &[Frame]) -> Self {
        // One function may be in many files, and a file has many functions.
        let mut of_names: HashMap<NameId, OfName> = HashMap::default();
        let traits = frames.iter().map(|frame| {
            let of_name = *of_names.entry(frame.function).or_insert_with(|| OfName::new(names.get(frame.function)));
            FrameTraits::new(of_name, file_name(names.get(frame.module)))
        });
        let all: Vec<FrameTraits> = traits.collect();
        let may_wait = all.iter().any(|traits| traits.called.may_wait());
        Self { all, may_wait }
    }

    /// Of a function, by its index.
    pub fn of(&self, frame: u32) -> FrameTraits {
        self.all.get(frame as usize).copied().unwrap_or_default()
    }

    /// Whether any stack may tell of a wait for others.
    pub const fn may_wait(&self) -> bool {
        self.may_wait
    }
}

impl FrameTraits {
    fn new(of_name: OfName, file: &str) -> Self {
        let OfName { is_cuda_call, is_telling, is_entry, is_program_entry, called } = of_name;
        let is_cuda = modules::is_cuda(file);
        let is_plumbing = modules::is_plumbing(file) || is_cuda_call;
        Self {
            is_cuda,
            is_in_cuda: is_cuda || is_cuda_call,
            is_kernel: file.starts_with(KERNEL_FILE),
            is_profiler: modules::is_profiler(file),
            is_system: modules::is_system(file),
            is_plumbing,
            is_telling: is_telling && !is_plumbing,
            is_entry,
            is_program_entry,
            called: Called::of(called, file),
        }
    }
}
