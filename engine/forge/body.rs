//! The text of a comment: its marker first, and never longer than a forge takes.

use std::str::FromStr;

use super::Unusable;

/// In characters. GitHub's limit.
const MAX_CHARS: usize = 65_536;
const NOTE: &str =
    "\n*This comment was cut: a forge takes 65,536 characters. The whole text is in the summary of the job.*\n";

/// An HTML comment on one line, by which a comment of a pull request is found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker(String);

impl Marker {
    /// Whether a text begins with the marker. One further down may be a quotation.
    pub(super) fn opens(&self, text: &str) -> bool {
        text.trim_start().lines().next().is_some_and(|line| line.trim_end() == self.0)
    }
}

impl Default for Marker {
    /// The one of `coldspot compare`.
    fn default() -> Self {
        Self("<!-- coldspot:compare -->".to_owned())
    }
}

impl FromStr for Marker {
    type Err = Unusable;

    fn from_str(text: &str) -> Result<Self, Unusable> {
        let inner = text.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")).map(str::trim);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ":._/ -".contains(c);
        match inner {
            Some(inner) if !inner.is_empty() && !inner.contains("--") && inner.chars().all(is_plain) => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(Unusable::new(
                "expected an HTML comment of letters, digits and :._/- such as '<!-- coldspot:nightly -->'",
            )),
        }
    }
}

/// What is posted: begins with the marker and fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentBody {
    text: String,
    is_cut: bool,
}

impl CommentBody {
    /// The text as it is, with the marker in front where it does not stand there already, and cut with a note where it is
    /// too long.
    ///
    /// # Errors
    /// When there is nothing to say.
    pub fn new(text: &str, marker: &Marker) -> Result<Self, Unusable> {
        let has_marker = marker.opens(text);
        if text.trim().is_empty() || (has_marker && text.trim() == marker.0) {
            return Err(Unusable::new("holds no text to post"));
        }
        let text = if has_marker { text.to_owned() } else { format!("{}\n{text}", marker.0) };
        match cut(&text) {
            Some(text) => Ok(Self { text, is_cut: true }),
            None => Ok(Self { text, is_cut: false }),
        }
    }

    /// Several texts, as `coldspot compare` and `coldspot review` write them, in one: their headings first, then each.
    ///
    /// # Errors
    /// When there is nothing to say.
    pub fn of_several(texts: &[String], marker: &Marker) -> Result<Self, Unusable> {
        if let [text] = texts {
            return Self::new(text, marker);
        }
        let parts: Vec<(&str, String)> = texts.iter().map(|text| part(text)).collect();
        let list: String = parts.iter().map(|(heading, _)| format!("- {heading}\n")).collect();
        let each: String = parts.iter().map(|(heading, rest)| format!("\n### {heading}\n{rest}\n")).collect();
        match parts.iter().all(|(_, rest)| rest.trim().is_empty()) {
            true => Err(Unusable::new("holds no text to post")),
            false => Self::new(&format!("## coldspot\n\n{list}{each}"), marker),
        }
    }

    /// As it is posted.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether its end is missing.
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Forges may store other line ends, and no white space at the end.
    pub(super) fn is_same_as(&self, stored: &str) -> bool {
        stored.trim_end().replace("\r\n", "\n") == self.text.trim_end().replace("\r\n", "\n")
    }
}

/// The heading of a text, without what all of them begin with, and the text without its heading and marker.
fn part(text: &str) -> (&str, String) {
    let lines = || text.lines().skip_while(|line| line.trim().is_empty() || line.starts_with("<!--"));
    let heading = lines().next().filter(|line| line.starts_with('#'));
    let rest: Vec<&str> = lines().skip(usize::from(heading.is_some())).collect();
    let heading = heading.map_or("coldspot", |line| line.trim_start_matches('#').trim());
    (heading.strip_prefix("coldspot ").unwrap_or(heading), rest.join("\n"))
}

/// What must still be closed at a line's end.
#[derive(Debug, Default, Clone)]
struct Open {
    fence: Option<String>,
    details: usize,
}

impl Open {
    fn read(&mut self, line: &str) {
        let line = line.trim();
        let first = line.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run: String = line.chars().take_while(|c| Some(*c) == first).collect();
        match &self.fence {
            Some(fence) if run.starts_with(fence.as_str()) && run == line => self.fence = None,
            Some(_) => {}
            // What follows may be a language, but in a code span it is more of them.
            None if run.len() >= 3 && !line[run.len()..].contains('`') => self.fence = Some(run),
            // A fold's tags begin lines, where nobody's text can be a tag. Anywhere else they are text.
            None if line.starts_with("<details") && !line.ends_with("</details>") => self.details += 1,
            None if line.starts_with("</details>") => self.details = self.details.saturating_sub(1),
            None => {}
        }
    }

    fn closing(&self) -> String {
        let fence = self.fence.as_ref().map_or_else(String::new, |fence| format!("{fence}\n"));
        format!("{fence}{}", "\n</details>\n".repeat(self.details))
    }
}

