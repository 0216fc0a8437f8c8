//! Characters that nobody sees, or that change how those around them are shown.

/// Code points of Unicode's property `Default_Ignorable_Code_Point`, and those beside them that have no shape either:
/// separators of lines, and the marks of interlinear annotations.
const RANGES: [(char, char); 18] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether nobody sees a character: control characters too.
pub(super) fn is_invisible(c: char) -> bool {
    c.is_control() || (!c.is_ascii() && RANGES.iter().any(|(first, last)| (*first..=*last).contains(&c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_not_invisible() {
        let seen =
            ['a', ' ', 'é', 'µ', '·', '█', '✓', '、', '\u{1d172}', '\u{1d17b}', '\u{1bca4}', '\u{2027}', '\u{202f}'];
        assert!(!seen.into_iter().any(is_invisible));
        let unseen =
            ['\0', '\u{7f}', '\u{85}', '\u{2028}', '\u{2065}', '\u{fff4}', '\u{1bca0}', '\u{1d17a}', '\u{e01ef}'];
        assert!(unseen.into_iter().all(is_invisible));
    }
}
