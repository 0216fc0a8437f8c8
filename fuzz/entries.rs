//! What the fuzz targets do with their bytes. Plain functions, so that the ordinary tests run them over the seeds, too.
//!
//! None may panic, hang or take much memory, whatever the bytes are.

use std::fs;
use std::sync::LazyLock;

use coldspot::analysis::{Analysis, Project, Reading, Request, scope};
use coldspot::facts::{Facts, file};
use coldspot::findings::{Policy, review};
use coldspot::gates::Gates;
use coldspot::ledger::Scope;
use coldspot::project::ConfigFile;
use coldspot::render::facts::{facts_json, facts_text};
use coldspot::render::{Context, Format, Templates, render, rule_page};
use coldspot::report::{Report, ReviewReport};
use coldspot::rules::{Depth, Library, example};
use coldspot::source::ReadOptions;
use coldspot::text::{escape as escapes, names};

static LIBRARY: LazyLock<Library> = LazyLock::new(|| Library::builtin().expect("the built-in rules are right"));
static ANALYSIS: LazyLock<Analysis> = LazyLock::new(|| {
    let options = ReadOptions { threads: Some(1), ..ReadOptions::default() };
    let project = Project::builtin().expect("the built-in rules and templates are right");
    Analysis::new(project, Reading { options, ..Reading::default() })
});

/// A report of Nsight Systems, from its bytes to all that is printed of it.
pub(crate) fn sqlite(data: &[u8]) {
    report(data, "report.sqlite");
}

/// A trace of the PyTorch Profiler, the same.
pub(crate) fn trace(data: &[u8]) {
    report(data, "trace.json");
}

/// A page of Nsight Compute, the same.
pub(crate) fn page(data: &[u8]) {
    report(data, "kernels.csv");
}

fn report(data: &[u8], name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    fs::write(&path, data).expect("a file");
    if let Ok(facts) = ANALYSIS.facts(&path) {
        print(&facts);
    }
}

/// A facts file, to all that is printed of it.
pub(crate) fn facts(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("facts.json");
    fs::write(&path, data).expect("a file");
    match file::read(&path) {
        Ok(facts) => print(&facts),
        Err(error) => is_inert(&escapes::log(&error.to_string())),
    }
}

fn print(facts: &Facts) {
    is_inert(&facts_json(facts).expect("JSON"));
    is_inert(&facts_text(facts));
    let request = Request::default();
    let review = ANALYSIS.review_facts(facts, "report", &request);
    print_report(&Report::Review(Box::new(review)));
    let run = || [ANALYSIS.run(facts.clone(), "report")];
    if let Ok(comparison) = ANALYSIS.compare_runs(&run(), &run(), &request) {
        print_report(&Report::Comparison(Box::new(comparison)));
    }
}

/// In every format but the one that consists of commands.
fn print_report(report: &Report) {
    for format in Format::ALL.into_iter().filter(|format| *format != Format::Github) {
        is_inert(&ANALYSIS.render(report, format).expect("every report can be printed"));
    }
}

/// A project's configuration, held against the rules.
pub(crate) fn config(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("coldspot.toml");
    fs::write(&path, data).expect("a file");
    if let Err(faults) = ConfigFile::read(&path) {
        is_inert(&escapes::log(&faults.to_string()));
    }
}

/// A rule file: loaded, tested, shown.
pub(crate) fn rule(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    with_rule(text);
}

/// An expression, in the place of a condition, a value and a text.
pub(crate) fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r', '\t', '\0'], " ");
    let skeleton = include_str!("../rules/copies/pageable-copy.toml");
    let with = |key: &str| {
        let lines = skeleton.lines().map(|line| match line.starts_with(key) {
            true => format!("{key} = \"{quoted}\"\n"),
            false => format!("{line}\n"),
        });
        lines.collect::<String>()
    };
    with_rule(&with("expr"));
    with_rule(&with("recoverable_ns"));
    with_rule(&with("summary"));
}

fn with_rule(text: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("pageable-copy.toml"), text).expect("a file");
    match Library::with_dirs(&[folder.path().to_owned()], Depth::Whole) {
        Err(faults) => is_inert(&escapes::log(&faults.to_string())),
        Ok(library) => {
            let Some(rule) = library.rule("pageable-copy") else { return };
            is_inert(&escapes::log(&rule_page(&library, rule).unwrap_or_default()));
            let _ = example::outcome(&library, rule);
        }
    }
}

/// A template, printed over an empty review. Templates may be wrong, and may end in an error.
pub(crate) fn template(data: &[u8]) {
    // One step can make a string as large as memory: the program guards against that, the library cannot.
    if data.len() > 2_000 || data.contains(&b'*') || data.contains(&b'~') || data.contains(&b'+') {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("review.md.j2"), data).expect("a file");
    let Ok(templates) = Templates::load(Some(folder.path())) else { return };
    let review = review(&Facts::default(), &[], &[], templates.scorecard(), &Policy::default());
    let report = ReviewReport { name: "report.sqlite".to_owned(), review, gates: Gates::none() };
    let context = Context { templates: &templates, library: &LIBRARY };
    let _ = render(&Report::Review(Box::new(report)), Format::Markdown, context);
}

/// Every way to make a string harmless.
pub(crate) fn escape(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    is_inert(&escapes::plain(&text));
    is_inert(&escapes::markdown(&text));
    is_inert(&escapes::code(&text));
    is_inert(&escapes::log(&text));
    is_inert(&names::shorten(&text));
    assert!(!escapes::code(&text).contains('\n') && !escapes::markdown(&text).contains('\n'));
}

/// `--window`, `--range` and `--limit`.
pub(crate) fn times(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(Scope::Times { start: Some(start), end: Some(end) }) = scope::window(text) {
        assert!(0 <= start && start < end);
    }
    let _ = scope::range(text);
    let _ = scope::limit(text);
}

/// Nothing that a terminal or a pipeline acts on.
fn is_inert(page: &str) {
    assert!(!page.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')), "{page:?}");
    assert!(!page.contains("##["), "{page:?}");
    let is_alone = !page.contains('\n');
    assert!(is_alone || !page.lines().any(|line| line.trim_start().starts_with("::")), "{page:?}");
}
