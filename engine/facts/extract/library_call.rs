//! The function of a library that the program calls, and that most host code lies in: what is further inside says less of why.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::timeline::Timeline;
use crate::timeline::columns::RangeKind;

/// How stacks begin the functions of PyTorch, and those of them that only call the program's own code.
const TORCH: &str = "torch/";
const CALLING: [&str; 6] =
    ["torch/nn/", "torch/utils/", "torch/profiler/", "torch/autograd/", "torch/_dynamo/", "torch/distributed/fsdp/"];
/// What writes for TensorBoard calls nobody.
const WRITING: &str = "torch/utils/tensorboard/";
/// Modules of Python's own library that do what their names say and call no code of the program.
const SERVICES: [&str; 22] = [
    "base64.py(",
    "configparser.py(",
    "copy.py(",
    "csv.py(",
    "glob.py(",
    "gzip.py(",
    "http/",
    "json/",
    "logging/",
    "lzma.py(",
    "pickle.py(",
    "random.py(",
    "shutil.py(",
    "smtplib.py(",
    "socket.py(",
    "sqlite3/",
    "ssl.py(",
    "subprocess.py(",
    "tarfile.py(",
    "tempfile.py(",
    "urllib/",
    "zipfile",
];

/// The outermost such function, by the group of its ranges, that holds at least half of the host code: of ranges their label, their group,
/// and the host code in them.
pub(super) fn find(
    timeline: &Timeline,
    ranges: impl Iterator<Item = (u32, Option<u32>, i64)>,
    whole_ns: i64,
) -> Option<(u32, i64)> {
    let is_library = |label: u32| {
        let label = timeline.ranges.labels.get(label as usize).filter(|label| label.kind == RangeKind::PythonFrame);
        label.is_some_and(|label| is_library(timeline.name(label.name)))
    };
    let mut by_group: BTreeMap<u32, i64> = BTreeMap::new();
    for (_, group, host_ns) in ranges.filter(|(label, ..)| is_library(*label)) {
        if let Some(group) = group {
            *by_group.entry(group).or_default() += host_ns;
        }
    }
    let (range, ns) = by_group.into_iter().max_by_key(|(range, ns)| (*ns, Reverse(*range)))?;
    (ns > 0 && ns.saturating_mul(2) >= whole_ns).then_some((range, ns.min(whole_ns)))
}

/// Whether a frame, `folders/file.py(12): function`, is of a library that calls no code of the program.
fn is_library(frame: &str) -> bool {
    if frame.starts_with(TORCH) {
        return frame.starts_with(WRITING) || !CALLING.iter().any(|part| frame.starts_with(part));
    }
    // Of a whole path what follows the folder of Python's library.
    let of_python = frame.rfind("/python3.").and_then(|at| frame.get(at + 1..)?.split_once('/'));
    let module = of_python.map_or(frame, |(_, module)| module);
    SERVICES.iter().any(|service| module.starts_with(service))
}

#[cfg(test)]
mod tests {
    use super::is_library;

    #[test]
    fn libraries_that_call_no_code_of_the_program_are_told() {
        for frame in [
            "torch/serialization.py(900): save",
            "torch/utils/tensorboard/writer.py(450): add_histogram",
            "subprocess.py(417): check_output",
            "/usr/lib/python3.12/subprocess.py(417): check_output",
            "json/encoder.py(183): encode",
        ] {
            assert!(is_library(frame), "{frame}");
        }
        for frame in [
            "torch/nn/modules/module.py(1700): _call_impl",
            "torch/utils/data/dataloader.py(600): __next__",
            "train.py(12): step",
            "/home/me/subprocess.py(3): run",
            "contextlib.py(81): inner",
            "/usr/lib/python3.12/site-packages/x/y.py(1): z",
        ] {
            assert!(!is_library(frame), "{frame}");
        }
    }
}
