//! `coldspot.toml`: what a project decides about its reviews.
//!
//! Two stages, as for rules: [`ConfigFile`] holds what the file says, [`Config`] what of it holds against the rules and
//! the scorecard in use. All faults of the file are reported together, each with its line.

mod check;
mod raw;
mod sources;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::compare::Terms;
use crate::files::{read_inside, read_text};
use crate::findings::{Ignore, Policy, Scorecard, Sources};
use crate::gates::{Budgets, FailOn, Threshold};
use crate::limits::MAX_TEXT_FILE_BYTES;
use crate::rules::fault::{Fault, Faults, Log};
use crate::rules::outcome::Severity;
use crate::rules::schema::document;
use crate::rules::{Library, Params, RuleInfo};
use crate::text::date::Date;

use raw::RawConfig;

/// The name of the file that is looked for.
pub const FILE_NAME: &str = "coldspot.toml";

/// The nearest `coldspot.toml`: in the folder, or in one above it.
pub fn find(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|above| above.join(FILE_NAME)).find(|path| path.is_file())
}

/// The JSON Schema (draft 7, which TOML editors read) of `coldspot.toml`.
pub fn config_schema() -> String {
    document::<RawConfig>()
}

/// A file that has been read, but not held against rules yet.
#[derive(Debug)]
pub struct ConfigFile {
    /// The file, as messages name it.
    name: String,
    /// The folder that paths in the file are relative to.
    folder: PathBuf,
    source: String,
    raw: RawConfig,
    /// Keys that there are not: reported with all other faults.
    faults: Vec<Fault>,
}

/// What a project decides about its reviews, checked. Without a file: nothing.
#[derive(Debug, Clone, Default)]
pub struct Config {
    params: Params,
    severities: BTreeMap<String, Severity>,
    off: BTreeSet<String>,
    ignores: Vec<Ignore>,
    targets: BTreeMap<String, f64>,
    fail_on: Option<Threshold>,
    compare_fail_on: Option<FailOn>,
    terms: Terms,
    budgets: Budgets,
    sources: Sources,
}

impl ConfigFile {
    /// Reads a file that the user named.
    ///
    /// # Errors
    /// When it cannot be read, is no TOML, or has another shape than a `coldspot.toml`.
    pub fn read(path: &Path) -> Result<Self, Faults> {
        Self::of_text(path, read_text(path, MAX_TEXT_FILE_BYTES))
    }

    /// Reads a file that was found, and that a stranger's pull request may have brought: nothing in it leads out of its
    /// folder.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when the file or a folder that it names lies elsewhere.
    pub fn read_found(path: &Path) -> Result<Self, Faults> {
        let file = Self::of_text(path, read_inside(folder_of(path), path))?;
        let mut log = Log::new(&file.name, &file.source);
        for dir in file.raw.rules.dirs.iter().chain(&file.raw.templates) {
            if !file.is_inside(dir.get_ref()) {
                let message = format!(
                    "`{}` leads out of the folder of a coldspot.toml that was found, not named: name it with --config",
                    dir.get_ref()
                );
                log.at(dir.span(), message);
            }
        }
        Faults::check(log.faults)?;
        Ok(file)
    }

    fn of_text(path: &Path, text: io::Result<String>) -> Result<Self, Faults> {
        let name = path.display().to_string();
        let source = text.map_err(|error| {
            Faults::one(Fault { file: name.clone(), line: 1, message: format!("it cannot be read: {error}") })
        })?;
        Self::parse(name, folder_of(path), source)
    }

    /// Whether a path in the file leads to something in its folder, links and what is not there yet included.
    fn is_inside(&self, relative: &str) -> bool {
        let is_below =
            Path::new(relative).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let Ok(folder) = self.folder.canonicalize() else { return false };
        // From the folder on, up to what is not there: from the other end a long path would be asked about once for each of its parts.
        let mut path = self.folder.clone();
        let mut target = folder.clone();
        for part in Path::new(relative).components().filter(|_| is_below) {
            path.push(part);
            match path.canonicalize() {
                Ok(there) => target = there,
                Err(_) => break,
            }
        }
        is_below && target.starts_with(folder)
    }

