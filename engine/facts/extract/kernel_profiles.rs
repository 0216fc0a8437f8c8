//! Facts of kernels that were profiled one by one: by themselves, or beside a recording of the program.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::kernel_names::Patterns;
use crate::facts::catalogue::STALL_REASONS;
use crate::facts::store::{Entity, EntityId, Facts};
use crate::facts::{EntityKind, FactValue};
use crate::limits::{MAX_DEVICE_COUNT, MAX_ENTITY_OF_DEVICE_COUNT};
use crate::text::kernel_names;
use crate::timeline::{Counter, Counters, KernelProfile, KernelProfiles};

/// Counters that are facts as they are.
const SHARES: [(Counter, &str); 16] = [
    (Counter::Compute, "compute_throughput_share"),
    (Counter::Memory, "memory_throughput_share"),
    (Counter::Dram, "dram_throughput_share"),
    (Counter::L1, "l1_throughput_share"),
    (Counter::L2, "l2_throughput_share"),
    (Counter::AchievedOccupancy, "achieved_occupancy_share"),
    (Counter::Issue, "issue_share"),
    (Counter::L1Hits, "l1_hit_share"),
    (Counter::L2Hits, "l2_hit_share"),
    (Counter::TensorPipe, "tensor_pipe_share"),
    (Counter::Fp64Pipe, "fp64_pipe_share"),
    (Counter::FmaPipe, "fma_pipe_share"),
    (Counter::UncoalescedEstimate, "uncoalesced_estimate_share"),
    (Counter::SharedEstimate, "bank_conflict_estimate_share"),
    (Counter::DivergenceEstimate, "divergence_estimate_share"),
    (Counter::TheoreticalOccupancy, "theoretical_occupancy_share"),
];

const COUNTS: [(Counter, &str); 7] = [
    (Counter::GlobalSectors, "global_sector_count"),
    (Counter::ExcessGlobalSectors, "excess_sector_count"),
    (Counter::SharedWavefronts, "shared_wavefront_count"),
    (Counter::ExcessSharedWavefronts, "excess_wavefront_count"),
    (Counter::LocalSectors, "local_sector_count"),
    (Counter::SpillRequests, "spill_request_count"),
    (Counter::Registers, "register_count"),
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
];
/// Draining is waiting for the last stores.
const MEMORY_STALLS: [Counter; 4] =
    [Counter::StallLongScoreboard, Counter::StallLgThrottle, Counter::StallTexThrottle, Counter::StallDrain];

/// Blocks of an SM, by what limits them, in the order in which a tie is decided.
const LIMITERS: [(Counter, &str); 4] = [
    (Counter::BlocksByRegisters, "registers"),
    (Counter::BlocksBySharedMemory, "shared_memory"),
    (Counter::BlocksByWarps, "block_size"),
    (Counter::BlocksBySlots, "blocks"),
];

const SECTOR_BYTES: f64 = 32.0;
/// From here on a part of the GPU counts as used much.
const MUCH: f64 = 0.6;
const WARP_THREADS: f64 = 32.0;
/// Larger counts are no counts: their sums must not overflow.
const MOST: f64 = 1e15;

/// The facts of profiled kernels alone. The window of a device is the time of its profiled launches.
pub fn extract_profiles(profiles: &KernelProfiles) -> Facts {
    let mut facts = Facts::default();
    let run = facts.add(EntityKind::Run, "run", &[]);
    let mut devices: BTreeMap<i64, Vec<&KernelProfile>> = BTreeMap::new();
    for profile in &profiles.kernels {
        devices.entry(profile.device).or_default().push(profile);
    }
    let mut left_out = devices.values().skip(MAX_DEVICE_COUNT).map(Vec::len).sum::<usize>();
    let device_count = devices.len().min(MAX_DEVICE_COUNT);
    let patterns = Patterns::new();
    for (number, kernels) in devices.into_iter().take(MAX_DEVICE_COUNT) {
        left_out += set_devices_work(&mut facts, run, number, &kernels, patterns.as_ref());
    }
    let facts_of_run = facts.get_mut(run);
    facts_of_run.set("format", "ncu-csv");
    facts_of_run.set("framework", framework(profiles));
    facts_of_run.set("device_count", device_count as i64);
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    facts_of_run.set("dropped_event_count", count(profiles.dropped_count));
    let some = |number: u64| Some(count(number)).filter(|count| *count > 0);
    facts_of_run.set_some("unread_row_count", some(profiles.beyond_limit_count));
    facts_of_run.set_some("truncated_name_count", some(profiles.cut_name_count));
    facts_of_run.set_some("omitted_entity_count", some(left_out as u64));
    facts
}

