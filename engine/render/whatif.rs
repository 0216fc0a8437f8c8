//! What steps would take after changes, as a table and as JSON.

use serde_json::{Value, json};

use crate::facts::extract::{Predicted, WhatIf};
use crate::replay::{Change, Gain, NoReplay};
use crate::text::{escape, number};

/// The version of the JSON.
const SCHEMA: &str = "coldspot-whatif-1";
/// A change that could gain less of a step is only named.
const LEAST_SHARE: f64 = 0.001;

/// As text: of each GPU the step as recorded, and what is left of it after each change; after all of them where they are
/// combined.
pub fn whatif_text(answers: &[WhatIf], is_combined: bool) -> String {
    let mut out = String::new();
    for answer in answers {
        out.push_str(&format!("GPU {}\n", answer.device_number));
        match &answer.outcome {
            Ok(predicted) => table(&mut out, predicted, is_combined),
            Err(none) => out.push_str(&format!("  {}\n", why_not(*none))),
        }
        out.push('\n');
    }
    if answers.is_empty() {
        out.push_str("The report holds no GPU work.\n");
    }
    out
}

fn table(out: &mut String, predicted: &Predicted, is_combined: bool) {
    out.push_str(&format!(
        "  {:<24} {:>12} {:>9} {:>9}   from {} steps\n",
        "change", "step", "about", "at most", predicted.step_count
    ));
    for (name, ns) in [("as recorded", predicted.recorded_step_ns), ("without the profiler", predicted.step_ns)] {
        out.push_str(&format!("  {:<24} {:>12}\n", name, number::duration(ns)));
    }
    let range = [("  at least", predicted.least_step_ns), ("  at most", predicted.most_step_ns)];
    for (name, ns) in range.into_iter().filter(|(_, ns)| *ns != predicted.step_ns) {
        out.push_str(&format!("  {:<24} {:>12}\n", name, number::duration(ns)));
    }
    let mut row = |name: &str, gain: Gain| {
        let share = |ns: i64| format!("-{}", number::percent(ns as f64 / predicted.step_ns.max(1) as f64));
        out.push_str(&format!(
            "  {:<24} {:>12} {:>9} {:>9}\n",
            name,
            number::duration(predicted.step_ns - gain.expected_ns),
            share(gain.expected_ns),
            share(gain.ceiling_ns)
        ));
    };
    let is_shown = |gain: &Gain| is_combined || gain.ceiling_ns as f64 >= LEAST_SHARE * predicted.step_ns as f64;
    let (shown, rest): (Vec<_>, Vec<_>) = predicted.each.iter().copied().partition(|(_, gain)| is_shown(gain));
    for (change, gain) in shown {
        row(change.id(), gain);
    }
    if is_combined && predicted.each.len() > 1 {
        row("together", predicted.together);
    }
    if !rest.is_empty() {
        let rest: Vec<&str> = rest.iter().map(|(change, _)| change.id()).collect();
        out.push_str(&format!("  Nothing from: {}\n", rest.join(", ")));
    }
    for assumption in &predicted.assumptions {
        out.push_str(&format!("  Assumed: {}.\n", assumption.says()));
    }
}

const fn why_not(none: NoReplay) -> &'static str {
    match none {
        NoReplay::Incomplete => "A part of what ran is missing from the recording: nothing can be played again.",
        NoReplay::NoCalls => "The recording lacks the calls that asked for the work: nothing can be played again.",
        NoReplay::NoSteps => "Nothing repeats that could be played again: mark each step with a range (NVTX).",
        NoReplay::TooLong => "One step has more calls, operations and waits than are played again.",
        NoReplay::Unexplained => {
            "Something that the recording does not hold decided when work began: only the ledger bounds what can be won."
        }
    }
}

/// As JSON.
pub fn whatif_json(answers: &[WhatIf], is_combined: bool) -> String {
    let devices: Vec<Value> = answers.iter().map(|answer| device_json(answer, is_combined)).collect();
    let all = json!({ "schema": SCHEMA, "coldspot": env!("CARGO_PKG_VERSION"), "devices": devices });
    escape::json(&format!("{all:#}\n"))
}

fn device_json(answer: &WhatIf, is_combined: bool) -> Value {
    let predicted = match &answer.outcome {
        Ok(predicted) => predicted,
        Err(none) => return json!({ "number": answer.device_number, "refused": none.id() }),
    };
    let of = |gain: &Gain| {
        let share = |ns: i64| ns as f64 / predicted.step_ns.max(1) as f64;
        json!({
            "step_ns": predicted.step_ns - gain.expected_ns,
            "expected_gain_ns": gain.expected_ns,
            "expected_share": share(gain.expected_ns),
            "ceiling_gain_ns": gain.ceiling_ns,
            "ceiling_share": share(gain.ceiling_ns),
        })
    };
    let each = |(change, gain): &(Change, Gain)| {
        let mut row = of(gain);
        row["change"] = json!(change.id());
        row
    };
    json!({
        "number": answer.device_number,
        "step_ns": predicted.step_ns,
        "least_step_ns": predicted.least_step_ns,
        "most_step_ns": predicted.most_step_ns,
        "recorded_step_ns": predicted.recorded_step_ns,
        "step_count": predicted.step_count,
        "identity_share": predicted.identity_share,
        "distance_share": predicted.distance_share,
        "assumptions": predicted.assumptions.iter().map(|assumption| assumption.id()).collect::<Vec<_>>(),
        "changes": predicted.each.iter().map(each).collect::<Vec<_>>(),
        "together": if is_combined { of(&predicted.together) } else { Value::Null },
    })
}
