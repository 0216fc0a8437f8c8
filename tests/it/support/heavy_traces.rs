//! Traces of the PyTorch Profiler that are made to be slow.

use std::fmt::Write;
use std::path::Path;

use super::heavy::Make;

pub const CASES: &[(&str, Make)] = &[
    ("calls-within-calls", |path, rows| calls_within_calls(path, rows, 0..rows)),
    ("calls-within-calls-backward", |path, rows| calls_within_calls(path, rows, (0..rows).rev())),
    ("operators-in-a-row", operators_in_a_row),
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
