//! The table of accounts: everything that time of a device's window is booked under, written down once.
//!
//! Facts, reviews, comparisons and the bar iterate over it. A new account is a row here, and a line where its time is booked.

use std::ops::{Index, IndexMut};

use crate::timeline::Capability;
use crate::timeline::columns::{Direction, HostMemory};

/// How a number goes with the amount of work: what a program that does everything twice would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// Twice as much: a sum over the work.
    Extensive,
    /// Twice as much, and what lies between the two rounds of work.
    ExtensiveWithGaps,
    /// The same: a size, a median, a share, a rate.
    Intensive,
    /// Either: of start-up, of one event that is the longest by chance, or of stretches that may join.
    OneTime,
    /// Not comparable: a moment, an id, a version, or no number at all.
    Incomparable,
}

impl Scaling {
    /// Whether it is a sum over the work.
    pub const fn is_per_unit(self) -> bool {
        matches!(self, Self::Extensive | Self::ExtensiveWithGaps)
    }
}

/// A way to divide an account into others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breakdown {
    /// The window by what runs, in order of precedence: a moment belongs to the first that holds. They sum to it.
    Operation,
    /// Exposed copies by direction and host memory. They sum to it.
    CopyKind,
    /// Idle time by what the thread that ended each stretch was doing at each moment of it. They sum to it.
    Activity,
    /// Idle time by where that thread was when the device went idle. They sum to it.
    Trigger,
    /// The parts of compute time that do not use the whole device. They may overlap, and do not sum to it.
    Waste,
}

impl Breakdown {
    pub(crate) const ALL: [Self; 5] = [Self::Operation, Self::CopyKind, Self::Activity, Self::Trigger, Self::Waste];

    /// The account that is divided.
    pub const fn whole(self) -> Account {
        match self {
            Self::Operation => Account::Window,
            Self::CopyKind => Account::ExposedCopy,
            Self::Activity | Self::Trigger => Account::Idle,
            Self::Waste => Account::Compute,
        }
    }

    /// The accounts that it is divided into.
    pub fn accounts(self) -> impl Iterator<Item = Account> {
        Account::all().filter(move |account| account.row().part_of == Some(self))
    }
}

/// The facts of the line of code that something comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceFacts {
    /// The line: `train.py:118 (train_step)`.
    pub place: &'static str,
    /// How much comes from it.
    pub share: &'static str,
    /// Whether its file lies in the project's folder.
    pub is_in_project: &'static str,
}

/// What the table says of an account.
#[derive(Debug)]
struct Row {
    account: Account,
    id: &'static str,
    fact: &'static str,
    once_fact: &'static str,
    once_count_fact: &'static str,
    longest_fact: &'static str,
    longest_start_fact: &'static str,
    source: SourceFacts,
    part_of: Option<Breakdown>,
    sign: &'static str,
    label: &'static str,
    scaling: Scaling,
    needs: Capability,
    meaning: &'static str,
}

/// One row an account: `Variant { id, breakdown, sign, label, scaling, needs, meaning }`.
macro_rules! accounts {
    ($($account:ident { $id:literal, $part_of:expr, $sign:literal, $label:literal, $scaling:ident, $needs:ident, $meaning:literal })+) => {
        /// An account of a device's window.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Account {
            $(#[doc = $meaning] $account,)+
        }

        const TABLE: &[Row] = &[$(Row {
            account: Account::$account,
            id: $id,
            fact: concat!($id, "_ns"),
            once_fact: concat!($id, "_once_ns"),
            once_count_fact: concat!($id, "_once_count"),
            longest_fact: concat!($id, "_longest_ns"),
            longest_start_fact: concat!($id, "_longest_start_ns"),
            source: SourceFacts {
                place: concat!($id, "_source"),
                share: concat!($id, "_source_share"),
                is_in_project: concat!("is_", $id, "_source_in_project"),
            },
            part_of: $part_of,
            sign: $sign,
            label: $label,
            scaling: Scaling::$scaling,
            needs: Capability::$needs,
            meaning: $meaning,
        },)+];
    };
}

const OPERATION: Option<Breakdown> = Some(Breakdown::Operation);
const COPY_KIND: Option<Breakdown> = Some(Breakdown::CopyKind);
const ACTIVITY: Option<Breakdown> = Some(Breakdown::Activity);
const TRIGGER: Option<Breakdown> = Some(Breakdown::Trigger);
const WASTE: Option<Breakdown> = Some(Breakdown::Waste);

