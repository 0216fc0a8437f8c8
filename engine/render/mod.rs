//! Printing: reviews as Markdown and JSON, facts as text and JSON.

mod bar;
pub mod facts;
mod filters;
mod json;
mod markdown;
mod rule_page;
mod view;

pub use json::review_json;
pub use markdown::{TemplateError, Templates};
pub use rule_page::rule_page;

#[cfg(test)]
mod tests;
