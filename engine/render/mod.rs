//! Printing: reviews as Markdown and JSON, facts as text and JSON.

mod bar;
pub mod facts;
mod filters;
mod json;
mod markdown;
mod view;

pub use json::review_json;
pub use markdown::{TemplateError, Templates};

#[cfg(test)]
mod tests;
