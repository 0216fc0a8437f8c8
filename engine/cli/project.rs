//! What a project decides: its `coldspot.toml`, with the rules and templates that it names.

use std::env;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use coldspot::project::{self, Config, ConfigFile};
use coldspot::render::Templates;
use coldspot::rules::Library;
use coldspot::text::date::Date;

use super::exit::{Exit, Failure};

/// The day to take for today, as `2026-12-31`: for tests of what expires.
const TODAY: &str = "COLDSPOT_TODAY";

/// Which `coldspot.toml`.
#[derive(Debug, Default, Args)]
pub(super) struct Project {
    /// The configuration; by default the nearest coldspot.toml in the working directory or above it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use no configuration.
    #[arg(long, conflicts_with = "config")]
    no_config: bool,
}

/// Rules, templates and decisions of one run.
pub(super) struct Setup {
    pub(super) library: Library,
    pub(super) templates: Templates,
    pub(super) config: Config,
}

impl Project {
    /// The file, if there is one.
    pub(super) fn file(&self) -> Result<Option<(PathBuf, ConfigFile)>, Failure> {
        let Some(path) = self.path() else { return Ok(None) };
        let file = ConfigFile::read(&path).map_err(|faults| Failure::new(Exit::Usage, faults))?;
        Ok(Some((path, file)))
    }

    /// What paths of the project are relative to: the folder of its file, else the working directory. Everything lies below
    /// `/`, and much that is private below a home: without a file there neither is a project.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        let file = self.path().and_then(|path| path.canonicalize().ok());
        let home = env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
        let is_project = |folder: &PathBuf| folder.parent().is_some() && Some(folder) != home.as_ref();
        let here = || env::current_dir().ok().filter(is_project);
        file.as_deref().and_then(Path::parent).map(Path::to_owned).or_else(here)
    }

    /// The way to the project's folder from the top of its git checkout, which forges read paths from; empty where the
    /// folder is the top, or in no checkout.
    pub(super) fn way_from_top(&self) -> Vec<String> {
        let Some(folder) = self.folder() else { return Vec::new() };
        let Some(top) = folder.ancestors().find(|above| above.join(".git").exists()) else { return Vec::new() };
        let way = folder.strip_prefix(top).unwrap_or(Path::new(""));
        way.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    }

    fn path(&self) -> Option<PathBuf> {
        match &self.config {
            Some(path) => Some(path.clone()),
            None if self.no_config => None,
            None => nearest(),
        }
    }

    /// Loads rules and templates: the built-in ones, those that the file names, those that the command line names.
    pub(super) fn setup(&self, rules: &[PathBuf], templates: Option<&Path>) -> Result<Setup, Failure> {
        let file = self.file()?.map(|(_, file)| file);
        let own = file.as_ref().and_then(ConfigFile::templates);
        let templates =
            Templates::load(templates.or(own.as_deref())).map_err(|error| Failure::new(Exit::Rules, error))?;
        let mut dirs = file.as_ref().map(ConfigFile::rule_dirs).unwrap_or_default();
        for dir in rules {
            // A folder in one that is named already is not read again: its faults would show twice.
            if !dirs.iter().any(|known| is_within(dir, known)) {
                dirs.push(dir.clone());
            }
        }
        let library = Library::with_dirs(&dirs).map_err(|faults| Failure::new(Exit::Rules, faults))?;
        let today = today()?;
        let config = match file {
            Some(file) => file
                .check(&library, templates.scorecard(), today)
                .map_err(|faults| Failure::new(Exit::Usage, faults))?,
            None => Config::default(),
        };
        Ok(Setup { library, templates, config })
    }
}

/// The nearest file, named from the working directory where it lies in it.
fn nearest() -> Option<PathBuf> {
    let folder = env::current_dir().ok()?;
    let found = project::find(&folder)?;
    Some(found.strip_prefix(&folder).map(Path::to_owned).unwrap_or(found))
}

/// Whether a path is the folder or lies in it.
pub(super) fn is_within(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

fn today() -> Result<Date, Failure> {
    let Some(text) = env::var_os(TODAY) else { return Ok(Date::of(SystemTime::now())) };
    let text = text.to_string_lossy();
    Date::parse(&text).ok_or_else(|| Failure::new(Exit::Usage, format!("{TODAY}={text}: write a day, as 2026-12-31")))
}
