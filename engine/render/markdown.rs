//! A review as Markdown, through templates that users may replace.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use minijinja::ErrorKind::WriteFailure;
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use super::json::{Part, ReviewView};
use super::{bar, filters};
use crate::files::read_inside;
use crate::findings::{Review, Scorecard, ScorecardError};
use crate::limits::{
    MAX_OPEN_BRANCH_COUNT, MAX_PAGE_BYTES, MAX_TAG_BYTES, MAX_TEMPLATE_DEPTH, MAX_TEMPLATE_FILE_COUNT,
    MAX_TEMPLATE_NEST_COUNT, MAX_TEMPLATE_STEP_COUNT,
};
use crate::report::{Report, ReviewReport};
use crate::rules::CaptureNote;
use crate::text::{escape, tags};

const REVIEW: &str = "review.md.j2";
const FINDING: &str = "finding.md.j2";
pub(super) const COMPARE: &str = "compare.md.j2";
const SCORECARD: &str = "scorecard.toml";

/// Of the thread that prints: for values as deep as the limits let templates nest them. Only what is used of it takes memory.
const STACK_BYTES: usize = 256 << 20;

/// The built-in templates.
const BUILTIN: &[(&str, &str)] = &[
    (REVIEW, include_str!("../../templates/review.md.j2")),
    (FINDING, include_str!("../../templates/finding.md.j2")),
    (COMPARE, include_str!("../../templates/compare.md.j2")),
];

/// A template that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// It cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A folder of templates without one that coldspot uses.
    #[error("{path}: holds none of the templates that coldspot uses: {REVIEW}, {FINDING}, {COMPARE}, {SCORECARD}")]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// It does not parse, or it fails.
    #[error("template {}: {}", .0.name().unwrap_or("?"), describe(.0))]
    Template(Box<minijinja::Error>),
    /// The scorecard is wrong.
    #[error(transparent)]
    Scorecard(#[from] ScorecardError),
}

/// The templates of one run.
#[derive(Debug)]
pub struct Templates {
    pub(super) env: Environment<'static>,
    scorecard: Scorecard,
    are_replaced: bool,
}

impl Templates {
    /// The built-in templates, with those of `folder` in their place where it has files of the same name. Other `.j2`
    /// files in it may be included.
    ///
    /// # Errors
    /// When a file cannot be read or does not parse, or the folder holds no template that coldspot uses.
    pub fn load(folder: Option<&Path>) -> Result<Self, TemplateError> {
        let mut env = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
        env.set_syntax(syntax.map_err(failed)?);
        env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        // Errors name what is undefined.
        env.set_debug(true);
        env.set_fuel(Some(MAX_TEMPLATE_STEP_COUNT));
        env.set_recursion_limit(MAX_TEMPLATE_DEPTH);
        filters::install(&mut env);
        for (name, source) in BUILTIN {
            env.add_template(name, source).map_err(failed)?;
        }
        let mut scorecard = None;
        if let Some(folder) = folder {
            for (name, path) in files(folder)? {
                let source = read(folder, &path)?;
                match name.as_str() {
                    SCORECARD => scorecard = Some(Scorecard::parse(&source, &path.display().to_string())?),
                    _ => env.add_template_owned(name, source).map_err(failed)?,
                }
            }
        }
        let scorecard = match scorecard {
            Some(scorecard) => scorecard,
            None => Scorecard::parse(include_str!("../../templates/scorecard.toml"), SCORECARD)?,
        };
        Ok(Self { env, scorecard, are_replaced: folder.is_some() })
    }

    /// Whether a folder of the user may have put templates in the place of built-in ones.
    pub fn are_replaced(&self) -> bool {
        self.are_replaced
    }

    /// The scorecard that reviews are made with.
    pub fn scorecard(&self) -> &Scorecard {
        &self.scorecard
    }

    /// A report as Markdown.
    ///
    /// # Errors
    /// When a template of the user fails.
    pub(super) fn markdown(&self, report: &Report) -> Result<String, TemplateError> {
        let print = || match report {
            Report::Review(report) => self.review(report),
            Report::Comparison(report) => self.comparison(report),
        };
        let page = on_a_large_stack(print)?;
        // A template may come with a stranger's checkout: what it prints is a page, and nothing that a terminal or a pipeline acts on.
        Ok(if self.are_replaced { escape::log_whole(&page) } else { page })
    }

    fn review(&self, report: &ReviewReport) -> Result<String, TemplateError> {
        let template = self.env.get_template(REVIEW).map_err(failed)?;
        let mut printed = Bounded(Vec::new());
        template.render_captured_to(minijinja::value::Serde(&page(report)), &mut printed).map_err(failed)?;
        String::from_utf8(printed.0).map_err(|error| failed(minijinja::Error::new(WriteFailure, error.to_string())))
    }

    /// The first finding of a review alone, as the review prints it.
    ///
    /// # Errors
    /// When a template of the user fails.
    pub(super) fn first_finding(&self, report: &ReviewReport) -> Result<String, TemplateError> {
        on_a_large_stack(|| {
            let scope = minijinja::value::Serde(page(report));
            // Named as Markdown templates are, so that it escapes as they do.
            self.env.render_named_str("one-finding.md.j2", ONE_FINDING, scope).map_err(failed)
        })
    }
}

