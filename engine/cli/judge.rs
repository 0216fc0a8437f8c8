//! From facts to a review, under what the project decides.

use std::path::{Path, PathBuf};

use clap::Args;
use coldspot::compare::Budgets;
use coldspot::facts::Facts;
use coldspot::findings::{self, Baseline, Policy, Review, RuleCard, Scorecard};
use coldspot::project::Config;
use coldspot::render::Templates;
use coldspot::rules::{Library, evaluate};

use super::exit::{Exit, Failure};
use super::project::{Project, Setup};

/// What `review` and `compare` judge by.
#[derive(Debug, Args)]
pub(super) struct Judging {
    /// How far a number may go, such as 'step_time=+5%' or 'device.idle_share<=0.15'; may be given again. Adds to [budgets]
    /// of coldspot.toml, or replaces those of the same number and kind. Limits against a base, such as '+5%', are for
    /// `coldspot compare`.
    #[arg(long = "budget", value_name = "NAME=LIMIT")]
    pub(super) budgets: Vec<String>,
    /// Let gates pass that cannot be evaluated.
    #[arg(long)]
    pub(super) allow_unknown_gates: bool,
    /// A folder of rules that add to the built-in ones, or replace those of the same id; may be given again.
    #[arg(long = "rules", value_name = "DIR")]
    rules: Vec<PathBuf>,
    /// A folder of templates that replace the built-in ones of the same name.
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    #[command(flatten)]
    project: Project,
}

impl Judging {
    pub(super) fn judge(&self) -> Result<Judge, Failure> {
        Judge::new(&self.project, &self.rules, self.templates.as_deref())
    }
}

/// All that reviews of one run of coldspot share.
pub(super) struct Judge {
    pub(super) library: Library,
    pub(super) templates: Templates,
    pub(super) config: Config,
    /// The project's folder.
    pub(super) root: Option<PathBuf>,
    /// The way to it from the top of its git checkout.
    way_from_top: Vec<String>,
    cards: Vec<RuleCard>,
    scorecard: Scorecard,
}

impl Judge {
    /// Faults of rules, templates and configuration come first: reading may take minutes.
    pub(super) fn new(project: &Project, rules: &[PathBuf], templates: Option<&Path>) -> Result<Self, Failure> {
        let Setup { library, templates, config } = project.setup(rules, templates)?;
        let library = library.without(config.off());
        let mut cards = RuleCard::of_library(&library);
        config.set_severities(&mut cards);
        let mut scorecard = templates.scorecard().clone();
        config.set_targets(&mut scorecard);
        Ok(Self {
            library,
            templates,
            config,
            root: project.folder(),
            way_from_top: project.way_from_top(),
            cards,
            scorecard,
        })
    }

    /// The budgets of the project, with those of the command line in their place.
    pub(super) fn budgets(&self, pairs: &[String]) -> Result<Budgets, Failure> {
        let mut own = Budgets::default();
        for pair in pairs {
            own.add_pair(pair).map_err(|error| Failure::new(Exit::Usage, format!("--budget: {error}")))?;
        }
        let mut budgets = self.config.budgets().clone();
        budgets.replace_with(own);
        Ok(budgets)
    }

    pub(super) fn review(&self, facts: &Facts) -> Review {
        self.review_against(facts, None)
    }

    /// The same, with what a baseline knows folded away.
    pub(super) fn review_against(&self, facts: &Facts, baseline: Option<Baseline>) -> Review {
        let judgements = evaluate(&self.library, facts, self.config.params());
        let policy = Policy { baseline, ..self.config.policy() };
        let mut review = findings::review_under(facts, &self.cards, &judgements, &self.scorecard, &policy);
        review.place(self.config.sources(), &self.way_from_top);
        review
    }
}

/// A report's name for readers: without its folder.
pub(super) fn name_of(report: &Path) -> String {
    report.file_name().unwrap_or(report.as_os_str()).to_string_lossy().into_owned()
}
