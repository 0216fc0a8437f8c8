//! Events with the edges between them, and the playing of it.

use std::borrow::Cow;
use std::sync::OnceLock;

use foldhash::HashMap;

use super::record::{Call, Op, Part};
use super::running::{Place, Running};
use crate::ledger::OpKind;
use crate::steps::rows::Row;
use crate::timeline::interval::Interval;
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
    /// By which loops are looked at.
    pub(super) elementwise_rows: [OnceLock<Vec<ElementwiseRows>>; 2],
}

/// A chain of element-wise kernels, and the places where the same few come again.
pub(super) type ElementwiseRows = (Vec<u32>, Vec<Row>);

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
                What::OpStart(op) if takes_turns => time = running.turn(self.place(*op), time, runs[*op as usize]),
                What::OpEnd(op) if takes_turns => running.end(self.place(*op), time),
                _ => {}
            }
            times[position as usize] = time;
        }
        times
    }

    /// Where an operation runs, and what it takes turns at.
    fn place(&self, op: u32) -> Place {
        let row = self.model.op(op);
        let engine = row.engine.filter(|_| self.turns.copies);
        Place { device: row.device, engine, share: self.shares.get(op as usize).copied().unwrap_or(0.0) }
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
    use super::super::typical::Alike;
    use super::*;

    #[test]
    fn edges_are_the_same_where_all_of_each_is() {
        let of = Alike { count: 0, share: 1.0, leaves_out_slow: false };
        let part = Part { calls: Vec::new(), threads: Vec::new(), ops: Vec::new(), step_count: 0, of };
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
}
