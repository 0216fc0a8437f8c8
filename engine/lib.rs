//! coldspot reads a GPU profile and says where the time went, why, and what to change first.
//!
//! The way of the data, one module a stage: [`read`] makes a [`timeline`] of a report file, [`ledger`] and [`facts`] take
//! it apart, [`rules`] match the facts, [`findings`] are ranked, [`compare`] holds two reviews against each other,
//! [`render`] prints them. [`project`] is what a project decides about all of it, [`forge`] posts the result on a pull
//! request.

pub mod compare;
pub mod facts;
mod files;
pub mod findings;
pub mod forge;
pub mod interrupt;
pub mod ledger;
mod parallel;
pub mod project;
pub mod read;
pub mod render;
pub mod rules;
pub mod text;
pub mod timeline;
