//! Facts of the run and of its processes.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use super::profile::{FIRST_OF_PROFILER, is_system};
use super::{Context, failed_launches, framework, refused, torn_down};
use crate::facts::store::EntityId;
use crate::facts::{Entity, EntityKind, Facts};
use crate::ledger::{Account, DeviceOps};
use crate::limits::MAX_PROCESS_COUNT;
use crate::steps::Phase;
use crate::text::paths::without_folders;
use crate::timeline::api::{self, ApiClass, error_name, is_graph_launch};
use crate::timeline::columns::{ApiError, Label, RangeKind};
use crate::timeline::interval::Interval;
use crate::timeline::samples::CpuSamples;
use crate::timeline::{GpuVendor, NONE, NameId, NoticeKind, Timeline, Times, modules};

/// CUDA's number of the error.
const OUT_OF_MEMORY: u16 = 2;

/// The facts of the run.
pub(super) fn extract(context: &Context<'_>) -> Entity {
    let mut run = Entity::new(EntityKind::Run, String::new(), Vec::new());
    let (timeline, facts) = (context.timeline, &mut run);
    facts.set_some("format", timeline.source.format);
    facts.set_some("product_version", timeline.source.product_version.clone());
    facts.set_some("schema_version", timeline.source.schema_version.clone());
    facts.set_some("duration_ns", duration(context));
    facts.set("process_count", active_processes(context).len() as i64);
    counts(timeline, facts);
    let reached = timeline.reached;
    for (name, count) in [
        ("unread_row_count", reached.row_count),
        ("truncated_name_count", reached.cut_name_count),
        ("merged_name_count", reached.merged_name_count),
        ("merged_thread_count", reached.merged_thread_count),
        ("omitted_device_count", reached.device_count),
    ] {
        facts.set_some(name, i64::try_from(count).ok().filter(|count| *count > 0));
    }
    facts.set("device_identity_known", timeline.device_identity_known);
    facts.set("cpu_samples_captured", timeline.has_cpu_samples);
    facts.set("is_window_narrowed", context.is_narrowed);
    facts.set("asked_phase", context.asked_phase.map_or("whole", Phase::id));
    facts.set_some("cuda_trace_requested", timeline.source.cuda_requested);
    let lost = timeline.source.lost_launches;
    facts.set_some("lost_launch_count", lost.map(|lost| lost.count));
    facts.set_some("lost_amid_launch_count", lost.filter(|lost| lost.is_amid).map(|lost| lost.amid_count));
    facts.set_some("unusable_gpu_row_count", timeline.source.unusable_gpu_row_count);
    facts.set_some("unrecorded_copy_count", timeline.source.unrecorded_copy_count);
    facts.set_some("lacks_gpu_work", timeline.source.lacks_gpu_work);
    facts.set("is_file_damaged", timeline.source.is_damaged);
    facts.set_some("numbered_operator_count", timeline.source.numbered_operator_count);
    facts.set_some("has_open_end", timeline.source.has_open_end.then_some(true));
    calls(context, facts);
    facts.set_some("rank_number", timeline.details.rank);
    facts.set_some("world_size_count", timeline.details.world_size);
    facts.set_some("distributed_backend", timeline.details.backend.as_deref());
    let options = timeline.source.costly_options.join(", ");
    facts.set_some("costly_profiler_options", Some(options).filter(|options| !options.is_empty()));
    facts.set_some("listed_gpu_count", timeline.source.listed_gpu_count);
    facts.set_some("gpu_vendor", timeline.source.gpu_vendor.map(GpuVendor::id));
    let (framework, evidence) = framework::of(timeline);
    facts.set("framework", framework);
    facts.set_some("framework_evidence", evidence);
    facts.set_some("serving_engine", framework::serving_engine(timeline));
    surroundings(context, facts);
    sampled_cuda(timeline, facts);
    facts.set_some("cuda_profiler_start_ns", cuda_profiler_start(timeline));
    facts.set_some("gpu_library", gpu_library(timeline));
    facts.set_some("gpu_operator", gpu_operator(timeline));
    let holds_operators = timeline.source.format == Some("kineto");
    facts.set_some("has_backward", has_backward(timeline).filter(|_| holds_operators));
    facts.set_some("operator_count", holds_operators.then(|| operator_count(timeline)));
    facts.set_some("other_accelerator", timeline.source.other_accelerator);
    facts.set_some("kernel_metric_count", timeline.source.kernel_metric_count);
    notices(timeline, facts);
    // Last: it waits for the idle time.
    devices(context, facts);
    run
}

