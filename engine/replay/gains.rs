//! What each change could win of a step.

use super::build::{Built, build};
use super::change::{Change, Extent};
use super::model::Play;
use super::record::Part;
use super::setting::Setting;
use super::{Assumption, NoReplay, Subject};

/// What a change could win of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// What a plain fix brings, nanoseconds a step.
    pub expected_ns: i64,
    /// Everything that the change could bring, nanoseconds a step.
    pub ceiling_ns: i64,
}

/// A recording that can be played again.
#[derive(Debug)]
pub struct Replay<'all> {
    built: Built,
    setting: Setting<'all>,
    step_ns: f64,
}

impl<'all> Replay<'all> {
    /// Of a recording.
    ///
    /// # Errors
    /// When the recording cannot be played again.
    pub fn new(subject: Subject<'all>) -> Result<Self, NoReplay> {
        let part = Part::new(&subject)?;
        let mut setting = Setting {
            subject,
            spacing_ns: 0,
            launch_ns: 0,
            return_ns: 0,
            launch_gap_ns: subject.calls.launch_gap_ns(),
            pinned: [None, None],
        };
        setting.measure(&part);
        let built = build(subject.timeline, part)?;
        (setting.spacing_ns, setting.launch_ns, setting.return_ns) =
            (built.usual.spacing_ns, built.usual.launch_ns, built.usual.return_ns);
        let step_ns = built.model.step_ns(&built.model.recorded);
        Ok(Self { built, setting, step_ns })
    }

    /// A step as recorded: the mean of the part that is played again, in nanoseconds.
    pub fn step_ns(&self) -> i64 {
        self.step_ns as i64
    }

    /// How many steps are played again.
    pub fn step_count(&self) -> u32 {
        self.built.model.part.step_count
    }

    /// How far steps are from those recorded when played again without what the model does not explain, as a share.
    pub fn distance_share(&self) -> f64 {
        self.built.distance_share
    }

    /// How far a step is at most from what was recorded when played again without a change.
    pub fn identity_share(&self) -> f64 {
        let model = &self.built.model;
        let played = model.lengths(&Play::new(model).times());
        let pairs = model.lengths(&model.recorded).into_iter().zip(played);
        let apart = pairs.map(|(recorded, played)| (recorded - played).abs() as f64 / recorded.max(1) as f64);
        apart.fold(0.0, f64::max)
    }

    /// What is taken for granted.
    pub fn assumptions(&self) -> &[Assumption] {
        &self.built.assumptions
    }

    /// What changes could win together.
    pub fn gain(&self, changes: &[Change]) -> Gain {
        let expected_ns = self.won(changes, Extent::Expected);
        let ceiling_ns = self.won(changes, Extent::Ceiling).max(expected_ns);
        Gain { expected_ns, ceiling_ns }
    }

    fn won(&self, changes: &[Change], extent: Extent) -> i64 {
        let mut play = Play::new(&self.built.model);
        // Always in one order, whatever order they are asked for in.
        for change in Change::ALL.iter().filter(|change| changes.contains(change)) {
            play.apply(*change, extent, &self.setting);
        }
        let times = play.times();
        let mut step_ns = play.model.step_ns(&times);
        if changes.contains(&Change::SteadySteps) {
            let mut lengths = play.model.lengths(&times);
            lengths.sort_unstable();
            step_ns = lengths.get(lengths.len() / 2).map_or(step_ns, |median| step_ns.min(*median as f64));
        }
        ((self.step_ns - step_ns) as i64).max(0)
    }
}
