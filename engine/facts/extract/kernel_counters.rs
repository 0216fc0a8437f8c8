//! Facts of a launch from its counters.

use crate::facts::catalogue::STALL_REASONS;
use crate::facts::store::Entity;
use crate::timeline::{Counter, Counters, KernelProfile};

/// Counters that are facts as they are.
const SHARES: [(Counter, &str); 21] = [
    (Counter::Compute, "compute_throughput_share"),
    (Counter::Memory, "memory_throughput_share"),
    (Counter::Dram, "dram_throughput_share"),
    (Counter::L1, "l1_throughput_share"),
    (Counter::L2, "l2_throughput_share"),
    (Counter::AchievedOccupancy, "achieved_occupancy_share"),
    (Counter::Issue, "issue_share"),
    (Counter::SharedPipe, "shared_pipe_share"),
    (Counter::L1Hits, "l1_hit_share"),
    (Counter::L2Hits, "l2_hit_share"),
    (Counter::TensorPipe, "tensor_pipe_share"),
    (Counter::Fp64Pipe, "fp64_pipe_share"),
    (Counter::FmaPipe, "fma_pipe_share"),
    (Counter::UncoalescedEstimate, "uncoalesced_estimate_share"),
    (Counter::SharedEstimate, "bank_conflict_estimate_share"),
    (Counter::DivergenceEstimate, "divergence_estimate_share"),
    (Counter::LatencyEstimate, "latency_estimate_share"),
    (Counter::IdleSmEstimate, "idle_sm_estimate_share"),
    (Counter::Fp64Estimate, "fp64_estimate_share"),
    (Counter::TheoreticalOccupancy, "theoretical_occupancy_share"),
    (Counter::ConstantCache, "constant_cache_share"),
];

/// Values of any size.
const NUMBERS: [(Counter, &str); 3] = [
    (Counter::Fp32ToFp64, "fp32_to_fp64_peak_ratio"),
    (Counter::LoadedBytesPerSector, "loaded_bytes_per_sector"),
    (Counter::StoredBytesPerSector, "stored_bytes_per_sector"),
];

const COUNTS: [(Counter, &str); 9] = [
    (Counter::GlobalSectors, "global_sector_count"),
    (Counter::ExcessGlobalSectors, "excess_sector_count"),
    (Counter::SharedWavefronts, "shared_wavefront_count"),
    (Counter::ExcessSharedWavefronts, "excess_wavefront_count"),
    (Counter::LocalSectors, "local_sector_count"),
    (Counter::SpillRequests, "spill_request_count"),
    (Counter::Registers, "register_count"),
    (Counter::ConstantRequests, "constant_request_count"),
    (Counter::Instructions, "instruction_count"),
];

/// In the order of [`STALL_REASONS`].
const STALLS: [Counter; STALL_REASONS.len()] = [
    Counter::StallLongScoreboard,
    Counter::StallShortScoreboard,
    Counter::StallLgThrottle,
    Counter::StallMioThrottle,
    Counter::StallTexThrottle,
    Counter::StallMathPipe,
    Counter::StallBarrier,
    Counter::StallMembar,
    Counter::StallWait,
    Counter::StallDrain,
    Counter::StallNoInstruction,
    Counter::StallBranch,
    Counter::StallDispatch,
    Counter::StallImcMiss,
    Counter::StallSleeping,
    Counter::StallNotSelected,
    Counter::StallGmma,
];
/// Draining is waiting for the last stores.
const MEMORY_STALLS: [Counter; 4] =
    [Counter::StallLongScoreboard, Counter::StallLgThrottle, Counter::StallTexThrottle, Counter::StallDrain];
/// What a warp waits for where its instructions change with each branch.
const BRANCH_STALLS: [Counter; 2] = [Counter::StallNoInstruction, Counter::StallBranch];

/// Blocks of an SM, by what limits them, in the order in which a tie is decided.
const LIMITERS: [(Counter, &str); 4] = [
    (Counter::BlocksByRegisters, "registers"),
    (Counter::BlocksBySharedMemory, "shared_memory"),
    (Counter::BlocksByWarps, "block_size"),
    (Counter::BlocksBySlots, "blocks"),
];