/// What was called, and what of it failed.
fn calls(context: &Context<'_>, facts: &mut Entity) {
    let timeline = context.timeline;
    if timeline.api.is_empty() {
        return;
    }
    let count_of = |is_of: &dyn Fn(NameId) -> bool| {
        let own = context.api_names().iter().filter(|(name, _)| is_of(*name));
        own.map(|(_, count)| count).sum::<i64>()
    };
    let failed = failed_launches::count(context);
    facts.set("launch_call_count", count_of(&|name| context.calls.class[name as usize] == ApiClass::Launch) - failed);
    let is_wait = |name: NameId| matches!(context.calls.class[name as usize], ApiClass::Wait(_));
    facts.set("sync_call_count", count_of(&is_wait));
    facts.set("graph_launch_call_count", count_of(&|name| is_graph_launch(timeline.name(name))));
    facts.set_some("failed_launch_count", Some(failed).filter(|_| !timeline.lacks_return_codes));
    facts.set("is_torn_down", torn_down::is_torn_down(timeline));
    facts.set("is_exit_recorded", torn_down::is_exit_recorded(timeline));
    errors(context, facts);
}

fn devices(context: &Context<'_>, facts: &mut Entity) {
    let devices = &context.devices;
    facts.set("device_count", devices.len() as i64);
    let compute = || devices.iter().map(|device| device.account_ns(Account::Compute));
    facts.set_some("device_compute_max_ns", compute().max());
    facts.set_some("device_compute_min_ns", compute().min());
    let whole = devices.iter().map(|device| whole_compute_ns(&device.ops));
    let whole = whole.map(|ns| (ns, ns)).reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    facts.set_some("device_whole_compute_min_ns", whole.map(|(least, _)| least));
    facts.set_some("device_whole_compute_max_ns", whole.map(|(_, most)| most));
    facts.set_some("device_window_max_ns", devices.iter().map(|device| device.window().len_ns()).max());
}

/// How many events of each kind the recording holds.
fn counts(timeline: &Timeline, facts: &mut Entity) {
    facts.set("gpu_op_count", timeline.gpu_op_count() as i64);
    facts.set("kernel_count", timeline.kernels.ops.len() as i64);
    facts.set("runtime_kernel_count", framework::runtime_kernel_count(timeline));
    facts.set("api_call_count", timeline.api.len() as i64);
    facts.set("range_count", timeline.ranges.len() as i64);
    facts.set("os_call_count", timeline.os_calls.times.len() as i64);
    facts.set("metric_sample_count", timeline.metrics.iter().map(|series| series.value.len() as i64).sum::<i64>());
    facts.set("graph_launch_count", timeline.graphs.ops.len() as i64);
    facts.set("dropped_event_count", timeline.dropped.iter().map(|dropped| dropped.count as i64).sum::<i64>());
}

fn errors(context: &Context<'_>, facts: &mut Entity) {
    let timeline = context.timeline;
    if timeline.lacks_return_codes {
        return;
    }
    let is_of_program = errors_of_program(context);
    let errors: Vec<&ApiError> = timeline.api.errors.iter().filter(|error| is_of_program(error)).collect();
    let (fatal, errors): (Vec<&ApiError>, Vec<&ApiError>) =
        errors.into_iter().partition(|error| api::failure(error.code).is_some());
    kernel_error(timeline, &fatal, facts);
    refused::extract(timeline, &errors, facts);
    failed_launches::extract(context, &errors, facts);
    facts.set("api_error_count", errors.iter().map(|error| error.count as i64).sum::<i64>());
    let Some(commonest) = errors.first() else { return };
    facts.set("api_error_call", timeline.name(commonest.call));
    facts.set("api_error_call_count", commonest.count as i64);
    facts.set_some("api_error_name", error_name(commonest.code));
    let out_of_memory = errors.iter().filter(|error| error.code == OUT_OF_MEMORY).map(|error| error.count as i64);
    facts.set_some("out_of_memory_count", Some(out_of_memory.sum::<i64>()).filter(|count| *count > 0));
}

