//! Facts of a device that the names of its kernels tell of tensors: products, copies into another type or layout, attention.

use super::FactType::{Bool, Int, Text};
use super::Scaling::{Extensive, Incomparable};
use super::{Fact, fact};
use crate::timeline::Capability::{CudaTrace, Nvtx, TensorShapes};

pub(super) const TENSORS: &[Fact] = &[
    fact(
        "has_products",
        Bool,
        CudaTrace,
        Incomparable,
        "Whether a kernel of the window is a matrix product by its name.",
    ),
    fact(
        "has_convolutions",
        Bool,
        CudaTrace,
        Incomparable,
        "Whether a kernel of the window is of a convolution by its name: the product, or what changes tensors around it.",
    ),
    fact(
        "tensor_copy_launch_count",
        Int,
        CudaTrace,
        Extensive,
        "Launches of kernels that only copy a tensor, into another type or another layout.",
    ),
    fact(
        "transpose_ns",
        Int,
        CudaTrace,
        Extensive,
        "Compute time that kernels own whose names are those of layout transposes, as for attributed_ns of a kernel.",
    ),
    fact("tensor_copy_ns", Int, CudaTrace, Extensive, "Compute time that these own, as for attributed_ns of a kernel."),
    fact(
        "tensor_copy_main_ns",
        Int,
        TensorShapes,
        Extensive,
        "How long the kernels run that copy the tensor of which copies take the longest, of those that only copy one. Absent, as all facts of it, where no operator tells sizes and types.",
    ),
    fact("tensor_copy_main_sizes", Text, TensorShapes, Incomparable, "The sizes of that tensor."),
    fact("tensor_copy_main_from", Text, TensorShapes, Incomparable, "The type of its elements."),
    fact(
        "tensor_copy_main_to",
        Text,
        TensorShapes,
        Incomparable,
        "The type that they are copied into: another layout where it is the same.",
    ),
    fact(
        "tensor_copy_operator",
        Text,
        Nvtx,
        Incomparable,
        "The operator of PyTorch within which most of that time is asked for, the outermost that does more than copy, cast or view (`aten::layer_norm`); with the second one it holds 60 % of it or more, or with others behind them. Absent where no such operators do, or none were recorded.",
    ),
    fact(
        "tensor_copy_second_operator",
        Text,
        Nvtx,
        Incomparable,
        "The next of them, where the first holds less than 80 %; absent without one.",
    ),
    fact(
        "has_one_hot",
        Bool,
        Nvtx,
        Incomparable,
        "Whether the recording holds the operator `aten::one_hot`; absent without operators.",
    ),
    fact(
        "tensor_copy_in_product_ns",
        Int,
        CudaTrace,
        Extensive,
        "How much of that time casts take that an operator of a matrix product or a convolution asks for itself (`aten::to` within `aten::linear`), as `torch.autocast` lets it, and those that cast its gradients back: of `ToCopyBackward0` the part that such casts are of all casts. Absent where no such operator was recorded.",
    ),
    fact(
        "tensor_copy_kernel",
        Text,
        CudaTrace,
        Incomparable,
        "The one among them with most of it; absent without any.",
    ),
    fact(
        "written_attention_count",
        Int,
        CudaTrace,
        Extensive,
        "How often attention is written out, by the names of kernels: a softmax between two matrix products of a stream, with nothing but element-wise kernels beside it. Where a trace holds sizes, the second product is one of several matrices.",
    ),
    fact(
        "written_attention_ns",
        Int,
        CudaTrace,
        Extensive,
        "How long the kernels between these products run, and copies within the device, summed; absent without any.",
    ),
    fact(
        "written_attention_tensor_copy_ns",
        Int,
        CudaTrace,
        Extensive,
        "How much of that kernels take that only copy or cast a tensor.",
    ),
    fact(
        "written_attention_device_copy_ns",
        Int,
        CudaTrace,
        Extensive,
        "How much of it copies within the device take.",
    ),
    fact(
        "written_attention_product_ns",
        Int,
        CudaTrace,
        Extensive,
        "How long these products take at most to write and read the matrix between them: of each no more than half of the shortest kernel between.",
    ),
    fact(
        "written_attention_kernel",
        Text,
        CudaTrace,
        Incomparable,
        "The softmax among them with most time; one whose name stands for other kernels as well only where there is no other.",
    ),
];
