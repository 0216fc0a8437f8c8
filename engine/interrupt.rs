//! What must go when a run is interrupted: destructors do not run then.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Notes a temporary folder that has to go with the process.
pub(crate) fn remember(folder: &Path) {
    if let Ok(mut folders) = FOLDERS.lock() {
        folders.insert(folder.to_owned());
    }
}

/// The folder is gone, or about to go.
pub(crate) fn forget(folder: &Path) {
    if let Ok(mut folders) = FOLDERS.lock() {
        folders.remove(folder);
    }
}

/// Removes every temporary folder that is still there. For a handler of Ctrl-C, which ends the process right after.
pub fn remove_temporary_folders() {
    if let Ok(mut folders) = FOLDERS.lock() {
        for folder in std::mem::take(&mut *folders) {
            // It may hold a file that nsys is still writing; nothing more can be done about it here.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_were_not_forgotten_go() {
        let [kept, gone] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        [&kept, &gone].into_iter().for_each(|folder| remember(folder.path()));
        forget(kept.path());
        remove_temporary_folders();
        assert!(kept.path().exists() && !gone.path().exists());
    }
}
