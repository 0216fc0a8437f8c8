//! Names of a recording on the pages of comparisons and reviews, in the formats of people and of machines.

use serde_json::{Value, json};

use crate::support::cli::{Printed, coldspot};
use crate::support::facts_files::{Folder, each, facts, first_of, fixture, scaled};
use crate::support::fixtures;

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
    let kernel = first_of(&mut base, HOSTILE.len() as i64 + 1);
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
    let kernel = first_of(&mut base, 2_001);
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
