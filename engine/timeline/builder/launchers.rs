//! Which process launched the work of a GPU, where operations name none: a file of several processes, such as the ranks of a job
//! merged into one trace, says of work the device alone.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::join::Join;
use crate::timeline::api::{self, ApiClass};
use crate::timeline::columns::GpuOps;
use crate::timeline::{NONE, NameId, Timeline, UnknownLaunchers};

/// Operations of a device that are held against the calls of each process.
const MAX_SAMPLE_COUNT: usize = 512;
/// Processes that are told apart; of more none is said.
const MAX_PROCESS_COUNT: usize = 256;
/// Of so many of the operations of a GPU its process must hold the call: others were made before the recording.
const LEAST_FOUND: f64 = 0.5;
/// And so few of those may be calls that cannot have asked for their operation.
const MOST_CONFLICTS: f64 = 0.01;

/// Says of each stream that names no process which one it is, where that can be told; and of which devices it cannot.
pub(super) fn tell(timeline: &mut Timeline, join: &Join) {
    if timeline.streams.iter().all(|stream| stream.process != NONE) {
        return;
    }
    let callers = join.callers();
    let of_devices: Vec<Vec<u32>> = match callers[..] {
        [] if timeline.processes.len() == 1 => vec![vec![0]; timeline.devices.len()],
        [only] => vec![vec![only]; timeline.devices.len()],
        _ if callers.is_empty() || callers.len() > MAX_PROCESS_COUNT => vec![Vec::new(); timeline.devices.len()],
        _ => of_devices(timeline, join, &callers),
    };
    let mut unknown = BTreeMap::new();
    for stream in timeline.streams.iter_mut().filter(|stream| stream.process == NONE) {
        match of_devices.get(stream.device as usize).map_or(&[][..], Vec::as_slice) {
            [only] => stream.process = *only,
            several => _ = unknown.entry(stream.device).or_insert_with(|| several.to_vec()),
        }
    }
    if unknown.is_empty() {
        return;
    }
    let calling = timeline.calling_processes();
    if calling.len() > 1 {
        // What fits the calls of none may be any process's.
        unknown.values_mut().filter(|fit| fit.is_empty()).for_each(|fit| fit.clone_from(&calling));
        timeline.unknown_launchers = UnknownLaunchers { of_devices: unknown, calling_process_count: calling.len() };
    }
}

/// The processes that may have launched the work of each device: those whose calls its operations fit. Where that are several it is none
/// that is known to have launched other work by calls of the same ids.
fn of_devices(timeline: &Timeline, join: &Join, callers: &[u32]) -> Vec<Vec<u32>> {
    let fits = Fits::of(timeline, join, callers);
    let mut fitting: Vec<Vec<u32>> = (0..timeline.devices.len()).map(|device| fits.fitting(device)).collect();
    let common = fits.common(timeline, &fitting);
    // Each turn settles at least one.
    for _ in 0..fitting.len() {
        let settled: Vec<(usize, u32)> =
            (0..).zip(&fitting).filter(|(_, fit)| fit.len() == 1).map(|(device, fit)| (device, fit[0])).collect();
        let mut is_same = true;
        for (device, fit) in fitting.iter_mut().enumerate().filter(|(_, fit)| fit.len() > 1) {
            // No two operations of a process have the id of one call: work of the same ids is of several processes. Work of other
            // ids may be that of a second GPU of the same.
            let is_of_other = |process: &u32| {
                let others = settled.iter().filter(|(_, owner)| owner == process);
                others
                    .map(|(other, _)| common.get(&(device, *other)).copied().unwrap_or(0))
                    .any(|count| count > fits.least_common(device))
            };
            let before = fit.len();
            fit.retain(|process| !is_of_other(process));
            is_same &= fit.len() == before;
        }
        if is_same {
            break;
        }
    }
    fitting
}

/// How well operations of one device fit the calls of one process.
#[derive(Debug, Clone, Copy, Default)]
struct Fit {
    /// Operations whose id is that of a call.
    found: usize,
    /// Those of them that began before the call did, or are of another kind than what it asks for.
    conflicts: usize,
}

/// The same of each device and each process.
struct Fits<'a> {
    callers: &'a [u32],
    /// By device, operations that name a call.
    asked: Vec<usize>,
    /// By device and process.
    fits: Vec<Vec<Fit>>,
    /// By device, the ids of those operations that no graph holds: each of a call of its own.
    ids: Vec<BTreeSet<u32>>,
    /// What calls of a name ask for, and whether they launch a graph: many devices and processes share one name, which may be long.
    asks: HashMap<NameId, (ApiClass, bool)>,
}

