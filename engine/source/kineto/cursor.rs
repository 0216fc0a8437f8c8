//! Reads JSON member by member from bytes, and takes more than JSON allows: bare words such as `inf` and `N/A`, trailing
//! commas, control characters and bad escapes in strings. Profilers write all of them, and what lies around is whole.

use super::text::Text;
use super::words::{distance, outside_numbers, quotes_and_backslashes, quotes_and_letters, short_word, word};
use crate::limits::MAX_TRACE_DEPTH;

/// Fewer zeros in a row are no part of a file that was never written, but a slip of the one who wrote them.
const LEAST_HOLE_BYTES: usize = 64;

/// Longer strings are looked through in wide steps. None that is as short holds a hole.
const LONG_TEXT_BYTES: usize = LEAST_HOLE_BYTES - 8;

/// Whether a byte is part of a number or word, by its value.
const IS_WITHIN: [bool; 256] = {
    let mut is_within = [true; 256];
    let ends = b"\t\n\x0c\r ,:\"{}[]";
    let mut index = 0;
    while index < ends.len() {
        is_within[ends[index] as usize] = false;
        index += 1;
    }
    is_within
};

/// Why reading stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The bytes end first.
    End,
    /// No JSON, even by a generous reading.
    Syntax,
}

/// The value of a member, as it is written. One is made for nearly every member: it is passed on in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value<'a> {
    raw: &'a [u8],
    form: Form,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A string, without its quotes.
    Text,
    /// The same, with a backslash in it.
    Escaped,
    /// A number, or a word such as `true`, `null`, `inf`.
    Bare,
    /// An array or object, with its brackets.
    Nested,
}

impl<'a> Value<'a> {
    /// What a number would be written as, with or without quotes.
    #[inline]
    pub(super) fn digits(self) -> &'a [u8] {
        match self.form {
            Form::Bare => self.raw,
            Form::Text | Form::Escaped => self.raw.trim_ascii(),
            Form::Nested => &[],
        }
    }

    /// The string, if it is one and not empty.
    #[inline]
    pub(super) fn text(self) -> Option<Text<'a>> {
        self.string().filter(|text| !text.is_empty())
    }

    /// The string, if it is one.
    #[inline]
    pub(super) fn string(self) -> Option<Text<'a>> {
        let is_text = matches!(self.form, Form::Text | Form::Escaped);
        is_text.then_some(Text::new(self.raw, self.form == Form::Escaped))
    }

    /// The number or word, if it is one.
    pub(super) fn word(self) -> Option<&'a [u8]> {
        (self.form == Form::Bare).then_some(self.raw)
    }

    /// The array or object, if it is one, with its brackets.
    pub(super) fn nested(self) -> Option<&'a [u8]> {
        (self.form == Form::Nested).then_some(self.raw)
    }
}

/// Bytes that are held against many others, most of them as long as a word or two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Begin<'a> {
    bytes: &'a [u8],
    first: u64,
    last: u64,
}

impl<'a> Begin<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let last = bytes.get(bytes.len().saturating_sub(8)..).unwrap_or_default();
        Self { bytes, first: short_word(bytes), last: short_word(last) }
    }

    /// The bytes.
    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether others begin with it; none do with nothing.
    #[inline(always)]
    fn is_next(&self, rest: &[u8]) -> bool {
        let length = self.bytes.len();
        let last = || rest.get(length - 8..).and_then(word) == Some(self.last);
        match (length, word(rest)) {
            (8..=16, Some(first)) => first == self.first && last(),
            (1..8, Some(first)) => (first ^ self.first) << (64 - 8 * length) == 0,
            _ => length > 0 && rest.starts_with(self.bytes),
        }
    }
}

