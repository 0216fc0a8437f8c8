//! Reports that are made to be slow, or to need memory, by what is told apart on each GPU, process or thread.

use std::path::Path;

use rusqlite::Connection;

use super::heavy::{KERNELS, LAUNCHES, Make, more, write};

pub const CASES: &[(&str, Make)] = &[
    ("played-changes-of-gpus", played_changes_of_gpus),
    ("processes-and-schedule", processes_and_schedule),
    ("functions-of-many-files", functions_of_many_files),
    ("functions-called-alike", functions_called_alike),
    ("ranges-of-processes-and-gpus", ranges_of_processes_and_gpus),
    ("call-names-of-gpus", call_names_of_gpus),
    ("waits-in-ranges-of-gpus", waits_in_ranges_of_gpus),
    ("waits-in-waits-of-gpus", waits_in_waits_of_gpus),
    ("calls-for-gpus", calls_for_gpus),
];

fn run(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Names of kernels that changes of a replay have something to change of.
const CHANGED: [&str; 7] = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
    "ampere_sgemm_128x64_nn",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(int)",
    "void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda>(int)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "softmax_warp_forward",
    "dgemm_k",
];

/// Ten steps of one process that works on eight GPUs, in which every change of a replay has something to change.
fn played_changes_of_gpus(path: &Path, rows: i64) {
    let rows = (rows / 4).min(10_000);
    write(path, 0, &[]);
    run(
        path,
        "INSERT INTO StringIds VALUES (5, 'cudaDeviceSynchronize'), (6, 'cudaMalloc'); DELETE FROM TARGET_INFO_GPU;",
    );
    for (id, name) in (100..).zip(CHANGED) {
        run(path, &format!("INSERT INTO StringIds VALUES ({id}, '{name}')"));
    }
    let (kernel, copy) = ("n * 30000", "n * 30000 + 15000");
    let length = "3000 + n % 2 * 9000, PID, n % 8, 1, 7 + n / 40 % 20";
    let bytes = "CASE n % 4 WHEN 0 THEN 4 WHEN 1 THEN 1000 WHEN 2 THEN 1000000 ELSE 100000000 END";
    let direction = "CASE n % 3 WHEN 0 THEN 8 ELSE n % 3 END, 1, 2";
    let wait = "CASE n % 3 WHEN 0 THEN 3 WHEN 1 THEN 5 ELSE 6 END";
    let step = format!("(n - 1) * {} + 25000, n * {} + 20000", rows * 3_000, rows * 3_000);
    let of_events = [
        format!(
            "CUPTI_ACTIVITY_KIND_KERNEL {kernel}, {kernel} + {length}, n, 100 + n % 7, 100 + n % 7, 1, 1, 1, 128, 1, 1, 32"
        ),
        format!("CUPTI_ACTIVITY_KIND_RUNTIME {kernel} - 2000, {kernel} - 1000, TID, n, 2, 0"),
        format!("CUPTI_ACTIVITY_KIND_MEMCPY {copy}, {copy} + {length}, 1000000 + n, {bytes}, {direction}"),
        format!("CUPTI_ACTIVITY_KIND_RUNTIME {copy} - 2000, {copy} - 1000, TID, 1000000 + n, 4, 0"),
        format!("CUPTI_ACTIVITY_KIND_RUNTIME {copy} - 800, {copy} + 12200, TID, 2000000 + n, {wait}, 0"),
    ];
    more(path, rows, &of_events.each_ref().map(String::as_str));
    more(path, 8, &["TARGET_INFO_GPU n - 1, n - 1, 'GPU', 108, 64, 32, 65536, 167936, 8, 0"]);
    more(path, 10, &[&format!("NVTX_EVENTS {step}, TID, 59, 'step', NULL, 0")]);
}

/// A process for each kernel, and a thread of one more that is put on the CPU and taken off it.
fn processes_and_schedule(path: &Path, rows: i64) {
    write(path, rows, &[&KERNELS.replace("PID", "n * 16777216"), &LAUNCHES.replace("TID", "n * 16777216 + 7")]);
    run(
        path,
        "CREATE TABLE SCHED_EVENTS (start, globalTid, isSchedIn); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 16777215 * 16777216, 0, 2, 0);",
    );
    more(path, rows, &["SCHED_EVENTS n * 1000, 16777215 * 16777216, n % 2"]);
}

