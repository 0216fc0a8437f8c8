//! Findings at their places in the project's code, as annotations and SARIF show them.

use std::fs;

use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::cli::Printed;
use crate::support::fixtures;
use crate::support::project::Project;

const SOURCES: &str = r#"
[[source]]
range = "d*"
file = "src/loader/decode image.py"
line = 42

[[source]]
range = "dataloader"
file = "never.py"

[[source]]
kernel = "void vectorized_elementwise_kernel<*"
file = "./src//optimizer.py"

[[source]]
kernel = "sgemm_128x64_nn"
file = "src/kernels.cu"
line = 7

[[source]]
kernel = "no_such_kernel"
file = "src/none.cu"
"#;

#[test]
fn annotations_point_at_the_file_of_the_kernel_or_annotation() {
    let project = Project::with(SOURCES);
    let github = |rule: &str| project.lines_of(rule, &["review", "run.sqlite", "--format", "github"]);
    // About a GPU, and prints the annotation that holds most of the time.
    assert!(
        github("data-loading")[0].starts_with("::warning file=src/loader/decode image.py,line=42,title="),
        "the first mapping that fits counts"
    );
    assert!(github("tiny-kernels")[0].starts_with("::notice file=src/optimizer.py,title="), "by the whole name");
    let products = github("fp32-matmul");
    assert_eq!(products.iter().filter(|line| line.contains("file=src/kernels.cu,line=7,")).count(), 1);
    assert_eq!(products.len(), 2, "{products:#?}");
    // Neither kernel nor annotation: the run.
    assert!(github("pageable-copy")[0].starts_with("::warning title="));
}

#[test]
fn comparisons_point_there_too() {
    let project = Project::with(SOURCES);
    let base = ["--config", "coldspot.toml", "--format", "json"];
    project.coldspot(&["facts", "run.sqlite", base[2], base[3], "--output", "base.json"]).success();
    let text = fs::read_to_string(project.path().join("base.json")).unwrap();
    let mut facts: Value = serde_json::from_str(&text).unwrap();
    // What decodes is no data loading here.
    facts["devices"][0]["idle_data_loading_host_ns"] = json!(0);
    fs::write(project.path().join("base.json"), facts.to_string()).unwrap();
    // Without host code in its way the finding is gone; the other way round it is new. Its time counts elsewhere, as all of it must.
    let device = facts["devices"][0].as_object_mut().unwrap();
    let host_ns = device["idle_host_ns"].as_i64().unwrap();
    device["idle_unknown_ns"] = json!(device["idle_unknown_ns"].as_i64().unwrap() + host_ns);
    for (_, ns) in device.iter_mut().filter(|(fact, ns)| fact.starts_with("idle_host_") && ns.is_i64()) {
        *ns = json!(0);
    }
    fs::write(project.path().join("quick.json"), facts.to_string()).unwrap();
    let lines = project.lines_of("host-bound", &["compare", "quick.json", "base.json", "--format", "github"]);
    assert!(lines[0].starts_with("::warning file=src/loader/decode image.py,line=42,title=new"), "{lines:#?}");
    // What is gone is nowhere in the code.
    let lines = project.lines_of("host-bound", &["compare", "base.json", "quick.json", "--format", "github"]);
    assert!(lines[0].starts_with("::notice title=gone"), "{lines:#?}");
}

