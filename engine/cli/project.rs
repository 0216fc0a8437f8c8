//! `--config` and `--no-config`, and the options of all that judge a report.

use std::env;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use coldspot::analysis::{Analysis, Configuration, Project, Request};
use coldspot::gates::{Budgets, FailOn};
use coldspot::project::FILE_NAME;
use coldspot::rules::Depth;
use coldspot::text::date::Date;

use super::Reading;
use super::exit::{Exit, Failure};

/// The day to take for today, as `2026-12-31`: for tests of what expires.
const TODAY: &str = "COLDSPOT_TODAY";

/// Which `coldspot.toml`.
#[derive(Debug, Default, Args)]
pub(super) struct ProjectArguments {
    /// The configuration; by default the nearest coldspot.toml in the working directory or above it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use no configuration.
    #[arg(long, conflicts_with = "config")]
    no_config: bool,
}

impl ProjectArguments {
    pub(super) fn configuration(&self) -> Configuration {
        match &self.config {
            Some(path) => Configuration::File(path.clone()),
            None if self.no_config => Configuration::None,
            None => Configuration::Nearest,
        }
    }

    /// Where the configuration is, if there is one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        match self.configuration() {
            Configuration::File(path) => Some(path),
            other => other.folder().map(|folder| folder.join(FILE_NAME)),
        }
    }

    /// Loads what the project decides, with the rules and templates of the command line.
    pub(super) fn load(&self, rules: &[PathBuf], templates: Option<&Path>) -> Result<Project, Failure> {
        Ok(Project::load(&self.configuration(), rules, templates, (today()?, Depth::Judging))?)
    }

    /// The same where the rules themselves are looked at.
    pub(super) fn load_whole(&self, rules: &[PathBuf]) -> Result<Project, Failure> {
        Ok(Project::load(&self.configuration(), rules, None, (today()?, Depth::Whole))?)
    }
}

fn today() -> Result<Date, Failure> {
    let Some(text) = env::var_os(TODAY) else { return Ok(Date::of(SystemTime::now())) };
    let text = text.to_string_lossy();
    Date::parse(&text).ok_or_else(|| Failure::new(Exit::Usage, format!("{TODAY}={text}: write a day, as 2026-12-31")))
}

/// What `review` and `compare` judge by.
#[derive(Debug, Args)]
pub(super) struct Judging {
    /// How far a number may go, such as 'step_time=+5%' or 'device.idle_share<=0.15'; may be given again. Adds to [budgets]
    /// of coldspot.toml, or replaces those of the same number and kind. Limits against a base, such as '+5%', are for
    /// `coldspot compare`.
    #[arg(long = "budget", value_name = "NAME=LIMIT")]
    budgets: Vec<String>,
    /// Let gates pass that cannot be evaluated.
    #[arg(long)]
    allow_unknown_gates: bool,
    /// A folder of rules that add to the built-in ones, or replace those of the same id; may be given again.
    #[arg(long = "rules", value_name = "DIR")]
    rules: Vec<PathBuf>,
    /// A folder of templates that replace the built-in ones of the same name.
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    #[command(flatten)]
    project: ProjectArguments,
}

impl Judging {
    pub(super) fn analysis(&self, reading: &Reading) -> Result<Analysis, Failure> {
        Ok(Analysis::new(self.project.load(&self.rules, self.templates.as_deref())?, reading.options()))
    }

    /// The configuration that is read, if there is one.
    pub(super) fn configuration_file(&self) -> Option<PathBuf> {
        self.project.file()
    }

    pub(super) fn request(&self, fail_on: Option<FailOn>) -> Result<Request, Failure> {
        let mut budgets = Budgets::default();
        for pair in &self.budgets {
            budgets.add_pair(pair).map_err(|error| Failure::new(Exit::Usage, format!("--budget: {error}")))?;
        }
        let allow_unknown_gates = self.allow_unknown_gates;
        Ok(Request { fail_on, budgets, allow_unknown_gates, ..Request::default() })
    }
}
