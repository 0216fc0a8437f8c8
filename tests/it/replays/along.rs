//! The most that a change could win counts what is made with it by whoever makes it, where it is worth a change.

use coldspot::replay::Change;

use super::trace::{KERNEL_US, STEP_COUNT, TO_HOST, Trace};

const TO_DEVICE_PAGEABLE: &str = "Memcpy HtoD (Pageable -> Device)";
const CAST: &str =
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)";

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
    assert!((0.3..0.36).contains(&share), "{gain:?} of {step_ns}");
    assert!(gain.ceiling_ns >= gain.expected_ns, "{gain:?}");
}

/// Steps in which elements are chosen so many times, and how many they are is read back.
fn choices(count: u32) -> Trace {
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
fn who_chooses_for_one_piece_of_data_after_the_other_can_do_so_for_all_at_once() {
    let share = |count| {
        let (gain, step_ns) = choices(count).gain(Change::FixedShapes);
        gain.expected_ns as f64 / step_ns as f64
    };
    let (few, many) = (share(8), share(24));
    assert!(few < 0.5 && many > few + 0.15, "{few} {many}");
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
