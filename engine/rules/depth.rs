//! How much of the built-in rules is read.

/// How much of the built-in rules is read. Those of the user's folders are always read as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All of it, as `coldspot rules test` checks it.
    Whole,
    /// What judges a report: neither the examples and tests, nor whether the texts are well written, which those who changed a
    /// built-in rule have checked.
    Judging,
}
