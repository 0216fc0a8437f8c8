//! Ranges in which a loop fetches its next batch of data.

use std::sync::OnceLock;

use foldhash::HashMap;

use super::columns::{Label, RangeKind};
use super::interval::Interval;
use super::near::Near;
use super::{NONE, NameId, Timeline};
use crate::text::cut;

/// How PyTorch begins the name of such a range.
const OF_PYTORCH: &str = "enumerate(DataLoader)";
/// What programs call theirs, in small letters.
const NAMES: [&str; 22] = [
    "data",
    "data load",
    "data loading",
    "data_loading",
    "data_load",
    "data time",
    "data_time",
    "data fetch",
    "data_fetch",
    "fetch data",
    "fetch_data",
    "get data",
    "get_data",
    "load data",
    "load_data",
    "load batch",
    "load_batch",
    "next batch",
    "next_batch",
    "get batch",
    "get_batch",
    "fetch_batch",
];
/// What stands somewhere in the names that libraries for training give theirs.
const PARTS: [&str; 3] = ["dataloader", "data_loader", "dataloading"];
/// What tells stands in so much of a name.
const MAX_NAME_BYTES: usize = 256;
/// Fewer ranges of a program's own name are no loop.
const MIN_COUNT: usize = 3;
/// Threads of PyTorch that worker processes hand their batches to, or that are theirs.
const WORKER_THREADS: [&str; 2] = ["pt_data_pin", "pt_data_worker"];

/// How PyTorch begins the name of the range of an optimizer's step.
pub const OPTIMIZER_STEP: &str = "Optimizer.step#";
/// The node in which autograd adds the gradient of one parameter to what it holds, with the hooks that reduce it then.
pub const ACCUMULATE_GRAD: &str = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
/// How it begins the name of the range in which gradients are set to zero, or given up.
pub const ZERO_GRAD: &str = "Optimizer.zero_grad#";
/// What programs call the range of such a step, in small letters and without what joins words.
const OPTIMIZER_NAMES: [&str; 8] =
    ["optimizer", "optimizerstep", "optim", "optimstep", "optstep", "stepoptimizer", "optimizerupdate", "adamstep"];

/// What [`Timeline::loading_labels`] and [`Timeline::optimizer_labels`] found, and whether threads are of workers, if that was asked.
#[derive(Debug, Default)]
pub struct Loading {
    labels: OnceLock<Vec<bool>>,
    optimizer_labels: OnceLock<Vec<bool>>,
    has_worker_threads: OnceLock<bool>,
}

/// What tells that a range fetches data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// The framework named it.
    Framework,
    /// The program did.
    Program,
}

impl Timeline {
    /// By index of the label, whether its name begins so.
    pub fn labels_beginning(&self, begin: &str) -> Vec<bool> {
        self.ranges.labels.iter().map(|label| self.name(label.name).starts_with(begin)).collect()
    }

    /// By index of the label, whether its ranges are steps of an optimizer: as PyTorch marks them; without any such, as programs
    /// call their own.
    pub fn optimizer_labels(&self) -> &[bool] {
        self.loading.optimizer_labels.get_or_init(|| self.find_optimizer_labels())
    }

    /// By index of the label, whether its ranges work on one parameter after the other: steps of an optimizer, and nodes that add up
    /// gradients.
    pub fn parameter_labels(&self) -> Vec<bool> {
        let of_gradients = self.labels_beginning(ACCUMULATE_GRAD);
        self.optimizer_labels()
            .iter()
            .zip(of_gradients)
            .map(|(is_step, is_of_gradient)| *is_step || is_of_gradient)
            .collect()
    }

    fn find_optimizer_labels(&self) -> Vec<bool> {
        let of_pytorch = self.labels_beginning(OPTIMIZER_STEP);
        if of_pytorch.contains(&true) {
            return of_pytorch;
        }
        let is_marked = |label: &Label| matches!(label.kind, RangeKind::Nvtx | RangeKind::Annotation);
        let labels = self.ranges.labels.iter();
        labels.map(|label| is_marked(label) && names_optimizer(self.name(label.name))).collect()
    }

    /// By index of the label, whether its ranges fetch the next batch of data. Of ranges in each other the outer one counts.
    pub fn loading_labels(&self) -> &[bool] {
        self.loading.labels.get_or_init(|| self.find_loading_labels())
    }

    fn find_loading_labels(&self) -> Vec<bool> {
        // A name may have a label in each of many domains.
        let mut of_name: HashMap<NameId, Option<Sign>> = HashMap::default();
        let mut sign = |label: &Label| {
            let is_marked = matches!(label.kind, RangeKind::Nvtx | RangeKind::Annotation | RangeKind::Operator);
            let sign = || *of_name.entry(label.name).or_insert_with(|| sign_of(self.name(label.name)));
            is_marked.then(sign).flatten()
        };
        let mut signs: Vec<Option<Sign>> = self.ranges.labels.iter().map(&mut sign).collect();
        if signs.contains(&Some(Sign::Program)) {
            self.drop_others(&mut signs);
        }
        signs.into_iter().map(|sign| sign.is_some()).collect()
    }

