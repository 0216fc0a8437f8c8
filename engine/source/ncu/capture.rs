//! What to run for the counters of single kernels.

use crate::source::format::{CaptureCommand, Language, PROGRAM, Script, to_record};
use crate::text::shell;
use crate::timeline::Capability;

/// Every section, since each lacks what another explains.
const OPTIONS: &str = "--set full -o kernels";

/// Counters of single kernels, and nothing else.
pub(super) fn command(wanted: &[Capability]) -> Option<CaptureCommand> {
    let wanted = to_record(wanted)?;
    let is_known = wanted.iter().all(|capability| *capability == Capability::KernelProfile);
    is_known.then(|| CaptureCommand { program: "ncu", options: OPTIONS.to_owned() })
}

/// A command line that profiles every kernel of a program.
pub(super) fn script(command: &CaptureCommand) -> Script {
    script_with(&format!("{command} {PROGRAM}"))
}

/// What of a kernel Nsight Compute holds against a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameBase {
    /// Its function, without return type, namespaces, template arguments and parameters.
    Function,
    /// A word anywhere in its whole name, as the functor that a template of a library runs.
    Demangled,
}

/// The kernels that are to be profiled, and which of their launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelFilter<'a> {
    /// What they are called: hostile text.
    pub names: &'a [&'a str],
    /// What of a kernel has such a name.
    pub base: NameBase,
    /// Launches of them that are passed over first.
    pub skip_count: i64,
    /// Launches of them that are profiled then.
    pub launch_count: i64,
}

/// A command line that profiles some kernels. Names that no command line can hold are left out.
pub(crate) fn script_of(filter: &KernelFilter<'_>) -> Script {
    let patterns: Vec<String> = filter.names.iter().map(|name| pattern(name)).collect();
    let patterns = patterns.join("|");
    let (base, pattern) = match filter.base {
        NameBase::Function => ("", format!("regex:^({patterns})$")),
        // Whether a part of a name is enough differs: this fits the whole of it.
        NameBase::Demangled => {
            (" --kernel-name-base demangled", format!("regex:^(.*[^A-Za-z0-9_])?({patterns})([^A-Za-z0-9_].*)?$"))
        }
    };
    let names = shell::quote(&pattern).unwrap_or_default();
    let skip = match filter.skip_count {
        0 => String::new(),
        count => format!(" --launch-skip {count}"),
    };
    let count = filter.launch_count;
    script_with(&format!("ncu {OPTIONS}{base} --kernel-name {names}{skip} --launch-count {count} {PROGRAM}"))
}

/// A name as a regular expression. Nsight Systems ends names that it cut in dots: the kernel has more of a name.
fn pattern(name: &str) -> String {
    match name.strip_suffix("...") {
        Some(beginning) if !beginning.is_empty() => format!("{}.*", shell::pattern(beginning)),
        _ => shell::pattern(name),
    }
}

fn script_with(line: &str) -> Script {
    Script { profiler: "ncu", language: Language::Shell, text: line.to_owned(), output: "kernels.ncu-rep" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_functor_is_found_in_the_whole_name_of_a_kernel() {
        let filter = KernelFilter { names: &["AddFunctor"], base: NameBase::Demangled, skip_count: 0, launch_count: 1 };
        let line = script_of(&filter).text;
        let pattern = line.split_once("regex:").unwrap().1.split_once('\'').unwrap().0;
        assert!(line.contains(" --kernel-name-base demangled --kernel-name 'regex:"), "{line}");
        let regex = regex::Regex::new(pattern).unwrap();
        assert!(
            regex.is_match("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)")
        );
        assert!(regex.is_match("AddFunctor"));
        assert!(
            !regex.is_match("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAAddFunctor<float>>")
        );
    }

    #[test]
    fn names_stay_one_word_of_the_command() {
        let of = |names: &[&str], skip_count| {
            script_of(&KernelFilter { names, base: NameBase::Function, skip_count, launch_count: 2 }).text
        };
        assert_eq!(
            of(&["gemm", "softmax"], 10),
            "ncu --set full -o kernels --kernel-name 'regex:^(gemm|softmax)$' --launch-skip 10 --launch-count 2 PROGRAM"
        );
        assert_eq!(
            of(&["__omp_offloading_3...", "gemm"], 0),
            "ncu --set full -o kernels --kernel-name 'regex:^(__omp_offloading_3.*|gemm)$' --launch-count 2 PROGRAM"
        );
        assert_eq!(
            of(&["k'; rm -rf ~ #"], 0),
            r"ncu --set full -o kernels --kernel-name 'regex:^(k'\''; rm -rf ~ #)$' --launch-count 2 PROGRAM"
        );
    }
}
