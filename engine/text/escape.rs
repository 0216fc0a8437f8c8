//! Strings of a report made harmless. Whoever made the report may have chosen them: kernel names, ranges, paths.
//!
//! Forges look for mentions, references and links in the *rendered* text, where a backslash is gone. So characters that
//! start one are also followed by a word joiner (U+2060), which nobody sees.

use std::convert::Infallible;
use std::io::{self, Write};

use super::invisible::is_invisible;

/// Invisible, and keeps forges from reading what is on its two sides as one thing.
pub(super) const JOINER: char = '\u{2060}';
/// Longer strings keep both ends only.
const MAX_CHARS: usize = 300;
/// The same of a name in a sentence, which may come several times.
const MAX_NAME_CHARS: usize = 120;
/// The same of lines: messages and annotations that quote several.
const MAX_LINE_CHARS: usize = 4_000;
pub(super) const MAX_HEX_CHARS: usize = 6;

/// Without control, ANSI, invisible and bidirectional characters, on one line: for output that escapes by itself, and
/// for plain text.
pub fn plain(text: &str) -> String {
    // Pipelines read `##[…]` and `##vso[…]` anywhere in a line of a log as commands.
    part_hashes(&clean(text))
}

/// No two `#` side by side where they may begin a command; a heading of Markdown, or a frame of hashes, has a blank behind them.
/// What follows the end of a text is not known.
pub(crate) fn part_hashes(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut hashes = 0;
    for c in text.chars() {
        if hashes > 1 && (c == '[' || c.is_alphanumeric()) {
            part_last(&mut safe);
        }
        hashes = if c == '#' { hashes + 1 } else { 0 };
        safe.push(c);
    }
    if hashes > 1 {
        part_last(&mut safe);
    }
    safe
}

/// Parts the `#` at the end from what comes before it.
fn part_last(safe: &mut String) {
    if safe.pop().is_some() {
        safe.extend([JOINER, '#']);
    }
}

/// A line that no pipeline takes for a command: `::` where it begins, `##[…]` anywhere.
pub(crate) fn no_command(line: &str) -> String {
    let line = part_hashes(line);
    if line.trim_start().starts_with("::") { format!("{JOINER}{line}") } else { line }
}

/// Inert in Markdown on GitHub and GitLab, inside tables too: no HTML, mention, reference, link, emphasis, formula or
/// line break.
pub fn markdown(text: &str) -> String {
    let clean = shorten_middle(&clean(text), MAX_CHARS);
    let chars: Vec<char> = clean.chars().collect();
    let mut out = String::with_capacity(clean.len() + 16);
    let mut hex_run = 0;
    for (index, &c) in chars.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| chars.get(index)).copied();
        let after = chars.get(index + 1).copied();
        // Seven hexadecimal digits in a row may be a commit.
        hex_run = if c.is_ascii_hexdigit() { hex_run + 1 } else { 0 };
        if hex_run > MAX_HEX_CHARS {
            out.push(JOINER);
            hex_run = 1;
        }
        match c {
            // An entity, because forges that know formulas do not honour the backslash here.
            '$' => out.push_str("&#36;"),
            _ if needs_backslash(c, before, after, &chars[..index]) => out.extend(['\\', c]),
            _ => out.push(c),
        }
        if starts_reference(c, before, after) {
            out.push(JOINER);
        }
    }
    out
}

/// A name as plain text, the middle of a long one cut out.
pub fn short(name: &str) -> String {
    shorten_middle(&plain(name), MAX_CHARS)
}

/// The same of a name within a sentence.
pub fn name(name: &str) -> String {
    shorten_middle(&plain(name), MAX_NAME_CHARS)
}

/// The same of a line, which may hold several names.
pub fn line(text: &str) -> String {
    shorten_middle(&plain(text), MAX_LINE_CHARS)
}

/// A code span that its content cannot end. Nothing in a code span is a mention or a link.
///
/// A pipe would end a table's cell even there, and its escape would show outside of tables: it becomes `¦`.
pub fn code(text: &str) -> String {
    fenced(&short(text))
}

/// The same of a name within a sentence.
pub fn name_code(text: &str) -> String {
    fenced(&name(text))
}

fn fenced(text: &str) -> String {
    let content = text.replace('|', "¦");
    if content.is_empty() {
        return "(no name)".to_owned();
    }
    let longest_run = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest_run + 1);
    let pad = if content.starts_with('`') || content.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{content}{pad}{fence}")
}

/// JSON that means the same, without characters that a terminal or the log of a pipeline would act on. It may be long, and mostly
/// holds none: it is then given back as it is.
pub fn json(json: String) -> String {
    let mut before = ' ';
    if !json.contains(|c| is_acted_on(c, std::mem::replace(&mut before, c))) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    let put = |piece: &str| {
        out.push_str(piece);
        Ok::<(), Infallible>(())
    };
    let Ok(()) = put_json(&json, &mut ' ', put);
    out
}

