use super::*;
use crate::findings::samples::{Sample, healthy, hostile, nothing, policy, two_gpus};
use crate::findings::{Finding, Review};
use crate::gates::Gates;
use crate::report::ReviewReport;
use crate::rules::outcome::Severity;
use crate::text::spans::Sentence;

fn report(review: Review) -> Report {
    report_of("run.sqlite", review)
}

fn report_of(name: &str, review: Review) -> Report {
    Report::Review(Box::new(ReviewReport { name: name.to_owned(), review, gates: Gates::none() }))
}

fn page(review: Review) -> String {
    Templates::load(None).unwrap().markdown(&report(review)).unwrap_or_else(|error| panic!("{error}"))
}

fn markdown(sample: &Sample) -> String {
    page(sample.review())
}

#[test]
fn two_gpus_as_markdown() {
    insta::assert_snapshot!(markdown(&two_gpus()));
}

#[test]
fn ignored_findings_as_markdown() {
    let page = page(two_gpus().review_under(&policy()));
    let from = page.find("<details>").unwrap();
    insta::assert_snapshot!(&page[from..]);
}

#[test]
fn hostile_names_as_markdown() {
    insta::assert_snapshot!(markdown(&hostile()));
}

#[test]
fn a_healthy_device_as_markdown() {
    insta::assert_snapshot!(markdown(&healthy()));
}

#[test]
fn a_capture_of_nothing_as_markdown() {
    insta::assert_snapshot!(markdown(&nothing()));
}

#[test]
fn two_gpus_as_json() {
    insta::assert_snapshot!(json::json(&report(two_gpus().review())).unwrap());
}

#[test]
fn facts_as_text_and_json() {
    insta::assert_snapshot!(facts::facts_text(&hostile().facts));
    insta::assert_snapshot!(facts::facts_json(&healthy().facts).unwrap());
}

/// A review of three findings with this many words of advice each.
fn long_review(words: usize) -> String {
    let mut review = two_gpus().review();
    let finding = Finding {
        severity: Severity::Medium,
        is_brief: false,
        advice: Sentence::default().own(&"word ".repeat(words)),
        ..review.findings[0].clone()
    };
    let line = Finding { is_brief: true, ..finding.clone() };
    let note = Finding { severity: Severity::Info, ..line.clone() };
    let of = |finding: &Finding, count: usize| vec![finding.clone(); count];
    review.findings = [of(&finding, 3), of(&line, 4), of(&note, 5)].concat();
    page(review)
}

#[test]
fn a_third_finding_of_a_long_review_is_a_line_and_the_last_lines_are_names() {
    let short = long_review(1);
    assert!(short.contains("### 3. ") && !short.contains("### 4. "), "{short}");
    assert!(short.contains("### Further") && !short.contains("1 more:") && short.contains("\n- 2 more: "), "{short}");
    let long = long_review(120);
    assert!(long.contains("### 2. ") && !long.contains("### 3. "), "{long}");
    assert!(long.contains("\n- 1 more: ") || long.contains("\n- 3 more: "), "{long}");
    assert!(long.matches("word word").count() > 0 && long.split_whitespace().count() <= 900, "{long}");
}

#[test]
fn a_parser_finds_nothing_of_the_report_but_text() {
    use pulldown_cmark::{Event, Options, Parser, Tag};
    let page = markdown(&hostile());
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    for event in Parser::new_ext(&page, options) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let ours = ["<details>", "</details>", "<summary>", "</summary>"];
                let tags: Vec<&str> = html.matches(['<']).collect();
                let known: usize = ours.iter().map(|tag| html.matches(tag).count()).sum();
                assert_eq!(tags.len(), known, "{html}");
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("a link or image"),
            _ => {}
        }
    }
    assert!(page.lines().all(|line| !line.trim_start().starts_with("::")));
}

#[test]
fn a_folder_replaces_templates_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file("notes.txt", "not a template");
    let load = || Templates::load(Some(folder.path()));
    assert!(load().unwrap_err().to_string().contains("holds none of the templates"));
    file("review.md.j2", "{% include 'more.j2' %} {{ report }}");
    file("more.j2", "mine:");
    let report = report_of("<a>", hostile().review());
    assert_eq!(load().unwrap().markdown(&report).unwrap(), "mine: \\<a\\>");
    file("review.md.j2", "{{ reprot }}");
    assert!(load().unwrap().markdown(&report).is_err());
    file("review.md.j2", "\n{% if %}");
    assert!(load().unwrap_err().to_string().contains("line 2"));
    file("review.md.j2", "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}");
    assert!(load().unwrap().markdown(&report).is_err());
}

#[test]
fn json_holds_nothing_that_a_terminal_acts_on() {
    let facts = hostile().facts;
    let json = facts::facts_json(&facts).unwrap();
    assert!(!json.contains(['\u{1b}', '\u{202e}']) && json.contains("\\u202e"));
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    let name = facts.of_kind(crate::facts::EntityKind::Device).next().unwrap().1.text("name").unwrap();
    assert_eq!(parsed["devices"][0]["name"], name);
    let mut written = Vec::new();
    facts::write_facts_json(&facts, &mut written).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), json);
}

#[test]
fn json_that_is_written_in_pieces_is_the_same() {
    use std::io::Write;

    let whole = "{\"a#\": \"##[x] \u{7f}\u{202e}###\u{1d173}é\"}";
    let expected = crate::text::escape::json(whole.to_owned());
    for size in 1..4 {
        let mut out = crate::text::escape::JsonWriter::new(Vec::new());
        let chars: Vec<char> = whole.chars().collect();
        chars.chunks(size).for_each(|piece| out.write_all(piece.iter().collect::<String>().as_bytes()).unwrap());
        assert_eq!(String::from_utf8(out.into_inner()).unwrap(), expected, "{size}");
    }
}

#[test]
fn every_key_of_the_json_is_documented() {
    fn keys(value: &serde_json::Value, into: &mut std::collections::BTreeSet<String>) {
        match value {
            serde_json::Value::Object(object) => {
                for (key, value) in object {
                    into.insert(key.clone());
                    keys(value, into);
                }
            }
            serde_json::Value::Array(array) => array.iter().for_each(|value| keys(value, into)),
            _ => {}
        }
    }
    let mut found = std::collections::BTreeSet::new();
    let reviews = [two_gpus(), hostile(), nothing()].map(|sample| sample.review());
    for review in reviews.into_iter().chain([two_gpus().review_under(&policy())]) {
        let json = json::json(&report(review)).unwrap();
        keys(&serde_json::from_str(&json).unwrap(), &mut found);
    }
    let documented = include_str!("../../docs/json.md");
    let missing: Vec<_> = found
        .iter()
        .filter(|key| !documented.contains(&format!("`{key}`")) && !documented.contains(&format!("\"{key}\"")))
        .collect();
    assert!(found.len() > 50 && missing.is_empty(), "{missing:?}");
}
