//! What somebody else has said, as far as it is plain words. A server that got a secret can spell it in more ways than anybody can
//! look for: backwards, in octal, letter by letter. So no spelling is looked for here; what is no plain word does not pass.

/// Longer words are no English.
const MAX_WORD_LETTERS: usize = 20;
/// Longer words of capitals are no abbreviation.
const MAX_CAPITALS: usize = 6;
/// Words of so few letters could spell something when they stand side by side, as numbers could.
const SHORT_LETTERS: usize = 2;
const MAX_SHORT_IN_A_ROW: usize = 3;
const MAX_NUMBERS_IN_A_ROW: usize = 2;
/// Digits of a status, a length or a year.
const MAX_DIGITS: usize = 4;
/// So many letters of a secret are no word of the language.
const TELLING_LETTERS: usize = 4;
/// Names that are written like no other word.
const NAMES: [&str; 7] = ["GitHub", "GitLab", "GraphQL", "OAuth", "JavaScript", "APIs", "IDs"];
/// What may stand before or behind a word.
const PUNCTUATION: &[char] = &['.', ',', ':', ';', '\'', '"', '(', ')', '!', '?', '-', '`'];
/// What may stand between the parts of a word.
const JOINTS: &[char] = &['-', '_', '\'', '/', ':'];

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Short,
    Number,
    /// Punctuation alone, or what was hidden before: it parts no row.
    Nothing,
    Unknown,
}

/// The text with all that is no plain word replaced; `secret` in no case is one.
pub(super) fn only(text: &str, secret: &str, hidden: &str) -> String {
    let secrets = [secret.to_ascii_lowercase(), secret.chars().rev().collect::<String>().to_ascii_lowercase()];
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut kinds: Vec<Kind> = words.iter().map(|word| kind(word, &secrets, hidden)).collect();
    hide_rows(&mut kinds);
    let mut shown = String::with_capacity(text.len());
    for (word, kind) in words.iter().zip(&kinds) {
        let word = if *kind == Kind::Unknown { hidden } else { word };
        if word == hidden && shown.ends_with(hidden) {
            continue;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(word);
    }
    shown
}

fn kind(word: &str, secrets: &[String], hidden: &str) -> Kind {
    let core = word.trim_matches(PUNCTUATION);
    if core.is_empty() || core == hidden {
        return if word.len() <= hidden.len() + 2 { Kind::Nothing } else { Kind::Unknown };
    }
    if word.len() > core.len() + 4 {
        return Kind::Unknown;
    }
    if core.bytes().all(|byte| byte.is_ascii_digit()) {
        return if core.len() <= MAX_DIGITS { Kind::Number } else { Kind::Unknown };
    }
    let parts: Vec<&str> = core.split(JOINTS).collect();
    let letters: usize = parts.iter().map(|part| part.len()).sum();
    // Of one letter each they spell something.
    let is_word = parts.iter().all(|part| is_plain(part, secrets)) && (letters >= 3 * parts.len() || parts.len() < 3);
    match is_word {
        true if letters <= SHORT_LETTERS => Kind::Short,
        true => Kind::Word,
        false => Kind::Unknown,
    }
}

/// Letters as words have them, and none of the secret.
fn is_plain(part: &str, secrets: &[String]) -> bool {
    let is_lower = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_cased = is_lower(part.get(1..).unwrap_or_default()) && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_capitals = part.len() <= MAX_CAPITALS && part.bytes().all(|byte| byte.is_ascii_uppercase());
    let lower = part.to_ascii_lowercase();
    let is_of_secret = part.len() >= TELLING_LETTERS && secrets.iter().any(|secret| secret.contains(&lower));
    (is_cased || is_capitals || NAMES.contains(&part)) && part.len() <= MAX_WORD_LETTERS && !is_of_secret
}

/// Hides rows of short words and numbers that are longer than a sentence has them, or that stand beside what is hidden: of what
/// they spell they may be the rest.
fn hide_rows(kinds: &mut [Kind]) {
    let before = kinds.to_vec();
    let is_hidden = |at: Option<usize>| at.and_then(|at| before.get(at)) == Some(&Kind::Unknown);
    let mut start = 0;
    while start < kinds.len() {
        let is_in_row = |kind: &Kind| matches!(kind, Kind::Short | Kind::Number | Kind::Nothing);
        let length = kinds[start..].iter().take_while(|kind| is_in_row(kind)).count();
        let row = &mut kinds[start..start + length];
        let count = |row: &[Kind], of: Kind| row.iter().filter(|kind| **kind == of).count();
        let numbers = count(row, Kind::Number);
        let is_beside = is_hidden(start.checked_sub(1)) || is_hidden(Some(start + length));
        let is_rest = is_beside && (numbers > 0 || count(row, Kind::Short) > 1);
        if is_rest || numbers > MAX_NUMBERS_IN_A_ROW || numbers + count(row, Kind::Short) > MAX_SHORT_IN_A_ROW {
            row.fill(Kind::Unknown);
        }
        start += length.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "ghs_16C7e42Fq9KxPwTzRbnMvLs0";

    fn shown(text: &str) -> String {
        only(text, SECRET, "***")
    }

    #[test]
    fn what_forges_say_is_read() {
        for text in [
            "Bad credentials",
            "Resource not accessible by integration",
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
            "Validation Failed (body is too long: 65536 at most)",
            "the token in GITHUB_TOKEN is wrong; give it pull-requests: write, or issues:write",
            "bad Bearer ***",
            "GitHub GraphQL isn't here, it's \"down\"",
            "",
        ] {
            let expected = text.replace("65536", "***");
            assert_eq!(shown(text), expected);
        }
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
        for length in [3, 5, 7, 11] {
            let pieces: Vec<&str> = bytes.chunks(length).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
            spellings.push(pieces.join(" "));
        }
        spellings.extend([r"\u", r"\x", "&#x", "%"].map(|begin| each(&|byte| format!("{begin}{byte:02x}"), "")));
        for spelling in spellings {
            let shown = shown(&format!("bad header {spelling} (end)"));
            let rest = shown.replace("bad header", "").replace("(end)", "").replace("***", "");
            // Single letters that are left between others tell nothing.
            assert!(rest.chars().filter(|c| c.is_alphanumeric()).count() <= 7, "{spelling}: {shown}");
        }
    }
}
