//! Steps told from a sequence of launches that repeats, where no range tells them.
//!
//! The launches of a device are a text whose letters are kernels and copies. A letter that comes back after about the same
//! number of letters again and again marks the rounds of a loop. Loops lie in loops: the letters of an inner one come back
//! evenly too, but for the places where a round of the outer one begins. So the outermost loop is taken whose rounds the
//! inner one does not pass over unnoticed. The distances between letters are those of the periodicity detector of
//! Freitag, Corbalán and Labarta (IPDPS 2001), taken for each letter instead of for all at once, so that the cost is linear
//! and rounds need not be of equal length. A kernel is a letter by its name; where these tell no loop, as of a network whose kernels
//! all come in each of its layers, by its grid and block as well.

use foldhash::{HashMap, HashSet};

use super::launches::{Launch, Launches};
use super::step::{Certainty, MIN_STEP_COUNT, Step, Steps, ToldBy, WHOLE_WORK_SHARE, median};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Timeline};

/// Rounds are alike when their numbers of letters differ by no more than this share.
const ALIKE_SHARE: f64 = 0.1;
/// Rounds differ in structure when their numbers of letters differ by more than this share.
const STRUCTURE_SHARE: f64 = 0.01;
/// One round that is not alike ends a loop, unless this many alike ones lie on each side of it, and as many as would fit into it.
const ODD_COST: i64 = 5;
/// Of a loop, at most one round in so many is not alike.
const ROUNDS_AN_ODD: usize = 50;
/// A loop that holds a smaller share of the work is not what the program does.
const WORK_SHARE: f64 = 0.5;
/// Beside so many rounds what is launched once, before them, is no part of what the program repeats, however long it runs.
const ROUNDS_BESIDE_ONCE: usize = 50;
/// The share of rounds with the same launches from which a loop may be a step, and from which it surely is a loop.
const SAME_SHARES: (f64, f64) = (0.5, 0.9);
/// Fewer rounds are no sure sign.
const SURE_ROUND_COUNT: usize = 5;
/// So many rounds are no layers of a model.
const MANY_ROUND_COUNT: usize = 200;
/// Rounds of a sweep over sizes: fewer than two thirds have a work within this factor of the median, and the largest has so many times
/// the smallest.
const SWEEP_RATIO: f64 = 1.25;
const SWEEP_RANGE: i64 = 8;
/// Launches of one kernel take equally long within this share, and take turns at up to so many lengths.
const SAME_LENGTH_SHARE: f64 = 0.05;
const MAX_CYCLE: usize = 16;
/// What kernels of matrix products, convolutions and attention are called.
const MATRIX_WORDS: [&str; 9] = ["gemm", "nvjet", "cutlass", "cudnn", "conv", "attention", "flash", "fmha", "softmax"];
/// What kernels are called that a network runs once in a step: its optimizer, its loss, the choice of a token.
const STEP_WORDS: [&str; 8] =
    ["adam", "sgd", "multi_tensor_apply", "optimizer", "cross_entropy", "nll_loss", "log_softmax", "argmax"];
/// Rounds of a loop, at least: one more than there must be steps, since the last one has no end.
const MIN_ROUND_COUNT: usize = MIN_STEP_COUNT + 1;

/// A letter that comes back evenly, from one of its places to another.
#[derive(Debug, Clone, Copy)]
struct Loop {
    symbol: u32,
    /// The places, as indices into those of the symbol.
    first: usize,
    last: usize,
    /// The first of them.
    first_place: u32,
    /// How many rounds differ in structure from the usual one.
    odd_count: usize,
    /// The share of rounds that launch the same as the commonest.
    same_share: f64,
    /// The share of all work from the first place to the last.
    work_share: f64,
    /// How long the device paused before its operation, together.
    pause_ns: i64,
}

impl Loop {
    const fn round_count(&self) -> usize {
        self.last - self.first
    }

    /// The same for loops of which one takes the place of another.
    const fn kind(&self) -> (usize, usize, u64) {
        (self.round_count(), self.odd_count, self.same_share.to_bits())
    }
}

pub(super) fn find(timeline: &Timeline, launches: &Launches) -> Option<Steps> {
    [Letters::Names, Letters::Shapes].into_iter().find_map(|letters| find_by(timeline, launches, letters))
}

