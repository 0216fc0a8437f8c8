//! What a trace says of its GPUs, and what is known to be wrong with it.

use super::document::Unread;
use super::fill::{EVENTS, Seen};
use super::numbering::Thinned;

use super::metadata;
use super::problems::Ending;
use super::{FORMAT, RECORD_AGAIN, Summary};
use crate::source::{doubled, lost};
use crate::text::{cut, number};
use crate::timeline::builder::Builder;
use crate::timeline::{
    DeviceProperties, GpuVendor, LostLaunches, NameId, Notice, NoticeKind, NoticeLevel, Source, Timeline,
};

/// GPUs that are taken in.
const MAX_GPUS: usize = 1_024;
/// Bytes of the name of one.
const MAX_TEXT_BYTES: usize = 600;
/// No GPU has more SMs, warps, registers or bytes of shared memory for each.
const MAX_OF_A_GPU: i64 = 1 << 24;
/// Threads of a warp of NVIDIA's GPUs, whose generations are told by compute capability.
const NVIDIA_WARP: i64 = 32;

/// Tells the builder of GPUs and of what was left out.
pub(super) fn describe(builder: &mut Builder, summary: &Summary) {
    for device in summary.metadata.devices.iter().take(MAX_GPUS) {
        builder.describe_device(device.id, properties(device));
    }
    for (problem, count) in summary.problems.iter() {
        builder.drop_events(EVENTS, problem.reason(), count);
    }
}

/// What a GPU cannot have is not known; products of these stay far from overflow.
fn properties(device: &metadata::DeviceProperties) -> DeviceProperties {
    let possible = |value: Option<i64>| value.filter(|value| (1..=MAX_OF_A_GPU).contains(value));
    let warp_size = possible(device.warp_size);
    let is_nvidia = warp_size == Some(NVIDIA_WARP);
    let threads = possible(device.max_threads_per_sm);
    DeviceProperties {
        name: Some(cut::to_bytes(&device.name, MAX_TEXT_BYTES).to_owned()).filter(|name| !name.is_empty()),
        sm_count: possible(device.sm_count),
        compute_capability: possible(device.compute_major).zip(device.compute_minor).filter(|_| is_nvidia),
        memory_bandwidth: None,
        total_memory_bytes: device.memory_bytes.filter(|bytes| *bytes > 0),
        max_warps_per_sm: threads.zip(warp_size).map(|(threads, warp)| threads / warp),
        max_blocks_per_sm: None,
        registers_per_sm: possible(device.registers_per_sm),
        shared_memory_per_sm_bytes: possible(device.shared_memory_per_sm),
        copy_engine_count: None,
        is_integrated: None,
        is_partition: false,
    }
}

/// What was recorded at some cost to the host.
fn costly_options(metadata: &metadata::Metadata) -> Vec<&'static str> {
    let options = [
        ("with_stack", metadata.with_stack),
        ("record_shapes", metadata.record_shapes),
        ("profile_memory", metadata.profile_memory),
        ("with_modules", metadata.with_modules),
    ];
    options.into_iter().filter(|(_, is_on)| *is_on == Some(true)).map(|(name, _)| name).collect()
}

/// A process may list but one of the GPUs of its machine, by another number than its work has: where all that it lists are the
/// same, the others are too.
fn describe_unlisted(timeline: &mut Timeline, metadata: &metadata::Metadata) {
    let mut listed = metadata.devices.iter().take(MAX_GPUS).map(properties);
    let Some(first) = listed.next() else { return };
    if first.name.is_some() && listed.all(|other| other == first) {
        for device in timeline.devices.iter_mut().filter(|device| device.properties.is_none()) {
            device.properties = Some(first.clone());
        }
    }
}

/// Told by the calls, which every trace with work of a GPU has; else by what the trace says of itself.
fn vendor(timeline: &Timeline, metadata: &metadata::Metadata) -> Option<GpuVendor> {
    let mut names: Vec<NameId> = timeline.api.name.clone();
    names.sort_unstable();
    names.dedup();
    let has = |prefix: &str| names.iter().any(|name| timeline.name(*name).starts_with(prefix));
    if has("hip") || metadata.hip_runtime_version.is_some() {
        return Some(GpuVendor::Amd);
    }
    let has_cuda = has("cuda") || has("cu") || metadata.cuda_runtime_version.is_some();
    let is_other = || !names.is_empty() && !timeline.devices.is_empty();
    if has_cuda { Some(GpuVendor::Nvidia) } else { is_other().then_some(GpuVendor::Other) }
}

