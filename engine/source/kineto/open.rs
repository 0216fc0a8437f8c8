//! The bytes of a trace, whether it is compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::files;
use crate::limits::{MAX_HELD_BASE_BYTES, MAX_HELD_PER_BYTE, MAX_INFLATED_BASE_BYTES, MAX_INFLATION, MAX_WINDOW_BYTES};

const GZIP: &[u8] = b"\x1f\x8b";
const BUFFER: usize = 1 << 18;
/// So many threads may read any trace, and one more for each of so many bytes of its file.
const LEAST_THREADS: u64 = 2;
const BYTES_A_THREAD: u64 = 3 << 20;
/// What [`Source::progress`] says at the end of the file.
pub(super) const WHOLE: u64 = 1_000_000;

/// A trace that is read from its beginning to its end.
pub(super) struct Source {
    /// Bytes of the file.
    size: u64,
    position: Arc<AtomicU64>,
    bytes: Box<dyn Read + Send>,
    left: u64,
    is_beyond_budget: bool,
}

impl Source {
    /// Opens a file; what it is compressed with is told by its first bytes, not by its name.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = files::open(path)?;
        let size = file.metadata()?.len();
        let position = Arc::new(AtomicU64::new(0));
        let file = Counted { file, position: Arc::clone(&position) };
        let mut reader = BufReader::with_capacity(BUFFER, file);
        let first = reader.fill_buf()?;
        let budget = inflated_bytes(size);
        let (bytes, left): (Box<dyn Read + Send>, u64) = if first.starts_with(GZIP) {
            (Box::new(Members::new(reader)), budget)
        } else if is_zstd(first) {
            (Box::new(Frames::new(reader)), budget)
        } else {
            (Box::new(reader), u64::MAX)
        };
        Ok(Self { size, position, bytes, left, is_beyond_budget: false })
    }

    /// How far a reader of this file has come, as a share of one million.
    pub(super) fn progress(&self) -> impl Fn() -> u64 + use<> {
        let (position, size) = (Arc::clone(&self.position), self.size.max(1));
        move || position.load(Ordering::Relaxed).saturating_mul(WHOLE) / size
    }

    /// Bytes of memory that events of this file may take, which is as large as it is however far it inflates.
    pub(super) const fn most_held_bytes(&self) -> u64 {
        MAX_HELD_BASE_BYTES.saturating_add(self.size.saturating_mul(MAX_HELD_PER_BYTE))
    }

    /// How many threads may read it: each holds blocks and lists of its own, for which a small file that inflates to much leaves no room.
    pub(super) const fn most_threads(&self) -> usize {
        (self.size / BYTES_A_THREAD).saturating_add(LEAST_THREADS) as usize
    }

    /// What reading this file may take, in bytes of an ordinary trace, whether it is compressed or not.
    pub(super) const fn most_work_bytes(&self) -> u64 {
        inflated_bytes(self.size)
    }

    /// Whether reading ended because the trace inflates to more than its size can account for.
    pub(super) const fn is_beyond_budget(&self) -> bool {
        self.is_beyond_budget
    }
}

const fn inflated_bytes(size: u64) -> u64 {
    MAX_INFLATED_BASE_BYTES.saturating_add(size.saturating_mul(MAX_INFLATION))
}

/// A file that counts what is read of it.
struct Counted {
    file: File,
    position: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        self.position.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(out)?;
        let left = self.left.checked_sub(count as u64);
        self.is_beyond_budget |= left.is_none();
        self.left = left.unwrap_or(0);
        Ok(if self.is_beyond_budget { 0 } else { count })
    }
}

/// Whether a file that begins so is compressed in a way that is known.
pub(in crate::source) fn is_compressed(first: &[u8]) -> bool {
    first.starts_with(GZIP) || is_zstd(first)
}

