//! `coldspot comment` against a small forge on this machine.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;

use crate::support::forge::{Forge, Mishap, OURS, TOKEN};
use crate::support::{cli, temp, watch};

const MARKER: &str = "<!-- coldspot:compare -->";
const STRANGER: (&str, u64) = ("mallory", 7);
const COMMENTS: &str = "/repos/me/project/issues/12/comments";

fn marked(text: &str) -> String {
    format!("{MARKER}\n{text}\n")
}

fn write(folder: &Path, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join("comment.md");
    std::fs::write(&path, text).unwrap();
    path
}

/// The command, with a token and nothing of the environment that could lead it elsewhere.
fn command(forge: &Forge, body: &Path) -> Command {
    let mut command = cli::command(temp::root());
    command.env("GITHUB_TOKEN", TOKEN).args(["comment", "--repo", "me/project", "--pull", "12", "--api", &forge.url]);
    command.arg("--body").arg(body);
    command
}

/// Posts a text, and checks that the token shows nowhere.
fn post_with(forge: &Forge, text: &str, arguments: &[&str]) -> Assert {
    let folder = temp::folder();
    let body = write(folder.path(), text);
    let hidden = || contains(TOKEN).not();
    cli::run(command(forge, &body).args(arguments)).stdout(hidden()).stderr(hidden())
}

fn post(forge: &Forge, text: &str) -> Assert {
    post_with(forge, text, &[])
}

#[test]
fn the_first_comment_is_posted() {
    let forge = Forge::new().with_comment(STRANGER, "nice work");
    post(&forge, &marked("12 ms faster")).success().stdout("comment posted on me/project#12\n").stderr("");
    assert_eq!(forge.bodies(), ["nice work".to_owned(), marked("12 ms faster")]);
    assert_eq!(forge.writes(), [("POST".to_owned(), COMMENTS.to_owned())]);
}

/// A merge request of GitLab, whose address says that it is.
fn merge_request(forge: &Forge, text: &str) -> Assert {
    let folder = temp::folder();
    let body = write(folder.path(), text);
    let mut command = cli::command(temp::root());
    command.env("GITLAB_TOKEN", TOKEN).env("CI_API_V4_URL", format!("{}/api/v4", forge.url));
    command.args(["comment", "--repo", "me/group/project", "--pull", "12", "--body"]).arg(body);
    cli::run(&mut command).stdout(contains(TOKEN).not()).stderr(contains(TOKEN).not())
}

#[test]
fn a_note_of_gitlab_is_posted_and_then_updated() {
    let forge = Forge::new().with_comment(STRANGER, &marked("not ours"));
    merge_request(&forge, &marked("12 ms faster")).success().stdout("comment posted on me/group/project#12\n");
    merge_request(&forge, &marked("15 ms faster")).success().stdout(contains("updated"));
    merge_request(&forge, &marked("15 ms faster")).success().stdout(contains("unchanged"));
    assert_eq!(forge.bodies(), [marked("not ours"), marked("15 ms faster")]);
    let notes = "/api/v4/projects/me%2Fgroup%2Fproject/merge_requests/12/notes";
    let writes = [("POST".to_owned(), notes.to_owned()), ("PUT".to_owned(), format!("{notes}/1001"))];
    assert_eq!(forge.writes(), writes);
    assert!(forge.seen().iter().any(|seen| seen.path.contains("sort=asc")), "the oldest of ours is the one");
}

#[test]
fn a_repository_of_groups_is_gitlabs_and_a_file_of_certificates_holds_some() {
    let forge = Forge::new();
    let folder = temp::folder();
    let body = write(folder.path(), "x");
    let mut command = cli::command(temp::root());
    command
        .env("GITHUB_TOKEN", TOKEN)
        .args(["comment", "--repo", "a/b/c", "--pull", "12", "--api", &forge.url, "--body"]);
    cli::run(command.arg(&body)).code(2).stderr(contains("expected owner/name"));
    let argument = body.display().to_string();
    post_with(&forge, "x", &["--ca-file", &argument]).code(2).stderr(contains("holds no certificate in PEM"));
    post_with(&forge, "x", &["--ca-file", "/no/such.pem"]).code(2).stderr(contains("cannot be read"));
    assert!(forge.seen().is_empty());
}

