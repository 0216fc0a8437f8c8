//! The progress bar: on a terminal, when reading takes longer than a second.

use std::fmt::Write;
use std::io::{IsTerminal, stderr};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use coldspot::source::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that is not there yet, and perhaps never will be.
pub(super) struct Bar {
    started: Instant,
    is_wanted: bool,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    pub(super) fn new() -> Self {
        let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        Self { started: Instant::now(), is_wanted: !is_ci && stderr().is_terminal(), bar: OnceLock::new() }
    }
}

impl Progress for Bar {
    fn rows(&self, done: u64, total: u64) {
        if !self.is_wanted || self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr())
                .with_elapsed(self.started.elapsed());
            let rate = |state: &ProgressState, text: &mut dyn Write| {
                _ = write!(text, "{:.1} million events/s", state.per_sec() / 1e6);
            };
            match ProgressStyle::with_template("{bar:40} {percent} % of {human_len} events, {rate}, {eta} left") {
                Ok(style) => bar.with_style(style.with_key("rate", rate)),
                Err(_) => bar,
            }
        });
        bar.set_length(total.max(done));
        bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
