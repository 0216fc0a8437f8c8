//! What a host thread did at each moment: its API calls, OS calls, overheads and time off the CPU, the most telling first.

use foldhash::HashMap;

use super::activity::Activity;
use super::by_thread::ByThread;
use super::classes::{activity_of, classes};
use super::compiling::{CodeStretches, CodeWork};
use super::inside::Inside;
use super::laid_out::{LaidOut, Shared};
use super::rows::{Source, Table};
use super::{dispatch, marks, prints, profiler_calls};
use crate::timeline::api::{self, ApiClass};
use crate::timeline::columns::OverheadKind;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, Timeline};

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
    dispatch_ns: Vec<i64>,
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
    shared: Shared,
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

    /// Lays out a thread: calls `visit` for each stretch in which it does one thing, with the name of the call (or
    /// [`NONE`]), in time order, over `[first start, last end)` of `within`. That is kept for who asks again.
    pub fn lay_out(
        &self,
        timeline: &Timeline,
        thread: u32,
        within: Interval,
        visit: impl FnMut(Interval, Activity, NameId),
    ) {
        match self.kept(timeline, thread) {
            Some(laid_out) => laid_out.visit(within, visit),
            None => self.layout(timeline, thread).run(within, visit),
        }
    }

    /// Lays out a thread for those who ask later, where there is room for that.
    pub fn keep(&self, timeline: &Timeline, thread: u32) {
        self.kept(timeline, thread);
    }

    fn kept(&self, timeline: &Timeline, thread: u32) -> Option<&LaidOut> {
        let most = self.most_stretches(thread);
        self.shared.of(thread, most, || {
            let mut laid_out = LaidOut::with_capacity(most);
            let layout = self.layout(timeline, thread);
            let all = Interval::new(layout.begins, i64::MAX);
            layout.run(all, |part, activity, name| laid_out.push(part, activity, name));
            laid_out
        })
    }

    /// The same for who asks for all devices at once: nothing is kept for others.
    pub(super) fn lay_out_once(
        &self,
        timeline: &Timeline,
        thread: u32,
        within: Interval,
        visit: impl FnMut(Interval, Activity, NameId),
    ) {
        match self.shared.known(thread) {
            Some(laid_out) => laid_out.visit(within, visit),
            None => self.layout(timeline, thread).run(within, visit),
        }
    }

    fn layout<'calls>(&'calls self, timeline: &'calls Timeline, thread: u32) -> Layout<'calls> {
        #[cfg(test)]
        self.layout_count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Layout::new(self, timeline, thread)
    }
}

struct Layout<'calls> {
    calls: &'calls Calls,
    timeline: &'calls Timeline,
    /// The API calls, and what else there is.
    sources: Vec<Source<'calls>>,
    /// What the thread is in.
    inside: Inside,
    last_call_end: i64,
    last_call_activity: Activity,
    last_call_loads: Loads,
    /// What host code is until the next API call, beside plain host code: told anew with each of these.
    in_gap: Option<Activity>,
    /// Whether that code prepares a launch.
    is_dispatch: bool,
    /// How long the thread takes at most to prepare a launch, where that recurs.
    dispatch_ns: i64,
    /// When the thread first did anything that was recorded.
    begins: i64,
    /// Until when the scheduler's record tells of it, if it does.
    scheduled_until: i64,
}

/// What a call does with code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loads {
    Nothing,
    /// Brings it.
    Brings,
    /// Lets it go.
    LetsGo,
}

/// The index of the source of API calls.
const API: usize = 0;

