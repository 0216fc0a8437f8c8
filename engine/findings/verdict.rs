//! The one sentence at the top.

use super::bounded::{at_its_bound, set_up_before};
use super::cold::cold;
use super::once_beside::beside;
use super::outside::{outside_first, outside_named};
use super::phrase::{WORTH_SHARE, computing, computing_behind, window_of, within};
use super::rank::{MAIN_KERNEL_SHARE, held_ns, is_of_cold_pass};
use super::unjudged::profile_page;
use super::{Counts, DeviceReview, Finding, Gain, Known, KnownFinding, is_of_kernels_alone};
use crate::facts::{Entity, EntityKind, FactValue, Facts};
use crate::rules::outcome::Severity;
use crate::source::PRINT_ALL_COUNTERS;
use crate::text::number::{duration, percent};
use crate::text::plural::counted_as;
use crate::text::spans::Sentence;

/// The rule whose finding stands for all others.
const TOO_LITTLE: &str = "too-little-work";
/// What comes before the steady state is told in the verdict where it is so many times as long.
const MUCH_LONGER: i64 = 5;
/// A kernel is named beside what can be gained where it takes so many times as much.
const FAR_MORE: f64 = 2.0;
/// Kernels of a known cause that take so many times what something else could gain are told without that.
const FAR_LESS: f64 = 4.0;
/// A bound that is told beside little which is sure.
const LARGE_BOUND: f64 = 0.2;
/// With a smaller share of compute, silence is no praise.
const WELL_USED: f64 = 0.85;
/// A capture with fewer operations, in a smaller share of its time, holds next to no GPU work.
const FEW_OPERATIONS: i64 = 10;
const SHORT_SHARE: f64 = 0.001;

/// `notes` are what the capture was missing, `known` what a baseline took out of the findings, `silencing` the rules in whose
/// place findings were left out: with such a one nothing can be said of health.
pub(super) fn verdict(
    facts: &Facts,
    devices: &[DeviceReview],
    findings: &[Finding],
    notes: &[Sentence],
    counts: &Counts,
    (known, silencing): (Option<&Known>, &[&str]),
) -> Sentence {
    if is_of_kernels_alone(facts) {
        return of_kernels(facts, devices, findings);
    }
    let is_grave = |finding: &&Finding| finding.severity == Severity::High || finding.tells_no_kernels();
    let capture = findings.iter().filter(|finding| finding.gain.is_none()).find(is_grave);
    if devices.is_empty() {
        return nothing(facts, notes);
    }
    if let Some(next_to_nothing) = next_to_nothing(facts, devices) {
        return with_outside(next_to_nothing, facts, devices);
    }
    let top = findings.iter().find(|finding| finding.severity > Severity::Info && finding.gain.is_some());
    if let (Some(finding), None) = (capture, top) {
        return Sentence::default().sentence(&finding.summary).own(".");
    }
    if let (Some(too_little), None) = (findings.iter().find(|finding| finding.rule == TOO_LITTLE), top) {
        return with_outside(Sentence::default().sentence(&too_little.summary).own("."), facts, devices);
    }
    let words = opening(facts, findings, capture);
    let first = findings.iter().find(|finding| finding.severity > Severity::Info);
    let device = first.and_then(|finding| finding.subject.device.as_ref()).map(|device| device.entity);
    // Where a rule tells of the time before the first work, that says it better; without a kernel there is no work to hold it against.
    let is_told = findings.iter().any(|finding| finding.tells_before() || finding.tells_no_kernels());
    let is_found = findings.iter().any(Finding::looks_outside);
    let outside = outside_first(facts, device.unwrap_or(devices[0].entity), first, is_found).filter(|_| !is_told);
    let (words, is_outside_first) = match &outside {
        Some(outside) => (words.sentence(outside), true),
        None => (words, false),
    };
    if let Some(inside) = before_any_gain(findings) {
        let words = computing(words, devices, inside).own(". ").sentence(&inside.summary).own(".");
        return beside(words, inside, findings);
    }
    match top.and_then(|finding| Some((finding, finding.gain.as_ref()?))) {
        Some(top) => most_to_gain(words, facts, devices, top, findings, known, is_outside_first),
        None => without_gain(words, facts, devices, findings, is_outside_first, (counts, known, silencing)),
    }
}

