//! Comparisons, baselines and the formats of machines, as a user meets them.

use std::path::{Path, PathBuf};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::cli::{Printed, coldspot};
use crate::support::{SchemaVersion, fixtures, scenario, temp};

const HOSTILE: [&str; 9] = [
    "<img src=x onerror=alert(1)>",
    "`; rm -rf`",
    "@everyone",
    "::error::pwned",
    "a|b",
    "two\nlines\r::error::x",
    "\u{1b}[31mred",
    "<!-- coldspot:compare -->",
    "]]></system-out> & \"quoted\" ##[error]x",
];

fn fixture(name: &str) -> String {
    fixtures().join(name).display().to_string()
}

/// The facts of a fixture as JSON.
fn facts(name: &str) -> Value {
    coldspot(&["facts", &fixture(name), "--format", "json"]).success().json()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(temp::folder())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, value: &Value) -> String {
        std::fs::write(self.path(name), value.to_string()).unwrap();
        self.path(name).display().to_string()
    }
}

/// Every entity of a kind, to change.
fn each(facts: &mut Value, kind: &str, mut change: impl FnMut(&mut Value)) {
    facts[kind].as_array_mut().unwrap().iter_mut().for_each(&mut change);
}

/// All times of all entities, longer or shorter.
fn scaled(mut facts: Value, factor: f64) -> Value {
    for kind in ["devices", "kernels", "copy_groups", "sync_groups", "ranges", "steps"] {
        each(&mut facts, kind, |entity| {
            for (name, value) in entity.as_object_mut().unwrap() {
                if let Some(ns) = value.as_i64().filter(|_| name.ends_with("_ns")) {
                    *value = json!((ns as f64 * factor).round() as i64);
                }
            }
        });
    }
    facts
}

/// What a capture without annotations would hold.
fn without_steps(mut facts: Value) -> Value {
    facts["steps"] = json!([]);
    each(&mut facts, "devices", |device| {
        device.as_object_mut().unwrap().retain(|name, _| !name.contains("step") && !name.starts_with("steady"));
    });
    facts
}

fn compared(base: &str, head: &str, more: &[&str]) -> Value {
    coldspot(&[&["compare", base, head, "--format", "json"], more].concat()).json()
}

#[test]
fn a_report_against_itself_is_no_change() {
    for name in ["healthy.sqlite", "tiny-kernels.sqlite", "training-step.sqlite", "pageable-copies-2021.sqlite"] {
        let json = compared(&fixture(name), &fixture(name), &[]);
        assert_eq!(json["outcome"], "no_change", "{name}");
        for (state, count) in json["counts"].as_object().unwrap() {
            assert!(state == "unchanged" || count == 0, "{name}: {state}");
        }
        assert_eq!((&json["kernels"], &json["work"]["differences"]), (&json!([]), &json!([])), "{name}");
        coldspot(&["compare", &fixture(name), &fixture(name)]).success().stdout(contains("**No change: "));
    }
}

#[test]
fn slower_and_faster_read_right() {
    let folder = Folder::new();
    // Whole factors keep the sums of the ledger whole.
    let base = folder.write("base.json", &scaled(facts("training-step.sqlite"), 4.0));
    let slower = folder.write("slower.json", &scaled(facts("training-step.sqlite"), 5.0));
    let there = coldspot(&["compare", &base, &slower]).success().out();
    let back = coldspot(&["compare", &slower, &base]).success().out();
    insta::assert_snapshot!("a_step_that_became_slower", there);
    insta::assert_snapshot!("a_step_that_became_faster", back);
    assert!(there.contains("## coldspot: slower") && back.contains("## coldspot: faster"));
    for text in [&there, &back] {
        let has_sign =
            (0..10).any(|digit| text.contains(&format!(" -{digit}")) || text.contains(&format!("(-{digit}")));
        assert!(!has_sign && !text.contains('−'), "a change has no sign: {text}");
    }
    // Four per cent are noise with one run a side, and the report says so.
    let noisy = folder.write("noisy.json", &scaled(facts("training-step.sqlite"), 4.16));
    coldspot(&["compare", &base, &noisy]).success().stdout(contains("No change beyond the noise (5 % with one run"));
}

