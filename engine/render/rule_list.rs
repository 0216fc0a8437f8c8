//! All rules, as a table and as JSON.

use serde_json::{Map, Value, json};

use crate::project::Config;
use crate::rules::outcome::Severity;
use crate::rules::{Library, Param, Rule, Status};
use crate::text::escape;

use super::facts::table;

/// One line a rule, with what the project decides about it.
pub fn rule_list_text(library: &Library, config: &Config) -> String {
    let heads = ["rule", "cause", "applies to", "severity", "title"].map(str::to_owned);
    let row = |rule: &Rule| {
        let severity = match config.severity(rule.id()).or(rule.severity()) {
            _ if config.off().contains(rule.id()) => "off",
            Some(severity) => severity.name(),
            None => "by gain",
        };
        let experimental = if rule.status() == Status::Experimental { " (experimental)" } else { "" };
        let replaces = if rule.replaces_builtin() { " (replaces the built-in rule)" } else { "" };
        let title = format!("{}{experimental}{replaces}", rule.title());
        [rule.id(), rule.category(), rule.for_each().name(), severity, &title].map(str::to_owned)
    };
    let rows: Vec<[String; 5]> = library.rules().iter().map(row).collect();
    table(std::iter::once(&heads).chain(&rows))
}

/// The same as one JSON object; `docs/json.md` documents it.
pub fn rule_list_json(library: &Library, config: &Config) -> String {
    let rules: Vec<Value> = library.rules().iter().map(|rule| object(rule, config)).collect();
    let list = json!({ "schema": "coldspot.rules/1", "coldspot": env!("CARGO_PKG_VERSION"), "rules": rules });
    escape::json(format!("{list:#}\n"))
}

fn object(rule: &Rule, config: &Config) -> Value {
    let params: Vec<Value> = rule.params().iter().map(|param| of_param(rule, param, config)).collect();
    let needs: Vec<String> = rule.needs().iter().map(ToString::to_string).collect();
    let mut object = json!({
        "id": rule.id(),
        "title": rule.title(),
        "category": rule.category(),
        "entity": rule.for_each().name(),
        "experimental": rule.status() == Status::Experimental,
        "once": rule.once(),
        "off": config.off().contains(rule.id()),
        "file": rule.file(),
        "replaces_builtin": rule.replaces_builtin(),
        "needs": needs,
        "params": params,
    });
    let severity = config.severity(rule.id()).or(rule.severity());
    enter(&mut object, "severity", severity.map(Severity::name).map(Value::from));
    enter(&mut object, "account", rule.claims().map(|account| Value::from(account.id())));
    enter(&mut object, "collect", rule.capture().map(Value::from));
    object
}

fn of_param(rule: &Rule, param: &Param, config: &Config) -> Value {
    let mut object = json!({ "name": param.name, "default": param.default, "unit": param.unit, "doc": param.doc });
    enter(&mut object, "set", config.params().get(rule.id(), &param.name).map(|value| json!(value)));
    object
}

/// What is absent is left out.
fn enter(object: &mut Value, key: &str, value: Option<Value>) {
    let entries: Option<&mut Map<String, Value>> = object.as_object_mut();
    if let (Some(entries), Some(value)) = (entries, value) {
        entries.insert(key.to_owned(), value);
    }
}
