//! What the profiler's messages are about, told from its English.

use crate::timeline::{Notice, NoticeKind, NoticeLevel};

/// Words that messages of a kind have one of, and from which level on they count.
struct Words {
    kind: NoticeKind,
    level: NoticeLevel,
    words: &'static [&'static str],
    /// Whether they count only where nothing was recorded: children of the program that never touch CUDA bring them about.
    is_for_empty: bool,
}

const WORDS: [Words; 4] = [
    Words {
        kind: NoticeKind::EventsLost,
        level: NoticeLevel::Info,
        words: &[
            "Not all CUDA events",
            "CUPTI events might be missing",
            "events were dropped",
            "events have been dropped",
        ],
        is_for_empty: false,
    },
    Words {
        kind: NoticeKind::Driver,
        level: NoticeLevel::Warning,
        words: &["is not supported by this build", "driver version", "driver is not"],
        is_for_empty: false,
    },
    Words {
        kind: NoticeKind::Capture,
        level: NoticeLevel::Warning,
        words: &["CUDA injection", "CUPTI"],
        is_for_empty: false,
    },
    Words {
        kind: NoticeKind::Capture,
        level: NoticeLevel::Warning,
        words: &["CUDA profiling might", "No CUDA events"],
        is_for_empty: true,
    },
];

/// The messages that tell something of the recording; `is_empty` where it holds no GPU operation.
pub(super) fn classify(messages: &[(NoticeLevel, String)], is_empty: bool) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (level, text) in messages {
        let counts = |words: &&Words| {
            *level >= words.level
                && (is_empty || !words.is_for_empty)
                && words.words.iter().any(|word| text.contains(word))
        };
        let mut kinds: Vec<NoticeKind> = WORDS.iter().filter(counts).map(|words| words.kind).collect();
        kinds.dedup();
        notices.extend(kinds.into_iter().map(|kind| Notice { kind, level: *level, text: text.clone() }));
    }
    notices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(level: NoticeLevel, text: &str, is_empty: bool) -> Vec<NoticeKind> {
        classify(&[(level, text.to_owned())], is_empty).into_iter().map(|notice| notice.kind).collect()
    }

    #[test]
    fn messages_are_told_by_their_words() {
        use NoticeKind::{Capture, Driver, EventsLost};
        let lost = "CUPTI events might be missing.";
        assert_eq!(kinds(NoticeLevel::Info, lost, false), [EventsLost]);
        assert_eq!(kinds(NoticeLevel::Warning, lost, false), [EventsLost, Capture]);
        assert_eq!(kinds(NoticeLevel::Error, "The driver version is old.", false), [Driver]);
        assert_eq!(kinds(NoticeLevel::Warning, "No CUDA events collected.", true), [Capture]);
        assert_eq!(kinds(NoticeLevel::Warning, "No CUDA events collected.", false), []);
        assert_eq!(kinds(NoticeLevel::Error, "Process was launched.", true), []);
    }
}
