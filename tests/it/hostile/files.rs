//! Files that are none, or are too large; folders that lead elsewhere; names that try to be something else in messages of
//! the argument parser; and the bounds of a run.

use std::path::Path;

use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;

use crate::support::cli::{self, Printed, coldspot_in};
use crate::support::project::Project;
use crate::support::{SchemaVersion, fixtures, scenario, temp};

fn healthy() -> String {
    fixtures().join("healthy.sqlite").display().to_string()
}

/// Every way in which the command line takes a file, with this one in its place.
fn in_each_place(folder: &Path, file: &str) -> Vec<(i32, Assert)> {
    let report = healthy();
    let commands: [(i32, &[&str]); 9] = [
        (3, &["review", file]),
        (3, &["facts", file, "--format", "json"]),
        (3, &["compare", file, &report]),
        (3, &["compare", &report, file]),
        (3, &["baseline", "write", "new.json", file]),
        (2, &["review", &report, "--baseline", file]),
        (2, &["review", &report, "--config", file]),
        (2, &["config", "check", "--config", file]),
        (2, &["comment", "--repo", "a/b", "--pull", "1", "--api", "http://127.0.0.1:1", "--body", file]),
    ];
    let run = |(code, arguments): (i32, &[&str])| {
        (code, cli::run(cli::command(folder).env("GITHUB_TOKEN", "x").args(arguments)))
    };
    commands.into_iter().map(run).collect()
}

#[cfg(unix)]
#[test]
fn what_is_no_ordinary_file_is_refused_everywhere() {
    let folder = temp::folder();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    std::os::unix::fs::symlink("pipe", folder.path().join("link")).unwrap();
    for file in ["pipe", "link", "socket", "/dev/zero", "/dev/tty", "."] {
        for (code, assert) in in_each_place(folder.path(), file) {
            let told = contains("no ordinary file").or(contains("is a folder")).or(contains("cannot be opened"));
            assert.code(code).stdout("").stderr(told);
        }
    }
    let rules = folder.path().join("rules");
    std::fs::create_dir(&rules).unwrap();
    std::fs::rename(&pipe, rules.join("a.toml")).unwrap();
    coldspot_in(folder.path(), &["rules", "check", "rules"]).code(4).stderr(contains("no ordinary file"));
    std::fs::rename(rules.join("a.toml"), rules.join("review.md.j2")).unwrap();
    let arguments = ["review", &healthy(), "--templates", "rules"];
    coldspot_in(folder.path(), &arguments).code(4).stderr(contains("no ordinary file"));
    // A pipe in the place of a coldspot.toml is none that could be found.
    std::fs::rename(rules.join("review.md.j2"), folder.path().join("coldspot.toml")).unwrap();
    coldspot_in(folder.path(), &["review", &healthy()]).success();
}

#[test]
fn what_is_larger_than_any_is_not_read() {
    let folder = temp::folder();
    // As sparse as a stranger can make it.
    for name in ["coldspot.toml", "large"] {
        std::fs::File::create(folder.path().join(name)).unwrap().set_len(6 << 30).unwrap();
    }
    coldspot_in(folder.path(), &["review", &healthy()]).code(2).stderr(contains("larger than 1 MiB"));
    for (option, most) in [("--config", "1 MiB"), ("--baseline", "16 MiB")] {
        let arguments = ["review", &healthy(), "--no-config", option, "large"];
        let arguments: Vec<&str> =
            arguments.into_iter().filter(|word| option != "--config" || *word != "--no-config").collect();
        coldspot_in(folder.path(), &arguments).code(2).stderr(contains(format!("larger than {most}")));
    }
    let comment = ["comment", "--repo", "a/b", "--pull", "1", "--body", "large"];
    coldspot_in(folder.path(), &comment).code(2).stderr(contains("larger than 64 MiB"));
}