#[test]
fn several_runs_count_by_the_interval_of_the_change() {
    let folder = Folder::new();
    let run = |name: &str, factor: f64| folder.write(name, &scaled(facts("training-step.sqlite"), factor));
    let side = |name: &str, factors: &[f64]| -> Vec<String> {
        factors.iter().enumerate().map(|(index, factor)| run(&format!("{name}{index}.json"), *factor)).collect()
    };
    let compared = |base: &[String], head: &[String], more: &[&str]| {
        let arguments: Vec<&str> = ["compare", "--format", "json", "--base"]
            .into_iter()
            .chain(base.iter().map(String::as_str))
            .chain(["--head"])
            .chain(head.iter().map(String::as_str))
            .chain(more.iter().copied())
            .collect();
        coldspot(&arguments).json()
    };
    let base = side("base", &[1.0, 1.01, 1.02]);
    let slower = side("slower", &[1.1, 1.11, 1.12]);
    assert_eq!(compared(&base, &slower, &[])["outcome"], "slower");
    assert_eq!(compared(&slower, &base, &[])["outcome"], "faster");
    // Three runs a side that do not meet show nothing yet, and the limit is neither passed nor failed.
    let near = side("near", &[1.03, 1.05, 1.06]);
    let json = compared(&base, &near, &["--budget", "step_time=+3%"]);
    assert_eq!((&json["outcome"], &json["gates"][0]["outcome"]), (&json!("no_change"), &json!("undecided")));
    assert!(json["verdict"]["plain"].as_str().unwrap().contains("record 5 a side"), "{}", json["verdict"]["plain"]);
    assert!(json["gates"][0]["says"].as_str().unwrap().contains("the runs leave open"), "{}", json["gates"][0]["says"]);
    // One odd run of five hides nothing.
    let odd = side("odd", &[1.0, 1.01, 1.02, 1.0, 1.6]);
    let five = side("five", &[1.3, 1.31, 1.32, 1.31, 1.3]);
    let json = compared(&odd, &five, &["--fail-on", "slower=5%", "--budget", "step_time=+5%"]);
    assert_eq!((&json["outcome"], &json["odd"][0]["name"]), (&json!("slower"), &json!("odd4.json")));
    assert_eq!((&json["gates"][0]["outcome"], &json["gates"][1]["outcome"]), (&json!("failed"), &json!("failed")));
    coldspot(&["compare", "--base", &base[0]]).code(2);
    coldspot(&["compare", &base[0]]).code(2);
}

#[test]
fn other_work_gets_no_verdict_but_exit_code_5() {
    let folder = Folder::new();
    let mut head = without_steps(facts("tiny-kernels.sqlite"));
    each(&mut head, "kernels", |kernel| {
        kernel["launch_count"] = json!(kernel["launch_count"].as_i64().unwrap() * 9 / 10);
    });
    let base = folder.write("base.json", &without_steps(facts("tiny-kernels.sqlite")));
    let head = folder.write("head.json", &head);
    coldspot(&["compare", &base, &head]).code(5).stdout(
        contains("## coldspot: not comparable")
            .and(contains("fewer kernels").and(contains(" unclear |")))
            .and(contains("faster:").not()),
    );
    // A gate that needs the verdict is not why the run fails; one that was broken is.
    coldspot(&["compare", &base, &head, "--budget", "window_time=+5%"])
        .code(5)
        .stdout(contains("could not be evaluated"));
    coldspot(&["compare", &base, &head, "--budget", "device.idle_share<=0"]).code(1);
    let mut other = without_steps(facts("tiny-kernels.sqlite"));
    each(&mut other, "devices", |device| device["name"] = json!("NVIDIA B200 <b>"));
    let mut named = without_steps(facts("tiny-kernels.sqlite"));
    each(&mut named, "devices", |device| device["name"] = json!("NVIDIA A100"));
    let (named, other) = (folder.write("named.json", &named), folder.write("other.json", &other));
    coldspot(&["compare", &named, &other])
        .code(5)
        .stdout(contains("the base ran on NVIDIA A100, the head on NVIDIA B200 \\<b\\>"));
}

