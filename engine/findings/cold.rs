//! What a verdict says of a capture that is a cold start.

use super::phrase::{WORTH_SHARE, computing, lower_first, within};
use super::{DeviceReview, Finding, Gain};
use crate::ledger::Account;
use crate::ledger::accounts::Scaling;
use crate::rules::outcome::Severity;
use crate::text::spans::Sentence;

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
    let other = gained().find(|(_, gain)| !is_first_use(gain) && gain.share >= WORTH_SHARE);
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
