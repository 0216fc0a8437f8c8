//! Calls that only make other work faster, and returned an error: the program works on without what they ask for.

use crate::facts::Entity;
use crate::timeline::columns::ApiError;
use crate::timeline::{Timeline, api};

/// How such calls begin, in the runtime and in the driver.
const HELPFUL: [&str; 4] = ["cudaMemPrefetch", "cuMemPrefetch", "cudaMemAdvise", "cuMemAdvise"];

/// Tells the one that failed most often, of errors that are the program's own, most first.
pub(super) fn extract(timeline: &Timeline, errors: &[&ApiError], facts: &mut Entity) {
    let is_helpful = |error: &&&ApiError| {
        let name = timeline.name(error.call);
        HELPFUL.iter().any(|begin| name.starts_with(begin))
    };
    let Some(refused) = errors.iter().find(is_helpful) else { return };
    facts.set("refused_call", timeline.name(refused.call));
    facts.set("refused_call_count", refused.count as i64);
    facts.set_some("refused_call_error", api::error_name(refused.code));
}