accounts! {
    Window { "window", None, "", "window", ExtensiveWithGaps, CudaTrace,
        "The time that is accounted for: from the first to the last GPU operation, or what --window or --range leaves of it." }

    Compute { "compute", OPERATION, "█", "compute", Extensive, CudaTrace,
        "At least one kernel that is not communication, or one graph launch whose kernels are hidden, runs." }
    ExposedCommunication { "exposed_communication", OPERATION, "▓", "communication", Extensive, CudaTrace,
        "Of kernels only collectives run, by their names (NCCL, RCCL, HCCL, cross_device_reduce, all_reduce_two_shot), perhaps beside copies. Other reductions across devices count as compute." }
    ExposedCopy { "exposed_copy", OPERATION, "▒", "copy", Extensive, CudaTrace,
        "No kernel runs, but a copy does." }
    ExposedMigration { "exposed_migration", OPERATION, "≈", "unified-memory migration", Extensive, CudaTrace,
        "Only unified-memory migrations run, perhaps beside memsets." }
    ExposedMemset { "exposed_memset", OPERATION, "▪", "memset", Extensive, CudaTrace,
        "Only memsets run." }
    Idle { "idle", OPERATION, "·", "idle", ExtensiveWithGaps, CudaTrace,
        "Nothing runs." }

    CopyToDevicePageable { "exposed_copy_h2d_pageable", COPY_KIND, "", "copy to device, pageable", Extensive, CudaTrace,
        "Part of exposed_copy_ns: host to device, pageable host memory. When several copies run, the one that began first owns the moment." }
    CopyToDevicePinned { "exposed_copy_h2d_pinned", COPY_KIND, "", "copy to device, pinned", Extensive, CudaTrace,
        "Part of exposed_copy_ns: host to device, pinned host memory." }
    CopyToHostPageable { "exposed_copy_d2h_pageable", COPY_KIND, "", "copy to host, pageable", Extensive, CudaTrace,
        "Part of exposed_copy_ns: device to host, pageable host memory." }
    CopyToHostPinned { "exposed_copy_d2h_pinned", COPY_KIND, "", "copy to host, pinned", Extensive, CudaTrace,
        "Part of exposed_copy_ns: device to host, pinned host memory." }
    CopyOnDevices { "exposed_copy_device", COPY_KIND, "", "copy in or between devices", Extensive, CudaTrace,
        "Part of exposed_copy_ns: within the device or between devices." }
    CopyOther { "exposed_copy_other", COPY_KIND, "", "copy, other", Extensive, CudaTrace,
        "Part of exposed_copy_ns: every other direction or memory kind, managed and unknown among them." }

    IdleInterKernelGap { "idle_inter_kernel_gap", ACTIVITY, "", "inter-kernel gaps", ExtensiveWithGaps, CudaApi,
        "The launch had returned and the device had not started: up to 5 us of each stretch, the ordinary gap between two operations." }
    IdleQueue { "idle_queue", ACTIVITY, "", "launched, not started", ExtensiveWithGaps, CudaApi,
        "The launch had returned and the device had not started, beyond those 5 us: a dependency on another stream or device, another process, latency." }
    IdleProfiler { "idle_profiler", ACTIVITY, "", "profiler overhead", ExtensiveWithGaps, CudaApi,
        "The profiler's own overhead." }
    IdleCompile { "idle_compile", ACTIVITY, "", "compiling", OneTime, CudaApi,
        "Compiling, linking or optimising code, whatever calls that hides in: told by JIT overhead rows, by functions and files of call stacks, by ranges, and by waits for the programs of a compiler." }
    IdleLoad { "idle_load", ACTIVITY, "", "loading modules", OneTime, CudaApi,
        "Module load, lazy loading, loading of libraries, a kernel's first launch that takes over 100 us with no long queue before it, or a set-up call that takes far longer than others of its name." }
    IdleSync { "idle_sync", ACTIVITY, "", "sync return latency", ExtensiveWithGaps, CudaApi,
        "Still inside a blocking wait although the device had gone idle: the latency of its return." }
    IdlePrint { "idle_print", ACTIVITY, "", "printing for kernels", ExtensiveWithGaps, CudaApi,
        "Inside a blocking wait although the device had gone idle, where a file is flushed within that wait: the host prints there what kernels wrote with printf. Without the record of calls of the OS it counts as idle_sync_ns." }
    IdleQuery { "idle_query", ACTIVITY, "", "polling", ExtensiveWithGaps, CudaApi,
        "Polling a stream or an event." }
    IdleCopyCall { "idle_copy_call", ACTIVITY, "", "in a copy call", ExtensiveWithGaps, CudaApi,
        "Inside a copy call that stages pageable memory or blocks." }
    IdleAllocate { "idle_allocate", ACTIVITY, "", "allocation", ExtensiveWithGaps, CudaApi,
        "Allocation, free, registration of memory, pool trimming." }
    IdleInit { "idle_init", ACTIVITY, "", "set-up", OneTime, CudaApi,
        "Set-up of contexts, streams, events, devices and libraries." }
    IdleLaunch { "idle_launch", ACTIVITY, "", "launching", ExtensiveWithGaps, CudaApi,
        "Inside a launch or another asynchronous call, or in host code that leads to one: between two API calls less than 50 us apart, or as long as the thread takes before most of its launches." }
    IdleBlocked { "idle_blocked", ACTIVITY, "", "blocked in the OS", ExtensiveWithGaps, CudaApi,
        "In an OS call that waits or does I/O, or off the CPU by the scheduler's record." }
    IdleHost { "idle_host", ACTIVITY, "", "host code", ExtensiveWithGaps, CudaApi,
        "Host code: no CUDA call, no recorded OS call." }
    IdleUnknown { "idle_unknown", ACTIVITY, "", "not known", OneTime, CudaApi,
        "The capture does not say what the host was doing." }

    AfterQueued { "idle_while_queued", TRIGGER, "", "work already launched", ExtensiveWithGaps, CudaApi,
        "Stretches whose next operation had been launched already when the device went idle." }
    AfterSync { "idle_after_sync", TRIGGER, "", "a blocking sync call", ExtensiveWithGaps, CudaApi,
        "Stretches that began while the thread was in a blocking wait." }
    AfterCopy { "idle_after_copy_call", TRIGGER, "", "a blocking copy call", ExtensiveWithGaps, CudaApi,
        "Stretches that began while the thread was in a copy call that stages pageable memory or blocks." }
    AfterAllocate { "idle_after_allocate", TRIGGER, "", "allocation", ExtensiveWithGaps, CudaApi,
        "Stretches that began while the thread was allocating, freeing or registering memory." }
    AfterLaunch { "idle_after_launch", TRIGGER, "", "launching", ExtensiveWithGaps, CudaApi,
        "Stretches that began while the thread was in a launch, another asynchronous call, or in host code that leads to one." }
    AfterOther { "idle_after_other", TRIGGER, "", "host code or the OS", ExtensiveWithGaps, CudaApi,
        "Stretches that began anywhere else: host code, the OS, loading, polling, the profiler." }
    AfterUnknown { "idle_after_unknown", TRIGGER, "", "not known", OneTime, CudaApi,
        "Stretches whose thread the capture does not tell." }

    Underfilled { "underfilled", WASTE, "", "under-filled compute", Extensive, DeviceInfo,
        "Compute time in which every kernel that runs has fewer blocks than the device has SMs, and the kernels together too." }
    UnusedSm { "unused_sm", WASTE, "", "unused SMs", Extensive, DeviceInfo,
        "The same, times the share of the SMs without a block: what is lost of the device." }
    Faulting { "faulting", WASTE, "", "compute under migrations", Extensive, CudaTrace,
        "Compute time in which unified-memory migrations run under the kernel." }
}

