//! From a path to facts.

use std::path::{Path, PathBuf};

use coldspot::facts::{self, EntityKind, Facts, file};
use coldspot::ledger::Scope;
use coldspot::source::{self, Limits, Progress, ReadOptions, Recording};
use coldspot::text::escape;

use super::Reading;
use super::exit::{Exit, Failure};
use super::progress::Bar;

impl Reading {
    /// The facts of a report, as the options ask. `root` is the project's folder.
    pub(super) fn facts(&self, path: &Path, root: Option<PathBuf>) -> Result<Facts, Failure> {
        let mut limits = Limits::default();
        for (name, value) in &self.limits {
            limits.set(name, *value);
        }
        let options = ReadOptions { threads: self.threads.map(usize::from), nsys: self.nsys.clone(), limits, root };
        let scope = self.window.clone().or_else(|| self.range.clone()).unwrap_or_default();
        let facts = match file::is_facts_file(path) {
            true => self.facts_file(path)?,
            false => load_facts(path, &options, &scope, &Bar::new(self.quiet))?,
        };
        match self.device {
            Some(number) => only_device(&facts, number),
            None => Ok(facts),
        }
    }

    /// Facts saved earlier. Their window was chosen when they were.
    fn facts_file(&self, path: &Path) -> Result<Facts, Failure> {
        if self.window.is_some() || self.range.is_some() {
            let message = format!(
                "{}: is a facts file, whose window is fixed; give --window and --range when writing it with `coldspot facts`",
                path.display()
            );
            return Err(Failure::new(Exit::Usage, message));
        }
        file::read(path).map_err(|error| Failure::new(Exit::Report, error))
    }
}

fn load_facts(path: &Path, options: &ReadOptions, scope: &Scope, progress: &dyn Progress) -> Result<Facts, Failure> {
    let recording = source::read(path, options, progress);
    let recording = recording.map_err(|error| Failure::new(Exit::Report, escape::plain(&error.to_string())))?;
    let Recording::Timeline(timeline) = recording;
    facts::extract_with(&timeline, scope, options.threads).map_err(|error| {
        // Annotations are named in the message.
        Failure::new(Exit::Usage, format!("{}: {}", path.display(), escape::plain(&error.to_string())))
    })
}

/// The facts of one GPU, with the run and the processes.
fn only_device(facts: &Facts, number: i64) -> Result<Facts, Failure> {
    let numbers: Vec<i64> = facts.of_kind(EntityKind::Device).filter_map(|(_, device)| device.int("number")).collect();
    if !numbers.contains(&number) {
        let known: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let known = if known.is_empty() { "no GPU work".to_owned() } else { format!("GPU {}", known.join(", ")) };
        return Err(Failure::new(Exit::Usage, format!("--device {number}: the report holds {known}")));
    }
    Ok(facts.of_device(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_refused() {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "run", &[]);
        for number in [3, 5] {
            let device = facts.add(EntityKind::Device, format!("gpu{number}"), &[run]);
            facts.get_mut(device).set("number", number);
        }
        assert_eq!(only_device(&facts, 5).unwrap(), facts.of_device(5));
        let failure = only_device(&facts, 4).unwrap_err();
        assert_eq!((failure.exit, failure.message.as_str()), (Exit::Usage, "--device 4: the report holds GPU 3, 5"));
    }
}
