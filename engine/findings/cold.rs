//! What a verdict says of a capture that is a cold start.

use super::phrase::{WORTH_SHARE, computing, device_of, lower_first, within};
use super::{DeviceReview, Finding, Gain};
use crate::ledger::Account;
use crate::ledger::accounts::Scaling;
use crate::rules::outcome::Severity;
use crate::text::spans::Sentence;

/// What lasts takes no more than so many times as long as the GPU computes in a pass.
const MOST_TIMES: i64 = 5;

/// A pass that does everything for the first time: what that costs most, and what may last.
pub(super) fn cold(
    words: Sentence,
    devices: &[DeviceReview],
    (top, gain): (&Finding, &Gain),
    findings: &[Finding],
) -> Sentence {
    let words = computing(words, devices, top).own("; this capture is a cold start: ").sentence(&within(&top.headline));
    let words = words.own(&format!(" ({}).", gain.words()));
    let weighs = |finding: &&Finding| finding.severity > Severity::Info;
    let gained = || findings.iter().filter(weighs).filter_map(|finding| Some((finding, finding.gain.as_ref()?)));
    let lasting = gained().find(|(finding, _)| !finding.once);
    // What is no first use may come in each pass, though there is but one to see it in.
    let is_first_use = |gain: &Gain| Account::parse(&gain.account).is_none_or(|of| of.scaling() == Scaling::OneTime);
    // Beside next to no computing it is start-up, whatever account it stands in.
    let is_of_passes = |finding: &Finding, gain: &Gain| {
        device_of(devices, finding).is_none_or(|device| gain.recoverable_ns / MOST_TIMES <= device.compute_ns)
    };
    let other = gained()
        .find(|(finding, gain)| !is_first_use(gain) && gain.share >= WORTH_SHARE && is_of_passes(finding, gain));
    match (lasting, other) {
        (Some((finding, gain)), _) => {
            words.own(" What may last: ").sentence(&within(&finding.headline)).own(&format!(" ({}).", gain.words()))
        }
        // All of one pass is told as once.
        (None, Some((finding, gain))) => {
            let title = lower_first(finding.title.strip_suffix(", once").unwrap_or(&finding.title));
            words.own(&format!(" Seen once here, though it may come in every pass: {title} ({}).", gain.words()))
        }
        (None, None) => words,
    }
}
