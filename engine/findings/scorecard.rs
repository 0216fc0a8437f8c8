//! The scorecard: a few shares of a device's window, each held against a target. The targets are data.

use serde::Deserialize;

use crate::facts::Entity;
use crate::facts::catalogue::{self, EntityKind, FactType};
use crate::rules::fault::Log;
use crate::rules::shape::without_value;

/// The shares that are looked at, with their targets: `templates/scorecard.toml`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scorecard {
    /// A shorter window is not held against targets, nor one without a kernel: its scores are all absent.
    #[serde(default)]
    least_window_ns: i64,
    #[serde(rename = "score")]
    entries: Vec<Entry>,
}

/// A scorecard that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScorecardError {
    /// It is no scorecard.
    #[error("{file}:{line}: {problem}")]
    Toml {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Why, without what the file holds.
        problem: String,
    },
    /// An entry has no target, or two.
    #[error("{file}: score {id:?} needs one target: at_least or at_most")]
    Target {
        /// The file.
        file: String,
        /// The entry.
        id: String,
    },
    /// It names something that is not in the catalogue.
    #[error(
        "{file}: score {id:?} names {fact:?}, which is no number of a device; `coldspot facts --list` prints all facts"
    )]
    Fact {
        /// The file.
        file: String,
        /// The entry.
        id: String,
        /// What it names.
        fact: String,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    title: String,
    measure: Measure,
    at_least: Option<f64>,
    at_most: Option<f64>,
    /// All of them have to hold.
    #[serde(default, deserialize_with = "one_or_many")]
    only_if: Vec<Condition>,
    /// Where one of them holds, nothing is told of a share that would meet its target: something else says that it is no matter of it.
    #[serde(default, deserialize_with = "one_or_many")]
    not_met_if: Vec<Condition>,
    /// The fact that says where the measure comes from.
    source: Option<String>,
    why: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Measure {
    Ratio {
        sum: Vec<String>,
        /// Taken off the sum, where the report gives it.
        #[serde(default)]
        less: Vec<String>,
        of: String,
    },
    Fact {
        fact: String,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    measure: Measure,
    at_least: f64,
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(conditions: D) -> Result<Vec<Condition>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(Condition),
        Many(Vec<Condition>),
    }
    Ok(match OneOrMany::deserialize(conditions)? {
        OneOrMany::One(condition) => vec![condition],
        OneOrMany::Many(conditions) => conditions,
    })
}

/// One share of a device, held against its target.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The entry's id.
    pub id: String,
    /// What is measured.
    pub title: String,
    /// The share; absent when the report does not tell, or when it does not matter on this device.
    pub share: Option<f64>,
    /// Whether a larger share is better.
    pub is_floor: bool,
    /// The target.
    pub target: f64,
    /// Whether the target is met; absent with the share.
    pub meets: Option<bool>,
    /// Where the share comes from, such as `sampled`; absent when there is one source only.
    pub source: Option<String>,
    /// Why this target.
    pub why: String,
}

fn wrong(error: &toml::de::Error, text: &str, file: &str) -> ScorecardError {
    let line = Log::new(file, text).line(&error.span().unwrap_or_default());
    ScorecardError::Toml { file: file.to_owned(), line, problem: without_value(error.message()) }
}

