//! What the name of a kernel tells.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};

use crate::facts::store::Entity;
use crate::replay::{NameMarks, Role};
use crate::text::cut;
use crate::timeline::{NameId, Timeline};

/// What a name tells. Names tell nothing certain: rules built on them say so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Traits {
    /// It communicates, whatever else it does.
    pub(super) is_communication: bool,
    /// It is a collective of a library: what the ledger counts as communication.
    pub(super) is_collective: bool,
    pub(super) is_matrix_product: bool,
    pub(super) is_tensor_copy: bool,
    pub(super) is_transpose: bool,
    /// It is of a convolution: the product, or what changes tensors around it.
    pub(super) is_of_convolution: bool,
    pub(super) is_elementwise: bool,
    /// It applies a function to each element of one tensor.
    pub(super) is_activation: bool,
    pub(super) precision: Option<&'static str>,
    /// It computes in double precision.
    pub(super) is_fp64: bool,
    /// It is a part of a library's sort.
    pub(super) is_sort: bool,
    /// What it tells a replay.
    pub(super) role: Role,
    /// What words in it tell: of a short name those in that alone.
    pub(super) marks: NameMarks,
}

impl Traits {
    /// As facts of a kernel.
    pub(super) fn set(self, facts: &mut Entity) {
        facts.set("is_communication", self.is_communication);
        facts.set("is_matrix_product", self.is_matrix_product);
        facts.set("is_tensor_copy", self.is_tensor_copy);
        facts.set("is_transpose", self.is_transpose);
        facts.set("is_elementwise", self.is_elementwise);
        facts.set("is_sort", self.is_sort);
        facts.set("is_fp64", self.is_fp64);
        facts.set_some("precision", self.precision);
    }
}

