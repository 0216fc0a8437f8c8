//! What steps would take after changes, as a table and as JSON.

use serde_json::{Value, json};

use crate::facts::extract::{Predicted, WhatIf};
use crate::findings::{Finding, ReplayedGain, Review};
use crate::replay::{Change, Gain, NoReplay};
use crate::text::{escape, number};

/// The version of the JSON.
const SCHEMA: &str = "coldspot-whatif-1";
/// A change that could gain less of a step is only named.
const LEAST_SHARE: f64 = 0.001;

/// What a finding of a review is told to gain by a change.
struct Told<'review> {
    rule: &'review str,
    replayed: ReplayedGain,
    /// The most, as a share of a step.
    ceiling_share: f64,
}

impl<'review> Told<'review> {
    /// What the findings of a device are told to gain of the steps that are played again.
    fn of(review: &'review Review, answer: &WhatIf, predicted: &Predicted) -> Vec<Self> {
        let key = answer.device_key();
        let is_its = |finding: &&Finding| finding.subject.device.as_ref().is_some_and(|device| device.key == key);
        let told = review.findings.iter().filter(is_its).filter_map(|finding| {
            let gain = finding.gain.as_ref()?;
            let replayed = gain.replayed.filter(|replayed| replayed.step_ns == predicted.step_ns)?;
            Some(Self { rule: &finding.rule, replayed, ceiling_share: gain.share })
        });
        told.collect()
    }

    /// Whether it is not what the change wins by itself.
    fn differs(&self, gain: &Gain) -> bool {
        let share = |ns: i64| ns as f64 / self.replayed.step_ns.max(1) as f64;
        let apart = |told: f64, played_ns: i64| (told - share(played_ns)).abs() >= LEAST_SHARE;
        apart(self.replayed.expected_share, gain.expected_ns) || apart(self.ceiling_share, gain.ceiling_ns)
    }
}

/// As text: of each GPU the step as recorded, and what is left of it after each change; after all of them where they are
/// combined. Where a review tells another gain of a change, that is said.
pub fn whatif_text(answers: &[WhatIf], review: &Review, is_combined: bool) -> String {
    let mut out = String::new();
    for answer in answers {
        out.push_str(&format!("GPU {}\n", answer.device_number));
        match &answer.outcome {
            Ok(predicted) => {
                table(&mut out, predicted, is_combined);
                out.push_str(&told_otherwise(predicted, &Told::of(review, answer, predicted)));
            }
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

/// Why a review tells other gains of the same changes.
fn told_otherwise(predicted: &Predicted, told: &[Told<'_>]) -> String {
    let mut out = String::new();
    for (change, gain) in &predicted.each {
        let others = told.iter().filter(|told| told.replayed.change == *change && told.differs(gain));
        for told in others {
            let (expected, most) = (number::percent(told.replayed.expected_share), number::percent(told.ceiling_share));
            out.push_str(&format!(
                "  A review tells of {} ({}): about {expected}, at most {most}.\n",
                change.id(),
                told.rule
            ));
        }
    }
    if !out.is_empty() {
        out.push_str(
            "  A change is played here by itself. A review counts for a finding what no other finding explains,\n",
        );
        out.push_str("  of the kernels that it names, and no more than the window holds of what it is about.\n");
    }
    out
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
pub fn whatif_json(answers: &[WhatIf], review: &Review, is_combined: bool) -> String {
    let devices: Vec<Value> = answers.iter().map(|answer| device_json(answer, review, is_combined)).collect();
    let all = json!({ "schema": SCHEMA, "coldspot": env!("CARGO_PKG_VERSION"), "devices": devices });
    escape::json(format!("{all:#}\n"))
}

fn device_json(answer: &WhatIf, review: &Review, is_combined: bool) -> Value {
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
    let told = Told::of(review, answer, predicted);
    let each = |(change, gain): &(Change, Gain)| {
        let mut row = of(gain);
        row["change"] = json!(change.id());
        let of_review = told.iter().filter(|told| told.replayed.change == *change).map(|told| {
            json!({ "rule": told.rule, "expected_share": told.replayed.expected_share, "ceiling_share": told.ceiling_share })
        });
        row["review"] = of_review.collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Entity, EntityKind};
    use crate::findings::samples::Sample;
    use crate::rules::outcome::{Outcome, Replayed};

    #[test]
    fn where_a_review_tells_another_gain_of_a_change_that_is_said() {
        let texts = |told_ns: i64| {
            let mut sample = Sample::default();
            let run = sample.run();
            let device = sample.facts.add(EntityKind::Device, "gpu0", &[run]);
            let own: &mut Entity = sample.facts.get_mut(device);
            for (fact, ns) in [("number", 0), ("window_ns", 1_000_000), ("idle_ns", 500_000)] {
                own.set(fact, ns);
            }
            let rule = sample.rule("launch-bound", "Launching", EntityKind::Device);
            sample.find(rule, device, Some(("idle_launch", 300_000)), "launching");
            let Outcome::Finding(found) = &mut sample.judgements[0].outcome else { panic!() };
            let replayed = Replayed { change: Change::Graph, step_ns: 1_000, expected_ns: told_ns, ceiling_ns: 400 };
            found.estimate.as_mut().unwrap().replayed = Some(replayed);
            let gain = Gain { expected_ns: 300, ceiling_ns: 400 };
            let predicted = Predicted {
                step_ns: 1_000,
                least_step_ns: 1_000,
                most_step_ns: 1_000,
                recorded_step_ns: 1_000,
                step_count: 4,
                identity_share: 0.0,
                distance_share: 0.0,
                assumptions: Vec::new(),
                each: vec![(Change::Graph, gain)],
                together: gain,
            };
            let answers = [WhatIf { device_number: 0, outcome: Ok(predicted) }];
            let review = sample.review();
            (whatif_text(&answers, &review, true), whatif_json(&answers, &review, true))
        };
        let (text, json) = texts(200);
        assert!(text.contains("  A review tells of graph (launch-bound): about 20 %, at most 40 %."), "{text}");
        let json: Value = serde_json::from_str(&json).unwrap();
        let of_review = &json["devices"][0]["changes"][0]["review"][0];
        assert_eq!((&of_review["rule"], &of_review["expected_share"]), (&json!("launch-bound"), &json!(0.2)));
        assert!(!texts(300).0.contains("A review"), "nothing is said of the same gain");
    }
}
