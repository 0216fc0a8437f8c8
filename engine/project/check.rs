//! Holds what a `coldspot.toml` says against the rules and the scorecard in use.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use crate::compare::Terms;
use crate::findings::{Ignore, Scorecard};
use crate::gates::{Budgets, FailOn, Threshold};
use crate::limits::{MAX_CONFIG_ENTRY_COUNT, MAX_PATTERN_BYTES};
use crate::rules::fault::{Faults, Log};
use crate::rules::outcome::Severity;
use crate::rules::{Library, Params, Rule};
use crate::text::date::Date;
use crate::text::glob::Glob;
use crate::text::nearest::did_you_mean;

use super::raw::{RawCompare, RawIgnore, Text};
use super::{Config, ConfigFile, sources};

pub(super) fn check(
    file: &ConfigFile,
    library: &Library,
    scorecard: &Scorecard,
    today: Date,
) -> Result<Config, Faults> {
    let mut checker = Checker { library, log: Log::new(&file.name, &file.source) };
    checker.log.faults.clone_from(&file.faults);
    checker.folders(file);
    let raw = &file.raw;
    let config = Config {
        params: checker.params(file),
        severities: checker.severities(&raw.severity),
        off: checker.off(&raw.rules.off),
        ignores: checker.ignores(&raw.ignore, today),
        targets: checker.targets(file, scorecard),
        fail_on: raw.review.fail_on.as_ref().and_then(|word| checker.fail_on(word)),
        compare_fail_on: raw.compare.fail_on.as_ref().and_then(|word| checker.compare_fail_on(word)),
        terms: checker.terms(&raw.compare),
        budgets: checker.budgets(&raw.budgets),
        sources: sources::check(&raw.source, &mut checker.log),
    };
    Faults::check(checker.log.faults)?;
    Ok(config)
}

struct Checker<'a> {
    library: &'a Library,
    log: Log<'a>,
}

impl<'a> Checker<'a> {
    fn folders(&mut self, file: &ConfigFile) {
        for dir in file.raw.rules.dirs.iter().chain(&file.raw.templates) {
            if !file.path(dir.get_ref()).is_dir() {
                let folder = file.folder.display();
                self.log.at(dir.span(), format!("there is no folder `{}` in {folder}", dir.get_ref()));
            }
        }
    }

