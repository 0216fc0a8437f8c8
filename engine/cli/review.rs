//! `coldspot review`.

use std::path::PathBuf;

use clap::Args;
use coldspot::findings::{Baseline, Review, RuleFailure, Stale, StaleIgnore};
use coldspot::report::{Report, ReviewReport};
use coldspot::text::escape;

use super::exit::{Exit, Failure};
use super::format::{self, FailOn, Printed};
use super::guard::Work;
use super::project::Judging;
use super::{Output, Reading, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  coldspot review run.sqlite
  coldspot review run.sqlite --window 1.5s..2s     between two times of the Nsight timeline
  coldspot review run.sqlite --range step/3        the third range named 'step'
  coldspot review run.sqlite --device 1 --format json --output review.json
  coldspot review run.sqlite --rules my-rules --fail-on medium
";

/// What `coldspot review` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A report: a trace of the PyTorch Profiler, an .sqlite export of Nsight Systems, an .nsys-rep, kernels of Nsight Compute as CSV, or a facts file that `coldspot facts` wrote.
    report: PathBuf,
    #[arg(long = "format", value_name = "FORMAT[=FILE]", value_parser = format::parse, help = format!("{}\n[default: text on a terminal, markdown elsewhere]", format::help()))]
    formats: Vec<Printed>,
    /// End with exit code 1 when there are findings of this severity or above; by default what [review] of coldspot.toml
    /// says, else never.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// A file that `coldspot baseline write` made: findings that it holds are counted and folded away.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    pub(super) fn work(&self) -> Work {
        self.reading.work([&self.report])
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let formats = format::or_default(arguments.formats.clone(), arguments.output.output.as_deref());
    format::check(&formats)?;
    let configuration = arguments.judging.configuration_file();
    let inputs = || arguments.reading.files([arguments.report.as_path()]);
    let inputs = || inputs().chain(arguments.baseline.as_deref()).chain(configuration.as_deref());
    for file in format::files(&formats, arguments.output.output.as_deref()) {
        output::refuse_overwrite(inputs(), Some(file))?;
    }
    let analysis = arguments.judging.analysis(&arguments.reading)?;
    let mut request = arguments.judging.request(arguments.fail_on.map(Into::into))?;
    if let Some(path) = &arguments.baseline {
        request.baseline = Some(Baseline::read(path).map_err(|error| Failure::new(Exit::Usage, error))?);
    }
    let report = Report::Review(Box::new(analysis.review(&arguments.report, &request)?));
    format::write(&analysis, &report, &formats, arguments.output.output.as_deref())?;
    let Report::Review(report) = report else { return Ok(Exit::Ok) };
    if !arguments.reading.quiet {
        warn(&report.review);
    }
    Ok(exit(&report))
}

fn exit(report: &ReviewReport) -> Exit {
    if report.gates.ends_run() { Exit::Findings } else { exit_of(&report.review.errors).unwrap_or(Exit::Ok) }
}

/// How a run ends of whose rules some went wrong; absent where that matters to their author alone.
pub(super) fn exit_of(errors: &[RuleFailure]) -> Option<Exit> {
    if errors.iter().any(|error| !error.is_own && !error.is_spent()) {
        // A rule of the user's own that meets a report it was not made for is told, and ends no nightly run.
        Some(Exit::Rules)
    } else {
        errors.iter().any(RuleFailure::is_spent).then_some(Exit::Bounds)
    }
}

/// What the author of a rule or of a coldspot.toml should know.
fn warn(review: &Review) {
    warn_of_errors(&review.errors, "the review says how");
    warn_of_ignores(&review.stale_ignores);
}

/// Rules that went wrong, and those that were not asked to the end.
pub(super) fn warn_of_errors(errors: &[RuleFailure], where_told: &str) {
    let (spent, wrong): (Vec<&RuleFailure>, Vec<&RuleFailure>) = errors.iter().partition(|error| error.is_spent());
    for (which, what) in
        [(wrong, "went wrong"), (spent, "were not asked to the end, as all rules together took too much")]
    {
        if !which.is_empty() {
            let ids: Vec<&str> = which.iter().map(|error| error.rule.as_str()).collect();
            output::eprint_message(&format!("coldspot: these rules {what}, {where_told}: {}", ids.join(", ")));
        }
    }
}

/// Ignores that do nothing.
pub(super) fn warn_of_ignores(stale: &[StaleIgnore]) {
    for stale in stale {
        let entity = stale.entity.as_ref().map_or_else(String::new, |entity| format!(" of {entity}"));
        let why = match (&stale.why, &stale.until) {
            (Stale::Expired, Some(until)) => format!("has expired after {until}: the finding counts again"),
            (Stale::Expired, None) => "has expired".to_owned(),
            (Stale::MatchesNothing, _) => "matches nothing in this report".to_owned(),
        };
        output::eprint_message(&escape::plain(&format!("coldspot: the ignore of {}{entity} {why}", stale.rule)));
    }
}