fn find_by(timeline: &Timeline, launches: &Launches, letters: Letters) -> Option<Steps> {
    let text = Text::new(launches, letters);
    let mut loops: Vec<Loop> = (0..text.names.len()).filter_map(|symbol| text.find_loop(launches, symbol)).collect();
    loops.sort_by_key(|found| (found.round_count(), std::cmp::Reverse(found.pause_ns), found.symbol));
    let step = outermost(&loops)?;
    let places = &text.places[step.symbol as usize][step.first..=step.last];
    let cycle = cycle(launches, places);
    let places = cycle.as_deref().unwrap_or(places);
    let steps = Steps::of_hosts(launches, ToldBy::Launches, hosts(launches, places));
    if is_sweep(launches, &steps) {
        return None;
    }
    let is_sure = step.same_share >= SAME_SHARES.1
        && step.round_count() >= SURE_ROUND_COUNT
        && (step.round_count() >= MANY_ROUND_COUNT || !text.may_be_layers(timeline, launches, &step));
    let name = text.names.get(step.symbol as usize).copied().unwrap_or(NONE);
    (steps.len() >= MIN_STEP_COUNT).then(|| Steps {
        name: timeline.names.get(name).to_owned(),
        told_by: ToldBy::Launches,
        certainty: if is_sure { Certainty::Medium } else { Certainty::Low },
        thread: NONE,
        process: launches.process,
        steps,
        work_share: step.work_share,
        warm_from: None,
    })
}

/// Of rounds of one launch each: every so-manieth, where they take turns at so many lengths. A round of these is one of the program.
fn cycle(launches: &Launches, places: &[u32]) -> Option<Vec<u32>> {
    if places.windows(2).any(|pair| pair[1] - pair[0] != 1) {
        return None;
    }
    let lengths: Vec<i64> = places.iter().map(|place| launches.all()[*place as usize].length()).collect();
    let is_near = |one: i64, other: i64| one.abs_diff(other) as f64 <= SAME_LENGTH_SHARE * one.max(other) as f64;
    let near_share = |distance: usize| {
        let pairs = lengths.iter().zip(lengths.iter().skip(distance));
        pairs.filter(|(one, other)| is_near(**one, **other)).count() as f64 / (lengths.len() - distance) as f64
    };
    let most = (places.len() / MIN_ROUND_COUNT).min(MAX_CYCLE);
    let period = (1..=most).find(|distance| near_share(*distance) >= SAME_SHARES.1).filter(|period| *period > 1)?;
    let begun_at = |offset: usize| places.iter().skip(offset).step_by(period).copied().collect::<Vec<u32>>();
    // It begins where the device pauses most; of as much, with the first.
    let best =
        (0..period).max_by_key(|offset| (pause_ns(launches.all(), &begun_at(*offset)), std::cmp::Reverse(*offset)))?;
    Some(begun_at(best))
}

/// Whether the rounds are one thing done in many sizes, and no repetitions: they launch the same, and their work differs widely.
pub(super) fn is_sweep(launches: &Launches, steps: &[Step]) -> bool {
    let work: Vec<i64> = steps.iter().map(|step| launches.work_ns(step.host)).collect();
    let usual = median(work.iter().copied()) as f64;
    let is_usual = |ns: &&i64| (usual / SWEEP_RATIO..=usual * SWEEP_RATIO).contains(&(**ns as f64));
    let usual_count = work.iter().filter(is_usual).count();
    let (least, most) = (work.iter().min().copied().unwrap_or(0), work.iter().max().copied().unwrap_or(0));
    steps.len() < MANY_ROUND_COUNT && 3 * usual_count < 2 * steps.len() && most / SWEEP_RANGE >= least
}

