//! The rules in use: those that the binary holds, and folders of the user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
#[cfg(test)]
use std::sync::Arc;

use crate::files::read_inside;
use crate::limits::{
    MAX_FAULT_COUNT, MAX_RULE_BYTES, MAX_RULE_COUNT, MAX_RULE_FOLDER_ENTRY_COUNT, MAX_RULES_BYTES,
    MAX_RULES_PIECE_COUNT,
};
use crate::parallel::{self, Threads};

use super::check::{Header, RulePath, check, relations};
use super::depth::Depth;
use super::fault::{Fault, Faults, Log};
use super::print::Printers;
use super::raw;
use super::rule::{Rule, RuleInfo};

/// The built-in rule files, `rules/<category>/<id>.toml`, and what they say.
const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/builtin_rules.rs"));

/// A project's configuration may lie among its rules.
const CONFIG: &str = "coldspot.toml";

/// What is wrong with folders that hold more than rules can be.
fn too_much() -> String {
    format!(
        "folders of rules hold too much together: at most {MAX_RULE_COUNT} rules, {} MiB of them and \
         {MAX_RULE_FOLDER_ENTRY_COUNT} files and folders",
        MAX_RULES_BYTES >> 20
    )
}

/// Rules that know of each other, by id.
#[derive(Debug)]
pub struct Library {
    rules: Vec<Rule>,
    printers: Printers,
}

/// One rule file.
#[derive(Debug, Clone)]
struct RuleFile {
    /// As messages name it.
    name: String,
    /// Where it lies on the disk, without links; absent for a built-in one.
    on_disk: Option<PathBuf>,
    path: RulePath,
    source: String,
    replaces_builtin: bool,
    /// Whether it is of the user's folders.
    is_own: bool,
}

impl RuleFile {
    /// One that the binary holds.
    fn builtin(name: &str, source: &str) -> Self {
        Self {
            name: name.to_owned(),
            on_disk: None,
            path: rule_path(Path::new(name)),
            source: source.to_owned(),
            replaces_builtin: false,
            is_own: false,
        }
    }
}

/// How the tests of a rule begin, which are the last that it holds.
const TESTS: &str = "\n[[tests]]";

/// What one rule file gives.
struct Read {
    header: Option<Header>,
    rule: Option<Rule>,
    faults: Vec<Fault>,
}

impl Read {
    fn new(file: &RuleFile, depth: Depth) -> Self {
        let depth = if file.is_own { Depth::Whole } else { depth };
        let tests = file.source.find(TESTS).filter(|_| depth == Depth::Judging);
        let mut log = Log::new(&file.name, tests.map_or(&file.source, |tests| &file.source[..tests]));
        let raw = raw::read(&mut log);
        let header = raw.as_ref().map(|raw| Header::new(raw, &file.name, |span| log.line(span)));
        let rule = raw.and_then(|raw| check(&raw, &file.path, depth, &mut log)).map(|rule| Rule {
            info: RuleInfo { is_own: file.is_own, ..rule.info },
            replaces_builtin: file.replaces_builtin,
            source: file.source.clone(),
            ..rule
        });
        Self { header, rule, faults: log.faults }
    }
}

