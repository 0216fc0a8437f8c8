//! Rules: what the TOML says, checked against the catalogue, evaluated over the facts of one entity at a time.

pub mod outcome;
