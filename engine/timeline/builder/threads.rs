//! What threads do that do not run, and overheads of all threads.

use super::ops::Kept;
use crate::limits::USUAL_DEVICE_COUNT;
use crate::timeline::columns::{ThreadState, ThreadStates};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Timeline};

/// Moments in which threads were put on a CPU, or taken off it.
#[derive(Debug, Default)]
pub(super) struct SchedulerRows {
    pub(super) at: Vec<i64>,
    pub(super) thread: Vec<u32>,
    pub(super) is_on: Vec<bool>,
}

impl SchedulerRows {
    /// Pairs the moments in which a thread left the CPU with those in which it came back.
    pub(super) fn pair_into(self, states: &mut ThreadStates) {
        let moments = self.thread.into_iter().zip(self.at).zip(self.is_on);
        let moments = moments.map(|((thread, at), is_on)| (thread, at, is_on));
        let mut moments: Vec<(u32, i64, bool)> = moments.filter(|(thread, _, _)| *thread != NONE).collect();
        moments.sort_unstable();
        for of_thread in moments.chunk_by(|one, next| one.0 == next.0) {
            if let (Some((thread, first, _)), Some((_, last, _))) = (of_thread.first(), of_thread.last()) {
                states.scheduled.insert(*thread, Interval::new(*first, *last));
            }
        }
        for pair in moments.windows(2) {
            let [(thread, left, false), (same, back, true)] = pair else { continue };
            if thread == same && left < back {
                states.thread.push(*thread);
                states.times.push(Interval::new(*left, *back));
                states.state.push(ThreadState::OffCpu);
            }
        }
    }
}

/// An overhead that names no thread is laid out on each, so that many of them beside many threads would never end.
/// Returns how many are left out.
pub(super) fn bound_overheads(timeline: &mut Timeline) -> u64 {
    const MAX_CELLS: usize = 4_000_000;
    let columns = &mut timeline.overheads;
    // Each device looks at them.
    let share = timeline.devices.len().div_ceil(USUAL_DEVICE_COUNT).max(1);
    let most = MAX_CELLS / share / timeline.threads.len().max(1);
    let unnamed = columns.thread.iter().filter(|thread| **thread == NONE).count();
    if unnamed <= most {
        return 0;
    }
    let mut seen = 0;
    let stays = columns.thread.iter().map(|thread| {
        seen += usize::from(*thread == NONE);
        *thread != NONE || seen <= most
    });
    let stays = Kept::these(stays.collect());
    stays.apply_to_times(&mut columns.times);
    stays.apply(&mut columns.kind);
    stays.apply(&mut columns.name);
    stays.apply(&mut columns.thread);
    stays.lost()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_known_while_it_runs_before_it_first_leaves_the_cpu_and_after_it_came_back() {
        let rows = SchedulerRows {
            at: vec![50, 10, 90, 60, 20],
            thread: vec![3, 3, 3, 3, NONE],
            is_on: vec![false, true, false, true, true],
        };
        let mut states = ThreadStates::default();
        rows.pair_into(&mut states);
        assert_eq!(states.times.iter().collect::<Vec<_>>(), [Interval::new(50, 60)]);
        assert_eq!(states.scheduled.get(&3), Some(&Interval::new(10, 90)));
        assert_eq!(states.scheduled.len(), 1);
    }
}
