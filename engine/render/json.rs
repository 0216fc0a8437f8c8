//! Reviews and comparisons as JSON.

use serde::Serialize;

use super::view::View;
use crate::compare::Comparison;
use crate::findings::Review;
use crate::text::escape;

/// A review as one JSON object, as `docs/json.md` documents it. `report` is the name of the file that was reviewed.
///
/// # Errors
/// None for a review that [`crate::findings::review`] made; the signature is serde's.
pub fn review_json(review: &Review, report: &str) -> Result<String, serde_json::Error> {
    let mut json = serde_json::to_string_pretty(&View::new(review, report))?;
    json.push('\n');
    Ok(escape::json(&json))
}

/// A comparison as one JSON object, as `docs/json.md` documents it.
///
/// # Errors
/// None for a comparison that [`crate::compare::compare`] made; the signature is serde's.
pub fn comparison_json(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let object = Object { schema: COMPARISON_SCHEMA, coldspot: env!("CARGO_PKG_VERSION"), comparison };
    let mut json = serde_json::to_string_pretty(&object)?;
    json.push('\n');
    Ok(escape::json(&json))
}

const COMPARISON_SCHEMA: &str = "coldspot.comparison/1";

#[derive(Serialize)]
struct Object<'a> {
    schema: &'static str,
    coldspot: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}
