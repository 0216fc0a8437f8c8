//! Checks and compiles the groups of a rule: entities that belong to the one that it is asked about, taken together.

use std::collections::BTreeMap;

use crate::facts::EntityKind;
use crate::text::nearest::listed;

use super::super::expr::Program;
use super::super::raw::{RawGroup, RawLargest, RawRule, Text};
use super::super::rule::{FactRef, Group, Largest};
use super::code::Checker;
use super::entity_kind;
use super::types::{Dimension, Type};
use super::walk::{Scope, Uses, Wanted};

/// How many members there are.
const COUNT: &str = "count";
/// What the largest of them is called.
const LARGEST: &str = "largest";

/// What a group can be asked.
type Members = BTreeMap<String, Option<Type>>;

impl Checker<'_, '_> {
    /// The compiled groups; none when faults have been noted. Expressions after this one may name them.
    pub(super) fn groups(&mut self, raw: &RawRule) -> Option<Vec<Group>> {
        let mut groups = Vec::new();
        let mut known = BTreeMap::new();
        for (name, group) in &raw.groups {
            let (compiled, members) = self.group(name, group);
            known.insert(name.get_ref().clone(), members);
            groups.push(compiled);
        }
        self.scope.groups = known;
        groups.into_iter().collect()
    }

    fn group(&mut self, name: &Text, raw: &RawGroup) -> (Option<Group>, Members) {
        let mut members = Members::from([(COUNT.to_owned(), Some(Type::Number(Dimension::count())))]);
        let Some(each) = entity_kind(&raw.each, self.log).filter(|each| self.belongs(*each, raw)) else {
            // What it can be asked is still declared.
            members.extend(raw.sums.keys().map(|sum| (sum.get_ref().clone(), None)));
            members.insert(LARGEST.to_owned(), Some(Type::Text));
            return (None, members);
        };
        let mut own = std::mem::replace(&mut self.scope, Scope::of(each));
        // Lent to the group: there may be many of both.
        self.scope.optional = std::mem::take(&mut own.optional);
        self.scope.params = std::mem::take(&mut own.params);
        let own_uses = std::mem::take(&mut self.uses);
        let proven = self.proven.len();

        let condition = raw.condition.as_ref().map(|text| self.condition(text, false));
        let condition_needs = self.needed_of(each);
        let mut sums = Vec::new();
        for (sum, text) in &raw.sums {
            let program = self.sum(sum, text, &mut members);
            sums.push(program.map(|program| (sum.get_ref().clone(), program)));
        }
        let largest = raw.largest.as_ref().map(|raw| self.largest(raw, &mut members));
        let needs = self.needed_of(each);

        self.proven.truncate(proven);
        let Uses { facts, params, .. } = std::mem::replace(&mut self.uses, own_uses);
        self.uses.facts.extend(facts);
        self.uses.params.extend(params);
        own.optional = std::mem::take(&mut self.scope.optional);
        own.params = std::mem::take(&mut self.scope.params);
        self.scope = own;
        let group = || {
            let name = name.get_ref().clone();
            let condition = condition.map_or(Some(None), |condition| condition.map(Some))?;
            let largest = largest.map_or(Some(None), |largest| largest.map(Some))?;
            let sums = sums.into_iter().collect::<Option<_>>()?;
            Some(Group { name, each, condition, condition_needs, needs, sums, largest })
        };
        (group(), members)
    }

    /// Whether entities of this kind belong to the one that the rule is asked about.
    fn belongs(&mut self, each: EntityKind, raw: &RawGroup) -> bool {
        let for_each = self.scope.for_each;
        let is_below = |kind: &EntityKind| kind.ancestors().contains(&for_each);
        if is_below(&each) {
            return true;
        }
        let below: Vec<&str> = EntityKind::ALL.into_iter().filter(is_below).map(EntityKind::name).collect();
        let hint = if below.is_empty() { "nothing does".to_owned() } else { format!("{} do", listed(&below)) };
        let (each, for_each) = (each.name(), for_each.name());
        self.log.at(raw.each.span(), format!("entities of the kind `{each}` do not belong to a `{for_each}`: {hint}"));
        false
    }

    /// The facts of a member that have been named so far, and may not be absent.
    fn needed_of(&self, each: EntityKind) -> Vec<FactRef> {
        let needed = self.uses.facts.difference(&self.scope.optional);
        needed.filter(|fact| fact.kind == each).copied().collect()
    }

    fn sum(&mut self, name: &Text, text: &Text, members: &mut Members) -> Option<Program> {
        if [COUNT, LARGEST].contains(&name.get_ref().as_str()) {
            self.log
                .at(name.span(), format!("every group has a `{}` of its own: name the sum otherwise", name.get_ref()));
        }
        let checked = self.decides(text, false, Wanted::Anything);
        if let Some(kind) = checked.kind.as_ref().filter(|kind| !matches!(kind, Type::Number(_))) {
            self.log.at(text.span(), format!("a sum is of numbers, not of {}", kind.name()));
        }
        members.insert(name.get_ref().clone(), checked.kind);
        checked.program
    }

    fn largest(&mut self, raw: &RawLargest, members: &mut Members) -> Option<Largest> {
        let by = self.decides(&raw.by, false, Wanted::Anything);
        if let Some(kind) = by.kind.as_ref().filter(|kind| !matches!(kind, Type::Number(_))) {
            self.log.at(raw.by.span(), format!("`by` is a number, not {}", kind.name()));
        }
        let name = self.checked(&raw.name, false, Wanted::Anything);
        if let Some(kind) = name.kind.as_ref().filter(|kind| !matches!(kind, Type::Text | Type::Choice(_))) {
            self.log.at(raw.name.span(), format!("`name` is a text, not {}", kind.name()));
        }
        members.insert(LARGEST.to_owned(), Some(Type::Text));
        Some(Largest { by: by.program?, name: name.program? })
    }
}
