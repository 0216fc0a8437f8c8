//! What the advised changes of a device win together: one replay with all of them, as gains do not add up.

use foldhash::HashSet;

use super::gain::LEAST_EXPECTED_SHARE;
use super::{Finding, GainUnit, Review};
use crate::replay::{Change, Gain, InTurn};
use crate::rules::outcome::Severity;
use crate::text::number::percent;

/// What several changes win of a step together.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// The rules of the findings of the device that advise them, in the order of the findings.
    pub rules: Vec<String>,
    /// The rules of its other findings that can gain something: no change of theirs can be played again, and what they gain is not in it.
    pub without: Vec<String>,
    /// The changes, each once.
    pub changes: Vec<Change>,
    /// What a step is.
    pub unit: GainUnit,
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

    /// What is not in it, in words; `None` where all is.
    pub fn without_words(&self) -> Option<String> {
        let (last, others) = self.without.split_last()?;
        let names = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
        let verb = if others.is_empty() { "is" } else { "are" };
        Some(format!("{names} {verb} not in it: no replay tells of that."))
    }

    /// How much it is, in words: `about 41 %, at most 47 % of a step`.
    pub fn words(&self) -> String {
        let (expected, most) = (percent(self.expected_share()), percent(self.ceiling_share()));
        format!("about {expected}, at most {most} of a {}", self.unit.name())
    }
}

/// With more of its gain beyond other findings no word is lost about them.
const NEARLY_ALL_ITS_OWN: f64 = 0.9;

impl Review {
    /// Tells of each device what the advised changes win, one after the other in the order of its findings, where there are
    /// several: idle time that two of them win is won once. Of the device that most is said of also what they win together.
    /// `play` says of a device, by its key, what changes win in turn; nothing where it is not played again.
    pub fn tell_together(&mut self, mut play: impl FnMut(&str, &[Change]) -> Option<InTurn>) {
        let headline = self.headline();
        for index in 0..self.devices.len() {
            let (advised, changes) = self.advised(index);
            if changes.len() < 2 {
                continue;
            }
            let Some(won) = play(&self.devices[index].key, &changes) else { continue };
            self.tell_beyond(&advised, &changes, &won.expected_ns);
            if headline == Some(index) {
                let told = (self.without(index, &advised), changes);
                self.devices[index].together = Some(self.together(&advised, told, won.step_ns, won.all));
            }
        }
    }

    /// The findings about a device that can gain something again and again, with the change that can be played of each.
    fn gaining(&self, device: usize) -> impl Iterator<Item = (usize, Option<Change>)> {
        let entity = self.devices[device].entity;
        let of_device =
            move |finding: &Finding| finding.subject.device.as_ref().is_some_and(|own| own.entity == entity);
        self.findings.iter().enumerate().filter_map(move |(index, finding)| {
            let is_told = finding.severity > Severity::Info && !finding.once && of_device(finding);
            let gain = finding.gain.as_ref().filter(|gain| is_told && gain.share >= LEAST_EXPECTED_SHARE)?;
            Some((index, gain.replayed.map(|replayed| replayed.change)))
        })
    }

    /// The rules of those of which none can be, and that say nothing of what was played.
    fn without(&self, device: usize, advised: &[(usize, Change)]) -> Vec<String> {
        let rule = |index: usize| self.findings[index].rule.clone();
        let known: HashSet<String> = advised.iter().map(|(index, _)| rule(*index)).collect();
        let others = self.gaining(device).filter(|(_, change)| change.is_none()).map(|(index, _)| rule(index));
        let mut rules: Vec<String> = others.filter(|rule| !known.contains(rule)).collect();
        rules.dedup();
        rules
    }

    /// The findings about a device whose advice can be played, with their changes; and the changes, each once, in their order.
    fn advised(&self, device: usize) -> (Vec<(usize, Change)>, Vec<Change>) {
        let advised: Vec<(usize, Change)> =
            self.gaining(device).filter_map(|(index, change)| Some((index, change?))).collect();
        let mut changes: Vec<Change> = Vec::new();
        for (_, change) in &advised {
            if !changes.contains(change) {
                changes.push(*change);
            }
        }
        (advised, changes)
    }

    /// Notes what each finding wins beyond those before it: no more than what all changes up to its own win together, less what
    /// those before it were told to win.
    fn tell_beyond(&mut self, advised: &[(usize, Change)], changes: &[Change], expected_ns: &[i64]) {
        let mut told_ns = 0;
        for (place, (finding, change)) in advised.iter().enumerate() {
            let Some(replayed) = self.findings[*finding].gain.as_mut().and_then(|gain| gain.replayed.as_mut()) else {
                continue;
            };
            let played = changes.iter().position(|known| known == change).and_then(|place| expected_ns.get(place));
            let left_ns = played.map_or(0, |expected_ns| expected_ns - told_ns).max(0);
            let beyond_ns = if place == 0 { replayed.expected_ns } else { replayed.expected_ns.min(left_ns) };
            let is_shared = (beyond_ns as f64) < NEARLY_ALL_ITS_OWN * replayed.expected_ns as f64;
            replayed.beyond_ns = Some(beyond_ns).filter(|_| is_shared);
            told_ns += beyond_ns;
        }
    }

