//! The changes: what a fix does to the model, each small and named.

mod activations;
mod aside;
mod copies;
mod gathered;
mod graph;
mod host;
mod keep_data;
mod kernels;
mod merged;
mod operators;
mod precision;
mod programs;
mod sorted;
mod unlinked;

use super::model::{Edge, Play, What, Why};
use super::record::Op;
use super::setting::Setting;
use crate::timeline::api::ApiClass;
use crate::timeline::link::LinkRates;
pub(super) use copies::{LAST_WAVE_SHARE, is_large_copy};
pub use gathered::gathers;
pub(super) use host::is_scalar_readback;
use programs::Loops;
pub use programs::PieceLoop;
pub use sorted::{SORTING, UNFOLLOWED};

/// How much of it a change is taken to win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Extent {
    /// What a plain fix brings.
    Expected,
    /// Everything that it could bring.
    Ceiling,
}

impl Extent {
    /// The rate of pinned copies, bytes a nanosecond: at best the most that the link may carry.
    pub(super) const fn rate(self, rates: LinkRates) -> f64 {
        match self {
            Self::Expected => rates.least,
            Self::Ceiling => rates.most,
        }
    }
}

macro_rules! changes {
    ($($change:ident $id:literal $fact:literal $help:literal)+) => {
        /// A change of the recorded program.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Change {
            $(#[doc = $help] $change,)+
        }

        impl Change {
            /// Every change, in the order in which they are made.
            pub const ALL: &'static [Self] = &[$(Self::$change,)+];

            /// Its name on the command line.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$change => $id,)+ }
            }

            /// The fact of what a plain fix brings.
            pub const fn expected_fact(self) -> &'static str {
                match self { $(Self::$change => concat!($fact, "_expected_gain_ns"),)+ }
            }

            /// The fact of everything that it could bring.
            pub const fn ceiling_fact(self) -> &'static str {
                match self { $(Self::$change => concat!($fact, "_ceiling_gain_ns"),)+ }
            }

            /// What the first of them means.
            pub const fn expected_meaning(self) -> &'static str {
                match self { $(Self::$change => concat!($help, " What that is expected to gain by itself of replay_step_ns, a step."),)+ }
            }

            /// What the second means.
            pub const fn ceiling_meaning(self) -> &'static str {
                match self { $(Self::$change => concat!($help, " The most that it could gain of replay_step_ns, a step: where a tenth of it or more is expected, with what is mostly made with it."),)+ }
            }

            /// What is changed, in one sentence.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$change => $help,)+ }
            }
        }
    };
}

