//! `coldspot review`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use coldspot::findings::{self, Review, RuleCard, Stale, Threshold};
use coldspot::render::review_json;
use coldspot::rules::evaluate;
use coldspot::rules::outcome::Severity;
use coldspot::text::escape;

use super::exit::{Exit, Failure};
use super::project::{Project, Setup};
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
    /// End with exit code 1 when there are findings of this severity or above; by default what coldspot.toml says, else
    /// never.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// A folder of rules that add to the built-in ones, or replace those of the same id; may be given again.
    #[arg(long = "rules", value_name = "DIR")]
    rules: Vec<PathBuf>,
    /// A folder of templates that replace the built-in ones of the same name.
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    #[command(flatten)]
    project: Project,
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

impl From<FailOn> for Threshold {
    fn from(word: FailOn) -> Self {
        match word {
            FailOn::High => Self::At(Severity::High),
            FailOn::Medium => Self::At(Severity::Medium),
            FailOn::Low => Self::At(Severity::Low),
            FailOn::Never => Self::Never,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    // Faults of rules, templates and configuration first: reading may take minutes.
    let Setup { library, templates, config } =
        arguments.project.setup(&arguments.rules, arguments.templates.as_deref())?;
    let library = library.without(config.off());
    let mut cards = RuleCard::of_library(&library);
    config.set_severities(&mut cards);
    let mut scorecard = templates.scorecard().clone();
    config.set_targets(&mut scorecard);
    let facts = arguments.reading.facts(&arguments.report)?;
    let judgements = evaluate(&library, &facts, config.params());
    let review = findings::review_under(&facts, &cards, &judgements, &scorecard, &config.policy());
    let name = arguments.report.file_name().unwrap_or(arguments.report.as_os_str()).to_string_lossy();
    let text = match arguments.format {
        Format::Markdown => templates.review(&review, &name).map_err(|error| Failure::new(Exit::Rules, error))?,
        Format::Json => review_json(&review, &name).map_err(|error| Failure::new(Exit::Rules, error))?,
    };
    output::deliver(&text, arguments.output.output.as_deref())?;
    if !arguments.reading.quiet {
        warn(&review);
    }
    let threshold = arguments.fail_on.map(Threshold::from).or(config.fail_on()).unwrap_or(Threshold::Never);
    Ok(match () {
        () if threshold.is_reached(&review) => Exit::Findings,
        () if !review.errors.is_empty() => Exit::Rules,
        () => Exit::Ok,
    })
}

/// What the author of a rule or of a coldspot.toml should know.
fn warn(review: &Review) {
    if !review.errors.is_empty() {
        let ids: Vec<&str> = review.errors.iter().map(|error| error.rule.as_str()).collect();
        output::complain(&format!("coldspot: these rules went wrong, the review says how: {}", ids.join(", ")));
    }
    for stale in &review.stale_ignores {
        let entity = stale.entity.as_ref().map_or_else(String::new, |entity| format!(" of {entity}"));
        let why = match (&stale.why, &stale.until) {
            (Stale::Expired, Some(until)) => format!("has expired after {until}: the finding counts again"),
            (Stale::Expired, None) => "has expired".to_owned(),
            (Stale::MatchesNothing, _) => "matches nothing in this report".to_owned(),
        };
        output::complain(&escape::plain(&format!("coldspot: the ignore of {}{entity} {why}", stale.rule)));
    }
}