/// A frame of Zstandard, or one that holds something else and is skipped.
fn is_zstd(first: &[u8]) -> bool {
    first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || matches!(first, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// What lies behind the last member or frame, and is none.
const BEHIND: &str = "what stands behind its compressed data is not compressed";

/// Whether nothing but padding is left, which is read over.
fn is_padding(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = reader.fill_buf()?;
        let count = bytes.len();
        if count == 0 || !bytes.iter().all(|byte| is_pad(*byte)) {
            return Ok(count == 0);
        }
        reader.consume(count);
    }
}

const fn is_pad(byte: u8) -> bool {
    byte == 0 || byte.is_ascii_whitespace()
}

/// Bytes with which a member of gzip begins in any case.
const GZIP_HEADER: usize = 10;

/// A reader that remembers the last bytes that were taken from it.
struct Remembered<R> {
    reader: R,
    last: [u8; GZIP_HEADER],
}

impl<R> Remembered<R> {
    /// Whether a rest that is shorter than the header of a member is padding. With it stand the last bytes of the member before.
    fn is_padded(&self) -> bool {
        let begins_member = self.last.windows(GZIP.len()).any(|bytes| bytes == GZIP);
        self.last.last().is_some_and(|byte| is_pad(*byte)) && !begins_member
    }
}

impl<R: BufRead> Read for Remembered<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Remembered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // Nobody consumes what is not in the buffer.
        let bytes = self.reader.fill_buf().unwrap_or_default();
        for byte in bytes.get(count.saturating_sub(GZIP_HEADER)..count).unwrap_or_default() {
            self.last.rotate_left(1);
            self.last[GZIP_HEADER - 1] = *byte;
        }
        self.reader.consume(count);
    }
}

/// Members of gzip, one behind the other.
struct Members<R: BufRead> {
    decoder: MultiGzDecoder<Remembered<R>>,
    has_ended: bool,
    is_begun: bool,
}

impl<R: BufRead> Members<R> {
    fn new(reader: R) -> Self {
        let reader = Remembered { reader, last: [0; GZIP_HEADER] };
        Self { decoder: MultiGzDecoder::new(reader), has_ended: false, is_begun: false }
    }

    /// What a fault means behind a member: whether what begins no other is nothing at all.
    fn is_end(&mut self) -> io::Result<bool> {
        let rest = self.decoder.get_mut();
        if rest.last.starts_with(GZIP) {
            return Ok(false);
        }
        if rest.last.iter().all(|byte| is_pad(*byte)) && is_padding(&mut rest.reader)? {
            return Ok(true);
        }
        Err(damaged(BEHIND))
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        match self.decoder.read(out) {
            Err(error)
                if self.is_begun && self.decoder.header().is_none() && error.kind() == io::ErrorKind::InvalidInput =>
            {
                self.has_ended = self.is_end()?;
                if self.has_ended { Ok(0) } else { Err(error) }
            }
            Err(error)
                if self.is_begun && self.decoder.header().is_none() && error.kind() == io::ErrorKind::UnexpectedEof =>
            {
                self.has_ended = self.decoder.get_ref().is_padded();
                if self.has_ended { Ok(0) } else { Err(error) }
            }
            read => {
                self.is_begun |= matches!(read, Ok(1..));
                read
            }
        }
    }
}

/// Frames of Zstandard, one behind the other.
struct Frames<R: BufRead> {
    decoder: ruzstd::decoding::FrameDecoder,
    reader: R,
    is_open: bool,
    /// Why the frame cannot be read any further; told once all before that is handed out.
    fault: Option<io::Error>,
}

/// Why what is compressed cannot be inflated.
const CORRUPT: &str = "its compressed data is corrupt";

/// The header of a last block that holds nothing, and a checksum.
const EMPTY_END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

impl<R: BufRead> Frames<R> {
    fn new(reader: R) -> Self {
        Self { decoder: ruzstd::decoding::FrameDecoder::new(), reader, is_open: false, fault: None }
    }

    /// Inflates some more. Where that fails, the frame is given an end: until then the decoder keeps a window of what is whole.
    fn inflate(&mut self) -> io::Result<()> {
        let some = ruzstd::decoding::BlockDecodingStrategy::UptoBytes(BUFFER);
        let Err(_) = self.decoder.decode_blocks(&mut self.reader, some) else { return Ok(()) };
        let is_at_end = self.reader.fill_buf()?.is_empty();
        let fault = if is_at_end {
            io::Error::new(io::ErrorKind::UnexpectedEof, "its compressed data is cut off")
        } else {
            damaged(CORRUPT)
        };
        let all = ruzstd::decoding::BlockDecodingStrategy::All;
        match self.decoder.decode_blocks(EMPTY_END.as_slice(), all) {
            Ok(true) => {
                self.fault = Some(fault);
                Ok(())
            }
            _ => Err(fault),
        }
    }
}

/// What a decoder says, as an error of reading.
fn damaged(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.decoder.read(out)?;
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            if self.is_open && !self.decoder.is_finished() {
                self.inflate()?;
                continue;
            }
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            if std::mem::take(&mut self.is_open) {
                self.check()?;
            }
            let may_be_frame = self.reader.fill_buf()?.first().is_some_and(|byte| matches!(byte, 0x28 | 0x50..=0x5f));
            if !may_be_frame {
                return if is_padding(&mut self.reader)? { Ok(0) } else { Err(damaged(BEHIND)) };
            }
            self.is_open = self.next_frame()?;
        }
    }
}

