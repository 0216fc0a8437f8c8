//! Comparisons, baselines and the formats of machines, as a user meets them.

use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use regex::Regex;
use serde_json::{Value, json};

use crate::support::cli::{Printed, coldspot};
use crate::support::facts_files::{Folder, each, facts, fixture, scaled, without_steps};
use crate::support::{Scenario, SchemaVersion, scenario, temp};

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
    let beyond = Regex::new("; beyond the findings above about [0-9.]+ %").unwrap();
    for name in ["training-step.sqlite", "tiny-kernels.sqlite"] {
        coldspot(&["facts", &fixture(name), "--format", "json", "--output", &saved]).success();
        let strip = |text: String| text.replace("saved.json", name);
        let of_file = strip(coldspot(&["review", &saved]).success().out());
        let of_report = coldspot(&["review", &fixture(name)]).success().out();
        // Only a recording can be played again with several changes at once.
        let of_report = beyond.replace_all(&of_report, "");
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
    // What no coldspot wrote makes nothing known.
    let entry = |fields: &str| format!("{{\"fingerprint\": \"a\", \"title\": \"a\"{fields}}}");
    let twice = format!("{}, {}", entry(""), entry(""));
    for findings in [entry(", \"share\": 1e308"), entry(", \"share\": -1"), entry(", \"severity\": \"huge\""), twice] {
        let damaged = folder.path("damaged.json");
        std::fs::write(&damaged, format!("{{\"schema\": \"coldspot.baseline/1\", \"findings\": [{findings}]}}"))
            .unwrap();
        coldspot(&["review", report.as_str(), "--baseline", damaged.to_str().unwrap()])
            .code(2)
            .stderr(contains("is damaged ("));
    }
    json["findings"] = json!([{"fingerprint": "pageable-copy gpu#7 @everyone", "title": "gone"}]);
    let other = folder.write("other.json", &json);
    coldspot(&["review", &report, "--fail-on", "low", "--baseline", &other])
        .code(1)
        .stdout(contains("not found any more: `pageable-copy gpu#7 @everyone`"));
    coldspot(&["review", &report, "--baseline", &report]).code(2).stderr(contains("baseline write FILE REPORT"));
    json["schema"] = json!("coldspot.baseline/2");
    coldspot(&["review", &report, "--baseline", &folder.write("newer.json", &json)]).code(2);
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

/// Two ranks on a GPU each, twelve steps of four kernels of so many microseconds; the first rank does not mark the first ones.
fn two_ranks(kernel_us: u64, unmarked: u64, path: &Path) {
    let kernels = r#"{ launch = { kernel = "k" } }, "#.repeat(4) + r#"{ sync = { api = "cudaDeviceSynchronize" } }"#;
    let thread = |process: usize, unmarked: u64| {
        let marked = format!(r#"{{ range = {{ name = "step {{i}}", do = [{kernels}] }} }}"#);
        let plain = format!(r#"{{ repeat = {{ times = {unmarked}, do = [{kernels}] }} }},"#);
        let plain = if unmarked > 0 { plain } else { String::new() };
        let times = 12 - unmarked;
        format!(
            "[[thread]]\nprocess = {process}\nscript = [{plain} {{ repeat = {{ times = {times}, from = {unmarked}, do = [{marked}] }} }}]\n"
        )
    };
    let text = format!(
        "about = \"Two ranks.\"\n[[gpu]]\nid = 0\n[[gpu]]\nid = 1\n[[process]]\npid = 11\nname = \"rank0\"\ngpus = [0]\n[[process]]\npid = 12\nname = \"rank1\"\ngpus = [1]\n\
         [kernel]\nk = {{ name = \"void k(float*)\", run_us = {kernel_us}, grid = [864, 1, 1], block = [256, 1, 1] }}\n{}{}",
        thread(0, unmarked),
        thread(1, 0),
    );
    Scenario::parse(&text).write(SchemaVersion::Nsys2025, path);
}

/// The steps of each GPU are those within the window that is measured, whichever GPU tells it.
#[test]
fn steps_that_one_gpu_marks_later_are_compared_on_all() {
    let folder = temp::folder();
    let path = |name: &str| folder.path().join(name);
    two_ranks(500, 0, &path("base.sqlite"));
    for unmarked in [2, 4, 8] {
        let head = path(&format!("head{unmarked}.sqlite"));
        two_ranks(740, unmarked, &head);
        let facts = coldspot(&["facts", head.to_str().unwrap(), "--phase", "steady", "--format", "json"]).json();
        for device in facts["devices"].as_array().unwrap() {
            let [steps, mean] = ["steady_step_count", "steady_ns"].map(|fact| device[fact].as_i64().unwrap());
            let mean_us = mean / steps / 1_000;
            assert!((2_900..3_100).contains(&mean_us), "{unmarked}: {steps} steps of {mean_us} us");
        }
        let base = path("base.sqlite");
        let compared = ["compare", base.to_str().unwrap(), head.to_str().unwrap(), "--fail-on", "slower"];
        let json = coldspot(&[&compared[..], &["--format", "json"]].concat()).json();
        assert_eq!(json["outcome"], "slower", "{unmarked}: {}", json["verdict"]);
        assert_eq!(json["gates"][0]["outcome"], "failed", "{unmarked}: {}", json["gates"]);
    }
}
