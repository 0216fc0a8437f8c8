//! Each fault of a rule file, by its exact message. Every case breaks one thing of a sound rule.

mod in_file_tests;
mod relations;
mod size;

use super::super::library::tests::load;

const SOUND: &str = r#"schema = 1
id = "slow"
title = "Slow copies"
for_each = "copy_group"
where = "copy_group.host_memory == 'pageable'"
optional = ["device.pinned_h2d_gb_per_s"]

[params]
min_share = { default = 0.01, unit = "share", doc = "Ignore less." }
usual_gb_per_s = { default = 20, unit = "gb_per_s", doc = "A usual rate." }

[values]
pinned_gb_per_s = "device.pinned_h2d_gb_per_s | default(params.usual_gb_per_s)"

[[when]]
expr = "copy_group.exposed_ns >= params.min_share * device.window_ns"
says = "{{ copy_group.exposed_ns | duration }} exposed"
[[when]]
expr = "copy_group.achieved_gb_per_s < values.pinned_gb_per_s"
says = "{{ copy_group.achieved_gb_per_s | gb_per_s }} reached"

[estimate]
recoverable_ns = "copy_group.exposed_ns"
claims = "exposed_copy"
basis = "A bound."

[confidence]
base = "high"
lower = [{ to = "medium", when = "device.pinned_h2d_gb_per_s is not defined", because = "assumed" }]

[message]
summary = "{{ copy_group.name }} is slow"
verify = "Look again."

[advice]
default = "Pin."

[[references]]
url = "https://example.com/"
supports = "pinning"

[example]
copy_group = { name = "x", host_memory = "pageable", achieved_gb_per_s = 6, exposed_ns = 600 }
device = { window_ns = 2000, exposed_copy_ns = 600, pinned_h2d_gb_per_s = 24 }

[[tests]]
name = "hidden"
set = { copy_group.exposed_ns = 1 }
expect = { outcome = "pass" }
[[tests]]
name = "no window"
unset = ["device.window_ns"]
expect = { outcome = "unknown" }
"#;

