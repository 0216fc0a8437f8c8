//! Kernel names short enough to read.

use super::escape;

/// Longer names lose their middle.
const MAX_CHARS: usize = 60;

/// Kernels of libraries whose own name says nothing; their first template argument does.
const WRAPPERS: &[&str] = &[
    "Kernel",
    "Kernel2",
    "device_kernel",
    "kernel",
    "elementwise_kernel",
    "vectorized_elementwise_kernel",
    "unrolled_elementwise_kernel",
    "reduce_kernel",
    "index_elementwise_kernel",
];

/// A demangled kernel name without return type, namespaces, template arguments and parameters, at most 60 characters
/// long. A library's generic wrapper keeps the template argument that tells its kernels apart: `Kernel2<gemm…>`.
pub fn shorten(name: &str) -> String {
    let name = escape::plain(name);
    let function = function_of(&name);
    let base = last_segment(function);
    let short = match WRAPPERS.contains(&base) {
        true => telling_argument(function).map_or_else(|| base.to_owned(), |argument| format!("{base}<{argument}>")),
        false => base.to_owned(),
    };
    // What is left of a name that is no C++ name may be nothing.
    escape::shorten_middle(if short.trim().is_empty() { &name } else { &short }, MAX_CHARS)
}

/// The function of a demangled name alone: without return type, namespaces, template arguments and parameters.
pub fn function(name: &str) -> &str {
    last_segment(function_of(name))
}

/// Up to the parameter list, behind the return type.
fn function_of(name: &str) -> &str {
    let mut depth = 0i32;
    let mut start = 0;
    for (index, c) in name.char_indices() {
        let rest = &name[index..];
        match c {
            // Not a parameter list.
            '(' if rest.starts_with("(anonymous namespace)") => depth += 1,
            '(' if depth == 0 && index > start => return name[start..index].trim_end(),
            '<' | '{' | '[' | '(' => depth += 1,
            '>' | '}' | ']' | ')' => depth = (depth - 1).max(0),
            ' ' if depth == 0 && !name[start..index].ends_with("operator") => start = index + 1,
            _ => {}
        }
    }
    name[start..].trim_end()
}

/// The name behind the last `::` outside of brackets, without its template arguments.
fn last_segment(function: &str) -> &str {
    let mut depth = 0i32;
    let (mut start, mut end) = (0, None);
    for (index, c) in function.char_indices() {
        match c {
            '<' | '(' | '{' | '[' => {
                if depth == 0 && c == '<' && index > start {
                    end = Some(index);
                }
                depth += 1;
            }
            '>' | ')' | '}' | ']' => depth = (depth - 1).max(0),
            ':' if depth == 0 => {
                start = index + 1;
                end = None;
            }
            _ => {}
        }
    }
    end.and_then(|end| function.get(start..end)).unwrap_or(&function[start..])
}

/// The first template argument that names something: no number, no flag, no plain type.
fn telling_argument(function: &str) -> Option<String> {
    const PLAIN: &[&str] =
        &["true", "false", "int", "long", "float", "double", "bool", "char", "unsigned", "void", "const"];
    let arguments = &function[function.find('<')? + 1..];
    arguments
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .map(last_segment)
        .find(|word| {
            word.len() > 2 && word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !PLAIN.contains(word)
        })
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_lose_what_nobody_reads() {
        let cases = [
            ("vecAdd(float const*, float const*, float*, int)", "vecAdd"),
            ("sgemm_128x128x8_NN", "sgemm_128x128x8_NN"),
            ("void foo::bar<int, (int)4>(int*)", "bar"),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, at::detail::Array<char*, 1> >(int, at::native::FillFunctor<int>)",
                "vectorized_elementwise_kernel<FillFunctor>",
            ),
            (
                "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x4_tn_align8>(T1::Params)",
                "Kernel2<cutlass_80_tensorop_bf…_bf16_128x128_32x4_tn_align8>",
            ),
            ("(anonymous namespace)::softmax_warp_forward<float, 8>(float*)", "softmax_warp_forward"),
            ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>(float*)", "CatArrayBatchedCopy"),
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            ),
            ("reduce_kernel", "reduce_kernel"),
            ("<<<>>>", "<<<>>>"),
        ];
        for (name, short) in cases {
            assert_eq!(shorten(name), short);
        }
    }

    proptest! {
        #[test]
        fn any_name_stays_short_and_never_vanishes(name in "[a-z:<>(){}\\[\\] ,*&`\u{e9}\u{1b}]{0,120}") {
            let short = shorten(&name);
            prop_assert!(short.chars().count() <= MAX_CHARS);
            prop_assert_eq!(short.is_empty(), escape::plain(&name).is_empty());
        }
    }
}
