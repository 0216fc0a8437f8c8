//! Facts: numbers, strings and booleans with a fixed name, unit and meaning, each about one entity of a report.
//!
//! [`catalogue`] documents every fact; [`store`] holds the entities of one report with the [`value`]s of their facts.

pub mod catalogue;
pub mod extract;
pub mod file;
mod json;
pub mod store;
pub mod value;
mod wholes;

pub use catalogue::{EntityKind, Fact, FactType, Unit};
pub use extract::{
    Replays, ScopeError, View, extract, extract_profiles, extract_view, extract_view_then, extract_with, join,
};
pub use store::{Entity, EntityId, Facts, NotWhole};
pub use value::FactValue;