changes! {
    LowerPrecision "lower-precision" "lower_precision" "Matrix products in fp32 run on tensor cores: TF32 is expected, bf16 is the ceiling."
    SinglePrecision "single-precision" "single_precision" "What is computed in double precision is in single: half the bytes, and matrix products in TF32 where there is that; at best in bf16."
    ChannelsLast "channels-last" "channels_last" "Tensors lie as convolutions on tensor cores want them: nothing changes their layout, and normalisation reads them in order."
    FuseOptimizer "fuse-optimizer" "fuse_optimizer" "The optimizer updates all tensors at once: its few element-wise kernels for one tensor after another run once."
    ForEach "for-each" "for_each" "The few element-wise kernels that run for one tensor after another run once for all of them."
    FixedShapes "fixed-shapes" "fixed_shapes" "Masks take the place of chosen elements, whose number the host has to wait for; where that is done for one piece of data after the other, all pieces become one batch."
    FullGrid "full-grid" "full_grid" "Kernels with fewer blocks than the GPU has SMs fill it."
    EvenGrid "even-grid" "even_grid" "Kernels that end in a wave of blocks which fills only part of the GPU fill it to their end."
    Fuse "fuse" "fuse" "Chains of element-wise kernels become one pass over memory."
    KeepTensors "keep-tensors" "keep_tensors" "Tensors are made in the type and layout that their users read: casts and layout copies go."
    FuseAttention "fuse-attention" "fuse_attention" "Attention that is written out becomes one kernel, which keeps no matrix of weights in memory."
    KeepActivations "keep-activations" "keep_activations" "What the forward pass computes is kept for the backward pass, which runs no operator of it again."
    KeepData "keep-data" "keep_data" "Data that goes to the GPU and back, in copies of pageable memory of one size, stays there; what the host does with it in between is done there."
    ReadInPlace "read-in-place" "read_in_place" "What operators of a framework copy by an index is read where it lies: half of it is expected to be needed, nothing of it at best."
    KeepOrder "keep-order" "keep_order" "What operators of a framework sort lies in order already, or less of it is sorted: all that they launch to sort goes; at best with what follows it in the step."
    BatchCopies "batch-copies" "batch_copies" "Small copies in a row become one, packed by the host."
    PinCopies "pin-copies" "pin_copies" "Pageable host memory is pinned: copies run at the rate of the link and their calls return at once."
    CacheAllocations "cache-allocations" "cache_allocations" "Memory is allocated once: calls that allocate and free take no time and wait for nothing."
    SetUpOnce "set-up-once" "set_up_once" "Streams, events, graphs and handles are made once: calls that set up or capture take no time."
    LoadOnce "load-once" "load_once" "Code is loaded once: calls that load or unload modules take no time, nor does what the host does between two of them, and right behind one that loads."
    NoSync "no-sync" "no_sync" "The host waits for nothing, and reads small results back only now and then."
    LoadAhead "load-ahead" "load_ahead" "Batches of data are there before they are asked for: other processes prepare them."
    HostAside "host-aside" "host_aside" "Host code between calls goes to other threads."
    NoBlocking "no-blocking" "no_blocking" "The threads that launch never wait in the operating system."
    Graph "graph" "graph" "The calls of a step become one launch of a CUDA graph; where a loop calls recurrent cells, one layer of a library takes their place."
    NonBlockingStreams "non-blocking-streams" "non_blocking_streams" "No stream waits for the legacy default stream."
    UnorderedStreams "unordered-streams" "unordered_streams" "No stream waits for an event of another."
    SpreadStreams "spread-streams" "spread_streams" "Small kernels of one step run in streams of their own, as far as they fit together."
    OverlapCopies "overlap-copies" "overlap_copies" "Copies between host and device run beside the work of other steps, with two buffers, or one more than streams take turns with already."
    OverlapCommunication "overlap-communication" "overlap_communication" "Communication runs beside compute, which it slows."
    MergeCollectives "merge-collectives" "merge_collectives" "Small collectives of a step become few large ones: each loses what starting it takes."
    ProcessPerGpu "process-per-gpu" "process_per_gpu" "Each GPU has a process of its own, and gradients are summed beside the backward pass."
    SteadySteps "steady-steps" "steady_steps" "Every step takes as long as the median step."
}

impl Change {
    /// Whether it takes work of the host away, which varies from run to run.
    pub const fn is_of_host(self) -> bool {
        self.is_of_idle_time()
            || matches!(
                self,
                Self::BatchCopies
                    | Self::KeepData
                    | Self::FuseOptimizer
                    | Self::ForEach
                    | Self::MergeCollectives
                    | Self::FixedShapes
                    | Self::ProcessPerGpu
                    | Self::KeepActivations
                    | Self::KeepOrder
            )
    }

    /// Whether it takes little but time away in which the device has nothing to do.
    pub const fn is_of_idle_time(self) -> bool {
        matches!(
            self,
            Self::CacheAllocations
                | Self::SetUpOnce
                | Self::LoadOnce
                | Self::NoSync
                | Self::LoadAhead
                | Self::HostAside
                | Self::NoBlocking
                | Self::Graph
        )
    }

    /// Whether it changes kernels alone: what it wins lies where these run and are launched, however fast the host is elsewhere.
    pub(super) const fn is_of_kernels(self) -> bool {
        matches!(
            self,
            Self::LowerPrecision
                | Self::SinglePrecision
                | Self::ChannelsLast
                | Self::FullGrid
                | Self::EvenGrid
                | Self::Fuse
                | Self::KeepTensors
                | Self::ReadInPlace
                | Self::FuseAttention
        )
    }

    /// Whether it leaves every kernel where it is, and as long as it is, but for what [`Extent::Ceiling`] says of it.
    pub(super) const fn keeps_kernels(self) -> bool {
        self.is_of_idle_time()
            || matches!(self, Self::KeepData | Self::BatchCopies | Self::NonBlockingStreams | Self::UnorderedStreams)
    }

    /// Whether kernels of one stream may run beside each other after it: at best pinned copies are overlapped as well.
    pub(super) const fn spreads_kernels(self) -> bool {
        matches!(self, Self::OverlapCopies | Self::PinCopies)
    }

    /// Whether work goes to other streams or devices, or it is no change of what a step does: then kernels of the step bound nothing.
    pub(super) const fn moves_work(self) -> bool {
        matches!(self, Self::SpreadStreams | Self::ProcessPerGpu | Self::SteadySteps)
    }

