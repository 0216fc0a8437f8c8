//! `coldspot baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use coldspot::analysis::{Analysis, Request};
use coldspot::findings::Baseline;

use super::exit::{Exit, Failure};
use super::guard::Work;
use super::project::ProjectArguments;
use super::review::{exit_of, warn_of_errors};
use super::{Reading, output};

/// What `coldspot baseline` does.
#[derive(Debug, Subcommand)]
pub(super) enum Task {
    /// Write the findings of a report to a file: `coldspot review --baseline FILE` then shows only what is new.
    Write(Arguments),
}

/// What `coldspot baseline write` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file to write.
    file: PathBuf,
    /// A report, or a facts file.
    report: PathBuf,
    /// A folder of rules that add to the built-in ones, or replace those of the same id; may be given again.
    #[arg(long = "rules", value_name = "DIR")]
    rules: Vec<PathBuf>,
    #[command(flatten)]
    project: ProjectArguments,
    #[command(flatten)]
    reading: Reading,
}

impl Task {
    pub(super) fn work(&self) -> Work {
        let Self::Write(arguments) = self;
        arguments.reading.work([&arguments.report])
    }
}

pub(super) fn run(task: &Task) -> Result<Exit, Failure> {
    let Task::Write(arguments) = task;
    output::refuse_overwrite([arguments.report.as_path()], Some(&arguments.file))?;
    let project = arguments.project.load(&arguments.rules, None)?;
    let analysis = Analysis::new(project, arguments.reading.options());
    let report = analysis.review(&arguments.report, &Request::default())?;
    let baseline = Baseline::of(&report.review);
    output::write(&baseline.to_json(), Some(&arguments.file))?;
    if let Some(why) = report.gates.not_whole {
        let note =
            "the findings of the rest are not in the baseline, and those in it may be larger or smaller than they are";
        output::eprint_message(&format!("coldspot: {why}: {note}"));
    }
    warn_of_errors(&report.review.errors, "and what they would find is not in the baseline");
    Ok(exit_of(&report.review.errors).unwrap_or(Exit::Ok))
}
