//! What the names of kernels tell.

use super::*;
use crate::timeline::columns::KernelShape;

#[test]
fn a_functor_is_a_word_of_the_whole_name() {
    let of = |name, full_name| functor(name, "vectorized_elementwise_kernel", full_name);
    let whole = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)";
    assert_eq!(of("CUDAFunctor_add", whole), Some("CUDAFunctor_add"));
    assert_eq!(of("Functor_add", whole), None);
    assert_eq!(of("add::operator()", whole), None, "no plain word");
    assert_eq!(
        of("CUDAFunctor_add", "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE"),
        None
    );
    assert_eq!(functor("gemm", "gemm", "void gemm<float>(int)"), None);
}

#[test]
fn names_of_triton_have_no_parameters_and_are_of_no_library() {
    assert!(may_be_triton("triton_poi_fused_add_0") && may_be_triton("_attn_fwd"));
    let others = [
        "transpose_naive(const float *, int)",
        "void at::copy<4>(int)",
        "sm80_xmma_gemm_f32f32",
        "julia_axpy_12",
        "_Z3addPf",
        "",
    ];
    for name in others {
        assert!(!may_be_triton(name), "{name}");
    }
}

#[test]
fn names_tell() {
    let patterns = Patterns::new().expect("patterns compile");
    let of = |name: &str| patterns.traits(name, name);
    assert!(of("ncclDevKernel_AllReduce_Sum_f32_RING_LL").is_communication);
    assert!(of("ncclKernel_AllGather").is_communication);
    assert!(of("rcclGenericKernel").is_communication);
    let of_sglang = of("all_reduce_two_shot_kernel");
    assert!(of_sglang.is_communication && of_sglang.is_collective);
    let multicast = of("multimem_all_reduce_kernel");
    assert!(multicast.is_communication && !multicast.is_collective);
    let combine = patterns.traits("combine", "void dpsk::ep::internode::combine<bool, 4>(int)");
    assert!(combine.is_communication && combine.is_collective);
    assert!(!patterns.traits("combine", "void step::internode::combine(int)").is_communication);
    assert!(!of("vectorized_elementwise_kernel").is_communication);
    assert!(of("vectorized_elementwise_kernel").is_elementwise);
    assert!(of("ampere_sgemm_128x64_tn").is_matrix_product);
    assert!(of("sm80_xmma_fprop_f16f16").is_matrix_product && !of("sm50_xmma_pooling_max_nchw").is_matrix_product);
    assert_eq!(of("ampere_sgemm_128x64_tn").precision, Some("fp32"));
    assert_eq!(of("nvjet_sm90_tst_128x8_64x12_2x1_v_bz_splitK_bias_TNT").precision, Some("bf16"));
    assert_eq!(of("nvjet_tst_192x8_64x8_4x1_v_bz_TNT").precision, Some("bf16"));
    assert_eq!(of("nvjet_sm90_hsh_64x256_64x4_1x2_h_bz_coopA_NTN").precision, Some("fp16"));
    assert_eq!(of("nvjet_sm90_qqtst_128x8_64x12").precision, None);
    assert_eq!(of("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn").precision, Some("bf16"));
    assert_eq!(of("cutlass_80_tensorop_s1688gemm_128x256_16x3_nt_align4").precision, Some("tf32"));
    let of_cudnn =
        ["wgrad_optimized_tf32_256x64_16x4_nhwc", "dgrad_optimized_tf32_64x128_16x6_nhwc", "fprop_analytic_64x64"];
    for name in of_cudnn.map(|name| format!("cutlass_tensorop_s1688{name}")) {
        assert!(of(&name).is_matrix_product && of(&name).precision == Some("tf32"), "{name}");
    }
    assert_eq!(of("cutlass_tensorop_f16_s16816fprop_optimized_f16_128x64_32x4_nhwc").precision, Some("fp16"));
    assert_eq!(of("cutlass_simt_sfprop_optimized_128x64_8x2_nhwc").precision, Some("fp32"));
    let old = "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1";
    assert_eq!(of(old).precision, Some("bf16"));
    assert_eq!(of("volta_h884gemm_64x64_ldg8_tn").precision, Some("fp16"));
    let convolution = |of_type: &str| {
        let full = format!("void implicit_convolve_sgemm<{of_type}, {of_type}, 1024, 5, 5, 3>(int, int)");
        patterns.traits("implicit_convolve_sgemm", &full).precision
    };
    assert_eq!((convolution("float"), convolution("__half")), (Some("fp32"), Some("fp16")));
    let engine = |of_type: &str| {
        let full = format!("void cudnn::cnn::dgrad_engine<{of_type}, 512, 6, 5, 3, 3, 3, true>(int, int)");
        patterns.traits("dgrad_engine", &full).precision
    };
    assert_eq!((engine("float"), engine("__half"), engine("double")), (Some("fp32"), Some("fp16"), Some("fp64")));
    let gradient = "void cudnn::cnn::wgrad_alg0_engine<float, 512, 6, 5, 3, 3, 3, false, 512>(int, int)";
    assert_eq!(patterns.traits("wgrad_alg0_engine", gradient).role, Role::Fp32Product);
    assert_eq!(of("volta_gcgemm_64x64_tn").precision, Some("fp32"));
    // A product with a vector is limited by reading the matrix.
    let of_vector = "void gemv2T_kernel_val<int, int, double, double, double, double, 128, 16, 4, 4, false>(double)";
    let of_vector = patterns.traits("gemv2T_kernel_val", of_vector);
    assert!(of_vector.is_matrix_product && of_vector.is_fp64);
    assert_eq!((of_vector.precision, of_vector.role), (None, Role::Compute));
    // Products of complex numbers that the program itself holds.
    assert_eq!(of("volta_cgemm_64x64_tn").precision, None);
    assert_eq!(of("reduce_half_kernel").precision, None);
    assert_eq!(of("volta_scudnn_128x64_relu_interior_nn_v1").precision, Some("fp32"));
    assert_eq!(of("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1").precision, Some("bf16"));
    for finishing in ["_finalize_matmul_scatter_bf16", "gemm_splitk_reduce_kernel"] {
        assert!(!of(finishing).is_matrix_product, "{finishing}");
    }
}

