//! Files that are no report, or no longer one: a message with the way out, or a report that says what was dropped.

use coldspot::facts::EntityKind;
use coldspot::ledger::{Account, Breakdown};
use coldspot::source::ReadOptions;

use crate::support::analysis::{facts, facts_of, timeline, try_timeline};
use crate::support::cli::Printed as _;
use crate::support::{cli, damage, temp};

#[test]
fn files_that_are_no_report_get_one_message_with_the_way_out() {
    let folder = temp::folder();
    let mut messages = Vec::new();
    // The same whether or not this machine has one.
    let options = ReadOptions { nsys: Some("/no/such/nsys".into()), ..ReadOptions::default() };
    for path in damage::all_foreign_files(folder.path()) {
        let error = try_timeline(&path, &options).err();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let message = error.unwrap_or_else(|| panic!("{name} was read as a report")).to_string();
        assert!(message.contains(&name), "{message} does not name {name}");
        messages.push(cli::redact(&message, folder.path()));
    }
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn strange_reports_end_in_a_message_or_in_accounts_that_add_up() {
    let folder = temp::folder();
    for path in damage::all_strange_reports(folder.path()) {
        let Ok(timeline) = try_timeline(&path, &ReadOptions::default()) else { continue };
        let facts = facts_of(&timeline);
        for (_, device) in facts.of_kind(EntityKind::Device) {
            let int = |name: &str| device.int(name).unwrap();
            let accounts = Breakdown::Operation.accounts().map(Account::fact);
            assert_eq!(accounts.map(int).sum::<i64>(), int("window_ns"), "{}", path.display());
        }
    }
}

#[test]
fn rows_that_cannot_be_used_are_counted() {
    let folder = temp::folder();
    for path in [
        damage::reversed_timestamps(folder.path()),
        damage::nulls(folder.path()),
        damage::zero_timestamps(folder.path()),
        damage::huge_timestamps(folder.path()),
        damage::text_in_integer_columns(folder.path()),
    ] {
        let timeline = timeline(&path);
        assert!(timeline.dropped.iter().map(|dropped| dropped.count).sum::<u64>() > 0, "{}", path.display());
    }
}

#[test]
fn kernels_that_cannot_be_used_are_told_first_and_pass_no_gate() {
    let folder = temp::folder();
    let _ = (damage::healthy(folder.path(), "healthy.sqlite"), damage::reversed_kernels(folder.path()));
    let review = cli::coldspot_in(folder.path(), &["review", "reversed-kernels.sqlite", "--format", "json"]).json();
    let says = review["verdict"]["plain"].as_str().unwrap();
    assert!(says.starts_with("Read with care (") && says.contains("no sense"), "{says}");
    let args = ["compare", "healthy.sqlite", "reversed-kernels.sqlite", "--format", "json", "--fail-on", "slower"];
    let comparison = cli::coldspot_in(folder.path(), &args).json();
    let says = comparison["verdict"]["plain"].as_str().unwrap();
    assert!(says.contains("work of the GPU of the head is missing"), "{says}");
    assert_eq!(comparison["gates"][0]["outcome"], "unknown", "{:#}", comparison["gates"]);
    let whole = cli::coldspot_in(folder.path(), &["review", "healthy.sqlite", "--format", "json"]).json();
    assert!(!whole["verdict"]["plain"].as_str().unwrap().contains("Read with care"));
}

#[test]
fn the_content_decides_what_a_file_is() {
    let folder = temp::folder();
    let named = facts(&damage::sqlite_named_nsys_rep(folder.path()));
    let healthy = facts(&damage::healthy(folder.path(), "healthy.sqlite"));
    assert_eq!(format!("{named:?}"), format!("{healthy:?}"));
}

#[test]
fn reports_without_gpu_work_are_reports() {
    let folder = temp::folder();
    for path in [damage::without_cuda_tables(folder.path()), damage::empty_cuda_tables(folder.path())] {
        let timeline = timeline(&path);
        assert_eq!((timeline.gpu_op_count(), timeline.dropped.len()), (0, 0), "{}", path.display());
        let facts = facts_of(&timeline);
        let (_, run) = facts.of_kind(EntityKind::Run).next().unwrap();
        assert_eq!(run.int("gpu_op_count"), Some(0), "{}", path.display());
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_named() {
    let folder = temp::folder();
    let Some(path) = damage::unreadable(folder.path()) else {
        println!("SKIPPED: this user may read everything");
        return;
    };
    let message = try_timeline(&path, &ReadOptions::default()).err().unwrap().to_string();
    assert!(message.contains("unreadable.sqlite"), "{message}");
}

#[test]
fn one_operation_that_cannot_be_used_leaves_gates_open_that_nothing_else_fails() {
    let folder = temp::folder();
    damage::with_a_reversed_kernel(folder.path());
    let outcome = |args: &[&str]| {
        let printed = cli::coldspot_in(folder.path(), &[args, &["--format", "json"]].concat()).json();
        printed["gates"][0]["outcome"].as_str().unwrap().to_owned()
    };
    for (report, expected) in [("healthy.sqlite", "passed"), ("reversed-kernel.sqlite", "unknown")] {
        assert_eq!(outcome(&["review", report, "--fail-on", "medium"]), expected, "{report}");
        assert_eq!(outcome(&["review", report, "--budget", "device.idle_share<=1"]), expected, "{report}");
    }
    let limited = |head: &str| outcome(&["compare", "healthy.sqlite", head, "--budget", "window_time=+5%"]);
    assert_eq!((limited("healthy.sqlite").as_str(), limited("reversed-kernel.sqlite").as_str()), ("passed", "unknown"));
}

#[test]
fn an_export_that_is_still_written_is_refused() {
    let folder = temp::folder();
    let export = damage::healthy(folder.path(), "healthy.sqlite");
    let refusal = || try_timeline(&export, &ReadOptions::default()).err().map(|error| error.to_string());
    for ending in ["-wal", "-journal"] {
        let beside = folder.path().join(format!("healthy.sqlite{ending}"));
        // What is done with is empty, or begins with a zero.
        for done in [&[][..], &[0, 7]] {
            std::fs::write(&beside, done).unwrap();
            assert_eq!(refusal(), None, "{ending}");
        }
        std::fs::write(&beside, [7]).unwrap();
        let said = refusal().unwrap();
        let says = format!("healthy.sqlite{ending} beside it holds a part of it");
        assert!(said.contains(&says), "{said}");
        // SQLite looks beside the file that a link leads to.
        #[cfg(unix)]
        {
            let link = folder.path().join("link.sqlite");
            std::os::unix::fs::symlink(&export, &link).unwrap();
            let said = try_timeline(&link, &ReadOptions::default()).err().map(|error| error.to_string()).unwrap();
            assert!(said.contains(&says), "{said}");
            std::fs::remove_file(&link).unwrap();
        }
        std::fs::remove_file(&beside).unwrap();
    }
}

#[test]
fn exports_that_lack_kernels_or_hold_them_twice_pass_no_gate() {
    let folder = temp::folder();
    let _ = damage::healthy(folder.path(), "healthy.sqlite");
    for (path, expected) in [
        (damage::every_other_kernel(folder.path()), "no work in the recording"),
        (damage::kernels_twice(folder.path()), "make no sense"),
        // What was launched last may not have run yet when a capture ends: a review is of what did.
        (damage::half_of_the_work(folder.path()), ""),
    ] {
        let name = path.file_name().unwrap().to_str().unwrap();
        let review = cli::coldspot_in(folder.path(), &["review", name, "--format", "json"]).json();
        let says = review["verdict"]["plain"].as_str().unwrap();
        assert_eq!(says.starts_with("Read with care ("), !expected.is_empty(), "{name}: {says}");
        assert!(says.contains(expected), "{name}: {says}");
        let args = ["compare", "healthy.sqlite", name, "--format", "json", "--fail-on", "slower"];
        let comparison = cli::coldspot_in(folder.path(), &args).json();
        assert_eq!(comparison["gates"][0]["outcome"], "unknown", "{name}: {:#}", comparison["gates"]);
    }
}

#[test]
fn a_compressed_export_is_told_from_a_trace() {
    use std::io::Write as _;
    let folder = temp::folder();
    let export = std::fs::read(damage::healthy(folder.path(), "healthy.sqlite")).unwrap();
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(&export).unwrap();
    let path = folder.path().join("healthy.sqlite.gz");
    std::fs::write(&path, zipped.finish().unwrap()).unwrap();
    let said = try_timeline(&path, &ReadOptions::default()).err().unwrap().to_string();
    assert!(said.contains("a compressed export of Nsight Systems") && said.contains("Unpack it first"), "{said}");
}
