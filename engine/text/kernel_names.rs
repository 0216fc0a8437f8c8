//! What people call a kernel: the function, or, where a library launches everything through one template, the functor in it.
//!
//! `elementwise_kernel<128, 2, …direct_copy_kernel_cuda(…)::[lambda…]…>` is `direct_copy_kernel_cuda` to whoever reads a profile
//! of PyTorch: the template says how elements are walked, the functor what is done with them.

/// Templates that only carry another function: of launching (PyTorch, CUTLASS, cub and thrust, Kokkos, RAJA, AMReX, Composable
/// Kernel), and what stands between these and the functor.
const CARRIERS: &[&str] = &[
    "AUnaryFunctor",
    "BUnaryFunctor",
    "BinaryFunctor",
    "Kernel",
    "Kernel2",
    "ParallelFor",
    "ParallelForAgent",
    "ParallelReduce",
    "ParallelScan",
    "ReduceOp",
    "_kernel_agent",
    "binary_transform_f",
    "cuda_parallel_launch_constant_memory",
    "cuda_parallel_launch_global_memory",
    "cuda_parallel_launch_local_memory",
    "device_kernel",
    "distribution_elementwise_grid_stride_kernel",
    "distribution_nullary_kernel",
    "dynamic_kernel",
    "elementwise_kernel",
    "elementwise_kernel_manual_unroll",
    "elementwise_kernel_with_index",
    "for_each_f",
    "forall_cuda_kernel",
    "forallp_cuda_kernel",
    "func_wrapper_t",
    "gpu_index_kernel",
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "gpu_kernel_multiple_outputs_impl",
    "index_elementwise_kernel",
    "jitted_gpu_kernel_impl",
    "kentry",
    "kernel",
    "launch_global",
    "legacy_elementwise_kernel",
    "multi_tensor_apply_kernel",
    "normal_and_transform",
    "reduce_kernel",
    "static_kernel",
    "unary_transform_f",
    "uniform_and_transform",
    "unrolled_elementwise_kernel",
    "unrolled_elementwise_kernel_for_multi_outputs",
    "vectorized_elementwise_kernel",
    "vectorized_templated_elementwise_kernel",
    "wrapped_function",
];

/// Template arguments that say what kernels work on, not what they do.
const DATA: &[&str] = &[
    "Array",
    "BFloat16",
    "Float8_e4m3fn",
    "Float8_e5m2",
    "Half",
    "LoadWithCast",
    "LoadWithoutCast",
    "OffsetCalculator",
    "OpaqueType",
    "StoreWithCast",
    "StoreWithoutCast",
    "TrivialOffsetCalculator",
    "__half",
    "__nv_bfloat16",
    "always_true_predicate",
    "array",
    "bfloat16_t",
    "complex",
    "half_t",
    "no_stencil_tag",
    "tuple",
];

/// What a matrix product is called by whoever writes one.
const MATRIX_PRODUCT: &str = "GemmKernel";

/// Carriers within carriers; real names have four.
const MAX_DEPTH: usize = 8;

/// Bytes of what a kernel is called: recordings and profiles cut longer names alike.
pub const MAX_CALLED_BYTES: usize = 512;

/// What people call a kernel: its function without return type, namespaces, template arguments and parameters; of a library's
/// template that runs what it is given, the function that it is given. Never empty, unless the name is.
pub fn called(demangled: &str) -> String {
    let function = function_of(demangled);
    let own = base(last_segment(function));
    let carried = if is_carrier(own) { carried(function, MAX_DEPTH) } else { None };
    // `internal::gemvx::kernel` says what it is by its namespace.
    let own = if matches!(own, "kernel" | MATRIX_PRODUCT) { last_two_segments(function) } else { own };
    // So does `strided_dgrad_indexed::kernel<…::Kernel_traits<…>>`: what a kernel is made with says less.
    let carried = carried.filter(|carried| !own.contains("::") || !is_traits(carried));
    let name = carried.unwrap_or(own).trim();
    if is_word(name) { name.to_owned() } else { demangled.to_owned() }
}

