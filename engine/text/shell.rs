//! Words of a command line that a person copies into a shell.

/// A word as a POSIX shell reads it: as it is where no shell reads it otherwise, else in single quotes. `None` for what no terminal
/// or log should be given: control characters, characters that cannot be seen or that turn the direction of a text, and what is a
/// command to a pipeline.
pub fn quote(word: &str) -> Option<String> {
    let is_command = super::escape::no_command(word) != word;
    if word.chars().any(char::is_control) || super::escape::has_invisible(word) || is_command {
        return None;
    }
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '=' | ',' | ':' | '+' | '@');
    if !word.is_empty() && word.chars().all(is_plain) {
        return Some(word.to_owned());
    }
    Some(format!("'{}'", word.replace('\'', r"'\''")))
}

/// A name as a regular expression that it alone matches.
pub fn pattern(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if r"\^$.|?*+()[]{}".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_one_word() {
        assert_eq!(quote("run-1.sqlite").as_deref(), Some("run-1.sqlite"));
        assert_eq!(quote("a b").as_deref(), Some("'a b'"));
        assert_eq!(quote("$(rm -rf /)").as_deref(), Some("'$(rm -rf /)'"));
        assert_eq!(quote("it's `x`").as_deref(), Some(r"'it'\''s `x`'"));
        assert_eq!(quote("").as_deref(), Some("''"));
        assert_eq!(quote("~/x").as_deref(), Some("'~/x'"));
        for hidden in ["##[error]x", "a ##vso[task.x]", "::error::x", "a\nb", "a\u{1b}[31m", "a\u{202e}b", "\0"] {
            assert_eq!(quote(hidden), None, "{hidden:?}");
        }
    }

    #[test]
    fn a_pattern_matches_its_name_alone() {
        for name in ["plain_kernel", "f(x)|y.*", "[a]{2}^$\\", "größe"] {
            let regex = regex::Regex::new(&format!("^({})$", pattern(name))).unwrap();
            assert!(regex.is_match(name), "{name}");
            assert!(!regex.is_match("another"));
        }
    }
}