/// The longest beginning of whole lines that fits with all that it leaves open closed and the note; none when the text
/// fits as it is.
fn cut(text: &str) -> Option<String> {
    if text.chars().count() <= MAX_CHARS {
        return None;
    }
    let mut open = Open::default();
    let (mut used, mut end, mut closing) = (0, 0, String::new());
    for line in text.split_inclusive('\n') {
        open.read(line);
        used += line.chars().count();
        if used + NOTE.len() > MAX_CHARS {
            break;
        }
        let needed = open.closing();
        if used + needed.chars().count() + NOTE.len() <= MAX_CHARS {
            end += line.len();
            closing = needed;
        } else {
            break;
        }
    }
    Some(format!("{}{closing}{NOTE}", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> CommentBody {
        CommentBody::new(text, &Marker::default()).unwrap()
    }

    #[test]
    fn the_marker_stands_in_front_once() {
        assert_eq!(body("hello\n").as_str(), "<!-- coldspot:compare -->\nhello\n");
        assert_eq!(body("<!-- coldspot:compare -->\nhello\n").as_str(), "<!-- coldspot:compare -->\nhello\n");
        assert_eq!(
            body("> <!-- coldspot:compare -->").as_str(),
            "<!-- coldspot:compare -->\n> <!-- coldspot:compare -->",
            "a quotation is no marker"
        );
    }

    #[test]
    fn several_texts_have_one_marker_and_their_headings_first() {
        let texts =
            ["<!-- coldspot:compare -->\n## coldspot `a`: slower\n\nfirst\n", "## coldspot `b`: faster\n\nsecond\n"];
        let merged = CommentBody::of_several(&texts.map(str::to_owned), &Marker::default()).unwrap();
        assert_eq!(
            merged.as_str(),
            "<!-- coldspot:compare -->\n## coldspot\n\n- `a`: slower\n- `b`: faster\n\n### `a`: slower\n\nfirst\n\n\
             ### `b`: faster\n\nsecond\n"
        );
        let one = CommentBody::of_several(&[texts[0].to_owned()], &Marker::default()).unwrap();
        assert_eq!(one.as_str(), texts[0]);
        assert!(CommentBody::of_several(&[" ".to_owned(), String::new()], &Marker::default()).is_err());
    }

    #[test]
    fn nothing_to_say_is_refused() {
        for text in ["", " \n", "<!-- coldspot:compare -->\n"] {
            assert!(CommentBody::new(text, &Marker::default()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_marker_is_one_harmless_html_comment() {
        assert!("<!-- coldspot:nightly -->".parse::<Marker>().is_ok());
        for bad in ["", "x", "<!---->", "<!-- a --> <!-- b -->", "<!-- a\nb -->", "<!-- \" -->"] {
            assert!(bad.parse::<Marker>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_text_that_just_fits_is_whole() {
        let marker_length = "<!-- coldspot:compare -->\n".len();
        let fits = body(&"ä".repeat(MAX_CHARS - marker_length));
        assert!(!fits.is_cut());
        assert_eq!(fits.as_str().chars().count(), MAX_CHARS);
        assert!(body(&"ä\n".repeat(MAX_CHARS / 2)).is_cut());
    }

    #[test]
    fn what_a_cut_leaves_open_is_closed() {
        let long = format!("<details>\n<summary>x</summary>\n\n````text\n{}", "```\nkernel\n".repeat(10_000));
        let cut = body(&long);
        assert!(cut.is_cut());
        let count = cut.as_str().chars().count();
        assert!((MAX_CHARS - 100..=MAX_CHARS).contains(&count), "{count}");
        assert!(cut.as_str().ends_with(&format!("````\n\n</details>\n{NOTE}")));
    }

    #[test]
    fn folds_that_a_name_speaks_of_are_none() {
        let long = format!("<details>\n\n- `</details>` x\n{}", "- `<details>` \\<details> x\n".repeat(10_000));
        let cut = body(&long);
        assert!(cut.as_str().ends_with(&format!("x\n\n</details>\n{NOTE}")));
        assert_eq!(cut.as_str().matches("\n</details>\n").count(), 1);
    }

    #[test]
    fn closed_parts_are_not_closed_again() {
        let long = format!("<details>\n</details>\n```\n<details>\n```\n{}", "line\n".repeat(20_000));
        assert!(body(&long).as_str().ends_with(&format!("line\n{NOTE}")));
    }

    #[test]
    fn one_endless_line_leaves_the_marker_and_the_note() {
        let cut = body(&"x".repeat(100_000));
        assert_eq!(cut.as_str(), format!("<!-- coldspot:compare -->\n{NOTE}"));
    }

    #[test]
    fn line_ends_are_no_difference() {
        assert!(body("a\nb\n").is_same_as("<!-- coldspot:compare -->\r\na\r\nb"));
        assert!(!body("a\nb\n").is_same_as("<!-- coldspot:compare -->\na\n b"));
    }
}
