//! Runs the user's own profiler, `nsys` or `ncu`, on a report that only it can open: no shell, a time limit, a folder of its own.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::interrupt;
use crate::limits::{MAX_WRITTEN_ANYWAY_BYTES, MAX_WRITTEN_PER_BYTE, MIN_FREE_DISK_BYTES};
use crate::text::{escape, number};

/// The file that the standard output goes to.
const OUTPUT: &str = "stdout";
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
const OUTPUT_KEPT_BYTES: u64 = 4096;
const LONGEST_LINE: usize = 300;
/// Files and folders that a program may leave beside its output: nsys makes a handful.
const MAX_SCRATCH_ENTRIES: usize = 10_000;

/// Finds a program: the one that the user names, or the first of its name in the folders of `search`, which is written as PATH is.
pub(super) fn find(name: &str, named: Option<&Path>, search: Option<&OsStr>) -> Option<PathBuf> {
    if let Some(named) = named {
        // It runs in another folder than ours.
        return Some(std::path::absolute(named).unwrap_or_else(|_| named.to_owned()));
    }
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    // A relative folder would let whatever lies beside a report run.
    let folders = std::env::split_paths(search?).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(&name)).find(|file| is_program(file))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// A private temporary folder, removed with all that is in it when this goes.
pub(super) struct Scratch {
    // The first to go: from then on the folder is ours to remove.
    heir: Heir,
    folder: TempDir,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        interrupt::forget_folder(self.folder.path());
    }
}

/// A process that outlives this one where this one is killed and can clean up nothing: it ends the program that runs then,
/// and removes the folder. Nothing where the system has no shell.
struct Heir(Option<Child>);

impl Heir {
    /// Each line is the process group that runs now, or empty; the input ends with the process that writes it.
    #[cfg(unix)]
    const SCRIPT: &str = r#"
        while read -r line; do group=$line; done
        if [ -n "$group" ]; then kill -s KILL -- "-$group"; fi
        rm -rf -- "$1"
    "#;

    #[cfg(unix)]
    fn new(folder: &Path) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", Self::SCRIPT, "sh"]).arg(folder).current_dir("/").env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // What ends all of our group must leave it.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Self(command.spawn().ok())
    }

    #[cfg(not(unix))]
    fn new(_: &Path) -> Self {
        Self(None)
    }

    /// Says which program runs.
    fn tell(&self, program: Option<u32>) {
        if let Some(mut input) = self.0.as_ref().and_then(|heir| heir.stdin.as_ref()) {
            let line = program.map_or_else(String::new, |id| id.to_string());
            // Without an heir there is nobody to tell.
            let _ = input.write_all(format!("{line}\n").as_bytes());
        }
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        if let Some(heir) = &mut self.0 {
            let _ = heir.kill();
            let _ = heir.wait();
        }
    }
}

impl Scratch {
    /// Makes the folder where the system keeps temporary files (TMPDIR).
    pub(super) fn new() -> std::io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("coldspot-");
        // An export holds the environment of the recorded program.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = interrupt::make_folder(&builder)?;
        // nsys runs the Python files that it finds where it works: that folder stays empty.
        std::fs::create_dir(folder.path().join("work"))?;
        std::fs::create_dir(folder.path().join("home"))?;
        Ok(Self { heir: Heir::new(folder.path()), folder })
    }

    /// A file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the program that ran last wrote to its standard output.
    pub(super) fn output(&self) -> PathBuf {
        self.file(OUTPUT)
    }

    /// Whether what lies in it is not too much, and leaves room on its disk.
    fn check(&self, most: u64) -> Result<(), RunError> {
        let mut left = most;
        let mut entries = MAX_SCRATCH_ENTRIES;
        let is_within = take(self.folder.path(), &mut left, &mut entries);
        if !is_within {
            return Err(RunError::TooMuch(format!(
                "wrote more than {}",
                number::bytes(i64::try_from(most).unwrap_or(i64::MAX))
            )));
        }
        if self.free_bytes().is_some_and(|free| free < MIN_FREE_DISK_BYTES) {
            let folder = std::env::temp_dir();
            return Err(RunError::TooMuch(format!("would have filled the disk of {}", folder.display())));
        }
        Ok(())
    }

    /// Bytes that are free where it lies; `None` where the system does not tell.
    #[cfg(unix)]
    fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(self.folder.path()).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    #[cfg(not(unix))]
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// A path to the report that no program takes for an option or for another kind of file, whatever its name is: one of this
    /// name.
    pub(super) fn stand_in(&self, report: &Path, name: &str) -> std::io::Result<PathBuf> {
        let report = std::path::absolute(report)?;
        #[cfg(unix)]
        {
            let link = self.file(name);
            std::os::unix::fs::symlink(report, &link)?;
            Ok(link)
        }
        #[cfg(not(unix))]
        {
            let _ = name;
            Ok(report)
        }
    }
}

