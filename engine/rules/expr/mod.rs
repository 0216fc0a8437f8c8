//! The expression language: minijinja, strict, with a closed list of filters, tests and functions.
//!
//! | | |
//! | --- | --- |
//! | operators | `+ - * / // % and or not == != < <= > >= in`, `a if c else b` |
//! | functions | `min(a, b, …)`, `max(a, b, …)`, `matches(text, pattern, …)` |
//! | filters | `default(x)` for an optional fact, `lower` for text |
//! | tests | `is defined`, `is undefined` for an optional fact |
//! | filters in texts only | `duration instant bytes percent gb_per_s rate ratio count code text` |

pub(super) mod syntax;

use std::cmp::Ordering;
use std::fmt;
use std::sync::{LazyLock, OnceLock};

use super::depth::Depth;
use crate::limits::MAX_EXPRESSION_STEP_COUNT;
use crate::text::glob::Glob;
use crate::text::tags;
use minijinja::value::{Rest, Value, ValueKind};

use minijinja::{Environment, Error, ErrorKind, Expression, UndefinedBehavior, filters, tests};

pub(super) const FUNCTIONS: [&str; 3] = [MATCHES, "max", "min"];
pub(super) const MATCHES: &str = "matches";
pub(super) const TESTS: [&str; 2] = ["defined", "undefined"];
pub(super) const FILTERS: [&str; 2] = ["default", "lower"];

static LANGUAGE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::empty();
    install(&mut environment);
    environment
});

/// Gives an environment what expressions may use.
pub(super) fn install(environment: &mut Environment<'static>) {
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(MAX_EXPRESSION_STEP_COUNT));
    environment.add_filter("default", filters::default);
    environment.add_filter("lower", filters::lower);
    environment.add_test("defined", tests::is_defined);
    environment.add_test("undefined", tests::is_undefined);
    environment.add_function(MATCHES, |text: &str, patterns: Rest<Value>| fits(text, &patterns));
    environment.add_function("min", |numbers: Rest<Value>| extreme(&numbers, Ordering::Less));
    environment.add_function("max", |numbers: Rest<Value>| extreme(&numbers, Ordering::Greater));
}

/// Whether a text fits a pattern, or one of a list of them.
fn fits(text: &str, patterns: &[Value]) -> Result<bool, Error> {
    for pattern in patterns {
        let is_list = pattern.kind() == ValueKind::Seq;
        let one_of_them = |pattern: Value| pattern.as_str().is_some_and(|pattern| Glob::new(pattern).matches(text));
        let found = match is_list {
            true => pattern.try_iter()?.any(one_of_them),
            false => one_of_them(pattern.clone()),
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

fn extreme(numbers: &[Value], wanted: Ordering) -> Result<Value, Error> {
    let mut best: Option<(f64, &Value)> = None;
    for value in numbers {
        let number = real(value)?;
        if best.is_none_or(|(known, _)| number.total_cmp(&known) == wanted) {
            best = Some((number, value));
        }
    }
    best.map(|(_, value)| value.clone()).ok_or_else(|| wrong("min and max need a number"))
}

/// The finite number that a value is.
pub(super) fn real(value: &Value) -> Result<f64, Error> {
    if value.kind() != ValueKind::Number {
        return Err(wrong(format!("a number was expected, not {}", value.kind())));
    }
    let number = f64::try_from(value.clone())?;
    if number.is_finite() { Ok(number) } else { Err(wrong("the number is not finite")) }
}

/// The nearest whole number that a value is.
pub(super) fn whole(value: &Value) -> Result<i64, Error> {
    let number = real(value)?;
    if value.is_integer() {
        return i64::try_from(value.clone());
    }
    let rounded = number.round();
    // i64::MAX is not a float: the nearest one lies above it.
    if rounded.abs() >= i64::MAX as f64 {
        return Err(wrong("the number is too large"));
    }
    Ok(rounded as i64)
}

pub(super) fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

/// The message of an error, without the name of the template.
pub(super) fn message(error: &Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
}

/// A compiled expression.
pub(super) struct Program {
    /// Of a built-in rule compiled when it is first evaluated: most rules are done with after their condition.
    program: OnceLock<Result<Expression<'static, 'static>, Error>>,
    pub(super) source: String,
    /// The rule's values that it names.
    pub(super) values: Vec<usize>,
    /// At least as many as an evaluation takes, as nothing in an expression is repeated.
    pub(super) steps: u64,
}

fn compiled(source: &str) -> Result<Expression<'static, 'static>, Error> {
    LANGUAGE.compile_expression_owned(source.to_owned())
}

/// What it is compiled to says nothing more than its source.
impl fmt::Debug for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, values, steps, .. } = self;
        out.debug_struct("Program").field("source", source).field("values", values).field("steps", steps).finish()
    }
}

impl Program {
    /// Of an expression that has been read: it is compiled at once where it is to be checked as a whole.
    pub(super) fn new(source: &str, values: Vec<usize>, depth: Depth) -> Result<Self, Error> {
        let program = match depth {
            Depth::Whole => OnceLock::from(Ok(compiled(source)?)),
            Depth::Judging => OnceLock::new(),
        };
        Ok(Self { program, source: source.to_owned(), values, steps: tags::expression_size(source) })
    }

    /// The result, or what went wrong, with the expression.
    pub(super) fn value(&self, scope: &Value) -> Result<Value, String> {
        let program = self.program.get_or_init(|| compiled(&self.source)).as_ref();
        let value = program.map_err(|error| self.blame(error))?.eval(scope.clone());
        let value = value.map_err(|error| self.blame(&error))?;
        if value.is_number() {
            real(&value).map_err(|error| self.blame(&error))?;
        }
        Ok(value)
    }

    /// The result as a condition: operands are never taken for one.
    pub(super) fn holds(&self, scope: &Value) -> Result<bool, String> {
        let value = self.value(scope)?;
        bool::try_from(value.clone())
            .ok()
            .filter(|_| value.kind() == ValueKind::Bool)
            .ok_or_else(|| format!("`{}` gives {}, not true or false", self.source, value.kind()))
    }

    /// The result as a whole number.
    pub(super) fn whole(&self, scope: &Value) -> Result<i64, String> {
        whole(&self.value(scope)?).map_err(|error| self.blame(&error))
    }

    fn blame(&self, error: &Error) -> String {
        format!("`{}`: {}", self.source, message(error))
    }
}
