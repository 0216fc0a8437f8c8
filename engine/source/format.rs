//! What a format is: what it is called, how a file of it is told, who reads it, and how its profiler captures what a
//! recording lacks. The table of them is in [`super::FORMATS`].

use std::fmt;
use std::path::Path;

use super::{Progress, ReadError, ReadOptions, Recording};
use crate::timeline::Capability;

/// A format that there is a reader for.
#[derive(Debug)]
pub struct Format {
    /// Its id: the value of the fact `run.format`.
    pub id: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// What records with its profiler: how a command for that begins.
    pub(super) profiler: &'static str,
    /// How to get a file of it: said of a file that is none.
    pub(super) hint: &'static str,
    /// Who reads a file that begins with these bytes; `None` for one of another format.
    pub(super) reader: fn(&[u8]) -> Option<Reader>,
    /// What a file is that has to do with the format, and is not of it; `None` for any other.
    pub(super) near_miss: fn(Head<'_>) -> Option<NearMiss>,
    /// What to run for a recording that has these; `None` for what any recording has.
    pub(super) capture: fn(&[Capability]) -> Option<CaptureCommand>,
    /// The same as whole lines, to be copied.
    pub(super) script: fn(&CaptureCommand) -> Script,
}

/// The program to be recorded, in the place of which its user puts their own.
pub(super) const PROGRAM: &str = "PROGRAM";

/// Lines that record a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// What records: `nsys`, `ncu`, `torch.profiler`.
    pub profiler: &'static str,
    /// What the lines are written in.
    pub language: Language,
    /// The lines.
    pub text: String,
    /// The file that comes of it, which coldspot reads.
    pub output: &'static str,
}

/// What a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// A command line.
    Shell,
    /// A part of a program.
    Python,
}

impl Language {
    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Python => "python",
        }
    }
}

/// Reads a file of a format.
pub(super) type Reader = fn(&Path, &ReadOptions, &dyn Progress) -> Result<Recording, ReadError>;

/// What a format is told from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'file> {
    /// The first bytes of the file.
    pub(super) bytes: &'file [u8],
    /// What its name ends in, in lower case.
    pub(super) extension: &'file str,
}

/// A file that is nearly of a format.
#[derive(Debug, Clone, Copy)]
pub(super) struct NearMiss {
    /// What it is.
    pub(super) found: &'static str,
    /// What to do.
    pub(super) hint: &'static str,
}

/// What must be recorded, each once and in order; `None` where any recording will do.
pub(super) fn to_record(wanted: &[Capability]) -> Option<Vec<Capability>> {
    let mut wanted = wanted.to_vec();
    wanted.retain(|capability| *capability != Capability::Report);
    wanted.sort_unstable();
    wanted.dedup();
    (!wanted.is_empty()).then_some(wanted)
}

/// What to run to record a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureCommand {
    /// The profiler.
    pub program: &'static str,
    /// Its options, parted by blanks; of a function, its arguments in parentheses.
    pub options: String,
}

impl fmt::Display for CaptureCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The arguments of a function stand right behind its name.
        let gap = if self.options.starts_with('(') { "" } else { " " };
        write!(f, "{}{gap}{}", self.program, self.options)
    }
}
