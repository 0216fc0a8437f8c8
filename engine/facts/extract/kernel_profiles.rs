//! Facts of kernels that were profiled one by one: by themselves, or beside a recording of the program.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::kernel_counters::{set_profile, whole};
use super::kernel_names::Patterns;
use crate::facts::store::{Entity, EntityId, Facts};
use crate::facts::{EntityKind, FactValue};
use crate::limits::{MAX_DEVICE_COUNT, MAX_ENTITY_OF_DEVICE_COUNT, MAX_ENTITY_OF_KIND_COUNT};
use crate::source::KERNELS_FORMAT_ID;
use crate::text::kernel_identity::identity;
use crate::text::plural::counted_as;
use crate::text::{cut, kernel_names};
use crate::timeline::{Counter, KernelProfile, KernelProfiles, Page, tensor_ratios};

/// However many pages there are, no more is said of what is wrong with them.
const MAX_NOTICE_BYTES: usize = 2_000;

/// The facts of profiled kernels alone. The window of a device is the time of its profiled launches.
pub fn extract_profiles(profiles: &KernelProfiles) -> Facts {
    let mut facts = Facts::default();
    let run = facts.add(EntityKind::Run, "run", &[]);
    let mut devices: BTreeMap<i64, Vec<&KernelProfile>> = BTreeMap::new();
    for profile in &profiles.kernels {
        devices.entry(profile.device).or_default().push(profile);
    }
    let mut left_out = 0;
    let device_count = devices.len().min(MAX_DEVICE_COUNT);
    let left_out_devices = devices.len() - device_count;
    let patterns = Patterns::new();
    let most = (MAX_ENTITY_OF_KIND_COUNT / device_count.max(1)).min(MAX_ENTITY_OF_DEVICE_COUNT);
    for (number, kernels) in devices.into_iter().take(MAX_DEVICE_COUNT) {
        left_out += set_devices_work(&mut facts, run, number, (&kernels, most), patterns.as_ref());
    }
    let facts_of_run = facts.get_mut(run);
    facts_of_run.set("format", KERNELS_FORMAT_ID);
    facts_of_run.set("profile_page", page(profiles));
    facts_of_run.set("framework", framework(profiles));
    facts_of_run.set("device_count", device_count as i64);
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    facts_of_run.set("dropped_event_count", count(profiles.dropped_count));
    let some = |number: u64| Some(count(number)).filter(|count| *count > 0);
    facts_of_run.set_some("unusable_gpu_row_count", some(profiles.dropped_count));
    let launches = profiles.kernels.iter().map(|kernel| kernel.launch_count.max(0) as u64).fold(0, u64::saturating_add);
    if profiles.has_failed || profiles.dropped_count > 0 && profiles.dropped_count.saturating_mul(100) >= launches {
        facts_of_run.set("lacks_gpu_work", true);
    }
    facts_of_run.set_some("unread_row_count", some(profiles.beyond_limit_count));
    facts_of_run.set_some("untimed_launch_count", some(profiles.untimed_launch_count));
    facts_of_run.set_some("uncounted_launch_count", some(profiles.uncounted_launch_count));
    if profiles.is_cut {
        facts_of_run.set("is_file_damaged", true);
    }
    facts_of_run.set_some("lost_event_notice", notice(profiles));
    facts_of_run.set_some("truncated_name_count", some(profiles.cut_name_count));
    facts_of_run.set_some("omitted_entity_count", some(left_out as u64));
    facts_of_run.set_some("omitted_device_count", some(left_out_devices as u64));
    facts
}

/// A device with its kernels and their launch shapes, so many at most; returns how many of these are left out.
fn set_devices_work(
    facts: &mut Facts,
    run: EntityId,
    number: i64,
    (profiles, most): (&[&KernelProfile], usize),
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
    let mut left = most;
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
            set_tensor_evidence(facts, shape);
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

/// What a profile is looked for by: what its kernel is called, the instance of a template that it is (of any, where that is
/// absent), grid and block, and compute capability.
type ProfileKey = (u32, Option<u32>, (i64, i64), OfGpu);

/// Which GPU a profile is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum OfGpu {
    Any,
    /// Of this compute capability; absent for a profile that tells none.
    Capability(Option<(i64, i64)>),
}

