//! Whether two sides did the same work, and in which unit they can be compared when they did not.

use std::collections::BTreeMap;

use super::lacking::Lacking;
use super::launches::{self, Launches, Replaced, is_as_often};
use super::measure::{Measure, SAME_SHARE, median};
use super::rounds;
use super::runs::{Run, Runs, int, name_of};
use super::sides::{Side, Sides};
use super::words::counted;
use super::{Terms, alike, incomplete};
use crate::facts::EntityKind;
use crate::text::plural::counted as many;
use crate::text::spans::Sentence;
use crate::text::{names, number};

/// Clocks that differ by less are the same.
const SAME_CLOCK_SHARE: f64 = 0.05;
/// Smaller amounts per unit of work are printed with their fractions.
const MOST_PARTED: f64 = 100.0;
/// Kernels named when only one side launches them.
const NAMED: usize = 3;
/// From this part of the kernel time on, it is the program that works on another size.
const LEAST_RESIZED_SHARE: f64 = 0.5;

/// What the two sides did.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// What is compared with what.
    pub basis: Basis,
    /// What differs in the work: empty when nothing does.
    pub differences: Vec<Sentence>,
    /// What a reader should bear in mind although the work looks the same.
    pub notes: Vec<Sentence>,
    /// Kernels of the base that the head replaced by others, the longest first.
    pub replaced: Vec<Replaced>,
    /// Whether the caller says that the work is the same.
    pub is_said_same: bool,
    /// Whether a side runs more of its work than the other in graphs that are recorded as a whole, without their kernels.
    pub(crate) hides_kernels: Sides<bool>,
    /// Kernels launched, on all devices.
    pub launch_count: Sides<i64>,
    /// Steps, where both sides have them.
    pub step_count: Option<Sides<i64>>,
    /// Steps that are not the same on both sides, and therefore are no unit.
    pub(crate) other_steps: Option<Sides<i64>>,
    /// Whether the sides cannot be compared because what they launch differs.
    pub(super) is_other: bool,
    /// Units of work in each run, where they differ within a side.
    run_units: Sides<Vec<f64>>,
    /// Units of work that each side holds, the median of its runs.
    units: Sides<f64>,
}

/// The unit in which the sides are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// Both did the same: the whole of one against the whole of the other.
    Run,
    /// One did the work of the other several times, or both the same work several times: per unit of work.
    Unit {
        /// How many units each side holds.
        count: Sides<i64>,
    },
    /// The sides did different numbers of steps, or different work in a step: per step.
    Step {
        /// The range that repeats.
        name: String,
    },
    /// No unit is sound.
    None {
        /// Why.
        because: Sentence,
    },
}

impl Basis {
    /// What amounts are counted by, after them: ` a step`; nothing for the whole.
    pub const fn per(&self) -> &'static str {
        match self {
            Self::Step { .. } => " a step",
            Self::Unit { .. } => " a unit of work",
            Self::Run | Self::None { .. } => "",
        }
    }

    /// Whether a verdict may be given.
    pub fn is_comparable(&self) -> bool {
        !matches!(self, Self::None { .. })
    }
}

/// What both sides repeat, and how often.
struct Steps {
    name: String,
    count: Sides<i64>,
}

pub(super) fn work(sides: Sides<Runs<'_>>, terms: Terms, lacking: &Sides<Lacking>) -> Work {
    let launches = Launches::new(sides);
    let steps = Steps::of(sides);
    let other_steps =
        steps.as_ref().filter(|steps| launches.parts_steps_otherwise(steps.count)).map(|steps| steps.count);
    let steps = steps.filter(|_| other_steps.is_none());
    let basis = basis(sides, &launches, steps.as_ref(), terms);
    let run_units = match basis {
        Basis::Step { .. } => sides.map(|side| side.runs.iter().map(|run| rounds::whole_count(run)).collect()),
        _ => Sides::default(),
    };
    let units = units(&basis, &run_units);
    let hides_kernels = incomplete::hides_kernels(sides);
    let mut differences = differences(&basis, &launches, steps.is_some(), units, sides);
    differences.extend(other_steps.map(parted_otherwise));
    let mut work = Work {
        differences,
        launch_count: launches.totals(),
        hides_kernels,
        notes: lacking.notes().into_iter().chain(notes(sides, terms)).chain(launches.only_counted(units)).collect(),
        is_said_same: terms.same_work,
        is_other: !basis.is_comparable() && refusal(sides).is_none(),
        run_units,
        units,
        step_count: steps.map(|steps| steps.count),
        other_steps,
        replaced: launches.replaced,
        basis,
    };
    if let Some(share) = resized_share(sides).filter(|_| work.basis.is_comparable()) {
        work.resized(share, !is_as_often(sides.map(|side| side.median(|run| run.sum("copy_bytes"))), units));
    }
    work
}