/// The function that was launched, as profilers take it for a filter: without return type, namespaces, template arguments and
/// parameters.
pub fn function(demangled: &str) -> &str {
    let name = base(last_segment(function_of(demangled))).trim();
    if is_word(name) { name } else { demangled }
}

/// A function of the host in short: without return type, namespaces, template arguments and parameters; of what is written within a
/// function, such as a lambda, with the functions that it is written in.
pub fn function_within(demangled: &str) -> String {
    let parts = split(after_return_type(demangled), "::");
    let holds = |part: &&str| part.trim_end_matches(" const").ends_with(')') && !part.starts_with('(');
    let Some(first) = parts.iter().position(|part| holds(&part.trim())).filter(|first| first + 1 < parts.len()) else {
        return function(demangled).to_owned();
    };
    // What is called of a lambda is the lambda.
    let told = parts[first..].iter().map(|part| part.trim()).filter(|part| !part.starts_with("operator"));
    let told: Vec<&str> = told.map(|part| if part.starts_with(['{', '[']) { part } else { base(part) }).collect();
    told.join("::")
}

/// Of a name that is no C++ name, nothing or a bracket may be left.
fn is_word(name: &str) -> bool {
    name.contains(|c: char| c.is_alphanumeric() || c == '_')
}

/// Whether a template only carries another function. CUTLASS and its users guard kernels by `enable_sm90_or_later<…>` and the like.
fn is_carrier(name: &str) -> bool {
    CARRIERS.contains(&name) || name.starts_with("enable_")
}

/// Whether a name is that of what a kernel is made with: its sizes and types.
fn is_traits(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("traits") || name.ends_with("config")
}

/// What the template arguments of a carrier name first that is neither a type nor a number.
fn carried(function: &str, depth: usize) -> Option<&str> {
    let arguments = arguments(last_segment(function))?;
    let depth = depth.checked_sub(1)?;
    split(arguments, ",").into_iter().find_map(|argument| told(argument.trim(), depth))
}

/// What one template argument names: the function around a lambda, a functor, or what these carry.
fn told(argument: &str, depth: usize) -> Option<&str> {
    let is_value = argument.starts_with('(') && !argument.starts_with("(anonymous");
    if is_value || argument.ends_with(['*', '&']) {
        return None;
    }
    let argument = argument.strip_prefix("const ").unwrap_or(argument);
    let within = split(after_return_type(argument), "::");
    let is_told = |part: &&str| !part.starts_with(['[', '{', '(', '\'', '$', '<']) && !part.starts_with("operator");
    let part = within.into_iter().rev().map(str::trim).find(is_told)?;
    let name = base(part).trim();
    let carried = if is_carrier(name) { self::carried(part, depth) } else { None };
    // Users of CUTLASS call many kernels so: which one it is, its namespace says.
    let own = if name == MATRIX_PRODUCT { last_two_segments(argument) } else { name };
    carried.or_else(|| is_function(name).then_some(own))
}

/// Whether a name may be that of a function or functor: no number, no plain type, nothing that only holds data, nor the `main` that a
/// lambda is written in, nor a `functor` of which only the namespace says what it does.
fn is_function(name: &str) -> bool {
    const PLAIN: &[&str] = &[
        "main", "functor", "true", "false", "int", "long", "short", "float", "double", "bool", "char", "unsigned",
        "signed", "void", "const", "nullptr", "auto",
    ];
    let word = name.split(' ').next().unwrap_or(name);
    let is_name = name.len() > 2 && name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let lower = name.to_ascii_lowercase();
    let is_data =
        ["iterator", "policy", "pointer", "_ptr", "metadata", "tensorinfo"].iter().any(|part| lower.contains(part));
    let is_data = is_data || name.ends_with("Params") || name.ends_with("ParamsEx");
    let is_sized = lower.ends_with("_t") && lower.contains("int");
    is_name && !is_data && !is_sized && !PLAIN.contains(&word) && !DATA.contains(&name)
}