/// Values that hold values are printed and let go of by functions that call themselves.
fn on_a_large_stack(print: impl FnOnce() -> Result<String, TemplateError> + Send) -> Result<String, TemplateError> {
    std::thread::scope(|scope| {
        let printing = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, print);
        let printing = printing.map_err(|error| failed(minijinja::Error::new(WriteFailure, error.to_string())))?;
        printing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Output that has an end, whatever a template does.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_PAGE_BYTES {
            return Err(io::Error::other("the review would be larger than 64 MiB"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn page(report: &ReviewReport) -> Page<'_> {
    let view = ReviewView::new(report);
    let drawings: Vec<Drawing> = view
        .devices
        .iter()
        .map(|device| Drawing {
            bar: bar::bar(&device.parts, device.window_ns),
            rows: bar::rows(&device.parts),
            accounts: bar::accounts(&device.parts),
        })
        .collect();
    let of = |note: CaptureNote| {
        let findings = report.review.findings.iter().filter(move |finding| finding.capture_note == Some(note));
        findings.map(|finding| finding.rule.as_str()).collect()
    };
    let capture_notes = CaptureNotes { repeated: of(CaptureNote::Repeated), quoted: of(CaptureNote::Quoted) };
    let headline = report.review.headline().unwrap_or(0);
    Page { review: view, drawings, headline, columns: columns(&report.review), capture_notes }
}

/// One finding of a review, by the macro that reviews print it with.
const ONE_FINDING: &str = "{% import \"finding.md.j2\" as show %}{{ show.finding(findings[0], 1) }}";

/// What templates see: the review as in JSON, and for each device a bar with its rows.
#[derive(Serialize)]
struct Page<'a> {
    #[serde(flatten)]
    review: ReviewView<'a>,
    drawings: Vec<Drawing>,
    /// The device that is told of in full.
    headline: usize,
    columns: Vec<Column<'a>>,
    capture_notes: CaptureNotes<'a>,
}

/// Rules whose findings are about the capture, by how they stand to what it was missing.
#[derive(Serialize)]
struct CaptureNotes<'a> {
    repeated: Vec<&'a str>,
    quoted: Vec<&'a str>,
}

/// A score that at least one device has.
#[derive(Serialize)]
struct Column<'a> {
    /// Its index among each device's scores.
    index: usize,
    title: &'a str,
    is_floor: bool,
    target: f64,
}

#[derive(Serialize)]
struct Drawing {
    bar: String,
    rows: Vec<Part>,
    /// One part an account, the largest first.
    accounts: Vec<Part>,
}

fn columns(review: &Review) -> Vec<Column<'_>> {
    let scores = review.devices.first().map_or(&[][..], |device| &device.scores);
    let is_known = |index: usize| {
        review.devices.iter().any(|device| device.scores.get(index).is_some_and(|score| score.share.is_some()))
    };
    scores
        .iter()
        .enumerate()
        .filter(|(index, _)| is_known(*index))
        .map(|(index, score)| Column { index, title: &score.title, is_floor: score.is_floor, target: score.target })
        .collect()
}

fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>, TemplateError> {
    let unreadable = |source| TemplateError::Read { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.ends_with(".j2") || name == SCORECARD {
            files.push((name, path));
        }
        if files.len() > MAX_TEMPLATE_FILE_COUNT {
            return Err(unreadable(io::Error::other(format!("more than {MAX_TEMPLATE_FILE_COUNT} templates"))));
        }
    }
    files.sort();
    if !files.iter().any(|(name, _)| [REVIEW, FINDING, COMPARE, SCORECARD].contains(&name.as_str())) {
        return Err(TemplateError::Empty { path: folder.to_owned() });
    }
    Ok(files)
}

fn read(folder: &Path, path: &Path) -> Result<String, TemplateError> {
    read_inside(folder, path)
        .and_then(within_limits)
        .map_err(|source| TemplateError::Read { path: path.to_owned(), source })
}

/// The parser calls itself for each operator within a tag, and for each branch: of enough of them it would end the program.
fn within_limits(source: String) -> io::Result<String> {
    let measure = tags::measure(&source, MAX_TEMPLATE_NEST_COUNT);
    if measure.longest_tag > MAX_TAG_BYTES {
        return Err(io::Error::other(format!("a tag is longer than {MAX_TAG_BYTES} bytes")));
    }
    if measure.open_branches > MAX_OPEN_BRANCH_COUNT {
        let message = format!("more than {MAX_OPEN_BRANCH_COUNT} branches (`if`, `elif`) stand inside each other");
        return Err(io::Error::other(message));
    }
    if let Some(line) = measure.nests_beyond_line {
        return Err(io::Error::other(format!(
            "line {line}: with this tag, the tags that give values a name and the largest of the others hold {} brackets, `+`, `*` and filters that do not make a text or a number; no more than {MAX_TEMPLATE_NEST_COUNT} are read",
            measure.nests
        )));
    }
    Ok(source)
}

pub(super) fn failed(error: minijinja::Error) -> TemplateError {
    TemplateError::Template(Box::new(error))
}

fn describe(error: &minijinja::Error) -> String {
    let line = error.line().map_or_else(String::new, |line| format!("line {line}: "));
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    let why = std::error::Error::source(error).map_or_else(String::new, |source| format!(": {source}"));
    format!("{line}{detail}{why}")
}