/// Tells the timeline what it was made of, of which launches nothing came, and whether somebody thinned it out.
pub(super) fn describe_capture(
    timeline: &mut Timeline,
    summary: &Summary,
    seen: Seen,
    (lost, thinned): (Option<LostLaunches>, Option<Thinned>),
) {
    let is_damaged = summary.is_damaged() || thinned.is_some();
    let unusable = summary.unusable_count.saturating_add(doubled::count(timeline));
    let is_much = timeline.is_much_unusable(unusable);
    let is_amid = is_damaged && timeline.gpu_op_count() > 0 || lost.is_some_and(|lost| lost.is_amid) || is_much;
    timeline.source = Source {
        format: Some(FORMAT.id),
        framework: Some("pytorch"),
        costly_options: costly_options(&summary.metadata),
        listed_gpu_count: Some(summary.metadata.devices.len() as i64).filter(|count| *count > 0),
        gpu_vendor: vendor(timeline, &summary.metadata),
        cuda_versions: summary.metadata.cuda_runtime_version.zip(summary.metadata.cuda_driver_version),
        // A trace that was recorded without it has none of its calls; of one that is not whole they may be what is missing.
        cuda_requested: (!seen.gpu && !seen.other && !is_damaged).then_some(false),
        // Beside work of a GPU it changes nothing.
        other_accelerator: (seen.other && !seen.gpu).then_some("MTIA"),
        kernel_metric_count: Some(seen.kernel_metric_count).filter(|count| *count > 0),
        lost_launches: lost,
        unusable_gpu_row_count: i64::try_from(unusable).ok().filter(|count| *count > 0),
        lacks_gpu_work: Some(is_amid),
        is_damaged,
        numbered_operator_count: thinned.and_then(|thinned| i64::try_from(thinned.numbered_count).ok()),
        has_open_end: summary.ending == Ending::Open,
        ..Source::default()
    };
    timeline.lacks_calls = true;
    timeline.lacks_return_codes = true;
    describe_unlisted(timeline, &summary.metadata);
    let damage = damage(summary).map(|text| format!("{text}. {RECORD_AGAIN}."));
    let texts = damage.into_iter().chain(thinned.map(thinned_out));
    let texts: Vec<String> = texts.chain(lost.map(|lost| lost::sentence(lost, is_damaged))).collect();
    if !texts.is_empty() {
        let (kind, level) = (NoticeKind::EventsLost, NoticeLevel::Warning);
        timeline.notices.push(Notice { kind, level, text: texts.join(" ") });
    }
}

/// How much of a thinned trace is there.
fn thinned_out(thinned: Thinned) -> String {
    let (count, all) = (thinned.operator_count, thinned.numbered_count);
    let share = number::percent(count as f64 / all.max(1) as f64);
    let [count, all] = [count, all].map(|count| number::count(i64::try_from(count).unwrap_or(i64::MAX)));
    format!("The trace was thinned out: by their numbers, it holds {count} of {all} operators that ran ({share})")
}

/// What is wrong with the file; absent where it is whole.
fn damage(summary: &Summary) -> Option<String> {
    let text = match (&summary.ending, summary.unread) {
        (Ending::Whole | Ending::Open, Some(unread)) => {
            let (share, of) = match unread {
                Unread::Events(share) => (share, "events"),
                Unread::GpuWork(share) => (share, "GPU work"),
            };
            let share = number::percent(share);
            let wrong = summary.problems.iter().filter(|(problem, _)| problem.is_of_form());
            let most = wrong.max_by_key(|(_, count)| *count);
            let most = most.map_or_else(String::new, |(problem, _)| format!(" (most often: {})", problem.reason()));
            return Some(format!("About {share} of the {of} of the file cannot be read{most}"));
        }
        (Ending::Whole, _) => return None,
        (Ending::Open, _) => "The list of events has no end, as that of a file that is cut off right behind an event",
        (Ending::Changed, _) => {
            "The file is damaged: its checksum is not that of the trace in it, so that anything in it may be wrong"
        }
        (Ending::Behind, _) => {
            "Behind the trace the file holds more that cannot be read, which may be another trace: nothing of it is in any number"
        }
        (Ending::CutBehind, _) => {
            "The compressed data is cut off behind the trace, where another trace may have stood: nothing of it is in any number"
        }
        (Ending::CutOff, _) => "The file ends before the trace does",
        (Ending::Damaged(why), _) => {
            return Some(format!("The file is damaged, and ends before the trace does ({why})"));
        }
        (Ending::BeyondBudget, _) => "Reading the file takes more than a trace of its size can; its end was not read",
        (Ending::BeyondMemory, _) => "The trace takes more memory than one of its size can; its end was not read",
    };
    Some(text.to_owned())
}
