//! Rules that hold more than anybody writes: they are refused at once.

use super::{SOUND, faults};
use crate::limits::{MAX_FAULT_COUNT, MAX_NAME_BYTES, MAX_RULE_ENTRY_COUNT, MAX_RULE_TEST_COUNT, MAX_RULE_TEXT_BYTES};
use crate::text::effort;

/// The faults of the sound rule with entries put before a table of it.
fn with(table: &str, entries: &str) -> Vec<String> {
    assert!(SOUND.contains(table), "{table}");
    faults(&[("rules/copies/slow.toml", &SOUND.replacen(table, &format!("{entries}{table}"), 1))])
}

fn list(count: usize, entry: impl Fn(usize) -> String) -> String {
    (0..count).map(entry).collect()
}

#[test]
fn each_list_has_an_end() {
    let most = MAX_RULE_ENTRY_COUNT + 1;
    for (what, table, entries) in [
        (
            "[params]",
            "[[when]]",
            list(4_000, |index| format!("[params.p{index}]\ndefault=1\nunit=\"ns\"\ndoc=\"d\"\n")),
        ),
        ("[groups]", "[[when]]", list(most, |index| format!("[groups.g{index}]\neach=\"kernel\"\n"))),
        ("[[when]]", "[[when]]", "[[when]]\nexpr=\"a.b\"\nsays=\"c\"\n".repeat(most)),
        ("[[tests]]", "[[tests]]", "[[tests]]\nname=\"a\"\n".repeat(MAX_RULE_TEST_COUNT + 1)),
        ("unset", "[[tests]]", format!("[[tests]]\nname=\"a\"\nunset=[{}]\n", "\"a.b\",".repeat(most))),
        (
            "params",
            "[[tests]]",
            format!("[[tests]]\nname=\"a\"\n{}", list(most, |index| format!("params.p{index}=1\n"))),
        ),
        ("explains", "[message]", format!("[relations]\nexplains=[{}]\n", "{rule=\"a\",on=[]},".repeat(most))),
        ("on", "[message]", format!("[relations]\nexplains=[{{rule=\"a\",on=[{}]}}]\n", "\"run\",".repeat(most))),
        (
            "set",
            "[[tests]]",
            format!("[[tests]]\nname=\"a\"\nset.kernel=[{}]\n", "{launch_count=1},".repeat(MAX_RULE_TEST_COUNT)),
        ),
    ] {
        let found = effort::at_most(5, || with(table, &entries));
        let is_said = found.iter().any(|fault| fault.contains(&format!("`{what}` holds ")));
        assert!(is_said && found.len() <= MAX_FAULT_COUNT + 1, "{what}: {:.300}", found[0]);
    }
    let optional = format!("optional = [{}", "\"a.b\",".repeat(most));
    let rule = SOUND.replacen("optional = [", &optional, 1);
    let found = effort::at_most(5, || faults(&[("rules/copies/slow.toml", &rule)]));
    assert!(found.iter().any(|fault| fault.contains("`optional` holds")), "{:.300}", found[0]);
}

#[test]
fn as_much_as_fits_of_what_is_wrong_takes_no_time() {
    let count = MAX_RULE_ENTRY_COUNT;
    let optional = "\"device.windw_ns\",".repeat(count - 1);
    let groups = list(count, |index| format!("[groups.g{index}]\neach=\"kernel\"\n"));
    let params = list(count - 10, |index| format!("[params.p{index:0>150}]\ndefault=1\nunit=\"ns\"\ndoc=\"d\"\n"));
    let tests = list(count, |index| format!("params.q{index:0>150}=1\n"));
    let rule = SOUND
        .replacen("optional = [", &format!("optional = [{optional}"), 1)
        .replacen("[[when]]", &format!("{groups}{params}[[when]]"), 1)
        .replacen("[[tests]]", &format!("[[tests]]\nname=\"a\"\n{tests}[[tests]]"), 1);
    let found = effort::at_most(10, || faults(&[("rules/copies/slow.toml", &rule)]));
    assert!(found.len() <= MAX_FAULT_COUNT);
}

#[test]
fn texts_and_names_have_an_end() {
    let long = "x".repeat(MAX_RULE_TEXT_BYTES);
    let title = |text: &str| faults(&[("rules/copies/slow.toml", &SOUND.replacen("Slow copies", text, 1))]);
    assert_eq!(title(&long), [] as [&str; 0]);
    assert!(title(&format!("{long}x"))[0].contains("no more than 16384 are printed"));
    let test = |name: &str| {
        with(
            "[[tests]]",
            &format!("[[tests]]\nname=\"a\"\nset.copy_group.name=\"{name}\"\nexpect={{outcome=\"pass\"}}\n"),
        )
    };
    let long = "x".repeat(MAX_NAME_BYTES);
    assert_eq!(test(&long), [] as [&str; 0]);
    assert!(test(&format!("{long}x"))[0].contains("which no report has"));
}

#[test]
fn a_long_chain_of_rules_and_a_long_circle_take_no_time() {
    let files: Vec<(String, String)> = (0..1_200)
        .map(|index| {
            let next = (index + 1) % 1_200;
            let link = format!("[relations]\nexplains = [{{ rule = \"r{next:04}\", on = [\"device\"] }}]\n[message]");
            let rule = SOUND.replace("id = \"slow\"", &format!("id = \"r{index:04}\"")).replace("[message]", &link);
            (format!("a/r{index:04}.toml"), rule)
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, rule)| (name.as_str(), rule.as_str())).collect();
    let found = effort::at_most(30, || faults(&files));
    assert_eq!(found.len(), 1, "{:.300}", found[0]);
    assert!(found[0].ends_with("→ r0018 → r0019 → … → r0000"), "{}", found[0]);
    assert_eq!(faults(&files[..1_000]).len(), 1, "the last one explains none that is there");
}

#[test]
fn rules_that_all_explain_each_other_are_gone_along_once() {
    let files: Vec<(String, String)> = (0..150)
        .map(|index| {
            let others = (0..150).filter(|other| *other != index);
            let links: String =
                others.map(|other| format!("{{ rule = \"r{other:04}\", on = [\"device\"] }},")).collect();
            let link = format!("[relations]\nexplains = [{links}]\n[message]");
            let rule = SOUND.replace("id = \"slow\"", &format!("id = \"r{index:04}\"")).replace("[message]", &link);
            (format!("a/r{index:04}.toml"), rule)
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, rule)| (name.as_str(), rule.as_str())).collect();
    let found = effort::at_most(30, || faults(&files));
    assert!(found.iter().any(|fault| fault.contains('→')), "{:.300}", found[0]);
}
