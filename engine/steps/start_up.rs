//! Where a program that marks no steps has begun its work: up to there it loads, warms up and runs everything for the first time.

use foldhash::HashMap;

use super::{Launches, Marks, ranges, trials};
use crate::ledger::{DeviceOps, OpKind};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Timeline};

/// A kernel with fewer launches repeats nothing.
const LEAST_LAUNCH_COUNT: u32 = 3;
/// The kernels that repeat hold at least this share of the compute time, and this share of it comes after the start-up.
const LEAST_SHARE: f64 = 0.5;
/// The longest of them that hold this share together are what the program does.
const MAIN_SHARE: f64 = 0.8;
/// A start-up that is a smaller part of the window is none.
const LEAST_WINDOW_SHARE: f64 = 0.02;

/// A device that computes for this share of the time before what repeats is at work already: not all of a pass repeats within it.
const BUSY_SHARE: f64 = 0.25;

/// What counts as one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Same {
    /// The name and the launch geometry.
    Shape,
    /// The name without its template: where the amount of work varies, so does the geometry.
    Name,
}

/// The launches of one kernel.
#[derive(Debug, Clone, Copy)]
struct Launched {
    count: u32,
    sum_ns: i64,
    first: i64,
    /// The call that asked for the last of them.
    last_call: Option<u32>,
}

impl Launched {
    /// What one launch of a graph runs again and again, as the layers of a model, comes once with it.
    fn merge(&mut self, other: Self) {
        let is_one_pass = self.last_call.is_some() && self.last_call == other.last_call;
        self.count += if is_one_pass { 0 } else { other.count };
        self.last_call = other.last_call;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.first = self.first.min(other.first);
    }
}

/// The launches of each kernel with each launch geometry, by the index of what was launched, and of all graphs at last.
fn launched(timeline: &Timeline, device: &DeviceOps) -> Vec<Option<Launched>> {
    let shapes = &timeline.kernels.shapes;
    let mut launched: Vec<Option<Launched>> = vec![None; shapes.len() + 1];
    for op in device.in_window().filter(|op| op.kind.is_compute()) {
        let shape = match op.kind {
            OpKind::Graph => None,
            _ => timeline.kernels.shape.get(op.index as usize).map(|shape| *shape as usize),
        };
        let sum_ns = op.interval().clip(device.window).len_ns();
        let own = Launched { count: 1, sum_ns, first: op.start, last_call: op.call(timeline) };
        match &mut launched[shape.map_or(shapes.len(), |shape| shape.min(shapes.len()))] {
            Some(known) => known.merge(own),
            none => *none = Some(own),
        }
    }
    launched
}

/// From the begin of the window to where the work of the program has begun: where a range comes a second time, and far faster;
/// else where each of the kernels that are most of the work, and that repeat, has run. `None` where that is at once, or where
/// most of the work has passed by then, or where the device is at work already. `launches` are those of the device in its window, if it has any.
pub fn start_up(
    timeline: &Timeline,
    marks: &Marks,
    device: &DeviceOps,
    launches: Option<&Launches>,
) -> Option<Interval> {
    let window = device.window;
    let is_inside = |second: &i64| window.start < *second && *second < window.end;
    let second = launches.and_then(|launches| ranges::second_run(marks, launches));
    if let Some(second) = second.filter(is_inside) {
        return Some(Interval::new(window.start, second));
    }
    let launched = launched(timeline, device);
    let of = |same: Same| by_kernels(timeline, device, &launched, same);
    let begun = match of(Same::Shape) {
        Begun::NotRepeating => of(Same::Name),
        begun => begun,
    };
    let begun = match begun {
        Begun::After(part) if !is_busy(device, part) => Some(part),
        _ => None,
    };
    with_trials(timeline, device, begun).or(begun)
}

/// A start-up as long as libraries try kernels, where most of the work comes after that. However busy the device is, the work has
/// not begun.
fn with_trials(timeline: &Timeline, device: &DeviceOps, begun: Option<Interval>) -> Option<Interval> {
    let end = trials::end(timeline, device)?.max(begun.map_or(i64::MIN, |part| part.end));
    let start_up = Interval::new(device.window.start, end);
    let rest = Interval::new(end, device.window.end);
    let compute = |part: Interval| -> i64 {
        device.in_window().filter(|op| op.kind.is_compute()).map(|op| op.interval().overlap_ns(part)).sum()
    };
    let is_long = start_up.len_ns() as f64 >= LEAST_WINDOW_SHARE * device.window.len_ns() as f64;
    (is_long && compute(rest) as f64 >= LEAST_SHARE * compute(device.window) as f64).then_some(start_up)
}

/// Whether the device computes for a good part of an interval, as in work and not while a program begins.
fn is_busy(device: &DeviceOps, part: Interval) -> bool {
    let compute = device.in_window().filter(|op| op.kind.is_compute()).map(|op| op.interval().overlap_ns(part));
    compute.sum::<i64>() as f64 >= BUSY_SHARE * part.len_ns() as f64
}

/// When the work that repeats has begun.
#[derive(Debug, Clone, Copy)]
enum Begun {
    /// Too little of the work repeats to tell.
    NotRepeating,
    AtOnce,
    After(Interval),
}

/// Up to where each of the kernels that are most of the work, and that repeat, has run.
fn by_kernels(timeline: &Timeline, device: &DeviceOps, launched: &[Option<Launched>], same: Same) -> Begun {
    let mut shapes: HashMap<(u32, u32), Launched> = HashMap::default();
    for (index, own) in launched.iter().enumerate() {
        let Some(own) = *own else { continue };
        let key = match (timeline.kernels.shapes.get(index), same) {
            (Some(shape), Same::Shape) => (shape.full_name, shape.geometry),
            (Some(shape), Same::Name) => (shape.name, NONE),
            (None, _) => (NONE, NONE),
        };
        shapes.entry(key).and_modify(|known| known.merge(own)).or_insert(own);
    }
    let whole_ns = shapes.values().fold(0_i64, |sum, launched| sum.saturating_add(launched.sum_ns));
    let mut main: Vec<Launched> =
        shapes.into_values().filter(|launched| launched.count >= LEAST_LAUNCH_COUNT).collect();
    main.sort_by_key(|launched| (-launched.sum_ns, launched.first));
    let repeating_ns: i64 = main.iter().map(|launched| launched.sum_ns).sum();
    let is_part = |part_ns: i64, share: f64, of_ns: i64| part_ns as f64 >= share * of_ns as f64;
    if whole_ns == 0 || !is_part(repeating_ns, LEAST_SHARE, whole_ns) {
        return Begun::NotRepeating;
    }
    let mut held_ns = 0;
    let mut begun = device.window.start;
    for launched in main {
        if is_part(held_ns, MAIN_SHARE, repeating_ns) {
            break;
        }
        held_ns += launched.sum_ns;
        begun = begun.max(launched.first);
    }
    let start_up = Interval::new(device.window.start, begun);
    let rest = Interval::new(begun, device.window.end);
    let after = device.in_window().filter(|op| op.kind.is_compute()).map(|op| op.interval().overlap_ns(rest));
    let is_long = is_part(start_up.len_ns(), LEAST_WINDOW_SHARE, device.window.len_ns());
    if is_long && is_part(after.sum(), LEAST_SHARE, whole_ns) { Begun::After(start_up) } else { Begun::AtOnce }
}
