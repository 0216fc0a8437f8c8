//! The cells of a row that SQLite hands over as the arguments of a function.

use std::cell::Cell;

use rusqlite::functions::Context;
use rusqlite::types::ValueRef;

/// The cells of one row, read without conversion: a cell of another type than asked for is absent.
pub(super) struct Cells<'row, 'context> {
    pub(super) row: &'row Context<'context>,
    /// Bytes of texts that were looked at, wanted or not.
    pub(super) handed: Cell<u64>,
}

impl Cells<'_, '_> {
    /// A whole number.
    pub(super) fn int(&self, column: usize) -> Option<i64> {
        match self.row.get_raw(column) {
            ValueRef::Integer(value) => Some(value),
            other => {
                self.count(other);
                None
            }
        }
    }

    /// The bytes of a string, which may be no UTF-8.
    pub(super) fn bytes(&self, column: usize) -> Option<&[u8]> {
        let value = self.row.get_raw(column);
        self.count(value);
        match value {
            ValueRef::Text(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn count(&self, value: ValueRef<'_>) {
        if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = value {
            self.handed.set(self.handed.get() + bytes.len() as u64);
        }
    }
}
