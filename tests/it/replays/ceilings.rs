//! The most that changes win leaves what must stay on the GPU, and what the host does elsewhere.

use coldspot::replay::Change;

use super::trace::{CALL_US, KERNEL_US, TO_HOST, Trace};

const ABS: &str = "void at::native::vectorized_elementwise_kernel<8, at::native::AbsFunctor<c10::BFloat16> >";
const EQUAL: &str =
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, bool> >";
const ALL: &str =
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<bool, at::native::func_wrapper_t<bool> > >";
const PRODUCT: &str = "ampere_fp16_s16816gemm_fp16_128x64_nn";
const INWARD: &str = "Memcpy HtoD (Pinned -> Device)";
const OUTWARD: &str = "Memcpy DtoH (Device -> Pinned)";

fn read(trace: &mut Trace) {
    trace.copy(TO_HOST, 1.0);
    trace.wait();
}

fn shares(trace: &Trace, change: Change) -> (f64, f64) {
    let (gain, step_ns) = trace.gain(change);
    (gain.expected_ns as f64 / step_ns as f64, gain.ceiling_ns as f64 / step_ns as f64)
}

#[test]
fn kernels_of_the_program_itself_stay_between_reads() {
    // An iteration: what it computes is more than the value that is read.
    let trace = Trace::of_steps(|trace| {
        for _ in 0..40 {
            ["multiply", "update", "residual"].iter().for_each(|name| trace.launch(name, 8.0));
            read(trace);
        }
        trace.wait();
    });
    // In a graph each of them could lose what starting a kernel takes.
    let busy = 40.0 * 3.0 * 7.0 * 1_000.0;
    let (gain, step_ns) = trace.gain(Change::NoSync);
    assert!(gain.expected_ns > 0 && gain.ceiling_ns as f64 <= 1.1 * (step_ns as f64 - busy), "{gain:?} of {step_ns}");
}

#[test]
fn a_kernel_of_the_program_itself_keeps_its_time_though_only_a_value_is_read_of_it() {
    // One step of a simulation, of which the host reads whether it has ended; or a sum, which makes nothing else.
    let most = |kernel: &str| {
        let trace = Trace::of_steps(|trace| {
            for _ in 0..40 {
                trace.launch(kernel, 8.0);
                read(trace);
            }
        });
        shares(&trace, Change::NoSync).1
    };
    let (own, sum) = (most("evaluate_spread_kernel"), most(ALL));
    assert!(own < 0.75 && sum > 0.9, "{own} {sum}");
}

#[test]
fn what_only_makes_the_values_that_are_read_goes_with_the_reads() {
    // A check of each of 32 tensors, and layers that have nothing to do with it.
    let layer_count = 40;
    let trace = Trace::of_steps(|trace| {
        for _ in 0..layer_count {
            trace.launch(PRODUCT, 8.0);
            trace.host_us += 20.0;
        }
        for _ in 0..32 {
            [ABS, EQUAL, EQUAL, EQUAL, ALL].iter().for_each(|name| {
                trace.launch(name, 2.0);
                trace.host_us += 5.0;
            });
            read(trace);
        }
    });
    let (expected, most) = shares(&trace, Change::NoSync);
    // The check is two thirds of the step; its kernels go with their launches, the layers stay as slow as they are launched.
    assert!((0.55..0.7).contains(&expected) && most < 0.8, "{expected} {most}");
}

#[test]
fn products_stay_in_a_graph_unless_they_are_of_a_loop() {
    let most = |turns: u32, unlike: usize| {
        let trace = Trace::of_steps(|trace| {
            for _ in 0..turns {
                for index in 0..unlike {
                    trace.launch(&format!("{PRODUCT}_{index}"), 8.0);
                    trace.launch(ABS, 2.0);
                    trace.host_us += 10.0;
                }
            }
            trace.wait();
        });
        shares(&trace, Change::Graph).1
    };
    // Layers of many products follow one another: 8 µs of 30 stay, but what starting a kernel takes.
    let (layers, of_loop) = (most(4, 10), most(40, 1));
    assert!(layers < 0.82 && of_loop > 0.9, "{layers} {of_loop}");
}