const SAMPLES: &str = "
    CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, globalTid);
    CREATE TABLE SAMPLING_CALLCHAINS (id, stackDepth, symbol, module);";

/// Deep stacks of one function with a long name, which lies in another file each time.
fn functions_of_many_files(path: &Path, rows: i64) {
    let (depth, count) = (200, (rows / 200).max(10));
    write(path, count, &[KERNELS, LAUNCHES]);
    run(
        path,
        &format!(
            "{SAMPLES} INSERT INTO StringIds VALUES (9, 'stdx::a<' || replace(printf('%.1100c', '-'), '-', 'b::c<d '));"
        ),
    );
    more(path, count, &["COMPOSITE_EVENTS n, n * 100000 + 50000, TID"]);
    let frames = format!("SAMPLING_CALLCHAINS 1 + n / {depth}, n % {depth}, 9, n + 100");
    more(path, count * depth - 1, &["StringIds n + 100, '/lib/m' || n", &frames]);
}

/// As many functions of one file as rows, whose names might all be the same in short, while eight GPUs wait.
fn functions_called_alike(path: &Path, rows: i64) {
    let count = 1_000.min(rows);
    write(path, count, &[&KERNELS.replace("PID, 0,", "PID, n % 8,"), LAUNCHES]);
    run(path, &format!("{SAMPLES} INSERT INTO StringIds VALUES (9, '/lib/m');"));
    more(path, count, &["COMPOSITE_EVENTS n, n * 100000 + 50000, TID"]);
    let frames = format!(
        "SAMPLING_CALLCHAINS 1 + n % {count}, n / {count}, CASE n / {count} WHEN 0 THEN 101 ELSE n + 100 END, 9"
    );
    more(path, rows, &["StringIds n + 100, 'f' || printf('%.800c', 'x') || n || '::'", &frames]);
}

/// Eight processes after one another, on all of 32 GPUs, each with as many annotations of its own.
fn ranges_of_processes_and_gpus(path: &Path, rows: i64) {
    let of_process = rows / 8;
    let process = format!("(1 + (n - 1) / {of_process}) * 16777216");
    let name = "'r' || char(97 + n % 26, 97 + n / 26 % 26, 97 + n / 676 % 26, 97 + n / 17576 % 26)"
        .replace('n', &format!("(n % {of_process})"));
    let ranges = format!("NVTX_EVENTS n * 1000, n * 1000 + 900, {process} + 7, 59, {name}, NULL, 0");
    write(path, 0, &[]);
    let at = format!("((n - 1) / 32 + 1) * {of_process} * 1000");
    let process = "(1 + (n - 1) / 32) * 16777216";
    let kernels =
        format!("CUPTI_ACTIVITY_KIND_KERNEL {at}, {at} + 900, {process}, n % 32, 1, 7, n, 1, 1, 1, 1, 1, 32, 1, 1, 16");
    let launches = format!("CUPTI_ACTIVITY_KIND_RUNTIME {at} - 5000 + n % 32, {at} - 4000, {process} + 7, n, 2, 0");
    more(path, 8 * 32, &[&kernels, &launches]);
    more(path, rows, &[&ranges]);
}

/// Every call is one of another function, of CUDA or of the operating system, while all of 32 GPUs wait.
fn call_names_of_gpus(path: &Path, rows: i64) {
    write(path, 0, &[]);
    run(path, "CREATE TABLE OSRT_API (start, end, globalTid, nameId)");
    let name = "char(97 + n % 26, 97 + n / 26 % 26, 97 + n / 676 % 26, 97 + n / 17576 % 26)";
    let at = format!("(n / 33) * {rows} * 1000");
    let kernels = format!(
        "CUPTI_ACTIVITY_KIND_KERNEL {at} + 100000, {at} + 101000, PID, n % 32, 1, 7, n, 1, 1, 1, 1, 1, 32, 1, 1, 16"
    );
    let launches = format!("CUPTI_ACTIVITY_KIND_RUNTIME {at} + n % 32, {at} + 90, TID, n, 2, 0");
    more(path, 64, &[&kernels, &launches]);
    let calls = "CUPTI_ACTIVITY_KIND_RUNTIME n * 1000 + 200000, n * 1000 + 200400, TID, 1000 + n, n + 100, 0";
    let os_calls = "OSRT_API n * 1000 + 200500, n * 1000 + 200900, TID, n + 1000100";
    more(
        path,
        rows,
        &[
            &format!("StringIds n + 100, 'cudaFoo' || {name}"),
            &format!("StringIds n + 1000100, 'poll' || {name}"),
            calls,
            os_calls,
        ],
    );
}

