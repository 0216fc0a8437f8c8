//! `coldspot compare`.

use std::path::PathBuf;

use clap::Args;
use coldspot::compare::{Outcome, Terms};
use coldspot::findings::Baseline;
use coldspot::gates::FailOn;
use coldspot::report::{About, ComparisonReport, Report};

use super::exit::{Exit, Failure};
use super::format::{self, Printed};
use super::guard::Work;
use super::project::Judging;
use super::review::{exit_of, warn_of_errors, warn_of_ignores};
use super::{Output, Reading, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  coldspot compare base.sqlite head.sqlite
  coldspot compare --base a1.sqlite a2.sqlite a3.sqlite --head b1.sqlite b2.sqlite b3.sqlite
  coldspot facts main.sqlite --phase steady --format json --output base.json   small: keep it, and compare with it later
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
    #[arg(long = "format", value_name = "FORMAT[=FILE]", value_parser = format::parse, help = format::help())]
    formats: Vec<Printed>,
    /// End with exit code 1 when findings of this severity or above are new or worse, or the head is slower: high, medium, low or
    /// never, and slower or slower=3%, with commas between them. A severity alone fails a slower head, too. By default what
    /// [compare] of coldspot.toml says, else never.
    #[arg(long, value_parser = FailOn::parse, value_name = "WHAT")]
    fail_on: Option<FailOn>,
    /// Evaluate budgets against the base although the sides did other work.
    #[arg(long)]
    budgets_on_other_work: bool,
    /// Both sides do the same work, whatever they launch: compare them as a whole, or by steps where both have them.
    #[arg(long)]
    same_work: bool,
    /// Changes below this share of the base are noise, such as 2%; by default 5 % with fewer than four runs a side, and less
    /// with more.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    noise: Option<f64>,
    /// Findings that are known, in a file that `coldspot baseline write` made: new ones among them fail nothing while they do not
    /// grow.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// What was recorded, for the heading: where one change is measured by several programs.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    program: String,
    /// The commit of the base, for the last line.
    #[arg(long, value_name = "COMMIT", default_value = "", hide_default_value = true)]
    base_commit: String,
    /// The commit of the head.
    #[arg(long, value_name = "COMMIT", default_value = "", hide_default_value = true)]
    head_commit: String,
    /// The address of the run that measured.
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true, value_parser = address)]
    run_url: String,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    pub(super) fn work(&self) -> Work {
        self.reading.work(self.reports.iter().chain(&self.base).chain(&self.head))
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let (base, head) = match arguments.reports.as_slice() {
        [base, head] => (std::slice::from_ref(base), std::slice::from_ref(head)),
        _ => (arguments.base.as_slice(), arguments.head.as_slice()),
    };
    let output = arguments.output.output.as_deref();
    let formats = format::or_default(arguments.formats.clone(), output);
    format::check(&formats)?;
    let configuration = arguments.judging.configuration_file();
    let inputs = || arguments.reading.files(base.iter().chain(head).map(PathBuf::as_path));
    let inputs = || inputs().chain(arguments.baseline.as_deref()).chain(configuration.as_deref());
    for file in format::files(&formats, output) {
        output::refuse_overwrite(inputs(), Some(file))?;
    }
    let analysis = arguments.judging.analysis(&arguments.reading)?;
    let mut request = arguments.judging.request(arguments.fail_on)?;
    request.about = About {
        program: arguments.program.clone(),
        base: arguments.base_commit.clone(),
        head: arguments.head_commit.clone(),
        url: arguments.run_url.clone(),
    };
    if let Some(path) = &arguments.baseline {
        request.baseline = Some(Baseline::read(path).map_err(|error| Failure::new(Exit::Usage, error))?);
    }
    request.budgets_on_other_work = arguments.budgets_on_other_work;
    request.terms = Terms { noise_share: arguments.noise, same_work: arguments.same_work };
    let report = analysis.compare(base, head, &request)?;
    let exit = exit(&report);
    if !arguments.reading.quiet {
        warn_of_ignores(&report.expired);
        warn_of_errors(&report.errors, "a review of the runs says how, and what they would find is not compared");
    }
    format::write(&analysis, &Report::Comparison(Box::new(report)), &formats, output)?;
    Ok(exit)
}

fn address(text: &str) -> Result<String, String> {
    let is_usable = text.is_empty() || About::is_address(text);
    if is_usable { Ok(text.to_owned()) } else { Err("write an address that begins with https://".to_owned()) }
}

/// `2%` or `0.02`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits.trim(), 100.0));
    let share = digits.parse::<f64>().map(|number| number / scale);
    share.ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| "write a share such as 2% or 0.02".to_owned())
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
        exit_of(&report.errors).unwrap_or(Exit::Ok)
    }
}
