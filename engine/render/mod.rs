//! Printing: reviews as Markdown and JSON, facts as text and JSON.

mod bar;
pub mod facts;
mod filters;
mod json;
mod markdown;
mod rule_list;
mod rule_page;
mod view;

pub use json::review_json;
pub use markdown::{TemplateError, Templates};
pub use rule_list::{rule_list_json, rule_list_text};
pub use rule_page::{rule_index, rule_page};

#[cfg(test)]
mod tests;
