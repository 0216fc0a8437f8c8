//! The bytes of a report from its header on, one row at a time and never a row without an end.

use std::io::{self, BufRead, Read};

use crate::limits::MAX_PROFILE_ROW_BYTES;

/// Bytes that may be read until more are granted.
#[derive(Debug)]
pub(super) struct Rationed<R> {
    inner: R,
    left: u64,
    /// The last bytes so far.
    tail: [u8; 3],
    is_at_end: bool,
}

/// What a row ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowEnd {
    /// The end of a line.
    Line,
    /// The end of the file, behind a quotation mark that closes its last cell; a comma may follow.
    Quote {
        /// Whether it does: the next cell is empty so far.
        is_comma_behind: bool,
    },
    /// The end of the file, with nothing that shows its last cell to be whole.
    Nothing,
}

impl<R> Rationed<R> {
    pub(super) const fn new(inner: R) -> Self {
        Self { inner, left: MAX_PROFILE_ROW_BYTES, tail: [0; 3], is_at_end: false }
    }

    /// What the row ends with that was read last: nobody asks for what comes behind a line before its own bytes are used up.
    pub(super) fn end_of_row(&self) -> RowEnd {
        if !self.is_at_end {
            return RowEnd::Line;
        }
        match self.tail {
            // Of an empty cell both marks are there; any other two may be one that stands for itself.
            [b',', b'"', b'"'] => RowEnd::Quote { is_comma_behind: false },
            [_, b',' | b'"' | b'\n', b'"'] | [b',' | b'"', b'"', b','] => RowEnd::Nothing,
            [_, _, b'"'] => RowEnd::Quote { is_comma_behind: false },
            [_, b'"', b','] => RowEnd::Quote { is_comma_behind: true },
            _ => RowEnd::Nothing,
        }
    }

    /// Another row may be read.
    pub(super) const fn grant(&mut self) {
        self.left = MAX_PROFILE_ROW_BYTES;
    }
}

impl<R: Read> Read for Rationed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a row of it has no end"));
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.inner.read(&mut buffer[..most])?;
        self.left -= count as u64;
        self.is_at_end = count == 0;
        for byte in &buffer[count.saturating_sub(self.tail.len())..count] {
            self.tail = [self.tail[1], self.tail[2], *byte];
        }
        Ok(count)
    }
}

/// Whether a line is the header of a page. Spreadsheets take the quotation marks away.
pub(super) fn is_header(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    line.starts_with(b"\"ID\",\"Process ID\",") || line.starts_with(b"ID,Process ID,")
}

/// Whether the profiler says in a line of its own that something failed: the program, or what it does itself.
pub(super) fn is_error(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"==ERROR==")
}

/// Passes over what the program and the profiler wrote before the header, which is returned, with whether something failed before;
/// `None` without one.
pub(super) fn header(reader: &mut impl BufRead) -> io::Result<Option<(Vec<u8>, bool)>> {
    let (mut line, mut has_failed) = (Vec::new(), false);
    loop {
        line.clear();
        if reader.by_ref().take(MAX_PROFILE_ROW_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if is_header(&line) {
            return Ok(Some((line, has_failed)));
        }
        has_failed |= is_error(&line);
    }
}
