//! `coldspot comment`.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use coldspot::files::read_text;
use coldspot::forge::{self, Api, CommentBody, Forge, Marker, Posted, Repository, Request, Token, Trust};
use coldspot::limits::MAX_PAGE_BYTES;

use super::exit::{Exit, Failure};
use super::guard::Work;
use super::output;
use super::tokens::TOKENS;

/// Workflows and pipelines have the address of their forge here.
const APIS: [&str; 2] = ["GITHUB_API_URL", "CI_API_V4_URL"];
/// Where the file of a private certificate authority is named.
const CA_FILES: [&str; 2] = ["SSL_CERT_FILE", "CI_SERVER_TLS_CA_FILE"];

/// The variable of the token.
const fn token_name(forge: Forge) -> &'static str {
    match forge {
        Forge::GitHub => TOKENS[0],
        Forge::GitLab => TOKENS[1],
    }
}

pub(super) const EXAMPLES: &str = "\
Examples:
  coldspot compare base.sqlite head.sqlite --output comment.md
  GITHUB_TOKEN=… coldspot comment --repo me/project --pull 12 --body comment.md
  GITLAB_TOKEN=… coldspot comment --api https://gitlab.com/api/v4 --repo group/project --pull 12 --body comment.md
";

/// What `coldspot comment` takes. The token is in the environment variable GITHUB_TOKEN, for GitLab in GITLAB_TOKEN.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The repository that the pull request is to; at GitLab with all of its groups.
    #[arg(long, value_name = "OWNER/NAME")]
    repo: Repository,
    /// The number of the pull request, or of the merge request.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pull: u64,
    /// The text, in Markdown, as `coldspot compare` or `coldspot review` writes it; given again, for several programs or ranks
    /// in one comment.
    #[arg(long, value_name = "FILE", required = true)]
    body: Vec<PathBuf>,
    /// The invisible first line by which the comment is found again: one for each comment that is to stand beside the
    /// others [default: '<!-- coldspot:compare -->']
    #[arg(long, value_name = "TEXT")]
    marker: Option<Marker>,
    /// The address of the forge's REST interface; one that ends in /api/v4 is GitLab's [default: GITHUB_API_URL, else
    /// CI_API_V4_URL, else https://api.github.com]
    // Read later: what the argument parser refuses it quotes, and addresses may hold passwords.
    #[arg(long, value_name = "URL")]
    api: Option<String>,
    /// The account that the token belongs to, such as 'github-actions[bot]'; the forge is asked by default.
    #[arg(long, value_name = "LOGIN")]
    author: Option<String>,
    /// A file in PEM with the certificates of a private authority, which are trusted in the place of the public ones [default:
    /// SSL_CERT_FILE, else CI_SERVER_TLS_CA_FILE]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// How long all of it may take, waits for a rate limit included.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    time_limit: u64,
}

impl Arguments {
    pub(super) fn work(&self) -> Work {
        Work { waits: Duration::from_secs(self.time_limit), ..Work::default() }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    // Everything that can be wrong here is found before the forge hears of it.
    let marker = arguments.marker.clone().unwrap_or_default();
    let body = body(&arguments.body, &marker)?;
    let api = api(arguments.api.as_deref())?;
    if !arguments.repo.fits(api.forge()) {
        return Err(Failure::new(Exit::Usage, "--repo: expected owner/name"));
    }
    let (token, trust) = (token(token_name(api.forge()))?, trust(arguments.ca_file.as_deref())?);
    let request = Request {
        api: &api,
        token: &token,
        author: arguments.author.as_deref(),
        repository: &arguments.repo,
        pull: arguments.pull,
        marker: &marker,
        body: &body,
        trust: &trust,
        time_limit: Duration::from_secs(arguments.time_limit),
    };
    let target = format!("{}#{}", arguments.repo, arguments.pull);
    let posted = forge::post(&request).map_err(|error| Failure::new(Exit::Forge, format!("{target}: {error}")))?;
    if body.is_cut() {
        output::eprint_message("coldspot: the comment was cut, for a forge takes 65,536 characters");
    }
    let done = match posted {
        Posted::Created => "posted",
        Posted::Updated => "updated",
        Posted::Unchanged => "unchanged",
    };
    output::write(&format!("comment {done} on {target}\n"), None)?;
    Ok(Exit::Ok)
}

fn body(paths: &[PathBuf], marker: &Marker) -> Result<CommentBody, Failure> {
    let fail = |path: &Path, error: String| Failure::new(Exit::Usage, format!("{}: {error}", path.display()));
    let read = |path: &PathBuf| {
        read_text(path, MAX_PAGE_BYTES as u64).map_err(|error| fail(path, format!("cannot be read: {error}")))
    };
    let texts: Vec<String> = paths.iter().map(read).collect::<Result<_, _>>()?;
    let path = paths.first().map_or(Path::new(""), PathBuf::as_path);
    CommentBody::of_several(&texts, marker).map_err(|error| fail(path, error.to_string()))
}

fn api(argument: Option<&str>) -> Result<Api, Failure> {
    let given = argument.map(|url| ("--api", url.to_owned()));
    let Some((name, url)) = given.or_else(|| first_of(APIS)) else { return Ok(Api::github()) };
    url.parse().map_err(|error| Failure::new(Exit::Usage, format!("{name}: {error}")))
}

/// The first of some environment variables that is set.
fn first_of(names: [&'static str; 2]) -> Option<(&'static str, String)> {
    let set = |name| Some((name, env::var(name).ok().filter(|value| !value.is_empty())?));
    names.into_iter().find_map(set)
}

fn trust(argument: Option<&Path>) -> Result<Trust, Failure> {
    let named = || first_of(CA_FILES).map(|(_, path)| PathBuf::from(path));
    let Some(path) = argument.map(Path::to_owned).or_else(named) else { return Ok(Trust::default()) };
    let fail = |error: String| Failure::new(Exit::Usage, format!("{}: {error}", path.display()));
    let text = read_text(&path, MAX_PAGE_BYTES as u64).map_err(|error| fail(format!("cannot be read: {error}")))?;
    Trust::of_pem(&text).map_err(|error| fail(error.to_string()))
}

fn token(name: &str) -> Result<Token, Failure> {
    let fail = |why: &str| Failure::new(Exit::Usage, format!("the environment variable {name} {why}"));
    let text = env::var(name).map_err(|_| fail("is not set: it holds the token that posts the comment"))?;
    Token::new(&text).map_err(|error| fail(&error.to_string()))
}
