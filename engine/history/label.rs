//! What a facts file says of itself by its name: a date, a commit, which run.

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
    /// The place of each commit, in the order of their digits; empty for the order of names.
    places: Vec<(String, usize)>,
}

impl Order {
    /// By a list of commits, one a line, the oldest first, as `git rev-list --reverse` prints it. Labels of other commits stand
    /// before them.
    pub fn of_commits(list: &str) -> Self {
        let commits = list.split_whitespace().enumerate();
        let long = commits.filter(|(_, commit)| commit.get(..LEAST_COMMIT).is_some());
        let mut places: Vec<(String, usize)> = long.map(|(place, commit)| (commit.to_owned(), place)).collect();
        places.sort_unstable();
        Self { places }
    }

    pub(super) fn key<'a>(&self, label: &'a Label) -> (Option<usize>, &'a str) {
        (label.commit().and_then(|commit| self.place(commit)), label.text())
    }

    /// The first place of a commit of the list which begins with this one, or with which this one begins.
    fn place(&self, commit: &str) -> Option<usize> {
        let from = |text: &str| {
            let before = self.places.partition_point(|(full, _)| full.as_str() < text);
            self.places.get(before..).unwrap_or(&[])
        };
        let longer = from(commit).iter().take_while(|(full, _)| full.starts_with(commit));
        let shorter = (LEAST_COMMIT..commit.len()).filter_map(|length| {
            let begin = commit.get(..length)?;
            from(begin).first().filter(|(full, _)| full == begin)
        });
        longer.chain(shorter).map(|(_, place)| *place).min()
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
