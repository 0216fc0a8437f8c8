//! Texts cut to a length without splitting a character.

use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::quality::FixedState;

/// The beginning of a text: at most `max_bytes` long, and whole characters only.
pub fn to_bytes(text: &str, max_bytes: usize) -> &str {
    // `str::floor_char_boundary` is newer than the compiler that coldspot asks for.
    let end = (0..=max_bytes.min(text.len())).rev().find(|index| text.is_char_boundary(*index));
    &text[..end.unwrap_or(0)]
}

/// The same, with a mark of the whole text at the end, so that two long texts that begin alike stay two. The mark is the same
/// whenever the text is read again.
pub fn distinct(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let mark = format!("…{:016x}", FixedState::default().hash_one(text));
    match max_bytes.checked_sub(mark.len()) {
        Some(max_bytes) => Cow::Owned(to_bytes(text, max_bytes).to_owned() + &mark),
        None => Cow::Borrowed(to_bytes(text, max_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_that_begin_alike_stay_two() {
        let [one, other] = ["a", "b"].map(|end| "x".repeat(100) + end);
        assert_eq!(distinct(&one, 101), one);
        assert_eq!(distinct(&one, 40), distinct(&one, 40));
        assert_ne!(distinct(&one, 40), distinct(&other, 40));
        assert!(distinct(&one, 40).len() <= 40 && distinct(&one, 40).starts_with("xxxx"));
        assert_eq!(distinct(&one, 3), "xxx");
    }

    #[test]
    fn characters_stay_whole() {
        for (max_bytes, kept) in [(0, ""), (1, "a"), (2, "a"), (3, "aé"), (4, "aéz"), (9, "aéz")] {
            assert_eq!(to_bytes("aéz", max_bytes), kept);
        }
    }
}
