//! Parts of the sentences of a verdict: titles within them, and how much of its window a GPU computes.

use super::{DeviceReview, Finding, PhaseWork};
use crate::text::number::{duration, percent};
use crate::text::spans::{Sentence, Span};

/// What can gain this share is worth a finding.
pub(super) const WORTH_SHARE: f64 = 0.01;

/// A headline within a sentence.
pub(super) fn within(headline: &Sentence) -> Sentence {
    let mut spans = headline.spans().iter().cloned();
    let first = match spans.next() {
        Some(Span::Own(words)) => Some(Span::Own(lower_first(&words))),
        other => other,
    };
    first.into_iter().chain(spans).fold(Sentence::default(), Sentence::span)
}

/// Words within a sentence. Names and abbreviations keep their capitals.
pub(super) fn lower_first(title: &str) -> String {
    let mut chars = title.chars();
    let (Some(first), rest) = (chars.next(), chars.as_str()) else { return String::new() };
    if rest.chars().next().is_some_and(char::is_lowercase) || rest.starts_with(' ') {
        first.to_lowercase().chain(rest.chars()).collect()
    } else {
        title.to_owned()
    }
}

/// The GPU that a finding is about; `None` where it is about none, or all.
pub(super) fn device_of<'all>(devices: &'all [DeviceReview], finding: &Finding) -> Option<&'all DeviceReview> {
    let own = finding.subject.device.as_ref()?;
    devices.iter().find(|device| device.entity == own.entity)
}

/// How much of its window the GPU of a finding computes.
pub(super) fn computing(words: Sentence, devices: &[DeviceReview], finding: &Finding) -> Sentence {
    match device_of(devices, finding).or(devices.first().filter(|_| devices.len() == 1)) {
        Some(device) => words.sentence(&device.label).own(&format!(
            " computes {} of its {} {}",
            share(device.compute_ns, device),
            duration(device.window_ns),
            window_of(device)
        )),
        None => words.own(&format!("{} GPUs ran work", devices.len())),
    }
}

/// The same, with what comes before that, once, where it is longer and no finding tells it.
pub(super) fn computing_behind(
    words: Sentence,
    devices: &[DeviceReview],
    finding: &Finding,
    findings: &[Finding],
) -> Sentence {
    let words = computing(words, devices, finding);
    let before_ns =
        device_of(devices, finding).and_then(|device| device.phase.as_ref()?.longer_before_ns(device.window_ns));
    match before_ns.filter(|_| !findings.iter().any(|finding| finding.tells_before() || finding.looks_before_steady()))
    {
        Some(before_ns) => words.own(&format!(" ({} come before it, once)", duration(before_ns))),
        None => words,
    }
}

/// What the window is called: by the phase that it is.
pub(super) fn window_of(device: &DeviceReview) -> &str {
    device.phase.as_ref().map_or("window", PhaseWork::name)
}

fn share(ns: i64, device: &DeviceReview) -> String {
    percent(ns as f64 / device.window_ns as f64)
}