impl Account {
    /// How many there are.
    pub const COUNT: usize = TABLE.len();

    /// Every account, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.account)
    }

    /// The account at a position of the table.
    pub(crate) const fn at(index: usize) -> Self {
        TABLE[index].account
    }

    /// The account with an id, if there is one.
    pub fn parse(id: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.id == id).map(|row| row.account)
    }

    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Its name: the stem of its fact, as rules claim it (`exposed_copy`).
    pub const fn id(self) -> &'static str {
        self.row().id
    }

    /// The fact of the device that holds it (`exposed_copy_ns`).
    pub const fn fact(self) -> &'static str {
        self.row().fact
    }

    /// The fact of the device that holds what of it occurs once (`idle_host_once_ns`), where [`Self::can_be_once`].
    pub const fn once_fact(self) -> &'static str {
        self.row().once_fact
    }

    /// The fact that holds in how many pieces (`idle_host_once_count`).
    pub const fn once_count_fact(self) -> &'static str {
        self.row().once_count_fact
    }

    /// The fact that holds its longest piece (`idle_host_longest_ns`), where [`Self::has_place`].
    pub const fn longest_fact(self) -> &'static str {
        self.row().longest_fact
    }

    /// The fact that holds when that begins (`idle_host_longest_start_ns`).
    pub const fn longest_start_fact(self) -> &'static str {
        self.row().longest_start_fact
    }

    /// Whether its longest piece is a place to look at.
    pub const fn has_place(self) -> bool {
        self.can_be_once()
    }

    /// The facts of the line of the program's own code in which the host was for most of it, where [`Self::has_source`].
    pub const fn source(self) -> SourceFacts {
        self.row().source
    }

    /// Whether the host's code brings it about: what the host does in idle time, and the calls in which the device runs dry.
    pub const fn has_source(self) -> bool {
        match self.row().part_of {
            Some(Breakdown::Activity) => {
                !matches!(self, Self::IdleInterKernelGap | Self::IdleQueue | Self::IdleProfiler | Self::IdleUnknown)
            }
            Some(Breakdown::Trigger) => matches!(self, Self::AfterSync | Self::AfterCopy | Self::AfterAllocate),
            _ => false,
        }
    }

    /// Whether its time comes in pieces that may occur once: idle time, collectives, copies, memsets, migrations. Other kernels
    /// that follow each other closely are many, though they leave no gap.
    pub const fn can_be_once(self) -> bool {
        match self.row().part_of {
            Some(Breakdown::CopyKind | Breakdown::Activity | Breakdown::Trigger) => true,
            _ => matches!(
                self,
                Self::ExposedCommunication | Self::ExposedCopy | Self::ExposedMemset | Self::ExposedMigration
            ),
        }
    }

    /// The breakdown that it belongs to; `None` for the window.
    pub const fn part_of(self) -> Option<Breakdown> {
        self.row().part_of
    }

    /// The account that it is a part of; `None` for the window.
    pub const fn parent(self) -> Option<Self> {
        match self.row().part_of {
            Some(breakdown) => Some(breakdown.whole()),
            None => None,
        }
    }

    /// The account of the window (what runs) that it lies in, which it may be itself; the window for the window.
    pub const fn top(self) -> Self {
        match self.parent() {
            None | Some(Self::Window) => self,
            Some(parent) => parent.top(),
        }
    }

    /// The breakdown whose accounts sum to it, where it has one; of several the first.
    pub fn breakdown(self) -> Option<Breakdown> {
        Breakdown::ALL.into_iter().find(|breakdown| breakdown.whole() == self && *breakdown != Breakdown::Waste)
    }

    /// What it is, as reviews print it.
    pub const fn label(self) -> &'static str {
        self.row().label
    }

    /// The character of the account of the window that it lies in, in the bar of a review.
    pub const fn sign(self) -> &'static str {
        self.top().row().sign
    }

    /// How it goes with the amount of work.
    pub const fn scaling(self) -> Scaling {
        self.row().scaling
    }

    /// What a recording must hold for it. Where that is missing, the account has no number.
    pub const fn needs(self) -> Capability {
        self.row().needs
    }

    /// What it means, in one sentence.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// The part of the exposed copies that copies of a kind belong to.
    pub const fn of_copy(direction: Direction, memory: HostMemory) -> Self {
        match (direction, memory) {
            (Direction::HostToDevice, HostMemory::Pageable) => Self::CopyToDevicePageable,
            (Direction::HostToDevice, HostMemory::Pinned) => Self::CopyToDevicePinned,
            (Direction::DeviceToHost, HostMemory::Pageable) => Self::CopyToHostPageable,
            (Direction::DeviceToHost, HostMemory::Pinned) => Self::CopyToHostPinned,
            (Direction::DeviceToDevice | Direction::Peer, _) => Self::CopyOnDevices,
            _ => Self::CopyOther,
        }
    }
}

