//! A comparison as text for a terminal: the verdict, the times, and what changed.

use super::spans::words_of;
use super::text::{Page, Screen};
use crate::compare::{AccountChange, Basis, Change, Comparison, FindingChange, State};
use crate::report::ComparisonReport;
use crate::rules::outcome::Severity;
use crate::text::escape;
use crate::text::number::{duration, percent};

/// Lines of one list: more is nobody's to read on a terminal.
const MAX_LINES: usize = 12;

/// A comparison as text.
pub(super) fn text(report: &ComparisonReport, screen: Screen) -> String {
    let comparison = &report.comparison;
    let mut page = Page::new(screen);
    let program = &report.about.program;
    let of = if program.is_empty() { String::new() } else { format!(" {}", escape::short(program)) };
    page.title(&format!("coldspot{of}: base against head"));
    page.line("");
    page.wrap("", &words_of(&comparison.verdict));
    page.failures(&report.errors);
    page.altered(&report.altered);
    for gate in &report.gates.gates {
        page.gate(gate);
    }
    times(&mut page, comparison);
    for (heading, sentences) in [
        ("The work differs", &comparison.work.differences),
        ("Bear in mind", &comparison.work.notes),
        ("What changed most", &comparison.causes),
    ] {
        if !sentences.is_empty() {
            page.heading(heading);
        }
        sentences.iter().take(MAX_LINES).for_each(|sentence| page.wrap("  - ", &words_of(sentence)));
    }
    findings(&mut page, &comparison.findings);
    page.line("");
    page.line("All of it, kernels and ranges too: --format markdown");
    page.finish()
}

fn times(page: &mut Page, comparison: &Comparison) {
    let is_comparable = !matches!(comparison.work.basis, Basis::None { .. });
    if let Some(time) = comparison.time.as_ref().filter(|_| is_comparable) {
        page.heading("Time");
        page.row(["", "base", "head", "change"]);
        page.row(["all", &middle(&time.change, false), &middle(&time.change, true), &change(&time.change)]);
    }
    for device in comparison.devices.iter().take(MAX_LINES) {
        page.heading(&format!("Where the time went: {}", words_of(&device.label)));
        page.row(["", "base", "head", "change"]);
        let told = |account: &&AccountChange| account.share.base >= 0.001 || account.share.head >= 0.001;
        for account in device.accounts.iter().filter(told) {
            let (base, head) = match is_comparable {
                true => (middle(&account.time, false), middle(&account.time, true)),
                false => (percent(account.share.base), percent(account.share.head)),
            };
            let changed = if is_comparable { change(&account.time) } else { String::new() };
            page.row([account.label, &base, &head, &changed]);
        }
    }
}

fn middle(change: &Change, is_head: bool) -> String {
    duration(if is_head { change.head.median } else { change.base.median })
}

/// How much more or less, where that is more than noise.
fn change(change: &Change) -> String {
    let sign = if change.difference > 0 { "+" } else { "-" };
    match change.share {
        _ if change.difference == 0 => "none".to_owned(),
        _ if !change.is_change => "noise".to_owned(),
        Some(share) => format!("{sign}{} ({sign}{})", duration(change.difference.abs()), percent(share.abs())),
        None => format!("{sign}{}", duration(change.difference.abs())),
    }
}

fn findings(page: &mut Page, findings: &[FindingChange]) {
    let told = |finding: &&FindingChange| finding.severity > Severity::Info && finding.state != State::Unchanged;
    let told: Vec<&FindingChange> = findings.iter().filter(told).collect();
    if told.is_empty() {
        return;
    }
    page.heading("Findings");
    for finding in told.iter().take(MAX_LINES) {
        let (title, subject) = (escape::short(&finding.title), words_of(&finding.subject));
        let first = format!("  {}: ", finding.state.name());
        page.wrap(&first, &format!("{title} ({subject}) [{}]", finding.rule));
    }
    if told.len() > MAX_LINES {
        page.line(&format!("  and {} more", told.len() - MAX_LINES));
    }
}