    fn parse(name: String, folder: &Path, source: String) -> Result<Self, Faults> {
        let mut log = Log::new(&name, &source);
        let raw = raw::read(&mut log);
        let faults = log.faults;
        if let Some(raw) = raw {
            return Ok(Self { folder: folder.to_owned(), raw, faults, name, source });
        }
        // What could not be read has said why.
        Faults::check(faults).and_then(|()| {
            Err(Faults::one(Fault { file: name, line: 1, message: "it is no coldspot.toml".to_owned() }))
        })
    }

    /// The folders of rules that it names, those that there are.
    pub fn rule_dirs(&self) -> Vec<PathBuf> {
        self.raw.rules.dirs.iter().map(|dir| self.path(dir.get_ref())).filter(|dir| dir.is_dir()).collect()
    }

    /// Where a new rule goes: the first folder of rules that it names, whether or not it is there yet.
    pub fn first_rule_dir(&self) -> Option<PathBuf> {
        self.raw.rules.dirs.first().map(|dir| self.path(dir.get_ref()))
    }

    /// The folder of templates that it names, if there is one.
    pub fn templates(&self) -> Option<PathBuf> {
        self.raw.templates.as_ref().map(|dir| self.path(dir.get_ref())).filter(|dir| dir.is_dir())
    }

    /// Whether every file that kernels and ranges are mapped to is there. Reviews do without: they may run where the
    /// code is not.
    ///
    /// # Errors
    /// Those that are not, each with its line.
    pub fn check_sources(&self) -> Result<(), Faults> {
        let mut log = Log::new(&self.name, &self.source);
        for source in &self.raw.source {
            let name = source.file.get_ref();
            let (path, folder) = (self.path(name), self.folder.display());
            if path.is_dir() {
                log.at(source.file.span(), format!("`{name}` in {folder} is a folder: name a file"));
            } else if !path.is_file() {
                log.at(source.file.span(), format!("there is no file `{name}` in {folder}"));
            }
        }
        Faults::check(log.faults)
    }

    fn path(&self, relative: &str) -> PathBuf {
        // `.` would show in every message about a file in it.
        if self.folder == Path::new(".") { PathBuf::from(relative) } else { self.folder.join(relative) }
    }

    /// Holds the file against the rules and the scorecard in use. `today` decides which ignores have expired.
    ///
    /// # Errors
    /// All that is wrong with the file.
    pub fn check(&self, library: &Library, scorecard: &Scorecard, today: Date) -> Result<Config, Faults> {
        check::check(self, library, scorecard, today)
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Config {
    /// The thresholds that it sets.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The ids of the rules that it switches off.
    pub fn off(&self) -> &BTreeSet<String> {
        &self.off
    }

    /// The severity that it gives a rule; absent where it leaves the rule as it is.
    pub fn severity(&self, rule: &str) -> Option<Severity> {
        self.severities.get(rule).copied()
    }

    /// From which severity on a review fails; absent where it does not say.
    pub fn fail_on(&self) -> Option<Threshold> {
        self.fail_on
    }

    /// From which severity on a new or worse finding fails a comparison, and whether a slower head does; absent where it does
    /// not say.
    pub fn compare_fail_on(&self) -> Option<FailOn> {
        self.compare_fail_on
    }

    /// What counts as a change in a comparison, and as the same work.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// How far numbers may go.
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Gives rules the severities that it sets.
    pub fn set_severities(&self, rules: &mut [RuleInfo]) {
        for rule in rules {
            rule.set_severity = self.severity(&rule.id);
        }
    }

    /// Gives the scorecard the targets that it sets.
    pub fn set_targets(&self, scorecard: &mut Scorecard) {
        for (id, target) in &self.targets {
            scorecard.set_target(id, *target, "The target is the project's own, from its coldspot.toml.");
        }
    }

    /// What it sets aside and switches off, and where code comes from.
    pub fn policy(&self) -> Policy {
        Policy {
            ignores: self.ignores.clone(),
            rules_off: self.off.iter().cloned().collect(),
            sources: self.sources.clone(),
            ..Policy::default()
        }
    }
}
