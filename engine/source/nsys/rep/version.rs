//! Which Nsight Systems made a report.
//!
//! The format is not public; this is what reports show. A report begins with [`MAGIC`] and a tag that ends in a dot. From
//! 2023.4 on the tag is the version, with `@` for its dots; before, it is `1` and the version is in the section `UI Data`.
//! A report ends with the offset of its table of sections (8 bytes) and [`END`]. Sections are protobuf messages; what
//! else they hold (environment, command line, host name) is never kept.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::files;

/// What every report begins with, from the `.qdrep` of 2020 on.
const MAGIC: &[u8] = b"NVIDIA Tegra Profiler Report ";
/// What a whole report ends with.
const END: &[u8] = b"U3w[END]";
const MAX_TAG_BYTES: usize = 64;
/// Real ones take hundreds of bytes.
const MAX_SECTION_BYTES: u64 = 64 * 1024;

/// A version of Nsight Systems; the build number is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    year: u16,
    release: u16,
    patch: u16,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.year, self.release, self.patch)
    }
}

impl Version {
    /// Parses `2022.4.2.1-df9881f` or `2026@4@1@191-264138605071v0`.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(['.', '@']).map(|part| {
            // `parse` would take a sign.
            part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
        });
        let version = Self { year: numbers.next()??, release: numbers.next()??, patch: numbers.next()?? };
        // Nsight Systems began in 2018: a smaller number is something else.
        (2018..=2999).contains(&version.year).then_some(version)
    }

    /// The first version in what `nsys --version` prints.
    pub(super) fn in_output(output: &str) -> Option<Self> {
        output.split_whitespace().find_map(Self::parse)
    }
}

/// Whether a file begins as a report does.
pub(in crate::source) fn is_rep(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The version that made a report; `None` when the report does not say.
pub(super) fn of_report(path: &Path) -> Option<Version> {
    let mut file = files::open(path).ok()?;
    let mut head = Vec::new();
    file.by_ref().take((MAGIC.len() + MAX_TAG_BYTES) as u64).read_to_end(&mut head).ok()?;
    in_head(&head).or_else(|| in_sections(&mut file))
}

/// Whether a file ends as a report does; `None` when it cannot be read.
pub(super) fn is_whole(path: &Path) -> Option<bool> {
    let mut file = files::open(path).ok()?;
    let mut end = [0; END.len()];
    file.seek(SeekFrom::End(-(END.len() as i64))).ok()?;
    file.read_exact(&mut end).ok()?;
    Some(end == END)
}

fn in_head(head: &[u8]) -> Option<Version> {
    let tag = head.strip_prefix(MAGIC)?;
    let length = tag.iter().position(|byte| !byte.is_ascii_graphic()).unwrap_or(tag.len());
    Version::parse(std::str::from_utf8(&tag[..length]).ok()?)
}

fn in_sections(file: &mut File) -> Option<Version> {
    let mut offset = [0; 8];
    let mut end = [0; END.len()];
    let table_end = file.seek(SeekFrom::End(-((offset.len() + END.len()) as i64))).ok()?;
    file.read_exact(&mut offset).ok()?;
    file.read_exact(&mut end).ok()?;
    if end != END {
        return None;
    }
    let table_start = u64::from_le_bytes(offset);
    let table = read_part(file, table_start, table_end.checked_sub(table_start)?)?;
    let (start, length) = Fields(&table).find_map(|(_, section)| ui_data(section.bytes()?))?;
    let data = read_part(file, start, length)?;
    // 6 and 7 name the recorder, 21 the importer, which wrote the file: the newest decides who can read it.
    let is_version = |number: &u64| matches!(number, 6 | 7 | 21);
    let versions = Fields(&data).filter(|(number, _)| is_version(number));
    versions.filter_map(|(_, field)| Version::parse(std::str::from_utf8(field.bytes()?).ok()?)).max()
}

/// Where the section `UI Data` starts and how long it is, when this entry of the table is about it.
fn ui_data(entry: &[u8]) -> Option<(u64, u64)> {
    let field = |wanted| Fields(entry).find(|(number, _)| *number == wanted).map(|(_, value)| value);
    (field(1)?.bytes()? == b"UI Data").then_some(())?;
    Some((field(2)?.int()?, field(3)?.int()?))
}

fn read_part(file: &mut File, start: u64, length: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut part = Vec::new();
    file.take(length.min(MAX_SECTION_BYTES)).read_to_end(&mut part).ok()?;
    Some(part)
}

/// The fields of a protobuf message with their numbers; ends at the first that is broken.
struct Fields<'a>(&'a [u8]);

