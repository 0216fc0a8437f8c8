//! The way of the data goes in one direction: which stage may import which, and no files that import each other in a circle.
//!
//! Reads the `use` lines and `crate::…` paths of `engine/**/*.rs`, without tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

/// The modules of `engine/`, from the first to the last. A module may import from its own row and from those before it.
const ORDER: &[&[&str]] = &[
    &["limits", "files", "interrupt", "parallel"],
    &["text"],
    &["timeline"],
    // Reads a recording and fills the timeline, which does not know it.
    &["source"],
    &["ledger"],
    &["steps"],
    &["replay"],
    &["facts"],
    &["rules"],
    &["findings"],
    &["compare"],
    &["gates"],
    // Facts of many commits, one after the other.
    &["history"],
    // A review or a comparison, complete.
    &["report"],
    // What a project decided about all of the above.
    &["project"],
    &["render"],
    // The one façade: from files to a report.
    &["analysis"],
    &["forge"],
    &["cli", "main"],
];

/// Modules of which another one may use some names only: who, of whom, which. Facts say the format of the recording and how to
/// capture what it lacks; they know no reader.
const PARTS: &[(&str, &str, &[&str])] =
    &[("facts", "source", &["", "FORMAT_IDS", "Format", "KERNELS_FORMAT_ID", "can_record", "how_to_capture"])];

/// A name is passed on this many times at most.
const MOST_HOPS: usize = 8;

/// Where a file is in the library: the names of its modules.
type Place = Vec<String>;

struct File {
    place: Place,
    /// Paths that it names, from the root of the library.
    paths: BTreeSet<Vec<String>>,
    /// Names that it passes on from elsewhere: the name, and the whole path.
    exports: BTreeMap<String, Vec<String>>,
}

fn words(path: &str) -> Vec<String> {
    path.split("::").map(str::to_owned).collect()
}

/// `a::{b, c::{d as x, self}}` as `a::b`, `a::c::d`, `a::c`.
fn expand(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        return vec![path.trim_end_matches("::self").to_owned()];
    };
    let inside = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start, mut paths) = (0, 0, Vec::new());
    for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inside[start..at].trim();
                if !part.is_empty() {
                    paths.extend(expand(&format!("{head}{part}")));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    paths
}

/// A path as seen from the root of the library; none for one that is of another crate.
fn absolute(path: &str, place: &Place) -> Option<Vec<String>> {
    let path = words(path);
    let above = path.iter().take_while(|word| *word == "super").count();
    match path[0].as_str() {
        "crate" | "coldspot" => Some(path[1..].to_vec()),
        "self" => Some([&place[..], &path[1..]].concat()),
        "super" => Some([&place[..place.len().checked_sub(above)?], &path[above..]].concat()),
        _ => None,
    }
}

impl File {
    fn read(root: &Path, path: &Path) -> Self {
        let mut place: Place = path
            .strip_prefix(root)
            .unwrap()
            .with_extension("")
            .iter()
            .map(|part| part.to_str().unwrap().to_owned())
            .collect();
        if place.len() > 1 && place.last().is_some_and(|last| last == "mod") {
            place.pop();
        }
        let text = fs::read_to_string(path).unwrap();
        // Comments name what they like; tests stand at the end and may import from anywhere.
        let code: Vec<&str> = text.lines().take_while(|line| *line != "mod tests {").collect();
        let code: Vec<&str> = code.into_iter().filter(|line| !line.trim_start().starts_with("//")).collect();
        let mut file = Self { place, paths: BTreeSet::new(), exports: BTreeMap::new() };
        file.find(&code.join("\n"));
        file
    }

    fn find(&mut self, code: &str) {
        let statement = Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))? )?use ([^;]+);").unwrap();
        for found in statement.captures_iter(code) {
            let tree = found[2].split_whitespace().collect::<Vec<_>>().join(" ");
            for path in expand(&tree) {
                // A path without a beginning is one of a module below, where it is passed on.
                let below = [self.place.clone(), words(&path)].concat();
                let whole = absolute(&path, &self.place);
                if found.get(1).is_some() {
                    let name = path.rsplit("::").next().unwrap_or_default().to_owned();
                    self.exports.insert(name, whole.clone().unwrap_or(below));
                }
                self.paths.extend(whole);
            }
        }
        let inline = Regex::new(r"\b(?:crate|coldspot|super)(?:::\w+)+").unwrap();
        let rest = statement.replace_all(code, "");
        self.paths.extend(inline.find_iter(&rest).filter_map(|path| absolute(path.as_str(), &self.place)));
    }
}

/// All files, by their place.
fn files() -> BTreeMap<Place, File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("engine");
    let (mut folders, mut files) = (vec![root.clone()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
                let file = File::read(&root, &path);
                files.insert(file.place.clone(), file);
            }
        }
    }
    assert!(files.len() > 50, "{} files", files.len());
    files
}

/// The file that a path leads to: the longest part of it that is one, followed through what modules pass on.
fn target(files: &BTreeMap<Place, File>, path: &[String], hops: usize) -> Option<Place> {
    let length = (1..=path.len()).rev().find(|length| files.contains_key(&path[..*length]))?;
    let file = &files[&path[..length]];
    let passed_on =
        path.get(length).and_then(|name| file.exports.get(name)).filter(|to| hops > 0 && to[..] != path[..]);
    match passed_on {
        Some(to) => {
            let to = [&to[..], &path[length + 1..]].concat();
            target(files, &to, hops - 1).or_else(|| Some(file.place.clone()))
        }
        None => Some(file.place.clone()),
    }
}

