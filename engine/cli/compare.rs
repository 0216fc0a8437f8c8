//! `coldspot compare`.

use std::path::{Path, PathBuf};

use clap::Args;
use coldspot::compare::{self, Comparison, GateOutcome, Outcome, Run};
use coldspot::findings::Threshold;
use coldspot::render::{self, Notes};

use super::exit::{Exit, Failure};
use super::format::{FailOn, Format};
use super::guard::Guard;
use super::judge::{Judge, name_of};
use super::project::Project;
use super::{Output, Reading, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  coldspot compare base.sqlite head.sqlite
  coldspot compare --base a1.sqlite a2.sqlite a3.sqlite --head b1.sqlite b2.sqlite b3.sqlite
  coldspot facts main.sqlite --format json --output base.json        small: keep it, and compare with it later
  coldspot compare base.json head.sqlite --fail-on high --budget 'step_time=+5%'
";

/// What `coldspot compare` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Before and after: reports, or facts files that `coldspot facts --format json` wrote.
    #[arg(value_names = ["BASE", "HEAD"], num_args = 2, required_unless_present = "base")]
    reports: Vec<PathBuf>,
    /// Several runs of the base: their spread tells what is noise.
    #[arg(long, value_name = "REPORT", num_args = 1.., requires = "head", conflicts_with = "reports")]
    base: Vec<PathBuf>,
    /// Several runs of the head.
    #[arg(long, value_name = "REPORT", num_args = 1.., requires = "base", conflicts_with = "reports")]
    head: Vec<PathBuf>,
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// End with exit code 1 when findings of this severity or above are new or worse; by default what
    /// [compare] of coldspot.toml says, else never.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// How far a number may go, such as 'step_time=+5%' or 'device.idle_share<=0.15'; may be given again. Adds to
    /// [budgets] of coldspot.toml, or replaces those of the same number and kind.
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
    project: Project,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let judge = Judge::new(&arguments.project, &arguments.rules, arguments.templates.as_deref())?;
    let budgets = judge.budgets(&arguments.budgets)?;
    let (base, head) = match arguments.reports.as_slice() {
        [base, head] => (std::slice::from_ref(base), std::slice::from_ref(head)),
        _ => (arguments.base.as_slice(), arguments.head.as_slice()),
    };
    output::spare(base.iter().chain(head).map(PathBuf::as_path), arguments.output.output.as_deref())?;
    let (base, head) = (runs(arguments, &judge, base)?, runs(arguments, &judge, head)?);
    let mut comparison = compare::compare(&base, &head).map_err(|error| Failure::new(Exit::Usage, error))?;
    let threshold = arguments.fail_on.map(Threshold::from).or(judge.config.compare_fail_on());
    let least = match threshold {
        Some(Threshold::At(least)) => Some(least),
        _ => None,
    };
    comparison.gates = compare::gates(&comparison, [&base, &head], least, &budgets);
    let notes = || {
        let notes = Notes::of_comparison(&comparison, &judge.library);
        notes.allowing_unknown_gates(arguments.allow_unknown_gates)
    };
    let guard = Guard::new();
    let text = match arguments.format {
        Format::Markdown => {
            judge.templates.comparison(&comparison).map_err(|error| Failure::new(Exit::Rules, error))?
        }
        Format::Json => render::comparison_json(&comparison).map_err(|error| Failure::new(Exit::Rules, error))?,
        Format::Sarif => render::sarif(&notes()),
        Format::Github => render::github(&notes()),
        Format::Junit => render::junit(&notes()),
    };
    drop(guard);
    output::deliver(&text, arguments.output.output.as_deref())?;
    Ok(exit(&comparison, arguments.allow_unknown_gates))
}

fn runs(arguments: &Arguments, judge: &Judge, reports: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    let run = |report: &PathBuf| {
        let facts = arguments.reading.facts(report, judge.root.clone())?;
        let review = judge.review(&facts);
        Ok(Run { name: name_of(Path::new(report)), facts, review })
    };
    reports.iter().map(run).collect()
}

/// A gate that was evaluated and failed is worth more than that there is no verdict; one that could not be evaluated for
/// want of a verdict is not.
fn exit(comparison: &Comparison, allow_unknown: bool) -> Exit {
    let has = |outcome| comparison.gates.iter().any(|gate| gate.outcome == outcome);
    match () {
        () if has(GateOutcome::Failed) => Exit::Findings,
        () if comparison.outcome == Outcome::NotComparable => Exit::Comparison,
        () if has(GateOutcome::Unknown) && !allow_unknown => Exit::Findings,
        () => Exit::Ok,
    }
}