#[test]
fn names_tell_of_layouts_and_convolutions() {
    let patterns = Patterns::new().expect("patterns compile");
    let of = |name: &str| patterns.traits(name, name);
    assert!(of("permute102_kernel").is_transpose && !of("per_channel_cast_and_transpose").is_transpose);
    let convolutions =
        ["implicit_convolve_sgemm", "nchwToNhwcKernel", "dgrad2d_c1_k1_nchw_kernel", "igemm_wrw_gtcx3_nhwc_bf16"];
    assert!(convolutions.into_iter().all(|name| of(name).is_of_convolution));
    assert!(!of("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16").is_of_convolution);
    assert!(!of("convert_fp16").is_of_convolution && !of("ampere_sgemm_128x64_tn").is_of_convolution);
}

#[test]
fn where_a_kernel_is_declared_does_not_make_it_a_product() {
    let patterns = Patterns::new().expect("patterns compile");
    for (short, full, is_product) in [
        ("permute_2D_data_kernel", "void fbgemm_gpu::permute_2D_data_kernel<true, long>(int)", false),
        ("transpose", "void dpsk::grouped_gemm::cuda::utils::transpose<float>(int)", false),
        ("computeOffsetsKernel", "void cudnn::gemm::computeOffsetsKernel(cudnn::gemm::Params)", false),
        ("elementwise_kernel", "void at::native::elementwise_kernel<fbgemm_gpu::Add>(int)", false),
        ("kernel", "void gemv2T::kernel<int>(int)", true),
        ("kernel", "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, __half>(T13)", true),
        ("sm90_fp8_gemm_1d2d_impl", "void deep_gemm::sm90_fp8_gemm_1d2d_impl<1u>()", true),
        ("Kernel2", "void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16>(T1::Params)", true),
        ("device_kernel", "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int>>(T1)", true),
        ("kentry", "void ck_tile::kentry<1, ck_tile::GemmKernel<int>>(int)", true),
    ] {
        assert_eq!(patterns.traits(short, full).is_matrix_product, is_product, "{full}");
    }
}

#[test]
fn transforms_of_winograd_are_no_products() {
    let patterns = Patterns::new().expect("patterns compile");
    for name in
        ["winogradForwardData4x4", "winogradForwardFilter4x4", "winogradForwardOutput4x4", "winogradWgradDelta4x4"]
    {
        let full = format!("void cudnn::winograd_nonfused::{name}<float, float>(int)");
        let traits = patterns.traits(name, &full);
        assert!(!traits.is_matrix_product && traits.precision.is_none(), "{name}");
    }
    let product = "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1";
    assert_eq!(patterns.traits(product, product).precision, Some("fp32"));
}