impl Scorecard {
    /// Reads a scorecard; `file` names it in messages.
    ///
    /// # Errors
    /// When it is no scorecard, or names what is no number of a device.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScorecardError> {
        let card: Self = toml::from_str(text).map_err(|error| wrong(&error, text, file))?;
        for entry in &card.entries {
            if entry.at_least.is_some() == entry.at_most.is_some() {
                return Err(ScorecardError::Target { file: file.to_owned(), id: entry.id.clone() });
            }
            let condition = entry.only_if.iter().chain(&entry.not_met_if).map(|condition| &condition.measure);
            let mut names = std::iter::once(&entry.measure).chain(condition).flat_map(Measure::names);
            let unknown = names.find(|name| !is_number(name)).or(entry.source.as_deref().filter(|name| !is_fact(name)));
            if let Some(fact) = unknown {
                let (file, id, fact) = (file.to_owned(), entry.id.clone(), fact.to_owned());
                return Err(ScorecardError::Fact { file, id, fact });
            }
        }
        Ok(card)
    }

    /// The ids of its entries, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.id.as_str())
    }

    /// Sets the target of an entry, a share, and says who set it; an id that there is not is left alone.
    pub fn set_target(&mut self, id: &str, target: f64, why: &str) {
        for entry in self.entries.iter_mut().filter(|entry| entry.id == id) {
            let bound = if entry.at_least.is_some() { &mut entry.at_least } else { &mut entry.at_most };
            *bound = Some(target);
            why.clone_into(&mut entry.why);
        }
    }

    /// Of a device; what a damaged file holds of it is held against no target.
    pub(super) fn of(&self, device: &Entity, is_damaged: bool) -> Vec<Score> {
        let is_long_enough = device.int("window_ns").is_none_or(|window| window >= self.least_window_ns);
        let ran_nothing = ["kernel_count", "graph_launch_count"].iter().all(|count| device.int(count) == Some(0));
        self.entries.iter().map(|entry| entry.score(device, is_long_enough && !ran_nothing && !is_damaged)).collect()
    }
}

impl Entry {
    fn score(&self, device: &Entity, is_judged: bool) -> Score {
        let holds =
            |condition: &Condition| condition.measure.share(device).is_some_and(|share| share >= condition.at_least);
        let matters = is_judged && self.only_if.iter().all(holds);
        let (is_floor, target) = match self.at_least {
            Some(target) => (true, target),
            None => (false, self.at_most.unwrap_or(1.0)),
        };
        let is_met = |share: f64| if is_floor { share >= target } else { share <= target };
        let is_doubted = self.not_met_if.iter().any(holds);
        let share = self.measure.share(device).filter(|share| matters && !(is_doubted && is_met(*share)));
        let source = self.source.as_ref().filter(|_| share.is_some()).and_then(|fact| device.text(fact));
        Score {
            id: self.id.clone(),
            title: self.title.clone(),
            share,
            is_floor,
            target,
            meets: share.map(is_met),
            source: source.map(str::to_owned),
            why: self.why.clone(),
        }
    }
}

impl Measure {
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Ratio { sum, less, of } => sum.iter().chain(less).chain([of]).map(String::as_str).collect(),
            Self::Fact { fact } => vec![fact],
        }
    }

    fn share(&self, device: &Entity) -> Option<f64> {
        match self {
            Self::Fact { fact } => device.number(fact),
            Self::Ratio { sum, less, of } => {
                let whole = device.number(of).filter(|whole| *whole > 0.0)?;
                let parts: Option<f64> = sum.iter().map(|name| device.number(name)).sum();
                let less: f64 = less.iter().filter_map(|name| device.number(name)).sum();
                Some((parts? - less).max(0.0) / whole)
            }
        }
    }
}

fn is_fact(name: &str) -> bool {
    catalogue::find(EntityKind::Device, name).is_some()
}

fn is_number(name: &str) -> bool {
    let fact = catalogue::find(EntityKind::Device, name);
    fact.is_some_and(|fact| matches!(fact.kind, FactType::Int | FactType::Float))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_something_else_doubts_meets_no_target() {
        let score = |share: i64, without_waits_ns: Option<i64>| {
            let mut device = Entity::new(EntityKind::Device, "gpu0".to_owned(), Vec::new());
            let facts = ["sync_run_ahead_ns", "blocking_copy_run_ahead_ns", "sync_late_ns"];
            facts.into_iter().for_each(|fact| device.set(fact, 0_i64));
            device.set("sync_run_ahead_ns", share * 10_000_000);
            device.set("window_ns", 1_000_000_000_i64);
            device.set("kernel_count", 100_i64);
            device.set("replay_step_ns", 1_000_000_i64);
            device.set_some("no_sync_expected_gain_ns", without_waits_ns);
            let card = Scorecard::parse(include_str!("../../templates/scorecard.toml"), "scorecard.toml").unwrap();
            card.of(&device, false).into_iter().find(|score| score.id == "idle_after_waits").unwrap().meets
        };
        assert_eq!([score(2, None), score(11, None), score(2, Some(99_999))], [Some(true), Some(false), Some(true)]);
        assert_eq!([score(2, Some(100_000)), score(11, Some(100_000))], [None, Some(false)]);
    }
}
