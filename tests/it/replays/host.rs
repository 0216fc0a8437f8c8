//! What changes of the host win of programs that are written by hand: values read back, short rounds, host code between copies.

use coldspot::replay::Change;

use super::trace::{CALL_US, KERNEL_US, LAUNCH_US, STEP_COUNT, TO_HOST, Trace};

/// Steps of so many kernels, a value read back after each.
fn reads(count: u32) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for _ in 0..count {
            trace.launch("filter_kernel", KERNEL_US);
            trace.copy(TO_HOST, 1.0);
            trace.wait();
        }
        trace.step(step, begin);
    }
    trace
}

#[test]
fn of_many_values_read_in_a_step_one_read_is_expected_to_stay() {
    let (one, _) = reads(1).gain(Change::NoSync);
    assert!(one.expected_ns > 8_000, "{one:?}");
    let (four, _) = reads(4).gain(Change::NoSync);
    let share = four.expected_ns as f64 / one.expected_ns as f64;
    assert!((2.5..3.5).contains(&share), "{four:?} {one:?}");
    assert!(four.ceiling_ns >= 4 * one.expected_ns, "{four:?} {one:?}");
}

#[test]
fn values_read_one_behind_the_other_win_what_one_does() {
    let reads = |count: u32| {
        let mut trace = Trace::default();
        for step in 0..STEP_COUNT {
            let begin = trace.host_us;
            for _ in 0..20 {
                trace.launch("filter_kernel", 20.0);
            }
            for _ in 0..count {
                trace.copy(TO_HOST, 1.0);
                trace.wait();
            }
            trace.host_us += 60.0;
            trace.step(step, begin);
        }
        trace.gain(Change::NoSync).0
    };
    let (one, two, three) = (reads(1), reads(2), reads(3));
    assert!(one.expected_ns > 50_000, "{one:?}");
    assert!(two.expected_ns >= one.expected_ns && two.ceiling_ns >= two.expected_ns, "{one:?} {two:?}");
    assert!(three.expected_ns >= two.expected_ns, "{two:?} {three:?}");
}

#[test]
fn rounds_of_few_launches_share_a_graph() {
    let mut trace = Trace::default();
    for _ in 0..80 {
        trace.launch("sweep", 2.0);
        trace.host_us += 3.0;
        trace.launch("boundary", 2.0);
        trace.host_us += 3.0;
    }
    // Launched every 8 µs, of which recording takes 1.2: in a graph they follow each other.
    let (gain, step_ns) = trace.gain(Change::Graph);
    let share = gain.expected_ns as f64 / step_ns as f64;
    assert!((0.6..0.75).contains(&share), "{gain:?} of {step_ns}");
    assert!(gain.ceiling_ns > gain.expected_ns, "{gain:?}");
}

#[test]
fn at_best_kernels_that_leave_most_of_the_gpu_free_become_one_where_they_are_launched_again_and_again() {
    let ceiling = |count: u32, blocks: u32| {
        let mut trace = Trace::default();
        for step in 0..STEP_COUNT {
            let begin = trace.host_us;
            for _ in 0..count {
                trace.ask_of(blocks, "cudaLaunchKernel", "kernel", "small_product", 7, 20.0);
                trace.host_us += 30.0;
            }
            trace.step(step, begin);
        }
        let (gain, step_ns) = trace.gain(Change::Graph);
        gain.ceiling_ns as f64 / step_ns as f64
    };
    assert!(ceiling(12, 8) > 0.9, "{}", ceiling(12, 8));
    // As many as fill the GPU each, and fewer than make a loop, take their time all the same.
    assert!(ceiling(12, 1080) < 0.6, "{}", ceiling(12, 1080));
    assert!(ceiling(7, 8) < 0.6, "{}", ceiling(7, 8));
}

/// Steps of a result that may come back, host code, an input that is sent, and a kernel.
fn host_code(has_operators: bool, has_results: bool) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        trace.launch("filter_kernel", KERNEL_US);
        if has_results {
            trace.copy(TO_HOST, 200.0);
        }
        trace.wait();
        if has_operators {
            trace.events.event("cpu_op", "aten::sort", 99, trace.host_us, 5.0, "");
        }
        trace.host_us += 300.0;
        trace.copy("Memcpy HtoD (Pinned -> Device)", 200.0);
        trace.step(step, begin);
    }
    trace
}