/// Why no unit of work makes the sides comparable.
fn refusal(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    let parts = || alike::narrowed(sides).or_else(|| alike::parts_differ(sides));
    incomplete::incomplete(sides).or_else(parts).or_else(|| alike::devices_differ(sides))
}

fn basis(sides: Sides<Runs<'_>>, launches: &Launches, steps: Option<&Steps>, terms: Terms) -> Basis {
    if let Some(because) = refusal(sides) {
        return Basis::None { because };
    }
    unit(launches, steps, terms)
}

/// The unit that the launches and the steps of both sides have in common.
fn unit(launches: &Launches, steps: Option<&Steps>, terms: Terms) -> Basis {
    let is_same = launches.is_same(Sides { base: 1.0, head: 1.0 });
    // As many times the steps as the work: repetitions of the same, which the ledger can be compared by.
    let multiple =
        launches.multiple(1).filter(|units| !is_same && steps.is_none_or(|steps| is_ratio(steps.count, *units)));
    let step = |steps: &Steps| Basis::Step { name: steps.name.clone() };
    match (steps, multiple) {
        // The same work in the same steps: a step is what the verdict is about, so all else is per step too.
        (Some(steps), _) if is_same && steps.count.base == steps.count.head => step(steps),
        (None, _) if is_same => Basis::Run,
        (_, Some(count)) => Basis::Unit { count },
        (Some(steps), None) => step(steps),
        (None, None) => match launches.repetitions() {
            Some(count) => Basis::Unit { count },
            None if terms.same_work || launches.is_mostly_same() => Basis::Run,
            None => Basis::None { because: launches.other_work() },
        },
    }
}

/// How many units of work each side holds.
fn units(basis: &Basis, of_runs: &Sides<Vec<f64>>) -> Sides<f64> {
    match basis {
        Basis::Unit { count } => count.map(|count| count as f64),
        Basis::Step { .. } => of_runs.each_ref().map(|counts| median(counts)),
        Basis::Run | Basis::None { .. } => Sides { base: 1.0, head: 1.0 },
    }
}

impl Work {
    /// How many units of work each side holds.
    pub(crate) fn units(&self) -> Sides<f64> {
        self.units
    }

    /// How many units of work a run holds: runs of one side need not have done as many steps.
    pub(crate) fn units_of(&self, side: Side, run: usize) -> f64 {
        self.run_units.get(side).get(run).copied().unwrap_or(*self.units.get(side))
    }

    /// Whether both sides did as much work.
    pub(crate) fn is_same_amount(&self) -> bool {
        let Sides { base, head } = self.units;
        (base - head).abs() <= SAME_SHARE * base.max(head)
    }

