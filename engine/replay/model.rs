//! Events with the edges between them, and the playing of it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::OnceLock;

use foldhash::HashMap;

use super::record::{BOTH_WAYS, Call, Op, Part};
use crate::ledger::OpKind;
use crate::steps::rows::Row;
use crate::timeline::interval::Interval;
use crate::timeline::occupancy::MAX_KERNELS_AT_ONCE;
use crate::timeline::union::Union;

/// A moment of the model: a call begins or returns, an operation begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    CallStart(u32),
    CallEnd(u32),
    OpStart(u32),
    OpEnd(u32),
}

/// Why an event comes after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The thread does one thing after another; the lag is host code.
    Program,
    /// Another thread handed over.
    HandOver,
    /// What a call does itself.
    Call,
    /// What an operation takes.
    Run,
    /// The operation was asked for.
    Launch,
    /// Operations of one stream take turns.
    Stream,
    /// So do those of the legacy default stream and of the streams that block on it.
    Legacy,
    /// An event, a full device or a taken copy engine: the recording does not say which.
    Order,
    /// The call waited for the operation.
    Sync,
    /// The call waited for room in the queue.
    Queue,
    /// A buffer is used again.
    Buffer,
    /// What asked for the operation was not recorded: it keeps its distance from what came before.
    Unlinked,
}

/// An event comes at least a lag after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) lag_ns: i64,
    pub(super) why: Why,
}

/// The events of a part in recorded order, which is an order of dependence as well, with their edges.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) part: Part,
    /// When each event was recorded.
    pub(super) recorded: Vec<i64>,
    pub(super) what: Vec<What>,
    /// The events of each call, and of each operation: beginning and end.
    pub(super) call_events: Vec<(u32, u32)>,
    pub(super) op_events: Vec<(u32, u32)>,
    /// By the event that they lead to.
    pub(super) edges: Vec<Edge>,
    /// Whether copies of one engine took turns in the recording: then they do so after every change.
    pub(super) copies_take_turns: bool,
    /// What share of its device each kernel takes, by operation: kernels that were not recorded at once run at once as far as
    /// they fit.
    pub(super) shares: Vec<f32>,
    pub(super) asked: Asked,
}

/// What several changes ask of a model, and none of them alters.
#[derive(Debug, Default)]
pub(super) struct Asked {
    by_stream: OnceLock<Vec<Vec<u32>>>,
    pub(super) merged_runs: OnceLock<HashMap<u32, i64>>,
    /// Chains of element-wise kernels with the places where the same few come again, by which loops are looked at.
    pub(super) elementwise_rows: [OnceLock<Vec<(Vec<u32>, Vec<Row>)>>; 2],
}

/// What operations take turns at, beside what edges say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Turns {
    /// Copies of one engine take turns.
    pub(super) copies: bool,
}

impl Model {
    /// The events of a part, without edges.
    pub(super) fn new(part: Part) -> Self {
        let mut events: Vec<(i64, u8, What)> = Vec::with_capacity(2 * (part.calls.len() + part.ops.len()));
        for (index, call) in (0_u32..).zip(&part.calls) {
            events.push((call.start, 2, What::CallStart(index)));
            events.push((call.end, if call.end > call.start { 1 } else { 5 }, What::CallEnd(index)));
        }
        for (index, op) in (0_u32..).zip(&part.ops) {
            events.push((op.start, 3, What::OpStart(index)));
            // What ends makes room for what begins at the same moment, unless it is without length.
            events.push((op.end, if op.end > op.start { 0 } else { 4 }, What::OpEnd(index)));
        }
        // Stable: what is equal stays in the order of the part.
        events.sort_by_key(|(time, rank, _)| (*time, *rank));
        let mut call_events = vec![(0, 0); part.calls.len()];
        let mut op_events = vec![(0, 0); part.ops.len()];
        for (position, (_, _, what)) in (0_u32..).zip(&events) {
            match *what {
                What::CallStart(call) => call_events[call as usize].0 = position,
                What::CallEnd(call) => call_events[call as usize].1 = position,
                What::OpStart(op) => op_events[op as usize].0 = position,
                What::OpEnd(op) => op_events[op as usize].1 = position,
            }
        }
        let recorded = events.iter().map(|event| event.0).collect();
        let what = events.into_iter().map(|event| event.2).collect();
        let copies_take_turns = copies_take_turns(&part.ops);
        Self {
            part,
            recorded,
            what,
            call_events,
            op_events,
            edges: Vec::new(),
            copies_take_turns,
            shares: Vec::new(),
            asked: Asked::default(),
        }
    }

