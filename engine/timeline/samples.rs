//! Samples of the call stacks of threads that call CUDA, as a profiler takes them while they run on a CPU.

use std::ops::Range;

use super::NameId;

/// A function on a call stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Its name; [`NONE`](super::NONE) where only an address is known.
    pub function: NameId,
    /// The file that holds it, with its folders; [`NONE`](super::NONE) where that is not known.
    pub module: NameId,
}

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

    /// The stack of a sample, as indices of functions, the innermost first.
    pub fn stack(&self, sample: usize) -> &[u32] {
        let end_of = |sample: usize| self.stack_end.get(sample).map_or(0, |end| *end as usize);
        let start = sample.checked_sub(1).map_or(0, end_of);
        self.stacks.get(start..end_of(sample)).unwrap_or(&[])
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
