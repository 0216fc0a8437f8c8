//! A comparison as a comment on a forge.

use serde::Serialize;

use super::json::ComparisonView;
use super::markdown::{COMPARE, TemplateError, Templates, failed};
use crate::report::ComparisonReport;

/// Comments longer than this many bytes are cut: the smallest limit of the forges, with room for what a bot adds.
const MAX_BYTES: usize = 65_000;
/// How many lines each list may have: as many as anybody reads, and fewer until the comment fits.
const LINES: [usize; 5] = [30, 15, 8, 4, 2];

#[derive(Serialize)]
struct Page<'a> {
    #[serde(flatten)]
    comparison: &'a ComparisonView<'a>,
    /// The most lines of a list.
    lines: usize,
    /// Whether the comment was cut to fit.
    is_cut: bool,
    longest: usize,
}

impl Templates {
    /// A comparison as Markdown that fits a comment: shorter lists where it would not, and a note that says so.
    pub(super) fn comparison(&self, report: &ComparisonReport) -> Result<String, TemplateError> {
        let comparison = &ComparisonView::new(report);
        let template = self.env.get_template(COMPARE).map_err(failed)?;
        let mut text = String::new();
        for (attempt, lines) in LINES.into_iter().enumerate() {
            let page = Page { comparison, lines, is_cut: attempt > 0, longest: MAX_BYTES };
            text = template.render(minijinja::value::Serde(&page)).map_err(failed)?;
            if text.len() < MAX_BYTES {
                break;
            }
        }
        Ok(text)
    }
}
