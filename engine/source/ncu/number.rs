//! Numbers as Nsight Compute prints them: with separators of thousands, and in units that differ from row to row.

/// What a number is of, and so which units it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Time,
    Share,
    Bytes,
    Clock,
    /// What is counted: its unit changes nothing, and may be absent.
    Count,
}

/// The value of a cell in the unit that counters have: nanoseconds, bytes, parts of one. `None` for what is no number, and for
/// a unit that is not known to be one of its kind: without it a number is none.
pub(super) fn value(text: &str, unit: &str, kind: Kind) -> Option<f64> {
    let number = plain(text)?;
    Some(number * factor(unit.trim(), kind)?)
}

/// A number without unit: with or without separators of thousands, which differ from one locale to the other. `None` for one whose
/// separators could mean something else.
pub(super) fn plain(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() || text.len() > 40 {
        return None;
    }
    let end = text.find(['.', 'e', 'E']).unwrap_or(text.len());
    let (whole, rest) = text.split_at(end);
    let is_digits = |c: u8| c.is_ascii_digit() || matches!(c, b'.' | b'-' | b'+' | b'e' | b'E');
    let digits = ungrouped(whole)? + rest;
    let number = digits.bytes().all(is_digits).then(|| digits.parse::<f64>().ok())??;
    number.is_finite().then_some(number)
}

/// What a locale may put between each three digits.
const SEPARATORS: [char; 6] = [',', ' ', '\u{a0}', '\u{202f}', '\'', '\u{2019}'];

/// Digits without the separators between each three of them.
fn ungrouped(text: &str) -> Option<String> {
    let Some(separator) = text.chars().find(|c| SEPARATORS.contains(c)) else { return Some(text.to_owned()) };
    let mut groups = text.split(separator);
    let first = groups.next()?;
    let is_first = matches!(first.trim_start_matches('-').len(), 1..=3);
    let is_grouped = is_first && groups.all(|group| group.len() == 3 && group.bytes().all(|c| c.is_ascii_digit()));
    is_grouped.then(|| text.replace(separator, ""))
}

/// Whether a cell shows that its page writes a comma before decimals, and so points between thousands.
pub(super) fn has_decimal_comma(text: &str) -> bool {
    let text = text.trim();
    let is_number = |c: u8| c.is_ascii_digit() || matches!(c, b',' | b'.' | b'-');
    if text.len() > 40 || !text.bytes().all(is_number) {
        return false;
    }
    match text.rsplit_once(',') {
        Some((_, decimals)) if decimals.contains('.') => false,
        Some((whole, decimals)) => !whole.contains(',') && (decimals.len() != 3 || whole.contains('.')),
        None => text.matches('.').count() > 1,
    }
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
fn factor(unit: &str, kind: Kind) -> Option<f64> {
    let unit = unit.strip_suffix("/block").unwrap_or(unit);
    let unit = unit.strip_suffix("/second").or_else(|| unit.strip_suffix("/s")).unwrap_or(unit);
    Some(match (kind, unit) {
        (Kind::Share, "%") => 0.01,
        (Kind::Time, "ns" | "nsecond") => 1.0,
        (Kind::Time, "us" | "usecond") => 1e3,
        (Kind::Time, "ms" | "msecond") => 1e6,
        (Kind::Time, "s" | "second") => 1e9,
        (Kind::Bytes | Kind::Count, "byte") => 1.0,
        (Kind::Bytes, "Kbyte") => 1e3,
        (Kind::Bytes, "Mbyte") => 1e6,
        (Kind::Bytes, "Gbyte") => 1e9,
        (Kind::Bytes, "Tbyte") => 1e12,
        // Clocks are in cycles a second; both spellings are of them.
        (Kind::Clock, "Ghz" | "cycle/nsecond" | "cycle/ns") => 1e9,
        (Kind::Clock, "Mhz" | "cycle/usecond" | "cycle/us") => 1e6,
        (Kind::Clock, "hz" | "cycle") => 1.0,
        (Kind::Count, "" | "inst/cycle" | "byte/sector") => 1.0,
        (
            Kind::Count,
            "cycle" | "inst" | "warp" | "block" | "thread" | "register/thread" | "sector" | "sectors" | "SM",
        ) => 1.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_many_dresses() {
        for (text, unit, kind, number) in [
            ("1,055,328", "ns", Kind::Time, 1_055_328.0),
            ("1.5", "usecond", Kind::Time, 1_500.0),
            ("0.80", "%", Kind::Share, 0.008),
            ("594.00", "Gbyte/s", Kind::Bytes, 594e9),
            ("594", "Gbyte/second", Kind::Bytes, 594e9),
            ("1.02", "Kbyte/block", Kind::Bytes, 1_020.0),
            ("1.2", "Ghz", Kind::Clock, 1.2e9),
            ("12", "", Kind::Count, 12.0),
            ("12", "sectors", Kind::Count, 12.0),
        ] {
            assert_eq!(value(text, unit, kind), Some(number), "{text} {unit}");
        }
        assert_eq!(value("7", "fathom", Kind::Count), None);
        // Without its unit, or in that of something else, a number is none.
        for kind in [Kind::Time, Kind::Share, Kind::Bytes, Kind::Clock] {
            assert_eq!(value("80", "", kind), None, "{kind:?}");
        }
        assert_eq!((value("80", "%", Kind::Time), value("80", "ns", Kind::Share)), (None, None));
        for (text, number) in
            [("1'055'328.5", 1_055_328.5), ("1\u{202f}055", 1_055.0), ("-1,055", -1_055.0), ("1e3", 1e3)]
        {
            assert_eq!(plain(text), Some(number), "{text}");
        }
        for none in [
            "",
            "80,37",
            "1,05,328",
            ",055",
            "1055,328",
            "1.055.328",
            "1,055'328",
            "n/a",
            "(!) n/a",
            "nan",
            "inf",
            "no data",
            "1e999",
            "0x10",
            "--",
            "٣",
        ] {
            assert_eq!(value(none, "", Kind::Count), None, "{none}");
        }
    }

    #[test]
    fn a_comma_before_decimals_is_told_from_one_between_thousands() {
        for text in ["80,37", "80,366583", "1.055,328", "1.055.328", "-0,5"] {
            assert!(has_decimal_comma(text), "{text}");
        }
        for text in ["80.37", "1,055", "1,055,328", "1,055.5", "120,444.00", "", "n/a", "(32, 8)", "0,1,2,3"] {
            assert!(!has_decimal_comma(text), "{text}");
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
