//! The tokens of the environment, which no message may hold.

#[cfg(feature = "comment")]
use coldspot::forge::Token;

/// The variables that hold them, of GitHub and of GitLab: an argument would show in the list of processes.
#[cfg(feature = "comment")]
pub(super) const TOKENS: [&str; 2] = ["GITHUB_TOKEN", "GITLAB_TOKEN"];

/// A message without them: one that was given in the wrong place, as a file or an option, is quoted like any other argument.
#[cfg(feature = "comment")]
pub(super) fn without_tokens(message: String) -> String {
    let tokens = TOKENS.into_iter().filter_map(|name| Token::new(&std::env::var(name).ok()?).ok());
    tokens.fold(message, |message, token| token.hide_own(&message))
}

/// Without what posts comments none are known.
#[cfg(not(feature = "comment"))]
pub(super) const fn without_tokens(message: String) -> String {
    message
}
