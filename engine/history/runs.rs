//! What a history keeps of each run. Of thousands, their facts and reviews would fill memory: what is told of them is a time, some
//! counts, and a number for each finding.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::Label;
use crate::compare::{Rounds, devices_with_work, measured_part};
use crate::facts::{Entity, Facts, NotWhole};
use crate::findings::{Review, RuleFailure};
use crate::limits::MAX_HISTORY_FINDING_COUNT;
use crate::rules::outcome::Severity;
use crate::text::plural::counted_as;
use crate::text::spans::Sentence;

/// Runs have more different findings than are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "with those before it, it has more than {MAX_HISTORY_FINDING_COUNT} different findings: keep fewer runs, and those of one program"
)]
pub struct TooManyFindings;

/// All runs, in any order.
#[derive(Debug, Default)]
pub struct Runs {
    pub(super) all: Vec<Recorded>,
    /// The index of each finding, by its fingerprint.
    indices: HashMap<String, u32>,
    about: Vec<About>,
    failures: BTreeMap<String, Failed>,
}

/// A rule that went wrong on runs, or was not asked to the end: what it would find there is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The rule's id.
    pub rule: String,
    /// On how many runs.
    pub run_count: usize,
    /// What went wrong on the first of them.
    pub first: RuleFailure,
}

/// One run: what its file is called, how long it takes, and what the rules said of it.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) label: Label,
    pub(super) step_ns: Option<f64>,
    pub(super) window_ns: Option<f64>,
    /// Why its time is none of the program's; absent for a whole recording.
    pub(super) incomplete: Option<String>,
    /// What its time can be held against.
    pub(super) basis: Basis,
    pub(super) counts: Counts,
    pub(super) found: Box<[Found]>,
}

/// What must be alike for times to be those of one program: only then is a change one of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Basis {
    format: String,
    gpus: Vec<String>,
    step: String,
    part: &'static str,
}

impl Basis {
    fn of(facts: &Facts) -> Self {
        let devices = devices_with_work(facts);
        let texts = |name: &str| {
            let of_device = |(_, device): &(_, &Entity)| device.text(name).unwrap_or_default().to_owned();
            devices.iter().map(of_device).collect::<Vec<String>>()
        };
        let run = facts.run();
        let is_narrowed = run.is_some_and(|run| run.get("is_window_narrowed") == Some(&true.into()));
        let first = |name: &str| texts(name).into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        let mut gpus = texts("name");
        gpus.sort_unstable();
        Self {
            format: run.and_then(|run| run.text("format")).unwrap_or_default().to_owned(),
            gpus,
            // Rounds that launches tell have the name of a kernel, which a library changes.
            step: if first("step_told_by") == "launches" { String::new() } else { first("step_name") },
            part: if is_narrowed { "chosen" } else { measured_part(facts) },
        }
    }

    /// The same where no step is timed: which one repeats is no matter.
    pub(super) fn without_step(self) -> Self {
        Self { step: String::new(), ..self }
    }

    /// A GPU without a name may be any.
    fn other_gpus(&self, other: &Self) -> &'static str {
        let is_unnamed = self.gpus.iter().chain(&other.gpus).any(String::is_empty);
        if is_unnamed { "on GPUs that are not named" } else { "on other GPUs" }
    }

    /// What of another run is otherwise, in a few words.
    pub(super) fn difference(&self, other: &Self) -> Option<&'static str> {
        let differs = [
            (self.format != other.format, "recorded by another profiler"),
            (self.gpus.len() != other.gpus.len(), "on another number of GPUs"),
            (self.gpus != other.gpus, self.other_gpus(other)),
            (self.step != other.step, "of another step"),
            (self.part != other.part, "of another part of the run"),
        ];
        differs.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what)
    }
}

/// A finding of a run that is more than a note.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Its index among those of all runs.
    pub(super) finding: u32,
    pub(super) severity: Severity,
    /// What it could gain as a share of the window; 0 of what has no gain.
    pub(super) share: f64,
}

/// What a finding is, in the words of the first run that has it.
#[derive(Debug)]
pub(super) struct About {
    pub(super) title: String,
    pub(super) subject: Sentence,
}

/// Findings that are more than notes, by severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Grave ones.
    pub high: usize,
    /// Others that matter.
    pub medium: usize,
    /// The rest.
    pub low: usize,
}

