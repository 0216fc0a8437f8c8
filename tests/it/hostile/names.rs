//! Names that try to be something else than text, through every format.

use std::path::Path;
use std::sync::LazyLock;

use coldspot::facts::{EntityKind, Facts};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;
use rusqlite::Connection;

use crate::support::analysis::{self, builtin};
use crate::support::cli::{Printed as _, coldspot_in};
use crate::support::formats::{Printed, Printer, fault};
use crate::support::hostile::NAMES;
use crate::support::{SchemaVersion, mutate, scenario, temp, trace};

/// A report with much to find, in which every string is this one.
fn facts_named(name: &str) -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("report.sqlite");
    static BASE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let folder = temp::folder();
        let path = folder.path().join("base.sqlite");
        scenario("training-step").write(SchemaVersion::Nsys2025, &path);
        mutate::loosen(&path);
        std::fs::read(&path).unwrap()
    });
    std::fs::write(&path, &*BASE).unwrap();
    let db = Connection::open(&path).unwrap();
    // APIs keep their beginnings, by which they are told; kernels are told apart by their ends.
    for sql in [
        "UPDATE StringIds SET value = CASE WHEN value LIKE 'cu%' THEN value || ?1 ELSE ?1 || substr(value, 1, 3) END",
        "UPDATE NVTX_EVENTS SET text = ?1 || text",
        "UPDATE TARGET_INFO_GPU SET name = ?1",
        "UPDATE PROCESSES SET name = ?1",
        "UPDATE META_DATA_EXPORT SET value = ?1",
        "UPDATE DIAGNOSTIC_EVENT SET severity = 3, text = 'Not all CUDA events, CUPTI, driver version: ' || ?1",
    ] {
        db.execute(sql, [name]).unwrap();
    }
    drop(db);
    with_sources(analysis::facts(&path), name)
}

/// Facts whose kernels come from a line of a file of this name.
fn with_sources(mut facts: Facts, name: &str) -> Facts {
    let kernels: Vec<_> = facts.of_kind(EntityKind::Kernel).map(|(id, _)| id).collect();
    for kernel in kernels {
        let kernel = facts.get_mut(kernel);
        kernel.set("source_file", name);
        kernel.set("source_function", name);
        kernel.set("source_line", 3);
        kernel.set("source_share", 1.0);
        kernel.set("is_source_in_project", true);
    }
    facts
}

static PRINTER: LazyLock<Printer> = LazyLock::new(Printer::new);

/// Everything that is printed of a report.
fn printed(facts: &Facts, report: &str) -> Vec<Printed> {
    PRINTER.print(facts, report).unwrap()
}

fn in_format(format: &str, printed: &[Printed]) -> String {
    printed.iter().find(|(name, _)| *name == format).unwrap().1.clone()
}

/// What a forge makes of a page: its text outside of code, and what is no text.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) prose: String,
    pub(super) headings: usize,
    pub(super) code_blocks: usize,
    pub(super) links: Vec<String>,
    pub(super) html: Vec<String>,
    /// Quotes, formulas, footnotes, rules, tables.
    pub(super) others: usize,
}

pub(super) fn parse(markdown: &str) -> Page {
    let mut page = Page::default();
    let mut is_in_block = false;
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Text(text) if !is_in_block => page.prose.push_str(&text),
            // What stands on its two sides does not stand side by side.
            Event::Code(_) => page.prose.push('\u{fffc}'),
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                page.prose.push('\n');
                is_in_block &= !matches!(event, Event::End(TagEnd::CodeBlock));
            }
            Event::Html(html) | Event::InlineHtml(html) => page.html.push(html.trim().to_owned()),
            Event::Start(Tag::Heading { .. }) => page.headings += 1,
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.to_string())
            }
            Event::Start(Tag::CodeBlock(_)) => (page.code_blocks, is_in_block) = (page.code_blocks + 1, true),
            Event::Start(
                Tag::FootnoteDefinition(_) | Tag::BlockQuote(_) | Tag::DefinitionList | Tag::MetadataBlock(_),
            )
            | Event::FootnoteReference(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::TaskListMarker(_)
            | Event::Rule => page.others += 1,
            _ => {}
        }
    }
    page
}

/// Characters that no reader sees, and that change what is read.
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

pub(super) fn check_everywhere(text: &str, about: &str) {
    assert_eq!(text.chars().find(|c| is_hidden(*c)), None, "{about}");
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::"), "{about}: {line}");
        assert!(!line.contains("##[") && !line.contains("##vso") && !line.contains("##team"), "{about}: {line}");
    }
    assert!(text.len() < 4_000_000, "{about}: {} bytes", text.len());
}

