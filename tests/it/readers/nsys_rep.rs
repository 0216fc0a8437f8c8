//! Reports of Nsight Systems themselves, exported by the user's nsys: here a shell script that plays its part.

#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use coldspot::source::{ReadError, ReadOptions};
use tempfile::TempDir;

use crate::support::analysis::{facts, facts_of, timeline, try_timeline};
use crate::support::{cli, damage, program, temp};

const VERSION: &str = "2025.5.2.266";

/// A folder with a report, an nsys and a whole export that it may copy.
struct Stage {
    folder: TempDir,
    report: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let folder = temp::folder();
        let report = damage::nsys_rep(folder.path(), VERSION);
        damage::healthy(folder.path(), "whole.sqlite");
        Self { folder, report }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes an nsys of that version. `$out` and `$in` are the export's and the report's path, `$here` is this folder.
    fn nsys(&self, version: &str, export: &str) -> PathBuf {
        let script = format!(
            "#!/bin/sh\nhere=$(dirname \"$0\")\nif [ \"$1\" = --version ]; then\n\
             echo 'NVIDIA Nsight Systems version {version}-0v0'; exit 0; fi\n\
             [ \"$1 $2 $3 $4 $#\" = 'export --type sqlite --output 6' ] || exit 9\n\
             out=$5; in=$6\npwd > \"$here/scratch\"\n{export}\n"
        );
        program::script(self.folder.path(), "nsys", &script)
    }

    fn read(&self, nsys: PathBuf) -> Result<coldspot::timeline::Timeline, ReadError> {
        try_timeline(&self.report, &ReadOptions { nsys: Some(nsys), ..ReadOptions::default() })
    }

    /// The message when the export is done by these commands, with the changing parts named.
    fn message(&self, version: &str, export: &str) -> String {
        let error = self.read(self.nsys(version, export)).err().unwrap();
        assert!(matches!(error, ReadError::Export { .. }), "{error:?}");
        cli::redact(&error.to_string(), self.folder.path())
    }
}

#[test]
fn an_exported_report_gives_the_facts_of_its_export() {
    let stage = Stage::new();
    let nsys =
        stage.nsys(VERSION, "cmp \"$in\" \"$here/report.nsys-rep\" || exit 8\ncp \"$here/whole.sqlite\" \"$out\"");
    let exported = facts_of(&stage.read(nsys).unwrap());
    let whole = facts(&stage.file("whole.sqlite"));
    assert!(whole.iter().count() > 3);
    assert_eq!(format!("{exported:?}"), format!("{whole:?}"));
    program::assert_scratch_is_gone(stage.folder.path());
}

#[test]
fn nsys_works_in_an_empty_folder_and_sees_nothing_of_the_environment() {
    let stage = Stage::new();
    let nsys = stage.nsys(VERSION, "ls -A > \"$here/files\"; env > \"$here/env\"; cp \"$here/whole.sqlite\" \"$out\"");
    stage.read(nsys).unwrap();
    assert_eq!(fs::read_to_string(stage.file("files")).unwrap(), "");
    let env = fs::read_to_string(stage.file("env")).unwrap();
    // The shell adds the last three.
    let known = ["PATH", "HOME", "TMPDIR", "TMP", "TEMP", "LANG", "PWD", "OLDPWD", "SHLVL", "_"];
    let names: Vec<&str> = env.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.contains(&"HOME"), "{env}");
    assert!(names.iter().all(|name| known.contains(name)), "{env}");
    assert!(env.lines().all(|line| !line.starts_with("HOME=") || line.contains("coldspot-")), "{env}");
}

#[test]
fn names_are_no_options_and_no_commands() {
    for name in ["-o.nsys-rep", "--help", "$(touch pwned) ;.nsys-rep", "renamed.sqlite", "größe\n.nsys-rep"] {
        let mut stage = Stage::new();
        let report = stage.file(name);
        fs::rename(&stage.report, &report).unwrap();
        stage.report = report;
        let nsys =
            stage.nsys(VERSION, "case $in in /*.nsys-rep) ;; *) exit 8 ;; esac\ncp \"$here/whole.sqlite\" \"$out\"");
        assert!(stage.read(nsys).is_ok(), "{name}");
        assert!(!stage.message(VERSION, "exit 1").contains(&format!("{name} ")), "{name}");
    }
}

