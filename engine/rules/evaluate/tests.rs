use super::super::library::tests::load;
use super::super::param_value::ParamValue;
use super::super::testing;
use super::*;
use crate::text::spans::Span;

pub(super) const RULE: &str = r#"schema = 1
id = "late"
title = "Late"
for_each = "sync_group"
where = "sync_group.waits_for == 'stream'"
optional = ["sync_group.range"]

[params]
least = { default = 10, unit = "ns", doc = "The least.", fixed = "A test." }

[values]
ratio = "sync_group.idle_after_ns / sync_group.call_ns"

[[when]]
expr = "sync_group.idle_after_ns >= params.least"
says = "{{ sync_group.idle_after_ns | duration }} idle{% if sync_group.range is defined %} in {{ sync_group.range }}{% endif %}"
[[when]]
expr = "values.ratio < 3"
says = "{{ values.ratio | ratio }}"

[estimate]
recoverable_ns = "sync_group.idle_after_ns - 0.5 * sync_group.call_ns"
claims = "idle_after_sync"
basis = "A bound."

[confidence]
base = "high"
lower = [
  { to = "low", when = "sync_group.range is not defined", because = "no range" },
  { to = "medium", when = "sync_group.call_count == 1", because = "one call" },
]

[message]
summary = "waits in {{ sync_group.api | code }} or {{ sync_group.api }}"
verify = "Look."

[advice]
default = "Wait *less*."
pytorch = "Keep values on the GPU."
vllm = "Look for an option."
julia = "{% if sync_group.call_ns < 0 %}Never.{% endif %}"

[example]
sync_group = { waits_for = "stream", api = "a", idle_after_ns = 100, call_ns = 100, call_count = 2 }
device = { idle_after_sync_ns = 1000 }

[[tests]]
name = "short"
set = { sync_group.idle_after_ns = 9 }
expect = { outcome = "pass" }
[[tests]]
name = "no api"
unset = ["sync_group.api"]
expect = { outcome = "unknown", missing = ["sync_group.api"] }
"#;

pub(super) fn library() -> Library {
    load(&[("rules/sync/late.toml", RULE)]).unwrap()
}

/// A waiting call on one device, with the facts of the example.
pub(super) fn report() -> (Facts, EntityId, EntityId, EntityId) {
    let mut facts = Facts::default();
    let run = facts.add(EntityKind::Run, "run", &[]);
    let device = facts.add(EntityKind::Device, "0", &[run]);
    let group = facts.add(EntityKind::SyncGroup, "g", &[device, run]);
    let entity = facts.get_mut(group);
    entity.set("waits_for", "stream");
    entity.set("api", "a");
    entity.set("idle_after_ns", 100);
    entity.set("call_ns", 100);
    entity.set("call_count", 2);
    (facts, run, device, group)
}

fn judge(facts: &Facts) -> Outcome {
    judge_with(facts, &Params::default())
}

fn judge_with(facts: &Facts, params: &Params) -> Outcome {
    let mut judgements = evaluate(&library(), facts, params);
    assert_eq!(judgements.len(), 1);
    judgements.remove(0).outcome
}