/// The first call that returned an error which ends all that a context does; those that return it after that tell nothing more.
fn kernel_error(timeline: &Timeline, fatal: &[&ApiError], facts: &mut Entity) {
    let Some(first) = fatal.iter().min_by_key(|error| (error.first_ns, timeline.name(error.call))) else { return };
    facts.set("kernel_error_call", timeline.name(first.call));
    facts.set("kernel_error_start_ns", first.first_ns);
    facts.set_some("kernel_error_name", error_name(first.code));
    facts.set("succeeds_after_kernel_error", succeeds_after(timeline, first));
    if let Some((text, kind)) = api::failure(first.code) {
        facts.set("kernel_failure", text);
        facts.set("kernel_failure_kind", kind.name());
    }
}

/// Whether a call that needs a context succeeds after one that failed has returned: more of them begin then than fail in all. What
/// failed is of one context; another one, of another GPU, of another process or after a reset, works on.
fn succeeds_after(timeline: &Timeline, failed: &ApiError) -> bool {
    let api = &timeline.api;
    let rows = || api.times.iter().zip(&api.name);
    let is_failed = |(times, name): &(Interval, &NameId)| times.start == failed.first_ns && **name == failed.call;
    let end = rows().find(is_failed).map_or(failed.first_ns, |(times, _)| times.end);
    let mut later: HashMap<NameId, u64> = HashMap::default();
    rows().filter(|(times, _)| times.start >= end).for_each(|(_, name)| *later.entry(*name).or_default() += 1);
    // Those too that the end of the program finds: they are no success.
    let mut errors: HashMap<NameId, u64> = HashMap::default();
    api.errors.iter().for_each(|error| *errors.entry(error.call).or_default() += error.count);
    let failed = |name: NameId| errors.get(&name).copied().unwrap_or(0);
    later.into_iter().any(|(name, count)| works(timeline.name(name)) && count > failed(name))
}

/// Tells the errors of the program from those that what ends it finds: a runtime that waits at its exit for a context that is gone
/// already.
fn errors_of_program<'all>(context: &'all Context<'_>) -> impl Fn(&ApiError) -> bool + 'all {
    let api = &context.timeline.api;
    let works = |name: &NameId| {
        let text = context.timeline.name(*name);
        works(text) && !matches!(api::classify(text), ApiClass::Wait(_))
            || matches!(api::classify(text), ApiClass::Allocate) && !text.contains("Free")
    };
    let any = api.errors.iter().any(|error| api::is_of_tear_down(error.code));
    // A program calls few functions, many times.
    let names = if any { context.api_names() } else { &[] };
    let working: HashSet<NameId> = names.iter().map(|(name, _)| *name).filter(works).collect();
    // Where nothing is of that kind, none of the many calls is looked at.
    let rows = if working.is_empty() { 0 } else { api.len() };
    let calls = api.times.iter().zip(&api.name).take(rows).filter(|(_, name)| working.contains(*name));
    let last_work = calls.map(|(call, _)| call.start).max();
    move |error| !api::is_of_tear_down(error.code) || last_work.is_some_and(|last| last >= error.first_ns)
}

/// What is known of the machine and of how the program ended.
fn surroundings(context: &Context<'_>, facts: &mut Entity) {
    let timeline = context.timeline;
    let surroundings = &timeline.surroundings;
    facts.set("is_wsl", surroundings.is_wsl);
    facts.set("is_linux_host", surroundings.is_linux_host);
    facts.set("is_begin_chosen", surroundings.is_begin_chosen);
    facts.set_some("output_error", surroundings.output_error.map(|error| error.kind));
    facts.set_some("output_ends_in_error", surroundings.output_error.map(|error| error.is_end));
    if let Some(place) = &surroundings.output_place {
        facts.set("output_error_file", place.file.as_str());
        facts.set("output_error_line", i64::from(place.line));
        facts.set_some("output_error_function", place.function.as_deref());
    }
    facts.set("device_records_arrived", surroundings.has_device_records);
    if !timeline.api.is_empty() {
        let is_managed = |name: NameId| matches!(timeline.name(name), "cudaMallocManaged" | "cuMemAllocManaged");
        let allocations = context.api_names().iter().filter(|(name, _)| is_managed(*name));
        facts.set("managed_allocation_count", allocations.map(|(_, count)| count).sum::<i64>());
    }
}

