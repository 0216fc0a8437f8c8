//! How much of a recording is taken in. Whatever is left out for it is counted in [`Reached`](crate::timeline::Reached) and said
//! in the review.

use std::borrow::Cow;

use crate::limits::{MAX_HOST_ROW_COUNT, MAX_NAME_BYTES, MAX_NAME_COUNT, MAX_ROW_COUNT};
use crate::text::cut;

/// What a reader takes in at most. Far above honest reports; a user with a larger one raises them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Rows of one table. At most 4 billion.
    pub rows: u64,
    /// Bytes of one name; the rest is cut off.
    pub name_bytes: usize,
    /// Different names; further ones are taken for one.
    pub names: usize,
    /// Rows of host threads that are read for each GPU, over all GPUs; those of the usual number of GPUs in any case.
    pub host_rows: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rows: MAX_ROW_COUNT, name_bytes: MAX_NAME_BYTES, names: MAX_NAME_COUNT, host_rows: MAX_HOST_ROW_COUNT }
    }
}

impl Limits {
    /// The names by which users set them, with what they are.
    pub const NAMES: [(&str, &str); 4] = [
        ("rows", "rows of one table"),
        ("name-bytes", "bytes of one name"),
        ("names", "different names"),
        ("host-rows", "rows of host threads, for each GPU"),
    ];

    /// Sets a limit by its name; returns whether there is one of that name.
    pub fn set(&mut self, name: &str, value: u32) -> bool {
        match name {
            "rows" => self.rows = u64::from(value),
            "name-bytes" => self.name_bytes = value as usize,
            "names" => self.names = value as usize,
            "host-rows" => self.host_rows = u64::from(value),
            _ => return false,
        }
        true
    }

    /// The beginning of a name, cut between characters and told from others that begin alike; and whether anything was cut.
    pub(crate) fn cut<'text>(&self, text: &'text str) -> (Cow<'text, str>, bool) {
        (cut::distinct(text, self.name_bytes), text.len() > self.name_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters() {
        let limits = Limits { name_bytes: 4, ..Limits::default() };
        assert_eq!(limits.cut("abcd"), ("abcd".into(), false));
        assert_eq!(limits.cut("abcé"), ("abc".into(), true));
        assert_eq!(Limits { name_bytes: 0, ..limits }.cut("a"), ("".into(), true));
    }
}
