//! What a rule's author writes reaches a forge as Markdown. What is printed is made inert when it is printed
//! ([`crate::text::words`]); this tells the author beforehand what would not come out as it was meant.

use super::super::fault::Log;
use super::super::raw::{self, RawRule};
use crate::text::{escape, tags};

/// Notes every text of a rule that is more than text.
pub(super) fn check(raw: &RawRule, log: &mut Log<'_>) {
    let whens = raw.when.iter().map(|when| &when.says);
    let lower = raw.confidence.lower.iter().map(|lower| &lower.because);
    let message = [&raw.message.summary, &raw.message.verify].into_iter();
    let message = message.chain(&raw.message.title).chain(&raw.message.look);
    let estimate = raw.estimate.iter().map(|estimate| &estimate.basis);
    let references = raw.references.iter().map(|reference| &reference.supports);
    let advice = raw.advice.get_ref().values();
    let texts = std::iter::once(&raw.title).chain(whens).chain(lower).chain(message);
    for text in texts.chain(estimate).chain(references).chain(advice) {
        note(text, log);
    }
}

fn note(text: &raw::Text, log: &mut Log<'_>) {
    if let Some(what) = fault(text.get_ref()) {
        log.at(text.span(), format!("a text of a rule is Markdown without {what}; in `code` it would be harmless"));
    }
}

/// What a text holds that it may not. It is printed on one line; a tag may print nothing, so that what stands on its two
/// sides is read as one, too.
fn fault(text: &str) -> Option<&'static str> {
    if escape::has_invisible(text) {
        return Some("control characters and others that nobody sees");
    }
    if tags::has_comment_or_raw(text) {
        return Some("comments and `raw`");
    }
    let literals = tags::literals(text);
    let lines = [literals.join("x"), literals.concat()];
    lines.iter().find_map(|line| line_fault(&without_code(&line.replace(['\n', '\r'], " "))))
}

fn line_fault(line: &str) -> Option<&'static str> {
    let faults = [
        (follows(line, '<', |c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')), "HTML"),
        (
            line.contains("](") || line.contains("][") || line.contains("]:"),
            "links and images: name them in [[references]]",
        ),
        (line.contains("://") || line.contains("www."), "addresses: name them in [[references]]"),
        (follows(line, '@', char::is_alphanumeric), "mentions"),
        (follows(line, '#', |c| c.is_ascii_digit()), "references to issues"),
        (follows(line, '&', |c| c == '#' || c.is_ascii_alphabetic()), "entities"),
        (line.contains("##") || line.trim_start().starts_with("::"), "commands to a pipeline"),
    ];
    faults.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}

/// Whether a character stands somewhere before one of a kind.
fn follows(line: &str, what: char, is_next: fn(char) -> bool) -> bool {
    line.match_indices(what).any(|(index, found)| line[index + found.len()..].starts_with(is_next))
}

/// A line without its code spans. Where it is not plain which backticks belong together, nothing is taken for code.
fn without_code(line: &str) -> String {
    let is_plain = line.matches('`').count().is_multiple_of(2) && !line.contains("``") && !line.contains("\\`");
    if !is_plain {
        return line.to_owned();
    }
    line.split('`').step_by(2).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_text() {
        for fine in [
            "Launch more blocks: `kernel[blocks, threads](x)` and `CUDA.@sync`, *at once*.",
            "{{ kernel.name | code }} takes {{ kernel.sum_ns | duration }}, a < b & c, 3 # 4",
            "",
        ] {
            assert_eq!(fault(fine), None, "{fine}");
        }
        for (wrong, what) in [
            ("<img src=x>", "HTML"),
            ("a </details>", "HTML"),
            ("<https://evil.example>", "HTML"),
            ("see [here](javascript:x)", "links"),
            ("[a]: b", "links"),
            ("https://evil.example", "addresses"),
            ("ask @octocat", "mentions"),
            ("\\@octocat", "mentions"),
            ("&commat;octocat", "entities"),
            ("&#64;octocat", "references"),
            ("fixes #1", "references"),
            ("`a` @octocat `b", "mentions"),
            ("\\`@octocat`", "mentions"),
            ("``@octocat` x", "mentions"),
            ("::error::two", "commands"),
            ("{{ a }}::error::two", "commands"),
            ("x {# {{ #}<img src=x>", "comments"),
            ("{% raw %}{{{% endraw %}<b>", "comments"),
            ("{{ '}}' }}<b>", "HTML"),
            ("[a]{{ b }}(//evil.example)", "links"),
            ("#{{ a }}1", "references"),
            ("a ` b\n` @octocat `", "mentions"),
            ("a\u{202e}b", "control"),
            ("a\u{1b}[31m", "control"),
        ] {
            assert!(fault(wrong).is_some_and(|found| found.starts_with(what)), "{wrong}: {:?}", fault(wrong));
        }
    }
}
