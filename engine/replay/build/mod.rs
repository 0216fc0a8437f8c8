//! What each call and each operation of a part waited for: the edges of its model.

mod calls;
mod operations;

use foldhash::HashMap;

use super::model::{Edge, Model, What, Why};
use super::record::Part;
use super::size::most_own_events;
use super::{Assumption, NoReplay};
use crate::ledger::OpKind;
use crate::timeline::Timeline;

/// Between the end of an operation and the start of the next in its stream, where nothing was measured.
const USUAL_SPACING_NS: i64 = 1_000;
/// Between the start of a call and that of its operation on an idle stream, where nothing was measured.
const USUAL_LAUNCH_NS: i64 = 6_000;
/// Between the end of an operation and the return of a call that waits for it, where nothing was measured.
const USUAL_RETURN_NS: i64 = 5_000;
/// What it waited for ended so shortly before.
const RIGHT_BEFORE_NS: i64 = 20_000;
/// Host code between calls that is longer may be a wait for another thread.
const SILENT_NS: i64 = 20_000;
/// How many operations that ended before another are looked at.
const MAX_LOOK_BACK: usize = 16;
/// Streams that one wait waits for at most.
const MAX_WAITED_STREAM_COUNT: usize = 64;
/// Edges of a model at most for each event that it may have: ordinary recordings have one or two, a wait for many streams one for each
/// of them. Each GPU has a model, and each change plays all of its edges again.
const MAX_EDGES_PER_EVENT: usize = 8;
/// What is not explained may be this share of a step: it stays in every replay.
const CLOSE_SHARE: f64 = 0.05;
/// More than this of a step is worth a word.
const UNEXPLAINED_SHARE: f64 = 0.01;

/// What is usual in this recording.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usual {
    pub(super) spacing_ns: i64,
    pub(super) launch_ns: i64,
    pub(super) return_ns: i64,
}

/// A model, and how far it can be trusted.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) model: Model,
    pub(super) usual: Usual,
    pub(super) assumptions: Vec<Assumption>,
    /// How far steps that are played again without what is not explained are from those recorded, at most.
    pub(super) distance_share: f64,
}

/// # Errors
/// When more waits for more than is played again, and when too much of the part is not explained.
pub(super) fn build(timeline: &Timeline, part: Part) -> Result<Built, NoReplay> {
    let built = Builder::new(timeline, part).run()?;
    if built.distance_share > CLOSE_SHARE { Err(NoReplay::Unexplained) } else { Ok(built) }
}

struct Builder<'all> {
    timeline: &'all Timeline,
    model: Model,
    usual: Usual,
    /// The operations of each stream, by start.
    of_stream: Vec<(u32, Vec<u32>)>,
    /// Where each stream is among them.
    stream_index: HashMap<u32, usize>,
    /// All operations by end.
    by_end: Vec<u32>,
    /// Edges that it may have.
    most_edges: usize,
    assumptions: Vec<Assumption>,
    /// Time that is not explained, by event that came late because of it.
    unexplained: Vec<(u32, i64)>,
}