/// Who imports whom: files, without those that a file only contains.
fn imports(files: &BTreeMap<Place, File>) -> BTreeMap<Place, BTreeSet<Place>> {
    let of = |file: &File| {
        let targets = file.paths.iter().filter_map(|path| target(files, path, MOST_HOPS));
        targets.filter(|to| !to.starts_with(&file.place) && !file.place.starts_with(to)).collect()
    };
    files.values().map(|file| (file.place.clone(), of(file))).collect()
}

fn row(module: &str) -> Option<usize> {
    ORDER.iter().position(|row| row.contains(&module))
}

#[test]
fn no_stage_imports_from_a_later_one() {
    let files = files();
    let mut wrong = BTreeSet::new();
    for file in files.values() {
        let from = file.place[0].as_str();
        // The table of contents.
        if from == "lib" {
            continue;
        }
        let Some(own) = row(from) else {
            wrong.insert(format!("{from} stands in no row of ORDER"));
            continue;
        };
        for path in file.paths.iter().filter(|path| files.keys().any(|place| place[0] == path[0])) {
            let to = path[0].as_str();
            if row(to).is_some_and(|other| other > own) {
                wrong.insert(format!("{} imports {}, which is later", file.place.join("::"), path.join("::")));
            }
            let part = PARTS.iter().find(|(who, whose, _)| (*who, *whose) == (from, to));
            let name = path.get(1).map_or("", String::as_str);
            if part.is_some_and(|(_, _, parts)| !parts.contains(&name)) {
                wrong.insert(format!("{} imports {}, which is not for it", file.place.join("::"), path.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong imports:\n{}", wrong.len(), Vec::from_iter(wrong).join("\n"));
    let absent: Vec<_> =
        ORDER.iter().copied().flatten().filter(|name| !files.keys().any(|place| place[0] == **name)).collect();
    assert!(absent.is_empty(), "these rows of ORDER are empty: {absent:?}");
}

/// Files that import each other in a circle, one list a circle.
fn circles() -> BTreeSet<Vec<Place>> {
    let imports = imports(&files());
    let mut circles = BTreeSet::new();
    for start in imports.keys() {
        // Everything that can be reached, with the file from which it was.
        let (mut came_from, mut rest) = (BTreeMap::<&Place, &Place>::new(), vec![start]);
        while let Some(place) = rest.pop() {
            for to in &imports[place] {
                if !came_from.contains_key(to) {
                    came_from.insert(to, place);
                    rest.push(to);
                }
            }
        }
        if came_from.contains_key(start) {
            let (mut circle, mut at) = (vec![start.clone()], came_from[start]);
            while at != start {
                circle.push(at.clone());
                at = came_from[at];
            }
            circle.sort();
            circles.insert(circle);
        }
    }
    circles
}

fn listed(circles: &[&Vec<Place>]) -> String {
    let names = |circle: &&Vec<Place>| circle.iter().map(|place| place.join("::")).collect::<Vec<_>>().join(", ");
    circles.iter().map(names).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_files_of_different_folders_import_each_other_in_a_circle() {
    let circles = circles();
    let folder = |place: &Place| place[..place.len() - 1].to_vec();
    let wrong: Vec<_> =
        circles.iter().filter(|circle| circle.iter().any(|place| folder(place) != folder(&circle[0]))).collect();
    assert!(wrong.is_empty(), "{} circles:\n{}", wrong.len(), listed(&wrong));
}

#[test]
fn no_files_of_one_folder_import_each_other_in_a_circle() {
    let circles = circles();
    assert!(circles.is_empty(), "{} circles:\n{}", circles.len(), listed(&circles.iter().collect::<Vec<_>>()));
}

/// What tests use by way of `support` only, so that all of them run alike.
const ONLY_IN_SUPPORT: [&str; 4] = ["tempfile::tempdir(", "TempDir::new()", "cargo_bin", "CARGO_BIN_EXE"];

#[test]
fn tests_write_in_one_place_and_start_the_program_in_one_way() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with("support") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("architecture.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let found = ONLY_IN_SUPPORT.iter().find(|name| text.contains(**name));
                assert_eq!(found, None, "{}: support/temp.rs and support/cli.rs have this", path.display());
            }
        }
    }
}

#[test]
fn use_lines_are_read_as_rust_reads_them() {
    assert_eq!(expand("a::{b, c::{d as x, self}}"), ["a::b", "a::c::d", "a::c"]);
    let place = words("facts::extract::idle");
    assert_eq!(absolute("super::device::Tally", &place), Some(words("facts::extract::device::Tally")));
    assert_eq!(absolute("super::super::store::Facts", &place), Some(words("facts::store::Facts")));
    assert_eq!(absolute("crate::ledger::Scope", &place), Some(words("ledger::Scope")));
    assert_eq!(absolute("std::fmt", &place), None);
    let mut file = File { place: words("a"), paths: BTreeSet::new(), exports: BTreeMap::new() };
    file.find("pub(crate) use b::{C, D};\nuse crate::e::F;\nfn g() { crate::h::i(); }\n");
    assert_eq!(file.paths, BTreeSet::from([words("e::F"), words("h::i")]));
    assert_eq!(file.exports["C"], words("a::b::C"));
}