fn found(facts: &Facts) -> Match {
    match judge(facts) {
        Outcome::Finding(found) => *found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_estimate_stays_within_its_account() {
    let (mut facts, _, device, group) = report();
    assert_eq!(found(&facts).estimate.unwrap().recoverable_ns, 50);
    facts.get_mut(device).set("idle_after_sync_ns", 20);
    assert_eq!(found(&facts).estimate.unwrap().recoverable_ns, 20);
    facts.get_mut(group).set("call_ns", 400);
    assert_eq!(found(&facts).estimate.unwrap().recoverable_ns, 0);
}

#[test]
fn a_claim_that_holds_bounds_what_is_played() {
    let (mut facts, _, device, _) = report();
    let entity = facts.get_mut(device);
    entity.set("window_ns", 1_000);
    for (name, ns) in [(STEP_FACT, 200), (Change::NoSync.expected_fact(), 4), (Change::NoSync.ceiling_fact(), 6)] {
        entity.set(name, ns);
    }
    let replayed = |facts: &Facts, lines: &str| {
        let rule = RULE.replacen("claims = ", &format!("{lines}claims = "), 1);
        let library = load(&[("rules/sync/late.toml", rule.as_str())]).unwrap();
        match evaluate(&library, facts, &Params::default()).remove(0).outcome {
            Outcome::Finding(found) => {
                found.estimate.unwrap().replayed.map(|played| (played.expected_ns, played.ceiling_ns))
            }
            other => panic!("{other:?}"),
        }
    };
    let played = |lines: &str| replayed(&facts, lines);
    assert_eq!(played(""), None);
    assert_eq!(played("replay = \"no-sync\"\n"), Some((4, 6)));
    // 50 ns of a window of 1,000 ns, of a step of 200 ns.
    assert_eq!(played("replay = \"no-sync\"\nclaim_holds = true\n"), Some((4, 10)));
    assert_eq!(played("replay = \"no-sync\"\nclaim_bounds = true\n"), Some((4, 6)));
    let few = "replay = \"no-sync\"\nclaim_bounds = true\n";
    facts.get_mut(device).set("idle_after_sync_ns", 15);
    // 15 ns of 1,000 ns, of a step of 200 ns: what is expected is no more either, but for rounds that take half of the window.
    assert_eq!(replayed(&facts, few), Some((3, 3)));
    facts.get_mut(device).set("replay_covered_share", 0.5);
    assert_eq!(replayed(&facts, few), Some((4, 6)));
}

#[test]
fn where_needs_only_its_own_facts() {
    let (mut facts, run, device, _) = report();
    facts.get_mut(device).set("idle_after_sync_ns", 20);
    let bare = facts.add(EntityKind::SyncGroup, "bare", &[device, run]);
    let ask = |facts: &Facts| evaluate(&library(), facts, &Params::default()).remove(1).outcome;
    let needs = ["api", "call_count", "call_ns", "idle_after_ns", "waits_for"];
    let missing = needs.map(|name| format!("sync_group.{name}")).to_vec();
    assert_eq!(ask(&facts), Outcome::Unknown { missing: missing.clone() });
    facts.get_mut(bare).set("waits_for", "stream");
    assert_eq!(ask(&facts), Outcome::Unknown { missing: missing[..4].to_vec() });
    facts.get_mut(bare).set("waits_for", "device");
    assert_eq!(ask(&facts), Outcome::NotApplicable);
}

#[test]
fn confidence_is_the_lowest_that_applies() {
    let (mut facts, _, _, group) = report();
    facts.get_mut(group).set("call_count", 1);
    let both = found(&facts);
    assert_eq!((both.confidence, both.because), (Confidence::Low, vec!["no range".to_owned(), "one call".to_owned()]));
    facts.get_mut(group).set("range", "step");
    assert_eq!(found(&facts).confidence, Confidence::Medium);
    facts.get_mut(group).set("call_count", 2);
    assert_eq!((found(&facts).confidence, found(&facts).because), (Confidence::High, vec![]));
}

#[test]
fn little_is_sure_of_idle_time_where_work_of_the_gpu_is_missing() {
    let (mut facts, run, _, group) = report();
    facts.get_mut(group).set("range", "step");
    facts.get_mut(run).set("lacks_gpu_work", false);
    assert_eq!(found(&facts).confidence, Confidence::High);
    facts.get_mut(run).set("lacks_gpu_work", true);
    assert_eq!(found(&facts).confidence, Confidence::Low);
    assert!(found(&facts).because[0].starts_with("The profiler says that something failed"));
    facts.get_mut(run).set("lost_launch_count", 1_200);
    assert!(found(&facts).because[0].starts_with("1,200 launches"), "{:?}", found(&facts).because);
}

#[test]
fn advice_follows_the_framework() {
    let (mut facts, run, ..) = report();
    assert_eq!(found(&facts).advice.plain(), "Wait *less*.");
    facts.get_mut(run).set("framework", "jax");
    assert_eq!(found(&facts).advice.plain(), "Wait *less*.");
    // A framework that says nothing in a case has no advice of its own there.
    facts.get_mut(run).set("framework", "julia");
    assert_eq!(found(&facts).advice.plain(), "Wait *less*.");
    facts.get_mut(run).set("framework", "pytorch");
    assert_eq!(found(&facts).advice.plain(), "Keep values on the GPU.");
    // An engine has the advice of its framework where it has none of its own.
    facts.get_mut(run).set("serving_engine", "sglang");
    assert_eq!(found(&facts).advice.plain(), "Keep values on the GPU.");
    facts.get_mut(run).set("serving_engine", "vllm");
    assert_eq!(found(&facts).advice.plain(), "Look for an option.");
}

#[test]
fn names_from_the_report_are_inert() {
    let (mut facts, _, _, group) = report();
    facts.get_mut(group).set("api", "<b>`@x`*y*\u{202e}\u{1b}[31m");
    facts.get_mut(group).set("range", "*a*");
    let found = found(&facts);
    let spans = found.summary.spans();
    let name = "<b>`@x`*y*\u{202e}\u{1b}[31m";
    assert_eq!(spans[..2], [Span::Own("waits in ".to_owned()), Span::Code(name.to_owned())]);
    assert!(spans.contains(&Span::Value(name.to_owned())), "{spans:?}");
    let plain = found.summary.plain();
    assert!(plain.starts_with("waits in <b>`@x`*y* or <b>`@x`*y*"), "{plain}");
    assert!(!plain.contains(['\u{202e}', '\u{1b}']), "{plain:?}");
    let evidence = [Span::Own("100 ns idle in ".to_owned()), Span::Value("*a*".to_owned())];
    assert_eq!(found.evidence[0].spans(), evidence);
}

#[test]
fn users_override_params() {
    let (facts, ..) = report();
    let mut params = Params::default();
    params.set("late", "least", 101);
    assert_eq!(judge_with(&facts, &params), Outcome::Pass);
    params.set("late", "least", 99.5);
    assert_eq!(judge_with(&facts, &params).name(), "finding");
}

#[test]
fn wrong_values_fail_and_never_pass_for_a_result() {
    let (mut facts, _, _, group) = report();
    for wrong in [ParamValue::from("many"), ParamValue::from(f64::NAN), ParamValue::from(f64::INFINITY)] {
        let mut params = Params::default();
        params.set("late", "least", wrong.clone());
        let outcome = judge_with(&facts, &params);
        let expected = Outcome::Failed { message: "`params.least` must be a finite number, in ns".to_owned() };
        assert_eq!(outcome, expected, "{wrong:?}");
    }
    facts.get_mut(group).set("call_ns", 0);
    let Outcome::Failed { message } = judge(&facts) else { panic!("a division by zero has no result") };
    assert!(message.starts_with("`sync_group.idle_after_ns / sync_group.call_ns`: "), "{message}");
}

#[test]
fn patterns_are_held_against_whole_names() {
    let (facts, ..) = report();
    let judged = |param: &str, set: Option<ParamValue>| {
        let rule = RULE
            .replace(
                "[params]",
                &format!("[params]\nnames = {{ default = {param}, unit = \"text\", doc = \"Names.\" }}"),
            )
            .replace(".waits_for == 'stream'\"", ".waits_for == 'stream' and matches(sync_group.api, params.names)\"");
        let library = load(&[("rules/sync/late.toml", &rule)]).unwrap();
        let mut params = Params::default();
        set.into_iter().for_each(|set| params.set("late", "names", set));
        evaluate(&library, &facts, &params).remove(0).outcome.name()
    };
    for (param, expected) in [
        ("\"a\"", "finding"),
        ("\"*\"", "finding"),
        ("\"a?\"", "not_applicable"),
        ("\"b*\"", "not_applicable"),
        ("[\"b*\", \"*a\"]", "finding"),
        ("[\"b*\"]", "not_applicable"),
    ] {
        assert_eq!(judged(param, None), expected, "{param}");
    }
    let list = ParamValue::Texts(vec!["x".to_owned(), "a*".to_owned()]);
    assert_eq!(judged("[\"b*\"]", Some(list)), "finding");
    assert_eq!(judged("[\"b*\"]", Some(ParamValue::Texts(Vec::new()))), "failed");
    assert_eq!(judged("\"b*\"", Some(3.into())), "failed");
}

#[test]
fn the_first_condition_that_holds_gives_the_severity() {
    let (mut facts, _, _, group) = report();
    let severities = "[[severity_when]]\nis = \"high\"\nwhen = \"sync_group.call_count > 9\"\n\
                      [[severity_when]]\nis = \"info\"\nwhen = \"sync_group.call_count > 1\"\n";
    let rule = RULE.replace("[estimate]", &format!("{severities}[estimate]"));
    let severity =
        |facts: &Facts| match evaluate(&load(&[("rules/sync/late.toml", &rule)]).unwrap(), facts, &Params::default())
            .remove(0)
            .outcome
        {
            Outcome::Finding(found) => found.severity,
            other => panic!("{other:?}"),
        };
    assert_eq!(severity(&facts), Some(Severity::Info));
    facts.get_mut(group).set("call_count", 10);
    assert_eq!(severity(&facts), Some(Severity::High));
    facts.get_mut(group).set("call_count", 1);
    assert_eq!(severity(&facts), None);
}

#[test]
fn values_that_nothing_asks_for_are_not_computed() {
    let (mut facts, _, _, group) = report();
    facts.get_mut(group).set("call_ns", 0);
    facts.get_mut(group).set("idle_after_ns", 1);
    assert_eq!(judge(&facts), Outcome::Pass);
}

#[test]
fn absolute_thresholds_are_rescaled_too() {
    let rule = RULE.replace("expr = \"sync_group.idle", "expr = \"sync_group.call_ns > 0 and sync_group.idle");
    for report in testing::run(&load(&[("rules/sync/late.toml", &rule)]).unwrap()) {
        assert_eq!(report.problem, None, "{}", report.test);
    }
}

#[test]
fn a_rule_asks_before_it_divides() {
    let fails = "with `sync_group.call_ns` = 0 the rule fails: `sync_group.idle_after_ns / sync_group.call_ns`: unable to \
                 calculate 100 / 0; ask first: `… if sync_group.call_ns > 0 else …`, or a condition before it";
    let problems: Vec<_> = testing::run(&library()).into_iter().map(|report| report.problem).collect();
    // The test that stops at the first condition divides nothing.
    assert_eq!(problems, [Some(fails.to_owned()), None, None]);
}

/// The problem of one test of a rule with a part replaced.
fn problem(part: &str, by: &str, test: &str) -> Option<String> {
    assert!(RULE.contains(part));
    let library = load(&[("rules/sync/late.toml", &RULE.replacen(part, by, 1))]).unwrap();
    testing::run(&library).into_iter().find(|report| report.test == test).unwrap().problem
}

#[test]
fn tests_say_what_differs() {
    let differs = |part: &str, by: &str, test: &str, expected: &str| {
        assert_eq!(problem(part, by, test).as_deref(), Some(expected))
    };
    let finding = "outcome = \"finding\"";
    differs(
        "sync_group.idle_after_ns - 0.5 * sync_group.call_ns",
        "0.5 * sync_group.call_ns - sync_group.idle_after_ns",
        "example",
        "the estimate is negative: -50 ns",
    );
    differs("idle_after_ns = 100", "idle_after_ns = 5", "example", "expected finding, got pass");
    differs(
        "unset = [\"sync_group.api\"]",
        "unset = [\"sync_group.idle_after_ns\"]",
        "no api",
        "expected sync_group.api to be missing, got sync_group.idle_after_ns",
    );
    differs("idle_after_ns = 9 }", "idle_after_ns = 10 }", "short", "expected pass, got finding");
    let more = |expect: &str| format!("[[tests]]\nname = \"more\"\nexpect = {{ {finding}, {expect} }}\n[[tests]]");
    differs("[[tests]]", &more("recoverable_ns = 51"), "more", "expected recoverable_ns 51, got 50");
    let severity = "expected severity high, got what can be gained";
    differs("[[tests]]", &more("severity = \"high\""), "more", severity);
    differs("[[tests]]", &more("confidence = \"high\""), "more", "expected confidence high, got low");
    differs("[[tests]]", &more("summary = \"b\""), "more", "expected a summary with `b`, got `waits in a or a`");
    differs("[[tests]]", &more("unsaid = \"in a\""), "more", "expected nothing to say `in a`, got `waits in a or a`");
}

#[test]
fn the_probe_finds_what_units_alone_do_not_show() {
    let rounded = "sync_group.idle_after_ns // 60 * 100 <= sync_group.idle_after_ns + params.least";
    assert_eq!(
        problem("sync_group.idle_after_ns >= params.least", rounded, "example").as_deref(),
        Some("with all times times 1000: the outcome turned from finding to pass")
    );
    assert_eq!(
        problem(
            "sync_group.idle_after_ns - 0.5 * sync_group.call_ns",
            "sync_group.idle_after_ns // 60 * 60",
            "example"
        )
        .as_deref(),
        Some("with all times times 1000: the estimate turned from 60 ns to 99960 ns")
    );
}
