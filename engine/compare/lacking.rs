//! What one side was recorded without: what a rule finds in it, or no longer finds, is the recording's doing.

use std::collections::BTreeSet;

use super::runs::{Run, Runs};
use super::sides::{Side, Sides};
use crate::facts::{Entity, EntityKind, FactValue, Facts};
use crate::findings::Finding;
use crate::ledger::Account;
use crate::source::KERNELS_FORMAT_ID;
use crate::text::spans::Sentence;
use crate::timeline::Capability;

/// Rules that are named of those that a side lacks facts for.
const MAX_NAMED_RULES: usize = 5;

/// What the recordings of a side lack, and those of the other hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lacking {
    /// What was not recorded, for readers.
    pub events: Vec<&'static str>,
    /// Rules that could not be judged at all for want of other facts, by id.
    pub rules: Vec<String>,
    capabilities: Vec<Capability>,
    /// Whether pages of Nsight Compute that were read with it are not whole.
    has_incomplete_page: bool,
    /// Whether the activities of idle time are told by it.
    splits_idle: bool,
}

/// What a recording may hold or not, whatever the program does.
struct Part {
    /// What rules call it; absent for what no fact is said to need.
    capability: Option<Capability>,
    what: &'static str,
    /// Whether it tells what the host does in idle time: without it that is filed under something else.
    splits_idle: bool,
    /// Whether a run holds it; `None` where nothing tells.
    is_held: fn(&Facts) -> Option<bool>,
}

impl Part {
    const fn new(capability: Capability, splits_idle: bool, is_held: fn(&Facts) -> Option<bool>) -> Self {
        Self { capability: Some(capability), what: capability.what(), splits_idle, is_held }
    }
}

const PARTS: [Part; 9] = [
    Part::new(Capability::CudaApi, true, |facts| counts(facts, "api_call_count")),
    Part::new(Capability::Nvtx, false, |facts| counts(facts, "range_count")),
    Part::new(Capability::OsRuntime, true, |facts| counts(facts, "os_call_count")),
    Part::new(Capability::GpuMetrics, false, |facts| counts(facts, "metric_sample_count")),
    Part::new(Capability::CpuSamples, true, |facts| is_true(facts.run()?.get("cpu_samples_captured")?)),
    Part::new(Capability::DeviceInfo, false, |facts| Some(!of_devices(facts, |device| !tells_itself(device)))),
    Part::new(Capability::KernelProfile, false, has_profiles),
    Part::new(Capability::AllocatorMemory, false, |facts| {
        Some(of_devices(facts, |device| device.get("memory_allocated_peak_bytes").is_some()))
    }),
    Part {
        capability: None,
        what: "the scheduler's record of threads",
        splits_idle: true,
        is_held: |facts| {
            // Whose threads they are, calls of CUDA tell.
            counts(facts, "api_call_count").filter(|is_held| *is_held)?;
            let is_captured = |device: &Entity| device.get("scheduler_captured") == Some(&FactValue::Bool(true));
            Some(of_devices(facts, is_captured))
        },
    },
];

fn counts(facts: &Facts, fact: &str) -> Option<bool> {
    Some(facts.run()?.int(fact)? > 0)
}

const fn is_true(value: &FactValue) -> Option<bool> {
    match value {
        FactValue::Bool(is) => Some(*is),
        _ => None,
    }
}

fn tells_itself(device: &Entity) -> bool {
    device.text("name").is_some_and(|name| !name.is_empty()) && device.get("sm_count").is_some()
}

fn of_devices(facts: &Facts, has: impl Fn(&Entity) -> bool) -> bool {
    facts.of_kind(EntityKind::Device).any(|(_, device)| has(device))
}

/// Counters that were joined to a recording; of kernels alone there is nothing else.
fn has_profiles(facts: &Facts) -> Option<bool> {
    let run = facts.run()?;
    Some(
        run.text("format") == Some(KERNELS_FORMAT_ID) || run.int("joined_profile_count").is_some_and(|count| count > 0),
    )
}

/// What each side lacks that the other holds: in any of its runs, which are judged together.
pub(super) fn lacking(sides: Sides<Runs<'_>>) -> Sides<Lacking> {
    let held = sides.map(|side| PARTS.map(|part| Held::of(&part, side)));
    let unjudged = sides.map(unjudged);
    Sides::of(|side| {
        let other = side.other();
        let has_incomplete_page = sides.get(side).runs.iter().any(|run| run.facts.incomplete_profiles().is_some());
        let mut lacking = Lacking { has_incomplete_page, ..Lacking::default() };
        for ((part, own), others) in PARTS.iter().zip(held.get(side)).zip(held.get(other)) {
            if own.is_lacking && others.is_held {
                lacking.events.push(part.what);
                lacking.capabilities.extend(part.capability);
                lacking.splits_idle |= part.splits_idle;
            }
        }
        let is_of_these = |needs: &[Capability]| needs.iter().any(|needs| lacking.capabilities.contains(needs));
        let rules = unjudged
            .get(side)
            .iter()
            .filter(|(id, needs)| !unjudged.get(other).iter().any(|(known, _)| known == id) && !is_of_these(needs));
        let rules: BTreeSet<&str> = rules.map(|(id, _)| *id).collect();
        lacking.rules = rules.into_iter().map(str::to_owned).collect();
        lacking
    })
}

