//! Gates of a single review, and what a baseline leaves of its verdict.

use std::fs;

use coldspot::analysis::{self, Analysis, Request};
use coldspot::findings::RuleFailure;
use coldspot::gates::{FailOn, GateOutcome};
use coldspot::render::{Format, Screen};
use coldspot::report::Report;
use predicates::prelude::*;
use predicates::str::{contains, is_match};
use serde_json::{Value, json};

use crate::support::analysis::facts;
use crate::support::cli::Printed;
use crate::support::facts_files::with_host_code;
use crate::support::fixtures;
use crate::support::project::Project;

/// What a rule would find that went wrong on one side is not known: that nothing new is there is no answer.
#[test]
fn rules_that_went_wrong_leave_the_gate_on_findings_open() {
    let analysis = Analysis::new(analysis::Project::builtin().unwrap(), analysis::Reading::default());
    let base = [analysis.run(facts(&fixtures().join("healthy.sqlite")), "base")];
    let request = Request { fail_on: Some(FailOn::parse("high").unwrap()), ..Request::default() };
    let outcome_with = |errors: Vec<RuleFailure>| {
        let mut head = base.clone();
        head[0].review.errors = errors;
        let report = analysis.compare_runs(&base, &head, &request).unwrap();
        let gate = report.gates.gates.iter().find(|gate| gate.name == "fail-on").unwrap().clone();
        (gate.outcome, gate.says, report.errors.len(), report.gates.lacks_answer())
    };
    let (outcome, .., errors, lacks_answer) = outcome_with(Vec::new());
    assert_eq!((outcome, errors, lacks_answer), (GateOutcome::Passed, 0, false));
    let (outcome, says, errors, lacks_answer) = outcome_with(vec![failure(false)]);
    assert_eq!((outcome, errors, lacks_answer), (GateOutcome::Unknown, 1, true));
    assert!(says.contains("module-loading"), "{says}");
    assert_eq!(outcome_with(vec![failure(true)]).0, GateOutcome::Passed, "a rule of the user's own");
}

/// A consumer that sees no alert takes what it was about for mended.
#[test]
fn rules_that_went_wrong_are_told_in_every_format() {
    let analysis = Analysis::new(analysis::Project::builtin().unwrap(), analysis::Reading::default());
    let printed = |is_own: Option<bool>, format: Format| {
        let facts = facts(&fixtures().join("healthy.sqlite"));
        let mut report = analysis.review_facts(&facts, "healthy", &Request::default());
        report.review.errors.extend(is_own.map(failure));
        analysis.render(&Report::Review(Box::new(report)), format).unwrap()
    };
    let formats =
        [Format::Markdown, Format::Text(Screen::PLAIN), Format::Json, Format::Sarif, Format::Github, Format::Junit];
    for format in formats.into_iter().chain([Format::Codequality]) {
        let says = |is_own: Option<bool>| printed(is_own, format).contains("a division by zero");
        let is_of_project = format == Format::Codequality;
        assert_eq!((says(None), says(Some(false)), says(Some(true))), (false, true, !is_of_project), "{format:?}");
    }
    let is_successful = |is_own: Option<bool>| printed(is_own, Format::Sarif).contains("\"executionSuccessful\": true");
    assert_eq!((is_successful(None), is_successful(Some(false)), is_successful(Some(true))), (true, false, true));
    assert!(printed(Some(false), Format::Github).contains("::error title=coldspot::rule module-loading went wrong"));
    assert!(printed(Some(false), Format::Junit).contains("failures=\"0\" errors=\"1\""));
    assert!(printed(Some(true), Format::Junit).contains("errors=\"0\""));
}