#[test]
fn twice_the_work_is_compared_by_unit() {
    let folder = Folder::new();
    let mut twice = scaled(without_steps(facts("tiny-kernels.sqlite")), 2.0);
    each(&mut twice, "kernels", |kernel| {
        kernel["launch_count"] = json!(kernel["launch_count"].as_i64().unwrap() * 2);
        kernel["mean_ns"] = json!(kernel["mean_ns"].as_i64().unwrap() / 2);
    });
    for kind in ["devices", "copy_groups"] {
        each(&mut twice, kind, |entity| {
            for (name, value) in entity.as_object_mut().unwrap() {
                let count = value
                    .as_i64()
                    .filter(|_| ["copy_bytes", "kernel_count", "bytes", "count"].contains(&name.as_str()));
                if let Some(count) = count {
                    *value = json!(count * 2);
                }
            }
        });
    }
    let base = folder.write("base.json", &without_steps(facts("tiny-kernels.sqlite")));
    let head = folder.write("head.json", &twice);
    for (base, head, counts) in [(&base, &head, [1, 2]), (&head, &base, [2, 1])] {
        let json = compared(base, head, &[]);
        assert_eq!(json["work"]["basis"], json!({"kind": "unit", "base_count": counts[0], "head_count": counts[1]}));
        assert_eq!((&json["outcome"], &json["kernels"]), (&json!("no_change"), &json!([])));
    }
}

#[test]
fn a_budget_of_a_kernel_follows_the_one_in_its_place() {
    let folder = Folder::new();
    let mut head = scaled(facts("tiny-kernels.sqlite"), 2.0);
    each(&mut head, "kernels", |kernel| {
        for name in ["name", "full_name"] {
            if let Some(text) = kernel[name].as_str().map(|text| format!("new_{text}")) {
                kernel[name] = json!(text);
            }
        }
    });
    let first = facts("tiny-kernels.sqlite")["kernels"][0].clone();
    let (name, full) = (first["name"].as_str().unwrap(), first["full_name"].as_str().unwrap());
    assert_ne!(name, full);
    let base = folder.write("base.json", &facts("tiny-kernels.sqlite"));
    let head = folder.write("head.json", &head);
    for pattern in [name, full] {
        let budget = |fact: &str| format!("kernel[\"{pattern}\"].{fact}=+5%");
        let json = compared(&base, &head, &["--budget", &budget("mean_ns"), "--budget", &budget("sum_ns")]);
        assert_eq!((&json["gates"][0]["outcome"], &json["gates"][1]["outcome"]), (&json!("failed"), &json!("failed")));
    }
}

#[test]
fn pairs_that_make_no_sense_print_nothing() {
    let folder = Folder::new();
    let base = fixture("healthy.sqlite");
    let mut two = facts("healthy.sqlite");
    let mut second = two["devices"][0].clone();
    second["id"] = json!("gpu9");
    second["number"] = json!(9);
    two["devices"].as_array_mut().unwrap().push(second);
    let two = folder.write("two.json", &two);
    let text = coldspot(&["compare", &base, &two]).code(5).stderr("").out();
    assert!(
        text.contains("the base used 1 GPU, the head 2 GPUs: of one GPU that both have, choose it with --device N"),
        "{text}"
    );
    let newer = folder.write("newer.json", &json!({"schema": "coldspot.facts/7", "coldspot": "9.0.0"}));
    coldspot(&["compare", &newer, &base]).code(3).stdout("").stderr(contains("Update coldspot"));
    coldspot(&["review", &newer]).code(3).stdout("");
    coldspot(&["compare", "/no/such/base", &base]).code(3).stdout("").stderr(contains("/no/such/base"));
    coldspot(&["compare", &base, &base, "--budget", "step_tme=+5%"])
        .code(2)
        .stdout("")
        .stderr(contains("did you mean `step_time`?"));
    let window = ["--window", "0s..1s"];
    coldspot(&["review", &folder.write("facts.json", &facts("healthy.sqlite")), window[0], window[1]]).code(2);
}

#[test]
fn a_facts_file_reviews_as_its_report_does() {
    let folder = Folder::new();
    let saved = folder.path("saved.json").display().to_string();
    for name in ["training-step.sqlite", "tiny-kernels.sqlite"] {
        coldspot(&["facts", &fixture(name), "--format", "json", "--output", &saved]).success();
        let strip = |text: String| text.replace("saved.json", name);
        let of_file = strip(coldspot(&["review", &saved]).success().out());
        let of_report = coldspot(&["review", &fixture(name)]).success().out();
        // Only a recording can be played again with all changes at once.
        let (together, rest): (Vec<&str>, Vec<&str>) =
            of_report.split("\n\n").partition(|part| part.starts_with("Together: "));
        assert_eq!(of_file, rest.join("\n\n"));
        assert_eq!(together.len(), usize::from(name == "training-step.sqlite"));
    }
}

