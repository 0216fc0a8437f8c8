//! `coldspot review`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use coldspot::findings::{self, Review, RuleCard};
use coldspot::render::{Templates, review_json};
use coldspot::rules::outcome::Severity;
use coldspot::rules::{Library, Params, evaluate};

use super::exit::{Exit, Failure};
use super::{Output, Reading, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  coldspot review run.sqlite
  coldspot review run.sqlite --window 1.5s..2s     between two times of the Nsight timeline
  coldspot review run.sqlite --range step/3        the third annotation named 'step'
  coldspot review run.sqlite --device 1 --format json --output review.json
  coldspot review run.sqlite --rules my-rules --fail-on medium
";

/// What `coldspot review` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A report: an .sqlite export of Nsight Systems, or an .nsys-rep.
    report: PathBuf,
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// End with exit code 1 when there are findings of this severity or above.
    #[arg(long, value_enum, default_value_t = FailOn::Never, value_name = "SEVERITY")]
    fail_on: FailOn,
    /// A folder of rules that add to the built-in ones, or replace those of the same id; may be given again.
    #[arg(long = "rules", value_name = "DIR")]
    rules: Vec<PathBuf>,
    /// A folder of templates that replace the built-in ones of the same name.
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people and forges.
    Markdown,
    /// One object; docs/json.md describes it.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// At least 20 % of a GPU's window can be gained, or the capture cannot be trusted.
    High,
    /// At least 5 %.
    Medium,
    /// At least 1 %.
    Low,
    /// Whatever is found.
    Never,
}

impl FailOn {
    fn is_reached(self, review: &Review) -> bool {
        let least = match self {
            Self::High => Severity::High,
            Self::Medium => Severity::Medium,
            Self::Low => Severity::Low,
            Self::Never => return false,
        };
        review.worst().is_some_and(|worst| worst >= least)
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    // Faults of rules and templates first: reading may take minutes.
    let templates =
        Templates::load(arguments.templates.as_deref()).map_err(|error| Failure::new(Exit::Rules, error))?;
    let library = Library::with_dirs(&arguments.rules).map_err(|faults| Failure::new(Exit::Rules, faults))?;
    let facts = arguments.reading.facts(&arguments.report)?;
    let judgements = evaluate(&library, &facts, &Params::default());
    let review = findings::review(&facts, &RuleCard::of_library(&library), &judgements, templates.scorecard());
    let name = arguments.report.file_name().unwrap_or(arguments.report.as_os_str()).to_string_lossy();
    let text = match arguments.format {
        Format::Markdown => templates.review(&review, &name).map_err(|error| Failure::new(Exit::Rules, error))?,
        Format::Json => review_json(&review, &name).map_err(|error| Failure::new(Exit::Rules, error))?,
    };
    output::deliver(&text, arguments.output.output.as_deref())?;
    if !review.errors.is_empty() && !arguments.reading.quiet {
        let ids: Vec<&str> = review.errors.iter().map(|error| error.rule.as_str()).collect();
        output::complain(&format!("coldspot: these rules went wrong, the review says how: {}", ids.join(", ")));
    }
    Ok(match () {
        () if arguments.fail_on.is_reached(&review) => Exit::Findings,
        () if !review.errors.is_empty() => Exit::Rules,
        () => Exit::Ok,
    })
}