    pub(super) fn call(&self, call: u32) -> &Call {
        &self.part.calls[call as usize]
    }

    pub(super) fn op(&self, op: u32) -> &Op {
        &self.part.ops[op as usize]
    }

    /// The operations of each stream, in order.
    pub(super) fn by_stream(&self) -> &[Vec<u32>] {
        self.asked.by_stream.get_or_init(|| {
            let mut index_of: HashMap<u32, usize> = HashMap::default();
            let mut lists: Vec<Vec<u32>> = Vec::new();
            for (op, row) in (0_u32..).zip(&self.part.ops) {
                let index = *index_of.entry(row.stream).or_insert_with(|| {
                    lists.push(Vec::new());
                    lists.len() - 1
                });
                lists[index].push(op);
            }
            lists
        })
    }
}

/// One way to play a model: its edges, which a change may have changed.
#[derive(Debug, Clone)]
pub(super) struct Play<'model> {
    pub(super) model: &'model Model,
    pub(super) edges: Vec<Edge>,
    pub(super) turns: Turns,
    /// What share of its device each kernel fills, by operation. Kernels that fill a device take turns.
    pub(super) shares: Cow<'model, [f32]>,
    /// Whether edges were added that are not in their places yet.
    has_added: bool,
}

/// Edges that are compared before it is asked whether one differs.
const EDGES_AT_ONCE: usize = 256;

impl<'model> Play<'model> {
    pub(super) fn new(model: &'model Model) -> Self {
        Self::of(model, &model.edges)
    }

    /// With other edges than those of the model.
    pub(super) fn of(model: &'model Model, edges: &[Edge]) -> Self {
        let shares = Cow::Borrowed(&*model.shares);
        Self { model, edges: edges.to_vec(), turns: Turns::default(), shares, has_added: false }
    }

    /// When each event comes.
    pub(super) fn times(&self) -> Vec<i64> {
        let mut times = vec![i64::MIN; self.model.recorded.len()];
        let takes_turns = self.turns.copies || !self.shares.is_empty();
        let mut running = Running::default();
        let runs = self.runs();
        let mut next = 0;
        for (position, what) in (0_u32..).zip(&self.model.what) {
            let mut time = i64::MIN;
            while let Some(edge) = self.edges.get(next).filter(|edge| edge.to == position) {
                let mut lag_ns = edge.lag_ns;
                // What began beside an operation, as that made room, begins after it at the latest.
                if edge.why == Why::Order
                    && let What::OpStart(op) = self.model.what[edge.from as usize]
                {
                    lag_ns = lag_ns.min(runs[op as usize]);
                }
                time = time.max(times[edge.from as usize].saturating_add(lag_ns));
                next += 1;
            }
            if time == i64::MIN {
                // Nothing is known that it waits for: it stays where it was.
                time = self.model.recorded[position as usize];
            }
            match what {
                What::OpStart(op) if takes_turns => time = running.turn(self, *op, time, runs[*op as usize]),
                What::OpEnd(op) if takes_turns => running.end(self, *op, time),
                _ => {}
            }
            times[position as usize] = time;
        }
        times
    }

    /// How long each operation runs.
    fn runs(&self) -> Vec<i64> {
        let mut runs = vec![i64::MAX; self.model.part.ops.len()];
        for edge in self.edges.iter().filter(|edge| edge.why == Why::Run) {
            if let What::OpEnd(op) = self.model.what[edge.to as usize] {
                runs[op as usize] = edge.lag_ns;
            }
        }
        runs
    }

    /// Adds an edge, which is played once [`Self::sort`] has put it in its place.
    pub(super) fn add(&mut self, from: u32, to: u32, lag_ns: i64, why: Why) {
        if from < to {
            self.edges.push(Edge { from, to, lag_ns, why });
            self.has_added = true;
        }
    }

    /// Puts edges in the order in which they are played, after some were added: most changes add none.
    pub(super) fn sort(&mut self) {
        if std::mem::take(&mut self.has_added) {
            self.edges.sort_by_key(|edge| edge.to);
        }
    }

    /// Whether its edges are these. They mostly are, and there are as many as a change looks through: they are compared many at once.
    pub(super) fn has_edges(&self, others: &[Edge]) -> bool {
        let differ = |(one, other): (&Edge, &Edge)| {
            let lags = (one.lag_ns ^ other.lag_ns).cast_unsigned();
            lags | u64::from((one.from ^ other.from) | (one.to ^ other.to)) | u64::from(one.why as u8 ^ other.why as u8)
        };
        let is_same = |(ones, others): (&[Edge], &[Edge])| {
            ones.iter().zip(others).map(differ).fold(0, |all, bits| all | bits) == 0
        };
        let chunks = self.edges.chunks(EDGES_AT_ONCE).zip(others.chunks(EDGES_AT_ONCE));
        self.edges.len() == others.len() && chunks.into_iter().all(is_same)
    }
}

