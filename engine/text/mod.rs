//! How values become text: numbers with units, names short enough to read, strings of a report made harmless.

pub mod escape;
pub mod names;
pub mod number;
