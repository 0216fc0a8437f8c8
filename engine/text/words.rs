//! What the author of a rule may say in Markdown: emphasis, code on one line, and plain text, all on one line. What is
//! printed decides, not what the rule file holds: tags of templates put pieces together that look harmless apart.
//!
//! Everything else is made inert: HTML, links, images, addresses, mentions, references, commits, formulas, emoji,
//! entities, headings, lists, quotes, tables, commands to a pipeline or a forge.

use std::collections::BTreeMap;
use std::ops::Range;

use super::escape::{JOINER, MAX_HEX_CHARS, part_hashes};
use super::invisible::is_invisible;

/// The words as Markdown. `at_start` tells whether nothing stands before them on their line, `goes_on` whether more of
/// the same sentence follows.
pub fn markdown(words: &str, at_start: bool, goes_on: bool) -> String {
    let mut chars = one_line(words);
    if at_start {
        // Four blanks would make it a block of code.
        let blanks = chars.iter().take_while(|c| **c == ' ').count();
        chars.drain(..blanks);
    }
    let runs = runs_of_backticks(&chars);
    let last_run_of = runs.iter().enumerate().map(|(place, run)| (run.len(), place)).collect();
    let leading_digits = chars.iter().take_while(|c| c.is_ascii_digit()).count();
    let out = String::with_capacity(words.len() + 8);
    let (chars, hex_run, next_run) = (chars.as_slice(), 0, 0);
    let mut writer = Writer { chars, at_start, goes_on, out, hex_run, runs, next_run, last_run_of, leading_digits };
    let mut index = 0;
    while index < chars.len() {
        index = match writer.code_end(index) {
            Some(end) => writer.code(index, end),
            None => writer.character(index),
        };
    }
    writer.out
}

/// The words as plain text: on one line, without what nobody sees; blanks at their ends stay.
pub fn plain(words: &str) -> String {
    one_line(words).into_iter().collect()
}

/// Without a line break, and without what nobody sees.
fn one_line(words: &str) -> Vec<char> {
    let blank = words.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    blank.filter(|c| !is_invisible(*c)).collect()
}

struct Writer<'a> {
    chars: &'a [char],
    at_start: bool,
    goes_on: bool,
    out: String,
    hex_run: usize,
    /// Where backticks stand in a row, as many as there are.
    runs: Vec<Range<usize>>,
    next_run: usize,
    /// The last of them of a length.
    last_run_of: BTreeMap<usize, usize>,
    /// How many digits the line begins with.
    leading_digits: usize,
}

/// Where backticks stand in a row.
fn runs_of_backticks(chars: &[char]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, _) in chars.iter().enumerate().filter(|(_, c)| **c == '`') {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

impl Writer<'_> {
    /// Where the code span that begins at `index` ends; none where none does: backticks of the same number close it.
    fn code_end(&mut self, index: usize) -> Option<usize> {
        while self.runs.get(self.next_run).is_some_and(|run| run.start < index) {
            self.next_run += 1;
        }
        let fence = self.runs.get(self.next_run).filter(|run| run.start == index)?.len();
        let last = self.last_run_of.get(&fence).copied()?;
        if last <= self.next_run {
            return None;
        }
        // There is one: what is passed on the way to it is passed once, as the span goes on up to there.
        self.runs[self.next_run + 1..].iter().find(|run| run.len() == fence).map(|run| run.end)
    }

    /// Code is as it was: nothing in it is alive, but for commands to pipelines, which read logs.
    fn code(&mut self, index: usize, end: usize) -> usize {
        let code: String = self.chars.get(index..end).unwrap_or_default().iter().collect();
        self.out.push_str(&part_hashes(&code));
        self.hex_run = 0;
        end
    }

    fn character(&mut self, index: usize) -> usize {
        let Some(&c) = self.chars.get(index) else { return self.chars.len() };
        // Seven hexadecimal digits in a row may be a commit.
        self.hex_run = if c.is_ascii_hexdigit() { self.hex_run + 1 } else { 0 };
        if self.hex_run > MAX_HEX_CHARS {
            self.out.push(JOINER);
            self.hex_run = 1;
        }
        match c {
            // An entity, because forges that know formulas do not honour the backslash here.
            '$' => self.out.push_str("&#36;"),
            _ if self.needs_backslash(c, index) => self.out.extend(['\\', c]),
            _ => self.out.push(c),
        }
        if self.starts_reference(c, index) {
            self.out.push(JOINER);
        }
        index + 1
    }

    /// Whether what follows is of a kind; anything may follow where the sentence goes on. Signs of emphasis are not shown.
    fn is_next(&self, index: usize, is_kind: fn(char) -> bool) -> bool {
        let next = self.chars.iter().skip(index + 1).find(|c| !is_emphasis(**c));
        next.map_or(self.goes_on, |next| is_kind(*next))
    }

    fn needs_backslash(&self, c: char, index: usize) -> bool {
        match c {
            '\\' | '`' | '[' | ']' | '~' => true,
            '<' => self.is_next(index, |next| !(next == ' ' || next == '=' || next.is_ascii_digit())),
            '&' => self.is_next(index, |next| next != ' '),
            '#' => self.is_next(index, |next| next != ' ') || self.begins_line(index),
            '.' | ')' => self.ends_list_number(index) && self.is_next(index, |next| next == ' '),
            _ => self.begins_line(index) && self.starts_block(c, index),
        }
    }

    /// Lists, quotes, rules and headings, or a command of a forge: only where a line begins.
    fn starts_block(&self, c: char, index: usize) -> bool {
        let rest = self.chars.get(index..).unwrap_or_default();
        match c {
            '>' | '/' | ':' => true,
            '-' | '+' | '=' => rest.get(1).is_none_or(|next| *next == ' ' || *next == c),
            '*' | '_' => {
                let is_rule = rest.len() > 2 && rest.iter().all(|next| [c, ' '].contains(next));
                is_rule || rest.get(1).is_some_and(|next| *next == ' ')
            }
            _ => false,
        }
    }

    /// Whether nothing but a number stands before on the line.
    fn ends_list_number(&self, index: usize) -> bool {
        self.at_start && index > 0 && self.leading_digits >= index
    }

    /// Whether nothing stands before.
    fn begins_line(&self, index: usize) -> bool {
        self.at_start && index == 0
    }

    fn starts_reference(&self, c: char, index: usize) -> bool {
        match c {
            '@' | '#' => self.is_next(index, |next| next != ' '),
            '!' | '^' | '~' | '&' => self.is_next(index, char::is_alphanumeric),
            '%' => self.is_next(index, |next| next.is_alphanumeric() || matches!(next, '"' | '{')),
            ':' => self.is_next(index, |next| next.is_alphanumeric() || matches!(next, '/' | ':' | '+' | '-' | '_')),
            '{' => self.is_next(index, |next| matches!(next, '{' | '%' | '#' | '+' | '-')),
            // `GH-1`, and the keys of issue trackers.
            '-' => self.is_next(index, |next| next.is_ascii_digit()) && self.ends_key(index),
            'w' | 'W' => self.ends_www(index) && self.is_next(index, |next| next == '.'),
            _ => false,
        }
    }

    /// Whether a word of several characters that begins with a letter ends before `index`: `n-1` is no key.
    fn ends_key(&self, index: usize) -> bool {
        let before = self.chars.get(..index).unwrap_or_default();
        let word = before.rsplit(|c| !c.is_ascii_alphanumeric() && *c != '_').next().unwrap_or_default();
        word.first().map_or(index == 0 && !self.at_start, |first| word.len() > 1 && first.is_ascii_alphabetic())
    }

    fn ends_www(&self, index: usize) -> bool {
        let before = self.chars.get(..index).unwrap_or_default().iter().rev().filter(|c| !is_emphasis(**c));
        before.take(2).filter(|c| c.eq_ignore_ascii_case(&'w')).count() == 2
    }
}

