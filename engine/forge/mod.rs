//! Speaks with a code forge (GitHub, what speaks its REST interface, and GitLab): the one comment of a pull request.
//!
//! The comment is found again by an invisible marker on its first line. Only a comment that the token's own user or app
//! wrote is ever changed: anyone can copy a marker.

mod body;
mod client;
mod comment;
mod error;
mod harmless;
mod secret;
mod target;

pub use body::{CommentBody, Marker};
pub use client::Trust;
pub use comment::{Author, Posted, Request, post};
pub use error::ForgeError;
pub use secret::Secrets;
pub use target::{Api, Forge, Repository, Token};

/// A part of a request that cannot be used. The message says what is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

impl Unusable {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}
