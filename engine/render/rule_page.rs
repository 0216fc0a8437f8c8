//! A rule's page, made from the rule: what it looks for and why, what it can gain, what to do, its example as a finding.

use crate::findings::{Policy, review};
use crate::gates::Gates;
use crate::report::ReviewReport;
use crate::rules::outcome::{Outcome, Severity};
use crate::rules::{self, Library, ParamValue, Params, Relation, Rule, Status};

use super::filters::link;
use super::markdown::{TemplateError, Templates};
use super::spans::markdown;
use crate::text::words;

/// The page of a rule, as Markdown that reads well on a terminal too.
///
/// # Errors
/// When the example cannot be printed as a finding.
pub fn rule_page(library: &Library, rule: &Rule) -> Result<String, TemplateError> {
    rule_page_set(library, rule, &Params::default())
}

/// The same, with the thresholds that a project sets instead of the rule's own.
///
/// # Errors
/// The same.
pub fn rule_page_set(library: &Library, rule: &Rule, set: &Params) -> Result<String, TemplateError> {
    let sections = [
        head(rule),
        conditions(library, rule),
        references(rule),
        thresholds(rule, set),
        gain(rule),
        advice(library, rule),
        check(library, rule),
        relations(rule),
        example(library, rule)?,
        tests(rule),
    ];
    Ok(format!(
        "{}\n",
        sections.iter().filter(|section| !section.is_empty()).map(String::as_str).collect::<String>().trim_end()
    ))
}

/// The index of all pages: a list a folder.
pub fn rule_index(library: &Library) -> String {
    let mut categories: Vec<&str> = library.rules().iter().map(Rule::category).collect();
    categories.sort_unstable();
    categories.dedup();
    let mut page = "# The built-in rules\n\nEach page is made from its rule file, which `rules/` holds; `coldspot rules show ID` prints it.\n".to_owned();
    for category in categories {
        page.push_str(&format!(
            "\n## {category}\n\n| rule | applies to each | severity | what it finds |\n|---|---|---|---|\n"
        ));
        for rule in library.rules().iter().filter(|rule| rule.category() == category) {
            let severity = rule.severity().map_or("by gain", Severity::name);
            let experimental = if rule.status() == Status::Experimental { " (experimental)" } else { "" };
            let (id, kind, title) = (rule.id(), rule.for_each().name(), own(rule.title()));
            page.push_str(&format!("| [{id}]({id}.md) | {kind} | {severity} | {title}{experimental} |\n"));
        }
    }
    page
}

fn head(rule: &Rule) -> String {
    let mut text = format!("# {}\n\n", own(rule.title()));
    let severity = match rule.severity() {
        Some(severity) => format!("{}, whatever it can gain", severity.name()),
        None => "by the share of the window that it can gain".to_owned(),
    };
    let conditional: String =
        rule.severities().map(|(severity, when)| format!("; {} where {}", severity.name(), code(when))).collect();
    let severity = format!("{severity}{conditional}");
    let mut line = |label: &str, value: &str| text.push_str(&format!("- **{label}**: {value}\n"));
    line("Rule", &format!("{}, in {}", code(rule.id()), code(rule.file())));
    line("Asked of each", &code(rule.for_each().name()));
    line("Severity", &severity);
    if rule.status() == Status::Experimental {
        line("Status", "experimental: it has yet to prove itself on real reports");
    }
    if rule.once() {
        line("Occurs", "once in a run, so that a longer run hardly has it");
    }
    let needs: Vec<String> = rule.needs().iter().map(|fact| code(&fact.to_string())).collect();
    line("Needs", &format!("{}; one absent, and it cannot judge", needs.join(", ")));
    if let Some(capture) = rule.capture() {
        line("Capture with", &code(&capture));
    }
    text
}

/// Each condition, with the sentence that it prints for the example.
fn conditions(library: &Library, rule: &Rule) -> String {
    let mut text = "\n## What it looks for\n\n".to_owned();
    if let Some(condition) = rule.condition() {
        text.push_str(&format!("It applies where {}.\n\n", code(condition)));
    }
    let evidence = match rules::example::outcome(library, rule) {
        Outcome::Finding(found) => found.evidence,
        _ => Vec::new(),
    };
    text.push_str("It is a finding when all of this holds; the sentences are what it prints for its example:\n\n");
    for (index, when) in rule.whens().enumerate() {
        text.push_str(&format!("{}. {}\n", index + 1, code(when)));
        if let Some(sentence) = evidence.get(index) {
            text.push_str(&format!("   “{}”\n", markdown(sentence)));
        }
    }
    let groups: String = rule
        .groups()
        .map(|(name, each, condition)| {
            let condition = condition.map_or_else(String::new, |condition| format!(" where {}", code(condition)));
            format!("- {} is every {} of it{condition}\n", code(&format!("groups.{name}")), code(each.name()))
        })
        .collect();
    if !groups.is_empty() {
        text.push_str(&format!("\nTaken together:\n\n{groups}"));
    }
    let values: Vec<String> = rule
        .values()
        .map(|(name, expr)| format!("- {} is {}\n", code(&format!("values.{name}")), code(expr)))
        .collect();
    if !values.is_empty() {
        text.push_str(&format!("\nIn these expressions:\n\n{}", values.concat()));
    }
    text
}

