//! Lines of code that findings come from, by the call stacks of the report.

use std::fs;
use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::cli::{self, Printed};
use crate::support::project::Project;
use crate::support::{SchemaVersion, scenario};

/// A project whose program was captured with call stacks. `files` are those of its code that are there.
fn captured(version: SchemaVersion, files: &[&str]) -> Project {
    let project = Project::empty();
    scenario("call-stacks").write(version, &project.file("run.sqlite"));
    files.iter().for_each(|file| project.write(file, ""));
    project
}

fn line_of(project: &Project, rule: &str, arguments: &[&str]) -> String {
    project.lines_of(rule, arguments).first().unwrap_or_else(|| panic!("nothing of {rule}")).clone()
}

/// What is known of where an entity comes from.
fn source(facts: &Value, kind: &str) -> Value {
    let entity = &facts[kind][0];
    json!([entity["source_file"], entity["source_line"], entity["is_source_in_project"]])
}

const CODE: [&str; 2] = ["src/loader.py", "src/model.py"];

#[test]
fn the_innermost_line_of_the_programs_own_code_counts() {
    for version in SchemaVersion::ALL {
        let facts = captured(version, &CODE).facts();
        assert_eq!(source(&facts, "copy_groups"), json!(["src/loader.py", 12, true]));
        assert_eq!(facts["copy_groups"][0]["source_share"], 1.0);
        // Two of three launches; the third is from elsewhere.
        assert_eq!(source(&facts, "kernels"), json!(["src/model.py", 33, true]));
        let share = facts["kernels"][0]["source_share"].as_f64().unwrap();
        assert!((share - 2.0 / 3.0).abs() < 0.01, "{share}");
        assert_eq!(source(&facts, "sync_groups"), json!(["metrics.py", 5, false]));
    }
}

#[test]
fn folders_outside_of_the_project_stay_private() {
    for files in [&CODE[..], &[]] {
        let text = captured(SchemaVersion::Nsys2025, files).facts().to_string();
        for private in ["/home", "somebody", "secret", "/opt", "venv"] {
            assert!(!text.contains(private), "{private}");
        }
    }
    // A relative path that leads to no file here is of a program that ran elsewhere.
    let facts = captured(SchemaVersion::Nsys2025, &[]).facts();
    assert_eq!(source(&facts, "copy_groups"), json!(["loader.py", 12, false]));
}

#[test]
fn rows_that_repeat_a_call_for_its_stack_are_no_calls() {
    let [old, new] = SchemaVersion::ALL.map(|version| captured(version, &[]).facts());
    for facts in [&old, &new] {
        assert_eq!(facts["sync_groups"][0]["call_count"], 20);
        assert_eq!(facts["runs"][0]["api_call_count"], 5 * 20);
    }
    assert_eq!(old["sync_groups"][0]["call_ns"], new["sync_groups"][0]["call_ns"]);
}

#[test]
fn findings_say_where_they_come_from_and_annotations_point_there() {
    let project = captured(SchemaVersion::Nsys2025, &CODE);
    project.coldspot(&["review", "run.sqlite"]).success().stdout(contains("- Called from `src/loader.py:12`.\n"));
    let review = ["review", "run.sqlite", "--format", "github"];
    let line = line_of(&project, "pageable-copy", &review);
    assert!(line.contains(" file=src/loader.py,line=12,title="), "{line}");
    // The stack goes before the mapping of the project, which is for what has none.
    fs::write(
        project.path().join("coldspot.toml"),
        "[[source]]\nkernel = 'forward'\nfile = 'kernels.cu'\n[[source]]\nrange = '*'\nfile = 'other.py'\n",
    )
    .unwrap();
    let line = line_of(&project, "small-grid", &review);
    assert!(line.contains(" file=src/model.py,line=33,title="), "{line}");
    // From a folder of the project as from its root.
    let deeper = project.coldspot_from("src", &["review", "../run.sqlite", "--format", "github"]);
    deeper.success().stdout(contains("::error file=src/loader.py,line=12,title="));
    // Where the project is checked out below, its file says so.
    project.write("head/.git/HEAD", "");
    project.write("head/src/loader.py", "");
    fs::rename(project.path().join("coldspot.toml"), project.path().join("head/coldspot.toml")).unwrap();
    fs::remove_dir_all(project.path().join("src")).unwrap();
    let line = line_of(&project, "pageable-copy", &[&review[..], &["--config", "head/coldspot.toml"]].concat());
    assert!(line.contains(" file=src/loader.py,line=12,title="), "{line}");
    fs::rename(project.path().join("head"), project.path().join("other")).unwrap();
    fs::rename(project.path().join("other/src"), project.path().join("src")).unwrap();
    // It travels in a facts file.
    project.coldspot(&["facts", "run.sqlite", "--format", "json", "--output", "run.json"]).success();
    let line = line_of(&project, "pageable-copy", &["review", "run.json", "--format", "github"]);
    assert!(line.contains(" file=src/loader.py,line=12,title="), "{line}");

    let elsewhere = captured(SchemaVersion::Nsys2025, &[]);
    elsewhere.coldspot(&["review", "run.sqlite"]).success().stdout(contains("- Called from `loader.py:12`.\n"));
    let line = line_of(&elsewhere, "pageable-copy", &review);
    assert!(line.contains("pageable") && !line.contains("file="), "{line}");
}