const fn is_emphasis(c: char) -> bool {
    matches!(c, '*' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::effort;

    #[test]
    fn plain_words_emphasis_and_code_stay() {
        for fine in [
            "Launch more blocks: `kernel[blocks, threads](x)` and `CUDA.@sync`, *at once*, **now**.",
            "a < b & c, 3 # 4, 5 % of it, 12.5% (2-4), x <= y, `a ``b`` | c`, ``a ` b``",
            "",
        ] {
            assert_eq!(markdown(fine, true, false), fine);
        }
    }

    #[test]
    fn everything_else_is_inert() {
        for (live, inert) in [
            ("<img src=x>", "\\<img src=x>"),
            ("[a](//b)", "\\[a\\](//b)"),
            ("@octocat", "@\u{2060}octocat"),
            ("#1 !1 GH-1 &1", "\\#\u{2060}1 !\u{2060}1 GH-\u{2060}1 \\&\u{2060}1"),
            ("http://x www.x", "http:\u{2060}//x www\u{2060}.x"),
            ("::error::x", "\\:\u{2060}:\u{2060}error:\u{2060}:\u{2060}x"),
            ("##[error]", "\\#\u{2060}\\#\u{2060}\\[error\\]"),
            ("`##[error]`", "`#\u{2060}#[error]`"),
            ("$x$ :tada:", "&#36;x&#36; :\u{2060}tada:"),
            ("0123456789abcdef", "012345\u{2060}6789ab\u{2060}cdef"),
            ("a\n# b", "a # b"),
            ("# b", "\\# b"),
            ("- b", "\\- b"),
            ("***", "\\***"),
            ("a ` b\n` <b>", "a ` b ` \\<b>"),
            ("`a", "\\`a"),
            ("``a`", "\\`\\`a\\`"),
            ("\\`a`", "\\\\`a`"),
        ] {
            assert_eq!(markdown(live, true, false), inert, "{live}");
        }
    }

    #[test]
    fn writing_takes_time_by_the_length() {
        let many = 200_000;
        let runs: Vec<String> = (1..600).map(|length| "`".repeat(length)).collect();
        for text in [
            format!("a{}", "`".repeat(many)),
            runs.join(" "),
            format!("{}{}", "1".repeat(many), ")".repeat(many)),
            format!("@{}", "*".repeat(many)),
            "@*_".repeat(many),
            "ab-1".repeat(many),
            format!("a{}", "-1".repeat(many)),
            format!("{}1", "-".repeat(many)),
            "w*".repeat(many),
            format!("w{}w", "*".repeat(many)),
            "[#w&<!".repeat(many / 4),
        ] {
            effort::at_most(5, || assert!(markdown(&text, true, false).len() >= text.len()));
        }
    }

    #[test]
    fn what_may_follow_counts() {
        assert_eq!(markdown("a <", false, true), "a \\<");
        assert_eq!(markdown("@", false, true), "@\u{2060}");
        assert_eq!(markdown("a <", false, false), "a <");
    }
}
