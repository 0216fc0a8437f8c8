//! One row as it stands on a page: a header with the type of each column, and behind it the values.

use std::cell::Cell;

use super::cells::Cells;

/// A number of SQLite's, of one to nine bytes, and where it ends; `None` where the bytes end before it does.
#[inline]
pub(super) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(at)?;
    if first < 0x80 {
        return Some((u64::from(first), at + 1));
    }
    let mut value = u64::from(first & 0x7f);
    for next in at + 1..at + 8 {
        let byte = *bytes.get(next)?;
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, next + 1));
        }
    }
    // All eight bits of the ninth count.
    Some((value << 8 | u64::from(*bytes.get(at + 8)?), at + 9))
}

/// What a column of a row is, and where it stands in the row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    kind: u64,
    begin: usize,
    end: usize,
}

/// Finds the first `count` columns of a row. `None` where it has fewer, or is not as SQLite writes one.
pub(super) fn fields(row: &[u8], count: usize, fields: &mut Vec<Field>) -> Option<()> {
    fields.clear();
    let (header_bytes, mut at) = varint(row, 0)?;
    let header = row.get(..usize::try_from(header_bytes).ok()?)?;
    let mut begin = header.len();
    for _ in 0..count {
        let (kind, next) = varint(header, at)?;
        let end = begin.checked_add(width(kind)?)?;
        if end > row.len() {
            return None;
        }
        fields.push(Field { kind, begin, end });
        (at, begin) = (next, end);
    }
    Some(())
}

/// Bytes of a value of a type; `None` for types that are reserved.
fn width(kind: u64) -> Option<usize> {
    Some(match kind {
        0 | 8 | 9 => 0,
        1..=4 => kind as usize,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return None,
        _ => usize::try_from((kind - 12) / 2).ok()?,
    })
}

/// The cells of a row on a page.
pub(super) struct Record<'page> {
    pub(super) row: &'page [u8],
    pub(super) fields: &'page [Field],
    /// Where each column that is wanted stands in the row; absent where the table lacks it.
    pub(super) places: &'page [Option<usize>],
    /// Bytes of texts that were looked at, wanted or not.
    pub(super) handed: Cell<u64>,
}

impl Record<'_> {
    fn field(&self, column: usize) -> Option<(u64, &[u8])> {
        let field = self.fields.get((*self.places.get(column)?)?)?;
        let bytes = self.row.get(field.begin..field.end)?;
        if field.kind >= 12 {
            self.handed.set(self.handed.get() + bytes.len() as u64);
        }
        Some((field.kind, bytes))
    }
}

impl Cells for Record<'_> {
    #[inline]
    fn int(&self, column: usize) -> Option<i64> {
        match self.field(column)? {
            (8, _) => Some(0),
            (9, _) => Some(1),
            (1..=6, bytes) => {
                let sign = if bytes.first()? & 0x80 == 0 { 0 } else { -1_i64 };
                Some(bytes.iter().fold(sign, |value, byte| value << 8 | i64::from(*byte)))
            }
            _ => None,
        }
    }

    fn bytes(&self, column: usize) -> Option<&[u8]> {
        self.field(column).filter(|(kind, _)| *kind >= 13 && kind % 2 == 1).map(|(_, bytes)| bytes)
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