    fn together(
        &self,
        advised: &[(usize, Change)],
        (without, mut changes): (Vec<String>, Vec<Change>),
        step_ns: i64,
        all: Gain,
    ) -> Together {
        let mut rules: Vec<String> = advised.iter().map(|(finding, _)| self.findings[*finding].rule.clone()).collect();
        let mut known: HashSet<String> = HashSet::default();
        rules.retain(|rule| known.insert(rule.clone()));
        changes.sort_unstable();
        let gains = || advised.iter().filter_map(|(finding, _)| self.findings[*finding].gain.as_ref());
        let unit = gains().find_map(|gain| gain.replayed).map_or(GainUnit::Step, |replayed| replayed.unit);
        // What the window holds may be more than what is played again: together they win no less than one of them may.
        let most_share = gains().map(|gain| gain.share).fold(0.0, f64::max).min(1.0);
        let ceiling_ns = all.ceiling_ns.max((most_share * step_ns as f64) as i64);
        Together { rules, without, changes, unit, step_ns, expected_ns: all.expected_ns, ceiling_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::ReplayedGain;
    use crate::findings::samples::two_gpus;

    fn advises(finding: &Finding) -> bool {
        finding.gain.as_ref().is_some_and(|gain| gain.replayed.is_some())
    }

    fn words(finding: &Finding) -> String {
        finding.gain.as_ref().map(crate::findings::Gain::words).unwrap_or_default()
    }

    fn advise(finding: &mut Finding, change: Change) {
        let gain = finding.gain.as_mut().expect("a gain");
        gain.replayed = Some(ReplayedGain {
            change,
            unit: GainUnit::Step,
            covered_share: 1.0,
            step_ns: 1_000,
            expected_ns: 100,
            expected_share: 0.1,
            beyond_ns: None,
            only_step: None,
            is_beside_rounds: false,
        });
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
            assert_eq!(changes, [Change::NoSync, Change::PinCopies], "in the order of the findings");
            let all = Gain { expected_ns: 150, ceiling_ns: 300 };
            Some(InTurn { step_ns: 1_000, expected_ns: vec![100, 150], all })
        });
        let beyond = |finding: &Finding| finding.gain.as_ref().and_then(|gain| gain.replayed?.beyond_ns);
        let told: Vec<Option<i64>> = review.findings.iter().filter(|one| advises(one)).map(beyond).collect();
        assert_eq!(told, [None, Some(50), Some(0)], "the third advises what the second does");
        let words: Vec<String> = review.findings.iter().filter(|one| advises(one)).map(words).collect();
        // Two rules that advise one change of other kernels each have a part of what it wins.
        for finding in review.findings.iter_mut().filter(|one| advises(one)).skip(1) {
            let replayed = finding.gain.as_mut().and_then(|gain| gain.replayed.as_mut()).expect("advised");
            (replayed.expected_ns, replayed.beyond_ns) = (25, None);
        }
        review.tell_together(|_, _| {
            let all = Gain { expected_ns: 150, ceiling_ns: 300 };
            Some(InTurn { step_ns: 1_000, expected_ns: vec![100, 150], all })
        });
        let parts: Vec<Option<i64>> = review.findings.iter().filter(|one| advises(one)).map(beyond).collect();
        assert_eq!(parts, [None, None, None], "each wins its own part");
        assert!(words[0].ends_with("of a step"), "{}", words[0]);
        assert!(words[1].ends_with("; beyond the findings above about 5 %"), "{}", words[1]);
        assert!(words[2].ends_with("; beyond the findings above nothing"), "{}", words[2]);
        let together = review.devices[headline].together.as_ref().expect("told");
        // One of them is claimed to win 48 % at most, beside what its change does.
        assert_eq!(together.words(), "about 15 %, at most 48 % of a step");
        let without = |rules: &[&str]| {
            let without = rules.iter().map(|rule| (*rule).to_owned()).collect();
            Together { without, ..together.clone() }.without_words()
        };
        assert_eq!(without(&[]), None);
        assert_eq!(without(&["a"]).as_deref(), Some("a is not in it: no replay tells of that."));
        assert_eq!(without(&["a", "b", "c"]).as_deref(), Some("a, b and c are not in it: no replay tells of that."));
    }
}
