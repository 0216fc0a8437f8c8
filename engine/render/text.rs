//! A review as text for a terminal: one screen, aligned, in colours where the terminal has them.
//!
//! Every word is printed through [`escape`], so that no name of a recording can move the cursor.

use super::bar;
use super::json::{Part as Row, ReviewView};
use super::spans::words_of;
use super::window::window;
use crate::findings::{DeviceReview, Finding, RuleFailure, Score};
use crate::gates::Gate;
use crate::report::ReviewReport;
use crate::rules::CaptureNote;
use crate::rules::outcome::Severity;
use crate::text::escape;
use crate::text::names;
use crate::text::number::{duration, percent};
use crate::text::plural::{counted, counted_as};
use crate::text::spans::Sentence;

/// What text is printed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns that a line may take.
    pub columns: u16,
    /// Whether it shows colours.
    pub is_coloured: bool,
}

impl Screen {
    /// A file or a pipe.
    pub const PLAIN: Self = Self { columns: 100, is_coloured: false };
    /// Narrower than this nothing can be aligned.
    const MIN_COLUMNS: usize = 40;
    /// Longer lines are hard to read.
    const MAX_COLUMNS: usize = 110;
    /// Other devices that a line is spent on.
    const MAX_DEVICES: usize = 8;

    fn columns(self) -> usize {
        usize::from(self.columns).clamp(Self::MIN_COLUMNS, Self::MAX_COLUMNS)
    }

    fn paint(self, colour: Colour, text: &str) -> String {
        if self.is_coloured { format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code()) } else { text.to_owned() }
    }
}

/// How a word stands out.
#[derive(Debug, Clone, Copy)]
enum Colour {
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
}

impl Colour {
    const fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "31",
            Self::Yellow => "33",
            Self::Green => "32",
        }
    }

    const fn of(severity: Severity) -> Self {
        match severity {
            Severity::High => Self::Red,
            Severity::Medium => Self::Yellow,
            Severity::Low | Severity::Info => Self::Dim,
        }
    }
}

/// With more words in findings that are told in full, the third becomes a line.
const MAX_WORDS: usize = 300;

/// A review as text.
pub(super) fn text(report: &ReviewReport, screen: Screen) -> String {
    let mut page = Page::new(screen);
    page.review(report);
    page.out
}

/// What has been printed so far.
pub(super) struct Page {
    screen: Screen,
    out: String,
}