impl Runs {
    /// Adds a run: its facts, and their review.
    ///
    /// # Errors
    /// When all runs together have too many different findings.
    pub fn add(&mut self, label: Label, facts: &Facts, review: &Review) -> Result<(), TooManyFindings> {
        let mut counts = Counts::default();
        let mut found = Vec::new();
        for seen in review.observations() {
            match seen.severity {
                Severity::High => counts.high += 1,
                Severity::Medium => counts.medium += 1,
                Severity::Low => counts.low += 1,
                Severity::Info => continue,
            }
            let about = || About { title: seen.finding.title.clone(), subject: seen.subject.label.clone() };
            let finding = self.index(seen.fingerprint, about)?;
            found.push(Found { finding, severity: seen.severity, share: seen.gain.map_or(0.0, |gain| gain.share) });
        }
        let mut failed: BTreeSet<&str> = BTreeSet::new();
        for error in review.errors.iter().filter(|error| failed.insert(&error.rule)) {
            let new = || Failed { rule: error.rule.clone(), run_count: 0, first: error.clone() };
            self.failures.entry(error.rule.clone()).or_insert_with(new).run_count += 1;
        }
        let incomplete = facts.not_whole().map(|why| match why {
            NotWhole::Damaged | NotWhole::Missing => {
                facts.missing_work().unwrap_or_else(|| "the file is damaged".to_owned())
            }
            NotWhole::Unusable(count) => counted_as(count, "row", "rows") + " of GPU work left out",
            NotWhole::Unmeasured(why) => why.to_owned(),
        });
        let step_ns = Rounds::of(facts).map(|rounds| rounds.mean_ns);
        let window_ns = devices_with_work(facts).iter().filter_map(|(_, device)| device.int("window_ns")).max();
        let [step_ns, window_ns] = [step_ns, window_ns].map(|ns| ns.map(|ns| ns as f64));
        let basis = Basis::of(facts);
        self.all.push(Recorded { label, step_ns, window_ns, incomplete, basis, counts, found: found.into() });
        Ok(())
    }

    fn index(&mut self, fingerprint: &str, about: impl FnOnce() -> About) -> Result<u32, TooManyFindings> {
        if let Some(index) = self.indices.get(fingerprint) {
            return Ok(*index);
        }
        if self.about.len() >= MAX_HISTORY_FINDING_COUNT {
            return Err(TooManyFindings);
        }
        let index = self.about.len() as u32;
        self.indices.insert(fingerprint.to_owned(), index);
        self.about.push(about());
        Ok(index)
    }

    /// The runs, the findings of all of them, by index, with their fingerprints, and the rules that went wrong.
    pub(super) fn into_parts(self) -> (Vec<Recorded>, Vec<(String, About)>, Vec<Failed>) {
        let mut fingerprints = vec![String::new(); self.about.len()];
        for (fingerprint, index) in self.indices {
            fingerprints[index as usize] = fingerprint;
        }
        (self.all, fingerprints.into_iter().zip(self.about).collect(), self.failures.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;
    use crate::findings::samples::Sample;

    /// Facts with a finding of each of so many rules.
    fn found(begin: &str, count: usize) -> (Facts, Review) {
        let mut sample = Sample::default();
        let run = sample.run();
        for number in 0..count {
            let rule = sample.rule(&format!("{begin}{number}"), "A title", EntityKind::Run);
            sample.rules[rule].severity = Some(Severity::Medium);
            sample.find(rule, run, None, "It is so.");
        }
        let review = sample.review();
        (sample.facts, review)
    }

    #[test]
    fn a_finding_is_kept_once_whatever_number_of_runs_has_it() {
        let (facts, review) = found("a", 10);
        let mut runs = Runs::default();
        for number in 0..100 {
            runs.add(Label::of_stem(&format!("{number}")), &facts, &review).unwrap();
        }
        assert_eq!((runs.all.len(), runs.about.len(), runs.indices.len()), (100, 10, 10));
        let (_, findings, _) = runs.into_parts();
        assert!(findings.iter().any(|(fingerprint, about)| fingerprint.contains("a9") && about.title == "A title"));
    }

    #[test]
    fn so_many_different_findings_are_refused() {
        let mut runs = Runs::default();
        let mut add = |begin: &str, count: usize| {
            let (facts, review) = found(begin, count);
            runs.add(Label::of_stem("night"), &facts, &review)
        };
        for begin in 0..MAX_HISTORY_FINDING_COUNT / 1_000 {
            assert_eq!(add(&format!("{begin}x"), 1_000), Ok(()));
        }
        assert_eq!(add("0x", 1_000), Ok(()), "no new ones");
        assert_eq!(add("y", 1), Err(TooManyFindings));
    }
}
