//! Numbers with units, as users write them: `1.5s`, `100 ms`, `1_000kB`, `15%`. One grammar for the command line and for
//! budgets, without rounding: what is written is kept digit by digit.

/// A unit as users write it, and the power of ten of the base unit that it is.
pub type UnitName = (&'static str, i32);

/// Times, in nanoseconds.
pub const TIMES: [UnitName; 5] = [("ns", 0), ("us", 3), ("µs", 3), ("ms", 6), ("s", 9)];
/// Sizes, in bytes. A larger unit stands before the one that it ends with.
pub const SIZES: [UnitName; 5] = [("kB", 3), ("MB", 6), ("GB", 9), ("TB", 12), ("B", 0)];
/// Shares of one.
pub const SHARES: [UnitName; 1] = [("%", -2)];

/// Splits a text into its number and the power of its unit; the power is absent where no unit of the list ends it.
pub fn split_unit<'a>(text: &'a str, units: &[UnitName]) -> (&'a str, Option<i32>) {
    let found = units.iter().find_map(|(unit, power)| Some((text.strip_suffix(unit)?, *power)));
    found.map_or((text, None), |(number, power)| (number.trim_end(), Some(power)))
}

/// A decimal number without sign, exactly as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    /// Digits without a point.
    digits: String,
    /// The power of ten that the last digit counts.
    exponent: i32,
}

/// Why a number is no count of whole base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotWhole {
    /// It has a part smaller than one.
    TooFine,
    /// It is larger than `i64::MAX`.
    TooLarge,
}

impl Decimal {
    /// Digits with at most one point among them, and `_` wherever it helps the reader; absent where it is anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.replace('_', "");
        let (whole, part) = plain.split_once('.').unwrap_or((&plain, ""));
        let digits = format!("{whole}{part}");
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let exponent = i32::try_from(part.len()).ok().filter(|_| is_number)?;
        Some(Self { digits, exponent: -exponent })
    }

    /// The number times a power of ten.
    #[must_use]
    pub fn shifted(mut self, power: i32) -> Self {
        self.exponent = self.exponent.saturating_add(power);
        self
    }

    /// The number as a whole one.
    ///
    /// # Errors
    /// Where it is none, or one too many.
    pub fn whole(&self) -> Result<i64, NotWhole> {
        let zeros = usize::try_from(self.exponent).map_err(|_| NotWhole::TooFine)?;
        format!("{}{:0<zeros$}", self.digits, "").parse().map_err(|_| NotWhole::TooLarge)
    }

    /// The nearest float; infinite where it is too large for one.
    pub fn to_f64(&self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanoseconds(text: &str) -> Option<Result<i64, NotWhole>> {
        let (number, power) = split_unit(text, &TIMES);
        Some(Decimal::parse(number)?.shifted(power?).whole())
    }

    #[test]
    fn times_are_exact() {
        for (text, ns) in [
            ("1.5s", 1_500_000_000),
            ("0.000000001s", 1),
            ("12.345678s", 12_345_678_000),
            ("100 ms", 100_000_000),
            ("1_000us", 1_000_000),
            ("7µs", 7_000),
            (".5us", 500),
            ("5.us", 5_000),
        ] {
            assert_eq!(nanoseconds(text), Some(Ok(ns)), "{text}");
        }
        assert_eq!(nanoseconds("0.5ns"), Some(Err(NotWhole::TooFine)));
        assert_eq!(nanoseconds("99999999999s"), Some(Err(NotWhole::TooLarge)));
        for wrong in ["5", "s", ".s", "_s", "1.2.3s", "-1s", "+1s", "1e3s", "١s", "infs"] {
            assert_eq!(nanoseconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn floats_are_the_nearest_to_what_is_written() {
        let number = |text: &str, power| Decimal::parse(text).unwrap().shifted(power).to_f64();
        assert_eq!(number("15", -2), 0.15);
        assert_eq!(number("1.5", 9), 1.5e9);
        assert_eq!(number("0.000_1", 0), 0.0001);
        assert_eq!(number(&"9".repeat(400), 0), f64::INFINITY);
    }
}
