//! Where results and complaints go.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::exit::{Exit, Failure};

/// Prints to standard output, or writes a file.
pub(super) fn deliver(text: &str, output: Option<&Path>) -> Result<(), Failure> {
    let (result, place) = match output {
        Some(path) => (replace(text, path), path.display().to_string()),
        None => (print(text), "standard output".to_owned()),
    };
    result.map_err(|error| Failure::new(Exit::Usage, format!("{place}: cannot be written: {error}")))
}

/// One message on standard error. When even that is closed there is nobody to tell.
pub(super) fn complain(message: &str) {
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// A reader that has seen enough, such as `head`, is no error.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a file beside the one that is asked for and renames it, so that nobody ever reads half a review.
fn replace(text: &str, path: &Path) -> io::Result<()> {
    // A link's target is what is meant; a pipe or a device cannot be renamed over.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return File::options().write(true).open(path)?.write_all(text.as_bytes());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".coldspot-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
