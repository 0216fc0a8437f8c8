//! `coldspot history`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use coldspot::analysis::Analysis;
use coldspot::files::read_text;
use coldspot::findings::RuleFailure;
use coldspot::history::{History, Label, Order, Runs};
use coldspot::limits::{MAX_FACTS_FILE_BYTES, MAX_HISTORY_FILE_COUNT};
use coldspot::render::history::{history_html, history_json, history_markdown};

use super::exit::{Exit, Failure};
use super::guard::Work;
use super::project::ProjectArguments;
use super::review::{exit_of, warn_of_errors};
use super::{Output, compare, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  coldspot facts run.sqlite --phase steady --format json --output history/2026-11-20-0a1b2c3-1.json
  coldspot history history                                       since which night, or commit, it takes longer
  git rev-list --reverse main >commits; coldspot history history --commits commits
  coldspot history history --format html --output history.html   with a chart
";

/// Smaller changes are none, where nobody says another.
const LEAST_SHARE: f64 = 0.02;

/// The format of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables, for people and forges.
    Markdown,
    /// One object; docs/history.md describes it.
    Json,
    /// A page of its own with a chart.
    Html,
}

/// What `coldspot history` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of facts files, as `coldspot facts --format json` writes them, each named by its night or commit and the number
    /// of the run: 2026-11-20.json, 0a1b2c3-1.json, 2026-11-20-0a1b2c3-1.json.
    folder: PathBuf,
    /// A file with commits, one a line, the oldest first, as `git rev-list --reverse` prints them: their order is that of the
    /// points. By default that of names is.
    #[arg(long, value_name = "FILE")]
    commits: Option<PathBuf>,
    /// Smaller changes are noise, such as 3%; by default 2 %.
    #[arg(long, value_name = "SHARE", value_parser = compare::share)]
    noise: Option<f64>,
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    #[command(flatten)]
    project: ProjectArguments,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    pub(super) fn work(&self) -> Work {
        Work::of(&files(&self.folder).unwrap_or_default())
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let fail = |path: &Path, error: String| Failure::new(Exit::Usage, format!("{}: {error}", path.display()));
    let files = files(&arguments.folder).map_err(|error| fail(&arguments.folder, error))?;
    output::refuse_overwrite(files.iter().map(PathBuf::as_path), arguments.output.output.as_deref())?;
    let order = match &arguments.commits {
        Some(path) => {
            let list = read_text(path, MAX_FACTS_FILE_BYTES);
            Order::of_commits(&list.map_err(|error| fail(path, format!("cannot be read: {error}")))?)
        }
        None => Order::default(),
    };
    let analysis = Analysis::new(arguments.project.load(&[], None)?, coldspot::analysis::Reading::default());
    let mut runs = Runs::default();
    for path in &files {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let facts = analysis.facts(path)?;
        runs.add(Label::of_stem(&stem), &facts, &analysis.findings(&facts))
            .map_err(|error| fail(path, error.to_string()))?;
    }
    let history = History::of(runs, &order, arguments.noise.unwrap_or(LEAST_SHARE));
    let errors: Vec<RuleFailure> = history.failures.iter().map(|failed| failed.first.clone()).collect();
    warn_of_errors(&errors, "the history says on how many runs");
    let text = match arguments.format {
        Format::Markdown => history_markdown(&history),
        Format::Json => history_json(&history).map_err(|error| Failure::new(Exit::Report, error))?,
        Format::Html => history_html(&history),
    };
    output::write(&text, arguments.output.output.as_deref())?;
    Ok(exit_of(&errors).unwrap_or(Exit::Ok))
}

/// The facts files of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot be read: {error}"))?;
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("cannot be read: {error}"))?.path();
        if path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
        if files.len() > MAX_HISTORY_FILE_COUNT {
            return Err(format!("holds more than {MAX_HISTORY_FILE_COUNT} facts files: keep the latest"));
        }
    }
    files.sort();
    if files.is_empty() {
        return Err("holds no facts files (*.json), as `coldspot facts --format json` writes them".to_owned());
    }
    Ok(files)
}
