//! The most that a change could win counts what is made with it by whoever makes it, where it is worth a change.

use coldspot::replay::{Change, Gain};

use crate::support::cli::{Printed, coldspot};

use super::trace::{KERNEL_US, STEP_COUNT, TO_HOST, Trace};

const TO_DEVICE_PAGEABLE: &str = "Memcpy HtoD (Pageable -> Device)";
const CAST: &str =
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)";
const ADD: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >";

/// Steps of an upload from pageable memory, which takes so long, and a kernel that takes ten times as long.
fn uploads(copy_us: f64) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        trace.copy(TO_DEVICE_PAGEABLE, copy_us);
        trace.launch("filter_kernel", 10.0 * KERNEL_US);
        trace.wait();
        trace.step(step, begin);
    }
    trace
}

#[test]
fn at_most_a_change_wins_what_goes_with_it_where_it_is_worth_a_change() {
    let share = |copy_us: f64, changes: &[Change]| {
        let (gain, step_ns) = uploads(copy_us).gain_of(changes);
        (gain.expected_ns as f64 / step_ns as f64, gain.ceiling_ns as f64 / step_ns as f64)
    };
    // Copies that are pinned run beside the kernels of other steps as well, and those take turns no longer.
    let large = 10.0 * KERNEL_US;
    let (expected, most) = share(large, &[Change::PinCopies]);
    // An A100 may stand in a host of PCIe 3.0, over which pinned copies are hardly faster than these; at most its own link counts.
    assert!((0.08..0.12).contains(&expected) && most > 0.54, "{expected} {most}");
    // Nobody overlaps copies for a twentieth of a step.
    let small = 0.5 * KERNEL_US;
    let (expected, most) = share(small, &[Change::PinCopies]);
    let (_, both) = share(small, &[Change::PinCopies, Change::OverlapCopies]);
    assert!(expected < 0.1 && most < both - 0.02, "{expected} {most} {both}");
}

#[test]
fn casts_and_layout_copies_go_with_their_launches() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for _ in 0..4 {
            trace.launch(CAST, 50.0);
            trace.launch("ampere_fp16_s16816gemm_fp16_128x64_nn", KERNEL_US);
        }
        trace.wait();
        trace.step(step, begin);
    }
    let (gain, step_ns) = trace.gain(Change::KeepTensors);
    let share = gain.expected_ns as f64 / step_ns as f64;
    // Half of what the copies take: between products they may be needed.
    assert!((0.15..0.18).contains(&share), "{gain:?} of {step_ns}");
    assert!(gain.ceiling_ns >= 2 * gain.expected_ns, "{gain:?}");
}

#[test]
fn copies_between_products_may_be_needed() {
    let share = |before: &str| {
        let mut trace = Trace::default();
        for step in 0..STEP_COUNT {
            let begin = trace.host_us;
            for _ in 0..4 {
                trace.launch(before, KERNEL_US);
                trace.launch(CAST, 10.0);
                trace.launch("ampere_fp16_s16816gemm_fp16_128x64_nn", KERNEL_US);
            }
            trace.wait();
            trace.step(step, begin);
        }
        let (gain, step_ns) = trace.gain(Change::KeepTensors);
        (gain.expected_ns as f64 / step_ns as f64, gain.ceiling_ns as f64 / step_ns as f64)
    };
    let (of_products, most) = share("ampere_fp16_s16816gemm_fp16_128x64_nn");
    let (of_sums, all) =
        share("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >");
    assert!((0.04..0.06).contains(&of_sums) && all >= of_sums, "{of_sums} {all}");
    assert!((0.02..0.03).contains(&of_products) && most > 1.5 * of_products, "{of_products} {most}");
}

/// Steps in which elements are chosen so many times, and how many they are is read back.
pub(crate) fn choices(count: u32) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for _ in 0..count {
            for _ in 0..12 {
                trace.launch("filter_kernel", 3.0);
            }
            trace.launch("void at_cuda_detail::cub::DeviceSelectSweepKernel<int>(int)", 3.0);
            trace.copy(TO_HOST, 0.5);
            trace.wait();
        }
        trace.launch("filter_kernel", KERNEL_US);
        trace.wait();
        trace.step(step, begin);
    }
    trace
}