fn faults(sources: &[(&str, &str)]) -> Vec<String> {
    match load(sources) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

/// The faults of the sound rule with one part replaced, without the file's name.
fn broken(part: &str, by: &str) -> Vec<String> {
    assert!(SOUND.contains(part), "the sound rule has no `{part}`");
    let found = faults(&[("rules/copies/slow.toml", &SOUND.replacen(part, by, 1))]);
    found.iter().map(|fault| fault.replacen("rules/copies/slow.toml:", "", 1)).collect()
}

#[track_caller]
fn check(part: &str, by: &str, expected: &[&str]) {
    assert_eq!(broken(part, by), expected);
}

/// The same for the first condition.
#[track_caller]
fn check_condition(expr: &str, expected: &str) {
    let sound = "copy_group.exposed_ns >= params.min_share * device.window_ns";
    let prefix = format!("16: in `{expr}`: ");
    let found: Vec<_> = broken(&format!("\"{sound}\""), &format!("{expr:?}"));
    let found = found.iter().filter_map(|fault| fault.strip_prefix(&prefix)).collect::<Vec<_>>();
    assert_eq!(found, [expected]);
}

/// The same for the first sentence of evidence.
#[track_caller]
fn check_text(text: &str, expected: &str) {
    let found = broken("{{ copy_group.exposed_ns | duration }} exposed", text);
    assert_eq!(found, [format!("17: in `says`: {expected}")]);
}

#[test]
fn the_sound_rule_is_sound() {
    assert_eq!(faults(&[("rules/copies/slow.toml", SOUND)]), Vec::<String>::new());
}

#[test]
fn every_unknown_key_is_named_with_the_nearest_known_one() {
    let found = broken("title = \"Slow copies\"", "titel = \"Slow\"\ntitle = \"Slow copies\"\nwhare = \"x\"");
    assert_eq!(
        found,
        ["3: unknown key `titel`; did you mean `title`?", "5: unknown key `whare`; did you mean `where`?"]
    );
    check("supports = ", "suports = \"\"\nsupports = ", &["40: unknown key `suports`; did you mean `supports`?"]);
    check(
        "outcome = \"pass\"",
        "outcome = \"pass\", recoverable = 1",
        &["49: unknown key `recoverable`; did you mean `recoverable_ns`?"],
    );
    check(
        "doc = \"A usual rate.\"",
        "doc = \"A usual rate.\", docs = 1",
        &["10: unknown key `docs`; did you mean `doc`?"],
    );
}

#[test]
fn no_end_of_unknown_keys_comes_to_an_end() {
    let found = |count: usize| {
        let keys: String = (0..count).map(|index| format!("key_{index} = 1\n")).collect();
        faults(&[("rules/copies/slow.toml", &SOUND.replacen("[params]", &format!("{keys}[params]"), 1))]).len()
    };
    assert_eq!(found(2_000), crate::limits::MAX_UNKNOWN_KEY_COUNT);
    // Each costs another reading, of a large file more.
    assert!((1..10).contains(&found(20_000)));
}

#[test]
fn the_shape_of_the_file() {
    check("title = \"Slow copies\"\n", "", &["1: the key `title` is missing"]);
    check("title = \"Slow copies\"", "title = 3", &["3: invalid type: integer, expected a string"]);
    check(
        "schema = 1",
        "schema = 2\nfancy = true",
        &["1: `schema = 2` is newer than this coldspot, which reads schema 1: update coldspot"],
    );
    check("schema = 1", "schema = 0", &["1: write `schema = 1`"]);
    check("title = \"Slow copies\"", "title = \" \"", &["3: `title` is empty"]);
    assert!(broken("[params]", "[params")[0].starts_with("8: unclosed table"), "{:?}", broken("[params]", "[params"));
}

#[test]
fn ids() {
    let twice = faults(&[("rules/copies/slow.toml", SOUND), ("rules/sync/slow.toml", SOUND)]);
    assert_eq!(twice, ["rules/sync/slow.toml:1: `rules/copies/slow.toml` has the same id: ids are unique"]);
    check(
        "id = \"slow\"",
        "id = \"slower\"",
        &["2: the id is `slower`, the file is named `slow.toml`: they must be equal"],
    );
}

#[test]
fn words_that_must_be_known() {
    check(
        "for_each = \"copy_group\"",
        "for_each = \"copy_grup\"",
        &["4: unknown entity `copy_grup`; did you mean `copy_group`?"],
    );
    check("for_each", "severity = \"hihg\"\nfor_each", &["4: unknown severity `hihg`; did you mean `high`?"]);
    check(
        "for_each",
        "status = \"beta\"\nfor_each",
        &["4: unknown status `beta`; known are `stable` and `experimental`"],
    );
    let ranked = "[ranking]\nculprit = \"device.window_ns\"\nkernel_time = \"stream.name\"\n[confidence]";
    check(
        "[confidence]",
        ranked,
        &[
            "28: `device.window_ns` is no fact that the rule knows, of a text",
            "29: `stream.name` is no fact that the rule knows, of a time",
        ],
    );
    check("unit = \"gb_per_s\"", "unit = \"gb_per_sec\"", &["10: unknown unit `gb_per_sec`; did you mean `gb_per_s`?"]);
    check(
        "[confidence]",
        "[[severity_when]]\nis = \"hihg\"\nwhen = \"device.window_ns\"\n[confidence]",
        &[
            "28: unknown severity `hihg`; did you mean `high`?",
            "29: in `device.window_ns`: a condition must be true or false, not ns",
        ],
    );
    check("base = \"high\"", "base = \"hgih\"", &["28: unknown confidence `hgih`; did you mean `high`?"]);
    check("to = \"medium\"", "to = \"high\"", &["29: `high` is not lower than the base `high`"]);
    check(
        "default = \"Pin.\"",
        "default = \"Pin.\"\npytroch = \"x\"",
        &["37: unknown framework `pytroch`; did you mean `pytorch`?"],
    );
    check(
        "default = \"Pin.\"",
        "pytorch = \"x\"",
        &["35: [advice] needs a `default`, for frameworks that it does not name"],
    );
    check(
        "claims = \"exposed_copy\"",
        "claims = \"exposed_copies\"",
        &["24: unknown account `exposed_copies`; did you mean `exposed_copy`?"],
    );
    check(
        "claims = \"exposed_copy\"",
        "claims = \"exposed_copy_ns\"",
        &["24: unknown account `exposed_copy_ns`; did you mean `exposed_copy`?"],
    );
    check(
        "exposed_copy_ns = 600, ",
        "",
        &["42: [example] needs `device.exposed_copy_ns`, the account that the estimate claims: it is its bound"],
    );
    check("https://", "http://", &["39: `http://example.com/` does not begin with https://"]);
}

#[test]
fn names_in_expressions() {
    check_condition("copy_group.exposd_ns > 0", "`copy_group` has no fact `exposd_ns`; did you mean `exposed_ns`?");
    check_condition("copy_grop.exposed_ns > 0", "`copy_grop` is no entity; did you mean `copy_group`?");
    check_condition(
        "kernel.sum_ns > 0",
        "a rule for each `copy_group` cannot name `kernel`, only `copy_group`, `device` and `run`",
    );
    check_condition("params.min_sare > 0", "`params.min_sare` is not declared in [params]; did you mean `min_share`?");
    check_condition(
        "values.pined_gb_per_s > 0",
        "`values.pined_gb_per_s` is not declared in [values]; did you mean `pinned_gb_per_s`?",
    );
    check_condition("exposed_ns > 0", "`exposed_ns` is no fact: write `entity.fact`, `params.name` or `values.name`");
    // Short-circuits hide these at run time.
    check_condition(
        "false and device.typo > 1",
        "`device` has no fact `typo`; `coldspot facts --list` prints all facts",
    );
    check_condition("device['window_ns'] > 0", "`[ ]` is not part of the language: name facts as `entity.fact`");
    check_condition("copy_group.name.x == 'a'", "`.x` follows something that has no facts");
}

#[test]
fn the_language_is_closed() {
    check_condition("copy_group.count | int > 0", "unknown filter `int`; known are `default` and `lower`");
    check_condition("copy_group.count is odd", "unknown test `odd`; known are `defined` and `undefined`");
    check_condition("range(3) == 1", "unknown function `range`; known are `matches`, `max` and `min`");
    check_condition("copy_group.name.upper() == 'A'", "methods are not part of the language");
    check_condition(
        "copy_group.count ** 2 > 4",
        "`**` and `~` are not part of the language; texts are put together in templates",
    );
    check_condition(
        "copy_group.exposed_ns | duration == 'x'",
        "`duration` prints: it goes last, in a text, as in `(a / b) | duration`",
    );
    check_condition("max(device.window_ns) > 0", "`max` needs two numbers or more");
    check_condition(
        "device.window_ns == none",
        "`none` is not part of the language: absent facts are tested with `is defined`",
    );
    check(
        "expr = \"copy_group.achieved_gb_per_s < values.pinned_gb_per_s\"",
        "expr = \"copy_group.count >\"",
        &["19: `copy_group.count >` cannot be read: unexpected end of input, expected expression"],
    );
}

#[test]
fn units_in_comparisons_and_sums() {
    check_condition(
        "copy_group.exposed_ns >= params.min_share",
        "`copy_group.exposed_ns` (ns) is compared with `params.min_share` (share)",
    );
    check_condition(
        "copy_group.exposed_ns + copy_group.bytes > 0",
        "`copy_group.exposed_ns` (ns) is added to or taken from `copy_group.bytes` (bytes)",
    );
    check_condition(
        "copy_group.exposed_ns > 5000",
        "a bare number beside one in ns: declare it in [params] with `unit = \"ns\"`",
    );
    check_condition(
        "copy_group.bytes / copy_group.busy_ns > 10",
        "a bare number beside one in gb_per_s: declare it in [params] with `unit = \"gb_per_s\"`",
    );
    check_condition("max(copy_group.count, device.window_ns) > 0", "`max` is given count and ns");
    check_condition(
        "copy_group.count > device.copy_overlapped_share",
        "`copy_group.count` (count) is compared with `device.copy_overlapped_share` (share)",
    );
    check_condition(
        "0 < copy_group.exposed_ns < device.copy_bytes",
        "`copy_group.exposed_ns` (ns) is compared with `device.copy_bytes` (bytes)",
    );
    check(
        "\"copy_group.exposed_ns\"",
        "\"copy_group.exposed_ns * copy_group.bytes\"",
        &["23: in `copy_group.exposed_ns * copy_group.bytes`: it must give ns, not ns*bytes"],
    );
}

#[test]
fn units_that_fit() {
    for expr in [
        "copy_group.exposed_ns > 0 and copy_group.count >= 10",
        "copy_group.bytes / copy_group.busy_ns < params.usual_gb_per_s",
        "copy_group.exposed_ns / device.window_ns > params.min_share",
        "1 - params.min_share > 0.5",
        "min(copy_group.exposed_ns, device.window_ns, 0) == 0",
        "2 * copy_group.small_count > copy_group.count",
        "copy_group.median_bytes * copy_group.count <= copy_group.bytes",
        "'h2d' in copy_group.name | lower",
        "copy_group.direction in ['host_to_device', 'peer'] or not copy_group.is_blocking_call",
    ] {
        let found = broken("copy_group.exposed_ns >= params.min_share * device.window_ns", expr);
        let about = found.iter().filter(|fault| fault.contains(" in `") || fault.contains("cannot be read"));
        assert_eq!(about.collect::<Vec<_>>(), Vec::<&String>::new(), "{expr}");
    }
}

#[test]
fn types() {
    check_condition("copy_group.exposed_ns", "a condition must be true or false, not ns");
    check_condition("copy_group.count > 0 and copy_group.bytes", "a condition must be true or false, not bytes");
    check_condition("copy_group.name > 'a'", "`<`, `<=`, `>` and `>=` compare numbers, not text");
    check_condition("copy_group.count == '3'", "count is compared with text");
    check_condition(
        "copy_group.direction == 'host_to_devise'",
        "the fact is never 'host_to_devise'; did you mean `host_to_device`?",
    );
    check_condition("copy_group.direction in ['peers']", "the fact is never 'peers'; did you mean `peer`?");
    check(
        "'pageable'\"",
        "'pagable'\"",
        &["5: in `copy_group.host_memory == 'pagable'`: the fact is never 'pagable'; did you mean `pageable`?"],
    );
}

#[test]
fn names_as_params() {
    let declared = |param: &str, expected: &[&str]| {
        let declaration = format!("[params]\nnames = {{ default = {param}, doc = \"Names.\" }}");
        let used = "where = \"matches(copy_group.name, params.names) and copy_group";
        let rule = SOUND.replace("[params]", &declaration).replace("where = \"copy_group", used);
        assert_eq!(faults(&[("rules/copies/slow.toml", &rule)]), expected, "{param}");
    };
    declared("\"pinned*\", unit = \"text\"", &[]);
    declared("[\"pinned*\", \"*peer\"], unit = \"text\"", &[]);
    let prefix = "rules/copies/slow.toml:9: the default of `params.names`";
    declared("[], unit = \"text\"", &[&format!("{prefix} must be a text, or a list of texts that is not empty")]);
    declared("[\"\"], unit = \"text\"", &[&format!("{prefix} holds an empty text, which is no name")]);
    let long = format!("\"{}\", unit = \"text\"", "x".repeat(513));
    declared(&long, &[&format!("{prefix} holds a text of more than 512 bytes")]);
    let many = format!("[{}], unit = \"text\"", "\"a\",".repeat(65));
    declared(&many, &[&format!("{prefix} is a list of more than 64 texts")]);
    check_condition(
        "matches(copy_group.name)",
        "`matches` needs a pattern behind the text: `matches(kernel.name, 'gemm*')`",
    );
    check_condition("matches(copy_group.bytes, 'a')", "`matches` looks at a text, not at bytes");
    check_condition("matches(copy_group.name, params.min_share)", "a pattern is a text, not share");
    check_condition(
        "matches(copy_group.direction, 'host_*', 'pear*')",
        "no value of the fact matches 'pear*'; it is `host_to_device`, `device_to_host`, `device_to_device`, `peer`, \
         `host_to_host` and `unknown`",
    );
}

#[test]
fn optional_facts_are_asked_for_first() {
    let optional = "`device.pinned_h2d_gb_per_s` is optional: use `| default(…)`, or ask `device.pinned_h2d_gb_per_s is defined` first";
    check_condition("device.pinned_h2d_gb_per_s > params.usual_gb_per_s", optional);
    check_condition(
        "device.pinned_h2d_gb_per_s is not defined and device.pinned_h2d_gb_per_s > params.usual_gb_per_s",
        optional,
    );
    for sound in [
        "device.pinned_h2d_gb_per_s is defined and device.pinned_h2d_gb_per_s > params.usual_gb_per_s",
        "device.pinned_h2d_gb_per_s is not defined or device.pinned_h2d_gb_per_s > params.usual_gb_per_s",
        "(device.pinned_h2d_gb_per_s if device.pinned_h2d_gb_per_s is defined else params.usual_gb_per_s) > 0",
    ] {
        let found = broken("copy_group.exposed_ns >= params.min_share * device.window_ns", sound);
        assert!(!found.iter().any(|fault| fault.contains("is optional")), "{found:?}");
    }
    check_condition(
        "device.window_ns is defined",
        "`device.window_ns` is needed, so it is always defined: list it in `optional`",
    );
    check_condition(
        "device.window_ns | default(0) > 0",
        "`device.window_ns` is needed, so its default is never used: list it in `optional`",
    );
    check_condition(
        "device.pinned_h2d_gb_per_s | default(params.min_share) > 0",
        "the fact is in gb_per_s, its default in share",
    );
    check(
        "[\"device.pinned_h2d_gb_per_s\"]",
        "[\"device.pinned_h2d_gb_per_s\", \"device.pined\"]",
        &["6: `device` has no fact `pined`; `coldspot facts --list` prints all facts"],
    );
    check(
        "[\"device.pinned_h2d_gb_per_s\"]",
        "[\"device.pinned_h2d_gb_per_s\", \"device.sm_count\"]",
        &["6: `device.sm_count` is optional, but never used"],
    );
}

#[test]
fn what_only_lowers_the_confidence_proves_nothing() {
    check(
        "when = \"device.pinned_h2d_gb_per_s is not defined\"",
        "when = \"device.pinned_h2d_gb_per_s is defined\"",
        &[],
    );
    let summary = "summary = \"{{ copy_group.name }} is slow\"";
    let both = SOUND
        .replacen(
            "when = \"device.pinned_h2d_gb_per_s is not defined\"",
            "when = \"device.pinned_h2d_gb_per_s is defined\"",
            1,
        )
        .replacen(summary, "summary = \"{{ device.pinned_h2d_gb_per_s | gb_per_s }}\"", 1);
    let expected = "32: in `summary`: `device.pinned_h2d_gb_per_s` is optional: use `| default(…)`, or ask `device.pinned_h2d_gb_per_s is defined` first";
    assert_eq!(faults(&[("rules/copies/slow.toml", &both)]), [format!("rules/copies/slow.toml:{expected}")]);
}

#[test]
fn texts_print_numbers_through_a_filter_that_fits() {
    check_text("{{ copy_group.exposed_ns }}", "a number is printed without a filter: add `| duration`");
    check_text("{{ copy_group.longest_start_ns }}", "a number is printed without a filter: add `| instant`");
    check_text("{{ device.number }}", "a number is printed without a filter: add `| id`");
    check_text("{{ device.compute_major | percent }}", "`percent` does not print an id: use `| id`");
    check_text("{{ device.sampled_clock_max_mhz | count }}", "`count` does not print mhz: use `| mhz`");
    check_text("{{ copy_group.bytes | duration }}", "`duration` does not print bytes: use `| bytes`");
    check_text("{{ copy_group.count | percent }}", "`percent` does not print count: use `| count`");
    check_text("{{ copy_group.name | count }}", "`count` does not print text");
    check_text("{{ copy_group.is_blocking_call }}", "true or false cannot be printed: use `{% if %}`");
    check_text("{{ copy_group.longest_start_ns | duration }}", "this is a moment, not a length: use `| instant`");
    check_text("{{ copy_group.exposed_ns | instant }}", "this is a length, not a moment: use `| duration`");
    check_text("{{ copy_group.exposed_ns | duratoin }}", "unknown filter `duratoin`; did you mean `duration`?");
    check_text("{% for x in copy_group.name %}{% endfor %}", "a text may use `{{ … }}` and `{% if … %}` only");
    check_text("{% if copy_group.count %}x{% endif %}", "a condition must be true or false, not count");
    check(
        "basis = \"A bound.\"",
        "basis = \"{{ x }}\"",
        &["25: `basis` is printed as it is: it cannot hold expressions"],
    );
}

#[test]
fn what_is_declared_is_used() {
    check(
        "[values]",
        "other = { default = 1, unit = \"count\", doc = \"Unused.\" }\n[values]",
        &["12: `params.other` is never used"],
    );
    check("[[when]]", "other = \"device.window_ns\"\n[[when]]", &["15: `values.other` is never used"]);
    check(
        "[[when]]",
        "other = \"values.pinned_gb_per_s\"\n[[when]]",
        &[
            "15: in `values.pinned_gb_per_s`: `values.pinned_gb_per_s` cannot be used here: `where` and [values] are made from facts and params only",
            "15: `values.other` is never used",
        ],
    );
    check("default = 0.01", "default = 2", &["9: the default of `params.min_share` is a share: between 0 and 1"]);
    check(
        "default = 0.01",
        "default = \"0.01\"",
        &["9: the default of `params.min_share` must be a finite number, in share; a name has `unit = \"text\"`"],
    );
}

#[test]
fn rules_without_estimate_or_ledger() {
    let estimate =
        "[estimate]\nrecoverable_ns = \"copy_group.exposed_ns\"\nclaims = \"exposed_copy\"\nbasis = \"A bound.\"\n";
    check(estimate, "", &["2: a rule without [estimate] needs a `severity`: nothing else tells how much it matters"]);
    let run = SOUND.replace("for_each = \"copy_group\"", "for_each = \"run\"");
    let found = faults(&[("rules/copies/slow.toml", &run)]);
    let about = "rules/copies/slow.toml:24: a rule for each `run` has no device, and so no ledger to claim time from";
    assert!(found.iter().any(|fault| fault == about), "{found:?}");
}