    fn rule(&mut self, id: &Text) -> Option<&'a Rule> {
        let rule = self.library.rule(id.get_ref());
        if rule.is_none() && !self.log.is_full() {
            let near = did_you_mean(id.get_ref(), self.library.rules().iter().map(Rule::id));
            self.log.at(id.span(), format!("there is no rule `{}`{near}", id.get_ref()));
        }
        rule
    }

    fn params(&mut self, file: &ConfigFile) -> Params {
        let mut params = Params::default();
        for (id, values) in &file.raw.params {
            let Some(rule) = self.rule(id) else { continue };
            for (name, value) in values {
                match crate::rules::read_param(rule, name.get_ref(), value.get_ref()) {
                    Ok(value) => params.set(rule.id(), name.get_ref(), value),
                    Err(message) => self.log.at(name.span(), message),
                }
            }
        }
        params
    }

    fn severities(&mut self, raw: &BTreeMap<Text, Text>) -> BTreeMap<String, Severity> {
        let mut severities = BTreeMap::new();
        for (id, word) in raw {
            self.rule(id);
            let known = Severity::ALL.map(|severity| (severity.name(), severity));
            if let Some(severity) = self.one_of("severity", word, &known) {
                severities.insert(id.get_ref().clone(), severity);
            }
        }
        severities
    }

    fn off(&mut self, raw: &[Text]) -> BTreeSet<String> {
        for id in raw {
            self.rule(id);
        }
        raw.iter().map(|id| id.get_ref().clone()).collect()
    }

    fn fail_on(&mut self, word: &Text) -> Option<Threshold> {
        self.one_of("fail_on", word, &Threshold::WORDS)
    }

    fn compare_fail_on(&mut self, word: &Text) -> Option<FailOn> {
        let found = FailOn::parse(word.get_ref());
        found.map_err(|problem| self.log.at(word.span(), problem)).ok()
    }

    fn terms(&mut self, raw: &RawCompare) -> Terms {
        let noise_share = raw.noise.as_ref().and_then(|value| {
            let noise = share(value);
            if noise.is_none() {
                self.log.at(value.span(), "`compare.noise` is a share: between 0 and 1".to_owned());
            }
            noise
        });
        let work = raw.work.as_ref().and_then(|word| self.one_of("work", word, &[("detect", false), ("same", true)]));
        Terms { noise_share, same_work: work.unwrap_or(false) }
    }

    fn one_of<T: Copy>(&mut self, what: &str, word: &Text, known: &[(&str, T)]) -> Option<T> {
        let found = known.iter().find(|(name, _)| name == word.get_ref()).map(|(_, value)| *value);
        if found.is_none() {
            let near = did_you_mean(word.get_ref(), known.iter().map(|(name, _)| *name));
            self.log.at(word.span(), format!("unknown {what} `{}`{near}", word.get_ref()));
        }
        found
    }

    fn targets(&mut self, file: &ConfigFile, scorecard: &Scorecard) -> BTreeMap<String, f64> {
        let mut targets = BTreeMap::new();
        for (id, value) in &file.raw.scorecard {
            let name = id.get_ref();
            if !self.log.is_full() && !scorecard.ids().any(|known| known == name) {
                let near = did_you_mean(name, scorecard.ids());
                self.log.at(id.span(), format!("the scorecard has no `{name}`{near}"));
            }
            match share(value) {
                Some(share) => {
                    targets.insert(name.clone(), share);
                }
                None => self.log.at(value.span(), format!("`scorecard.{name}` is a share: between 0 and 1")),
            }
        }
        targets
    }

    fn budgets(&mut self, raw: &BTreeMap<Text, Spanned<toml::Value>>) -> Budgets {
        let mut budgets = Budgets::default();
        for (name, value) in raw {
            self.budget(&mut budgets, name.get_ref(), value.get_ref(), name.span());
            if budgets.iter().count() > MAX_CONFIG_ENTRY_COUNT {
                self.log.at(name.span(), format!("there are more than {MAX_CONFIG_ENTRY_COUNT} budgets"));
                break;
            }
        }
        budgets
    }

    /// `findings.new = 0` without quotes is a table in a table to TOML.
    fn budget(&mut self, budgets: &mut Budgets, name: &str, value: &toml::Value, span: std::ops::Range<usize>) {
        if budgets.iter().count() > MAX_CONFIG_ENTRY_COUNT || self.log.is_full() {
            return;
        }
        let limit = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Table(table) => {
                for (key, value) in table {
                    self.budget(budgets, &format!("{name}.{key}"), value, span.clone());
                }
                return;
            }
            toml::Value::Array(limits) if limits.iter().all(|limit| limit.is_str()) => {
                for limit in limits {
                    self.budget(budgets, name, limit, span.clone());
                }
                return;
            }
            _ => {
                let message = format!("budget `{name}` is a limit such as \"+5%\", a number, or a list of limits");
                return self.log.at(span, message);
            }
        };
        if let Err(error) = budgets.add(name, &limit) {
            self.log.at(span, error.to_string());
        }
    }

    fn ignores(&mut self, raw: &[RawIgnore], today: Date) -> Vec<Ignore> {
        if let Some(beyond) = raw.get(MAX_CONFIG_ENTRY_COUNT) {
            self.log.at(beyond.rule.span(), format!("there are more than {MAX_CONFIG_ENTRY_COUNT} ignores"));
        }
        raw.iter().take(MAX_CONFIG_ENTRY_COUNT).filter_map(|ignore| self.ignore(ignore, today)).collect()
    }

    fn ignore(&mut self, raw: &RawIgnore, today: Date) -> Option<Ignore> {
        let rule = self.rule(&raw.rule).map(|rule| rule.id().to_owned());
        let reason = raw.reason.as_ref().map(|reason| reason.get_ref().trim().to_owned());
        let reason = reason.filter(|reason| !reason.is_empty());
        if reason.is_none() {
            let span = raw.reason.as_ref().map_or(raw.rule.span(), Spanned::span);
            self.log.at(span, "an ignore needs a `reason`: it is shown in every review");
        }
        if let Some(long) = raw.entity.as_ref().filter(|pattern| pattern.get_ref().len() > MAX_PATTERN_BYTES) {
            self.log.at(long.span(), format!("a pattern has at most {MAX_PATTERN_BYTES} bytes"));
        }
        let until = raw.until.as_ref().map(|until| (until, date(until.get_ref())));
        if let Some((written, None)) = until {
            self.log.at(written.span(), "`until` is a day, written as \"2026-12-31\"");
        }
        let until = until.and_then(|(_, date)| date);
        Some(Ignore {
            rule: rule?,
            entity: raw.entity.as_ref().map(|pattern| Glob::new(pattern.get_ref())),
            reason: reason?,
            until: until.map(|date| date.to_string()),
            is_expired: until.is_some_and(|last| today > last),
        })
    }
}

fn share(value: &Spanned<toml::Value>) -> Option<f64> {
    let number = match value.get_ref() {
        toml::Value::Integer(number) => *number as f64,
        toml::Value::Float(number) => *number,
        _ => return None,
    };
    (0.0..=1.0).contains(&number).then_some(number)
}

/// A day as a string, or as TOML's own.
fn date(value: &toml::Value) -> Option<Date> {
    match value {
        toml::Value::String(text) => Date::parse(text),
        toml::Value::Datetime(day) => Date::parse(&day.to_string()),
        _ => None,
    }
}