#[test]
fn names_arrive_as_text_in_markdown() {
    let plain = parse(&in_format("markdown", &printed(&facts_named("name"), "run.sqlite")));
    let facts = facts_named("name");
    let compared_plain = parse(&in_format("markdown", &PRINTER.compare(&facts, &facts, "run.sqlite").unwrap()));
    let forbidden = Regex::new(concat!(
        r"(?i)@[a-z0-9]|(^|[^\w#])#\d|\bGH-\d|https?://evil|www\.\w|[0-9a-f]{8}|(^|\s)[!%~$]\d|",
        r"\bowner/repo#\d|:smile:|\$x|file:///"
    ))
    .unwrap();
    for name in NAMES {
        let facts = facts_named(name);
        check_markdown(name, &in_format("markdown", &printed(&facts, name)), &plain, &forbidden);
        let compared = PRINTER.compare(&facts, &facts, name).unwrap();
        check_markdown(name, &in_format("markdown", &compared), &compared_plain, &forbidden);
    }
}

/// What rules refer to.
static OURS: LazyLock<Vec<String>> = LazyLock::new(|| {
    builtin().rules().iter().flat_map(|rule| rule.references()).map(|reference| reference.url.clone()).collect()
});

fn check_markdown(name: &str, markdown: &str, plain: &Page, forbidden: &Regex) {
    check_everywhere(markdown, name);
    let page = parse(markdown);
    let ours = ["<details>", "</details>", "<summary>", "</summary>", "<!-- coldspot:compare -->"];
    let markers = |page: &Page| page.html.iter().filter(|html| html.contains("<!--")).count();
    assert_eq!(markers(&page), markers(plain), "{name}");
    let strange = page.html.iter().find(|html| {
        html.split_inclusive('>').any(|tag| tag.contains('<') && !ours.iter().any(|own| tag.ends_with(own)))
    });
    assert_eq!(strange, None, "{name}");
    assert_eq!(page.links.iter().find(|link| !OURS.contains(*link)), None, "{name}");
    assert_eq!(page.others, plain.others, "{name}");
    assert_eq!(page.code_blocks, plain.code_blocks, "{name}");
    assert_eq!(page.prose.lines().find(|line| forbidden.is_match(line)), None, "{name:?}");
    assert!(!page.prose.contains("49") || plain.prose.contains("49") || !name.contains("7*7"), "{name} was computed");
}

#[test]
fn names_arrive_as_text_in_json_and_text() {
    for name in NAMES {
        let facts = facts_named(name);
        let all = printed(&facts, name);
        let [review, text, json] = ["json", "facts text", "facts json"].map(|format| in_format(format, &all));
        for output in all.iter().chain(&PRINTER.compare(&facts, &facts, name).unwrap()) {
            assert_eq!(fault(output), None, "{name:?}");
            assert_eq!(output.1.chars().find(|c| is_hidden(*c)), None, "{} of {name:?}", output.0);
        }
        check_xml(&in_format("junit", &all), name);
        let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
        // JSON holds the name itself, in escapes.
        assert_eq!(parsed["devices"][0]["name"], *name, "{name}");
        let parsed: serde_json::Value = serde_json::from_str(&review).unwrap();
        assert_eq!(parsed["report"], *name);
        for line in text.lines().filter(|line| !line.is_empty()) {
            let is_ours = line.starts_with("  ") || line.starts_with(|c: char| c.is_ascii_lowercase());
            assert!(is_ours, "{name:?} begins a line of its own: {line}");
        }
    }
}

/// Whether it is the line of a fold, with nothing but words and numbers.
fn is_summary_of_words(html: &str) -> bool {
    let words = html.trim_end().strip_prefix("<summary>").and_then(|rest| rest.strip_suffix("</summary>"));
    words.is_some_and(|words| words.chars().all(|c| c.is_ascii_alphanumeric() || c == ' '))
}

#[test]
fn names_of_a_trace_arrive_as_text() {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    for name in NAMES {
        // With the escapes of JSON, and as the profiler writes names that it does not escape.
        let escaped = serde_json::to_string(name).unwrap();
        for inside in [escaped.trim_matches('"'), *name] {
            let text = trace::trace(6, trace::Spelling::Today);
            let text =
                text.replace("gemm", &format!("{inside} gemm")).replace("ProfilerStep", &format!("{inside} step"));
            let text = text.replace("cudaLaunchKernel", &format!("cudaLaunchKernel{inside}"));
            std::fs::write(&path, text.replace("NVIDIA H100", inside)).unwrap();
            let facts = analysis::facts(&path);
            let all = printed(&facts, "trace.json");
            for output in all.iter().chain(&PRINTER.compare(&facts, &facts, name).unwrap()) {
                assert_eq!(fault(output), None, "{name:?}");
                assert_eq!(output.1.chars().find(|c| is_hidden(*c)), None, "{} of {name:?}", output.0);
            }
            let page = parse(&in_format("markdown", &all));
            assert!(
                page.html.iter().all(|html| {
                    ["<details>", "</details>"].iter().any(|own| html.starts_with(own)) || is_summary_of_words(html)
                }),
                "{page:?}"
            );
            assert!(page.links.iter().all(|link| !link.contains("evil.example")), "{page:?}");
        }
    }
}

