//! The cells of a row that SQLite hands over as the arguments of a function.

use rusqlite::functions::Context;
use rusqlite::types::ValueRef;

/// The cells of one row, read without conversion: a cell of another type than asked for is absent.
pub(super) struct Cells<'row, 'context>(pub(super) &'row Context<'context>);

impl Cells<'_, '_> {
    /// A whole number.
    pub(super) fn int(&self, column: usize) -> Option<i64> {
        match self.0.get_raw(column) {
            ValueRef::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// The bytes of a string, which may be no UTF-8.
    pub(super) fn bytes(&self, column: usize) -> Option<&[u8]> {
        match self.0.get_raw(column) {
            ValueRef::Text(bytes) => Some(bytes),
            _ => None,
        }
    }
}
