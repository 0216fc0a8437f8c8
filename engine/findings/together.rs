//! What the advised changes of a device win together: one replay with all of them, as gains do not add up.

use foldhash::HashSet;

use super::{Finding, LEAST_EXPECTED_SHARE, Review};
use crate::replay::{Change, Gain};
use crate::rules::outcome::Severity;
use crate::text::number::percent;

/// What several changes win of a step together.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// The rules of the findings of the device that advise them, in the order of the findings.
    pub rules: Vec<String>,
    /// The changes, each once.
    pub changes: Vec<Change>,
    /// A step, nanoseconds.
    pub step_ns: i64,
    /// What is expected, nanoseconds a step.
    pub expected_ns: i64,
    /// The most that it could be, nanoseconds a step.
    pub ceiling_ns: i64,
}

impl Together {
    /// What is expected, as a share of the step.
    pub fn expected_share(&self) -> f64 {
        self.expected_ns as f64 / self.step_ns.max(1) as f64
    }

    /// The most that it could be, as a share of the step.
    pub fn ceiling_share(&self) -> f64 {
        self.ceiling_ns as f64 / self.step_ns.max(1) as f64
    }

    /// How much it is, in words: `about 41 %, at most 47 % of a step`.
    pub fn words(&self) -> String {
        let (expected, most) = (percent(self.expected_share()), percent(self.ceiling_share()));
        format!("about {expected}, at most {most} of a step")
    }
}

impl Review {
    /// Tells of the device that most is said of what the advised changes win together, where there are several. `play` says of a
    /// device, by its key, and of changes how long a step is and what they gain; nothing where it is not played again.
    pub fn tell_together(&mut self, play: impl FnOnce(&str, &[Change]) -> Option<(i64, Gain)>) {
        let Some(device) = self.headline().and_then(|index| self.devices.get_mut(index)) else { return };
        let of_device = |finding: &&Finding| {
            finding.severity > Severity::Info
                && !finding.once
                && finding.subject.device.as_ref().is_some_and(|own| own.entity == device.entity)
        };
        let advised = self.findings.iter().filter(of_device).filter_map(|finding| {
            let gain = finding.gain.as_ref().filter(|gain| gain.share >= LEAST_EXPECTED_SHARE)?;
            Some((finding.rule.clone(), gain.replayed?.change))
        });
        let (mut rules, mut changes): (Vec<String>, Vec<Change>) = advised.unzip();
        let mut known: HashSet<String> = HashSet::default();
        rules.retain(|rule| known.insert(rule.clone()));
        changes.sort_unstable();
        changes.dedup();
        if changes.len() < 2 {
            return;
        }
        device.together = play(&device.key, &changes).map(|(step_ns, gain)| Together {
            rules,
            changes,
            step_ns,
            expected_ns: gain.expected_ns,
            ceiling_ns: gain.ceiling_ns,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::ReplayedGain;
    use crate::findings::samples::two_gpus;

    fn advise(finding: &mut Finding, change: Change) {
        let gain = finding.gain.as_mut().expect("a gain");
        gain.replayed = Some(ReplayedGain { change, step_ns: 1_000, expected_ns: 100, expected_share: 0.1 });
    }

    #[test]
    fn changes_of_one_device_are_played_together() {
        let mut review = two_gpus().review();
        let headline = review.headline().expect("a device");
        let entity = review.devices[headline].entity;
        let is_its = |finding: &&mut Finding| {
            let device = finding.subject.device.as_ref().is_some_and(|device| device.entity == entity);
            device && finding.gain.is_some() && finding.severity > Severity::Info && !finding.once
        };
        let mut its: Vec<&mut Finding> = review.findings.iter_mut().filter(is_its).collect();
        advise(its.first_mut().expect("a finding"), Change::NoSync);
        review.tell_together(|_, changes| panic!("one change is told already: {changes:?}"));
        assert_eq!(review.devices[headline].together, None);
        let mut second = review
            .findings
            .iter()
            .find(|finding| finding.gain.as_ref().is_some_and(|gain| gain.replayed.is_some()))
            .expect("the first")
            .clone();
        advise(&mut second, Change::PinCopies);
        review.findings.push(second.clone());
        review.findings.push(second);
        review.tell_together(|_, changes| {
            assert_eq!(changes, [Change::PinCopies, Change::NoSync]);
            Some((1_000, Gain { expected_ns: 150, ceiling_ns: 300 }))
        });
        let together = review.devices[headline].together.as_ref().expect("told");
        assert_eq!(together.words(), "about 15 %, at most 30 % of a step");
    }
}
