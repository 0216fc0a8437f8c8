//! Prints the texts of rules, in Markdown and plain.

use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, Output, State};

use crate::text::{escape, number};

use super::expr::{install, message, real, whole, wrong};
use super::outcome::Sentence;
use super::rule::{Rule, Text};

/// The compiled texts of all rules, once for each form.
#[derive(Debug)]
pub(super) struct Printers {
    markdown: Environment<'static>,
    plain: Environment<'static>,
}

impl Printers {
    /// Compiles the texts of the rules; they parse, because the check has parsed them.
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut printers = Self {
            markdown: environment(escape::markdown, escape::code),
            plain: environment(escape::plain, escape::plain),
        };
        for text in rules.iter().flat_map(|rule| rule.code.texts()) {
            for environment in [&mut printers.markdown, &mut printers.plain] {
                let added = environment.add_template_owned(text.name.clone(), text.source.clone());
                debug_assert!(added.is_ok(), "{} was checked", text.name);
            }
        }
        printers
    }

    pub(super) fn print(&self, text: &Text, scope: &Value) -> Result<Sentence, String> {
        let print = |environment: &Environment<'static>| -> Result<String, Error> {
            let printed = environment.get_template(&text.name)?.render(scope.clone())?;
            Ok(printed.trim().to_owned())
        };
        let both = print(&self.markdown).and_then(|markdown| Ok(Sentence { markdown, plain: print(&self.plain)? }));
        both.map_err(|error| format!("the text `{}`: {}", text.source, message(&error)))
    }
}

type Escape = fn(&str) -> String;

fn environment(text: Escape, code: Escape) -> Environment<'static> {
    let mut environment = Environment::empty();
    install(&mut environment);
    environment.add_filter("duration", |value: &Value| whole(value).map(|ns| safe(number::duration(ns))));
    environment.add_filter("instant", |value: &Value| whole(value).map(|ns| safe(number::instant(ns))));
    environment.add_filter("bytes", |value: &Value| whole(value).map(|bytes| safe(number::bytes(bytes))));
    environment.add_filter("count", |value: &Value| whole(value).map(|count| safe(number::count(count))));
    environment.add_filter("gbps", |value: &Value| real(value).map(|gbps| safe(number::gbps(gbps))));
    environment.add_filter("percent", |value: &Value| real(value).map(|share| safe(number::percent(share))));
    environment.add_filter("rate", |value: &Value| real(value).map(|per_s| safe(number::rate(per_s))));
    environment.add_filter("ratio", |value: &Value| real(value).map(|ratio| safe(number::ratio(ratio))));
    environment.add_filter("id", |value: &Value| whole(value).map(|id| safe(number::id(id))));
    environment.add_filter("number", |value: &Value| real(value).map(|number| safe(number::number(number))));
    environment.add_filter("mhz", |value: &Value| real(value).map(|mhz| safe(number::mhz(mhz))));
    environment.add_filter("code", move |value: &Value| string(value).map(|string| safe(code(string))));
    environment.add_filter("text", move |value: &Value| string(value).map(|string| safe(text(string))));
    environment.set_formatter(move |out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value| {
        let string = string(value)?;
        let printed = if value.is_safe() { out.write_str(string) } else { out.write_str(&text(string)) };
        printed.map_err(Error::from)
    });
    environment
}

fn safe(printed: String) -> Value {
    Value::from_safe_string(printed)
}

fn string(value: &Value) -> Result<&str, Error> {
    let found = value.as_str().filter(|_| value.kind() == ValueKind::String);
    found.ok_or_else(|| wrong(format!("text was expected, not {}", value.kind())))
}
