//! A comparison, as JSON and templates have it. Numbers of the two sides are pairs: base, then head.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ignores::CountedIgnore;
use super::review::Failure;
use super::{Gate, Source, Text, gates as gate_views, texts};
use crate::compare::{
    AccountChange, Basis, CallChange, Change, DeviceChange, FindingChange, Measure, Noise, OddRun, Outcome, SlowSteps,
    StateCounts, Time, TimeOf, Work,
};
use crate::gates::{self, GateOutcome, Gates};
use crate::report::{About, ComparisonReport};

const SCHEMA: &str = "coldspot.comparison/1";

#[derive(Serialize)]
pub(in crate::render) struct ComparisonView<'a> {
    schema: &'static str,
    coldspot: &'static str,
    base: &'a [String],
    head: &'a [String],
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'static str>,
    verdict: Text,
    work: WorkView<'a>,
    noise: NoiseView,
    odd: Vec<Odd<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<TimeView>,
    causes: Vec<Text>,
    devices: Vec<Device>,
    counts: Counts,
    findings: Vec<Finding<'a>>,
    gates: Vec<Gate<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_call_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_kernel_share: Option<f64>,
    kernels: Vec<Calls<'a>>,
    ranges: Vec<Calls<'a>>,
    ignored: Vec<CountedIgnore<'a>>,
    expired: Vec<CountedIgnore<'a>>,
    altered: Vec<Text>,
    errors: Vec<Failure<'a>>,
    about: BTreeMap<&'static str, &'a str>,
}

/// A run that is left out.
#[derive(Serialize)]
struct Odd<'a> {
    side: &'static str,
    name: &'a str,
    share: f64,
}

#[derive(Serialize)]
struct WorkView<'a> {
    basis: BasisView<'a>,
    differences: Vec<Text>,
    notes: Vec<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    replaced: Vec<[&'a str; 2]>,
    is_said_same: bool,
    launch_count: [i64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    step_count: Option<[i64; 2]>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum BasisView<'a> {
    Run,
    Unit { base_count: i64, head_count: i64 },
    Step { name: &'a str },
    None { because: Text },
}

#[derive(Serialize)]
struct NoiseView {
    base_runs: usize,
    head_runs: usize,
    floor_share: f64,
}

#[derive(Serialize)]
struct TimeView {
    of: &'static str,
    change: ChangeView,
    #[serde(skip_serializing_if = "Option::is_none")]
    told_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    median: Option<ChangeView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_steps: Option<[SlowView; 2]>,
}

#[derive(Serialize)]
struct SlowView {
    count: usize,
    of: usize,
    beyond_ns: i64,
}

#[derive(Serialize)]
struct ChangeView {
    base: MeasureView,
    head: MeasureView,
    difference: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<[f64; 2]>,
    is_change: bool,
}

#[derive(Serialize)]
struct MeasureView {
    median: i64,
    low: i64,
    high: i64,
}

#[derive(Serialize)]
struct Device {
    label: Text,
    window: ChangeView,
    accounts: Vec<Account>,
    parts: Vec<Account>,
    between_rounds_ns: [i64; 2],
}

#[derive(Serialize)]
struct Account {
    account: &'static str,
    of: &'static str,
    label: &'static str,
    time: ChangeView,
    share: [f64; 2],
}

#[derive(Serialize)]
struct Counts {
    new: usize,
    worse: usize,
    better: usize,
    gone: usize,
    unclear: usize,
    unchanged: usize,
}

#[derive(Serialize)]
struct Finding<'a> {
    state: &'static str,
    fingerprint: &'a str,
    rule: &'a str,
    title: &'a str,
    subject: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source<'a>>,
    once: bool,
    severity: &'static str,
    confidence: &'static str,
    summary: Text,
    advice: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gain: Option<ChangeView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a str>,
    is_known: bool,
}

#[derive(Serialize)]
struct Calls<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<usize>,
    count: [i64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<ChangeView>,
    total: ChangeView,
}

impl<'a> ComparisonView<'a> {
    pub(in crate::render) fn new(report: &'a ComparisonReport) -> Self {
        let comparison = &report.comparison;
        Self {
            schema: SCHEMA,
            coldspot: env!("CARGO_PKG_VERSION"),
            base: &comparison.base,
            head: &comparison.head,
            outcome: match comparison.outcome {
                Outcome::Faster => "faster",
                Outcome::Slower => "slower",
                Outcome::NoChange => "no_change",
                Outcome::NotComparable => "not_comparable",
            },
            gate: gate(&report.gates),
            verdict: (&comparison.verdict).into(),
            work: WorkView::new(&comparison.work),
            noise: NoiseView::new(comparison.noise),
            odd: comparison.odd.iter().map(Odd::new).collect(),
            time: comparison.time.as_ref().map(TimeView::new),
            causes: texts(&comparison.causes),
            devices: comparison.devices.iter().map(Device::new).collect(),
            counts: Counts::new(comparison.counts),
            findings: comparison.findings.iter().map(Finding::new).collect(),
            gates: gate_views(&report.gates),
            same_call_share: comparison.same_call_share,
            shared_kernel_share: comparison.shared_kernel_share,
            kernels: comparison.kernels.iter().map(Calls::new).collect(),
            ranges: comparison.ranges.iter().map(Calls::new).collect(),
            ignored: report.ignored.iter().map(CountedIgnore::of_ignored).collect(),
            expired: report.expired.iter().map(CountedIgnore::of_expired).collect(),
            altered: texts(&report.altered),
            errors: report.errors.iter().map(Failure::new).collect(),
            about: about(&report.about),
        }
    }
}

/// How all gates together stand; absent without any.
fn gate(gates: &Gates) -> Option<&'static str> {
    let is_undecided = |gate: &gates::Gate| matches!(gate.outcome, GateOutcome::Undecided { .. });
    match () {
        () if gates.gates.is_empty() => None,
        () if gates.has_failed() => Some("failed"),
        () if gates.lacks_answer() => Some("unknown"),
        () if gates.gates.iter().any(is_undecided) => Some("undecided"),
        () => Some("passed"),
    }
}

