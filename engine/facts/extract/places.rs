//! The line of code that most of a kernel, of copies or of waits comes from, of reports with call stacks.

use rustc_hash::FxHashMap;

use super::copies::group_name;
use super::tally::{copy_key, kernel_name};
use super::{Context, DeviceContext, Parents};
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::ledger::OpKind;
use crate::timeline::api::ApiClass;
use crate::timeline::interval::Interval;

/// A line with a smaller part of the time is not where it comes from.
const LEAST_SHARE: f64 = 0.5;

/// Time by place; without one for calls whose stack does not tell.
#[derive(Debug, Default)]
struct Times(FxHashMap<Option<u32>, i128>);

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, facts: &mut Facts) {
    if context.timeline.call_locations.is_empty() {
        return;
    }
    let mut times: FxHashMap<(EntityKind, String), Times> = FxHashMap::default();
    of_ops(context, device, &mut times);
    of_waits(context, device, &mut times);
    let prefix = facts.get(parents.device).key.clone();
    let found: Vec<(EntityId, (u32, f64))> = facts
        .iter()
        .filter(|(id, _)| facts.related(*id, EntityKind::Device) == Some(parents.device))
        .filter_map(|(id, entity)| {
            let name = entity.key.strip_prefix(&prefix)?.strip_prefix('/')?;
            Some((id, times.get(&(entity.kind, name.to_owned()))?.main()?))
        })
        .collect();
    for (id, (place, share)) in found {
        set(context, place, share, facts.get_mut(id));
    }
}

fn of_ops(context: &Context<'_>, device: &DeviceContext, times: &mut FxHashMap<(EntityKind, String), Times>) {
    let timeline = context.timeline;
    for op in device.ops.in_window(timeline) {
        let key = match kernel_name(timeline, op) {
            Some(name) => (EntityKind::Kernel, timeline.name(name).to_owned()),
            None if op.kind == OpKind::Copy => (EntityKind::CopyGroup, group_name(timeline, copy_key(timeline, op))),
            None => continue,
        };
        let place = op.call(timeline).and_then(|call| timeline.call_locations.of_call(call));
        times.entry(key).or_default().add(place, op.interval().clip(device.window()));
    }
}

fn of_waits(context: &Context<'_>, device: &DeviceContext, times: &mut FxHashMap<(EntityKind, String), Times>) {
    let (timeline, window) = (context.timeline, device.window());
    for process in &device.processes {
        let pid = timeline.processes.get(*process as usize).map_or(0, |process| process.pid);
        for call in context.calls_of(*process, Some(window)) {
            if !matches!(context.calls.class_of(timeline, call), ApiClass::Wait(_)) {
                continue;
            }
            let api = timeline.name(timeline.api.name[call as usize]);
            let inside = timeline.api.times.at(call as usize).clip(window);
            let key = (EntityKind::SyncGroup, format!("{pid}/{api}"));
            times.entry(key).or_default().add(timeline.call_locations.of_call(call), inside);
        }
    }
}

impl Times {
    fn add(&mut self, place: Option<u32>, interval: Interval) {
        *self.0.entry(place).or_default() += i128::from(interval.len_ns());
    }

    /// The place that most of the time comes from, with its share of all of it.
    fn main(&self) -> Option<(u32, f64)> {
        let whole: i128 = self.0.values().sum();
        let placed = self.0.iter().filter_map(|(place, time)| Some(((*place)?, *time)));
        let (place, time) = placed.max_by_key(|(place, time)| (*time, std::cmp::Reverse(*place)))?;
        let share = time as f64 / whole as f64;
        (whole > 0 && share >= LEAST_SHARE).then_some((place, share))
    }
}

fn set(context: &Context<'_>, place: u32, share: f64, entity: &mut Entity) {
    let Some(place) = context.timeline.call_locations.get(place) else { return };
    entity.set("source_file", place.file.as_str());
    entity.set("source_line", i64::from(place.line));
    entity.set("source_share", share);
    entity.set("is_source_in_project", place.is_in_project);
}
