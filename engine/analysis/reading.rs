//! From a path to facts.

use std::path::{Path, PathBuf};

use super::AnalysisError;
use crate::facts::extract::{WhatIf, what_if};
use crate::facts::{self, Entity, EntityKind, Facts, Replays, ScopeError, View, file};
use crate::ledger::Scope;
use crate::replay::Change;
use crate::source::{self, Progress, ReadOptions, Recording};
use crate::steps::Phase;

/// Which part of a window is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// One phase, where phases are told.
    Phase(Phase),
}

impl Part {
    /// What users may write: names with their parts.
    pub const ALL: [(&'static str, Self); 5] = [
        ("steady", Self::Phase(Phase::Steady)),
        ("whole", Self::Whole),
        ("set-up", Self::Phase(Phase::SetUp)),
        ("warm-up", Self::Phase(Phase::WarmUp)),
        ("tear-down", Self::Phase(Phase::TearDown)),
    ];
}

/// How recordings are read, and which part of them is measured.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Threads, limits, the profiler's program.
    pub options: ReadOptions,
    /// The window that is measured.
    pub scope: Scope,
    /// The part of that window; absent for what each task looks at by itself: a review at the steady state, unless the user
    /// has chosen a window, and everything else at the whole.
    pub part: Option<Part>,
    /// The name of the range that is a step; absent to find out.
    pub step: Option<String>,
    /// The number of the one GPU that is looked at; absent for all.
    pub device: Option<i64>,
    /// Pages of Nsight Compute whose kernels are those of the recordings.
    pub profiles: Vec<PathBuf>,
    /// Makes what is told how far reading has come, for each recording anew.
    pub progress: fn() -> Box<dyn Progress>,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            options: ReadOptions::default(),
            scope: Scope::default(),
            part: None,
            step: None,
            device: None,
            profiles: Vec::new(),
            progress: || Box::new(()),
        }
    }
}

impl Reading {
    /// The facts of a recording, or of a facts file.
    ///
    /// # Errors
    /// When it cannot be read, or does not hold the part that is asked for.
    pub fn facts(&self, path: &Path) -> Result<Facts, AnalysisError> {
        self.facts_of(path, self.part.unwrap_or(Part::Whole))
    }

    /// The facts by which a recording is reviewed: those of its steady state, unless something else is asked for.
    ///
    /// # Errors
    /// As for [`Self::facts`].
    pub fn facts_for_review(&self, path: &Path) -> Result<Facts, AnalysisError> {
        self.facts_of(path, self.part_for_review())
    }

    /// Makes something of the facts by which recordings are compared, of each before the next is read, and returns that in the order
    /// of the paths. The facts are those that a review has. Facts files tell what they were made of: where one is of a whole
    /// window, recordings are measured as a whole, too; so those files are read first.
    ///
    /// # Errors
    /// As for [`Self::facts`], and those of `then`.
    pub fn for_comparison<T>(
        &self,
        paths: &[&Path],
        mut then: impl FnMut(Facts, &Path) -> Result<T, AnalysisError>,
    ) -> Result<Vec<T>, AnalysisError> {
        let is_saved: Vec<bool> = paths.iter().map(|path| file::is_facts_file(path)).collect();
        let mut done: Vec<Option<T>> = paths.iter().map(|_| None).collect();
        let mut part = self.part_for_review();
        for reads_saved in [true, false] {
            for (index, path) in paths.iter().enumerate().filter(|(index, _)| is_saved[*index] == reads_saved) {
                let facts = self.facts_of(path, if reads_saved { Part::Whole } else { part })?;
                if reads_saved && is_of_whole(&facts) {
                    part = self.part.unwrap_or(Part::Whole);
                }
                done[index] = Some(then(facts, path)?);
            }
        }
        Ok(done.into_iter().flatten().collect())
    }

    fn part_for_review(&self) -> Part {
        let usual = if self.scope == Scope::default() { Part::Phase(Phase::Steady) } else { Part::Whole };
        self.part.unwrap_or(usual)
    }