/// What to know before all that is lost in the window: of the capture, and of what lies before the window.
fn opening(facts: &Facts, findings: &[Finding], capture: Option<&Finding>) -> Sentence {
    match capture {
        // It tells of the program, and comes before all that is lost in the window.
        Some(finding) if finding.tells_before() || finding.tells_no_kernels() => {
            Sentence::default().sentence(&finding.summary).own(". ")
        }
        Some(finding) => Sentence::default().own("Read with care (").sentence(&within(&finding.headline)).own("): "),
        None => match before_that(findings).filter(|before| before.tells_before()) {
            Some(before) => lacking(facts).sentence(&before.summary).own(". "),
            None => lacking(facts),
        },
    }
}

/// With the finding that could gain most, what lies inside kernels or beside it, and what comes before all that.
fn most_to_gain(
    words: Sentence,
    facts: &Facts,
    devices: &[DeviceReview],
    (top, gain): (&Finding, &Gain),
    findings: &[Finding],
    known: Option<&Known>,
    is_outside_first: bool,
) -> Sentence {
    let is_said = |before: &Finding| {
        before.tells_no_kernels() || before.tells_before() || is_outside_first && before.looks_outside()
    };
    let before = before_that(findings).filter(|before| !is_said(before));
    let is_cold = top.once && is_of_cold_pass(facts, top);
    let words = match before {
        Some(before) if !is_cold && is_far_less(facts, gain, before) => {
            let words = computing(words, devices, before).own(". ").sentence(&before.summary).own(".");
            return beside(words, top, findings);
        }
        Some(before) if !is_cold => return after_that(words, devices, before, (top, gain), findings, known),
        _ if is_cold => cold(words, devices, (top, gain), findings),
        _ => beside(loss(words, devices, (top, gain), findings, known), top, findings),
    };
    let words = inside_beside(words, facts, (top, gain), findings);
    match before.or_else(|| set_up_before(findings)) {
        Some(before) => words.own(" ").sentence(&before.summary).own("."),
        None => words,
    }
}

/// Whether what could be gained is far less than the time of the kernels that the list leads with: it is no way to go beside that.
fn is_far_less(facts: &Facts, gain: &Gain, before: &Finding) -> bool {
    let device = facts.related(before.subject.entity, EntityKind::Device).map(|device| facts.get(device));
    let window_ns = device.and_then(|device| device.int("window_ns")).unwrap_or(0);
    let held_ns = held_ns(facts, before).unwrap_or(0);
    held_ns > 0 && held_ns as f64 >= FAR_LESS * gain.weighing_share() * window_ns as f64
}

/// What the list leads with, though it has no number, and then what could be gained beside it.
fn after_that(
    words: Sentence,
    devices: &[DeviceReview],
    before: &Finding,
    (top, gain): (&Finding, &Gain),
    findings: &[Finding],
    known: Option<&Known>,
) -> Sentence {
    let words = computing_behind(words, devices, before, findings).own(". ").sentence(&before.summary).own(".");
    // What is told in a line is as little as runs differ by: it must not sound like a way to go.
    let words = match top.is_brief {
        true => words,
        false => words
            .own(&format!(" Beside that, {}{}: ", most_of(top, gain, findings, "to change first"), of_new(known)))
            .sentence(&within(&top.headline))
            .own(&format!(" ({}).", gain.words())),
    };
    beside(words, top, findings)
}

