//! Which findings deserve no more than a line, beside what else a review holds.

use super::Finding;
use super::occurrence::severity_of;
use crate::rules::CaptureNote;
use crate::rules::outcome::Severity;

/// Who gains less than this of a window would hardly see it in a run without a profiler: runs differ by as much.
const LEAST_SHARE: f64 = 0.05;
/// Beside a finding five times as large, another can wait until that one is mended.
const LEAST_OF_LARGEST: f64 = 0.2;

/// More than these nobody works on before the next recording.
const MAX_TOLD_COUNT: usize = 3;

/// Marks the findings that are told in a line. A severity that the rule's author fixes above what the gain gives is kept.
pub(super) fn mark(findings: &mut [Finding]) {
    let largest = findings.iter().filter_map(share).fold(0.0, f64::max);
    let mut is_first = true;
    let mut told = 0;
    let mut is_inside_brief = false;
    for finding in findings.iter_mut() {
        finding.is_brief = match share(finding) {
            _ if finding.severity == Severity::Info || told == MAX_TOLD_COUNT => true,
            // It ranks behind a kernel to look inside of, which is a line itself.
            Some(_) if is_inside_brief => true,
            // What the capture was missing is said of the capture.
            None if finding.severity == Severity::Low && finding.capture_note == Some(CaptureNote::Repeated) => true,
            Some(share) if finding.severity > severity_of(share) => false,
            // What does not come again can wait as well.
            Some(_) if finding.once && told > 0 => true,
            Some(share) => share < LEAST_SHARE.max(LEAST_OF_LARGEST * largest),
            None => finding.severity == Severity::Low && !is_first,
        };
        told += usize::from(!finding.is_brief);
        is_inside_brief |= finding.looks_inside() && finding.is_brief && finding.severity == Severity::Low;
        is_first = is_first && finding.severity == Severity::Info;
    }
    // What the review leads with is told before what ranks behind it.
    let first = findings.iter().position(|finding| finding.severity > Severity::Info);
    if let Some(first) = first.filter(|_| told > 0) {
        findings[first].is_brief = false;
    }
}

fn share(finding: &Finding) -> Option<f64> {
    finding.gain.as_ref().map(|gain| gain.share)
}

#[cfg(test)]
mod tests {
    use super::super::samples::two_gpus;
    use super::*;
    use crate::findings::Gain;

    /// The findings of a sample, each with a severity and a share of its window, and which of them are brief.
    fn brief(of: &[(Severity, Option<f64>)]) -> Vec<bool> {
        let review = two_gpus().review();
        let gain = |share: f64| Gain::new((share * 1e9) as i64, 1_000_000_000, "idle".to_owned(), String::new());
        let finding = |(severity, share): &(Severity, Option<f64>)| Finding {
            severity: *severity,
            gain: share.map(gain),
            ..review.findings[0].clone()
        };
        let mut findings: Vec<Finding> = of.iter().map(finding).collect();
        mark(&mut findings);
        findings.iter().map(|finding| finding.is_brief).collect()
    }

    #[test]
    fn what_occurs_once_is_brief_behind_what_repeats() {
        let review = two_gpus().review();
        let gain = |share: f64| Some(Gain::new((share * 1e9) as i64, 1_000_000_000, "idle".to_owned(), String::new()));
        let once = |share: f64| Finding {
            severity: Severity::Low,
            gain: gain(share),
            once: true,
            ..review.findings[0].clone()
        };
        let mut findings = vec![once(0.06), once(0.06), Finding { once: false, ..once(0.06) }];
        mark(&mut findings);
        assert_eq!(findings.iter().map(|finding| finding.is_brief).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn small_gains_are_brief_and_what_a_rule_fixes_is_not() {
        use Severity::{High, Info, Low, Medium};
        assert_eq!(brief(&[(Medium, Some(0.06)), (Low, Some(0.05)), (Low, Some(0.049))]), [false, false, true]);
        assert_eq!(brief(&[(High, Some(0.8)), (Medium, Some(0.159)), (Medium, Some(0.161))]), [false, true, false]);
        assert_eq!(brief(&[(High, Some(0.8)), (High, Some(0.01)), (Info, None)]), [false, false, true]);
        assert_eq!(brief(&[(High, Some(0.4)); 5]), [false, false, false, true, true]);
        assert_eq!(brief(&[(Info, None), (Low, None), (Low, None), (Medium, None)]), [true, false, true, false]);
    }
}