impl Model {
    /// By communication kernel: how long nothing else ran on its device, nanoseconds.
    pub(super) fn exposed_communication(&self) -> HashMap<u32, i64> {
        let busy = self.busy_beside_communication();
        let exposed = self.communication().map(|(index, op)| {
            let own = Interval::new(op.start, op.end);
            (index, own.len_ns() - busy.get(&op.device).map_or(0, |busy| busy.overlap_ns(own)))
        });
        exposed.collect()
    }

    /// How long nothing but communication ran on a device within an interval, however many of its kernels at once, nanoseconds.
    pub(super) fn exposed_communication_ns(&self, device: u32, within: Interval) -> i64 {
        let busy = self.busy_beside_communication();
        let busy = busy.get(&device);
        let own = self.communication().filter(|(_, op)| op.device == device);
        let union = Union::of(own.map(|(_, op)| Interval::new(op.start, op.end).clip(within)));
        union.len_ns() - busy.map_or(0, |busy| busy.common_ns(&union))
    }

    /// How long kernels of a device computed with no communication beside them, nanoseconds.
    pub(super) fn compute_alone_ns(&self, device: u32) -> i64 {
        let union = |is_kind: fn(OpKind) -> bool| {
            let own = self.part.ops.iter().filter(|op| op.device == device && is_kind(op.kind));
            Union::of(own.map(|op| Interval::new(op.start, op.end)))
        };
        let compute = union(OpKind::is_compute);
        compute.len_ns() - compute.common_ns(&union(|kind| kind == OpKind::Communication))
    }

    fn communication(&self) -> impl Iterator<Item = (u32, &Op)> {
        (0_u32..).zip(&self.part.ops).filter(|(_, op)| op.kind == OpKind::Communication)
    }

    /// By device: when it ran anything but communication.
    fn busy_beside_communication(&self) -> HashMap<u32, Union> {
        let mut busy: HashMap<u32, Union> = HashMap::default();
        for op in self.part.ops.iter().filter(|op| op.kind != OpKind::Communication) {
            busy.entry(op.device).or_default().push(Interval::new(op.start, op.end));
        }
        busy
    }
}

/// A device is full at all of it, give or take what rounding leaves.
const FULL_MILLIONTHS: u64 = 1_001_000;

/// What runs where operations take turns.
#[derive(Debug, Default)]
struct Running {
    /// When each copy engine of a device is free.
    engines: Vec<((u32, u8), i64)>,
    /// The engine of each device that has one for both directions.
    shared: HashMap<u32, SharedEngine>,
    /// What kernels fill, by device.
    kernels: Vec<(u32, Filled)>,
}

/// Copies further apart do not pass each other.
const MAX_KEPT_COPIES: usize = 64;

/// The one copy engine of a device. Who overlaps copies there asks for the next one in before the last one goes back, whatever the
/// order was in the recording: so a copy takes the first gap that it fits into.
#[derive(Debug, Default)]
struct SharedEngine {
    /// By start, and none over another.
    busy: VecDeque<Interval>,
    /// Before this it is not looked at.
    free_from: Option<i64>,
}

impl SharedEngine {
    /// Takes the first gap for so long from a time on: when it begins.
    fn take(&mut self, time: i64, run_ns: i64) -> i64 {
        let mut start = self.free_from.map_or(time, |free| free.max(time));
        let mut place = 0;
        for (index, busy) in self.busy.iter().enumerate() {
            if start.saturating_add(run_ns) <= busy.start {
                break;
            }
            start = start.max(busy.end);
            place = index + 1;
        }
        self.busy.insert(place, Interval::new(start, start.saturating_add(run_ns)));
        if self.busy.len() > MAX_KEPT_COPIES {
            self.free_from = self.busy.pop_front().map(|first| first.end);
        }
        start
    }
}

/// The kernels that a device runs, and how much of it they fill.
#[derive(Debug, Default)]
struct Filled {
    /// When each ends, and its share in millionths: sums of whole numbers stay exact however often one is taken off.
    ends: BinaryHeap<Reverse<(i64, u64)>>,
    sum_millionths: u64,
}

