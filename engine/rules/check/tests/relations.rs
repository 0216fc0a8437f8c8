//! Faults of relations, and of several files together.

use super::{SOUND, faults};

/// The sound rule under another name, with relations.
fn related(id: &str, relations: &str) -> String {
    SOUND
        .replace("id = \"slow\"", &format!("id = \"{id}\""))
        .replace("[message]", &format!("[relations]\n{relations}\n[message]"))
}

#[test]
fn relations() {
    let slow = related("slow", "explains = [{ rule = \"lat\", on = [\"device\"] }]");
    let late = related(
        "late",
        "suppressed_by = [{ rule = \"slow\", on = [\"kernel\"] }, { rule = \"late\", on = [\"run\"] }]",
    );
    assert_eq!(
        faults(&[("a/slow.toml", &slow), ("a/late.toml", &late)]),
        [
            "a/late.toml:32: `on` names `kernel`, which rule `late` does not know",
            "a/late.toml:32: `on` names `kernel`, which rule `slow` does not know",
            "a/late.toml:32: `late` is related to itself",
            "a/slow.toml:32: there is no rule `lat`; did you mean `late`?",
        ]
    );
    let none = related("slow", "explains = [{ rule = \"late\", on = [] }, { rule = \"late\", on = [\"devise\"] }]");
    assert_eq!(
        faults(&[("a/slow.toml", &none), ("a/late.toml", &related("late", ""))]),
        [
            "a/slow.toml:32: `on` is empty: name the entities that both findings must share",
            "a/slow.toml:32: `on` names `devise`, which is no entity; did you mean `device`?",
        ]
    );
}

#[test]
fn what_a_symptom_shares_is_a_time_that_the_rule_knows() {
    let late = related("late", "");
    let of = |shares: &str| {
        let link = format!("explains = [{{ rule = \"late\", on = [\"device\"], shares = \"{shares}\" }}]");
        faults(&[("a/late.toml", &late), ("a/slow.toml", &related("slow", &link))])
    };
    assert!(of("device.idle_sync_ns").is_empty());
    for wrong in ["device.idle_snc_ns", "device.kernel_count", "kernel.attributed_ns", "idle"] {
        let message = "it names, where a rule is explained, a time of what rule `slow` is about";
        assert_eq!(of(wrong), [format!("a/slow.toml:32: `shares` is `{wrong}`: {message}")]);
    }
    let silences = related("slow", "silences_claims_on = [\"devise\"]");
    assert_eq!(faults(&[("a/slow.toml", &silences)]), ["a/slow.toml:32: `devise` is no entity"]);
}

#[test]
fn rules_do_not_explain_in_a_circle() {
    let link = |id: &str, to: &str| related(id, &format!("explains = [{{ rule = \"{to}\", on = [\"device\"] }}]"));
    let found = faults(&[("r/a.toml", &link("a", "b")), ("r/b.toml", &link("b", "c")), ("r/c.toml", &link("c", "a"))]);
    assert_eq!(found, ["r/a.toml:32: rules explain each other in a circle: a → b → c → a"]);
}

#[test]
fn faults_of_all_files_come_together() {
    let other = SOUND.replace("id = \"slow\"", "id = \"late\"").replace("Slow copies", "");
    let slow = SOUND.replace("base = \"high\"", "base = \"hi\"").replace("exposed_ns | duration", "exposed_ns");
    assert_eq!(
        faults(&[("a/slow.toml", &slow), ("a/late.toml", &other)]),
        [
            "a/late.toml:3: `title` is empty",
            "a/slow.toml:17: in `says`: a number is printed without a filter: add `| duration`",
            "a/slow.toml:28: unknown confidence `hi`; known are `low`, `medium` and `high`",
        ]
    );
}
