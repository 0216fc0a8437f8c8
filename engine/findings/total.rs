//! What one rule's findings on one GPU can gain together.

use super::Gain;
use super::rank::Occurrence;
use crate::facts::{EntityKind, Facts};
use crate::ledger::Account;

/// The gain of the first occurrence of a group with those of the others on its device: never more than the account that
/// they draw on, nor than the window.
pub(super) fn gain(facts: &Facts, occurrences: &[Occurrence<'_>], group: &[usize]) -> Option<Gain> {
    let best = group.first().map(|place| &occurrences[*place])?;
    let own = best.gain.as_ref()?;
    let Some(device) = facts.related(best.entity, EntityKind::Device) else { return Some(own.clone()) };
    let beside = group.iter().map(|place| &occurrences[*place]).filter(|other| {
        facts.related(other.entity, EntityKind::Device) == Some(device)
            && other.gain.as_ref().is_some_and(|gain| gain.account == own.account)
    });
    let sum = beside.filter_map(Occurrence::recoverable_ns).fold(0_i64, i64::saturating_add);
    let held = Account::parse(&own.account).and_then(|account| facts.get(device).int(account.fact()));
    let held = held.unwrap_or(i64::MAX);
    let recoverable_ns = sum.min(held).clamp(own.recoverable_ns, own.window_ns);
    let rest = own.window_ns - recoverable_ns;
    Some(Gain {
        recoverable_ns,
        share: recoverable_ns as f64 / own.window_ns as f64,
        speedup_ceiling: (rest > 0).then(|| own.window_ns as f64 / rest as f64),
        ..own.clone()
    })
}
