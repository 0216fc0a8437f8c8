//! Whether the two sides did the same work, and in which unit they can be compared when they did not.

use std::collections::BTreeMap;

use serde::Serialize;

use super::grids;
use super::measure::Measure;
use super::side::{Run, Side, int};
use super::words::{counted, many};
use crate::text::number;
use crate::text::spans::Sentence;

/// Amounts of work that differ by less are the same.
pub(super) const SAME_SHARE: f64 = 0.01;
/// Clocks that differ by less are the same.
const SAME_CLOCK_SHARE: f64 = 0.05;
/// The most rounds that one side may hold of the other's work.
const MOST_UNITS: i64 = 10_000;
/// Kernels named when only one side launches them.
const NAMED: usize = 3;

/// What the two sides did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Work {
    /// What is compared with what.
    pub basis: Basis,
    /// What differs in the work: empty when nothing does.
    pub differences: Vec<Sentence>,
    /// What a reader should bear in mind although the work looks the same.
    pub notes: Vec<Sentence>,
    /// Kernels launched, on all devices: base, then head.
    pub launch_count: [i64; 2],
    /// Steps, where both sides have them: base, then head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_count: Option<[i64; 2]>,
    /// Units of work in each run, where they differ within a side.
    #[serde(skip)]
    run_units: [Vec<i64>; 2],
}

/// The unit in which the sides are compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Basis {
    /// Both did the same: the whole of one against the whole of the other.
    Run,
    /// One did the work of the other several times: per unit of work.
    Unit {
        /// How many units the base holds.
        base_count: i64,
        /// How many units the head holds.
        head_count: i64,
    },
    /// The sides did different numbers of steps, or different work in a step: per step.
    Step {
        /// The annotation that repeats.
        name: String,
    },
    /// No unit is sound.
    None {
        /// Why.
        because: Sentence,
    },
}

impl Basis {
    /// Whether a verdict may be given.
    pub fn is_comparable(&self) -> bool {
        !matches!(self, Self::None { .. })
    }
}

type Counts = BTreeMap<String, i64>;

pub(super) fn work(base: Side<'_>, head: Side<'_>) -> Work {
    let launches = [base, head].map(|side| side.median_counts(Run::launches));
    let steps = steps(base, head);
    let basis = match (devices_differ(base, head), &steps) {
        (Some(because), _) => Basis::None { because },
        (None, None) if is_same(&launches, [1, 1]) => Basis::Run,
        // The same work in the same steps: a step is what the verdict is about, so all else is per step too.
        (None, Some((name, [base, head]))) if base == head && is_same(&launches, [1, 1]) => {
            Basis::Step { name: name.clone() }
        }
        (None, steps) => match (multiple(&launches), steps) {
            // As many times the steps as the work: rounds of the same, which the ledger can be compared by.
            (Some([base_count, head_count]), steps)
                if steps.as_ref().is_none_or(|(_, steps)| is_ratio(*steps, [base_count, head_count])) =>
            {
                Basis::Unit { base_count, head_count }
            }
            (_, Some((name, _))) => Basis::Step { name: name.clone() },
            (_, None) => Basis::None { because: different(&launches) },
        },
    };
    let mut work = Work {
        launch_count: [total(&launches[0]), total(&launches[1])],
        step_count: steps.map(|(_, counts)| counts),
        differences: Vec::new(),
        notes: notes(base, head),
        run_units: match basis {
            Basis::Step { .. } => [base, head].map(|side| side.runs.iter().map(|run| step_count(run).max(1)).collect()),
            _ => [Vec::new(), Vec::new()],
        },
        basis,
    };
    let units = work.units();
    work.differences = differences(&work, &launches, units, base, head);
    let sizes = grids::sizes(base, head);
    let bytes = [base, head].map(|side| side.median(|run| run.sum("copy_bytes")));
    if let Some(share) = sizes.filter(|_| work.basis.is_comparable()) {
        let words =
            format!("kernels that take {} of the kernel time run on grids of another size", number::percent(share));
        match differ(bytes, units) {
            // Either alone may be the change under review; both together are another batch or problem.
            true => {
                let words = format!(
                    "{words}, and another number of bytes is copied: this looks like another batch or problem size"
                );
                work.basis = Basis::None { because: own(&words) };
            }
            false => work.notes.push(own(&format!("{words}; make sure that both sides solve the same problem"))),
        }
    }
    work
}

impl Work {
    /// How many units of work each side holds.
    pub(super) fn units(&self) -> [i64; 2] {
        match (&self.basis, self.step_count) {
            (Basis::Unit { base_count, head_count }, _) => [*base_count, *head_count],
            (Basis::Step { .. }, Some(counts)) => counts.map(|count| count.max(1)),
            _ => [1, 1],
        }
    }

