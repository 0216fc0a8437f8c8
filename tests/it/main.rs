//! The integration tests: one crate, so that the program and what the tests share are linked once.
//!
//! Each module tests one behaviour as a user meets it; `support` holds what they share.

// The lints spare `#[test]` functions only, not what they share.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../benches/support/enlarge.rs"]
mod enlarge;
#[path = "../../fuzz/entries.rs"]
mod entries;
mod support;

mod action;
mod call_stacks;
mod changes;
mod command_line;
mod comment;
mod compare;
mod configuration;
mod corpus;
mod damage;
mod docs;
mod fixtures;
mod fuzz_seeds;
mod gates;
mod growth;
mod hostile_names;
mod hostile_schema;
mod ledger;
mod library;
mod mutation;
mod nsys_rep;
mod places;
mod readme;
mod rules;
mod whole_review;
