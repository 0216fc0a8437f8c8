//! The whole way in one call, from files to a report that can be printed. The command line is one user of it.

mod error;
mod project;
mod reading;
pub mod scope;

use std::path::{Path, PathBuf};

pub use error::AnalysisError;
pub use project::{Configuration, Project, is_within};
pub use reading::{Part, Reading};

use crate::compare::{PairError, Run, Sides, Terms, compare};
use crate::facts::Facts;
use crate::facts::extract::WhatIf;
use crate::findings::{
    Baseline, Collection, Policy, Review, RuleFailure, Scorecard, Stale, altered, collection, review,
};
use crate::gates::{Budgets, Conditions, FailOn, Gates};
use crate::limits::{MAX_COMPARED_BYTES_ANYWAY, MAX_COMPARED_BYTES_PER_BYTE};
use crate::project::Config;
use crate::render::{Context, Format, RenderError, Templates, render};
use crate::replay::Change;
use crate::report::{About, ComparisonReport, Report, ReviewReport};
use crate::rules::outcome::Outcome;
use crate::rules::{Library, Questions, RuleInfo};
use crate::text::spans::Sentence;

/// What a caller asks beyond what the project decided.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Findings that are too grave, and in a comparison whether a slower head fails; absent for what the project says.
    pub fail_on: Option<FailOn>,
    /// How far numbers may go: beside those of the project, or in the place of those of the same number and kind.
    pub budgets: Budgets,
    /// Whether gates pass that cannot be evaluated.
    pub allow_unknown_gates: bool,
    /// Whether limits against a base are evaluated although the sides did other work.
    pub budgets_on_other_work: bool,
    /// Where the runs of a comparison come from.
    pub about: About,
    /// What counts as a change and as the same work, beyond what the project says.
    pub terms: Terms,
    /// Findings that are known, and folded away in a review.
    pub baseline: Option<Baseline>,
}

/// Reviews and compares recordings, under what one project decided.
#[derive(Debug)]
pub struct Analysis {
    /// The rules that judge.
    library: Library,
    rules: Vec<RuleInfo>,
    templates: Templates,
    scorecard: Scorecard,
    config: Config,
    /// What the rules are asked, whatever the report.
    questions: Questions,
    policy: Policy,
    reading: Reading,
}

impl Analysis {
    /// Of recordings that are read in the same way.
    pub fn new(project: Project, reading: Reading) -> Self {
        let Project { library, templates, config, folder, folders_from_top } = project;
        let library = library.without(config.off());
        let mut rules = library.infos();
        config.set_severities(&mut rules);
        let mut scorecard = templates.scorecard().clone();
        config.set_targets(&mut scorecard);
        let mut policy = config.policy();
        policy.sources.folders = folders_from_top;
        policy.altered = altered(&library, &rules, config.params());
        let options = crate::source::ReadOptions { root: folder, ..reading.options };
        let reading = Reading { options, ..reading };
        let questions = Questions::new(&library, config.params());
        Self { library, rules, templates, scorecard, config, questions, policy, reading }
    }

    /// Whether pages are printed by templates of the user, which may never end.
    pub fn has_templates_of_user(&self) -> bool {
        self.templates.are_replaced()
    }

    /// The facts of a recording, or of a facts file.
    ///
    /// # Errors
    /// When it cannot be read, or does not hold the part that is asked for.
    pub fn facts(&self, path: &Path) -> Result<Facts, AnalysisError> {
        self.reading.facts(path)
    }