    /// Whether it takes away what the host does by itself, however that is done in another run.
    pub(super) const fn is_of_host_code(self) -> bool {
        matches!(self, Self::LoadAhead | Self::HostAside | Self::NoBlocking)
    }

    /// Whether another change makes all of it, and more.
    pub const fn is_part_of(self, whole: Self) -> bool {
        matches!((self, whole), (Self::FuseOptimizer, Self::ForEach))
    }

    /// What is mostly made with it by whoever makes it, or goes with it: the most that it could win counts that as well.
    const fn along(self) -> &'static [Self] {
        match self {
            // A graph, or one call for many, holds no waits.
            Self::Graph => &[Self::NoSync],
            // Who writes in another thread does there what the host does beside it.
            Self::NoBlocking => &[Self::HostAside],
            Self::CacheAllocations => &[Self::NoSync, Self::SetUpOnce, Self::CacheAllocations],
            // Who keeps handles, plans or modules keeps all of them, with the memory that they take.
            Self::SetUpOnce | Self::LoadOnce => {
                &[Self::NoSync, Self::SetUpOnce, Self::LoadOnce, Self::CacheAllocations]
            }
            Self::BatchCopies => &[Self::PinCopies, Self::NoSync, Self::HostAside],
            Self::PinCopies => &[Self::OverlapCopies],
            Self::OverlapCopies => &[Self::PinCopies, Self::NoSync],
            // Compiled code fuses, casts on the way and is launched as a graph.
            Self::Fuse | Self::KeepTensors => &[Self::Fuse, Self::KeepTensors, Self::Graph],
            Self::NonBlockingStreams | Self::UnorderedStreams => &[Self::NonBlockingStreams, Self::UnorderedStreams],
            Self::SpreadStreams => &[Self::FullGrid],
            _ => &[],
        }
    }

    /// Some changes with all that is mostly made with them.
    pub(super) fn with_along(changes: &[Self]) -> Vec<Self> {
        let is_wanted =
            |change: &&Self| changes.contains(change) || changes.iter().any(|wanted| wanted.along().contains(change));
        Self::ALL.iter().filter(is_wanted).copied().collect()
    }

    /// The change with a name.
    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|change| change.id() == id)
    }
}

/// Who expects this share of a step, or of its kernels, of a change changes what goes with it as well; for less nobody does.
pub(super) const LARGE_SHARE: f64 = 0.1;

/// So many reads in a step are those of a loop.
const MIN_READS_OF_LOOP: usize = 16;

/// Recording takes no more of a call, or of host code, than this share, as far as was measured; where it costs the most, than the
/// second: docs/gains.md.
pub(super) const MAX_PROFILER_SHARE: f64 = 0.75;
pub(super) const MOST_PROFILER_SHARE: f64 = 0.8;
/// The same of code in Python whose every function is recorded.
const MAX_FRAMES_SHARE: f64 = 0.85;
/// No launch takes less on any host, recorded or not.
const LEAST_LAUNCH_NS: i64 = 1_000;