#[test]
fn sarif_names_files_from_the_root_of_the_sources() {
    let project = Project::with(SOURCES);
    let log: Value = project.coldspot(&["review", "run.sqlite", "--format", "sarif"]).json();
    let schema = fs::read_to_string(fixtures().join("../tests/it/support/schema/sarif-2.1.0.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    assert!(schema.is_valid(&log));
    let place = |rule: &str| {
        let results = log["runs"][0]["results"].as_array().unwrap();
        let result = results.iter().find(|result| result["ruleId"] == rule).unwrap();
        result["locations"][0]["physicalLocation"].clone()
    };
    assert_eq!(
        place("data-loading"),
        json!({
            "artifactLocation": { "uri": "src/loader/decode%20image.py", "uriBaseId": "%SRCROOT%" },
            "region": { "startLine": 42 },
        })
    );
    assert_eq!(
        place("tiny-kernels"),
        json!({ "artifactLocation": { "uri": "src/optimizer.py", "uriBaseId": "%SRCROOT%" } })
    );
    assert_eq!(place("pageable-copy"), json!({ "artifactLocation": { "uri": "run.sqlite" } }));
}

#[test]
fn files_that_are_not_there_are_told_by_the_check_alone() {
    let project = Project::with(SOURCES);
    project
        .coldspot(&["config", "check"])
        .code(2)
        .stderr(contains("coldspot.toml:4: there is no file `src/loader/decode image.py` in "))
        .stderr(contains("coldspot.toml:22: there is no file `src/none.cu` in "));
    for file in ["src/loader/decode image.py", "never.py", "src/optimizer.py", "src/kernels.cu", "src/none.cu"] {
        fs::create_dir_all(project.path().join(file).parent().unwrap()).unwrap();
        fs::write(project.path().join(file), "").unwrap();
    }
    project.coldspot(&["config", "check"]).success();
}

#[test]
fn places_outside_of_the_project_are_refused() {
    for (source, message) in [
        ("kernel = 'k'\nfile = '/etc/passwd'", "`/etc/passwd` is absolute"),
        ("kernel = 'k'\nfile = 'C:/x.cu'", "`C:/x.cu` is absolute"),
        ("kernel = 'k'\nfile = 'a/../../x.cu'", "`a/../../x.cu` leads out of the folder"),
        ("kernel = 'k'\nfile = 'a\\b.cu'", "has a `\\`"),
        ("kernel = 'k'\nfile = './'", "`./` names no file"),
        ("kernel = 'k'\nfile = \"a\\nb\"", "holds invisible characters"),
        ("kernel = 'k'\nfile = 'a.cu'\nline = 0", "`line` is a line of the file"),
        ("kernel = 'k'\nfile = 'a.cu'\nline = '7'", "`line` is a line of the file"),
        ("kernel = ''\nfile = 'a.cu'", "an empty pattern matches no name"),
        ("kernel = 'k'\nrange = 'r'\nfile = 'a.cu'", "either a `kernel` or a `range`"),
        ("file = 'a.cu'", "a source needs a `kernel` or a `range`"),
        ("kernel = 'k'", "the key `file` is missing"),
        ("kernal = 'k'\nfile = 'a.cu'", "unknown key `kernal`; did you mean `kernel`?"),
    ] {
        let project = Project::with(&format!("[[source]]\n{source}\n"));
        project.coldspot(&["review", "run.sqlite"]).code(2).stdout("").stderr(contains(message));
    }
}

#[test]
fn json_names_the_place_and_paths_begin_at_the_top_of_the_checkout() {
    let of_loader = "[[source]]\nrange = 'dataloader'\nfile = 'src/loader/decode image.py'\nline = 42\n";
    let project = Project::with(&format!("{SOURCES}\n{of_loader}"));
    let source = |project: &Project, arguments: &[&str]| {
        let json = project.coldspot(arguments).json();
        let findings = json["findings"].as_array().unwrap().clone();
        let finding = findings.iter().find(|finding| finding["rule"] == "data-loading").unwrap().clone();
        (finding["subject"]["source"].clone(), finding["source"].clone())
    };
    let place = |file: &str| json!({ "file": file, "line": 42 });
    let review = ["review", "run.sqlite", "--format", "json"];
    assert_eq!(source(&project, &review).0, place("src/loader/decode image.py"));
    let compare = ["compare", "run.sqlite", "run.sqlite", "--format", "json"];
    assert_eq!(source(&project, &compare).1, place("src/loader/decode image.py"));
    // A project in a folder of a larger repository: forges read paths from the top of that.
    let top = Project::empty();
    for file in ["run.sqlite", "coldspot.toml"] {
        top.write(&format!("apps/train/{file}"), fs::read(project.file(file)).unwrap());
    }
    let printed = |format: &str| top.coldspot_from("apps/train", &["review", "run.sqlite", "--format", format]).out();
    assert!(printed("github").contains("::warning file=apps/train/src/loader/decode image.py,line=42,title="));
    assert!(printed("sarif").contains("\"uri\": \"apps/train/src/loader/decode%20image.py\""));
    assert!(printed("json").contains("\"file\": \"apps/train/src/loader/decode image.py\""));
}
