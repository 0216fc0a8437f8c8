//! Waits for a device in which the thread sleeps in the operating system until the driver wakes it.

use foldhash::HashMap;

use super::Context;
use crate::timeline::NameId;

/// Calls of the operating system in which a thread sleeps.
const SLEEPS: [&str; 7] =
    ["sem_wait", "sem_timedwait", "sem_clockwait", "poll", "ppoll", "pthread_cond_wait", "pthread_cond_timedwait"];

/// Where threads sleep in the operating system.
pub(super) struct Sleeps<'all> {
    context: &'all Context<'all>,
    names: Vec<NameId>,
    /// By start.
    of_thread: HashMap<u32, Vec<u32>>,
}

impl<'all> Sleeps<'all> {
    pub(super) fn new(context: &'all Context<'all>) -> Self {
        let are_known = !context.timeline.os_calls.times.is_empty();
        let names = SLEEPS.iter().filter(|_| are_known).filter_map(|name| context.timeline.names.find(name)).collect();
        Self { context, names, of_thread: HashMap::default() }
    }

    /// Whether the thread of a call sleeps in it: the first sleep that begins in it also ends there.
    pub(super) fn lie_in(&mut self, call: u32) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let (timeline, names, calls) = (self.context.timeline, &self.names, &self.context.calls);
        let (rows, wait) = (&timeline.os_calls, timeline.api.times.at(call as usize));
        let Some(thread) = timeline.api.thread.get(call as usize).copied() else { return false };
        let own = self.of_thread.entry(thread).or_insert_with(|| {
            let is_sleep = |row: &u32| rows.name.get(*row as usize).is_some_and(|name| names.contains(name));
            calls.os_of_thread(thread).iter().copied().filter(is_sleep).collect()
        });
        let begun = own.partition_point(|row| rows.times.start(*row as usize) < wait.start);
        own.get(begun).is_some_and(|row| rows.times.end(*row as usize) <= wait.end)
    }
}