    /// Drops names that a program gave to something else: what launches kernels computes, and what lies within is counted.
    fn drop_others(&self, signs: &mut [Option<Sign>]) {
        let mut counts = vec![0; signs.len()];
        let launches = self.kernel_launches();
        let mut near = Near::default();
        for ranges in &self.ranges.threads {
            for (times, label) in ranges.times.iter().zip(&ranges.label) {
                let index = *label as usize;
                if signs.get(index).copied().flatten() == Some(Sign::Program) {
                    counts[index] += 1;
                    if launches_within(&launches, ranges.thread, times, &mut near) {
                        signs[index] = None;
                    }
                }
            }
        }
        for (sign, count) in signs.iter_mut().zip(counts) {
            *sign = sign.filter(|sign| *sign == Sign::Framework || count >= MIN_COUNT);
        }
        for ranges in &self.ranges.threads {
            let mut until = i64::MIN;
            for (times, label) in ranges.times.iter().zip(&ranges.label) {
                match signs.get_mut(*label as usize) {
                    Some(sign) if sign.is_some() && times.start < until => *sign = None,
                    Some(Some(_)) => until = times.end,
                    _ => {}
                }
            }
        }
    }

    /// Which thread asked for kernels, and when; in order.
    fn kernel_launches(&self) -> Vec<(u32, i64)> {
        let calls = [&self.kernels.ops, &self.graphs.ops].into_iter().flat_map(|ops| &ops.call);
        let of_call = |call: &u32| {
            let call = *call as usize;
            Some((*self.api.thread.get(call)?, self.api.times.get(call)?.start))
        };
        let mut launches: Vec<(u32, i64)> = calls.filter(|call| **call != NONE).filter_map(of_call).collect();
        if !launches.is_sorted() {
            launches.sort_unstable();
        }
        launches
    }

    /// Whether worker processes prepare batches: told by the framework's own names of ranges and threads; `None` where these
    /// do not say.
    pub fn has_loading_workers(&self, label: u32) -> Option<bool> {
        let name = self.ranges.labels.get(label as usize).map_or("", |label| self.name(label.name));
        if name.starts_with(OF_PYTORCH) {
            return Some(!name.contains("SingleProcess"));
        }
        // Labels and threads may be many.
        let has = self
            .loading
            .has_worker_threads
            .get_or_init(|| self.surroundings.thread_names.iter().any(|name| WORKER_THREADS.contains(&name.as_str())));
        has.then_some(true)
    }
}

fn sign_of(name: &str) -> Option<Sign> {
    if name.starts_with(OF_PYTORCH) {
        return Some(Sign::Framework);
    }
    let name = cut::to_bytes(name.trim(), MAX_NAME_BYTES).to_ascii_lowercase();
    let is_so_called = NAMES.contains(&name.as_str()) || PARTS.iter().any(|part| name.contains(part));
    is_so_called.then_some(Sign::Program)
}

fn launches_within(launches: &[(u32, i64)], thread: u32, times: Interval, near: &mut Near) -> bool {
    let next = near.partition_point(launches.len(), |index| launches[index] < (thread, times.start));
    launches.get(next).is_some_and(|(of, moment)| *of == thread && *moment < times.end)
}

/// Whether a program calls a range after a step of its optimizer.
fn names_optimizer(name: &str) -> bool {
    let letters = cut::to_bytes(name, MAX_NAME_BYTES).chars().filter(|letter| letter.is_ascii_alphanumeric());
    let plain: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    OPTIMIZER_NAMES.contains(&plain.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_who_gave_them() {
        assert_eq!(sign_of("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), Some(Sign::Framework));
        for name in ["data", "Load batch", "[pl][profile][_TrainingEpochLoop].train_dataloader_next", "get_batch"] {
            assert_eq!(sign_of(name), Some(Sign::Program), "{name}");
        }
        for name in ["database", "batch", "data parallel", "forward", "", "unload database"] {
            assert_eq!(sign_of(name), None, "{name}");
        }
    }

    #[test]
    fn steps_of_an_optimizer_are_called_so() {
        for name in ["optimizer", "Optimizer.step", "optimizer_step", "Optimizer step", "opt.step()"] {
            assert!(names_optimizer(name), "{name}");
        }
        for name in ["optimizer_state", "step", "make optimizer", "", "optimizers"] {
            assert!(!names_optimizer(name), "{name}");
        }
    }

    #[test]
    fn what_launches_between_its_ends_is_told() {
        let mut near = Near::default();
        let launches = [(0, 15), (1, 10), (1, 20), (2, 0)];
        let mut of = |start, end| launches_within(&launches, 1, Interval::new(start, end), &mut near);
        assert_eq!([of(0, 10), of(0, 11), of(11, 20), of(20, 21), of(21, 30)], [false, true, false, true, false]);
    }
}
