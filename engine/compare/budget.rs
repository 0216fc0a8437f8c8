//! Budgets: how far a number may go, as users write it.

use super::finding::State;
use crate::facts::EntityKind;
use crate::facts::catalogue::{self, Fact, FactType, Unit};

/// Budgets in the order in which they were set; one set again replaces the former.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Budgets {
    list: Vec<Budget>,
}

/// A number, and how far it may go.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Its name as the user wrote it: `device.idle_share`.
    pub name: String,
    /// Its limit as the user wrote it: `<= 0.15`.
    pub text: String,
    pub(super) metric: Metric,
    pub(super) limit: Limit,
}

/// A number that can be limited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Metric {
    /// The time that the verdict is about, when it is a step's.
    StepTime,
    /// The window of the slowest device.
    WindowTime,
    /// How many findings are in a state.
    Findings(State),
    /// A fact, summed over the devices.
    Sum(&'static Fact),
    /// A fact of every device.
    Device(&'static Fact),
    /// The share of the window that an account of every device has.
    Share(&'static Fact),
    /// A fact of the run.
    Run(&'static Fact),
}

/// How far a number may go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// At most this much more than the base; less by at least as much when negative.
    By(f64),
    /// The same as a share of the base.
    ByShare(f64),
    /// Compared with a fixed number.
    Fixed(Ordering, f64),
}

/// The comparisons that a limit may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `=`
    Equal,
}

/// A budget that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// No number has that name.
    #[error(
        "budget `{name}`: there is no such number{hint}; `coldspot facts --list` names the facts, docs/compare.md the others"
    )]
    Unknown {
        /// The name.
        name: String,
        /// The nearest name, as a question.
        hint: String,
    },
    /// The limit cannot be read.
    #[error("budget `{name}`: `{text}` is no limit: {problem}")]
    Limit {
        /// The name.
        name: String,
        /// The limit.
        text: String,
        /// What to write.
        problem: String,
    },
    /// No `=` between name and limit.
    #[error("`{text}` is no budget: write NAME=LIMIT, such as step_time=+5%")]
    Shape {
        /// What was written.
        text: String,
    },
}

/// Names for what a reader would look for under them.
const SUMS: [(&str, &str); 8] = [
    ("copy.exposed_ns", "exposed_copy_ns"),
    ("copy.bytes", "copy_bytes"),
    ("copy.count", "copy_count"),
    ("communication.exposed_ns", "exposed_communication_ns"),
    ("communication.count", "communication_count"),
    ("kernel.count", "kernel_count"),
    ("kernel.sum_ns", "kernel_sum_ns"),
    ("idle_ns", "idle_ns"),
];

impl Budgets {
    /// Sets a budget.
    ///
    /// # Errors
    /// When there is no such number, or the limit cannot be read.
    pub fn set(&mut self, name: &str, limit: &str) -> Result<(), BudgetError> {
        let budget = Budget::parse(name.trim(), limit.trim())?;
        match self.list.iter_mut().find(|known| known.name == budget.name) {
            Some(known) => *known = budget,
            None => self.list.push(budget),
        }
        Ok(())
    }

    /// Sets a budget from `NAME=LIMIT`.
    ///
    /// # Errors
    /// The same, and when there is no `=`.
    pub fn set_pair(&mut self, pair: &str) -> Result<(), BudgetError> {
        // `device.idle_share<=0.15` is as clear.
        let place = pair.find(['=', '<', '>']).ok_or_else(|| BudgetError::Shape { text: pair.to_owned() })?;
        let (name, limit) = pair.split_at(place);
        self.set(name, limit.strip_prefix('=').unwrap_or(limit))
    }

    /// All budgets.
    pub fn iter(&self) -> impl Iterator<Item = &Budget> {
        self.list.iter()
    }
}

impl Budget {
    fn parse(name: &str, text: &str) -> Result<Self, BudgetError> {
        let metric = Metric::from_name(name).ok_or_else(|| {
            let names = Metric::names();
            let near = names.into_iter().map(|known| (strsim::jaro_winkler(&known, name), known));
            let near = near.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(likeness, _)| *likeness > 0.7);
            let hint = near.map_or_else(String::new, |(_, known)| format!(", did you mean `{known}`?"));
            BudgetError::Unknown { name: name.to_owned(), hint }
        })?;
        let limit = Limit::parse(text, metric.unit()).map_err(|problem| BudgetError::Limit {
            name: name.to_owned(),
            text: text.to_owned(),
            problem,
        })?;
        Ok(Self { name: name.to_owned(), text: text.to_owned(), metric, limit })
    }
}

