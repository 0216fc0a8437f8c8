//! `coldspot config`.

use std::path::PathBuf;

use clap::Subcommand;
use coldspot::analysis::AnalysisError;
use coldspot::project::{FILE_NAME, config_schema};

use super::exit::{Exit, Failure};
use super::output;
use super::project::ProjectArguments;

/// What `coldspot config` does.
#[derive(Debug, Subcommand)]
pub(super) enum Task {
    /// Check coldspot.toml against the rules and the scorecard in use.
    Check {
        /// A folder of rules that add to the built-in ones, or replace those of the same id; may be given again.
        #[arg(long = "rules", value_name = "DIR")]
        rules: Vec<PathBuf>,
        #[command(flatten)]
        project: ProjectArguments,
    },
    /// Print the JSON Schema of coldspot.toml, for editors.
    Schema,
}

pub(super) fn run(task: &Task) -> Result<Exit, Failure> {
    match task {
        Task::Check { rules, project } => check(project, rules),
        Task::Schema => {
            output::write(&config_schema(), None)?;
            Ok(Exit::Ok)
        }
    }
}

fn check(project: &ProjectArguments, rules: &[PathBuf]) -> Result<Exit, Failure> {
    let Some((path, file)) = project.configuration().read().map_err(AnalysisError::Configuration)? else {
        return Err(Failure::new(Exit::Usage, format!("there is no {FILE_NAME} here or in a folder above")));
    };
    project.load(rules, None)?;
    file.check_sources().map_err(|faults| Failure::new(Exit::Usage, faults))?;
    output::write(&format!("{}: nothing wrong\n", path.display()), None)?;
    Ok(Exit::Ok)
}