/// The pipelines of an SM, in the order in which a tie is decided.
const PIPES: [(Counter, &str); 7] = [
    (Counter::TensorPipe, "tensor"),
    (Counter::Fp64Pipe, "fp64"),
    (Counter::FmaPipe, "fma"),
    (Counter::AluPipe, "alu"),
    (Counter::XuPipe, "xu"),
    (Counter::LsuPipe, "lsu"),
    (Counter::AduPipe, "adu"),
];
const SECTOR_BYTES: f64 = 32.0;
/// From here on a part of the GPU counts as used much.
const MUCH: f64 = 0.6;
/// From here on it counts as the limit whatever else is used, as Nsight Compute draws the line.
const NEAR_PEAK: f64 = 0.8;
/// Parts whose use differs by less are used alike, as Nsight Compute draws the line.
const ALIKE: f64 = 0.1;
/// Throughputs that differ by less are one counter: a page prints hundredths of a percent.
const ONE_COUNTER: f64 = 1.01e-4;
/// What two counters of one launch may differ by, as they are collected in runs of their own.
const RUNS_APART: f64 = 0.01;
/// From here on warps mostly wait for one thing.
const MOST_WAITING: f64 = 0.5;
/// Up to this part of the busiest slice of L2, the average one does little.
const FEW_SLICES: f64 = 1.0 / 3.0;
/// Below this part of its peak, a part of the GPU is hardly used.
const HARDLY: f64 = 0.1;
/// From here on the L2 cache holds what is asked for.
const MOSTLY_HELD: f64 = 0.9;
/// So many cycles between two instructions no memory of the GPU takes by itself: accesses stand in a queue.
const QUEUED_CYCLES: f64 = 2_000.0;
/// What warps wait for while their accesses stand in one.
const QUEUES: [&str; 3] = ["long_scoreboard", "lg_throttle", "drain"];
const WARP_THREADS: f64 = 32.0;
/// Larger counts are no counts: their sums must not overflow.
const MOST: f64 = 1e15;

/// What was measured of the longest launch.
pub(super) fn set_profile(facts: &mut Entity, profile: &KernelProfile) {
    let counters = &profile.counters;
    facts.set("profiled_launch_count", profile.launch_count);
    facts.set_some("profiled_ns", counters.get(Counter::Duration).and_then(whole));
    for (counter, name) in SHARES {
        facts.set_some(name, counters.get(counter).map(|share| share.min(1.0)));
    }
    for (counter, name) in NUMBERS {
        facts.set_some(name, counters.get(counter));
    }
    for (counter, name) in COUNTS {
        facts.set_some(name, counters.get(counter).and_then(whole));
    }
    let of_warp = |counter| counters.get(counter).map(|threads| (threads / WARP_THREADS).min(1.0));
    let enabled = of_warp(Counter::EnabledThreads);
    facts.set_some("active_thread_share", of_warp(Counter::ActiveThreads).or(enabled));
    facts.set_some("enabled_thread_share", enabled);
    facts.set_some("waves_per_sm", counters.get(Counter::Waves));
    let shared = counters.get(Counter::StaticSharedBytes).zip(counters.get(Counter::DynamicSharedBytes));
    facts.set_some("shared_memory_bytes", shared.and_then(|(fixed, asked)| whole(fixed + asked)));
    set_memory(facts, profile);
    set_excess(facts, counters);
    set_stalls(facts, profile);
    set_limiter(facts, profile);
    set_roofline(facts, counters);
    set_pipes(facts, counters);
    set_slices(facts, counters);
    facts.set_some("limit", limit(facts, counters));
}

fn set_memory(facts: &mut Entity, profile: &KernelProfile) {
    let counters = &profile.counters;
    let seconds = counters.get(Counter::Duration).map(|ns| ns / 1e9).filter(|seconds| *seconds > 0.0);
    let rate = counters.get(Counter::DramBytesPerSecond);
    let moved = counters.get(Counter::DramReadBytes).zip(counters.get(Counter::DramWrittenBytes));
    let bytes = moved.map(|(read, written)| read + written).or_else(|| Some(rate? * seconds?));
    let rate = rate.or_else(|| Some(bytes? / seconds?));
    facts.set_some("dram_bytes", bytes.and_then(whole));
    facts.set_some("dram_gb_per_s", rate.map(|rate| rate / 1e9));
    let of_host = counters.get(Counter::HostSectors).map(|sectors| sectors * SECTOR_BYTES);
    facts.set_some("host_memory_bytes", of_host.and_then(whole));
    facts.set_some("host_memory_gb_per_s", of_host.zip(seconds).map(|(bytes, seconds)| bytes / seconds / 1e9));
}

