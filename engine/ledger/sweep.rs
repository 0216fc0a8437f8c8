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

/// Walks the operations and calls `visit` for every moment of the window, in time order. The moments are disjoint and
/// cover the window.
pub fn sweep(timeline: &Timeline, device: &DeviceOps, mut visit: impl FnMut(&Moment)) {
    let mut state = State::new(timeline, device.list());
    let window = device.window;
    let mut pending = Pending::new(device.list());
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
    fn new(timeline: &'timeline Timeline, ops: &'timeline [Op]) -> Self {
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
            last_ended: None,
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