/// Names of collectives: kernels of NCCL, RCCL and HCCL, NVSHMEM, and the one-shot reductions of serving engines.
const COMMUNICATION: &str = r"(?i)nccl|rccl|hccl|^(nvshmem|mscclKernel)|cross_device_reduce|one_shot_all_reduce|two_shot_all_reduce|multimem_all_reduce|all_reduce_(one|two)_shot";
/// Of these, what the ledger counts as communication: kernels of the libraries, and the reductions across devices of vLLM and SGLang,
/// and those of DeepEP ([`EXPERTS`]), which do nothing but move and add. The rest, kernels of NVSHMEM and MSCCL and one-shot reductions, may compute as well: they count as compute, as they do in
/// the sums of other tools.
const COLLECTIVE: &str = r"(?i)nccl|rccl|hccl|cross_device_reduce|all_reduce_(one|two)_shot";
/// Kernels of DeepEP, which send tokens to the GPUs of their experts and back: on few blocks, so that others compute beside them.
const EXPERTS: &str = r"\b(deep_ep|ep::(internode|internode_ll|intranode))::";
const MATRIX: &str = r"(?i)gemm|[dw]grad_(alg|engine)|winograd|cutlass.*(gemm|mma|fprop|[dw]grad)|cublas.*gemv|xmma|_s\d+gemm|nvjet|gemv|matmul|^bmm_|^Cijk_|[sh]cudnn";
/// A part of a name that only says where the next one is declared (`fbgemm_gpu::`, `dpsk::grouped_gemm::`).
const SCOPE: &str = r"\b\w+::";
/// Products of a matrix and a vector.
const OF_VECTOR: &str = r"(?i)gemv";
/// Names of functions that tell nothing by themselves: what they do is in the scopes before them (`internal::gemvx::kernel`).
const NAMELESS: &str = r"(?i)^(device_?)?kernel\d*$";
/// What only sums up, or spreads, what a product left (`_finalize_matmul_scatter_bf16` of Triton's kernels), or pools it, of a library
/// of products (`sm50_xmma_pooling_...`).
const FINISHING: &str = r"(?i)^_*finali[sz]e|split_?k_?reduc|reduce_?split_?k|xmma_pooling";
/// What changes tensors for a convolution by Winograd's method, and back: the product lies between these.
const WINOGRAD_TRANSFORM: &str = r"winograd(Forward|Backward|Wgrad)(Data|Filter|Output|Delta)\d|generateWinogradTiles";
const TRANSPOSE: &str = r"(?i)nchwToNhwc|nhwcToNchw|transpose|permute|tensorTransform|nchwAddPadding";
/// What changes the type of elements on the way does more than change the layout.
const CAST: &str = r"(?i)cast|quant";
const CONVOLUTION: &str = r"(?i)convol|conv[123]d|[sh]cudnn|fprop|[dw]grad|winograd|nchwToNhwc|nhwcToNchw|igemm_(fwd|bwd|wrw)_|_conv_(fwd|bwd|wrw)";
/// Attention has a forward and a backward pass as convolutions have: cuDNN calls its kernels `…_sdpa_…_fprop_…`.
const NO_CONVOLUTION: &str = r"(?i)sdpa|flash|fmha|attention|attn|mha_";
/// Fusions of Inductor, and those of them that do nothing but move elements: they are named after all that is fused.
const FUSION: &str = r"^triton_\w+_fused_";
const MOVING_FUSION: &str = r"^triton_poi_fused(_+(as_strided|cat|clone|contiguous|copy|expand|permute|reshape|select|slice|split|squeeze|stack|t|to_copy|transpose|unsafe_view|unsqueeze|view))+_\d+$";
/// CuPy names the kernels of its functions of elements by function and types: `cupy_multiply__float_float32_float32`.
const ELEMENTWISE: &str = r"(?i)elementwise|pointwise|CUDAFunctor|vectorized_.*kernel|triton_poi_|^cupy_(add|subtract|multiply|(true_|floor_)?divide|power|remainder|negative|absolute|sign|reciprocal|sqrt|square|cbrt|exp2?|expm1|log(2|10|1p)?|(arc)?(sin|cos|tan)h?|arctan2|hypot|floor|ceil|rint|f?(max|min)imum|fmax|fmin|clip|where|copy|fill|(not_)?equal|(greater|less)(_equal)?|logical_\w+|bitwise_\w+|isnan|isinf|isfinite)__";
/// What else names tell a replay. CUB finds out which elements are chosen, and how many, before others move them; cuDNN changes the
/// layout around a convolution of tensors that do not lie as tensor cores want them.
const ROLES: &[(&str, Role)] = &[
    (r"DeviceSelect|DeviceCompactInit|DevicePartition|write_indices", Role::Selection),
    (r"(?i)index_elementwise|_gather_kernel|index_put|indexSelect|masked_(select|scatter)", Role::Gather),
    (r"(?i)nchwToNhwc|nhwcToNchw|nchwAddPadding", Role::ConvolutionLayout),
    // PyTorch's batch normalization, its last part: mean and variance are known.
    (r"^batch_norm_transform_input_channels_last", Role::LoopingElementwise),
    (r"(?i)batch_?norm\w*_channels_last|bn_\w*nhwc", Role::Compute),
    // Mean and variance are known: each element is scaled for itself.
    (r"(?i)\bbn_fw_inf_", Role::Elementwise),
    (r"(?i)batch_?norm|\bbn_(fw|bw)_", Role::Normalization),
    (r"(?i)nccl.*broadcast", Role::Broadcast),
    (r"^(fused_dropout|triu_tril)_kernel", Role::Elementwise),
    (r"^fmha_cutlass[FB]_f32", Role::Fp32Attention),
    (r"^CatArrayBatchedCopy", Role::Join),
    (r"\breduce_kernel\b|\btriton_(red|per)_", Role::Reduction),
];
/// What turns rows into weights, and what does more than that: a loss, the choice of experts, attention in one kernel.
const SOFTMAX: &str = r"(?i)softmax";
const NO_SOFTMAX: &str = r"(?i)log_?softmax|cross_?entropy|nll_loss|top_?k|gating|flash|fmha|attention|attn|mha_";
/// What `.to()`, `.contiguous()`, `copy_` and casts run in PyTorch; fusions of Inductor that do nothing else. Not what joins tensors: that
/// makes a new one.
const TENSOR_COPY: &str = r"^(direct|bfloat16|float16|half|float8\w*)_copy_kernel_cuda$|^copy_kernel_cuda$|^triton_poi_fused(__?to_copy|_clone|_copy_?)+_\d+$";
/// Sorts of CUB, which Thrust, CuPy and cuDF call, and of PyTorch. What a program calls its own kernels tells of no library.
const SORT: &str = r"^Device(MergeSort|RadixSort|SegmentedRadixSort|SegmentedSort)|^(radix|bitonic)SortKVInPlace";
/// Functions that layers and distances apply to each element of what came right before, and their derivatives.
const ACTIVATION: &str = r"(?i)clamp|threshold_kernel|relu|gelu|silu|sigmoid|tanh|elu_|mish|softplus|hardswish|hardtanh|hard_?sigmoid|pow_tensor_scalar|^(exp|log|sqrt|rsqrt|sin|cos|abs|neg|reciprocal)_kernel|AbsFunctor";
/// Convolutions of cuDNN whose names tell no type but as what they were made for.
const TYPED_CONVOLUTION: &str = r"[dw]grad_(alg|engine)|winograd";
/// The first that fits counts. cuDNN's convolutions by FFT multiply (`gcgemm`) in fp32.
const PRECISIONS: [(&str, &str); 8] = [
    (r"(?i)tf32", "tf32"),
    (r"(?i)(e4m3|e5m2|fp8|f8f8|qmma)", "fp8"),
    // cuBLAS names its kernels of Hopper and later by the types of what they read and write, a letter each: `t` is bf16, `h` fp16.
    (r"(?i)(bf16|bfloat16|s16816gemm_bf16)|^nvjet_(sm\d+_)?tst_", "bf16"),
    (r"(?i)(hgemm|fp16|f16|half|h884|h1688|h16816|s884gemm|s161616)|^nvjet_(sm\d+_)?hsh_", "fp16"),
    // Without another type in the name: see bf16 above.
    (r"(?i)s1688(gemm|fprop|[dw]grad)", "tf32"),
    (r"(?i)(i8816|int8|imma|igemm)", "int8"),
    (r"(?i)(dgemm|d884|fp64|double)", "fp64"),
    (r"(?i)(sgemm|gcgemm|ffma|simt_s(gemm|fprop|[dw]grad)|fp32|f32f32|scudnn)", "fp32"),
];

