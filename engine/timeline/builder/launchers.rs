//! Which process launched the work of a GPU, where operations name none: a file of several processes, such as the ranks of a job
//! merged into one trace, says of work the device alone.

use super::join::Join;
use crate::timeline::api::{self, ApiClass};
use crate::timeline::columns::GpuOps;
use crate::timeline::{NONE, Timeline};

/// Operations of a device that are held against the calls of each process.
const MAX_SAMPLE_COUNT: usize = 512;
/// Processes that are told apart; of more none is said.
const MAX_PROCESS_COUNT: usize = 256;
/// Of so many of the operations of a GPU its process must hold the call: others were made before the recording.
const LEAST_FOUND: f64 = 0.5;
/// And so few of those may be calls that cannot have asked for their operation.
const MOST_CONFLICTS: f64 = 0.01;

/// The process of each stream; [`NONE`] where it cannot be told.
pub(super) fn of_streams(timeline: &Timeline, join: &Join) -> Vec<u32> {
    let mut owners: Vec<u32> = timeline.streams.iter().map(|stream| stream.process).collect();
    if !owners.contains(&NONE) {
        return owners;
    }
    let of_devices = match join.callers()[..] {
        [] if timeline.processes.len() == 1 => vec![0; timeline.devices.len()],
        [only] => vec![only; timeline.devices.len()],
        [] => return owners,
        ref callers if callers.len() <= MAX_PROCESS_COUNT => of_devices(timeline, join, callers),
        _ => return owners,
    };
    for (owner, stream) in owners.iter_mut().zip(&timeline.streams).filter(|(owner, _)| **owner == NONE) {
        *owner = of_devices.get(stream.device as usize).copied().unwrap_or(NONE);
    }
    owners
}

/// The process of each device, as far as its operations fit the calls of one alone; where they fit those of several, the one that
/// no other device has.
fn of_devices(timeline: &Timeline, join: &Join, callers: &[u32]) -> Vec<u32> {
    let fits = Fits::of(timeline, join, callers);
    let mut fitting: Vec<Vec<u32>> = (0..timeline.devices.len()).map(|device| fits.fitting(device)).collect();
    // Each turn settles at least one.
    for _ in 0..fitting.len() {
        let settled: Vec<u32> = fitting.iter().filter(|fit| fit.len() == 1).map(|fit| fit[0]).collect();
        let is_free = |process: &u32| !settled.contains(process);
        let mut is_same = true;
        for fit in fitting.iter_mut().filter(|fit| fit.len() > 1 && !fit.iter().all(is_free)) {
            fit.retain(is_free);
            is_same = false;
        }
        if is_same {
            break;
        }
    }
    fitting.iter().map(|fit| if let [only] = fit[..] { only } else { NONE }).collect()
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
}

impl<'a> Fits<'a> {
    fn of(timeline: &Timeline, join: &Join, callers: &'a [u32]) -> Self {
        let count = timeline.devices.len();
        let mut fits = Self { callers, asked: vec![0; count], fits: vec![vec![Fit::default(); callers.len()]; count] };
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
            for ((process, near), fit) in self.callers.iter().zip(&mut near).zip(&mut self.fits[device]) {
                let call = join.find(*process, *id, near) as usize;
                let Some(name) = timeline.api.name.get(call) else { continue };
                let can_be =
                    timeline.api.times.at(call).start <= times.start && is_kind(api::classify(timeline.name(*name)));
                fit.found += 1;
                fit.conflicts += usize::from(!can_be);
            }
        }
    }

    /// The processes that may have launched the work of a device.
    fn fitting(&self, device: usize) -> Vec<u32> {
        let least = (self.asked[device] as f64 * LEAST_FOUND).max(1.0);
        let fits = |fit: &Fit| fit.found as f64 >= least && fit.conflicts as f64 <= fit.found as f64 * MOST_CONFLICTS;
        let of_device = self.callers.iter().zip(&self.fits[device]);
        of_device.filter(|(_, fit)| fits(fit)).map(|(process, _)| *process).collect()
    }
}