#[test]
fn names_tell_double_precision() {
    let patterns = Patterns::new().expect("patterns compile");
    let is_fp64 = |short: &str, full: &str| patterns.traits(short, full).is_fp64;
    let silu = "void at::native::vectorized_elementwise_kernel<2, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#1}::operator()() const::{lambda(double)#1}, std::array<char*, 2ul> >(int)";
    assert!(is_fp64("vectorized_elementwise_kernel", silu));
    assert!(is_fp64("Kernel2", "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1>(T1::Params)"));
    assert!(is_fp64("volta_dgemm_64x64_tn", "volta_dgemm_64x64_tn"));
    assert!(is_fp64("step", "step(double const*, double*, int)"));
    // A scalar in double precision beside data that are not.
    assert!(!is_fp64("adam", "void adam<float>(float*, float const*, double, double)"));
    assert!(!is_fp64("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"));
    assert!(!is_fp64("double_buffer", "double_buffer(int*)"));
    let cupy = |name: &str| is_fp64(name, name);
    assert!(cupy("cupy_multiply__float64_float_float64") && cupy("cupy_sum__float64_float64"));
    assert!(!cupy("cupy_copy__float32_float64") && !cupy("cupy_multiply__float32_float_float32"));
}

#[test]
fn whole_names_tell_apart_what_one_short_name_stands_for() {
    let mut timeline = Timeline::default();
    let name = timeline.names.intern("cunn_SoftMaxBackwardSmem");
    let of = |epilogue: &str| format!("void cunn_SoftMaxBackwardSmem<4, float, {epilogue}Epilogue>(float*)");
    let [loss, layer] = ["LogSoftMaxBackward", "SoftMaxBackward"].map(|of_kind| timeline.names.intern(&*of(of_kind)));
    for full_name in [loss, layer] {
        timeline.kernels.shapes.push(KernelShape { name, full_name, ..KernelShape::default() });
    }
    let roles = traits(&timeline);
    let role = |name: NameId| roles[name as usize].role;
    assert_eq!([role(name), role(loss), role(layer)], [Role::Compute, Role::Compute, Role::Softmax]);
}

#[test]
fn names_tell_roles() {
    let patterns = Patterns::new().expect("patterns compile");
    let of = |name: &str| patterns.traits(name, name);
    for (name, role) in [
        ("softmax_warp_forward", Role::Softmax),
        ("softmax_warp_backward", Role::Softmax),
        ("cunn_SoftMaxForwardReg", Role::Softmax),
        ("triton_per_fused__softmax_add_3", Role::Softmax),
        ("cunn_LogSoftMaxForward", Role::Compute),
        ("topkGatingSoftmax", Role::Compute),
        ("flash_fwd_softmax_kernel", Role::Compute),
        ("gemm_softmax_fused", Role::Product),
        ("bn_fw_inf_1C11_kernel_NCHW", Role::Elementwise),
        ("bn_fw_tr_1C11_kernel_NCHW", Role::Normalization),
        ("batch_norm_transform_input_channels_last_kernel", Role::LoopingElementwise),
        ("batch_norm_collect_statistics_channels_last_kernel", Role::Compute),
        ("batch_norm_transform_input_kernel", Role::Normalization),
        ("fused_dropout_kernel_vec", Role::Elementwise),
        ("cupy_multiply__float_float32_float32", Role::Elementwise),
        ("cupy_true_divide__float32_float32_float32", Role::Elementwise),
        ("cupy_sum__float32_float32", Role::Compute),
        ("cupy_copy_if", Role::Compute),
    ] {
        assert_eq!(of(name).role, role, "{name}");
    }
    for name in [
        "launch_clamp_scalar",
        "GeluCUDAKernelImpl",
        "threshold_kernel_impl",
        "silu_kernel",
        "pow_tensor_scalar_kernel_impl",
        "exp_kernel_cuda",
    ] {
        let full = format!("void at::native::vectorized_elementwise_kernel<4, at::native::{name}<float>>(int)");
        assert!(patterns.traits(name, &full).is_activation, "{name}");
    }
    assert!(!of("CUDAFunctor_add").is_activation && !of("ampere_sgemm_128x64_relu_nn").is_activation);
    assert!(of("nchwToNhwcKernel").is_transpose);
    assert!(of("direct_copy_kernel_cuda").is_tensor_copy && of("bfloat16_copy_kernel_cuda").is_tensor_copy);
    assert!(of("triton_poi_fused__to_copy_1").is_tensor_copy && !of("triton_poi_fused__to_copy_add_1").is_tensor_copy);
    assert!(!of("copy_if_kernel").is_tensor_copy);
    assert!(of("triton_poi_fused__unsafe_view_clone_transpose_view_34").is_transpose);
    assert!(!of("triton_red_fused_mean_mul_pow_rsqrt_transpose_view_31").is_transpose);
    assert!(!of("triton_poi_fused__unsafe_view_clone_gelu_transpose_view_34").is_transpose);
}
