//! What the host makes anew in each step: streams, events, graphs, library handles.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::call_rounds::{MAX_LISTED_BYTES, idle_within};
use super::steps::{are_rounds, steady};
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::steps::MIN_STEP_COUNT;
use crate::text::cut;
use crate::timeline::NameId;
use crate::timeline::api::ApiClass;

/// The part of the steps that have such calls, where they belong to each.
const LIKE_SHARE: f64 = 0.9;
/// So many names are listed at most.
const MAX_NAMES: usize = 8;
/// Calls that only ask have this in their names.
const ASKING: [&str; 2] = ["Get", "Occupancy"];

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, steps) = (context.timeline, steady(device));
    if steps.len() < MIN_STEP_COUNT || !device.knows_host {
        return;
    }
    let asking = context.called(|name| ASKING.iter().any(|part| name.contains(part)));
    let kinds = device.call_kinds(context).map(|(_, kind)| kind);
    let making = kinds.filter(|kind| kind.class == ApiClass::Init && !asking.contains(&kind.name));
    let mut calls: Vec<u32> = making.flat_map(|kind| kind.calls.within(&timeline.api.times, device.window())).collect();
    // Those of each kind are in order: this sort makes use of that.
    calls.sort_by_key(|call| timeline.api.times.start(*call as usize));
    let (mut of_names, mut having, mut own) = (BTreeMap::<NameId, usize>::new(), 0, Vec::new());
    let (mut last_step, are_rounds) = (None, are_rounds(device));
    for call in calls {
        let (times, name) = (timeline.api.times.at(call as usize), timeline.api.name[call as usize]);
        let step = steps.partition_point(|step| step.host.start <= times.start).checked_sub(1);
        // Where launches alone tell what repeats, all up to the next round is of one.
        let Some(step) = step.filter(|step| are_rounds || times.start < steps[*step].host.end) else { continue };
        having += usize::from(last_step.replace(step) != Some(step));
        *of_names.entry(name).or_default() += 1;
        own.push(times.clip(device.window()));
    }
    if having == 0 || (having as f64) < LIKE_SHARE * steps.len() as f64 {
        return;
    }
    facts.set("set_up_round_count", having as i64);
    facts.set("set_up_round_call_count", own.len() as i64);
    facts.set("set_up_round_calls", listed(&of_names, having, |name| timeline.name(name)));
    facts.set("set_up_round_idle_ns", idle_within(own.into_iter(), device));
}

/// `4 cudaStreamCreate, cudaEventCreate`: how often each comes in one of so many steps, what comes most first. What comes in few of them is left out.
fn listed<'names>(
    of_names: &BTreeMap<NameId, usize>,
    step_count: usize,
    text: impl Fn(NameId) -> &'names str,
) -> String {
    let each = of_names.iter().map(|(name, count)| ((count + step_count / 2) / step_count, text(*name)));
    let mut each: Vec<(usize, &str)> = each.filter(|(count, _)| *count > 0).collect();
    each.sort_unstable_by_key(|(count, name)| (Reverse(*count), *name));
    let words = each.into_iter().take(MAX_NAMES).map(|(count, name)| match count {
        1 => name.to_owned(),
        several => format!("{several} {name}"),
    });
    cut::to_bytes(&words.collect::<Vec<_>>().join(", "), MAX_LISTED_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_listed_as_often_as_a_step_has_them() {
        let of_names = [(0, 40), (1, 10), (2, 4), (3, 10)].into_iter().collect();
        let text = |name: NameId| ["create", "destroy", "seldom", "begin"][name as usize];
        assert_eq!(listed(&of_names, 10, text), "4 create, begin, destroy");
    }
}
