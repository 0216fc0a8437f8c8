//! Kernel names short enough to read.

use super::{escape, kernel_names};

/// Longer names lose their middle.
const MAX_CHARS: usize = 60;

/// What people call a kernel, at most 60 characters long.
pub fn shorten(name: &str) -> String {
    let name = escape::plain(name);
    escape::shorten_middle(&kernel_names::called(&name), MAX_CHARS)
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
                "FillFunctor",
            ),
            (
                "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x4_tn_align8>(T1::Params)",
                "cutlass_80_tensorop_bf16_s1681…u_bf16_128x128_32x4_tn_align8",
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