fn numbers(kind: EntityKind) -> impl Iterator<Item = &'static Fact> {
    catalogue::of_kind(kind).filter(|fact| matches!(fact.kind, FactType::Int | FactType::Float))
}

impl Metric {
    fn from_name(name: &str) -> Option<Self> {
        let device = |fact: &str| numbers(EntityKind::Device).find(|known| known.name == fact);
        match name {
            "step_time" => return Some(Self::StepTime),
            "window_time" => return Some(Self::WindowTime),
            _ => {}
        }
        if let Some((_, fact)) = SUMS.iter().find(|(known, _)| *known == name) {
            return device(fact).map(Self::Sum);
        }
        let (kind, fact) = name.split_once('.')?;
        match kind {
            "findings" => State::ALL.into_iter().find(|state| state.name() == fact).map(Self::Findings),
            "run" => numbers(EntityKind::Run).find(|known| known.name == fact).map(Self::Run),
            "device" => device(fact).map(Self::Device).or_else(|| {
                let account = fact.strip_suffix("_share").filter(|account| is_account(account))?;
                device(&format!("{account}_ns")).map(Self::Share)
            }),
            _ => None,
        }
    }

    fn names() -> Vec<String> {
        let own = ["step_time", "window_time"].into_iter().chain(SUMS.iter().map(|(name, _)| *name)).map(str::to_owned);
        let findings = State::ALL.into_iter().map(|state| format!("findings.{}", state.name()));
        let run = numbers(EntityKind::Run).map(|fact| format!("run.{}", fact.name));
        let device = numbers(EntityKind::Device).map(|fact| format!("device.{}", fact.name));
        let shares = catalogue::accounts().map(|account| format!("device.{account}_share"));
        own.chain(findings).chain(run).chain(device).chain(shares).collect()
    }

    pub(super) fn unit(self) -> Unit {
        match self {
            Self::StepTime | Self::WindowTime => Unit::Ns,
            Self::Findings(_) => Unit::Count,
            Self::Share(_) => Unit::Share,
            Self::Sum(fact) | Self::Device(fact) | Self::Run(fact) => fact.unit(),
        }
    }
}

pub(super) fn is_account(name: &str) -> bool {
    catalogue::accounts().any(|account| account == name) || name == "busy"
}

impl Limit {
    fn parse(text: &str, unit: Unit) -> Result<Self, String> {
        const SIGNS: [(&str, Ordering); 6] = [
            ("<=", Ordering::AtMost),
            (">=", Ordering::AtLeast),
            ("==", Ordering::Equal),
            ("<", Ordering::Less),
            (">", Ordering::More),
            ("=", Ordering::Equal),
        ];
        if let Some((ordering, rest)) =
            SIGNS.into_iter().find_map(|(sign, ordering)| Some((ordering, text.strip_prefix(sign)?)))
        {
            return Ok(Self::Fixed(ordering, amount(rest.trim(), unit)?));
        }
        let sign = match text.chars().next() {
            Some('+') => 1.0,
            Some('-' | '\u{2212}') => -1.0,
            // A bare number is the most that is allowed.
            _ => return Ok(Self::Fixed(Ordering::AtMost, amount(text, unit)?)),
        };
        let rest = text.strip_prefix(['+', '-', '\u{2212}']).unwrap_or(text).trim();
        match rest.strip_suffix('%') {
            Some(percent) => Ok(Self::ByShare(sign * number(percent.trim())? / 100.0)),
            None => Ok(Self::By(sign * amount(rest, unit)?)),
        }
    }

    /// Whether a head's number is within it; `None` when the base's number is needed and is not there.
    pub(super) fn holds(self, base: Option<f64>, head: f64) -> Option<bool> {
        match self {
            Self::By(most) => base.map(|base| head - base <= most),
            Self::ByShare(most) => base.map(|base| head - base <= most * base.abs()),
            Self::Fixed(Ordering::Less, limit) => Some(head < limit),
            Self::Fixed(Ordering::AtMost, limit) => Some(head <= limit),
            Self::Fixed(Ordering::More, limit) => Some(head > limit),
            Self::Fixed(Ordering::AtLeast, limit) => Some(head >= limit),
            #[allow(clippy::float_cmp, reason = "the user asks for this very number")]
            Self::Fixed(Ordering::Equal, limit) => Some(head == limit),
        }
    }

    pub(super) fn is_relative(self) -> bool {
        !matches!(self, Self::Fixed(..))
    }
}

