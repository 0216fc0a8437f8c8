//! What a profiler of single kernels measured: no events in time, but the counters of each kernel that it ran.

/// How much of a report a printed page of it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// Every metric that was collected.
    #[default]
    Raw,
    /// The metrics that sections show, and what the profiler's own rules say.
    Details,
}

/// Kernels that were profiled one by one.
#[derive(Debug, Default)]
pub struct KernelProfiles {
    /// The page that they were read from.
    pub page: Page,
    /// One entry a kernel, grid and block, in the order of the file.
    pub kernels: Vec<KernelProfile>,
    /// Rows that could not be used.
    pub dropped_count: u64,
    /// Rows and kernels beyond a limit.
    pub beyond_limit_count: u64,
    /// Launches that do not tell how long they took.
    pub untimed_launch_count: u64,
    /// Launches of which counters of the hardware were asked for, and none was got.
    pub uncounted_launch_count: u64,
    /// Whether the page ends within a row, for all that is known: what came behind is not in it.
    pub is_cut: bool,
    /// Whether the profiler says in it that something failed: what was to be profiled from then on is not in it.
    pub has_failed: bool,
    /// Whether numbers stand without their units.
    pub lacks_units: bool,
    /// Names that were cut.
    pub cut_name_count: u64,
}

/// The launches of one kernel with one grid and one block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KernelProfile {
    /// The demangled name. The text is hostile.
    pub name: String,
    /// The number of its GPU in the report.
    pub device: i64,
    /// Compute capability of the GPU, where the report says.
    pub compute_capability: Option<(i64, i64)>,
    /// The product name of the GPU, where the report says. The text is hostile.
    pub device_name: Option<String>,
    /// Blocks of the grid.
    pub grid_blocks: i64,
    /// Threads of a block.
    pub block_threads: i64,
    /// How many launches were profiled.
    pub launch_count: i64,
    /// Their durations, summed; absent where none was measured.
    pub sum_ns: Option<i64>,
    /// What was measured of the longest.
    pub counters: Counters,
}

/// The counters of one launch; what was not measured is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Counters([Option<f64>; Counter::COUNT]);

impl Default for Counters {
    fn default() -> Self {
        Self([None; Counter::COUNT])
    }
}

impl Counters {
    /// The value of a counter.
    pub const fn get(&self, counter: Counter) -> Option<f64> {
        self.0[counter as usize]
    }

    /// Sets a counter; what is not finite, or negative, is no measurement.
    pub fn set(&mut self, counter: Counter, value: f64) {
        if value.is_finite() && value >= 0.0 {
            self.0[counter as usize] = Some(value);
        }
    }

    /// Forgets a counter: what was read of it is no measurement.
    pub fn clear(&mut self, counter: Counter) {
        self.0[counter as usize] = None;
    }

    /// Sets a counter to a value where it has a smaller one, or none.
    pub fn raise(&mut self, counter: Counter, value: f64) {
        if self.get(counter).is_none_or(|known| known < value) {
            self.set(counter, value);
        }
    }

    /// Takes over what another part of the same measurement says; of estimates, the largest.
    pub fn take(&mut self, other: &Self) {
        for counter in Counter::ALL {
            match other.get(counter) {
                Some(value) if counter.is_estimate() => self.raise(counter, value),
                Some(value) => self.set(counter, value),
                None => {}
            }
        }
    }

    /// Of accesses and the fewest that could have done, and how many were too many, each two give the third.
    pub fn derive_excess(&mut self) {
        for (all, ideal, excess) in [
            (Counter::GlobalSectors, Counter::IdealGlobalSectors, Counter::ExcessGlobalSectors),
            (Counter::SharedWavefronts, Counter::IdealSharedWavefronts, Counter::ExcessSharedWavefronts),
        ] {
            match (self.get(all), self.get(ideal), self.get(excess)) {
                (Some(all), Some(ideal), None) => self.set(excess, (all - ideal).max(0.0)),
                (Some(all), None, Some(excess)) => self.set(ideal, (all - excess).max(0.0)),
                _ => {}
            }
        }
    }