/// Hands on JSON in pieces, each of those characters as its escape; `before` is the character before it, and then its last.
fn put_json<E>(json: &str, before: &mut char, mut put: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let mut rest = json;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_acted_on(*c, std::mem::replace(before, *c))) {
        put(&rest[..at])?;
        put(&json_escape(c))?;
        rest = &rest[at + c.len_utf8()..];
    }
    put(rest)
}

/// Writes such JSON piece by piece, each of whole characters.
pub struct JsonWriter<W> {
    out: W,
    before: char,
}

impl<W: Write> JsonWriter<W> {
    /// To where it is to go.
    pub const fn new(out: W) -> Self {
        Self { out, before: ' ' }
    }

    /// That again.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Write for JsonWriter<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(piece).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        put_json(text, &mut self.before, |piece| self.out.write_all(piece.as_bytes()))?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn json_escape(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// Outside of ASCII, and doubled, these occur within strings only, where any character may be written so. The deletion is the one
/// control character that JSON itself lets pass.
fn is_acted_on(c: char, before: char) -> bool {
    (c == '#' && before == '#') || c == '\u{7f}' || (!c.is_ascii() && is_invisible(c))
}

/// Messages for a terminal or the log of a pipeline, which quote reports, rules and templates: line breaks and the
/// distances of words stay, for what is aligned; nothing is a command or hidden, and long lines lose their middle.
pub fn log(text: &str) -> String {
    log_of_lines(text, MAX_LINE_CHARS)
}

/// The same with lines of any length: of a file that is shown to be copied.
pub fn log_whole(text: &str) -> String {
    log_of_lines(text, usize::MAX)
}

fn log_of_lines(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        let line = shorten_middle(line.trim_end_matches('\n'), longest) + end;
        let line: String = line.chars().filter(|c| *c == '\n' || *c == '\t' || !is_invisible(*c)).collect();
        // Pipelines look for commands behind blanks too.
        if line.trim_start().starts_with("::") {
            out.push(JOINER);
        }
        out.push_str(&line);
    }
    part_hashes(&out)
}

/// Whether a text holds characters that nobody sees, line breaks and tabs apart.
pub fn has_invisible(text: &str) -> bool {
    text.chars().any(|c| !matches!(c, '\n' | '\r' | '\t') && is_invisible(c))
}

/// Cuts the middle out of a text that is longer than `longest` characters.
pub fn shorten_middle(text: &str, longest: usize) -> String {
    let length = text.chars().count();
    if length <= longest {
        return text.to_owned();
    }
    let kept = longest.saturating_sub(1);
    let head: String = text.chars().take(kept - kept / 2).collect();
    let tail: String = text.chars().skip(length - kept / 2).collect();
    format!("{}…{}", head.trim_end(), tail.trim_start())
}

fn needs_backslash(c: char, before: Option<char>, after: Option<char>, so_far: &[char]) -> bool {
    let is_word = |neighbour: Option<char>| neighbour.is_some_and(|c| c.is_ascii_alphanumeric());
    match c {
        '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '!' | '^' => true,
        // Within a word an underscore is only itself.
        '_' => !(is_word(before) && is_word(after)),
        // Lists, rules and headings, or a forge's slash command: only where a line begins.
        '-' | '+' | '=' | '/' | ':' => so_far.is_empty(),
        '.' | ')' if after.is_none_or(char::is_whitespace) => {
            !so_far.is_empty() && so_far.iter().all(char::is_ascii_digit)
        }
        _ => false,
    }
}

fn starts_reference(c: char, before: Option<char>, after: Option<char>) -> bool {
    let Some(next) = after.filter(|next| !next.is_whitespace()) else { return false };
    match c {
        '@' | '#' | '!' | '$' | '%' | '~' | '&' | '^' | '*' | '[' | '{' | ':' => true,
        // `GH-1`, and the keys of issue trackers.
        '-' => next.is_ascii_digit() && before.is_some_and(|c| c.is_ascii_alphabetic()),
        'w' | 'W' => next == '.',
        _ => false,
    }
}

fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            c if c.is_whitespace() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}') => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c if is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// The rest of an ANSI sequence, the escape character having been read.
fn skip_sequence(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars);
        }
        // A string, such as a link or the window's title; it ends with BEL or ESC \.
        Some(']' | 'P' | '^' | '_' | 'X') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{9c}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {}
    }
}

fn skip_control_sequence(chars: &mut Chars<'_>) {
    while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
    chars.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
}

#[cfg(test)]
mod tests;
