//! Where a comment goes, and in whose name.

use std::fmt;
use std::str::FromStr;

use super::Unusable;

/// The address of a forge's REST interface, without a slash at the end.
///
/// It is `https`, because the token travels with every request; only on the machine itself is `http` taken too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    url: String,
    is_loopback: bool,
    forge: Forge,
}

/// Whose interface an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forge {
    /// GitHub, and what speaks its interface.
    GitHub,
    /// GitLab: its addresses end in `/api/v4`.
    GitLab,
}

impl Api {
    /// GitHub's own.
    pub fn github() -> Self {
        Self { url: "https://api.github.com".to_owned(), is_loopback: false, forge: Forge::GitHub }
    }

    /// Whose interface it is.
    pub const fn forge(&self) -> Forge {
        self.forge
    }

    pub(super) const fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// The address of a resource, whose path begins with a slash.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Enterprise servers have REST under `/api/v3` and GraphQL beside it.
    pub(super) fn graphql(&self) -> String {
        let root = self.url.strip_suffix("/v3").unwrap_or(&self.url);
        format!("{root}/graphql")
    }
}

impl FromStr for Api {
    type Err = Unusable;

    fn from_str(text: &str) -> Result<Self, Unusable> {
        let wrong = || Unusable::new("expected an address such as https://api.github.com");
        let url = text.trim_end_matches('/');
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let is_plain = rest.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:/[]".contains(c));
        let authority = rest.split('/').next().unwrap_or_default();
        if !is_plain || authority.is_empty() {
            return Err(wrong());
        }
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => host,
            _ => authority,
        };
        let forge = if url.ends_with("/api/v4") { Forge::GitLab } else { Forge::GitHub };
        let is_loopback = matches!(host, "127.0.0.1" | "[::1]" | "localhost");
        match scheme {
            "https" => Ok(Self { url: url.to_owned(), is_loopback, forge }),
            "http" if is_loopback => Ok(Self { url: url.to_owned(), is_loopback, forge }),
            "http" => Err(Unusable::new("a token is sent over https only")),
            _ => Err(wrong()),
        }
    }
}

/// A repository, as `owner/name`; at GitLab there may be groups between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    parts: Vec<String>,
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts.join("/"))
    }
}

impl Repository {
    /// Whether a forge can have one of this name.
    pub fn fits(&self, forge: Forge) -> bool {
        forge == Forge::GitLab || self.parts.len() == 2
    }

    /// As one part of an address.
    pub(super) fn encoded(&self) -> String {
        self.parts.join("%2F")
    }
}

impl FromStr for Repository {
    type Err = Unusable;

    fn from_str(text: &str) -> Result<Self, Unusable> {
        // It becomes a part of an address: nothing may lead out of it.
        let is_name = |part: &str| {
            !matches!(part, "" | "." | "..") && part.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
        };
        let parts: Vec<String> = text.split('/').map(str::to_owned).collect();
        match parts.len() >= 2 && parts.iter().all(|part| is_name(part)) {
            true => Ok(Self { parts }),
            false => Err(Unusable::new("expected owner/name")),
        }
    }
}

/// What lets coldspot write. Never printed: it has no `Display`, and its `Debug` hides it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Takes a token as it stands in a variable, white space around it apart.
    ///
    /// # Errors
    /// When it is empty or holds what no token holds.
    pub fn new(text: &str) -> Result<Self, Unusable> {
        let token = text.trim();
        match token.chars().all(|c| c.is_ascii_graphic()) {
            _ if token.is_empty() => Err(Unusable::new("is empty")),
            true => Ok(Self(token.to_owned())),
            false => Err(Unusable::new("holds characters that no token has")),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The value of the header that carries it.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_over_https_or_stays_on_the_machine() {
        for good in
            ["https://api.github.com/", "https://git.example.org/api/v3", "http://127.0.0.1:8080", "http://[::1]:1"]
        {
            assert!(good.parse::<Api>().is_ok(), "{good}");
        }
        let bad = [
            "http://api.github.com",
            "http://127.0.0.1.example.org",
            "http://127.0.0.1@example.org",
            "https://me:secret@example.org",
            "https://example.org/?x",
            "ftp://localhost",
            "https://",
            "api.github.com",
        ];
        for bad in bad {
            assert!(bad.parse::<Api>().is_err(), "{bad}");
        }
    }

    #[test]
    fn graphql_stands_beside_rest() {
        assert_eq!(Api::github().graphql(), "https://api.github.com/graphql");
        let server: Api = "https://git.example.org/api/v3".parse().unwrap();
        assert_eq!(server.graphql(), "https://git.example.org/api/graphql");
    }

    #[test]
    fn a_repository_cannot_lead_elsewhere() {
        assert_eq!("a-b/c.d".parse::<Repository>().unwrap().to_string(), "a-b/c.d");
        let nested: Repository = "group/of/name".parse().unwrap();
        assert_eq!(nested.encoded(), "group%2Fof%2Fname");
        assert!(nested.fits(Forge::GitLab) && !nested.fits(Forge::GitHub));
        for bad in ["a", "a/", "/b", "a/..", "../b", "a//c", "a/../c", "a/b?c", "a/b#c", "a/%2e", "a b/c", ""] {
            assert!(bad.parse::<Repository>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_does_not_show() {
        let token = Token::new("ghs_secret\n").unwrap();
        assert_eq!(format!("{token:?}"), "Token(hidden)");
        assert_eq!(token.bearer(), "Bearer ghs_secret");
        assert!(Token::new(" ").is_err());
        assert!(Token::new("a\r\nb").is_err());
    }
}
