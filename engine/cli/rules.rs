//! `coldspot rules`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use coldspot::analysis::{AnalysisError, Project, is_within};
use coldspot::render::{rule_list_json, rule_list_text, rule_page_set};
use coldspot::rules::testing;
use coldspot::rules::{Library, Params, Rule, rule_schema, skeleton};
use coldspot::text::escape;
use coldspot::text::nearest::nearest;
use coldspot::text::plural::counted;

use super::exit::{Exit, Failure};
use super::output;
use super::project::ProjectArguments;

/// What `coldspot rules` does.
#[derive(Debug, Subcommand)]
pub(super) enum Task {
    /// List all rules.
    List {
        /// The format.
        #[arg(long, value_enum, default_value_t = ListFormat::Text)]
        format: ListFormat,
        #[command(flatten)]
        source: Source,
    },
    /// Show one rule: what it looks for and why, what it can gain, its example as a finding.
    Show {
        /// The rule's id, as `coldspot rules list` prints it.
        id: String,
        /// The format.
        #[arg(long, value_enum, default_value_t = PageFormat::Markdown)]
        format: PageFormat,
        #[command(flatten)]
        source: Source,
    },
    /// Write a commented rule to begin with, which passes its own tests.
    New {
        /// The rule's id: lower-case words with hyphens between them.
        id: String,
        /// The folder to write it to; by default the first that coldspot.toml names, else my-rules.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        #[command(flatten)]
        project: ProjectArguments,
    },
    /// Run the tests that rule files carry: of all rules, or of those in a folder.
    Test {
        /// A folder of rules, which may build on the built-in ones.
        dir: Option<PathBuf>,
        #[command(flatten)]
        project: ProjectArguments,
    },
    /// Check rule files without running their tests.
    Check {
        /// A folder of rules, which may build on the built-in ones.
        dir: Option<PathBuf>,
        #[command(flatten)]
        project: ProjectArguments,
    },
    /// Print the JSON Schema of rule files, for editors.
    Schema,
}

/// Which rules.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// A folder of rules that add to the built-in ones, or replace those of the same id; may be given again.
    #[arg(long = "rules", value_name = "DIR")]
    rules: Vec<PathBuf>,
    #[command(flatten)]
    project: ProjectArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ListFormat {
    /// A table.
    Text,
    /// One object; docs/json.md describes it.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PageFormat {
    /// The page, as docs/rules has it.
    Markdown,
    /// The rule's file, to begin one's own from.
    Toml,
}

pub(super) fn run(task: &Task) -> Result<Exit, Failure> {
    let text = match task {
        Task::List { format, source } => {
            let Project { library, config, .. } = source.project.load_whole(&source.rules)?;
            match format {
                ListFormat::Text => escape::log(&rule_list_text(&library, &config)),
                ListFormat::Json => rule_list_json(&library, &config),
            }
        }
        Task::Show { id, format, source } => {
            let Project { library, config, .. } = source.project.load_whole(&source.rules)?;
            show(&library, config.params(), id, *format)?
        }
        Task::New { id, dir, project } => new(id, dir.as_deref(), project)?,
        Task::Test { dir, project } => return test(&load(dir.as_deref(), project)?, dir.as_deref()),
        Task::Check { dir, project } => {
            let library = load(dir.as_deref(), project)?;
            format!("{}: nothing wrong\n", counted(chosen(&library, dir.as_deref()).len(), "rule"))
        }
        Task::Schema => rule_schema(),
    };
    output::write(&text, None)?;
    Ok(Exit::Ok)
}

fn load(dir: Option<&Path>, project: &ProjectArguments) -> Result<Library, Failure> {
    let library = project.load_whole(&dir.map(Path::to_owned).into_iter().collect::<Vec<_>>())?.library;
    // Loaded as a part of a folder that coldspot.toml names, it may be empty.
    match dir {
        Some(dir) if chosen(&library, Some(dir)).is_empty() => {
            Err(Failure::new(Exit::Rules, format!("{}: it holds no rule that is in use", dir.display())))
        }
        _ => Ok(library),
    }
}

fn show(library: &Library, set: &Params, id: &str, format: PageFormat) -> Result<String, Failure> {
    let Some(rule) = library.rule(id) else {
        let near = nearest(id, library.rules().iter().map(Rule::id));
        let hint = near.map_or_else(|| ";".to_owned(), |near| format!("; did you mean '{near}'?"));
        let message = format!("there is no rule '{id}'{hint} `coldspot rules list` lists them all");
        return Err(Failure::new(Exit::Usage, message));
    };
    match format {
        PageFormat::Markdown => match rule_page_set(library, rule, set) {
            Ok(page) => Ok(escape::log(&page)),
            Err(error) => Err(Failure::new(Exit::Rules, error)),
        },
        // The file itself stays as it is; what a log shows of it is no command, and nothing of it is hidden.
        PageFormat::Toml if rule.info().is_own => Ok(escape::log_whole(rule.source())),
        PageFormat::Toml => Ok(rule.source().to_owned()),
    }
}

fn new(id: &str, dir: Option<&Path>, project: &ProjectArguments) -> Result<String, Failure> {
    let wrong = |message: String| Failure::new(Exit::Usage, message);
    let text = skeleton(id).ok_or_else(|| {
        wrong(format!(
            "'{id}' is no id for a rule: write lower-case words with hyphens between them, such as slow-copy"
        ))
    })?;
    if Library::builtin().is_ok_and(|library| library.rule(id).is_some()) {
        let message = "is the id of a built-in rule; to replace that, begin with `coldspot rules show";
        return Err(wrong(format!("'{id}' {message} {id} --format toml`")));
    }
    let configured = match dir {
        Some(_) => None,
        None => project
            .configuration()
            .read()
            .map_err(AnalysisError::Configuration)?
            .and_then(|(_, file)| file.first_rule_dir()),
    };
    let dir = dir.map(Path::to_owned).or(configured).unwrap_or_else(|| PathBuf::from("my-rules"));
    let path = dir.join(format!("{id}.toml"));
    if path.exists() {
        return Err(wrong(format!("{}: there is such a file already", path.display())));
    }
    fs::create_dir_all(&dir).map_err(|error| wrong(format!("{}: cannot be made: {error}", dir.display())))?;
    output::write(&text, Some(&path))?;
    let (path, dir) = (path.display(), dir.display());
    Ok(format!("{path}: written. Its tests:  coldspot rules test {dir}\n"))
}

fn test(library: &Library, dir: Option<&Path>) -> Result<Exit, Failure> {
    let rules = chosen(library, dir);
    let reports = testing::run_of(library, &rules);
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
    output::write(&escape::log(&text), None)?;
    Ok(if failed == 0 { Exit::Ok } else { Exit::Rules })
}

/// The rules of the folder, or all.
fn chosen<'a>(library: &'a Library, dir: Option<&Path>) -> Vec<&'a Rule> {
    let is_chosen = |rule: &&Rule| dir.is_none_or(|dir| is_within(Path::new(rule.file()), dir));
    library.rules().iter().filter(is_chosen).collect()
}
