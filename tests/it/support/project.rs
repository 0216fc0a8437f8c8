//! A checkout of a user's project, to run the program in.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::assert::Assert;
use serde_json::Value;
use tempfile::TempDir;

use super::cli::{self, Printed};
use super::{fixtures, temp};

/// The day on which every command runs.
pub const TODAY: &str = "2026-06-15";

/// A folder with a report, `run.sqlite`. It is the top of a git checkout.
pub struct Project(TempDir);

impl Project {
    /// Without a report.
    pub fn empty() -> Self {
        let project = Self(temp::folder());
        fs::create_dir(project.path().join(".git")).unwrap();
        project
    }

    /// With the report of a training run.
    pub fn new() -> Self {
        let project = Self::empty();
        project.copy("training-step.sqlite", "run.sqlite");
        project
    }

    /// The same, with a coldspot.toml.
    pub fn with(config: &str) -> Self {
        let project = Self::new();
        project.write("coldspot.toml", config);
        project
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, with the folders above it.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Reads a file as JSON.
    pub fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.file(name)).unwrap()).unwrap()
    }

    /// Copies a kept report.
    pub fn copy(&self, fixture: &str, name: &str) {
        let bytes = fs::read(fixtures().join(fixture)).unwrap();
        self.write(name, bytes);
    }

    /// Runs the program in the project's folder.
    pub fn coldspot(&self, arguments: &[&str]) -> Assert {
        self.coldspot_from("", arguments)
    }

    /// Runs the program in a folder of the project.
    pub fn coldspot_from(&self, folder: &str, arguments: &[&str]) -> Assert {
        cli::run(cli::command(&self.file(folder)).env("COLDSPOT_TODAY", TODAY).args(arguments))
    }

    /// Reviews the report with more arguments.
    pub fn review(&self, more: &[&str]) -> Assert {
        self.coldspot(&[&["review", "run.sqlite"], more].concat())
    }

    /// The review as JSON.
    pub fn review_json(&self, more: &[&str]) -> Value {
        self.review(&[more, &["--format", "json"]].concat()).json()
    }

    /// The facts of the report.
    pub fn facts(&self) -> Value {
        self.coldspot(&["facts", "run.sqlite", "--format", "json"]).success().json()
    }

    /// The lines that a command prints of a rule.
    pub fn lines_of(&self, rule: &str, arguments: &[&str]) -> Vec<String> {
        let end = format!("[{rule}]");
        self.coldspot(arguments).out().lines().filter(|line| line.ends_with(&end)).map(str::to_owned).collect()
    }
}
