//! What is made from the code and the rules is on disk as the code makes it; the guides work as they are printed.
//!
//! `COLDSPOT_UPDATE_DOCS=1 cargo test --test it docs` writes it anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use coldspot::project::config_schema;
use coldspot::render::{rule_index, rule_page};
use coldspot::rules::{rule_schema, skeleton};

use crate::support::analysis::builtin;
use crate::support::cli::{Printed, bare, binary};
use crate::support::temp;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn is_update() -> bool {
    std::env::var_os("COLDSPOT_UPDATE_DOCS").is_some()
}

/// Holds a file against what it should be, or writes it.
fn hold(path: &Path, expected: &str) {
    if is_update() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, expected).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == expected, "{} is stale: COLDSPOT_UPDATE_DOCS=1 cargo test --test it docs", path.display());
}

#[test]
fn every_rule_has_its_page() {
    let folder = root().join("docs/rules");
    let library = builtin();
    let mut pages: BTreeMap<PathBuf, String> = BTreeMap::new();
    for rule in library.rules() {
        let page = rule_page(&library, rule).unwrap_or_else(|error| panic!("{}: {error}", rule.id()));
        pages.insert(folder.join(format!("{}.md", rule.id())), page);
    }
    pages.insert(folder.join("README.md"), rule_index(&library));
    for (path, page) in &pages {
        hold(path, page);
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if is_update() && !pages.contains_key(&path) {
            fs::remove_file(&path).unwrap();
        } else {
            assert!(pages.contains_key(&path), "{} is the page of no rule", path.display());
        }
    }
}

#[test]
fn a_page_says_everything_that_a_reader_asks() {
    let library = builtin();
    for rule in library.rules() {
        let page = rule_page(&library, rule).unwrap_or_else(|error| panic!("{}: {error}", rule.id()));
        let has = |part: &str| assert!(page.contains(part), "{}: no {part:?} in\n{page}", rule.id());
        has(&format!("# {}\n", rule.title()));
        ["## What it looks for", "## The most it can gain", "## What to do", "- **default**: "]
            .into_iter()
            .for_each(has);
        // The example is rendered as a review renders a finding.
        has("### 1. ");
        has(&format!(" (`{}`)\n", rule.id()));
        rule.whens().for_each(has);
        rule.references().iter().for_each(|reference| has(&reference.url));
        rule.params().iter().for_each(|param| has(&format!("`params.{} = ", param.name)));
        rule.tests().for_each(has);
        assert!(!page.contains("{{") && !page.contains("{%"), "{}: a text is not rendered\n{page}", rule.id());
    }
}

#[test]
fn schemas_are_those_of_the_code() {
    hold(&root().join("schemas/rule.schema.json"), &rule_schema());
    hold(&root().join("schemas/coldspot.schema.json"), &config_schema());
}

fn validator(schema: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

/// What a schema finds wrong with a TOML file.
fn complaints(validator: &jsonschema::Validator, toml: &str) -> Vec<String> {
    let value: toml::Value = toml::from_str(toml).unwrap();
    let value = serde_json::to_value(value).unwrap();
    validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path)).collect()
}

#[test]
fn every_rule_fits_the_schema_of_rules() {
    let validator = validator(&rule_schema());
    for rule in builtin().rules() {
        assert_eq!(complaints(&validator, rule.source()), Vec::<String>::new(), "{}", rule.id());
    }
    assert_eq!(complaints(&validator, &skeleton("mine").unwrap()), Vec::<String>::new());
}

#[test]
fn the_schema_of_rules_finds_what_an_editor_should_mark() {
    let validator = validator(&rule_schema());
    let sound = skeleton("mine").unwrap();
    for (from, to) in [
        ("for_each = \"kernel\"", "for_each = \"kernal\""),
        ("claims = \"compute\"", "claims = \"computing\""),
        ("unit = \"share\"", "unit = \"percent\""),
        ("launch_count = 1_000", "launch_count = \"many\""),
        ("attributed_ns = 800_000_000", "alone = 800_000_000"),
        ("outcome = \"pass\"", "outcome = \"passes\""),
        ("schema = 1", "schema = 2"),
        ("title =", "titel ="),
        ("base = \"medium\"", "base = \"certain\""),
    ] {
        let broken = sound.replacen(from, to, 1);
        assert_ne!(broken, sound, "{from}");
        assert_ne!(complaints(&validator, &broken), Vec::<String>::new(), "{to}");
    }
}

