//! Texts cut to a length without splitting a character.

/// The beginning of a text: at most `max_bytes` long, and whole characters only.
pub fn to_bytes(text: &str, max_bytes: usize) -> &str {
    // `str::floor_char_boundary` is newer than the compiler that coldspot asks for.
    let end = (0..=max_bytes.min(text.len())).rev().find(|index| text.is_char_boundary(*index));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole() {
        for (max_bytes, kept) in [(0, ""), (1, "a"), (2, "a"), (3, "aé"), (4, "aéz"), (9, "aéz")] {
            assert_eq!(to_bytes("aéz", max_bytes), kept);
        }
    }
}
