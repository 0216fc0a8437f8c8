//! Kernels that take one GPU longer than another that launches them as often: the work is divided unevenly.

use std::collections::BTreeMap;

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::names::Told;
use crate::timeline::{NONE, NameId};

/// Launches on two GPUs are as many where they differ by no more than this share, or by one: windows need not begin alike.
const MOST_DIFFERENT: f64 = 0.02;

/// In the names of kernels that wait for another GPU, in lower case.
const WAITING: [&str; 8] =
    ["allreduce", "all_reduce", "allgather", "all_gather", "userbuffers", "multimem", "barrier", "nvshmem"];

/// Launches of one name in the window of a device.
#[derive(Debug, Clone, Copy, Default)]
struct Launched {
    count: i64,
    sum_ns: i64,
}

impl Launched {
    fn is_as_often(self, other: Self) -> bool {
        let apart = self.count.abs_diff(other.count);
        apart <= 1 || apart as f64 <= MOST_DIFFERENT * self.count.max(other.count) as f64
    }
}

/// What all devices launch of one kernel that each of them launches as often.
#[derive(Debug, Clone, Copy)]
struct OfAll {
    mean_ns: i64,
    least_ns: i64,
}

/// By how much such kernels run longer on a device than on the mean of all.
#[derive(Debug)]
pub(super) struct Uneven {
    more_ns: i64,
    /// The kernel with most of that, and what the device launches of it.
    kernel: NameId,
    own: Launched,
    least_ns: i64,
}

impl Uneven {
    fn of(own: BTreeMap<NameId, Launched>, all: &BTreeMap<NameId, OfAll>) -> Option<Self> {
        let (mut more_ns, mut main) = (0_i64, None::<(i64, NameId, Launched, OfAll)>);
        for (name, own) in own {
            let Some(of_all) = all.get(&name) else { continue };
            let ns = own.sum_ns.saturating_sub(of_all.mean_ns);
            more_ns = more_ns.saturating_add(ns);
            if main.is_none_or(|(most_ns, ..)| ns > most_ns) {
                main = Some((ns, name, own, *of_all));
            }
        }
        let (_, kernel, own, of_all) = main.filter(|_| more_ns > 0)?;
        Some(Self { more_ns, kernel, own, least_ns: of_all.least_ns })
    }
}

/// Of each device, in their order; empty with one. Communication waits for others: how long it takes tells nothing of the work.
pub(super) fn of_all(context: &Context<'_>) -> Vec<Option<Uneven>> {
    if context.devices.len() < 2 {
        return Vec::new();
    }
    let mut waits = Told::new(&context.timeline.names, may_wait);
    let devices: Vec<_> = context.devices.iter().map(|device| of_device(context, device, &mut waits)).collect();
    let mut all: BTreeMap<NameId, Vec<Launched>> = BTreeMap::new();
    for (name, launched) in devices.iter().flatten() {
        all.entry(*name).or_default().push(*launched);
    }
    let is_alike = |own: &[Launched]| {
        let most = own.iter().max_by_key(|launched| launched.count).copied().unwrap_or_default();
        own.len() == context.devices.len() && own.iter().all(|launched| launched.is_as_often(most))
    };
    all.retain(|_, own| is_alike(own));
    let of_name = |own: Vec<Launched>| {
        let least_ns = own.iter().map(|launched| launched.sum_ns).min().unwrap_or(0);
        let sum_ns = own.iter().map(|launched| i128::from(launched.sum_ns)).sum::<i128>();
        OfAll { mean_ns: (sum_ns / own.len().max(1) as i128) as i64, least_ns }
    };
    let all = all.into_iter().map(|(name, own)| (name, of_name(own))).collect();
    devices.into_iter().map(|own| Uneven::of(own, &all)).collect()
}

/// Whether a kernel may wait for another GPU by its name, though no library of communication is known to have it.
fn may_wait(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WAITING.iter().any(|word| name.contains(word))
}

fn of_device(context: &Context<'_>, device: &DeviceContext, waits: &mut Told<'_, bool>) -> BTreeMap<NameId, Launched> {
    let mut names: BTreeMap<NameId, Launched> = BTreeMap::new();
    for (index, of) in &device.passed(context).shapes {
        let Some(shape) = context.timeline.kernels.shapes.get(*index as usize) else { continue };
        let communicates = context.traits.get(shape.full_name as usize).is_some_and(|traits| traits.is_communication);
        if shape.name != NONE && !communicates && !waits.of(shape.full_name) {
            let launched = names.entry(shape.name).or_default();
            launched.count += of.launch_count;
            launched.sum_ns = launched.sum_ns.saturating_add(i64::try_from(of.sum_ns).unwrap_or(i64::MAX));
        }
    }
    names
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let mut all = context.uneven().iter().zip(&context.devices);
    let own = all.find(|(_, of)| of.ops.device == device.ops.device);
    let Some(uneven) = own.and_then(|(uneven, _)| uneven.as_ref()) else { return };
    facts.set("uneven_ns", uneven.more_ns);
    facts.set("uneven_kernel", context.timeline.name(uneven.kernel));
    facts.set("uneven_kernel_launch_count", uneven.own.count);
    facts.set("uneven_kernel_sum_ns", uneven.own.sum_ns);
    facts.set("uneven_kernel_least_sum_ns", uneven.least_ns);
}
