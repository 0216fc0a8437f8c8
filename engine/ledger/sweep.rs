//! One walk over a device's operations that hands each moment of the window to exactly one account.

use std::cmp::Reverse;

use super::accounts::{Account, ByAccount};
use super::first::FirstOf;
use super::ops::{DeviceOps, Op, OpKind, OpRef};
use crate::timeline::columns::Direction;
use crate::timeline::interval::Interval;
use crate::timeline::{Geometry, Timeline};

/// A stretch of the window in which the same operations run.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// When.
    pub interval: Interval,
    /// Whose it is.
    pub account: Account,
    /// The operation that owns it: of those of the account's kind, the one that began first. `None` when idle.
    pub owner: Option<Op>,
    /// Blocks of all kernels that run together; `None` when some kernel's grid is not known.
    pub blocks: Option<i64>,
    /// Kernels and graphs that run, communication among them.
    pub kernels: u32,
    /// Copies between host and device that run.
    pub host_copies: u32,
    /// Those of them to the host.
    pub copies_to_host: u32,
    /// Copies that run.
    pub copies: u32,
    /// Migrations that run.
    pub migrations: u32,
    /// Streams that run anything.
    pub streams: u32,
    /// Streams that run kernels.
    pub kernel_streams: u32,
    /// The operation that ends it, when it is idle and one follows.
    pub next: Option<OpRef>,
    /// An operation that ended when it began, when it is idle.
    pub previous: Option<OpRef>,
}

/// A part of a window that is swept by itself: the parts of one follow each other and cover it.
#[derive(Debug, Clone, Copy)]
pub struct Part<'all> {
    /// When.
    window: Interval,
    /// The operations that have not ended when it begins, and those that begin later, up to the next part.
    ops: &'all [Op],
    /// The last one that ended before.
    previous: Option<Op>,
}

impl Part<'_> {
    /// How many operations there are, at most.
    pub const fn op_count(&self) -> usize {
        self.ops.len()
    }
}

/// Parts are no more than this, and hold so many operations each.
const MAX_PARTS: usize = 8;
const LEAST_PART: usize = 1 << 16;

/// A window in parts that begin when the device goes idle. Where that is depends on the operations alone, so that what is added up part by
/// part is the same on any machine.
pub fn parts(device: &DeviceOps) -> Vec<Part<'_>> {
    let ops = device.list();
    cut(ops, device.window, (ops.len() / MAX_PARTS).max(LEAST_PART))
}

/// The parts that hold so many operations each, or more where the device is not idle then.
fn cut(ops: &[Op], window: Interval, enough: usize) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut part = Part { window, ops, previous: None };
    let (mut first, mut previous): (usize, Option<Op>) = (0, None);
    for (position, op) in ops.iter().enumerate().filter(|(_, op)| op.end > op.start) {
        let idle_since = previous.map_or(i64::MAX, |op| op.end);
        if position - first >= enough && idle_since < op.start && part.window.start < idle_since {
            if op.start >= window.end {
                break;
            }
            parts.push(Part {
                window: Interval::new(part.window.start, idle_since),
                ops: &ops[first..position],
                ..part
            });
            part = Part { window: Interval::new(idle_since, window.end), ops: &ops[position..], previous };
            first = position;
        }
        if op.end >= previous.map_or(i64::MIN, |op| op.end) {
            previous = Some(*op);
        }
    }
    parts.push(part);
    parts
}

/// Walks the operations and calls `visit` for every moment of a part of the window, in time order. The moments are disjoint and
/// cover it.
pub fn sweep(timeline: &Timeline, part: Part<'_>, mut visit: impl FnMut(&Moment)) {
    let Part { window, ops, previous } = part;
    let mut state = State::new(timeline, ops, previous);
    let mut pending = Pending::new(ops);
    let mut now = pending.first().map_or(window.start, |op| op.start.min(window.start));
    while now < window.end {
        let next = pending.first();
        let next_end = state.next_end();
        // Mostly nothing runs, and what comes next ends before anything else begins.
        if let Some(op) = next.filter(|_| next_end.is_none())
            && pending.second_start().is_none_or(|start| start >= op.end)
        {
            if let Some(idle) = within(window, now, op.start) {
                visit(&state.moment(idle, next));
            }
            if let Some(run) = within(window, op.start, op.end) {
                visit(&state.alone(run, op));
            }
            (now, state.last_ended) = (op.end, Some(op));
            pending.pass();
            continue;
        }
        let next_start = next.map(|op| op.start);
        let until = [next_start, next_end].into_iter().flatten().min().unwrap_or(window.end).max(now);
        if let Some(interval) = within(window, now, until) {
            visit(&state.moment(interval, next));
        }
        now = until;
        state.finish(now);
        while let Some(op) = pending.first().filter(|op| op.start <= now) {
            state.begin(pending.position as u32, op);
            pending.pass();
        }
        if next_start.is_none() && next_end.is_none() {
            break;
        }
    }
}