#[test]
fn every_gate_is_printed_and_decides() {
    let folder = Folder::new();
    let base = folder.write("base.json", &facts("training-step.sqlite"));
    let head = folder.write("head.json", &scaled(facts("training-step.sqlite"), 1.25));
    let gates = |budget: &str| coldspot(&["compare", &base, &head, "--budget", budget]);
    gates("step_time=+30%").success().stdout(contains("✓ passed"));
    gates("step_time=+5%").code(1).stdout(contains("✗ failed"));
    gates("step_time=-5%").code(1);
    gates("copy.exposed_ns=+10s").success();
    gates("device.idle_share<=1").success();
    gates("findings.gone=0").success();
    gates("device.sampled_dram_share<=0.5").code(1).stdout(contains("could not be evaluated"));
    coldspot(&["compare", &base, &head, "--budget", "device.sampled_dram_share<=0.5", "--allow-unknown-gates"])
        .success();
    coldspot(&["compare", &base, &base, "--fail-on", "low"])
        .success()
        .stdout(contains("no finding of severity low or above is new or worse"));
    coldspot(&["compare", &fixture("healthy.sqlite"), &fixture("healthy.sqlite"), "--fail-on", "never"]).success();
}

#[test]
fn budgets_of_a_project_hold() {
    let folder = Folder::new();
    let base = folder.write("base.json", &facts("training-step.sqlite"));
    let head = folder.write("head.json", &scaled(facts("training-step.sqlite"), 1.25));
    let with = |toml: &str| {
        std::fs::write(folder.path("coldspot.toml"), toml).unwrap();
        let config = folder.path("coldspot.toml").display().to_string();
        coldspot(&["compare", &base, &head, "--config", &config])
    };
    with("[budgets]\nstep_time = \"+5%\"\nfindings.new = 0\n\"device.idle_share\" = \"<= 1\"\n")
        .code(1)
        .stdout(contains("| `step_time` | `+5%` | ✗ failed").and(contains("| `findings.new` | `0` | ✓ passed")));
    with("[budgets]\nstep_time = \"+30%\"\n").success();
    with("[budgets]\nstep_time = \"+30 bananas\"\n")
        .code(2)
        .stderr(contains("coldspot.toml:2").and(contains("is no limit")));
    with("[budgets]\ndevice.idel_share = 0.1\n").code(2).stderr(contains("did you mean `device.idle_share`?"));
    with("[budgets]\nstep_time = true\n").code(2).stderr(contains("coldspot.toml:2"));
}

#[test]
fn new_findings_fail_the_gate_and_gone_ones_do_not() {
    let folder = Folder::new();
    let (pageable, pinned) = (folder.path("pageable.sqlite"), folder.path("pinned.sqlite"));
    scenario("pageable-copies").write(SchemaVersion::Nsys2025, &pageable);
    scenario("pinned-copies").write(SchemaVersion::Nsys2025, &pinned);
    let (pageable, pinned) = (pageable.display().to_string(), pinned.display().to_string());
    let there = compared(&pinned, &pageable, &[]);
    let back = compared(&pageable, &pinned, &[]);
    let rules = |json: &Value, state: &str| -> Vec<String> {
        let findings = json["findings"].as_array().unwrap().iter().filter(|finding| finding["state"] == state);
        findings.map(|finding| finding["fingerprint"].as_str().unwrap().to_owned()).collect()
    };
    assert!(rules(&there, "new").iter().any(|print| print.starts_with("pageable-copy ")), "{there:#}");
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list
    };
    assert_eq!(sorted(rules(&there, "new")), sorted(rules(&back, "gone")));
    let worst = ["--fail-on", "low"];
    coldspot(&["compare", &pinned, &pageable, worst[0], worst[1]]).code(1);
}

#[test]
fn a_baseline_shows_only_what_is_new() {
    let folder = Folder::new();
    let report = fixture("pageable-copies-2021.sqlite");
    let file = folder.path("known.json");
    let known = file.display().to_string();
    coldspot(&["baseline", "write", &known, &report]).success().stdout("");
    coldspot(&["review", &report, "--fail-on", "low"]).code(1);
    coldspot(&["review", &report, "--fail-on", "low", "--baseline", &known])
        .success()
        .stdout(contains("as the baseline says").and(contains("## Findings").not()));
    let mut json: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(json["schema"], "coldspot.baseline/1");
    json["findings"] = json!([{"fingerprint": "pageable-copy gpu#7 @everyone", "title": "gone"}]);
    let other = folder.write("other.json", &json);
    coldspot(&["review", &report, "--fail-on", "low", "--baseline", &other])
        .code(1)
        .stdout(contains("not found any more: `pageable-copy gpu#7 @everyone`"));
    coldspot(&["review", &report, "--baseline", &report]).code(2).stderr(contains("baseline write FILE REPORT"));
    json["schema"] = json!("coldspot.baseline/2");
    coldspot(&["review", &report, "--baseline", &folder.write("newer.json", &json)]).code(2);
}