/// The longest profile of each key: a shape asks for a few of them, however many there are.
#[derive(Default)]
struct ByShape<'a> {
    names: HashMap<String, u32>,
    longest: HashMap<ProfileKey, &'a KernelProfile>,
}

impl<'a> ByShape<'a> {
    fn new(profiles: &'a KernelProfiles) -> Self {
        let mut by_shape = Self::default();
        for profile in &profiles.kernels {
            // As a recording cuts what it calls a kernel.
            let called = kernel_names::called(&profile.name);
            let name = by_shape.name(cut::distinct(&called, kernel_names::MAX_CALLED_BYTES).into_owned());
            let instance = by_shape.name(identity(&profile.name));
            for instance in [None, Some(instance)] {
                for gpu in [OfGpu::Any, OfGpu::Capability(profile.compute_capability)] {
                    let key = (name, instance, (profile.grid_blocks, profile.block_threads), gpu);
                    let known = by_shape.longest.entry(key).or_insert(profile);
                    if duration_ns(profile) >= duration_ns(known) {
                        *known = profile;
                    }
                }
            }
        }
        by_shape
    }

    fn name(&mut self, name: String) -> u32 {
        let next = self.names.len() as u32;
        *self.names.entry(name).or_insert(next)
    }

    /// The profile that is of a launch shape. Of several instances of a template the one that the recording names, else the longest.
    fn of(&self, facts: &Facts, shape: EntityId) -> Option<&'a KernelProfile> {
        let related = |kind| facts.related(shape, kind).map(|id| facts.get(id));
        let kernel = related(EntityKind::Kernel);
        let capability =
            related(EntityKind::Device).and_then(|device| device.int("compute_major").zip(device.int("compute_minor")));
        let shape = facts.get(shape);
        let size = shape.int("grid_block_count").zip(shape.int("block_thread_count"))?;
        let name = *self.names.get(shape.name()).or_else(|| self.names.get(&kernel_names::called(shape.name())))?;
        let instance = kernel.and_then(|kernel| kernel.text("full_name")).map(identity);
        let instance = instance.and_then(|instance| self.names.get(&instance)).copied();
        let gpus = match capability {
            Some(known) => [OfGpu::Capability(Some(known)), OfGpu::Capability(None)],
            None => [OfGpu::Any; 2],
        };
        let longest = |instance: Option<u32>| {
            let found = gpus.iter().filter_map(|gpu| self.longest.get(&(name, instance, size, *gpu)).copied());
            found.max_by_key(|profile| duration_ns(profile))
        };
        instance.and_then(|instance| longest(Some(instance))).or_else(|| longest(None))
    }
}

fn duration_ns(profile: &KernelProfile) -> Option<i64> {
    profile.counters.get(Counter::Duration).and_then(whole)
}

/// Facts of profiled kernels, beside those of a recording of the program: of each launch shape with a profile of its name,
/// grid and block, on a GPU of the same compute capability. What the recording tells itself stays as it is.
pub fn join(facts: &mut Facts, profiles: &KernelProfiles) {
    let by_shape = ByShape::new(profiles);
    let shapes: Vec<EntityId> = facts.of_kind(EntityKind::LaunchShape).map(|(id, _)| id).collect();
    let mut joined_count = 0_i64;
    for id in shapes {
        let Some(profile) = by_shape.of(facts, id) else { continue };
        joined_count += 1;
        let shape = facts.get_mut(id);
        let known: Vec<(&str, FactValue)> = shape.facts().map(|(name, value)| (name, value.clone())).collect();
        set_profile(shape, profile);
        for (name, value) in known {
            shape.set(name, value);
        }
        set_tensor_evidence(facts, id);
    }
    let run = facts.of_kind(EntityKind::Run).next().map(|(id, _)| id);
    if let Some(run) = run {
        let run = facts.get_mut(run);
        run.set("profile_page", page(profiles));
        run.set("joined_profile_count", run.int("joined_profile_count").unwrap_or(0).saturating_add(joined_count));
        if let Some(words) = incomplete(profiles) {
            // Of several pages with the same damage one says it.
            let known = run.text("incomplete_profile_notice").filter(|known| !known.contains(&words));
            let words = known.map_or_else(|| words.clone(), |known| format!("{known} {words}"));
            run.set("incomplete_profile_notice", cut::to_bytes(&words, MAX_NOTICE_BYTES));
        }
    }
}

