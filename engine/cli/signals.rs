//! What happens when somebody, or the system, ends the program early.

use coldspot::interrupt;

/// Has programs that run and temporary folders go with the program. Without a handler they stay, which is all that is lost.
#[cfg(unix)]
pub(super) fn handle() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;

    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // What shells expect.
            interrupt::end(128 + signal);
        }
    });
}

/// Has programs that run and temporary folders go with the program. Without a handler they stay, which is all that is lost.
#[cfg(windows)]
pub(super) fn handle() {
    // What a shell shows of a program that Ctrl-C ended elsewhere.
    const INTERRUPTED: i32 = 130;
    let _ = ctrlc::set_handler(|| interrupt::end(INTERRUPTED));
}

/// Other systems have no signals that are known here.
#[cfg(not(any(unix, windows)))]
pub(super) fn handle() {}