/// What the slices of L2 do: which of them an access goes to follows from its address.
fn set_slices(facts: &mut Entity, counters: &Counters) {
    let atomics = counters.get(Counter::AtomicRequests).zip(counters.get(Counter::ReductionRequests));
    facts.set_some("atomic_request_count", atomics.and_then(|(used, unused)| whole(used + unused)));
    let of_atomics = counters.get(Counter::BusiestSliceAtomics);
    let most = larger(counters.get(Counter::BusiestSlice), of_atomics);
    facts.set_some("busiest_slice_throughput_share", most.map(|share| share.min(1.0)));
    facts.set_some("busiest_slice_atomic_share", of_atomics.map(|share| share.min(1.0)));
    for (cycles, told, name) in [
        (Counter::BusiestSliceCycles, Counter::BusiestSliceActive, "busiest_slice_active_share"),
        (Counter::SliceCycles, Counter::SliceActive, "slice_active_share"),
    ] {
        let counted = counters.get(cycles).zip(counters.get(Counter::SliceElapsedCycles));
        let counted = counted.filter(|(_, all)| *all > 0.0).map(|(active, all)| share_of(active, all));
        facts.set_some(name, counted.or_else(|| counters.get(told)));
    }
}

/// What could be left out of what is moved.
fn set_excess(facts: &mut Entity, counters: &Counters) {
    for (part, whole, name) in [
        (Counter::ExcessGlobalSectors, Counter::GlobalSectors, "excess_sector_share"),
        (Counter::ExcessSharedWavefronts, Counter::SharedWavefronts, "excess_wavefront_share"),
    ] {
        let both = counters.get(part).zip(counters.get(whole));
        // Of nothing moved, nothing is too much.
        facts.set_some(name, both.map(|(part, whole)| share_of(part, whole)));
    }
    let both = counters.get(Counter::LocalSectors).zip(counters.get(Counter::GlobalSectors));
    facts.set_some("local_sector_share", both.map(|(local, global)| share_of(local, local + global)));
    facts.set_some("coalesced_floor_share", coalesced_floor(counters, facts.int("dram_bytes")));
}

/// What a launch with coalesced accesses would still take, of its time: its arithmetic, and the traffic of device memory, of
/// which more than the ideal sectors hold could be left out too.
fn coalesced_floor(counters: &Counters, dram_bytes: Option<i64>) -> Option<f64> {
    let (compute, dram) = counters.get(Counter::Compute).zip(counters.get(Counter::Dram))?;
    let ideal_bytes = counters.get(Counter::IdealGlobalSectors)? * SECTOR_BYTES;
    Some(compute.max(dram * share_of(ideal_bytes, dram_bytes? as f64)).min(1.0))
}

/// At most 1; 0 of nothing.
fn share_of(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
}

/// Whether warps mostly wait for memory, and more of it is the host's than the device's.
fn waits_for_host(facts: &Entity) -> bool {
    let waits = facts.number("memory_stall_share").is_some_and(|share| share >= MOST_WAITING);
    let bytes = facts.int("host_memory_bytes").zip(facts.int("dram_bytes"));
    waits && bytes.is_some_and(|(host, device)| host > device)
}

/// Whether both throughputs are one counter, that of instructions that load and store: it is a part of each. Where it was not
/// collected by itself, nothing else that is known may be as busy, and the unit of the L1 cache, which takes them, must be.
fn is_load_store(facts: &Entity, counters: &Counters) -> bool {
    let Some((compute, memory)) = counters.get(Counter::Compute).zip(counters.get(Counter::Memory)) else {
        return false;
    };
    let is_alike = |share: f64, by: f64| (share - memory).abs() < by;
    if !is_alike(compute, ONE_COUNTER) {
        return false;
    }
    if let Some(own) = counters.get(Counter::LoadStoreRequests) {
        return is_alike(own, ONE_COUNTER);
    }
    let active = facts.number("sm_active_share").unwrap_or(1.0);
    let issue = counters.get(Counter::Issue).map(|share| share * active);
    let of_sms = [facts.number("arithmetic_pipe_share"), issue, counters.get(Counter::ConstantCache)];
    let of_memory = [Counter::Dram, Counter::L2].map(|counter| counters.get(counter));
    let is_other = of_sms.into_iter().chain(of_memory).flatten().any(|share| is_alike(share, RUNS_APART));
    !is_other && counters.get(Counter::L1).is_some_and(|share| share >= memory - RUNS_APART)
}

