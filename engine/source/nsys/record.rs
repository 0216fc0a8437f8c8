//! One row as it stands on a page: a header with the type of each column, and behind it the values.

use std::cell::Cell;

use super::cells::Cells;

/// Bytes of the largest page there is.
const MAX_PAGE_BYTES: usize = 1 << 16;

/// A number of SQLite's, of one to nine bytes, and where it ends; `None` where the bytes end before it does. Most have three at most.
#[inline(always)]
pub(super) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(at)?;
    if first < 0x80 {
        return Some((u64::from(first), at + 1));
    }
    let second = *bytes.get(at + 1)?;
    let value = u64::from(first & 0x7f) << 7 | u64::from(second & 0x7f);
    if second < 0x80 {
        return Some((value, at + 2));
    }
    match bytes.get(at + 2) {
        Some(third @ ..0x80) => Some((value << 7 | u64::from(*third), at + 3)),
        _ => long_varint(bytes, at),
    }
}

/// The same of any length.
#[inline(never)]
fn long_varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    for next in at..at + 8 {
        let byte = *bytes.get(next)?;
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, next + 1));
        }
    }
    // All eight bits of the ninth count.
    Some((value << 8 | u64::from(*bytes.get(at + 8)?), at + 9))
}

/// What a column of a row is, and where it stands in the row. No page has more bytes than 16 bits tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Field {
    kind: u32,
    begin: u32,
    end: u32,
}

/// Headers that are kept: rows that lie beside each other mostly have one of a few, and to read a header costs as much as to read
/// its row. As many bits of a sum over its bytes tell its place.
const LAYOUT_BITS: u32 = 6;
/// Spreads sums: 2^64 over the golden ratio, odd.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Where columns stand in rows with headers that were seen, of one table.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    known: Vec<Layout>,
    found: Vec<Field>,
}

/// Where columns stand in rows that begin with these bytes.
#[derive(Debug, Clone, Default)]
struct Layout {
    /// The length of the header, and the types of the first columns; empty before any was seen.
    header: Vec<u8>,
    /// The columns that are wanted.
    fields: Vec<Field>,
    /// Where the last of the first columns ends.
    end: usize,
}

impl Layouts {
    /// Forgets those of another table.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.known.resize(1 << LAYOUT_BITS, Layout::default());
    }

    /// The columns of a row at these places, which are among the first `count`: of one table always the same ones. `None` where
    /// it has fewer, or is not as SQLite writes one.
    #[inline]
    pub(super) fn of(&mut self, row: &[u8], places: &[Option<usize>], count: usize) -> Option<&[Field]> {
        let Self { known, found } = self;
        let layout = known.get_mut(place_of(row.get(..=count).unwrap_or(row)))?;
        if layout.header.is_empty() || !row.starts_with(&layout.header) {
            layout.read(row, places, (count, found))?;
        }
        // They lie one behind the other: where the last one is whole, all are.
        (layout.end <= row.len()).then_some(&layout.fields)
    }
}

impl Layout {
    #[inline(never)]
    fn read(&mut self, row: &[u8], places: &[Option<usize>], (count, found): (usize, &mut Vec<Field>)) -> Option<()> {
        self.header.clear();
        let (header_bytes, end) = fields(row, count, found)?;
        self.header.extend_from_slice(row.get(..header_bytes)?);
        self.end = end;
        self.fields.clear();
        self.fields
            .extend(places.iter().map(|place| place.and_then(|place| found.get(place)).copied().unwrap_or_default()));
        Some(())
    }
}

/// The place of a header, by the bytes that it mostly takes.
#[inline]
fn place_of(header: &[u8]) -> usize {
    let mut words = header.chunks_exact(8);
    let sum = |sum: u64, word: u64| (sum ^ word).wrapping_mul(SPREAD).rotate_left(29);
    let whole = words.by_ref().filter_map(|word| word.first_chunk()).map(|word| u64::from_le_bytes(*word));
    let of_words = whole.fold(0, sum);
    let rest = words.remainder().iter().fold(0, |rest, byte| rest << 8 | u64::from(*byte));
    (sum(of_words, rest).wrapping_mul(SPREAD) >> (u64::BITS - LAYOUT_BITS)) as usize
}