    /// Takes what is missing here from another measurement of the same kernel.
    pub fn fill(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = own.or(*other);
        }
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a launch was measured by. Shares are parts of one, times nanoseconds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Counter {
            $($(#[$doc])* $name,)*
        }

        impl Counter {
            /// Every counter.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$name,)*];
            /// How many there are.
            pub const COUNT: usize = [$(stringify!($name),)*].len();
        }
    };
}

impl Counter {
    /// Those that hardware counts in every kernel: where none of them is there, nothing was measured.
    pub const OF_HARDWARE: [Self; 10] = [
        Self::Duration,
        Self::Compute,
        Self::Memory,
        Self::Dram,
        Self::L1,
        Self::L2,
        Self::Issue,
        Self::AchievedOccupancy,
        Self::SmActiveCycles,
        Self::ElapsedCycles,
    ];

    /// Whether it is of a pipeline that computes nothing, and hands on what others do.
    pub const fn hands_on(self) -> bool {
        matches!(self, Self::LsuPipe | Self::AduPipe)
    }

    /// Whether it is what the profiler's own rules promise: of several, which overlap, the largest counts.
    pub const fn is_estimate(self) -> bool {
        matches!(
            self,
            Self::UncoalescedEstimate
                | Self::SharedEstimate
                | Self::DivergenceEstimate
                | Self::LatencyEstimate
                | Self::IdleSmEstimate
                | Self::Fp64Estimate
        )
    }
}

counters! {
    /// How long it took.
    Duration,
    /// Throughput of the SMs, against their peak.
    Compute,
    /// Throughput of the busiest part of the memory system, against its peak.
    Memory,
    /// Throughput of device memory, against its peak.
    Dram,
    /// Throughput of the L1 and texture cache, against its peak.
    L1,
    /// Throughput of the L2 cache, against its peak.
    L2,
    /// Bytes that device memory read.
    DramReadBytes,
    /// Bytes that device memory wrote.
    DramWrittenBytes,
    /// Bytes a second of device memory.
    DramBytesPerSecond,
    /// Sectors of 32 bytes of the host's memory that its accesses wanted and L2 did not hold.
    HostSectors,
    /// Throughput of the slice of L2 that is used most, against its peak.
    BusiestSlice,
    /// Cycles in which the atomic unit of a slice of L2 takes in work: of the slice where it is most.
    BusiestSliceAtomics,
    /// Instructions of warps that are atomics on global memory whose result is used.
    AtomicRequests,
    /// Those whose result is not.
    ReductionRequests,
    /// Cycles in which a slice of L2 was active: of the slice with the most.
    BusiestSliceCycles,
    /// The same, averaged over all slices.
    SliceCycles,
    /// Cycles of the slices of L2 that the kernel took.
    SliceElapsedCycles,
    /// The part of the kernel's time in which the busiest slice of L2 was active; where the profiler itself says.
    BusiestSliceActive,
    /// The same, averaged over all slices.
    SliceActive,
    /// Warps that were resident, of those that an SM can hold.
    AchievedOccupancy,
    /// Warps that registers, shared memory and block size allow, of those that an SM can hold.
    TheoreticalOccupancy,
    /// Blocks of an SM that its slots for blocks allow.
    BlocksBySlots,
    /// Blocks of an SM that registers allow.
    BlocksByRegisters,
    /// Blocks of an SM that shared memory allows.
    BlocksBySharedMemory,
    /// Blocks of an SM that warps allow.
    BlocksByWarps,
    /// Cycles in which a scheduler issued an instruction.
    Issue,
    /// Blocks of the grid, by the blocks that the GPU holds at once.
    Waves,
    /// Registers a thread.
    Registers,
    /// Bytes of shared memory a block that are reserved when it is compiled.
    StaticSharedBytes,
    /// Bytes of shared memory a block that the launch asks for.
    DynamicSharedBytes,
    /// SMs of the GPU.
    SmCount,
    /// How many times the peak rate of fp64 that of fp32 is.
    Fp32ToFp64,
    /// Requests that the L1 cache answered.
    L1Hits,
    /// Requests that the L2 cache answered.
    L2Hits,
    /// Sectors of 32 bytes that accesses of global memory moved to and from L2.
    GlobalSectors,
    /// The fewest that could have carried the same.
    IdealGlobalSectors,
    /// Those of `GlobalSectors` that were too many.
    ExcessGlobalSectors,
    /// Passes that accesses of shared memory took.
    SharedWavefronts,
    /// The fewest that could have carried the same.
    IdealSharedWavefronts,
    /// Those of `SharedWavefronts` that were too many.
    ExcessSharedWavefronts,
    /// Passes of shared memory, against the most that its pipeline can carry in that time.
    SharedPipe,
    /// Sectors of 32 bytes that accesses of local memory moved.
    LocalSectors,
    /// Requests for registers that did not fit and went to local memory.
    SpillRequests,
    /// Cycles in which the tensor cores were active, by whichever of their kinds was most.
    TensorPipe,
    /// Cycles in which the fp64 units were active.
    Fp64Pipe,
    /// Cycles in which the fp32 units were active.
    FmaPipe,
    /// Cycles in which the units for integers and logic were active.
    AluPipe,
    /// Cycles in which the units for transcendental functions and conversions were active.
    XuPipe,
    /// Cycles in which the units that hand memory instructions on were active.
    LsuPipe,
    /// Instructions of the units for addresses that differ within a warp: indexed constants, jumps, barriers.
    AduPipe,
    /// Cycles in which the units that compute were active, of all that the kernel took, by whichever of their kinds was most.
    ArithmeticPipes,
    /// Instructions that load and store, against the most that SMs hand on in the kernel's time.
    LoadStoreRequests,
    /// Cycles in which the cache of indexed constants answered.
    ConstantCache,
    /// What it was asked for: one request for each place that a warp reads at.
    ConstantRequests,
    /// Instructions that warps executed.
    Instructions,
    /// Additions, multiplications and fused multiply-adds of fp32 in a cycle, of all threads.
    Fp32Adds,
    /// The same.
    Fp32Multiplies,
    /// The same.
    Fp32MultiplyAdds,
    /// The most fused multiply-adds of fp32 in a cycle.
    PeakFp32MultiplyAdds,
    /// Additions, multiplications and fused multiply-adds of fp64 in a cycle, of all threads.
    Fp64Adds,
    /// The same.
    Fp64Multiplies,
    /// The same.
    Fp64MultiplyAdds,
    /// The most fused multiply-adds of fp64 in a cycle.
    PeakFp64MultiplyAdds,
    /// Operations in fp32, against the peak; where the profiler itself says.
    Fp32OfPeak,
    /// The same of fp64.
    Fp64OfPeak,
    /// Cycles of the SMs a second.
    SmClock,
    /// Cycles in which an SM had a warp, averaged over all SMs.
    SmActiveCycles,
    /// Cycles that the kernel took.
    ElapsedCycles,
    /// Bytes that a thread used, of each sector of 32 bytes that loads of global memory moved.
    LoadedBytesPerSector,
    /// The same of stores.
    StoredBytesPerSector,
    /// Threads of a warp, of 32, that took part in an instruction.
    ActiveThreads,
    /// Threads of a warp, of 32, that took part and were not predicated off.
    EnabledThreads,
    /// Cycles that a warp waited between two instructions that it issued.
    WarpLatency,
    /// Cycles of those, by what it waited for.
    StallLongScoreboard,
    /// The same.
    StallShortScoreboard,
    /// The same.
    StallLgThrottle,
    /// The same.
    StallMioThrottle,
    /// The same.
    StallTexThrottle,
    /// The same.
    StallMathPipe,
    /// The same.
    StallBarrier,
    /// The same.
    StallMembar,
    /// The same.
    StallWait,
    /// The same.
    StallDrain,
    /// The same.
    StallNoInstruction,
    /// The same.
    StallBranch,
    /// The same.
    StallDispatch,
    /// The same.
    StallImcMiss,
    /// The same.
    StallSleeping,
    /// The same.
    StallNotSelected,
    /// The same.
    StallGmma,
    /// What the profiler's own rules take uncoalesced accesses of global memory to cost of the kernel's time.
    UncoalescedEstimate,
    /// The same of conflicts in shared memory.
    SharedEstimate,
    /// The same of divergent warps.
    DivergenceEstimate,
    /// The same of warps that wait while too few others run.
    LatencyEstimate,
    /// The same of SMs without work.
    IdleSmEstimate,
    /// The same of arithmetic in fp64.
    Fp64Estimate,
}
