//! What somebody else has said, in words of our own. A server that got a secret can spell it in more ways than anybody can look for:
//! backwards, in octal, a word for each letter. So no spelling is looked for here, and none of its words are told.

/// What forges are known to answer. A server that got the token could spell it in any words: none of its own are printed.
const KNOWN: [&str; 17] = [
    "Bad credentials",
    "Resource not accessible by integration",
    "Resource not accessible by personal access token",
    "Resource protected by organization SAML enforcement",
    "Requires authentication",
    "Must have admin rights to Repository",
    "Not Found",
    "Validation Failed",
    "body is too long",
    "You have exceeded a secondary rate limit",
    "API rate limit exceeded",
    "rate limit",
    "slow down",
    "Issues are disabled for this repo",
    "Server Error",
    "401 Unauthorized",
    "403 Forbidden",
];

/// The known answer that a message begins with or holds.
pub(super) fn known(message: &str) -> Option<&'static str> {
    let message = message.to_ascii_lowercase();
    KNOWN.into_iter().find(|known| message.contains(&known.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "ghs_16C7e42Fq9KxPwTzRbnMvLs0";

    #[test]
    fn what_forges_say_is_told() {
        for text in ["Bad credentials", "Resource not accessible by integration", "Not Found"] {
            assert_eq!(known(text), Some(text));
        }
        let limit = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
        assert_eq!(known(limit), Some("You have exceeded a secondary rate limit"));
        assert_eq!((known("the token in GITHUB_TOKEN is wrong"), known("")), (None, None));
    }

    #[test]
    fn no_spelling_of_a_secret_passes() {
        let bytes = SECRET.as_bytes();
        let each =
            |of: &dyn Fn(u8) -> String, joint: &str| bytes.iter().map(|byte| of(*byte)).collect::<Vec<_>>().join(joint);
        let hexadecimal = |byte: u8| format!("{byte:02x}");
        let decimal = |byte: u8| byte.to_string();
        let octal = |byte: u8| format!("{byte:o}");
        let letter = |byte: u8| char::from(byte).to_string();
        let wide = |byte: u8| char::from_u32(u32::from(byte) + 0xfee0).unwrap_or('x').to_string();
        let turned = |byte: u8| match byte {
            b'a'..=b'z' => char::from((byte - b'a' + 13) % 26 + b'a').to_string(),
            b'A'..=b'Z' => char::from((byte - b'A' + 13) % 26 + b'A').to_string(),
            other => char::from(other).to_string(),
        };
        let mut spellings: Vec<String> = vec![each(&turned, ""), each(&wide, ""), SECRET.chars().rev().collect()];
        for joint in [" ", ":", "=", ".", ", ", " - ", "", "_", "&#"] {
            spellings.extend([&hexadecimal as &dyn Fn(u8) -> String, &decimal, &octal].map(|of| each(of, joint)));
            spellings.push(each(&letter, joint));
        }
        spellings.push(each(&|byte| format!("{}a{}", char::from(b'b' + byte % 16), char::from(b'a' + byte / 16)), " "));
        for length in [3, 5, 7, 11] {
            let pieces: Vec<&str> = bytes.chunks(length).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
            spellings.push(pieces.join(" "));
        }
        spellings.extend([r"\u", r"\x", "&#x", "%"].map(|begin| each(&|byte| format!("{begin}{byte:02x}"), "")));
        for spelling in spellings {
            assert_eq!(known(&format!("bad header {spelling} (end)")), None);
            // Beside what is known, too.
            assert_eq!(known(&format!("Not Found: {spelling}")), Some("Not Found"));
        }
    }
}