/// Whether runs of a side lack a part, and whether some hold it.
#[derive(Clone, Copy, Default)]
struct Held {
    is_lacking: bool,
    is_held: bool,
}

impl Held {
    fn of(part: &Part, side: Runs<'_>) -> Self {
        let told = || side.runs.iter().filter_map(|run| (part.is_held)(&run.facts));
        Self { is_lacking: told().any(|is_held| !is_held), is_held: told().any(|is_held| is_held) }
    }
}

/// The rules that could be judged for nothing in a run, for want of facts, with what brings these.
fn unjudged(side: Runs<'_>) -> Vec<(&str, &[Capability])> {
    let groups = side.runs.iter().flat_map(|run: &&Run| &run.review.unjudged);
    let of_group = groups.flat_map(|group| group.rules.iter().map(|rule| (rule, group.needs.as_slice())));
    of_group.filter(|(rule, _)| rule.judged_count == 0).map(|(rule, needs)| (rule.id.as_str(), needs)).collect()
}

impl Lacking {
    /// Whether what a finding says rests on it.
    fn concerns(&self, finding: &Finding, account: Option<Account>) -> bool {
        let is_activity = account.and_then(Account::parent) == Some(Account::Idle);
        finding.rests_on.iter().any(|needs| self.capabilities.contains(needs))
            || (self.splits_idle && is_activity)
            || self.lacks_rows_of(finding)
    }

    /// Whether a finding rests on pages that are not whole.
    fn lacks_rows_of(&self, finding: &Finding) -> bool {
        self.has_incomplete_page && finding.rests_on.contains(&Capability::KernelProfile)
    }

    /// Why it is not known what became of a finding that it concerns.
    pub(super) fn why(&self, finding: &Finding, side: Side) -> String {
        let side = side.name();
        match self.lacks_rows_of(finding) && !self.capabilities.contains(&Capability::KernelProfile) {
            true => format!("the page of Nsight Compute that was read with the {side} is not whole"),
            false => format!("the {side} was recorded without what it rests on"),
        }
    }

    /// Why more may be found than is; `None` where nothing says so.
    pub(crate) fn open(&self, side: Side) -> Option<String> {
        let (side, other) = (side.name(), side.other().name());
        let page = || {
            let words = format!("the page of Nsight Compute that was read with the {side} is not whole");
            self.has_incomplete_page.then_some(words)
        };
        let events =
            self.named().map(|events| format!("the {side} was recorded without {events}, the {other} with it"));
        Some(format!("{}: what would be found there is not known", events.or_else(page)?))
    }

    /// `CUDA API calls and ranges (NVTX)`; `None` where nothing lacks.
    pub(crate) fn named(&self) -> Option<String> {
        let (last, others) = self.events.split_last()?;
        Some(if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) })
    }
}

impl Sides<Lacking> {
    /// Whether idle time is told apart by the same records on both sides.
    pub(crate) fn splits_idle_alike(&self) -> bool {
        self.iter().all(|lacking| !lacking.splits_idle)
    }

    /// Whether one side alone says what its GPUs are: then nothing shows that they are those of the other.
    pub(crate) fn hides_device(&self) -> bool {
        self.iter().any(|lacking| lacking.capabilities.contains(&Capability::DeviceInfo))
    }

    /// The side that lacks what a finding rests on; `None` where the recordings are alike in that.
    pub(super) fn of_finding(&self, finding: &Finding, account: Option<Account>, is_in: Sides<bool>) -> Option<Side> {
        let is_lacking = |side: &Side| {
            let lacking = self.get(*side);
            // A rule that says something of a side was judged there.
            let is_unjudged = !is_in.get(*side) && lacking.rules.contains(&finding.rule);
            is_unjudged || lacking.concerns(finding, account)
        };
        [Side::Head, Side::Base].into_iter().find(is_lacking)
    }

    /// A line for each side that was recorded otherwise.
    pub(super) fn notes(&self) -> Vec<Sentence> {
        let pairs = [(Side::Base, Side::Head), (Side::Head, Side::Base)];
        let lines = pairs.into_iter().flat_map(|(side, other)| {
            let lacking = self.get(side);
            let (side, other) = (side.name(), other.name());
            let events = lacking.named().map(|events| {
                let words =
                    format!("the {side} was recorded without {events}: what rests on that is neither new nor gone");
                Sentence::default().own(&words)
            });
            let others = lacking.rules.split_first().filter(|_| lacking.events.is_empty());
            let rules = others.map(|(first, rules)| {
                let words =
                    Sentence::default().own(&format!("rules that judge the {other} lack facts in the {side}: "));
                let named = rules.iter().take(MAX_NAMED_RULES - 1);
                let words = named.fold(words.code(first), |words, rule| words.own(", ").code(rule));
                words.own(if rules.len() >= MAX_NAMED_RULES { ", …" } else { "" })
            });
            let page = lacking.has_incomplete_page.then(|| {
                let words = format!(
                    "the page of Nsight Compute that was read with the {side} is not whole: what rests on it is neither new nor gone"
                );
                Sentence::default().own(&words)
            });
            events.into_iter().chain(rules).chain(page)
        });
        lines.collect()
    }
}
