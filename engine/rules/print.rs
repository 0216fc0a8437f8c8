//! Prints the texts of rules, as spans.

use std::sync::Arc;

use foldhash::HashMap;
use minijinja::value::{Object, Value, ValueKind};
use minijinja::{Environment, Error, Output, State};

use crate::limits::MAX_QUOTED_BYTES;
use crate::text::plural::agreeing;
use crate::text::spans::{Sentence, Span};
use crate::text::{cut, number};

use super::expr::{install, message, real, whole, wrong};
use super::rule::{Rule, Text};

/// Stands around the index of a quotation in what a template prints. Texts of rules hold no control characters, and
/// nothing of a report is ever printed there, so that only quotations are marked.
const MARK: char = '\u{1}';

/// Bytes of a text that a message shows.
const MAX_SHOWN_BYTES: usize = 200;

/// The texts of all rules. Each is compiled when it is first printed: a review prints few of them.
#[derive(Debug)]
pub(super) struct Printers {
    environment: Environment<'static>,
}

impl Printers {
    /// Of some rules, whose texts parse, because the check has parsed them.
    pub(super) fn new(rules: &[Rule]) -> Self {
        let texts = rules.iter().flat_map(|rule| rule.code.texts());
        let sources: HashMap<String, String> = texts.map(|text| (text.name.clone(), text.source.clone())).collect();
        let mut environment = environment();
        environment.set_loader(move |name| Ok(sources.get(name).cloned()));
        Self { environment }
    }

    pub(super) fn print(&self, text: &Text, scope: &Value) -> Result<Sentence, String> {
        let printed = self.environment.get_template(&text.name).and_then(|text| text.render_captured(scope.clone()));
        let mut printed = printed.map_err(|error| {
            format!("the text `{}`: {}", cut::to_bytes(&text.source, MAX_SHOWN_BYTES), message(&error))
        })?;
        let quoted = printed.with_state_mut(|state| std::mem::take(state.get_or_insert_extension(Quoted::default())));
        Ok(quoted.join(printed.output()))
    }
}

/// What a text quotes from the report, in order.
#[derive(Debug, Default)]
struct Quoted {
    spans: Vec<Span>,
    bytes: usize,
}

impl Quoted {
    /// Takes a quotation, and gives its mark.
    fn push(&mut self, text: &str, span: fn(String) -> Span) -> Result<String, Error> {
        self.bytes += text.len();
        if self.bytes > MAX_QUOTED_BYTES {
            return Err(wrong(format!("it quotes more than {MAX_QUOTED_BYTES} bytes of the report")));
        }
        self.spans.push(span(text.to_owned()));
        Ok(format!("{MARK}{}{MARK}", self.spans.len() - 1))
    }

    /// Puts the quotations where their marks are.
    fn join(self, printed: &str) -> Sentence {
        let mut sentence = Sentence::default();
        for (index, piece) in printed.split(MARK).enumerate() {
            let is_mark = index % 2 == 1;
            let quotation = piece.parse::<usize>().ok().filter(|_| is_mark).and_then(|index| self.spans.get(index));
            sentence = match quotation {
                Some(quotation) => sentence.span(quotation.clone()),
                None => sentence.own(&agreeing(piece)),
            };
        }
        sentence.trimmed()
    }
}

/// What the filter `code` makes of a text: to be quoted as code.
#[derive(Debug)]
struct Code(String);

impl Object for Code {
    fn render(self: &Arc<Self>, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    install(&mut environment);
    environment.add_filter("duration", |value: &Value| whole(value).map(|ns| own(number::duration(ns))));
    environment.add_filter("instant", |value: &Value| whole(value).map(|ns| own(number::instant(ns))));
    environment.add_filter("bytes", |value: &Value| whole(value).map(|bytes| own(number::bytes(bytes))));
    environment.add_filter("count", |value: &Value| whole(value).map(|count| own(number::count(count))));
    environment.add_filter("gb_per_s", |value: &Value| real(value).map(|gb_per_s| own(number::gb_per_s(gb_per_s))));
    environment.add_filter("percent", |value: &Value| real(value).map(|share| own(number::percent(share))));
    environment.add_filter("rate", |value: &Value| real(value).map(|per_s| own(number::rate(per_s))));
    environment.add_filter("ratio", |value: &Value| real(value).map(|ratio| own(number::ratio(ratio))));
    environment.add_filter("id", |value: &Value| whole(value).map(|id| own(number::id(id))));
    environment.add_filter("number", |value: &Value| real(value).map(|number| own(number::number(number))));
    environment.add_filter("mhz", |value: &Value| real(value).map(|mhz| own(number::mhz(mhz))));
    environment.add_filter("code", |value: &Value| string(value).map(|name| Value::from_object(Code(name.to_owned()))));
    environment.add_filter("text", |value: &Value| string(value).map(Value::from));
    environment.set_formatter(quote);
    environment
}

/// Numbers are printed in our own words; any text is quoted.
fn quote(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_safe() {
        return out.write_str(string(value)?).map_err(Error::from);
    }
    let quoted = state.get_or_insert_extension(Quoted::default());
    let mark = match value.downcast_object_ref::<Code>() {
        Some(Code(name)) => quoted.push(name, Span::Code)?,
        None => quoted.push(string(value)?, Span::Value)?,
    };
    out.write_str(&mark).map_err(Error::from)
}

/// A number as it is printed.
fn own(printed: String) -> Value {
    Value::from_safe_string(printed)
}

fn string(value: &Value) -> Result<&str, Error> {
    let found = value.as_str().filter(|_| value.kind() == ValueKind::String);
    found.ok_or_else(|| wrong(format!("text was expected, not {}", value.kind())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_come_where_they_were_marked_and_nothing_forges_a_mark() {
        let mut quoted = Quoted::default();
        let forged = format!("{MARK}0{MARK}");
        let marks = (quoted.push("k", Span::Code).unwrap(), quoted.push(&forged, Span::Value).unwrap());
        let printed = format!(" a {} b {}", marks.0, marks.1);
        assert!(quoted.push(&"x".repeat(MAX_QUOTED_BYTES), Span::Value).is_err());
        let (name, forged) = (Span::Code("k".into()), Span::Value(forged));
        let sentence = quoted.join(&printed);
        assert_eq!(sentence.spans(), [Span::Own("a ".into()), name, Span::Own(" b ".into()), forged]);
        assert_eq!(sentence.plain(), "a k b 0");
        assert_eq!(Quoted::default().join(&format!("a{MARK}7{MARK}b")).plain(), "a7b");
    }

    /// Behind a count of one the nouns of all built-in rules become singular.
    #[test]
    fn built_in_rules_count_in_words_that_have_a_singular() {
        let library = crate::rules::Library::builtin().unwrap();
        for rule in library.rules() {
            for after in rule.source().split("| count }} ").skip(1) {
                let phrase = after.split(['{', '"', '.', ',', ':', ';', '(']).next().unwrap_or_default();
                let words = phrase.split(' ').take(4).take_while(|word| *word != "of");
                let is_plural = |word: &&str| word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
                if let Some(noun) = words.into_iter().find(is_plural) {
                    let printed = format!("1 {phrase}");
                    assert_ne!(agreeing(&printed), printed, "{}: `{noun}` has no singular", rule.id());
                }
            }
        }
    }
}