/// Where no finding that weighs says what it would gain: what says it better, or that nothing could be gained.
fn without_gain(
    words: Sentence,
    facts: &Facts,
    devices: &[DeviceReview],
    findings: &[Finding],
    is_outside_first: bool,
    (counts, known, silencing): (&Counts, Option<&Known>, &[&str]),
) -> Sentence {
    let is_shown = |finding: &Finding| finding.severity > Severity::Info;
    let says_it_better =
        |finding: &&Finding| is_shown(finding) && finding.gain.is_none() && silencing.contains(&finding.rule.as_str());
    if let Some(finding) = findings.iter().find(says_it_better) {
        return words.sentence(&finding.summary).own(".");
    }
    let is_said = |finding: &Finding| is_outside_first && finding.looks_outside();
    let is_news = |finding: &&Finding| is_shown(finding) && finding.capture_note.is_none() && !is_said(finding);
    let unnumbered = findings.iter().find(is_news);
    let is_worth = |finding: &&Finding| finding.gain.as_ref().is_some_and(|gain| gain.share >= WORTH_SHARE);
    let worth = || findings.iter().filter(is_worth);
    // What could be gained inside of a kernel is not known, and may be a lot.
    let is_inside = unnumbered.is_some_and(Finding::looks_inside);
    let beside = match (worth().any(|finding| finding.once), worth().next().is_some()) {
        (true, _) => "that comes again and could gain 1 % of it",
        (false, true) => "beside what is told below",
        (false, false) if is_inside => "outside of kernels that could gain 1 % of it",
        (false, false) => "that could gain 1 % of it",
    };
    let said = unnumbered.or_else(|| at_its_bound(devices, findings));
    hidden(healthy(words, devices, counts, known, beside), facts, said)
}

/// With what the program does outside of the GPU's work, where that has a name: there is little else to tell.
fn with_outside(words: Sentence, facts: &Facts, devices: &[DeviceReview]) -> Sentence {
    match devices.first().and_then(|device| outside_named(facts, device.entity)) {
        Some(outside) => words.own(" ").sentence(&outside),
        None => words,
    }
}

/// What to know first where idle time may be work that was lost.
fn lacking(facts: &Facts) -> Sentence {
    let Some(why) = facts.missing_work() else { return Sentence::default() };
    Sentence::default().own(&format!("Read with care ({why}): "))
}

/// Kernels that were profiled one by one: which takes the time, and what slows it down.
fn of_kernels(facts: &Facts, devices: &[DeviceReview], findings: &[Finding]) -> Sentence {
    let counts = facts.of_kind(EntityKind::Device).filter_map(|(_, device)| device.int("kernel_count"));
    let launches = counted_as(counts.fold(0, i64::saturating_add), "profiled launch", "profiled launches");
    let kernels = facts.of_kind(EntityKind::Kernel).count();
    let kernels = counted_as(i64::try_from(kernels).unwrap_or(i64::MAX), "kernel", "kernels");
    let words = Sentence::default().own(&format!("{launches} of {kernels}"));
    if devices.is_empty() {
        let why = ", without how long they took: nothing tells which of them matters.";
        if is_uncounted(facts) {
            return words.own(&format!("{why} {COUNTERS_WITHHELD}"));
        }
        // One page holds less than was measured; of the other there is no more to print.
        return match profile_page(facts) {
            Some("details") => words.own(&format!(
                "{why} Print all that was measured (`{PRINT_ALL_COUNTERS}`), or profile them with `--set full`."
            )),
            _ => words.own(&format!("{why} Profile them with `--set full`.")),
        };
    }
    let sum_ns = devices.iter().map(|device| device.window_ns).fold(0, i64::saturating_add);
    let words = words.own(&format!(", {}", duration(sum_ns)));
    let shown = || findings.iter().filter(|finding| finding.severity > Severity::Info);
    let gaining = shown().find_map(|finding| Some((finding, finding.gain.as_ref()?)));
    match (gaining, shown().next()) {
        // It is told first, and so grave that a number which is missing says nothing against it.
        (_, Some(first)) if first.gain.is_none() && first.severity == Severity::High => {
            words.own("; first: ").sentence(&first.summary).own(".")
        }
        (Some((finding, gain)), _) => {
            let words = words.own("; most to gain in ").sentence(&finding.subject.label).own(": ");
            words.sentence(&within(&finding.headline)).own(&format!(" ({}).", gain.words()))
        }
        (None, Some(finding)) => {
            words.own("; no gain can be promised from what was measured. ").sentence(&finding.summary).own(".")
        }
        (None, None) => words.own("; no rule on kernels found anything in what was measured of them."),
    }
}

