//! `coldspot compare`.

use std::path::{Path, PathBuf};

use clap::Args;
use coldspot::compare::{self, Comparison, GateOutcome, Outcome, Run};
use coldspot::findings::Threshold;
use coldspot::render::{self, Notes};

use super::exit::{Exit, Failure};
use super::format::{FailOn, Format};
use super::judge::{Judge, Judging, name_of};
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
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let judge = arguments.judging.judge()?;
    let budgets = judge.budgets(&arguments.judging.budgets)?;
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
        notes.allowing_unknown_gates(arguments.judging.allow_unknown_gates)
    };
    let markdown = || judge.templates.comparison(&comparison);
    let text = arguments.format.print(markdown, || render::comparison_json(&comparison), notes)?;
    output::deliver(&text, arguments.output.output.as_deref())?;
    Ok(exit(&comparison, arguments.judging.allow_unknown_gates))
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
