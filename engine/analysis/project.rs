//! What a project decides, loaded: its `coldspot.toml`, with the rules and templates that it names.

use std::env;
use std::path::{Path, PathBuf};

use super::AnalysisError;
use crate::parallel::{self, Threads};
use crate::project::{self, Config, ConfigFile};
use crate::render::Templates;
use crate::rules::{Depth, Faults, Library};
use crate::text::date::Date;

/// Which `coldspot.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Configuration {
    /// The nearest in the working directory or above it.
    #[default]
    Nearest,
    /// This file.
    File(PathBuf),
    /// Without one.
    None,
}

/// Rules, templates and decisions.
#[derive(Debug)]
pub struct Project {
    /// The built-in rules, those that the project names, and those of the caller; switched-off ones among them.
    pub library: Library,
    /// The templates in use.
    pub templates: Templates,
    /// What the project decided.
    pub config: Config,
    pub(super) folder: Option<PathBuf>,
    pub(super) folders_from_top: Vec<String>,
}

impl Configuration {
    /// The file with its path, if there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self) -> Result<Option<(PathBuf, ConfigFile)>, Faults> {
        let Some(path) = self.path() else { return Ok(None) };
        let file = match self {
            Self::Nearest => ConfigFile::read_found(&path)?,
            _ => ConfigFile::read(&path)?,
        };
        Ok(Some((path, file)))
    }

    /// What paths of the project are relative to: the folder of its file, else the working directory. Everything lies below
    /// `/`, and much that is private below a home: without a file there neither is a project.
    pub fn folder(&self) -> Option<PathBuf> {
        let file = self.path().and_then(|path| path.canonicalize().ok());
        let home = env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
        let is_project = |folder: &PathBuf| folder.parent().is_some() && Some(folder) != home.as_ref();
        let here = || env::current_dir().ok().filter(is_project);
        file.as_deref().and_then(Path::parent).map(Path::to_owned).or_else(here)
    }

    /// The folders that lead from the top of the git checkout, which forges read paths from, to the project's; empty where
    /// that is the top, or in no checkout.
    fn folders_from_top(&self) -> Vec<String> {
        let Some(folder) = self.folder() else { return Vec::new() };
        let Some(top) = folder.ancestors().find(|above| above.join(".git").exists()) else { return Vec::new() };
        let below = folder.strip_prefix(top).unwrap_or(Path::new(""));
        below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    }

    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::File(path) => Some(path.clone()),
            Self::None => None,
            Self::Nearest => nearest(),
        }
    }
}

/// The nearest file, named from the working directory where it lies in it.
fn nearest() -> Option<PathBuf> {
    let folder = env::current_dir().ok()?;
    let found = project::find(&folder)?;
    Some(found.strip_prefix(&folder).map(Path::to_owned).unwrap_or(found))
}

impl Project {
    /// Loads rules and templates: the built-in ones, those that the configuration names, those of the caller. `today`
    /// decides which ignores have expired, `depth` how much of the built-in rules is read.
    ///
    /// # Errors
    /// What is wrong with them: faults come before a report is read, which may take minutes.
    pub fn load(
        configuration: &Configuration,
        rules: &[PathBuf],
        templates: Option<&Path>,
        (today, depth): (Date, Depth),
    ) -> Result<Self, AnalysisError> {
        let file = configuration.read().map_err(AnalysisError::Configuration)?.map(|(_, file)| file);
        let own = file.as_ref().and_then(ConfigFile::templates);
        let mut dirs = file.as_ref().map(ConfigFile::rule_dirs).unwrap_or_default();
        for dir in rules {
            // A folder in one that is named already is not read again: its faults would show twice.
            if !dirs.iter().any(|known| is_within(dir, known)) {
                dirs.push(dir.clone());
            }
        }
        let templates = || Templates::load(templates.or(own.as_deref()));
        let (templates, library) = parallel::both(Threads::new(None), templates, || Library::with_dirs(&dirs, depth));
        let (templates, library) = (templates?, library.map_err(AnalysisError::Rules)?);
        let config = match file {
            Some(file) => file.check(&library, templates.scorecard(), today).map_err(AnalysisError::Configuration)?,
            None => Config::default(),
        };
        let (folder, folders_from_top) = (configuration.folder(), configuration.folders_from_top());
        Ok(Self { library, templates, config, folder, folders_from_top })
    }

    /// The built-in rules and templates, without a project.
    ///
    /// # Errors
    /// None, unless coldspot itself is wrong.
    pub fn builtin() -> Result<Self, AnalysisError> {
        let (library, templates) = (Library::builtin().map_err(AnalysisError::Rules)?, Templates::load(None)?);
        let config = Config::default();
        Ok(Self { library, templates, config, folder: None, folders_from_top: Vec::new() })
    }
}

/// Whether a path is the folder or lies in it.
pub fn is_within(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}
