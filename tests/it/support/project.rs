//! A folder to run the program in.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use tempfile::TempDir;

use super::fixtures;

/// A folder with the report of a training run, `run.sqlite`.
pub struct Project(TempDir);

impl Project {
    pub fn new() -> Self {
        let project = Self(TempDir::new().unwrap());
        fs::copy(fixtures().join("training-step.sqlite"), project.path().join("run.sqlite")).unwrap();
        project
    }

    /// With a coldspot.toml.
    pub fn with(config: &str) -> Self {
        let project = Self::new();
        fs::write(project.path().join("coldspot.toml"), config).unwrap();
        project
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn coldspot(&self, arguments: &[&str]) -> Assert {
        Command::cargo_bin("coldspot").unwrap().current_dir(self.path()).env_remove("CI").args(arguments).assert()
    }
}
