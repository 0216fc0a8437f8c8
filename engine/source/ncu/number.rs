//! Numbers as Nsight Compute prints them: with separators of thousands, and in units that differ from row to row.

/// The value of a cell in the unit that counters have: nanoseconds, bytes, parts of one. `None` for what is no number, and for
/// a unit that is not known to be one of its kind.
pub(super) fn value(text: &str, unit: &str) -> Option<f64> {
    let number = plain(text)?;
    Some(number * factor(unit.trim())?)
}

/// A number without unit.
pub(super) fn plain(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_digits = |c: u8| c.is_ascii_digit() || matches!(c, b',' | b'.' | b'-' | b'+' | b'e' | b'E');
    if text.is_empty() || text.len() > 40 || !text.bytes().all(is_digits) {
        return None;
    }
    let number = match text.contains(',') {
        true => text.replace(',', "").parse::<f64>(),
        false => text.parse::<f64>(),
    };
    number.ok().filter(|number| number.is_finite())
}

/// `(32, 8, 1)` as 256; a number by itself as it is.
pub(super) fn volume(text: &str) -> Option<i64> {
    let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
    let mut product = 1_i64;
    for part in inner.split(',').take(4) {
        let part = part.trim().parse::<i64>().ok().filter(|part| *part > 0)?;
        product = product.checked_mul(part)?;
    }
    Some(product)
}

/// What a unit is times. Older versions write `usecond` and `Kbyte`, newer ones `us`; what is counted has many names.
fn factor(unit: &str) -> Option<f64> {
    let unit = unit.strip_suffix("/block").unwrap_or(unit);
    let unit = unit.strip_suffix("/second").or_else(|| unit.strip_suffix("/s")).unwrap_or(unit);
    Some(match unit {
        "%" => 0.01,
        "ns" | "nsecond" => 1.0,
        "us" | "usecond" => 1e3,
        "ms" | "msecond" => 1e6,
        "s" | "second" => 1e9,
        "byte" | "" => 1.0,
        "Kbyte" => 1e3,
        "Mbyte" => 1e6,
        "Gbyte" => 1e9,
        "Tbyte" => 1e12,
        "cycle" | "inst" | "warp" | "block" | "thread" | "register/thread" | "sector" | "sectors" | "SM" => 1.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_many_dresses() {
        assert_eq!(value("1,055,328", "ns"), Some(1_055_328.0));
        assert_eq!(value("1.5", "usecond"), Some(1_500.0));
        assert_eq!(value("0.80", "%"), Some(0.008));
        assert_eq!(value("594.00", "Gbyte/s"), Some(594e9));
        assert_eq!(value("594", "Gbyte/second"), Some(594e9));
        assert_eq!(value("1.02", "Kbyte/block"), Some(1_020.0));
        assert_eq!(value("7", "fathom"), None);
        for none in ["", "n/a", "(!) n/a", "nan", "inf", "no data", "1e999", "0x10", "--", "٣"] {
            assert_eq!(value(none, ""), None, "{none}");
        }
    }

    #[test]
    fn grids_are_volumes() {
        assert_eq!(volume("(32, 8, 1)"), Some(256));
        assert_eq!(volume("65536"), Some(65_536));
        for none in ["", "()", "(0, 1, 1)", "(-1, 2, 3)", "(9223372036854775807, 2, 1)", "(a, 1, 1)"] {
            assert_eq!(volume(none), None, "{none}");
        }
    }
}