impl Library {
    /// The built-in rules alone.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn builtin() -> Result<Self, Faults> {
        Self::with_dirs(&[], Depth::Whole)
    }

    /// The built-in rules and those in the folders, however deep. A rule of a folder replaces the built-in one of the same
    /// id, and keeps its category; two rules of folders never have one id.
    ///
    /// # Errors
    /// All that is wrong with all files: folders that cannot be read, and what the check of the language finds.
    pub fn with_dirs(dirs: &[PathBuf], depth: Depth) -> Result<Self, Faults> {
        let builtin = BUILTIN.iter().map(|(name, source)| RuleFile::builtin(name, source)).collect();
        let mut own = Folders::default();
        dirs.iter().for_each(|dir| own.read(dir));
        Self::load(builtin, own, depth)
    }

    /// The rules, by id.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What the rules say of themselves, by their index.
    pub fn infos(&self) -> Vec<RuleInfo> {
        self.rules.iter().map(|rule| rule.info().clone()).collect()
    }

    /// The rule with this id.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id() == id)
    }

    /// The library without some rules. Relations to them lead nowhere then.
    #[must_use]
    pub fn without(mut self, ids: &BTreeSet<String>) -> Self {
        self.rules.retain(|rule| !ids.contains(rule.id()));
        self
    }

    pub(super) fn printers(&self) -> &Printers {
        &self.printers
    }

    /// A library of one rule whose relations lead nowhere.
    #[cfg(test)]
    pub(super) fn single(rule: Rule) -> Self {
        let rules = vec![rule];
        Self { printers: Printers::new(&rules), rules }
    }

    fn refused(faults: Vec<Fault>) -> Result<Self, Faults> {
        Faults::check(faults).map(|()| Self { rules: Vec::new(), printers: Printers::new(&[]) })
    }

    fn load(builtin: Vec<RuleFile>, own: Folders, depth: Depth) -> Result<Self, Faults> {
        let mut faults = own.faults;
        let mut files = by_id(builtin, &mut faults);
        for (id, mut file) in by_id(own.files, &mut faults) {
            if let Some(replaced) = files.remove(&id) {
                file.path.category = replaced.path.category;
                file.replaces_builtin = true;
            }
            files.insert(id, file);
        }
        let ids: BTreeSet<String> = files.keys().cloned().collect();
        let files: Vec<&RuleFile> = files.values().collect();
        let (mut rules, mut headers) = (Vec::new(), Vec::new());
        for some in files.chunks(FILES_AT_ONCE) {
            for read in parallel::map(Threads::new(None), some.iter().copied(), |file| Read::new(file, depth)) {
                headers.extend(read.header);
                rules.extend(read.rule);
                faults.extend(read.faults);
            }
            let last_own = rules.iter().rfind(|rule: &&Rule| rule.info().is_own).or_else(|| rules.last());
            if let Some(last) = last_own.filter(|_| piece_count(&rules) > MAX_RULES_PIECE_COUNT) {
                faults.push(Fault { file: last.file.clone(), line: 1, message: too_many_pieces() });
                return Self::refused(faults);
            }
            // Nobody reads more of them.
            if faults.len() >= MAX_FAULT_COUNT {
                return Self::refused(faults);
            }
        }
        faults.extend(relations(&headers, &ids));
        Faults::check(faults)?;
        Ok(Self { printers: Printers::new(&rules), rules })
    }
}

/// Expressions and texts.
fn piece_count(rules: &[Rule]) -> usize {
    rules.iter().map(|rule| rule.code.piece_count()).sum()
}

fn too_many_pieces() -> String {
    format!("the rules up to this one hold more than {MAX_RULES_PIECE_COUNT} expressions and texts: name fewer folders")
}

/// How many files are read before their faults are counted.
const FILES_AT_ONCE: usize = 32;

/// Files by the id in their name, of which each has its own. A file that two folders lead to is one.
fn by_id(files: Vec<RuleFile>, faults: &mut Vec<Fault>) -> BTreeMap<String, RuleFile> {
    let mut by_id: BTreeMap<String, RuleFile> = BTreeMap::new();
    for file in files {
        match by_id.get(&file.path.stem) {
            Some(first) if first.on_disk.is_some() && first.on_disk == file.on_disk => {}
            Some(first) => {
                let message = format!("`{}` has the same id: ids are unique", first.name);
                faults.push(Fault { file: file.name, line: 1, message });
            }
            None => {
                by_id.insert(file.path.stem.clone(), file);
            }
        }
    }
    by_id
}

/// The category is the folder's name, the id the file's.
pub(super) fn rule_path(path: &Path) -> RulePath {
    let word =
        |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
    RulePath { category: word(path.parent().and_then(Path::file_name)), stem: word(path.file_stem()) }
}

/// The rule files of some folders, by path.
#[derive(Default)]
struct Folders {
    files: Vec<RuleFile>,
    faults: Vec<Fault>,
    entry_count: usize,
    bytes: usize,
}

impl Folders {
    /// A folder without any is a fault: it was named for a reason.
    fn read(&mut self, dir: &Path) {
        let before = (self.files.len(), self.faults.len());
        // Made absolute, so that `.` has a name to serve as category.
        let root = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        self.collect(&root, &root, dir);
        if (self.files.len(), self.faults.len()) == before {
            self.fault(dir, "it holds no rule: a rule is a file that ends in .toml");
        }
    }

