//! What work takes of the processor, for tests of what a stranger can make long: other programs and other tests take nothing of it.

use std::time::Duration;

use cpu_time::ThreadTime;

/// Does some work, which takes this thread no more than so many seconds of the processor; where that is not told, any time.
///
/// # Panics
/// When it takes more.
pub(crate) fn at_most<T>(seconds: u64, work: impl FnOnce() -> T) -> T {
    let begin = ThreadTime::try_now();
    let done = work();
    let spent = begin.and_then(|begin| begin.try_elapsed()).unwrap_or_default();
    assert!(spent <= Duration::from_secs(seconds), "{spent:?} of the processor");
    done
}
