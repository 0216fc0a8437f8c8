//! Keeps the token out of what is printed: a server, or a proxy before it, may send back what it was sent, in whole or in
//! part, and in another spelling.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use foldhash::HashSet;

use super::Token;
use crate::limits::MAX_QUOTED_ANSWER_CHARS;
use crate::text::escape;

/// So many characters in a row of a spelling of the token are taken for it: what is common to all tokens is shorter.
const TELLING_LENGTH: usize = 8;
const HIDDEN: &str = "***";

/// Characters of an answer that are looked at.
const LOOKED_AT_CHARS: usize = 4_096;

/// What tells secrets, in lower case: made once, since there may be many messages and a token of thousands of characters.
#[derive(Default)]
pub struct Secrets {
    /// The parts of spellings that tell one.
    parts: HashSet<[u8; TELLING_LENGTH]>,
    /// Spellings that are shorter.
    short: Vec<String>,
}

impl Token {
    /// What a library has said of a connection: short, and without the token.
    pub(super) fn hide(&self, said: &str) -> String {
        let said: String = said.chars().take(LOOKED_AT_CHARS).collect();
        let mut secrets = Secrets::default();
        secrets.add(self.as_str());
        // Once more, because what made it harmless may have brought the parts of it together.
        let shown = secrets.hide_in(&escape::plain(&secrets.hide_in(&said)));
        shown.chars().take(MAX_QUOTED_ANSWER_CHARS).collect()
    }
}

impl Secrets {
    /// Those of a variable for a token, whatever it holds: a secret that was pasted with another line is no token, and still one.
    /// What is shorter than the parts that tell one stays, as it would be in any message.
    pub fn add_variable(&mut self, value: &str) {
        let is_end = |c: char| c.is_whitespace() || c.is_control() || c == char::REPLACEMENT_CHARACTER;
        value.split(is_end).filter(|word| word.len() >= TELLING_LENGTH).for_each(|word| self.add(word));
    }

    fn add(&mut self, secret: &str) {
        for spelling in spellings(secret.as_bytes()) {
            if spelling.len() < TELLING_LENGTH {
                self.short.push(spelling);
            } else {
                let parts = spelling.as_bytes().windows(TELLING_LENGTH);
                self.parts.extend(parts.filter_map(|part| <[u8; TELLING_LENGTH]>::try_from(part).ok()));
            }
        }
    }

    /// A message of our own without them.
    pub fn hide_own(&self, message: &str) -> String {
        let lower = message.to_ascii_lowercase();
        shown(message, &lower, self.marks(&lower))
    }

    /// A text without them, parts of them, and what stands where a token would.
    fn hide_in(&self, text: &str) -> String {
        // Spellings differ in case only where case means nothing, and a wrong case gives the token away as well.
        let lower = text.to_ascii_lowercase();
        let mut is_hidden = self.marks(&lower);
        mark_bearers(&lower, &mut is_hidden);
        shown(text, &lower, is_hidden)
    }

    /// Which bytes of a text in lower case are of a spelling.
    fn marks(&self, lower: &str) -> Vec<bool> {
        let mut is_hidden = vec![false; lower.len()];
        for (at, part) in lower.as_bytes().windows(TELLING_LENGTH).enumerate() {
            if self.parts.contains(part) {
                is_hidden[at..at + TELLING_LENGTH].fill(true);
            }
        }
        self.short.iter().for_each(|spelling| mark(lower, spelling.as_bytes(), &mut is_hidden));
        is_hidden
    }
}

/// The token as it is written in headers, addresses and dumps, in lower case.
fn spellings(token: &[u8]) -> Vec<String> {
    let escaped = |is_kept: fn(u8) -> bool| -> String {
        let bytes = token.iter();
        bytes.map(|byte| if is_kept(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02x}") }).collect()
    };
    let mut all = vec![
        String::from_utf8_lossy(token).into_owned(),
        escaped(|byte| byte.is_ascii_alphanumeric()),
        escaped(|_| false),
    ];
    all.push(escaped(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)));
    all.push(token.iter().map(|byte| format!("{byte:02x}")).collect());
    // Something else may stand before it, as in `user:token`: of the three ways to fall into groups of three bytes each
    // gives other characters. Those at the two ends depend on what is around, too.
    for before in 0..3 {
        let bytes = [&b"\0\0"[..before], token].concat();
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let code = engine.encode(&bytes);
            let end = code.len().saturating_sub(1);
            all.push(code.get([0, 2, 3][before]..end).unwrap_or_default().to_owned());
        }
    }
    all.iter_mut().for_each(|spelling| spelling.make_ascii_lowercase());
    all.retain(|spelling| !spelling.is_empty());
    all
}
/// A text with what is marked, and the words that it lies in, hidden.
fn shown(text: &str, lower: &str, mut is_hidden: Vec<bool>) -> String {
    mark_words(lower, &mut is_hidden);
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match is_hidden[at] {
            false => shown.push(c),
            true if !shown.ends_with(HIDDEN) => shown.push_str(HIDDEN),
            true => {}
        }
    }
    shown
}