/// What to do where the GPU's counters could not be read.
const COUNTERS_WITHHELD: &str = "Nsight Compute asked for the GPU's counters and got none, so that no other page holds more. Profile again where they can be \
     read: as administrator, or with a driver that allows it (`ERR_NVGPUCTRPERM`), and without another profiler of this GPU.";

/// Whether the GPU's counters were asked for of each launch, and are known of none.
fn is_uncounted(facts: &Facts) -> bool {
    let Some(run) = facts.run() else { return false };
    let uncounted = run.int("uncounted_launch_count").unwrap_or(0);
    uncounted > 0 && run.int("untimed_launch_count").is_some_and(|untimed| untimed <= uncounted)
}

/// No device has a window to judge.
fn nothing(facts: &Facts, notes: &[Sentence]) -> Sentence {
    let is_any = facts.of_kind(EntityKind::Device).next().is_some();
    let is_of_cpu = |run: &Entity| {
        run.text("format") == Some("kineto") && run.get("cuda_trace_requested") == Some(&FactValue::Bool(false))
    };
    let words = Sentence::default().own(if is_any {
        "The GPU work that was recorded has no length, so there is nothing to judge."
    } else if facts.is_damaged() {
        "What is left of the file holds no GPU work, so there is nothing to judge."
    } else if facts.run().is_some_and(is_of_cpu) {
        "The trace is CPU only: no GPU work was recorded, so there is nothing to judge."
    } else {
        "No GPU work was recorded, so there is nothing to judge."
    });
    // Why the program ended says more than what the profiler noticed of that.
    let error = facts.run().filter(|run| run.get("output_ends_in_error") == Some(&FactValue::Bool(true)));
    let error = error.filter(|run| run.int("launch_call_count").unwrap_or(0) == 0);
    match (error.and_then(|run| run.text("output_error")), notes.first()) {
        (Some(error), _) => words.own(" The program's output ends with an error: ").value(error).own("."),
        (None, Some(note)) => words.own(" ").sentence(note),
        (None, None) => words,
    }
}

/// A handful of operations in a long capture: the program's work was not recorded, whatever the shares say.
fn next_to_nothing(facts: &Facts, devices: &[DeviceReview]) -> Option<Sentence> {
    let run = facts.run().filter(|_| !facts.is_damaged())?;
    let (operations, length_ns) = (run.int("gpu_op_count")?, run.int("duration_ns")?);
    let window_ns = devices.iter().map(|device| device.window_ns).fold(0, i64::saturating_add);
    if operations >= FEW_OPERATIONS || window_ns as f64 >= SHORT_SHARE * length_ns as f64 {
        return None;
    }
    let counted = if operations == 1 { "1 operation".to_owned() } else { format!("{operations} operations") };
    let busy_ns =
        devices.iter().filter_map(|device| facts.get(device.entity).int("busy_ns")).fold(0, i64::saturating_add);
    let (busy, length) = (duration(busy_ns), duration(length_ns));
    let words = format!(
        "Next to no GPU work was recorded: {counted}, {busy} of {length} that were recorded. That is too little to judge."
    );
    Some(Sentence::default().own(&words))
}

/// What to look inside of, where that comes before all that has a number.
fn before_any_gain(findings: &[Finding]) -> Option<&Finding> {
    let mut told =
        findings.iter().filter(|finding| finding.severity > Severity::Info && finding.capture_note.is_none());
    let first = told.next().filter(|first| first.looks_inside())?;
    told.any(|finding| finding.gain.is_some()).then_some(first)
}

/// What comes before all that has a number, for sure and without one.
fn before_that(findings: &[Finding]) -> Option<&Finding> {
    let first = findings.iter().find(|finding| finding.severity > Severity::Info)?;
    (first.gain.is_none() && first.severity == Severity::Medium).then_some(first)
}

