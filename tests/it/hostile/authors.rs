//! Rules and templates of strangers: what they print is inert, and what they do has an end.

use std::path::Path;

use coldspot::render::markdown;
use coldspot::text::spans::{Sentence, Span};
use coldspot::text::words;
use proptest::prelude::*;

use super::names::{check_everywhere, parse};
use crate::support::cli::{Printed as _, coldspot_in};
use crate::support::formats::fault;
use crate::support::{SchemaVersion, scenario, temp};

/// Pieces that are something only together.
const PIECES: &[&str] = &[
    "`",
    "``",
    "```",
    "\\",
    "\n",
    "\r\n",
    " ",
    "  ",
    "    ",
    "a",
    "b-",
    "1",
    "1. ",
    "- ",
    "* ",
    "+ ",
    "# ",
    "## ",
    "#",
    "##",
    "##[",
    "[",
    "]",
    "(",
    ")",
    "[a]",
    "(//evil.example)",
    "](",
    "]:",
    "![",
    "!",
    "<",
    ">",
    "<b>",
    "<img src=x>",
    "<!--",
    "-->",
    "</details>",
    "</",
    "&lt;",
    "&",
    "&#60;",
    "@",
    "octocat",
    "http:",
    "//",
    "https://evil.example",
    "www",
    ".evil.example",
    "mailto:a@b.c",
    "|",
    "|---|",
    "---",
    "===",
    "***",
    "*",
    "**",
    "_",
    "__",
    "~~",
    "~",
    "$",
    "$$",
    "x^2",
    ":",
    "::",
    "::error::",
    ":tada:",
    "GH-",
    "deadbeef",
    "{{",
    "}}",
    "{%",
    "\u{202e}",
    "\u{2060}",
    "\u{1d173}",
    "\u{2028}",
    "\u{1b}[31m",
    "> ",
    ">",
    "[^1]",
    "[x]",
    "/close",
    "=",
    "\t",
    "é",
];

fn words_of_pieces(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..most).prop_map(|pieces| pieces.concat())
}

fn sentence() -> impl Strategy<Value = Sentence> {
    let span = (0..4_u8, words_of_pieces(12)).prop_map(|(kind, text)| match kind {
        0 => Span::Value(text),
        1 => Span::Code(text),
        _ => Span::Own(text),
    });
    prop::collection::vec(span, 0..6).prop_map(|spans| spans.into_iter().fold(Sentence::default(), Sentence::span))
}

/// Holds what stands alone, in a list, in a heading and in bold against what it may be.
fn hold(inline: &str) {
    assert!(!inline.contains(['\n', '\r']), "{inline:?}");
    for (before, after, headings) in
        [("", "", 0), ("- ", "", 0), ("### 1. ", "", 1), ("**What to do.** ", ", x", 0), ("", "\n---\n", 0)]
    {
        // A blank line before a rule, as templates have it.
        let page = parse(&format!("x\n\n{before}{inline}{}\n", after.replace("\n---", "\n\n---")));
        assert_eq!((&page.html, &page.links), (&vec![], &vec![]), "{inline:?}");
        assert_eq!((page.headings, page.code_blocks), (headings, 0), "{inline:?}");
        let rules = usize::from(after.contains("---"));
        assert!(page.others <= rules, "{inline:?}");
        let is_live = |(index, sign): (usize, &str)| {
            page.prose[index + sign.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        assert!(!page.prose.match_indices(['@', '#']).any(is_live), "{inline:?}: {:?}", page.prose);
        assert!(!page.prose.contains("://") && !page.prose.contains("www."), "{inline:?}");
    }
    for line in inline.lines() {
        assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{inline:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3_000) })]

    #[test]
    fn what_rules_print_is_inert(sentence in sentence()) {
        hold(&markdown(&sentence));
        check_everywhere(&sentence.plain(), "plain");
    }

    #[test]
    fn what_rules_say_without_a_report_is_inert(text in words_of_pieces(20)) {
        hold(&words::markdown(&text, true, false));
        hold(&words::markdown(&text, true, true));
    }
}