/// Whether a slice of L2 is at its limit while the others do little: all throughputs are averages over the slices. Where that of
/// the busiest was not collected, warps have to wait for longer than memory takes by itself, and that for no other memory: a slice
/// is active nearly all the time, or L2 holds what they ask for and no part of memory does much on average.
fn is_slice_limit(facts: &Entity, counters: &Counters) -> bool {
    let is_uneven = |most: f64, mean: f64| mean <= FEW_SLICES * most;
    let throughput = facts.number("busiest_slice_throughput_share").zip(counters.get(Counter::L2));
    if let Some((most, mean)) = throughput {
        return most >= MUCH && is_uneven(most, mean);
    }
    let is_queue = facts.text("stall_reason").is_some_and(|reason| QUEUES.contains(&reason))
        && facts.number("stall_share").is_some_and(|share| share >= MOST_WAITING)
        && counters.get(Counter::WarpLatency).is_some_and(|cycles| cycles >= QUEUED_CYCLES);
    let is_hardly = |counter| counters.get(counter).is_some_and(|share| share < HARDLY);
    let active = facts.number("busiest_slice_active_share").zip(facts.number("slice_active_share"));
    let is_one = active.is_some_and(|(most, mean)| most >= NEAR_PEAK && is_uneven(most, mean));
    let is_held = counters.get(Counter::L2Hits).is_some_and(|share| share >= MOSTLY_HELD);
    is_queue && is_hardly(Counter::Dram) && (is_one || is_held && is_hardly(Counter::Memory))
}

/// The part of the GPU that is used most; latency where none is used much, as Nsight Compute draws the line.
fn limit(facts: &Entity, counters: &Counters) -> Option<&'static str> {
    let (compute, memory) = counters.get(Counter::Compute).zip(counters.get(Counter::Memory))?;
    let most = compute.max(memory);
    if most < MUCH && is_slice_limit(facts, counters) {
        return Some("l2_slice");
    }
    if most < MUCH {
        return Some(if waits_for_host(facts) { "host_memory" } else { "latency" });
    }
    if is_load_store(facts, counters) {
        return Some("load_store");
    }
    if most < NEAR_PEAK && (compute - memory).abs() < ALIKE {
        return Some("balanced");
    }
    if compute > memory {
        return Some("compute");
    }
    // The throughput of memory is that of its busiest part. Those of the caches by themselves count more than what moves data, and
    // may be above it.
    let parts = [(Counter::Dram, "device_memory"), (Counter::L2, "l2_cache"), (Counter::L1, "l1_cache")];
    let known = parts.into_iter().filter_map(|(counter, name)| Some(((counters.get(counter)? - memory).abs(), name)));
    known.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// The pipeline that is busiest, where more than one is known.
fn set_pipes(facts: &mut Entity, counters: &Counters) {
    let known = PIPES.into_iter().filter_map(|(counter, name)| Some((counters.get(counter)?, name)));
    let busiest = known.fold(None, |most: Option<(f64, &str)>, next| match most {
        Some(most) if most.0 >= next.0 => Some(most),
        _ => Some(next),
    });
    if let Some((share, pipe)) = busiest {
        facts.set("busiest_pipe", pipe);
        facts.set("busiest_pipe_share", share.min(1.0));
    }
    let active = counters.get(Counter::SmActiveCycles).zip(counters.get(Counter::ElapsedCycles));
    let active = active.filter(|(_, all)| *all > 0.0).map(|(active, all)| share_of(active, all));
    facts.set_some("sm_active_share", active);
    let computing = PIPES.into_iter().filter(|(counter, _)| !counter.hands_on());
    let computing = computing.filter_map(|(counter, _)| counters.get(counter)).reduce(f64::max);
    // Most pipelines are counted against the cycles in which an SM has a warp.
    let of_active = computing.map(|share| share * active.unwrap_or(1.0));
    let of_all = counters.get(Counter::ArithmeticPipes);
    let of_peak = || larger(facts.number("fp32_peak_share"), facts.number("fp64_peak_share"));
    let arithmetic = larger(of_active, of_all).or_else(of_peak).map(|share| share.min(1.0));
    let dram = counters.get(Counter::Dram).map(|share| share.min(1.0));
    facts.set_some("work_floor_share", larger(dram, arithmetic));
    facts.set_some("arithmetic_pipe_share", arithmetic);
    let tensor = counters.get(Counter::TensorPipe).map(|share| share * active.unwrap_or(1.0));
    let floats = facts.number("fp32_peak_share").map(|fp32| {
        let others = [facts.number("fp64_peak_share"), tensor];
        others.into_iter().flatten().fold(fp32, f64::max).min(1.0)
    });
    facts.set_some("data_floor_share", dram.zip(floats).map(|(dram, floats)| dram.max(floats)));
}