/// A device with its kernels and their launch shapes; returns how many of these are left out.
fn set_devices_work(
    facts: &mut Facts,
    run: EntityId,
    number: i64,
    profiles: &[&KernelProfile],
    patterns: Option<&Patterns>,
) -> usize {
    let key = format!("gpu{number}");
    let device = facts.add(EntityKind::Device, key.as_str(), &[run]);
    set_device(facts.get_mut(device), number, profiles);
    let mut kernels: BTreeMap<String, Vec<&KernelProfile>> = BTreeMap::new();
    for profile in profiles {
        kernels.entry(kernel_names::called(&profile.name)).or_default().push(profile);
    }
    let mut kernels: Vec<(String, Vec<&KernelProfile>)> = kernels.into_iter().collect();
    kernels.sort_by_key(|(_, profiles)| Reverse(sum_of(profiles)));
    let mut left = MAX_ENTITY_OF_DEVICE_COUNT;
    let mut left_out = 0;
    for (name, profiles) in kernels {
        if left == 0 {
            left_out += profiles.len();
            continue;
        }
        let kernel = facts.add(EntityKind::Kernel, format!("{key}/{name}"), &[device, run]);
        set_kernel(facts.get_mut(kernel), &name, &profiles, patterns);
        for ((blocks, threads), mut profiles) in by_shape(&profiles) {
            profiles.sort_by_key(|profile| Reverse(profile.counters.get(Counter::Duration).and_then(whole)));
            if left == 0 {
                left_out += 1;
                continue;
            }
            left -= 1;
            let own = format!("{key}/{name}/{blocks}x{threads}");
            let shape = facts.add(EntityKind::LaunchShape, own, &[kernel, device, run]);
            set_shape(facts.get_mut(shape), &name, &profiles);
        }
    }
    left_out
}

/// By grid and block: what is one launch shape may still be several instances of one template.
fn by_shape<'a>(profiles: &[&'a KernelProfile]) -> BTreeMap<(i64, i64), Vec<&'a KernelProfile>> {
    let mut shapes: BTreeMap<(i64, i64), Vec<&KernelProfile>> = BTreeMap::new();
    for profile in profiles {
        shapes.entry((profile.grid_blocks, profile.block_threads)).or_default().push(profile);
    }
    shapes
}

/// Facts of profiled kernels, beside those of a recording of the program: of each launch shape with a profile of its name,
/// grid and block, on a GPU of the same compute capability. What the recording tells itself stays as it is.
pub fn join(facts: &mut Facts, profiles: &KernelProfiles) {
    let mut by_name: BTreeMap<(String, i64, i64), Vec<&KernelProfile>> = BTreeMap::new();
    for profile in &profiles.kernels {
        let key = (kernel_names::called(&profile.name), profile.grid_blocks, profile.block_threads);
        by_name.entry(key).or_default().push(profile);
    }
    let shapes: Vec<EntityId> = facts.of_kind(EntityKind::LaunchShape).map(|(id, _)| id).collect();
    for id in shapes {
        let shape = facts.get(id);
        let size = shape.int("grid_block_count").zip(shape.int("block_thread_count"));
        let Some((blocks, threads)) = size else { continue };
        let named = by_name.get(&(kernel_names::called(shape.name()), blocks, threads));
        let capability = facts.related(id, EntityKind::Device).and_then(|device| {
            let device = facts.get(device);
            device.int("compute_major").zip(device.int("compute_minor"))
        });
        let is_of_gpu = |profile: &&&KernelProfile| {
            capability.is_none_or(|known| profile.compute_capability.is_none_or(|own| own == known))
        };
        let longest = |profile: &&KernelProfile| profile.counters.get(Counter::Duration).and_then(whole);
        let profile = named.and_then(|named| named.iter().filter(is_of_gpu).copied().max_by_key(longest));
        let Some(profile) = profile else { continue };
        let known: Vec<(&str, FactValue)> = shape.facts().map(|(name, value)| (name, value.clone())).collect();
        let shape = facts.get_mut(id);
        set_profile(shape, profile);
        for (name, value) in known {
            shape.set(name, value);
        }
    }
}