    /// Notes that kernels with this share of the kernel time run on grids of another size. Either that or other copies
    /// alone may be the change under review; both together are another batch or problem.
    fn resized(&mut self, share: f64, copies_differ: bool) {
        let words =
            format!("kernels that take {} of the kernel time run on grids of another size", number::percent(share));
        if copies_differ && !self.is_said_same {
            let words = format!(
                "{words}, and another number of bytes is copied: this looks like another batch or problem size"
            );
            self.basis = Basis::None { because: own(&words) };
        } else {
            self.notes.push(own(&format!("{words}; make sure that both sides solve the same problem")));
        }
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

impl Steps {
    /// What all runs repeat, when they do.
    fn of(sides: Sides<Runs<'_>>) -> Option<Self> {
        let names = sides.map(|side| {
            let name = side.first()?.step_name()?;
            side.runs.iter().all(|run| run.step_name() == Some(name)).then(|| name.to_owned())
        });
        let names = names.both().filter(|names| names.base == names.head)?;
        Some(Self { name: names.base, count: sides.map(|side| side.median(step_count)) })
    }
}

fn step_count(run: &Run) -> i64 {
    run.devices().iter().map(|(_, device)| int(device, "step_count")).max().unwrap_or(0)
}

impl Launches {
    /// Why there is no unit to compare by, and the way out.
    fn other_work(&self) -> Sentence {
        let Sides { base, head } = self.totals();
        if base == 0 || head == 0 {
            return own("one side launched nothing that could be compared");
        }
        let kernels = match head.cmp(&base) {
            std::cmp::Ordering::Equal => "the same number of kernels, but other ones".to_owned(),
            _ => format!("{} kernels ({} against {})", counted(base, head), number::count(head), number::count(base)),
        };
        let share = number::percent(self.other_share(Sides { base: 1.0, head: 1.0 }));
        own(&format!(
            "the head launches {kernels}, kernels that take {share} of the kernel time are not launched as often on both \
             sides, and there are no steps to compare by"
        ))
    }

    /// What is not held against the other side name by name.
    fn only_counted(&self, units: Sides<f64>) -> Option<Sentence> {
        let share = number::percent(self.counted_share(units)?);
        Some(own(&format!(
            "kernels that take {share} of the kernel time are not told one by one: only their number is compared"
        )))
    }

    /// Kernels that one side alone launches.
    fn only(&self, side: Side) -> Option<Sentence> {
        let names = self.only_on(side);
        if names.is_empty() {
            return None;
        }
        let words = own(&format!("only the {} launches ", side.name()));
        let words = names.iter().take(NAMED).enumerate().fold(words, |words, (index, name)| {
            words.own(if index > 0 { ", " } else { "" }).code(&names::shorten(name))
        });
        let more = names.len().saturating_sub(NAMED);
        Some(if more > 0 { words.own(&format!(" and {}", many(more, "other kernel"))) } else { words })
    }

    /// Which kernels replaced which.
    fn replacements(&self) -> Option<Sentence> {
        if self.replaced.is_empty() {
            return None;
        }
        let words = self.replaced.iter().take(NAMED).enumerate().fold(own(""), |words, (index, pair)| {
            let words = words.own(if index > 0 { ", " } else { "" }).code(&names::shorten(&pair.new));
            words.own(" replaces ").code(&names::shorten(&pair.old))
        });
        let more = self.replaced.len().saturating_sub(NAMED);
        Some(if more > 0 { words.own(&format!(", and {more} more were replaced")) } else { words })
    }
}

/// Whether counts are to each other as the units are, give or take one step at an end.
fn is_ratio(count: Sides<i64>, units: Sides<i64>) -> bool {
    let (longer, shorter, times) = match units.head > units.base {
        true => (count.head, count.base, units.head),
        false => (count.base, count.head, units.base),
    };
    longer.abs_diff(shorter.saturating_mul(times)) < times.unsigned_abs()
}

fn differences(
    basis: &Basis,
    launches: &Launches,
    has_steps: bool,
    units: Sides<f64>,
    sides: Sides<Runs<'_>>,
) -> Vec<Sentence> {
    let mut found = Vec::new();
    let per = match basis {
        Basis::Step { .. } => " per step",
        Basis::Unit { .. } => " per unit of work",
        _ => "",
    };
    if let Basis::Unit { count } = basis {
        found.push(repetitions(*count));
    }
    found.extend(step_counts(sides).filter(|_| has_steps));
    let totals = launches.totals();
    found.extend(launches.replacements());
    if !launches.is_equal(units) && totals.iter().any(|count| *count > 0) {
        if !is_as_often(totals, units) {
            found.push(amount("kernels are launched", totals, units, per, number::count));
        }
        // What the other side has beyond the kernels that are told may be among them.
        let hides = incomplete::hides_kernels(sides);
        let tells =
            |side: Side| !hides.get(side) && !sides.get(side).runs.iter().any(|run| run.omits(EntityKind::Kernel));
        let pairs = [(Side::Head, Side::Base), (Side::Base, Side::Head)].into_iter();
        found.extend(pairs.filter(|(_, other)| tells(*other)).filter_map(|(side, _)| launches.only(side)));
    }
    type Print = fn(i64) -> String;
    let bytes = ("copy_bytes", "bytes are copied", number::bytes as Print);
    for (fact, words, print) in [bytes, ("communication_count", "collectives run", number::count)] {
        let sums = sides.map(|side| side.median(|run| run.sum(fact)));
        if !is_as_often(sums, units) {
            found.push(amount(words, sums, units, per, print));
        }
    }
    found
}

/// That the sides do the same work in other steps, which therefore are no unit.
fn parted_otherwise(count: Sides<i64>) -> Sentence {
    let [base, head] = [count.base, count.head].map(number::count);
    own(&format!(
        "the head marks {head} steps, the base {base}, and the work does not differ by as much: a step is not the same on both"
    ))
}

fn repetitions(count: Sides<i64>) -> Sentence {
    if count.base > 1 && count.head > 1 {
        let [base, head] = [count.base, count.head].map(number::count);
        return own(&format!("the head holds {head} repetitions of the work, the base {base}"));
    }
    let (longer, shorter, count) = match count.head > count.base {
        true => (Side::Head, Side::Base, count.head),
        false => (Side::Base, Side::Head, count.base),
    };
    let times = if count == 2 { "twice".to_owned() } else { format!("{} times", number::count(count)) };
    own(&format!("the {} does the {}'s work {times}", longer.name(), shorter.name()))
}

/// How many steps each side did, where that is not one number.
fn step_counts(sides: Sides<Runs<'_>>) -> Option<Sentence> {
    // Those of warm-up, too: how many these are differs from run to run.
    let all = |run: &Run| run.devices().iter().map(|(_, device)| rounds::all_step_count(device)).max();
    let Sides { base, head } = sides.map(|side| side.measure(all)).both()?;
    let is_one_number = base == head && base.low == base.high;
    (!is_one_number).then(|| own(&format!("the head did {} steps, the base {}", span(head), span(base))))
}

/// `11 % fewer kernels are launched: 3,587 against 4,010`.
fn amount(words: &str, sums: Sides<i64>, units: Sides<f64>, per: &str, print: impl Fn(i64) -> String) -> Sentence {
    let Sides { base, head } = sums.zip(units).map(|(sum, units)| sum as f64 / units);
    let share = if base > 0.0 {
        // As long as anything is left, not all of it is gone.
        match (base - head).abs() / base {
            share if head > 0.0 && (0.9995..1.0).contains(&share) => ">99.9 % ".to_owned(),
            share => format!("{} ", number::percent(share)),
        }
    } else {
        String::new()
    };
    let way = match head.total_cmp(&base) {
        std::cmp::Ordering::Greater => "more",
        std::cmp::Ordering::Less => "fewer",
        std::cmp::Ordering::Equal => return own(&format!("as many {words}{per}, but other ones")),
    };
    let [head, base] = [head, base].map(|amount| match amount.fract() > 0.005 && amount < MOST_PARTED {
        true => format!("{amount:.2}"),
        false => print(amount as i64),
    });
    own(&format!("{share}{way} {words}{per}: {head} against {base}"))
}

fn notes(sides: Sides<Runs<'_>>, terms: Terms) -> Vec<Sentence> {
    let uneven = [Side::Base, Side::Head].into_iter().filter(|side| launches::is_uneven(*sides.get(*side)));
    let mut notes: Vec<Sentence> =
        uneven.map(|side| own(&format!("the runs of the {} did not all do the same work", side.name()))).collect();
    let unusable = |side: &Side| sides.get(*side).runs.iter().any(|run| run.facts.unusable_work().is_some());
    for side in [Side::Base, Side::Head].into_iter().filter(unusable) {
        notes.push(own(&format!("work of the GPU that makes no sense was left out of the {}", side.name())));
    }
    notes.extend(alike::unnamed(sides));
    if terms.same_work {
        notes.push(own("that both sides did the same work is what the caller says"));
    }
    let frameworks = sides.map(|side| Some(side.first()?.entity()?.text("framework")?.to_owned()));
    if let Some(Sides { base, head }) = frameworks.both().filter(|names| names.base != names.head) {
        notes.push(own(&format!("the base looks like {base}, the head like {head}")));
    }
    if let Some(Sides { base, head }) = sides.map(|side| side.measure(clock)).both()
        && base.median.abs_diff(head.median) as f64 > SAME_CLOCK_SHARE * base.median as f64
    {
        let words = format!("the GPU ran at {} MHz in the base, at {} MHz in the head", base.median, head.median);
        notes.push(own(&words));
    }
    notes
}

/// The clock of the slowest device, in MHz.
fn clock(run: &Run) -> Option<i64> {
    let devices = run.devices();
    let clocks = devices.iter().filter_map(|(_, device)| device.number("sampled_clock_mean_mhz"));
    clocks.reduce(f64::min).map(|mhz| mhz.round() as i64)
}

/// The part of the base's time in kernels of both sides whose threads changed in number, when it is large.
fn resized_share(sides: Sides<Runs<'_>>) -> Option<f64> {
    let Sides { base, head } = sides.map(|side| side.first().map(threads)).both()?;
    let mut all = 0.0;
    let mut changed = 0.0;
    for (name, (before, time_ns)) in &base {
        let Some((after, _)) = head.get(name) else { continue };
        all += time_ns;
        if (before - after).abs() > SAME_SHARE * before.max(*after) {
            changed += time_ns;
        }
    }
    let share = if all > 0.0 { changed / all } else { 0.0 };
    (share >= LEAST_RESIZED_SHARE).then_some(share)
}

/// Threads of a launch and time, by kernel; where one ran on several devices, those of the device where it took longest.
fn threads(run: &Run) -> BTreeMap<String, (f64, f64)> {
    let mut threads: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (_, kernel) in run.facts.of_kind(EntityKind::Kernel) {
        let (blocks, size) = (int(kernel, "grid_block_count"), int(kernel, "block_thread_count"));
        let time_ns = int(kernel, "sum_ns") as f64;
        if blocks > 0 && size > 0 && threads.get(name_of(kernel)).is_none_or(|(_, known)| *known < time_ns) {
            threads.insert(name_of(kernel).to_owned(), (blocks as f64 * size as f64, time_ns));
        }
    }
    threads
}
