//! Ends the program when a template of the user takes more time or memory than any review can need. The template engine
//! counts its steps, but one step can make a string as large as memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use coldspot::limits::{MAX_PRINTING_BYTES, MAX_PRINTING_TIME};

use super::exit::Exit;
use super::output;

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Watches until it is dropped.
pub(super) struct Guard(Arc<AtomicBool>);

impl Guard {
    pub(super) fn new() -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let (start, before) = (Instant::now(), resident_bytes());
        std::thread::spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                let what = if start.elapsed() > MAX_PRINTING_TIME {
                    "more than 60 s"
                } else if resident_bytes().saturating_sub(before) > MAX_PRINTING_BYTES {
                    "more than 1 GiB of memory"
                } else {
                    std::thread::sleep(LOOK_EVERY);
                    continue;
                };
                output::eprint_message(&format!("coldspot: the templates take {what}: they are wrong"));
                std::process::exit(i32::from(Exit::Rules as u8));
            }
        });
        Self(done)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Memory in use; 0 where the operating system does not tell.
fn resident_bytes() -> u64 {
    const PAGE: u64 = 4_096;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE
}