/// The fenced blocks of one language in a guide.
fn blocks(guide: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("docs").join(guide)).unwrap();
    let blocks: Vec<String> = text
        .split(&format!("\n```{language}\n"))
        .skip(1)
        .map(|rest| rest.split("\n```").next().unwrap().to_owned() + "\n")
        .collect();
    assert!(!blocks.is_empty(), "{guide} has no block of {language}");
    blocks
}

/// Runs the commands of a block in a folder where `coldspot` is the built program; all must succeed.
fn run(folder: &Path, script: &str) -> String {
    let program = binary();
    let paths = [program.parent().unwrap().to_owned(), "/usr/bin".into(), "/bin".into()];
    let mut command = bare("bash", folder);
    command.args(["-e", "-u", "-o", "pipefail", "-c", script]).env("PATH", std::env::join_paths(paths).unwrap());
    command.assert().success().out()
}

#[test]
fn the_guide_to_rules_works_as_it_is_printed() {
    let folder = temp::folder();
    fs::copy(root().join("fixtures/tiny-kernels.sqlite"), folder.path().join("run.sqlite")).unwrap();
    let rules: Vec<String> =
        blocks("writing-rules.md", "toml").into_iter().filter(|block| block.contains("\nid = ")).collect();
    let id_of = |rule: &String| {
        rule.lines().find_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"')).unwrap().to_owned()
    };
    let (rule, id) = (&rules[0], id_of(&rules[0]));
    let file = folder.path().join("my-rules").join(format!("{id}.toml"));
    for script in blocks("writing-rules.md", "sh") {
        // The guide begins with the skeleton, and then has the reader write the rule.
        if script.contains("rules test") && file.is_file() {
            fs::write(&file, rule).unwrap();
        }
        let printed = run(folder.path(), &script);
        assert!(!script.contains("rules test") || printed.contains("all pass"), "{script}{printed}");
    }
    assert!(file.is_file(), "the guide makes its rule");
    let review = run(folder.path(), "coldspot review run.sqlite --rules my-rules --format json");
    assert!(review.contains(&format!("\"rule\": \"{id}\"")), "the guide's rule finds something in its report");
    let validator = validator(&rule_schema());
    for rule in &rules {
        assert_eq!(complaints(&validator, rule), Vec::<String>::new(), "{}", id_of(rule));
        fs::write(folder.path().join("my-rules").join(format!("{}.toml", id_of(rule))), rule).unwrap();
    }
    assert!(run(folder.path(), "coldspot rules test my-rules").contains(&format!("{} rules: all pass", rules.len())));
}

#[test]
fn the_guide_to_the_configuration_works_as_it_is_printed() {
    let folder = temp::folder();
    let sample = blocks("configuration.md", "toml").remove(0);
    assert_eq!(complaints(&validator(&config_schema()), &sample), Vec::<String>::new());
    fs::write(folder.path().join("coldspot.toml"), &sample).unwrap();
    // The code that the sample maps kernels and annotations to.
    fs::create_dir(folder.path().join("src")).unwrap();
    ["src/kernels.cu", "train.py"].iter().for_each(|file| fs::write(folder.path().join(file), "").unwrap());
    fs::copy(root().join("fixtures/pageable-copies-2021.sqlite"), folder.path().join("run.sqlite")).unwrap();
    for name in ["perf/rules", "perf/templates"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("perf/rules/slow-reduce.toml"), skeleton("slow-reduce").unwrap()).unwrap();
    fs::copy(root().join("templates/finding.md.j2"), folder.path().join("perf/templates/finding.md.j2")).unwrap();
    for script in blocks("configuration.md", "sh") {
        run(folder.path(), &script);
    }
    let broken = sample.replace("min_share", "min_shar");
    assert_eq!(complaints(&validator(&config_schema()), &broken), Vec::<String>::new(), "names of params are free");
    let broken = sample.replace("fail_on", "fail_over");
    assert_ne!(complaints(&validator(&config_schema()), &broken), Vec::<String>::new());
}
