//! Limits of numbers, as users write them.

use crate::facts::catalogue::Unit;

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
            Some(percent) => Ok(Self::ByShare(sign * number(percent.trim())? / 100.0)),
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

fn number(text: &str) -> Result<f64, String> {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_');
    let parsed = text.replace('_', "").parse::<f64>().ok().filter(|number| is_plain && number.is_finite());
    parsed.ok_or_else(|| "write it like `+5%`, `+10ms`, `<= 0.15` or `0`".to_owned())
}

/// A number in the unit of what it limits.
fn amount(text: &str, unit: Unit) -> Result<f64, String> {
    let units: &[(&str, f64)] = match unit {
        Unit::Ns => &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)],
        Unit::Bytes => &[("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("B", 1.0)],
        Unit::Share => &[("%", 0.01)],
        _ => &[],
    };
    let named = units.iter().find_map(|(name, size)| Some((text.strip_suffix(name)?, *size)));
    let (digits, size) = named.unwrap_or((text, 1.0));
    let bare = number(digits.trim()).map_err(|problem| match unit {
        Unit::Ns => format!("{problem}; times are in ns, us, ms or s"),
        Unit::Bytes => format!("{problem}; sizes are in B, kB, MB or GB"),
        _ => problem,
    })?;
    match (unit, named) {
        // Whoever writes 5 does not mean nanoseconds, nor 15 of a share fifteen windows.
        (Unit::Ns, None) if bare > 0.0 => Err(format!("a time needs a unit: write `{text}ms`, or ns, us or s")),
        (Unit::Share, None) if bare > 1.0 => {
            Err(format!("a share is between 0 and 1: write `{text}%` or `{}`", bare / 100.0))
        }
        _ => Ok(bare * size),
    }
}
