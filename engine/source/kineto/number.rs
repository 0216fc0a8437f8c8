//! Numbers of a trace, as exact integers: never through floating point, which has no nanoseconds at today's dates.

/// More digits than any number of a trace that means something.
const MOST_DIGITS: u32 = 36;

/// The whole number that is written, rounded; `None` when it is none or too large.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    decimal(text, 0)
}

/// Nanoseconds of microseconds that are written with or without a fraction, rounded to the nearest.
pub(super) fn nanoseconds(text: &[u8]) -> Option<i64> {
    decimal(text, 3)
}

/// A whole number, or a hexadecimal one after `0x`, as AMD's calls write streams and addresses.
pub(super) fn handle(text: &[u8]) -> Option<i64> {
    let Some(digits) = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")) else {
        return integer(text);
    };
    let digits = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(digits, 16).ok().map(u64::cast_signed)
}

/// What is written, times ten to the power of `scale`, rounded half away from zero.
#[inline]
fn decimal(text: &[u8], scale: u32) -> Option<i64> {
    if let Some(value) = short(text, scale) {
        return Some(value);
    }
    any(text, scale)
}

/// Up to 18 digits without a sign or an exponent, and no more of them after the point than the scale keeps: nearly every number.
#[inline]
fn short(digits: &[u8], scale: u32) -> Option<i64> {
    if digits.len() > 18 {
        return None;
    }
    let (whole, behind) = leading(0, digits);
    let (value, missing) = match behind {
        [] if !digits.is_empty() => (whole, scale),
        [b'.', fraction @ ..] if digits.len() > 1 => match leading(whole, fraction) {
            (value, []) => (value, scale.checked_sub(fraction.len() as u32)?),
            _ => return None,
        },
        _ => return None,
    };
    i64::try_from(value.checked_mul(10_u64.pow(missing))?).ok()
}

/// The digits at the beginning, behind those of a number, and what comes then.
#[inline]
fn leading(mut value: u64, mut text: &[u8]) -> (u64, &[u8]) {
    while let Some((eight, rest)) = text.split_first_chunk::<8>()
        && let Some(number) = eight_digits(u64::from_le_bytes(*eight))
    {
        (value, text) = (value * 100_000_000 + number, rest);
    }
    while let Some((digit, rest)) = text.split_first()
        && digit.is_ascii_digit()
    {
        (value, text) = (value * 10 + u64::from(digit - b'0'), rest);
    }
    (value, text)
}

/// The number of eight digits, the first of which is the lowest byte; two, four and eight of them are joined at once.
#[inline]
const fn eight_digits(word: u64) -> Option<u64> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let highs = (word & (0xf0 * EACH)) | ((word.wrapping_add(6 * EACH) & (0xf0 * EACH)) >> 4);
    if highs != 0x33 * EACH {
        return None;
    }
    let pairs = ((word & (0x0f * EACH)).wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000 << 32 | 1) >> 32)
}

/// Any number, with a sign or without.
#[inline(never)]
fn any(text: &[u8], scale: u32) -> Option<i64> {
    let (is_negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let magnitude = long(digits, scale.cast_signed())?;
    i64::try_from(if is_negative { -magnitude } else { magnitude }).ok()
}

/// The same without its sign.
fn long(digits: &[u8], scale: i32) -> Option<i128> {
    let (mut value, mut count, mut power, mut has_point, mut has_digit) = (0_u128, 0, 0_i32, false, false);
    let mut exponent = 0;
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                has_digit = true;
                if count == MOST_DIGITS {
                    // Further ones before the point would make it too large, after the point they are too small.
                    has_point.then_some(())?;
                    continue;
                }
                value = value * 10 + u128::from(byte - b'0');
                count += u32::from(value > 0);
                power -= i32::from(has_point);
            }
            b'.' if !has_point => has_point = true,
            b'e' | b'E' if has_digit => {
                exponent = std::str::from_utf8(digits.get(at + 1..)?).ok()?.parse::<i16>().ok()?;
                break;
            }
            _ => return None,
        }
    }
    let power = power.checked_add(scale)?.checked_add(i32::from(exponent))?;
    let factor = 10_u128.checked_pow(power.unsigned_abs());
    let value = match (power >= 0, factor) {
        (true, Some(factor)) => value.checked_mul(factor)?,
        (true, None) if value > 0 => return None,
        (false, Some(factor)) => (value + factor / 2) / factor,
        _ => 0,
    };
    has_digit.then_some(())?;
    i128::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let ns = |text: &str| nanoseconds(text.as_bytes());
        assert_eq!(ns("1419116104994.671"), Some(1_419_116_104_994_671));
        assert_eq!(ns("1610366662254362"), Some(1_610_366_662_254_362_000));
        assert_eq!(ns("1661938466265032.1234"), Some(1_661_938_466_265_032_123));
        assert_eq!(ns("68.0"), Some(68_000));
        assert_eq!(ns("0.0005"), Some(1));
        assert_eq!(ns("0.00049999999999999999999999999999999999999999999"), Some(0));
        assert_eq!(ns("-1.5"), Some(-1_500));
        assert_eq!(ns("1.6e3"), Some(1_600_000));
        assert_eq!(ns("1E-2"), Some(10));
        assert_eq!(ns("0e400"), Some(0));
        assert_eq!(ns("1e-400"), Some(0));
    }

    #[test]
    fn a_number_of_any_length_is_what_its_digits_say() {
        for length in 1..=19 {
            for begin in 0..10 {
                let digits: String = (begin..begin + length).map(|digit| char::from(b'0' + digit % 10)).collect();
                let expected = digits.parse::<i64>().ok();
                assert_eq!(integer(digits.as_bytes()), expected, "{digits}");
                assert_eq!(integer(format!("-{digits}").as_bytes()), expected.map(|number| -number), "{digits}");
                for odd in ['/', ':', '.', ' ', 'é'] {
                    for at in 0..digits.len() {
                        let text = format!("{}{odd}{}", &digits[..at], &digits[at + 1..]);
                        let is_number = odd == '.' && length > 1;
                        assert_eq!(integer(text.as_bytes()).is_some(), is_number, "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_or_too_large_is_absent() {
        for text in ["", "-", ".", "1.2.3", "inf", "NaN", "N/A", "1e", "1e99999999", "1e400", "12a", "0x10"] {
            assert_eq!(nanoseconds(text.as_bytes()), None, "{text}");
        }
        assert_eq!(nanoseconds(&[b'9'; 10_000]), None);
        assert_eq!(integer(b"18446744073709551616"), None);
        assert_eq!(integer(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(handle(b"0xff"), Some(255));
        assert_eq!(handle(b"7"), Some(7));
        assert_eq!(handle(b"0x"), None);
    }
}
