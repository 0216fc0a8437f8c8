//! What a facts file says of itself by its name: a date, a commit, which run.

use std::collections::HashMap;

/// As many digits of a commit are the fewest that tell it.
const LEAST_COMMIT: usize = 7;
const MOST_COMMIT: usize = 64;

/// What runs are runs of: the name of their files without the number of the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    text: String,
    /// The commit in it, in hexadecimal digits.
    commit: Option<String>,
}

impl Label {
    /// Of the name of a file without its extension: `2026-11-20-0a1b2c3-2` is the second run of a commit, `2026-11-20` one run
    /// of a night.
    pub fn of_stem(stem: &str) -> Self {
        if let Some((before, number)) = stem.rsplit_once('-')
            && number.len() < LEAST_COMMIT
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && let Some(commit) = commit_of(before)
        {
            return Self { text: before.to_owned(), commit: Some(commit.to_owned()) };
        }
        Self { text: stem.to_owned(), commit: commit_of(stem).map(str::to_owned) }
    }

    /// As it is shown: hostile.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The commit, where the name ends in one.
    pub fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }
}

/// The last word, when it can be a commit; eight digits are a date.
fn commit_of(stem: &str) -> Option<&str> {
    let word = stem.rsplit(['-', '_', '.']).next().unwrap_or(stem);
    let is_hexadecimal = word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_date = word.len() == 8 && word.starts_with("20") && word.bytes().all(|byte| byte.is_ascii_digit());
    ((LEAST_COMMIT..=MOST_COMMIT).contains(&word.len()) && is_hexadecimal && !is_date).then_some(word)
}

/// In which order labels stand.
#[derive(Debug, Clone, Default)]
pub struct Order {
    /// The place of each commit, by its first digits; empty for the order of names.
    places: HashMap<String, Vec<(String, usize)>>,
}

impl Order {
    /// By a list of commits, one a line, the oldest first, as `git rev-list --reverse` prints it. Labels of other commits stand
    /// before them.
    pub fn of_commits(list: &str) -> Self {
        let mut places: HashMap<String, Vec<(String, usize)>> = HashMap::default();
        for (place, commit) in list.split_whitespace().enumerate() {
            if let Some(begin) = commit.get(..LEAST_COMMIT) {
                places.entry(begin.to_owned()).or_default().push((commit.to_owned(), place));
            }
        }
        Self { places }
    }

    pub(super) fn key<'a>(&self, label: &'a Label) -> (Option<usize>, &'a str) {
        let known = label.commit().and_then(|commit| {
            let alike = self.places.get(commit.get(..LEAST_COMMIT)?)?;
            let is_same = |full: &str| full.starts_with(commit) || commit.starts_with(full);
            alike.iter().find(|(full, _)| is_same(full)).map(|(_, place)| *place)
        });
        (known, label.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_dates_commits_and_runs() {
        for (stem, text, commit) in [
            ("2026-11-20", "2026-11-20", None),
            ("20261120", "20261120", None),
            ("nightly-20261120", "nightly-20261120", None),
            ("0a1b2c3d-1", "0a1b2c3d", Some("0a1b2c3d")),
            ("2026-11-20-0a1b2c3-12", "2026-11-20-0a1b2c3", Some("0a1b2c3")),
            ("2026-11-20_0a1b2c3", "2026-11-20_0a1b2c3", Some("0a1b2c3")),
            ("run-3", "run-3", None),
        ] {
            let label = Label::of_stem(stem);
            assert_eq!((label.text(), label.commit()), (text, commit), "{stem}");
        }
    }
}