/// What a page does not tell of what was profiled; `None` where nothing says so.
fn incomplete(profiles: &KernelProfiles) -> Option<String> {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let counts = [
        (profiles.dropped_count, ("row", "rows"), "could not be used"),
        (profiles.beyond_limit_count, ("row", "rows"), "beyond a limit were not read"),
        (profiles.untimed_launch_count, ("launch", "launches"), "without a usable duration"),
    ];
    let counts = counts.into_iter().filter(|(number, ..)| *number > 0);
    let counts: Vec<String> = counts
        .map(|(number, (one, many), words)| format!("{} {words}", counted_as(count(number), one, many)))
        .collect();
    let counts = (!counts.is_empty()).then(|| format!("Of a page: {}.", counts.join(", ")));
    let all: Vec<String> = counts.into_iter().chain(notice(profiles)).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// What is wrong with a page, and the way out.
fn notice(profiles: &KernelProfiles) -> Option<String> {
    let cut = "The last line of the page has no end, so that its last number may lack digits: it was left out, and what came \
               behind it is missing.";
    let without_units = "The page has no row of units, so that its times, shares and sizes are not known.";
    let failed = "Nsight Compute says in the page that something failed: what was to be profiled then may be missing.";
    let wrong = [(profiles.has_failed, failed), (profiles.is_cut, cut), (profiles.lacks_units, without_units)];
    let words: Vec<&str> = wrong.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect();
    (!words.is_empty()).then(|| format!("{} Print it again, and copy all of it.", words.join(" ")))
}

const fn page(profiles: &KernelProfiles) -> &'static str {
    match profiles.page {
        Page::Raw => "raw",
        Page::Details => "details",
    }
}

/// As names tell it.
fn framework(profiles: &KernelProfiles) -> &'static str {
    let is_pytorch =
        |kernel: &KernelProfile| ["at::", "TensorIterator", "triton_"].iter().any(|word| kernel.name.contains(word));
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
        let ratios = tensor_ratios((major, minor), kernels.iter().find_map(|kernel| kernel.device_name.as_deref()));
        facts.set_some("half_peak_ratio", ratios.map(|ratios| ratios.half));
        facts.set_some("tf32_peak_ratio", ratios.and_then(|ratios| ratios.tf32));
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
        traits.set(facts);
    }
}

/// What tells whether a launch uses tensor cores, where anything does.
fn set_tensor_evidence(facts: &mut Facts, shape: EntityId) {
    let kernel = facts.related(shape, EntityKind::Kernel);
    let is_named = kernel.is_some_and(|kernel| facts.get(kernel).text("precision").is_some());
    let shape = facts.get_mut(shape);
    let evidence =
        if shape.number("tensor_pipe_share").is_some() { Some("counter") } else { is_named.then_some("name") };
    shape.set_some("tensor_evidence", evidence);
}

/// The longest first.
fn set_shape(facts: &mut Entity, name: &str, profiles: &[&KernelProfile]) {
    let Some(longest) = profiles.first() else { return };
    facts.set("name", name);
    facts.set("launch_count", launches_of(profiles));
    facts.set_some("sum_ns", sum_of(profiles));
    facts.set_some("attributed_ns", sum_of(profiles));
    // A page need not tell how large a launch is.
    facts.set_some("grid_block_count", Some(longest.grid_blocks).filter(|count| *count > 0));
    facts.set_some("block_thread_count", Some(longest.block_threads).filter(|count| *count > 0));
    set_profile(facts, longest);
}