/// Domains of libraries that work on the GPU, by how they begin.
const GPU_LIBRARIES: [&str; 7] = ["TensorRT", "myelin", "NCCL", "cuDNN", "cuBLAS", "CCCL", "cuFFT"];

/// The NVTX domain of a library that works on the GPU, where it marked ranges.
fn gpu_library(timeline: &Timeline) -> Option<&str> {
    let domains = timeline.ranges.domains.iter().map(|(_, _, name)| timeline.name(*name));
    let is_of_gpu = |name: &&str| GPU_LIBRARIES.iter().any(|known| name.starts_with(known));
    if timeline.ranges.is_empty() { None } else { domains.filter(is_of_gpu).min() }
}

/// Whether any operator that the host ran is of a backward pass; `None` where none was recorded.
fn has_backward(timeline: &Timeline) -> Option<bool> {
    let labels = &timeline.ranges.labels;
    let names = labels.iter().filter(|label| label.kind == RangeKind::Operator).map(|label| timeline.name(label.name));
    let mut names = names.peekable();
    names.peek()?;
    Some(names.any(|name| name.contains("Backward") || name.contains("backward")))
}

/// Operators of PyTorch that run on a GPU alone, by how they begin.
const GPU_OPERATORS: [&str; 8] = [
    "aten::cudnn_convolution",
    "aten::cudnn_batch_norm",
    "aten::_cudnn_rnn",
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::miopen_convolution",
    "aten::miopen_batch_norm",
    "aten::miopen_rnn",
];

fn operator_count(timeline: &Timeline) -> i64 {
    let is_operator = |label: &Label| label.kind == RangeKind::Operator;
    let is_operator: Vec<bool> = timeline.ranges.labels.iter().map(is_operator).collect();
    let labels = timeline.ranges.threads.iter().flat_map(|thread| &thread.label);
    labels.filter(|label| is_operator.get(**label as usize) == Some(&true)).count() as i64
}

/// An operator that runs on a GPU alone, where no work of one was recorded.
fn gpu_operator(timeline: &Timeline) -> Option<&str> {
    if timeline.gpu_op_count() > 0 {
        return None;
    }
    let names = timeline.ranges.labels.iter().map(|label| timeline.name(label.name));
    names.filter(|name| GPU_OPERATORS.iter().any(|known| name.starts_with(known))).min()
}

/// Calls that the profiler makes in the program's place.
const CALLS_OF_PROFILER: [&str; 2] = [FIRST_OF_PROFILER, "cuCtxSynchronize"];
/// How the functions begin that register kernels while libraries load: these are no calls of the program.
const REGISTRATION: [&str; 4] = ["__cudaRegister", "__cudaUnregister", "__cudaInit", "__sti____cuda"];

/// Samples of calls of CUDA that were not recorded, where no kernel was, and calls of the OS from within them.
fn sampled_cuda(timeline: &Timeline, facts: &mut Entity) {
    let samples = &timeline.cpu_samples;
    if !timeline.kernels.ops.times.is_empty() {
        return;
    }
    if !samples.is_empty() {
        let (count, call) = unrecorded_cuda(timeline, samples);
        facts.set("sampled_cuda_count", count);
        facts.set_some("sampled_cuda_call", call);
    }
    let (count, call) = unrecorded_cuda(timeline, &timeline.os_stacks.samples);
    if count > 0 {
        facts.set("os_call_in_cuda_count", count);
        facts.set_some("os_call_in_cuda", call);
    }
}

/// How many stacks lie in calls of CUDA that were not recorded, and in which most of them: the program called it all the same. Beside
/// other calls of the program only those count that launch, copy or wait: of others, not each is recorded.
fn unrecorded_cuda<'all>(timeline: &'all Timeline, samples: &CpuSamples) -> (i64, Option<&'all str>) {
    if samples.is_empty() {
        return (0, None);
    }
    let recorded: HashSet<NameId> = timeline.api.name.iter().copied().collect();
    let is_of_program = |name: &NameId| !CALLS_OF_PROFILER.contains(&timeline.name(*name));
    let any_recorded = recorded.iter().any(is_of_program);
    let recorded: HashSet<&str> = recorded.iter().map(|name| timeline.name(*name)).collect();
    let call_of = |function: u32| {
        let name = timeline.name(samples.frames.get(function as usize)?.function);
        modules::cuda_call(name).filter(|call| !call.starts_with("cupti"))
    };
    let counts =
        |function: u32| !any_recorded || call_of(function).is_some_and(|call| works(call) && !recorded.contains(call));
    let mut count = 0;
    let mut functions: HashMap<u32, i64> = HashMap::default();
    for sample in 0..samples.len() {
        let called = called_by_program(timeline, samples, sample);
        if let Some(function) = called.filter(|function| counts(*function)) {
            count += 1;
            *functions.entry(function).or_default() += 1;
        }
    }
    let named = functions.into_iter().filter_map(|(function, count)| Some((count, Reverse(call_of(function)?))));
    (count, named.max().map(|(_, name)| name.0))
}

