//! One place for everything that tests write: `target/tmp/it-PID`. Nothing of it lies in the temporary folder of the
//! machine, and what an interrupted run left is removed by the next one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tempfile::TempDir;

const PREFIX: &str = "it-";

static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let root = all.join(format!("{PREFIX}{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    remove_abandoned(all);
    // What the library itself puts into temporary folders lies there, too. A second call would change nothing.
    let _ = tempfile::env::override_temp_dir(&root);
    root
});

/// The folder of this run.
pub fn root() -> &'static Path {
    &ROOT
}

/// A new folder, which goes when this goes.
pub fn folder() -> TempDir {
    TempDir::new_in(root()).unwrap()
}

/// Removes the folders of runs that are no more. Without /proc nothing is known of them.
fn remove_abandoned(all: &Path) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in fs::read_dir(all).unwrap().map_while(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_abandoned = name.strip_prefix(PREFIX).is_some_and(|pid| !Path::new("/proc").join(pid).exists());
        if is_abandoned {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