    fn collect(&mut self, root: &Path, folder: &Path, shown: &Path) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.fault(shown, &format!("it cannot be read as a folder of rules: {error}")),
        };
        // One more than fit, to know that they do not.
        let left = MAX_RULE_FOLDER_ENTRY_COUNT.saturating_sub(self.entry_count) + 1;
        let mut paths: Vec<_> = entries.flatten().take(left).map(|entry| entry.path()).collect();
        paths.sort();
        self.entry_count += paths.len();
        for path in paths {
            if self.is_over() {
                return self.fault(shown, &too_much());
            }
            let shown = shown.join(path.file_name().unwrap_or_default());
            // A linked folder may lead back here.
            if path.is_dir() && !path.is_symlink() {
                self.collect(root, &path, &shown);
            } else if path.extension().is_some_and(|extension| extension == "toml") && !path.ends_with(CONFIG) {
                self.add(root, &path, &shown);
            }
        }
    }

    fn add(&mut self, root: &Path, path: &Path, shown: &Path) {
        match read_inside(root, path) {
            Ok(source) if source.len() > MAX_RULE_BYTES => {
                self.fault(shown, &format!("it is longer than {} KiB, which no rule is", MAX_RULE_BYTES >> 10));
            }
            Ok(source) => {
                self.bytes += source.len();
                self.files.push(RuleFile {
                    name: shown.display().to_string(),
                    on_disk: path.canonicalize().ok(),
                    path: rule_path(path),
                    source,
                    replaces_builtin: false,
                    is_own: true,
                });
            }
            Err(error) => self.fault(shown, &format!("it cannot be read: {error}")),
        }
    }

    const fn is_over(&self) -> bool {
        let is_too_long = self.files.len() > MAX_RULE_COUNT || self.bytes > MAX_RULES_BYTES;
        is_too_long || self.entry_count > MAX_RULE_FOLDER_ENTRY_COUNT
    }

    /// No more than anybody reads. Where it is too much, the folders around it would say so, too.
    fn fault(&mut self, path: &Path, message: &str) {
        let is_said = self.faults.last().is_some_and(|last| last.message == too_much());
        if self.faults.len() < MAX_FAULT_COUNT && !is_said {
            self.faults.push(unreadable(path, message));
        }
    }
}

fn unreadable(path: &Path, message: &str) -> Fault {
    Fault { file: path.display().to_string(), line: 1, message: message.to_owned() }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What is left out for judging decides nothing.
    #[test]
    fn built_in_rules_judge_alike_however_deep_they_are_read() {
        let read = |depth| Library::with_dirs(&[], depth).unwrap().rules;
        let (whole, judging) = (read(Depth::Whole), read(Depth::Judging));
        assert_eq!(whole.len(), judging.len());
        for (mut whole, judging) in whole.into_iter().zip(judging) {
            assert!(!std::mem::take(&mut whole.tests).is_empty() && judging.tests.is_empty(), "{}", judging.id());
            whole.code.example = Arc::default();
            assert_eq!(format!("{whole:?}"), format!("{judging:?}"));
        }
    }

    #[test]
    fn rules_hold_so_many_expressions_and_texts_together() {
        let folder = tempfile::tempdir().unwrap();
        let skeleton = crate::rules::skeleton("a-rule").unwrap();
        let when = "[[when]]\nexpr = \"kernel.launch_count > 0\"\nsays = \"a\"\n".repeat(190);
        for number in 0..40 {
            let rule = skeleton.replace("a-rule", &format!("a-rule-{number}")).replacen(
                "[[when]]",
                &format!("{when}[[when]]"),
                1,
            );
            fs::write(folder.path().join(format!("a-rule-{number}.toml")), rule).unwrap();
        }
        let faults = Library::with_dirs(&[folder.path().to_owned()], Depth::Judging).unwrap_err().to_string();
        assert!(faults.contains("expressions and texts"), "{faults:.300}");
        fs::write(folder.path().join("long.toml"), "#".repeat(MAX_RULE_BYTES + 1)).unwrap();
        let faults = Library::with_dirs(&[folder.path().to_owned()], Depth::Judging).unwrap_err().to_string();
        assert!(faults.contains("long.toml:1: it is longer than 256 KiB"), "{faults:.300}");
    }

    /// Loads rule files given as text.
    pub(in crate::rules) fn load(sources: &[(&str, &str)]) -> Result<Library, Faults> {
        let files = sources.iter().map(|(name, source)| RuleFile::builtin(name, source));
        Library::load(files.collect(), Folders::default(), Depth::Whole)
    }
}