    /// Reviews a recording, or a facts file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn review(&self, path: &Path, request: &Request) -> Result<ReviewReport, AnalysisError> {
        self.reading.with_facts_for_review(path, |facts, replays| {
            let mut report = self.review_facts(facts, &name_of(path), request);
            if let Some(replays) = replays {
                report.review.tell_together(|device, changes| replays.together(device, changes));
            }
            report
        })
    }

    /// What a step of each GPU of a recording would take after some changes, with the review that tells of them as well.
    ///
    /// # Errors
    /// When it cannot be read, or holds nothing that can be played again.
    pub fn what_if(&self, path: &Path, changes: &[Change]) -> Result<(Vec<WhatIf>, Review), AnalysisError> {
        let answered = self.reading.with_facts_for_review(path, |facts, replays| {
            replays.map(|replays| (replays.what_if(changes), self.review_under(facts, &self.policy)))
        })?;
        let Some((mut answers, review)) = answered else {
            return Err(AnalysisError::NoWindow { path: path.to_owned() });
        };
        answers.retain(|answer| self.reading.device.is_none_or(|number| number == answer.device_number));
        Ok((answers, review))
    }

    /// What to record beside a recording: what rules lack, and the kernels to look into.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn collect(&self, path: &Path) -> Result<Collection, AnalysisError> {
        let facts = self.reading.facts_for_review(path)?;
        let review = self.review_under(&facts, &self.policy);
        Ok(collection(&facts, &review, &path.to_string_lossy()))
    }

    /// Reviews facts; `name` is what they are of.
    pub fn review_facts(&self, facts: &Facts, name: &str, request: &Request) -> ReviewReport {
        let policy = Policy { baseline: request.baseline.clone(), ..self.policy.clone() };
        let review = self.review_under(facts, &policy);
        let conditions = self.conditions(request, self.config.fail_on().map(FailOn::findings));
        let gates = Gates::of_review(&review, facts, &conditions);
        ReviewReport { name: name.to_owned(), review, gates }
    }

    /// Compares recordings or facts files: the runs of two sides.
    ///
    /// # Errors
    /// When one cannot be read, or the sides cannot be held against each other.
    pub fn compare(
        &self,
        base: &[PathBuf],
        head: &[PathBuf],
        request: &Request,
    ) -> Result<ComparisonReport, AnalysisError> {
        let paths: Vec<&Path> = base.iter().chain(head).map(PathBuf::as_path).collect();
        let mut kept = Kept::default();
        let mut base_runs = self.reading.for_comparison(&paths, |facts, path| {
            let mut run = self.run(facts, &name_of(path));
            run.forget_what_is_not_compared();
            kept.add(&run, path)?;
            Ok(run)
        })?;
        let head_runs = base_runs.split_off(base.len().min(base_runs.len()));
        Ok(self.compare_runs(&base_runs, &head_runs, request)?)
    }

    /// Compares the runs of two sides.
    ///
    /// # Errors
    /// When they cannot be held against each other.
    pub fn compare_runs(&self, base: &[Run], head: &[Run], request: &Request) -> Result<ComparisonReport, PairError> {
        let mut comparison = compare(base, head, self.terms(request))?;
        if let Some(baseline) = &request.baseline {
            let findings = comparison.findings.iter();
            let told =
                findings.map(|this| (this.fingerprint.as_str(), this.share.map(|share| share.head), this.severity));
            let known = baseline.knows(told);
            comparison.findings.iter_mut().zip(known).for_each(|(finding, is_known)| finding.is_known = is_known);
        }
        let conditions = self.conditions(request, self.config.compare_fail_on());
        let gates = Gates::of_comparison(&comparison, Sides { base, head }, &conditions);
        let first = head.first().map(|run| &run.review);
        let ignored = first.map(|review| review.ignored.clone()).unwrap_or_default();
        let stale = first.map(|review| review.stale_ignores.clone()).unwrap_or_default();
        let expired = stale.into_iter().filter(|stale| stale.why == Stale::Expired).collect();
        let mut errors: Vec<RuleFailure> = Vec::new();
        for error in base.iter().chain(head).flat_map(|run| &run.review.errors) {
            if !errors.iter().any(|known| known.rule == error.rule) {
                errors.push(error.clone());
            }
        }
        let mut altered: Vec<Sentence> = Vec::new();
        for told in base.iter().chain(head).flat_map(|run| &run.review.altered) {
            if !altered.contains(told) {
                altered.push(told.clone());
            }
        }
        Ok(ComparisonReport { comparison, gates, about: request.about.clone(), ignored, expired, altered, errors })
    }

    /// Facts with their review, as comparisons take them; `name` is what they are of.
    pub fn run(&self, facts: Facts, name: &str) -> Run {
        let review = self.review_under(&facts, &self.policy);
        Run { name: name.to_owned(), facts, review }
    }

    /// Prints a report.
    ///
    /// # Errors
    /// When a template of the user fails.
    pub fn render(&self, report: &Report, format: Format) -> Result<String, RenderError> {
        render(report, format, Context { templates: &self.templates, library: &self.library })
    }

    fn review_under(&self, facts: &Facts, policy: &Policy) -> Review {
        let judgements = self.questions.ask_all(&self.library, facts);
        review(facts, &self.rules, &judgements, &self.scorecard, policy)
    }

    /// The findings of facts, as a history keeps them: what was not judged, and why, is no part of that review.
    pub fn findings(&self, facts: &Facts) -> Review {
        let mut judgements = self.questions.ask_all(&self.library, facts);
        judgements.retain(|judgement| matches!(judgement.outcome, Outcome::Finding(_) | Outcome::Failed { .. }));
        review(facts, &self.rules, &judgements, &self.scorecard, &self.policy)
    }

    fn terms(&self, request: &Request) -> Terms {
        let configured = self.config.terms();
        Terms {
            noise_share: request.terms.noise_share.or(configured.noise_share),
            same_work: request.terms.same_work || configured.same_work,
        }
    }

    fn conditions(&self, request: &Request, configured: Option<FailOn>) -> Conditions {
        let mut budgets = self.config.budgets().clone();
        budgets.replace_with(request.budgets.clone());
        Conditions {
            fail_on: request.fail_on.or(configured).unwrap_or(FailOn::NEVER),
            budgets,
            allow_unknown: request.allow_unknown_gates,
            on_other_work: request.budgets_on_other_work,
        }
    }
}

