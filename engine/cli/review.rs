//! `coldspot review`.

use std::path::PathBuf;

use clap::Args;
use coldspot::compare;
use coldspot::findings::{Baseline, GateOutcome, Review, Stale, Threshold};
use coldspot::render::{self, Notes};
use coldspot::text::escape;

use super::exit::{Exit, Failure};
use super::format::{FailOn, Format};
use super::judge::{Judging, name_of};
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
    /// A report: an .sqlite export of Nsight Systems, an .nsys-rep, or a facts file that `coldspot facts` wrote.
    report: PathBuf,
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
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

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    output::spare([arguments.report.as_path()], arguments.output.output.as_deref())?;
    let judge = arguments.judging.judge()?;
    let budgets = judge.budgets(&arguments.judging.budgets)?;
    let baseline = match &arguments.baseline {
        Some(path) => Some(Baseline::read(path).map_err(|error| Failure::new(Exit::Usage, error))?),
        None => None,
    };
    let facts = arguments.reading.facts(&arguments.report, judge.root.clone())?;
    let mut review = judge.review_against(&facts, baseline);
    let new_count = review.known.is_some().then(|| review.entity_count(&facts));
    let threshold = arguments.fail_on.map(Threshold::from).or(judge.config.fail_on()).unwrap_or(Threshold::Never);
    compare::review_gates(&facts, &mut review, threshold, &budgets, new_count);
    let name = name_of(&arguments.report);
    let notes = || {
        let notes = Notes::of_review(&facts, &review, &name, &judge.library, threshold);
        notes.allowing_unknown_gates(arguments.judging.allow_unknown_gates)
    };
    let markdown = || judge.templates.review(&review, &name);
    let text = arguments.format.print(markdown, || render::review_json(&review, &name), notes)?;
    output::deliver(&text, arguments.output.output.as_deref())?;
    if !arguments.reading.quiet {
        warn(&review);
    }
    Ok(match () {
        () if is_stopped(&review, arguments.judging.allow_unknown_gates) => Exit::Findings,
        () if !review.errors.is_empty() => Exit::Rules,
        () => Exit::Ok,
    })
}

/// Whether a gate does not hold.
fn is_stopped(review: &Review, allow_unknown: bool) -> bool {
    review.gates.iter().any(|gate| match gate.outcome {
        GateOutcome::Passed => false,
        GateOutcome::Failed => true,
        GateOutcome::Unknown => !allow_unknown,
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
