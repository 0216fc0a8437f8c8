//! Limits of numbers, as users write them.

use super::GateOutcome;
use crate::facts::catalogue::Unit;
use crate::text::quantity::{Decimal, SHARES, SIZES, TIMES, UnitName, split_unit};

/// How far a number may go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// At most this much more than the base; less by at least as much when negative.
    By(f64),
    /// The same as a share of the base.
    ByShare(f64),
    /// Compared with a fixed number.
    Fixed(Ordering, f64),
}

/// The comparisons that a limit may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ordering {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `=`
    Equal,
}

/// What a limit keeps a number from. A number has one limit of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitKind {
    /// Going too far from the base.
    Base,
    /// Being too large.
    Ceiling,
    /// Being too small.
    Floor,
    /// Being another one.
    Exact,
}

/// How much a report tells of what a number is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// All.
    #[default]
    All,
    /// A part: with the rest the number is as large, or larger.
    AtLeast,
    /// A part: with the rest it may be any.
    Part,
    /// The steady state: steps behind it are not in it, and take longer.
    WithoutBehind,
}

impl Told {
    /// Whether a limit that stands so does so with the rest as well.
    pub(super) const fn decides(self, kind: LimitKind, outcome: GateOutcome) -> bool {
        match self {
            Self::All => true,
            Self::AtLeast => matches!(
                (kind, outcome),
                (LimitKind::Ceiling, GateOutcome::Failed) | (LimitKind::Floor, GateOutcome::Passed)
            ),
            Self::Part | Self::WithoutBehind => false,
        }
    }
}

impl Limit {
    pub(super) fn parse(text: &str, unit: Unit) -> Result<Self, String> {
        const SIGNS: [(&str, Ordering); 6] = [
            ("<=", Ordering::AtMost),
            (">=", Ordering::AtLeast),
            ("==", Ordering::Equal),
            ("<", Ordering::Less),
            (">", Ordering::More),
            ("=", Ordering::Equal),
        ];
        if let Some((ordering, rest)) =
            SIGNS.into_iter().find_map(|(sign, ordering)| Some((ordering, text.strip_prefix(sign)?)))
        {
            return Ok(Self::Fixed(ordering, amount(rest.trim(), unit)?));
        }
        let sign = match text.chars().next() {
            Some('+') => 1.0,
            Some('-' | '\u{2212}') => -1.0,
            // A bare number is the most that is allowed.
            _ => return Ok(Self::Fixed(Ordering::AtMost, amount(text, unit)?)),
        };
        let rest = text.strip_prefix(['+', '-', '\u{2212}']).unwrap_or(text).trim();
        match rest.strip_suffix('%') {
            Some(percent) => Ok(Self::ByShare(sign * number(percent.trim(), -2)?)),
            None => Ok(Self::By(sign * amount(rest, unit)?)),
        }
    }

    /// Whether a head's number is within it; `None` when the base's number is needed and is not there.
    pub(super) fn holds(self, base: Option<f64>, head: f64) -> Option<bool> {
        match self {
            Self::By(most) => base.map(|base| head - base <= most),
            Self::ByShare(most) => base.map(|base| head - base <= most * base.abs()),
            Self::Fixed(Ordering::Less, limit) => Some(head < limit),
            Self::Fixed(Ordering::AtMost, limit) => Some(head <= limit),
            Self::Fixed(Ordering::More, limit) => Some(head > limit),
            Self::Fixed(Ordering::AtLeast, limit) => Some(head >= limit),
            #[allow(clippy::float_cmp, reason = "the user asks for this very number")]
            Self::Fixed(Ordering::Equal, limit) => Some(head == limit),
        }
    }

    pub(super) fn kind(self) -> LimitKind {
        match self {
            Self::By(_) | Self::ByShare(_) => LimitKind::Base,
            Self::Fixed(Ordering::Less | Ordering::AtMost, _) => LimitKind::Ceiling,
            Self::Fixed(Ordering::More | Ordering::AtLeast, _) => LimitKind::Floor,
            Self::Fixed(Ordering::Equal, _) => LimitKind::Exact,
        }
    }

    pub(super) fn is_relative(self) -> bool {
        !matches!(self, Self::Fixed(..))
    }
}

/// A number, times a power of ten.
fn number(text: &str, power: i32) -> Result<f64, String> {
    let number = Decimal::parse(text).map(|number| number.shifted(power).to_f64());
    let finite = number.filter(|number| number.is_finite());
    finite.ok_or_else(|| "write it like `+5%`, `+10ms`, `<= 0.15` or `0`".to_owned())
}

/// A number in the unit of what it limits.
fn amount(text: &str, unit: Unit) -> Result<f64, String> {
    let units: &[UnitName] = match unit {
        Unit::Ns => &TIMES,
        Unit::Bytes => &SIZES,
        Unit::Share => &SHARES,
        _ => &[],
    };
    let (digits, power) = split_unit(text, units);
    let amount = number(digits.trim(), power.unwrap_or(0)).map_err(|problem| match unit {
        Unit::Ns => format!("{problem}; times are in ns, us, ms or s"),
        Unit::Bytes => format!("{problem}; sizes are in B, kB, MB or GB"),
        _ => problem,
    })?;
    match (unit, power) {
        // Whoever writes 5 does not mean nanoseconds, nor 15 of a share fifteen windows.
        (Unit::Ns, None) if amount > 0.0 => Err(format!("a time needs a unit: write `{text}ms`, or ns, us or s")),
        (Unit::Share, None) if amount > 1.0 => {
            Err(format!("a share is between 0 and 1: write `{text}%` or `{}`", amount / 100.0))
        }
        _ => Ok(amount),
    }
}
