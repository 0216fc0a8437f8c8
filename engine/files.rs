//! Files of a folder that a stranger may have filled: rules and templates.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::limits::MAX_RULE_FILE_BYTES;

/// The text of an ordinary file that lies in a folder: a link may not lead out of it, nor to something without an end.
pub(crate) fn read_inside(folder: &Path, path: &Path) -> io::Result<String> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
    let target = fs::canonicalize(path)?;
    if !target.starts_with(fs::canonicalize(folder)?) {
        return Err(refused("it is a link that leads out of the folder"));
    }
    if !fs::metadata(&target)?.is_file() {
        return Err(refused("it is no ordinary file"));
    }
    let mut text = String::new();
    let read = File::open(&target)?.take(MAX_RULE_FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_RULE_FILE_BYTES {
        return Err(refused("it is larger than 1 MiB"));
    }
    Ok(text)
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
        fs::write(file("large"), "x".repeat(MAX_RULE_FILE_BYTES as usize + 1)).unwrap();
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
