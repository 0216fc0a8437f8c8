//! Titles within a sentence.

use crate::text::spans::{Sentence, Span};

/// A headline within a sentence.
pub(super) fn within(headline: &Sentence) -> Sentence {
    let mut spans = headline.spans().iter().cloned();
    let first = match spans.next() {
        Some(Span::Own(words)) => Some(Span::Own(lower_first(&words))),
        other => other,
    };
    first.into_iter().chain(spans).fold(Sentence::default(), Sentence::span)
}

/// Words within a sentence. Names and abbreviations keep their capitals.
pub(super) fn lower_first(title: &str) -> String {
    let mut chars = title.chars();
    let (Some(first), rest) = (chars.next(), chars.as_str()) else { return String::new() };
    if rest.chars().next().is_some_and(char::is_lowercase) || rest.starts_with(' ') {
        first.to_lowercase().chain(rest.chars()).collect()
    } else {
        title.to_owned()
    }
}