#[test]
fn ours_is_updated_and_no_second_one_posted() {
    let forge = Forge::new().with_comment(STRANGER, "x").with_comment(OURS, &marked("old")).with_comment(OURS, "y");
    post(&forge, &marked("new")).success().stdout(contains("updated"));
    assert_eq!(forge.bodies(), ["x".to_owned(), marked("new"), "y".to_owned()]);
    assert_eq!(forge.writes(), [("PATCH".to_owned(), "/repos/me/project/issues/comments/1001".to_owned())]);
}

#[test]
fn the_same_again_writes_nothing() {
    // Forges drop the last line end, and some store others.
    let forge = Forge::new().with_comment(OURS, &format!("{MARKER}\r\nsame"));
    post(&forge, &marked("same")).success().stdout(contains("unchanged"));
    assert_eq!(forge.writes(), []);
}

#[test]
fn ours_is_found_on_the_third_page() {
    let mut forge = Forge::new().with_page_length(2);
    for _ in 0..5 {
        forge = forge.with_comment(STRANGER, "talk");
    }
    let forge = forge.with_comment(OURS, &marked("old"));
    post(&forge, &marked("new")).success().stdout(contains("updated"));
    assert_eq!(forge.bodies()[5], marked("new"));
    let pages = forge.seen().iter().filter(|seen| seen.path.starts_with(COMMENTS)).count();
    assert_eq!(pages, 3);
}

#[test]
fn a_strangers_comment_with_our_marker_is_left_alone() {
    let forge = Forge::new().with_comment(STRANGER, &marked("gotcha"));
    post(&forge, &marked("new")).success().stdout(contains("posted"));
    assert_eq!(forge.bodies(), [marked("gotcha"), marked("new")]);
}

#[test]
fn a_comment_of_ours_that_quotes_the_marker_is_left_alone() {
    let quotation = format!("Another bot said:\n{MARKER}\n");
    let forge = Forge::new().with_comment(OURS, &quotation).with_comment(OURS, "<!-- coldspot:nightly -->\nnightly");
    post(&forge, &marked("new")).success().stdout(contains("posted"));
    assert_eq!(forge.bodies()[0], quotation);
    post_with(&forge, "better", &["--marker", "<!-- coldspot:nightly -->"]).success().stdout(contains("updated"));
    assert_eq!(forge.bodies()[1], "<!-- coldspot:nightly -->\nbetter");
}

#[test]
fn an_app_is_known_by_its_number() {
    let forge = Forge::new().of_app().with_comment(STRANGER, &marked("gotcha")).with_comment(OURS, &marked("old"));
    post(&forge, &marked("new")).success().stdout(contains("updated"));
    assert_eq!(forge.bodies()[1], marked("new"));
}

#[test]
fn whoever_is_named_is_not_asked_for() {
    let forge = Forge::new().with_comment(OURS, &marked("old"));
    post_with(&forge, &marked("new"), &["--author", OURS.0]).success().stdout(contains("updated"));
    assert!(forge.seen().iter().all(|seen| seen.path.starts_with("/repos/")));
    let forge = Forge::new().of_app().with_mishap("POST", "/graphql", Mishap::Answer(403, "", "{}"), 9);
    post(&forge, &marked("new")).code(6).stderr(contains("--author"));
    assert_eq!(forge.writes(), []);
}