/// A value for every account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByAccount<T>([T; Account::COUNT]);

/// Nanoseconds by account.
pub type Sums = ByAccount<i64>;

impl<T: Default> Default for ByAccount<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

impl<T> ByAccount<T> {
    /// Every account with its value.
    pub fn into_pairs(self) -> impl Iterator<Item = (Account, T)> {
        Account::all().zip(self.0)
    }

    /// Every account with its value, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Account, &mut T)> {
        Account::all().zip(&mut self.0)
    }
}

impl ByAccount<i64> {
    /// Adds what another has of each account.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }
}

impl<T> Index<Account> for ByAccount<T> {
    type Output = T;

    fn index(&self, account: Account) -> &T {
        &self.0[account as usize]
    }
}

impl<T> IndexMut<Account> for ByAccount<T> {
    fn index_mut(&mut self, account: Account) -> &mut T {
        &mut self.0[account as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_told_by_their_ids_and_every_one_leads_to_the_window() {
        for account in Account::all() {
            assert_eq!(Account::parse(account.id()), Some(account));
            assert_eq!(account.row().account, account);
            assert_eq!(account.sign().is_empty(), account == Account::Window);
            assert!(account == Account::Window || account.top().parent() == Some(Account::Window));
            assert!(account.meaning().ends_with('.') && !account.label().is_empty());
        }
    }

    #[test]
    fn signs_differ() {
        let signs: std::collections::BTreeSet<&str> = Breakdown::Operation.accounts().map(Account::sign).collect();
        assert_eq!(signs.len(), Breakdown::Operation.accounts().count());
    }
}
