//! From what a file says to a rule that cannot misspell a fact, mix units or print a bare number.

mod calls;
mod cases;
mod code;
mod groups;
mod params;
mod prose;
mod ranking;
mod relations;
mod size;
mod template;
mod types;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::facts::{EntityKind, catalogue};
use crate::text::nearest::did_you_mean;
use crate::timeline::Capability;

use super::depth::Depth;
use super::fault::Log;
use super::outcome::{Confidence, Severity};
use super::raw::{self, RawRule};
use super::rule::{CaptureNote, Case, Code, FactRef, Reference, Rule, RuleInfo, Status};
use super::vocabulary::{EXPERIMENTAL, FRAMEWORK_DEFAULT, SCHEMA, STATUSES, frameworks};
use code::Checker;
use walk::{Scope, Uses};

pub(super) use relations::{Header, relations};

/// What the path of a rule file says.
#[derive(Debug, Clone)]
pub(super) struct RulePath {
    /// The folder: the rule's category.
    pub(super) category: String,
    /// The file's stem: the rule's id.
    pub(super) stem: String,
}

/// The checked rule; none when faults have been noted.
pub(super) fn check(raw: &RawRule, path: &RulePath, depth: Depth, log: &mut Log<'_>) -> Option<Rule> {
    if !size::check(raw, log) {
        return None;
    }
    head(raw, path, log);
    if depth == Depth::Whole {
        prose::check(raw, log);
    }
    let for_each = entity_kind(&raw.for_each, log)?;
    let mut checker = Checker::new(raw, for_each, depth, log);
    let code = checker.code(raw);
    let (code, tests) = match depth {
        Depth::Whole => with_cases(raw, code, &mut checker),
        Depth::Judging => (code, Vec::new()),
    };
    let rests_on = checker.rests_on();
    let (params, uses, unreadable) = (checker.params, checker.uses, checker.unreadable);
    if !unreadable {
        unused(raw, for_each, &uses, log);
    }
    let silences_claims_on = silences(raw, log);
    let ranking = ranking::read(raw, for_each, log);
    if !log.faults.is_empty() {
        return None;
    }
    let info = RuleInfo {
        id: raw.id.get_ref().clone(),
        title: raw.title.get_ref().clone(),
        category: path.category.clone(),
        for_each,
        severity: raw.severity.as_ref().and_then(severity),
        set_severity: None,
        is_own: false,
        status: if is_experimental(raw) { Status::Experimental } else { Status::Stable },
        once: raw.once,
        capture_note: raw
            .capture_note
            .as_ref()
            .and_then(|word| CaptureNote::ALL.into_iter().find(|note| note.name() == word.get_ref())),
        collect: raw.collect.clone(),
        rests_on,
        references: references(raw),
        ranking,
        explains: relations::read(&raw.relations.explains),
        suppressed_by: relations::read(&raw.relations.suppressed_by),
        silences_claims_on,
    };
    Some(Rule {
        info,
        replaces_builtin: false,
        file: log.file.to_owned(),
        source: log.source.to_owned(),
        params,
        code: code?,
        tests,
    })
}

/// A rule's code with its example, and its tests.
fn with_cases(raw: &RawRule, code: Option<Code>, checker: &mut Checker<'_, '_>) -> (Option<Code>, Vec<Case>) {
    let (example, tests) = cases::read(raw, checker.scope.for_each, &checker.scope, checker.log);
    let code = code.map(|code| Code { example, ..code });
    if let Some(code) = &code {
        cases::cover(raw, code, &tests, checker.log);
        claimed(raw, code, checker.log);
    }
    (code, tests)
}

/// The entities that a rule silences claims on.
fn silences(raw: &RawRule, log: &mut Log<'_>) -> Vec<EntityKind> {
    let mut on = Vec::new();
    for word in &raw.relations.silences_claims_on {
        match EntityKind::from_name(word.get_ref()) {
            Some(kind) => on.push(kind),
            None => log.at_with(word.span(), || format!("`{}` is no entity", word.get_ref())),
        }
    }
    on
}

fn is_experimental(raw: &RawRule) -> bool {
    raw.status.as_ref().is_some_and(|status| status.get_ref() == EXPERIMENTAL)
}

fn references(raw: &RawRule) -> Vec<Reference> {
    raw.references
        .iter()
        .map(|reference| Reference {
            url: reference.url.get_ref().clone(),
            supports: reference.supports.get_ref().clone(),
        })
        .collect()
}

/// What can be checked without knowing the entity.
fn head(raw: &RawRule, path: &RulePath, log: &mut Log<'_>) {
    if *raw.schema.get_ref() != SCHEMA {
        log.at(raw.schema.span(), format!("write `schema = {SCHEMA}`"));
    }
    if *raw.id.get_ref() != path.stem {
        let message =
            format!("the id is `{}`, the file is named `{}.toml`: they must be equal", raw.id.get_ref(), path.stem);
        log.at(raw.id.span(), message);
    }
    filled("title", &raw.title, log);
    if raw.when.is_empty() {
        log.at(raw.id.span(), "a rule needs at least one [[when]]");
    }
    if let Some(word) = &raw.severity {
        one_of("severity", word, Severity::ALL.map(Severity::name), log);
    } else if raw.estimate.is_none() {
        log.at(raw.id.span(), "a rule without [estimate] needs a `severity`: nothing else tells how much it matters");
    }
    if let Some(word) = &raw.capture_note {
        one_of("capture_note", word, CaptureNote::ALL.map(CaptureNote::name), log);
    }
    if let Some(word) = &raw.status {
        one_of("status", word, STATUSES, log);
    }
    for severity in &raw.severity_when {
        one_of("severity", &severity.is, Severity::ALL.map(Severity::name), log);
    }
    for framework in raw.advice.get_ref().keys() {
        one_of("framework", framework, frameworks(), log);
    }
    if !raw.advice.get_ref().keys().any(|key| key.get_ref() == FRAMEWORK_DEFAULT) {
        log.at(raw.advice.span(), "[advice] needs a `default`, for frameworks that it does not name");
    }
    for reference in &raw.references {
        if !reference.url.get_ref().starts_with("https://") {
            log.at(reference.url.span(), format!("`{}` does not begin with https://", reference.url.get_ref()));
        }
        filled("supports", &reference.supports, log);
    }
}

