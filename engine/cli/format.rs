//! Formats and thresholds that commands share.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use coldspot::analysis::Analysis;
use coldspot::gates::{self, Threshold};
use coldspot::render::{Format, Screen};
use coldspot::report::Report;
use coldspot::rules::outcome::Severity;

use super::exit::{Exit, Failure};
use super::{guard, output};

/// The formats of what is no report: numbers, for people and for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TextOrJson {
    /// For people.
    Text,
    /// One object; docs/json.md describes it.
    Json,
}

/// A format, and the file that it goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Printed {
    format: Format,
    /// Absent for `--output`, or standard output.
    file: Option<PathBuf>,
}

/// Reads `FORMAT` or `FORMAT=FILE`.
pub(super) fn parse(text: &str) -> Result<Printed, String> {
    let (name, file) = text.split_once('=').map_or((text, None), |(name, file)| (name, Some(file)));
    let names = || Format::ALL.map(Format::name).join(", ");
    let format = Format::ALL.into_iter().find(|format| format.name() == name);
    let format = format.ok_or_else(|| format!("there is no such format; formats are {}", names()))?;
    match file {
        Some("") => Err(format!("name a file: {name}=FILE")),
        _ => Ok(Printed { format, file: file.map(PathBuf::from) }),
    }
}

/// The help of `--format`.
pub(super) fn help() -> String {
    let each: Vec<String> = Format::ALL.map(|format| format!("{}: {}", format.name(), format.about())).to_vec();
    format!(
        "The format, or FORMAT=FILE; may be given again, so that several files come of one reading.\n{}",
        each.join("\n")
    )
}

/// What a report is printed in where nothing is said: text on a terminal, Markdown elsewhere.
pub(super) fn or_default(printed: Vec<Printed>, output: Option<&Path>) -> Vec<Printed> {
    if !printed.is_empty() {
        return printed;
    }
    let is_terminal = output.is_none() && std::io::stdout().is_terminal();
    let format = if is_terminal { Format::Text(Screen::PLAIN) } else { Format::Markdown };
    vec![Printed { format, file: None }]
}

/// The terminal that is printed to; a plain page where it is none. <https://no-color.org> switches colours off.
fn screen() -> Screen {
    if !std::io::stdout().is_terminal() {
        return Screen::PLAIN;
    }
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let columns = terminal_size::terminal_size().map_or(Screen::PLAIN.columns, |(width, _)| width.0);
    Screen { columns, is_coloured: !is_set("NO_COLOR") && !is_dumb }
}

/// The files that are written.
pub(super) fn files<'a>(printed: &'a [Printed], output: Option<&'a Path>) -> impl Iterator<Item = &'a Path> {
    printed.iter().filter_map(|one| one.file.as_deref()).chain(output)
}

/// Refuses what would be written twice to the same place.
pub(super) fn check(printed: &[Printed]) -> Result<(), Failure> {
    let unnamed = printed.iter().filter(|one| one.file.is_none()).count();
    let mut files: Vec<&PathBuf> = printed.iter().filter_map(|one| one.file.as_ref()).collect();
    files.sort_unstable();
    if unnamed > 1 || files.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = "--format: of several formats each but one needs a file of its own: --format sarif=FILE";
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(())
}

/// Prints a report in every format that is asked for; what has no file goes to `output`.
pub(super) fn write(
    analysis: &Analysis,
    report: &Report,
    printed: &[Printed],
    output: Option<&Path>,
) -> Result<(), Failure> {
    let mut texts: Vec<(String, Option<&Path>)> = Vec::new();
    for one in printed {
        let file = one.file.as_deref().or(output);
        let format = match one.format {
            Format::Text(_) if file.is_none() => Format::Text(screen()),
            format => format,
        };
        texts.push((render(analysis, report, format)?, file));
    }
    texts.iter().try_for_each(|(text, file)| output::write(text, *file))
}

/// The text of a report. The templates of the user may never end; what else prints has the bounds of the run.
fn render(analysis: &Analysis, report: &Report, format: Format) -> Result<String, Failure> {
    let render = || analysis.render(report, format);
    let rendered = if analysis.has_templates_of_user() { guard::while_printing(render) } else { render() };
    rendered.map_err(|error| Failure::new(Exit::Rules, error))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// At least 20 % of a GPU's window can be gained, or the capture cannot be trusted.
    High,
    /// At least 5 %.
    Medium,
    /// At least 1 %.
    Low,
    /// Whatever is found.
    Never,
}

impl From<FailOn> for gates::FailOn {
    fn from(word: FailOn) -> Self {
        Self::findings(match word {
            FailOn::High => Threshold::At(Severity::High),
            FailOn::Medium => Threshold::At(Severity::Medium),
            FailOn::Low => Threshold::At(Severity::Low),
            FailOn::Never => Threshold::Never,
        })
    }
}
