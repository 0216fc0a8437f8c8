//! Support for the integration tests: small reports made from scenario files, damaged ones, and an independent reckoning.

pub mod analysis;
pub mod bombs;
pub mod btree;
pub mod cli;
pub mod damage;
pub mod export;
pub mod facts_files;
pub mod forge;
pub mod formats;
pub mod heavy;
pub mod heavy_gpus;
pub mod heavy_names;
pub mod heavy_threads;
pub mod heavy_traces;
pub mod hostile;
pub mod independent;
pub mod kernels;
pub mod language;
pub mod mutate;
pub mod mutate_pages;
pub mod mutate_text;
pub mod packed;
#[cfg(unix)]
pub mod program;
pub mod project;
pub mod recording;
mod simulate;
pub mod temp;
pub mod trace;
pub mod watch;

use std::ops::Deref;
use std::path::{Path, PathBuf};

pub use export::SchemaVersion;
use tempfile::TempDir;

/// Stands in every fixture for what must never be read: environment, command line, program output.
pub const CANARY: &str = "CANARY_TOKEN=never-show-this";

/// The reports that are kept in `fixtures/`: file stem, scenario, schema.
pub const KEPT: [(&str, &str, SchemaVersion); 4] = [
    ("training-step", "training-step", SchemaVersion::Nsys2025),
    ("tiny-kernels", "tiny-kernels", SchemaVersion::Nsys2025),
    ("healthy", "busy-under-waits", SchemaVersion::Nsys2025),
    ("pageable-copies-2021", "pageable-copies", SchemaVersion::Nsys2021),
];

/// A timeline, as read from `fixtures/scenarios/NAME.toml` and simulated.
pub struct Scenario {
    pub script: language::Script,
    pub recording: recording::Recording,
}

impl Scenario {
    /// Reads a scenario from TOML text, for a test that has a timeline of its own.
    pub fn parse(text: &str) -> Self {
        let script: language::Script = toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
        let recording = simulate::run(&script);
        Self { script, recording }
    }

    /// Writes it as an export; what is at `path` is replaced.
    pub fn write(&self, version: SchemaVersion, path: &Path) {
        if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
        export::write(&self.script, &self.recording, version, path);
    }
}

/// The scenario of that name. It panics with the reason when the file is not there or is wrong.
pub fn scenario(name: &str) -> Scenario {
    let path = fixtures().join("scenarios").join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Scenario::parse(&text)
}

/// The names of all scenarios, in order.
pub fn scenario_names() -> Vec<String> {
    let entries = std::fs::read_dir(fixtures().join("scenarios")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let mut names: Vec<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
    names.sort();
    names
}

/// A report in a folder of its own, which goes when this goes.
pub struct Fixture {
    path: PathBuf,
    _folder: TempDir,
}

impl Deref for Fixture {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Fixture {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<std::ffi::OsStr> for Fixture {
    fn as_ref(&self) -> &std::ffi::OsStr {
        self.path.as_os_str()
    }
}

/// The scenario of that name as an export.
pub fn fixture(name: &str, version: SchemaVersion) -> Fixture {
    let folder = temp::folder();
    let path = folder.path().join(format!("{name}.sqlite"));
    scenario(name).write(version, &path);
    Fixture { path, _folder: folder }
}

/// The folder `fixtures`.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The optional folder of sample reports beside the repository, or above it. Where it is not there, that is said; with
/// `COLDSPOT_CORPUS=required` it is a failure.
pub fn sample_reports() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.ancestors().skip(1).take(2).map(|up| up.join("shared/reports")).find(|path| path.is_dir());
    let is_required = std::env::var("COLDSPOT_CORPUS").is_ok_and(|value| value == "required");
    assert!(folder.is_some() || !is_required, "COLDSPOT_CORPUS=required, but there is no folder of sample reports");
    if folder.is_none() {
        println!("SKIPPED: there is no folder of sample reports");
    }
    folder
}