#[test]
fn gathers_that_follow_no_choice_stay() {
    const GATHER: &str =
        "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)";
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        trace.launch("void at_cuda_detail::cub::DeviceSelectSweepKernel<int>(int)", 3.0);
        trace.copy(TO_HOST, 0.5);
        trace.wait();
        trace.launch(GATHER, 20.0);
        (0..20).for_each(|_| trace.launch("filter_kernel", 5.0));
        // Along the edges of a graph, far from any choice.
        (0..4).for_each(|_| trace.launch(GATHER, KERNEL_US));
        trace.wait();
        trace.step(step, begin);
    }
    let (gain, step_ns) = trace.gain(Change::FixedShapes);
    assert!(gain.expected_ns >= 20_000 && gain.ceiling_ns < 4 * 100_000, "{gain:?} of {step_ns}");
}

#[test]
fn who_chooses_for_one_piece_of_data_after_the_other_can_do_so_for_all_at_once() {
    let share = |count| {
        let (gain, step_ns) = choices(count).gain(Change::FixedShapes);
        gain.expected_ns as f64 / step_ns as f64
    };
    let (few, many) = (share(8), share(24));
    assert!(few < 0.5 && many > few + 0.15, "{few} {many}");
    let count = |name| choices(24).fact(name);
    // A turn asks with a kernel that selects, after twelve that work; behind the loop a step launches one more.
    assert_eq!(
        (count("piece_choice_count"), count("piece_choice_launch_count"), count("piece_step_launch_count")),
        (24.0, 13.0, 24.0 * 13.0 + 1.0)
    );
    assert_eq!((count("piece_with_product_count"), count("piece_with_value_count")), (0.0, 0.0));
}

#[test]
fn products_in_half_precision_leave_half_of_what_else_moves() {
    let share = |others: u32| {
        let mut trace = Trace::default();
        for step in 0..STEP_COUNT {
            let begin = trace.host_us;
            trace.launch("ampere_sgemm_128x64_nn", 5.0 * KERNEL_US);
            for _ in 0..others {
                trace.launch("void layer_norm_kernel(int)", KERNEL_US);
            }
            trace.wait();
            trace.step(step, begin);
        }
        let (gain, step_ns) = trace.gain(Change::LowerPrecision);
        (gain.expected_ns as f64 / step_ns as f64, gain.ceiling_ns as f64 / step_ns as f64)
    };
    let (expected, most) = share(5);
    assert!(expected < 0.5 && (0.65..0.8).contains(&most), "{expected} {most}");
    // Where products are next to nothing, nobody changes the precision of all.
    let (_, most) = share(60);
    assert!(most < 0.12, "{most}");
}

#[test]
fn who_pins_a_small_copy_waits_for_kernels_as_before() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        trace.copy(TO_DEVICE_PAGEABLE, 20.0);
        trace.launch("filter_kernel", KERNEL_US);
        trace.wait();
        trace.host_us += KERNEL_US;
        trace.step(step, begin);
    }
    let (gain, step_ns) = trace.gain(Change::PinCopies);
    assert!(gain.expected_ns > 0 && gain.ceiling_ns < 40_000, "{gain:?} of {step_ns}");
}

#[test]
fn products_win_no_more_than_kernels_take_of_a_step_that_the_host_makes_long() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for _ in 0..10 {
            for index in 0..12 {
                trace.events.event("cpu_op", "aten::linear", 99, trace.host_us + f64::from(index), 0.5, "");
            }
            trace.host_us += 30.0;
            trace.launch("ampere_sgemm_128x64_nn", 8.0);
        }
        trace.wait();
        trace.step(step, begin);
    }
    let (gain, step_ns) = trace.gain(Change::LowerPrecision);
    assert!(step_ns > 150_000 && gain.ceiling_ns <= 84_000, "{gain:?} of {step_ns}");
}

/// Steps whose optimizer reads a number of each of 20 parameters, and updates one at a time; its own steps are marked by these names.
fn optimizer(names: &[&str]) -> Trace {
    Trace::of_steps(|trace| {
        trace.launch("filter_kernel", KERNEL_US);
        trace.wait();
        trace.optimizer(names, |trace| {
            for _ in 0..20 {
                trace.copy(TO_HOST, 1.0);
                trace.wait();
                (0..3).for_each(|_| trace.launch(ADD, 3.0));
            }
        });
    })
}

