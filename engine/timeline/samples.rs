//! Samples of the call stacks of threads that call CUDA, as a profiler takes them while they run on a CPU.

use std::ops::Range;
use std::sync::OnceLock;

use super::NONE;
pub use super::frames::Frame;
use super::frames::TraitsOfFrames;
use super::interval::Interval;
use super::names::Names;

/// Columns of samples, by thread and time.
#[derive(Debug, Default)]
pub struct CpuSamples {
    /// When, nanoseconds since the start of the capture.
    pub time_ns: Vec<i64>,
    /// The thread that ran.
    pub thread: Vec<u32>,
    /// Where its stack ends in `stacks`; it begins where that of the sample before ends.
    stack_end: Vec<u32>,
    /// Indices in `frames`, of each stack the innermost first.
    stacks: Vec<u32>,
    /// Every function, once.
    pub frames: Vec<Frame>,
    /// What [`Self::traits`] gives.
    traits: OnceLock<TraitsOfFrames>,
}

impl CpuSamples {
    /// With these functions, and no samples yet.
    pub(crate) fn new(frames: Vec<Frame>) -> Self {
        Self { frames, ..Self::default() }
    }

    /// Adds a sample with its stack, the innermost function first. Samples come by thread and time.
    pub(crate) fn push(&mut self, thread: u32, time_ns: i64, stack: impl Iterator<Item = u32>) {
        self.thread.push(thread);
        self.time_ns.push(time_ns);
        self.stacks.extend(stack);
        self.stack_end.push(u32::try_from(self.stacks.len()).unwrap_or(u32::MAX));
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// The indices of the samples of a thread, in time order.
    pub fn of_thread(&self, thread: u32) -> Range<usize> {
        let first = self.thread.partition_point(|of| *of < thread);
        first..first + self.thread[first..].partition_point(|of| *of == thread)
    }

    /// The threads that were sampled, each with the indices of its samples.
    pub fn threads(&self) -> impl Iterator<Item = (u32, Range<usize>)> + '_ {
        let mut first = 0;
        self.thread.chunk_by(|a, b| a == b).map(move |run| {
            let rows = first..first + run.len();
            first = rows.end;
            (run.first().copied().unwrap_or(NONE), rows)
        })
    }

    /// The median time between two samples of a part of one thread's; `None` of fewer than two.
    pub fn period_ns(&self, rows: Range<usize>) -> Option<i64> {
        let times = self.time_ns.get(rows)?;
        let mut gaps: Vec<i64> = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        gaps.retain(|gap| *gap > 0);
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied()
    }

    /// What the names and files of the functions tell, by those that they are called by.
    pub fn traits(&self, names: &Names) -> &TraitsOfFrames {
        self.traits.get_or_init(|| TraitsOfFrames::new(names, &self.frames))
    }

    /// Whether a function has a name, or is in a file that is known.
    pub fn is_named(&self, frame: u32) -> bool {
        self.frames.get(frame as usize).is_some_and(|frame| frame.function != NONE || frame.module != NONE)
    }

    /// The stack of a sample, as indices of functions, the innermost first.
    pub fn stack(&self, sample: usize) -> &[u32] {
        let end_of = |sample: usize| self.stack_end.get(sample).map_or(0, |end| *end as usize);
        let start = sample.checked_sub(1).map_or(0, end_of);
        self.stacks.get(start..end_of(sample)).unwrap_or(&[])
    }
}

/// Calls of the OS that were recorded with their stacks, by thread and begin.
#[derive(Debug, Default)]
pub struct StackedCalls {
    /// When each began, on which thread, and its stack.
    pub samples: CpuSamples,
    /// When each returned.
    pub end_ns: Vec<i64>,
}

impl StackedCalls {
    /// From when a call began to when it returned.
    pub fn interval(&self, row: usize) -> Interval {
        let start = self.samples.time_ns.get(row).copied().unwrap_or(0);
        Interval::new(start, self.end_ns.get(row).copied().unwrap_or(start).max(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_told_by_thread_with_their_stacks() {
        let mut samples = CpuSamples::default();
        samples.push(1, 10, [4, 5].into_iter());
        samples.push(1, 20, std::iter::empty());
        samples.push(3, 5, [6].into_iter());
        let of =
            |thread: u32| samples.of_thread(thread).map(|sample| samples.stack(sample).to_vec()).collect::<Vec<_>>();
        assert_eq!(of(1), [vec![4, 5], vec![]]);
        assert_eq!(of(3), [vec![6]]);
        assert!(of(0).is_empty() && of(2).is_empty() && of(9).is_empty());
    }
}
