//! A change of kernels is played for all kernels of a device at once. Where several rules advise it, each of other kernels, what it
//! wins is theirs in the proportion of what they claim.

use std::collections::BTreeMap;

use super::occurrence::{Context, Occurrence};
use crate::facts::{EntityId, EntityKind};
use crate::replay::Change;

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
}