/// When the host launched each round, from its first launch to its last. The last one is as long as the others, if so much is there;
/// else all that is there, where that holds nearly the work of another: the program may leave out what comes between two rounds, and
/// a round may be told to begin amid what the program calls one.
fn hosts(launches: &Launches, places: &[u32]) -> Vec<Interval> {
    let all = launches.all();
    let usual = median(places.windows(2).map(|pair| i64::from(pair[1]) - i64::from(pair[0]))) as usize;
    let at = |place: &u32| all[*place as usize].at;
    let last_of = |next: &u32| all.get((*next as usize).saturating_sub(1)).map_or(0, |launch| launch.at + 1);
    let mut hosts: Vec<Interval> =
        places.windows(2).map(|pair| Interval::new(at(&pair[0]), last_of(&pair[1]).min(at(&pair[1])))).collect();
    if let Some(last) = places.last() {
        let end = all.get(*last as usize + usual.max(1) - 1).or_else(|| last_letter(all, places));
        let end = end.or_else(|| all.last().filter(|_| is_nearly_one(launches, places)));
        hosts.extend(end.map(|end| Interval::new(at(last), end.at + 1)));
    }
    hosts
}

/// Whether what was launched from the last of these places on holds nearly the work of a round.
fn is_nearly_one(launches: &Launches, places: &[u32]) -> bool {
    let work = |from: u32, to: usize| launches.work_between(from as usize, to);
    let usual_ns = median(places.windows(2).map(|pair| work(pair[0], pair[1] as usize)));
    let own_ns = places.last().map_or(0, |last| work(*last, launches.all().len()));
    usual_ns > 0 && own_ns as f64 >= WHOLE_WORK_SHARE * usual_ns as f64
}

/// The last launch of the last round that counts in a sequence, where as many do as in others: what counts in none may come after it in
/// all but that.
fn last_letter<'all>(all: &'all [Launch], places: &[u32]) -> Option<&'all Launch> {
    let letters =
        |from: u32, to: usize| all.get(from as usize..to).unwrap_or_default().iter().filter(|one| one.symbol != NONE);
    let usual = median(places.windows(2).map(|pair| letters(pair[0], pair[1] as usize).count() as i64)) as usize;
    letters(*places.last()?, all.len()).nth(usual.checked_sub(1)?)
}

/// The outermost loop that no inner one passes over unnoticed. `loops` come by the number of rounds.
fn outermost(loops: &[Loop]) -> Option<Loop> {
    let least = SAME_SHARES.0;
    // Of loops that are alike, one: each is held against all others, and there may be as many as kernels.
    let mut kinds = HashSet::default();
    let kinds: Vec<&Loop> = loops.iter().filter(|found| kinds.insert(found.kind())).collect();
    let is_noticed = |outer: &Loop| {
        let inner = kinds.iter().filter(|inner| {
            inner.round_count() >= 2 * outer.round_count() && inner.same_share >= least.max(0.97 * outer.same_share)
        });
        inner.into_iter().all(|inner| 2 * inner.odd_count >= outer.round_count())
    };
    let mut even = kinds.iter().filter(|found| found.same_share >= least);
    let outer = even.find(|outer| is_noticed(outer))?;
    // A round begins with what comes first, unless the device pauses elsewhere.
    let is_same = |other: &&Loop| other.round_count().abs_diff(outer.round_count()) <= 1 && other.same_share >= least;
    let first = loops.iter().filter(is_same).min_by_key(|other| other.first_place)?;
    let paused = loops.iter().filter(is_same).max_by_key(|other| other.pause_ns)?;
    Some(if paused.pause_ns > first.pause_ns.saturating_mul(2) { *paused } else { *first })
}

/// What tells one kernel from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letters {
    Names,
    /// With their grids and blocks.
    Shapes,
}

impl Letters {
    /// The letter of each launch, [`NONE`] where it does not count, and the name of each letter.
    fn of(self, launches: &Launches) -> (Vec<u32>, Vec<u32>) {
        let symbols = launches.all().iter().map(|launch| launch.symbol);
        if self == Self::Names {
            return (symbols.collect(), launches.names.clone());
        }
        let (mut known, mut names) = (HashMap::default(), Vec::new());
        let letter = |(symbol, launch): (u32, &Launch)| {
            if symbol == NONE {
                return NONE;
            }
            *known.entry((symbol, launch.shape)).or_insert_with(|| {
                names.push(launches.names.get(symbol as usize).copied().unwrap_or(NONE));
                names.len() as u32 - 1
            })
        };
        (symbols.zip(launches.all()).map(letter).collect(), names)
    }
}

