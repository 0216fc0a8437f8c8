//! A thread laid out in parts, side by side, and kept for who asks again.
//!
//! A part begins where the thread is in nothing, as far as the last few rows before it tell. Whether that is so is known once the part
//! before it is laid out: if not, that goes on through it. So what comes out does not depend on the parts.

use super::activity::Activity;
use super::host::{Calls, STRETCHES_PER_ROW};
use super::laid_out::{LaidOut, Part};
use super::layout::Layout;
use crate::parallel::{self, Threads};
use crate::timeline::interval::Interval;
use crate::timeline::{NameId, Timeline};

/// Rows of a part, at least: of fewer a part takes longer to begin than to lay out.
const PART_ROWS: usize = if cfg!(test) { 3 } else { 1 << 15 };

/// A thread that may do so many things is long: it is laid out, and read, in parts.
const MANY_STRETCHES: usize = 2 * STRETCHES_PER_ROW * PART_ROWS;

impl Calls {
    /// How many threads each of some threads of the program may be read on: those that are long share them.
    pub(crate) fn threads_each(&self, of: impl Iterator<Item = u32>, threads: Threads) -> Threads {
        threads.within(of.filter(|thread| self.most_stretches(*thread) >= MANY_STRETCHES).count())
    }

    /// Lays out a thread: calls `visit` for each stretch in which it does one thing, with the name of the call (or
    /// [`NONE`](crate::timeline::NONE)), in time order, over `[first start, last end)` of `within`. That is kept for who asks again.
    pub fn lay_out(
        &self,
        timeline: &Timeline,
        thread: u32,
        within: Interval,
        visit: impl FnMut(Interval, Activity, NameId),
    ) {
        match self.kept(timeline, thread, Threads::new(Some(1))) {
            Some(laid_out) => laid_out.visit(within, visit),
            None => self.layout(timeline, thread).run(within, visit),
        }
    }

    /// Lays out a thread for those who ask later, where there is room for that.
    pub(crate) fn keep(&self, timeline: &Timeline, thread: u32, threads: Threads) {
        self.kept(timeline, thread, threads);
    }

    /// A thread as it was laid out before, if it was.
    pub(super) fn known(&self, thread: u32) -> Option<&LaidOut> {
        self.shared.known(thread)
    }

    /// The same for who asks for all devices at once: nothing is kept for others.
    pub(super) fn lay_out_once(
        &self,
        timeline: &Timeline,
        thread: u32,
        within: Interval,
        visit: impl FnMut(Interval, Activity, NameId),
    ) {
        match self.known(thread) {
            Some(laid_out) => laid_out.visit(within, visit),
            None => self.layout(timeline, thread).run(within, visit),
        }
    }

    fn kept(&self, timeline: &Timeline, thread: u32, threads: Threads) -> Option<&LaidOut> {
        let lay_out = || self.laid_out_in_parts(timeline, thread, threads);
        self.shared.of(thread, self.most_stretches(thread), lay_out)
    }

    fn laid_out_in_parts(&self, timeline: &Timeline, thread: u32, threads: Threads) -> LaidOut {
        let whole = self.layout(timeline, thread);
        let bounds: Vec<i64> = [whole.begins].into_iter().chain(whole.cuts(PART_ROWS)).chain([i64::MAX]).collect();
        let parts: Vec<Interval> = bounds.windows(2).map(|bounds| Interval::new(bounds[0], bounds[1])).collect();
        let from = |moment: i64| Layout::new(self, timeline, thread).from(moment);
        let laid = parallel::map(threads, &parts, |within| {
            let mut layout = from(within.start);
            (layout.part(*within), layout)
        });
        let mut all = LaidOut::default();
        let mut before: Option<Layout<'_>> = None;
        for (within, (part, layout)) in parts.into_iter().zip(laid) {
            let is_begun_wrong = before.as_mut().is_some_and(|before| !before.is_as(&from(within.start)));
            match &mut before {
                Some(before) if is_begun_wrong => all.push(before.part(within)),
                _ => {
                    all.push(part);
                    before = Some(layout);
                }
            }
        }
        all
    }

    fn layout<'calls>(&'calls self, timeline: &'calls Timeline, thread: u32) -> Layout<'calls> {
        #[cfg(test)]
        self.layout_count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Layout::new(self, timeline, thread)
    }
}

impl Layout<'_> {
    /// Lays out what comes next, up to where it ends.
    fn part(&mut self, within: Interval) -> Part {
        let mut part = Part::with_capacity(STRETCHES_PER_ROW * self.rows_before(within.end) + STRETCHES_PER_ROW);
        self.run(within, |stretch, activity, name| part.push(stretch, activity, name));
        part
    }
}
