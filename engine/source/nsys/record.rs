//! One row as it stands on a page: a header with the type of each column, and behind it the values.

use std::cell::Cell;

use super::cells::Cells;

/// Bytes of the largest page there is.
const MAX_PAGE_BYTES: usize = 1 << 16;

/// A number of SQLite's, of one to nine bytes, and where it ends; `None` where the bytes end before it does. Most have one or two.
#[inline(always)]
pub(super) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(at)?;
    if first < 0x80 {
        return Some((u64::from(first), at + 1));
    }
    match bytes.get(at + 1) {
        Some(second @ ..0x80) => Some((u64::from(first & 0x7f) << 7 | u64::from(*second), at + 2)),
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
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Field {
    kind: u32,
    begin: u32,
    end: u32,
}

/// Finds the first `count` columns of a row. `None` where it has fewer, or is not as SQLite writes one.
pub(super) fn fields(row: &[u8], count: usize, fields: &mut Vec<Field>) -> Option<()> {
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
    // They lie one behind the other: where the last one is whole, all are.
    (begin <= row.len()).then_some(())
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
    pub(super) fields: &'page [Field],
    /// Where each column that is wanted stands in the row; absent where the table lacks it.
    pub(super) places: &'page [Option<usize>],
    /// Bytes of texts that were looked at, wanted or not.
    pub(super) handed: Cell<u64>,
}

impl Record<'_> {
    #[inline]
    fn field(&self, column: usize) -> Option<&Field> {
        self.fields.get((*self.places.get(column)?)?)
    }

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
        let field = self.field(column)?;
        match field.kind {
            8 => Some(0),
            9 => Some(1),
            1..=6 => number(self.row.get(field.begin as usize..)?, (field.end - field.begin) as usize),
            _ => {
                self.long(field);
                None
            }
        }
    }

    fn bytes(&self, column: usize) -> Option<&[u8]> {
        let field = self.field(column)?;
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
        let mut found = Vec::new();
        // Two columns: the number 5 in one byte, and the text "ab".
        let row = [3, 1, 17, 5, b'a', b'b'];
        assert_eq!(fields(&row, 2, &mut found), Some(()));
        let record = Record { row: &row, fields: &found, places: &[Some(1), None, Some(0)], handed: Cell::new(0) };
        assert_eq!((record.bytes(0), record.int(2)), (Some(b"ab".as_slice()), Some(5)));
        assert_eq!((record.int(0), record.int(1), record.bytes(2), record.int(3)), (None, None, None, None));
        assert_eq!(record.handed.get(), 4);
        for (row, count) in [(&row[..], 3), (&row[..5], 2), (&[2, 10, 0], 1), (&[9, 1, 1], 1), (&[], 1)] {
            assert_eq!(fields(row, count, &mut Vec::new()), None, "{row:?}");
        }
    }
}
