//! What an export says of the machine and of how the program ended, beside its events.
//!
//! Of the captured environment and of the program's output only answers to fixed questions are taken, never a text.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::database::Schema;
use super::ids::process_key;
use super::info::has_rows;
use super::{output, output_place};
use crate::text::{cut, paths};
use crate::timeline::output::{OutputError, OutputPlace};
use crate::timeline::{Names, Surroundings};

/// Rows of the tables of processes, threads and output: far more than a machine has.
const MAX_ROWS: u64 = 100_000;
/// Different names that are kept.
const MAX_NAMES: usize = 10_000;
/// Bytes of a name.
const MAX_NAME_BYTES: usize = 100;
/// Files of output that are looked at, and how much of the end of each: errors come last.
const MAX_OUTPUTS: u64 = 16;
const OUTPUT_BYTES: i64 = 64 << 10;

/// Where the environment of the profiler's target and of processes stands.
const ENVIRONMENTS: [&str; 2] = ["TARGET_INFO_SYSTEM_ENV", CAPTURE];
/// Where the options of the profiler stand.
const CAPTURE: &str = "META_DATA_CAPTURE";
/// The options of when recording begins, and what they are where it begins with the program.
const BEGIN: [(&str, &str); 2] = [("START_TRIGGER", "Immediate"), ("START_DELAY_MS", "0")];
/// What only Windows Subsystem for Linux sets.
const WSL_MARK: &str = "WSL_DISTRO_NAME";
/// The release of the system's kernel, and what that of Windows Subsystem for Linux holds.
const KERNEL_RELEASE: &str = "SoftwareReleaseVersion";
const WSL_RELEASE: &str = "microsoft";
/// Where the part of the profiler lies that runs on the target, and how it is called for Linux.
const PROFILER_FOLDER: &str = "TargetInstallDir";
const LINUX_TARGET: &str = "target-linux";
/// Where only it has libraries, and one that only it has.
const WSL_LIBRARIES: [&str; 2] = ["/usr/lib/wsl/", "libdxcore.so"];

/// Reads all of it. `processes` are the keys of the processes that were recorded, `names` all that events name.
pub(super) fn read(
    db: &Connection,
    schema: &Schema,
    processes: &BTreeSet<i64>,
    names: &Names,
) -> rusqlite::Result<Surroundings> {
    let reader = Reader { db, schema };
    let output = reader.output_error()?;
    let system = reader.system()?;
    let is_wsl = system == Some(System::Subsystem) || reader.is_wsl(names)?;
    Ok(Surroundings {
        is_wsl,
        is_linux_host: system == Some(System::Linux) && !is_wsl,
        is_begin_chosen: reader.is_begin_chosen()?,
        program_names: reader.program_names()?,
        // Read with the samples.
        compiler_runs: Vec::new(),
        thread_names: reader.thread_names(processes)?,
        output_error: output.as_ref().map(|(error, _)| *error),
        output_place: output.and_then(|(_, place)| place),
        has_device_records: reader.has_device_records()?,
    })
}

/// The operating system that a report tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum System {
    /// Linux that Windows runs.
    Subsystem,
    Linux,
}

struct Reader<'db> {
    db: &'db Connection,
    schema: &'db Schema,
}

