//! `.nsys-rep` and the older `.qdrep`: exported by the user's own nsys into a temporary folder, then read as any export.
//!
//! An nsys reads what it or an older one made. A newer report makes it fail, at times after it wrote a part of the export
//! that looks whole: so versions are compared before, and an export counts only when nsys says that it did it.

mod version;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use self::version::Version;
use crate::source::program::{self, Bounds, RunError, Scratch};
use crate::source::{Progress, ReadError, ReadOptions, Recording};

pub(in crate::source) use self::version::is_rep;

/// The export, in the temporary folder, and what lies beside one that is not finished.
const EXPORT: &str = "report.sqlite";
const UNFINISHED: [&str; 2] = ["report.sqlite-journal", "report.sqlite-wal"];
/// The longest that nsys may export. Reports of a few GB take minutes.
const EXPORT_LIMIT: Duration = Duration::from_secs(30 * 60);
/// The longest that nsys may take to say its version: its first start from a network drive is slow.
const VERSION_LIMIT: Duration = Duration::from_secs(60);

/// Exports and reads a report. Nothing of the export is left behind.
///
/// # Errors
/// When there is no nsys that can open the report, or it fails, or takes longer than half an hour.
pub(super) fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Recording, ReadError> {
    let report = Report { path, made_by: version::of_report(path) };
    let search = std::env::var_os("PATH");
    let Some(program) = program::find("nsys", options.nsys.as_deref(), search.as_deref()) else {
        return Err(report.without_nsys());
    };
    let scratch = Scratch::new().map_err(|error| report.no_scratch(&error))?;
    let nsys = Nsys { program: &program, scratch: &scratch };
    nsys.export(&report, EXPORT_LIMIT)?;
    super::read(&scratch.file(EXPORT), options, progress).map_err(|error| report.bad_export(error))
}

/// The report in question, and what to say when it cannot be opened.
struct Report<'a> {
    path: &'a Path,
    made_by: Option<Version>,
}

impl Report<'_> {
    fn error(&self, problem: String, hint: String) -> ReadError {
        ReadError::Export { path: self.path.display().to_string(), problem, hint }
    }

    fn without_nsys(&self) -> ReadError {
        self.error(format!("{}, and none is on PATH", self.needs_nsys()), self.other_nsys())
    }

    fn needs_nsys(&self) -> String {
        let maker = self.made_by.map_or_else(String::new, |version| format!(" {version}"));
        format!("is a report of Nsight Systems{maker}, which only its program nsys can open")
    }

    fn no_scratch(&self, error: &std::io::Error) -> ReadError {
        let folder = std::env::temp_dir();
        self.error(
            format!(
                "needs a temporary folder to be exported to, and none can be made in {}: {error}",
                folder.display()
            ),
            "Set TMPDIR to a folder with room".to_owned(),
        )
    }

    /// An export that nsys calls done, and that is none.
    fn bad_export(&self, error: ReadError) -> ReadError {
        let problem = match error {
            ReadError::Damaged { detail, .. } => format!("nsys exported it, but the export is damaged ({detail})"),
            ReadError::NotAReport { found, .. } => format!("nsys exported it, but the export {found}"),
            other => other.to_string(),
        };
        self.error(problem, self.by_hand())
    }

    fn other_nsys(&self) -> String {
        let wanted = match self.made_by {
            Some(version) => format!("Nsight Systems {version} or newer"),
            None => "the Nsight Systems that made it, or a newer one,".to_owned(),
        };
        format!(
            "Install {wanted} and name its nsys with --nsys; or export the report where it was made, and review the export: {}",
            self.command()
        )
    }

    fn by_hand(&self) -> String {
        format!("Export it by hand, where it was made if need be, and review the export: {}", self.command())
    }

    /// The command that exports the report. A name that a shell might read otherwise is left to the user.
    fn command(&self) -> String {
        let is_plain = |name: &&str| {
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
            name.bytes().all(is_safe) && !name.starts_with('-')
        };
        let name = self.path.file_name().and_then(|name| name.to_str()).filter(is_plain).unwrap_or_default();
        let known = name.rsplit_once('.').filter(|(_, extension)| matches!(*extension, "nsys-rep" | "qdrep"));
        let (stem, extension) = known.unwrap_or(("FILE", "nsys-rep"));
        format!("nsys export --type sqlite --output {stem}.sqlite {stem}.{extension}")
    }
}

/// The nsys at hand.
struct Nsys<'a> {
    program: &'a Path,
    scratch: &'a Scratch,
}