/// All of 32 GPUs run dry in each of forty waits of different names, in each of which as many different annotations follow each other.
fn waits_in_ranges_of_gpus(path: &Path, rows: i64) {
    let (waits, labels) = (40, 15_500);
    let of_wait = rows / waits;
    let length = of_wait * 1_000;
    write(path, 0, &[]);
    let stems = ["Stream", "Event", "Device", "Ctx", "Thread", "GreenCtx"].map(|of| format!("{of}Synchronize"));
    let others = ["CtxSynchronizeEx", "DeviceReset", "ThreadExit", "DevicePrimaryCtxReset"].map(str::to_owned);
    for (id, name) in (101..).zip(
        stems.iter().chain(&others).flat_map(|stem| ["cuda", "cu", "hip", ""].map(|prefix| format!("{prefix}{stem}"))),
    ) {
        run(path, &format!("INSERT INTO StringIds VALUES ({id}, '{name}')"));
    }
    let at = format!("((n - 1) / 32) * {length}");
    let kernels = format!(
        "CUPTI_ACTIVITY_KIND_KERNEL {at} + 100, {at} + 200, PID, n % 32, 1, 7, NULL, 1, 1, 1, 1, 1, 32, 1, 1, 16"
    );
    more(path, 32 * waits, &[&kernels]);
    let wait = format!("CUPTI_ACTIVITY_KIND_RUNTIME (n - 1) * {length} + 150, n * {length}, TID, NULL, 100 + n, 0");
    more(path, waits, &[&wait]);
    let name = "char(97 + n % 26, 97 + n / 26 % 26, 97 + n / 676 % 26, 97 + n / 17576 % 26)";
    more(path, labels, &[&format!("StringIds n + 1000, 'r' || {name}")]);
    let ranges = format!("NVTX_EVENTS n * 1000 + 300, n * 1000 + 1290, TID, 59, NULL, 1001 + n % {labels}, 0");
    more(path, rows, &[&ranges]);
}

/// A thread that launches on all of 32 GPUs, beside as many waits as rows, all of which last to the end.
fn waits_in_waits_of_gpus(path: &Path, rows: i64) {
    write(path, 0, &[]);
    run(path, "INSERT INTO StringIds VALUES (5, 'cudaDeviceSynchronize');");
    let end = rows * 1_000;
    let step = (end / 3_200).max(1_000);
    let kernels = format!(
        "CUPTI_ACTIVITY_KIND_KERNEL n * {step} + 500, n * {step} + 900, PID, n % 32, 1, 7, n, 1, 1, 1, 1, 1, 32, 1, 1, 16"
    );
    let launches = format!("CUPTI_ACTIVITY_KIND_RUNTIME n * {step}, n * {step} + 100, TID, n, 2, 0");
    more(path, 3_200, &[&kernels, &launches]);
    let waits = format!("CUPTI_ACTIVITY_KIND_RUNTIME n * 1000 + 7, {end} + 7000, TID, 0, 5, 0");
    more(path, rows, &[&waits]);
}

/// A thread that launches on all of 32 GPUs twenty times, and calls as often as there are rows between.
fn calls_for_gpus(path: &Path, rows: i64) {
    write(path, 0, &[]);
    run(path, "INSERT INTO StringIds VALUES (5, 'cudaEventRecord');");
    let at = format!("(n / 32) * {}", rows * 1_000 / 20);
    let kernels = format!(
        "CUPTI_ACTIVITY_KIND_KERNEL {at} + 2000, {at} + 2900, PID, n % 32, 1, 7, n, 1, 1, 1, 1, 1, 32, 1, 1, 16"
    );
    let launches = format!("CUPTI_ACTIVITY_KIND_RUNTIME {at} + n % 32 * 10, {at} + n % 32 * 10 + 9, TID, n, 2, 0");
    more(path, 32 * 20, &[&kernels, &launches]);
    more(path, rows, &["CUPTI_ACTIVITY_KIND_RUNTIME n * 1000 + 500, n * 1000 + 900, TID, 0, 5, 0"]);
}