/// What the profiler calls its own set-up when a program begins to use CUDA.
const CUDA_PROFILER_START: &str = "CUDA profiling initialization";

pub(super) fn cuda_profiler_start(timeline: &Timeline) -> Option<i64> {
    let name = timeline.names.find(CUDA_PROFILER_START)?;
    let overheads = timeline.overheads.times.iter().zip(&timeline.overheads.name);
    overheads.filter(|(_, own)| **own == name).map(|(times, _)| times.start).min()
}

/// Whether a call launches, copies or waits.
fn works(name: &str) -> bool {
    matches!(
        api::classify(name),
        ApiClass::Launch | ApiClass::CopyAsync | ApiClass::CopyBlocking | ApiClass::Memset | ApiClass::Wait(_)
    )
}

/// The outermost function of CUDA on a stack, where something else than the profiler and the beginnings of threads called it. A runtime
/// that is linked into the program is told by the names of its calls.
fn called_by_program(timeline: &Timeline, samples: &CpuSamples, sample: usize) -> Option<u32> {
    let stack = samples.stack(sample);
    let frame_of = |function: &u32| samples.frames.get(*function as usize).copied();
    let registers = |function: &u32| {
        let name = frame_of(function).map_or("", |frame| timeline.name(frame.function));
        REGISTRATION.iter().any(|beginning| name.starts_with(beginning))
    };
    let traits = samples.traits(&timeline.names);
    let outermost = stack.iter().rposition(|function| traits.of(*function).is_in_cuda)?;
    let caller = stack.get(outermost + 1).and_then(frame_of)?;
    let is_called = caller.module != NONE && !is_system(timeline, caller) && !stack[outermost..].iter().any(registers);
    is_called.then(|| stack[outermost])
}

/// How long a device computes in all that was recorded, whichever part of it is judged.
fn whole_compute_ns(ops: &DeviceOps) -> i64 {
    let (mut sum_ns, mut until) = (0_i64, i64::MIN);
    for op in ops.all_ops().filter(|op| op.kind.is_compute()).map(|op| op.interval()) {
        sum_ns = sum_ns.saturating_add(op.end.saturating_sub(op.start.max(until)).max(0));
        until = until.max(op.end);
    }
    sum_ns
}

/// From the first to the last event of any kind. A wait in the OS that nothing ended may be said to end after the recording, and
/// what began before the recording, at zero, was recorded from there on.
pub(super) fn recorded(timeline: &Timeline) -> Option<Interval> {
    let [columns @ .., os_calls] = timeline.op_and_call_times();
    let ranges = timeline.ranges.threads.iter().map(|thread| &thread.times);
    let states = [&timeline.thread_states.times].into_iter();
    // A thread that runs from the first moment of the scheduler's record on, or to its last, is in no state of waiting there.
    let spans = ranges.chain(states).flat_map(Times::iter).chain(timeline.thread_states.scheduled.values().copied());
    let clipped = spans.map(|span| Interval::new(span.start.max(0), span.end.max(0)));
    let begins = os_calls.iter().map(|call| Interval::new(call.start.max(0), call.start.max(0)));
    let all = columns.into_iter().flat_map(Times::iter).chain(clipped).chain(begins);
    all.reduce(Interval::hull)
}

fn duration(context: &Context<'_>) -> Option<i64> {
    context.recorded.map(|all| all.len_ns())
}