/// Letters and digits are those of ASCII, as in the names that compilers make: those of all scripts take far longer to compile. What
/// any character fits cannot do without.
fn compiled(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(pattern.contains(".*")).build().ok()
}

/// So much of a demangled name holds the types of what it works on.
const TYPED_BYTES: usize = 400;
/// Types of data in demangled names, and in those of CuPy. Scalars are often double where data are not: only names with no other type
/// tell.
const DOUBLE: &str = r"\bdouble\b|^cupy_\w*_(float64|complex128)(_|\b)";
const NO_DOUBLE: &str = r"_(float32|float16|complex64)(_|\b)|\b(float[1-4]?|float_t|half2?|__half2?|Half|half_t|BFloat16|bfloat16_t|__nv_bfloat162?|cuFloatComplex|cuComplex|c10::complex)\b";

pub(super) struct Patterns {
    communication: Regex,
    collective: Regex,
    experts: Regex,
    matrix: Regex,
    winograd_transform: Regex,
    finishing: Regex,
    scope: Regex,
    nameless: Regex,
    tensor_copy: Regex,
    transpose: Regex,
    cast: Regex,
    convolution: Regex,
    fusion: Regex,
    moving_fusion: Regex,
    typed_convolution: Regex,
    elementwise: Regex,
    activation: Regex,
    softmax: Regex,
    no_softmax: Regex,
    no_convolution: Regex,
    double: Regex,
    no_double: Regex,
    of_vector: Regex,
    sort: Regex,
    precisions: Vec<(Regex, &'static str)>,
    roles: Vec<(Regex, Role)>,
}

impl Patterns {
    /// `None` never happens: the patterns are constants, and a test compiles them.
    pub(super) fn new() -> Option<Self> {
        let precisions = PRECISIONS.iter().map(|(pattern, name)| Some((compiled(pattern)?, *name)));
        let roles = ROLES.iter().map(|(pattern, role)| Some((compiled(pattern)?, *role)));
        Some(Self {
            communication: compiled(COMMUNICATION)?,
            collective: compiled(COLLECTIVE)?,
            experts: compiled(EXPERTS)?,
            matrix: compiled(MATRIX)?,
            winograd_transform: compiled(WINOGRAD_TRANSFORM)?,
            finishing: compiled(FINISHING)?,
            scope: compiled(SCOPE)?,
            nameless: compiled(NAMELESS)?,
            tensor_copy: compiled(TENSOR_COPY)?,
            transpose: compiled(TRANSPOSE)?,
            cast: compiled(CAST)?,
            convolution: compiled(CONVOLUTION)?,
            fusion: compiled(FUSION)?,
            moving_fusion: compiled(MOVING_FUSION)?,
            typed_convolution: compiled(TYPED_CONVOLUTION)?,
            elementwise: compiled(ELEMENTWISE)?,
            activation: compiled(ACTIVATION)?,
            softmax: compiled(SOFTMAX)?,
            no_softmax: compiled(NO_SOFTMAX)?,
            no_convolution: compiled(NO_CONVOLUTION)?,
            double: compiled(DOUBLE)?,
            no_double: compiled(NO_DOUBLE)?,
            of_vector: compiled(OF_VECTOR)?,
            sort: compiled(SORT)?,
            precisions: precisions.collect::<Option<_>>()?,
            roles: roles.collect::<Option<_>>()?,
        })
    }

