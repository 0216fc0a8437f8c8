//! How much of a recording is played again.

use crate::limits::USUAL_DEVICE_COUNT;

/// Calls and operations that are played again at most, of an ordinary number of GPUs: a representative part of the steady state.
/// Each GPU has a replay of its own, in which all of them are; of more GPUs they are so many fewer that all replays together become
/// shorter.
const MAX_EVENT_COUNT: usize = 30_000;
/// The same of what is in the replay itself, the work of the processes of its GPU: so many GPUs may have all of it, of more GPUs it is
/// so many times less. All changes of all GPUs together then take about a second.
const FULL_REPLAY_COUNT: usize = 4;

/// Calls, and operations of all GPUs, in the steps that are played again.
pub(super) fn most_events(device_count: usize) -> usize {
    let devices = device_count.max(USUAL_DEVICE_COUNT);
    MAX_EVENT_COUNT * USUAL_DEVICE_COUNT / devices * USUAL_DEVICE_COUNT / devices
}

/// Calls, and operations, of one replay, where so many GPUs each have one.
pub(super) fn most_own_events(device_count: usize) -> usize {
    MAX_EVENT_COUNT * FULL_REPLAY_COUNT / device_count.max(FULL_REPLAY_COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_DEVICE_COUNT;

    #[test]
    fn all_gpus_together_play_what_a_few_may() {
        assert_eq!([1, 2, 4].map(most_own_events), [MAX_EVENT_COUNT; 3]);
        assert_eq!([1, 2, 4, 8].map(most_events), [MAX_EVENT_COUNT; 4]);
        for count in 1..=MAX_DEVICE_COUNT {
            assert!(most_own_events(count) * count <= FULL_REPLAY_COUNT * MAX_EVENT_COUNT, "{count}");
        }
    }
}
