//! What a project changed of what the built-in rules find: beside a gate that holds, a reader has to know it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Policy, Suppressed};
use crate::rules::{Library, Params, RuleInfo};
use crate::text::spans::Sentence;

/// Rules that one sentence names.
const MAX_NAMED: usize = 12;

/// What is changed whatever a report holds: rules that are replaced, severities and thresholds that are set.
pub fn altered(library: &Library, rules: &[RuleInfo], params: &Params) -> Vec<Sentence> {
    let replaced = library.rules().iter().filter(|rule| rule.replaces_builtin()).map(|rule| rule.id().to_owned());
    let builtin = || rules.iter().filter(|rule| !rule.is_own);
    let severities = builtin().filter_map(|rule| Some((&rule.id, rule.set_severity?)));
    let severities = severities.map(|(id, severity)| format!("{id} ({})", severity.name()));
    let thresholds = builtin().filter_map(|rule| {
        let names: Vec<&str> = params.names(&rule.id).collect();
        (!names.is_empty()).then(|| format!("{} ({})", rule.id, names.join(", ")))
    });
    let told = [
        named("Replaced by rules of the project: ", replaced),
        named("Severity set by the project: ", severities),
        named("Thresholds set by the project: ", thresholds),
    ];
    told.into_iter().flatten().collect()
}

/// The same, with what is switched off, and what a rule of the project made pointless in this report.
pub(super) fn of_report(policy: &Policy, rules: &[RuleInfo], suppressed: &[Suppressed]) -> Vec<Sentence> {
    let mut by_own: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for pair in silenced(rules, suppressed) {
        by_own.entry(&pair.by).or_default().insert(&pair.rule);
    }
    let silenced = by_own.into_iter().filter_map(|(by, rules)| {
        named(&format!("Left out because of the project's rule {by}: "), rules.into_iter().map(str::to_owned))
    });
    let off = named("Switched off: ", policy.rules_off.iter().cloned());
    off.into_iter().chain(policy.altered.iter().cloned()).chain(silenced).collect()
}

/// Findings of built-in rules that a rule of the project's own made pointless.
pub(super) fn silenced<'a>(rules: &[RuleInfo], suppressed: &'a [Suppressed]) -> impl Iterator<Item = &'a Suppressed> {
    let own: BTreeSet<String> = rules.iter().filter(|rule| rule.is_own).map(|rule| rule.id.clone()).collect();
    suppressed.iter().filter(move |pair| own.contains(&pair.by) && !own.contains(&pair.rule))
}

fn named(words: &str, names: impl Iterator<Item = String>) -> Option<Sentence> {
    let names: Vec<String> = names.collect();
    let (first, others) = names.split_first()?;
    let start = Sentence::default().own(words).code(first);
    let told = others.iter().take(MAX_NAMED - 1).fold(start, |told, name| told.own(", ").code(name));
    let more = names.len().saturating_sub(MAX_NAMED);
    Some(told.own(&if more > 0 { format!(" and {more} more.") } else { ".".to_owned() }))
}