    /// The beginning of a demangled name without what only says where things are declared.
    fn unscoped<'name>(&self, short: &str, full: &'name str) -> Cow<'name, str> {
        let beginning = beginning(full);
        if self.nameless.is_match(short) { beginning.into() } else { self.scope.replace_all(beginning, "") }
    }

    /// Whether a demangled name tells of data in double precision, and of no other.
    fn is_of_doubles(&self, full: &str) -> bool {
        let typed = cut::to_bytes(full, TYPED_BYTES);
        self.double.is_match(typed) && !self.no_double.is_match(typed)
    }

    pub(super) fn traits(&self, short: &str, full: &str) -> Traits {
        let is_matrix_product = (self.matrix.is_match(short) || self.matrix.is_match(&self.unscoped(short, full)))
            && !self.winograd_transform.is_match(short)
            && !self.finishing.is_match(short);
        // Some short names tell nothing (`Kernel2` of CUTLASS).
        let told =
            |name: &str| self.precisions.iter().find(|(pattern, _)| pattern.is_match(name)).map(|(_, name)| *name);
        // `sgemm` is the name of the algorithm where the types of the data say otherwise.
        let precision = told(short).map(|known| if known == "fp32" { of_types(full).unwrap_or(known) } else { known });
        let of_convolution = || if self.typed_convolution.is_match(short) { of_types(full) } else { None };
        let precision = precision.or_else(of_convolution).or_else(|| told(beginning(full)));
        // A matrix times a vector reads each element once: how fast the GPU multiplies does not limit it.
        let is_of_vector = self.of_vector.is_match(short) || self.of_vector.is_match(beginning(full));
        let is_fp64 = match is_matrix_product {
            true => precision == Some("fp64") || is_of_vector && self.is_of_doubles(full),
            false => self.is_of_doubles(full),
        };
        let precision = precision.filter(|_| is_matrix_product && !is_of_vector);
        let is_elementwise =
            !is_matrix_product && (self.elementwise.is_match(short) || self.elementwise.is_match(beginning(full)));
        let tells = |pattern: &Regex| pattern.is_match(short) || pattern.is_match(beginning(full));
        let role = self.roles.iter().find(|(pattern, _)| tells(pattern)).map(|(_, role)| *role);
        let is_softmax = tells(&self.softmax) && !tells(&self.no_softmax) && !is_matrix_product;
        let role = match role {
            None | Some(Role::Reduction) if is_softmax => Role::Softmax,
            Some(role) => role,
            None if precision == Some("fp32") => Role::Fp32Product,
            None if is_matrix_product && !is_of_vector => Role::Product,
            None if is_elementwise => Role::Elementwise,
            None => Role::Compute,
        };
        Traits {
            is_communication: self.communication.is_match(short) || self.experts.is_match(beginning(full)),
            is_collective: self.collective.is_match(short) || self.experts.is_match(beginning(full)),
            is_matrix_product,
            is_tensor_copy: self.tensor_copy.is_match(short),
            is_transpose: self.transpose.is_match(short)
                && !self.cast.is_match(short)
                && (!self.fusion.is_match(short) || self.moving_fusion.is_match(short)),
            is_of_convolution: self.convolution.is_match(short) && !self.no_convolution.is_match(short),
            is_elementwise,
            is_activation: role == Role::Elementwise && self.activation.is_match(short),
            precision,
            is_fp64,
            is_sort: self.sort.is_match(short),
            role,
            marks: NameMarks::of(full),
        }
    }
}