#[test]
fn rules_that_went_wrong_are_told_in_every_format_of_a_comparison() {
    let analysis = Analysis::new(analysis::Project::builtin().unwrap(), analysis::Reading::default());
    let run = analysis.run(facts(&fixtures().join("healthy.sqlite")), "run");
    let printed = |errors: Vec<RuleFailure>, format: Format| {
        let mut head = run.clone();
        head.review.errors = errors;
        let report = analysis.compare_runs(std::slice::from_ref(&run), &[head], &Request::default()).unwrap();
        analysis.render(&Report::Comparison(Box::new(report)), format).unwrap()
    };
    let spent = "the rules of this run take more than 100,000,000 steps together, those after this one left out";
    for format in
        [Format::Markdown, Format::Text(Screen::PLAIN), Format::Json, Format::Sarif, Format::Github, Format::Junit]
    {
        let wrong = printed(vec![failure(false)], format);
        assert!(wrong.contains("went wrong") && wrong.contains("a division by zero"), "{format:?}: {wrong}");
        let late = printed(vec![RuleFailure { message: spent.to_owned(), ..failure(false) }], format);
        assert!(late.contains("was not asked to the end") && !late.contains("went wrong:"), "{format:?}: {late}");
        // It ends the run, whoever wrote the rule.
        let own = printed(vec![RuleFailure { message: spent.to_owned(), ..failure(true) }], format);
        assert!(format != Format::Github || own.contains("::error title=coldspot::rule module-loading"), "{own}");
        assert!(format != Format::Junit || own.contains("errors=\"1\""), "{own}");
        let fine = printed(Vec::new(), format);
        assert!(!fine.contains("went wrong") && !fine.contains("asked to the end"), "{format:?}: {fine}");
    }
}

/// What is left out is told beside what passes: a checkout with a coldspot.toml may be anybody's.
#[test]
fn what_a_project_changes_is_told_in_every_format() {
    let quiet = Project::with(
        "[rules]\noff = ['sync-gap']\ndirs = ['own']\n[severity]\nscalar-readback = 'info'\n[params.pageable-copy]\nmin_share = 1.0\n",
    );
    let rule = include_str!("../../../rules/capture/rows-dropped.toml");
    quiet.write("own/rows-dropped.toml", rule);
    let plain = Project::new();
    let told = [
        "Switched off: ",
        "Replaced by rules of the project: ",
        "Severity set by the project: ",
        "Thresholds set by the project: ",
    ];
    for format in ["markdown", "text", "json", "sarif", "github", "junit", "codequality"] {
        for args in [&["review", "run.sqlite"][..], &["compare", "run.sqlite", "run.sqlite"]] {
            let args = [args, &["--format", format]].concat();
            let out = quiet.coldspot(&args).out();
            assert!(told.iter().all(|told| out.contains(told)), "{args:?}: {out}");
            assert!(out.contains("pageable-copy (min_share)") && out.contains("scalar-readback (info)"), "{args:?}");
            let out = plain.coldspot(&args).out();
            assert!(!told.iter().any(|told| out.contains(told)), "{args:?}: {out}");
        }
    }
}

fn failure(is_own: bool) -> RuleFailure {
    let (rule, message) = ("module-loading".to_owned(), "a division by zero".to_owned());
    RuleFailure { rule, message, entity_count: 1, is_own }
}

