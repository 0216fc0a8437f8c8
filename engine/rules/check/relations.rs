//! Checks what rules say of each other: that they exist, share the entities, and do not explain in a circle.

mod circles;

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::EntityKind;
use crate::facts::catalogue::{self, FactType, Unit};
use crate::limits::MAX_FAULT_COUNT;
use crate::text::nearest::did_you_mean;

use super::super::fault::Fault;
use super::super::raw::{RawRelation, RawRule};
use super::super::rule::{FactRef, Relation};

/// What other rules may need to know of a rule, whether or not the rest of it is sound.
#[derive(Debug, Clone)]
pub(in crate::rules) struct Header {
    pub(in crate::rules) id: String,
    file: String,
    for_each: Option<EntityKind>,
    explains: Vec<Link>,
    suppressed_by: Vec<Link>,
}

#[derive(Debug, Clone)]
struct Link {
    relation: Relation,
    line: usize,
    /// Words in `on` that are no entity.
    unknown: Vec<String>,
    /// What `shares` says, where it names no time that the rule knows.
    wrong_shares: Option<String>,
}

impl Header {
    /// The header of a file; `line` tells the line of a span in it.
    pub(in crate::rules) fn new(raw: &RawRule, file: &str, line: impl Fn(&std::ops::Range<usize>) -> usize) -> Self {
        let for_each = EntityKind::from_name(raw.for_each.get_ref());
        let links = |relations: &[RawRelation], explains| {
            relations.iter().map(|raw| link(raw, for_each, explains, &line)).collect()
        };
        Self {
            id: raw.id.get_ref().clone(),
            file: file.to_owned(),
            for_each,
            explains: links(&raw.relations.explains, true),
            suppressed_by: links(&raw.relations.suppressed_by, false),
        }
    }

    fn knows(&self, kind: EntityKind) -> bool {
        self.for_each.is_none_or(|own| own == kind || own.ancestors().contains(&kind))
    }
}

fn link(
    raw: &RawRelation,
    for_each: Option<EntityKind>,
    explains: bool,
    line: &impl Fn(&std::ops::Range<usize>) -> usize,
) -> Link {
    let unknown = raw.on.get_ref().iter().map(|word| word.get_ref().clone());
    let unknown = unknown.filter(|word| EntityKind::from_name(word).is_none()).collect();
    let relation = relation(raw);
    let knows =
        |shares: FactRef| for_each.is_none_or(|own| own == shares.kind || own.ancestors().contains(&shares.kind));
    let is_right = explains && relation.shares.is_some_and(knows);
    let wrong_shares = raw.shares.as_ref().filter(|_| !is_right).map(|text| text.get_ref().clone());
    Link { relation, line: line(&raw.rule.span()), unknown, wrong_shares }
}

fn relation(raw: &RawRelation) -> Relation {
    let on = raw.on.get_ref().iter().filter_map(|word| EntityKind::from_name(word.get_ref())).collect();
    let shares = raw.shares.as_ref().and_then(|text| time(text.get_ref()));
    Relation { rule: raw.rule.get_ref().clone(), on, shares }
}

/// A fact in nanoseconds.
fn time(name: &str) -> Option<FactRef> {
    let (entity, fact) = name.split_once('.')?;
    let kind = EntityKind::from_name(entity)?;
    let fact = catalogue::find(kind, fact).filter(|fact| fact.unit() == Unit::Ns && fact.kind == FactType::Int)?;
    Some(FactRef { kind, name: fact.name })
}

pub(super) fn read(relations: &[RawRelation]) -> Vec<Relation> {
    relations.iter().map(relation).collect()
}

/// Checks all relations. `ids` are the rules whose files exist, even those that could not be read.
pub(in crate::rules) fn relations(headers: &[Header], ids: &BTreeSet<String>) -> Vec<Fault> {
    let by_id: BTreeMap<&str, &Header> = headers.iter().map(|header| (header.id.as_str(), header)).collect();
    let mut faults = Vec::new();
    for header in headers {
        for link in header.explains.iter().chain(&header.suppressed_by) {
            if faults.len() >= MAX_FAULT_COUNT {
                return faults;
            }
            let messages = link_faults(header, link, &by_id, ids);
            faults.extend(messages.into_iter().map(|message| fault(header, link, message)));
        }
    }
    faults.extend(circles::of(&by_id).into_iter().map(|(header, link, path)| {
        fault(header, link, format!("rules explain each other in a circle: {}", path.join(" → ")))
    }));
    faults
}

fn fault(header: &Header, link: &Link, message: String) -> Fault {
    Fault { file: header.file.clone(), line: link.line, message }
}

fn link_faults(header: &Header, link: &Link, by_id: &BTreeMap<&str, &Header>, ids: &BTreeSet<String>) -> Vec<String> {
    let id = link.relation.rule.as_str();
    let mut messages: Vec<_> = link
        .unknown
        .iter()
        .map(|word| {
            format!(
                "`on` names `{word}`, which is no entity{}",
                did_you_mean(word, EntityKind::ALL.map(EntityKind::name))
            )
        })
        .collect();
    if id == header.id {
        messages.push(format!("`{id}` is related to itself"));
    } else if !ids.contains(id) {
        messages.push(format!("there is no rule `{id}`{}", did_you_mean(id, ids.iter().map(String::as_str))));
    }
    if let Some(shares) = &link.wrong_shares {
        messages.push(format!(
            "`shares` is `{shares}`: it names, where a rule is explained, a time of what rule `{}` is about",
            header.id
        ));
    }
    if link.relation.on.is_empty() && link.unknown.is_empty() {
        messages.push("`on` is empty: name the entities that both findings must share".to_owned());
    }
    for kind in &link.relation.on {
        for rule in [Some(header), by_id.get(id).copied()].into_iter().flatten().filter(|rule| !rule.knows(*kind)) {
            messages.push(format!("`on` names `{}`, which rule `{}` does not know", kind.name(), rule.id));
        }
    }
    messages
}