impl Page {
    pub(super) const fn new(screen: Screen) -> Self {
        Self { screen, out: String::new() }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Of the whole page.
    pub(super) fn title(&mut self, words: &str) {
        let words = self.screen.paint(Colour::Bold, words);
        self.line(&words);
    }

    /// A row of a table of four columns.
    pub(super) fn row(&mut self, [name, base, head, change]: [&str; 4]) {
        self.line(&format!("  {name:<32}{base:>12}{head:>12}  {change}"));
    }

    pub(super) fn gate(&mut self, gate: &Gate) {
        let words = format!("{} ({}): {}; {}", gate.name, gate.limit, gate.outcome.name(), gate.says);
        self.wrap("gate ", &escape::line(&words));
    }

    /// Rules that went wrong, or were not asked to the end: what they would find is not told.
    pub(super) fn failures(&mut self, errors: &[RuleFailure]) {
        for error in errors {
            let words = format!("rule {} {}: {}", error.rule, error.what(), error.message);
            self.wrap("! ", &escape::line(&words));
        }
    }

    /// What the project changed of the findings.
    pub(super) fn altered(&mut self, altered: &[Sentence]) {
        altered.iter().for_each(|told| self.wrap("! ", &words_of(told)));
    }

    pub(super) fn line(&mut self, line: &str) {
        // Logs of pipelines read lines, wherever they were broken.
        self.out.push_str(escape::no_command(line).trim_end());
        self.out.push('\n');
    }

    /// Words, broken at blanks; `first` begins the first line, the others are as far in.
    pub(super) fn wrap(&mut self, first: &str, words: &str) {
        let indent = " ".repeat(first.chars().count());
        let mut line = first.to_owned();
        let mut is_empty = true;
        for word in words.split_whitespace() {
            if !is_empty && line.chars().count() + 1 + word.chars().count() > self.screen.columns() {
                self.line(&std::mem::replace(&mut line, indent.clone()));
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        self.line(&line);
    }

    pub(super) fn heading(&mut self, words: &str) {
        let words = self.screen.paint(Colour::Bold, words);
        self.line("");
        self.line(&words);
    }

    fn review(&mut self, report: &ReviewReport) {
        let review = &report.review;
        let title = format!("coldspot: {}", escape::short(&report.name));
        self.title(&title);
        self.line("");
        self.wrap("", &words_of(&review.verdict));
        self.failures(&review.errors);
        self.altered(&review.altered);
        self.scores(&review.devices);
        let view = ReviewView::new(report);
        let headline = review.headline().unwrap_or(0);
        if let (Some(device), Some(drawn)) = (review.devices.get(headline), view.devices.get(headline)) {
            let (bar, rows) = (bar::bar(&drawn.parts, device.window_ns), bar::rows(&drawn.parts));
            self.device(device, &bar, &rows, review.devices.len() == 1);
        }
        report.gates.gates.iter().for_each(|gate| self.gate(gate));
        self.findings(&review.findings);
        self.together(review.devices.get(headline));
        if !review.capture.is_empty()
            && !review.findings.iter().any(|found| found.capture_note == Some(CaptureNote::Quoted))
        {
            self.heading("What the capture was missing");
            review.capture.iter().for_each(|note| self.wrap("  - ", &words_of(note)));
        }
        self.line("");
        let more = "Times since the capture began. --format markdown says more.";
        self.line(&self.screen.paint(Colour::Dim, more));
    }

    fn scores(&mut self, devices: &[DeviceReview]) {
        let Some(first) = devices.first() else { return };
        let is_known = |index: &usize| {
            devices.iter().any(|device| device.scores.get(*index).is_some_and(|score| score.share.is_some()))
        };
        let columns: Vec<usize> = (0..first.scores.len()).filter(is_known).collect();
        for device in devices.iter().take(Screen::MAX_DEVICES).filter(|_| !columns.is_empty()) {
            let scores: Vec<String> =
                columns.iter().filter_map(|index| self.score(device.scores.get(*index)?)).collect();
            self.line("");
            self.line(&device.label.plain());
            scores.iter().for_each(|score| self.line(score));
        }
    }

    fn score(&self, score: &Score) -> Option<String> {
        let (share, meets) = (score.share?, score.meets?);
        let mark = if meets { self.screen.paint(Colour::Green, "✓") } else { self.screen.paint(Colour::Red, "✗") };
        let bound = if score.is_floor { "at least" } else { "at most" };
        let source = score.source.as_ref().map_or_else(String::new, |source| format!(", {}", escape::short(source)));
        let title = escape::short(&score.title);
        Some(format!("  {mark} {:>7}  {title} ({bound} {}{source})", percent(share), percent(score.target)))
    }

    fn device(&mut self, device: &DeviceReview, bar: &str, rows: &[Row], is_only: bool) {
        self.heading("Where the time went");
        let label = if is_only { String::new() } else { format!("{}: ", device.label.plain()) };
        self.wrap("", &format!("{label}{}", window(device)));
        self.line(bar);
        for row in rows {
            let label = escape::short(&row.label);
            self.line(&format!("{} {label:<32}{:>10} {:>7}", bar::sign(row.of), duration(row.ns), percent(row.share)));
        }
        let kernels = device.kernels.iter().enumerate().filter(|(index, kernel)| *index == 0 || kernel.share >= 0.02);
        for (index, (_, kernel)) in kernels.enumerate() {
            if index == 0 {
                self.heading("Kernels");
            }
            let median = kernel.median_ns.map_or_else(String::new, |ns| format!(", median {}", duration(ns)));
            let in_all = kernel.sum_ns.map_or_else(String::new, |ns| format!(", {} in all", duration(ns)));
            let launches = format!("{}{median}{in_all}", counted_as(kernel.launch_count, "launch", "launches"));
            self.line(&format!(
                "{:>7} {:>10}  {launches:<32} {}",
                percent(kernel.share),
                duration(kernel.attributed_ns),
                kernel.name.plain()
            ));
        }
    }

    fn findings(&mut self, findings: &[Finding]) {
        let is_shown = |finding: &&Finding| finding.severity > Severity::Info;
        let (lines, cards): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().filter(is_shown).partition(|finding| finding.is_brief);
        let lines: Vec<&Finding> =
            lines.into_iter().filter(|finding| finding.capture_note != Some(CaptureNote::Repeated)).collect();
        let (cards, others) = cards.split_at(self.told_count(&cards));
        let lines: Vec<&Finding> = others.iter().copied().chain(lines).collect();
        if !cards.is_empty() {
            self.heading("What to change first");
        }
        for (number, finding) in (1..).zip(cards) {
            self.finding(number, finding);
        }
        if !lines.is_empty() {
            self.heading(if cards.is_empty() { "What to change first" } else { "Further" });
        }
        for finding in lines {
            let gain = finding.gain.as_ref().filter(|gain| gain.share >= 0.001);
            let once = if finding.once { ", once" } else { "" };
            let gain = gain.map_or_else(String::new, |gain| format!(", {}{once}", gain.words()));
            let summary = words_of(&finding.summary);
            let gpu = finding.subject.gpu_among_others().filter(|gpu| !names::tells(&summary, gpu));
            let gpu = gpu.map_or_else(String::new, |gpu| format!(" on {gpu}"));
            self.wrap("  - ", &format!("{summary} [{}{gpu}{gain}]", finding.rule));
        }
        let notes = findings.iter().filter(|finding| finding.severity == Severity::Info).count();
        if notes > 0 {
            self.line("");
            self.line(&format!("{}: --format markdown", counted(notes as i64, "note")));
        }
    }

    /// How many findings are told in full: two, and a third where all of that stays short, as in Markdown.
    fn told_count(&self, cards: &[&Finding]) -> usize {
        let mut page = Self::new(self.screen);
        for (number, finding) in (1..).zip(cards) {
            page.finding(number, finding);
        }
        let is_short = page.out.split_whitespace().count() <= MAX_WORDS;
        if is_short { cards.len() } else { cards.len().min(2) }
    }

    fn together(&mut self, device: Option<&DeviceReview>) {
        if let Some(together) = device.and_then(|device| device.together.as_ref()) {
            self.line("");
            let rules = together.rules.join(", ");
            let without = together.without_words().map_or_else(String::new, |words| format!(" {words}"));
            self.wrap("", &format!("Together: {} ({rules}; replayed at once, not added).{without}", together.words()));
        }
    }

    fn finding(&mut self, number: usize, finding: &Finding) {
        self.line("");
        let rule = self.screen.paint(Colour::Dim, &format!("[{}]", finding.rule));
        let severity = self.screen.paint(Colour::of(finding.severity), finding.severity.name());
        self.wrap(&format!("{number}. "), &words_of(&finding.headline));
        let together = if finding.is_together { ", together" } else { "" };
        let once = if finding.once { ", once" } else { "" };
        let gain = finding.gain.as_ref().map_or_else(String::new, |gain| format!("{}{together}{once}; ", gain.words()));
        self.line(&format!("   {gain}{severity} severity, {} confidence {rule}", finding.confidence.name()));
        for sentence in &finding.evidence {
            self.wrap("   - ", &words_of(sentence));
        }
        self.part("do:   ", Some(&finding.advice));
        self.part("look: ", finding.look.as_ref());
        if finding.is_together {
            // What one of them has of a round, a replay does not tell.
            let own = finding.own_gain.as_ref().filter(|gain| gain.replayed.is_none());
            let (part, own) =
                own.map_or(("about", String::new()), |gain| ("most of it", format!(", {}", gain.words())));
            self.wrap(&format!("   {part}: "), &format!("{}{own}", words_of(&finding.subject.label)));
        }
        if !finding.is_together && finding.subject.gpu_among_others().is_some() {
            self.wrap("   about: ", &words_of(&finding.subject.label));
        }
        for other in finding.also.iter().take(4) {
            self.wrap("   also: ", &words_of(&other.subject.label));
        }
        let explained: Vec<&str> = finding.symptoms.iter().map(|symptom| symptom.rule.as_str()).collect();
        if !explained.is_empty() {
            self.wrap("   explains: ", &explained.join(", "));
        }
    }

    fn part(&mut self, name: &str, words: Option<&Sentence>) {
        let words = words.map(words_of).filter(|words| !words.is_empty());
        if let Some(words) = words {
            self.wrap(&format!("   {name}"), &words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::{hostile, two_gpus};
    use crate::gates::Gates;

    fn printed(screen: Screen) -> String {
        let review = two_gpus().review();
        text(&ReviewReport { name: "run.sqlite".to_owned(), review, gates: Gates::none() }, screen)
    }

    #[test]
    fn a_review_fits_the_screen() {
        let page = printed(Screen { columns: 72, is_coloured: false });
        insta::assert_snapshot!(page);
        assert!(page.lines().all(|line| line.chars().count() <= 90), "{page}");
    }

    #[test]
    fn colours_come_on_a_terminal_only() {
        assert!(!printed(Screen::PLAIN).contains('\u{1b}'));
        assert!(printed(Screen { is_coloured: true, ..Screen::PLAIN }).contains("\u{1b}[31mhigh\u{1b}[0m"));
    }

    #[test]
    fn names_move_no_cursor() {
        let review = hostile().review();
        let page = text(&ReviewReport { name: "\u{1b}[2J".to_owned(), review, gates: Gates::none() }, Screen::PLAIN);
        assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "{page}");
    }
}
