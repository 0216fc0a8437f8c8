//! What bounds a GPU that is busy all the time and computes little: a note of it says more than that no rule found anything.

use super::{DeviceReview, Finding};
use crate::rules::outcome::Severity;

/// A GPU that is busy for this part of its window is never kept waiting.
const BUSY_SHARE: f64 = 0.95;
/// What could take this part of a window or of a step away bounds it, and a GPU that computes for less than that computes little.
const MAIN_SHARE: f64 = 0.5;

/// The note of what bounds the only GPU, though next to nothing is expected of the change that the note names.
pub(super) fn at_its_bound<'a>(devices: &[DeviceReview], findings: &'a [Finding]) -> Option<&'a Finding> {
    let [device] = devices else { return None };
    let share = |ns: i64| ns as f64 / device.window_ns.max(1) as f64;
    if share(device.busy_ns) < BUSY_SHARE || share(device.compute_ns) >= MAIN_SHARE {
        return None;
    }
    let bounds = |finding: &&Finding| finding.gain.as_ref().is_some_and(|gain| gain.share >= MAIN_SHARE);
    findings.iter().filter(|finding| finding.severity == Severity::Info && !finding.once).find(bounds)
}

/// What took most of the GPU's window before what is judged, where it is told further down.
pub(super) fn set_up_before(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.looks_before_steady() && finding.severity > Severity::Info)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Gain;
    use crate::findings::samples::two_gpus;

    #[test]
    fn a_note_bounds_a_gpu_that_is_busy_and_computes_little() {
        let review = two_gpus().review();
        let device =
            |busy_ns, compute_ns| DeviceReview { window_ns: 1_000, busy_ns, compute_ns, ..review.devices[0].clone() };
        let note = |share: f64| Finding {
            severity: Severity::Info,
            once: false,
            gain: Some(Gain::new((share * 1e9) as i64, 1_000_000_000, "exposed_copy".to_owned(), String::new())),
            ..review.findings[0].clone()
        };
        let is_told = |devices: &[DeviceReview], share| at_its_bound(devices, &[note(share)]).is_some();
        assert!(is_told(&[device(950, 499)], 0.5));
        assert!(!is_told(&[device(949, 499)], 0.5), "it waits for something else as well");
        assert!(!is_told(&[device(950, 500)], 0.5), "it computes");
        assert!(!is_told(&[device(950, 499)], 0.49), "a small part");
        assert!(!is_told(&[device(950, 499), device(950, 499)], 0.5), "of several the verdict says a spread");
    }
}
