//! `coldspot compare`.

use std::path::PathBuf;

use clap::Args;
use coldspot::compare::Outcome;
use coldspot::render::Format;
use coldspot::report::{ComparisonReport, Report};

use super::exit::{Exit, Failure};
use super::format::{self, FailOn};
use super::guard::Work;
use super::project::Judging;
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
    #[arg(long, value_parser = format::parser(), default_value = format::DEFAULT)]
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

impl Arguments {
    pub(super) fn work(&self) -> Work {
        Work::of(self.reports.iter().chain(&self.base).chain(&self.head).chain(&self.reading.ncu))
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let analysis = arguments.judging.analysis(&arguments.reading)?;
    let request = arguments.judging.request(arguments.fail_on)?;
    let (base, head) = match arguments.reports.as_slice() {
        [base, head] => (std::slice::from_ref(base), std::slice::from_ref(head)),
        _ => (arguments.base.as_slice(), arguments.head.as_slice()),
    };
    output::refuse_overwrite(base.iter().chain(head).map(PathBuf::as_path), arguments.output.output.as_deref())?;
    let report = analysis.compare(base, head, &request)?;
    let exit = exit(&report);
    let text = format::render(&analysis, &Report::Comparison(Box::new(report)), arguments.format)?;
    output::write(&text, arguments.output.output.as_deref())?;
    Ok(exit)
}

/// A gate that was evaluated and failed is worth more than that there is no verdict; one that could not be evaluated for
/// want of a verdict is not.
fn exit(report: &ComparisonReport) -> Exit {
    if report.gates.has_failed() {
        Exit::Findings
    } else if report.comparison.outcome == Outcome::NotComparable {
        Exit::Comparison
    } else if report.gates.lacks_answer() {
        Exit::Findings
    } else {
        Exit::Ok
    }
}
