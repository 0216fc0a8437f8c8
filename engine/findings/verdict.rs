//! The one sentence at the top.

use super::sentence::Writer;
use super::{Counts, DeviceReview, Finding, Gain};
use crate::rules::outcome::{Sentence, Severity};
use crate::text::number::{duration, percent};

/// `notes` are what the capture was missing.
pub(super) fn verdict(devices: &[DeviceReview], findings: &[Finding], notes: &[Sentence], counts: &Counts) -> Sentence {
    let capture = findings.iter().find(|finding| finding.gain.is_none() && finding.severity == Severity::High);
    if devices.is_empty() {
        let words = Writer::default().own("No GPU work was recorded, so there is nothing to judge.");
        return match notes.first() {
            Some(note) => words.own(" ").sentence(note).done(),
            None => words.done(),
        };
    }
    let words = match capture {
        Some(finding) => Writer::default().own("Read with care (").value(&lower_first(&finding.title)).own("): "),
        None => Writer::default(),
    };
    let top = findings.iter().find(|finding| finding.severity > Severity::Info && finding.gain.is_some());
    match top.and_then(|finding| Some((finding, finding.gain.as_ref()?))) {
        Some((finding, gain)) => loss(words, devices, finding, gain),
        None => healthy(words, devices, counts),
    }
}

fn loss(words: Writer, devices: &[DeviceReview], finding: &Finding, gain: &Gain) -> Sentence {
    let device = devices.iter().find(|device| Some(&device.key) == finding.subject.device.as_ref());
    let words = match device.or(devices.first().filter(|_| devices.len() == 1)) {
        Some(device) => words.sentence(&device.label).own(&format!(
            " computes {} of its {} window",
            share(device.compute_ns, device),
            duration(device.window_ns)
        )),
        None => words.own(&format!("{} GPUs ran work", devices.len())),
    };
    let words = words.own("; most to gain: ").value(&lower_first(&finding.title));
    let part = if gain.share < 0.9995 { format!(", {}", percent(gain.share)) } else { ", all of it".to_owned() };
    words.own(&format!(" (up to {}{part}).", duration(gain.recoverable_ns))).done()
}

fn healthy(words: Writer, devices: &[DeviceReview], counts: &Counts) -> Sentence {
    let shares = devices.iter().map(|device| device.busy_ns as f64 / device.window_ns as f64);
    let (least, most) =
        shares.fold((f64::INFINITY, 0.0f64), |(least, most), share| (least.min(share), most.max(share)));
    let words = match devices {
        [device] => words.sentence(&device.label).own(&format!(
            " is busy {} of its {} window",
            share(device.busy_ns, device),
            duration(device.window_ns)
        )),
        _ if percent(least) == percent(most) => {
            words.own(&format!("All {} GPUs are busy {} of their windows", devices.len(), percent(least)))
        }
        _ => words.own(&format!(
            "The {} GPUs are busy {} to {} of their windows",
            devices.len(),
            percent(least),
            percent(most)
        )),
    };
    let but = if least < 0.85 { "; still, no rule found" } else { "; no rule found" };
    let unjudged = match counts.rules - counts.rules_judged {
        0 => String::new(),
        1 => ", of which 1 could not be judged fully".to_owned(),
        count => format!(", of which {count} could not be judged fully"),
    };
    words.own(&format!("{but} anything that could gain 1 % of it ({} rules asked{unjudged}).", counts.rules)).done()
}

fn share(ns: i64, device: &DeviceReview) -> String {
    percent(ns as f64 / device.window_ns as f64)
}

/// A title within a sentence. Names and abbreviations keep their capitals.
fn lower_first(title: &str) -> String {
    let mut chars = title.chars();
    let (Some(first), rest) = (chars.next(), chars.as_str()) else { return String::new() };
    if rest.chars().next().is_some_and(char::is_lowercase) || rest.starts_with(' ') {
        first.to_lowercase().chain(rest.chars()).collect()
    } else {
        title.to_owned()
    }
}