#[test]
fn what_a_baseline_does_not_need_is_not_kept() {
    let folder = temp::folder();
    let review = |text: String| {
        std::fs::write(folder.path().join("known"), text).unwrap();
        coldspot_in(folder.path(), &["review", &healthy(), "--no-config", "--baseline", "known"])
    };
    let known =
        |findings: &str, more: &str| format!("{{'schema': 'coldspot.baseline/1', 'findings': [{findings}]{more}}}");
    let known = |findings: &str, more: &str| known(findings, more).replace('\'', "\"");
    // As a tree each of these takes half a kilobyte.
    review(known("", &format!(", 'x': [{}0]", "{'': 0},".repeat(600_000)))).success();
    let entries = (0..60_000).map(|id| format!("{{'fingerprint': '{id}', 'title': ''}}"));
    review(known(&entries.collect::<Vec<_>>().join(","), "")).code(2).stderr(contains("more than 50000 findings"));
    for (text, told) in [("[]", "is no baseline"), ("{\"schema\": 1}", "is no baseline"), ("{", "is no baseline (EOF")]
    {
        review(text.to_owned()).code(2).stderr(contains(told));
    }
    review("{\"findings\": 7, \"schema\": \"coldspot.baseline/2\"}".into())
        .code(2)
        .stderr(contains("baseline/2; this"));
    review(known("{'title': ''}", "")).code(2).stderr(contains("is damaged (missing field"));
}

#[test]
fn a_path_of_many_parts_is_not_looked_up_once_for_each() {
    let project = Project::with(&format!("rules.dirs = ['{}']", "a/".repeat(400_000)));
    project.review(&[]).code(2).stderr(contains("there is no folder"));
}

#[test]
fn a_configuration_that_was_found_leads_nowhere_else() {
    let outside = temp::folder();
    let rules = outside.path().join("rules");
    std::fs::create_dir(&rules).unwrap();
    std::fs::write(rules.join("secret.toml"), "id = 'SECRET'\nschema = 'SECRET'").unwrap();
    let absolute = rules.display().to_string().replace('\\', "/");
    for dir in ["/", "..", "own/../..", "../rules", &absolute] {
        for config in [format!("rules.dirs = ['{dir}']"), format!("templates = '{dir}'")] {
            let project = Project::with(&config);
            let assert = project.review(&[]).code(2).stderr(contains("coldspot.toml:1: ").and(contains("leads out")));
            assert!(!assert.err().contains("SECRET"));
        }
    }
    // Whoever names the file means it.
    let project = Project::with(&format!("rules.dirs = ['{absolute}']"));
    project.review(&["--config", "coldspot.toml"]).code(4).stderr(contains("secret.toml"));
    let project = Project::with("rules.dirs = ['./mine/rules']");
    project.write("mine/rules/a/skeleton.toml", "schema = 'SECRET'");
    let message = project.review(&[]).code(4).err();
    assert!(message.contains("invalid type: string, expected") && !message.contains("SECRET"), "{message}");
}

#[cfg(unix)]
#[test]
fn links_of_a_configuration_that_was_found_lead_nowhere_else() {
    use std::os::unix::fs::symlink;
    let outside = temp::folder();
    std::fs::write(outside.path().join("secret.toml"), "SECRET").unwrap();
    for config in ["rules.dirs = ['link']", "rules.dirs = ['link/none']", "templates = 'link'"] {
        let project = Project::with(config);
        symlink(outside.path(), project.file("link")).unwrap();
        project.review(&[]).code(2).stderr(contains("leads out"));
    }
    let project = Project::new();
    symlink(outside.path().join("secret.toml"), project.file("coldspot.toml")).unwrap();
    project.review(&[]).code(2).stderr(contains("leads out").and(contains("SECRET").not()));
}

