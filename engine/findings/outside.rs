//! What of a recording lies outside of a device's work: how much, and what the program did there.

use super::Finding;
use super::rank::FASTER;
use crate::facts::{Entity, EntityId, FactValue, Facts};
use crate::ledger::Account;
use crate::text::number::{duration, instant, percent};
use crate::text::spans::Sentence;
use crate::timeline::api::{MemoryCall, memory_call};

/// Where the work covers this share of the recording, there is nothing to say.
const NEARLY_ALL: f64 = 0.9;
/// What takes at least this share of the time outside is named.
const NAMED_SHARE: f64 = 0.1;
/// From this share of the recording on, what lies outside comes before a first finding that gains less than `LITTLE` of the recording.
const MOST: f64 = 0.5;
const LITTLE: f64 = 0.05;

/// What lies outside of the work of a device.
struct Outside<'facts> {
    device: &'facts Entity,
    recorded_ns: i64,
    whole_ns: i64,
    before_ns: i64,
    after_ns: i64,
}

/// A sentence on it; `None` where the work covers nearly all, where a part of it was asked for, and where nothing tells.
pub(super) fn outside(facts: &Facts, device: EntityId) -> Option<Sentence> {
    let outside = Outside::of(facts, device)?;
    ((outside.whole_ns as f64) < NEARLY_ALL * outside.recorded_ns as f64).then(|| outside.told())
}

/// The same in short, where it is to be looked at before the first finding; `device` is that finding's.
pub(super) fn outside_first(facts: &Facts, device: EntityId, first: Option<&Finding>) -> Option<Sentence> {
    let outside = Outside::of(facts, device)?;
    let gain_ns = match first {
        Some(finding) if finding.looks_inside() => {
            FASTER * outside.device.int(Account::Compute.fact()).unwrap_or(0) as f64
        }
        Some(finding) => finding.gain.as_ref().map_or(0, |gain| gain.recoverable_ns) as f64,
        None => 0.0,
    };
    let recorded_ns = outside.recorded_ns as f64;
    let is_first = outside.ns() as f64 >= MOST * recorded_ns && gain_ns < LITTLE * recorded_ns;
    is_first.then(|| outside.in_short())
}

impl<'facts> Outside<'facts> {
    fn of(facts: &'facts Facts, device: EntityId) -> Option<Self> {
        let (run, device) = (facts.run()?, facts.get(device));
        let whole_ns = device.int("whole_window_ns").or_else(|| device.int("window_ns"))?;
        let (before_ns, after_ns) = (device.int("outside_before_ns")?, device.int("outside_after_ns")?);
        let is_narrowed = run.get("is_window_narrowed") == Some(&FactValue::Bool(true));
        let recorded_ns = run.int("duration_ns").filter(|ns| *ns > 0 && !is_narrowed)?;
        Some(Self { device, recorded_ns, whole_ns, before_ns, after_ns })
    }

    fn ns(&self) -> i64 {
        self.before_ns.saturating_add(self.after_ns)
    }

    /// How long the profiler holds the program up there.
    fn profiler_ns(&self) -> i64 {
        self.device.int("outside_profiler_ns").unwrap_or(0)
    }

    /// The time in something, by its fact, where that is a good part.
    fn named_ns(&self, fact: &str) -> Option<i64> {
        self.device.int(fact).filter(|ns| *ns as f64 >= NAMED_SHARE * (self.ns() - self.profiler_ns()) as f64)
    }

    /// A call and the time in it, by their facts.
    fn call(&self, name: &str, time: &str) -> Option<(&'facts str, i64)> {
        Some((self.device.text(name)?, self.named_ns(time)?))
    }

    fn function(&self) -> Option<(&'facts str, f64)> {
        Some((self.device.text("outside_function")?, self.device.number("outside_function_share")?))
    }

    fn told(&self) -> Sentence {
        let (recorded, before, after) = (duration(self.recorded_ns), duration(self.before_ns), duration(self.after_ns));
        let words = match (self.device.int("pause_ns"), self.device.int("pause_start_ns")) {
            (Some(pause_ns), Some(start_ns)) => format!(
                "What was recorded spans {recorded}: {before} before this, {after} after it; {} of that are one pause of the GPU from {}",
                duration(pause_ns),
                instant(start_ns)
            ),
            _ => format!(
                "What was recorded spans {recorded}: {before} before the GPU's first work, {after} after its last"
            ),
        };
        let mut words = Sentence::default().own(&words).own(".");
        let mut parts = Vec::new();
        if let Some(ns) = self.named_ns("outside_host_ns") {
            let words = Sentence::default().own(&format!("{} of host code", duration(ns)));
            parts.push(match self.function() {
                Some((function, share)) => {
                    words.own(&format!(" with {} of its CPU samples in ", percent(share))).code(function)
                }
                None => words,
            });
        }
        if self.profiler_ns() as f64 >= NAMED_SHARE * self.ns() as f64 {
            parts.push(Sentence::default().own(&format!("{} that the profiler takes", duration(self.profiler_ns()))));
        }
        let blocked = self.call("outside_blocked_call", "outside_blocked_call_ns");
        for (call, ns) in blocked.into_iter().chain(self.call("outside_call", "outside_call_ns")) {
            parts.push(Sentence::default().own(&format!("{} in ", duration(ns))).code(call));
        }
        if let Some((range, ns)) = self.call("outside_range", "outside_range_ns") {
            parts.push(Sentence::default().own(&format!("{} in the range ", duration(ns))).code(range));
        }
        for (index, part) in parts.iter().enumerate() {
            words = words.own(if index == 0 { " Of the launching thread there: " } else { ", " }).sentence(part);
        }
        if parts.is_empty() { words } else { words.own(".") }
    }

