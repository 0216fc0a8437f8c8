//! Counts with their noun.

use super::number;

/// `1 kernel`, `3,210 kernels`: for nouns whose plural ends in `s`.
pub fn counted(count: impl TryInto<i64>, one: &str) -> String {
    counted_as(count, one, &format!("{one}s"))
}

/// `1 launch is`, `3 launches are`: for all others.
pub fn counted_as(count: impl TryInto<i64>, one: &str, many: &str) -> String {
    let count = count.try_into().unwrap_or(i64::MAX);
    format!("{} {}", number::count(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_all_else_is_plural() {
        assert_eq!(counted(1, "kernel"), "1 kernel");
        assert_eq!(counted(0_usize, "kernel"), "0 kernels");
        assert_eq!(counted(3_210, "kernel"), "3,210 kernels");
        assert_eq!(counted_as(2, "launch is", "launches are"), "2 launches are");
    }
}