/// Up to the parameter list, behind the return type.
pub(super) fn function_of(name: &str) -> &str {
    let mut nesting = Nesting::default();
    let mut start = 0;
    for (index, c) in name.char_indices() {
        let is_outside = nesting.depth == 0;
        let rest = &name[index..];
        match c {
            '(' if is_outside && index > start && !rest.starts_with("(anonymous") => {
                return name[start..index].trim_end();
            }
            ' ' if is_outside && !name[start..index].ends_with("operator") => start = index + 1,
            _ => {}
        }
        nesting.step(c);
    }
    name[start..].trim_end()
}

/// Of `void f<…>(…)::[lambda…]` what comes behind `void`; names hold no other space outside of brackets but that of `operator`
/// and `const`.
fn after_return_type(argument: &str) -> &str {
    let mut nesting = Nesting::default();
    for (index, c) in argument.char_indices() {
        if nesting.depth == 0 && c == ' ' {
            let (before, after) = (&argument[..index], &argument[index + 1..]);
            let is_type = !before.contains(['(', ':']) || before == "std::enable_if";
            return if is_type && !after.trim().is_empty() { after } else { argument };
        }
        nesting.step(c);
    }
    argument
}

/// The name behind the last `::` outside of brackets, with its template arguments.
fn last_segment(function: &str) -> &str {
    split(function, "::").pop().unwrap_or(function)
}

/// The name with the namespace that it stands in, where that is a plain one.
fn last_two_segments(function: &str) -> &str {
    let parts = split(function, "::");
    let own = parts.last().map_or(function, |own| base(own));
    let Some(space) = parts.len().checked_sub(2).and_then(|index| parts.get(index)) else { return own };
    let is_plain = !space.is_empty() && space.chars().all(|c| c.is_alphanumeric() || c == '_');
    let from = parts[..parts.len() - 2].iter().map(|part| part.len() + 2).sum::<usize>();
    let to = from + space.len() + 2 + own.len();
    function.get(from..to).filter(|_| is_plain).unwrap_or(own)
}

/// Without template arguments and parameters.
fn base(segment: &str) -> &str {
    let end = segment.char_indices().find(|(index, c)| *index > 0 && matches!(c, '<' | '(' | '['));
    end.map_or(segment, |(end, _)| &segment[..end])
}

/// What stands in the angle brackets of a segment; up to the end where these are cut off.
fn arguments(segment: &str) -> Option<&str> {
    let start = segment.find('<')? + 1;
    let mut nesting = Nesting::default();
    for (index, c) in segment[start..].char_indices() {
        if c == '>' && nesting.depth == 0 {
            return Some(&segment[start..start + index]);
        }
        nesting.step(c);
    }
    Some(&segment[start..])
}

/// Parts between separators outside of brackets.
fn split<'text>(text: &'text str, separator: &str) -> Vec<&'text str> {
    let mut nesting = Nesting::default();
    let mut parts = Vec::new();
    let (mut start, mut skip) = (0, 0);
    for (index, c) in text.char_indices() {
        if nesting.depth == 0 && index >= skip && text[index..].starts_with(separator) {
            parts.push(&text[start..index]);
            start = index + separator.len();
            skip = start;
        }
        nesting.step(c);
    }
    parts.push(&text[start..]);
    parts
}

/// How many brackets are open.
#[derive(Debug, Default)]
struct Nesting {
    depth: u32,
    before: char,
}