#[test]
fn a_name_of_a_megabyte_does_not_make_a_page_of_megabytes() {
    for name in ["a::b<c,".repeat(150_000), "@a #1 `<b>` ".repeat(90_000), "\u{1b}[".repeat(500_000)] {
        for (format, output) in printed(&facts_named(&name), "run.sqlite") {
            // In the formats of machines names are cut at 64 kB; a hundred entities have one each.
            let most = if format == "markdown" { 200_000 } else { 30_000_000 };
            assert!(output.len() < most, "{format}: {}", output.len());
        }
    }
}

/// Tags are coldspot's own, and nothing else opens one.
fn check_xml(xml: &str, name: &str) {
    let tags =
        ["?xml", "testsuites", "testsuite", "testcase", "failure", "skipped", "system-out", "properties", "property"];
    for tag in xml.split('<').skip(1) {
        let tag = tag.trim_start_matches('/');
        assert!(tags.iter().any(|own| tag.starts_with(own)), "{name:?}: <{tag}");
    }
    let is_entity = |rest: &str| ["amp;", "lt;", "gt;", "quot;", "apos;", "#"].iter().any(|own| rest.starts_with(own));
    assert!(xml.split('&').skip(1).all(is_entity), "{name:?}");
}

fn coldspot(arguments: &[&str], folder: &Path) -> (String, String) {
    let assert = coldspot_in(folder, arguments);
    (assert.out(), assert.err())
}

#[test]
fn messages_about_hostile_files_are_text_too() {
    let folder = temp::folder();
    let name = "\u{1b}[31m\n::error::x\u{202e}.sqlite";
    std::fs::write(folder.path().join(name), "nothing").unwrap();
    let (_, complaint) = coldspot(&["review", name], folder.path());
    check_everywhere(&complaint, "a file's name");
    // SQLite quotes the schema.
    let path = folder.path().join("schema.sqlite");
    scenario("tiny-kernels").write(SchemaVersion::Nsys2025, &path);
    let sql = "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE x(' ||
        char(10) || '::error::x' || char(27) || '[31m', name = char(10) || '::error::y' WHERE name = 'StringIds';";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let (_, complaint) = coldspot(&["review", "schema.sqlite"], folder.path());
    assert!(complaint.contains("damaged"), "{complaint}");
    check_everywhere(&complaint, "a schema");
    // Annotations are quoted when one is asked for that is not there.
    let path = folder.path().join("ranges.sqlite");
    scenario("hostile-names").write(SchemaVersion::Nsys2025, &path);
    let (_, complaint) = coldspot(&["review", "ranges.sqlite", "--range", "no such"], folder.path());
    assert!(complaint.contains("names that it has"), "{complaint}");
    check_everywhere(&complaint, "a range");
    // Rule files are quoted, too.
    std::fs::create_dir(folder.path().join("rules")).unwrap();
    std::fs::write(folder.path().join("rules/a.toml"), "\"\\u001b[31m::\" = 1\n\"::error::x\u{202e}\" = 2").unwrap();
    let (_, complaint) = coldspot(&["rules", "check", "rules"], folder.path());
    assert!(!complaint.is_empty());
    check_everywhere(&complaint, "a rule");
}

#[test]
fn rules_and_templates_of_strangers_are_bounded() {
    let folder = temp::folder();
    scenario("tiny-kernels").write(SchemaVersion::Nsys2025, &folder.path().join("run.sqlite"));
    let templates = folder.path().join("templates");
    std::fs::create_dir(&templates).unwrap();
    std::fs::write(folder.path().join("secret.j2"), "SECRET").unwrap();
    for (template, expected) in [
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "recursion"),
        ("{% for a in range(99999) %}{{ ('x' * 100000) | safe }}{% endfor %}", "64 MiB"),
        ("{% macro f(x, n) %}{% if n %}{{ f(x ~ x, n - 1) }}{% endif %}{% endmacro %}{{ f('a', 35) }}", "128 MiB"),
        (
            "{% for a in range(99999) %}{% for b in range(99) %}\u{2026}{% include 'big.j2' %}{% endfor %}{% endfor %}",
            "64 MiB",
        ),
        ("{{ 'x' | left(1000000000000) }}", "u8"),
        ("{% include '../secret.j2' %}", "secret"),
        ("{% include '/etc/passwd' %}", "passwd"),
        ("{% import '../secret.j2' as x %}", "secret"),
    ] {
        std::fs::write(templates.join("review.md.j2"), template).unwrap();
        std::fs::write(templates.join("big.j2"), "y".repeat(100_000)).unwrap();
        let (page, complaint) = coldspot(&["review", "run.sqlite", "--templates", "templates"], folder.path());
        assert!(page.is_empty() && complaint.contains(expected), "{template}: {complaint}{page:.100}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret.j2", templates.join("link.j2")).unwrap();
        let (_, complaint) = coldspot(&["review", "run.sqlite", "--templates", "templates"], folder.path());
        assert!(complaint.contains("leads out"), "{complaint}");
    }
}
