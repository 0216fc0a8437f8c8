//! Bounds on what must end. They are generous: a machine may be slow and shared, and what does not end never does.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// No test waits longer for anything.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// What the function returns; it panics when there is no end.
pub fn ends<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, result) = channel();
    let worker = thread::spawn(move || send.send(what()).is_ok());
    match result.recv_timeout(PATIENCE) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => panic!("no end after {} s", PATIENCE.as_secs()),
        Err(RecvTimeoutError::Disconnected) => match worker.join() {
            Err(panicked) => resume_unwind(panicked),
            Ok(_) => unreachable!("a worker that did not panic has sent its result"),
        },
    }
}
