//! A review as JSON.

use super::view::View;
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