/// An estimate is bounded by its account: an example without it never meets the bound.
fn claimed(raw: &RawRule, code: &Code, log: &mut Log<'_>) {
    let account =
        code.estimate.as_ref().map(|estimate| FactRef { kind: EntityKind::Device, name: estimate.account.fact() });
    if let Some(account) = account.filter(|account| !code.example.own.contains_key(account)) {
        let message = format!("[example] needs `{account}`, the account that the estimate claims: it is its bound");
        log.at(raw.example.span(), message);
    }
}

fn filled(key: &str, text: &raw::Text, log: &mut Log<'_>) {
    if text.get_ref().trim().is_empty() {
        log.at(text.span(), format!("`{key}` is empty"));
    }
}

/// A sentence that is printed as it is: braces would show.
fn sentence(key: &str, text: &raw::Text, log: &mut Log<'_>) -> String {
    filled(key, text, log);
    if text.get_ref().contains("{{") || text.get_ref().contains("{%") {
        log.at(text.span(), format!("`{key}` is printed as it is: it cannot hold expressions"));
    }
    text.get_ref().clone()
}

/// Notes a word that is none of the known ones.
fn one_of<'a>(what: &str, word: &raw::Text, known: impl IntoIterator<Item = &'a str>, log: &mut Log<'_>) {
    let known: Vec<_> = known.into_iter().collect();
    let word_is = word.get_ref();
    if !known.contains(&word_is.as_str()) {
        log.at_with(word.span(), || format!("unknown {what} `{word_is}`{}", did_you_mean(word_is, known)));
    }
}

fn entity_kind(word: &raw::Text, log: &mut Log<'_>) -> Option<EntityKind> {
    one_of("entity", word, EntityKind::ALL.map(EntityKind::name), log);
    EntityKind::from_name(word.get_ref())
}

fn severity(word: &raw::Text) -> Option<Severity> {
    Severity::ALL.into_iter().find(|known| known.name() == word.get_ref())
}

fn confidence(word: &raw::Text, log: &mut Log<'_>) -> Option<Confidence> {
    one_of("confidence", word, Confidence::ALL.map(Confidence::name), log);
    Confidence::ALL.into_iter().find(|known| known.name() == word.get_ref())
}

/// Splits `entity.fact` and looks it up.
fn full_name(name: &str, scope: &Scope) -> Result<FactRef, String> {
    let (entity, fact) = name.split_once('.').ok_or_else(|| format!("`{name}` is no fact: write `entity.fact`"))?;
    scope.fact(entity, fact)
}

/// The kinds of the entities that the groups of a rule take together.
fn kinds_of_groups(raw: &RawRule) -> BTreeSet<EntityKind> {
    raw.groups.values().filter_map(|group| EntityKind::from_name(group.each.get_ref())).collect()
}

/// The fact that `optional` names, which may be one of the members of a group.
fn optional_fact(name: &str, for_each: EntityKind, of_groups: &BTreeSet<EntityKind>) -> Option<FactRef> {
    let (entity, fact) = name.split_once('.')?;
    let mut scopes = std::iter::once(for_each).chain(of_groups.iter().copied()).map(Scope::of);
    scopes.find_map(|scope| scope.find(entity, fact))
}

/// Whether a report may lack the fact although it is a report.
fn may_be_absent(fact: FactRef) -> bool {
    catalogue::find(fact.kind, fact.name).is_some_and(|entry| entry.needs != Capability::Report)
}

fn unused(raw: &RawRule, for_each: EntityKind, uses: &Uses, log: &mut Log<'_>) {
    for name in raw.params.keys() {
        if !uses.params.contains(name.get_ref()) {
            log.at(name.span(), format!("`params.{}` is never used", name.get_ref()));
        }
    }
    for (index, name) in raw.values.keys().enumerate() {
        if !uses.values.contains(&index) {
            log.at(name.span(), format!("`values.{}` is never used", name.get_ref()));
        }
    }
    for (name, group) in &raw.groups {
        let sums = group.sums.keys().map(|sum| (sum.get_ref().as_str(), sum.span()));
        let asked = |what: &str| uses.groups.contains(&format!("{}.{what}", name.get_ref()));
        if !["count", "largest"].into_iter().chain(sums.clone().map(|(sum, _)| sum)).any(asked) {
            log.at(name.span(), format!("`groups.{}` is never used", name.get_ref()));
            continue;
        }
        for (sum, span) in sums.filter(|(sum, _)| !asked(sum)) {
            log.at(span, format!("`groups.{}.{sum}` is never used", name.get_ref()));
        }
    }
    let of_groups = kinds_of_groups(raw);
    for text in &raw.optional {
        if optional_fact(text.get_ref(), for_each, &of_groups).is_some_and(|fact| !uses.facts.contains(&fact)) {
            log.at(text.span(), format!("`{}` is optional, but never used", text.get_ref()));
        }
    }
}
