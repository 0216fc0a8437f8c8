//! What a verdict says of what costs more than what repeats, and does not come again.

use super::phrase::within;
use super::rank::LARGE_ONCE_SHARE;
use super::{Finding, Gain};
use crate::rules::outcome::Severity;
use crate::text::number::{duration, percent};
use crate::text::spans::Sentence;

/// What comes once is told as one where all of it is so many times the largest part.
const MUCH_MORE: f64 = 1.25;

/// With the largest finding of what does not come again, and with all of them where that is more: each is a part of one start.
pub(super) fn beside(words: Sentence, top: &Finding, findings: &[Finding]) -> Sentence {
    let gained = |finding: &Finding| finding.gain.as_ref().map_or(0, |gain| gain.recoverable_ns);
    let all_once = || findings.iter().filter(|finding| finding.once && !top.once && finding.severity > Severity::Info);
    let largest = findings.iter().filter(|finding| finding.once && !top.once && gained(finding) >= gained(top) / 2);
    let largest = largest.max_by_key(|finding| gained(finding));
    let Some((finding, gain)) = largest.and_then(|finding| Some((finding, finding.gain.as_ref()?))) else {
        return words;
    };
    if gain.share < LARGE_ONCE_SHARE {
        return words;
    }
    let is_told_once = finding.headline.plain().ends_with(", once");
    let words = words
        .own(if is_told_once { " Beside that: " } else { " Beside that, once: " })
        .sentence(&within(&finding.headline))
        .own(&format!(" (up to {}, {}", duration(gain.recoverable_ns), percent(gain.share)));
    let of_device = all_once().filter(|other| is_of_same_device(other, finding));
    match together(of_device, gain) {
        Some((ns, share)) => {
            words.own(&format!("; with what else comes once up to {}, {}).", duration(ns), percent(share)))
        }
        None => words.own(")."),
    }
}

fn is_of_same_device(one: &Finding, other: &Finding) -> bool {
    let device = |finding: &Finding| finding.subject.device.as_ref().map(|device| device.entity);
    device(one) == device(other)
}

/// What findings win together that claim time of different accounts, where that is far more than the largest.
fn together<'a>(findings: impl Iterator<Item = &'a Finding>, largest: &Gain) -> Option<(i64, f64)> {
    let (mut accounts, mut ns, mut share) = (Vec::new(), 0_i64, 0.0);
    for gain in findings.filter_map(|finding| finding.gain.as_ref()).filter(|gain| gain.replayed.is_none()) {
        if !accounts.contains(&gain.account.as_str()) {
            accounts.push(gain.account.as_str());
            (ns, share) = (ns.saturating_add(gain.recoverable_ns), share + gain.share);
        }
    }
    (ns as f64 >= MUCH_MORE * largest.recoverable_ns as f64 && share <= 1.0).then_some((ns, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::two_gpus;

    #[test]
    fn what_comes_once_is_summed_over_accounts() {
        let review = two_gpus().review();
        let once = |account: &str, share: f64| Finding {
            severity: Severity::Medium,
            once: true,
            gain: Some(Gain::new((share * 1e9) as i64, 1_000_000_000, account.to_owned(), String::new())),
            ..review.findings[0].clone()
        };
        let top = Finding { once: false, ..once("idle_launch", 0.1) };
        let said = |findings: &[Finding]| beside(Sentence::default(), &top, findings).plain();
        let host = once("idle_host", 0.4);
        let alone = said(std::slice::from_ref(&host));
        assert!(alone.ends_with("(up to 400 ms, 40 %)."), "{alone}");
        let with_loading = said(&[host.clone(), once("idle_load", 0.1)]);
        assert!(
            with_loading.ends_with("(up to 400 ms, 40 %; with what else comes once up to 500 ms, 50 %)."),
            "{with_loading}"
        );
        let of_one_account = said(&[host.clone(), once("idle_host", 0.1)]);
        assert!(of_one_account.ends_with("(up to 400 ms, 40 %)."), "{of_one_account}");
        let with_little = said(&[host, once("idle_load", 0.09)]);
        assert!(with_little.ends_with("(up to 400 ms, 40 %)."), "{with_little}");
        assert_eq!(said(&[once("idle_host", 0.19)]), "", "a small part of the window");
    }
}
