//! What templates can do with values. What these filters return is harmless, and is not escaped again.

use minijinja::value::{Kwargs, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, filters};

use super::bar;
use crate::text::{escape, names, number, words};

/// Adds the filters, and the escaping of everything that is not marked as safe.
pub(super) fn install(env: &mut Environment<'static>) {
    env.set_auto_escape_callback(|_| AutoEscape::Custom("markdown".into()));
    env.set_formatter(write);
    env.add_filter("duration", |ns: i64| safe(number::duration(ns)));
    env.add_filter("bytes", |bytes: i64| safe(number::bytes(bytes)));
    env.add_filter("count", |count: i64| safe(number::count(count)));
    env.add_filter("instant", |ns: i64| safe(number::instant(ns)));
    env.add_filter("percent", |share: f64| safe(number::percent(share)));
    env.add_filter("percent_beside", |share: f64, target: f64| safe(number::percent_beside(share, target)));
    env.add_filter("gb_per_s", |rate: f64| safe(number::gb_per_s(rate)));
    env.add_filter("rate", |rate: f64| safe(number::rate(rate)));
    env.add_filter("ratio", |ratio: f64| safe(number::ratio(ratio)));
    env.add_filter("code", |text: String| safe(escape::code(&text)));
    // Escaped like any other string: it is still the report's.
    env.add_filter("short", |name: String| names::shorten(&name));
    env.add_filter("tells", |text: String, name: String| names::tells(&text, &name));
    env.add_filter("own", |text: String| safe(own(&text)));
    env.add_filter("link", |url: String| safe(link(&url)));
    env.add_filter("sign", |account: String| safe(bar::sign(&account).to_owned()));
    // Of any width, one step would make a text larger than memory.
    env.remove_filter("format");
    env.add_filter("indent", indent);
    env.add_filter("tojson", json);
    // The only thing that lasts from one turn of a loop to the next: values inside of values without end.
    env.remove_global("namespace");
    env.add_filter("left", |value: Value, width: u8| {
        pad(&value, |text| format!("{text:<width$}", width = width.into()))
    });
    env.add_filter("right", |value: Value, width: u8| {
        pad(&value, |text| format!("{text:>width$}", width = width.into()))
    });
}

fn safe(text: String) -> Value {
    Value::from_safe_string(text)
}

fn write(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    // The engine has refused names that do not exist; what is left is `x if condition` without an else.
    if value.is_undefined() {
        return Ok(());
    }
    let text = match value.as_str() {
        Some(text) if !value.is_safe() && *state.auto_escape() != AutoEscape::None => escape::markdown(text),
        Some(text) => text.to_owned(),
        None if value.is_number() => value.to_string(),
        None => escape::markdown(&value.to_string()),
    };
    out.write_str(&text).map_err(|_| Error::new(ErrorKind::WriteFailure, "cannot write"))
}

/// Padded text is as safe as it was.
fn pad(value: &Value, pad: impl Fn(&str) -> String) -> Value {
    let text = pad(&value.to_string());
    if value.is_safe() { safe(text) } else { Value::from(text) }
}

/// The lines of a text behind the first one moved in by so many blanks, as the template engine's own filter does it.
fn indent(
    value: &Value,
    width: Option<u8>,
    first: Option<bool>,
    blank: Option<bool>,
    named: Kwargs,
) -> Result<Value, Error> {
    let width = width.or(named.get("width")?);
    let (first, blank) = (first.or(named.get("first")?), blank.or(named.get("blank")?));
    named.assert_all_used()?;
    let (text, margin) = (value.to_string(), " ".repeat(width.unwrap_or(4).into()));
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let is_moved = if index == 0 { first == Some(true) } else { blank == Some(true) || !line.trim().is_empty() };
        if is_moved {
            out.push_str(&margin);
        }
        out.push_str(line);
    }
    Ok(if value.is_safe() { safe(out) } else { Value::from(out) })
}

/// A value as JSON, moved in by so many blanks a level.
fn json(value: &Value, indent: Option<u8>, named: Kwargs) -> Result<Value, Error> {
    let indent = indent.or(named.get("indent")?);
    named.assert_all_used()?;
    filters::tojson(value, indent.map(Value::from), Kwargs::from_iter::<[(&str, Value); 0]>([]))
}

/// Words of a rule's author, fit for a cell of a table.
fn own(text: &str) -> String {
    words::markdown(text, true, true).replace('|', "\\|")
}

/// An address that a rule names. Only the web's: anything else is printed as text.
pub(super) fn link(url: &str) -> String {
    let is_plain = url.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '`' | '\\' | '|'));
    if is_plain && (url.starts_with("https://") || url.starts_with("http://")) {
        format!("<{url}>")
    } else {
        escape::markdown(url)
    }
}
