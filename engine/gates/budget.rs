//! Budgets: how far a number may go, as users write it.

use super::limit::Limit;
use super::named::Named;
use crate::compare::State;
use crate::facts::EntityKind;
use crate::facts::catalogue::{self, Fact, FactType, Scaling, Unit};
use crate::ledger::Account;
use crate::limits::{MAX_PATTERN_BUDGET_COUNT, MAX_PATTERN_STAR_COUNT};
use crate::text::nearest::nearest;

/// Budgets in the order in which they were set. A number may have one limit of each kind: against the base, from above,
/// from below, and an exact one.
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
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Metric {
    /// The mean time of a step, without warm-up.
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
    /// A fact of the kernels or ranges that fit a pattern.
    Named(Named),
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
    /// Two limits that say the same in two ways, or contradict each other.
    #[error("budget `{name}`: there are two limits of the same kind, `{}` and `{}`: write one of them", .texts[0], .texts[1])]
    Duplicate {
        /// The name.
        name: String,
        /// The limits.
        texts: [String; 2],
    },
    /// A pattern over names that would take long.
    #[error("budget `{name}`: a pattern has at most {MAX_PATTERN_STAR_COUNT} `*`")]
    Pattern {
        /// The name.
        name: String,
    },
    /// Too many patterns over names.
    #[error("budget `{name}`: there are more than {MAX_PATTERN_BUDGET_COUNT} budgets of kernels or ranges by name")]
    TooMany {
        /// The name.
        name: String,
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
    ("copy.exposed_ns", Account::ExposedCopy.fact()),
    ("copy.bytes", "copy_bytes"),
    ("copy.count", "copy_count"),
    ("communication.exposed_ns", Account::ExposedCommunication.fact()),
    ("communication.count", "communication_count"),
    ("kernel.count", "kernel_count"),
    ("kernel.sum_ns", "kernel_sum_ns"),
    ("idle_ns", Account::Idle.fact()),
];

impl Budgets {
    /// Adds a budget.
    ///
    /// # Errors
    /// When there is no such number, the limit cannot be read, or the number has one of the same kind already.
    pub fn add(&mut self, name: &str, limit: &str) -> Result<(), BudgetError> {
        let budget = Budget::parse(name.trim(), limit.trim())?;
        if let Some(other) = self.list.iter().find(|known| known.is_instead_of(&budget)) {
            let (name, texts) = (budget.name, [other.text.clone(), budget.text]);
            return Err(BudgetError::Duplicate { name, texts });
        }
        let is_named = |budget: &&Budget| matches!(budget.metric, Metric::Named(_));
        if is_named(&&budget) && self.list.iter().filter(is_named).count() >= MAX_PATTERN_BUDGET_COUNT {
            return Err(BudgetError::TooMany { name: budget.name });
        }
        self.list.push(budget);
        Ok(())
    }

    /// Adds a budget from `NAME=LIMIT`.
    ///
    /// # Errors
    /// The same, and when there is no `=`.
    pub fn add_pair(&mut self, pair: &str) -> Result<(), BudgetError> {
        // `device.idle_share<=0.15` is as clear.
        // A pattern may hold any of these: `kernel["void f<*>"].mean_ns=+5%`.
        let from = pair.rfind("].").unwrap_or(0);
        let end =
            pair[from..].find(['=', '<', '>']).ok_or_else(|| BudgetError::Shape { text: pair.to_owned() })? + from;
        let (name, limit) = pair.split_at(end);
        self.add(name, limit.strip_prefix('=').unwrap_or(limit))
    }

    /// Puts others beside these, or in the place of those that limit the same number in the same way.
    pub fn replace_with(&mut self, others: Self) {
        for budget in others.list {
            match self.list.iter_mut().find(|known| known.is_instead_of(&budget)) {
                Some(known) => *known = budget,
                None => self.list.push(budget),
            }
        }
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
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map_or_else(String::new, |known| format!(", did you mean `{known}`?"));
            BudgetError::Unknown { name: name.to_owned(), hint }
        })?;
        if let Metric::Named(named) = &metric
            && named.star_count() > MAX_PATTERN_STAR_COUNT
        {
            return Err(BudgetError::Pattern { name: name.to_owned() });
        }
        let wrong = |problem| BudgetError::Limit { name: name.to_owned(), text: text.to_owned(), problem };
        let limit = Limit::parse(text, metric.unit()).map_err(wrong)?;
        if limit.is_relative() && metric.scaling() == Scaling::Incomparable {
            let problem =
                "the number is a moment or an id, of which two reports have no more or less; write `<=` or `>=`";
            return Err(wrong(problem.to_owned()));
        }
        Ok(Self { name: name.to_owned(), text: text.to_owned(), metric, limit })
    }

    fn is_instead_of(&self, other: &Self) -> bool {
        self.metric == other.metric && self.limit.kind() == other.limit.kind()
    }
}

