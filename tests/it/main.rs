//! The integration tests: one crate, so that the program and what the tests share are linked once.
//!
//! A folder a level, a file a behaviour. CONTRIBUTING.md says where a new test goes.

// The lints spare `#[test]` functions only, not what they share.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "../../benches/support/enlarge.rs"]
mod enlarge;
#[path = "../../fuzz/entries.rs"]
mod entries;
/// What the tests share: the program's harness, projects, scenarios that become reports, damage, an independent computation.
mod support;

/// The program as a user meets it: arguments, exit codes, files, `coldspot.toml`, comparisons, gates.
mod cli {
    mod changes;
    mod collect;
    mod command_line;
    mod compare;
    mod compared_names;
    mod configuration;
    mod gates;
    mod growth;
    mod history;
    mod interrupted;
    mod recorded_otherwise;
}

/// Which stage may import which.
mod architecture;

/// What can be read: kept fixtures, call stacks, exports by nsys, damaged and foreign files.
mod readers {
    mod call_stacks;
    pub(crate) mod collective_sizes;
    mod damage;
    mod damaged_traces;
    mod fixtures;
    pub(crate) mod host_turns;
    pub(crate) mod inside_calls;
    pub(crate) mod kineto;
    pub(crate) mod kineto_held;
    pub(crate) mod kineto_operators;
    mod kineto_pages;
    mod kineto_pauses;
    mod kineto_places;
    pub(crate) mod kineto_recomputed;
    mod many_gpus;
    mod merged_traces;
    pub(crate) mod ncu;
    pub(crate) mod ncu_limits;
    mod ncu_rep;
    mod ncu_whole;
    mod nsys_rep;
    mod profiler_notices;
    pub(crate) mod reduced_after;
    pub(crate) mod reduced_again;
    mod samples;
    mod small_programs;
    mod steps_and_copies;
    mod tuned_convolutions;
    pub(crate) mod turns;
    pub(crate) mod unused_gradients;
}

/// Numbers: accounts that add up on random timelines, facts that agree with independent computations.
mod ledger {
    mod accounts;
    mod catalogue;
    mod corpus;
}

/// What would remain without a cause: recordings that are played again.
mod replays {
    pub(crate) mod along;
    mod ceilings;
    mod chains;
    mod communication;
    mod corpus;
    mod engines;
    pub(crate) mod factorized;
    mod gains;
    mod host;
    mod predicted;
    mod serial;
    mod trace;
    pub mod typical;
}

/// The built-in rules: their own tests, what they find in every scenario, their pages and schemas.
mod rules {
    mod builtin;
    mod docs;
    mod scenarios;
}

/// What is printed of a report: whole reviews as they were accepted, keys of JSON, source locations, the README.
mod reviews {
    mod culprits;
    mod golden;
    mod json_keys;
    mod length;
    mod places;
    mod readme;
    mod scorecard;
    mod whole_review;
}

/// Input that means harm: rules and templates, names, schemas, thousands of mutants, fuzz seeds.
mod hostile {
    mod authors;
    mod files;
    mod fuzz_seeds;
    mod mutation;
    mod names;
    mod schema;
}

/// `coldspot comment` and the GitHub Action, against a forge on this machine.
mod forge {
    mod action;
    mod comment;
}
