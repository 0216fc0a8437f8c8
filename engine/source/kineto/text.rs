//! Strings of a trace: kept as they are written, turned into text where somebody asks.

use std::borrow::Cow;

/// A string of the trace between its quotes, as written: escapes are not resolved, and it may be no UTF-8.
///
/// Two strings that are written alike are the same text, so that a reader can tell them apart by [`Text::raw`] and turn
/// each into text once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Text<'a> {
    raw: &'a [u8],
    has_escape: bool,
}

impl<'a> Text<'a> {
    pub(super) const fn new(raw: &'a [u8], has_escape: bool) -> Self {
        Self { raw, has_escape }
    }

    /// The bytes between the quotes.
    pub(super) const fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Whether there is a backslash in it.
    pub(super) const fn has_escape(&self) -> bool {
        self.has_escape
    }

    /// Whether there is nothing between the quotes.
    pub(super) const fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The bytes where they are the text as they are, if it is UTF-8.
    pub(super) fn plain(&self) -> Option<&'a [u8]> {
        (!self.has_escape).then_some(self.raw)
    }

    /// Its first bytes, as many at most.
    pub(super) fn start(&self, most: usize) -> Self {
        Self { raw: &self.raw[..self.raw.len().min(most)], has_escape: self.has_escape }
    }

    /// The text. What is no UTF-8 becomes the replacement character; a backslash that starts no escape stands for itself.
    pub(super) fn to_str(self) -> Cow<'a, str> {
        if self.has_escape {
            return Cow::Owned(unescape(self.raw));
        }
        String::from_utf8_lossy(self.raw)
    }
}

/// Resolves escapes.
fn unescape(raw: &[u8]) -> String {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        let used = one_escape(escape, &mut out);
        rest = escape.get(used..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Resolves the escape at the start; returns its length.
fn one_escape(escape: &[u8], out: &mut Vec<u8>) -> usize {
    let simple = match escape.get(1) {
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'u') => {
            if let Some((letter, used)) = unicode_escape(escape) {
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return used;
            }
            b'\\'
        }
        _ => b'\\',
    };
    out.push(simple);
    // A backslash that starts no escape stands for itself.
    if simple == b'\\' && escape.get(1) != Some(&b'\\') { 1 } else { 2 }
}

/// `\u1234`, or two of them that make one character; half of one is the replacement character.
fn unicode_escape(escape: &[u8]) -> Option<(char, usize)> {
    let first = code_unit(escape)?;
    if let Some(letter) = char::from_u32(first) {
        return Some((letter, 6));
    }
    let second = escape.get(6..).and_then(code_unit);
    let pair = second.and_then(|second| char::decode_utf16([first as u16, second as u16]).next()?.ok());
    Some(pair.map_or((char::REPLACEMENT_CHARACTER, 6), |letter| (letter, 12)))
}

fn code_unit(escape: &[u8]) -> Option<u32> {
    let digits = escape.strip_prefix(br"\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &str) -> String {
        Text::new(raw.as_bytes(), true).to_str().into_owned()
    }

    #[test]
    fn escapes_are_resolved_and_what_is_none_stays() {
        assert_eq!(text(r"a\n\t\/\\\u00e9"), "a\n\t/\\é");
        assert_eq!(text(r"\ud83d\ude00!"), "😀!");
        assert_eq!(text(r"\ud83d!\ud83d\u0041"), "\u{fffd}!\u{fffd}A");
        assert_eq!(text(r"C:\path\x\u12"), r"C:\path\x\u12");
        assert_eq!(text(r"end\"), r"end\");
        assert_eq!(Text::new(b"a\xffb", false).to_str(), "a\u{fffd}b");
        assert_eq!(Text::new(b"\\n\xff", true).to_str(), "\n\u{fffd}");
    }
}
