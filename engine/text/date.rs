//! Calendar days: enough to say whether an end date has passed.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A day of the Gregorian calendar; later days are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

const SECONDS_A_DAY: u64 = 86_400;

impl Date {
    /// A day written as `2026-12-31`; none when it is written otherwise, or there is no such day.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let mut parts = text.split('-').filter(|_| is_plain);
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let is_shaped = (year.len(), month.len(), day.len()) == (4, 2, 2) && parts.next().is_none();
        let date = Self { year: year.parse().ok()?, month: month.parse().ok()?, day: day.parse().ok()? };
        (is_shaped && (1..=date.days_in_month()).contains(&date.day)).then_some(date)
    }

    /// The day of a moment, in UTC.
    pub fn of(moment: SystemTime) -> Self {
        let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut days = since.as_secs() / SECONDS_A_DAY;
        let mut date = Self { year: 1970, month: 1, day: 1 };
        while days >= date.days_in_year() && date.year < u16::MAX {
            days -= date.days_in_year();
            date.year += 1;
        }
        while date.month < 12 && days >= u64::from(date.days_in_month()) {
            days -= u64::from(date.days_in_month());
            date.month += 1;
        }
        date.day = u8::try_from(days.min(30) + 1).unwrap_or(31);
        date
    }

    fn is_leap(self) -> bool {
        self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400))
    }

    fn days_in_year(self) -> u64 {
        if self.is_leap() { 366 } else { 365 }
    }

    /// Zero for a month that there is not.
    fn days_in_month(self) -> u8 {
        match self.month {
            2 if self.is_leap() => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => 0,
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_real_days_are_read() {
        for day in ["2026-12-31", "2024-02-29", "2000-02-29"] {
            assert_eq!(Date::parse(day).unwrap().to_string(), day);
        }
        for wrong in [
            "2026-13-01",
            "2026-02-29",
            "1900-02-29",
            "2026-00-10",
            "2026-1-100",
            "26-12-31",
            "2026-12-31-",
            "31.12.2026",
            "",
        ] {
            assert_eq!(Date::parse(wrong), None, "{wrong}");
        }
        assert!(Date::parse("2026-12-31") > Date::parse("2026-09-30"));
    }

    #[test]
    fn the_clock_gives_the_day() {
        let day = |seconds| Date::of(UNIX_EPOCH + Duration::from_secs(seconds)).to_string();
        // Reference values of `date -u -d @SECONDS +%F`.
        let known = [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_767_225_599, "2025-12-31"),
            (1_767_225_600, "2026-01-01"),
            (4_107_542_400, "2100-03-01"),
        ];
        for (seconds, expected) in known {
            assert_eq!(day(seconds), expected);
        }
    }
}
