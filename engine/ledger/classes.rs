//! What calls are, by their names.

use super::activity::Activity;
use crate::timeline::Timeline;
use crate::timeline::api::{ApiClass, classify};

/// The class of each name that a call has.
pub(super) fn classes(timeline: &Timeline) -> Vec<ApiClass> {
    let mut class = vec![ApiClass::Other; timeline.names.len()];
    let mut is_known = vec![false; timeline.names.len()];
    for name in &timeline.api.name {
        if let Some(is_known) = is_known.get_mut(*name as usize).filter(|is_known| !**is_known) {
            *is_known = true;
            class[*name as usize] = classify(timeline.name(*name));
        }
    }
    class
}

/// What a thread does in a call of a class.
pub(super) const fn activity_of(class: ApiClass) -> Activity {
    match class {
        ApiClass::Wait(_) => Activity::Sync,
        ApiClass::Query => Activity::Query,
        ApiClass::CopyBlocking => Activity::CopyCall,
        ApiClass::Allocate => Activity::Allocate,
        ApiClass::Load => Activity::Load,
        ApiClass::Init => Activity::Init,
        ApiClass::Launch | ApiClass::CopyAsync | ApiClass::Memset | ApiClass::Other => Activity::Launch,
    }
}