fn number(text: &str) -> Result<f64, String> {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_');
    let parsed = text.replace('_', "").parse::<f64>().ok().filter(|number| is_plain && number.is_finite());
    parsed.ok_or_else(|| "write it like `+5%`, `+10ms`, `<= 0.15` or `0`".to_owned())
}

/// A number in the unit of what it limits.
fn amount(text: &str, unit: Unit) -> Result<f64, String> {
    let units: &[(&str, f64)] = match unit {
        Unit::Ns => &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)],
        Unit::Bytes => &[("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("B", 1.0)],
        Unit::Share => &[("%", 0.01)],
        _ => &[],
    };
    let named = units.iter().find_map(|(name, size)| Some((text.strip_suffix(name)?, *size)));
    let (digits, size) = named.unwrap_or((text, 1.0));
    number(digits.trim()).map(|number| number * size).map_err(|problem| match unit {
        Unit::Ns => format!("{problem}; times are in ns, us, ms or s"),
        Unit::Bytes => format!("{problem}; sizes are in B, kB, MB or GB"),
        _ => problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(name: &str, text: &str) -> Result<Limit, String> {
        let mut budgets = Budgets::default();
        budgets.set(name, text).map_err(|error| error.to_string())?;
        Ok(budgets.list[0].limit)
    }

    #[test]
    fn limits_are_read_in_the_unit_of_their_number() {
        assert_eq!(limit("step_time", "+5%"), Ok(Limit::ByShare(0.05)));
        assert_eq!(limit("step_time", "-5 %"), Ok(Limit::ByShare(-0.05)));
        assert_eq!(limit("copy.exposed_ns", "+10ms"), Ok(Limit::By(10e6)));
        assert_eq!(limit("device.copy_bytes", "<= 1.5 GB"), Ok(Limit::Fixed(Ordering::AtMost, 1.5e9)));
        assert_eq!(limit("device.idle_share", "<= 0.15"), Ok(Limit::Fixed(Ordering::AtMost, 0.15)));
        assert_eq!(limit("device.idle_share", "< 15%"), Ok(Limit::Fixed(Ordering::Less, 0.15)));
        assert_eq!(limit("findings.new", "0"), Ok(Limit::Fixed(Ordering::AtMost, 0.0)));
        assert_eq!(limit("findings.new", "= 0"), Ok(Limit::Fixed(Ordering::Equal, 0.0)));
        for (name, text) in [
            ("copy.bytes", "+10ms"),
            ("step_time", ""),
            ("step_time", "+"),
            ("step_time", "+-5%"),
            ("step_time", "<= inf"),
            ("run.kernel_count", "+5ms"),
        ] {
            assert!(limit(name, text).unwrap_err().contains("is no limit"), "{name} {text}");
        }
    }

    #[test]
    fn every_name_that_is_suggested_exists() {
        for name in Metric::names() {
            assert!(Metric::from_name(&name).is_some(), "{name}");
        }
        for (wrong, near) in
            [("step_tme", "step_time"), ("device.idel_share", "device.idle_share"), ("findings.nwe", "findings.new")]
        {
            let message = limit(wrong, "+5%").unwrap_err();
            assert!(message.contains(&format!("did you mean `{near}`?")), "{message}");
        }
        assert!(limit("device.name", "0").is_err(), "a string has no budget");
    }

    #[test]
    fn pairs_may_hold_a_sign_of_their_own() {
        let mut budgets = Budgets::default();
        for pair in ["step_time=+5%", "device.idle_share=<= 0.15", "device.idle_share<=0.2", "findings.new = 0"] {
            budgets.set_pair(pair).unwrap();
        }
        let all: Vec<(&str, &str)> =
            budgets.iter().map(|budget| (budget.name.as_str(), budget.text.as_str())).collect();
        assert_eq!(all, [("step_time", "+5%"), ("device.idle_share", "<=0.2"), ("findings.new", "0")]);
        assert!(matches!(budgets.set_pair("step_time"), Err(BudgetError::Shape { .. })));
    }

    #[test]
    fn limits_hold_up_to_their_edge() {
        assert_eq!(Limit::ByShare(0.05).holds(Some(100.0), 105.0), Some(true));
        assert_eq!(Limit::ByShare(0.05).holds(Some(100.0), 105.1), Some(false));
        assert_eq!(Limit::ByShare(-0.05).holds(Some(100.0), 96.0), Some(false));
        assert_eq!(Limit::By(10.0).holds(None, 5.0), None);
        assert_eq!(Limit::Fixed(Ordering::AtMost, 0.15).holds(None, 0.15), Some(true));
    }
}