impl<'a> Fits<'a> {
    fn of(timeline: &Timeline, join: &Join, callers: &'a [u32]) -> Self {
        let count = timeline.devices.len();
        let fits = vec![vec![Fit::default(); callers.len()]; count];
        let ids = vec![BTreeSet::new(); count];
        let mut fits = Self { callers, asked: vec![0; count], fits, ids, asks: HashMap::default() };
        fits.add(timeline, join, (&timeline.kernels.ops, |class| class == ApiClass::Launch));
        fits.add(timeline, join, (&timeline.graphs.ops, |class| class == ApiClass::Launch));
        let copies = |class| matches!(class, ApiClass::CopyBlocking | ApiClass::CopyAsync);
        fits.add(timeline, join, (&timeline.copies.ops, copies));
        fits.add(timeline, join, (&timeline.memsets.ops, |class| class == ApiClass::Memset));
        fits
    }

    /// Operations of one kind, as many of each device as lie evenly in the recording.
    fn add(&mut self, timeline: &Timeline, join: &Join, (ops, is_kind): (&GpuOps, fn(ApiClass) -> bool)) {
        let device_of = |stream: u32| timeline.streams.get(stream as usize).map(|stream| stream.device as usize);
        let mut counts = vec![0_usize; self.asked.len()];
        ops.stream.iter().filter_map(|stream| device_of(*stream)).for_each(|device| counts[device] += 1);
        let mut seen = vec![0_usize; counts.len()];
        let mut near = vec![0; self.callers.len()];
        for ((times, stream), id) in ops.times.iter().zip(&ops.stream).zip(&ops.call) {
            let Some(device) = device_of(*stream) else { continue };
            seen[device] += 1;
            let is_sample = seen[device].is_multiple_of(counts[device].div_ceil(MAX_SAMPLE_COUNT));
            if !is_sample || *id == NONE || *id == 0 {
                continue;
            }
            self.asked[device] += 1;
            let mut is_of_graph = false;
            for ((process, near), fit) in self.callers.iter().zip(&mut near).zip(&mut self.fits[device]) {
                let call = join.find(*process, *id, near) as usize;
                let Some(name) = timeline.api.name.get(call) else { continue };
                let (class, is_graph) = *self.asks.entry(*name).or_insert_with_key(|name| {
                    let name = timeline.name(*name);
                    (api::classify(name), api::is_graph_launch(name))
                });
                // A graph holds operations of every kind.
                is_of_graph |= is_graph;
                let is_asked = is_kind(class) || is_graph;
                let can_be = timeline.api.times.at(call).start <= times.start && is_asked;
                fit.found += 1;
                fit.conflicts += usize::from(!can_be);
            }
            if !is_of_graph {
                self.ids[device].insert(*id);
            }
        }
    }

    /// How many of the ids of each device that fits several processes are those of operations of one that fits one.
    fn common(&self, timeline: &Timeline, fitting: &[Vec<u32>]) -> HashMap<(usize, usize), usize> {
        let mut having: HashMap<u32, Vec<usize>> = HashMap::default();
        for (device, ids) in self.ids.iter().enumerate().filter(|(device, _)| fitting[*device].len() > 1) {
            ids.iter().for_each(|id| having.entry(*id).or_default().push(device));
        }
        let mut common: HashMap<(usize, usize), BTreeSet<u32>> = HashMap::default();
        if having.is_empty() {
            return HashMap::default();
        }
        for ops in [&timeline.kernels.ops, &timeline.copies.ops, &timeline.memsets.ops] {
            for (stream, id) in ops.stream.iter().zip(&ops.call) {
                let Some(devices) = having.get(id) else { continue };
                let Some(other) = timeline.streams.get(*stream as usize).map(|stream| stream.device as usize) else {
                    continue;
                };
                for device in devices.iter().filter(|device| **device != other) {
                    common.entry((*device, other)).or_default().insert(*id);
                }
            }
        }
        common.into_iter().map(|(devices, ids)| (devices, ids.len())).collect()
    }

    /// As few ids of a device may be those of operations of another, whichever process launched them.
    fn least_common(&self, device: usize) -> usize {
        (self.ids[device].len() as f64 * MOST_CONFLICTS) as usize
    }

    /// The processes that may have launched the work of a device.
    fn fitting(&self, device: usize) -> Vec<u32> {
        let least = (self.asked[device] as f64 * LEAST_FOUND).max(1.0);
        let fits = |fit: &Fit| fit.found as f64 >= least && fit.conflicts as f64 <= fit.found as f64 * MOST_CONFLICTS;
        let of_device = self.callers.iter().zip(&self.fits[device]);
        of_device.filter(|(_, fit)| fits(fit)).map(|(process, _)| *process).collect()
    }
}