/// Two facts files whose every string of the program is hostile, and that differ.
fn hostile_pair(folder: &Folder) -> (String, String) {
    let mut base = facts("training-step.sqlite");
    for kind in ["kernels", "ranges", "copy_groups", "processes", "devices"] {
        let mut place = 0;
        each(&mut base, kind, |entity| {
            entity["name"] = json!(format!("{} {place}", HOSTILE[place % HOSTILE.len()]));
            place += 1;
        });
    }
    // Enough kernels for every name, which share the time of the first.
    let attributed_ns = base["kernels"][0]["attributed_ns"].as_i64().unwrap() / (HOSTILE.len() as i64 + 1);
    base["kernels"][0]["attributed_ns"] = json!(attributed_ns);
    let kernel = base["kernels"][0].clone();
    for (place, name) in HOSTILE.iter().enumerate() {
        let mut more = kernel.clone();
        more["id"] = json!(format!("hostile{place}"));
        more["name"] = json!(name);
        base["kernels"].as_array_mut().unwrap().push(more);
    }
    let mut head = scaled(base.clone(), 1.5);
    each(&mut head, "devices", |device| {
        let window = device["window_ns"].as_i64().unwrap();
        let is_part = |name: &str| (name.starts_with("exposed_") || name.starts_with("idle_")) && name.ends_with("_ns");
        device.as_object_mut().unwrap().retain(|name, _| !is_part(name));
        for (name, ns) in [
            ("idle_ns", window / 2),
            ("idle_host_ns", window / 2),
            ("idle_host_range_ns", window / 2),
            ("compute_ns", window - window / 2),
        ] {
            device[name] = json!(ns);
        }
        device["idle_host_range"] = json!(HOSTILE[0]);
    });
    (folder.write("base @everyone.json", &base), folder.write("<img src=x>.json", &head))
}

#[test]
fn names_are_inert_in_markdown() {
    let folder = Folder::new();
    let (base, head) = hostile_pair(&folder);
    let text = coldspot(&["compare", &base, &head]).success().out();
    assert!(text.starts_with("<!-- coldspot:compare -->\n"));
    let mut comments = 0;
    for event in pulldown_cmark::Parser::new_ext(&text, pulldown_cmark::Options::ENABLE_TABLES) {
        match event {
            pulldown_cmark::Event::Html(html) | pulldown_cmark::Event::InlineHtml(html) => {
                comments += usize::from(html.contains("<!--"));
                let is_ours = ["<!-- coldspot:compare -->", "<details", "</details>", "<summary>", "</summary>"];
                assert!(
                    is_ours.iter().any(|ours| html.trim_start().starts_with(ours)) && !html.contains("img"),
                    "{html}"
                );
            }
            pulldown_cmark::Event::Text(words) => assert!(!words.contains("@everyone"), "{words}"),
            _ => {}
        }
    }
    assert_eq!(comments, 1, "only the marker is a comment");
    assert!(!text.contains('\u{1b}') && text.contains("img src"));
}

#[test]
fn names_are_inert_for_machines() {
    let folder = Folder::new();
    let (base, head) = hostile_pair(&folder);
    let of = |format: &str| {
        let compare = coldspot(&["compare", &base, &head, "--fail-on", "low", "--format", format]).out();
        [compare, coldspot(&["review", &head, "--fail-on", "low", "--format", format]).out()]
    };
    for text in of("github") {
        assert!(text.lines().count() > 2 && text.contains("img src"), "{text}");
        for line in text.lines() {
            let command = line.split("::").nth(1).unwrap_or_default();
            let is_ours =
                ["notice title=", "warning title=", "error title="].iter().any(|word| command.starts_with(word));
            assert!((line.starts_with("::") && is_ours) || line.starts_with("gate "), "{line}");
            assert!(!line.contains('\u{1b}') && !line.contains('\r'));
        }
    }
    for text in of("junit") {
        assert!(
            !text.contains("<img") && text.contains("&lt;img") && !text.contains("]]>") && !text.contains('\u{1b}')
        );
        let opened = text.matches("<testcase ").count();
        assert_eq!((opened, text.matches("</testcase>").count()), (text.matches(" classname=").count(), opened));
        assert!(text.contains("<failure "), "{text}");
    }
    for text in of("json").into_iter().chain(of("sarif")) {
        let _: Value = serde_json::from_str(&text).unwrap();
        assert!(!text.contains('\u{1b}') && !text.contains("##["));
    }
}

