//! Where results and messages go.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
#[cfg(unix)]
use std::time::{Duration, Instant};

use coldspot::text::escape;

use super::exit::{Exit, Failure};
use super::tokens::without_tokens;

/// Prints to standard output, or writes a file.
pub(super) fn write(text: &str, output: Option<&Path>) -> Result<(), Failure> {
    write_by(|out| out.write_all(text.as_bytes()), output)
}

/// The same of what is written piece by piece.
pub(super) fn write_by(
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let (result, target) = match output {
        Some(path) => (replace(text, path), path.display().to_string()),
        None => (print(text), "standard output".to_owned()),
    };
    result.map_err(|error| Failure::new(Exit::Usage, format!("{target}: cannot be written: {error}")))
}

/// Refuses to write over a file that is read.
pub(super) fn refuse_overwrite<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let Some(output) = output else { return Ok(()) };
    let Ok(target) = fs::canonicalize(output) else { return Ok(()) };
    match inputs.into_iter().find(|input| fs::canonicalize(input).is_ok_and(|input| is_same(&input, &target))) {
        Some(input) => {
            let message =
                format!("{}: is read, and would be written over: give --output another name", input.display());
            Err(Failure::new(Exit::Usage, message))
        }
        None => Ok(()),
    }
}

/// Whether two paths lead to one file, hard links included.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
        identity(one).is_some_and(|identity_of_one| identity(other) == Some(identity_of_one))
    }
    #[cfg(not(unix))]
    {
        one == other
    }
}

/// One message on standard error. When even that is closed there is nobody to tell.
pub(super) fn eprint_message(message: &str) {
    // Messages quote files, and files are hostile. What makes one harmless may bring the parts of a token together.
    let message = without_tokens(escape::log(message));
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// A reader that has seen enough, such as `head`, is no error.
fn print(text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match text(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Refuses links out of the folder that they lie in, of the file and of the folders on the way to it: what reviews a stranger's branch
/// writes into a folder that the stranger fills, and a link there may lead to any file of the machine. One to a pipe or a terminal, as
/// `/dev/stdout` is, leads nowhere else; a disk holds files.
fn check_links(path: &Path) -> io::Result<()> {
    let refuse = |why: &str| Err(io::Error::new(ErrorKind::PermissionDenied, why.to_owned()));
    if fs::metadata(path).is_ok_and(|found| is_disk(&found)) {
        return refuse("it is a disk");
    }
    let leads_out = |part: &Path| -> io::Result<bool> {
        let is_link = fs::symlink_metadata(part).is_ok_and(|found| found.is_symlink());
        let Some(target) = fs::canonicalize(part).ok().filter(|_| is_link) else { return Ok(false) };
        let is_stream = part == path && fs::metadata(&target).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let folder = part.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(!is_stream && !target.starts_with(fs::canonicalize(folder)?))
    };
    // The folders above the one that the program runs in are not the stranger's.
    let here = std::env::current_dir()?;
    let lies_here = |part: &Path| {
        part.parent().and_then(|folder| fs::canonicalize(folder).ok()).is_some_and(|folder| folder.starts_with(&here))
    };
    let is_above = |part: &Path| part.is_absolute() && !lies_here(part);
    for part in path.ancestors().filter(|part| !part.as_os_str().is_empty()) {
        if (part == path || !is_above(part)) && leads_out(part)? {
            return refuse(match part == path {
                true => "it is a link that leads out of its folder: name the file that it leads to",
                false => "a folder on the way to it is a link that leads elsewhere: name the folder that it leads to",
            });
        }
    }
    Ok(())
}

/// Whether a file is a device that holds others.
#[cfg(unix)]
fn is_disk(found: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type())
}

#[cfg(not(unix))]
const fn is_disk(_: &fs::Metadata) -> bool {
    false
}

/// How long a pipe may be without a reader.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether one has come.
#[cfg(unix)]
const PAUSE: Duration = Duration::from_millis(20);

/// Opens what is no ordinary file. A pipe that nobody reads would hold up the opening for ever.
#[cfg(unix)]
fn open_other(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::Errno;

    let mut options = File::options();
    options.write(true);
    if !fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        return options.open(path);
    }
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let end = Instant::now() + PATIENCE;
    let pipe = loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                if Instant::now() >= end {
                    let words = format!("nobody reads the pipe, and nobody came to within {} s", PATIENCE.as_secs());
                    return Err(io::Error::new(ErrorKind::TimedOut, words));
                }
                std::thread::sleep(PAUSE);
            }
            opened => break opened?,
        }
    };
    // A reader takes the text at its own pace.
    fcntl_setfl(&pipe, fcntl_getfl(&pipe)? - OFlags::NONBLOCK)?;
    Ok(pipe)
}

#[cfg(not(unix))]
fn open_other(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}

/// Writes a file beside the one that is asked for and renames it, so that nobody ever reads half a review.
fn replace(text: impl FnOnce(&mut dyn Write) -> io::Result<()>, path: &Path) -> io::Result<()> {
    check_links(path)?;
    // A link's target is what is meant; a pipe or a device cannot be renamed over.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut out = BufWriter::new(open_other(path)?);
        return text(&mut out).and_then(|()| out.flush());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".coldspot-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder)?;
    let mut out = BufWriter::new(file.as_file());
    text(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
