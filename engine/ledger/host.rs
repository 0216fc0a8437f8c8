//! What is recorded of host threads: their API calls, OS calls, overheads and time off the CPU, by thread.

use foldhash::HashMap;

use super::activity::Activity;
use super::by_thread::ByThread;
use super::classes::{activity_of, classes};
use super::compiling::CodeStretches;
use super::laid_out::Shared;
use super::{dispatch, marks, prints, profiler_calls};
use crate::timeline::api::ApiClass;
use crate::timeline::union::Union;
use crate::timeline::{NONE, Timeline};

/// Host code between two API calls closer than this counts as launching, whatever it is.
pub const LAUNCH_GAP_NS: i64 = 50_000;
/// A row begins a stretch, and ends one.
pub(super) const STRETCHES_PER_ROW: usize = 2;
/// Stretches that are kept in any case, for many threads of few rows.
const STRETCHES_ANYWAY: usize = 1 << 16;

/// The API calls of a timeline, as activities, and by thread.
#[derive(Debug)]
pub struct Calls {
    /// What each call is, by its index.
    pub activity: Vec<Activity>,
    /// The class of each name, by its index; `Other` for names of no API.
    pub class: Vec<ApiClass>,
    /// For each thread how long it takes at most to prepare a launch, where that recurs.
    pub(super) dispatch_ns: Vec<i64>,
    /// The calls of each thread by start.
    pub(super) by_thread: Vec<Vec<u32>>,
    pub(super) os_by_thread: Vec<Vec<u32>>,
    pub(super) overheads_by_thread: Vec<Vec<u32>>,
    /// Overheads that name no thread.
    pub(super) overheads_of_all: Vec<u32>,
    pub(super) off_cpu_by_thread: Vec<Vec<u32>>,
    /// Where threads compile or load code.
    pub(super) code: CodeStretches,
    pub(super) code_by_thread: Vec<Vec<u32>>,
    /// What threads did that were asked about.
    pub(super) shared: Shared,
    /// How often a thread was laid out.
    #[cfg(test)]
    pub(crate) layout_count: std::sync::atomic::AtomicUsize,
}

/// A call within others, at most: one that began further back has ended.
const MOST_NESTED_CALLS: usize = 4;

impl Calls {
    /// Of a timeline.
    pub fn new(timeline: &Timeline) -> Self {
        let count = timeline.threads.len();
        let class = classes(timeline);
        let mut activity: Vec<Activity> = timeline
            .api
            .name
            .iter()
            .map(|name| class.get(*name as usize).map_or(Activity::Unknown, |class| activity_of(*class)))
            .collect();
        marks::mark(timeline, &class, &mut activity);
        let by_thread = ByThread::new(&timeline.api.thread, &timeline.api.times, count).of_thread;
        profiler_calls::mark(timeline, &by_thread, &mut activity);
        let os_by_thread = ByThread::new(&timeline.os_calls.thread, &timeline.os_calls.times, count).of_thread;
        prints::mark(timeline, (&by_thread, &os_by_thread), &class, &mut activity);
        let overheads = ByThread::new(&timeline.overheads.thread, &timeline.overheads.times, count);
        let code = CodeStretches::new(timeline);
        let code_by_thread = ByThread::new(&code.thread, &code.times, count).of_thread;
        let all =
            [&timeline.api.times, &timeline.os_calls.times, &timeline.overheads.times, &timeline.thread_states.times];
        let row_count = all.iter().map(|times| times.len()).sum::<usize>() + code.times.len();
        let room = row_count.saturating_mul(STRETCHES_PER_ROW).saturating_add(STRETCHES_ANYWAY);
        Self {
            shared: Shared::new(count, room),
            #[cfg(test)]
            layout_count: Default::default(),
            code,
            code_by_thread,
            dispatch_ns: by_thread.iter().map(|calls| dispatch::usual_ns(timeline, &class, calls)).collect(),
            activity,
            class,
            by_thread,
            os_by_thread,
            overheads_by_thread: overheads.of_thread,
            overheads_of_all: overheads.of_none,
            off_cpu_by_thread: ByThread::new(&timeline.thread_states.thread, &timeline.thread_states.times, count)
                .of_thread,
        }
    }

    /// The calls of a thread by start.
    pub fn of_thread(&self, thread: u32) -> &[u32] {
        self.by_thread.get(thread as usize).map_or(&[], |calls| calls)
    }

    /// Whether a thread is in a recorded call at a moment.
    pub fn is_in_call(&self, timeline: &Timeline, thread: u32, moment: i64) -> bool {
        let last = self.begun(timeline, thread, moment).iter().rev().take(MOST_NESTED_CALLS);
        last.map(|call| timeline.api.times.end(*call as usize)).any(|end| end > moment)
    }

    /// The calls of a thread that have begun by some moment.
    pub fn begun(&self, timeline: &Timeline, thread: u32, moment: i64) -> &[u32] {
        let calls = self.of_thread(thread);
        let count = calls.partition_point(|call| timeline.api.times.start(*call as usize) <= moment);
        calls.get(..count).unwrap_or_default()
    }

    /// The calls of the OS of a thread by start.
    pub fn os_of_thread(&self, thread: u32) -> &[u32] {
        self.os_by_thread.get(thread as usize).map_or(&[], |calls| calls)
    }

    /// When the first call of the OS of a thread began.
    pub fn first_os_call(&self, timeline: &Timeline, thread: u32) -> Option<i64> {
        let first = self.os_by_thread.get(thread as usize)?.first()?;
        timeline.os_calls.times.get(*first as usize).map(|call| call.start)
    }

    /// Where threads compile or load code.
    pub const fn code(&self) -> &CodeStretches {
        &self.code
    }

    /// When a thread compiles or loads code.
    pub fn code_of(&self, thread: u32) -> Union {
        let rows = self.code_by_thread.get(thread as usize).into_iter().flatten();
        Union::of(rows.filter_map(|row| self.code.times.get(*row as usize)))
    }

    /// Whether it is recorded when a thread waits in the operating system.
    pub fn tells_blocking(&self, thread: u32) -> bool {
        let has = |rows: &[Vec<u32>]| rows.get(thread as usize).is_some_and(|rows| !rows.is_empty());
        has(&self.os_by_thread) || has(&self.off_cpu_by_thread)
    }

    /// Host code of a thread between two calls closer than this counts as launching, nanoseconds.
    pub fn launch_gap_ns(&self, thread: u32) -> i64 {
        self.dispatch_ns.get(thread as usize).copied().unwrap_or(0).max(LAUNCH_GAP_NS)
    }

    /// The class of a call, by its index.
    pub fn class_of(&self, timeline: &Timeline, call: u32) -> ApiClass {
        let name = timeline.api.name.get(call as usize).copied().unwrap_or(NONE);
        self.class.get(name as usize).copied().unwrap_or(ApiClass::Other)
    }

    /// For each process the thread that called CUDA most often; of several, the first.
    pub fn busiest_threads(&self, timeline: &Timeline) -> HashMap<u32, u32> {
        let mut busiest: HashMap<u32, (usize, u32)> = HashMap::default();
        for (thread, calls) in (0_u32..).zip(&self.by_thread).filter(|(_, calls)| !calls.is_empty()) {
            let best = busiest.entry(timeline.process_of(thread)).or_insert((0, thread));
            if calls.len() > best.0 {
                *best = (calls.len(), thread);
            }
        }
        busiest.into_iter().map(|(process, (_, thread))| (process, thread)).collect()
    }
}
