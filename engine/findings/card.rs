//! What findings need to know of a rule.

use serde::Serialize;

use crate::facts::EntityKind;
use crate::rules::outcome::Severity;

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
    /// Its severity where it has no estimate; info when absent.
    pub severity: Option<Severity>,
    /// Whether its cost occurs once.
    pub once: bool,
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
