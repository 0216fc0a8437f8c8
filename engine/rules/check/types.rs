//! Types and units of expressions.

use crate::facts::{FactType, Unit};

/// What an expression gives.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::rules) enum Type {
    Number(Dimension),
    Bool,
    /// Any string, perhaps from the report.
    Text,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// Several strings.
    Texts,
    /// A string written in the rule.
    Literal(String),
}

impl Type {
    pub(super) fn of_fact(kind: FactType, unit: Unit) -> Self {
        match kind {
            FactType::Bool => Self::Bool,
            FactType::Int | FactType::Float => Self::Number(Dimension::of(unit)),
            FactType::Text => Self::Text,
            FactType::Choice(values) => Self::Choice(values),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Number(dimension) => dimension.name(),
            Self::Bool => "true or false".to_owned(),
            Self::Text | Self::Choice(_) | Self::Literal(_) => "text".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
        }
    }

    /// The type that can stand for both, as branches or as a fact and its default.
    pub(super) fn join(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.join(*b).map(Self::Number),
            (Self::Bool, Self::Bool) => Some(Self::Bool),
            (Self::Choice(a), Self::Choice(b)) if a == b => Some(self.clone()),
            (Self::Number(_) | Self::Bool | Self::Texts, _) | (_, Self::Number(_) | Self::Bool | Self::Texts) => None,
            _ => Some(Self::Text),
        }
    }
}

/// What a number without unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// A literal zero, which has every unit.
    Zero,
    /// Any other literal.
    Literal,
    /// A ratio, or a param without unit.
    Plain,
    Count,
    Share,
    /// A fact that is a plain number, and no part of anything.
    Number,
    /// What things are told apart by.
    Id,
}

/// The unit of a number: powers of the base units. Gigabytes a second are bytes a nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) struct Dimension {
    ns: i8,
    bytes: i8,
    mhz: i8,
    per_s: i8,
    tag: Tag,
}

impl Dimension {
    const NONE: Self = Self { ns: 0, bytes: 0, mhz: 0, per_s: 0, tag: Tag::Plain };

    pub(in crate::rules) fn of(unit: Unit) -> Self {
        match unit {
            Unit::Ns => Self { ns: 1, ..Self::NONE },
            Unit::Bytes => Self { bytes: 1, ..Self::NONE },
            Unit::GbPerS => Self { bytes: 1, ns: -1, ..Self::NONE },
            Unit::Mhz => Self { mhz: 1, ..Self::NONE },
            Unit::PerSecond => Self { per_s: 1, ..Self::NONE },
            Unit::Count => Self { tag: Tag::Count, ..Self::NONE },
            Unit::Share => Self { tag: Tag::Share, ..Self::NONE },
            Unit::Id => Self { tag: Tag::Id, ..Self::NONE },
            Unit::Number => Self { tag: Tag::Number, ..Self::NONE },
            Unit::None => Self::NONE,
        }
    }

    pub(super) fn count() -> Self {
        Self::of(Unit::Count)
    }

    pub(super) fn literal(number: f64) -> Self {
        Self { tag: if number == 0.0 { Tag::Zero } else { Tag::Literal }, ..Self::NONE }
    }

    fn is_bare(self) -> bool {
        (self.ns, self.bytes, self.mhz, self.per_s) == (0, 0, 0, 0)
    }

    fn is_literal(self) -> bool {
        self.is_bare() && matches!(self.tag, Tag::Zero | Tag::Literal)
    }

    pub(super) fn is_literal_number(self) -> bool {
        self.is_bare() && self.tag == Tag::Literal
    }

    fn tagged(self, tag: Tag) -> Self {
        if self.is_bare() { Self { tag, ..self } } else { Self { tag: Tag::Plain, ..self } }
    }

