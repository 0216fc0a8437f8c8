//! The syntax tree of expressions and texts: a small one of our own, made of minijinja's.
//!
//! minijinja gives its tree without a promise for the next version (`unstable_machinery`). No other file touches it: an
//! upgrade changes this one.

use minijinja::machinery::{ast, parse, parse_expr};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};

use super::message;
use crate::text::cut;

/// Bytes that are shown of what follows where reading stopped.
const MAX_SHOWN_BYTES: usize = 30;

/// An expression.
#[derive(Debug)]
pub(in crate::rules) enum Expr<'a> {
    Literal(Literal),
    /// A name alone.
    Variable(&'a str),
    /// `of.name`
    Attribute {
        of: Box<Self>,
        name: &'a str,
    },
    Not(Box<Self>),
    Negative(Box<Self>),
    Logical(Logic, Box<[Self; 2]>),
    Arithmetic(Arithmetic, Box<[Self; 2]>),
    /// `first < second <= third`: each operand is compared with the one before it.
    Compared {
        first: Box<Self>,
        rest: Vec<(Comparison, Self)>,
    },
    /// `yes if condition else no`
    Choice(Box<Choice<'a>>),
    /// `of | name(arguments)`
    Filter(Box<Filter<'a>>),
    /// `of is name`
    Test {
        of: Box<Self>,
        name: &'a str,
    },
    /// The name is absent for what is no plain function.
    Call {
        function: Option<&'a str>,
        arguments: Vec<Argument<'a>>,
    },
    List(Vec<Self>),
    /// What the language does without.
    Unsupported(Unsupported),
}

/// A value that is written out.
#[derive(Debug)]
pub(in crate::rules) enum Literal {
    Bool,
    Number(f64),
    Text(String),
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum Logic {
    And,
    Or,
}

/// What is done with two numbers; both divisions are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum Comparison {
    /// `==` and `!=`
    Equality,
    /// `<`, `<=`, `>` and `>=`
    Order,
    /// `in` and `not in`
    Membership,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum Unsupported {
    /// `**` and `~`
    Operator,
    /// `[ ]` behind something
    Index,
    Map,
}

#[derive(Debug)]
pub(in crate::rules) struct Choice<'a> {
    pub(in crate::rules) condition: Expr<'a>,
    pub(in crate::rules) yes: Expr<'a>,
    pub(in crate::rules) no: Option<Expr<'a>>,
}

#[derive(Debug)]
pub(in crate::rules) struct Filter<'a> {
    pub(in crate::rules) of: Expr<'a>,
    pub(in crate::rules) name: &'a str,
    pub(in crate::rules) arguments: Vec<Argument<'a>>,
}

#[derive(Debug)]
pub(in crate::rules) enum Argument<'a> {
    Positional(Expr<'a>),
    /// By name, or spread out of a list.
    Other,
}

/// A part of a text.
#[derive(Debug)]
pub(in crate::rules) enum Part<'a> {
    /// Printed as it is.
    Raw,
    /// `{{ … }}`
    Print(Expr<'a>),
    /// `{% if … %}`
    If { condition: Expr<'a>, yes: Vec<Self>, no: Vec<Self> },
    /// Any other tag.
    Unsupported,
}

/// Reads an expression.
///
/// # Errors
/// Why it cannot be read, and where, with what to write instead where that is known.
pub(in crate::rules) fn expression(source: &str) -> Result<Expr<'_>, String> {
    parse_expr(source).map(|tree| expr(&tree)).map_err(|error| unreadable(source, &error))
}

/// Reads a text with tags.
///
/// # Errors
/// The same.
pub(in crate::rules) fn text(source: &str) -> Result<Vec<Part<'_>>, String> {
    match parse(source, "text", SyntaxConfig::default()) {
        Ok(ast::Stmt::Template(template)) => Ok(parts(&template.children)),
        Ok(_) => Ok(vec![Part::Unsupported]),
        Err(error) => Err(unreadable(source, &error)),
    }
}

fn parts<'a>(statements: &[ast::Stmt<'a>]) -> Vec<Part<'a>> {
    statements.iter().map(part).collect()
}

