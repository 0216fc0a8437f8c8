//! Reads what findings of a rule are ranked by beside their gain.

use crate::facts::EntityKind;
use crate::facts::catalogue::{self, FactType, Unit};

use super::super::fault::Log;
use super::super::raw::{RawRule, Text};
use super::super::rule::{FactRef, RankedBy};

/// The facts that a rule names, each of what it knows.
pub(super) fn read(raw: &RawRule, for_each: EntityKind, log: &mut Log<'_>) -> RankedBy {
    let is_name = |fact: &catalogue::Fact| fact.kind == FactType::Text;
    let is_time = |fact: &catalogue::Fact| fact.kind == FactType::Int && fact.unit() == Unit::Ns;
    RankedBy {
        culprit: known(raw.ranking.culprit.as_ref(), for_each, ("text", is_name), log),
        kernel_time: known(raw.ranking.kernel_time.as_ref(), for_each, ("time", is_time), log),
    }
}

fn known(
    word: Option<&Text>,
    for_each: EntityKind,
    (what, is_such): (&str, impl Fn(&catalogue::Fact) -> bool),
    log: &mut Log<'_>,
) -> Option<FactRef> {
    let word = word?;
    let fact = word.get_ref().split_once('.').and_then(|(entity, name)| {
        let kind =
            EntityKind::from_name(entity).filter(|kind| *kind == for_each || for_each.ancestors().contains(kind))?;
        let fact = catalogue::find(kind, name).filter(|fact| is_such(fact))?;
        Some(FactRef { kind, name: fact.name })
    });
    if fact.is_none() {
        log.at_with(word.span(), || format!("`{}` is no fact that the rule knows, of a {what}", word.get_ref()));
    }
    fact
}
