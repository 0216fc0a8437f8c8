//! The tags of a template (`{{ … }}` and `{% … %}`), read by the template engine's own lexer: what stands in a string
//! ends no tag. The lexer does not call itself, so that it measures what the parser would run out of stack at.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;

/// What decides how deep the parser calls itself.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measure {
    /// Bytes of the longest tag. One that is not closed goes on to the end.
    pub(crate) longest_tag: usize,
    /// The most branches (`if`, `elif`) that are open at once: each `elif` stands inside the one before it.
    pub(crate) open_branches: usize,
    /// Brackets and filters: each may make a value that holds another, and that is let go of from the outside in.
    pub(crate) nests: usize,
}

/// Measures the tags of a template.
pub(crate) fn measure(source: &str) -> Measure {
    let mut found = Measure::default();
    let mut branches: Vec<usize> = Vec::new();
    let (mut open, mut is_named) = (None, false);
    for (token, span) in tokenize(source, false, SyntaxConfig::default()).map_while(Result::ok) {
        match token {
            Token::VariableStart | Token::BlockStart => {
                open = Some(span.start_offset as usize);
                is_named = matches!(token, Token::VariableStart);
            }
            Token::VariableEnd | Token::BlockEnd => {
                let length = open.take().map_or(0, |start| span.end_offset as usize - start);
                found.longest_tag = found.longest_tag.max(length);
            }
            Token::Ident(name) if !is_named => {
                is_named = true;
                match name {
                    "if" => branches.push(1),
                    "elif" => branches.last_mut().map_or((), |count| *count += 1),
                    "endif" => branches.truncate(branches.len().saturating_sub(1)),
                    _ => {}
                }
                found.open_branches = found.open_branches.max(branches.iter().sum());
            }
            Token::BracketOpen | Token::BraceOpen | Token::ParenOpen | Token::Pipe => found.nests += 1,
            _ => {}
        }
    }
    let unclosed = open.map_or(0, |start| source.len() - start);
    Measure { longest_tag: found.longest_tag.max(unclosed), ..found }
}

/// What a template prints as it stands there, between its tags.
pub(crate) fn literals(source: &str) -> Vec<&str> {
    let tokens = tokenize(source, false, SyntaxConfig::default()).map_while(Result::ok);
    tokens.filter_map(|(token, _)| if let Token::TemplateData(text) = token { Some(text) } else { None }).collect()
}

/// The words, numbers and signs of an expression.
pub(crate) fn expression_size(source: &str) -> u64 {
    tokenize(source, true, SyntaxConfig::default()).take_while(Result::is_ok).count() as u64
}

/// Whether a text hides part of itself from who reads its tags: by a comment, or by `raw`.
pub(crate) fn has_comment_or_raw(source: &str) -> bool {
    let is_raw = |(index, _): (usize, &str)| {
        source[index + 2..].trim_start_matches(['-', '+', ' ', '\t', '\n', '\r']).starts_with("raw")
    };
    source.contains("{#") || source.match_indices("{%").any(is_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_ends_where_the_lexer_says() {
        for (source, longest_tag) in [
            ("a {{ b }} c", 7),
            ("{{ \"}}\" ~ 1 ~ 1 }}", 18),
            ("{% if '%}' == 'a' %}{% endif %}", 20),
            ("{{ {'a': {}} }}", 15),
            ("a {{ b", 4),
            ("{{ 'a", 5),
            ("{% raw %}{{ much }}{% endraw %}", 0),
            ("none", 0),
        ] {
            assert_eq!(measure(source).longest_tag, longest_tag, "{source}");
        }
    }

    #[test]
    fn branches_are_counted_where_they_are_open() {
        for (source, open_branches) in [
            ("{% if a %}{% elif b %}{% elif c %}{% endif %}", 3),
            ("{% if a %}{% endif %}{% if b %}{% endif %}", 1),
            ("{% if a %}{% elif b %}{% if c %}{% endif %}{% endif %}", 3),
            ("{% elif a %}{% endif %}{{ if }}", 0),
        ] {
            assert_eq!(measure(source).open_branches, open_branches, "{source}");
        }
    }

    #[test]
    fn what_makes_values_of_values_is_counted() {
        assert_eq!(measure("[(| {{ [a] | f(b) }}{% set c = {'[': 1} %}").nests, 4);
    }

    #[test]
    fn literals_are_what_is_printed() {
        assert_eq!(literals("a {{ b }}c{% if d %}e{% endif %}"), ["a ", "c", "e"]);
        assert!(["{# #}", "a {%raw%}", "{%- raw %}", "{%+\traw %}"].into_iter().all(has_comment_or_raw));
        assert!(!has_comment_or_raw("{{ a }} { # {% if raw %}"));
    }
}
