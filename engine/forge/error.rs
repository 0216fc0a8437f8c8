//! Why a forge did not take a comment.

use super::harmless;

/// Why the comment is not there, and what to do. Never holds the token.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// The forge does not know the token.
    #[error("the forge does not accept the token ({said}): it may have expired")]
    Token {
        /// What the forge answered.
        said: String,
    },
    /// The token may not do this, or there is nothing to do it to.
    #[error(
        "the forge does not let the token {doing} ({said}): the job needs `permissions: {permission}` (at GitLab a token with \
         the scope `api`), and the pull request has to exist. Pull requests from forks never have it: see docs/github-action.md"
    )]
    Permission {
        /// What was tried.
        doing: &'static str,
        /// The permission, as workflows write it.
        permission: &'static str,
        /// What the forge answered.
        said: String,
    },
    /// Too many requests, for longer than the time limit.
    #[error("the forge limits the rate of requests ({said}): try again {when}")]
    RateLimit {
        /// What the forge answered.
        said: String,
        /// When it may work.
        when: String,
    },
    /// Another status than hoped for.
    #[error("the forge refused to {doing} ({said})")]
    Refused {
        /// What was tried.
        doing: &'static str,
        /// What the forge answered.
        said: String,
    },
    /// The forge could not be reached or did not finish its answer in time.
    #[error("the forge could not be reached to {doing}: {why}")]
    Network {
        /// What was tried.
        doing: &'static str,
        /// What went wrong.
        why: String,
    },
    /// The forge answered something else than what its interface promises.
    #[error("the forge answered the request to {doing} with something else than JSON of the expected form: {why}")]
    Answer {
        /// What was tried.
        doing: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody knows which comments are ours.
    #[error("the forge does not say whose token this is ({said}): name the account with --author")]
    Identity {
        /// What the forge answered.
        said: String,
    },
    /// Searching has an end.
    #[error("the pull request has more than {count} comments, and ours was not among them: nothing was posted")]
    TooManyComments {
        /// How many were looked at, at least.
        count: usize,
    },
}

/// A status and what the forge says about it, for a terminal or a log, in words that forges are known to use.
pub(super) fn said(status: u16, body: &[u8]) -> String {
    let message = serde_json::from_slice::<serde_json::Value>(body)
        .ok()
        .and_then(|answer| harmless::known(answer.get("message")?.as_str()?));
    match message {
        Some(message) => format!("status {status}: {message}"),
        None => format!("status {status}"),
    }
}
