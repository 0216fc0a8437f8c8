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
    /// By how many levels one pass through the template can nest a value: its brackets, filters and other makers of values that hold
    /// values. Of the tags that print or ask, which keep nothing, only the one with the most counts.
    pub(crate) nests: usize,
    /// The line of the tag with which these are more than a limit; absent where they are not.
    pub(crate) nests_beyond_line: Option<u16>,
}

/// Filters that make a number, a truth or a text, of values however deep: they nest none in another.
const FLAT_FILTERS: [&str; 22] = [
    "abs",
    "bool",
    "capitalize",
    "count",
    "escape",
    "e",
    "float",
    "format",
    "indent",
    "int",
    "join",
    "length",
    "lower",
    "replace",
    "round",
    "safe",
    "string",
    "striptags",
    "title",
    "trim",
    "upper",
    "urlencode",
];

/// Measures the tags of a template, which may nest a value by no more than so many levels.
pub(crate) fn measure(source: &str, most_nests: usize) -> Measure {
    let mut found = Measure::default();
    let mut branches = Branches::default();
    let mut nests = Nests { limit: most_nests, ..Nests::default() };
    let (mut open, mut is_named) = (None, false);
    let mut filter = Filter::None;
    for (token, span) in tokenize(source, false, SyntaxConfig::default()).map_while(Result::ok) {
        filter = filter.then(&token);
        match token {
            Token::VariableStart | Token::BlockStart => {
                open = Some(span.start_offset as usize);
                is_named = matches!(token, Token::VariableStart);
                nests.begin(is_named, span.start_line);
            }
            Token::VariableEnd | Token::BlockEnd => {
                let length = open.take().map_or(0, |start| span.end_offset as usize - start);
                found.longest_tag = found.longest_tag.max(length);
                nests.end();
            }
            Token::Ident(name) if !is_named => {
                is_named = true;
                branches.name(name);
                nests.name(name);
            }
            // That of a flat filter's arguments.
            Token::ParenOpen if matches!(filter, Filter::Flat { is_called: true }) => {}
            Token::BracketOpen | Token::BraceOpen | Token::ParenOpen | Token::Pipe | Token::Plus | Token::Mul => {
                nests.of_tag += 1;
            }
            Token::Ident(_) if matches!(filter, Filter::Flat { is_called: false }) => {
                nests.of_tag = nests.of_tag.saturating_sub(1);
            }
            _ => {}
        }
    }
    nests.end();
    let unclosed = open.map_or(0, |start| source.len() - start);
    let longest_tag = found.longest_tag.max(unclosed);
    Measure { longest_tag, open_branches: branches.most, nests: nests.all(), nests_beyond_line: nests.beyond_line }
}

/// Where in a filter one is.
#[derive(Clone, Copy)]
enum Filter {
    None,
    /// Behind a `|`.
    Piped,
    /// At the name of a flat one, or at the bracket behind it.
    Flat {
        is_called: bool,
    },
}

impl Filter {
    fn then(self, token: &Token<'_>) -> Self {
        match (self, token) {
            (_, Token::Pipe) => Self::Piped,
            (Self::Piped, Token::Ident(name)) if FLAT_FILTERS.contains(name) => Self::Flat { is_called: false },
            (Self::Flat { is_called: false }, Token::ParenOpen) => Self::Flat { is_called: true },
            _ => Self::None,
        }
    }
}

/// The branches that are open.
#[derive(Default)]
struct Branches {
    /// Of each `if`, itself and its `elif`s.
    open: Vec<usize>,
    /// Their sum: to add them up at each tag would take time by the square of the tags.
    count: usize,
    most: usize,
}

impl Branches {
    /// A tag of this name begins.
    fn name(&mut self, name: &str) {
        match name {
            "if" => {
                self.open.push(1);
                self.count += 1;
            }
            "elif" => {
                if let Some(last) = self.open.last_mut() {
                    *last += 1;
                    self.count += 1;
                }
            }
            "endif" => self.count -= self.open.pop().unwrap_or(0),
            _ => {}
        }
        self.most = self.most.max(self.count);
    }
}

/// What makes values of values.
#[derive(Default)]
struct Nests {
    /// In tags that give a value a name: the next one may begin with it.
    kept: usize,
    /// In the one of the others that has the most.
    most_passing: usize,
    of_tag: usize,
    is_passing: bool,
    line_of_tag: u16,
    /// How many there may be.
    limit: usize,
    /// The line of the tag with which there are more.
    beyond_line: Option<u16>,
}

impl Nests {
    fn begin(&mut self, is_passing: bool, line: u16) {
        *self = Self { of_tag: 0, is_passing, line_of_tag: line, ..*self };
    }

    fn name(&mut self, name: &str) {
        self.is_passing = matches!(name, "if" | "elif");
        // What they name holds all that the other template does.
        self.of_tag += usize::from(matches!(name, "import" | "from"));
    }

    fn end(&mut self) {
        let count = std::mem::take(&mut self.of_tag);
        match self.is_passing {
            true => self.most_passing = self.most_passing.max(count),
            false => self.kept += count,
        }
        if self.all() > self.limit {
            self.beyond_line.get_or_insert(self.line_of_tag);
        }
    }

    fn all(&self) -> usize {
        self.kept + self.most_passing
    }
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
    use crate::text::effort;

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
            assert_eq!(measure(source, 0).longest_tag, longest_tag, "{source}");
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
            assert_eq!(measure(source, 0).open_branches, open_branches, "{source}");
        }
    }

    #[test]
    fn what_makes_values_of_values_is_counted() {
        for (source, nests) in [
            ("[(| {{ [a] | f(b) }}{% set c = {'[': 1} %}", 4),
            ("{{ [a] | f(b) }}{{ [c] }}{% if (d) %}{% endif %}", 3),
            ("{% set a = [b] + [c] * 2 %}{% import 'd' as e %}{% for f in [g] %}{% endfor %}", 6),
            ("{% set a = [[[", 3),
            ("{% set a = b | round(1) | string %}{% set c = d|join(', ')|upper %}", 0),
            ("{% set a = [b] | join(c | map('x')) %}{{ d | length }}", 3),
            ("{% set a = b | round ~ (c) | list %}", 2),
        ] {
            assert_eq!(measure(source, 0).nests, nests, "{source}");
        }
    }

    #[test]
    fn the_line_is_that_of_the_tag_with_which_there_are_too_many() {
        let source = "{{ a }}\n{% set b = [c] %}\n{{ d|list|map('e') }}\n{% set f = [g] + h %}\n{{ [i] }}";
        let line = |limit: usize| measure(source, limit).nests_beyond_line;
        assert_eq!([0, 1, 3, 4, 5, 6].map(line), [Some(2), Some(3), Some(3), Some(4), Some(4), None]);
        let sums = "{% set a = a + b %}\n".repeat(201);
        assert_eq!(measure(&sums, 200).nests_beyond_line, Some(201));
    }

    #[test]
    fn measuring_takes_time_by_the_length() {
        effort::at_most(5, || {
            assert_eq!(measure(&"{%if a%}".repeat(130_000), 0).open_branches, 130_000);
            assert_eq!(measure(&"{%elif a%}".repeat(100_000), 0).open_branches, 0);
        });
    }

    #[test]
    fn literals_are_what_is_printed() {
        assert_eq!(literals("a {{ b }}c{% if d %}e{% endif %}"), ["a ", "c", "e"]);
        assert!(["{# #}", "a {%raw%}", "{%- raw %}", "{%+\traw %}"].into_iter().all(has_comment_or_raw));
        assert!(!has_comment_or_raw("{{ a }} { # {% if raw %}"));
    }
}