#[test]
fn what_changes_no_kernel_wins_no_more_than_kernels_leave_of_a_step() {
    // 50 µs of each 100 are kernels, too long to vanish in others.
    let trace = Trace::of_steps(|trace| {
        for _ in 0..40 {
            trace.launch("filter_kernel", 0.5 * KERNEL_US);
            trace.host_us += KERNEL_US - CALL_US - 1.0;
        }
        trace.wait();
    });
    // The host is 50 µs late for each, whatever it takes of its time in another run.
    let (_, most) = shares(&trace, Change::Graph);
    assert!((0.4..0.52).contains(&most), "{most}");
}

#[test]
fn recurrent_cells_in_a_loop_become_a_layer_of_few_kernels() {
    let expected = |cells: u32| {
        let trace = Trace::of_steps(|trace| {
            for index in 0..40 {
                let begin = trace.host_us;
                trace.launch(PRODUCT, 8.0);
                trace.launch(ABS, 6.0);
                trace.host_us += 20.0;
                if index < cells {
                    trace.events.event("cpu_op", "aten::lstm_cell", 99, begin, trace.host_us - begin, "");
                }
            }
            trace.wait();
        });
        shares(&trace, Change::Graph).0
    };
    // In a graph all kernels stay; in a layer element-wise ones are part of others.
    let (layer, graph) = (expected(40), expected(8));
    assert!(layer > graph + 0.15, "{layer} {graph}");
}

#[test]
fn passes_over_a_whole_tensor_for_each_cell_of_a_sequence_go_at_best() {
    // So many cells a step, and as many sums of 60 µs.
    let most = |cells: u32, sums: u32| {
        let trace = Trace::of_steps(|trace| {
            for index in 0..40 {
                let begin = trace.host_us;
                trace.launch(PRODUCT, 8.0);
                trace.host_us += 20.0;
                if index < cells {
                    trace.events.event("cpu_op", "aten::lstm_cell", 99, begin, trace.host_us - begin, "");
                }
                trace.launch(if index < sums { ABS } else { "filter_kernel" }, 60.0);
            }
            trace.wait();
        });
        shares(&trace, Change::Graph).1
    };
    let (of_cells, of_fewer, no_cells) = (most(40, 40), most(40, 39), most(8, 40));
    assert!(of_cells > 0.8, "{of_cells}");
    assert!(of_fewer < of_cells - 0.3 && no_cells < of_cells - 0.3, "{of_fewer} {no_cells}");
}

#[test]
fn of_the_turns_of_a_loop_that_chooses_the_host_code_of_one_stays_at_best() {
    let most = |turns: u32| {
        let trace = Trace::of_steps(|trace| {
            for _ in 0..turns {
                (0..12).for_each(|_| trace.launch("filter_kernel", 3.0));
                trace.host_us += 2_000.0;
                trace.launch("void at_cuda_detail::cub::DeviceSelectSweepKernel<int>(int)", 3.0);
                trace.copy(TO_HOST, 0.5);
                trace.wait();
            }
            trace.launch("filter_kernel", KERNEL_US);
            trace.wait();
        });
        shares(&trace, Change::FixedShapes).1
    };
    let (few, many) = (most(8), most(24));
    assert!(few < 0.6 && many > 0.85, "{few} {many}");
}

