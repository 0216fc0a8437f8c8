//! Files that are no report, or no longer one: a message with the way out, or a report that says what was dropped.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use crate::support::damage;
use coldspot::facts::{EntityKind, extract};
use coldspot::ledger::Scope;
use coldspot::read::{ReadOptions, read};
use tempfile::TempDir;

#[test]
fn files_that_are_no_report_get_one_message_with_the_way_out() {
    let folder = TempDir::new().unwrap();
    let mut messages = Vec::new();
    // The same whether or not this machine has one.
    let options = ReadOptions { nsys: Some("/no/such/nsys".into()), ..ReadOptions::default() };
    for path in damage::all_foreign_files(folder.path()) {
        let error = read(&path, &options, &()).err();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let message = error.unwrap_or_else(|| panic!("{name} was read as a report")).to_string();
        assert!(message.contains(&name), "{message} does not name {name}");
        messages.push(message.replace(&folder.path().display().to_string(), "FOLDER"));
    }
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn strange_reports_end_in_a_message_or_in_accounts_that_add_up() {
    let folder = TempDir::new().unwrap();
    for path in damage::all_strange_reports(folder.path()) {
        let Ok(timeline) = read(&path, &ReadOptions::default(), &()) else { continue };
        let facts = extract(&timeline, &Scope::All).unwrap();
        for (_, device) in facts.of_kind(EntityKind::Device) {
            let int = |name: &str| device.int(name).unwrap();
            let accounts = [
                "compute_ns",
                "exposed_communication_ns",
                "exposed_copy_ns",
                "exposed_migration_ns",
                "exposed_memset_ns",
                "idle_ns",
            ];
            assert_eq!(accounts.into_iter().map(int).sum::<i64>(), int("window_ns"), "{}", path.display());
        }
    }
}

#[test]
fn rows_that_cannot_be_used_are_counted() {
    let folder = TempDir::new().unwrap();
    for path in [
        damage::reversed_timestamps(folder.path()),
        damage::nulls(folder.path()),
        damage::zero_timestamps(folder.path()),
        damage::huge_timestamps(folder.path()),
        damage::text_in_integer_columns(folder.path()),
    ] {
        let timeline = read(&path, &ReadOptions::default(), &()).unwrap();
        assert!(timeline.dropped.iter().map(|dropped| dropped.count).sum::<u64>() > 0, "{}", path.display());
    }
}
