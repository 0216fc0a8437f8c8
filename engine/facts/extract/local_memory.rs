//! Local memory that kernels ask for: their context holds more while they run than while what follows them does.

use foldhash::HashMap;

use super::DeviceContext;
use super::by_index::ByIndex;
use crate::timeline::{NameId, Timeline};

/// Local memory is held for so many threads of each SM, also where fewer can be resident.
const THREADS_OF_SM: i64 = 2_048;
const KIB: i64 = 1_024;
/// A context that only grows holds what an earlier kernel asked for. Of a kernel that asks for it itself, so many of its launches that
/// another follows are followed by one with less.
const FOLLOWED_SHARE: f64 = 0.9;

/// What follows the launches of one kernel.
#[derive(Debug, Clone, Copy)]
struct Followed {
    count: i64,
    by_less_count: i64,
    least_more_kib: u32,
}

impl Followed {
    const NONE: Self = Self { count: 0, by_less_count: 0, least_more_kib: u32::MAX };

    fn add(&mut self, own_kib: u32, next_kib: u32) {
        self.count += 1;
        if let Some(more_kib) = own_kib.checked_sub(next_kib).filter(|more_kib| *more_kib > 0) {
            self.by_less_count += 1;
            self.least_more_kib = self.least_more_kib.min(more_kib);
        }
    }

    /// What the kernel asks for itself, at least.
    fn own_kib(self) -> Option<u32> {
        let is_own = self.by_less_count > 0 && self.by_less_count as f64 >= FOLLOWED_SHARE * self.count as f64;
        is_own.then_some(self.least_more_kib)
    }
}

/// The local memory of a thread by kernel, in bytes, at least; without kernels that ask for none, and where the number of SMs is not known.
pub(super) fn per_thread_bytes(timeline: &Timeline, device: &DeviceContext) -> HashMap<NameId, i64> {
    let column = &timeline.kernels.local_memory_kib;
    let sm_count = device.properties(timeline).and_then(|known| known.sm_count).filter(|count| *count > 0);
    let Some(sm_count) = sm_count.filter(|_| column.iter().any(|kib| *kib > 0)) else { return HashMap::default() };
    let mut followed: ByIndex<Followed> = ByIndex::default();
    // By context: the kernel before.
    let contexts = contexts(timeline);
    let mut last: ByIndex<Option<(NameId, u32)>> = ByIndex::default();
    for op in device.ops.in_window().filter(|op| op.kind.is_kernel()) {
        let Some(kib) = column.get(op.index as usize).copied().filter(|kib| *kib > 0) else { continue };
        let Some(context) = contexts.get(op.stream(timeline) as usize) else { continue };
        let name = timeline.kernels.shape_of(op.index).name;
        let before = last.of(*context, || None).replace((name, kib));
        if let Some((before, own_kib)) = before.filter(|(before, _)| *before != name) {
            followed.of(before, || Followed::NONE).add(own_kib, kib);
        }
    }
    let threads = sm_count.saturating_mul(THREADS_OF_SM);
    let own = followed.into_list().into_iter().filter_map(|(name, followed)| {
        let bytes = i64::from(followed.own_kib()?) * KIB / threads;
        (bytes > 0).then_some((name, bytes))
    });
    own.collect()
}

/// The number of the context of each stream.
fn contexts(timeline: &Timeline) -> Vec<u32> {
    let mut numbers: HashMap<(u32, i64), u32> = HashMap::default();
    let streams = timeline.streams.iter().map(|stream| {
        let next = numbers.len() as u32;
        *numbers.entry((stream.process, stream.context)).or_insert(next)
    });
    streams.collect()
}

#[cfg(test)]
mod tests {
    use super::Followed;

    fn own_kib(rows: &[(u32, u32)]) -> Option<u32> {
        let mut followed = Followed::NONE;
        rows.iter().for_each(|(own_kib, next_kib)| followed.add(*own_kib, *next_kib));
        followed.own_kib()
    }

    #[test]
    fn a_kernel_asks_for_what_goes_when_another_follows() {
        assert_eq!(own_kib(&[(300, 100), (300, 120)]), Some(180));
    }

    #[test]
    fn what_stays_an_earlier_kernel_asked_for() {
        assert_eq!(own_kib(&[(300, 300), (300, 300)]), None);
        assert_eq!(own_kib(&[(100, 300)]), None);
        assert_eq!(own_kib(&[]), None);
    }

    #[test]
    fn one_in_ten_may_be_followed_by_another_that_asks_for_as_much() {
        let rows = |less: usize, same: usize| {
            std::iter::repeat_n((300, 100), less).chain(std::iter::repeat_n((300, 300), same)).collect::<Vec<_>>()
        };
        assert_eq!(own_kib(&rows(9, 1)), Some(200));
        assert_eq!(own_kib(&rows(8, 1)), None);
    }
}