    pub(super) fn times(self, other: Self) -> Self {
        let product = Self {
            ns: self.ns.saturating_add(other.ns),
            bytes: self.bytes.saturating_add(other.bytes),
            mhz: self.mhz.saturating_add(other.mhz),
            per_s: self.per_s.saturating_add(other.per_s),
            tag: Tag::Plain,
        };
        product.tagged(match (self.tag, other.tag) {
            (Tag::Id, _) | (_, Tag::Id) => Tag::Plain,
            (Tag::Zero | Tag::Literal, tag) | (tag, Tag::Zero | Tag::Literal) => tag,
            (Tag::Share, tag) | (tag, Tag::Share) => tag,
            _ => Tag::Plain,
        })
    }

    pub(super) fn over(self, other: Self) -> Self {
        let quotient = Self {
            ns: self.ns.saturating_sub(other.ns),
            bytes: self.bytes.saturating_sub(other.bytes),
            mhz: self.mhz.saturating_sub(other.mhz),
            per_s: self.per_s.saturating_sub(other.per_s),
            tag: Tag::Plain,
        };
        quotient.tagged(if other.is_literal() && self.tag != Tag::Id { self.tag } else { Tag::Plain })
    }

    /// The unit of a sum, a smaller or a larger of the two; absent when they cannot be compared.
    pub(super) fn join(self, other: Self) -> Option<Self> {
        if self.tag == Tag::Zero && self.is_bare() {
            return Some(other);
        }
        if other.tag == Tag::Zero && other.is_bare() {
            return Some(self);
        }
        if !Self::tagged(self, Tag::Plain).eq(&other.tagged(Tag::Plain)) {
            return None;
        }
        match (self.tag, other.tag) {
            (Tag::Count, Tag::Share) | (Tag::Share, Tag::Count) => None,
            (Tag::Literal, _) => Some(other),
            (_, Tag::Literal) => Some(self),
            (a, b) if a == b => Some(self),
            _ => Some(self.tagged(Tag::Plain)),
        }
    }

    pub(super) fn is(self, unit: Unit) -> bool {
        self == Self::of(unit)
    }

    pub(super) fn name(self) -> String {
        const NAMED: [Unit; 5] = [Unit::Ns, Unit::Bytes, Unit::GbPerS, Unit::Mhz, Unit::PerSecond];
        if self.is_bare() {
            return match self.tag {
                Tag::Count => "count",
                Tag::Share => "share",
                Tag::Number => "a plain number",
                Tag::Id => "an id",
                Tag::Plain => "a ratio",
                Tag::Zero | Tag::Literal => "a bare number",
            }
            .to_owned();
        }
        if let Some(unit) = NAMED.into_iter().find(|unit| self.is(*unit)) {
            return unit.name().to_owned();
        }
        [("ns", self.ns), ("bytes", self.bytes), ("mhz", self.mhz), ("per_s", self.per_s)]
            .into_iter()
            .filter(|(_, power)| *power != 0)
            .map(|(name, power)| if power == 1 { name.to_owned() } else { format!("{name}^{power}") })
            .collect::<Vec<_>>()
            .join("*")
    }

    /// Whether a number of this unit may be printed through the filter.
    pub(super) fn prints_as(self, filter: &str) -> bool {
        let bare = self.is_bare();
        match filter {
            "duration" | "instant" => self.is(Unit::Ns),
            "bytes" => self.is(Unit::Bytes),
            "gb_per_s" => self.is(Unit::GbPerS),
            "rate" => self.is(Unit::PerSecond),
            "percent" => bare && matches!(self.tag, Tag::Share | Tag::Plain),
            "ratio" | "number" => bare && matches!(self.tag, Tag::Plain | Tag::Number | Tag::Literal),
            "count" => bare && !matches!(self.tag, Tag::Share | Tag::Number | Tag::Id),
            "id" => self.is(Unit::Id),
            "mhz" => self.is(Unit::Mhz),
            _ => false,
        }
    }
}

/// The filters that print numbers.
pub(super) const NUMBER_FILTERS: [&str; 11] =
    ["duration", "instant", "bytes", "gb_per_s", "rate", "percent", "number", "ratio", "count", "id", "mhz"];
/// The filters that print text.
pub(super) const TEXT_FILTERS: [&str; 2] = ["code", "text"];
