//! Where the time of a device's window went, and how much of it all findings together can claim.

use std::collections::BTreeMap;

use super::is_of_kernels_alone;
use super::kernel_work::{self, KernelWork};
use super::occurrence::{Context, Occurrence};
use super::outside::outside;
use super::part::{Part, ns_of, parts_of, split, unaccounted};
use super::products::products;
use super::scorecard::{Score, Scorecard};
use super::subject::device_label;
use super::together::Together;
use super::work::{self, GainStep, PhaseWork, StepWork};
use super::work_ranges::work_ranges;
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::ledger::{Account, Breakdown};
use crate::text::spans::Sentence;

/// One device of a review.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceReview {
    /// The device, in the facts that were reviewed.
    pub entity: EntityId,
    /// Its key in the facts.
    pub key: String,
    /// Its name for readers: `GPU 0 (NVIDIA A100)`.
    pub label: Sentence,
    /// When the window begins, since the start of the capture; absent when the report does not tell.
    pub window_start_ns: Option<i64>,
    /// The length of the window.
    pub window_ns: i64,
    /// Time in which anything runs.
    pub busy_ns: i64,
    /// Time in which a kernel that is not communication runs.
    pub compute_ns: i64,
    /// What the device did: parts that sum to the window, in the order of precedence, none of them empty.
    pub parts: Vec<Part>,
    /// How its idle time began: parts that sum to the idle time; empty when the capture does not tell.
    pub triggers: Vec<Part>,
    /// The kernels that take most of the window, the longest first; at most five.
    pub kernels: Vec<KernelWork>,
    /// The steps that its work repeats; absent where nothing tells them.
    pub steps: Option<StepWork>,
    /// The step that gains are told of, where it is another; absent without a replay.
    pub gain_step: Option<GainStep>,
    /// What the advised changes win together: told of the device that most is said of, where there are several of them. Absent
    /// without a recording to play again, as in facts files.
    pub together: Option<Together>,
    /// The phase that the window is; absent where it is the whole.
    pub phase: Option<PhaseWork>,
    /// What of the recording lies outside of its work; absent where that covers nearly all of it.
    pub outside: Option<Sentence>,
    /// What matrix products take together; absent where that is little, or one kernel takes most of it.
    pub products: Option<Sentence>,
    /// Which of the program's own ranges launch most of what it does; absent where none stands out.
    pub work_ranges: Option<Sentence>,
    /// The most that all findings together can gain here: never more than is in the accounts that they draw on.
    pub recoverable_ns: i64,
    /// Its scorecard.
    pub scores: Vec<Score>,
}

impl Context<'_> {
    /// Where the time of each device went that ran work.
    pub(super) fn devices(&self, scorecard: &Scorecard, shown: &[&Occurrence<'_>]) -> Vec<DeviceReview> {
        let devices = self.facts.of_kind(EntityKind::Device);
        // Of another accelerator nothing is known to be a kernel, and no target holds.
        let is_judged = !is_of_other_accelerator(self.facts);
        devices
            .filter(|(_, device)| device.int("window_ns").is_some_and(|window| window > 0))
            .map(|(id, device)| DeviceReview {
                recoverable_ns: recoverable(self.facts, id, shown),
                scores: if is_of_kernels_alone(self.facts) || !is_judged {
                    Vec::new()
                } else {
                    scorecard.of(device, self.facts.is_damaged())
                },
                kernels: match device.int("window_ns").filter(|_| is_judged) {
                    Some(window_ns) => kernel_work::kernels(self.facts, id, window_ns),
                    None => Vec::new(),
                },
                phase: work::phase(self.facts, id),
                outside: outside(self.facts, id),
                ..review_of(id, device)
            })
            .collect()
    }
}

/// Whether what was recorded ran on an accelerator that is no GPU.
pub(super) fn is_of_other_accelerator(facts: &Facts) -> bool {
    facts.run().is_some_and(|run| run.text("other_accelerator").is_some())
}

/// All but the scorecard, the kernels and what can be gained.
fn review_of(entity: EntityId, device: &Entity) -> DeviceReview {
    let window_ns = device.int("window_ns").unwrap_or(0);
    let idle_ns = ns_of(device, Account::Idle);
    let mut parts = parts_of(device, window_ns);
    let known_ns: i64 = parts.iter().map(|part| part.ns).sum();
    parts.extend(unaccounted(window_ns - known_ns, window_ns));
    DeviceReview {
        entity,
        key: device.key.clone(),
        label: device_label(device),
        window_start_ns: device.int("window_start_ns"),
        window_ns,
        busy_ns: device.int("busy_ns").unwrap_or(window_ns - idle_ns),
        compute_ns: ns_of(device, Account::Compute),
        triggers: split(device, Breakdown::Trigger, window_ns).unwrap_or_default(),
        parts,
        kernels: Vec::new(),
        steps: work::steps(device),
        gain_step: work::gain_step(device),
        together: None,
        phase: None,
        outside: None,
        products: products(device, window_ns),
        work_ranges: work_ranges(device, window_ns),
        recoverable_ns: 0,
        scores: Vec::new(),
    }
}

/// Claims on one account share it, and accounts that are parts of another share that one. Of what another finding explains only
/// the rest counts: the sum never counts a nanosecond twice, as far as accounts and relations tell.
fn recoverable(facts: &Facts, id: EntityId, occurrences: &[&Occurrence<'_>]) -> i64 {
    let device = facts.get(id);
    let window_ns = device.int("window_ns").unwrap_or(0);
    let is_only = facts.of_kind(EntityKind::Device).count() == 1;
    let mut claims: BTreeMap<Account, i64> = BTreeMap::new();
    // What goes with a claim is time of other accounts: the account claimed does not bound it.
    let mut beside_ns = 0_i64;
    for occurrence in occurrences {
        let on = facts.related(occurrence.entity, EntityKind::Device);
        if (on == Some(id) || (on.is_none() && is_only))
            && let (Some(ns), Some(gain)) = (occurrence.own_ns, &occurrence.gain)
            && let Some(account) = Account::parse(&gain.account)
        {
            let claim = claims.entry(account).or_default();
            let of_account_ns = (gain.of_account_share() * ns as f64).round() as i64;
            *claim = claim.saturating_add(of_account_ns);
            beside_ns = beside_ns.saturating_add(ns.saturating_sub(of_account_ns));
        }
    }
    let mut tops: BTreeMap<Account, i64> = BTreeMap::new();
    for (account, claim) in claims {
        let held = claim.min(ns_of(device, account).max(0));
        let top = tops.entry(account.top()).or_default();
        *top = top.saturating_add(held);
    }
    let total: i64 = tops.into_iter().map(|(account, claim)| claim.min(ns_of(device, account).max(0))).sum();
    total.saturating_add(beside_ns).min(window_ns)
}
