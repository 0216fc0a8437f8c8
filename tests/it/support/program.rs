//! Shell scripts that play the part of NVIDIA's programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program in a folder. Its script tells in the file `scratch` where it was run.
pub fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    fs::write(folder.join(format!("{name}.txt")), text).unwrap();
    // Copied by another process: a program that this one has open for writing, or a fork of it, cannot be run.
    let copy = format!("cp {name}.txt {name} && chmod 755 {name}");
    assert!(Command::new("sh").args(["-c", &copy]).current_dir(folder).status().unwrap().success());
    folder.join(name)
}

/// That the folder which the program was run in is gone.
pub fn assert_scratch_is_gone(folder: &Path) {
    let scratch = fs::read_to_string(folder.join("scratch")).unwrap();
    let scratch = Path::new(scratch.trim()).parent().unwrap();
    assert!(scratch.file_name().unwrap().to_string_lossy().starts_with("coldspot-"));
    assert!(!scratch.exists(), "{} is left behind", scratch.display());
}
