//! Spans as text: in Markdown and on a screen here; plain text is [`Sentence::plain`].

use crate::text::spans::{Sentence, Span};
use crate::text::{escape, words};

/// Between two pieces that would become something together.
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
            Span::Code(name) => escape::name_code(name),
        };
        if meet(&out, &piece) {
            out.push(JOINER);
        }
        out.push_str(&piece);
    }
    // Signs of several pieces make a rule together.
    let is_rule = out.len() > 2 && out.chars().all(|c| matches!(c, '*' | '_' | ' '));
    if is_rule { format!("\\{}", out.trim_start()) } else { out }
}

/// A sentence in which names of the recording stand out.
pub(super) fn words_of(sentence: &Sentence) -> String {
    let each = sentence.spans().iter().map(|span| match span {
        Span::Own(own) => words::plain(own),
        Span::Value(text) => escape::short(text),
        // On a screen there are no longer fences: a backtick of a name would end its quotes.
        Span::Code(name) => match escape::name(name).replace('`', "'").as_str() {
            "" => "(no name)".to_owned(),
            name => format!("`{name}`"),
        },
    });
    each.collect()
}

/// Whether two pieces would be one fence, the sign and the body of a reference, or one commit.
fn meet(before: &str, after: &str) -> bool {
    // Signs of emphasis are not shown.
    let next = after.chars().find(|c| !matches!(c, '*' | '_'));
    let (Some(last), Some(next)) = (before.chars().last(), next) else { return false };
    match last {
        '`' => next == '`',
        '#' | '@' | '!' | '%' | '~' | '&' | '^' | ':' | '-' | '{' => {
            next.is_alphanumeric() || "/:[{#@\\\"_+-%".contains(next)
        }
        'w' | 'W' => next == '.',
        _ => last.is_ascii_hexdigit() && next.is_ascii_hexdigit(),
    }
}
