//! Files that a stranger may have made: opened only where they are ordinary files, and read up to a limit.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use crate::limits::MAX_TEXT_FILE_BYTES;

/// Opens an ordinary file. A folder, a pipe, a socket or a device is refused: reading it may never end.
///
/// # Errors
/// When it cannot be opened, or is no ordinary file.
pub fn open(path: &Path) -> io::Result<File> {
    // Before, because opening a device may do something; after, because the name may lead elsewhere by then.
    check_ordinary(&fs::metadata(path)?)?;
    let mut options = File::options();
    options.read(true);
    // A pipe that has taken the file's place meanwhile must not hold up the opening.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path)?;
    check_ordinary(&file.metadata()?)?;
    Ok(file)
}

/// The text of an ordinary file.
///
/// # Errors
/// When it cannot be read, is no ordinary file, is larger than the limit, or is no UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = open(path)?.take(most_bytes + 1).read_to_string(&mut text);
    // What is cut may end within a character: the size is what is wrong then.
    if text.len() as u64 > most_bytes || fs::metadata(path)?.len() > most_bytes {
        return Err(refused(&format!("it is larger than {} MiB", most_bytes >> 20)));
    }
    read.map(|_| text)
}

/// The text of an ordinary file that lies in a folder: a link may not lead out of it, nor to something without an end.
pub(crate) fn read_inside(folder: &Path, path: &Path) -> io::Result<String> {
    let target = fs::canonicalize(path)?;
    if !target.starts_with(fs::canonicalize(folder)?) {
        return Err(refused("it is a link that leads out of the folder"));
    }
    read_text(&target, MAX_TEXT_FILE_BYTES)
}

fn check_ordinary(found: &Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => Err(refused(&format!("it is {}, no ordinary file", kind(found)))),
    }
}

#[cfg(unix)]
fn kind(found: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = found.file_type();
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

#[cfg(not(unix))]
fn kind(found: &Metadata) -> &'static str {
    if found.is_dir() { "a folder" } else { "a device" }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn links_do_not_lead_out_and_files_end() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let file = |name: &str| inside.join(name);
        fs::write(file("own"), "text").unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        fs::write(file("large"), "x".repeat(MAX_TEXT_FILE_BYTES as usize + 1)).unwrap();
        for (name, to) in [("out", "../secret"), ("device", "/dev/zero"), ("fine", "own"), ("folder", ".")] {
            std::os::unix::fs::symlink(to, file(name)).unwrap();
        }
        assert_eq!(read_inside(&inside, &file("own")).unwrap(), "text");
        assert_eq!(read_inside(&inside, &file("fine")).unwrap(), "text");
        for name in ["out", "device", "folder", "large", "none"] {
            assert!(read_inside(&inside, &file(name)).is_err(), "{name}");
        }
    }
}