/// A position in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether a quote ends a string only where a value may end.
    takes_stray_quotes: bool,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, takes_stray_quotes: false }
    }

    /// The same, for strings whose own quotes were written without a backslash.
    pub(super) const fn with_stray_quotes(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, takes_stray_quotes: true }
    }

    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// Steps over a beginning if it comes next. Where quotes may be stray it does not: what they are depends on what follows.
    #[inline(always)]
    pub(super) fn step_over(&mut self, begin: &Begin<'_>) -> bool {
        let is_next = !self.takes_stray_quotes && begin.is_next(self.bytes.get(self.at..).unwrap_or_default());
        self.at += if is_next { begin.bytes.len() } else { 0 };
        is_next
    }

    /// The bytes from a position to here, that [`Self::step_over`] may step over where they come again; no more of them than
    /// some.
    pub(super) fn stepped_over(&self, from: usize, most: usize) -> Option<Begin<'a>> {
        let bytes = self.bytes.get(from..self.at).filter(|bytes| (1..=most).contains(&bytes.len()))?;
        (!self.takes_stray_quotes).then(|| Begin::new(bytes))
    }

    /// The next byte that is no white space. Between two tokens of a trace there is mostly nothing, or one space.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<u8, Fault> {
        let byte = *self.bytes.get(self.at).ok_or(Fault::End)?;
        if byte > b' ' {
            return Ok(byte);
        }
        match self.bytes.get(self.at + 1) {
            Some(next @ b'!'..) if byte == b' ' => {
                self.at += 1;
                Ok(*next)
            }
            _ => self.peek_beyond_space(),
        }
    }

    #[inline(never)]
    fn peek_beyond_space(&mut self) -> Result<u8, Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
            Some(space) => {
                self.at += space;
                Ok(rest[space])
            }
            None => {
                self.at = self.bytes.len();
                Err(Fault::End)
            }
        }
    }

    /// Steps over a byte that must come next.
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek()? != byte {
            return Err(Fault::Syntax);
        }
        self.at += 1;
        Ok(())
    }

    /// Steps over commas; returns what comes then.
    pub(super) fn peek_beyond_commas(&mut self) -> Result<u8, Fault> {
        loop {
            match self.peek()? {
                b',' => self.at += 1,
                byte => return Ok(byte),
            }
        }
    }

    /// The key of the next member of the object, or `None` at the object's end, which is stepped over.
    pub(super) fn key(&mut self) -> Result<Option<&'a [u8]>, Fault> {
        match self.peek_beyond_commas()? {
            b'"' => {
                let key = self.text()?;
                self.expect(b':')?;
                Ok(Some(key.raw()))
            }
            b'}' => {
                self.at += 1;
                Ok(None)
            }
            _ => Err(Fault::Syntax),
        }
    }

    /// The next item of the array, or `None` at the array's end, which is stepped over.
    pub(super) fn item(&mut self) -> Result<Option<Value<'a>>, Fault> {
        if self.peek_beyond_commas()? == b']' {
            self.at += 1;
            return Ok(None);
        }
        self.value().map(Some)
    }

    /// The next value.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Result<Value<'a>, Fault> {
        match self.peek()? {
            b'"' => {
                let text = self.text()?;
                let form = if text.has_escape() { Form::Escaped } else { Form::Text };
                Ok(Value { raw: text.raw(), form })
            }
            b'{' | b'[' => Ok(Value { raw: self.nested()?, form: Form::Nested }),
            _ => Ok(Value { raw: self.bare()?, form: Form::Bare }),
        }
    }

    /// The string whose opening quote comes next. Most strings are short: eight bytes at a time beat wider steps, which must be
    /// set up first.
    #[inline(always)]
    pub(super) fn text(&mut self) -> Result<Text<'a>, Fault> {
        let start = self.at + 1;
        let mut end = start;
        while end < start + LONG_TEXT_BYTES
            && let Some(word) = self.bytes.get(end..).and_then(word)
        {
            let found = quotes_and_backslashes(word);
            end += distance(found);
            if found == 0 {
                continue;
            }
            if self.bytes.get(end) == Some(&b'"') && !self.takes_stray_quotes {
                self.at = end + 1;
                return Ok(Text::new(self.bytes.get(start..end).unwrap_or_default(), false));
            }
            break;
        }
        self.any_text(start)
    }

    /// The string that starts here, however long it is and whatever it holds.
    #[inline(never)]
    fn any_text(&mut self, start: usize) -> Result<Text<'a>, Fault> {
        let mut has_escape = false;
        let mut end = start;
        loop {
            let rest = self.bytes.get(end..).unwrap_or_default();
            let Some(length) = memchr::memchr2(b'"', b'\\', rest) else {
                return Err(if has_hole(rest) { Fault::Syntax } else { Fault::End });
            };
            if has_hole(rest.get(..length).unwrap_or_default()) {
                return Err(Fault::Syntax);
            }
            end += length;
            if self.bytes.get(end) == Some(&b'\\') {
                has_escape = true;
                end += 2;
            } else if self.takes_stray_quotes && !self.may_end_at(end + 1)? {
                end += 1;
            } else {
                break;
            }
        }
        self.at = end + 1;
        Ok(Text::new(self.bytes.get(start..end).unwrap_or_default(), has_escape))
    }

    /// Whether a string may have ended before this position.
    fn may_end_at(&self, at: usize) -> Result<bool, Fault> {
        let next = Cursor::new(self.bytes, at).peek()?;
        Ok(matches!(next, b',' | b':' | b'}' | b']'))
    }

    #[inline(always)]
    fn bare(&mut self) -> Result<&'a [u8], Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let mut end = 0;
        while let Some(word) = rest.get(end..).and_then(word) {
            let found = outside_numbers(word);
            end += distance(found);
            if found != 0 {
                break;
            }
        }
        while rest.get(end).is_some_and(|byte| IS_WITHIN[usize::from(*byte)]) {
            end += 1;
        }
        let (word, behind) = rest.split_at_checked(end).filter(|(_, behind)| !behind.is_empty()).ok_or(Fault::End)?;
        if word.is_empty() || has_hole(word) || matches!(behind.first(), Some(b'"' | b'{' | b'[' | b':')) {
            return Err(Fault::Syntax);
        }
        self.at += word.len();
        Ok(word)
    }

    /// Steps over an array or object.
    #[inline(never)]
    fn nested(&mut self) -> Result<&'a [u8], Fault> {
        let start = self.at;
        // One bit a bracket that is open, set for arrays.
        let (mut kinds, mut depth) = (0_u64, 0);
        loop {
            while let Some(word) = self.bytes.get(self.at..).and_then(word) {
                let found = quotes_and_letters(word);
                self.at += distance(found);
                if found != 0 {
                    break;
                }
            }
            match *self.bytes.get(self.at).ok_or(Fault::End)? {
                b'"' => {
                    self.text()?;
                    continue;
                }
                byte @ (b'{' | b'[') => {
                    kinds = kinds << 1 | u64::from(byte == b'[');
                    depth += 1;
                    if depth > MAX_TRACE_DEPTH {
                        return Err(Fault::Syntax);
                    }
                }
                byte @ (b'}' | b']') => {
                    if kinds & 1 != u64::from(byte == b']') {
                        return Err(Fault::Syntax);
                    }
                    kinds >>= 1;
                    depth -= 1;
                }
                0 if self.bytes.get(self.at..self.at + LEAST_HOLE_BYTES).is_some_and(has_hole) => {
                    return Err(Fault::Syntax);
                }
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(self.bytes.get(start..self.at).unwrap_or_default());
            }
        }
    }
}

