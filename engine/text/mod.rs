//! How values become text: numbers with units, names short enough to read, strings of a report made harmless.

pub mod cut;
pub mod date;
pub mod escape;
pub mod glob;
pub mod names;
pub mod nearest;
pub mod number;
pub mod paths;
pub mod plural;
pub mod quantity;
pub mod spans;

/// The bytes of the longest tag (`{{ … }}` or `{% … %}`) of a template. One that is not closed goes on to the end.
pub(crate) fn longest_tag(source: &str) -> usize {
    longest_between(source, "{{", "}}").max(longest_between(source, "{%", "%}"))
}

fn longest_between(source: &str, begin: &str, end: &str) -> usize {
    let tags = source.split(begin).skip(1).map(|rest| rest.find(end).unwrap_or(rest.len()));
    tags.max().unwrap_or(0)
}
