//! How much a rule may hold: what one entry costs is looked at nowhere else.

use std::ops::Range;

use super::super::fault::Log;
use super::super::raw::{self, FactTables, Given, RawRule};
use crate::limits::{MAX_RULE_ENTRY_COUNT, MAX_RULE_TEST_COUNT, MAX_RULE_TEXT_BYTES};

/// Whether a rule holds no more than it may. Nothing else is looked at of one that does.
pub(super) fn check(raw: &RawRule, log: &mut Log<'_>) -> bool {
    let before = log.faults.len();
    let id = || raw.id.span();
    let relations = &raw.relations;
    let most = MAX_RULE_ENTRY_COUNT;
    for (what, count) in [
        ("optional", raw.optional.len()),
        ("[params]", raw.params.len()),
        ("[groups]", raw.groups.len()),
        ("[values]", raw.values.len()),
        ("[[when]]", raw.when.len()),
        ("[[severity_when]]", raw.severity_when.len()),
        ("[[references]]", raw.references.len()),
        ("lower", raw.confidence.lower.len()),
        ("[advice]", raw.advice.get_ref().len()),
    ] {
        hold(what, count, most, id(), log);
    }
    hold("[[tests]]", raw.tests.len(), MAX_RULE_TEST_COUNT, id(), log);
    hold("[example]", entry_count(raw.example.get_ref()), MAX_RULE_TEST_COUNT, raw.example.span(), log);
    for (name, group) in &raw.groups {
        hold("sums", group.sums.len(), most, name.span(), log);
    }
    for test in &raw.tests {
        let expected = test.expect.as_ref().and_then(|expect| expect.get_ref().missing.as_ref()).map_or(0, Vec::len);
        for (what, count) in [("unset", test.unset.len()), ("params", test.params.len()), ("missing", expected)] {
            hold(what, count, most, test.name.span(), log);
        }
        hold("set", entry_count(&test.set), MAX_RULE_TEST_COUNT, test.name.span(), log);
    }
    for (what, count) in [
        ("explains", relations.explains.len()),
        ("suppressed_by", relations.suppressed_by.len()),
        ("silences_claims_on", relations.silences_claims_on.len()),
    ] {
        hold(what, count, MAX_RULE_ENTRY_COUNT, id(), log);
    }
    for link in relations.explains.iter().chain(&relations.suppressed_by) {
        hold("on", link.on.get_ref().len(), MAX_RULE_ENTRY_COUNT, link.rule.span(), log);
    }
    texts(raw).for_each(|text| is_short(text.get_ref(), text.span(), log));
    raw.collect.iter().for_each(|text| is_short(text, id(), log));
    log.faults.len() == before
}

/// The facts of tables, those of members among them.
fn entry_count(tables: &FactTables) -> usize {
    let count = |given: &Given| match given {
        Given::One(facts) => facts.len(),
        Given::Several(members) => members.iter().map(|facts| 1 + facts.len()).sum(),
    };
    tables.values().map(count).sum()
}

fn hold(what: &str, count: usize, most: usize, span: Range<usize>, log: &mut Log<'_>) {
    if count > most {
        log.at(span, format!("`{what}` holds {count} entries: no more than {most} are read"));
    }
}

/// All that is printed of a rule.
fn texts(raw: &RawRule) -> impl Iterator<Item = &raw::Text> {
    let message = &raw.message;
    let of_message = [&message.summary, &message.verify].into_iter().chain(&message.title).chain(&message.look);
    std::iter::once(&raw.title)
        .chain(of_message)
        .chain(raw.when.iter().map(|when| &when.says))
        .chain(raw.confidence.lower.iter().map(|lower| &lower.because))
        .chain(raw.estimate.iter().map(|estimate| &estimate.basis))
        .chain(raw.references.iter().flat_map(|reference| [&reference.url, &reference.supports]))
        .chain(raw.advice.get_ref().values())
        .chain(raw.params.values().flat_map(|param| std::iter::once(&param.doc).chain(&param.fixed)))
}

fn is_short(text: &str, span: Range<usize>, log: &mut Log<'_>) {
    let length = text.len();
    if length > MAX_RULE_TEXT_BYTES {
        log.at(span, format!("a text of {length} bytes: no more than {MAX_RULE_TEXT_BYTES} are printed"));
    }
}
