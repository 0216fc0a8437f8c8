//! What a host thread may do at a moment, and the account of idle time that it stands for.

use super::accounts::Account;
use crate::timeline::NameId;
use crate::timeline::interval::Interval;

/// What a thread did for a while.
#[derive(Debug, Clone, Copy)]
pub(super) struct Did {
    pub(super) time: Interval,
    pub(super) activity: Activity,
    /// The call that it was in, or [`NONE`](crate::timeline::NONE).
    pub(super) name: NameId,
    /// Whether it was in a call that has a name.
    pub(super) is_named: bool,
}

/// What a host thread does at a moment, in order of precedence: the first that holds owns the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// The profiler's own overhead.
    Profiler,
    /// Compiling code, whatever call that is done in.
    Compile,
    /// Loading code.
    Load,
    /// A blocking wait.
    Sync,
    /// A blocking wait in which the host prints what kernels wrote.
    Print,
    /// Polling.
    Query,
    /// A copy call that stages pageable memory or blocks.
    CopyCall,
    /// Memory management.
    Allocate,
    /// Set-up.
    Init,
    /// Inside a launch that waits for room in the queue.
    QueueFull,
    /// A launch or another asynchronous call, or little host code between two calls in which the thread runs.
    Launch,
    /// An OS call.
    Blocked,
    /// Off the CPU outside of any recorded OS call.
    OffCpu,
    /// Host code.
    Host,
    /// Not captured.
    Unknown,
}

impl Activity {
    /// Every activity, in order of precedence.
    pub(super) const ALL: [Self; 15] = [
        Self::Profiler,
        Self::Compile,
        Self::Load,
        Self::Sync,
        Self::Print,
        Self::Query,
        Self::CopyCall,
        Self::Allocate,
        Self::Init,
        Self::QueueFull,
        Self::Launch,
        Self::Blocked,
        Self::OffCpu,
        Self::Host,
        Self::Unknown,
    ];
    pub(super) const COUNT: usize = Self::ALL.len();

    /// The account of idle time during it: a launch that waits for room in the queue is a launch, time off the CPU is
    /// blocked.
    pub const fn account(self) -> Account {
        match self {
            Self::Profiler => Account::IdleProfiler,
            Self::Compile => Account::IdleCompile,
            Self::Load => Account::IdleLoad,
            Self::Sync => Account::IdleSync,
            Self::Print => Account::IdlePrint,
            Self::Query => Account::IdleQuery,
            Self::CopyCall => Account::IdleCopyCall,
            Self::Allocate => Account::IdleAllocate,
            Self::Init => Account::IdleInit,
            Self::QueueFull | Self::Launch => Account::IdleLaunch,
            Self::Blocked | Self::OffCpu => Account::IdleBlocked,
            Self::Host => Account::IdleHost,
            Self::Unknown => Account::IdleUnknown,
        }
    }

    /// The account of a stretch of idle time that began during it.
    pub const fn trigger(self) -> Account {
        match self {
            Self::Sync | Self::Print => Account::AfterSync,
            Self::CopyCall => Account::AfterCopy,
            Self::Allocate => Account::AfterAllocate,
            Self::QueueFull | Self::Launch => Account::AfterLaunch,
            Self::Profiler
            | Self::Compile
            | Self::Load
            | Self::Query
            | Self::Init
            | Self::Blocked
            | Self::OffCpu
            | Self::Host => Account::AfterOther,
            Self::Unknown => Account::AfterUnknown,
        }
    }

    /// Whether the host does nothing here but wait for the device.
    pub const fn waits_for_device(self) -> bool {
        matches!(self, Self::Sync | Self::Print | Self::Query | Self::CopyCall | Self::QueueFull)
    }
}