#[test]
fn at_best_copies_go_with_host_code_that_may_be_work_on_results() {
    let gain = |has_operators, has_results| host_code(has_operators, has_results).gain(Change::HostAside);
    let (plain, step_ns) = gain(false, true);
    let (framework, _) = gain(true, true);
    // On the device, nothing but the kernel is left.
    for at_best in [plain, framework] {
        assert!((step_ns - 115_000..step_ns).contains(&at_best.ceiling_ns), "{at_best:?} of {step_ns}");
    }
    // What stands between results and as much data can be done where both are.
    for plainly in [plain, framework] {
        assert!(plainly.expected_ns >= 650_000, "{plainly:?} of {step_ns}");
    }
    // What is sent and nothing comes back of still has to get to the device; the spread of the host is in it.
    let (sends, step_ns) = gain(false, false);
    assert!((sends.expected_ns..=step_ns - 200_000).contains(&sends.ceiling_ns), "{sends:?} of {step_ns}");
}

#[test]
fn steps_that_are_played_again_are_like_all_steps() {
    let mut trace = Trace::default();
    for step in 0..300 {
        let begin = trace.host_us;
        trace.launch("filter_kernel", KERNEL_US);
        trace.wait();
        trace.host_us += if (100..200).contains(&step) { 900.0 } else { 0.0 };
        trace.step(step, begin);
    }
    // A hundred of them are played again: those in the middle take more than 1 ms each, all of them less than half of that.
    let step_ns = trace.fact("replay_recorded_step_ns");
    assert!((300_000.0..550_000.0).contains(&step_ns), "{step_ns}");
}

#[test]
fn a_wait_right_before_a_copy_that_waits_is_for_what_is_read() {
    let share = |is_read: bool| {
        let mut trace = Trace::default();
        for step in 0..STEP_COUNT {
            let begin = trace.host_us;
            trace.launch("filter_kernel", KERNEL_US);
            trace.wait();
            trace.host_us += if is_read { 0.0 } else { 500.0 };
            let copied = trace.host_us.max(trace.gpu_us) + LAUNCH_US;
            let args = trace.call("cudaMemcpy", 12.0);
            let args = format!(r#"{args},"device":0,"stream":7,"bytes":4"#);
            trace.events.event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 7, copied, 1.0, &args);
            (trace.host_us, trace.gpu_us) = (trace.host_us + 13.0, copied + 2.0);
            trace.step(step, begin);
        }
        trace.fact("scalar_readback_wait_share")
    };
    assert!(share(true) > 0.99, "{}", share(true));
    assert!(share(false) < 0.2, "{}", share(false));
}

/// Steps that fetch a batch for 8 ms, and then launch kernels of 100 µs one behind the other; of so many of them, the first and the
/// third too, no call was recorded.
fn batches(unlinked: &[u32]) -> Trace {
    let mut trace = Trace::default();
    for number in 0..STEP_COUNT {
        let begin = trace.host_us;
        let batch = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
        trace.events.event("user_annotation", batch, 99, begin + 10.0, 8_000.0, "");
        trace.host_us += 8_020.0;
        for place in 0..20 {
            if unlinked.contains(&place) {
                trace.unlinked("trt_kernel", KERNEL_US);
            } else {
                trace.launch("solve", KERNEL_US);
            }
        }
        trace.wait();
        trace.step(number, begin);
    }
    trace
}

#[test]
fn work_of_which_no_call_was_recorded_follows_what_comes_before_it() {
    let (all, step_ns) = batches(&[]).gain(Change::LoadAhead);
    assert!(all.expected_ns > step_ns / 8, "{all:?} of {step_ns}");
    let first = |count: u32| (0..count).collect::<Vec<u32>>();
    for unlinked in [first(1), first(2), first(6), first(12), vec![2], vec![0, 2, 19], (1..12).collect()] {
        let (some, some_step_ns) = batches(&unlinked).gain(Change::LoadAhead);
        let near = |one: i64, other: i64| (one - other).abs() as f64 <= 0.05 * one as f64;
        assert!(near(step_ns, some_step_ns), "{unlinked:?}: {step_ns} and {some_step_ns}");
        assert!(near(all.expected_ns, some.expected_ns), "{unlinked:?}: {all:?} and {some:?}");
        assert!(near(all.ceiling_ns, some.ceiling_ns), "{unlinked:?}: {all:?} and {some:?}");
        let (some, _) = batches(&unlinked).gain(Change::HostAside);
        assert!(some.ceiling_ns >= all.expected_ns, "{unlinked:?}: {all:?} and {some:?}");
    }
}

