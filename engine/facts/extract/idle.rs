//! Facts of a device's idle time, beside its accounts.

use foldhash::{HashMap, HashSet};

use super::by_index::ByIndex;
use super::profile::MIN_SAMPLE_COUNT;
use super::{Context, DeviceContext, allocations, culprits, outside, poll_sleeps, source_lines};
use crate::facts::Entity;
use crate::ledger::{Account, Activity};
use crate::text::paths::without_folders;
use crate::timeline::Timeline;
use crate::timeline::api::{builds_graph, normal_name};
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    facts.set("idle_stretch_count", device.tally.stretch_count);
    if let Some(longest) = device.tally.longest_stretch {
        facts.set("idle_longest_ns", longest.len_ns());
        facts.set("idle_longest_start_ns", longest.start);
    }
    outside::extract(context, device, facts);
    facts.set("migration_idle_ns", migration_idle_ns(context.timeline, device));
    if !device.knows_host {
        return;
    }
    facts.set("prefetch_call_count", prefetch_call_count(context, device));
    facts.set_some("summed_idle_stretch_count", Some(device.idle().summed_count).filter(|count| *count > 0));
    facts.set("idle_uncorrelated_ns", device.idle().guessed_ns);
    facts.set("idle_host_uncorrelated_ns", device.idle().guessed_host_ns);
    details(context.timeline, device, facts);
    facts.set_some("host_work_ns", device.idle().host_work_ns);
    facts.set_some("overlap_ceiling_ns", device.overlap_ceiling());
    host_calls(context, device, facts);
    allocations::extract(context, device, facts);
    culprits::extract(context, device, facts);
    poll_sleeps::extract(context, device, facts);
    source_lines::of_idle(context.timeline, device, facts);
    facts.set_some("launch_call_median_ns", device.passed(context).launch_call_median_ns);
}

/// In a stretch with fewer samples the host may do no more than touch the next page.
const MIN_IN_STRETCH: i64 = 3;

/// How long the device is idle beside migrations, without what samples prove to be the program's own code there: that is no way from one
/// page to the next.
fn migration_idle_ns(timeline: &Timeline, device: &DeviceContext) -> i64 {
    let beside = &device.idle().beside_migrations;
    let idle_ns = beside.iter().map(|stretch| stretch.len_ns()).sum::<i64>();
    idle_ns - own_code_ns(timeline, beside, &device.idle().samples[Account::IdleHost])
}

/// How much of stretches that follow each other samples of host code prove to be the program's own: each stands for the usual time
/// between two. One in the system's kernel or in CUDA's driver may be the move of a page; too few tell nothing, nor does one here and
/// there between faults.
fn own_code_ns(timeline: &Timeline, stretches: &[Interval], samples: &[u32]) -> i64 {
    let all = &timeline.cpu_samples;
    let traits = all.traits(&timeline.names);
    let is_own = |sample: usize| {
        let is_other = |frame: &u32| {
            let traits = traits.of(*frame);
            traits.is_kernel || traits.is_in_cuda || traits.is_profiler
        };
        let stack = all.stack(sample);
        stack.iter().any(|frame| all.is_named(*frame)) && !stack.iter().any(is_other)
    };
    let mut own: HashMap<(u32, usize), i64> = HashMap::default();
    for sample in samples.iter().map(|sample| *sample as usize) {
        let (Some(at), Some(thread)) = (all.time_ns.get(sample), all.thread.get(sample)) else { continue };
        let begun = stretches.partition_point(|stretch| stretch.start <= *at);
        let last = begun.checked_sub(1).filter(|last| stretches.get(*last).is_some_and(|stretch| *at < stretch.end));
        if let Some(stretch) = last.filter(|_| is_own(sample)) {
            *own.entry((*thread, stretch)).or_default() += 1;
        }
    }
    let mut periods: HashMap<u32, i64> = HashMap::default();
    let (mut of_stretches, mut told_count): (HashMap<usize, i64>, i64) = (HashMap::default(), 0);
    let mut of_short: HashMap<u32, i64> = HashMap::default();
    for ((thread, stretch), count) in own {
        let period = *periods.entry(thread).or_insert_with(|| all.period_ns(all.of_thread(thread)).unwrap_or(0));
        if count < MIN_IN_STRETCH {
            *of_short.entry(thread).or_default() += count;
            continue;
        }
        told_count += count;
        let ns = of_stretches.entry(stretch).or_default();
        *ns = ns.saturating_add(count.saturating_mul(period));
    }
    if told_count < MIN_SAMPLE_COUNT as i64 {
        of_stretches.clear();
    }
    let lengths = stretches.iter().map(|stretch| stretch.len_ns());
    let told_lengths =
        of_stretches.keys().filter_map(|stretch| stretches.get(*stretch)).map(|stretch| stretch.len_ns());
    let short_ns = lengths.sum::<i64>() - told_lengths.sum::<i64>();
    let most_ns = |stretch: usize| stretches.get(stretch).map_or(0, |stretch| stretch.len_ns());
    let of_long_ns = of_stretches.into_iter().map(|(stretch, ns)| ns.min(most_ns(stretch))).sum::<i64>();
    let of_short = of_short.into_iter().map(|(thread, count)| (count, periods.get(&thread).copied().unwrap_or(0)));
    of_long_ns + of_short_ns(short_ns, of_short)
}

