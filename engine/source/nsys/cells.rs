//! The cells of a row of an event table, whoever read the row.

use std::cell::Cell;

use rusqlite::functions::Context;
use rusqlite::types::ValueRef;

/// The cells of one row, read without conversion: a cell of another type than asked for is absent.
pub(super) trait Cells {
    /// A whole number.
    fn int(&self, column: usize) -> Option<i64>;

    /// The bytes of a string, which may be no UTF-8.
    fn bytes(&self, column: usize) -> Option<&[u8]>;
}

/// Those that SQLite hands over as the arguments of a function.
pub(super) struct Arguments<'row, 'context> {
    pub(super) row: &'row Context<'context>,
    /// Bytes of texts that were looked at, wanted or not.
    pub(super) handed: Cell<u64>,
}

impl Cells for Arguments<'_, '_> {
    fn int(&self, column: usize) -> Option<i64> {
        match self.row.get_raw(column) {
            ValueRef::Integer(value) => Some(value),
            other => {
                self.count(other);
                None
            }
        }
    }

    fn bytes(&self, column: usize) -> Option<&[u8]> {
        let value = self.row.get_raw(column);
        self.count(value);
        match value {
            ValueRef::Text(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl Arguments<'_, '_> {
    fn count(&self, value: ValueRef<'_>) {
        if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = value {
            self.handed.set(self.handed.get() + bytes.len() as u64);
        }
    }
}
