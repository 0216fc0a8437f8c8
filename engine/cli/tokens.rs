//! The tokens of the environment, which no message may hold.

#[cfg(feature = "comment")]
use std::sync::LazyLock;

#[cfg(feature = "comment")]
use coldspot::forge::Secrets;

/// The variables that hold them, of GitHub and of GitLab: an argument would show in the list of processes.
#[cfg(feature = "comment")]
pub(super) const TOKENS: [&str; 2] = ["GITHUB_TOKEN", "GITLAB_TOKEN"];

/// What the variables hold, whether a token or not: there may be many messages.
#[cfg(feature = "comment")]
static SECRETS: LazyLock<Secrets> = LazyLock::new(|| {
    let mut secrets = Secrets::default();
    let values = TOKENS.into_iter().filter_map(std::env::var_os);
    values.for_each(|value| secrets.add_variable(&value.to_string_lossy()));
    secrets
});

/// A message without them: one that was given in the wrong place, as a file or an option, is quoted like any other argument.
#[cfg(feature = "comment")]
pub(super) fn without_tokens(message: String) -> String {
    SECRETS.hide_own(&message)
}

/// Without what posts comments none are known.
#[cfg(not(feature = "comment"))]
pub(super) const fn without_tokens(message: String) -> String {
    message
}