/// The fact behind the share of a device's window: an account, or its busy time.
fn fact_of_share(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix("_share")?;
    if name == "busy" { Some("busy_ns") } else { Account::parse(name).map(Account::fact) }
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
        if let Some(named) = Named::parse(name) {
            return Some(Self::Named(named));
        }
        let (kind, fact) = name.split_once('.')?;
        match kind {
            "findings" => State::ALL.into_iter().find(|state| state.name() == fact).map(Self::Findings),
            "run" => numbers(EntityKind::Run).find(|known| known.name == fact).map(Self::Run),
            "device" => {
                device(fact).map(Self::Device).or_else(|| fact_of_share(fact).and_then(device).map(Self::Share))
            }
            _ => None,
        }
    }

    fn names() -> Vec<String> {
        let own = ["step_time", "window_time"].into_iter().chain(SUMS.iter().map(|(name, _)| *name)).map(str::to_owned);
        let findings = State::ALL.into_iter().map(|state| format!("findings.{}", state.name()));
        let run = numbers(EntityKind::Run).map(|fact| format!("run.{}", fact.name));
        let device = numbers(EntityKind::Device).map(|fact| format!("device.{}", fact.name));
        let shares = Account::all().map(|account| format!("device.{}_share", account.id()));
        own.chain(findings).chain(run).chain(device).chain(shares).collect()
    }

    /// Whether it is time that a device was idle for what the host did.
    pub(super) fn is_of_idle_activity(&self) -> bool {
        let (Self::Sum(fact) | Self::Device(fact) | Self::Share(fact)) = self else { return false };
        let account = Account::all().find(|account| account.fact() == fact.name);
        account.and_then(Account::parent) == Some(Account::Idle)
    }

    /// How it goes with the amount of work.
    pub(super) fn scaling(&self) -> Scaling {
        match self {
            Self::StepTime | Self::Findings(_) | Self::Share(_) => Scaling::Intensive,
            Self::WindowTime => Scaling::ExtensiveWithGaps,
            Self::Sum(fact) | Self::Device(fact) | Self::Run(fact) => fact.scaling,
            Self::Named(named) => named.fact.scaling,
        }
    }

    pub(super) fn unit(&self) -> Unit {
        match self {
            Self::StepTime | Self::WindowTime => Unit::Ns,
            Self::Findings(_) => Unit::Count,
            Self::Share(_) => Unit::Share,
            Self::Sum(fact) | Self::Device(fact) | Self::Run(fact) => fact.unit(),
            Self::Named(named) => named.fact.unit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::limit::Ordering;
    use super::*;

    fn limit(name: &str, text: &str) -> Result<Limit, String> {
        let mut budgets = Budgets::default();
        budgets.add(name, text).map_err(|error| error.to_string())?;
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
    fn kernels_and_ranges_are_limited_by_patterns() {
        let mut budgets = Budgets::default();
        budgets.add_pair("kernel[\"void f<*>\"].mean_ns=+5%").unwrap();
        budgets.add("range['forward'].sum_ns", "<= 3ms").unwrap();
        let all: Vec<(&str, Limit)> = budgets.iter().map(|budget| (budget.name.as_str(), budget.limit)).collect();
        assert_eq!(
            all,
            [
                ("kernel[\"void f<*>\"].mean_ns", Limit::ByShare(0.05)),
                ("range['forward'].sum_ns", Limit::Fixed(Ordering::AtMost, 3e6)),
            ]
        );
        for wrong in
            ["kernel[flash].mean_ns", "kernel[\"x\"].name", "kernel[\"\"].mean_ns", "stream[\"x\"].busy_ns", "kernel"]
        {
            assert!(limit(wrong, "+5%").unwrap_err().contains("there is no such number"), "{wrong}");
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
    fn a_number_has_one_limit_of_each_kind_and_the_command_line_goes_before_the_file() {
        let of = |pairs: &[&str]| {
            let mut budgets = Budgets::default();
            pairs.iter().try_for_each(|pair| budgets.add_pair(pair)).map(|()| budgets)
        };
        let mut file =
            of(&["step_time=+5%", "step_time<=100ms", "device.idle_share<=0.2", "findings.new = 0"]).unwrap();
        file.replace_with(of(&["step_time=-1ms", "device.idle_share=>= 0.01", "findings.new=3"]).unwrap());
        let all: Vec<(&str, &str)> = file.iter().map(|budget| (budget.name.as_str(), budget.text.as_str())).collect();
        assert_eq!(
            all,
            [
                ("step_time", "-1ms"),
                ("step_time", "<=100ms"),
                ("device.idle_share", "<=0.2"),
                ("findings.new", "3"),
                ("device.idle_share", ">= 0.01"),
            ]
        );
        for twice in [["step_time=+5%", "step_time=+1ms"], ["step_time<1s", "step_time<=2s"]] {
            assert!(matches!(of(&twice), Err(BudgetError::Duplicate { .. })), "{twice:?}");
        }
        assert!(matches!(of(&["step_time"]), Err(BudgetError::Shape { .. })));
    }

    #[test]
    fn limits_that_mean_something_else_than_they_say_are_refused() {
        for (name, text, hint) in [
            ("device.idle_share", "15", "write `15%` or `0.15`"),
            ("device.idle_share", "+2", "write `2%` or `0.02`"),
            ("step_time", "5", "write `5ms`"),
            ("device.idle_ns", "<=5", "a time needs a unit"),
            ("device.window_start_ns", "+5%", "a moment or an id"),
            ("device.number", "+1", "a moment or an id"),
        ] {
            let message = limit(name, text).unwrap_err();
            assert!(message.contains(hint), "{name} {text}: {message}");
        }
        assert_eq!(limit("device.idle_ns", "<= 0"), Ok(Limit::Fixed(Ordering::AtMost, 0.0)));
        assert_eq!(limit("device.idle_share", "1"), Ok(Limit::Fixed(Ordering::AtMost, 1.0)));
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