impl Play<'_> {
    /// Makes a change, as far as it goes. `before_ns` is the host code before each call, where something was asked for by no call.
    pub(super) fn apply(&mut self, change: Change, extent: Extent, setting: &Setting<'_>, before_ns: Option<&[i64]>) {
        match change {
            Change::LowerPrecision => self.lower_precision(extent, setting),
            Change::SinglePrecision => self.single_precision(extent, setting),
            Change::ChannelsLast => self.channels_last(extent, setting),
            Change::FuseOptimizer => self.for_each(Loops::OfOptimizer, extent, setting),
            Change::ForEach => self.for_each(Loops::All, extent, setting),
            Change::FixedShapes => self.fixed_shapes(extent, setting),
            Change::ProcessPerGpu => self.process_per_gpu(extent, setting),
            Change::FullGrid => self.full_grid(extent, setting),
            Change::EvenGrid => self.even_grid(extent, setting),
            Change::KeepTensors => self.keep_tensors(extent, setting),
            Change::FuseAttention => self.fuse_attention(extent, setting),
            Change::KeepActivations => self.keep_activations(setting),
            Change::ReadInPlace => self.read_in_place(extent, setting),
            Change::KeepOrder => self.keep_order(extent, setting),
            Change::Fuse => self.fuse(extent, setting),
            Change::KeepData => self.keep_data(extent, setting),
            Change::BatchCopies => self.batch_copies(extent, setting),
            Change::PinCopies => self.pin_copies(extent, setting),
            Change::CacheAllocations => self.cache_allocations(extent, setting),
            Change::SetUpOnce => self.make_once(ApiClass::Init, extent, setting),
            Change::LoadOnce => self.make_once(ApiClass::Load, extent, setting),
            Change::NoSync => self.no_sync(extent, setting),
            Change::LoadAhead => self.load_ahead(extent),
            Change::HostAside => self.host_aside(extent, setting),
            Change::NoBlocking => self.no_blocking(),
            Change::Graph => self.graph(extent, setting),
            Change::NonBlockingStreams => self.non_blocking_streams(extent, setting),
            Change::UnorderedStreams => self.unordered_streams(extent, setting),
            Change::SpreadStreams => self.spread_streams(extent, setting),
            Change::OverlapCopies => self.overlap_copies(extent, setting),
            Change::MergeCollectives => self.merge_collectives(extent, setting),
            Change::OverlapCommunication => self.overlap_communication(extent),
            // Not a change of the model: the lengths of steps say it.
            Change::SteadySteps => {}
        }
        if let Some(before_ns) = before_ns {
            self.shorten_unlinked(before_ns, change, extent, setting);
        }
        self.sort();
    }

    /// Takes what recording costs from calls and from the host code between them: `of_gap` says it of the code before a call, and
    /// `of_frames` what recording its functions of Python costs; no more of either than a share.
    pub(super) fn without_profiler(&mut self, call_cost_ns: i64, of_gap: &[i64], of_frames: &[i64], most_share: f64) {
        let model = self.model;
        for edge in &mut self.edges {
            let cost = match (edge.why, model.what[edge.to as usize]) {
                // A wait that has seen the device done is recorded as well before it returns.
                (Why::Call, What::CallEnd(call)) if model.call(call).class == ApiClass::Launch => {
                    call_cost_ns.min((edge.lag_ns - LEAST_LAUNCH_NS).max(0))
                }
                (Why::Call | Why::Sync, What::CallEnd(_)) => call_cost_ns,
                (Why::Program | Why::HandOver, What::CallStart(call)) => {
                    let frames_ns = of_frames.get(call as usize).copied().unwrap_or(0);
                    edge.lag_ns -= frames_ns.min((edge.lag_ns as f64 * MAX_FRAMES_SHARE) as i64).max(0);
                    of_gap.get(call as usize).copied().unwrap_or(0)
                }
                _ => continue,
            };
            edge.lag_ns -= cost.min((edge.lag_ns as f64 * most_share) as i64).max(0);
        }
    }

    /// Sets how long operations run: `None` leaves one as it is.
    fn set_runs(&mut self, run: impl Fn(u32, &Op, i64) -> Option<i64>) {
        let model = self.model;
        for edge in self.edges.iter_mut().filter(|edge| edge.why == Why::Run) {
            let What::OpStart(op) = model.what[edge.from as usize] else { continue };
            if let Some(ns) = run(op, model.op(op), edge.lag_ns) {
                edge.lag_ns = ns.clamp(0, edge.lag_ns);
            }
        }
    }

    /// The call that an edge leads to the return of.
    fn returning(&self, edge: &Edge) -> Option<u32> {
        match self.model.what[edge.to as usize] {
            What::CallEnd(call) => Some(call),
            _ => None,
        }
    }

    /// The operation that an edge leads to the start of.
    fn starting(&self, edge: &Edge) -> Option<u32> {
        match self.model.what[edge.to as usize] {
            What::OpStart(op) => Some(op),
            _ => None,
        }
    }

    /// Makes calls take a time of their own at most, and wait for nothing.
    fn free_calls(&mut self, own: impl Fn(u32) -> Option<i64>) {
        let mut edges = std::mem::take(&mut self.edges);
        edges.retain_mut(|edge| {
            let Some(own_ns) = self.returning(edge).and_then(&own) else { return true };
            edge.lag_ns = edge.lag_ns.min(own_ns);
            edge.why == Why::Call
        });
        self.edges = edges;
    }

    /// Makes operations take no time and wait for no launch.
    fn drop_ops(&mut self, is_dropped: impl Fn(&Op) -> bool) {
        self.set_runs(|_, op, _| is_dropped(op).then_some(0));
        let mut edges = std::mem::take(&mut self.edges);
        for edge in &mut edges {
            if self.starting(edge).is_some_and(|op| is_dropped(self.model.op(op))) {
                edge.lag_ns = 0;
            }
        }
        self.edges = edges;
    }
}