/// As names tell it.
fn framework(profiles: &KernelProfiles) -> &'static str {
    let is_pytorch =
        |kernel: &KernelProfile| kernel.name.contains("at::native::") || kernel.name.starts_with("triton_");
    if profiles.kernels.iter().any(is_pytorch) { "pytorch" } else { "cuda" }
}

fn set_device(facts: &mut Entity, number: i64, kernels: &[&KernelProfile]) {
    facts.set("number", number);
    let first = |get: fn(&KernelProfile) -> Option<f64>| kernels.iter().copied().find_map(get);
    facts.set_some("name", kernels.iter().find_map(|kernel| kernel.device_name.clone()));
    facts.set_some("sm_count", first(|kernel| kernel.counters.get(Counter::SmCount)).and_then(whole));
    if let Some((major, minor)) = kernels.iter().find_map(|kernel| kernel.compute_capability) {
        facts.set("compute_major", major);
        facts.set("compute_minor", minor);
    }
    let sum_ns = kernels.iter().filter_map(|kernel| kernel.sum_ns).fold(0_i64, i64::saturating_add);
    if sum_ns > 0 {
        for name in ["window_ns", "busy_ns", "compute_ns"] {
            facts.set(name, sum_ns);
        }
        facts.set("idle_ns", 0_i64);
    }
    facts.set("kernel_count", kernels.iter().map(|kernel| kernel.launch_count).fold(0_i64, i64::saturating_add));
}

fn sum_of(profiles: &[&KernelProfile]) -> Option<i64> {
    profiles.iter().filter_map(|profile| profile.sum_ns).reduce(i64::saturating_add)
}

fn launches_of(profiles: &[&KernelProfile]) -> i64 {
    profiles.iter().map(|profile| profile.launch_count).fold(0, i64::saturating_add)
}

fn set_kernel(facts: &mut Entity, name: &str, profiles: &[&KernelProfile], patterns: Option<&Patterns>) {
    facts.set("name", name);
    let full_name = profiles.first().map_or(name, |profile| &profile.name);
    facts.set("full_name", full_name);
    facts.set("function", kernel_names::function(full_name));
    facts.set("launch_count", launches_of(profiles));
    facts.set_some("sum_ns", sum_of(profiles));
    facts.set_some("attributed_ns", sum_of(profiles));
    if let Some(traits) = patterns.map(|patterns| patterns.traits(name, full_name)) {
        facts.set("is_communication", traits.is_communication);
        facts.set("is_matrix_product", traits.is_matrix_product);
        facts.set("is_tensor_copy", traits.is_tensor_copy);
        facts.set("is_transpose", traits.is_transpose);
        facts.set("is_elementwise", traits.is_elementwise);
        facts.set_some("precision", traits.precision);
    }
}

/// The longest first.
fn set_shape(facts: &mut Entity, name: &str, profiles: &[&KernelProfile]) {
    let Some(longest) = profiles.first() else { return };
    facts.set("name", name);
    facts.set("launch_count", launches_of(profiles));
    facts.set_some("sum_ns", sum_of(profiles));
    facts.set_some("attributed_ns", sum_of(profiles));
    facts.set("grid_block_count", longest.grid_blocks);
    facts.set("block_thread_count", longest.block_threads);
    set_profile(facts, longest);
}

fn set_profile(facts: &mut Entity, profile: &KernelProfile) {
    let counters = &profile.counters;
    facts.set("profiled_launch_count", profile.launch_count);
    facts.set_some("profiled_ns", counters.get(Counter::Duration).and_then(whole));
    for (counter, name) in SHARES {
        facts.set_some(name, counters.get(counter).map(|share| share.min(1.0)));
    }
    for (counter, name) in COUNTS {
        facts.set_some(name, counters.get(counter).and_then(whole));
    }
    let threads =
        [Counter::EnabledThreads, Counter::ActiveThreads].into_iter().find_map(|counter| counters.get(counter));
    facts.set_some("active_thread_share", threads.map(|threads| (threads / WARP_THREADS).min(1.0)));
    facts.set_some("waves_per_sm", counters.get(Counter::Waves));
    let shared = counters.get(Counter::StaticSharedBytes).zip(counters.get(Counter::DynamicSharedBytes));
    facts.set_some("shared_memory_bytes", shared.and_then(|(fixed, asked)| whole(fixed + asked)));
    facts.set_some("limit", limit(counters));
    set_memory(facts, profile);
    set_excess(facts, counters);
    set_stalls(facts, profile);
    set_limiter(facts, profile);
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
}