#[cfg(unix)]
#[test]
fn output_goes_through_no_link_out_of_its_folder() {
    use std::os::unix::fs::symlink;
    let (folder, outside) = (temp::folder(), temp::folder());
    let kept = outside.path().join("kept.txt");
    std::fs::write(&kept, "KEPT").unwrap();
    symlink(&kept, folder.path().join("review.md")).unwrap();
    let arguments = |output| ["review", &healthy(), "--output", output].map(str::to_owned);
    coldspot_in(folder.path(), &arguments("review.md")).code(2).stderr(contains("leads out of its folder"));
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "KEPT");
    // One that stays there is followed, and one to where nothing is becomes the review.
    symlink("target.md", folder.path().join("inside.md")).unwrap();
    std::fs::write(folder.path().join("target.md"), "").unwrap();
    coldspot_in(folder.path(), &arguments("inside.md")).code(0);
    assert!(std::fs::read_to_string(folder.path().join("target.md")).unwrap().starts_with("# coldspot"));
    symlink(outside.path().join("none"), folder.path().join("dangling.md")).unwrap();
    coldspot_in(folder.path(), &arguments("dangling.md")).code(0);
    assert!(!outside.path().join("none").exists());
    // Nor through a folder on the way, however it is named.
    symlink(outside.path(), folder.path().join("out")).unwrap();
    let absolute = folder.path().canonicalize().unwrap().join("out/kept.txt");
    for output in ["out/kept.txt", "./out/kept.txt", "out/new.txt", absolute.to_str().unwrap()] {
        coldspot_in(folder.path(), &arguments(output)).code(2).stderr(contains("link that leads elsewhere"));
    }
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "KEPT");
    assert!(!outside.path().join("new.txt").exists());
    std::fs::create_dir(folder.path().join("build")).unwrap();
    symlink("build", folder.path().join("latest")).unwrap();
    coldspot_in(folder.path(), &arguments("latest/review.md")).code(0);
    // What lies outside is named by whoever runs it: links on the way there are theirs.
    symlink(outside.path().canonicalize().unwrap(), outside.path().join("own")).unwrap();
    let elsewhere = temp::folder();
    coldspot_in(elsewhere.path(), &arguments(outside.path().join("own/review.md").to_str().unwrap())).code(0);
}

#[cfg(unix)]
#[test]
fn output_overwrites_no_disk() {
    let folder = temp::folder();
    // The node of a disk that there is not; whoever may make none has none to fear.
    let node = std::process::Command::new("mknod").arg(folder.path().join("disk")).args(["b", "0", "0"]).output();
    if node.is_ok_and(|made| made.status.success()) {
        std::os::unix::fs::symlink("disk", folder.path().join("review.md")).unwrap();
        for output in ["disk", "review.md"] {
            let arguments = ["review", &healthy(), "--output", output].map(str::to_owned);
            coldspot_in(folder.path(), &arguments).code(2).stderr(contains("it is a disk"));
        }
    }
}

#[test]
fn a_scorecard_is_not_quoted() {
    let project = Project::with("templates = 'mine'");
    project.write("mine/scorecard.toml", "[[score]]\nid = 1 # SECRET\ntitle = 'SECRET'");
    let message = project.review(&[]).code(4).err();
    assert!(message.contains("scorecard.toml:2: ") && !message.contains("SECRET"), "{message}");
}