impl<R: BufRead> Frames<R> {
    /// Compares the checksum of a frame that was handed out whole with that of what was handed out.
    fn check(&self) -> io::Result<()> {
        let written = self.decoder.get_checksum_from_data();
        let fits = written.is_none_or(|written| self.decoder.get_calculated_checksum() == Some(written));
        if fits { Ok(()) } else { Err(damaged("its checksum is not that of its data")) }
    }

    /// Starts the next frame; returns whether it holds data.
    fn next_frame(&mut self) -> io::Result<bool> {
        use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
        let mut header = Noted { reader: &mut self.reader, bytes: Vec::new() };
        match self.decoder.reset(&mut header) {
            Ok(()) if window_bytes(&header.bytes).is_none_or(|bytes| bytes > MAX_WINDOW_BYTES) => {
                Err(damaged(format!("a window of over {} MiB", MAX_WINDOW_BYTES >> 20)))
            }
            Ok(()) => Ok(true),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let length = u64::from(length);
                let skipped = io::copy(&mut self.reader.by_ref().take(length), &mut io::sink())?;
                if skipped < length { Err(damaged(CORRUPT)) } else { Ok(false) }
            }
            Err(_) => Err(damaged(CORRUPT)),
        }
    }
}

/// Notes what is read.
struct Noted<R> {
    reader: R,
    bytes: Vec<u8>,
}

impl<R: Read> Read for Noted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(out)?;
        self.bytes.extend_from_slice(out.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// Bytes that a frame of Zstandard has its decoder keep, by the frame's header (RFC 8878): the decoder itself holds the first
/// frame against no limit.
fn window_bytes(header: &[u8]) -> Option<u64> {
    let behind_magic = header.get(4..)?;
    let (descriptor, rest) = behind_magic.split_first()?;
    if descriptor & 0x20 == 0 {
        let window = rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // The whole content, whose size stands behind the id of a dictionary.
    let id_length = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size_length = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let size = rest.get(id_length..id_length + size_length)?;
    let number = size.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some(if size_length == 2 { number + 256 } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_frame_stands_in_its_header() {
        let of = |header: &[u8]| window_bytes(&[b"\x28\xb5\x2f\xfd".as_slice(), header].concat());
        assert_eq!(of(&[0, 11 << 3]), Some(2 << 20));
        assert_eq!(of(&[4, 21 << 3 | 4]), Some(3 << 30));
        assert_eq!(of(&[0x20, 9]), Some(9));
        assert_eq!(of(&[0x61, 7, 0, 1]), Some(512));
        assert_eq!(of(&[0xe0, 0, 0, 0, 0, 1, 0, 0, 0]), Some(1 << 32));
        assert_eq!(of(&[0x20]), None);
        let too_large = [b"\x28\xb5\x2f\xfd".as_slice(), &[0, 16 << 3, 1, 0, 0]].concat();
        let error = Frames::new(too_large.as_slice()).read(&mut [0; 9]).unwrap_err();
        assert!(error.to_string().contains("a window of over 32 MiB"), "{error}");
    }

    #[test]
    fn what_is_whole_before_a_fault_is_handed_out() {
        let text: Vec<u8> =
            (0..120_000_u32).flat_map(|number| format!("{} ", number * 7_919 % 9_973).into_bytes()).collect();
        let packed = ruzstd::encoding::compress_to_vec(text.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
        for cut in [packed.len() / 2, packed.len() * 9 / 10] {
            let mut out = Vec::new();
            let error = Frames::new(&packed[..cut]).read_to_end(&mut out).unwrap_err();
            assert!(error.to_string().contains("its compressed data is cut off"), "{error}");
            assert!(!out.is_empty() && text.starts_with(&out), "{cut}: {} bytes", out.len());
        }
    }

    #[test]
    fn no_more_is_read_than_the_budget() {
        let source = |left| Source {
            size: 0,
            position: Arc::default(),
            bytes: Box::new(io::Cursor::new(vec![b' '; 1_000])),
            left,
            is_beyond_budget: false,
        };
        for (budget, is_beyond) in [(999, true), (1_000, false)] {
            let (mut source, mut out) = (source(budget), Vec::new());
            let count = source.read_to_end(&mut out).unwrap();
            assert!(count as u64 <= budget);
            assert_eq!(source.is_beyond_budget(), is_beyond);
        }
    }
}