#[test]
fn an_optimizer_that_updates_all_parameters_at_once_reads_no_number_of_each() {
    let share = |names: &[&str]| {
        let (gain, step_ns) = optimizer(names).gain(Change::ForEach);
        gain.expected_ns as f64 / step_ns as f64
    };
    let (marked, unmarked) = (share(&["Optimizer.step#AdamW.step"]), share(&[]));
    assert!(marked > 0.55, "{marked}");
    assert!(unmarked < 0.1, "{unmarked}");
    // Each wait ends 4 us after what it waits for, and 2 us are lost at each launch.
    let idle_ns = optimizer(&["Optimizer.step#AdamW.step"]).fact("idle_optimizer_ns");
    assert!(idle_ns > f64::from(STEP_COUNT * 20) * 8_000.0, "{idle_ns}");
}

#[test]
fn an_optimizer_that_updates_all_parameters_at_once_leaves_other_loops_as_they_are() {
    let trace = |loop_count: u32| {
        let mut trace = Trace::default();
        for step in 0..STEP_COUNT {
            let begin = trace.host_us;
            for _ in 0..20 * loop_count {
                (0..3).for_each(|_| trace.launch(ADD, 3.0));
            }
            trace.launch("filter_kernel", KERNEL_US);
            let optimizer = trace.host_us;
            for _ in 0..20 {
                (0..3).for_each(|_| trace.launch(ADD, 3.0));
            }
            let length = trace.host_us - optimizer;
            trace.events.event("user_annotation", "Optimizer.step#AdamW.step", 99, optimizer, length, "");
            trace.wait();
            trace.step(step, begin);
        }
        trace
    };
    let (alone, both) = (trace(0), trace(1));
    let own = both.gain(Change::FuseOptimizer).0.expected_ns;
    let all = both.gain(Change::ForEach).0.expected_ns;
    assert!(own > 50_000 && all as f64 > 1.8 * own as f64, "{own} {all}");
    let only = alone.gain(Change::FuseOptimizer).0;
    assert_eq!(only, alone.gain(Change::ForEach).0);
    assert!((only.expected_ns - own).abs() * 10 <= own, "{only:?} {own}");
}

#[test]
fn steps_of_an_optimizer_in_each_other_hold_their_time_once() {
    let alone = optimizer(&["Optimizer.step#AdamW.step"]).fact("idle_optimizer_ns");
    let wrapped =
        optimizer(&["Optimizer.step#Sharded.step", "Optimizer.step#Lookahead.step", "Optimizer.step#AdamW.step"]);
    assert_eq!(wrapped.fact("idle_optimizer_ns"), alone);
    let (folder, path) = wrapped.write();
    let facts = coldspot(&["facts", &path.to_string_lossy(), "--format", "json"]).success().out();
    let kept = folder.path().join("facts.json");
    std::fs::write(&kept, facts).unwrap();
    coldspot(&["review", &kept.to_string_lossy()]).success();
}

/// Steps of two compiled graphs with host code between them, which so many threads mark.
fn broken_graphs(threads: &[u32]) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for graph in ["## Call CompiledFxGraph fa ##", "## Call CompiledFxGraph fb ##"] {
            let entered = trace.host_us;
            trace.launch("triton_poi_fused_add_gelu_0", KERNEL_US);
            trace.wait();
            let length = trace.host_us - entered;
            threads
                .iter()
                .for_each(|thread| trace.events.event("user_annotation", graph, *thread, entered, length, ""));
            trace.host_us += 300.0;
        }
        let length = trace.host_us - begin;
        trace.events.event("user_annotation", "Torch-Compiled Region: 0/0", 99, begin, length, "");
        trace.step(step, begin);
    }
    trace
}

#[test]
fn threads_that_leave_a_graph_at_once_wait_for_one_idle_time() {
    let one = broken_graphs(&[99]).fact("idle_between_compiled_ns");
    assert!(one > f64::from(STEP_COUNT) * 290_000.0, "{one}");
    assert_eq!(broken_graphs(&[99, 98]).fact("idle_between_compiled_ns"), one);
}

