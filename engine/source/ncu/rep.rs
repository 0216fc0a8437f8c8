//! `.ncu-rep`: printed as CSV by the user's own ncu into a temporary folder, then read as any page.

use std::path::Path;
use std::time::Duration;

use super::PRINT_ALL_COUNTERS;
use crate::source::program::{self, Bounds, Ended, RunError, Scratch};
use crate::source::{Progress, ReadError, ReadOptions, Recording};

/// How a report begins.
pub(super) const MAGIC: &[u8] = b"NVR\0";

/// The longest that ncu may print: a report of a hundred kernels takes seconds.
const PRINT_LIMIT: Duration = Duration::from_secs(10 * 60);

/// Prints and reads a report. Nothing of the page is left behind.
///
/// # Errors
/// When there is no ncu that can open the report, or it fails, or takes longer than ten minutes.
pub(super) fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Recording, ReadError> {
    let report = Report(path);
    let search = std::env::var_os("PATH");
    let Some(program) = program::find("ncu", options.ncu.as_deref(), search.as_deref()) else {
        return Err(report.error(format!("{NEEDS_NCU}, and none is on PATH"), other_ncu()));
    };
    let scratch = Scratch::new().map_err(|error| report.no_scratch(&error))?;
    let ended = report.print(&program, &scratch, PRINT_LIMIT)?;
    super::read(&scratch.output(), options, progress).map_err(|error| report.bad_page(error, &ended))
}

const NEEDS_NCU: &str = "is a report of Nsight Compute, which only its program ncu can open";

/// The report in question, and what to say when it cannot be opened.
struct Report<'a>(&'a Path);

impl Report<'_> {
    fn error(&self, problem: String, hint: String) -> ReadError {
        ReadError::Export { path: self.0.display().to_string(), problem, hint }
    }

    fn no_scratch(&self, error: &std::io::Error) -> ReadError {
        let folder = std::env::temp_dir();
        let folder = folder.display();
        let problem = format!("needs a temporary folder to be printed to, and none can be made in {folder}: {error}");
        self.error(problem, "Set TMPDIR to a folder with room".to_owned())
    }

    fn print(&self, program: &Path, scratch: &Scratch, limit: Duration) -> Result<Ended, ReadError> {
        let shown = program.display();
        let input = scratch.stand_in(self.0, "report.ncu-rep").map_err(|error| self.no_scratch(&error))?;
        let args = ["--import".into(), input.into(), "--csv".into(), "--page".into(), "raw".into()];
        let ended =
            program::run(program, &args, scratch, Bounds::of_report(self.0, limit)).map_err(|error| match error {
                RunError::TooLong => {
                    self.error(format!("ncu ({shown}) did not print it within {} s", limit.as_secs_f64()), by_hand())
                }
                RunError::TooMuch(why) => self.error(format!("ncu ({shown}) {why} and was ended"), by_hand()),
                RunError::Io(error) => {
                    self.error(format!("{NEEDS_NCU}, and {shown} cannot be run: {error}"), other_ncu())
                }
            })?;
        if !ended.status.success() {
            let problem = format!("ncu ({shown}) could not print it ({}): {}", ended.status, reason(&ended));
            return Err(self.error(problem, other_ncu()));
        }
        Ok(ended)
    }

    /// A page that ncu calls printed, and that is none.
    fn bad_page(&self, error: ReadError, ended: &Ended) -> ReadError {
        let problem = match error {
            ReadError::Damaged { detail, .. } => format!("ncu printed it, but the page is damaged ({detail})"),
            ReadError::NotAReport { found, .. } => {
                format!("ncu printed it, but the page {found} ({})", reason(ended))
            }
            other => other.to_string(),
        };
        self.error(problem, other_ncu())
    }
}

/// The last line, unless that is a row of the page.
fn reason(ended: &Ended) -> &str {
    if ended.last_line.is_empty() || ended.last_line.starts_with('"') { "no reason given" } else { &ended.last_line }
}

/// An older ncu cannot open what a newer one made.
fn other_ncu() -> String {
    let program = "Install the Nsight Compute that made it, or a newer one, and name its ncu with --ncu-program";
    format!("{program}; or print the report where it was made, and review the page: {PRINT_ALL_COUNTERS} > kernels.csv")
}

fn by_hand() -> String {
    format!("Print it by hand, and review the page: {PRINT_ALL_COUNTERS} > kernels.csv")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_takes_too_long_is_named_so() {
        let scratch = Scratch::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ncu.txt"), "#!/bin/sh\nexec sleep 60\n").unwrap();
        // Copied by another process: a program that this one, or a fork of it, has open for writing cannot be run.
        let copy = ["-c", "cp ncu.txt ncu && chmod 755 ncu"];
        std::process::Command::new("/bin/sh").args(copy).current_dir(&folder).status().unwrap();
        let report = Report(Path::new("kernels.ncu-rep"));
        let ended = report.print(&folder.path().join("ncu"), &scratch, Duration::from_millis(300));
        let error = ended.err().unwrap().to_string();
        assert!(error.contains("did not print it within 0.3 s. Print it by hand"), "{error}");
    }
}