/// Whether bytes that should be text hold a part of a file that was never written: it reads as zeros.
fn has_hole(mut text: &[u8]) -> bool {
    while text.len() >= LEAST_HOLE_BYTES
        && let Some(first) = memchr::memchr(0, text)
    {
        text = text.get(first..).unwrap_or_default();
        let zeros = text.iter().position(|byte| *byte != 0).unwrap_or(text.len());
        if zeros >= LEAST_HOLE_BYTES {
            return true;
        }
        text = text.get(zeros..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(json: &str) -> Result<Vec<(String, String)>, Fault> {
        let mut cursor = Cursor::new(json.as_bytes(), 0);
        cursor.expect(b'{')?;
        let mut out = Vec::new();
        while let Some(key) = cursor.key()? {
            let value = cursor.value()?;
            let value = value.string().map_or_else(|| String::from_utf8_lossy(value.raw), |text| text.to_str());
            let value = value.into_owned();
            out.push((String::from_utf8_lossy(key).into_owned(), value));
        }
        Ok(out)
    }

    #[test]
    fn more_than_json_is_taken() {
        let json =
            "{\"a\": inf, \"b\" : N/A ,\"c\":\"x\ny\", \"d\":\"C:\\path\", \"e\":[1,{\"f\":\"]\"}],\"g\":-1.5e3,}";
        let read: Vec<_> = members(json).unwrap().into_iter().map(|(_, value)| value).collect();
        assert_eq!(read, ["inf", "N/A", "x\ny", "C:\\path", "[1,{\"f\":\"]\"}]", "-1.5e3"]);
    }

    #[test]
    fn what_is_no_json_is_told_from_what_ends() {
        for json in ["{\"a\" 1}", "{\"a\": b\"c\" }", "{\"a\":[1}}", "{\"a\": \"b\" c}", "{a:1}", "[1]", "{\"a\":}"] {
            assert_eq!(members(json), Err(Fault::Syntax), "{json}");
        }
        let whole = "{\"a\": 1, \"b\": \"text\\\"\", \"c\": [1, {\"d\": \"e\"}]}";
        for end in 0..whole.len() {
            assert_eq!(members(&whole[..end]), Err(Fault::End), "{end}");
        }
        assert_eq!(members(&format!("{{\"a\":{}", "[".repeat(100_000))), Err(Fault::Syntax));
    }

    #[test]
    fn a_few_zeros_are_a_slip_and_many_in_a_row_are_a_hole() {
        let name = |zeros: usize| format!("{}{}{}", "a".repeat(50), "\0".repeat(zeros), "b".repeat(50));
        for zeros in [1, LEAST_HOLE_BYTES - 1] {
            let apart = format!("{}{}", name(zeros), name(zeros));
            let read = members(&format!("{{\"a\": \"{apart}\"}}")).unwrap();
            assert_eq!(read, [("a".to_owned(), apart)]);
        }
        let hole = name(LEAST_HOLE_BYTES);
        for json in [format!("{{\"a\": \"{hole}\"}}"), format!("{{\"a\": {hole}}}"), format!("{{\"a\": [{hole}]}}")] {
            assert_eq!(members(&json), Err(Fault::Syntax));
        }
    }

    #[test]
    fn stray_quotes_end_a_string_only_where_a_value_may_end() {
        let json = b"\"say \"hi\" to \"all\"\" , 1";
        assert_eq!(Cursor::new(json, 0).text().unwrap().raw(), b"say ");
        assert_eq!(Cursor::with_stray_quotes(json, 0).text().unwrap().raw(), b"say \"hi\" to \"all\"");
    }

    #[test]
    fn quotes_are_found_at_any_distance() {
        for distance in 0..200 {
            for filler in [b'\x80', b'#', b'!', b'[', b']', b'\xa2', b'\xdc', 0xff] {
                let mut json = vec![filler; distance + 1];
                json[0] = b'"';
                assert_eq!(Cursor::new(&json, 0).text(), Err(Fault::End));
                json.extend_from_slice(b"\"#\"");
                let text = Cursor::new(&json, 0).text().unwrap();
                assert_eq!(text, Text::new(&json[1..=distance], false));
                json[distance + 1] = b'\\';
                let text = Cursor::new(&json, 0).text().unwrap();
                assert_eq!(text, Text::new(&json[1..distance + 3], true));
            }
        }
    }
}