/// What of a stretch lies in the window, if it has a length there.
fn within(window: Interval, start: i64, end: i64) -> Option<Interval> {
    Some(Interval::new(start, end).clip(window)).filter(|interval| interval.len_ns() > 0)
}

/// The operations that have not begun. One without length holds no moment, and ends no idle stretch.
struct Pending<'all> {
    ops: &'all [Op],
    /// The place of the first of them.
    position: usize,
}

impl<'all> Pending<'all> {
    fn new(ops: &'all [Op]) -> Self {
        let mut pending = Self { ops, position: 0 };
        pending.skip_empty();
        pending
    }

    fn first(&self) -> Option<Op> {
        self.ops.get(self.position).copied()
    }

    /// When the next after that begins, or one without length before it.
    fn second_start(&self) -> Option<i64> {
        self.ops.get(self.position + 1).map(|op| op.start)
    }

    fn pass(&mut self) {
        self.position += 1;
        self.skip_empty();
    }

    fn skip_empty(&mut self) {
        while self.ops.get(self.position).is_some_and(|op| op.end <= op.start) {
            self.position += 1;
        }
    }
}

struct State<'timeline> {
    timeline: &'timeline Timeline,
    /// All operations, in the order in which they take precedence over others of their account.
    ops: &'timeline [Op],
    /// Running operations by end: their positions in the list.
    ends: FirstOf<Reverse<(i64, u32)>>,
    /// Operations of each account by position, some of which may have ended: those are dropped when they come to the top.
    owners: ByAccount<FirstOf<Reverse<u32>>>,
    /// How many run, by kind.
    running: [u32; OpKind::ALL.len()],
    host_copies: u32,
    copies_to_host: u32,
    blocks: i64,
    kernels_without_grid: u32,
    streams: Counts,
    kernel_streams: Counts,
    last_ended: Option<Op>,
    now: i64,
}

/// How many of each thing run, and how many different things.
struct Counts {
    each: Vec<u32>,
    different: u32,
}

impl Counts {
    fn add(&mut self, index: u32) {
        if let Some(count) = self.each.get_mut(index as usize) {
            self.different += u32::from(*count == 0);
            *count += 1;
        }
    }

    fn remove(&mut self, index: u32) {
        if let Some(count) = self.each.get_mut(index as usize) {
            *count = count.saturating_sub(1);
            self.different -= u32::from(*count == 0);
        }
    }
}

const fn account(kind: OpKind) -> Account {
    match kind {
        OpKind::Kernel | OpKind::Graph => Account::Compute,
        OpKind::Communication => Account::ExposedCommunication,
        OpKind::Copy => Account::ExposedCopy,
        OpKind::Migration => Account::ExposedMigration,
        OpKind::Memset => Account::ExposedMemset,
    }
}

impl<'timeline> State<'timeline> {
    fn new(timeline: &'timeline Timeline, ops: &'timeline [Op], last_ended: Option<Op>) -> Self {
        let counts = || Counts { each: vec![0; timeline.streams.len()], different: 0 };
        Self {
            timeline,
            ops,
            ends: FirstOf::default(),
            owners: ByAccount::default(),
            running: [0; OpKind::ALL.len()],
            host_copies: 0,
            copies_to_host: 0,
            blocks: 0,
            kernels_without_grid: 0,
            streams: counts(),
            kernel_streams: counts(),
            last_ended,
            now: i64::MIN,
        }
    }

    fn next_end(&self) -> Option<i64> {
        self.ends.peek().map(|Reverse((end, _))| *end)
    }

    fn begin(&mut self, position: u32, op: Op) {
        self.ends.push(Reverse((op.end, position)));
        self.owners[account(op.kind)].push(Reverse(position));
        self.change(op, true);
    }

    fn finish(&mut self, now: i64) {
        self.now = now;
        while let Some(Reverse((_, position))) = self.ends.peek().copied().filter(|Reverse((end, _))| *end <= now) {
            self.ends.pop();
            let op = self.ops[position as usize];
            self.owners[account(op.kind)].drop_while(|Reverse(first)| *first == position);
            self.change(op, false);
            self.last_ended = Some(op);
        }
    }

    fn change(&mut self, op: Op, begins: bool) {
        let step = |count: &mut u32| *count = if begins { *count + 1 } else { count.saturating_sub(1) };
        step(&mut self.running[op.kind as usize]);
        if op.kind == OpKind::Copy {
            let direction = self.timeline.copies.direction.get(op.index as usize);
            if matches!(direction, Some(Direction::HostToDevice | Direction::DeviceToHost)) {
                step(&mut self.host_copies);
            }
            if direction == Some(&Direction::DeviceToHost) {
                step(&mut self.copies_to_host);
            }
        }
        if op.kind.is_kernel() {
            match self.grid_blocks(op) {
                Some(blocks) if begins => self.blocks = self.blocks.saturating_add(blocks),
                Some(blocks) => self.blocks = self.blocks.saturating_sub(blocks),
                None => step(&mut self.kernels_without_grid),
            }
        }
        let stream = op.stream(self.timeline);
        // A migration runs on no stream of the program.
        let any = (op.kind != OpKind::Migration).then_some(&mut self.streams);
        let counts = [any, op.kind.is_kernel().then_some(&mut self.kernel_streams)];
        for counts in counts.into_iter().flatten() {
            if begins { counts.add(stream) } else { counts.remove(stream) }
        }
    }