#[test]
fn launches_that_win_more_than_the_wait_behind_them_are_told_in_full() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for _ in 0..100 {
            trace.launch("sweep", 2.0);
            trace.host_us += 3.0;
        }
        trace.launch("filter_kernel", 500.0);
        trace.wait();
        trace.step(step, begin);
    }
    let (graph, no_sync) = (trace.fact("graph_expected_gain_ns"), trace.fact("no_sync_expected_gain_ns"));
    // 100 launches of 6.8 µs become 2.06 µs of work each; without the wait the next ones hide beside the long kernel.
    assert!((420_000.0..520_000.0).contains(&graph), "{graph} {no_sync}");
    assert!(no_sync > 300_000.0 && no_sync < graph, "{graph} {no_sync}");
}

#[test]
fn a_wait_that_found_the_stream_dry_holds_up_a_host_that_comes_sooner() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for _ in 0..20 {
            trace.launch("filter_kernel", 20.0);
            trace.host_us += 30.0;
        }
        // All has ended by now.
        trace.host_us += 20.0;
        trace.wait();
        trace.host_us += 5_000.0;
        trace.step(step, begin);
    }
    let (graph, step_ns) = trace.gain(Change::Graph);
    // 20 launches of 35 µs become 400 µs of kernels, for which the host waits before its own 5 ms.
    assert!((250_000..380_000).contains(&graph.expected_ns), "{graph:?} of {step_ns}");
}

/// Steps of a process that gives each of two GPUs a kernel, and waits for both.
fn two_gpus(other_us: f64) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        let mut ends = Vec::new();
        for (device, length) in [(0, KERNEL_US), (1, other_us)] {
            let args = trace.call("cudaLaunchKernel", CALL_US);
            let start = trace.host_us + LAUNCH_US;
            let work = r#""grid":[1080,1,1],"block":[256,1,1]"#;
            let args = format!(r#"{args},"device":{device},"stream":7,{work}"#);
            trace.events.event("kernel", "filter_kernel", 7 + 100 * device, start, length, &args);
            trace.host_us += CALL_US + 1.0;
            ends.push(start + length);
        }
        trace.gpu_us = ends.into_iter().fold(0.0, f64::max);
        trace.wait();
        trace.step(step, begin);
    }
    trace
}

#[test]
fn a_gpu_that_waits_for_another_of_its_process_wins_nothing_without_the_wait() {
    let gain = |other_us| two_gpus(other_us).gain(Change::NoSync);
    let (alike, step_ns) = gain(KERNEL_US);
    assert!(alike.expected_ns > 8_000, "{alike:?} of {step_ns}");
    let (shorter, step_ns) = gain(300.0);
    // The other is busy for 300 µs of each step.
    assert!(shorter.expected_ns <= (step_ns - 300_000) * 5 / 4, "{shorter:?} of {step_ns}");
}

/// Steps of a kernel in each of many streams, and a wait for the device after each.
fn waits_for_streams(count: u32) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for stream in 0..count {
            trace.ask("cudaLaunchKernel", "kernel", "filter_kernel", 100 + stream, 20.0);
            let length = (trace.gpu_us + 4.0 - trace.host_us).max(1.0);
            trace.call("cudaDeviceSynchronize", length);
            trace.host_us += length + 1.0;
        }
        trace.step(step, begin);
    }
    trace
}

#[test]
fn waits_for_many_streams_are_played_again() {
    let share = |count| {
        let (gain, step_ns) = waits_for_streams(count).gain(Change::NoSync);
        gain.expected_ns as f64 / step_ns as f64
    };
    let (few, many) = (share(8), share(48));
    assert!(few > 0.2 && (few - many).abs() < 0.05, "{few} {many}");
}