/// A rule as `rules new` makes it, with one line of it replaced; and a report that it finds something in.
fn rule(folder: &Path, key: &str, line: &str) {
    let rules = folder.join("rules/evil");
    if !rules.exists() {
        scenario("training-step").write(SchemaVersion::Nsys2025, &folder.join("run.sqlite"));
        coldspot_in(folder, &["rules", "new", "evil-one", "--dir", "rules/evil"]);
    }
    let path = rules.join("evil-one.toml");
    let skeleton = std::fs::read_to_string(&path).unwrap();
    let lines = skeleton.lines().map(|known| if known.starts_with(key) { line } else { known });
    let text: Vec<&str> = lines.collect();
    let text = text.join("\n").replace("default = 0.30", "default = 0.00");
    std::fs::write(path, text).unwrap();
}

const NOTHING: &str = "{% if device.window_ns < 0 %}z{% endif %}";

#[test]
fn pieces_of_a_rule_that_are_harmless_apart_print_text() {
    let folder = temp::folder();
    let summary = format!(
        "summary = '{NOTHING}::error title=pwn::pwned #{NOTHING}#[error] [a]{NOTHING}(//evil.example) http:{NOTHING}//evil.example \
         #{NOTHING}1 GH-1 $x$ :tada:'"
    );
    rule(folder.path(), "summary", &summary);
    // Where a finding is told in full, its evidence stands in for its summary.
    let evidence = summary.replacen("summary = '", "says = '{% if values.window_share < 0 %}z{% endif %}", 1);
    rule(folder.path(), "says", &evidence);
    rule(folder.path(), "title", "title = 'A title : :error: and `code` | GH-1, [x] *y*'");
    for format in ["markdown", "json", "sarif", "github", "junit"] {
        let arguments = ["review", "run.sqlite", "--rules", "rules", "--format", format];
        let printed = coldspot_in(folder.path(), &arguments).out();
        assert!(printed.contains("pwn"), "{format}");
        assert_eq!(fault(&(format, printed.clone())), None);
        if format == "markdown" {
            check_everywhere(&printed, format);
            let page = parse(&printed);
            assert_eq!(page.html.iter().find(|html| html.contains("img")), None);
            assert_eq!(page.links.iter().find(|link| link.contains("evil")), None);
            assert!(!page.prose.contains("@octocat") && !page.prose.contains("#1"));
        }
    }
    let page = coldspot_in(folder.path(), &["rules", "show", "evil-one", "--rules", "rules"]).out();
    check_everywhere(&page, "the page of a rule");
}

#[test]
fn rules_that_are_not_what_they_look_like_are_refused() {
    let folder = temp::folder();
    for (line, expected) in [
        ("summary = 'x {# {{ #}<img src=x> @octocat'".to_owned(), "comments"),
        ("summary = '{% raw %}{{{% endraw %}<b>@octocat'".to_owned(), "comments"),
        ("summary = \"\"\"a ` b\n` @octocat `\"\"\"".to_owned(), "mentions"),
        (
            format!("summary = '''{{% if '%}}' == 'a' or 1{} == 3 %}}a{{% endif %}}'''", "+1".repeat(6_000)),
            "longer than",
        ),
        (format!("summary = '''{{{{ '}}}}'{} }}}}'''", "|lower".repeat(2_000)), "longer than"),
        (format!("summary = '{{% if 1 == 2 %}}{}{{% endif %}}'", "{% elif 1 == 2 %}a".repeat(800)), "branches"),
    ] {
        rule(folder.path(), "summary", &line);
        for command in [&["rules", "test", "rules"][..], &["review", "run.sqlite", "--rules", "rules"]] {
            let complaint = coldspot_in(folder.path(), command).code(4).err();
            assert!(complaint.contains(expected), "{line:.100}: {complaint}");
        }
        std::fs::remove_dir_all(folder.path().join("rules")).unwrap();
    }
}

