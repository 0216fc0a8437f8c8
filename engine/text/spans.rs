//! Sentences as spans: our own words, and what is quoted from a report. They are made once and stay spans until
//! [`crate::render`] prints them, so that no earlier stage knows a format, and nothing reads printed text back.

use super::{escape, words};

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Words of coldspot or of a rule's author: the Markdown of [`words`], which also reads well as plain text.
    Own(String),
    /// Text of the report, as it was: hostile.
    Value(String),
    /// A name of the report that is shown as code, as it was: hostile.
    Code(String),
}

/// One or more sentences in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sentence(Vec<Span>);

impl Sentence {
    /// Adds own words.
    #[must_use]
    pub fn own(mut self, words: &str) -> Self {
        match self.0.last_mut() {
            Some(Span::Own(known)) => known.push_str(words),
            _ => self.0.push(Span::Own(words.to_owned())),
        }
        self
    }

    /// Adds text of the report.
    #[must_use]
    pub fn value(self, text: &str) -> Self {
        self.span(Span::Value(text.to_owned()))
    }

    /// Adds a name of the report, as code.
    #[must_use]
    pub fn code(self, name: &str) -> Self {
        self.span(Span::Code(name.to_owned()))
    }

    /// The same with another name in place of `old`.
    #[must_use]
    pub fn with_code(&self, old: &str, new: &str) -> Self {
        let renamed = |span: &Span| match span {
            Span::Code(name) if name == old => Span::Code(new.to_owned()),
            span => span.clone(),
        };
        Self(self.0.iter().map(renamed).collect())
    }

    /// Adds another sentence.
    #[must_use]
    pub fn sentence(self, other: &Self) -> Self {
        other.0.iter().cloned().fold(self, Self::span)
    }

    /// Bytes of all its texts.
    pub fn byte_count(&self) -> usize {
        let texts = self.0.iter().map(|span| match span {
            Span::Own(text) | Span::Value(text) | Span::Code(text) => text.len(),
        });
        texts.sum()
    }

    /// Adds a span.
    #[must_use]
    pub fn span(mut self, span: Span) -> Self {
        match span {
            Span::Own(words) => self.own(&words),
            quoted => {
                self.0.push(quoted);
                self
            }
        }
    }

    /// Its parts.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// The names that it shows as code, in order. Code within own words is no name.
    pub fn codes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|span| match span {
            Span::Code(name) => Some(name.as_str()),
            Span::Own(_) | Span::Value(_) => None,
        })
    }

    /// As plain text: without what nobody sees, and no command to a pipeline.
    pub fn plain(&self) -> String {
        let texts = self.0.iter().map(|span| match span {
            Span::Own(own) => words::plain(own),
            Span::Value(text) | Span::Code(text) => escape::plain(text),
        });
        escape::no_command(&texts.collect::<String>())
    }

    /// Without blanks at its ends, and without quotations there that are blank.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        while let Some(last) = self.0.last_mut() {
            if !trim(last, str::trim_end) {
                break;
            }
            self.0.pop();
        }
        let blank = self.0.iter_mut().map(|span| trim(span, str::trim_start)).take_while(|is_blank| *is_blank).count();
        self.0.drain(..blank);
        self
    }
}

/// Trims own words; whether nothing is left to print.
fn trim(span: &mut Span, cut: fn(&str) -> &str) -> bool {
    match span {
        Span::Own(words) => {
            *words = cut(words).to_owned();
            words.is_empty()
        }
        Span::Value(text) => escape::plain(text).is_empty(),
        // A name without characters is printed as such.
        Span::Code(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_words_grow_together_and_quotations_stay_apart() {
        let sentence = Sentence::default().own("a ").own("b ").code("k").value("v").own(".");
        let spans = [Span::Own("a b ".into()), Span::Code("k".into()), Span::Value("v".into()), Span::Own(".".into())];
        assert_eq!(sentence.spans(), spans);
        assert_eq!(Sentence::default().own("x").sentence(&sentence).plain(), "xa b kv.");
        assert_eq!(sentence.codes().collect::<Vec<_>>(), ["k"]);
    }

    #[test]
    fn ends_are_trimmed_past_what_is_blank() {
        let sentence = Sentence::default().own(" ").value("\u{200b} ").own(" a b ").value("").own("\n ").trimmed();
        assert_eq!(sentence.spans(), [Span::Own("a b".into())]);
        assert_eq!(Sentence::default().value(" ").own(" ").trimmed(), Sentence::default());
        assert_eq!(Sentence::default().own(" ").code("").trimmed(), Sentence::default().code(""));
    }
}
