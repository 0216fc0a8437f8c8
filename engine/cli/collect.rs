//! `coldspot collect`.

use std::path::PathBuf;

use clap::Args;
use coldspot::findings::first_recordings;
use coldspot::render::collect::{collect_json, collect_text};

use super::exit::{Exit, Failure};
use super::format::TextOrJson;
use super::guard::Work;
use super::project::Judging;
use super::{Output, Reading, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  coldspot collect                                 how to record a program, with each profiler
  coldspot collect run.sqlite                      what this report lacks, and the kernels to look into
  coldspot collect trace.json.gz                   the same of a trace of the PyTorch Profiler
  coldspot collect kernels.csv                     what a page of Nsight Compute lacks
  coldspot collect run.sqlite --ncu kernels.csv    what is still missing beside both

Three profilers see three things, and coldspot reads all of them:
  nsys              the whole program in time: kernels, copies, calls, waits, ranges. A few percent of cost
  torch.profiler    a few steps of a PyTorch program: operators, shapes, source lines. A step can take twice its time
  ncu               single kernels, each run about 40 times: why it is slow inside. Profile few launches of few kernels

Begin with nsys or torch.profiler; they tell which kernels matter. Then ncu tells why those are slow:
`coldspot review run.sqlite --ncu kernels.ncu-rep` puts both together. Nothing is run: the lines are printed, to be copied.
";

/// What `coldspot collect` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A report; without one, how to make a first one.
    report: Option<PathBuf>,
    /// The format.
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    pub(super) fn work(&self) -> Work {
        self.reading.work(&self.report)
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    output::refuse_overwrite(arguments.report.as_deref(), arguments.output.output.as_deref())?;
    let collection = match &arguments.report {
        Some(report) => arguments.judging.analysis(&arguments.reading)?.collect(report)?,
        None => first_recordings(),
    };
    let text = match arguments.format {
        TextOrJson::Text => collect_text(&collection),
        TextOrJson::Json => collect_json(&collection),
    };
    output::write(&text, arguments.output.output.as_deref())?;
    Ok(Exit::Ok)
}
