//! What findings need to know of a rule.

use serde::Serialize;

use crate::facts::EntityKind;
use crate::rules::outcome::Severity;
use crate::rules::{Library, Relation, Rule, Status};

/// A rule without its conditions: what a review says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleCard {
    /// Unique in the library.
    pub id: String,
    /// What a user would say.
    pub title: String,
    /// The folder of its file: the cause that it looks for.
    pub category: String,
    /// The entity that it is asked about.
    pub for_each: EntityKind,
    /// Its fixed severity; when absent, the share of the window that it can gain decides.
    pub severity: Option<Severity>,
    /// Whether its cost occurs once.
    pub once: bool,
    /// Whether it has yet to prove itself on real reports.
    pub is_experimental: bool,
    /// What to capture when facts are missing, in the rule's own words.
    pub collect: Option<String>,
    /// Where its knowledge comes from.
    pub references: Vec<Reference>,
    /// The rules whose findings are symptoms of this one.
    pub explains: Vec<RelationTo>,
    /// The rules whose findings make this one pointless.
    pub suppressed_by: Vec<RelationTo>,
}

/// Where a rule's knowledge comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The address.
    pub url: String,
    /// What it supports.
    pub supports: String,
}

/// A relation to another rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationTo {
    /// The other rule's id.
    pub rule: String,
    /// Both findings must be about the same of each of these.
    pub on: Vec<EntityKind>,
}

impl RuleCard {
    /// The cards of a library, in its order, which judgements refer to.
    pub fn of_library(library: &Library) -> Vec<Self> {
        library.rules().iter().map(Self::from).collect()
    }
}

impl From<&Rule> for RuleCard {
    fn from(rule: &Rule) -> Self {
        let relation = |relation: &Relation| RelationTo { rule: relation.rule.clone(), on: relation.on.clone() };
        let reference = |r: &crate::rules::Reference| Reference { url: r.url.clone(), supports: r.supports.clone() };
        Self {
            id: rule.id().to_owned(),
            title: rule.title().to_owned(),
            category: rule.category().to_owned(),
            for_each: rule.for_each(),
            severity: rule.severity(),
            once: rule.once(),
            is_experimental: rule.status() == Status::Experimental,
            collect: rule.collect().map(str::to_owned),
            references: rule.references().iter().map(reference).collect(),
            explains: rule.explains().iter().map(relation).collect(),
            suppressed_by: rule.suppressed_by().iter().map(relation).collect(),
        }
    }
}