/// Processes that called CUDA or ran GPU work.
fn active_processes(context: &Context<'_>) -> Vec<u32> {
    let timeline = context.timeline;
    let callers = (0_u32..).zip(&timeline.threads).filter(|(thread, _)| !context.calls.of_thread(*thread).is_empty());
    let mut active: Vec<u32> = callers.map(|(_, thread)| thread.process).collect();
    active.extend(timeline.streams.iter().map(|stream| stream.process));
    active.retain(|process| *process != NONE);
    active.sort_unstable();
    active.dedup();
    active
}

/// Adds the active processes; their entities by index of the process.
pub(super) fn processes(context: &Context<'_>, facts: &mut Facts, run: EntityId) -> Vec<Option<EntityId>> {
    let timeline = context.timeline;
    let mut ids = vec![None; timeline.processes.len()];
    let mut pids: HashMap<i64, usize> = HashMap::default();
    for process in &timeline.processes {
        *pids.entry(process.pid).or_default() += 1;
    }
    let active = active_processes(context);
    let left_out = active.len().saturating_sub(MAX_PROCESS_COUNT);
    if left_out > 0 {
        facts.get_mut(run).set("omitted_entity_count", left_out as i64);
    }
    for process in active.into_iter().take(MAX_PROCESS_COUNT) {
        let Some(known) = timeline.processes.get(process as usize) else { continue };
        let key = if pids.get(&known.pid).is_some_and(|count| *count > 1) {
            format!("process{}@{}", known.pid, known.label)
        } else {
            format!("process{}", known.pid)
        };
        let id = facts.add(EntityKind::Process, key, &[run]);
        ids[process as usize] = Some(id);
        let entity = facts.get_mut(id);
        entity.set("pid", known.pid);
        entity.set_some("name", known.name.clone());
    }
    ids
}

/// What the active processes did in CUDA.
pub(super) fn api_uses(context: &Context<'_>, processes: &[Option<EntityId>]) -> Vec<(EntityId, Entity)> {
    let known = (0_u32..).zip(processes).filter_map(|(process, id)| Some((process, (*id)?)));
    let callers = known.filter(|(process, _)| context.calls_of(*process, None).next().is_some());
    let uses = callers.map(|(process, id)| {
        let mut entity = Entity::new(EntityKind::Process, String::new(), Vec::new());
        api_use(context, process, &mut entity);
        (id, entity)
    });
    uses.collect()
}

/// Calls, and the time inside them.
#[derive(Debug, Clone, Copy, Default)]
struct CallSum {
    count: i64,
    sum_ns: i64,
}

impl CallSum {
    const fn add(&mut self, ns: i64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }
}

fn api_use(context: &Context<'_>, process: u32, facts: &mut Entity) {
    let timeline = context.timeline;
    let [mut all, mut launches, mut waits, mut queries, mut allocations] = [CallSum::default(); 5];
    for call in context.calls_of(process, None) {
        let ns = timeline.api.times.at(call as usize).len_ns();
        all.add(ns);
        match context.calls.class_of(timeline, call) {
            ApiClass::Launch => launches.add(ns),
            ApiClass::Wait(_) => waits.add(ns),
            ApiClass::Query => queries.add(ns),
            ApiClass::Allocate => allocations.add(ns),
            _ => {}
        }
    }
    let threads = context.threads_of(process).iter().filter(|thread| !context.calls.of_thread(**thread).is_empty());
    facts.set("api_call_count", all.count);
    facts.set("launch_call_count", launches.count);
    facts.set("launch_call_ns", launches.sum_ns);
    facts.set("sync_call_ns", waits.sum_ns);
    facts.set("query_call_count", queries.count);
    facts.set("allocate_call_count", allocations.count);
    facts.set("allocate_call_ns", allocations.sum_ns);
    facts.set("thread_count", threads.count() as i64);
}

/// The gravest notice of each kind.
fn notices(timeline: &Timeline, facts: &mut Entity) {
    for (name, kind) in [
        ("lost_event_notice", NoticeKind::EventsLost),
        ("driver_notice", NoticeKind::Driver),
        ("capture_notice", NoticeKind::Capture),
        ("unified_memory_notice", NoticeKind::UnifiedMemory),
    ] {
        let of_kind = timeline.notices.iter().filter(|notice| notice.kind == kind);
        // Of equally grave ones the first is the most telling.
        let gravest = of_kind.min_by_key(|notice| Reverse(notice.level));
        facts.set_some(name, gravest.map(|notice| without_folders(&notice.text)));
    }
}