#[test]
fn loading_ahead_wins_no_host_code_beside_it() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        let name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
        trace.events.event("user_annotation", name, 99, begin, 300.0, "");
        trace.host_us += 300.0;
        trace.launch("filter_kernel", KERNEL_US);
        trace.host_us += 400.0;
        trace.launch("filter_kernel", KERNEL_US);
        trace.wait();
        trace.step(step, begin);
    }
    let (gain, step_ns) = trace.gain(Change::LoadAhead);
    let share = |ns: i64| ns as f64 / step_ns as f64;
    // A third of a step; another run of the host may take longer.
    assert!(share(gain.expected_ns) > 0.25 && share(gain.ceiling_ns) < 0.5, "{gain:?} of {step_ns}");
}

#[test]
fn an_optimizer_beside_the_rounds_wins_nothing_of_them() {
    let mut trace = Trace::default();
    for _ in 0..24 {
        for name in ["embed", "project", "attend", "project", "norm", "loss"] {
            trace.launch(name, KERNEL_US);
        }
        trace.wait();
    }
    let begin = trace.host_us;
    (0..60).for_each(|_| trace.launch(ADD, 3.0));
    let length = trace.host_us - begin;
    trace.events.event("user_annotation", "Optimizer.step#SGD.step", 99, begin, length, "");
    assert_eq!(trace.fact("optimizer_kernel_count"), 60.0);
    assert_eq!(trace.fact("optimizer_beside_rounds_kernel_count"), 60.0);
}

#[test]
fn what_loads_code_in_each_step_is_no_set_up() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for (name, length) in [("cuMemGetInfo", 5.0), ("cuModuleLoadData", 300.0), ("cuModuleUnload", 100.0)] {
            trace.call(name, length);
            trace.host_us += length + 1.0;
        }
        trace.launch("filter_kernel", KERNEL_US);
        trace.wait();
        trace.step(step, begin);
    }
    let ((set_up, _), (load, _)) = (trace.gain(Change::SetUpOnce), trace.gain(Change::LoadOnce));
    assert!(set_up.ceiling_ns < 50_000, "{set_up:?}");
    assert!(load.expected_ns > 350_000 && load.ceiling_ns >= load.expected_ns, "{load:?}");
}

#[test]
fn what_the_host_does_between_two_loads_goes_with_them() {
    let expected_ns = |launches_between: bool| {
        let mut trace = Trace::default();
        for step in 0..STEP_COUNT {
            let begin = trace.host_us;
            for load in 0..3 {
                trace.call("cuModuleLoadData", 100.0);
                trace.host_us += 100.0;
                if launches_between && load < 2 {
                    trace.launch("filter_kernel", 3.0);
                }
                trace.host_us += 40.0;
            }
            trace.launch("filter_kernel", KERNEL_US);
            trace.wait();
            trace.step(step, begin);
        }
        trace.gain(Change::LoadOnce).0.expected_ns
    };
    // Three calls of 100 us, with 40 us behind the first and the second; behind a launch most of that stays.
    let (alone_ns, apart_ns) = (expected_ns(false), expected_ns(true));
    assert!(alone_ns > 370_000 && apart_ns < alone_ns - 30_000, "{alone_ns} {apart_ns}");
}

/// Steps of which an operator sorts for a third and calls another within, before a product of what is in order.
pub(crate) fn sorting(operator: &str, kernel: &str) -> Trace {
    sorting_and(operator, kernel, "coalesceValuesKernel")
}

/// The same with another kernel behind what sorts.
fn sorting_and(operator: &str, kernel: &str, other: &str) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        trace.launch("filter_kernel", KERNEL_US);
        let sort = trace.host_us;
        trace.launch(kernel, KERNEL_US);
        trace.launch(other, KERNEL_US);
        let length = trace.host_us - sort;
        for (name, inset) in [(operator, 0.0), ("aten::_coalesce", 1.0)] {
            trace.events.event("cpu_op", name, 99, sort + inset - 1.0, length - 2.0 * inset, "");
        }
        (0..3).for_each(|_| trace.launch("csrmm_alg1_kernel", KERNEL_US));
        trace.wait();
        trace.step(step, begin);
    }
    trace
}

