//! Reports that are made to be slow, or to need memory, by what each of many threads does while each of 32 GPUs waits.

use std::path::Path;

use rusqlite::Connection;

use super::heavy::{Make, more, write};

pub const CASES: &[(&str, Make)] = &[
    ("call-names-of-threads-and-gpus", call_names_of_threads_and_gpus),
    ("range-names-of-threads-and-gpus", range_names_of_threads_and_gpus),
    ("locks-in-any-order", locks_in_any_order),
    ("waits-of-sets-of-threads", waits_of_sets_of_threads),
    ("nested-waits-of-gpus", nested_waits_of_gpus),
];

const GPUS: i64 = 32;
/// Threads that take turns: each launches once on all GPUs.
const THREADS: i64 = 16;
const OS_CALLS: &str = "CREATE TABLE OSRT_API (start, end, globalTid, nameId);";

/// Nanoseconds from one turn to the next, in which a thread has so many rows of a microsecond.
fn turn_ns(of_thread: i64) -> i64 {
    of_thread * 1_000 + 200_000
}

/// A report in which threads take turns, one each, with so many rows of names that all of them have; what else is to be made first.
fn threads_in_turn(path: &Path, rows: i64, name: &str, first: &str) -> (String, String) {
    let of_thread = rows / THREADS;
    let turn = turn_ns(of_thread);
    write(path, 0, &[]);
    Connection::open(path).unwrap().execute_batch(first).unwrap();
    let at = format!("((n - 1) / {GPUS} + 1) * {turn} - 20000");
    let thread = format!("PID + 1 + (n - 1) / {GPUS} % {THREADS}");
    let kernels = format!(
        "CUPTI_ACTIVITY_KIND_KERNEL {at} + 10000, {at} + 15000, PID, n % {GPUS}, 1, 7, n, 1, 1, 1, 1, 1, 32, 1, 1, 16"
    );
    let launches =
        format!("CUPTI_ACTIVITY_KIND_RUNTIME {at} + n % {GPUS} * 100, {at} + n % {GPUS} * 100 + 90, {thread}, n, 2, 0");
    more(path, THREADS * GPUS, &[&kernels, &launches]);
    let letters = "char(97 + n % 26, 97 + n / 26 % 26, 97 + n / 676 % 26)";
    more(path, of_thread, &[&format!("StringIds n + 1000, '{name}' || {letters}")]);
    let row = format!("(n - 1) / {of_thread} * {turn} + (n - 1) % {of_thread} * 1000");
    let times = format!("{row}, {row} + 900, PID + 1 + (n - 1) / {of_thread} % {THREADS}");
    (times, format!("1001 + (n * 7 + (n - 1) / {of_thread} * 37) % {of_thread}"))
}

/// Every thread calls as many functions of the operating system.
fn call_names_of_threads_and_gpus(path: &Path, rows: i64) {
    let (times, name) = threads_in_turn(path, rows, "poll", OS_CALLS);
    more(path, rows, &[&format!("OSRT_API {times}, {name}")]);
}

/// Every thread is in as many annotations.
fn range_names_of_threads_and_gpus(path: &Path, rows: i64) {
    let (times, name) = threads_in_turn(path, rows, "r", "");
    more(path, rows, &[&format!("NVTX_EVENTS {times}, 59, NULL, {name}, 0")]);
}

/// Nanoseconds that the others last.
const SPAN: i64 = 2_000_000_000;

/// All threads launch on each GPU, in the beginning and at the end.
fn launches_at_both_ends(path: &Path, threads: i64, first: &str) {
    let count = threads * GPUS * 2;
    let from = format!("(n > {}) * {SPAN} + n * 100", count / 2);
    write(path, 0, &[]);
    Connection::open(path).unwrap().execute_batch(first).unwrap();
    let kernels = format!(
        "CUPTI_ACTIVITY_KIND_KERNEL 1000000 + {from}, 1000090 + {from}, PID, n % {GPUS}, 1, 7, n, 1, 1, 1, 1, 1, 32, 1, 1, 16"
    );
    let launches = format!(
        "CUPTI_ACTIVITY_KIND_RUNTIME 900000 + {from}, 900090 + {from}, PID + 1 + n / {GPUS} % {threads}, n, 2, 0"
    );
    more(path, count, &[&kernels, &launches]);
}

/// Threads that launch wait for locks, and for the GPUs; the report has them in no order.
fn locks_in_any_order(path: &Path, rows: i64) {
    let names = "INSERT INTO StringIds VALUES (25, 'pthread_mutex_lock');";
    launches_at_both_ends(path, 8, &format!("{OS_CALLS} {names}"));
    let waits = rows / 10;
    let wait = format!("2000000 + n * {}", (SPAN - 4_000_000) / waits);
    more(path, waits, &[&format!("CUPTI_ACTIVITY_KIND_RUNTIME {wait}, {wait} + 900, PID + 1 + n % 8, NULL, 3, 0")]);
    let lock = format!("2000000 + n * 7919777 % {}", SPAN - 4_000_000);
    more(path, rows, &[&format!("OSRT_API {lock}, {lock} + 60000 + n % 2 * 500000000, PID + 1 + n % 8, 25")]);
}

/// Eight threads wait for the GPUs in no order, and each GPU has one thread more of its own.
fn waits_of_sets_of_threads(path: &Path, rows: i64) {
    launches_at_both_ends(path, 8, "");
    let own = "PID, n - 1, 1, 7, n + 1000000, 1, 1, 1, 1, 1, 32, 1, 1, 16";
    more(
        path,
        GPUS,
        &[
            &format!("CUPTI_ACTIVITY_KIND_KERNEL 500000000 + n * 1000000, 500001000 + n * 1000000, {own}"),
            "CUPTI_ACTIVITY_KIND_RUNTIME 499990000 + n * 1000000, 499999000 + n * 1000000, PID + 100 + n, n + 1000000, 2, 0",
        ],
    );
    let wait = format!("n * 7919777 % {SPAN}");
    let waits =
        format!("CUPTI_ACTIVITY_KIND_RUNTIME {wait}, {wait} + {}, PID + 1 + n % 8, NULL, 3, 0", SPAN / rows / 2);
    more(path, rows, &[&waits]);
}

/// Every wait lies in all before it.
fn nested_waits_of_gpus(path: &Path, rows: i64) {
    launches_at_both_ends(path, 1, "");
    let wait = format!("2000000 + n * {}", (SPAN - 4_000_000) / rows);
    more(path, rows, &[&format!("CUPTI_ACTIVITY_KIND_RUNTIME {wait}, {SPAN} - n, PID + 1, NULL, 3, 0")]);
}
