//! What a framework's profiler says of the work beside when and where it ran: sizes of matrix products, what collectives move,
//! how much memory the allocator holds.

use foldhash::HashMap;

use super::interval::Interval;
use super::names::NameId;
use super::times::Times;

/// How PyTorch begins the names of its operators that convolve by cuDNN. Those that they call have names that begin alike.
pub const CONVOLUTIONS: [&str; 2] = ["aten::cudnn_convolution", "aten::convolution_backward"];

/// What is known beside the events; empty for recordings without it.
#[derive(Debug, Default)]
pub struct Details {
    /// Sizes of the matrix products that kernels compute.
    pub products: OfKernels<Product>,
    /// What kernels join.
    pub joined: OfKernels<Joined>,
    /// What kernels copy within the device, into another type or layout.
    pub copied: OfKernels<Copied>,
    /// What communication kernels move.
    pub collectives: OfKernels<Collective>,
    /// The numbers of steps whose ranges go by a name without it.
    pub step_numbers: OfKernels<i64>,
    /// Operators of the forward pass that run again in the backward pass; `None` where nothing tells.
    pub recomputed: Option<RunsAgain>,
    /// Nodes of the backward pass that run for a second time or more; `None` where nothing tells.
    pub repeated_nodes: Option<RunsAgain>,
    /// A number for the sizes of what operators that convolve work on: the same for the same sizes.
    pub convolution_sizes: OfKernels<u64>,
    /// The most memory that was held, by number of the device.
    pub memory: Vec<MemoryPeak>,
    /// The number of the recorded process in its job.
    pub rank: Option<i64>,
    /// Processes of the job.
    pub world_size: Option<i64>,
    /// What they communicate through. The text is hostile.
    pub backend: Option<String>,
}

impl Details {
    /// Lets time begin at a moment.
    pub(super) fn move_back(&mut self, moment: i64) {
        self.products.move_back(moment);
        self.joined.move_back(moment);
        self.copied.move_back(moment);
        self.collectives.move_back(moment);
        self.step_numbers.move_back(moment);
        self.convolution_sizes.move_back(moment);
        for again in [&mut self.recomputed, &mut self.repeated_nodes].into_iter().flatten() {
            again.by_thread.values_mut().for_each(|times| times.move_back(moment));
        }
    }
}

/// What runs again, by thread, none of it within another.
#[derive(Debug, Default)]
pub struct RunsAgain {
    by_thread: HashMap<u32, Times>,
}

impl RunsAgain {
    /// Of threads, by their indices.
    pub(crate) fn new(by_thread: impl Iterator<Item = (u32, Times)>) -> Self {
        Self { by_thread: by_thread.collect() }
    }

    /// Those of a thread, in order.
    pub fn of_thread(&self, thread: u32) -> Option<&Times> {
        self.by_thread.get(&thread)
    }

    /// Those of each thread, in no order of threads.
    pub fn threads(&self) -> impl Iterator<Item = (u32, &Times)> + '_ {
        self.by_thread.iter().map(|(thread, times)| (*thread, times))
    }

    /// Whether a thread is in one of them at a moment.
    pub fn holds(&self, thread: u32, moment: i64) -> bool {
        let at = |times: &Times| {
            let before = times.partition_point(0, |times| times.start <= moment);
            times.get(before.checked_sub(1)?).filter(|times| times.end > moment)
        };
        self.of_thread(thread).and_then(at).is_some()
    }
}

/// Something of single kernels, steps or operators, which are told by when they run.
#[derive(Debug)]
pub struct OfKernels<T>(Vec<(Interval, T)>);

impl<T> Default for OfKernels<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + Ord> OfKernels<T> {
    /// Of rows in any order.
    pub(crate) fn new(mut rows: Vec<(Interval, T)>) -> Self {
        rows.sort_unstable();
        rows.dedup_by_key(|(interval, _)| *interval);
        Self(rows)
    }

    fn move_back(&mut self, moment: i64) {
        for (interval, _) in &mut self.0 {
            *interval = Interval::new(interval.start.saturating_sub(moment), interval.end.saturating_sub(moment));
        }
    }

    /// Whether nothing is known of any.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is known of the one that runs in an interval.
    pub fn of(&self, interval: Interval) -> Option<T> {
        let index = self.0.binary_search_by_key(&interval, |(interval, _)| *interval).ok()?;
        self.0.get(index).map(|(_, of)| *of)
    }
}

/// The sizes of a matrix product: an M x K by a K x N matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Product {
    /// Rows of the result.
    pub m: i64,
    /// Columns of the result.
    pub n: i64,
    /// Columns of the first matrix.
    pub k: i64,
    /// Products of one batch.
    pub batch: i64,
    /// Bytes of an element; 0 where its type is not known.
    pub element_bytes: i64,
}

/// Tensors that are joined in a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Joined {
    /// Elements of the largest of them.
    pub largest_element_count: i64,
    /// Elements of all of them.
    pub element_count: i64,
}

/// A tensor that is copied into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Copied {
    /// The type of its elements.
    pub from: &'static str,
    /// The type that they are copied into.
    pub to: &'static str,
    /// Its sizes; those behind the last are 0.
    pub sizes: [i64; MAX_COPIED_DIMENSIONS],
    /// How many it has.
    pub dimension_count: u8,
}

/// Tensors of more dimensions are not told.
pub const MAX_COPIED_DIMENSIONS: usize = 5;

/// What a collective moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collective {
    /// What it is: `allreduce`.
    pub name: NameId,
    /// Bytes of the larger of a rank's input and output.
    pub bytes: i64,
    /// Ranks that take part.
    pub group_size: i64,
    /// Whether its elements are floats of 32 bits.
    pub is_f32: bool,
}

/// The most memory that an allocator held of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryPeak {
    /// The device's number.
    pub device: i64,
    /// Bytes that it held of the device.
    pub reserved_bytes: i64,
    /// Bytes in use.
    pub allocated_bytes: i64,
}