    /// Blocks of a kernel's grid, as far as they matter for filling a device; `None` for graphs and unknown grids.
    fn grid_blocks(&self, op: Op) -> Option<i64> {
        const ENOUGH: i64 = 1 << 20;
        kernel_geometry(self.timeline, op)
            .map(|geometry| geometry.grid_blocks)
            .filter(|blocks| *blocks > 0)
            .map(|blocks| blocks.min(ENOUGH))
    }

    /// The moment of an operation beside which nothing runs.
    fn alone(&self, interval: Interval, op: Op) -> Moment {
        let is_kernel = op.kind.is_kernel();
        let direction = self.timeline.copies.direction.get(op.index as usize).filter(|_| op.kind == OpKind::Copy);
        let is_to_host = direction == Some(&Direction::DeviceToHost);
        let streams = u32::from((op.stream(self.timeline) as usize) < self.streams.each.len());
        Moment {
            interval,
            account: account(op.kind),
            owner: Some(op),
            blocks: if is_kernel { self.grid_blocks(op) } else { Some(0) },
            kernels: u32::from(is_kernel),
            host_copies: u32::from(is_to_host || direction == Some(&Direction::HostToDevice)),
            copies_to_host: u32::from(is_to_host),
            copies: u32::from(op.kind == OpKind::Copy),
            migrations: u32::from(op.kind == OpKind::Migration),
            streams: if op.kind == OpKind::Migration { 0 } else { streams },
            kernel_streams: if is_kernel { streams } else { 0 },
            next: None,
            previous: None,
        }
    }

    fn owner(&mut self, account: Account) -> Option<Op> {
        let heap = &mut self.owners[account];
        loop {
            let op = self.ops[heap.peek()?.0 as usize];
            if op.end > self.now {
                return Some(op);
            }
            heap.pop();
        }
    }

    fn moment(&mut self, interval: Interval, next: Option<Op>) -> Moment {
        let [kernel, graph, communication, copy, migration, memset] = self.running;
        let account = match (kernel + graph, communication, copy, migration, memset) {
            (1.., ..) => Account::Compute,
            (_, 1.., ..) => Account::ExposedCommunication,
            (_, _, 1.., ..) => Account::ExposedCopy,
            (_, _, _, 1.., _) => Account::ExposedMigration,
            (.., 1..) => Account::ExposedMemset,
            _ => Account::Idle,
        };
        Moment {
            interval,
            account,
            owner: self.owner(account),
            blocks: (self.kernels_without_grid == 0).then_some(self.blocks),
            kernels: kernel + graph + communication,
            host_copies: self.host_copies,
            copies_to_host: self.copies_to_host,
            copies: copy,
            migrations: migration,
            streams: self.streams.different,
            kernel_streams: self.kernel_streams.different,
            next: next.filter(|_| account == Account::Idle).map(Op::reference),
            previous: self.last_ended.filter(|_| account == Account::Idle).map(Op::reference),
        }
    }
}

/// The launch geometry of a kernel; `None` for other operations.
pub fn kernel_geometry(timeline: &Timeline, op: Op) -> Option<Geometry> {
    if !matches!(op.kind, OpKind::Kernel | OpKind::Communication) {
        return None;
    }
    timeline.geometry_of(op.index)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::timeline::builder::{Builder, Limits};

    /// Operations of any length, close together or apart, some of them side by side and some without length.
    fn any_ops() -> impl Strategy<Value = Vec<Op>> {
        let op = (0..9_i64, 0..12_i64, 0..OpKind::ALL.len());
        proptest::collection::vec(op, 1..80).prop_map(|rows| {
            let mut start = 0;
            let ops = (0_u32..).zip(rows).map(|(index, (apart, length, kind))| {
                start += apart;
                Op { start, end: start + length, index, kind: OpKind::ALL[kind] }
            });
            let mut ops: Vec<Op> = ops.collect();
            ops.sort_by_key(|op| (op.start, op.kind, op.index));
            ops
        })
    }

    proptest! {
        #[test]
        fn parts_hold_the_moments_of_the_whole(
            ops in any_ops(),
            enough in 1..20_usize,
            from in -5..100_i64,
            length in 1..400_i64,
        ) {
            let timeline = Builder::new(Limits::default()).finish();
            let moments = |part: Part<'_>| {
                let mut moments = Vec::new();
                sweep(&timeline, part, |moment| moments.push(format!("{moment:?}")));
                moments
            };
            let window = Interval::new(from, from + length);
            let whole = moments(Part { window, ops: &ops, previous: None });
            let parts = cut(&ops, window, enough);
            prop_assert!(parts[..parts.len() - 1].iter().all(|part| part.ops.len() >= enough));
            prop_assert_eq!(parts.into_iter().flat_map(moments).collect::<Vec<_>>(), whole);
        }
    }
}
