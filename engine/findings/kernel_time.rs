//! A change of kernels is played for all kernels of a device at once. Where several rules advise it, each of other kernels, what it
//! wins is theirs in the proportion of what they claim, and no more than what the kernels take that they name.

use std::collections::BTreeMap;

use super::gain::recording_stretch;
use super::occurrence::{Context, Occurrence};
use crate::facts::{EntityId, EntityKind};
use crate::replay::{Change, spread};

/// Gives findings about kernels their part of what the change that they advise wins of a device.
pub(super) fn share_out(context: &Context<'_>, occurrences: &mut [Occurrence<'_>]) {
    let played = |this: &Occurrence<'_>| -> Option<(EntityId, Change)> {
        let is_kernel = matches!(context.facts.get(this.entity).kind, EntityKind::Kernel | EntityKind::LaunchShape);
        let device = context.facts.related(this.entity, EntityKind::Device)?;
        let change = this.gain.as_ref()?.replayed?.change;
        is_kernel.then_some((device, change))
    };
    let mut claims: BTreeMap<(EntityId, Change), BTreeMap<usize, i64>> = BTreeMap::new();
    for this in occurrences.iter() {
        if let Some((key, claimed_ns)) = played(this).zip(this.claimed_ns()) {
            let of_rule = claims.entry(key).or_default().entry(this.rule).or_default();
            *of_rule = of_rule.saturating_add(claimed_ns);
        }
    }
    for this in occurrences.iter_mut() {
        let Some(of_rules) = played(this).and_then(|key| claims.get(&key)).filter(|of_rules| of_rules.len() > 1) else {
            continue;
        };
        let all_ns = of_rules.values().copied().fold(0, i64::saturating_add);
        let own_ns = of_rules.get(&this.rule).copied().unwrap_or(0);
        if all_ns > 0 {
            this.take_part(own_ns as f64 / all_ns as f64);
        }
    }
    bound_by_kernels(context, occurrences);
}

/// Larger grids win no more than the kernels take that a rule names: the change was played for others as well.
fn bound_by_kernels(context: &Context<'_>, occurrences: &mut [Occurrence<'_>]) {
    let facts = context.facts;
    let named = |this: &Occurrence<'_>| -> Option<(EntityId, f64)> {
        let is_of_grids = this.gain.as_ref()?.replayed?.change == Change::FullGrid;
        let device = facts.related(this.entity, EntityKind::Device).filter(|_| is_of_grids)?;
        let device_facts = facts.get(device);
        let window_ns = device_facts.int("window_ns").filter(|ns| *ns > 0)?;
        // Steps that hold a part of the window only may hold all of its kernels.
        let covered_share = device_facts.number("replay_covered_share").filter(|share| *share > 0.0).unwrap_or(1.0);
        // The window holds steps as recorded; kernels take as long without the profiler, and more of a step that is shorter.
        let shorter = recording_stretch(device_facts);
        let kernel_ns = facts.get(this.entity).int("attributed_ns")?.max(this.claimed_ns()?);
        Some((device, shorter * kernel_ns as f64 / window_ns as f64 / covered_share))
    };
    let mut shares: BTreeMap<(EntityId, usize), f64> = BTreeMap::new();
    for this in occurrences.iter() {
        if let Some((device, share)) = named(this) {
            *shares.entry((device, this.rule)).or_default() += share;
        }
    }
    for this in occurrences.iter_mut() {
        let of_rule = named(this).and_then(|(device, _)| shares.get(&(device, this.rule)));
        let most = of_rule.zip(this.gain.as_ref().map(|gain| gain.share));
        // Kernels may take as much longer in another run as the gain counts.
        let most = most.map(|(most, share)| (*most * spread(&[Change::FullGrid]), share));
        if let Some((most, share)) = most.filter(|(most, share)| most < share) {
            this.take_part(most / share);
        }
    }
}