/// Takes what the files of a folder hold out of what is left; whether that held it. What vanishes meanwhile does not count.
fn take(folder: &Path, left: &mut u64, entries: &mut usize) -> bool {
    let Ok(found) = std::fs::read_dir(folder) else { return true };
    for entry in found.flatten() {
        let Some(fewer) = entries.checked_sub(1) else { return false };
        *entries = fewer;
        // Links are not followed: one leads to the report.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !take(&entry.path(), left, entries) {
            return false;
        }
        let size = if kind.is_file() { entry.metadata().map_or(0, |found| found.len()) } else { 0 };
        let Some(less) = left.checked_sub(size) else { return false };
        *left = less;
    }
    true
}

/// How a run ended.
pub(super) struct Ended {
    /// The exit status.
    pub(super) status: ExitStatus,
    /// The end of the standard output.
    pub(super) output: String,
    /// The last line that it wrote to the standard error, else to the standard output; empty when there is none.
    pub(super) last_line: String,
}

/// Why a run did not end by itself.
#[derive(Debug)]
pub(super) enum RunError {
    /// It could not be started or watched.
    Io(std::io::Error),
    /// It was ended at the time limit.
    TooLong,
    /// It was ended because its files became too large, or the disk full.
    TooMuch(String),
}

/// What a run may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    time: Duration,
    /// Bytes of the files that it writes.
    bytes: u64,
}

impl Bounds {
    /// Of a run that opens no report.
    pub(super) const fn of_time(time: Duration) -> Self {
        Self { time, bytes: MAX_WRITTEN_ANYWAY_BYTES }
    }

    /// Of one that opens this report.
    pub(super) fn of_report(report: &Path, time: Duration) -> Self {
        let size = report.metadata().map_or(0, |found| found.len());
        Self { time, bytes: MAX_WRITTEN_ANYWAY_BYTES.saturating_add(size.saturating_mul(MAX_WRITTEN_PER_BYTE)) }
    }
}

impl From<std::io::Error> for RunError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// Ends the program when this goes, on whatever way.
struct Running<'a> {
    program: Child,
    has_ended: bool,
    heir: &'a Heir,
}

impl<'a> Running<'a> {
    fn start(command: &mut Command, heir: &'a Heir) -> std::io::Result<Self> {
        let program = interrupt::start(command)?;
        heir.tell(Some(program.id()));
        Ok(Self { program, has_ended: false, heir })
    }

    /// How it ended; none while it runs. What it left running ends with it.
    fn status(&mut self) -> std::io::Result<Option<ExitStatus>> {
        let id = self.program.id();
        if !self.has_ended && has_exited(id) {
            interrupt::end_program(id);
        }
        let status = self.program.try_wait()?;
        self.has_ended = status.is_some();
        Ok(status)
    }
}

/// Whether a program has ended that was not waited for: until then no other one has its number, or that of its group.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn has_exited(id: u32) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| waitid(WaitId::Pid(pid), options).is_ok_and(|status| status.is_some()))
}