/// The launches as a text.
struct Text {
    /// The name of each symbol, or [`NONE`].
    names: Vec<u32>,
    /// The places of each symbol.
    places: Vec<Vec<u32>>,
    /// A number that depends on what was launched before each place, and not on its order.
    sums: Vec<u64>,
    /// How many letters come before each place: what counts in no sequence makes no round longer.
    letter_counts: Vec<u32>,
    /// How many kernels and graphs were launched before each place.
    kernel_counts: Vec<u32>,
    /// The place of the first of them; before it all is set-up.
    first_kernel: usize,
    /// What counts and is launched once: its places, in order, with how long it runs.
    once: Vec<(u32, i64)>,
}

impl Text {
    fn new(launches: &Launches, letters: Letters) -> Self {
        let (letters, names) = letters.of(launches);
        let mut counts = vec![0_usize; names.len()];
        for letter in letters.iter().filter(|letter| **letter != NONE) {
            counts[*letter as usize] += 1;
        }
        let mut places: Vec<Vec<u32>> = counts.into_iter().map(Vec::with_capacity).collect();
        let mut sums = Vec::with_capacity(launches.all().len() + 1);
        let mut letter_counts = Vec::with_capacity(launches.all().len() + 1);
        let mut kernel_counts = Vec::with_capacity(launches.all().len() + 1);
        let (mut sum, mut letter_count, mut kernel_count) = (0_u64, 0, 0);
        for (place, (launch, letter)) in (0_u32..).zip(launches.all().iter().zip(letters)) {
            sums.push(sum);
            letter_counts.push(letter_count);
            kernel_counts.push(kernel_count);
            kernel_count += u32::from(launch.is_kernel);
            if letter != NONE {
                places[letter as usize].push(place);
                letter_count += 1;
                sum = sum.wrapping_add(scattered(u64::from(letter)));
            }
        }
        let all = launches.all();
        let once = places.iter().filter(|places| places.len() == 1).flatten();
        let mut once: Vec<(u32, i64)> = once.map(|place| (*place, all[*place as usize].length())).collect();
        once.sort_unstable();
        // The sums up to each: every symbol asks for that.
        let mut sum_ns = 0_i64;
        for (_, ns) in &mut once {
            sum_ns = sum_ns.saturating_add(*ns);
            *ns = sum_ns;
        }
        let first_kernel = kernel_counts.partition_point(|count| *count == 0).saturating_sub(1);
        Self { names, places, sums, letter_counts, kernel_counts, first_kernel, once }
    }

    fn find_loop(&self, launches: &Launches, symbol: usize) -> Option<Loop> {
        let places = &self.places[symbol];
        if places.len() < MIN_ROUND_COUNT {
            return None;
        }
        let letters_before = |place: &u32| i64::from(self.letter_counts[*place as usize]);
        let gaps: Vec<i64> =
            places.windows(2).map(|pair| letters_before(&pair[1]) - letters_before(&pair[0])).collect();
        let usual = median(gaps.iter().copied());
        let most = most_apart(usual, ALIKE_SHARE);
        let is_alike = |gap: i64| gap.abs_diff(usual) <= most;
        let (first, last) = longest_run(&gaps, usual, is_alike)?;
        let alike_count = gaps[first..last].iter().filter(|gap| is_alike(**gap)).count();
        let odd_count = last - first - alike_count;
        let (from, to) = (places[first] as usize, places[last] as usize);
        let kernel_count = self.kernel_counts[to] - self.kernel_counts[from];
        let once_ns = if last - first >= ROUNDS_BESIDE_ONCE { self.once_before_ns(places[first]) } else { 0 };
        // What is copied before the first kernel is set-up, as the weights of a model are.
        let set_up_ns = launches.work_between(0, self.first_kernel.min(from));
        let all_ns = launches.all_work_ns() - once_ns.max(set_up_ns);
        let work_share = launches.work_between(from, to) as f64 / all_ns.max(1) as f64;
        if alike_count < MIN_STEP_COUNT
            || odd_count * ROUNDS_AN_ODD > alike_count
            || work_share < WORK_SHARE
            || (kernel_count as usize) < last - first
        {
            return None;
        }
        let most = most_apart(usual, STRUCTURE_SHARE);
        let odd_count = gaps[first..last].iter().filter(|gap| gap.abs_diff(usual) > most).count();
        let same_share = self.same_share(&places[first..=last]);
        let pause_ns = pause_ns(launches.all(), &places[first..=last]);
        let first_place = places[first];
        Some(Loop { symbol: symbol as u32, first, last, first_place, odd_count, same_share, work_share, pause_ns })
    }

