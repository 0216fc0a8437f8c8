//! What work takes of the processor, for tests of what a stranger can make long: other programs and other tests take nothing of it.

use std::time::Duration;

use cpu_time::ThreadTime;

/// Does some work, which takes this thread no more than so many seconds of the processor.
///
/// # Panics
/// When it takes more, or when the system does not tell what it takes.
pub(crate) fn at_most<T>(seconds: u64, work: impl FnOnce() -> T) -> T {
    let (done, spent) = measured(work);
    assert!(spent <= Duration::from_secs(seconds), "{spent:?} of the processor");
    done
}

/// What work does, and what it takes of the processor.
///
/// # Panics
/// When the system does not tell what it takes: a test that measures nothing would pass whatever the work is.
pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = ThreadTime::try_now();
    let done = work();
    let spent = begin.and_then(|begin| begin.try_elapsed());
    assert!(spent.is_ok(), "the time of the processor is not told: {spent:?}");
    (done, spent.unwrap_or_default())
}