impl<'all> Builder<'all> {
    fn new(timeline: &'all Timeline, part: Part) -> Self {
        let mut stream_index: HashMap<u32, usize> = HashMap::default();
        let mut of_stream: Vec<(u32, Vec<u32>)> = Vec::new();
        for (op, row) in (0_u32..).zip(&part.ops) {
            let index = *stream_index.entry(row.stream).or_insert_with(|| {
                of_stream.push((row.stream, Vec::new()));
                of_stream.len() - 1
            });
            of_stream[index].1.push(op);
        }
        let mut by_end: Vec<u32> = (0..part.ops.len() as u32).collect();
        by_end.sort_by_key(|op| part.ops[*op as usize].end);
        let model = Model::new(part);
        let usual = Usual { spacing_ns: USUAL_SPACING_NS, launch_ns: USUAL_LAUNCH_NS, return_ns: USUAL_RETURN_NS };
        Self {
            timeline,
            model,
            usual,
            of_stream,
            stream_index,
            by_end,
            most_edges: MAX_EDGES_PER_EVENT * most_own_events(timeline.devices.len()),
            assumptions: Vec::new(),
            unexplained: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Built, NoReplay> {
        self.measure();
        self.threads();
        self.operations();
        self.calls();
        if self.is_full() {
            return Err(NoReplay::TooLong);
        }
        let mut model = self.model;
        model.edges.retain(|edge| edge.from < edge.to);
        model.edges.sort_by_key(|edge| edge.to);
        let communicates = model.part.ops.iter().any(|op| op.kind == OpKind::Communication);
        self.assumptions.extend(communicates.then_some(Assumption::OtherRanksUnchanged));
        self.assumptions.sort_unstable();
        self.assumptions.dedup();
        let distance_share = distance(&model, &self.unexplained);
        if distance_share > UNEXPLAINED_SHARE {
            self.assumptions.push(Assumption::UnexplainedStays);
        }
        Ok(Built { model, usual: self.usual, assumptions: self.assumptions, distance_share })
    }

    /// What is usual between the end of one operation and the start of the next, and so on.
    fn measure(&mut self) {
        let (mut spacings, mut launches) = (Vec::new(), Vec::new());
        for (_, ops) in &self.of_stream {
            for pair in ops.windows(2) {
                let (before, op) = (self.model.op(pair[0]), self.model.op(pair[1]));
                let Some(call) = self.model.part.calls.get(op.call as usize) else { continue };
                if call.end < before.end && op.start >= before.end {
                    spacings.push(op.start - before.end);
                } else if call.start > before.end && op.start >= call.start {
                    launches.push(op.start - call.start);
                }
            }
        }
        // The device was never kept waiting where it is fastest: the lower quarter.
        self.usual.spacing_ns = quantile(&mut spacings, 4).map_or(USUAL_SPACING_NS, |ns| ns.min(4 * USUAL_SPACING_NS));
        self.usual.launch_ns = quantile(&mut launches, 4).map_or(USUAL_LAUNCH_NS, |ns| ns.min(4 * USUAL_LAUNCH_NS));
    }

    fn edge(&mut self, from: u32, to: u32, lag_ns: i64, why: Why) {
        if !self.is_full() {
            self.model.edges.push(Edge { from, to, lag_ns, why });
        }
    }

    /// Whether there are as many edges as may be.
    fn is_full(&self) -> bool {
        self.model.edges.len() >= self.most_edges
    }

    /// The program order of each thread, and who handed over to whom.
    fn threads(&mut self) {
        let threads = self.model.part.threads.clone();
        for range in &threads {
            self.begin(range, &threads);
            for call in range.clone().skip(1) {
                let (before, this) = (call - 1, call);
                let gap = self.model.part.calls[this].start - self.model.part.calls[before].end;
                let to = self.model.call_events[this].0;
                let giver = if gap >= SILENT_NS { self.hand_over(range, this, &threads) } else { None };
                if let Some(giver) = giver {
                    let from = self.model.call_events[giver].1;
                    let lag = self.model.part.calls[this].start - self.model.part.calls[giver].end;
                    self.edge(from, to, lag, Why::HandOver);
                    self.assumptions.push(Assumption::ThreadsTakeTurns);
                } else {
                    // Of calls without length at one moment the second begins before the first returns.
                    let (begin, end) = self.model.call_events[before];
                    self.edge(if end < to { end } else { begin }, to, gap.max(0), Why::Program);
                }
            }
        }
    }

    /// What begins a thread: the last call before its first, of any thread of the process.
    fn begin(&mut self, own: &std::ops::Range<usize>, threads: &[std::ops::Range<usize>]) {
        let calls = &self.model.part.calls;
        let Some(first) = calls.get(own.start).filter(|_| !own.is_empty()) else { return };
        let process = self.timeline.process_of(first.thread);
        let others = threads.iter().filter(|other| *other != own && !other.is_empty());
        let before = others.filter(|other| self.timeline.process_of(calls[other.start].thread) == process);
        let last = before.filter_map(|other| {
            let count = calls[other.clone()].partition_point(|call| call.end <= first.start);
            count.checked_sub(1).map(|last| other.start + last)
        });
        let Some(giver) = last.max_by_key(|last| calls[*last].end) else { return };
        let (from, to) = (self.model.call_events[giver].1, self.model.call_events[own.start].0);
        let lag = first.start - calls[giver].end;
        self.edge(from, to, lag, Why::HandOver);
        self.assumptions.push(Assumption::ThreadsTakeTurns);
    }

    /// The last call of another thread of the process, where that thread was busy while this one was silent, and is silent now.
    fn hand_over(
        &self,
        own: &std::ops::Range<usize>,
        call: usize,
        threads: &[std::ops::Range<usize>],
    ) -> Option<usize> {
        let calls = &self.model.part.calls;
        let (start, silent_from) = (calls[call].start, calls[call - 1].end);
        let process = self.timeline.process_of(calls[call].thread);
        let others = threads.iter().filter(|other| *other != own && !other.is_empty());
        let last = others.filter_map(|other| {
            let is_same = self.timeline.process_of(calls[other.start].thread) == process;
            let next = other.start + calls[other.clone()].partition_point(|call| call.start <= start);
            let last = next.checked_sub(1).filter(|last| *last >= other.start && is_same)?;
            let is_silent =
                calls[last].end <= start && (next == other.end || calls[next].start - calls[last].end >= SILENT_NS);
            (is_silent && calls[last].end > silent_from).then_some(last)
        });
        last.max_by_key(|last| calls[*last].end)
    }
}

/// How far the steps are from those recorded, at most, when what is not explained is left out.
fn distance(model: &Model, unexplained: &[(u32, i64)]) -> f64 {
    let mut play = super::model::Play::new(model);
    let mut less: HashMap<u32, i64> = HashMap::default();
    for (event, ns) in unexplained {
        *less.entry(*event).or_default() += *ns;
    }
    for edge in &mut play.edges {
        if let (Some(ns), What::OpStart(_)) = (less.get(&edge.to), model.what[edge.to as usize]) {
            edge.lag_ns = (edge.lag_ns - ns).max(0);
        }
    }
    let recorded = model.step_ns(&model.recorded);
    let played = model.step_ns(&play.times());
    if recorded > 0.0 { (played - recorded).abs() / recorded } else { 1.0 }
}

/// The value below which one in so many lie.
fn quantile(values: &mut [i64], one_in: usize) -> Option<i64> {
    let at = values.len().checked_sub(1)? / one_in;
    Some(*values.select_nth_unstable(at).1)
}
