//! The one comment: found again, then written where it differs.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use ureq::http::Method;

use super::client::{Answer, Call, Client, Failure, pause_before};
use super::{Api, CommentBody, Forge, ForgeError, Marker, Repository, Token, Trust};
use crate::limits::MAX_ANSWER_PAGE_COUNT;

const READ: &str = "pull-requests: read";
const WRITE: &str = "pull-requests: write";
const PAGE_LENGTH: usize = 100;
/// How often a comment is created anew when it is unknown whether the attempt before arrived.
const CREATIONS: u32 = 3;
const LISTING: &str = "list the comments of the pull request";
const CREATING: &str = "post the comment";
const UPDATING: &str = "update the comment";
const ASKING: &str = "say whose token this is";

/// What is to be posted, and where.
#[derive(Debug)]
pub struct Request<'a> {
    /// The forge.
    pub api: &'a Api,
    /// Who posts.
    pub token: &'a Token,
    /// The account that the token belongs to; the forge is asked where it is absent.
    pub author: Option<&'a str>,
    /// The repository that the pull request is to.
    pub repository: &'a Repository,
    /// The number of the pull request; at GitLab that of the merge request.
    pub pull: u64,
    /// What the comment begins with.
    pub marker: &'a Marker,
    /// The comment.
    pub body: &'a CommentBody,
    /// Whose certificates are trusted.
    pub trust: &'a Trust,
    /// How long all of it may take, waits for a rate limit included.
    pub time_limit: Duration,
}

/// What became of the comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// There was none, now there is one.
    Created,
    /// It said something else before.
    Updated,
    /// It said the same: nothing was written.
    Unchanged,
}

/// Who wrote a comment. Numbers are compared where both have one: names of apps are written in two ways.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Author {
    #[serde(alias = "databaseId")]
    id: Option<u64>,
    #[serde(alias = "username")]
    login: String,
}

impl Author {
    fn is(&self, other: &Self) -> bool {
        match (self.id, other.id) {
            (Some(one), Some(another)) => one == another,
            _ => self.login.eq_ignore_ascii_case(&other.login),
        }
    }
}

/// A comment as the forge lists it. The author is absent when the account is gone.
#[derive(Debug, Deserialize)]
struct Comment {
    id: u64,
    body: Option<String>,
    #[serde(alias = "author")]
    user: Option<Author>,
}

#[derive(Debug, Deserialize)]
struct Written {
    #[serde(rename = "id")]
    _id: u64,
}

/// Posts the comment of a pull request, or updates it where it is there already.
///
/// A comment that another account wrote is never touched, whatever it begins with.
///
/// # Errors
/// When the forge did not take the comment. Then it is as it was before, except that when the connection broke off in the
/// middle nobody knows.
pub fn post(request: &Request<'_>) -> Result<Posted, ForgeError> {
    let client = Client::new(request.api, request.token, request.trust, request.time_limit);
    let author = match request.author {
        Some(login) => Author { id: None, login: login.to_owned() },
        None => whose_token(&client)?,
    };
    let mut creations = 0;
    loop {
        if let Some(comment) = find(&client, request, &author)? {
            return match request.body.is_same_as(comment.body.as_deref().unwrap_or_default()) {
                true if creations > 0 => Ok(Posted::Created),
                true => Ok(Posted::Unchanged),
                false => update(&client, request, comment.id),
            };
        }
        let failure = match create(&client, request) {
            Ok(()) => return Ok(Posted::Created),
            Err(failure) => failure,
        };
        creations += 1;
        // It may have arrived: look before posting a second one.
        if !failure.is_in_doubt || creations >= CREATIONS || !client.pause(pause_before(creations)) {
            return Err(failure.error);
        }
    }
}

