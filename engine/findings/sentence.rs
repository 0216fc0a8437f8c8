//! Sentences in two forms, written once.

use crate::rules::outcome::Sentence;
use crate::text::escape;

/// Grows a sentence out of our own words and the report's.
#[derive(Default)]
pub(crate) struct Writer(Sentence);

impl Writer {
    /// Our own words, which may hold Markdown that also reads well as text.
    pub(crate) fn own(mut self, words: &str) -> Self {
        self.0.markdown.push_str(words);
        self.0.plain.push_str(words);
        self
    }

    /// Words of the report.
    pub(crate) fn value(mut self, words: &str) -> Self {
        self.0.markdown.push_str(&escape::markdown(words));
        self.0.plain.push_str(&escape::plain(words));
        self
    }

    /// A name of the report, as code.
    pub(crate) fn code(mut self, name: &str) -> Self {
        self.0.markdown.push_str(&escape::code(name));
        self.0.plain.push_str(&escape::plain(name));
        self
    }

    /// Another sentence.
    pub(crate) fn sentence(mut self, other: &Sentence) -> Self {
        self.0.markdown.push_str(&other.markdown);
        self.0.plain.push_str(&other.plain);
        self
    }

    pub(crate) fn done(self) -> Sentence {
        self.0
    }
}
