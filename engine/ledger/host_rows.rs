//! How much was recorded of a thread: what it did is read for each GPU whose idle time it explains, so that of more than a limit the
//! idle time of some GPUs is read in sums.

use super::host::{Calls, STRETCHES_PER_ROW};
use super::queries::Queries;
use crate::limits::USUAL_DEVICE_COUNT;
use crate::timeline::near::Near;
use crate::timeline::{Timeline, Times};

impl Calls {
    /// How many calls of a thread, of CUDA and of the OS, and overheads there are.
    pub(super) fn row_count(&self, thread: u32) -> usize {
        let all = [&self.by_thread, &self.os_by_thread, &self.overheads_by_thread];
        all.iter().filter_map(|rows| rows.get(thread as usize)).map(Vec::len).sum()
    }

    /// Stretches that a thread may have: from each edge of a row, and of what else tells that it is recorded.
    pub(super) fn most_stretches(&self, thread: u32) -> usize {
        let of_thread = |rows: &Vec<Vec<u32>>| rows.get(thread as usize).map_or(0, Vec::len);
        let own = [&self.off_cpu_by_thread, &self.code_by_thread].map(of_thread);
        let rows = self.row_count(thread) + own.iter().sum::<usize>() + self.overheads_of_all.len();
        STRETCHES_PER_ROW * rows + 3
    }
}

/// The rows of one table that tell of a thread, by start.
struct Rows<'all> {
    /// Their indices; all of the table without.
    of_thread: Option<&'all [u32]>,
    times: &'all Times,
    near: Near,
}

impl Rows<'_> {
    fn len(&self) -> usize {
        self.of_thread.map_or(self.times.len(), <[u32]>::len)
    }

    /// How many have begun before a moment.
    fn begun_by(&mut self, moment: i64) -> usize {
        let Self { of_thread, times, near } = self;
        let start = |row: usize| times.start(of_thread.map_or(row, |rows| rows[row] as usize));
        near.partition_point(of_thread.map_or(times.len(), <[u32]>::len), |row| start(row) < moment)
    }
}

/// All that was recorded of one thread: calls, ranges, where in the code it was.
struct HostRows<'all>(Vec<Rows<'all>>);

impl<'all> HostRows<'all> {
    fn of(timeline: &'all Timeline, calls: &'all Calls, thread: u32) -> Self {
        let tables = [
            (&calls.by_thread, &timeline.api.times),
            (&calls.os_by_thread, &timeline.os_calls.times),
            (&calls.overheads_by_thread, &timeline.overheads.times),
            (&calls.off_cpu_by_thread, &timeline.thread_states.times),
            (&calls.code_by_thread, &calls.code.times),
        ];
        let rows =
            |of_thread: Option<&'all [u32]>, times: &'all Times| Rows { of_thread, times, near: Near::default() };
        let own = tables.into_iter().map(|(all, times)| (all.get(thread as usize).map_or(&[][..], |own| own), times));
        let of_all = (&calls.overheads_of_all[..], &timeline.overheads.times);
        let of_calls = own.chain([of_all]).map(|(own, times)| rows(Some(own), times));
        let marked = [timeline.ranges.of_thread(thread), timeline.call_locations.of_thread(thread)];
        let of_ranges = marked.into_iter().flatten().map(|ranges| rows(None, &ranges.times));
        Self(of_calls.chain(of_ranges).filter(|rows| rows.len() > 0).collect())
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.0.iter().map(Rows::len).sum()
    }

    fn begun_by(&mut self, moment: i64) -> usize {
        self.0.iter_mut().map(|rows| rows.begun_by(moment)).sum()
    }

    /// How many begin in what is asked of the thread, which comes in time order; more than so many are not counted.
    fn asked(&mut self, lists: &[Queries], most: usize) -> usize {
        let mut count = 0;
        for host in lists.iter().flat_map(Queries::hosts) {
            let before = self.begun_by(host.start);
            count += self.begun_by(host.end) - before;
            if count > most {
                break;
            }
        }
        count
    }
}

/// Which devices, each by what it asks of a thread, are read in sums, where each row may be read for so many.
pub(super) fn in_sums<'asked>(
    timeline: &Timeline,
    (calls, most_devices): (&Calls, usize),
    thread: u32,
    asked: impl ExactSizeIterator<Item = &'asked [Queries]>,
) -> Vec<bool> {
    if asked.len() <= most_devices {
        return vec![false; asked.len()];
    }
    let mut rows = HostRows::of(timeline, calls, thread);
    let mut left = rows.len().saturating_mul(most_devices);
    let is_beyond = |lists: &[Queries]| {
        let left_after = left.checked_sub(rows.asked(lists, left));
        left = left_after.unwrap_or(left);
        left_after.is_none()
    };
    asked.map(is_beyond).collect()
}

/// For how many devices each row of the threads that are asked may be read. Where no more than usual ask, the rows need not be counted.
pub(super) fn most_devices(
    timeline: &Timeline,
    calls: &Calls,
    device_count: usize,
    threads: impl Iterator<Item = u32>,
) -> usize {
    if device_count <= USUAL_DEVICE_COUNT {
        return USUAL_DEVICE_COUNT;
    }
    let rows = threads.map(|thread| HostRows::of(timeline, calls, thread).len()).sum();
    most_for(timeline.host_row_limit, rows)
}

/// The same, where there are so many rows: as many as usual machines have in any case.
fn most_for(row_limit: u64, row_count: usize) -> usize {
    let devices = row_limit / row_count.max(1) as u64;
    usize::try_from(devices).unwrap_or(usize::MAX).max(USUAL_DEVICE_COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_read_for_all_devices_and_many_for_as_many_as_are_usual() {
        assert_eq!(most_for(32_000_000, 1_000_000), 32);
        assert_eq!(most_for(32_000_000, 2_000_000), 16);
        assert_eq!(most_for(32_000_000, 40_000_000), USUAL_DEVICE_COUNT);
        assert_eq!(most_for(0, 0), USUAL_DEVICE_COUNT);
    }
}