enum Field<'a> {
    Int(u64),
    Bytes(&'a [u8]),
    Fixed,
}

impl<'a> Field<'a> {
    fn int(&self) -> Option<u64> {
        if let Self::Int(value) = self { Some(*value) } else { None }
    }

    fn bytes(&self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Int(self.varint()?),
            1 => self.take(8).map(|_| Field::Fixed)?,
            2 => {
                let length = self.varint()?;
                Field::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Field::Fixed)?,
            _ => return None,
        };
        Some((key >> 3, field))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The last bytes of a real report of 2022.4.2: the table of sections, shortened, and what follows it.
    const TABLE: &[u8] =
        b"\x0a\x10\x0a\x07UI Data\x10\x1f\x18\xc4\x02\x0a\x11\x0a\x09Telemetry\x10\xe9\x93\x08\x18\x00";

    fn shown(version: Option<Version>) -> Option<String> {
        version.map(|version| version.to_string())
    }

    fn of_bytes(bytes: &[u8]) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        shown(of_report(file.path()))
    }

    /// A report with the version among its sections.
    fn old_report(versions: &[(u8, &str)]) -> Vec<u8> {
        let mut report = [MAGIC, b"1."].concat();
        for (number, version) in versions {
            let key = u16::from(*number) << 3 | 2;
            if key < 0x80 {
                report.push(key as u8);
            } else {
                report.extend([key as u8 | 0x80, (key >> 7) as u8]);
            }
            report.push(version.len() as u8);
            report.extend(version.bytes());
        }
        let offset = report.len() as u64;
        report.extend(TABLE);
        report.extend(offset.to_le_bytes());
        report.extend(END);
        report
    }

    #[test]
    fn the_first_bytes_name_the_version_since_2023_4() {
        let head = b"NVIDIA Tegra Profiler Report 2026@4@1@191-264138605071v0.\x0a\x0bLocal (CLI)";
        assert!(is_rep(head));
        assert_eq!(of_bytes(head).as_deref(), Some("2026.4.1"));
    }

    #[test]
    fn before_a_section_names_it() {
        let versions =
            [(1, "cpu.nsys-rep"), (4, "2019.1.1.1"), (6, "2022.4.2.1-df9881f"), (21, "2023.1.2.43-32377213v0")];
        assert_eq!(of_bytes(&old_report(&versions)).as_deref(), Some("2023.1.2"));
        assert_eq!(of_bytes(&old_report(&[(1, "cpu.nsys-rep")])), None);
    }

    #[test]
    fn damaged_ends_name_no_version() {
        let report = old_report(&[(6, "2022.4.2.1-df9881f")]);
        for length in 0..report.len() {
            assert_eq!(of_bytes(&report[..length]), None, "cut at {length}");
        }
        let mut misplaced = report.clone();
        let offset = misplaced.len() - 16;
        misplaced[offset..offset + 8].fill(0xFF);
        assert_eq!(of_bytes(&misplaced), None);
    }

    #[test]
    fn what_nsys_prints_names_its_version() {
        let version = Version::in_output("NVIDIA Nsight Systems version 2022.4.2.1-df9881f\n");
        assert_eq!(shown(version).as_deref(), Some("2022.4.2"));
        assert!(version < Version::in_output("NVIDIA Nsight Systems version 2022.4.10.1\n"));
        for other in ["", "GNU bash, version 5.2.15(1)-release", "2022.4", "+2022.4.2", "2022.x.1", "2022.4.70000"] {
            assert_eq!(Version::in_output(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(at in 0_usize..120, bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut report = old_report(&[(6, "2022.4.2.1-df9881f")]);
            let end = report.len();
            report.splice(at.min(end)..(at + bytes.len()).min(end), bytes);
            of_bytes(&report);
        }
    }
}