fn loss(
    words: Sentence,
    devices: &[DeviceReview],
    (finding, gain): (&Finding, &Gain),
    findings: &[Finding],
    known: Option<&Known>,
) -> Sentence {
    // What has no number comes before it.
    let first = if before_that(findings).is_some() { "to change there first" } else { "to change first" };
    let most = most_of(finding, gain, findings, first);
    let of = of_new(known);
    // What is told in a line is as little as runs differ by: it must not sound like a way to go.
    let larger = larger_bound(finding, findings).filter(|_| finding.is_brief);
    let most = match larger {
        Some(_) => "what is sure to gain is little",
        None if finding.is_brief => "little to gain that a rule can tell",
        None => most,
    };
    let words = computing_behind(words, devices, finding, findings);
    let words = words.own(&format!("; {most}{of}: ")).sentence(&within(&finding.headline));
    let words = words.own(&format!(" ({}).", gain.words()));
    match larger {
        Some((other, gain)) => words
            .own(" The most that may be gained is more: ")
            .sentence(&within(&other.headline))
            .own(&format!(" ({}).", gain.words())),
        None => words,
    }
}

/// Another finding, also one that is only noted, whose bound is far more than the little that is told of the first.
pub(super) fn larger_bound<'all>(first: &Finding, findings: &'all [Finding]) -> Option<(&'all Finding, &'all Gain)> {
    let is_same = |other: &Finding| {
        let device = |finding: &Finding| finding.subject.device.as_ref().map(|device| device.entity);
        device(other) == device(first) && !other.once
    };
    let bounds = findings.iter().filter(|other| is_same(other)).filter_map(|other| Some((other, other.gain.as_ref()?)));
    bounds.filter(|(_, gain)| gain.share >= LARGE_BOUND).max_by(|(_, a), (_, b)| a.share.total_cmp(&b.share))
}

/// Whether a finding could gain most of those that are told, or is `first` of them: what is surer comes before what may bring more.
fn most_of(finding: &Finding, gain: &Gain, findings: &[Finding], first: &'static str) -> &'static str {
    let weight = gain.weighing_share();
    let is_more = |other: &Finding| other.gain.as_ref().is_some_and(|other| other.weighing_share() > weight);
    let is_told = |other: &&Finding| other.severity > Severity::Info && (!other.once || finding.once);
    if findings.iter().filter(is_told).any(is_more) { first } else { "most to gain" }
}

/// The kernel that takes most of a window, where that is far more than can be gained elsewhere: what is inside of it has no number.
fn inside_beside(words: Sentence, facts: &Facts, (top, gain): (&Finding, &Gain), findings: &[Finding]) -> Sentence {
    let share = |finding: &Finding| {
        let kernel = finding.subject.entity;
        let device = facts.get(facts.related(kernel, EntityKind::Device)?);
        let window_ns = device.int("window_ns").filter(|ns| *ns > 0)?;
        Some(facts.get(kernel).int("attributed_ns")? as f64 / window_ns as f64)
    };
    let device_of = |finding: &Finding| finding.subject.device.as_ref().map(|device| device.entity);
    let is_main = |finding: &&Finding| {
        let weighs = finding.severity > Severity::Info && finding.looks_inside();
        let least = MAIN_KERNEL_SHARE.max(FAR_MORE * gain.weighing_share());
        let is_beside = finding.subject.entity != top.subject.entity && device_of(finding) == device_of(top);
        weighs && is_beside && share(finding).is_some_and(|share| share >= least)
    };
    match findings.iter().find(is_main) {
        Some(inside) => words.own(" ").sentence(&inside.summary).own("."),
        None => words,
    }
}

/// What keeps a clean verdict from being the whole truth: work inside graphs, and findings without a number.
fn hidden(words: Sentence, facts: &Facts, unnumbered: Option<&Finding>) -> Sentence {
    let sum = |name: &str| facts.of_kind(EntityKind::Device).filter_map(|(_, device)| device.int(name)).sum::<i64>();
    let words = if 2 * i128::from(sum("graph_busy_ns")) >= i128::from(sum("window_ns")) {
        words
            .own(" Most of that time is inside graph launches recorded as a whole: what runs in them cannot be judged.")
    } else {
        words
    };
    match unnumbered {
        Some(finding) => words.own(" ").sentence(&finding.summary).own("."),
        None => words,
    }
}

/// Beside what a baseline knows, what is told is the most of the rest.
fn of_new(known: Option<&Known>) -> &'static str {
    if known_count(known) > 0 { " of what is new" } else { "" }
}

