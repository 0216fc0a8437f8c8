//! What a finding can gain, and how that is said.

use super::work::{self, GainUnit, Repeated};
use crate::facts::Entity;
use crate::replay::{Change, STEP_FACT};
use crate::rules::outcome::Replayed;
use crate::text::number::{duration, percent};

/// The most that a finding can gain, of one device's window.
#[derive(Debug, Clone, PartialEq)]
pub struct Gain {
    /// Nanoseconds that may be recovered.
    pub recoverable_ns: i64,
    /// Those of them that are no part of the account, but go with what it holds; 0 of most findings.
    pub beside_ns: i64,
    /// The window that they are part of.
    pub window_ns: i64,
    /// The same as a share of that window; what a replay says is a share of a step, or of a round.
    pub share: f64,
    /// How much faster the window could pass: T / (T - R). Absent where that says nothing, as next to nothing of the window
    /// would be left.
    pub speedup_ceiling: Option<f64>,
    /// The account of the ledger that it draws on.
    pub account: String,
    /// Why it is a bound.
    pub basis: String,
    /// What the replay of the steady state says: then the gain is one of the steady state. Absent where a claim on the account
    /// bounds the gain.
    pub replayed: Option<ReplayedGain>,
    /// Where findings before it claim idle time that it claims as well: with them it is no more than this. Absent elsewhere, and
    /// where the steady state is played again: see [`ReplayedGain::beyond_ns`].
    pub shared_ns: Option<i64>,
}

/// What a change gains of a step, by replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayedGain {
    /// The change.
    pub change: Change,
    /// What a step is.
    pub unit: GainUnit,
    /// What of the steady state such rounds take, a share: nothing is known to be won of the rest. Of steps what ordinary ones take.
    pub covered_share: f64,
    /// A step, nanoseconds.
    pub step_ns: i64,
    /// What a plain fix brings, nanoseconds a step.
    pub expected_ns: i64,
    /// The same as a share of the step.
    pub expected_share: f64,
    /// What of it is left, nanoseconds a step, where the findings of the device that come before it are mended already. Absent where
    /// that is nearly all of it, or is not played.
    pub beyond_ns: Option<i64>,
    /// The one step that nearly all of what the finding is about lies in, where there are several: its number, and how many there
    /// are.
    pub only_step: Option<(i64, i64)>,
    /// Whether a part of what the finding is about lies beside the rounds: what a round wins is not all that there is to win.
    pub is_beside_rounds: bool,
}

/// Where rounds take less than this of the steady state, or some of what a finding is about lies beside them, what is said of one is
/// said with how much they take.
const MOSTLY_ROUNDS: f64 = 0.5;

impl ReplayedGain {
    /// What it is a gain of: `step`, or `round, and rounds take 31 % of the window`.
    pub fn unit_and_rest(&self) -> String {
        let unit = self.unit.name();
        if let Some((number, count)) = self.only_step {
            return format!("{unit}, nearly all of it in 1 of {count} {unit}s (number {number})");
        }
        let least = if self.is_beside_rounds { work::NEARLY_ALL_COVERED } else { MOSTLY_ROUNDS };
        if self.covered_share >= least {
            return unit.to_owned();
        }
        let those = if self.unit == GainUnit::Step { "such steps" } else { "rounds" };
        format!("{unit}, and {those} take {} of the window", percent(self.covered_share))
    }

    /// What is left of it beyond the findings before it, as a share of the step.
    pub fn beyond_share(&self) -> Option<f64> {
        self.beyond_ns.map(|beyond_ns| beyond_ns as f64 / self.step_ns.max(1) as f64)
    }
}

/// How much longer the steps of a device's window are than those that gains are told of, which recording costs nothing: what takes as
/// long in both is so much more of these.
pub(super) fn recording_stretch(device: &Entity) -> f64 {
    let lengths = device.int("replay_recorded_step_ns").zip(device.int(STEP_FACT).filter(|ns| *ns > 0));
    lengths.map_or(1.0, |(recorded_ns, step_ns)| (recorded_ns as f64 / step_ns as f64).max(1.0))
}

/// Less of a step is not worth a number.
pub(super) const LEAST_EXPECTED_SHARE: f64 = 0.001;
/// With less than this left of a window, its ratio to the window is that of an accident.
const LEAST_REST_NS: i64 = 1_000_000;
/// Nor does a larger ratio say more than that nearly all of the window may be recovered.
const MOST_SPEEDUP: i64 = 10;

impl Gain {
    /// Whether next to all of the steady state was played again without its cause, and takes no less even at best.
    pub(super) fn is_nothing_played(&self) -> bool {
        let is_played = self.replayed.is_some_and(|replayed| replayed.covered_share >= work::NEARLY_ALL_COVERED);
        is_played && self.share < LEAST_EXPECTED_SHARE
    }

    /// Whether it is one of steps that were played again: then it comes with each of them, however few were recorded.
    pub(super) fn is_of_step(&self) -> bool {
        self.replayed.is_some_and(|replayed| replayed.expected_ns > 0)
    }

