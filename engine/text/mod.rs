//! How values become text: numbers with units, names short enough to read, strings of a report made harmless.

pub mod date;
pub mod escape;
pub mod glob;
pub mod names;
pub mod number;
pub mod paths;