    /// What holds it, as far as the recording tells.
    fn in_short(&self) -> Sentence {
        let place = match self.device.int("pause_ns") {
            Some(pause_ns) => {
                format!("outside of the work judged here, {} in one pause of the GPU", duration(pause_ns))
            }
            None => "outside of the GPU's work".to_owned(),
        };
        let share = percent(self.ns() as f64 / self.recorded_ns as f64);
        let words = format!("{share} of the {} that were recorded lie {place}", duration(self.recorded_ns));
        let words = Sentence::default().own(&words);
        let host = self.named_ns("outside_host_ns");
        let blocked = self.call("outside_blocked_call", "outside_blocked_call_ns");
        let waits = blocked.is_some_and(|(_, ns)| host.is_none_or(|host| host < ns));
        let range = self.call("outside_range", "outside_range_ns");
        let call = self.call("outside_call", "outside_call_ns");
        // A range in which CUDA is set up holds no work of its own.
        let range = range.filter(|(_, ns)| call.is_none_or(|(_, in_call)| 2 * in_call <= *ns));
        let of_it = |words: Sentence, ns: i64, name: &str, what: &str| {
            words.own(&format!(", {} of it in {what}", duration(ns))).code(name)
        };
        let words = match (range, blocked.filter(|_| waits), host, call) {
            (Some((range, ns)), ..) => of_it(words, ns, range, "the range "),
            (_, Some((call, ns)), ..) => of_it(words, ns, call, ""),
            (_, _, Some(host), call) if call.is_none_or(|(_, ns)| ns <= host) => {
                let words = words.own(&format!(", {} of it in host code", duration(host)));
                match self.function() {
                    Some((function, share)) => {
                        words.own(&format!(" with {} of its CPU samples in ", percent(share))).code(function)
                    }
                    None => words,
                }
            }
            (.., Some((call, ns))) if memory_call(call) == MemoryCall::HostPin => {
                of_it(words, ns, call, "").own(", which locks pages of the host")
            }
            // That is start-up: nothing to look at first.
            (.., Some((call, ns))) => return of_it(words, ns, call, "").own(". "),
            _ if self.named_ns("outside_unknown_ns").is_some() => {
                return words.own("; what its launching thread does there was not recorded. ");
            }
            _ => return words.own(". "),
        };
        words.own(": look there first. ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;

    fn recorded() -> (Facts, EntityId) {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "", &[]);
        facts.get_mut(run).set("duration_ns", 10_000_000_000_i64);
        let device = facts.add(EntityKind::Device, "gpu0", &[run]);
        let own = facts.get_mut(device);
        own.set("window_ns", 1_000_000_000_i64);
        own.set("outside_before_ns", 6_000_000_000_i64);
        own.set("outside_after_ns", 3_000_000_000_i64);
        own.set("outside_call", "cudaMalloc");
        own.set("outside_call_ns", 900_000_000_i64);
        (facts, device)
    }

    #[test]
    fn what_lies_outside_is_told_with_what_took_it() {
        let (mut facts, device) = recorded();
        facts.get_mut(device).set("outside_host_ns", 7_200_000_000_i64);
        facts.get_mut(device).set("outside_function", "fill");
        facts.get_mut(device).set("outside_function_share", 0.5);
        let told = |facts: &Facts| outside(facts, device).map(|words| words.plain());
        assert_eq!(
            told(&facts).as_deref(),
            Some(
                "What was recorded spans 10 s: 6 s before the GPU's first work, 3 s after its last. Of the launching thread there: \
                 7.2 s of host code with 50 % of its CPU samples in fill, 900 ms in cudaMalloc."
            )
        );
        facts.get_mut(device).set("outside_call_ns", 899_000_000_i64);
        assert!(told(&facts).is_some_and(|words| words.ends_with("samples in fill.")));
        facts.get_mut(device).set("window_ns", 9_000_000_000_i64);
        assert_eq!(told(&facts), None);
    }

    #[test]
    fn it_comes_first_where_the_first_finding_gains_little_of_it() {
        let (mut facts, device) = recorded();
        let told = |facts: &Facts| outside_first(facts, device, None).map(|words| words.plain());
        let begin = "90 % of the 10 s that were recorded lie outside of the GPU's work, ";
        assert_eq!(told(&facts), Some(format!("{begin}900 ms of it in cudaMalloc. ")));
        facts.get_mut(device).set("outside_call", "cudaHostAlloc");
        assert_eq!(
            told(&facts),
            Some(format!("{begin}900 ms of it in cudaHostAlloc, which locks pages of the host: look there first. "))
        );
        facts.get_mut(device).set("outside_host_ns", 4_000_000_000_i64);
        assert_eq!(told(&facts), Some(format!("{begin}4 s of it in host code: look there first. ")));
        facts.get_mut(device).set("outside_function", "fill");
        facts.get_mut(device).set("outside_function_share", 0.4);
        assert_eq!(
            told(&facts),
            Some(format!("{begin}4 s of it in host code with 40 % of its CPU samples in fill: look there first. "))
        );
        facts.get_mut(device).set("outside_blocked_call", "getc");
        facts.get_mut(device).set("outside_blocked_call_ns", 4_100_000_000_i64);
        assert_eq!(told(&facts), Some(format!("{begin}4.1 s of it in getc: look there first. ")));
        facts.get_mut(device).set("outside_before_ns", 2_000_000_000_i64);
        facts.get_mut(device).set("outside_after_ns", 2_999_000_000_i64);
        assert_eq!(told(&facts), None);
    }
}