#[test]
fn what_is_launched_again_may_hold_the_device_up_as_recorded() {
    let names = ["aten::addmm", "aten::gelu", "aten::native_layer_norm", "aten::mul", "aten::add"];
    let mut number = 0;
    let trace = Trace::of_steps(|trace| {
        number += 1;
        let run = |trace: &mut Trace, kernel: &str, length: f64| {
            for name in names.iter().cycle().take(20) {
                let begin = trace.host_us;
                trace.launch(kernel, length);
                trace.host_us += 10.0;
                let args = format!(r#""Sequence number":{number},"Fwd thread id":0"#);
                trace.events.event("cpu_op", name, 99, begin, trace.host_us - begin, &args);
                trace.host_us += 1.0;
            }
        };
        run(trace, "forward_kernel", 30.0);
        trace.wait();
        let begin = trace.host_us;
        trace.host_us += 2.0;
        run(trace, "forward_kernel", 8.0);
        let args = format!(r#""Sequence number":{number},"Fwd thread id":1"#);
        let node = "autograd::engine::evaluate_function: AddmmBackward0";
        trace.events.event("cpu_op", node, 99, begin, trace.host_us - begin, &args);
        trace.wait();
    });
    let (expected, most) = shares(&trace, Change::KeepActivations);
    assert!(expected > 0.1 && most > 1.2 * expected, "{expected} {most}");
}

#[test]
fn no_overlap_is_better_than_the_longest_engine() {
    // A third each, one after the other.
    let trace = Trace::of_steps(|trace| {
        for _ in 0..4 {
            trace.copy(INWARD, KERNEL_US);
            trace.launch("filter_kernel", KERNEL_US);
            trace.copy(OUTWARD, KERNEL_US);
            trace.wait();
        }
    });
    let (expected, most) = shares(&trace, Change::OverlapCopies);
    assert!(expected > 0.4 && (0.6..0.72).contains(&most), "{expected} {most}");
}

#[test]
fn the_rest_of_a_step_is_launched_as_it_was_where_only_the_optimizer_is_mended() {
    let trace = Trace::of_steps(|trace| {
        for index in 0..60 {
            trace.launch(&format!("{PRODUCT}_{index}"), 4.0);
            trace.host_us += 10.0;
        }
        let begin = trace.host_us;
        for _ in 0..20 {
            [ABS, EQUAL].iter().for_each(|name| {
                trace.launch(name, 2.0);
                trace.host_us += 10.0;
            });
        }
        trace.events.event("user_annotation", "Optimizer.step#Own.step", 99, begin, trace.host_us - begin, "");
        trace.wait();
    });
    let (expected, most) = shares(&trace, Change::FuseOptimizer);
    assert!(expected > 0.25 && most < 0.6, "{expected} {most}");
}

#[test]
fn what_each_step_copies_anew_may_be_the_same_data() {
    const PAGEABLE: &str = "Memcpy HtoD (Pageable -> Device)";
    let most = |more_us: f64| {
        let mut count = 0.0;
        let trace = Trace::of_steps(|trace| {
            trace.copy(PAGEABLE, 10.0 * KERNEL_US + more_us * count);
            trace.launch("filter_kernel", KERNEL_US);
            trace.wait();
            count += 1.0;
        });
        shares(&trace, Change::PinCopies).1
    };
    // The kernel is an eleventh of the step. Batches of unlike sizes are copied in any case.
    let (same, unlike) = (most(0.0), most(1.0));
    assert!(same > 0.88 && unlike < 0.7, "{same} {unlike}");
}

#[test]
fn long_operators_of_the_cpu_may_cost_nothing_to_record() {
    // Each step makes a mask on the CPU for a millisecond, and runs operators that a profiler slows, with a kernel each.
    let most = |mask_us: f64| {
        let trace = Trace::of_steps(|trace| {
            for _ in 0..40 {
                let begin = trace.host_us;
                trace.host_us += 12.0;
                trace.events.event("cpu_op", "aten::mul", 99, begin, 12.0, "");
                trace.launch("filter_kernel", 4.0);
            }
            trace.events.event("cpu_op", "aten::triu", 99, trace.host_us, mask_us, "");
            trace.host_us += mask_us + 1.0;
            trace.wait();
        });
        (trace.fact("replay_most_step_ns"), trace.fact("replay_recorded_step_ns"))
    };
    let ((most_ns, recorded_ns), (short_ns, of_short_ns)) = (most(1_000.0), most(100.0));
    assert!(most_ns >= 0.999 * recorded_ns, "{most_ns} of {recorded_ns}");
    assert!(short_ns < 0.95 * of_short_ns, "what is launched tells what recording costs: {short_ns} of {of_short_ns}");
}
