//! `--window`, `--range` and `--limit` as users write them: which part of a recording is measured.

use crate::ledger::Scope;
use crate::source::Limits;
use crate::text::quantity::{Decimal, NotWhole, TIMES, split_unit};

/// A window between two times: `1.5s..2s`, `100ms..`, `..2s`.
///
/// # Errors
/// What to write instead.
pub fn window(text: &str) -> Result<Scope, String> {
    let (start, end) = text.split_once("..").ok_or("write two times with two dots between them, such as 1.5s..2s")?;
    let side = |text: &str| if text.trim().is_empty() { Ok(None) } else { time(text.trim()).map(Some) };
    let (start, end) = (side(start)?, side(end)?);
    match (start, end) {
        (None, None) => Err("name at least one time, such as 100ms..".to_owned()),
        (Some(start), Some(end)) if start >= end => Err("the window ends before it begins".to_owned()),
        _ => Ok(Scope::Times { start, end }),
    }
}

/// A range: `NAME`, or `NAME/N` for the N-th of that name.
///
/// # Errors
/// What to write instead.
pub fn range(text: &str) -> Result<Scope, String> {
    let numbered = text.rsplit_once('/').and_then(|(name, number)| Some((name, number.parse::<usize>().ok()?)));
    let (name, number) = numbered.unwrap_or((text, 1));
    match (name.is_empty(), number) {
        (true, _) => Err("name a range".to_owned()),
        (_, 0) => Err("ranges are counted from 1".to_owned()),
        _ => Ok(Scope::Range { name: name.to_owned(), number }),
    }
}

/// A limit and its value: `NAME=N`.
///
/// # Errors
/// What to write instead.
pub fn limit(text: &str) -> Result<(&'static str, u32), String> {
    let known = Limits::NAMES.map(|(name, what)| format!("{name} ({what})")).join(", ");
    let (name, number) = text.split_once('=').ok_or_else(|| format!("write NAME=N; limits are {known}"))?;
    let found = Limits::NAMES.iter().find(|(limit, _)| *limit == name);
    let (name, _) = found.ok_or_else(|| format!("there is no limit '{name}'; limits are {known}"))?;
    let number = number.parse().ok().filter(|number| *number > 0);
    number.map(|number| (*name, number)).ok_or_else(|| format!("'{text}' needs a number from 1 to {}", u32::MAX))
}

/// A time with its unit, in nanoseconds: exactly, without floats.
fn time(text: &str) -> Result<i64, String> {
    let (number, unit) = split_unit(text, &TIMES);
    let power = unit.ok_or_else(|| format!("'{text}' has no unit: write {text}s, {text}ms, {text}us or {text}ns"))?;
    let number = Decimal::parse(number).ok_or_else(|| format!("'{text}' is no time: write it like 1.5s or 100ms"))?;
    number.shifted(power).whole().map_err(|problem| match problem {
        NotWhole::TooFine => format!("'{text}' is finer than a nanosecond"),
        NotWhole::TooLarge => format!("'{text}' is too long"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_need_a_unit() {
        assert_eq!(time("1.5s"), Ok(1_500_000_000));
        assert_eq!(time("0.000000001s"), Ok(1));
        assert_eq!(time("12.345678s"), Ok(12_345_678_000));
        assert_eq!(time("100 ms"), Ok(100_000_000));
        assert_eq!(time("7us"), Ok(7_000));
        assert_eq!(time(".5us"), Ok(500));
        for wrong in ["5", "s", ".s", "1.2.3s", "-1s", "1e3s", "0.5ns", "99999999999s", "١s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn windows_may_be_open() {
        assert_eq!(window("1s..2s"), Ok(Scope::Times { start: Some(1_000_000_000), end: Some(2_000_000_000) }));
        assert_eq!(window("..2ns"), Ok(Scope::Times { start: None, end: Some(2) }));
        for wrong in ["1s", "..", "2s..1s", "1s..1s", "1..2s"] {
            assert!(window(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_are_known_and_not_zero() {
        assert_eq!(limit("rows=5"), Ok(("rows", 5)));
        for wrong in ["rows", "rows=", "rows=0", "rows=-1", "rows=99999999999", "row=1", "=1", ""] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_are_counted_from_one() {
        let of = |name: &str, number| Ok(Scope::Range { name: name.to_owned(), number });
        assert_eq!(range("step"), of("step", 1));
        assert_eq!(range("step/3"), of("step", 3));
        assert_eq!(range("a/b"), of("a/b", 1));
        assert_eq!(range("a/2/1"), of("a/2", 1));
        assert!(range("step/0").is_err() && range("/3").is_err() && range("").is_err());
    }
}
