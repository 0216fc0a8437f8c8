//! What is extracted side by side: the idle time of the devices, the facts of processes and of the run, and each group of the facts of
//! each device.

use super::groups::{Extract, GROUPS};
use super::part::{DevicePart, Parents};
use super::{Context, DeviceContext, run, without_gpu};
use crate::facts::store::{Entity, EntityId, Facts};
use crate::ledger::Unread;
use crate::parallel::{self, Threads};

/// What there is to extract.
enum Job<'all> {
    IdleTime(Vec<Unread>),
    Processes,
    Run,
    Group(&'all DeviceContext, &'all Parents<'all>, Extract),
}

/// What came of it.
enum Extracted {
    IdleTime,
    Processes(Vec<(EntityId, Entity)>),
    Run(Entity),
    Group(EntityId, DevicePart),
}

impl Job<'_> {
    fn extract(self, context: &Context<'_>, processes: &[Option<EntityId>], threads: Threads) -> Extracted {
        match self {
            Self::IdleTime(unread) => {
                context.read_idle(unread, threads);
                Extracted::IdleTime
            }
            Self::Processes => Extracted::Processes(run::api_uses(context, processes)),
            Self::Run => {
                let mut run = run::extract(context);
                without_gpu::extract(context.timeline, &mut run);
                Extracted::Run(run)
            }
            Self::Group(device, parents, extract) => {
                let mut part = DevicePart::new();
                extract(context, device, parents, &mut part);
                Extracted::Group(parents.device, part)
            }
        }
    }
}

/// Adds the facts of the run, of the processes and of the devices, which are entities already.
pub(super) fn extract(
    context: &Context<'_>,
    unread: Vec<Unread>,
    (run, processes, parents): (EntityId, &[Option<EntityId>], &[Parents<'_>]),
    threads: Threads,
    facts: &mut Facts,
) {
    let devices = || context.devices.iter().zip(parents);
    let groups = GROUPS.iter().flat_map(|extract| devices().map(|(device, of)| Job::Group(device, of, *extract)));
    // What asks for the idle time waits for it: it comes last.
    let jobs: Vec<_> = [Job::IdleTime(unread), Job::Processes].into_iter().chain(groups).chain([Job::Run]).collect();
    let at_once = threads.for_devices().and_one_more(threads);
    let all = parallel::map(at_once, jobs, |job| job.extract(context, processes, threads));
    let mut parts = Vec::new();
    for extracted in all {
        match extracted {
            Extracted::IdleTime => {}
            Extracted::Processes(of_processes) => {
                of_processes.into_iter().for_each(|(process, entity)| facts.get_mut(process).take_facts(entity));
            }
            Extracted::Run(entity) => facts.get_mut(run).take_facts(entity),
            Extracted::Group(device, part) => parts.push((device, part)),
        }
    }
    // The groups of one device follow each other.
    parts.sort_by_key(|(device, _)| *device);
    for (device, part) in parts {
        part.add_to(facts, device);
    }
}