    /// Does something with the facts by which a recording is reviewed, and with its replays; those are absent of what is no
    /// recording in time.
    ///
    /// # Errors
    /// As for [`Self::facts`].
    pub fn with_facts_for_review<T>(
        &self,
        path: &Path,
        then: impl FnOnce(&Facts, Option<&Replays<'_>>) -> T,
    ) -> Result<T, AnalysisError> {
        self.with_facts(path, self.part_for_review(), |facts, replays| then(&facts, replays))
    }

    fn facts_of(&self, path: &Path, part: Part) -> Result<Facts, AnalysisError> {
        self.with_facts(path, part, |facts, _| facts)
    }

    fn with_facts<T>(
        &self,
        path: &Path,
        part: Part,
        then: impl FnOnce(Facts, Option<&Replays<'_>>) -> T,
    ) -> Result<T, AnalysisError> {
        let done = |facts, replays: Option<&Replays<'_>>| Ok(then(self.completed(facts)?, replays));
        if file::is_facts_file(path) { done(self.saved(path)?, None) } else { self.extracted(path, part, done)? }
    }

    /// Facts with what pages of Nsight Compute add, of the devices that are looked at.
    fn completed(&self, mut facts: Facts) -> Result<Facts, AnalysisError> {
        for path in &self.profiles {
            self.join(&mut facts, path)?;
        }
        match self.device {
            Some(number) => only_device(&facts, number),
            None => Ok(facts),
        }
    }

    /// What a step of each GPU of a recording would take after some changes.
    ///
    /// # Errors
    /// When it cannot be read, or does not hold the part that is asked for.
    pub fn what_if(&self, path: &Path, changes: &[Change]) -> Result<Vec<WhatIf>, AnalysisError> {
        let progress = (self.progress)();
        let timeline = match source::read(path, &self.options, progress.as_ref())? {
            Recording::Timeline(timeline) => timeline,
            // Kernels that were profiled one by one have no steps.
            Recording::Kernels(_) => return Err(AnalysisError::NoWindow { path: path.to_owned() }),
        };
        let part = self.part_for_review();
        let answers = what_if(&timeline, &self.scope, &self.view(part), changes)
            .map_err(|error| AnalysisError::Scope { path: path.to_owned(), problem: error.to_string() })?;
        let is_wanted = |answer: &WhatIf| self.device.is_none_or(|number| number == answer.device_number);
        Ok(answers.into_iter().filter(is_wanted).collect())
    }

    fn view(&self, part: Part) -> View {
        let phase = match part {
            Part::Whole => None,
            Part::Phase(phase) => Some(phase),
        };
        View { phase, step: self.step.clone() }
    }

    /// Facts saved earlier. Their window was chosen when they were.
    fn saved(&self, path: &Path) -> Result<Facts, AnalysisError> {
        if self.scope != Scope::default() || self.part.is_some() || self.step.is_some() {
            return Err(AnalysisError::FixedWindow { path: path.to_owned() });
        }
        Ok(file::read(path)?)
    }

    /// Refuses to look at a part of a table of kernels. Its steady state is all of it, as of any recording in which nothing repeats.
    fn refuse_part_of_kernels(&self, path: &Path) -> Result<(), AnalysisError> {
        let path = path.to_owned();
        if self.scope != Scope::default() || self.step.is_some() {
            return Err(AnalysisError::NoWindow { path });
        }
        match self.part {
            None | Some(Part::Whole | Part::Phase(Phase::Steady)) => Ok(()),
            Some(Part::Phase(phase)) => {
                let problem = ScopeError::NoSuchPhase { phase: phase.id() }.to_string();
                Err(AnalysisError::Scope { path, problem })
            }
        }
    }

    fn join(&self, facts: &mut Facts, path: &Path) -> Result<(), AnalysisError> {
        let profiles = match source::read(path, &self.options, &())? {
            Recording::Kernels(profiles) => profiles,
            Recording::Timeline(_) => return Err(AnalysisError::NoProfile { path: path.to_owned() }),
        };
        facts::join(facts, &profiles);
        Ok(())
    }

    fn extracted<T>(
        &self,
        path: &Path,
        part: Part,
        then: impl FnOnce(Facts, Option<&Replays<'_>>) -> T,
    ) -> Result<T, AnalysisError> {
        let view = self.view(part);
        let progress = (self.progress)();
        let timeline = match source::read(path, &self.options, progress.as_ref())? {
            Recording::Timeline(timeline) => timeline,
            Recording::Kernels(profiles) => {
                self.refuse_part_of_kernels(path)?;
                return Ok(then(facts::extract_profiles(&profiles), None));
            }
        };
        let then = |facts, replays: &Replays<'_>| then(facts, Some(replays));
        facts::extract_view_then(&timeline, &self.scope, &view, self.options.threads, then)
            .map_err(|error| AnalysisError::Scope { path: path.to_owned(), problem: error.to_string() })
    }
}

/// Whether facts are of a whole window. Those that do not say so are: where it has a steady state, or none was told on any GPU.
fn is_of_whole(facts: &Facts) -> bool {
    if let Some(asked) = facts.run().and_then(|run| run.text("asked_phase")) {
        return asked == "whole";
    }
    let devices = facts.devices();
    // What of a window is left out without a phase is so in its steady state.
    let is_whole = |device: &Entity| device.get("phase").or(device.get("last_pages_ns")).is_none();
    devices.iter().any(|(_, device)| is_whole(device) && device.get("steady_ns").is_some())
        || (!devices.is_empty() && devices.iter().all(|(_, device)| is_whole(device)))
}

/// The facts of one GPU, with the run and the processes.
fn only_device(facts: &Facts, number: i64) -> Result<Facts, AnalysisError> {
    let numbers: Vec<i64> = facts.of_kind(EntityKind::Device).filter_map(|(_, device)| device.int("number")).collect();
    if !numbers.contains(&number) {
        let known: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let known = if known.is_empty() { "no GPU work".to_owned() } else { format!("GPU {}", known.join(", ")) };
        return Err(AnalysisError::Device { number, known });
    }
    Ok(facts.of_device(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_narrowed_to_a_phase_is_whole() {
        let of = |phases: &[Option<&str>]| {
            let mut facts = Facts::default();
            let run = facts.add(EntityKind::Run, "run", &[]);
            for (number, phase) in phases.iter().enumerate() {
                let device = facts.add(EntityKind::Device, format!("gpu{number}"), &[run]);
                facts.get_mut(device).set_some("phase", *phase);
            }
            is_of_whole(&facts)
        };
        assert!(of(&[None]) && of(&[None, None]));
        let mut cut = Facts::default();
        let run = cut.add(EntityKind::Run, "run", &[]);
        let device = cut.add(EntityKind::Device, "gpu0", &[run]);
        cut.get_mut(device).set("last_pages_ns", 5);
        assert!(!is_of_whole(&cut));
        assert!(!of(&[]) && !of(&[Some("steady")]) && !of(&[None, Some("steady")]));
    }

    #[test]
    fn a_device_that_is_not_there_is_refused() {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "run", &[]);
        for number in [3, 5] {
            let device = facts.add(EntityKind::Device, format!("gpu{number}"), &[run]);
            facts.get_mut(device).set("number", number);
        }
        assert_eq!(only_device(&facts, 5).unwrap(), facts.of_device(5));
        let error = only_device(&facts, 4).unwrap_err();
        assert_eq!(error.to_string(), "--device 4: the report holds GPU 3, 5");
    }
}
