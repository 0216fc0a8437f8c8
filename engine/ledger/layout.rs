//! A thread laid out: its rows read in order of time, and what it did from one moment on at which one of them begins or ends to the next.

use super::activity::Activity;
use super::compiling::CodeWork;
use super::dispatch;
use super::host::{Calls, LAUNCH_GAP_NS};
use super::inside::Inside;
use super::rows::{Source, Table};
use crate::timeline::api::{self, ApiClass};
use crate::timeline::columns::OverheadKind;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId, Timeline};

/// A thread that is laid out, as far as that has come.
pub(super) struct Layout<'calls> {
    calls: &'calls Calls,
    timeline: &'calls Timeline,
    /// The API calls, and what else there is.
    sources: Vec<Source<'calls>>,
    /// Up to when it was laid out.
    now: i64,
    /// What the thread is in.
    inside: Inside,
    last_call: LastCall,
    /// What host code is until the next API call, beside plain host code: told anew with each of these.
    in_gap: Option<Activity>,
    /// Whether that code prepares a launch.
    is_dispatch: bool,
    /// How long the thread takes at most to prepare a launch, where that recurs.
    dispatch_ns: i64,
    /// When the thread first did anything that was recorded.
    pub(super) begins: i64,
    /// Until when the scheduler's record tells of it, if it does.
    scheduled_until: i64,
}

/// The API call that ended last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LastCall {
    end: i64,
    activity: Activity,
    loads: Loads,
}

impl LastCall {
    /// There was none.
    const NONE: Self = Self { end: i64::MIN, activity: Activity::Unknown, loads: Loads::Nothing };
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

/// A moment to cut at is looked for at the begin of so many rows.
const ROWS_NEAR_CUT: usize = 64;
/// The index of the source of API calls.
const API: usize = 0;

impl<'calls> Layout<'calls> {
    /// Of a thread, which is laid out from its first row on.
    pub(super) fn new(calls: &'calls Calls, timeline: &'calls Timeline, thread: u32) -> Self {
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
        let begins = sources.iter().map(|source| source.next_start).fold(first, i64::min);
        Self {
            calls,
            timeline,
            now: begins,
            begins,
            scheduled_until: scheduled.map_or(i64::MIN, |scheduled| scheduled.end),
            sources,
            inside: Inside::default(),
            last_call: LastCall::NONE,
            // Before the first call there is no gap.
            in_gap: None,
            is_dispatch: false,
            dispatch_ns: calls.dispatch_ns.get(thread as usize).copied().unwrap_or(0),
        }
    }

    /// Goes on at a moment at which all that began before has ended, as far as the last few rows of each table tell.
    pub(super) fn from(mut self, moment: i64) -> Self {
        self.sources.iter_mut().for_each(|source| source.seek(moment));
        self.now = moment;
        let last: Vec<_> = self.sources[API].last_before(moment).collect();
        for (row, interval) in last {
            self.end_call(row, interval.end, self.calls.activity[row]);
        }
        self.tell_gap();
        self
    }

    /// Whether what it does from here on is what another does that goes on here.
    pub(super) fn is_as(&mut self, other: &Self) -> bool {
        self.inside.leave(self.now);
        let taken = |layout: &'_ Self| layout.sources.iter().map(Source::taken_count).collect::<Vec<_>>();
        self.inside.is_empty()
            && (self.now, self.last_call) == (other.now, other.last_call)
            && taken(self) == taken(other)
    }

    /// Moments at which all that began before has ended, as far as the last few rows of each table tell: of so many rows, or some more,
    /// one.
    pub(super) fn cuts(&self, rows: usize) -> Vec<i64> {
        let all = self.sources.iter().map(|source| source.rows.len());
        let parts = all.sum::<usize>() / rows;
        let Some(most) = self.sources.iter().max_by_key(|source| source.rows.len()) else { return Vec::new() };
        let is_cut = |moment: &i64| {
            let mut last = self.sources.iter().flat_map(|source| source.last_before(*moment));
            *moment > self.begins && !last.any(|(_, interval)| interval.end > *moment)
        };
        let cut = |part: usize| {
            let first = most.rows.len() / parts * part;
            (first..first + ROWS_NEAR_CUT).filter_map(|row| most.start(row)).find(is_cut)
        };
        let mut cuts: Vec<i64> = (1..parts).filter_map(cut).collect();
        cuts.dedup();
        cuts
    }

    /// How many of its rows that are left begin before a moment.
    pub(super) fn rows_before(&self, moment: i64) -> usize {
        self.sources.iter().map(|source| source.before(moment).saturating_sub(source.taken_count())).sum()
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
            self.end_call(row, interval.end, activity);
            self.tell_gap();
        }
        Some((interval, activity, name))
    }

    /// Takes a call as the last one, unless another ended later.
    fn end_call(&mut self, row: usize, end: i64, activity: Activity) {
        if end >= self.last_call.end {
            self.last_call = LastCall { end, activity, loads: self.loads(row) };
        }
    }

    /// Tells what host code is until the next call.
    fn tell_gap(&mut self) {
        (self.in_gap, self.is_dispatch) = (self.gap_activity(), self.is_dispatch());
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

    /// Calls `visit` for each stretch in which the thread does one thing, with the name of the call (or [`NONE`]), in time order, over what
    /// was not laid out yet of `[first start, last end)` of `within`.
    pub(super) fn run(&mut self, within: Interval, mut visit: impl FnMut(Interval, Activity, NameId)) {
        let mut visit = |part: Interval, (activity, name): (Activity, NameId)| {
            let part = part.clip(within);
            if part.len_ns() > 0 {
                visit(part, activity, name);
            }
        };
        let mut now = self.now.min(within.start);
        while now < within.end {
            self.enter_and_leave(now);
            if let Some((source, row)) = self.next_alone(now).filter(|(_, row)| row.end <= within.end) {
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
        self.now = now;
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
            && self.last_call.end > i64::MIN
            && next.next_start.saturating_sub(self.last_call.end) <= self.dispatch_ns
    }

    /// Host code between two API calls close together is launching, as long as the thread runs; between two polls it is polling. What
    /// follows a call that brings code asks for the functions in it, and no profiler records that.
    fn gap_activity(&self) -> Option<Activity> {
        let next = &self.sources[API];
        let call = next.next_row()?;
        let gap = next.next_start.saturating_sub(self.last_call.end);
        if self.last_call.end == i64::MIN || gap >= LAUNCH_GAP_NS {
            return None;
        }
        let next_activity = self.calls.activity.get(call).copied();
        let polls = self.last_call.activity == Activity::Query && next_activity == Some(Activity::Query);
        let loads = match self.last_call.loads {
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