#[test]
fn errors_of_the_argument_parser_are_inert() {
    for name in [
        "b\n::error title=x::pwned.sqlite",
        "b\n  ::stop-commands::x",
        "##[error]x",
        "##vso[task]x",
        "\u{1b}]0;x\u{7}\u{202e}",
    ] {
        for arguments in [
            ["review", "a.sqlite", name],
            ["review", "--format", name],
            ["review", "--window", name],
            ["x", name, name],
        ] {
            let message = coldspot_in(temp::root(), &arguments).code(2).stdout("").err();
            assert!(!message.is_empty());
            assert!(!message.lines().any(|line| line.trim_start().starts_with("::")), "{message:?}");
            assert!(!message.contains("##["), "{message:?}");
            assert!(!message.contains("##vso"), "{message:?}");
            assert!(!message.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'), "{message:?}");
        }
    }
}

#[test]
fn a_run_that_takes_too_much_memory_is_ended() {
    let tight = ["rules", "test", "--max-memory", "1"];
    coldspot_in(temp::root(), &tight).code(7).stderr(contains("more than 1 MiB of memory (--max-memory)"));
    coldspot_in(temp::root(), &["review", &healthy(), "--max-memory", "0", "--max-time", "0"]).success();
}

#[test]
fn folders_of_rules_are_walked_up_to_a_bound() {
    let project = Project::with("rules.dirs = ['many']");
    let many = project.path().join("many");
    std::fs::create_dir(&many).unwrap();
    (0..20_001).for_each(|number| std::fs::write(many.join(format!("{number}.txt")), "").unwrap());
    let message = project.review(&[]).code(4).err();
    assert!(message.contains("hold too much together"), "{message}");
    assert_eq!(message.matches("too much").count(), 1, "{message}");
}

/// Numbers as large as a facts file may hold, over more entities than their sum has place for, end no rule.
#[test]
fn sums_beyond_all_numbers_end_no_rule() {
    let folder = temp::folder();
    let path = folder.path().join("base.json");
    let path = path.to_str().unwrap();
    coldspot_in(folder.path(), &["facts", &healthy(), "--format", "json", "--output", path]).success();
    let mut facts: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let kernels = facts["kernels"].as_array_mut().unwrap();
    let mut kernel = kernels[0].clone();
    kernel["name"] = "redzone_checker".into();
    kernel["launch_count"] = (1_i64 << 56).into();
    kernel["attributed_ns"] = 0.into();
    for index in 0..300 {
        kernel["id"] = format!("more{index}").into();
        kernels.push(kernel.clone());
    }
    std::fs::write(folder.path().join("head.json"), facts.to_string()).unwrap();
    coldspot_in(folder.path(), &["review", "head.json"]).success().stderr(contains("went wrong").not());
    let compared = coldspot_in(folder.path(), &["compare", "base.json", "head.json", "--same-work"]);
    compared.stderr(contains("went wrong").not());
}

#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_reads_is_no_wait_without_an_end() {
    use std::io::Read;
    let folder = temp::folder();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let arguments = ["review", &healthy(), "--output", "pipe"];
    coldspot_in(folder.path(), &arguments).code(2).stdout("").stderr(contains("pipe: cannot be written: nobody reads"));
    // One who comes late, and takes more than a pipe holds at his own pace, gets all of it.
    let arguments = ["facts", "--list", "--format", "json"];
    let whole = coldspot_in(folder.path(), &arguments).success().out();
    assert!(whole.len() > 1 << 16, "{}", whole.len());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(700));
            let mut read = std::fs::File::open(&pipe).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(700));
            let mut text = String::new();
            read.read_to_string(&mut text).unwrap();
            text
        });
        coldspot_in(folder.path(), &[&arguments[..], &["--output", "pipe"]].concat()).success().stdout("");
        assert!(reader.join().unwrap() == whole);
    });
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(&std::fs::metadata(&pipe).unwrap().file_type()));
}

#[test]
fn numbers_that_no_run_has_are_written_so_that_they_can_be_read() {
    for change in [
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 1 << 57",
        "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 1 << 55",
        "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 1 << 62",
    ] {
        let project = Project::empty();
        scenario("pageable-copies").write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        rusqlite::Connection::open(project.path().join("run.sqlite")).unwrap().execute_batch(change).unwrap();
        let facts = project.coldspot(&["facts", "run.sqlite", "--format", "json"]).success().out();
        project.write("facts.json", facts);
        project.coldspot(&["review", "facts.json"]).success();
    }
}

#[test]
fn trials_whose_calls_go_back_in_time_are_trials_all_the_same() {
    let project = Project::empty();
    scenario("kernel-is-tuned").write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    let count = || project.facts()["devices"][0]["kernel_tuning_trial_count"].clone();
    let in_order = count();
    assert!(in_order.as_i64() > Some(0), "{in_order}");
    let back = "CREATE TABLE ids AS SELECT max(correlationId) + min(correlationId) s FROM CUPTI_ACTIVITY_KIND_KERNEL;
        UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = (SELECT s FROM ids) - correlationId;
        DROP TABLE ids;";
    rusqlite::Connection::open(project.path().join("run.sqlite")).unwrap().execute_batch(back).unwrap();
    assert_eq!(count(), in_order);
}
