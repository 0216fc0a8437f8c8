//! Steps as values: how they lie on the host and on the device, and what of them is whole.

use std::ops::Range;

use super::launches::{Launch, Launches};
use crate::timeline::NONE;
use crate::timeline::interval::Interval;

/// Fewer steps than this show no repetition.
pub const MIN_STEP_COUNT: usize = 3;
/// Leading steps longer than this many medians are warm-up.
pub const WARM_UP_FACTOR: f64 = 1.5;
/// A pause between two steps that is longer than this many medians parts them, unless it comes again and again.
const PAUSE_FACTOR: i64 = 3;
/// More pauses than this are no exception but what the steps wait for.
const MAX_PAUSE_COUNT: usize = 2;
/// A first or last step with a smaller part of the launches of the others is one that the recording cuts.
const WHOLE_SHARE: f64 = 0.7;

/// A last round with so much of the work of the others is whole, however few its launches are.
pub(super) const WHOLE_WORK_SHARE: f64 = 0.9;

/// What steps were told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldBy {
    /// A range that repeats.
    Range,
    /// Calls of `cudaProfilerStart` and `cudaProfilerStop`.
    ProfilerCalls,
    /// A sequence of launches that repeats.
    Launches,
    /// The same, and the steps of an optimizer, which tell where each round ends.
    Optimizer,
}

impl ToldBy {
    /// Its name in facts.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::ProfilerCalls => "profiler_calls",
            Self::Launches => "launches",
            Self::Optimizer => "optimizer",
        }
    }
}

/// How sure it is that these are the steps of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Something repeats, and may be a part of a step or several steps.
    Low,
    /// It repeats all the time, and what is in it is the same each time.
    Medium,
    /// The program calls it so, or the user.
    High,
}

impl Certainty {
    /// Its name in facts.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// On the host: the range; from the launch of its first operation to that of the next step's where none tells.
    pub host: Interval,
    /// On the device: from its first operation to the next step's; to the end of its own last one before a pause and at the
    /// end. Where the program marks steps, each begins as soon as the host is in it and the device has done what came before:
    /// the first one may begin before the window does.
    pub device: Interval,
    /// How many operations it launched.
    pub launch_count: u32,
    /// When its first kernel or graph began; `i64::MAX` without one.
    first_kernel_ns: i64,
}

#[cfg(test)]
impl Step {
    /// One of the same time on the host and on the device.
    pub(crate) const fn of(device: Interval) -> Self {
        Self { host: device, device, launch_count: 1, first_kernel_ns: device.start }
    }
}

/// The steps of one device, in time order.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// What they are called: the range without its numbers, or the first kernel of the sequence.
    pub name: String,
    /// What they were told by.
    pub told_by: ToldBy,
    /// How sure that is.
    pub certainty: Certainty,
    /// The index of the thread that enters them, or [`NONE`] where launches tell.
    pub thread: u32,
    /// The index of the process that launches them.
    pub process: u32,
    /// The steps, at least one.
    pub steps: Vec<Step>,
    /// The time of the device's operations that lies in them, of all operations of the window: a share.
    pub work_share: f64,
    /// When the host had run what the program calls its warm-up, if it does and steps behind that launch no kernel that had not run before.
    pub warm_from: Option<i64>,
}

impl Steps {
    /// Of stretches of the host, each of which launches a step; those that launch nothing are none.
    pub(super) fn of_hosts(
        launches: &Launches,
        told_by: ToldBy,
        hosts: impl IntoIterator<Item = Interval>,
    ) -> Vec<Step> {
        let of_host = |(host, launched): (Interval, Range<usize>)| {
            let launched = &launches.all()[launched];
            let first = launched.iter().map(|launch| launch.start).min()?;
            let last = launched.iter().map(|launch| launch.end()).max()?;
            let kernels = launched.iter().filter(|launch| launch.is_kernel);
            let first_kernel_ns = kernels.map(|launch| launch.start).min().unwrap_or(i64::MAX);
            let device = Interval::new(first, last);
            Some(Step { host, device, launch_count: launched.len() as u32, first_kernel_ns })
        };
        let mut steps: Vec<Step> = launches.each(hosts).filter_map(of_host).collect();
        steps.sort_by_key(|step| (step.device.start, step.host.start));
        steps.dedup_by_key(|step| step.device.start);
        begin_with_kernels(&mut steps);
        let first_op_ns = steps.first().map_or(0, |step| step.device.start);
        if told_by != ToldBy::Launches {
            begin_with_hosts(&mut steps, launches);
        }
        join(&mut steps);
        cut_first(&mut steps, first_op_ns);
        drop_cut(&mut steps, launches, told_by);
        steps
    }

    /// Their median length on the device; of an even number, the mean of the two middle ones. 0 of nothing.
    pub fn median_ns(&self) -> i64 {
        median_ns(&mut self.steps.iter().map(|step| step.device.len_ns()).collect::<Vec<_>>()).unwrap_or(0)
    }
}

/// Where steps overlap by more than half, lets each but the first begin with its first kernel: copies run ahead of the work
/// that needs them.
fn begin_with_kernels(steps: &mut [Step]) {
    let has_kernels = steps.iter().all(|step| step.first_kernel_ns < i64::MAX);
    let pace = median(steps.windows(2).map(|pair| pair[1].device.start - pair[0].device.start));
    if has_kernels && 2 * overhang_ns(steps) > pace {
        for step in steps.iter_mut().skip(1) {
            step.device.start = step.first_kernel_ns;
        }
    }
}

