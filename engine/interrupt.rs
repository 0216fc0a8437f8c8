//! What must go when a run is interrupted: destructors do not run then.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// How often the removal of a folder is tried: a program that was just ended may still be in it.
const REMOVALS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug)]
struct Left {
    folders: BTreeSet<PathBuf>,
    /// The ids of programs that run, each the first of its process group where there are such.
    programs: BTreeSet<u32>,
}

static LEFT: Mutex<Left> = Mutex::new(Left { folders: BTreeSet::new(), programs: BTreeSet::new() });

fn left() -> MutexGuard<'static, Left> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a temporary folder that has to go with the process.
pub(crate) fn make_folder(builder: &tempfile::Builder<'_, '_>) -> io::Result<TempDir> {
    let mut left = left();
    let folder = builder.tempdir()?;
    left.folders.insert(folder.path().to_owned());
    Ok(folder)
}

/// The folder is gone, or about to go.
pub(crate) fn forget_folder(folder: &Path) {
    left().folders.remove(folder);
}

/// Starts a program that has to end with the process, and what it starts itself with it.
pub(crate) fn start(command: &mut Command) -> io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut left = left();
    let child = command.spawn()?;
    left.programs.insert(child.id());
    Ok(child)
}

/// The program has ended, or been ended.
pub(crate) fn forget_program(id: u32) {
    left().programs.remove(&id);
}

/// Whether a program runs that coldspot has started: its time is not coldspot's own.
pub fn runs_program() -> bool {
    !left().programs.is_empty()
}

/// Ends the process: programs that it has started and temporary folders go first. For handlers of signals.
pub fn end(code: i32) -> ! {
    // Held to the end, so that nothing is started meanwhile.
    let mut left = left();
    clean_up(&mut left);
    std::process::exit(code)
}

fn clean_up(left: &mut Left) {
    for id in std::mem::take(&mut left.programs) {
        end_program(id);
    }
    for folder in std::mem::take(&mut left.folders) {
        for _ in 0..REMOVALS {
            let _ = std::fs::remove_dir_all(&folder);
            if !folder.exists() {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Ends a program that has not been waited for yet, with all of its process group.
#[cfg(unix)]
pub(crate) fn end_program(id: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // An error says that it has ended.
    let group = i32::try_from(id).ok().and_then(Pid::from_raw);
    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
}

/// Ends a program, with what it has started as far as the system knows.
#[cfg(windows)]
pub(crate) fn end_program(id: u32) {
    let system = std::env::var_os("SystemRoot").map(PathBuf::from).unwrap_or_default().join("System32");
    let mut command = Command::new(system.join("taskkill.exe"));
    command.args(["/T", "/F", "/PID", &id.to_string()]);
    // An error says that it has ended.
    let _ = command.stdin(std::process::Stdio::null()).output();
}

/// Nothing is known of other systems: the handle of the program ends it alone.
#[cfg(not(any(unix, windows)))]
pub(crate) fn end_program(_: u32) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_were_not_forgotten_go() {
        let [kept, gone] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let folders = BTreeSet::from([gone.path().to_owned()]);
        clean_up(&mut Left { folders, programs: BTreeSet::new() });
        assert!(kept.path().exists() && !gone.path().exists());
    }

    #[cfg(unix)]
    #[test]
    fn programs_that_were_not_forgotten_end_with_what_they_have_started() {
        let mut child = start(Command::new("/bin/sh").args(["-c", "sleep 60 & wait"])).unwrap();
        assert!(runs_program());
        clean_up(&mut Left { folders: BTreeSet::new(), programs: BTreeSet::from([child.id()]) });
        assert!(!child.wait().unwrap().success());
        forget_program(child.id());
    }
}
