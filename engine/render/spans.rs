//! Spans as text: in Markdown here; plain text is [`Sentence::plain`].

use crate::text::spans::{Sentence, Span};
use crate::text::{escape, words};

/// Between two pieces whose backticks would become one fence.
const JOINER: char = '\u{2060}';

/// As Markdown: own words may use a little of it, what is quoted is made inert.
pub fn markdown(sentence: &Sentence) -> String {
    let mut out = String::new();
    let spans = sentence.spans();
    for (index, span) in spans.iter().enumerate() {
        let (at_start, goes_on) = (out.trim().is_empty(), index + 1 < spans.len());
        let piece = match span {
            Span::Own(own) => words::markdown(own, at_start, goes_on),
            Span::Value(text) => escape::markdown(text),
            Span::Code(name) => escape::code(name),
        };
        if out.ends_with('`') && piece.starts_with('`') {
            out.push(JOINER);
        }
        out.push_str(&piece);
    }
    out
}