#[test]
fn a_rate_limit_that_ends_is_waited_for() {
    let limit = Mishap::Answer(429, "Retry-After: 1\r\n", r#"{"message":"slow down"}"#);
    let secondary = Mishap::Answer(403, "Retry-After: 1\r\n", r#"{"message":"secondary rate limit"}"#);
    let forge = Forge::new().with_mishap("GET", COMMENTS, limit, 1).with_mishap("POST", COMMENTS, secondary, 1);
    let start = Instant::now();
    post(&forge, &marked("new")).success().stdout(contains("posted"));
    assert!(start.elapsed() >= Duration::from_secs(2), "both waits were kept");
    assert_eq!(forge.bodies(), [marked("new")]);
}

#[test]
fn a_rate_limit_without_end_ends_the_attempts() {
    let limit = Mishap::Answer(429, "Retry-After: 0\r\n", r#"{"message":"slow down"}"#);
    let forge = Forge::new().with_mishap("POST", COMMENTS, limit, 1000);
    post(&forge, &marked("new")).code(6).stdout("").stderr(contains("limits the rate").and(contains("slow down")));
    assert_eq!(forge.bodies(), [] as [String; 0]);
    assert_eq!(forge.writes().len(), 5);
}

#[test]
fn a_wait_past_the_time_limit_is_not_begun() {
    let exhausted = "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 99999999999\r\n";
    let forge = Forge::new().with_mishap("GET", COMMENTS, Mishap::Answer(403, exhausted, "{}"), 1000);
    // The wait would take centuries, and the harness ends what hangs.
    post(&forge, &marked("new")).code(6).stderr(contains("limits the rate").and(contains("try again in")));
    assert_eq!(forge.seen().iter().filter(|seen| seen.path.starts_with(COMMENTS)).count(), 1);
    assert_eq!(forge.writes(), []);
}

#[test]
fn a_missing_permission_is_named() {
    for status in [403, 404] {
        let no = Mishap::Answer(status, "", r#"{"message":"Resource not accessible by integration"}"#);
        let forge = Forge::new().with_mishap("POST", COMMENTS, no.clone(), 1000);
        post(&forge, &marked("new"))
            .code(6)
            .stderr(contains("pull-requests: write").and(contains("not accessible by integration")));
        assert_eq!(forge.writes().len(), 1, "asking again would not help");
        let forge = Forge::new().with_mishap("GET", COMMENTS, no, 1000);
        post(&forge, &marked("new")).code(6).stderr(contains("pull-requests: read"));
        assert_eq!(forge.writes(), []);
    }
}

#[test]
fn a_wrong_token_is_said_so_without_showing_it() {
    let folder = temp::folder();
    let body = write(folder.path(), marked("new"));
    let forge = Forge::new();
    let secret = "ghp_another_secret";
    cli::run(command(&forge, &body).env("GITHUB_TOKEN", secret))
        .code(6)
        .stderr(contains("does not accept the token").and(contains(secret).not()));
}

#[test]
fn a_forge_that_stumbles_is_asked_again() {
    let forge = Forge::new()
        .with_comment(OURS, &marked("old"))
        .with_mishap("GET", "/user", Mishap::Answer(502, "", "<html>"), 1)
        .with_mishap("GET", COMMENTS, Mishap::HangUp, 1)
        .with_mishap("PATCH", "/comments/", Mishap::Answer(500, "", ""), 2);
    post(&forge, &marked("new")).success().stdout(contains("updated"));
    assert_eq!(forge.bodies(), [marked("new")]);
}

#[test]
fn a_forge_that_is_down_gets_a_bounded_number_of_requests() {
    let forge = Forge::new().with_mishap("GET", COMMENTS, Mishap::Answer(503, "", ""), 1000);
    post(&forge, &marked("new")).code(6).stderr(contains("status 503"));
    assert_eq!(forge.seen().iter().filter(|seen| seen.path.starts_with(COMMENTS)).count(), 5);
    assert_eq!(forge.writes(), []);
}

#[test]
fn a_comment_whose_answer_was_lost_is_not_posted_twice() {
    for lost in [Mishap::FulfilledBut(502), Mishap::FulfilledBut(200)] {
        let forge = Forge::new().with_mishap("POST", COMMENTS, lost, 1);
        post(&forge, &marked("new")).success().stdout(contains("posted"));
        assert_eq!(forge.bodies(), [marked("new")]);
        assert_eq!(forge.writes().len(), 1);
    }
    let forge = Forge::new().with_mishap("POST", COMMENTS, Mishap::HangUp, 1);
    post(&forge, &marked("new")).success().stdout(contains("posted"));
    assert_eq!(forge.bodies(), [marked("new")]);
}

#[test]
fn an_answer_that_is_no_list_posts_nothing() {
    for nonsense in ["<html>log in</html>", r#"{"comments":[]}"#, "[{\"id\":\"x\"}]", "[", ""] {
        let forge = Forge::new().with_mishap("GET", COMMENTS, Mishap::Answer(200, "", nonsense), 1000);
        post(&forge, &marked("new")).code(6).stderr(contains("something else than JSON of the expected form"));
        assert_eq!(forge.writes(), [], "{nonsense}");
    }
}

#[test]
fn a_slow_forge_is_left_at_the_time_limit() {
    let forge = Forge::new().with_mishap("GET", COMMENTS, Mishap::Slow(10 * watch::PATIENCE), 1000);
    post_with(&forge, &marked("new"), &["--time-limit", "2"]).code(6).stderr(contains("could not be reached"));
    // An answer is otherwise waited for half a minute, and asked for again.
    assert_eq!(forge.seen().iter().filter(|seen| seen.path.starts_with(COMMENTS)).count(), 1);
    assert_eq!(forge.writes(), []);
}

#[test]
fn a_redirect_is_not_followed() {
    let away = Mishap::Answer(307, "Location: http://127.0.0.1:9/elsewhere\r\n", "");
    let forge = Forge::new().with_mishap("GET", COMMENTS, away, 1000);
    post(&forge, &marked("new")).code(6).stderr(contains("status 307"));
    assert_eq!(forge.writes(), []);
}

#[test]
fn what_the_forge_says_is_inert_on_the_terminal() {
    let evil = r#"{"message":"\u001b[31mred\n::error::x ##[error]y"}"#;
    let forge = Forge::new().with_mishap("GET", COMMENTS, Mishap::Answer(422, "", evil), 1000);
    let assert = post(&forge, &marked("new")).code(6);
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(!said.contains('\u{1b}') && !said.contains("\n::") && !said.contains("##["), "{said:?}");
    assert_eq!(said.trim_end().lines().count(), 1);
}

#[test]
fn hostile_text_arrives_byte_for_byte() {
    let hostile = "<img src=x onerror=alert(1)> `; rm -rf` $(id) ${{ github.token }} @everyone \"quotes\" '\\' \\n \t | \
                   ::error::x\n::set-output name=x::y\r\n\u{1b}[31m \u{202e} \u{7f} %0A \u{1F600} </details> {\"body\":\"x\"}\n";
    let text = marked(hostile);
    let forge = Forge::new();
    post(&forge, &text).success();
    assert_eq!(forge.bodies().concat(), text);
    post(&forge, &text).success().stdout(contains("unchanged"));
    let written: serde_json::Value = serde_json::from_str(&forge.seen()[2].content).unwrap();
    assert_eq!(written.as_object().unwrap().len(), 1, "nothing but the body is sent");
}

#[test]
fn a_text_that_is_too_long_is_cut_with_a_note() {
    let forge = Forge::new();
    post(&forge, &marked(&"a line\n".repeat(20_000))).success().stderr(contains("was cut"));
    let posted = &forge.bodies()[0];
    assert!(posted.chars().count() <= 65_536);
    assert!(posted.trim_end().ends_with("summary of the job.*"), "{}", &posted[posted.len() - 200..]);
}

#[test]
fn what_is_wrong_here_is_found_before_the_forge_hears_of_it() {
    let forge = Forge::new();
    let folder = temp::folder();
    let good = write(folder.path(), marked("new"));
    let wrong = |arguments: &[&str], says: &'static str| {
        cli::run(command(&forge, &good).args(arguments)).code(2).stderr(contains(says).and(contains(TOKEN).not()));
    };
    wrong(&["--marker", "x"], "HTML comment");
    let mut plain = cli::command(temp::root());
    plain.env("GITHUB_TOKEN", TOKEN).args(["comment", "--pull", "1", "--body"]).arg(&good);
    cli::run(plain.args(["--repo", "a/b", "--api", "http://git.example.org"])).code(2).stderr(contains("https only"));
    for (repo, pull) in [("a/../b", "1"), ("a", "1"), ("a/b", "0"), ("a/b", "x"), ("a/b", "-1")] {
        let mut command = cli::command(temp::root());
        command.env("GITHUB_TOKEN", TOKEN).args(["comment", "--api", &forge.url, "--body"]).arg(&good);
        cli::run(command.args([format!("--repo={repo}"), format!("--pull={pull}")])).code(2);
    }
    cli::run(command(&forge, &good).env_remove("GITHUB_TOKEN")).code(2).stderr(contains("GITHUB_TOKEN is not set"));
    cli::run(command(&forge, &good).env("GITHUB_TOKEN", "")).code(2).stderr(contains("GITHUB_TOKEN is empty"));
    cli::run(&mut command(&forge, Path::new("/no/such/file"))).code(2).stderr(contains("/no/such/file"));
    for text in [&b""[..], b" \n", b"\xff\xfe not UTF-8"] {
        let path = write(folder.path(), text);
        cli::run(&mut command(&forge, &path)).code(2).stderr(contains("comment.md"));
    }
    assert_eq!(forge.seen().len(), 0);
}

#[test]
fn a_forge_that_sends_the_token_back_does_not_get_it_printed() {
    // Of GitHub's own length: its parts and spellings are looked for in the tests of the library.
    for (status, body) in [
        (400, r#"{"message":"bad header {}"}"#),
        (401, r#"{"message":"Authorization: {} is no token"}"#),
        (403, r#"{"message":"{}"}"#),
        (422, r#"{"message":"{}, {}\n{}"}"#),
        (200, r#"{"id":"{}","login":"{}"}"#),
        (201, r#"{"id":"{}","body":"{}"}"#),
    ] {
        let forge = Forge::new().with_mishap("GET", "", Mishap::Echo(status, body), 9).with_mishap(
            "POST",
            "",
            Mishap::Echo(status, body),
            9,
        );
        let message = post(&forge, &marked("text")).code(6).get_output().stderr.clone();
        let message = String::from_utf8(message).unwrap();
        assert!(!message.contains("ghs_") && !message.contains("to_be_seen"), "{message}");
    }
    let forge = Forge::new().with_mishap("POST", "comments", Mishap::Echo(422, r#"{"message":"bad {}"}"#), 9);
    post(&forge, &marked("text")).code(6).stderr(contains("(status 422)"));
}

#[test]
fn a_token_in_the_wrong_place_and_passwords_of_addresses_are_in_no_message() {
    let forge = Forge::new();
    let folder = temp::folder();
    let body = write(folder.path(), marked("new"));
    let secret = "ghs_16C7e42Fq9KxPwTzRbnMvLs0";
    let upper = secret.to_uppercase();
    let encoded: String = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let pair = format!("--pull={secret}");
    let file = format!("/tmp/{secret}.md");
    let addresses = ["https://me:PaSsWoRd@forge.example", "https://forge.example/?private_token=PaSsWoRd"];
    let wrong: [&[&str]; 8] = [
        &[secret],
        &[&upper],
        &[&encoded],
        &["--token", secret],
        &[&pair],
        &["--body", &file],
        &["--api", addresses[0]],
        &["--api", addresses[1]],
    ];
    for arguments in wrong {
        let mut command = cli::command(temp::root());
        command.env("GITHUB_TOKEN", secret).args(["comment", "--repo", "me/project", "--pull", "12", "--body"]);
        let said = cli::run(command.arg(&body).args(arguments)).code(2).stdout("").get_output().stderr.clone();
        let said = String::from_utf8(said).unwrap().to_lowercase();
        assert!(!said.is_empty());
        let parts = secret.as_bytes().windows(8).map(|part| String::from_utf8(part.to_ascii_lowercase()).unwrap());
        for part in parts.chain(["password".to_owned(), encoded[..24].to_owned()]) {
            assert!(!said.contains(&part), "{arguments:?}: {said}");
        }
    }
    // What reviews, too, with the same environment.
    let mut review = cli::command(temp::root());
    review.env("GITHUB_TOKEN", secret).args(["review", &format!("/no/such/{secret}.sqlite")]);
    cli::run(&mut review).stderr(contains("***: cannot be opened").and(contains(secret).not()));
    // A short one is none: messages would be full of holes.
    let mut review = cli::command(temp::root());
    review.env("GITHUB_TOKEN", "no").args(["review", "/no/such/file.sqlite"]);
    cli::run(&mut review).stderr(contains("/no/such/file.sqlite"));
    assert!(forge.seen().is_empty());
}

#[test]
fn a_proxy_gets_no_token_and_its_password_is_not_printed() {
    let folder = temp::folder();
    let body = write(folder.path(), marked("new"));
    // A proxy that answers whatever it is sent with that.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://me:PaSsWoRd1@{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        use std::io::{BufRead, BufReader, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let asked = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\r\n");
        let _ = stream.write_all(format!("HTTP/1.1 407 {}\r\n\r\n", asked.replace("\r\n", " ")).as_bytes());
        asked
    });
    let mut command = cli::command(temp::root());
    command.env("GITHUB_TOKEN", TOKEN).env("HTTPS_PROXY", &proxy).args([
        "comment",
        "--repo",
        "me/project",
        "--pull",
        "12",
    ]);
    command.args(["--api", "https://forge.example", "--time-limit", "1", "--body"]).arg(&body);
    let said = cli::run(&mut command).code(6).get_output().stderr.clone();
    let said = String::from_utf8(said).unwrap();
    let asked = served.join().unwrap();
    assert!(asked.starts_with("CONNECT forge.example:443") && !asked.contains(TOKEN), "{asked}");
    let code = asked.split("Basic ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("no code");
    assert!(!said.contains("PaSsWoRd1") && !said.contains(code) && !said.contains(TOKEN), "{said}");
}

#[test]
fn a_run_that_takes_too_long_is_ended() {
    let forge = Forge::new().with_mishap("GET", "/user", Mishap::Slow(Duration::from_secs(20)), 9);
    post_with(&forge, &marked("text"), &["--max-time", "1"]).code(7).stderr(contains("more than 1 s (--max-time)"));
    assert_eq!(forge.seen().len(), 1, "the answer was not waited for");
}
