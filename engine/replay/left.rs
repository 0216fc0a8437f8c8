//! What is left of a step when its events come at other times.

use foldhash::HashMap;

use super::model::Model;
use crate::timeline::NONE;
use crate::timeline::interval::Interval;
use crate::timeline::union::{RunningLength, Union};

/// What is left of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Left {
    /// How long it is, nanoseconds.
    pub(super) step_ns: f64,
    /// How long a device is busy in it, nanoseconds.
    pub(super) busy_ns: f64,
    /// What kernels of the device take of it.
    pub(super) kernels: Kernels,
}

/// What kernels of a device take of a step, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Kernels {
    /// Those of the stream that has most of them.
    pub(super) busiest_stream_ns: f64,
    /// As much as all of them would take that run beside each other as far as they fit.
    pub(super) filled_ns: f64,
}

/// A kernel that takes this share of what a device has room for keeps all of it busy.
const FILLING_SHARE: f64 = 0.5;

impl Model {
    /// What is left of a step, of given times of events, and of the shares that kernels take of a device.
    pub(super) fn left(&self, times: &[i64], device: u32, shares: &[f32]) -> Left {
        let Some((played, count)) = self.span(times) else { return Left::default() };
        let a_step = |ns: i64| ns as f64 / count as f64;
        Left {
            step_ns: a_step(played.len_ns()),
            busy_ns: a_step(self.busy_ns(times, device, played)),
            kernels: self.kernels(times, device, shares, (played, count)),
        }
    }

    /// Nanoseconds of a step, of given times of events.
    pub(super) fn step_ns(&self, times: &[i64]) -> f64 {
        self.span(times).map_or(0.0, |(span, count)| span.len_ns() as f64 / count as f64)
    }

    /// Of each step but the first how long it was, of given times of events.
    pub(super) fn lengths(&self, times: &[i64]) -> Vec<i64> {
        self.completions(times).windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// From the end of the first step to that of the last, as recorded, and how many steps that are.
    pub(super) fn recorded_span(&self) -> Option<(Interval, usize)> {
        self.span(&self.recorded)
    }

    fn span(&self, times: &[i64]) -> Option<(Interval, usize)> {
        let ends = self.completions(times);
        let (first, last) = (*ends.first()?, *ends.last()?);
        Some((Interval::new(first, last), (ends.len() - 1).max(1)))
    }

    /// When the work of each step was complete.
    fn completions(&self, times: &[i64]) -> Vec<i64> {
        let mut ends = vec![i64::MIN; self.part.step_count as usize];
        for (op, (_, end)) in self.part.ops.iter().zip(&self.op_events) {
            if op.call != NONE
                && let Some(latest) = ends.get_mut(op.step as usize)
            {
                *latest = (*latest).max(times[*end as usize]);
            }
        }
        ends.retain(|end| *end > i64::MIN);
        ends
    }

    /// How long a device is busy within an interval, of given times of events, nanoseconds.
    fn busy_ns(&self, times: &[i64], device: u32, within: Interval) -> i64 {
        let own = || self.part.ops.iter().zip(&self.op_events).filter(|(op, _)| op.device == device);
        let runs = || own().map(|(_, (start, end))| Interval::new(times[*start as usize], times[*end as usize]));
        // Mostly they begin in the order in which they were recorded.
        let (mut covered, mut before) = (RunningLength::default(), i64::MIN);
        for run in runs() {
            if run.start < before {
                return Union::of(runs()).overlap_ns(within);
            }
            before = run.start;
            covered.push(run.clip(within));
        }
        covered.len_ns()
    }

    /// What computing takes of a step in any case, of given times of events: kernels of one stream run one after the other, and
    /// wherever they run, together they fill the device for so long.
    fn kernels(&self, times: &[i64], device: u32, shares: &[f32], (played, count): (Interval, usize)) -> Kernels {
        let mut of_streams: HashMap<u32, i64> = HashMap::default();
        // Those that follow each other mostly run in one stream.
        let (mut stream, mut stream_ns, mut filled_ns) = (NONE, 0, 0.0);
        for (index, op) in self.part.ops.iter().enumerate().filter(|(_, op)| op.device == device) {
            if op.kind.is_compute() {
                let (start, end) = self.op_events[index];
                let run_ns = Interval::new(times[start as usize], times[end as usize]).clip(played).len_ns();
                if op.stream != stream {
                    *of_streams.entry(stream).or_default() += std::mem::take(&mut stream_ns);
                    stream = op.stream;
                }
                stream_ns += run_ns;
                let resident = f64::from(shares.get(index).copied().unwrap_or(0.0));
                filled_ns += run_ns as f64 * (resident / FILLING_SHARE).min(1.0);
            }
        }
        *of_streams.entry(stream).or_default() += stream_ns;
        let busiest_ns = of_streams.into_values().max().unwrap_or(0);
        Kernels { busiest_stream_ns: busiest_ns as f64 / count as f64, filled_ns: filled_ns / count as f64 }
    }
}