fn part<'a>(statement: &ast::Stmt<'a>) -> Part<'a> {
    match statement {
        ast::Stmt::EmitRaw(_) => Part::Raw,
        ast::Stmt::EmitExpr(emit) => Part::Print(expr(&emit.expr)),
        ast::Stmt::IfCond(branch) => {
            Part::If { condition: expr(&branch.expr), yes: parts(&branch.true_body), no: parts(&branch.false_body) }
        }
        _ => Part::Unsupported,
    }
}

fn expr<'a>(tree: &ast::Expr<'a>) -> Expr<'a> {
    match tree {
        ast::Expr::Const(constant) => Expr::Literal(literal(&constant.value)),
        ast::Expr::Var(var) => Expr::Variable(var.id),
        ast::Expr::GetAttr(attribute) => Expr::Attribute { of: boxed(&attribute.expr), name: attribute.name },
        ast::Expr::UnaryOp(unary) => match unary.op {
            ast::UnaryOpKind::Not => Expr::Not(boxed(&unary.expr)),
            ast::UnaryOpKind::Neg => Expr::Negative(boxed(&unary.expr)),
        },
        ast::Expr::BinOp(operation) => binary(operation),
        ast::Expr::Compare(compare) => Expr::Compared {
            first: boxed(&compare.expr),
            rest: compare.ops.iter().map(|step| (comparison(step.op), expr(&step.expr))).collect(),
        },
        ast::Expr::IfExpr(choice) => Expr::Choice(Box::new(Choice {
            condition: expr(&choice.test_expr),
            yes: expr(&choice.true_expr),
            no: choice.false_expr.as_ref().map(expr),
        })),
        ast::Expr::Filter(filter) => match &filter.expr {
            Some(of) => {
                Expr::Filter(Box::new(Filter { of: expr(of), name: filter.name, arguments: arguments(&filter.args) }))
            }
            // Of a filter block only, which is no expression.
            None => Expr::Unsupported(Unsupported::Operator),
        },
        ast::Expr::Test(test) => Expr::Test { of: boxed(&test.expr), name: test.name },
        ast::Expr::Call(call) => Expr::Call {
            function: match &call.expr {
                ast::Expr::Var(var) => Some(var.id),
                _ => None,
            },
            arguments: arguments(&call.args),
        },
        ast::Expr::List(list) => Expr::List(list.items.iter().map(expr).collect()),
        ast::Expr::Tuple(tuple) => Expr::List(tuple.items.iter().map(expr).collect()),
        ast::Expr::GetItem(_) | ast::Expr::Slice(_) => Expr::Unsupported(Unsupported::Index),
        ast::Expr::Map(_) => Expr::Unsupported(Unsupported::Map),
    }
}

fn boxed<'a>(tree: &ast::Expr<'a>) -> Box<Expr<'a>> {
    Box::new(expr(tree))
}

fn literal(value: &Value) -> Literal {
    match value.kind() {
        ValueKind::Bool => Literal::Bool,
        ValueKind::Number => Literal::Number(f64::try_from(value.clone()).unwrap_or(f64::INFINITY)),
        ValueKind::String => Literal::Text(value.to_string()),
        _ => Literal::Nothing,
    }
}

fn arguments<'a>(arguments: &[ast::CallArg<'a>]) -> Vec<Argument<'a>> {
    arguments.iter().map(argument).collect()
}

fn argument<'a>(argument: &ast::CallArg<'a>) -> Argument<'a> {
    match argument {
        ast::CallArg::Pos(argument) => Argument::Positional(expr(argument)),
        ast::CallArg::Kwarg(..) | ast::CallArg::PosSplat(_) | ast::CallArg::KwargSplat(_) => Argument::Other,
    }
}