/// Finds the first `count` columns of a row: how many bytes say what they are, and where the last one ends. `None` where it has
/// fewer, or is not as SQLite writes one.
fn fields(row: &[u8], count: usize, fields: &mut Vec<Field>) -> Option<(usize, usize)> {
    fields.resize(count, Field::default());
    let (header_bytes, mut at) = varint(row, 0)?;
    let header = row.get(..usize::try_from(header_bytes).ok()?)?;
    let mut begin = header.len();
    for field in fields {
        let first = *header.get(at)?;
        let (kind, width, next) = match WIDTHS.get(usize::from(first)) {
            Some(&NO_WIDTH) => return None,
            Some(width) => (u64::from(first), usize::from(*width), at + 1),
            None => {
                let (kind, next) = varint(header, at)?;
                (kind, width(kind)?, next)
            }
        };
        // A row has a thousand columns at most, and none is wider than a page: no sum overflows.
        let end = begin + width;
        *field = Field { kind: kind as u32, begin: begin as u32, end: end as u32 };
        (at, begin) = (next, end);
    }
    Some((at, begin))
}

/// Bytes of the values of types that take one byte themselves.
const WIDTHS: [u8; 128] = {
    let mut widths = [0; 128];
    let mut kind = 0;
    while kind < 128 {
        widths[kind] = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as u8,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => NO_WIDTH,
            _ => ((kind - 12) / 2) as u8,
        };
        kind += 1;
    }
    widths
};
/// That of types that are reserved.
const NO_WIDTH: u8 = u8::MAX;

/// Bytes of a value of a type; `None` for types that are reserved, and of values that no page holds.
#[inline]
fn width(kind: u64) -> Option<usize> {
    match WIDTHS.get(usize::try_from(kind).ok()?) {
        Some(&NO_WIDTH) => None,
        Some(width) => Some(usize::from(*width)),
        None => usize::try_from((kind - 12) / 2).ok().filter(|width| *width <= MAX_PAGE_BYTES),
    }
}

/// The cells of a row on a page.
pub(super) struct Record<'page> {
    /// The row, and what stands behind it on its page.
    pub(super) row: &'page [u8],
    /// The columns that are wanted; empty ones where the table lacks them.
    pub(super) fields: &'page [Field],
    /// Bytes of texts that were looked at, wanted or not.
    pub(super) handed: Cell<u64>,
    /// The column that stands for the row id, which no row holds, and its value.
    pub(super) row_id: Option<(usize, i64)>,
}

impl Record<'_> {
    /// The bytes of a text, or of bytes without a meaning; `None` for numbers.
    fn long(&self, field: &Field) -> Option<&[u8]> {
        let bytes = self.row.get(field.begin as usize..field.end as usize).filter(|_| field.kind >= 12)?;
        self.handed.set(self.handed.get() + bytes.len() as u64);
        Some(bytes)
    }
}

/// The whole number that bytes begin with, the highest byte first. Eight are taken where there are as many: the number moves
/// to their end, and its sign with it.
#[inline]
fn number(bytes: &[u8], width: usize) -> Option<i64> {
    if let Some(eight) = bytes.first_chunk::<8>() {
        return Some(i64::from_be_bytes(*eight) >> (64 - 8 * width));
    }
    let bytes = bytes.get(..width)?;
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { -1_i64 };
    Some(bytes.iter().fold(sign, |value, byte| value << 8 | i64::from(*byte)))
}

