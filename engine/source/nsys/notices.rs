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

/// What is said of other things than kernels and copies.
const OF_OTHERS: [&str; 1] = ["Unified Memory trace"];

/// The most telling first.
const WORDS: [Words; 5] = [
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
        words: &["CUDA profiling might"],
        is_for_empty: true,
    },
    Words {
        kind: NoticeKind::Capture,
        level: NoticeLevel::Warning,
        words: &["CUDA injection", "CUPTI"],
        is_for_empty: false,
    },
    Words { kind: NoticeKind::Capture, level: NoticeLevel::Warning, words: &["No CUDA events"], is_for_empty: true },
];

/// The messages that tell something of the recording, the most telling first; `is_empty` where it holds no GPU operation.
pub(super) fn classify(messages: &[(NoticeLevel, String)], is_empty: bool) -> Vec<Notice> {
    let mut notices: Vec<(usize, Notice)> = Vec::new();
    for (level, text) in messages {
        if OF_OTHERS.iter().any(|words| text.contains(words)) {
            let kind = NoticeKind::UnifiedMemory;
            notices.push((0, Notice { kind, level: *level, text: text.clone() }));
            continue;
        }
        let mut kinds: Vec<NoticeKind> = Vec::new();
        for (rank, words) in WORDS.iter().enumerate() {
            let counts = *level >= words.level
                && (is_empty || !words.is_for_empty)
                && words.words.iter().any(|word| text.contains(word));
            if counts && !kinds.contains(&words.kind) {
                kinds.push(words.kind);
                notices.push((rank, Notice { kind: words.kind, level: *level, text: text.clone() }));
            }
        }
    }
    notices.sort_by_key(|(rank, _)| *rank);
    notices.into_iter().map(|(_, notice)| notice).collect()
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
        let unified = "Unified Memory trace is not supported by the current driver version or configuration.";
        assert_eq!(kinds(NoticeLevel::Warning, unified, false), [NoticeKind::UnifiedMemory]);
    }

    #[test]
    fn the_most_telling_comes_first() {
        let warnings = ["No CUDA events collected.", "CUDA profiling might have not been started correctly."];
        let messages = warnings.map(|text| (NoticeLevel::Warning, text.to_owned()));
        assert_eq!(classify(&messages, true)[0].text, warnings[1]);
    }
}