fn mark(text: &str, piece: &[u8], is_hidden: &mut [bool]) {
    for (at, found) in text.as_bytes().windows(piece.len()).enumerate() {
        if found == piece {
            is_hidden[at..at + piece.len()].fill(true);
        }
    }
}

/// A word that holds a part of the token is hidden whole: its ends may be the rest of it.
fn mark_words(text: &str, is_hidden: &mut [bool]) {
    let is_end = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"+/_%=.~-".contains(byte));
    let mut start = 0;
    for word in text.as_bytes().split(is_end) {
        let part = start..start + word.len();
        if is_hidden[part.clone()].contains(&true) {
            is_hidden[part.clone()].fill(true);
        }
        start = part.end + 1;
    }
}

/// What follows `Bearer` and its like is a token, if not ours.
fn mark_bearers(text: &str, is_hidden: &mut [bool]) {
    for word in ["bearer", "basic", "token"] {
        for (at, _) in text.match_indices(word) {
            let rest = &text[at + word.len()..];
            let value = rest.trim_start_matches([' ', '\t', ':', '+', '=']);
            let value = value.strip_prefix("%20").unwrap_or(value);
            let length =
                value.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';')).unwrap_or(value.len());
            let is_token = value.len() < rest.len() && (word == "bearer" || length >= 3 * TELLING_LENGTH);
            if is_token {
                let start = text.len() - value.len();
                is_hidden[start..start + length].fill(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "ghs_16C7e42F/292c+69 12D8";

    fn hidden(text: &str) -> String {
        let mut secrets = Secrets::default();
        secrets.add(&TOKEN.replace(' ', ""));
        secrets.hide_in(text)
    }

    #[test]
    fn every_spelling_is_hidden() {
        let token = TOKEN.replace(' ', "");
        let before = ["", "a", "ab", "abc", "x-access-token:", "user:"];
        let mut spellings = vec![token.clone(), token.to_uppercase(), token.replace('/', "%2F").replace('+', "%2b")];
        spellings.extend(before.map(|before| STANDARD_NO_PAD.encode(format!("{before}{token}"))));
        spellings.extend(before.map(|before| URL_SAFE_NO_PAD.encode(format!("{before}{token}\n"))));
        spellings.push(token.bytes().map(|byte| format!("{byte:02X}")).collect());
        spellings.push(token.bytes().map(|byte| format!("%{byte:02x}")).collect());
        for spelling in spellings {
            let shown = hidden(&format!("bad header: {spelling} (it)"));
            assert!(shown.starts_with("bad header: ") && shown.ends_with(" (it)"), "{shown}");
            for (at, piece) in spelling.as_bytes().windows(TELLING_LENGTH + 4).enumerate() {
                assert!(!shown.contains(std::str::from_utf8(piece).unwrap()), "{at} of {spelling}: {shown}");
            }
        }
    }

    #[test]
    fn parts_of_it_and_tokens_of_others_are_hidden() {
        assert_eq!(hidden("cut: ghs_16C7e42F"), "cut: ***");
        assert_eq!(hidden("header Bearer abc, and more"), "header Bearer ***, and more");
        assert_eq!(hidden("authorization: bearer%20a.b.c\" x"), "authorization: ***\" x");
        assert_eq!(hidden("größe Basic dXNlcjpwYXNzd29yZHBhc3N3b3Jk, ok"), "größe Basic ***, ok");
    }

    #[test]
    fn messages_of_our_own_lose_the_token_and_nothing_else() {
        let of = |value: &str| {
            let mut secrets = Secrets::default();
            secrets.add_variable(value);
            secrets
        };
        let token = of("ghs_16C7e42F292c");
        assert_eq!(token.hide_own("/tmp/ghs_16C7e42F292c.md: not found"), "***: not found");
        assert_eq!(token.hide_own("'--x=GHS_16c7e42f' and Bearer abc, token"), "'***' and Bearer abc, token");
        assert_eq!(of("file").hide_own("a file"), "a file", "too short to be one");
        for odd in ["ghs_16C7e42F292c\r\nX: y", "X: y\nghs_16C7e42F292cé", "\u{1b}[0mghs_16C7e42F292c\u{fffd}"] {
            assert_eq!(of(odd).hide_own("x: ghs_16C7e42F292c: y"), "x: ***: y", "what is no token");
        }
    }

    #[test]
    fn other_messages_stay_what_they_are() {
        for text in
            ["Bad credentials", "the token in GITHUB_TOKEN is wrong", "a basic mistake", "a bearer", "größe ß", ""]
        {
            assert_eq!(hidden(text), text);
        }
    }
}
