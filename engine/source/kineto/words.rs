//! Eight bytes at a time, in one number: how far the next byte of some kind is, without a step for each byte. What a loop over
//! the bytes would cost is mostly that nobody can say when it ends.

/// Each byte 1, and the highest bit of each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x80 * ONES;

/// Eight bytes, the first of them the lowest; `None` where there are fewer.
#[inline]
pub(super) fn word(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk::<8>().map(|eight| u64::from_le_bytes(*eight))
}

/// Up to eight bytes, and zeros above them; of more, the first.
#[inline]
pub(super) fn short_word(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if let Some(eight) = word(bytes) {
        eight
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (length - 4))
    } else if let [first, .., last] = bytes {
        let middle = length / 2;
        let middle = bytes.get(middle).map_or(0, |byte| u64::from(*byte) << (8 * middle));
        u64::from(*first) | middle | u64::from(*last) << (8 * (length - 1))
    } else {
        bytes.first().map_or(0, |byte| u64::from(*byte))
    }
}

/// How far the first byte is whose highest bit is set; 8 where none is.
#[inline]
pub(super) const fn distance(found: u64) -> usize {
    found.trailing_zeros() as usize / 8
}

/// The highest bit of each byte that is zero, up to the first of them; behind it, of some others as well.
#[inline]
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// Where quotes and backslashes are, up to the first of them.
#[inline]
pub(super) const fn quotes_and_backslashes(word: u64) -> u64 {
    zeros(word ^ (ONES * b'"' as u64)) | zeros(word ^ (ONES * b'\\' as u64))
}

/// Where there is something else than digits, points, minus signs and slashes.
#[inline]
pub(super) const fn outside_numbers(word: u64) -> u64 {
    let from_minus = (word | HIGHS).wrapping_sub(ONES * b'-' as u64);
    let beyond_nine = (word & !HIGHS) + ONES * (0x7f - b'9') as u64;
    (!from_minus | beyond_nine | word) & HIGHS
}

/// Where there is a quote, a zero, or a byte from `@` on, as all brackets and letters are, up to the first quote or zero.
#[inline]
pub(super) const fn quotes_and_letters(word: u64) -> u64 {
    zeros(word ^ (ONES * b'"' as u64)) | zeros(word) | ((word << 1 | word) & HIGHS)
}

/// The number that eight digits are, the first of which is the lowest byte; `None` where there is anything else. Two, four and
/// eight of them are joined at once.
#[inline]
pub(super) const fn eight_digits(word: u64) -> Option<u64> {
    let highs = (word & (0xf0 * ONES)) | ((word.wrapping_add(6 * ONES) & (0xf0 * ONES)) >> 4);
    if highs != 0x33 * ONES {
        return None;
    }
    let pairs = ((word & (0x0f * ONES)).wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000 << 32 | 1) >> 32)
}

/// The number that one to eight digits are.
#[inline]
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    match text.len() {
        8 => eight_digits(word(text)?),
        // Zeros before it, the digit.
        length @ 1..8 => {
            let missing = 64 - 8 * length;
            eight_digits(short_word(text) << missing | (ONES * b'0' as u64) >> (64 - missing))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the first byte stands of which something holds, by a function of words, for each byte at each place among others.
    fn assert_found(find: fn(u64) -> u64, others: &[u8], is_found: fn(u8) -> bool) {
        for byte in 0..=u8::MAX {
            for other in others {
                for place in 0..8 {
                    let mut bytes = [*other; 8];
                    bytes[place] = byte;
                    let expected = if is_found(byte) { place } else { 8 };
                    assert_eq!(distance(find(u64::from_le_bytes(bytes))), expected, "{byte} at {place} among {other}");
                }
            }
        }
    }

    #[test]
    fn bytes_of_a_kind_are_found_wherever_they_stand() {
        assert_found(quotes_and_backslashes, b"a!#[]\x00\x7f\x80\xa2\xdc\xff", |byte| matches!(byte, b'"' | b'\\'));
        assert_found(outside_numbers, b"-./0123456789", |byte| !matches!(byte, b'-'..=b'9'));
        assert_found(quotes_and_letters, b"0 ,-?!#\x01", |byte| matches!(byte, 0 | b'"' | b'@'..));
    }

    #[test]
    fn words_are_of_as_many_bytes_as_there_are() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        for length in 0..=9_usize {
            let whole = u64::from_le_bytes([1, 2, 3, 4, 5, 6, 7, 8]);
            let expected = if length < 8 { whole & ((1 << (8 * length)) - 1) } else { whole };
            assert_eq!(short_word(&bytes[..length]), expected, "{length}");
            assert_eq!(word(&bytes[..length]), (length >= 8).then_some(whole));
        }
    }

    #[test]
    fn digits_are_a_number_and_nothing_else_is() {
        for length in 1..=8_u32 {
            for number in [0, 1, 7, 12_345_678, 90_000_001, 99_999_999] {
                let number = number % 10_u64.pow(length);
                let text = format!("{number:0width$}", width = length as usize);
                assert_eq!(digits(text.as_bytes()), Some(number));
                for (at, other) in
                    (0..text.len()).flat_map(|at| [(at, b'/'), (at, b':'), (at, 0), (at, b' '), (at, 0xb0)])
                {
                    let mut bytes = text.clone().into_bytes();
                    bytes[at] = other;
                    assert_eq!(digits(&bytes), None, "{bytes:?}");
                }
            }
        }
        assert_eq!((digits(b""), digits(b"123456789")), (None, None));
    }
}