impl Reader<'_> {
    /// The texts are looked at here, not by SQL, so that they count.
    fn is_wsl(&self, names: &Names) -> rusqlite::Result<bool> {
        let mut is_wsl = names.iter().any(|(_, name)| WSL_LIBRARIES.iter().any(|library| name.contains(library)));
        for table in ENVIRONMENTS.into_iter().filter(|table| self.schema.has(table)) {
            self.schema.each(self.db, &self.schema.select(table, &["value"]), MAX_ROWS, |cells| {
                is_wsl |= cells.text(0).is_some_and(|value| value.contains(WSL_MARK));
            })?;
        }
        Ok(is_wsl)
    }

    /// The operating system, where the release of its kernel tells it.
    fn system(&self) -> rusqlite::Result<Option<System>> {
        let table = ENVIRONMENTS[0];
        if !self.schema.has_column(table, "name") || !self.schema.has_column(table, "value") {
            return Ok(None);
        }
        let (mut has_release, mut is_linux, mut is_of_windows) = (false, false, false);
        self.schema.each(self.db, &self.schema.select(table, &["name", "value"]), MAX_ROWS, |cells| {
            let value = cells.text(1).unwrap_or_default();
            match cells.text(0) {
                Some(KERNEL_RELEASE) => {
                    has_release |= !value.is_empty();
                    is_of_windows |= value.to_ascii_lowercase().contains(WSL_RELEASE);
                }
                Some(PROFILER_FOLDER) => is_linux |= value.contains(LINUX_TARGET),
                _ => {}
            }
        })?;
        let system = if is_of_windows { System::Subsystem } else { System::Linux };
        Ok((is_linux && has_release || is_of_windows).then_some(system))
    }

    /// Whether recording began at something else than the begin of the program.
    fn is_begin_chosen(&self) -> rusqlite::Result<bool> {
        let mut is_chosen = false;
        if self.schema.has_column(CAPTURE, "name") && self.schema.has_column(CAPTURE, "value") {
            for (name, usual) in BEGIN {
                let sql = format!("SELECT value FROM {CAPTURE} WHERE name = '{name}'");
                self.schema.each(self.db, &sql, MAX_ROWS, |cells| {
                    is_chosen |= cells.text(0).is_some_and(|value| value != usual);
                })?;
            }
        }
        Ok(is_chosen)
    }

    /// Programs that ran on the machine, as far as the export lists them.
    fn program_names(&self) -> rusqlite::Result<Vec<String>> {
        let mut names = BTreeSet::new();
        if self.schema.has("PROCESSES") {
            self.schema.each(self.db, &self.schema.select("PROCESSES", &["name"]), MAX_ROWS, |cells| {
                if let Some(name) = cells.text(0).map(short).filter(|_| names.len() < MAX_NAMES) {
                    names.insert(name);
                }
            })?;
        }
        Ok(names.into_iter().collect())
    }

    /// Threads of the processes that were recorded.
    fn thread_names(&self, processes: &BTreeSet<i64>) -> rusqlite::Result<Vec<String>> {
        let mut ids = BTreeSet::new();
        if !self.schema.has("ThreadNames") || !self.schema.has("StringIds") {
            return Ok(Vec::new());
        }
        self.schema.each(self.db, &self.schema.select("ThreadNames", &["globalTid", "nameId"]), MAX_ROWS, |cells| {
            if let (Some(thread), Some(id)) = (cells.int(0), cells.int(1))
                && processes.contains(&process_key(thread))
                && ids.len() < MAX_NAMES
            {
                ids.insert(id);
            }
        })?;
        let mut names = BTreeSet::new();
        for id in ids {
            let sql = format!("{} WHERE id = {id}", self.schema.select("StringIds", &["value"]));
            self.schema.each(self.db, &sql, 1, |cells| names.extend(cells.text(0).map(short)))?;
        }
        Ok(names.into_iter().collect())
    }

    /// What the end of the program's output tells of an error, and where in the source it is, of one that ended the program.
    fn output_error(&self) -> rusqlite::Result<Option<(OutputError, Option<OutputPlace>)>> {
        let mut ids = Vec::new();
        if self.schema.has_column("ProcessStreams", "contentId") && self.schema.has("StringIds") {
            let sql = self.schema.select("ProcessStreams", &["contentId"]);
            self.schema.each(self.db, &sql, MAX_OUTPUTS, |cells| ids.extend(cells.int(0)))?;
        }
        let mut found: Option<(OutputError, Option<OutputPlace>)> = None;
        for id in ids {
            let sql = format!("SELECT substr(value, -{OUTPUT_BYTES}) FROM StringIds WHERE id = {id}");
            self.schema.each(self.db, &sql, 1, |cells| {
                let Some(text) = cells.text(0) else { return };
                let Some(error) = output::error_of(text) else { return };
                if found.as_ref().is_none_or(|(other, _)| output::worse(*other, error) != *other) {
                    found = Some((error, error.is_end.then(|| output_place::place_of(text)).flatten()));
                }
            })?;
        }
        Ok(found)
    }

    /// Whether records came that the driver hands over in the buffers that also hold kernels and copies.
    fn has_device_records(&self) -> rusqlite::Result<bool> {
        for table in ["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"] {
            if has_rows(self.db, self.schema, table)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn short(name: &str) -> String {
    cut::to_bytes(paths::file_name(name), MAX_NAME_BYTES).to_owned()
}