/// So many samples in stretches that are too short for each of them tell how much of all of them they are.
const MIN_IN_SHORT: i64 = 30;

/// How much of stretches with few samples each is the program's own code, at least: by samples and periods of each thread. Where they hold
/// most of that time they are no chance between faults, in which a thread is in the system's kernel, where no such sample is taken. Of
/// so many samples, twice the square root may be chance.
fn of_short_ns(short_ns: i64, of_threads: impl Iterator<Item = (i64, i64)>) -> i64 {
    let told = of_threads.filter(|(count, _)| *count >= MIN_IN_SHORT).map(|(count, period)| {
        let least_count = count as f64 - 2.0 * (count as f64).sqrt();
        (least_count * period as f64) as i64
    });
    let own_ns = told.max().unwrap_or(0);
    if 2 * own_ns >= short_ns { own_ns.min(short_ns) } else { 0 }
}

fn details(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    const CALLS: [(&str, Account); 7] = [
        ("idle_load_call", Account::IdleLoad),
        ("idle_allocate_call", Account::IdleAllocate),
        ("idle_init_call", Account::IdleInit),
        ("idle_launch_call", Account::IdleLaunch),
        ("idle_query_call", Account::IdleQuery),
        ("idle_copy_call", Account::IdleCopyCall),
        ("idle_blocked_call", Account::IdleBlocked),
    ];
    let idle = device.idle();
    for (fact, activity) in CALLS {
        facts.set_some(fact, idle.main_call(timeline, activity).map(|(call, _)| without_folders(timeline.name(call))));
    }
    let launches = idle.calls.iter().filter(|((account, _), _)| *account == Account::IdleLaunch);
    facts.set("idle_launch_in_calls_ns", launches.map(|(_, sum)| sum.sum_ns).fold(0, i64::saturating_add));
    // Of two that take about as long, one alone says too little.
    let first = idle.main_call(timeline, Account::IdleAllocate);
    let second =
        first.and_then(|(first, sum)| idle.second_call(timeline, Account::IdleAllocate, (first, sum.sum_ns / 2)));
    facts.set_some("idle_allocate_second_call", second.map(|call| without_folders(timeline.name(call))));
    facts.set_some("idle_blocked_call_ns", idle.main_call(timeline, Account::IdleBlocked).map(|(_, sum)| sum.sum_ns));
    late(timeline, device, facts);
    let init = device.idle().main_call(timeline, Account::IdleInit);
    facts.set_some("idle_init_call_ns", init.map(|(_, sum)| sum.sum_ns));
    let sets_up = idle.calls.iter().filter(|((account, _), _)| *account == Account::IdleInit);
    let of_graphs = sets_up.filter(|((_, call), _)| builds_graph(timeline.name(*call)));
    facts.set("idle_init_graph_ns", of_graphs.map(|(_, sum)| sum.sum_ns).sum::<i64>());
    facts.set("os_runtime_captured", !timeline.os_calls.times.is_empty());
    let one_time = [Account::IdleCompile, Account::IdleLoad, Account::IdleInit];
    facts.set("one_time_idle_ns", one_time.into_iter().map(|account| device.account_ns(account)).sum::<i64>());
}

/// What had been launched and did not begin.
fn late(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    if let Some((call, sum)) = device.idle().main_call(timeline, Account::IdleQueue) {
        facts.set("idle_queue_call", without_folders(timeline.name(call)));
        facts.set("idle_queue_call_ns", sum.sum_ns);
    }
    facts.set("idle_queue_migration_ns", device.idle().queued_migration_ns);
    facts.set("idle_queue_first_ns", first_of_stream_ns(timeline, device));
    let kernels = device.idle().late_kernels.iter();
    let main = kernels.max_by_key(|(kernel, ns)| (**ns, std::cmp::Reverse(timeline.name(**kernel))));
    if let Some((kernel, ns)) = main {
        facts.set("idle_queue_kernel", timeline.name(*kernel));
        facts.set("idle_queue_kernel_ns", *ns);
    }
}