impl Filled {
    /// When there is room for one more, at a time or later.
    fn room_from(&mut self, share_millionths: u64, mut time: i64) -> i64 {
        loop {
            while let Some(Reverse((end, share))) = self.ends.peek().copied()
                && end <= time
            {
                self.ends.pop();
                self.sum_millionths -= share;
            }
            let is_full =
                self.sum_millionths + share_millionths > FULL_MILLIONTHS || self.ends.len() >= MAX_KERNELS_AT_ONCE;
            match self.ends.peek() {
                Some(Reverse((next, _))) if is_full => time = *next,
                _ => return time,
            }
        }
    }

    fn push(&mut self, end: i64, share_millionths: u64) {
        self.ends.push(Reverse((end, share_millionths)));
        self.sum_millionths += share_millionths;
    }
}

fn millionths(share: f32) -> u64 {
    (f64::from(share) * 1e6).round() as u64
}

impl Running {
    /// When an operation that could begin at a time, and runs for so long, has its turn.
    fn turn(&mut self, play: &Play<'_>, op: u32, time: i64, run_ns: i64) -> i64 {
        let model = play.model;
        if let Some(engine) = engine(model, op).filter(|_| play.turns.copies) {
            if engine.1 == BOTH_WAYS {
                return self.shared.entry(engine.0).or_default().take(time, run_ns);
            }
            let free = self.engines.iter().find(|(known, _)| *known == engine);
            return time.max(free.map_or(i64::MIN, |(_, free)| *free));
        }
        let share = play.shares.get(op as usize).copied().unwrap_or(0.0);
        if share <= 0.0 {
            return time;
        }
        let device = model.op(op).device;
        let filled = self.kernels.iter_mut().find(|(known, _)| *known == device);
        filled.map_or(time, |(_, filled)| filled.room_from(millionths(share), time))
    }

    /// Notes that an operation ends.
    fn end(&mut self, play: &Play<'_>, op: u32, time: i64) {
        if let Some(engine) = engine(play.model, op).filter(|(_, engine)| play.turns.copies && *engine != BOTH_WAYS) {
            match self.engines.iter_mut().find(|(known, _)| *known == engine) {
                Some((_, free)) => *free = (*free).max(time),
                None => self.engines.push((engine, time)),
            }
        }
        let share = play.shares.get(op as usize).copied().unwrap_or(0.0);
        if share > 0.0 {
            let device = play.model.op(op).device;
            let position = self.kernels.iter().position(|(known, _)| *known == device).unwrap_or_else(|| {
                self.kernels.push((device, Filled::default()));
                self.kernels.len() - 1
            });
            self.kernels[position].1.push(time, millionths(share));
        }
    }
}

/// The copy engine of its device that an operation takes.
fn engine(model: &Model, op: u32) -> Option<(u32, u8)> {
    let op = model.op(op);
    op.engine.map(|engine| (op.device, engine))
}

/// Whether no copy begins before the last one of its engine has ended.
fn copies_take_turns(ops: &[Op]) -> bool {
    let mut ends: HashMap<(u32, u8), i64> = HashMap::default();
    ops.iter().filter_map(|op| Some((op, op.engine?))).all(|(op, engine)| {
        let end = ends.insert((op.device, engine), op.end);
        end.is_none_or(|end| end <= op.start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_the_same_where_all_of_each_is() {
        let part = Part { calls: Vec::new(), threads: Vec::new(), ops: Vec::new(), step_count: 0 };
        let edge = |from: u32| Edge { from, to: from + 1, lag_ns: 5, why: Why::Run };
        let edges: Vec<Edge> = (0..3 * EDGES_AT_ONCE as u32).map(edge).collect();
        let model = Model { edges: edges.clone(), ..Model::new(part) };
        let play = Play::new(&model);
        assert!(play.has_edges(&edges) && !play.has_edges(&edges[1..]) && !play.has_edges(&[]));
        let changes: [fn(&mut Edge); 4] =
            [|edge| edge.from += 1, |edge| edge.to += 1, |edge| edge.lag_ns = -5, |edge| edge.why = Why::Call];
        for change in changes {
            for place in [0, EDGES_AT_ONCE, edges.len() - 1] {
                let mut others = edges.clone();
                change(&mut others[place]);
                assert!(!play.has_edges(&others), "{:?}", others[place]);
            }
        }
    }

    #[test]
    fn copies_take_the_first_gap_of_the_one_engine() {
        let mut engine = SharedEngine::default();
        assert_eq!([engine.take(0, 30), engine.take(70, 30)], [0, 70]);
        // The next one in fits between the two, one more does not.
        assert_eq!([engine.take(10, 30), engine.take(10, 30), engine.take(10, 10)], [30, 100, 60]);
        assert_eq!([engine.take(200, 0), engine.take(0, 1)], [200, 130]);
    }
}
