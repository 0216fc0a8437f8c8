//! Traces of the PyTorch Profiler that are made to be slow.

use std::fmt::Write;
use std::path::Path;

use super::heavy::Make;

pub const CASES: &[(&str, Make)] = &[
    ("calls-within-calls", |path, rows| calls_within_calls(path, rows, 0..rows)),
    ("calls-within-calls-backward", |path, rows| calls_within_calls(path, rows, (0..rows).rev())),
    ("operators-in-a-row", operators_in_a_row),
    ("sorts-on-gpus", sorts_on_gpus),
];

/// All threads are in a launch at once; the work belongs to a call of the driver within each, and those come in this order.
fn calls_within_calls(path: &Path, count: i64, order: impl Iterator<Item = i64>) {
    let mut events = String::new();
    for thread in 0..count {
        call(&mut events, ("cuda_runtime", "cudaLaunchKernel"), thread, (thread, 4 * count), 2 * thread + 1);
    }
    for (place, thread) in (0..).zip(order) {
        call(&mut events, ("cuda_driver", "cuLaunchKernel"), thread, (count + place, 1), 2 * thread + 2);
        work(&mut events, 2 * count + place, 2 * thread + 2);
    }
    write(path, &events);
}

/// Operators follow one another, as in an honest trace; each has ended when the next launch comes, and lies below the next on a stack.
fn operators_in_a_row(path: &Path, count: i64) {
    let mut events = String::new();
    for n in 0..count {
        let (start, correlation) = (20 * n, n + 1);
        writeln!(
            events,
            r#"{{"ph":"X","cat":"cpu_op","name":"{}","pid":9,"tid":10,"ts":{start},"dur":15}},"#,
            ["aten::sort", "aten::copy_", "aten::add"][n as usize % 3]
        )
        .unwrap();
        call(&mut events, ("cuda_runtime", "cudaLaunchKernel"), 0, (start + 1, 3), correlation);
        work(&mut events, start + 6, correlation);
    }
    write(path, &events);
}

/// Steps of operators that sort on 8 GPUs, by a kernel whose name is long and slow to search: each GPU is played again, and each replay
/// asks what each launch is.
fn sorts_on_gpus(path: &Path, count: i64) {
    let (count, name) = (count.min(14_000), format!("{}{}", "D".repeat(19), "t".repeat(19)).repeat(215));
    let mut events = String::new();
    for n in 0..count {
        let (start, correlation, gpu) = (20 * n, n + 1, n % 8);
        if n % (count / 50) == 0 {
            let (step, length) = (50 * n / count, 20 * count / 50);
            writeln!(
                events,
                r#"{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":9,"tid":10,"ts":{start},"dur":{length}}},"#
            )
            .unwrap();
        }
        writeln!(events, r#"{{"ph":"X","cat":"cpu_op","name":"aten::sort","pid":9,"tid":10,"ts":{start},"dur":15}},"#)
            .unwrap();
        call(&mut events, ("cuda_runtime", "cudaLaunchKernel"), 0, (start + 1, 3), correlation);
        let begin = start + 6;
        writeln!(
            events,
            r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":{gpu},"tid":7,"ts":{begin},"dur":10,"args":{{"device":{gpu},"stream":7,"correlation":{correlation}}}}},"#
        )
        .unwrap();
    }
    write(path, &events);
}

fn work(events: &mut String, start: i64, correlation: i64) {
    writeln!(
        events,
        r#"{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{start},"dur":1,"args":{{"device":0,"stream":7,"correlation":{correlation}}}}},"#
    )
    .unwrap();
}

fn write(path: &Path, events: &str) {
    std::fs::write(path, format!("{{\"traceEvents\":[{}]}}", events.trim_end().trim_end_matches(','))).unwrap();
}

fn call(
    events: &mut String,
    (category, name): (&str, &str),
    thread: i64,
    (start, length): (i64, i64),
    correlation: i64,
) {
    let thread = thread + 10;
    writeln!(
        events,
        r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":9,"tid":{thread},"ts":{start},"dur":{length},"args":{{"correlation":{correlation}}}}},"#
    )
    .unwrap();
}
