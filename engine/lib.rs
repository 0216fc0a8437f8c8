//! coldspot reads a GPU profile and says where the time went, why, and what to change first.
//!
//! The way of the data, one module a stage: [`source`] makes a [`timeline`] of a report file, [`ledger`] and [`facts`] take
//! it apart, [`rules`] match the facts, [`findings`] are ranked, [`compare`] holds two reviews against each other,
//! [`gates`] say whether they pass, [`history`] follows facts over many commits, [`render`] prints the [`report`]. [`project`] is what a project decides about all of
//! it, [`forge`] posts the result on a pull request. [`analysis`] is the whole way in one call: what the command line uses,
//! and whoever uses the library should.

pub mod analysis;
pub mod compare;
pub mod facts;
pub mod files;
pub mod findings;
#[cfg(feature = "comment")]
pub mod forge;
pub mod gates;
pub mod history;
pub mod interrupt;
pub mod ledger;
pub mod limits;
mod parallel;
pub mod project;
pub mod render;
pub mod replay;
pub mod report;
pub mod rules;
pub mod source;
pub mod steps;
pub mod text;
pub mod timeline;