/// What could be left out of what is moved.
fn set_excess(facts: &mut Entity, counters: &Counters) {
    for (part, whole, name) in [
        (Counter::ExcessGlobalSectors, Counter::GlobalSectors, "excess_sector_share"),
        (Counter::ExcessSharedWavefronts, Counter::SharedWavefronts, "excess_wavefront_share"),
    ] {
        let of = counters.get(part).zip(counters.get(whole)).filter(|(_, whole)| *whole > 0.0);
        facts.set_some(name, of.map(|(part, whole)| (part / whole).min(1.0)));
    }
    let both = counters.get(Counter::LocalSectors).zip(counters.get(Counter::GlobalSectors));
    let local = both.filter(|(local, global)| local + global > 0.0).map(|(local, global)| local / (local + global));
    facts.set_some("local_sector_share", local);
    facts.set_some("coalesced_floor_share", coalesced_floor(counters, facts.int("dram_bytes")));
}

/// What a launch with coalesced accesses would still take, of its time: its arithmetic, and the traffic of device memory, of
/// which more than the ideal sectors hold could be left out too.
fn coalesced_floor(counters: &Counters, dram_bytes: Option<i64>) -> Option<f64> {
    let (compute, dram) = counters.get(Counter::Compute).zip(counters.get(Counter::Dram))?;
    let ideal_bytes = counters.get(Counter::IdealGlobalSectors)? * SECTOR_BYTES;
    let dram_bytes = dram_bytes.filter(|bytes| *bytes > 0)? as f64;
    Some(compute.max(dram * (ideal_bytes / dram_bytes).min(1.0)).min(1.0))
}

/// The part of the GPU that is used most; latency where none is used much, as Nsight Compute draws the line.
fn limit(counters: &Counters) -> Option<&'static str> {
    let (compute, memory) = counters.get(Counter::Compute).zip(counters.get(Counter::Memory))?;
    if compute.max(memory) < MUCH {
        return Some("latency");
    }
    if compute > memory {
        return Some("compute");
    }
    let parts = [(Counter::Dram, "device_memory"), (Counter::L2, "l2_cache"), (Counter::L1, "l1_cache")];
    let known = parts.into_iter().filter_map(|(counter, name)| Some((counters.get(counter)?, name)));
    known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

fn set_stalls(facts: &mut Entity, profile: &KernelProfile) {
    let counters = &profile.counters;
    let Some(latency) = counters.get(Counter::WarpLatency).filter(|cycles| *cycles > 0.0) else { return };
    let longest =
        STALLS.into_iter().zip(STALL_REASONS).filter_map(|(counter, reason)| Some((counters.get(counter)?, reason)));
    let Some((cycles, reason)) = longest.max_by(|a, b| a.0.total_cmp(&b.0)) else { return };
    facts.set("stall_reason", reason);
    facts.set("stall_share", (cycles / latency).min(1.0));
    let of_memory: Option<f64> = MEMORY_STALLS.into_iter().map(|counter| counters.get(counter)).sum();
    facts.set_some("memory_stall_share", of_memory.map(|cycles| (cycles / latency).min(1.0)));
}

fn set_limiter(facts: &mut Entity, profile: &KernelProfile) {
    let Some(theoretical) = profile.counters.get(Counter::TheoreticalOccupancy) else { return };
    if theoretical >= 1.0 {
        facts.set("occupancy_limiter", "none");
        return;
    }
    let limits = LIMITERS.map(|(counter, limiter)| profile.counters.get(counter).map(|blocks| (blocks, limiter)));
    if let [Some(first), Some(second), Some(third), Some(fourth)] = limits {
        let least =
            [second, third, fourth].into_iter().fold(first, |least, next| if next.0 < least.0 { next } else { least });
        facts.set("occupancy_limiter", least.1);
    }
}

fn whole(value: f64) -> Option<i64> {
    (0.0..=MOST).contains(&value).then(|| value.round() as i64)
}