/// Lets each step begin as soon as the host is in it and the device has done what came before: it waits for this step's work
/// from then on. The last one lasts as long as the host is in it.
fn begin_with_hosts(steps: &mut [Step], launches: &Launches) {
    let firsts: Vec<i64> = steps.iter().map(|step| step.device.start).collect();
    if !firsts.is_sorted() {
        return;
    }
    // By step, until when the device runs what begins before the step's first operation, after that of the step before.
    let mut busy_until = vec![i64::MIN; steps.len()];
    let mut step = 0;
    for launch in launches.all() {
        // Mostly it begins within the same step as the last one.
        let is_behind = |step: usize| firsts.get(step).is_some_and(|first| *first <= launch.start);
        if is_behind(step) || step.checked_sub(1).is_some_and(|before| !is_behind(before)) {
            step = firsts.partition_point(|first| *first <= launch.start);
        }
        if let Some(until) = busy_until.get_mut(step) {
            *until = (*until).max(launch.end_at_most());
        }
    }
    let mut until = launches.begin_ns.max(launches.earlier_until_ns);
    for (step, busy_until) in steps.iter_mut().zip(busy_until) {
        until = until.max(busy_until);
        step.device.start = step.host.start.max(until).min(step.device.start);
    }
    if let Some(last) = steps.last_mut() {
        last.device.end = last.device.end.max(last.host.end.min(launches.window.end));
    }
}

/// How long the operations of a step mostly go on after the next one has begun; less than zero where they do not.
fn overhang_ns(steps: &[Step]) -> i64 {
    median(steps.windows(2).map(|pair| pair[0].device.end - pair[1].device.start))
}

/// Lets each step end where the next begins, unless the program paused between them, and that is an exception. What a step
/// waits for is a part of it.
fn join(steps: &mut [Step]) {
    let pairs = || steps.windows(2).map(|pair| (pair[0], pair[1]));
    let pace = median(pairs().map(|(step, next)| next.host.start - step.host.start));
    let pace = pace.max(median(pairs().map(|(step, next)| next.device.start - step.device.start)));
    let is_pause = |step: Step, next: Step| next.host.start - step.host.end > pace.saturating_mul(PAUSE_FACTOR);
    let pauses: Vec<bool> = pairs().map(|(step, next)| is_pause(step, next)).collect();
    let is_exception = pauses.iter().filter(|is_pause| **is_pause).count() <= MAX_PAUSE_COUNT;
    // Where steps overlap, the last one too ends before its last operation does: when the next one would have begun, which is not
    // before the host leaves it.
    let overhang = overhang_ns(steps).max(0);
    if let Some(last) = steps.last_mut().filter(|last| last.device.len_ns() > overhang) {
        last.device.end = (last.device.end - overhang).max(last.host.end.min(last.device.end));
    }
    for (index, is_pause) in pauses.into_iter().enumerate() {
        if !(is_pause && is_exception) {
            steps[index].device.end = steps[index + 1].device.start;
        }
    }
}

/// Lets the first step begin with its first operation where it would be far longer than the others: what it waits for until
/// then is for the most part the start of the profiler, which comes before the steps.
fn cut_first(steps: &mut [Step], first_op_ns: i64) {
    let usual_ns = median(steps.iter().map(|step| step.device.len_ns()));
    let is_long = |step: &Step| step.device.len_ns() as f64 > WARM_UP_FACTOR * usual_ns as f64;
    if let Some(first) = steps.first_mut().filter(|first| is_long(first)) {
        first.device.start = first_op_ns;
    }
}

/// Leaves out what the window or the recording cuts. The last round that launches tell has nothing behind it to say that it is whole:
/// its work does.
fn drop_cut(steps: &mut Vec<Step>, launches: &Launches, told_by: ToldBy) {
    let (begin_ns, end_ns) = (launches.begin_ns, launches.window.end);
    steps.retain(|step| step.device.start >= begin_ns && step.device.end <= end_ns);
    // What counts in no sequence comes now and then within the same step.
    let counted = |launched: &[Launch]| launched.iter().filter(|launch| launch.symbol != NONE).count() as i64;
    let each = || launches.each(steps.iter().map(|step| step.host));
    let counts: Vec<i64> = each().map(|(_, launched)| counted(&launches.all()[launched])).collect();
    let works: Vec<i64> = each().map(|(_, launched)| launches.work_between(launched.start, launched.end)).collect();
    let usual = median(counts.iter().copied()) as f64;
    let whole_ns = WHOLE_WORK_SHARE * median(works.iter().copied()) as f64;
    let is_cut = |count: &i64| (*count as f64) < WHOLE_SHARE * usual;
    let holds_all = |work_ns: &i64| told_by == ToldBy::Launches && *work_ns as f64 >= whole_ns;
    let (is_first_cut, is_last_cut) =
        (counts.first().is_some_and(is_cut), counts.last().is_some_and(is_cut) && !works.last().is_some_and(holds_all));
    if steps.len() > MIN_STEP_COUNT && is_last_cut {
        steps.pop();
    }
    if steps.len() > MIN_STEP_COUNT && is_first_cut {
        steps.remove(0);
    }
}

/// The lower of the two middle values; 0 of nothing.
pub(crate) fn median(values: impl Iterator<Item = i64>) -> i64 {
    let mut values: Vec<i64> = values.collect();
    match values.len() {
        0 => 0,
        count => *values.select_nth_unstable((count - 1) / 2).1,
    }
}

/// The middle duration; of an even number, the mean of the two middle ones. `None` of nothing.
pub(crate) fn median_ns(durations: &mut [i64]) -> Option<i64> {
    let is_even = durations.len().is_multiple_of(2);
    let middle = durations.len() / 2;
    if middle >= durations.len() {
        return None;
    }
    let (below, upper, _) = durations.select_nth_unstable(middle);
    let lower = below.iter().copied().max().filter(|_| is_even).unwrap_or(*upper);
    Some(lower + upper.saturating_sub(lower) / 2)
}