/// How much of that ends with the first operation that was recorded of its stream.
fn first_of_stream_ns(timeline: &Timeline, device: &DeviceContext) -> i64 {
    let late = &device.idle().late_streams;
    let mut waiting: HashSet<u32> = late.iter().map(|(stream, _)| *stream).collect();
    let mut first_ns = 0_i64;
    // By start: the first operations of the few streams of a device mostly come soon.
    let mut ops = device.ops.all_ops();
    while let Some(op) = ops.next().filter(|_| !waiting.is_empty()) {
        let stream = op.stream(timeline);
        if waiting.remove(&stream) {
            let own = late.get(&stream).filter(|(begun, _)| *begun == op.start);
            first_ns = first_ns.saturating_add(own.map_or(0, |(_, idle_ns)| *idle_ns));
        }
    }
    first_ns
}

/// The host's side of blocking copies, and calls that make work wait for other work, over all threads of the processes on this device.
fn host_calls(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (api, window) = (&context.timeline.api, device.window());
    let mut counts: ByIndex<i64> = ByIndex::default();
    let mut copy_call_ns = 0_i64;
    for (_, kind) in device.call_kinds(context) {
        if kind.activity == Activity::CopyCall {
            copy_call_ns = copy_call_ns.saturating_add(kind.calls.inside_ns(&api.times, window));
        }
        *counts.of(kind.name, i64::default) += kind.calls.count(&api.times, window);
    }
    let names = &context.timeline.names;
    let count_of = |call: &str| {
        let of_apis = ["cuda", "cu", "hip"].map(|api| names.find(&format!("{api}{call}")));
        of_apis.into_iter().flatten().filter_map(|name| counts.get(name)).sum::<i64>()
    };
    facts.set("stream_wait_call_count", count_of("StreamWaitEvent"));
    facts.set("host_function_call_count", count_of("LaunchHostFunc"));
    facts.set("graphics_map_call_count", count_of("GraphicsMapResources"));
    facts.set("blocking_copy_call_ns", copy_call_ns);
}

/// How many calls prefetch unified memory in the window.
fn prefetch_call_count(context: &Context<'_>, device: &DeviceContext) -> i64 {
    let timeline = context.timeline;
    let mut prefetches = Told::new(&timeline.names, |name| normal_name(name).contains("MemPrefetch"));
    let kinds = device.call_kinds(context).filter(|(_, kind)| prefetches.of(kind.name));
    kinds.map(|(_, kind)| kind.calls.count(&timeline.api.times, device.window())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::CpuSamples;
    use crate::timeline::samples::Frame;

    #[test]
    fn samples_in_the_programs_own_code_are_no_moves_of_pages() {
        let mut timeline = Timeline::default();
        let mut frame = |function: &str, module: &str| Frame {
            function: timeline.names.intern(function),
            module: timeline.names.intern(module),
        };
        let frames = vec![
            frame("clear", "/app/run"),
            frame("0xffffffff88e01190", "[kernel.kallsyms]"),
            frame("0x7f", "/usr/lib64/libcuda.so.550.54.15"),
        ];
        timeline.cpu_samples = CpuSamples::new(frames);
        // Of the first stretch all, of the second three samples, of the third two; the others are elsewhere, or in what may move a page.
        let stacks: [&[u32]; 14] =
            [&[0], &[0], &[0], &[0], &[0], &[0], &[0], &[1, 0], &[2, 0], &[0], &[0], &[0], &[0], &[0]];
        for (at, stack) in stacks.into_iter().enumerate() {
            timeline.cpu_samples.push(0, 1_000 * at as i64 + 500, stack.iter().copied());
        }
        let stretches = [Interval::new(0, 5_800), Interval::new(6_000, 11_000), Interval::new(11_000, 13_000)];
        let samples: Vec<u32> = (0..14).collect();
        assert_eq!(own_code_ns(&timeline, &stretches, &samples), 5_800 + 3_000);
        assert_eq!(own_code_ns(&timeline, &stretches, &samples[2..]), 0, "too few tell nothing");
    }

    #[test]
    fn many_samples_in_short_stretches_tell_what_most_of_them_is() {
        let of = |short_ns, count| of_short_ns(short_ns, [(count, 1_000)].into_iter());
        assert_eq!(of(120_000, 100), 80_000);
        assert_eq!(of(160_000, 100), 80_000);
        assert_eq!(of(161_000, 100), 0, "less than half may lie where pages are touched");
        assert_eq!(of(70_000, 100), 70_000);
        assert_eq!(of(20_000, 29), 0, "too few");
    }
}