/// Of what is known.
fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

/// Where it stands under the roofline of plain arithmetic: what it computes of the peak, and how much for each byte of device memory.
fn set_roofline(facts: &mut Entity, counters: &Counters) {
    let operations = |adds, multiplies, multiply_adds| {
        let (adds, multiplies) = counters.get(adds).zip(counters.get(multiplies))?;
        Some(adds + multiplies + 2.0 * counters.get(multiply_adds)?)
    };
    let fp32 = operations(Counter::Fp32Adds, Counter::Fp32Multiplies, Counter::Fp32MultiplyAdds);
    let fp64 = operations(Counter::Fp64Adds, Counter::Fp64Multiplies, Counter::Fp64MultiplyAdds);
    for (name, done, peak, told) in [
        ("fp32_peak_share", fp32, Counter::PeakFp32MultiplyAdds, Counter::Fp32OfPeak),
        ("fp64_peak_share", fp64, Counter::PeakFp64MultiplyAdds, Counter::Fp64OfPeak),
    ] {
        let peak = counters.get(peak).map(|peak| 2.0 * peak).filter(|peak| *peak > 0.0);
        let share = done.zip(peak).map(|(done, peak)| share_of(done, peak));
        facts.set_some(name, share.or_else(|| counters.get(told)).map(|share| share.min(1.0)));
    }
    let rate = facts.number("dram_gb_per_s").filter(|rate| *rate > 0.0);
    if let (Some(fp32), Some(fp64), Some(clock), Some(rate)) = (fp32, fp64, counters.get(Counter::SmClock), rate) {
        facts.set("flop_per_dram_byte", (fp32 + fp64) * clock / 1e9 / rate);
    }
    let of_dram = counters.get(Counter::Dram).filter(|share| *share > 0.0);
    let peak = counters.get(Counter::PeakFp32MultiplyAdds).zip(counters.get(Counter::SmClock));
    if let (Some((per_cycle, clock)), Some(share), Some(rate)) = (peak, of_dram, rate) {
        facts.set("ridge_flop_per_byte", 2.0 * per_cycle * clock / 1e9 / (rate / share));
    }
}

fn set_stalls(facts: &mut Entity, profile: &KernelProfile) {
    let counters = &profile.counters;
    let Some(latency) = counters.get(Counter::WarpLatency).filter(|cycles| *cycles > 0.0) else { return };
    let longest =
        STALLS.into_iter().zip(STALL_REASONS).filter_map(|(counter, reason)| Some((counters.get(counter)?, reason)));
    let Some((cycles, reason)) = longest.max_by(|a, b| a.0.total_cmp(&b.0)) else { return };
    facts.set("stall_reason", reason);
    facts.set("stall_share", (cycles / latency).min(1.0));
    let share_of = |stalls: &[Counter]| {
        let sum: Option<f64> = stalls.iter().map(|counter| counters.get(*counter)).sum();
        sum.map(|cycles| (cycles / latency).min(1.0))
    };
    facts.set_some("memory_stall_share", share_of(&MEMORY_STALLS));
    facts.set_some("branch_stall_share", share_of(&BRANCH_STALLS));
}

fn set_limiter(facts: &mut Entity, profile: &KernelProfile) {
    let Some(theoretical) = profile.counters.get(Counter::TheoreticalOccupancy) else { return };
    if theoretical >= 1.0 {
        facts.set("occupancy_limiter", "none");
        return;
    }
    let limits = LIMITERS.map(|(counter, limiter)| profile.counters.get(counter).map(|blocks| (blocks, limiter)));
    // What the driver keeps for itself of each block is nothing that a program could leave out.
    let is_own = |limiter: &str| limiter != "shared_memory" || facts.int("shared_memory_bytes") != Some(0);
    if let [Some(_), Some(_), Some(_), Some(_)] = limits {
        let own = limits.into_iter().flatten().filter(|(_, limiter)| is_own(limiter));
        let least = own.reduce(|least, next| if next.0 < least.0 { next } else { least });
        facts.set_some("occupancy_limiter", least.map(|(_, limiter)| limiter));
    }
}

/// A count, where it can be one.
pub(super) fn whole(value: f64) -> Option<i64> {
    (0.0..=MOST).contains(&value).then(|| value.round() as i64)
}
