//! `coldspot rules`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use coldspot::render::facts::table;
use coldspot::render::rule_page;
use coldspot::rules::outcome::Severity;
use coldspot::rules::testing::{self, TestReport};
use coldspot::rules::{Library, Rule, Status};

use super::exit::{Exit, Failure};
use super::output;

/// What `coldspot rules` does.
#[derive(Debug, Subcommand)]
pub(super) enum Task {
    /// List all rules.
    List(Source),
    /// Show one rule: what it looks for, its thresholds, its example, its file.
    Show {
        /// The rule's id, as `coldspot rules list` prints it.
        id: String,
        #[command(flatten)]
        source: Source,
    },
    /// Run the tests that rule files carry: those of the built-in rules, or those in a folder.
    Test {
        /// A folder of rules, which may build on the built-in ones.
        dir: Option<PathBuf>,
    },
    /// Check rule files without running their tests.
    Check {
        /// A folder of rules, which may build on the built-in ones.
        dir: Option<PathBuf>,
    },
}

/// Which rules.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// A folder of rules that add to the built-in ones, or replace those of the same id; may be given again.
    #[arg(long = "rules", value_name = "DIR")]
    rules: Vec<PathBuf>,
}

pub(super) fn run(task: &Task) -> Result<Exit, Failure> {
    match task {
        Task::List(source) => list(&load(&source.rules)?),
        Task::Show { id, source } => show(&load(&source.rules)?, id),
        Task::Test { dir } => test(dir.as_deref()),
        Task::Check { dir } => check(dir.as_deref()),
    }
}

fn load(dirs: &[PathBuf]) -> Result<Library, Failure> {
    Library::with_dirs(dirs).map_err(|faults| Failure::new(Exit::Rules, faults))
}

fn list(library: &Library) -> Result<Exit, Failure> {
    let heads = ["rule", "cause", "asked of each", "severity", "title"].map(str::to_owned);
    let rows: Vec<[String; 5]> = library
        .rules()
        .iter()
        .map(|rule| {
            let severity = rule.severity().map_or("by gain", Severity::name);
            let title = match rule.status() {
                Status::Stable => rule.title().to_owned(),
                Status::Experimental => format!("{} (experimental)", rule.title()),
            };
            [
                rule.id().to_owned(),
                rule.category().to_owned(),
                rule.for_each().name().to_owned(),
                severity.to_owned(),
                title,
            ]
        })
        .collect();
    output::deliver(&table(std::iter::once(&heads).chain(&rows)), None)?;
    Ok(Exit::Ok)
}

fn show(library: &Library, id: &str) -> Result<Exit, Failure> {
    let Some(rule) = library.rule(id) else {
        let nearest = library
            .rules()
            .iter()
            .max_by(|a, b| strsim::jaro_winkler(a.id(), id).total_cmp(&strsim::jaro_winkler(b.id(), id)));
        let hint = nearest.map_or_else(String::new, |rule| format!("; did you mean '{}'?", rule.id()));
        let message = format!("there is no rule '{id}'{hint} `coldspot rules list` lists them all");
        return Err(Failure::new(Exit::Usage, message));
    };
    output::deliver(&rule_page(library, rule), None)?;
    Ok(Exit::Ok)
}

fn test(dir: Option<&Path>) -> Result<Exit, Failure> {
    let library = load(&dir.map(Path::to_owned).into_iter().collect::<Vec<_>>())?;
    let rules = chosen(&library, dir);
    let is_chosen = |report: &TestReport| rules.iter().any(|rule| rule.id() == report.rule);
    let reports: Vec<TestReport> = testing::run(&library).into_iter().filter(is_chosen).collect();
    let mut text = String::new();
    let mut failed = 0;
    for report in &reports {
        if let Some(problem) = &report.problem {
            failed += 1;
            text.push_str(&format!("{}:{}: {}: {problem}\n", report.file, report.line, report.test));
        }
    }
    let verdict = if failed == 0 { "all pass".to_owned() } else { format!("{failed} failed") };
    text.push_str(&format!("{} of {}: {verdict}\n", counted(reports.len(), "test"), counted(rules.len(), "rule")));
    output::deliver(&text, None)?;
    Ok(if failed == 0 { Exit::Ok } else { Exit::Rules })
}

fn check(dir: Option<&Path>) -> Result<Exit, Failure> {
    let library = load(&dir.map(Path::to_owned).into_iter().collect::<Vec<_>>())?;
    let rules = chosen(&library, dir);
    output::deliver(&format!("{}: nothing wrong\n", counted(rules.len(), "rule")), None)?;
    Ok(Exit::Ok)
}

/// The rules of the folder, or all; a folder without any did not load.
fn chosen<'a>(library: &'a Library, dir: Option<&Path>) -> Vec<&'a Rule> {
    let is_chosen = |rule: &&Rule| dir.is_none_or(|dir| Path::new(rule.file()).starts_with(dir));
    library.rules().iter().filter(is_chosen).collect()
}

fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}
