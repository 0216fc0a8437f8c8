//! Reports of Nsight Compute themselves, printed by the user's ncu: here a shell script that plays its part.

#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use coldspot::analysis::Reading;
use coldspot::facts::Facts;
use coldspot::source::ReadOptions;
use tempfile::TempDir;

use crate::support::{cli, kernels, program, temp};

/// A folder with a report, an ncu and a page that it may print.
struct Stage {
    folder: TempDir,
    report: PathBuf,
}

impl Stage {
    fn new(name: &str) -> Self {
        let folder = temp::folder();
        let report = folder.path().join(name);
        fs::write(&report, b"NVR\0rest of a report").unwrap();
        fs::write(folder.path().join("page.csv"), kernels::transpose()).unwrap();
        Self { folder, report }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes an ncu. `$in` is the report's path, `$here` this folder.
    fn ncu(&self, print: &str) -> PathBuf {
        let script = format!(
            "#!/bin/sh\nhere=$(dirname \"$0\")\n[ \"$1 $3 $4 $5 $#\" = '--import --csv --page raw 5' ] || exit 9\n\
             in=$2\npwd > \"$here/scratch\"\n{print}\n"
        );
        program::script(self.folder.path(), "ncu", &script)
    }

    fn read(&self, ncu: PathBuf) -> Result<Facts, String> {
        let options = ReadOptions { ncu: Some(ncu), ..ReadOptions::default() };
        let reading = Reading { options, ..Reading::default() };
        reading.facts(&self.report).map_err(|error| cli::redact(&error.to_string(), self.folder.path()))
    }
}

#[test]
fn a_printed_report_gives_the_facts_of_its_page() {
    for name in ["kernels.ncu-rep", "--help", "$(touch pwned) ;.ncu-rep", "renamed.csv"] {
        let stage = Stage::new(name);
        let print = "cmp \"$in\" \"$here/wanted\" || exit 8\ncase $in in /*.ncu-rep) ;; *) exit 7 ;; esac\ncat \"$here/page.csv\"";
        fs::copy(&stage.report, stage.file("wanted")).unwrap();
        let printed = stage.read(stage.ncu(print)).unwrap();
        let page = Reading::default().facts(&stage.file("page.csv")).unwrap();
        assert_eq!(format!("{printed:?}"), format!("{page:?}"));
        program::assert_scratch_is_gone(stage.folder.path());
        assert!(!stage.file("pwned").exists());
    }
}

#[test]
fn what_ncu_does_not_print_is_told_with_its_reason() {
    let stage = Stage::new("kernels.ncu-rep");
    let mut messages = Vec::new();
    for print in [
        "printf '==ERROR== \\033[31mThe report is of a newer version\\033[0m\\n' >&2\nexit 1",
        "echo '==ERROR== Cannot load'",
        "exit 0",
        "cat \"$here/page.csv\"; kill -9 $$",
        "head -1 \"$here/page.csv\"",
    ] {
        messages.push(stage.read(stage.ncu(print)).unwrap_err());
        program::assert_scratch_is_gone(stage.folder.path());
    }
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn without_ncu_the_command_is_named() {
    let stage = Stage::new("kernels.ncu-rep");
    let empty = stage.file("empty");
    fs::create_dir(&empty).unwrap();
    let mut command = cli::command(stage.folder.path());
    let run = cli::run(command.args(["review", "kernels.ncu-rep"]).env("PATH", &empty));
    let text = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(text.contains("none is on PATH") && text.contains("--ncu-program"), "{text}");
    assert!(text.contains("ncu --import FILE.ncu-rep --csv --page raw > kernels.csv"), "{text}");
}

#[test]
fn a_report_joins_a_recording_as_its_page_does() {
    let stage = Stage::new("kernels.ncu-rep");
    let ncu = stage.ncu("cat \"$here/page.csv\"");
    let own = |arguments: &[&str]| {
        let mut command = cli::command(stage.folder.path());
        let run = cli::run(command.args(arguments));
        String::from_utf8_lossy(&run.get_output().stdout).into_owned()
    };
    let program = ncu.display().to_string();
    let review = own(&["review", "kernels.ncu-rep", "--ncu-program", &program]);
    assert!(review.contains("### 1. Uncoalesced access"), "{review}");
}
