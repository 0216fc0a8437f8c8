//! Printing: reviews and comparisons as Markdown, JSON, SARIF, annotations and JUnit, facts as text and JSON.

mod bar;
mod comment;
pub mod facts;
mod filters;
mod github;
mod json;
mod junit;
mod markdown;
mod notes;
mod rule_list;
mod rule_page;
mod sarif;
mod spans;
mod view;

pub use github::github;
pub use json::{comparison_json, review_json};
pub use junit::junit;
pub use markdown::{TemplateError, Templates};
pub use notes::Notes;
pub use rule_list::{rule_list_json, rule_list_text};
pub use rule_page::{rule_index, rule_page};
pub use sarif::sarif;
pub use spans::markdown;

#[cfg(test)]
mod tests;