    /// How many units of work a run holds: runs of one side need not have done as many steps.
    pub(super) fn units_of(&self, side: usize, run: usize) -> i64 {
        self.run_units[side].get(run).copied().unwrap_or(self.units()[side])
    }

    /// Whether both sides did as much work.
    pub(super) fn is_same_amount(&self) -> bool {
        let [base, head] = self.units();
        base == head
    }
}

/// `10`, or `10 to 20` where runs differ.
fn span(count: Measure) -> String {
    let ends = [count.low, count.high].map(number::count);
    if count.low == count.high { number::count(count.low) } else { ends.join(" to ") }
}

fn own(words: &str) -> Sentence {
    Sentence::default().own(words)
}

fn total(counts: &Counts) -> i64 {
    counts.values().copied().fold(0, i64::saturating_add)
}

/// What both sides repeat, and how often.
fn steps(base: Side<'_>, head: Side<'_>) -> Option<(String, [i64; 2])> {
    let name_of = |side: Side<'_>| {
        let name = side.first()?.step_name()?;
        side.runs.iter().all(|run| run.step_name() == Some(name)).then(|| name.to_owned())
    };
    let name = name_of(base).filter(|name| name_of(head).as_ref() == Some(name))?;
    Some((name, [base.median(step_count), head.median(step_count)]))
}

fn step_count(run: &Run) -> i64 {
    run.devices().iter().map(|(_, device)| int(device, "step_count")).max().unwrap_or(0)
}

/// Other GPUs, or none.
fn devices_differ(base: Side<'_>, head: Side<'_>) -> Option<Sentence> {
    let models = |side: Side<'_>| {
        let run = side.first()?;
        Some(run.devices().iter().map(|(_, device)| device.text("name").map(str::to_owned)).collect::<Vec<_>>())
    };
    let (base, head) = (models(base)?, models(head)?);
    match (base.len(), head.len()) {
        (0, 0) => return Some(own("neither side recorded GPU work")),
        (0, _) => return Some(own("the base recorded no GPU work")),
        (_, 0) => return Some(own("the head recorded no GPU work")),
        (b, h) if b != h => {
            return Some(own(&format!("the base used {}, the head {}", many(b as i64, "GPU"), many(h as i64, "GPU"))));
        }
        _ => {}
    }
    let pair = base.iter().flatten().zip(head.iter().flatten()).find(|(base, head)| base != head)?;
    Some(Sentence::default().own("the base ran on ").value(pair.0).own(", the head on ").value(pair.1))
}

fn is_same([base, head]: &[Counts; 2], units: [i64; 2]) -> bool {
    let all = total(head) as f64 / units[1] as f64;
    all > 0.0 && distance(base, head, units) <= SAME_SHARE * all
}

/// Launches per unit that the sides do not share.
fn distance(base: &Counts, head: &Counts, units: [i64; 2]) -> f64 {
    let names: std::collections::BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let per = |counts: &Counts, name: &String, units: i64| counts.get(name).copied().unwrap_or(0) as f64 / units as f64;
    names.into_iter().map(|name| (per(base, name, units[0]) - per(head, name, units[1])).abs()).sum()
}

/// Whether one side holds the other's work a whole number of times.
fn multiple(launches: &[Counts; 2]) -> Option<[i64; 2]> {
    let [base, head] = launches.each_ref().map(total);
    if base == 0 || head == 0 {
        return None;
    }
    let factor = (base.max(head) as f64 / base.min(head) as f64).round() as i64;
    let units = if head > base { [1, factor] } else { [factor, 1] };
    ((2..=MOST_UNITS).contains(&factor) && is_same(launches, units)).then_some(units)
}

/// Whether counts are to each other as the units are, give or take one step at a seam.
fn is_ratio([base, head]: [i64; 2], units: [i64; 2]) -> bool {
    let (longer, shorter, times) = if units[1] > units[0] { (head, base, units[1]) } else { (base, head, units[0]) };
    longer.abs_diff(shorter.saturating_mul(times)) < times.unsigned_abs()
}

fn differ([base, head]: [i64; 2], units: [i64; 2]) -> bool {
    let (base, head) = (base as f64 / units[0] as f64, head as f64 / units[1] as f64);
    (base - head).abs() > SAME_SHARE * base.max(head)
}

fn different([base, head]: &[Counts; 2]) -> Sentence {
    let (base, head) = (total(base), total(head));
    if base == 0 || head == 0 {
        return own("one side launched nothing that could be compared");
    }
    let kernels = match head.cmp(&base) {
        std::cmp::Ordering::Equal => "the same number of kernels, but other ones".to_owned(),
        _ => format!("{} kernels ({} against {})", counted(base, head), number::count(head), number::count(base)),
    };
    own(&format!("the head launches {kernels}, and there are no steps to compare by"))
}