#[test]
fn what_an_operator_sorts_goes_with_all_that_it_launches() {
    let sort = "void cub::detail::DeviceMergeSortMergeKernel<int>(int)";
    let shares = |trace: &Trace| {
        let (gain, step_ns) = trace.gain(Change::KeepOrder);
        (gain.expected_ns as f64 / step_ns as f64, gain.ceiling_ns as f64 / step_ns as f64)
    };
    let (expected, most) = shares(&sorting("aten::coalesce", sort));
    // Two of six kernels; at most all but the one that runs before it.
    assert!((0.28..0.36).contains(&expected) && (0.75..0.9).contains(&most), "{expected} {most}");
    assert_eq!(sorting("aten::coalesce", sort).fact("sort_operator_launch_count"), f64::from(2 * STEP_COUNT));
    let (expected, most) = shares(&sorting("aten::coalesce", "filter_kernel"));
    assert!(expected < 0.01 && most < 0.01, "nothing sorts: {expected} {most}");
    // An operator of which nobody knows that it sorts may do anything else; the one within it is known.
    let (expected, _) = shares(&sorting("aten::frobnicate", sort));
    assert!((0.28..0.36).contains(&expected), "{expected}");
}

#[test]
fn what_fills_the_gradient_of_a_table_is_no_sorting() {
    let fill = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)";
    let sort = "void cub::detail::DeviceMergeSortMergeKernel<int>(int)";
    let of = |other: &str| sorting_and("aten::embedding_dense_backward", sort, other);
    let (filled, summed) = (of(fill), of("compute_grad_weight"));
    assert_eq!(filled.fact("sort_operator_launch_count"), f64::from(STEP_COUNT));
    assert_eq!(summed.fact("sort_operator_launch_count"), f64::from(2 * STEP_COUNT));
    assert!((1.9..2.1).contains(&(summed.fact("sort_ns") / filled.fact("sort_ns"))));
    let most_ns = |trace: &Trace| trace.gain(Change::KeepOrder).0.ceiling_ns as f64;
    assert!(most_ns(&filled) < 0.7 * most_ns(&summed), "{} {}", most_ns(&filled), most_ns(&summed));
}

#[test]
fn what_is_copied_by_an_index_is_read_where_it_lies() {
    let shares = |operator: &str| {
        let (gain, step_ns) = sorting(operator, "vectorized_gather_kernel").gain(Change::ReadInPlace);
        (gain.expected_ns as f64 / step_ns as f64, gain.ceiling_ns as f64 / step_ns as f64)
    };
    // Of two of six kernels half is expected, and all at most.
    let (expected, most) = shares("aten::index_select");
    assert!((0.13..0.18).contains(&expected) && (0.28..0.36).contains(&most), "{expected} {most}");
    let (expected, most) = shares("aten::embedding");
    assert!(expected < 0.01 && most < 0.01, "a table is looked up: {expected} {most}");
}

/// Steps whose optimizer launches kernels for lists of tensors, 60 for as many groups, each of so many blocks.
pub(crate) fn groups(blocks: u32) -> Trace {
    const LIST: &str = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 1, 1, 0> >";
    Trace::of_steps(|trace| {
        trace.launch("filter_kernel", KERNEL_US);
        trace.wait();
        trace.optimizer(&["Optimizer.step#AdamW.step"], |trace| {
            (0..60).for_each(|_| trace.ask_of(blocks, "cudaLaunchKernel", "kernel", LIST, 7, 2.0));
        });
        trace.wait();
    })
}

#[test]
fn an_optimizer_of_many_groups_updates_few_parameters_at_once() {
    let of = |blocks: u32| {
        let trace = groups(blocks);
        let (gain, step_ns) = trace.gain(Change::FuseOptimizer);
        let counts = ["optimizer_joint_kernel_count", "optimizer_short_list_kernel_count"];
        (counts.map(|name| trace.fact(name)), gain.expected_ns as f64 / step_ns as f64)
    };
    let all = f64::from(60 * STEP_COUNT);
    let (counts, share) = of(29);
    assert!(counts == [0.0, all] && share > 0.3, "{counts:?} {share}");
    let (counts, share) = of(30);
    assert!(counts == [all, 0.0] && share < 0.01, "{counts:?} {share}");
}