fn thresholds(rule: &Rule, set: &Params) -> String {
    if rule.params().is_empty() {
        return String::new();
    }
    let mut text = "\n## Thresholds\n\n".to_owned();
    for param in rule.params() {
        let why =
            param.fixed.as_ref().map_or_else(String::new, |why| format!(" An absolute number, because: {}", own(why)));
        let setting = code(&format!("params.{} = {}", param.name, value(&param.default)));
        let set = set.get(rule.id(), &param.name);
        let set = set.map_or_else(String::new, |set| format!(", set to {} by the project", code(&value(set))));
        text.push_str(&format!("- {setting} ({}){set}: {}{why}\n", own(param.unit), own(&param.doc)));
    }
    let example = rule.params().first().map(|param| format!("{} = …", param.name)).unwrap_or_default();
    text.push_str(&format!(
        "\nA project sets its own in `coldspot.toml`, under `[params.{}]`: `{example}`.\n",
        rule.id()
    ));
    text
}

fn gain(rule: &Rule) -> String {
    let mut text = "\n## The most it can gain, and how sure it is\n\n".to_owned();
    match (rule.estimate(), rule.claims()) {
        (Some((expr, basis)), Some(account)) => {
            let account = code(&format!("device.{}", account.fact()));
            let beside = rule.beside().map_or_else(String::new, |beside| {
                format!(" Where it comes again, {} nanoseconds of other accounts go with that.", code(beside))
            });
            text.push_str(&format!(
                "{} nanoseconds, and never more than {account} holds.{beside} {}\n",
                code(expr),
                own(basis)
            ));
        }
        _ => text.push_str("It claims no time.\n"),
    }
    text.push_str(&format!("\nConfidence is {}", rule.confidence().name()));
    for (to, because) in rule.lower() {
        text.push_str(&format!("; {} where this holds: {}", to.name(), own(because.trim_end_matches('.'))));
    }
    text.push_str(".\n");
    text
}

fn advice(library: &Library, rule: &Rule) -> String {
    let mut text = "\n## What to do\n\n".to_owned();
    for (framework, sentence) in rules::example::advice(library, rule) {
        text.push_str(&format!("- **{framework}**: {}\n", markdown(&sentence)));
    }
    text
}

/// How to check that the change helped, printed for the example.
fn check(library: &Library, rule: &Rule) -> String {
    match rules::example::outcome(library, rule) {
        Outcome::Finding(found) if !found.verify.plain().is_empty() => {
            format!("\n## How to check\n\n{}\n", markdown(&found.verify))
        }
        _ => String::new(),
    }
}

fn relations(rule: &Rule) -> String {
    let list = |intro: &str, relations: &[Relation]| -> String {
        relations
            .iter()
            .map(|relation| {
                let kinds: Vec<String> = relation.on.iter().map(|kind| code(kind.name())).collect();
                format!("- {intro} {} of the same {}\n", code(&relation.rule), kinds.join(" and "))
            })
            .collect()
    };
    let lines = list("It explains", rule.explains()) + &list("It is silent where there is", rule.suppressed_by());
    if lines.is_empty() { lines } else { format!("\n## Beside other rules\n\n{lines}") }
}

fn references(rule: &Rule) -> String {
    if rule.references().is_empty() {
        return String::new();
    }
    let lines: String =
        rule.references().iter().map(|r| format!("- {}: {}\n", link(&r.url), own(&r.supports))).collect();
    format!("\n## Why: what it relies on\n\n{lines}")
}

/// What a review prints where a report is like the example.
fn example(library: &Library, rule: &Rule) -> Result<String, TemplateError> {
    let templates = Templates::load(None)?;
    let (facts, judgement) = rules::example::report(library, rule);
    let review = review(&facts, &library.infos(), &[judgement], templates.scorecard(), &Policy::default());
    let report = ReviewReport { name: String::new(), review, gates: Gates::none() };
    let is_finding = !report.review.findings.is_empty();
    let finding = if is_finding { templates.first_finding(&report)? } else { String::new() };
    Ok(format!("\n## Its example, as a finding\n\n{}\n", finding.trim()))
}

fn tests(rule: &Rule) -> String {
    let lines: String = rule.tests().map(|name| format!("- {}\n", own(name))).collect();
    format!("\n## What its tests say\n\n{lines}")
}

/// Words of a rule's author.
fn own(text: &str) -> String {
    words::markdown(text, true, false)
}

/// An expression of a rule, word for word: one with a `|` must stay one.
fn code(text: &str) -> String {
    let line = words::plain(&text.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    let longest_run = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest_run + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{line}{pad}{fence}")
}

/// As a coldspot.toml writes it.
fn value(value: &ParamValue) -> String {
    let quoted = |text: &String| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    match value {
        ParamValue::Int(value) => value.to_string(),
        ParamValue::Float(value) => value.to_string(),
        ParamValue::Text(text) => quoted(text),
        ParamValue::Texts(texts) => format!("[{}]", texts.iter().map(quoted).collect::<Vec<_>>().join(", ")),
    }
}
