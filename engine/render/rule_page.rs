//! A rule's page: what it looks for, before its file.

use crate::facts::FactValue;
use crate::rules::outcome::{Outcome, Severity};
use crate::rules::{Library, Relation, Rule, Status, testing};

/// What a rule looks for, its thresholds and its example, and then its file, word for word.
pub fn rule_page(library: &Library, rule: &Rule) -> String {
    let mut page = format!("# {}\n\n", rule.title());
    let severity = rule.severity().map_or("by the share of the window that it can gain", Severity::name);
    let mut line = |label: &str, text: &str| page.push_str(&format!("{label:<15} {text}\n"));
    line("rule", rule.id());
    line("file", rule.file());
    line("asked of each", rule.for_each().name());
    line("severity", severity);
    if rule.status() == Status::Experimental {
        line("status", "experimental: it has yet to prove itself on real reports");
    }
    if rule.once() {
        line("occurs", "once in a run");
    }
    if let Some(account) = rule.claims() {
        line("claims", &format!("device.{account}_ns"));
    }
    let needs: Vec<String> = rule.needs().iter().map(ToString::to_string).collect();
    line("needs", &needs.join(", "));
    if let Some(collect) = rule.collect() {
        line("capture with", collect);
    }
    for (label, relations) in [("explains", rule.explains()), ("silent under", rule.suppressed_by())] {
        if !relations.is_empty() {
            line(label, &relations.iter().map(relation).collect::<Vec<_>>().join("; "));
        }
    }
    if !rule.params().is_empty() {
        page.push_str("\n## Thresholds\n\n");
        for param in rule.params() {
            let why = param.fixed.as_ref().map_or_else(String::new, |why| format!(" Fixed: {why}"));
            let default = value(&param.default);
            page.push_str(&format!("- {} = {default} ({}): {}{why}\n", param.name, param.unit, param.doc));
        }
    }
    page.push_str(&example(library, rule));
    if !rule.references().is_empty() {
        page.push_str("\n## References\n\n");
        for reference in rule.references() {
            page.push_str(&format!("- {}: {}\n", reference.url, reference.supports));
        }
    }
    page.push_str(&format!("\n## {}\n\n```toml\n{}\n```\n", rule.file(), rule.source().trim_end()));
    page
}

/// What the rule says of its example.
fn example(library: &Library, rule: &Rule) -> String {
    let Outcome::Finding(found) = testing::example(library, rule) else { return String::new() };
    let mut text = format!("\n## Its example, as a finding\n\n{}\n\n", found.summary.markdown);
    for sentence in &found.evidence {
        text.push_str(&format!("- {}\n", sentence.markdown));
    }
    for (label, sentence) in [("What to do.", &found.advice), ("How to check.", &found.verify)] {
        text.push_str(&format!("\n**{label}** {}\n", sentence.markdown));
    }
    text
}

fn relation(relation: &Relation) -> String {
    let kinds: Vec<&str> = relation.on.iter().map(|kind| kind.name()).collect();
    format!("{} (same {})", relation.rule, kinds.join(", "))
}

fn value(value: &FactValue) -> String {
    match value {
        FactValue::Bool(value) => value.to_string(),
        FactValue::Int(value) => value.to_string(),
        FactValue::Float(value) => value.to_string(),
        FactValue::Text(value) => value.clone(),
    }
}