impl<'calls> Layout<'calls> {
    fn new(calls: &'calls Calls, timeline: &'calls Timeline, thread: u32) -> Self {
        let of = |lists: &'calls [Vec<u32>]| lists.get(thread as usize).map_or(&[][..], |list| list);
        let sources = [
            Source::new(Table::ApiCalls, &timeline.api.times, of(&calls.by_thread)),
            Source::new(Table::OsCalls, &timeline.os_calls.times, of(&calls.os_by_thread)),
            Source::new(Table::Overheads, &timeline.overheads.times, of(&calls.overheads_by_thread)),
            Source::new(Table::Overheads, &timeline.overheads.times, &calls.overheads_of_all),
            Source::new(Table::OffCpu, &timeline.thread_states.times, of(&calls.off_cpu_by_thread)),
            Source::new(Table::Code, &calls.code.times, of(&calls.code_by_thread)),
        ];
        // Most threads have no rows in most tables.
        let has_rows = |(index, source): &(usize, Source<'_>)| *index == API || !source.rows.is_empty();
        let sources: Vec<_> = sources.into_iter().enumerate().filter(has_rows).map(|(_, source)| source).collect();
        // A thread that is in a range is recorded, whether it calls anything yet or not.
        let ranges = timeline.ranges.of_thread(thread);
        let first_range = ranges.and_then(|ranges| ranges.times.get(0)).map_or(i64::MAX, |first| first.start);
        let scheduled = timeline.thread_states.scheduled.get(&thread);
        let first = scheduled.map_or(first_range, |scheduled| scheduled.start.min(first_range));
        Self {
            calls,
            timeline,
            begins: sources.iter().map(|source| source.next_start).fold(first, i64::min),
            scheduled_until: scheduled.map_or(i64::MIN, |scheduled| scheduled.end),
            sources,
            inside: Inside::default(),
            last_call_end: i64::MIN,
            last_call_activity: Activity::Unknown,
            last_call_loads: Loads::Nothing,
            // Before the first call there is no gap.
            in_gap: None,
            is_dispatch: false,
            dispatch_ns: calls.dispatch_ns.get(thread as usize).copied().unwrap_or(0),
        }
    }

    /// What a row of a table says that the thread does, and the name of the call.
    fn activity_of(&self, table: Table, row: usize) -> (Activity, NameId) {
        let timeline = self.timeline;
        match table {
            Table::ApiCalls => (self.calls.activity[row], timeline.api.name[row]),
            Table::OsCalls => (Activity::Blocked, timeline.os_calls.name[row]),
            Table::Overheads => {
                let activity = match timeline.overheads.kind[row] {
                    OverheadKind::Profiler => Activity::Profiler,
                    OverheadKind::Compile => Activity::Compile,
                    OverheadKind::Load => Activity::Load,
                    OverheadKind::QueueFull => Activity::QueueFull,
                };
                (activity, timeline.overheads.name[row])
            }
            Table::OffCpu => (Activity::OffCpu, NONE),
            Table::Code => {
                let activity = match self.calls.code.work[row] {
                    CodeWork::Compile => Activity::Compile,
                    CodeWork::Load => Activity::Load,
                    CodeWork::Record => Activity::Init,
                };
                (activity, self.calls.code.name[row])
            }
        }
    }

    /// Takes the next interval of a source, with what the thread does in it.
    fn take(&mut self, source: usize) -> Option<(Interval, Activity, NameId)> {
        let source = &mut self.sources[source];
        let table = source.table;
        let (row, interval) = source.take()?;
        let (activity, name) = self.activity_of(table, row);
        if table == Table::ApiCalls {
            if interval.end >= self.last_call_end {
                (self.last_call_end, self.last_call_activity) = (interval.end, activity);
                self.last_call_loads = self.loads(row);
            }
            (self.in_gap, self.is_dispatch) = (self.gap_activity(), self.is_dispatch());
        }
        Some((interval, activity, name))
    }

    /// What a call does with code, by its name.
    fn loads(&self, call: usize) -> Loads {
        if self.calls.class_of(self.timeline, call as u32) != ApiClass::Load {
            return Loads::Nothing;
        }
        match self.timeline.name(self.timeline.api.name[call]) {
            name if api::brings_code(name) => Loads::Brings,
            name if api::lets_code_go(name) => Loads::LetsGo,
            _ => Loads::Nothing,
        }
    }

    /// Enters all that has begun by a moment, and leaves what has ended.
    fn enter_and_leave(&mut self, now: i64) {
        for source in 0..self.sources.len() {
            while self.sources[source].next_start <= now {
                let Some((interval, activity, name)) = self.take(source) else { break };
                self.inside.enter(interval, activity, name, now);
            }
        }
        self.inside.leave(now);
    }

    fn next_boundary(&self, now: i64) -> Option<i64> {
        let next = self.sources.iter().map(|source| source.next_start).fold(self.inside.next_end(), i64::min);
        (next < i64::MAX).then(|| next.max(now))
    }

    /// The source of the next row, with its interval, where the thread is in nothing now and nothing else begins before that has
    /// ended: so nearly all calls are.
    fn next_alone(&self, now: i64) -> Option<(usize, Interval)> {
        if !self.inside.is_empty() || now < self.begins {
            return None;
        }
        let (mut first, mut first_start, mut second_start) = (API, i64::MAX, i64::MAX);
        for (index, source) in self.sources.iter().enumerate() {
            if source.next_start < first_start {
                (first, second_start, first_start) = (index, first_start, source.next_start);
            } else {
                second_start = second_start.min(source.next_start);
            }
        }
        let source = self.sources.get(first)?;
        let (row, interval) = (source.next_row()?, source.next_interval?);
        // Of a call of an API no host code between calls takes precedence over it.
        let may_be = source.table != Table::ApiCalls
            || self.calls.activity.get(row).is_some_and(|activity| *activity <= Activity::Launch);
        let is_alone = interval.end > interval.start && second_start.min(source.second_start()) >= interval.end;
        // Something ends where the record of the scheduler does.
        let is_scheduled = now >= self.scheduled_until || interval.end <= self.scheduled_until;
        (may_be && is_alone && is_scheduled).then_some((first, interval))
    }

    fn run(mut self, within: Interval, mut visit: impl FnMut(Interval, Activity, NameId)) {
        let mut visit = |part: Interval, (activity, name): (Activity, NameId)| {
            let part = part.clip(within);
            if part.len_ns() > 0 {
                visit(part, activity, name);
            }
        };
        let mut now = self.begins.min(within.start);
        while now < within.end {
            self.enter_and_leave(now);
            if let Some((source, row)) = self.next_alone(now).filter(|(_, row)| row.start < within.end) {
                visit(Interval::new(now, row.start), (self.between_rows(), NONE));
                if let Some(did) = self.take_alone(source) {
                    visit(row, did);
                }
                now = row.end;
                continue;
            }
            let mut until = self.next_boundary(now).unwrap_or(within.end).min(within.end);
            for recorded in [self.begins, self.scheduled_until] {
                until = if now < recorded { until.min(recorded) } else { until };
            }
            let part = Interval::new(now, until);
            if part.overlap_ns(within) > 0 {
                visit(part, self.doing(now));
            }
            now = until;
        }
    }

    /// What a recorded thread does that is in nothing, before the next row.
    fn between_rows(&self) -> Activity {
        self.in_gap.unwrap_or(if self.is_dispatch { Activity::Launch } else { Activity::Host })
    }

    /// Takes the next row of a source, which the thread is in alone: what it does in it, and the name of the call.
    fn take_alone(&mut self, source: usize) -> Option<(Activity, NameId)> {
        let is_call = self.sources.get(source).is_some_and(|source| source.table == Table::ApiCalls);
        let (_, activity, name) = self.take(source)?;
        let gap = self.in_gap.filter(|gap| !is_call && *gap < activity);
        // A thread that does not run prepares no launch.
        let gap = gap.filter(|gap| activity != Activity::OffCpu || *gap == Activity::Query);
        Some(gap.map_or((activity, name), |gap| (gap, NONE)))
    }

    fn doing(&mut self, now: i64) -> (Activity, NameId) {
        let in_gap = self.in_gap;
        let mut may_be = self.inside.activities() | in_gap.map_or(0, |activity| 1 << activity as u32);
        while let Some(activity) = Activity::ALL.get(may_be.trailing_zeros() as usize).copied() {
            may_be &= may_be - 1;
            if let Some(name) = self.inside.innermost(activity, now) {
                return (activity, name);
            }
            // A thread that does not run prepares no launch.
            let is_off_cpu = |this: &mut Self| this.inside.innermost(Activity::OffCpu, now).is_some();
            if in_gap == Some(activity) && !(activity != Activity::Query && is_off_cpu(self)) {
                return (activity, NONE);
            }
        }
        let is_recorded = self.begins <= now && (self.next_boundary(now).is_some() || now < self.scheduled_until);
        // A gap was told above.
        (if is_recorded { self.between_rows() } else { Activity::Unknown }, NONE)
    }

    /// Whether the host code between two API calls prepares a launch: it leads to one, and takes no longer than that usually
    /// does.
    fn is_dispatch(&self) -> bool {
        let next = &self.sources[API];
        let leads_to = next.next_row().map(|call| self.calls.class_of(self.timeline, call as u32));
        leads_to.is_some_and(dispatch::may_precede)
            && self.last_call_end > i64::MIN
            && next.next_start.saturating_sub(self.last_call_end) <= self.dispatch_ns
    }

    /// Host code between two API calls close together is launching, as long as the thread runs; between two polls it is polling. What
    /// follows a call that brings code asks for the functions in it, and no profiler records that.
    fn gap_activity(&self) -> Option<Activity> {
        let next = &self.sources[API];
        let call = next.next_row()?;
        let gap = next.next_start.saturating_sub(self.last_call_end);
        if self.last_call_end == i64::MIN || gap >= LAUNCH_GAP_NS {
            return None;
        }
        let next_activity = self.calls.activity.get(call).copied();
        let polls = self.last_call_activity == Activity::Query && next_activity == Some(Activity::Query);
        let loads = match self.last_call_loads {
            Loads::Nothing => false,
            Loads::Brings => true,
            Loads::LetsGo => self.loads(call) == Loads::Brings,
        };
        Some(match (polls, loads) {
            (true, _) => Activity::Query,
            (false, true) => Activity::Load,
            (false, false) => Activity::Launch,
        })
    }
}