impl Cells for Record<'_> {
    #[inline]
    fn int(&self, column: usize) -> Option<i64> {
        let field = self.fields.get(column)?;
        match field.kind {
            8 => Some(0),
            9 => Some(1),
            1..=6 => number(self.row.get(field.begin as usize..)?, (field.end - field.begin) as usize),
            0 => self.row_id.filter(|(own, _)| *own == column).map(|(_, id)| id),
            _ => {
                self.long(field);
                None
            }
        }
    }

    fn bytes(&self, column: usize) -> Option<&[u8]> {
        let field = self.fields.get(column)?;
        self.long(field).filter(|_| field.kind >= 13 && field.kind % 2 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_one_to_nine_bytes() {
        assert_eq!(varint(&[0x7f], 0), Some((127, 1)));
        assert_eq!(varint(&[0, 0x81, 0x00], 1), Some((128, 3)));
        assert_eq!(varint(&[0xff; 9], 0), Some((u64::MAX, 9)));
        assert_eq!(varint(&[0x80; 9], 0), Some((0x80, 9)));
        assert_eq!(varint(&[0xff; 8], 0), None);
        assert_eq!(varint(&[], 0), None);
    }

    #[test]
    fn numbers_of_any_width_are_read_whatever_stands_behind_them() {
        for value in [0, 1, -1, 127, -128, 0x1234_5678_9abc_def0, i64::MIN, i64::MAX] {
            for width in 1..=8_usize {
                let least = value << (64 - 8 * width) >> (64 - 8 * width);
                let mut bytes = value.to_be_bytes()[8 - width..].to_vec();
                assert_eq!(number(&bytes, width), Some(least));
                bytes.extend([0xff; 8]);
                assert_eq!(number(&bytes, width), Some(least));
                assert_eq!(number(&bytes[..width - 1], width), None);
            }
        }
    }

    #[test]
    fn a_row_that_is_not_as_it_is_written_is_left_alone() {
        // Two columns: the number 5 in one byte, and the text "ab".
        let row = [3, 1, 17, 5, b'a', b'b'];
        let places = [Some(1), None, Some(0)];
        let mut layouts = Layouts::default();
        layouts.clear();
        // The second time it is known.
        for _ in 0..2 {
            let fields = layouts.of(&row, &places, 2).unwrap();
            let record = Record { row: &row, fields, handed: Cell::new(0), row_id: None };
            assert_eq!((record.bytes(0), record.int(2)), (Some(b"ab".as_slice()), Some(5)));
            assert_eq!((record.int(0), record.int(1), record.bytes(2), record.int(3)), (None, None, None, None));
            assert_eq!(record.handed.get(), 4);
            for row in [&row[..5], &[3, 10, 0, 1], &[9, 1, 1], &[2, 1, 1], &[]] {
                assert!(layouts.of(row, &places, 2).is_none(), "{row:?}");
            }
        }
    }

    /// Whatever headers were seen before, and wherever their places are.
    #[test]
    fn a_known_header_tells_what_reading_it_tells() {
        let kinds: [&[u8]; 8] = [&[0], &[1], &[4], &[6], &[8], &[9], &[19], &[0x81, 0x05]];
        let widths = [0, 1, 4, 8, 0, 0, 3, 60];
        let places = [Some(2), Some(0), None, Some(1)];
        let mut layouts = Layouts::default();
        layouts.clear();
        for turn in 0..3 * 512 {
            let columns = [turn % 8, turn / 8 % 8, turn / 64 % 8];
            let mut row: Vec<u8> = columns.iter().flat_map(|column| kinds[*column]).copied().collect();
            row.insert(0, row.len() as u8 + 1);
            row.extend((0..columns.iter().map(|column| widths[*column]).sum()).map(|at: usize| (at + turn) as u8));
            let mut all = Vec::new();
            fields(&row, 3, &mut all).unwrap();
            let wanted = places.map(|place| place.map_or_else(Field::default, |place| all[place]));
            assert_eq!(layouts.of(&row, &places, 3), Some(&wanted[..]));
            row.pop();
            let is_whole = columns.iter().all(|column| widths[*column] == 0);
            assert!(is_whole || layouts.of(&row, &places, 3).is_none());
        }
    }
}
