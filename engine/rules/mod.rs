//! Rules: what the TOML says, checked against the catalogue, evaluated over the facts of one entity at a time.
//!
//! `raw` reads a file, `check` makes a [`Rule`] of it or says all that is wrong, [`Library`] holds the rules that are in
//! use, [`evaluate()`] judges the facts of a report, [`testing`] runs the tests that rule files carry.

mod budget;
mod check;
mod context;
mod depth;
mod evaluate;
pub mod example;
mod expr;
pub(crate) mod fault;
mod library;
pub mod outcome;
mod param_value;
mod params;
mod print;
mod raw;
mod rule;
pub(crate) mod schema;
pub(crate) mod shape;
mod skeleton;
pub mod testing;
mod vocabulary;

pub use budget::is_spent;
pub use depth::Depth;
pub use evaluate::{Questions, evaluate};
pub use fault::{Fault, Faults};
pub use library::Library;
pub use param_value::ParamValue;
pub use params::Params;
pub(crate) use params::read as read_param;
pub use raw::rule_schema;
pub use rule::{CaptureNote, FactRef, FactTable, Param, RankedBy, Reference, Relation, Rule, RuleInfo, Status};
pub use skeleton::skeleton;
