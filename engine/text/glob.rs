//! Patterns over names: `*` stands for any characters, everything else for itself.

use std::ops::Range;

/// A pattern with `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    pattern: String,
    /// Where the parts between stars stand in the pattern, the empty ones in the middle left out: the first and the last are what a
    /// name begins and ends with.
    parts: Vec<Range<usize>>,
}

impl Glob {
    /// Any text is a pattern.
    pub fn new(pattern: &str) -> Self {
        let mut parts = Vec::new();
        let mut from = 0;
        for part in pattern.split('*') {
            let to = from + part.len();
            if !part.is_empty() || from == 0 || to == pattern.len() {
                parts.push(from..to);
            }
            from = to + 1;
        }
        Self { pattern: pattern.to_owned(), parts }
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Whether a name begins as the pattern does: any other is told at once.
    pub fn begins(&self, name: &str) -> bool {
        let first = self.parts.first().and_then(|part| self.pattern.get(part.clone()));
        name.starts_with(first.unwrap_or_default())
    }

    /// Whether the whole name fits. What lies between two stars is found as early as it can be, which is right for
    /// patterns without other wildcards, and takes no longer than the name is.
    pub fn matches(&self, name: &str) -> bool {
        let part = |range: &Range<usize>| self.pattern.get(range.clone()).unwrap_or_default();
        let [first, middle @ .., last] = self.parts.as_slice() else { return self.pattern == name };
        let Some(mut left) = name.strip_prefix(part(first)) else { return false };
        for part in middle.iter().map(part) {
            match left.find(part) {
                Some(index) => left = &left[index + part.len()..],
                None => return false,
            }
        }
        left.ends_with(part(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_is_any_text_and_the_whole_name_must_fit() {
        let fits = ["*", "gpu0/*", "*/cudaMemcpyAsync", "gpu0/*/pageable/*", "gpu0/h2d/pageable/cudaMemcpyAsync", "**"];
        let others =
            ["", "gpu", "gpu0", "gpu1/*", "*/cudaMemcpy", "gpu0/*/pinned/*", "gpu0/h2d/pageable/cudaMemcpyAsync*x"];
        let name = "gpu0/h2d/pageable/cudaMemcpyAsync";
        assert!(fits.iter().all(|pattern| Glob::new(pattern).matches(name)));
        assert!(others.iter().all(|pattern| !Glob::new(pattern).matches(name)));
        // The end may not use again what the start has used.
        assert!(!Glob::new("aba*ba").matches("aba"));
        assert!(Glob::new("aba*ba").matches("ababa"));
    }

    /// The definition, as slow as it is plain.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some(('*', rest)) => (0..=name.len()).any(|used| by_definition(rest, &name[used..])),
            Some((first, rest)) => name.first() == Some(first) && by_definition(rest, &name[1..]),
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_definition(pattern in "[ab*é]{0,6}", name in "[abé]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(Glob::new(&pattern).matches(&name), by_definition(&chars(&pattern), &chars(&name)));
        }
    }
}