    /// Of what a replay says of steps, or of rounds: in the time of a device that those take.
    pub(super) fn replayed(replayed: &Replayed, repeated: Repeated, account: String, basis: String) -> Self {
        let Repeated { unit, steady_ns, covered_share } = repeated;
        let (step_ns, expected_ns, change) = (replayed.step_ns, replayed.expected_ns, replayed.change);
        let share_of = |ns: i64| ns as f64 / step_ns.max(1) as f64;
        let (share, expected_share) = (share_of(replayed.ceiling_ns), share_of(expected_ns));
        let recoverable_ns = (share * covered_share * steady_ns as f64) as i64;
        let replayed = ReplayedGain {
            change,
            unit,
            covered_share,
            step_ns,
            expected_ns,
            expected_share,
            beyond_ns: None,
            only_step: None,
            is_beside_rounds: false,
        };
        Self { share, replayed: Some(replayed), ..Self::new(recoverable_ns, steady_ns, account, basis) }
    }

    /// A part of it.
    pub(super) fn part(&self, share: f64) -> Self {
        let of = |ns: i64| (ns as f64 * share) as i64;
        let replayed = self.replayed.map(|replayed| ReplayedGain {
            expected_ns: of(replayed.expected_ns),
            expected_share: replayed.expected_share * share,
            ..replayed
        });
        let (account, basis) = (self.account.clone(), self.basis.clone());
        Self {
            share: self.share * share,
            beside_ns: of(self.beside_ns),
            replayed,
            ..Self::new(of(self.recoverable_ns), self.window_ns, account, basis)
        }
    }

    /// The same, no more than a share of the window; what is expected stays possible.
    pub(super) fn at_most(self, share_of_window: f64) -> Self {
        let Some(replayed) = self.replayed else { return self };
        let share = (share_of_window / replayed.covered_share).max(replayed.expected_share);
        if self.share <= share {
            return self;
        }
        let recoverable_ns = (self.recoverable_ns as f64 * share / self.share) as i64;
        Self { share, replayed: self.replayed, ..Self::new(recoverable_ns, self.window_ns, self.account, self.basis) }
    }

    /// The same with time of other accounts: no more of it than the window has room for.
    pub(super) fn with_beside(self, beside_ns: i64) -> Self {
        let beside_ns = beside_ns.clamp(0, (self.window_ns - self.recoverable_ns).max(0));
        let recoverable_ns = self.recoverable_ns.saturating_add(beside_ns);
        Self { beside_ns, ..Self::new(recoverable_ns, self.window_ns, self.account, self.basis) }
    }

    /// What of it the account holds.
    pub(super) const fn of_account_ns(&self) -> i64 {
        self.recoverable_ns.saturating_sub(self.beside_ns)
    }

    /// The same as a share of it.
    pub(super) fn of_account_share(&self) -> f64 {
        if self.recoverable_ns > 0 { self.of_account_ns() as f64 / self.recoverable_ns as f64 } else { 1.0 }
    }

    /// The share of the window by which it weighs: what is expected, else the most.
    pub fn weighing_share(&self) -> f64 {
        self.replayed.map_or(self.share, |replayed| replayed.expected_share * replayed.covered_share)
    }

    /// How much it is, in words: `about 41 %, at most 47 %`, or `up to 4.46 s, 48 %`.
    pub fn words(&self) -> String {
        match self.replayed {
            Some(replayed) => {
                let beyond = match replayed.beyond_share() {
                    Some(rest) if rest < LEAST_EXPECTED_SHARE => "; beyond the findings above nothing".to_owned(),
                    Some(rest) => format!("; beyond the findings above about {}", percent(rest)),
                    None => String::new(),
                };
                let unit = replayed.unit_and_rest();
                match (percent(replayed.expected_share), percent(self.share)) {
                    (_, most) if replayed.expected_share < LEAST_EXPECTED_SHARE => {
                        format!("at most {most} of a {unit}")
                    }
                    (expected, most) if expected == most => format!("about {most} of a {unit}{beyond}"),
                    (expected, most) => format!("about {expected}, at most {most} of a {unit}{beyond}"),
                }
            }
            None => {
                let share = if self.share < 0.9995 { percent(self.share) } else { "all of it".to_owned() };
                let shared = self
                    .shared_ns
                    .map(|ns| format!("; overlaps the findings above: together at most {}", duration(ns)));
                format!("up to {}, {share}{}", duration(self.recoverable_ns), shared.unwrap_or_default())
            }
        }
    }

    /// Of a window, as a bound.
    pub(super) fn new(recoverable_ns: i64, window_ns: i64, account: String, basis: String) -> Self {
        let rest = window_ns - recoverable_ns;
        Self {
            recoverable_ns,
            beside_ns: 0,
            window_ns,
            share: recoverable_ns as f64 / window_ns as f64,
            speedup_ceiling: (rest >= LEAST_REST_NS && window_ns / MOST_SPEEDUP <= rest)
                .then(|| window_ns as f64 / rest as f64),
            account,
            basis,
            replayed: None,
            shared_ns: None,
        }
    }
}