#[test]
fn sarif_is_valid_by_its_schema() {
    let folder = Folder::new();
    let (base, head) = hostile_pair(&folder);
    // The schema of the standard, by OASIS.
    let schema = std::fs::read_to_string(fixtures().join("../tests/it/support/schema/sarif-2.1.0.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let review = coldspot(&["review", &fixture("pageable-copies-2021.sqlite"), "--format", "sarif"]).success().out();
    let compare = coldspot(&["compare", &base, &head, "--format", "sarif"]).success().out();
    for (text, is_comparison) in [(review, false), (compare, true)] {
        let log: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(log["version"], "2.1.0");
        let complaints: Vec<String> =
            schema.iter_errors(&log).map(|error| format!("{}: {error}", error.instance_path)).collect();
        assert_eq!(complaints, Vec::<String>::new());
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(run["tool"]["driver"]["name"], "coldspot");
        for rule in rules {
            assert!(rule["help"]["text"].as_str().unwrap().len() > 100 && rule["help"]["markdown"].is_string());
            assert!(rule["shortDescription"]["text"].is_string() && rule["id"].is_string());
        }
        let results = run["results"].as_array().unwrap();
        assert!(!results.is_empty());
        for result in results {
            let index = result["ruleIndex"].as_u64().unwrap() as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
            let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
            assert!(uri.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)), "{uri}");
            assert_eq!(result["partialFingerprints"]["coldspot/1"].as_str().unwrap().len(), 16);
            let state = result.get("baselineState").and_then(Value::as_str);
            assert_eq!(state.is_some(), is_comparison);
            assert!(state.is_none_or(|state| ["new", "unchanged", "updated", "absent"].contains(&state)));
        }
        for note in run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap() {
            assert!(note["message"]["text"].is_string() && note["level"].is_string());
        }
    }
}

#[test]
fn a_comment_fits_the_forge_and_says_when_it_is_cut() {
    let folder = Folder::new();
    let mut base = facts("training-step.sqlite");
    let device = base["devices"][0].clone();
    // As many GPUs as a facts file may hold.
    for number in 1..32 {
        let mut more = device.clone();
        more["id"] = json!(format!("gpu{number}"));
        more["number"] = json!(number);
        more["name"] = json!("n|@é".repeat(100));
        base["devices"].as_array_mut().unwrap().push(more);
    }
    let mut kernel = base["kernels"][0].clone();
    kernel["attributed_ns"] = json!(kernel["attributed_ns"].as_i64().unwrap() / 2_001);
    base["kernels"][0] = kernel.clone();
    for number in 0..2_000 {
        let mut more = kernel.clone();
        more["id"] = json!(format!("k{number}"));
        more["name"] = json!(format!("{}{number}", "n|@é".repeat(100)));
        base["kernels"].as_array_mut().unwrap().push(more);
    }
    let head = folder.write("head.json", &scaled(base.clone(), 1.5));
    let text = coldspot(&["compare", &folder.write("base.json", &base), &head]).success().out();
    assert!(text.len() < 65_000, "{}", text.len());
    assert!(text.contains("so that this fits a comment") && text.starts_with("<!-- coldspot:compare -->\n"));
    assert_eq!(text.matches("<details").count(), text.matches("</details>").count());
}

#[test]
fn real_pairs_are_judged_as_an_expert_would() {
    let Some(folder) = crate::support::sample_reports() else { return };
    let report = |name: &str| Path::new(&folder).join("nsys").join(name).display().to_string();
    let before_after = [report("005-h100x2-mfu-before.sqlite"), report("006-h100x2-mfu-after.sqlite")];
    coldspot(&["compare", &before_after[0], &before_after[1]]).code(5).stdout(
        contains("11 % fewer kernels are launched")
            .and(contains("idle rose from 8.7 % to 19.8 % of the window"))
            .and(contains("a call takes as long as before for all of the kernel time"))
            .and(contains("Faster:").not()),
    );
    let exporters = [report("105-mordred-rtx6000-a.x22.sqlite"), report("105-mordred-rtx6000-a.x23.sqlite")];
    let json = compared(&exporters[0], &exporters[1], &[]);
    assert_eq!(json["outcome"], "no_change");
    assert!(["new", "gone", "worse", "better", "unclear"].iter().all(|state| json["counts"][state] == 0));
}
