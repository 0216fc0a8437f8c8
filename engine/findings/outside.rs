//! What of a recording lies outside of a device's work: how much, and what the program did there.

use crate::facts::{Entity, EntityId, FactValue, Facts};
use crate::text::number::{duration, percent};
use crate::text::spans::Sentence;

/// Where the work covers this share of the recording, there is nothing to say.
const NEARLY_ALL: f64 = 0.9;
/// A call that takes at least this share of the time outside is named.
const CALL_SHARE: f64 = 0.1;

/// A sentence on it; `None` where the work covers nearly all, where a part of it was asked for, and where nothing tells.
pub(super) fn outside(facts: &Facts, device: EntityId) -> Option<Sentence> {
    let (run, device) = (facts.run()?, facts.get(device));
    let whole_ns = device.int("whole_window_ns").or_else(|| device.int("window_ns"))?;
    let (recorded_ns, before_ns) = (run.int("duration_ns")?, device.int("outside_before_ns")?);
    let after_ns = device.int("outside_after_ns")?;
    let is_narrowed = run.get("is_window_narrowed") == Some(&FactValue::Bool(true));
    if is_narrowed || whole_ns as f64 >= NEARLY_ALL * recorded_ns as f64 {
        return None;
    }
    let (recorded, before, after) = (duration(recorded_ns), duration(before_ns), duration(after_ns));
    let words =
        format!("What was recorded spans {recorded}: {before} before the GPU's first work, {after} after its last");
    let words = Sentence::default().own(&words);
    let words = match (device.text("outside_function"), device.number("outside_function_share")) {
        (Some(function), Some(share)) => {
            words.own("; of the CPU samples there ").own(&percent(share)).own(" lie in ").code(function)
        }
        _ => words,
    };
    Some(match call(device, recorded_ns.saturating_sub(whole_ns)) {
        Some((call, ns)) => words.own("; ").code(call).own(" takes ").own(&duration(ns)).own("."),
        None => words.own("."),
    })
}

/// The call that takes a good part of the time outside.
fn call(device: &Entity, outside_ns: i64) -> Option<(&str, i64)> {
    let (call, ns) = (device.text("outside_call")?, device.int("outside_call_ns")?);
    (ns as f64 >= CALL_SHARE * outside_ns as f64).then_some((call, ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;

    #[test]
    fn what_lies_outside_is_told_with_what_took_it() {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "", &[]);
        facts.get_mut(run).set("duration_ns", 10_000_000_000_i64);
        let device = facts.add(EntityKind::Device, "gpu0", &[run]);
        let own = facts.get_mut(device);
        own.set("window_ns", 1_000_000_000_i64);
        own.set("outside_before_ns", 6_000_000_000_i64);
        own.set("outside_after_ns", 3_000_000_000_i64);
        own.set("outside_function", "fill");
        own.set("outside_function_share", 0.5);
        own.set("outside_call", "cudaMalloc");
        own.set("outside_call_ns", 900_000_000_i64);
        let told = |facts: &Facts| outside(facts, device).map(|words| words.plain());
        assert_eq!(
            told(&facts).as_deref(),
            Some(
                "What was recorded spans 10 s: 6 s before the GPU's first work, 3 s after its last; of the CPU samples there 50 % lie in \
                 fill; cudaMalloc takes 900 ms."
            )
        );
        facts.get_mut(device).set("outside_call_ns", 899_000_000_i64);
        assert!(told(&facts).is_some_and(|words| words.ends_with("lie in fill.")));
        facts.get_mut(device).set("window_ns", 9_000_000_000_i64);
        assert_eq!(told(&facts), None);
    }
}