fn about(about: &About) -> BTreeMap<&'static str, &str> {
    let About { program, base, head, url } = about;
    let known = [("program", program), ("base_commit", base), ("head_commit", head), ("run_url", url)];
    known.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.as_str())).collect()
}

impl<'a> Odd<'a> {
    fn new(odd: &'a OddRun) -> Self {
        Self { side: odd.side.name(), name: &odd.name, share: odd.share }
    }
}

impl<'a> WorkView<'a> {
    fn new(work: &'a Work) -> Self {
        Self {
            basis: match &work.basis {
                Basis::Run => BasisView::Run,
                Basis::Unit { count } => BasisView::Unit { base_count: count.base, head_count: count.head },
                Basis::Step { name } => BasisView::Step { name },
                Basis::None { because } => BasisView::None { because: because.into() },
            },
            differences: texts(&work.differences),
            notes: texts(&work.notes),
            replaced: work.replaced.iter().map(|pair| [pair.old.as_str(), pair.new.as_str()]).collect(),
            is_said_same: work.is_said_same,
            launch_count: work.launch_count.into(),
            step_count: work.step_count.map(Into::into),
        }
    }
}

impl NoiseView {
    fn new(Noise { base_runs, head_runs, floor_share }: Noise) -> Self {
        Self { base_runs, head_runs, floor_share }
    }
}

impl TimeView {
    fn new(time: &Time) -> Self {
        let of = match time.of {
            TimeOf::Step => "step",
            TimeOf::Window => "window",
            TimeOf::Unit => "unit",
        };
        let slow = |slow: SlowSteps| SlowView { count: slow.count, of: slow.of, beyond_ns: slow.beyond_ns };
        Self {
            of,
            change: time.change.into(),
            told_share: time.told().share,
            median: time.median.map(ChangeView::from),
            slow_steps: time.slow.map(|sides| sides.map(slow).into()),
        }
    }
}

impl From<Change> for ChangeView {
    fn from(Change { base, head, difference, share, interval, is_change }: Change) -> Self {
        let interval = interval.map(|interval| [interval.low, interval.high]);
        Self { base: base.into(), head: head.into(), difference, share, interval, is_change }
    }
}

impl From<Measure> for MeasureView {
    fn from(Measure { median, low, high }: Measure) -> Self {
        Self { median, low, high }
    }
}

impl Device {
    fn new(device: &DeviceChange) -> Self {
        Self {
            label: (&device.label).into(),
            window: device.window.into(),
            accounts: device.accounts.iter().map(Account::new).collect(),
            parts: device.parts.iter().map(Account::new).collect(),
            between_rounds_ns: device.gap_ns.into(),
        }
    }
}

impl Account {
    fn new(change: &AccountChange) -> Self {
        Self {
            account: change.account,
            of: change.of,
            label: change.label,
            time: change.time.into(),
            share: change.share.into(),
        }
    }
}

impl Counts {
    fn new(StateCounts { new, worse, better, gone, unclear, unchanged }: StateCounts) -> Self {
        Self { new, worse, better, gone, unclear, unchanged }
    }
}

impl<'a> Finding<'a> {
    fn new(change: &'a FindingChange) -> Self {
        Self {
            state: change.state.name(),
            fingerprint: &change.fingerprint,
            rule: &change.rule,
            title: &change.title,
            subject: (&change.subject).into(),
            source: change.source.as_ref().map(Source::from),
            once: change.once,
            severity: change.severity.name(),
            confidence: change.confidence.name(),
            summary: (&change.summary).into(),
            advice: (&change.advice).into(),
            account: change.account.as_deref(),
            gain: change.gain.map(ChangeView::from),
            share: change.share.map(Into::into),
            because: change.because.as_deref(),
            is_known: change.is_known,
        }
    }
}

impl<'a> Calls<'a> {
    fn new(change: &'a CallChange) -> Self {
        Self {
            name: &change.name,
            was: change.was.as_deref(),
            device: change.device,
            count: change.count.into(),
            call: change.call.map(ChangeView::from),
            total: change.total.into(),
        }
    }
}