impl Nesting {
    fn step(&mut self, c: char) {
        match c {
            '<' | '(' | '[' | '{' => self.depth += 1,
            // `->` closes nothing.
            '>' if self.before == '-' => {}
            '>' | ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.before = c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn functions_lose_what_nobody_reads() {
        let cases = [
            ("vecAdd(float const*, float const*, float*, int)", "vecAdd"),
            ("sgemm_128x128x8_NN", "sgemm_128x128x8_NN"),
            ("void foo::bar<int, (int)4>(int*)", "bar"),
            ("(anonymous namespace)::softmax_warp_forward<float, 8>(float*)", "softmax_warp_forward"),
            ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>(float*)", "CatArrayBatchedCopy"),
            (
                "void at::native::<unnamed>::vectorized_layer_norm_kernel<float, (bool)0>(int)",
                "vectorized_layer_norm_kernel",
            ),
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            ),
            (
                "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
                "fused_add_rms_norm_kernel",
            ),
            ("reduce_kernel", "reduce_kernel"),
            (
                "void cub::CUB_200::detail::for_each::static_kernel<cub::policy_350_t, long, thrust::cuda_cub::__uninitialized_fill::functor<thrust::device_ptr<int>, int>>(T2, T3)",
                "static_kernel",
            ),
            ("<<<>>>", "<<<>>>"),
        ];
        for (name, short) in cases {
            assert_eq!(called(name), short);
        }
    }

    #[test]
    fn what_is_written_within_a_function_is_not_that_function() {
        for (name, short) in [
            ("void app::run<float, 4>(float*)", "run"),
            ("app::load(int)::{lambda(int)#1}::operator()(int) const", "load::{lambda(int)#1}"),
            (
                "void app::load<int>(int)::{lambda()#2}::operator()() const::{lambda()#1}",
                "load::{lambda()#2}::{lambda()#1}",
            ),
            ("app::Reader::read() const::Local::step(int)", "read::Local::step"),
            ("app::(anonymous namespace)::step(int)", "step"),
        ] {
            assert_eq!(function_within(name), short);
        }
    }

    #[test]
    fn the_functor_of_a_template_is_the_kernel() {
        let copy = "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda() (instance 7)]::operator ()() const::[lambda(float) (instance 1)]";
        let kineto = "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}";
        let cases = [
            (
                format!("void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<{copy}>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)"),
                "direct_copy_kernel_cuda",
            ),
            (
                format!("void at::native::unrolled_elementwise_kernel<{copy}, std::array<char *, (unsigned long)2>, (int)4, TrivialOffsetCalculator<(int)1, unsigned int>>(int)"),
                "direct_copy_kernel_cuda",
            ),
            (
                format!("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<{kineto}>(at::TensorIteratorBase&, {kineto} const&)::{{lambda(int)#1}}>(int)"),
                "direct_copy_kernel_cuda",
            ),
            (
                "void at::native::unrolled_elementwise_kernel<main::{lambda(float, float)#1}, at::detail::Array<char*, 3>>(int, T2)".to_owned(),
                "unrolled_elementwise_kernel",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<(int)8, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)".to_owned(),
                "bfloat16_copy_kernel_cuda",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)".to_owned(),
                "CUDAFunctor_add",
            ),
            (
                "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)".to_owned(),
                "MulFunctor",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float, float, float, void at::native::<unnamed>::threshold_kernel_impl<float>(at::TensorIteratorBase &, T1, T1)::[lambda(float, float) (instance 1)]>, std::array<char *, (unsigned long)3>>(int, T2, T3)".to_owned(),
                "threshold_kernel_impl",
            ),
        ];
        assert_called(&cases);
    }

    #[test]
    fn so_is_that_of_reductions_and_of_other_libraries() {
        let cases = [
            (
                "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, (int)4, (int)4>>(T3)".to_owned(),
                "MeanOps",
            ),
            (
                "void at::native::reduce_kernel<(int)128, (int)4, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator ()(at::TensorIterator &)::[lambda(float, float) (instance 1)]>, unsigned int, float, (int)4, (int)4>>(T3)".to_owned(),
                "sum_functor",
            ),
            (
                "void at::native::<unnamed>::distribution_elementwise_grid_stride_kernel<float, (int)4, void at::native::templates::cuda::normal_and_transform<float, float, at::CUDAGeneratorImpl *, void at::native::templates::cuda::normal_kernel<at::CUDAGeneratorImpl *>(const at::TensorBase &, double, double, T1)::[lambda() (instance 1)]::operator ()() const::[lambda(float) (instance 1)]>(at::TensorIteratorBase &, T3, T4)::[lambda(float) (instance 2)]>(long)".to_owned(),
                "normal_kernel",
            ),
            (
                "void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::TensorListMetadata<(int)2>, at::native::<unnamed>::BinaryOpListAlphaFunctor<float, (int)2, (int)2, (int)0>, std::plus<float>, float>(T1, T2, T3...)".to_owned(),
                "BinaryOpListAlphaFunctor",
            ),
            (
                "void at::native::index_elementwise_kernel<(int)128, (int)4, void at::native::gpu_index_kernel<void at::native::index_kernel_impl<at::native::OpaqueType<(int)4>>(at::TensorIteratorBase &, c10::ArrayRef<long>, c10::ArrayRef<long>)::[lambda(char *, const char *, long) (instance 1)]>(at::TensorIteratorBase &)::[lambda(int) (instance 1)]>(long, T3)".to_owned(),
                "index_kernel_impl",
            ),
            (
                "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x4_tn_align8>(T1::Params)".to_owned(),
                "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x4_tn_align8",
            ),
            (
                "void cutlass::device_kernel<dpsk::cuda::fp8_ptp128c::GemmKernel>(dpsk::cuda::fp8_ptp128c::GemmKernel::Params)"
                    .to_owned(),
                "fp8_ptp128c::GemmKernel",
            ),
            (
                "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int>>>(T1::Params)".to_owned(),
                "FlashAttnFwdSm90",
            ),
            (
                "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<thrust::cuda_cub::__transform::unary_transform_f<thrust::device_ptr<float>, thrust::normal_iterator<int>, saxpy_functor, thrust::always_true_predicate>, long>>(int)".to_owned(),
                "saxpy_functor",
            ),
            (
                "void Kokkos::Impl::cuda_parallel_launch_local_memory<Kokkos::Impl::ParallelFor<Stencil, Kokkos::RangePolicy<Kokkos::Cuda>, Kokkos::Cuda>>(T1)".to_owned(),
                "Stencil",
            ),
            (
                "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, __half, false, cublasGemvParamsEx<int, float> >(cublasGemvParamsEx<int, float>)".to_owned(),
                "gemvx::kernel",
            ),
            (
                "void xmma_cudnn::implicit_gemm::strided_dgrad_indexed::kernel<xmma_cudnn::implicit_gemm::strided_dgrad_indexed::Kernel_traits<xmma_cudnn::Ampere_hmma_fp16_traits, (int)2> >(T1::Params)".to_owned(),
                "strided_dgrad_indexed::kernel",
            ),
            ("void cutlass::Kernel<app::FwdKernelTraits<int> >(T1::Params)".to_owned(), "FwdKernelTraits"),
            ("kernel(int)".to_owned(), "kernel"),
            ("void vectorized_elementwise_kernel<4, float".to_owned(), "vectorized_elementwise_kernel"),
        ];
        assert_called(&cases);
    }

    fn assert_called(cases: &[(String, &str)]) {
        for (name, called) in cases {
            assert_eq!(super::called(name), *called, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_name_has_one(name in "[a-z:<>(){}\\[\\] ,*&`\u{e9}\u{1b}-]{0,120}") {
            let name = format!("void elementwise_kernel<{name}");
            prop_assert!(!called(&name).is_empty());
            prop_assert!(!function(&name).is_empty());
        }
    }
}