    /// How long what is launched once ran that comes before a place.
    fn once_before_ns(&self, place: u32) -> i64 {
        let before = self.once.partition_point(|(once, _)| *once < place);
        before.checked_sub(1).map_or(0, |last| self.once[last].1)
    }

    /// Whether the rounds may be layers of a neural network, and no steps of it: nothing in them runs once in a step.
    fn may_be_layers(&self, timeline: &Timeline, launches: &Launches, found: &Loop) -> bool {
        let place = |index: usize| self.places[found.symbol as usize][index];
        let (from, to) = (place(found.first), place(found.last));
        let names = self.names.iter().map(|name| timeline.names.get(*name).to_ascii_lowercase());
        let (mut is_network, mut has_marks) = (false, false);
        for (name, places) in names.zip(&self.places) {
            let inside = places.partition_point(|place| *place < to) - places.partition_point(|place| *place < from);
            is_network |= inside > 0 && MATRIX_WORDS.iter().any(|word| name.contains(word));
            // A graph has no name.
            has_marks |= inside >= found.round_count()
                && (STEP_WORDS.iter().any(|word| name.contains(word)) || self.is_graph(launches, places));
        }
        is_network && !has_marks
    }

    /// Whether what lies at some places are graphs.
    fn is_graph(&self, launches: &Launches, places: &[u32]) -> bool {
        let first = places.first().and_then(|place| launches.all().get(*place as usize));
        first.is_some_and(|launch| launch.is_kernel && launches.names.get(launch.symbol as usize) == Some(&NONE))
    }

    /// The share of the rounds between these places that launch what most of them do.
    fn same_share(&self, places: &[u32]) -> f64 {
        let mut counts: HashMap<u64, usize> = HashMap::default();
        for pair in places.windows(2) {
            *counts.entry(self.sums[pair[1] as usize].wrapping_sub(self.sums[pair[0] as usize])).or_default() += 1;
        }
        counts.values().copied().max().unwrap_or(0) as f64 / (places.len() - 1).max(1) as f64
    }
}

/// A number that looks like chance (the finalizer of splitmix64).
const fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// How far a number of letters may be from the usual one to differ by no more than a share: each of many is held against that.
fn most_apart(usual: i64, share: f64) -> u64 {
    let usual = usual.max(1) as f64;
    let about = (share * usual) as u64 + 1;
    (0..=about).rev().find(|apart| *apart as f64 / usual <= share).unwrap_or(0)
}

/// The stretch of gaps that are alike, with few others among them: that with the largest sum of 1 for one that is and a cost
/// for one that is not: another part of the program may lie in it, as long as many rounds. From the first gap to after the last.
fn longest_run(gaps: &[i64], usual: i64, is_alike: impl Fn(i64) -> bool) -> Option<(usize, usize)> {
    let (mut best, mut sum, mut begin) = ((0, 0, 0), 0_i64, 0);
    for (index, gap) in gaps.iter().enumerate() {
        if sum <= 0 {
            (sum, begin) = (0, index);
        }
        sum += if is_alike(*gap) { 1 } else { -ODD_COST.max(*gap / usual.max(1)) };
        if sum > best.0 {
            best = (sum, begin, index + 1);
        }
    }
    (best.0 > 0).then_some((best.1, best.2))
}

/// How long the device paused before the operations at some places.
fn pause_ns(all: &[Launch], places: &[u32]) -> i64 {
    let pause = |place: &u32| {
        let index = *place as usize;
        let before = index.checked_sub(1).and_then(|before| all.get(before));
        before.zip(all.get(index)).map_or(0, |(before, own)| (own.start - before.end()).max(0))
    };
    places.iter().map(pause).fold(0, i64::saturating_add)
}