#[test]
fn a_facts_file_names_no_place_outside_of_the_project() {
    let project = captured(SchemaVersion::Nsys2025, &CODE);
    let facts = project.facts();
    for file in ["/etc/passwd", "../../secret.py", "C:\\x.py", "a\n::error::x", ""] {
        let mut forged = facts.clone();
        for copies in forged["copy_groups"].as_array_mut().unwrap() {
            copies["source_file"] = json!(file);
        }
        fs::write(project.path().join("forged.json"), forged.to_string()).unwrap();
        let line = line_of(&project, "pageable-copy", &["review", "forged.json", "--format", "github"]);
        assert!(!line.contains("file="), "{file:?}: {line}");
        project
            .coldspot(&["review", "forged.json", "--format", "sarif"])
            .success()
            .stdout(contains("passwd").not().and(contains("secret").not()));
    }
}

#[test]
fn samples_of_cpu_stacks_are_noticed() {
    let project = captured(SchemaVersion::Nsys2025, &[]);
    assert_eq!(project.facts()["runs"][0]["cpu_samples_captured"], false);
    let db = rusqlite::Connection::open(project.path().join("run.sqlite")).unwrap();
    db.execute_batch(
        "CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, \
         stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth)); INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 1, 1, 0);",
    )
    .unwrap();
    drop(db);
    assert_eq!(project.facts()["runs"][0]["cpu_samples_captured"], true);
}

#[test]
fn frames_beyond_the_limit_are_counted_and_long_ones_left_out() {
    let project = captured(SchemaVersion::Nsys2021, &CODE);
    let left_out = |limit: &str| {
        let arguments = ["facts", "run.sqlite", "--format", "json", "--limit", limit];
        let facts = project.coldspot(&arguments).success().json();
        (facts["runs"][0]["unread_row_count"].clone(), source(&facts, "copy_groups"))
    };
    // 20 steps of five calls, with stacks of 5, 3, 3, 2 and 2 frames: 300 rows, and 100 calls.
    let (rows, place) = left_out("rows=250");
    assert_eq!((rows, &place[0]), (json!(50), &json!("src/loader.py")));
    assert_eq!(left_out("name-bytes=10").1, json!([null, null, null]));
}

#[test]
#[cfg(unix)]
fn the_root_and_the_home_folder_are_no_project() {
    let project = captured(SchemaVersion::Nsys2025, &CODE);
    let report = project.path().join("run.sqlite").display().to_string();
    let of = |folder: &Path, home: &Path| -> Value {
        let mut command = cli::command(folder);
        command.env("HOME", home).args(["facts", &report, "--format", "json"]);
        let facts = cli::run(&mut command).success().json();
        source(&facts, "copy_groups")
    };
    let elsewhere = Path::new("/nonexistent");
    assert_eq!(of(project.path(), elsewhere), json!(["src/loader.py", 12, true]));
    assert_eq!(of(project.path(), project.path()), json!(["loader.py", 12, false]));
    assert_eq!(of(Path::new("/"), elsewhere), json!(["loader.py", 12, false]));
}

#[test]
fn stacks_of_compiled_code_name_the_function_that_made_a_call() {
    for version in SchemaVersion::ALL {
        let project = Project::empty();
        scenario("native-call-stacks").write(version, &project.file("run.sqlite"));
        let facts = project.facts();
        let told = |kind: &str| {
            let entity = &facts[kind][0];
            json!([entity["source_function"], entity["source_file"], entity["source_line"], entity["source_share"]])
        };
        assert_eq!(told("kernels"), json!(["app::solve_all", "solver", null, 1.0]));
        // A library asks for the wait, the program asked the library.
        assert_eq!(told("sync_groups"), json!(["app::has_converged", "solver", null, 1.0]));
        assert_eq!(facts["devices"][0]["idle_allocate_source"], "app::Buffer::grow (solver)");
        // In a review for people a line may have to do for it.
        let review = project.coldspot(&["review", "run.sqlite", "--format", "json"]).success().out();
        assert!(review.contains("Called from app::has_converged (solver)."), "{review}");
        assert!(!review.contains("somebody"), "{review}");
    }
}

/// The rows of stacks, read with one limit of different frames.
#[test]
fn frames_beyond_the_limit_tell_nothing_and_are_counted() {
    let project = Project::empty();
    scenario("native-call-stacks").write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    let of = |arguments: &[&str]| {
        let all = [&["facts", "run.sqlite", "--format", "json"], arguments].concat();
        project.coldspot(&all).success().json()["runs"][0]["unread_row_count"].clone()
    };
    assert_eq!(of(&[]), Value::Null);
    let rows = of(&["--limit", "names=1"]).as_i64().unwrap();
    let db = rusqlite::Connection::open(project.path().join("run.sqlite")).unwrap();
    let frames = "SELECT count(*) FROM CUDA_CALLCHAINS, (SELECT symbol s, module m FROM CUDA_CALLCHAINS LIMIT 1) \
        WHERE symbol IS NOT s OR module IS NOT m";
    assert_eq!(rows, db.query_row(frames, [], |row| row.get::<_, i64>(0)).unwrap());
}
