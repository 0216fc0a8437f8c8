//! Spans as text: in Markdown here; plain text is [`Sentence::plain`].

use crate::text::escape;
use crate::text::spans::{Sentence, Span};

/// As Markdown: own words are Markdown, what is quoted is made inert.
pub fn markdown(sentence: &Sentence) -> String {
    let texts = sentence.spans().iter().map(|span| match span {
        Span::Own(words) => words.clone(),
        Span::Value(text) => escape::markdown(text),
        Span::Code(name) => escape::code(name),
    });
    texts.collect()
}
