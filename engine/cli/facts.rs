//! `coldspot facts`.

use std::path::PathBuf;

use clap::Args;
use coldspot::render::facts::{catalogue_json, catalogue_text, facts_text, write_facts_json};

use super::exit::{Exit, Failure};
use super::format::TextOrJson;
use super::guard::Work;
use super::project::ProjectArguments;
use super::{Output, Reading, output};

/// What `coldspot facts` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A report: a trace of the PyTorch Profiler, an .sqlite export of Nsight Systems, or an .nsys-rep.
    #[arg(required_unless_present = "list")]
    report: Option<PathBuf>,
    /// Print what facts there are: name, type, unit, which capture brings them, meaning.
    #[arg(long, conflicts_with = "report")]
    list: bool,
    /// The format.
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,
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
    output::refuse_overwrite(arguments.reading.files(arguments.report.as_deref()), arguments.output.output.as_deref())?;
    let mut reading = arguments.reading.options();
    reading.options.root = ProjectArguments::default().configuration().folder();
    let text = match (&arguments.report, arguments.format) {
        (None, TextOrJson::Text) => catalogue_text(),
        (None, TextOrJson::Json) => catalogue_json(),
        (Some(report), TextOrJson::Text) => facts_text(&reading.facts(report)?),
        (Some(report), TextOrJson::Json) => {
            let facts = reading.facts(report)?;
            output::write_by(|out| write_facts_json(&facts, out), arguments.output.output.as_deref())?;
            return Ok(Exit::Ok);
        }
    };
    output::write(&text, arguments.output.output.as_deref())?;
    Ok(Exit::Ok)
}
