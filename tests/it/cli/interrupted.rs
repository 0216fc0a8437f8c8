//! Runs that somebody ends while nsys exports a report: nothing is left, neither nsys nor its folder.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{cli, damage, temp, watch};

/// An nsys that starts another program, and waits for it for longer than any test.
const NSYS: &str = "#!/bin/sh\nhere=$(dirname \"$0\")\n[ \"$1\" = --version ] && echo version 2025.5.2.1 && exit\n\
    pwd > \"$here/scratch\"\nsleep 1000 &\necho $$ $! > \"$here/new\"\nmv \"$here/new\" \"$here/ids\"\nwait\n";

/// Waits until something holds.
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < watch::PATIENCE {
        if let Some(found) = found() {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}: not within {:?}", watch::PATIENCE);
}

fn sh(script: &str, folder: &Path) -> bool {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).current_dir(folder).stderr(Stdio::null());
    command.status().unwrap().success()
}

/// Whether a process is there and no zombie: whose child it is decides when that goes.
fn runs(id: &str) -> bool {
    sh(&format!("ps -o stat= -p {id} | grep -q '^[^Z]'"), temp::root())
}

/// In a group of its own, as a job of a runner is.
fn start(folder: &Path) -> Child {
    let report = damage::nsys_rep(folder, "2025.5.2.1");
    fs::write(folder.join("nsys.txt"), NSYS).unwrap();
    // Copied by another process: a program that this one, or a fork of it, has open for writing cannot be run.
    assert!(sh("cp nsys.txt nsys && chmod 755 nsys", folder));
    let mut command = Command::new(cli::binary());
    command.arg("review").arg(report).arg("--nsys").arg(folder.join("nsys")).current_dir(folder);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("TMPDIR", folder);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn nothing_is_left_of_a_run_that_is_ended() {
    // The last two leave coldspot no time to do anything: one ends it alone, one all that is of its group.
    let signals = [
        ("INT", "", Some(130)),
        ("TERM", "", Some(143)),
        ("HUP", "", Some(129)),
        ("QUIT", "", Some(131)),
        ("KILL", "", None),
        ("KILL", "-", None),
    ];
    for (signal, group, code) in signals {
        let folder = temp::folder();
        let mut run = start(folder.path());
        let ids = until("nsys starts", || fs::read_to_string(folder.path().join("ids")).ok());
        let scratch = fs::read_to_string(folder.path().join("scratch")).unwrap();
        let scratch = Path::new(scratch.trim()).parent().unwrap();
        assert!(scratch.is_dir() && ids.split_whitespace().all(runs));
        assert!(sh(&format!("kill -s {signal} -- {group}{}", run.id()), folder.path()));
        assert_eq!(run.wait().unwrap().code(), code, "{signal}");
        until(signal, || ids.split_whitespace().all(|id| !runs(id)).then_some(()));
        until(signal, || (!scratch.exists()).then_some(()));
    }
}