/// Steps that copy so many pieces of 10 kB from place to place on the device, and work on them.
fn gathered(count: u32) -> Trace {
    Trace::of_steps(|trace| {
        (0..count).for_each(|_| trace.copy("Memcpy DtoD (Device -> Device)", 1.0));
        trace.launch("filter_kernel", 10.0);
        trace.wait();
    })
}

#[test]
fn pieces_that_stay_on_the_device_cross_no_link() {
    let trace = gathered(200);
    let (gain, step_ns) = trace.gain(Change::BatchCopies);
    // Of 200 copies one is left. A trace does not tell the rate of memory: it is above that of a link, and at most hardly takes time.
    assert!(gain.expected_ns as f64 > 0.75 * step_ns as f64, "{gain:?} of {step_ns}");
    assert!(gain.ceiling_ns as f64 > 0.98 * step_ns as f64, "{gain:?} of {step_ns}");
    assert_eq!(trace.gain(Change::ForEach).0, Gain { expected_ns: 0, ceiling_ns: 0 }, "copies alone are no kernels");
    let fact = |name| trace.fact(name);
    assert_eq!((fact("fine_copy_count"), fact("fine_device_copy_count")), (1_200.0, 1_200.0));
    assert_eq!(fact("fine_device_copy_bytes"), fact("fine_copy_bytes"));
}

/// Steps in which an optimizer works on so many matrices, one after the other, behind a forward pass of its own.
pub(crate) fn matrices(count: u32) -> Trace {
    Trace::of_count(STEP_COUNT, |trace| of_matrices(trace, count))
}

/// One of these steps.
fn of_matrices(trace: &mut Trace, count: u32) {
    trace.launch("filter_kernel", KERNEL_US);
    trace.optimizer(&["Optimizer.step#Muon.step"], |trace| {
        for _ in 0..count {
            for index in 0..9 {
                trace.launch(&format!("part_{index}"), 2.0);
            }
            trace.launch("ampere_fp16_s16816gemm_fp16_128x64_nn", 2.0);
        }
    });
    trace.wait();
}

#[test]
fn what_an_optimizer_does_for_one_matrix_after_the_other_is_told() {
    let trace = matrices(12);
    let fact = |name| trace.fact(name);
    let steps = f64::from(STEP_COUNT);
    assert_eq!((fact("same_turn_count"), fact("same_turn_kernel_count")), (12.0 * steps, 10.0));
    assert_eq!((fact("optimizer_turn_count"), fact("optimizer_turn_kernel_count")), (12.0 * steps, 10.0));
    assert_eq!(fact("optimizer_turn_product_count"), 1.0);
}

#[test]
fn whole_steps_of_an_optimizer_are_no_turns_of_it() {
    let trace = Trace::of_count(20, |trace| of_matrices(trace, 4));
    assert_eq!(trace.fact("optimizer_step_count"), 20.0);
    assert!(!trace.facts().contains("optimizer_turn_count"), "none has eight");
}

#[test]
fn copies_that_are_little_of_a_step_win_no_more_beside_changes_of_kernels() {
    let trace = Trace::of_steps(|trace| {
        trace.copy("Memcpy HtoD (Pinned -> Device)", 10.0);
        (0..5).for_each(|_| trace.launch("ampere_fp16_s16816gemm_fp16_128x64_nn", KERNEL_US));
        trace.ask_of(32, "cudaLaunchKernel", "kernel", "sum_of_gradients", 7, 50.0);
        trace.wait();
    });
    let of = |changes: &[Change]| trace.gain_of(changes).0.ceiling_ns;
    let (filled, hidden) = (of(&[Change::FullGrid]), of(&[Change::OverlapCopies]));
    let both = of(&[Change::FullGrid, Change::OverlapCopies]);
    assert!(filled > 10_000 && (1..20_000).contains(&hidden), "{filled} {hidden}");
    // Nobody gets the last waves of all kernels filled for that.
    assert!(both <= filled + 20_000, "{both} {filled} {hidden}");
}
