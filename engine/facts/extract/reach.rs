//! Which time a change can reach at most: a replay that wins more of a step than the ledger has there is wrong somewhere.

use super::DeviceContext;
use crate::ledger::Account;
use crate::ledger::Account::{
    Compute, ExposedCommunication, ExposedCopy, ExposedMemset, ExposedMigration, IdleAllocate, IdleBlocked,
    IdleCompile, IdleCopyCall, IdleHost, IdleInit, IdleInterKernelGap, IdleLaunch, IdleLoad, IdlePrint, IdleProfiler,
    IdleQuery, IdleSync, IdleUnknown,
};
use crate::replay::{Change, Gain, spread};
use crate::steps::Step;

/// Idle time that another host would not leave: all but that of work which is launched and does not start.
const IDLE_OF_HOST: &[Account] = &[
    IdleInterKernelGap,
    IdleProfiler,
    IdleCompile,
    IdleLoad,
    IdleSync,
    IdlePrint,
    IdleQuery,
    IdleCopyCall,
    IdleAllocate,
    IdleInit,
    IdleLaunch,
    IdleBlocked,
    IdleHost,
    IdleUnknown,
];
/// Idle time in host code; a host that is early launches early.
const HOST_CODE: &[Account] = &[IdleHost, IdleLaunch, IdleInterKernelGap, IdleProfiler];
/// The same of a host that waits in the operating system.
const BLOCKED: &[Account] = &[IdleBlocked, IdleLaunch, IdleInterKernelGap, IdleProfiler];
/// The same of a host that waits for the device: what it allocates, compiles or sets up takes its time all the same.
const WAITING: &[Account] =
    &[IdleSync, IdleQuery, IdleCopyCall, IdleHost, IdleLaunch, IdleInterKernelGap, IdleProfiler];
const COPIES: &[Account] = &[ExposedCopy, ExposedMigration];
/// Idle time while the host waits for copies, as it does for all.
const WAITS: &[Account] = &[IdleSync, IdleQuery, IdleCopyCall];
const KERNELS: &[Account] = &[Compute, ExposedMemset];
const COMMUNICATION: &[Account] = &[ExposedCommunication];
const BUSY: &[Account] = &[Compute, ExposedCommunication, ExposedCopy, ExposedMigration, ExposedMemset];

/// How well a change is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Plainly,
    AsWellAsCanBe,
}

/// The most that changes can win of a step of one device.
pub(super) struct Bounds<'device> {
    device: &'device DeviceContext,
    /// How many steps the window holds. What the host does before the first begins is not in it, so that it holds all idle time of
    /// one step less: a bound may be too large, never too small.
    step_count: i64,
    /// Idle time in host code between two calls of one function of the operating system, which goes with them.
    between_calls_ns: i64,
}

impl<'device> Bounds<'device> {
    pub(super) fn new(device: &'device DeviceContext, steps: &[Step], between_calls_ns: i64) -> Self {
        Self { device, step_count: (steps.len() as i64).max(1), between_calls_ns }
    }

    /// Bounds what a replay says of changes, and of what is made with them at best.
    pub(super) fn bound(&self, changes: &[Change], at_best: &[Change], gain: Gain) -> Gain {
        let most_ns = |changes, made| self.most_ns(changes, made).unwrap_or(i64::MAX);
        // Another run may lose more to the host than this one.
        let reached_ns = (most_ns(at_best, Made::AsWellAsCanBe) as f64 * spread(at_best)) as i64;
        let ceiling_ns = gain.ceiling_ns.min(reached_ns);
        Gain { expected_ns: gain.expected_ns.min(most_ns(changes, Made::Plainly)).min(ceiling_ns), ceiling_ns }
    }

    /// Nanoseconds of a step that changes reach; absent where one may win any of its time.
    fn most_ns(&self, changes: &[Change], made: Made) -> Option<i64> {
        let mut reached = Vec::new();
        for change in changes {
            for accounts in reach(*change, made)? {
                reached.extend(*accounts);
            }
        }
        reached.sort_unstable();
        reached.dedup();
        let idle_step_count = (self.step_count - 1).max(1);
        let of_step = |account: Account| {
            let is_idle = account.top() == Account::Idle;
            self.device.account_ns(account) / if is_idle { idle_step_count } else { self.step_count }
        };
        let goes_with_calls = changes.contains(&Change::NoBlocking) && !reached.contains(&IdleHost);
        let between_ns = if goes_with_calls { self.between_calls_ns / idle_step_count } else { 0 };
        Some(reached.into_iter().map(of_step).sum::<i64>().saturating_add(between_ns))
    }
}

/// Accounts of a window that a change reaches; absent where it makes kernels themselves faster, or moves work between devices.
const fn reach(change: Change, made: Made) -> Option<&'static [&'static [Account]]> {
    Some(match (change, made) {
        // What operators of the CPU work on, and make, need not be copied where the device does it.
        (Change::HostAside, Made::Plainly) => &[HOST_CODE, COPIES, WAITS],
        (Change::HostAside, Made::AsWellAsCanBe) => &[IDLE_OF_HOST, COPIES],
        (Change::NoBlocking, Made::Plainly) => &[BLOCKED],
        (Change::NoSync, Made::Plainly) => &[WAITING],
        // Values that are not read back need no copy, nor kernels of their own.
        (Change::NoSync, Made::AsWellAsCanBe) => &[IDLE_OF_HOST, COPIES, KERNELS],
        // What is launched at once can be one kernel.
        (Change::Graph, Made::AsWellAsCanBe) => &[IDLE_OF_HOST, KERNELS],
        (
            Change::LoadAhead
            | Change::NoBlocking
            | Change::Graph
            | Change::CacheAllocations
            | Change::SetUpOnce
            | Change::LoadOnce,
            _,
        ) => &[IDLE_OF_HOST],
        (Change::KeepData | Change::BatchCopies | Change::PinCopies, _) => &[COPIES, IDLE_OF_HOST],
        (Change::OverlapCopies, Made::Plainly) => &[COPIES, WAITS],
        (Change::OverlapCommunication, _) => &[COMMUNICATION],
        (Change::NonBlockingStreams | Change::UnorderedStreams | Change::SpreadStreams, _) => &[BUSY],
        // Where steps overlap, their kernels may as well, and copies both ways.
        (Change::OverlapCopies, Made::AsWellAsCanBe)
        | (
            Change::LowerPrecision
            | Change::SinglePrecision
            | Change::ChannelsLast
            | Change::FuseOptimizer
            | Change::ForEach
            | Change::MergeCollectives
            | Change::FixedShapes
            | Change::FullGrid
            | Change::EvenGrid
            | Change::FuseAttention
            | Change::KeepActivations
            | Change::ReadInPlace
            | Change::KeepOrder
            | Change::Fuse
            | Change::KeepTensors
            | Change::ProcessPerGpu
            | Change::SteadySteps,
            _,
        ) => return None,
    })
}