#[test]
fn failed_exports_are_never_read_and_leave_nothing() {
    let stage = Stage::new();
    let half = "head -c 20000 \"$here/whole.sqlite\" > \"$out\"";
    let whole = "cp \"$here/whole.sqlite\" \"$out\"";
    let mut messages = Vec::new();
    for export in [
        // What looks whole is not believed when nsys says that it failed.
        format!("{whole}\nprintf 'first\\n\\033[31mProtobuf parse exception\\033[0m\\n\\n' >&2\nexit 1"),
        format!("{whole}\nprintf '10%%\\r20%%\\rNo space left on device.\\r\\n'\nexit 1"),
        format!("{whole}\nkill -9 $$"),
        "exit 1".to_owned(),
        half.to_owned(),
        "exit 0".to_owned(),
        "mkdir \"$out\"".to_owned(),
        ": > \"$out\"".to_owned(),
        format!("{whole}\necho x > \"$out-journal\""),
        "printf 'SQLite format 3\\0' > \"$out\"".to_owned(),
    ] {
        messages.push(stage.message(VERSION, &export));
        program::assert_scratch_is_gone(stage.folder.path());
    }
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_report_without_its_end_is_called_so() {
    let mut stage = Stage::new();
    stage.report = damage::nsys_rep_cut_off(stage.folder.path(), VERSION);
    let message = stage.message(VERSION, "echo 'Section Table Reference magic number mismatch.' >&2; exit 1");
    assert!(message.contains("mismatch; the end of the file is missing. Copy it again "), "{message}");
}

#[test]
fn an_older_nsys_is_not_asked_to_export() {
    let stage = Stage::new();
    insta::assert_snapshot!(stage.message("2025.5.1.999", "exit 1"));
    assert!(!stage.file("scratch").exists());
    for newer in ["2025.5.2.1", "2025.10.1.1", "2026.1.1.1"] {
        let nsys = stage.nsys(newer, "cp \"$here/whole.sqlite\" \"$out\"");
        assert!(stage.read(nsys).is_ok(), "{newer}");
    }
}

#[test]
fn another_program_is_no_nsys() {
    let stage = Stage::new();
    let error = |nsys: &str| stage.read(nsys.into()).err().unwrap().to_string();
    assert!(error("/bin/true").contains("/bin/true --version names no version"), "{}", error("/bin/true"));
    assert!(error("/bin/false").contains("names no version"));
    assert!(
        error("/no/such/nsys")
            .contains("which only its program nsys can open, and /no/such/nsys cannot be run: No such file")
    );
}

/// With the nsys of this machine: a report that is none inside, and one that it records.
#[test]
fn a_real_nsys_exports_what_it_records() {
    let on_path = |name: &str| {
        let search = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&search).any(|folder| folder.join(name).is_file())
    };
    if !on_path("nsys") {
        println!("skipped: no nsys on PATH");
        return;
    }
    let folder = temp::folder();
    let hollow = damage::nsys_rep(folder.path(), "2019.1.1.1");
    let error = try_timeline(&hollow, &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains(" could not export it ("), "{error}");

    let record = ["profile", "--trace=none", "--sample=none", "--cpuctxsw=none", "--output=real", "true"];
    Command::new("nsys").args(record).current_dir(&folder).output().unwrap();
    let report = folder.path().join("real.nsys-rep");
    if !report.is_file() {
        // Debian's does not find its importer by itself.
        let importer = "/usr/lib/nsight-systems/host-linux-x64/QdstrmImporter";
        let import = ["--input-file", "real.qdstrm", "--output-file", "real.nsys-rep"];
        if !Command::new(importer).args(import).current_dir(&folder).output().is_ok_and(|ended| ended.status.success())
        {
            println!("skipped: nsys recorded no report here");
            return;
        }
    }
    let timeline = timeline(&report);
    assert!(timeline.dropped.is_empty());
}