fn differences(work: &Work, launches: &[Counts; 2], units: [i64; 2], base: Side<'_>, head: Side<'_>) -> Vec<Sentence> {
    let mut found = Vec::new();
    let per = match work.basis {
        Basis::Step { .. } => " per step",
        Basis::Unit { .. } => " per unit of work",
        _ => "",
    };
    if let Basis::Unit { base_count, head_count } = work.basis {
        let (longer, shorter, count) = match head_count > base_count {
            true => ("head", "base", head_count),
            false => ("base", "head", base_count),
        };
        let times = if count == 2 { "twice".to_owned() } else { format!("{} times", number::count(count)) };
        found.push(own(&format!("the {longer} does the {shorter}'s work {times}")));
    }
    if work.step_count.is_some() {
        let steps = [base, head].map(|side| side.measure(|run| Some(step_count(run))));
        if let [Some(base), Some(head)] = steps
            && (base != head || base.low != base.high)
        {
            found.push(own(&format!("the head did {} steps, the base {}", span(head), span(base))));
        }
    }
    if !is_same(launches, units) && work.launch_count.iter().any(|count| *count > 0) {
        found.push(amount("kernels are launched", work.launch_count, units, per, number::count));
        found.extend(only_on_one_side(launches));
    }
    let mut compare = |fact: &str, words: &str, print: fn(i64) -> String| {
        let sums = [base, head].map(|side| side.median(|run| run.sum(fact)));
        if differ(sums, units) {
            found.push(amount(words, sums, units, per, print));
        }
    };
    compare("copy_bytes", "bytes are copied", number::bytes);
    compare("communication_count", "collectives run", number::count);
    found
}

/// `11 % fewer kernels are launched: 3,587 against 4,010`.
fn amount(words: &str, sums: [i64; 2], units: [i64; 2], per: &str, print: impl Fn(i64) -> String) -> Sentence {
    let [base, head] = [sums[0] / units[0], sums[1] / units[1]];
    let share = if base == 0 {
        String::new()
    } else {
        // As long as anything is left, not all of it is gone.
        match base.abs_diff(head) as f64 / base as f64 {
            share if head > 0 && (0.9995..1.0).contains(&share) => ">99.9 % ".to_owned(),
            share => format!("{} ", number::percent(share)),
        }
    };
    if base == head {
        return own(&format!("as many {words}{per}, but other ones"));
    }
    let way = if head > base { "more" } else { "fewer" };
    own(&format!("{share}{way} {words}{per}: {} against {}", print(head), print(base)))
}

fn only_on_one_side([base, head]: &[Counts; 2]) -> Vec<Sentence> {
    let only = |here: &Counts, there: &Counts, side: &str| {
        let mut names: Vec<(&String, &i64)> = here.iter().filter(|(name, _)| !there.contains_key(*name)).collect();
        names.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), name.as_str()));
        if names.is_empty() {
            return None;
        }
        let mut words = Sentence::default().own(&format!("only the {side} launches "));
        for (place, (name, _)) in names.iter().take(NAMED).enumerate() {
            words = words.own(if place > 0 { ", " } else { "" }).code(name);
        }
        let more = names.len().saturating_sub(NAMED);
        Some(if more > 0 { words.own(&format!(" and {}", many(more as i64, "other kernel"))) } else { words })
    };
    [only(head, base, "head"), only(base, head, "base")].into_iter().flatten().collect()
}

fn notes(base: Side<'_>, head: Side<'_>) -> Vec<Sentence> {
    let mut notes = Vec::new();
    for (name, side) in [("base", base), ("head", head)] {
        let each: Vec<Counts> = side.runs.iter().map(Run::launches).collect();
        if each.windows(2).any(|pair| distance(&pair[0], &pair[1], [1, 1]) > SAME_SHARE * total(&pair[0]) as f64) {
            notes.push(own(&format!("the runs of the {name} did not all do the same work")));
        }
    }
    let text = |side: Side<'_>, fact: &str| Some(side.first()?.entity()?.text(fact)?.to_owned());
    if let (Some(before), Some(after)) = (text(base, "framework"), text(head, "framework"))
        && before != after
    {
        notes.push(own(&format!("the base looks like {before}, the head like {after}")));
    }
    let clock = |side: Side<'_>| {
        side.measure(|run| {
            let devices = run.devices();
            let clocks = devices.iter().filter_map(|(_, device)| match device.get("sampled_clock_mean_mhz") {
                Some(crate::facts::FactValue::Float(mhz)) => Some(*mhz),
                _ => None,
            });
            clocks.reduce(f64::min).map(|mhz| mhz.round() as i64)
        })
    };
    if let (Some(before), Some(after)) = (clock(base), clock(head))
        && before.median.abs_diff(after.median) as f64 > SAME_CLOCK_SHARE * before.median as f64
    {
        notes.push(own(&format!(
            "the GPU ran at {} MHz in the base, at {} MHz in the head",
            before.median, after.median
        )));
    }
    notes
}