/// People's tokens tell by REST; those of apps, such as the one that a workflow gets, only by GraphQL.
fn whose_token(client: &Client<'_>) -> Result<Author, ForgeError> {
    let call =
        |method, url, content| Call { method, url, content, doing: ASKING, permission: READ, is_idempotent: true };
    match client.send(&call(Method::GET, client.api().at("/user"), None)) {
        Ok(answer) => return answer.read(ASKING),
        Err(Failure { error: ForgeError::Permission { .. }, .. }) if client.api().forge() == Forge::GitHub => {}
        Err(failure) => return Err(failure.error),
    }
    let query = json!({ "query": "query { viewer { login databaseId } }" });
    let answer = match client.send(&call(Method::POST, client.api().graphql(), Some(query))) {
        Ok(answer) => answer,
        Err(Failure { error: ForgeError::Permission { said, .. }, .. }) => return Err(ForgeError::Identity { said }),
        Err(failure) => return Err(failure.error),
    };
    let answer: Value = answer.read(ASKING)?;
    let viewer = answer.pointer("/data/viewer").cloned().unwrap_or_default();
    serde_json::from_value(viewer).map_err(|_| ForgeError::Identity { said: "no viewer in its answer".to_owned() })
}

/// The oldest comment of ours.
fn find(client: &Client<'_>, request: &Request<'_>, author: &Author) -> Result<Option<Comment>, ForgeError> {
    let is_ours = |comment: &Comment| {
        let is_marked = comment.body.as_deref().is_some_and(|body| request.marker.opens(body));
        is_marked && comment.user.as_ref().is_some_and(|user| user.is(author))
    };
    for page in 1..=MAX_ANSWER_PAGE_COUNT {
        let path = format!("{}?{}per_page={PAGE_LENGTH}&page={page}", comments(request), oldest_first(request));
        let call = Call {
            method: Method::GET,
            url: client.api().at(&path),
            content: None,
            doing: LISTING,
            permission: READ,
            is_idempotent: true,
        };
        let answer: Answer = client.send(&call)?;
        let listed: Vec<Comment> = answer.read(LISTING)?;
        let has_next = answer.has_next.unwrap_or(listed.len() >= PAGE_LENGTH);
        if let Some(comment) = listed.into_iter().find(is_ours) {
            return Ok(Some(comment));
        }
        if !has_next {
            return Ok(None);
        }
    }
    Err(ForgeError::TooManyComments { count: MAX_ANSWER_PAGE_COUNT * PAGE_LENGTH })
}

fn create(client: &Client<'_>, request: &Request<'_>) -> Result<(), Failure> {
    let call = Call {
        method: Method::POST,
        url: client.api().at(&comments(request)),
        content: Some(json!({ "body": request.body.as_str() })),
        doing: CREATING,
        permission: WRITE,
        is_idempotent: false,
    };
    let answer = client.send(&call)?;
    // A success that names no comment is none: something else may have answered.
    answer.read::<Written>(CREATING).map(|_| ()).map_err(|error| Failure { error, is_in_doubt: true })
}

fn update(client: &Client<'_>, request: &Request<'_>, comment: u64) -> Result<Posted, ForgeError> {
    let (method, path) = match request.api.forge() {
        Forge::GitHub => (Method::PATCH, format!("/repos/{}/issues/comments/{comment}", request.repository)),
        Forge::GitLab => (Method::PUT, format!("{}/{comment}", comments(request))),
    };
    let call = Call {
        method,
        url: client.api().at(&path),
        content: Some(json!({ "body": request.body.as_str() })),
        doing: UPDATING,
        permission: WRITE,
        is_idempotent: true,
    };
    client.send(&call)?.read::<Written>(UPDATING)?;
    Ok(Posted::Updated)
}

/// A pull request is an issue to GitHub's interface; comments are notes to GitLab's.
fn comments(request: &Request<'_>) -> String {
    let Request { repository, pull, .. } = request;
    match request.api.forge() {
        Forge::GitHub => format!("/repos/{repository}/issues/{pull}/comments"),
        Forge::GitLab => format!("/projects/{}/merge_requests/{pull}/notes", repository.encoded()),
    }
}

/// GitLab lists the newest first, unless asked.
fn oldest_first(request: &Request<'_>) -> &'static str {
    match request.api.forge() {
        Forge::GitHub => "",
        Forge::GitLab => "sort=asc&order_by=created_at&",
    }
}
