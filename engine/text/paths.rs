//! Paths in texts of a report, which say more about a machine than anybody wants to publish.

use super::escape;

/// The text with every absolute path cut down to its last part: `dlopen(/home/me/libx.so)` becomes `dlopen(libx.so)`.
pub fn without_folders(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || matches!(c, ')' | '(' | '"' | '\'' | '`' | ',' | ';' | '<' | '>' | '=');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut path_from = None;
    while !rest.is_empty() {
        let word_end = rest.find(is_end).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(word_end);
        // A folder's name may hold a space: what goes on with a slash is the same path.
        match path_from.filter(|_| word.contains(['/', '\\'])) {
            Some(from) => out.truncate(from),
            None => path_from = is_path(word).then_some(out.len()),
        }
        out.push_str(if path_from.is_some() { last_part(word) } else { word });
        let end_len = tail.chars().next().map_or(0, char::len_utf8);
        out.push_str(&tail[..end_len]);
        path_from = path_from.filter(|_| tail.starts_with(' '));
        rest = &tail[end_len..];
    }
    out
}

/// The last part of a path, whichever way its slashes lean.
pub fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A path below a folder, as forges write it: without `.`, with `/` between folders.
///
/// # Errors
/// Why it is none: it is absolute, leads out of the folder, or hides something.
pub fn inside(path: &str) -> Result<String, &'static str> {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let mut chars = path.chars();
    let has_drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':');
    let faults = [
        (parts.is_empty() || path.ends_with('/'), "names no file"),
        (path.starts_with(['/', '~']) || has_drive, "is absolute: write it relative to the folder of this file"),
        (parts.contains(&".."), "leads out of the folder of this file"),
        (path.contains('\\'), "has a `\\`: write `/` between folders"),
        (escape::has_invisible(path) || path.contains(['\n', '\r', '\t']), "holds invisible characters"),
        (escape::no_command(path) != path, "is a command to a pipeline"),
    ];
    match faults.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, fault)) => Err(fault),
        None => Ok(parts.join("/")),
    }
}

/// Whether a text begins as a path from the root or another fixed place: `/x`, `~/x`, `file:///x` or `C:\x`; a fraction such as
/// `1/2` is none, nor is a path of a package.
pub fn is_path(word: &str) -> bool {
    let mut chars = word.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':');
    let is_windows = (drive && matches!(chars.next(), Some('\\' | '/'))) || word.starts_with("\\\\");
    is_windows || ["/", "~/", "~\\", "./", "../", "file:"].iter().any(|start| word.starts_with(start))
}

fn last_part(word: &str) -> &str {
    word.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_below_a_folder_is_no_command() {
        assert_eq!(inside("./a//b#1.py"), Ok("a/b#1.py".to_owned()));
        for path in ["##[error]x.py", "a/##vso[task.x].py", "::error::x.py", "a/../b", "/a", "a\u{200b}", "a\n"] {
            assert!(inside(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn only_the_last_part_of_a_path_stays() {
        let cases = [
            ("dlopen(/home/me/lib x/libx.so)", "dlopen(libx.so)"),
            ("dlopen(/home/me/libx.so)", "dlopen(libx.so)"),
            ("dlopen(libx.so)", "dlopen(libx.so)"),
            ("cannot write \"C:\\Users\\me\\run.txt\", 1/2 done", "cannot write \"run.txt\", 1/2 done"),
            ("see ~/logs/, ../up and file:///tmp/a", "see logs, up and a"),
            ("/", ""),
            ("Installed CUDA driver version (13.3)", "Installed CUDA driver version (13.3)"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_folders(text), expected);
        }
    }
}