fn known_count(known: Option<&Known>) -> usize {
    // Notes are no news when they are new either.
    let is_counted = |known: &&KnownFinding| known.severity > Severity::Info;
    known.map_or(0, |known| known.findings.iter().filter(is_counted).map(|known| known.entity_count).sum())
}

/// `beside` says what there is that is not found.
fn healthy(
    words: Sentence,
    devices: &[DeviceReview],
    counts: &Counts,
    known: Option<&Known>,
    beside: &str,
) -> Sentence {
    let busy = spread(devices, |device| device.busy_ns);
    let compute = spread(devices, |device| device.compute_ns);
    let words = match devices {
        [device] => words.sentence(&device.label).own(&format!(
            " is busy {} of its {} {}",
            span(busy),
            duration(device.window_ns),
            window_of(device)
        )),
        [_, _] => words.own(&format!("Both GPUs are busy {} of their windows", span(busy))),
        _ => words.own(&format!("All {} GPUs are busy {} of their windows", devices.len(), span(busy))),
    };
    // Busy is not health: copies keep a device busy too.
    let words = match busy.0 - compute.0 {
        apart if apart > 0.01 => words.own(&format!(", {} with compute", span(compute))),
        _ => words,
    };
    let words = words.own(&format!("; {} {beside} ({}).", found(counts, known, compute.0), answers(counts, known)));
    match devices.iter().find_map(before_rounds) {
        Some(before) => words.own(&before),
        None => words,
    }
}

/// What a device does for long before rounds that launches alone tell: that may be the program's work as well.
fn before_rounds(device: &DeviceReview) -> Option<String> {
    let phase = device.phase.as_ref().filter(|_| device.steps.as_ref().is_none_or(|steps| !steps.is_marked))?;
    let before_ns = phase.before.iter().map(|before| before.duration_ns).fold(0, i64::saturating_add);
    if phase.is_profiled_region || before_ns / MUCH_LONGER < device.window_ns {
        return None;
    }
    let main = phase.before.iter().flat_map(|before| &before.parts).max_by_key(|part| part.ns);
    let main = main.filter(|part| 2 * part.ns >= before_ns);
    let of_it = main.map_or_else(String::new, |part| format!(", most of it {}", part.label));
    let (before, whole) = (duration(before_ns), duration(phase.whole_ns));
    Some(format!(
        " Of the GPU's whole window of {whole}, {before} lie before that{of_it}: `--phase whole` judges them."
    ))
}

/// `no rule found anything`, where `computing` is the least share of compute.
fn found(counts: &Counts, known: Option<&Known>, computing: f64) -> &'static str {
    match (computing < WELL_USED, counts.ignored + counts.silenced) {
        // What is known may be why it computes so little.
        _ if known_count(known) > 0 => "no new finding",
        (true, 0) => "still, no rule found anything",
        (false, 0) => "no rule found anything",
        (true, _) => "still, no rule found anything else",
        (false, _) => "no rule found anything else",
    }
}

/// `57 rules evaluated, of which 1 could not be judged fully; 2 findings are ignored`.
fn answers(counts: &Counts, known: Option<&Known>) -> String {
    let unjudged = match counts.rules - counts.rules_judged {
        0 => String::new(),
        count => format!(", of which {count} could not be judged fully"),
    };
    let silenced = (counts.silenced, "left out by rules of the project");
    let folded =
        [(counts.ignored, "ignored"), silenced, (known_count(known), "known")].map(|(count, how)| match count {
            0 => String::new(),
            1 => format!("; 1 finding is {how}"),
            count => format!("; {count} findings are {how}"),
        });
    let rules = if counts.rules == 1 { "rule" } else { "rules" };
    format!("{} {rules} evaluated{unjudged}{}", counts.rules, folded.concat())
}

/// The least and the most that devices have of their windows.
fn spread(devices: &[DeviceReview], ns: impl Fn(&DeviceReview) -> i64) -> (f64, f64) {
    let shares = devices.iter().map(|device| ns(device) as f64 / device.window_ns as f64);
    shares.fold((f64::INFINITY, 0.0), |(least, most), share| (share.min(least), share.max(most)))
}

fn span((least, most): (f64, f64)) -> String {
    match (percent(least), percent(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    }
}
