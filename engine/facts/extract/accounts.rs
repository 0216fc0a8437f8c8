//! The accounts of a device's window, as its facts.

use std::cmp::Reverse;

use super::allocations::is_taken_anew;
use super::by_index::ByIndex;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Account, Breakdown, COLD_PIECES, MAX_ONCE_PIECE_COUNT, OpKind, START_UP_PIECES, TimeSum};
use crate::timeline::columns::{Direction, HostMemory};
use crate::timeline::{Capability, Timeline};

/// A few pieces that hold this share of an account are what it is.
const ONCE_SHARE: f64 = 0.8;
/// A single pass is a cold one when the host loads, compiles and sets up for this share of it, and together with allocations for
/// that share.
const COLD_SHARES: (f64, f64) = (0.25, 0.5);
/// What follows a start-up that takes as much of the window is its end.
const COLD_START_SHARE: f64 = 0.8;
/// A kernel that is launched as often repeats.
const REPEATED_LAUNCH_COUNT: i64 = 5;

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    for account in Account::all().filter(|account| is_told(timeline, device, *account)) {
        facts.set(account.fact(), device.account_ns(account));
    }
}

/// What of each account occurs once.
pub(super) fn once(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let Repeats { count: repeat_count, usual_count, work_share } = Repeats::of(timeline, device);
    facts.set("repeat_count", repeat_count);
    facts.set_some("repeated_work_share", work_share);
    let once_accounts =
        || Account::all().filter(|account| account.can_be_once() && is_told(timeline, device, *account));
    facts.set("is_cold_pass", is_cold(device));
    if is_cold(device) {
        // What is given back and taken anew comes again, though nothing tells rounds.
        let is_again = is_taken_anew(context, device);
        for account in once_accounts() {
            let is_again = is_again && matches!(account, Account::IdleAllocate | Account::AfterAllocate);
            facts.set(account.once_fact(), if is_again { 0 } else { device.account_ns(account) });
            facts.set(account.once_count_fact(), if is_again { 0 } else { COLD_PIECES });
        }
        return;
    }
    single_collective(device, repeat_count, facts);
    let most_pieces = match repeat_count {
        ..4 if device.ops.start_up.len_ns() == 0 => return,
        ..4 => 0,
        // Where steps are told, what two or three of them have comes again.
        ..40 if device.told.sure_steps().is_some() => 1,
        40..100 if device.told.sure_steps().is_some() => 2,
        4..8 => 1,
        8..12 => 2,
        _ => MAX_ONCE_PIECE_COUNT,
    };
    for account in once_accounts() {
        let pieces = pieces_of(device, account);
        let before_ns = device.tally.in_start_up[account] + device.idle().in_start_up[account];
        if account == Account::IdleBlocked && is_called_again(timeline, device) {
            facts.set(account.once_fact(), 0);
            facts.set(account.once_count_fact(), 0);
            continue;
        }
        // A collective waits for other ranks wherever it stands: a single one that takes nearly all of the time waits once.
        let is_collective = account == Account::ExposedCommunication;
        let most_pieces = if is_collective { most_pieces.min(1) } else { most_pieces };
        if !is_collective && before_ns > 0 && before_ns as f64 >= ONCE_SHARE * pieces.sum_ns as f64 {
            facts.set(account.once_fact(), before_ns);
            facts.set(account.once_count_fact(), START_UP_PIECES);
            continue;
        }
        let (held_ns, count) = once_in(device, account, &pieces, (most_pieces, usual_count));
        facts.set(account.once_fact(), held_ns);
        facts.set(account.once_count_fact(), count);
    }
}

/// How much of an account a few pieces hold that come once, and how many of them; 0 where they come again.
fn once_in(
    device: &DeviceContext,
    account: Account,
    pieces: &TimeSum,
    (most_pieces, usual_count): (usize, i64),
) -> (i64, i64) {
    let mut held_ns = 0;
    // What one stretch holds may be many pieces: the host code between short calls.
    let in_stretches = device.idle().in_stretches[account];
    let parts = if in_stretches.count > 0 { &in_stretches } else { pieces };
    let needed = parts.longest_pieces_ns().into_iter().take(most_pieces).position(|length_ns| {
        held_ns += length_ns;
        held_ns as f64 >= ONCE_SHARE * pieces.sum_ns as f64
    });
    let Some(needed) = needed.filter(|_| pieces.sum_ns > 0) else { return (0, 0) };
    // Between n rounds there are n - 1 pauses, which come again with them.
    let is_between = usual_count > 1 && needed as i64 + 1 >= usual_count - 1;
    let is_spaced = needed + 1 == MAX_ONCE_PIECE_COUNT && parts.is_evenly_spaced(device.window());
    // What each size costs comes with any size.
    let comes_again = is_between || is_spaced || parts.is_of_sizes();
    if comes_again { (0, 0) } else { (held_ns, needed as i64 + 1) }
}