/// Elsewhere nothing tells without waiting for it.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn has_exited(_: u32) -> bool {
    false
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // After its end another program may have its number.
        if !self.has_ended {
            interrupt::end_program(self.program.id());
            let _ = self.program.kill();
            let _ = self.program.wait();
        }
        interrupt::forget_program(self.program.id());
        self.heir.tell(None);
    }
}

/// Runs a program to its end, or ends it at a bound, with all of its process group.
pub(super) fn run(program: &Path, args: &[OsString], scratch: &Scratch, bounds: Bounds) -> Result<Ended, RunError> {
    // Files, because a pipe would stay open as long as anything that the program started.
    let output = scratch.output();
    let errors = scratch.file("stderr");
    let home = scratch.file("home");
    let mut command = Command::new(program);
    command.args(args).current_dir(scratch.folder.path().join("work")).env_clear();
    // Windows starts nothing without SystemRoot.
    command.envs(["PATH", "SystemRoot"].iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(["HOME", "TMPDIR", "TMP", "TEMP"].iter().map(|name| (name, &home))).env("LANG", "C");
    command.stdin(Stdio::null()).stdout(File::create(&output)?).stderr(File::create(&errors)?);
    let deadline = Instant::now() + bounds.time;
    let mut running = Running::start(&mut command, &scratch.heir)?;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = running.status()? {
            break status;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(RunError::TooLong);
        }
        scratch.check(bounds.bytes)?;
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    drop(running);
    scratch.check(bounds.bytes)?;
    let output = end_of(&output)?;
    let last_line = last_line(&end_of(&errors)?).or_else(|| last_line(&output)).unwrap_or_default();
    Ok(Ended { status, output, last_line })
}

fn end_of(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_KEPT_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_KEPT_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn last_line(text: &str) -> Option<String> {
    let lines = text.split(['\n', '\r']).map(escape::plain);
    let shown = lines.map(|line| line.trim().trim_end_matches('.').chars().take(LONGEST_LINE).collect::<String>());
    shown.rev().find(|line| !line.is_empty())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_does_not_end_is_ended_at_the_limit() {
        let scratch = Scratch::new().unwrap();
        let folder = scratch.folder.path().to_owned();
        // The shell writes its number, then becomes the program that hangs.
        let args = ["-c".into(), "echo $$; exec sleep 60".into()];
        let ended = run(Path::new("/bin/sh"), &args, &scratch, Bounds::of_time(Duration::from_millis(400)));
        assert!(matches!(ended, Err(RunError::TooLong)));
        let number = std::fs::read_to_string(folder.join("stdout")).unwrap();
        let is_alive =
            Command::new("/bin/sh").args(["-c", &format!("kill -0 {number}")]).stderr(Stdio::null()).status();
        assert!(!number.trim().is_empty() && !is_alive.unwrap().success(), "still runs");
        drop(scratch);
        assert!(!folder.exists());
    }

    #[test]
    fn what_writes_without_end_is_ended_and_leaves_nothing() {
        let report = tempfile::NamedTempFile::new().unwrap();
        report.as_file().set_len(1 << 20).unwrap();
        let bounds = Bounds::of_report(report.path(), Duration::from_secs(60));
        assert_eq!(bounds.bytes, MAX_WRITTEN_ANYWAY_BYTES + MAX_WRITTEN_PER_BYTE * (1 << 20));
        let bounds = Bounds { bytes: 4 << 20, ..bounds };
        // Into a file, into its standard output, and as many small ones.
        let scripts = [
            "while :; do head -c 1000000 /dev/zero >> ../report.sqlite; done",
            "cat /dev/zero",
            "n=0; while :; do n=$((n+1)); mkdir -p d$((n % 7)); head -c 40000 /dev/zero > d$((n % 7))/$n; done",
        ];
        for script in scripts {
            let scratch = Scratch::new().unwrap();
            let folder = scratch.folder.path().to_owned();
            let ended = run(Path::new("/bin/sh"), &["-c".into(), script.into()], &scratch, bounds);
            assert!(matches!(&ended, Err(RunError::TooMuch(why)) if why.starts_with("wrote more than")), "{script}");
            drop(scratch);
            assert!(!folder.exists());
        }
        // As much as that is no fault.
        let scratch = Scratch::new().unwrap();
        let args = ["-c".into(), "head -c 4000000 /dev/zero > ../report.sqlite".into()];
        assert!(run(Path::new("/bin/sh"), &args, &scratch, bounds).is_ok());
    }

    #[test]
    fn what_a_child_leaves_running_does_not_keep_us() {
        let scratch = Scratch::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let late = folder.path().join("late");
        let args = ["-c".into(), format!("(sleep 20; : >'{}') & echo done", late.display()).into()];
        let ended = run(Path::new("/bin/sh"), &args, &scratch, Bounds::of_time(Duration::from_secs(60))).unwrap();
        assert!(!late.exists(), "it was waited for");
        assert!(ended.status.success());
        assert_eq!(ended.last_line, "done");
    }

    #[test]
    fn what_a_child_leaves_running_ends_with_it() {
        let scratch = Scratch::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let beats = folder.path().join("beats");
        let script =
            format!("(while :; do echo >>'{0}'; sleep 0.01; done) & until [ -s '{0}' ]; do :; done", beats.display());
        run(Path::new("/bin/sh"), &["-c".into(), script.into()], &scratch, Bounds::of_time(Duration::from_secs(60)))
            .unwrap();
        let length = || beats.metadata().unwrap().len();
        let at_end = length();
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(at_end, length(), "it writes on");
    }

    #[test]
    fn much_output_is_not_kept() {
        let scratch = Scratch::new().unwrap();
        let args =
            ["-c".into(), "head -c 9000000 /dev/zero | tr '\\0' x; head -c 9000 /dev/zero | tr '\\0' e >&2".into()];
        let ended = run(Path::new("/bin/sh"), &args, &scratch, Bounds::of_time(Duration::from_secs(60))).unwrap();
        assert_eq!(ended.output.len() as u64, OUTPUT_KEPT_BYTES);
        assert_eq!(ended.last_line, "e".repeat(LONGEST_LINE));
    }

    #[test]
    fn the_private_folder_is_gone_after_a_panic() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let panicked = std::thread::spawn(move || {
            let scratch = Scratch::new().unwrap();
            assert_eq!(scratch.folder.path().metadata().unwrap().permissions().mode() & 0o077, 0);
            sender.send(scratch.folder.path().to_owned()).unwrap();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert!(!receiver.recv().unwrap().exists());
    }

    #[test]
    fn it_is_the_first_program_of_that_name_in_an_absolute_folder() {
        let root = tempfile::tempdir().unwrap();
        let folders = ["none", "no-program", "folder", "first", "second"].map(|name| root.path().join(name));
        folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        std::fs::write(folders[1].join("nsys"), "").unwrap();
        std::fs::create_dir(folders[2].join("nsys")).unwrap();
        symlink("/bin/true", folders[3].join("nsys")).unwrap();
        symlink("/bin/true", folders[4].join("nsys")).unwrap();
        let relative = [PathBuf::new(), PathBuf::from(".")];
        let search = std::env::join_paths(relative.iter().chain(&folders)).unwrap();
        assert_eq!(find("nsys", None, Some(&search)), Some(folders[3].join("nsys")));
        assert_eq!(find("ncu", None, Some(&search)), None);
        assert_eq!(find("nsys", None, Some(OsStr::new(""))), None);
        assert_eq!(find("nsys", None, None), None);
        let named = find("nsys", Some(Path::new("tools/nsys")), Some(&search)).unwrap();
        assert!(named.is_absolute() && named.ends_with("tools/nsys"));
    }
}