fn binary<'a>(operation: &ast::BinOp<'a>) -> Expr<'a> {
    let (left, right) = (expr(&operation.left), expr(&operation.right));
    match operation.op {
        ast::BinOpKind::ScAnd => Expr::Logical(Logic::And, Box::new([left, right])),
        ast::BinOpKind::ScOr => Expr::Logical(Logic::Or, Box::new([left, right])),
        ast::BinOpKind::Add => Expr::Arithmetic(Arithmetic::Add, Box::new([left, right])),
        ast::BinOpKind::Sub => Expr::Arithmetic(Arithmetic::Subtract, Box::new([left, right])),
        ast::BinOpKind::Mul => Expr::Arithmetic(Arithmetic::Multiply, Box::new([left, right])),
        ast::BinOpKind::Div | ast::BinOpKind::FloorDiv => Expr::Arithmetic(Arithmetic::Divide, Box::new([left, right])),
        ast::BinOpKind::Rem => Expr::Arithmetic(Arithmetic::Remainder, Box::new([left, right])),
        ast::BinOpKind::Eq | ast::BinOpKind::Ne => one_comparison(left, Comparison::Equality, right),
        ast::BinOpKind::Lt | ast::BinOpKind::Lte | ast::BinOpKind::Gt | ast::BinOpKind::Gte => {
            one_comparison(left, Comparison::Order, right)
        }
        ast::BinOpKind::In => one_comparison(left, Comparison::Membership, right),
        ast::BinOpKind::Pow | ast::BinOpKind::Concat => Expr::Unsupported(Unsupported::Operator),
    }
}

fn one_comparison<'a>(left: Expr<'a>, comparison: Comparison, right: Expr<'a>) -> Expr<'a> {
    Expr::Compared { first: Box::new(left), rest: vec![(comparison, right)] }
}

fn comparison(kind: ast::CompareOpKind) -> Comparison {
    match kind {
        ast::CompareOpKind::Eq | ast::CompareOpKind::Ne => Comparison::Equality,
        ast::CompareOpKind::In | ast::CompareOpKind::NotIn => Comparison::Membership,
        ast::CompareOpKind::Lt | ast::CompareOpKind::Lte | ast::CompareOpKind::Gt | ast::CompareOpKind::Gte => {
            Comparison::Order
        }
    }
}

/// Why something cannot be read: the parser's words, where it stopped, and what other languages write so.
fn unreadable(source: &str, error: &minijinja::Error) -> String {
    let message = message(error);
    // What ends too early has nothing to show.
    let Some(range) = error.range().filter(|range| range.end < source.trim_end().len()) else { return message };
    let (before, rest) = source.split_at_checked(range.start).unwrap_or((source, ""));
    // The first of two signs may be one of the language.
    let rest = if before.ends_with('|') { &source[before.len() - 1..] } else { rest.trim_start() };
    let slip = slip(rest).map_or_else(String::new, |right| format!("; write `{right}`"));
    format!("{message}, at `{}`{slip}", cut::to_bytes(rest.lines().next().unwrap_or_default(), MAX_SHOWN_BYTES))
}

/// What other languages write, and what to write here.
fn slip(rest: &str) -> Option<&'static str> {
    const SLIPS: [(&str, &str); 6] =
        [("&&", "and"), ("||", "or"), ("=", "=="), ("!", "not"), ("?", "a if condition else b"), ("<>", "!=")];
    SLIPS.into_iter().find_map(|(wrong, right)| rest.starts_with(wrong).then_some(right))
}

/// The comparison signs in an expression: where each is, and the one that means the opposite.
#[cfg(test)]
pub(in crate::rules) fn opposites(source: &str) -> Vec<(std::ops::Range<usize>, &'static str)> {
    let tokens = minijinja::machinery::tokenize(source, true, SyntaxConfig::default()).flatten();
    tokens
        .filter_map(|(token, span)| Some((span.start_offset as usize..span.end_offset as usize, opposite(&token)?)))
        .collect()
}

#[cfg(test)]
fn opposite(token: &minijinja::machinery::Token<'_>) -> Option<&'static str> {
    use minijinja::machinery::Token;
    match token {
        Token::Gte => Some("<"),
        Token::Lt => Some(">="),
        Token::Gt => Some("<="),
        Token::Lte => Some(">"),
        Token::Eq => Some("!="),
        Token::Ne => Some("=="),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_says_where_and_what_to_write() {
        for (wrong, hint) in [
            ("kernel.name = 'x'", "at `= 'x'`; write `==`"),
            ("a.b > 1 && a.c > 2", "at `&& a.c > 2`; write `and`"),
            ("a.b > 1 || a.c > 2", "write `or`"),
            ("!a.b", "write `not`"),
            ("a.b ? 1 : 2", "write `a if condition else b`"),
            ("a.b >", ""),
        ] {
            let message = expression(wrong).unwrap_err();
            assert!(message.contains(hint), "{wrong}: {message}");
        }
    }
}
