//! Which instance of a template a kernel is, whoever demangled its name.
//!
//! `void f<(int)4, (bool)1>(const float *)` of one profiler is `f<4, true>(float const*)` of another.

use super::kernel_names;

/// Longer names are compared by what they are called alone.
const MAX_BYTES: usize = 16 << 10;

/// The function with its namespaces and template arguments, as profilers agree on it: without return type, parameters, blanks, casts of
/// constants and suffixes of numbers. Two kernels with the same identity are the same instance.
pub fn identity(demangled: &str) -> String {
    let function = kernel_names::function_of(demangled.trim());
    if function.len() > MAX_BYTES {
        return kernel_names::called(demangled);
    }
    let mut text = function.replace("(anonymous namespace)::", "").replace("<unnamed>::", "");
    for cast in ["(int)", "(unsigned int)", "(bool)", "(long)", "(unsigned long)", "(char)", "(short)"] {
        text = text.replace(cast, "");
    }
    text.retain(|c| !c.is_whitespace());
    words(&text)
}

/// Every word in the one way that all can be written in.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        match word {
            "true" => out.push('1'),
            "false" => out.push('0'),
            number if number.starts_with(|c: char| c.is_ascii_digit()) => {
                out.push_str(number.trim_end_matches(['u', 'l', 'U', 'L']));
            }
            other => out.push_str(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn profilers_agree() {
        for (one, other) in [
            ("void f<(int)4, (bool)1>(const float *)", "f<4, true>(float const*)"),
            ("transpose_naive(const float *, float *, int)", "transpose_naive"),
            (
                "void at::native::<unnamed>::fill<(unsigned long)2, float>(int)",
                "void at::native::(anonymous namespace)::fill<2ul, float>(int, float)",
            ),
            ("warptiling<(int)128, (int)64>(int)", "void warptiling<128,64>(int, float*)"),
        ] {
            assert_eq!(identity(one), identity(other));
        }
        for (one, other) in
            [("f<4>(int)", "f<8>(int)"), ("f<true>", "f<false>"), ("a::f(int)", "b::f(int)"), ("f<u>", "f<l>")]
        {
            assert_ne!(identity(one), identity(other), "{one}");
        }
    }

    proptest! {
        #[test]
        fn any_name_has_one(name in "[a-z0-9:<>(){}\\[\\] ,*&`\u{e9}\u{1b}-]{0,120}") {
            prop_assert_eq!(identity(&name), identity(&format!("{name} ")));
        }
    }
}