/// What the runs of a comparison take that are held together.
#[derive(Default)]
struct Kept {
    bytes: u64,
    file_bytes: u64,
}

impl Kept {
    /// # Errors
    /// When they take too much for files of their size: that a few small ones stand for.
    fn add(&mut self, run: &Run, path: &Path) -> Result<(), AnalysisError> {
        self.bytes += run.byte_count() as u64;
        self.file_bytes += path.metadata().map_or(0, |found| found.len());
        if self.bytes > MAX_COMPARED_BYTES_ANYWAY + MAX_COMPARED_BYTES_PER_BYTE * self.file_bytes {
            return Err(AnalysisError::TooMuchCompared { path: path.to_owned() });
        }
        Ok(())
    }
}

/// A file's name for readers: without its folder.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;
    use crate::findings::samples::Sample;

    #[test]
    fn runs_that_take_more_than_files_of_their_size_can_need_are_refused() {
        let mut sample = Sample::default();
        let run = sample.run();
        for number in 0..20_000 {
            let stream = sample.facts.add(EntityKind::Stream, format!("{number}"), &[run]);
            sample.facts.get_mut(stream).set("kernel_count", 1);
        }
        let mut run = Run { name: "run".to_owned(), review: sample.review(), facts: sample.facts };
        let whole = run.byte_count();
        run.forget_what_is_not_compared();
        assert!(run.byte_count() < whole && run.facts.len() > 20_000);
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut kept = Kept::default();
        let count = (0..100_000).take_while(|_| kept.add(&run, file.path()).is_ok()).count() as u64;
        let bytes = run.byte_count() as u64;
        assert!(
            count * bytes <= MAX_COMPARED_BYTES_ANYWAY && (count + 1) * bytes > MAX_COMPARED_BYTES_ANYWAY,
            "{count}"
        );
        // Larger files may take more.
        file.as_file().set_len(MAX_COMPARED_BYTES_ANYWAY).unwrap();
        assert!(kept.add(&run, file.path()).is_ok());
    }
}
