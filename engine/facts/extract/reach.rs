//! Which time a change can reach at most: a replay that wins more of a step than the ledger has there is wrong somewhere.

use super::DeviceContext;
use crate::ledger::Account;
use crate::ledger::Account::{
    AfterCopy, AfterSync, ExposedCommunication, ExposedCopy, ExposedMigration, Idle, IdleQueue,
};
use crate::replay::{Change, Gain, HOST_SPREAD};
use crate::steps::Step;

/// The part of the window that steps fill, from which on its accounts are theirs.
const LEAST_STEP_SHARE: f64 = 0.8;

/// The most that changes can win of a step of one device.
pub(super) struct Bounds<'device> {
    device: &'device DeviceContext,
    /// A step as recorded, nanoseconds; absent where the window is no sequence of steps.
    step_ns: Option<i64>,
}

impl<'device> Bounds<'device> {
    pub(super) fn new(device: &'device DeviceContext, steps: &[Step], step_ns: i64) -> Self {
        let inside: i64 = steps.iter().map(|step| step.device.len_ns()).sum();
        let is_of_steps = inside as f64 >= LEAST_STEP_SHARE * device.window().len_ns() as f64;
        Self { device, step_ns: is_of_steps.then_some(step_ns) }
    }

    /// Bounds what a replay says of changes.
    pub(super) fn bound(&self, changes: &[Change], gain: Gain) -> Gain {
        let most_ns = |is_plain| self.most_ns(changes, is_plain).unwrap_or(i64::MAX);
        // Another run may lose more to the host than this one.
        let spread = if changes.iter().any(|change| change.is_of_host()) { HOST_SPREAD } else { 1.0 };
        let ceiling_ns = gain.ceiling_ns.min((most_ns(false) as f64 * spread) as i64);
        Gain { expected_ns: gain.expected_ns.min(most_ns(true)).min(ceiling_ns), ceiling_ns }
    }

    /// Nanoseconds of a step that changes reach, made plainly or as well as can be; absent where one may win any of its time.
    fn most_ns(&self, changes: &[Change], is_plain: bool) -> Option<i64> {
        let step_ns = self.step_ns?;
        let reaches = changes.iter().map(|change| Reach::of(*change, is_plain)).collect::<Option<Vec<Reach>>>()?;
        let sum: i64 = reaches.into_iter().reduce(Reach::with).unwrap_or_default().ns(self.device);
        let window_ns = self.device.window().len_ns().max(1);
        Some((sum as f64 / window_ns as f64 * step_ns as f64) as i64)
    }
}

/// Time of a window, as accounts that do not overlap.
#[derive(Debug, Clone, Copy, Default)]
struct Reach {
    idle: ReachOfIdle,
    copies: bool,
    communication: bool,
    compute: bool,
}

/// Which idle time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum ReachOfIdle {
    #[default]
    None,
    /// What begins while the host waits or is in a copy call.
    AfterWaits,
    /// All but that of work which is launched and does not start: no host can help there.
    OfHost,
}

impl Reach {
    /// Absent where the change makes kernels themselves faster, or moves work between devices.
    fn of(change: Change, is_plain: bool) -> Option<Self> {
        let idle = Self { idle: ReachOfIdle::OfHost, ..Self::default() };
        match change {
            Change::NoSync
            | Change::LoadAhead
            | Change::HostAside
            | Change::NoBlocking
            | Change::Graph
            | Change::CacheAllocations => Some(idle),
            Change::BatchCopies | Change::PinCopies => Some(Self { copies: true, ..idle }),
            // Where steps overlap, their kernels may as well, and copies both ways.
            Change::OverlapCopies => {
                is_plain.then_some(Self { idle: ReachOfIdle::AfterWaits, copies: true, ..Self::default() })
            }
            Change::OverlapCommunication => Some(Self { communication: true, ..Self::default() }),
            Change::NonBlockingStreams | Change::SpreadStreams => {
                Some(Self { copies: true, communication: true, compute: true, ..Self::default() })
            }
            Change::LowerPrecision
            | Change::ChannelsLast
            | Change::ForEach
            | Change::FixedShapes
            | Change::FullGrid
            | Change::Fuse
            | Change::ProcessPerGpu
            | Change::SteadySteps => None,
        }
    }

    /// What either reaches.
    fn with(self, other: Self) -> Self {
        Self {
            idle: self.idle.max(other.idle),
            copies: self.copies || other.copies,
            communication: self.communication || other.communication,
            compute: self.compute || other.compute,
        }
    }

    fn ns(self, device: &DeviceContext) -> i64 {
        let ns = |account: Account| device.account_ns(account);
        let idle_ns = match self.idle {
            ReachOfIdle::None => 0,
            ReachOfIdle::AfterWaits => ns(AfterSync) + ns(AfterCopy),
            ReachOfIdle::OfHost => ns(Idle) - ns(IdleQueue),
        };
        let sum = |is_reached: bool, accounts: &[Account]| {
            if is_reached { accounts.iter().map(|account| ns(*account)).sum::<i64>() } else { 0 }
        };
        let rest_ns =
            device.window().len_ns() - ns(Idle) - ns(ExposedCopy) - ns(ExposedMigration) - ns(ExposedCommunication);
        idle_ns
            + sum(self.copies, &[ExposedCopy, ExposedMigration])
            + sum(self.communication, &[ExposedCommunication])
            + if self.compute { rest_ns } else { 0 }
    }
}
