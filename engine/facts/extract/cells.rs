//! Facts of recurrent cells that a loop calls one element of a sequence at a time.

use super::DeviceContext;
use crate::facts::Entity;
use crate::replay::cells::looped_cells;
use crate::timeline::Timeline;

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let is_own = |thread| device.is_of(timeline.process_of(thread));
    if let Some((cell, count)) = looped_cells(timeline, is_own, device.window()) {
        facts.set("recurrent_cell_count", count as i64);
        facts.set("recurrent_cell", cell);
    }
}
