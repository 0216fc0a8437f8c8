//! The words that rule files may use beside the facts: what the check knows, and what the schema offers to editors.

use crate::facts::{EntityKind, FactType, Unit, catalogue};

/// The version of the rule language that this engine reads.
pub(super) const SCHEMA: i64 = 1;

/// What the status of a rule may be.
pub(super) const STATUSES: [&str; 2] = ["stable", EXPERIMENTAL];
pub(super) const EXPERIMENTAL: &str = "experimental";

/// The units that a param may have.
pub(super) const UNITS: [(&str, Unit); 10] = [
    ("ns", Unit::Ns),
    ("bytes", Unit::Bytes),
    ("count", Unit::Count),
    ("share", Unit::Share),
    ("gb_per_s", Unit::GbPerS),
    ("per_s", Unit::PerSecond),
    ("mhz", Unit::Mhz),
    ("ratio", Unit::None),
    ("none", Unit::None),
    (TEXT, Unit::None),
];

/// The unit of params that are names and patterns over names.
pub(super) const TEXT: &str = "text";

/// Where advice stands for frameworks without advice of their own.
pub(super) const FRAMEWORK_DEFAULT: &str = "default";

/// The facts that choose the advice, the most telling first: who runs the loop, and what it is written with.
pub(super) const ADVICE_FACTS: [&str; 2] = ["serving_engine", "framework"];

/// What one of them may be.
pub(super) fn choices(fact: &str) -> &'static [&'static str] {
    match catalogue::find(EntityKind::Run, fact).map(|fact| fact.kind) {
        Some(FactType::Choice(known)) => known,
        _ => &[],
    }
}

/// What advice may be given for.
pub(super) fn frameworks() -> impl Iterator<Item = &'static str> {
    let known = ADVICE_FACTS.into_iter().rev().flat_map(choices);
    std::iter::once(FRAMEWORK_DEFAULT).chain(known.copied())
}