impl Nsys<'_> {
    fn export(&self, report: &Report<'_>, limit: Duration) -> Result<(), ReadError> {
        let local = self.version(report)?;
        let shown = self.program.display();
        if report.made_by.is_some_and(|maker| maker > local) {
            let maker = report.made_by.map_or_else(String::new, |version| version.to_string());
            let problem =
                format!("is a report of Nsight Systems {maker}, and the local nsys is older: {local} ({shown})");
            return Err(report.error(problem, report.other_nsys()));
        }
        let failed = |problem: String| report.error(problem, report.by_hand());
        let input = self.scratch.stand_in(report.path, "report.nsys-rep").map_err(|error| report.no_scratch(&error))?;
        let output = self.scratch.file(EXPORT);
        let args =
            ["export".into(), "--type".into(), "sqlite".into(), "--output".into(), output.clone().into(), input.into()];
        let bounds = Bounds::of_report(report.path, limit);
        let ended = program::run(self.program, &args, self.scratch, bounds).map_err(|error| match error {
            RunError::TooLong => failed(format!("nsys {local} ({shown}) did not export it within {}", minutes(limit))),
            RunError::TooMuch(why) => failed(format!("nsys {local} ({shown}) {why} and was ended")),
            RunError::Io(error) => self.cannot_run(report, &error),
        })?;
        if !ended.status.success() {
            let reason = if ended.last_line.is_empty() { "no reason given" } else { &ended.last_line };
            let problem = format!("nsys {local} could not export it ({}): {reason}", ended.status);
            if version::is_whole(report.path) == Some(false) {
                let problem = format!("{problem}; the end of the file is missing");
                return Err(report.error(problem, "Copy it again from where it was made".to_owned()));
            }
            return Err(failed(problem));
        }
        if !output.is_file() {
            return Err(failed(format!("nsys {local} ended as if it had exported it, but wrote no export")));
        }
        // Nsys was still writing the export when it ended.
        let has_more = |name: &str| self.scratch.file(name).metadata().is_ok_and(|found| found.len() > 0);
        if UNFINISHED.iter().any(|name| has_more(name)) {
            return Err(failed(format!("nsys {local} ended before its export was finished")));
        }
        Ok(())
    }

    fn version(&self, report: &Report<'_>) -> Result<Version, ReadError> {
        let shown = self.program.display();
        let args = [OsString::from("--version")];
        let ended = program::run(self.program, &args, self.scratch, Bounds::of_time(VERSION_LIMIT)).map_err(
            |error| match error {
                RunError::TooLong => report.error(
                    format!(
                        "{}, and {shown} --version does not end within {}",
                        report.needs_nsys(),
                        minutes(VERSION_LIMIT)
                    ),
                    report.other_nsys(),
                ),
                RunError::TooMuch(why) => {
                    report.error(format!("{}, and {shown} --version {why}", report.needs_nsys()), report.other_nsys())
                }
                RunError::Io(error) => self.cannot_run(report, &error),
            },
        )?;
        let version = Version::in_output(&ended.output).filter(|_| ended.status.success());
        version.ok_or_else(|| {
            let problem = format!(
                "{}, and {shown} --version names no version: it is no nsys, or a broken one",
                report.needs_nsys()
            );
            report.error(problem, report.other_nsys())
        })
    }

    fn cannot_run(&self, report: &Report<'_>, error: &std::io::Error) -> ReadError {
        let problem = format!("{}, and {} cannot be run: {error}", report.needs_nsys(), self.program.display());
        report.error(problem, report.other_nsys())
    }
}

fn minutes(limit: Duration) -> String {
    match limit.as_secs() / 60 {
        0 | 1 => format!("{limit:?}"),
        minutes => format!("{minutes} minutes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(path: &str, made_by: &str) -> String {
        Report { path: Path::new(path), made_by: Version::in_output(made_by) }.without_nsys().to_string()
    }

    #[test]
    fn without_nsys_the_version_and_the_command_are_named() {
        insta::assert_snapshot!(
            [message("/data/run-1.nsys-rep", "2025.5.2.266"), message("old.qdrep", ""), message("$(x).nsys-rep", "")]
                .join("\n")
        );
    }

    #[test]
    fn the_command_takes_no_name_that_a_shell_or_nsys_reads_otherwise() {
        for name in ["-o.nsys-rep", "a b.nsys-rep", "a;b.nsys-rep", "`x`.qdrep", "run.sqlite", "größe.nsys-rep", ".."]
        {
            assert!(message(name, "").ends_with("--output FILE.sqlite FILE.nsys-rep"), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_export_that_takes_too_long_is_named_so() {
        let scratch = Scratch::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let script = "#!/bin/sh\n[ \"$1\" = export ] && exec sleep 60\necho version 2025.5.2.1\n";
        std::fs::write(folder.path().join("nsys.txt"), script).unwrap();
        // Copied by another process: a program that this one, or a fork of it, has open for writing cannot be run.
        let copy = ["-c", "cp nsys.txt nsys && chmod 755 nsys"];
        std::process::Command::new("/bin/sh").args(copy).current_dir(&folder).status().unwrap();
        let nsys = Nsys { program: &folder.path().join("nsys"), scratch: &scratch };
        let report = Report { path: Path::new("run.nsys-rep"), made_by: None };
        let error = nsys.export(&report, Duration::from_millis(300)).unwrap_err().to_string();
        assert!(error.contains("did not export it within 300ms. Export it by hand"), "{error}");
    }
}
