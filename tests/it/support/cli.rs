//! The program as a user starts it, with nothing of this machine's environment.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;

use super::{temp, watch};

/// What the program and the shells around it need of the environment; everything else (`CI`, `GITHUB_*`, `COLDSPOT_*`,
/// `NO_COLOR`, proxies, the home folder) would let a test depend on who runs it.
const KEPT_VARIABLES: [&str; 4] = ["PATH", "SystemRoot", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"];

/// The exit codes that the README lists.
const EXIT_CODES: std::ops::RangeInclusive<i32> = 0..=7;

/// Where the built program lies.
pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_coldspot"))
}

/// Any program in a folder, with a bare environment.
pub fn bare(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().timeout(watch::PATIENCE);
    command.envs(KEPT_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.env("HOME", temp::root().join("no-home")).env("TMPDIR", temp::root());
    command
}

/// The program in a folder, to be given arguments and more environment.
pub fn command(folder: &Path) -> Command {
    bare(binary(), folder)
}

/// Runs a command of the program: whatever happens, it ends by one of the documented exit codes.
pub fn run(command: &mut Command) -> Assert {
    let assert = command.assert();
    let output = assert.get_output();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| EXIT_CODES.contains(&code)), "{}: {errors}", output.status);
    assert
}

/// Runs the program in a folder.
pub fn coldspot_in(folder: &Path, arguments: &[impl AsRef<OsStr>]) -> Assert {
    run(command(folder).args(arguments))
}

/// Runs the program in an empty folder.
pub fn coldspot(arguments: &[impl AsRef<OsStr>]) -> Assert {
    coldspot_in(temp::folder().path(), arguments)
}

/// What a run has printed.
pub trait Printed {
    fn out(&self) -> String;
    fn err(&self) -> String;

    /// Its JSON; the message where it printed none.
    fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap_or_else(|error| panic!("{error}: {}{}", self.err(), self.out()))
    }
}

impl Printed for Assert {
    fn out(&self) -> String {
        String::from_utf8(self.get_output().stdout.clone()).unwrap()
    }

    fn err(&self) -> String {
        String::from_utf8(self.get_output().stderr.clone()).unwrap()
    }
}

/// A text without what differs between machines and versions: `folder` reads FOLDER, the version VERSION.
pub fn redact(text: &str, folder: &Path) -> String {
    text.replace(&folder.display().to_string(), "FOLDER").replace(env!("CARGO_PKG_VERSION"), "VERSION")
}
