//! Checks what is called in an expression: `min`, `max` and `matches`.

use crate::text::glob::Glob;
use crate::text::nearest::{did_you_mean, listed};

use super::super::expr::syntax::{Argument, Expr};
use super::super::expr::{FUNCTIONS, MATCHES};
use super::types::{Dimension, Type};
use super::walk::Walk;

impl Walk<'_> {
    pub(super) fn call(&mut self, function: Option<&str>, arguments: &[Argument<'_>]) -> Option<Type> {
        let name = match function {
            Some(name) if FUNCTIONS.contains(&name) => name,
            Some(name) => return self.fault(format!("unknown function `{name}`{}", did_you_mean(name, FUNCTIONS))),
            None => return self.fault("methods are not part of the language"),
        };
        if name == MATCHES {
            return self.matches(arguments);
        }
        let mut joined: Option<Dimension> = None;
        for argument in arguments {
            let Argument::Positional(argument) = argument else {
                return self.fault(format!("`{name}` takes numbers only"));
            };
            let dimension = self.number(argument)?;
            let known = joined.unwrap_or(dimension);
            self.bare_literal(&Type::Number(known), &Type::Number(dimension));
            joined = match known.join(dimension) {
                Some(dimension) => Some(dimension),
                None => {
                    return self.fault(format!("`{name}` is given {} and {}", known.name(), dimension.name()));
                }
            };
        }
        match joined {
            Some(dimension) if arguments.len() > 1 => Some(Type::Number(dimension)),
            _ => self.fault(format!("`{name}` needs two numbers or more")),
        }
    }

    /// `matches(text, pattern, …)`: each pattern a text or a list of them.
    fn matches(&mut self, arguments: &[Argument<'_>]) -> Option<Type> {
        let [Argument::Positional(text), patterns @ ..] = arguments else {
            return self.fault("`matches` needs a text and patterns: `matches(kernel.name, 'gemm*')`");
        };
        let kind = self.type_of(text)?;
        if !matches!(kind, Type::Text | Type::Choice(_)) {
            return self.fault(format!("`matches` looks at a text, not at {}", kind.name()));
        }
        if patterns.is_empty() {
            return self.fault("`matches` needs a pattern behind the text: `matches(kernel.name, 'gemm*')`");
        }
        for pattern in patterns {
            let Argument::Positional(pattern) = pattern else {
                return self.fault("`matches` takes texts and lists of texts only");
            };
            match (self.pattern(pattern)?, &kind) {
                (Type::Literal(pattern), Type::Choice(known)) => {
                    let glob = Glob::new(&pattern);
                    if !known.iter().any(|value| glob.matches(value)) {
                        return self
                            .fault(format!("no value of the fact matches '{pattern}'; it is {}", listed(known)));
                    }
                }
                (Type::Text | Type::Texts | Type::Literal(_), _) => {}
                (other, _) => return self.fault(format!("a pattern is a text, not {}", other.name())),
            }
        }
        Some(Type::Bool)
    }

    /// The type of a pattern, which may be a list that is written out.
    fn pattern(&mut self, expr: &Expr<'_>) -> Option<Type> {
        let Expr::List(items) = expr else { return self.type_of(expr) };
        for item in items {
            match self.type_of(item)? {
                Type::Text | Type::Literal(_) => {}
                other => return self.fault(format!("a pattern is a text, not {}", other.name())),
            }
        }
        Some(Type::Texts)
    }
}