/// Of two or three steps a single collective waits in one.
fn single_collective(device: &DeviceContext, repeat_count: i64, facts: &mut Entity) {
    let (collective, is_few) = (Account::ExposedCommunication, (2..4).contains(&repeat_count));
    if is_few && device.told.sure_steps().is_some() && pieces_of(device, collective).count == 1 {
        facts.set(collective.once_fact(), device.account_ns(collective));
        facts.set(collective.once_count_fact(), 1);
    }
}

/// Whether all that was recorded is one pass that does everything for the first time: nothing tells where the work would begin
/// to repeat, and most of the time goes into what a second pass finds done.
fn is_cold(device: &DeviceContext) -> bool {
    let share = |accounts: &[Account]| {
        let sum: i64 = accounts.iter().map(|account| device.account_ns(*account)).sum();
        sum as f64 / device.window().len_ns().max(1) as f64
    };
    // What is set up again and again, as a stream for each round, is no cold start.
    let in_stretches = device.idle().in_stretches[Account::IdleInit].longest_pieces_ns().into_iter().sum::<i64>();
    let is_few = 2 * in_stretches >= device.account_ns(Account::IdleInit);
    let first_time: &[Account] = if is_few {
        &[Account::IdleLoad, Account::IdleCompile, Account::IdleInit]
    } else {
        &[Account::IdleLoad, Account::IdleCompile]
    };
    let start_up_share = device.ops.start_up.len_ns() as f64 / device.window().len_ns().max(1) as f64;
    device.told.steps.is_none()
        && !device.told.is_phase()
        && (start_up_share == 0.0 || start_up_share >= COLD_START_SHARE)
        && share(first_time) >= COLD_SHARES.0
        && share(first_time) + share(&[Account::IdleAllocate]) >= COLD_SHARES.1
}

/// Where the longest piece of each account lies.
pub(super) fn places(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    for account in Account::all().filter(|account| account.has_place() && is_told(timeline, device, *account)) {
        let pieces = pieces_of(device, account);
        // Where only sums are told, nobody knows in which pieces the host did it.
        let has_pieces = account.part_of() != Some(Breakdown::Activity) || device.idle().summed_count == 0;
        if pieces.sum_ns > 0 && has_pieces {
            let longest = longest_of(device, account, &pieces);
            facts.set(account.longest_fact(), longest.0);
            facts.set(account.longest_start_fact(), longest.1);
        }
    }
}

/// The longest piece of an account, and when it begins; of host code the longest run.
fn longest_of(device: &DeviceContext, account: Account, pieces: &TimeSum) -> (i64, i64) {
    let run = device.idle().host_run.longest();
    if account == Account::IdleHost && run.len_ns() > pieces.longest_ns {
        return (run.len_ns().min(pieces.sum_ns), run.start);
    }
    (pieces.longest_ns, pieces.longest_start_ns)
}

/// The pieces that an account comes in: of operations, or of idle time.
fn pieces_of(device: &DeviceContext, account: Account) -> TimeSum {
    let of_ops = device.tally.pieces[account];
    if of_ops.count > 0 { of_ops } else { device.idle().sums[account] }
}

/// Whether the thread spends at least as long in the OS call that most of its blocked time lies in, before or after the window.
fn is_called_again(timeline: &Timeline, device: &DeviceContext) -> bool {
    let (Some(main), Some((call, sum))) = (device.main_thread, device.idle().main_call(timeline, Account::IdleBlocked))
    else {
        return false;
    };
    let calls = &timeline.os_calls;
    let of_call = calls.times.iter().zip(&calls.thread).zip(&calls.name);
    let of_call = of_call.filter(|((_, thread), name)| **thread == main && **name == call);
    let outside = of_call.map(|((times, _), _)| times.len_ns() - times.overlap_ns(device.window()));
    outside.fold(0, i64::saturating_add) >= sum.sum_ns
}