/// Steps of one kernel, a wait, and a millisecond of host code in which so many functions of Python are recorded.
fn functions(count: u32) -> Trace {
    let mut trace = Trace::default();
    for step in 0..6 {
        let begin = trace.host_us;
        trace.launch("ampere_fp16_s16816gemm_fp16_128x64_nn", 20.0);
        trace.wait();
        let each = 1_000.0 / f64::from(count.max(1));
        for index in 0..count {
            trace.events.event(
                "python_function",
                "text.py(7): clean",
                99,
                trace.host_us + f64::from(index) * each,
                0.5 * each,
                "",
            );
        }
        trace.host_us += 1_000.0;
        trace.step(step, begin);
    }
    trace
}

#[test]
fn recording_functions_of_python_is_no_time_of_the_step() {
    let step_ns = |count| functions(count).gain(Change::HostAside).1;
    let without = step_ns(0);
    assert!((140_000..160_000).contains(&(without - step_ns(1_000))), "150 ns each: {without}, {}", step_ns(1_000));
    assert!((840_000..860_000).contains(&(without - step_ns(20_000))), "and never all of it: {}", step_ns(20_000));
}

/// Steps of launches that the host prepares for 30 µs each, with so many operators recorded, while the GPU computes for twice as long.
fn operators(count: u32) -> Trace {
    let mut trace = Trace::default();
    for step in 0..6 {
        let begin = trace.host_us;
        for _ in 0..20 {
            for index in 0..count {
                trace.events.event("cpu_op", "aten::linear", 99, trace.host_us + f64::from(index), 0.5, "");
            }
            trace.host_us += 25.0;
            trace.launch("ampere_sgemm_128x64_nn", 60.0);
        }
        trace.wait();
        trace.step(step, begin);
    }
    trace
}

#[test]
fn at_best_a_host_that_comes_to_be_what_steps_wait_for_is_as_fast_as_without_the_profiler() {
    let ceiling = |count| {
        let (gain, step_ns) = operators(count).gain(Change::LowerPrecision);
        gain.ceiling_ns as f64 / step_ns as f64
    };
    let (few, many) = (ceiling(0), ceiling(8));
    // With few operators too the host may be faster in another run than it was in this one.
    assert!(few < 0.68 && many > few + 0.15, "{few}, {many}");
}

/// Steps in which the host reads results for some time, and then launches anew.
fn results_read(has_operators: bool, kernel_us: f64) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        trace.launch("filter_kernel", kernel_us);
        trace.copy(TO_HOST, 200.0);
        trace.wait();
        if has_operators {
            trace.events.event("cpu_op", "aten::sort", 99, trace.host_us, 5.0, "");
        }
        trace.host_us += 600.0;
        trace.step(step, begin);
    }
    trace
}

#[test]
fn who_reads_results_is_at_work_beside_the_gpu_or_on_it() {
    let (compiled, step_ns) = results_read(false, KERNEL_US).gain(Change::HostAside);
    let (framework, _) = results_read(true, KERNEL_US).gain(Change::HostAside);
    // One thread reads one result after the other, however fast the GPU is.
    assert!((step_ns - 660_000..=step_ns - 590_000).contains(&compiled.expected_ns), "{compiled:?} of {step_ns}");
    assert!(framework.expected_ns >= 690_000, "{framework:?} of {step_ns}");
    assert!(compiled.ceiling_ns >= 690_000, "{compiled:?} of {step_ns}");
    // Beside next to no work of the GPU it is the host code that has to get faster.
    let of = |kernel_us: f64| results_read(false, kernel_us).gain(Change::HostAside).0.expected_ns;
    assert!(of(40.0) >= 600_000 && of(80.0) < 350_000, "{} {}", of(40.0), of(80.0));
}

/// Steps of a kernel whose results come back, and operators of the CPU that work on these.
#[test]
fn results_at_the_very_end_go_as_those_before_them() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        trace.events.event("cpu_op", "aten::sort", 99, trace.host_us, 300.0, "");
        trace.host_us += 300.0;
        trace.launch("filter_kernel", KERNEL_US);
        trace.copy(TO_HOST, 200.0);
        trace.wait();
        trace.step(step, begin);
    }
    let (gain, step_ns) = trace.gain(Change::HostAside);
    // Nothing but the kernel is left, and the distance between two of them.
    let left_ns = step_ns - gain.expected_ns;
    assert!((100_000..115_000).contains(&left_ns), "{gain:?} of {step_ns}");
}