#[test]
fn templates_that_never_end_or_fill_memory_in_one_step_are_refused() {
    let folder = temp::folder();
    scenario("tiny-kernels").write(SchemaVersion::Nsys2025, &folder.path().join("run.sqlite"));
    let templates = folder.path().join("templates");
    std::fs::create_dir(&templates).unwrap();
    let nests = format!("{{% set x = {}x{} %}}", "[".repeat(19), "]".repeat(19)).repeat(10);
    for (template, expected) in [
        (format!("{{{{ \"}}}}\"{} }}}}", "~1".repeat(60_000)), "tag is longer"),
        (format!("{{{{ \"}}}}\"{} }}}}", "|e".repeat(60_000)), "tag is longer"),
        (format!("{{{{ '}}}}'{} }}}}", ".a".repeat(60_000)), "tag is longer"),
        (format!("{{% if \"%}}\"{} %}}", " ~ 1+1".repeat(20_000)), "tag is longer"),
        (format!("{{% if 0 %}}{}", "{% elif 0 %}x".repeat(60_000)), "branches"),
        ("{{ \"a\nb\"|indent(1000000000000) }}".to_owned(), "u8"),
        ("{{ [1]|tojson(indent=1000000000000) }}".to_owned(), "u8"),
        ("{{ \"%1000000000000d\"|format(1) }}".to_owned(), "unknown"),
        ("{{ 'a' * 1000000000000 }}".to_owned(), "too large"),
        ("{{ range(1000000000000) }}".to_owned(), "range"),
        (format!("{{% set x = 1 %}}{}", "{% set x = [x] %}".repeat(60_000)), "brackets"),
        (format!("{{% set x = 1 %}}{}", "\n{% set x = x + 1 %}".repeat(300)), "line 202: "),
        (format!("{{% macro f(x) %}}{nests}{{{{ f(x) }}}}{{% endmacro %}}{{{{ f(1) }}}}"), "recursion"),
    ] {
        std::fs::write(templates.join("review.md.j2"), &template).unwrap();
        let arguments = ["review", "run.sqlite", "--templates", "templates"];
        let complaint = coldspot_in(folder.path(), &arguments).code(4).err();
        assert!(complaint.contains(expected), "{template:.100}: {complaint}");
    }
    // As deep as the limits let it, however it is printed: it ends.
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("(", ",)")] {
        let nest = format!("{{% set x = {}x{} %}}", open.repeat(38), close.repeat(38)).repeat(5);
        for print in ["{{ x }}", "{{ x|string|length }}", "{{ x|tojson|length }}", "{{ x == [x] }}"] {
            let deep = format!(
                "{{% for x in [1] recursive %}}{nest}{{% if loop.depth < 190 %}}{{{{ loop([x]) }}}}{{% else %}}{print}{{% endif %}}{{% endfor %}}"
            );
            std::fs::write(templates.join("review.md.j2"), deep).unwrap();
            coldspot_in(folder.path(), &["review", "run.sqlite", "--templates", "templates"]).code(0);
        }
    }
    let usual = "{{ [1]|tojson(indent=2) }}{{ \"a\nb\"|indent(width=2, first=true) }}|{{ 'a\n\nb\n'|indent }}";
    std::fs::write(templates.join("review.md.j2"), usual).unwrap();
    let page = coldspot_in(folder.path(), &["review", "run.sqlite", "--templates", "templates"]).out();
    assert!(page.starts_with("[\n  1\n]"), "{page}");
}

#[test]
fn a_file_of_more_keys_than_any_is_refused_before_its_tree_is_made() {
    let folder = temp::folder();
    let read = |keys: usize| {
        let lines: Vec<String> = (0..keys).map(|key| format!("a{key}.x=1")).collect();
        let text = format!("[params]\n{}\n", lines.join("\n"));
        std::fs::write(folder.path().join("coldspot.toml"), text).unwrap();
        coldspot_in(folder.path(), &["config", "check"]).code(2).err()
    };
    let many = read(20_000);
    assert!(many.contains("coldspot.toml:20001: it has more than 20,000 keys"), "{many}");
    let fewer = read(19_999);
    assert!(!fewer.contains("more than 20,000 keys") && fewer.contains("a0"), "{fewer}");
}