/// How the work of a device repeats.
struct Repeats {
    /// How often, at most.
    count: i64,
    /// How often the kernels are launched that half of the kernel time lies in, at least.
    usual_count: i64,
    /// The share of the time of kernels and graphs that is in those which come back often enough; absent without any.
    work_share: Option<f64>,
}

impl Repeats {
    fn of(timeline: &Timeline, device: &DeviceContext) -> Self {
        let mut kernels = device.ops.in_window().filter(|op| op.kind.is_kernel());
        if let Some(steps) = device.told.sure_steps() {
            // All that lies in steps repeats.
            let count = steps.steps.len() as i64;
            let work_share = kernels.any(|op| op.interval().len_ns() > 0).then_some(1.0);
            return Self { count, usual_count: count, work_share };
        }
        // By kernel, and of all graphs: launches, and their time. What one launch of a graph runs again and again, as the layers
        // of a model, comes once with it.
        let mut of_names: ByIndex<Launches> = ByIndex::default();
        let mut of_graphs = Launches::default();
        for op in kernels {
            let launches = match op.kind {
                OpKind::Graph => &mut of_graphs,
                _ => of_names.of(timeline.kernels.shape_of(op.index).name, Launches::default),
            };
            launches.add(op.call(timeline), op.interval().len_ns());
        }
        let of_graphs = Some(of_graphs).filter(|launches| launches.count > 0);
        let launches: Vec<Launches> = of_names.into_list().into_iter().map(|(_, of)| of).chain(of_graphs).collect();
        let sum = |least: i64| {
            let of = launches.iter().filter(|launches| launches.count >= least);
            of.fold(0_i64, |sum, launches| sum.saturating_add(launches.sum_ns))
        };
        let all_ns = sum(0);
        let share = (all_ns > 0).then(|| sum(REPEATED_LAUNCH_COUNT) as f64 / all_ns as f64);
        let count = launches.iter().map(|launches| launches.count).max().unwrap_or(0);
        let usual = launches.into_iter().map(|launches| (launches.count, launches.sum_ns)).collect();
        Self { count, usual_count: usual_count(usual, all_ns), work_share: share }
    }
}

/// The launches of one kernel, and their time.
#[derive(Debug, Clone, Copy, Default)]
struct Launches {
    count: i64,
    sum_ns: i64,
    /// The last call that asked for one, where one did.
    last_call: Option<u32>,
}

impl Launches {
    /// What one call asks for again counts once.
    fn add(&mut self, call: Option<u32>, ns: i64) {
        let is_again = call.is_some() && self.last_call == call;
        self.count += i64::from(!is_again);
        self.last_call = call.or(self.last_call);
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }
}

/// How often kernels are launched that half of the time of all lies in, at least: of the launches and the time of each.
fn usual_count(mut launches: Vec<(i64, i64)>, all_ns: i64) -> i64 {
    launches.sort_unstable_by_key(|(count, _)| Reverse(*count));
    let mut held_ns = 0_i128;
    let usual = launches.into_iter().find(|(_, ns)| {
        held_ns += i128::from(*ns);
        2 * held_ns >= i128::from(all_ns)
    });
    usual.map_or(0, |(count, _)| count)
}

/// Whether the recording tells an account.
fn is_told(timeline: &Timeline, device: &DeviceContext, account: Account) -> bool {
    match account.needs() {
        // Without the calls of its processes nothing is known of the host: then only the unknown has a number.
        Capability::CudaApi => device.knows_host || matches!(account, Account::IdleUnknown | Account::AfterUnknown),
        Capability::DeviceInfo => device.properties(timeline).is_some_and(|known| known.sm_count.is_some()),
        _ => is_memory_told(device, account),
    }
}

/// Where copies of memory that is not known may be of a kind, nothing tells that there are none.
fn is_memory_told(device: &DeviceContext, account: Account) -> bool {
    use Account::{CopyToDevicePageable, CopyToDevicePinned, CopyToHostPageable, CopyToHostPinned};
    let direction = match account {
        CopyToDevicePageable | CopyToDevicePinned => Direction::HostToDevice,
        CopyToHostPageable | CopyToHostPinned => Direction::DeviceToHost,
        _ => return true,
    };
    let mut exposed = device.tally.exposed_copies.keys();
    device.account_ns(account) > 0 || !exposed.any(|(of, memory, _)| *of == direction && *memory == HostMemory::Unknown)
}
