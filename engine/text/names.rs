//! Kernel names short enough to read.

use super::{escape, kernel_names};

/// Longer names lose their middle.
const MAX_CHARS: usize = 60;

/// What people call a kernel, at most 60 characters long.
pub fn shorten(name: &str) -> String {
    let name = escape::plain(name);
    let called = kernel_names::called(&name);
    escape::shorten_middle(to_tile(&called).as_deref().unwrap_or(&called), MAX_CHARS)
}

/// A name of Tensile, as rocBLAS and hipBLASLt launch its kernels, up to the tile that a block makes and the matrix instruction: what
/// comes behind, for hundreds of characters, nobody reads.
fn to_tile(name: &str) -> Option<String> {
    let is_size = |word: &str, kind: &str| {
        word.strip_prefix(kind).is_some_and(|size| size.contains('x') && size.starts_with(|c: char| c.is_ascii_digit()))
    };
    let words: Vec<&str> = name.strip_prefix("Cijk_")?.split('_').collect();
    let tile = words.iter().position(|word| is_size(word, "MT"))?;
    let last = if words.get(tile + 1).is_some_and(|word| is_size(word, "MI")) { tile + 1 } else { tile };
    (last + 1 < words.len()).then(|| format!("Cijk_{}…", words[..=last].join("_")))
}

/// The same of several names: those that come out alike show the part in which they differ, after their beginning.
pub fn shorten_apart(names: &[&str]) -> Vec<String> {
    let short: Vec<String> = names.iter().map(|name| shorten(name)).collect();
    let apart = |(index, own): (usize, &String)| {
        let alike = (0..names.len()).filter(|other| *other != index && short[*other] == *own);
        let full = |index: usize| kernel_names::called(&escape::plain(names[index]));
        let own_full = full(index);
        let common = |other: usize| own_full.chars().zip(full(other).chars()).take_while(|(a, b)| a == b).count();
        let Some(common) = alike.map(common).min().filter(|common| *common < own_full.chars().count()) else {
            return own.clone();
        };
        let from = common.saturating_sub(CONTEXT_CHARS).max(BEGINNING_CHARS);
        let beginning: String = own_full.chars().take(BEGINNING_CHARS).collect();
        let rest: String = own_full.chars().skip(from).take(MAX_CHARS - BEGINNING_CHARS - 2).collect();
        let end = if from + rest.chars().count() < own_full.chars().count() { "…" } else { "" };
        format!("{beginning}…{rest}{end}")
    };
    short.iter().enumerate().map(apart).collect()
}

/// What is shown of the beginning of names that differ later only, and of what comes before the difference.
const BEGINNING_CHARS: usize = 14;
const CONTEXT_CHARS: usize = 12;

/// Whether a text names something whose name ends in a number: `GPU 1` is not named by `GPU 12`.
pub fn tells(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| !text[at + name.len()..].starts_with(|next: char| next.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_told_whole() {
        assert!(tells("on GPU 1, and GPU 12", "GPU 1") && tells("GPU 12", "GPU 12"));
        assert!(!tells("on GPU 12", "GPU 1") && !tells("", "GPU 1"));
    }

    #[test]
    fn names_that_would_look_alike_show_where_they_differ() {
        let name = |tile: &str| {
            format!(
                "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize{tile}_stage3_warpsize4x2x1_ffma_aligna4_alignc4_execute"
            )
        };
        let (a, b) = (name("256x128x8"), name("64x64x8"));
        let shown = shorten_apart(&[&a, "vecAdd(float*)", &b]);
        assert_eq!(shown[0], "sm80_xmma_gemm…n_n_tilesize256x128x8_stage3_warpsize4x2x1_f…");
        assert_eq!(shown[1], "vecAdd");
        assert_ne!(shown[0], shown[2]);
        assert!(shown.iter().all(|name| name.chars().count() <= MAX_CHARS), "{shown:?}");
        assert_eq!(shorten_apart(&[&a, &a])[0], shorten(&a));
    }

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
            (
                "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x192x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_CLR1_WSGRA0_WSGRB0_WS64_WG64_4_1",
                "Cijk_Alik_Bljk_BBS_BH_Bias_HA_…rArgs_MT128x192x64_MI16x16x1…",
            ),
            ("Cijk_Ailk_Bljk_SB_MT64x64x8_SE_K1", "Cijk_Ailk_Bljk_SB_MT64x64x8…"),
            ("Cijk_Ailk_Bljk_SB_MT64x64x8", "Cijk_Ailk_Bljk_SB_MT64x64x8"),
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