#[test]
fn what_is_set_up_in_each_step_is_won_with_what_a_capture_records() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        let calls = [("cudaStreamBeginCapture", 3.0)].into_iter().chain([("cudaLaunchKernel", 5.0); 20]);
        for (name, length) in calls.chain([("cudaGraphInstantiate", 300.0)]) {
            trace.call(name, length);
            trace.host_us += length + 1.0;
        }
        trace.launch("filter_kernel", KERNEL_US);
        trace.wait();
        trace.step(step, begin);
    }
    let (gain, step_ns) = trace.gain(Change::SetUpOnce);
    assert!((360_000..step_ns - 90_000).contains(&gain.expected_ns), "{gain:?} of {step_ns}");
}

#[test]
fn who_asks_no_more_about_the_device_does_the_rest_of_the_work_all_the_same() {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        for _ in 0..20 {
            trace.call("cudaGetDeviceProperties", 2.0);
            trace.host_us += 12.0;
        }
        trace.launch("filter_kernel", KERNEL_US);
        trace.wait();
        trace.step(step, begin);
    }
    let (gain, step_ns) = trace.gain(Change::SetUpOnce);
    assert!(gain.expected_ns > 0 && gain.ceiling_ns <= 60_000, "{gain:?} of {step_ns}");
}

/// Steps that take memory while kernels run, each call as long as another and ending after them by a time of its own.
fn taking_memory(lags_us: &[f64]) -> Trace {
    let mut trace = Trace::default();
    for (step, lag_us) in (0..).zip(lags_us) {
        let begin = trace.host_us;
        (0..3).for_each(|_| {
            trace.launch("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >", 40.0)
        });
        let length = trace.gpu_us + lag_us - trace.host_us;
        trace.call("cudaMalloc", length);
        trace.host_us += length + 1.0;
        trace.step(step, begin);
    }
    trace
}

#[test]
fn a_call_that_takes_memory_keeps_its_own_length_where_it_ends_at_no_one_distance_from_the_work() {
    let expected = |lags_us: &[f64]| taking_memory(lags_us).gain(Change::Fuse).0.expected_ns;
    let (waits, own) = (expected(&[5.0; 8]), expected(&[5.0, 30.0, 60.0, 10.0, 40.0, 5.0, 80.0, 20.0]));
    assert!(waits > 70_000 && own < waits / 2, "{waits} {own}");
}

/// Steps of a kernel whose result of so many microseconds at 10 GB/s comes back, is worked on for so long, and goes there again.
fn both_ways(copy_us: f64, back_us: f64, host_us: f64) -> Trace {
    Trace::of_steps(|trace| {
        trace.launch("filter_kernel", KERNEL_US);
        for length in [copy_us, 2.0] {
            trace.copy("Memcpy DtoH (Device -> Pageable)", length);
            trace.wait();
        }
        trace.host_us += host_us;
        for length in [back_us, 2.0] {
            trace.copy("Memcpy HtoD (Pageable -> Device)", length);
            trace.wait();
        }
    })
}

#[test]
fn data_that_goes_both_ways_stays_with_what_is_done_with_it() {
    let left = |trace: Trace| {
        let (gain, step_ns) = trace.gain(Change::KeepData);
        (step_ns - gain.expected_ns, step_ns - gain.ceiling_ns, step_ns)
    };
    let (expected, least, step_ns) = left(both_ways(400.0, 400.0, 3_000.0));
    assert!(step_ns > 3_900_000, "{step_ns}");
    // The small copies beside the large ones go as well; the kernel stays, and its launch.
    assert!((100_000..200_000).contains(&expected) && (70_000..=expected).contains(&least), "{expected} {least}");
    // Other sizes are input and output, small ones arguments and results.
    assert_eq!(left(both_ways(400.0, 200.0, 3_000.0)).0, left(both_ways(400.0, 200.0, 3_000.0)).2);
    assert_eq!(left(both_ways(90.0, 90.0, 300.0)).0, left(both_ways(90.0, 90.0, 300.0)).2);
    // What takes more than ten times as long as the copies does something else.
    let (expected, ..) = left(both_ways(400.0, 400.0, 9_000.0));
    assert!((9_000_000..9_300_000).contains(&expected), "{expected}");
}
