//! How values become text: numbers with units, names short enough to read, strings of a report made harmless.

pub mod cut;
pub mod date;
#[cfg(test)]
pub(crate) mod effort;
pub mod escape;
pub mod folded;
pub mod glob;
mod invisible;
pub mod kernel_identity;
pub mod kernel_names;
pub mod mangled;
pub mod names;
pub mod nearest;
pub mod number;
pub mod paths;
pub mod plural;
pub mod quantity;
pub mod shell;
pub mod spans;
pub(crate) mod tags;
pub mod words;