/// The precision that the first template argument tells.
fn of_types(full: &str) -> Option<&'static str> {
    let (_, arguments) = full.split_once('<')?;
    match arguments.split([',', '>']).next()?.trim() {
        "__half" | "half" | "cutlass::half_t" | "c10::Half" => Some("fp16"),
        "__nv_bfloat16" | "cutlass::bfloat16_t" | "c10::BFloat16" => Some("bf16"),
        "float" => Some("fp32"),
        _ => None,
    }
}

/// Enough of a demangled name to tell; template arguments further on name types of other things.
fn beginning(full: &str) -> &str {
    cut::to_bytes(full, 200)
}

/// The traits of every kernel name, by its index; other names have none. One short name may stand for kernels that do different things,
/// such as the softmax of a layer and that of a loss: the whole names tell them apart.
pub(super) fn traits(timeline: &Timeline) -> Vec<Traits> {
    let mut traits = vec![Traits::default(); timeline.names.len()];
    let Some(patterns) = Patterns::new() else { return traits };
    let mut known = vec![false; timeline.names.len()];
    for shape in &timeline.kernels.shapes {
        let is_new = |name: NameId| known.get(name as usize) == Some(&false);
        let new = [shape.name, shape.full_name].into_iter().filter(|name| is_new(*name)).collect::<Vec<_>>();
        if new.is_empty() {
            continue;
        }
        let told = patterns.traits(timeline.name(shape.name), timeline.name(shape.full_name));
        for name in new {
            let marks = if name == shape.full_name { told.marks } else { NameMarks::of(timeline.name(name)) };
            known[name as usize] = true;
            traits[name as usize] = Traits { marks, ..told };
        }
    }
    traits
}

/// The functor that a kernel's template runs, where that is a word of its whole name: then a pattern finds it there.
pub(super) fn functor<'a>(name: &'a str, function: &str, full_name: &str) -> Option<&'a str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_plain = !name.is_empty() && name.chars().all(is_word);
    (is_plain && name != function && full_name.split(|c| !is_word(c)).any(|word| word == name)).then_some(name)
}

/// How the names of kernels begin that are no functions of C++ either: of libraries, of compilers of other languages, and mangled ones.
const NOT_TRITON: &[&str] = &[
    "_Z", "sm", "ampere_", "volta_", "turing_", "maxwell_", "nvjet_", "cudnn", "cublas", "cutlass", "Cijk_", "julia_",
    "cupy_", "nccl",
];

/// Whether a kernel may be one of Triton's, by its whole name: those have no parameters and no scopes in it, as functions of C++ have.
pub(super) fn may_be_triton(full_name: &str) -> bool {
    let is_plain = !full_name.is_empty() && full_name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_plain && !NOT_TRITON.iter().any(|begin| full_name.starts_with(begin))
}

#[cfg(test)]
#[path = "kernel_names_tests.rs"]
mod tests;