#[test]
fn fixed_limits_hold_in_a_review_and_every_outcome_is_printed() {
    let project = Project::with("[budgets]\ndevice.idle_share = '<= 0.5'\n'copy.exposed_ns' = '<= 1ms'\n");
    project.review(&[]).code(1).stdout(
        contains("| `copy.exposed_ns` | `<= 1ms` | ✗ failed | ")
            .and(
                is_match(r"`device.idle_share` \| `<= 0.5` \| ✓ passed \| 26 % against a limit of \\?<= 0.5 \|")
                    .unwrap(),
            )
            .and(contains("not evaluated in a review").not()),
    );
    // The command line goes before the file.
    project.review(&["--budget", "copy.exposed_ns<=1s"]).success();
    let gates = project.review_json(&[])["gates"].clone();
    let outcomes: Vec<(&str, &str)> = gates
        .as_array()
        .unwrap()
        .iter()
        .map(|gate| (gate["name"].as_str().unwrap(), gate["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(outcomes, [("copy.exposed_ns", "failed"), ("device.idle_share", "passed")]);
    project.review(&["--budget", "step_tme<=1s"]).code(2).stdout("").stderr(contains("did you mean `step_time`?"));
}

#[test]
fn a_fixed_limit_is_about_the_whole_head_in_a_comparison_too() {
    let project = Project::new();
    let names = [
        "step_time",
        "window_time",
        "device.idle_share",
        "device.kernel_count",
        "run.api_call_count",
        "copy.bytes",
        "kernel.sum_ns",
    ];
    let budgets: Vec<String> = names.iter().map(|name| format!("--budget={name}<=0")).collect();
    let budgets: Vec<&str> = budgets.iter().map(String::as_str).collect();
    let both = ["compare", "run.sqlite", "run.sqlite", "--format", "json"];
    let comparison = project.coldspot(&[&both, budgets.as_slice()].concat()).code(1).json();
    let review = project.review_json(&budgets);
    assert_eq!(review["gates"], comparison["gates"]);
    let says: Vec<&str> =
        review["gates"].as_array().unwrap().iter().map(|gate| gate["says"].as_str().unwrap()).collect();
    assert_eq!(says[1], "129 ms against a limit of <=0");
    assert!(says.iter().all(|says| !says.starts_with('0')), "{says:?}");
    // A relative one is about a step, and says so.
    let output = project.coldspot(&["compare", "run.sqlite", "run.sqlite", "--budget", "copy.exposed_ns=+1%"]);
    output.success().stdout(contains("| ✓ passed | 3.33 ms a step after 3.33 ms (no change) against a limit of +1% |"));
}

#[test]
fn a_number_has_a_fixed_and_a_relative_limit_side_by_side() {
    let project = Project::with("[budgets]\nstep_time = ['+5%', '<= 1s']\n");
    let gates = |more: &[&str]| {
        let arguments = ["compare", "run.sqlite", "run.sqlite", "--format", "json"];
        let json = project.coldspot(&[&arguments, more].concat()).json();
        let gates = json["gates"].as_array().unwrap().iter();
        gates.map(|gate| (gate["limit"].clone(), gate["outcome"].clone())).collect::<Vec<_>>()
    };
    let of = |limit: &str, outcome: &str| (json!(limit), json!(outcome));
    assert_eq!(gates(&[]), [of("+5%", "passed"), of("<= 1s", "passed")]);
    // The command line goes before the file's limit of the same kind, and leaves the other.
    assert_eq!(gates(&["--budget", "step_time<=1ms"]), [of("+5%", "passed"), of("<=1ms", "failed")]);
    let twice = ["--budget", "step_time=+5%", "--budget", "step_time=+9%"];
    project.review(&twice).code(2).stdout("").stderr(contains("two limits of the same kind, `+5%` and `+9%`"));
    let wrong = Project::with("[budgets]\nstep_time = ['<= 1s', '<= 2s']\n\"device.idle_share\" = 15\n");
    wrong
        .review(&[])
        .code(2)
        .stderr(contains("coldspot.toml:2: budget `step_time`: there are two limits").and(contains("write `15%`")));
}

#[test]
fn gates_say_which_gpu_and_differ_from_the_limit_that_they_break() {
    let project = Project::new();
    project.write("two.json", two_gpus(&project).to_string());
    let budget = ["--budget", "device.idle_share<=26%", "--format", "json"];
    let review = project.coldspot(&[&["review", "two.json"], &budget[..]].concat()).code(1).json();
    assert_eq!(review["gates"][0]["says"], "GPU 0: 26.2 %, GPU 1: 39 % against a limit of <=26%");
}

#[test]
fn limits_against_a_base_are_named_and_fail_nothing() {
    let project = Project::with("[budgets]\nstep_time = '+5%'\nfindings.new = 0\nfindings.worse = 0\n");
    let line = "Gates that need a base are not evaluated in a review: `findings.new` (`0`), `findings.worse` (`0`), \
         `step_time` (`+5%`). `coldspot compare` evaluates them; a review with `--baseline` does `findings.new`.";
    project.review(&[]).success().stdout(contains(line).and(contains("**Gates.**").not()));
    assert_eq!(
        project.review_json(&[])["gates_needing_base"],
        json!([
            {"name": "findings.new", "limit": "0"},
            {"name": "findings.worse", "limit": "0"},
            {"name": "step_time", "limit": "+5%"},
        ])
    );
    for format in ["github", "junit", "sarif"] {
        project
            .review(&["--format", format])
            .success()
            .stdout(contains("not evaluated in a review: findings.new (0), findings.worse (0), step_time (+5%)"));
    }
    // A baseline is a base for what is new.
    project.coldspot(&["baseline", "write", "known.json", "run.sqlite"]).success();
    project.review(&["--baseline", "known.json"]).success().stdout(
        contains("| `findings.new` | `0` | ✓ passed | 0 against a limit of 0 |")
            .and(contains("review: `findings.worse` (`0`), `step_time` (`+5%`). `coldspot compare` evaluates them.")),
    );
    let mut known = project.read_json("known.json");
    known["findings"].as_array_mut().unwrap().retain(|entry| entry["fingerprint"] != "host-bound gpu#0");
    project.write("older.json", known.to_string());
    project
        .review(&["--baseline", "older.json"])
        .code(1)
        .stdout(contains("| `findings.new` | `0` | ✗ failed | 1 against a limit of 0 |"));
}

#[test]
fn a_gate_that_cannot_be_evaluated_fails_unless_told_otherwise() {
    let project = Project::new();
    let budget = ["--budget", "device.sampled_dram_share<=0.5"];
    project.review(&budget).code(1).stdout(contains("? could not be evaluated | the report does not have"));
    project.review(&[&budget[..], &["--allow-unknown-gates"]].concat()).success();
    // No format calls a gate failed that does not end the run so.
    let told = |command: &[&str], format: &str| {
        let told = [command, &budget, &["--allow-unknown-gates", "--format", format]].concat();
        project.coldspot(&told).success().out()
    };
    for command in [&["review", "run.sqlite"][..], &["compare", "run.sqlite", "run.sqlite"]] {
        let junit = told(command, "junit");
        assert!(junit.contains("failures=\"0\"") && junit.contains("skipped=\"1\""), "{junit}");
        assert!(junit.contains("<skipped message=\"could not be evaluated: "), "{junit}");
        let github = told(command, "github");
        assert!(!github.contains("::error title=gate") && github.contains("::notice title=gate"), "{github}");
        let sarif: Value = serde_json::from_str(&told(command, "sarif")).unwrap();
        let notes = sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
        assert!(notes.iter().all(|note| note["level"] != "error"), "{notes:?}");
    }
    project.review(&["--budget", "device.idle_share<=0", "--allow-unknown-gates"]).code(1).stdout(contains("✗ failed"));
}

#[test]
fn formats_of_machines_tell_gates_of_reviews() {
    let project = Project::with("[budgets]\ndevice.idle_share = '<= 0'\nwindow_time = '<= 1s'\n");
    let of = |format: &str| {
        let assert = project.review(&["--format", format]).code(1);
        assert.out()
    };
    let github = of("github");
    assert!(
        github.contains("::error title=gate device.idle_share (<= 0) failed::26 %25 against a limit of <= 0"),
        "{github}"
    );
    assert!(
        github.lines().any(|line| line == "gate window_time (<= 1s) passed: 129 ms against a limit of <= 1s"),
        "{github}"
    );
    let junit = of("junit");
    assert!(
        junit.contains(
            "name=\"device.idle_share &lt;= 0\"><failure type=\"failed\" message=\"26 % against a limit of &lt;= 0\"/>"
        ),
        "{junit}"
    );
    assert_eq!(junit.matches("<failure ").count(), 1);
    let sarif: Value = serde_json::from_str(&of("sarif")).unwrap();
    let notes = sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
    let texts: Vec<&str> = notes.iter().map(|note| note["message"]["text"].as_str().unwrap()).collect();
    assert!(texts.contains(&"gate device.idle_share (<= 0) failed: 26 % against a limit of <= 0"), "{texts:?}");
}

#[test]
fn the_file_decides_when_a_comparison_fails_and_the_command_line_goes_before_it() {
    let project = Project::with("[compare]\nfail_on = 'low'\n[review]\nfail_on = 'never'\n");
    project.coldspot(&["facts", "run.sqlite", "--format", "json", "--output", "head.json"]).success();
    let mut base = project.read_json("head.json");
    with_host_code(&mut base["devices"][0], 0);
    project.write("base.json", base.to_string());
    let compare = |more: &[&str]| project.coldspot(&[&["compare", "base.json", "head.json"], more].concat());
    compare(&[]).code(1).stdout(contains("| `fail-on` | `low` | ✗ failed"));
    compare(&["--fail-on", "never"]).success();
    compare(&["--no-config"]).success();
    project.review(&[]).success();
    let wrong = Project::with("[compare]\nfail_on = 'hihg'\n");
    wrong
        .review(&[])
        .code(2)
        .stderr(contains("coldspot.toml:2: unknown fail_on `hihg`: write high, medium, low or never"));
}

#[test]
fn the_verdict_names_no_finding_that_the_baseline_knows() {
    let project = Project::new();
    project.coldspot(&["baseline", "write", "known.json", "run.sqlite"]).success();
    let verdict = |more: &[&str]| project.review_json(more)["verdict"]["plain"].as_str().unwrap().to_owned();
    assert!(verdict(&[]).contains("most to gain: matrix products in plain fp32 do not use the tensor cores"));
    let known = verdict(&["--baseline", "known.json"]);
    assert!(known.contains("no new finding") && known.contains("findings are known"), "{known}");
    assert!(!known.contains("most to gain") && !known.contains("pageable"), "{known}");
    let mut older = project.read_json("known.json");
    older["findings"].as_array_mut().unwrap().retain(|entry| entry["fingerprint"] != "host-bound gpu#0");
    project.write("older.json", older.to_string());
    let some = verdict(&["--baseline", "older.json"]);
    assert!(some.contains("most to gain of what is new: the GPU waits for host code"), "{some}");
    // A baseline that knows nothing of it changes nothing.
    older["findings"] = json!([]);
    project.write("empty.json", older.to_string());
    assert_eq!(verdict(&["--baseline", "empty.json"]), verdict(&[]));
}

/// Facts of a run on two GPUs: the second waits longer for the host than the first.
fn two_gpus(project: &Project) -> Value {
    let mut facts = project.coldspot(&["facts", "run.sqlite", "--format", "json"]).json();
    // Without a replay the ledger bounds what can be gained.
    facts["devices"][0].as_object_mut().unwrap().remove("replay_step_ns");
    // Nor does the loader of batches explain what host code costs.
    facts["devices"][0].as_object_mut().unwrap().remove("data_loading_count");
    let mut second = facts["devices"][0].clone();
    second["id"] = json!("gpu1");
    second["number"] = json!(1);
    // Host code takes more of the second's window, at the cost of compute.
    for (fact, more_ns) in [
        ("idle_host_ns", 16_000_000),
        ("idle_after_other_ns", 16_000_000),
        ("idle_ns", 16_000_000),
        ("compute_ns", -16_000_000),
    ] {
        second[fact] = json!(second[fact].as_i64().unwrap() + more_ns);
    }
    facts["devices"].as_array_mut().unwrap().push(second);
    facts["runs"][0]["device_count"] = json!(2);
    facts
}

#[test]
fn what_a_baseline_knows_of_a_rule_leads_no_finding_of_it() {
    let project = Project::new();
    project.write("two.json", two_gpus(&project).to_string());
    let of = |more: &[&str]| project.coldspot(&[&["review", "two.json", "--format", "json"], more].concat()).json();
    let late = |review: &Value| {
        let findings = review["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["rule"] == "host-bound").unwrap().clone()
    };
    let all = late(&of(&[]));
    assert_eq!((&all["subject"]["device"], &all["also"][0]["subject"]["device"]), (&json!("gpu1"), &json!("gpu0")));
    // The baseline knows everything but the smaller of the two.
    project.coldspot(&["baseline", "write", "known.json", "two.json"]).success();
    let mut known = project.read_json("known.json");
    known["findings"].as_array_mut().unwrap().retain(|entry| entry["fingerprint"] != "host-bound gpu#0");
    project.write("older.json", known.to_string());
    let older = ["--baseline", "older.json", "--budget", "findings.new<=1"];
    let review = of(&older);
    let new = late(&review);
    assert_eq!((&new["subject"]["device"], &new["also"]), (&json!("gpu0"), &json!([])));
    assert_eq!(new["gain"], all["also"][0]["gain"], "of the new one alone");
    assert_eq!(review["findings"].as_array().unwrap().len(), 1);
    assert_eq!(review["gates"][0]["outcome"], "passed");
    let folded = review["known"]["findings"].as_array().unwrap();
    let folded = folded.iter().find(|known| known["rule"] == "host-bound").unwrap();
    assert_eq!(folded["entity_count"], 1);
    assert!(folded["subjects"][0]["plain"].as_str().unwrap().starts_with("GPU 1"), "{folded}");
    // A threshold that only the known one reaches is not reached.
    let severities = [&all["severity"], &new["severity"]].map(|severity| severity.as_str().unwrap().to_owned());
    assert_eq!(severities, ["high", "medium"]);
    for format in ["markdown", "json", "github", "junit", "sarif"] {
        let command = [&["review", "two.json", "--format", format, "--fail-on"], &["high"][..], &older].concat();
        project.coldspot(&command).success();
    }
    project.coldspot(&[&["review", "two.json", "--fail-on", "medium"], &older[..]].concat()).code(1);
    let github = project.coldspot(&[&["review", "two.json", "--format", "github"], &older[..]].concat());
    let github = github.out();
    assert_eq!(github.matches("[host-bound]").count(), 1, "{github}");
}

#[test]
fn a_review_says_what_fails_on_findings() {
    let project = Project::new();
    let of = |format: &str| {
        let assert = project.review(&["--fail-on", "medium", "--format", format]).code(1);
        assert.out()
    };
    assert!(
        of("markdown")
            .contains("| `fail-on` | `medium` | ✗ failed | 4 findings of severity medium or above, the first: "),
        "{}",
        of("markdown")
    );
    assert!(of("github").contains("::error title=gate fail-on (medium) failed::4 findings"));
    assert!(of("junit").contains("name=\"fail-on medium\"><failure"));
    assert!(of("sarif").contains("gate fail-on (medium) failed: 4 findings"));
    let json: Value = serde_json::from_str(&of("json")).unwrap();
    assert_eq!((&json["gates"][0]["name"], &json["gates"][0]["outcome"]), (&json!("fail-on"), &json!("failed")));
    let without = Project::with("[rules]\noff = ['fp32-matmul']\n");
    without.review(&["--fail-on", "high"]).success().stdout(contains("| `fail-on` | `high` | ✓ passed | no finding"));
}

/// What such a file knows is a part of what a whole recording would show.
#[test]
fn a_baseline_of_a_recording_that_lacks_work_says_so() {
    let project = Project::new();
    let facts = project.facts();
    let written = |fact: &str, value: serde_json::Value| {
        let mut facts = facts.clone();
        facts["runs"][0][fact] = value;
        project.write("facts.json", facts.to_string());
        project.coldspot(&["baseline", "write", "known.json", "facts.json"]).success().err()
    };
    assert_eq!(written("kernel_count", facts["runs"][0]["kernel_count"].clone()), "");
    for (fact, value, why) in [
        ("is_file_damaged", true.into(), "a part of what was recorded is not in the file"),
        ("lacks_gpu_work", true.into(), "work of the GPU is missing"),
        ("unusable_gpu_row_count", 3.into(), "that makes no sense"),
        ("kernel_error_call", "cudaDeviceSynchronize".into(), "a kernel failed"),
    ] {
        let error = written(fact, value);
        assert!(error.contains(why) && error.contains("are not in the baseline"), "{fact}: {error}");
    }
}

#[test]
fn mistakes_are_told_with_the_way_out() {
    let project = Project::with("[[source]]\nkernel = 'k'\nfile = 'code'\n");
    fs::create_dir(project.path().join("code")).unwrap();
    project.coldspot(&["config", "check"]).code(2).stderr(contains("`code` in . is a folder: name a file"));
    project.coldspot(&["baseline", "write", "known.json", "run.sqlite"]).success();
    project
        .coldspot(&["compare", "known.json", "run.sqlite"])
        .code(3)
        .stderr(contains("known.json: holds coldspot.baseline/1, not facts"));
    project.review(&["--budget", "nope=1"]).code(2).stderr(contains("did you mean").not());
    let single = Project::with("[source]\nkernel = 'k'\nfile = 'code'\n");
    single.review(&[]).code(2).stderr(contains("coldspot.toml:1: ").and(contains("write the header as `[[…]]`")));
}

#[test]
fn a_severity_that_the_project_sets_stands_whatever_explains_a_part_of_it() {
    let project = Project::with("[severity]\nscalar-readback = 'high'\nfp32-matmul = 'low'\n");
    let review = project.review(&["--fail-on", "high"]).code(1).out();
    assert!(review.contains("✗ failed | 1 finding of severity high or above: Small results are read back"), "{review}");
}
