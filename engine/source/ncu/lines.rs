//! The bytes of a report from its header on, one row at a time and never a row without an end.

use std::io::{self, BufRead, Read};

use crate::limits::MAX_PROFILE_ROW_BYTES;

/// Bytes that may be read until more are granted.
#[derive(Debug)]
pub(super) struct Rationed<R> {
    inner: R,
    left: u64,
}

impl<R> Rationed<R> {
    pub(super) const fn new(inner: R) -> Self {
        Self { inner, left: MAX_PROFILE_ROW_BYTES }
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
        Ok(count)
    }
}

/// Whether a line is the header of a page. Spreadsheets take the quotation marks away.
pub(super) fn is_header(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    line.starts_with(b"\"ID\",\"Process ID\",") || line.starts_with(b"ID,Process ID,")
}

/// Passes over what the program and the profiler wrote before the header, which is returned; `None` without one.
pub(super) fn header(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.by_ref().take(MAX_PROFILE_ROW_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if is_header(&line) {
            return Ok(Some(line));
        }
    }
}
