//! Reports that are made to be slow, or to need memory out of proportion: each takes the number of rows that it may have.

use std::path::Path;

use rusqlite::Connection;

pub type Make = fn(&Path, i64);

pub const CASES: &[(&str, Make)] = &[
    ("nested-ranges", nested_ranges),
    ("overlapping-ranges", overlapping_ranges),
    ("range-names", range_names),
    ("step-names", step_names),
    ("kernel-names", kernel_names),
    ("api-names", api_names),
    ("errors", errors),
    ("error-names", error_names),
    ("streams", streams),
    ("hidden-ordinals", hidden_ordinals),
    ("devices", devices),
    ("processes", processes),
    ("threads", threads),
    ("threads-and-overheads", threads_and_overheads),
    ("overlapping-kernels", overlapping_kernels),
    ("equal-times", equal_times),
    ("empty-kernels", empty_kernels),
    ("nested-calls", nested_calls),
    ("waits", waits),
    ("gpus", gpus),
    ("notices", notices),
    ("page-faults", page_faults),
    ("row-ids-apart", row_ids_apart),
    ("row-id-column", row_id_column),
    ("giant-names", giant_names),
    ("geometries", geometries),
    ("metrics", metrics),
    ("deep-json", deep_json),
    ("schedule", schedule),
    ("storms", storms),
    ("correlations", correlations),
    ("cpu-samples", cpu_samples),
    ("deep-stacks", deep_stacks),
    ("call-frames", call_frames),
    ("compilers", compilers),
    ("played-threads", played_threads),
    ("played-streams", played_streams),
    ("played-gpus", played_gpus),
    ("overheads-of-gpus", overheads_of_gpus),
    ("overlaps-of-gpus", overlaps_of_gpus),
    ("range-names-of-gpus", range_names_of_gpus),
    ("played-waits", played_waits),
    ("nested-copies", nested_copies),
];

const TABLES: &str = "
    PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1, 'work'), (2, 'cudaLaunchKernel'), (3, 'cudaStreamSynchronize'), (4, 'cudaMemcpyAsync');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, globalPid, deviceId, contextId, streamId, correlationId,
        shortName, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId, returnValue);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, globalPid, deviceId, contextId, streamId, correlationId, bytes,
        copyKind, srcKind, dstKind);
    CREATE TABLE NVTX_EVENTS (start, end, globalTid, eventType, text, textId, domainId);
    CREATE TABLE TARGET_INFO_GPU (id, cuDevice, name, smCount, maxWarpsPerSm, maxBlocksPerSm, maxRegistersPerSm,
        maxShmemPerSm, computeMajor, computeMinor);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'GPU', 108, 64, 32, 65536, 167936, 8, 0);";

/// A process, a thread of it.
pub const PID: i64 = 5 << 24;
pub const TID: i64 = PID + 9;

/// The tables, and as many rows of each SELECT as `n` counts from 1 to `rows`.
pub fn write(path: &Path, rows: i64, inserts: &[&str]) {
    let db = Connection::open(path).unwrap();
    db.execute_batch(TABLES).unwrap();
    more(path, rows, inserts);
}

/// As many rows of each SELECT.
pub fn more(path: &Path, rows: i64, inserts: &[&str]) {
    let db = Connection::open(path).unwrap();
    for insert in inserts {
        let (table, select) = insert.split_once(' ').unwrap();
        let select = select.replace("PID", &PID.to_string()).replace("TID", &TID.to_string());
        let count = format!("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {rows})");
        db.execute_batch(&format!("INSERT INTO {table} {count} SELECT {select} FROM c;")).unwrap();
    }
}

/// Kernels of 1 µs every 100 µs, each launched just before it runs.
pub const KERNELS: &str =
    "CUPTI_ACTIVITY_KIND_KERNEL n * 100000, n * 100000 + 1000, PID, 0, 1, 7, n, 1, 1, 1, 1, 1, 32, 1, 1, 16";
pub const LAUNCHES: &str = "CUPTI_ACTIVITY_KIND_RUNTIME n * 100000 - 5000, n * 100000 - 2000, TID, n, 2, 0";

/// Every annotation lies in all before it.
fn nested_ranges(path: &Path, rows: i64) {
    write(
        path,
        rows,
        &[KERNELS, LAUNCHES, "NVTX_EVENTS n * 50000, 1000000000000 - n, TID, 59, 'r' || (n % 1000), NULL, 0"],
    );
}

/// Every annotation is open while a third of the others are, and none lies in another.
fn overlapping_ranges(path: &Path, rows: i64) {
    let ranges = format!("NVTX_EVENTS n * 90000, n * 90000 + {}, TID, 60, 'r' || (n % 5000), NULL, 0", rows * 30_000);
    write(path, rows, &[KERNELS, LAUNCHES, &ranges]);
}

fn range_names(path: &Path, rows: i64) {
    write(
        path,
        rows,
        &[KERNELS, LAUNCHES, "NVTX_EVENTS n * 100000 - 9000, n * 100000, TID, 59, 'range ' || hex(n), NULL, n % 7"],
    );
}

/// Annotations that each look like the steps of a program.
fn step_names(path: &Path, rows: i64) {
    let steps = format!(
        "NVTX_EVENTS n * 100000 - 9000, n * 100000, TID, 59, replace(hex(n % {}), '3', 'g') || 'step', NULL, 0",
        rows / 4
    );
    write(path, rows, &[KERNELS, LAUNCHES, &steps]);
}

fn kernel_names(path: &Path, rows: i64) {
    let kernels = KERNELS.replace("n, 1, 1,", "n, n + 100, n + 100,");
    write(path, rows, &["StringIds n + 100, 'void kernel_' || n || '<float>(int)'", &kernels, LAUNCHES]);
}

/// Every copy is asked for by another API.
fn api_names(path: &Path, rows: i64) {
    let copies =
        "CUPTI_ACTIVITY_KIND_MEMCPY n * 100000, n * 100000 + 9000, PID, 0, 1, 7, n, 1000000, 1 + n % 2, n % 2, n % 2";
    let names = "StringIds n + 100, 'cudaMemcpy' || hex(n)";
    write(path, rows, &[names, copies, &LAUNCHES.replace("n, 2,", "n, n + 100,")]);
}

/// What calls return from the middle of the run on: that a kernel failed, and that the runtime is gone already.
fn failing(rows: i64) -> String {
    format!("CASE WHEN n < {} THEN 0 WHEN n % 3 = 0 THEN 4 ELSE 700 + n % 20 END", rows / 2)
}

fn errors(path: &Path, rows: i64) {
    let waits =
        format!("CUPTI_ACTIVITY_KIND_RUNTIME n * 100000 + 1000, n * 100000 + 9000, TID, NULL, 3, {}", failing(rows));
    let launches = LAUNCHES.replace("n, 2, 0", &format!("n, 2, {}", failing(rows)));
    write(path, rows, &[KERNELS, &launches, &waits]);
}

/// Every call is one of another API, and fails.
fn error_names(path: &Path, rows: i64) {
    let launches = LAUNCHES.replace("n, 2, 0", &format!("n, n + 100, {}", failing(rows)));
    write(path, rows, &["StringIds n + 100, 'cudaMemcpy' || hex(n)", KERNELS, &launches]);
}

fn streams(path: &Path, rows: i64) {
    write(path, rows, &[&KERNELS.replace("1, 7, n", "n % 9, n, n"), LAUNCHES]);
}

/// Streams of graphs that begin on the host: their device has to be found.
fn hidden_ordinals(path: &Path, rows: i64) {
    let kernels = KERNELS.replace("PID, 0, 1, 7", "PID, CASE n % 3 WHEN 0 THEN 0 ELSE 2147483647 END, n, n");
    write(path, rows, &[&kernels, LAUNCHES]);
}

fn devices(path: &Path, rows: i64) {
    write(path, rows, &[&KERNELS.replace("PID, 0,", "PID, n,"), LAUNCHES]);
}

fn processes(path: &Path, rows: i64) {
    let launches = LAUNCHES.replace("TID", "n * 16777216 + n % 1000");
    write(
        path,
        rows,
        &[
            &KERNELS.replace("PID", "n * 16777216"),
            &launches,
            "NVTX_EVENTS n * 1000, n * 1000 + 900, n * 16777216 + n % 1000, 59, 'r', NULL, 0",
        ],
    );
}

/// Every kernel is launched by a thread of its own.
fn threads(path: &Path, rows: i64) {
    let storms = "CUPTI_ACTIVITY_KIND_KERNEL n * 1000, n * 1000 + 500, PID, 1, 1, 7, NULL, 1, 1, 1, 1, 1, 32, 1, 1, 16";
    write(path, rows, &[KERNELS, &LAUNCHES.replace("TID", "PID + n"), storms]);
}

/// Overheads that name no thread, so that they concern all.
fn threads_and_overheads(path: &Path, rows: i64) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("CREATE TABLE PROFILER_OVERHEAD (start, end, globalTid, nameId)").unwrap();
    drop(db);
    let overheads = "PROFILER_OVERHEAD n * 100000 - 90000, n * 100000 + 90000000, NULL, 2";
    write(path, rows, &[KERNELS, &LAUNCHES.replace("TID", "PID + n"), overheads]);
}

fn overlapping_kernels(path: &Path, rows: i64) {
    let kernels = KERNELS.replace("n * 100000 + 1000", "1000000000000 - n").replace("1, 7", "1, n % 1000");
    write(
        path,
        rows,
        &[&kernels, LAUNCHES, "CUPTI_ACTIVITY_KIND_MEMCPY n * 70000, 1000000000000 + n, PID, 0, 1, 7, n, 5, 1, 0, 2"],
    );
}

/// Everything begins and ends at the same moments.
fn equal_times(path: &Path, rows: i64) {
    let at = |row: &str| row.replace("n * 100000", "100000");
    write(path, rows, &[&at(KERNELS), &at(LAUNCHES), "NVTX_EVENTS 90000, 200000, TID, 59, 'step', NULL, 0"]);
}

fn empty_kernels(path: &Path, rows: i64) {
    write(path, rows, &[&KERNELS.replace("+ 1000,", ","), LAUNCHES]);
}

/// Calls and overheads of one thread, each within all before it.
fn nested_calls(path: &Path, rows: i64) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("CREATE TABLE OSRT_API (start, end, globalTid, nameId)").unwrap();
    drop(db);
    let calls = "CUPTI_ACTIVITY_KIND_RUNTIME n * 90000, 1000000000000 - n, TID, n, 2 + n % 2, 0";
    write(path, rows, &[KERNELS, calls, "OSRT_API n * 80000, 1000000000000 - n, TID, 2"]);
}

fn waits(path: &Path, rows: i64) {
    let waits = "CUPTI_ACTIVITY_KIND_RUNTIME n * 100000 - 90000, n * 100000 - 9000, TID, NULL, 3, n % 2";
    write(
        path,
        rows,
        &[KERNELS, LAUNCHES, waits, "NVTX_EVENTS n * 100000 - 95000, n * 100000, TID, 59, 'iter', NULL, 0"],
    );
}

/// As many GPUs and processes in the small tables as rows.
fn gpus(path: &Path, rows: i64) {
    let db = Connection::open(path).unwrap();
    db.execute_batch(
        "CREATE TABLE PROCESSES (globalPid, name); CREATE TABLE TARGET_INFO_CUDA_DEVICE (pid, cudaId, gpuId);
         CREATE TABLE TARGET_INFO_CUDA_STREAM (processId, contextId, streamId, flag);",
    )
    .unwrap();
    drop(db);
    write(
        path,
        rows,
        &[
            "TARGET_INFO_GPU n, n + 1000000, 'GPU ' || n, 1, 1, 1, 1, 1, 8, 0",
            "PROCESSES n * 16777216, '/a/b/' || hex(n)",
            "TARGET_INFO_CUDA_DEVICE n, n, n",
            "TARGET_INFO_CUDA_STREAM n, n, n, 2",
            &KERNELS.replace("1, 7", "1, n"),
            LAUNCHES,
        ],
    );
}

fn notices(path: &Path, rows: i64) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("CREATE TABLE DIAGNOSTIC_EVENT (severity, text)").unwrap();
    drop(db);
    write(path, rows, &["DIAGNOSTIC_EVENT 1 + n % 3, printf('%.500c', 'x') || n", KERNELS]);
}

fn page_faults(path: &Path, rows: i64) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (globalPid, deviceId, numberOfPageFaults)").unwrap();
    drop(db);
    let faults = "CUDA_UM_GPU_PAGE_FAULT_EVENTS (n % 1000 + 7) * 16777216, 0, 9223372036854775807";
    write(path, rows, &[&KERNELS.replace("PID, 0, 1, 7", "(n % 1000) * 16777216, 0, n, 7"), faults]);
}

fn row_ids_apart(path: &Path, rows: i64) {
    write(path, rows, &[KERNELS, LAUNCHES]);
    let sql = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET rowid = -9223372036854775808 WHERE rowid = 1;
        UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET rowid = 9223372036854775807 WHERE rowid = 2;";
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// A column that hides the row id, with values that are no row ids.
fn row_id_column(path: &Path, rows: i64) {
    write(path, rows, &[KERNELS, LAUNCHES]);
    let sql = "CREATE TABLE hidden AS SELECT *, random() AS rowid FROM CUPTI_ACTIVITY_KIND_KERNEL;
        DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; ALTER TABLE hidden RENAME TO CUPTI_ACTIVITY_KIND_KERNEL;";
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// A few names of many megabytes, wherever there are names.
fn giant_names(path: &Path, rows: i64) {
    write(path, 100, &[KERNELS, LAUNCHES]);
    let size = rows * 100;
    let text = format!("replace(printf('%.{size}c', '<'), '<', 'a<b::')");
    let sql = format!(
        "UPDATE StringIds SET value = {text}; UPDATE TARGET_INFO_GPU SET name = {text};
         INSERT INTO NVTX_EVENTS VALUES (1, 100000000, {TID}, 59, {text}, NULL, 0);
         CREATE TABLE DIAGNOSTIC_EVENT (severity, text); INSERT INTO DIAGNOSTIC_EVENT VALUES (3, 'CUPTI ' || {text});
         CREATE TABLE PROCESSES (globalPid, name); INSERT INTO PROCESSES VALUES ({PID}, {text});
         CREATE TABLE META_DATA_EXPORT (name, value); INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', {text});"
    );
    Connection::open(path).unwrap().execute_batch(&sql).unwrap();
}

fn geometries(path: &Path, rows: i64) {
    let kernels = KERNELS.replace("1, 1, 1, 32, 1, 1, 16", "n * n, n, n, 9223372036854775807 - n, 1, 1, n");
    write(path, rows, &[&kernels.replace("PID, 0,", "PID, n % 100,"), LAUNCHES]);
}

fn metrics(path: &Path, rows: i64) {
    let db = Connection::open(path).unwrap();
    let sql = "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName); CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);
        INSERT INTO TARGET_INFO_GPU_METRICS VALUES (0, 1, 'SMs Active'), (1, 1, 'SMs Active')";
    db.execute_batch(sql).unwrap();
    drop(db);
    write(path, rows, &[KERNELS, "GPU_METRICS n * 100000, n % 2, 1, n % 101"]);
}

fn deep_json(path: &Path, rows: i64) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("CREATE TABLE GENERIC_EVENTS (timestamp, typeId, data)").unwrap();
    drop(db);
    write(
        path,
        20,
        &[
            KERNELS,
            &format!(
                "GENERIC_EVENTS n, 1, replace(printf('%.{rows}c', 'x'), 'x', CASE n % 2 WHEN 0 THEN '[' ELSE '{{\"a\":' END)"
            ),
        ],
    );
}

fn schedule(path: &Path, rows: i64) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("CREATE TABLE SCHED_EVENTS (start, globalTid, isSchedIn)").unwrap();
    drop(db);
    write(path, rows, &[KERNELS, LAUNCHES, "SCHED_EVENTS n * 5000, TID + n % 3, n % 2"]);
}

/// Kernels back to back in many short rows, launched by many threads.
fn storms(path: &Path, rows: i64) {
    let at = "(n * 2000 + (n / 25) * 100000)";
    let kernels = KERNELS.replace("n * 100000", at);
    let launches = LAUNCHES.replace("n * 100000", at).replace("TID", "PID + n / 25");
    write(path, rows, &[&kernels, &launches]);
}

/// Correlation ids far apart, and each many times.
fn correlations(path: &Path, rows: i64) {
    let id = "(n % 1000) * 4294967";
    write(
        path,
        rows,
        &[&KERNELS.replace("7, n, 1", &format!("7, {id}, 1")), &LAUNCHES.replace("TID, n", &format!("TID, {id}"))],
    );
}

const SAMPLES: &str = "
    CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, globalTid);
    CREATE TABLE SAMPLING_CALLCHAINS (id, stackDepth, symbol, module, PRIMARY KEY (id, stackDepth));";

/// A sample of another function before each launch.
fn cpu_samples(path: &Path, rows: i64) {
    write(path, rows, &[KERNELS, LAUNCHES, "StringIds n + 9, 'f' || n"]);
    Connection::open(path).unwrap().execute_batch(SAMPLES).unwrap();
    let samples = "COMPOSITE_EVENTS n, n * 100000 - 50000, TID";
    more(path, rows, &[samples, "SAMPLING_CALLCHAINS n, 0, n + 9, 1"]);
}

/// Every sample is one of another process that compiles, and the program waits for each of them in the operating system.
fn compilers(path: &Path, rows: i64) {
    write(path, rows, &[KERNELS, LAUNCHES]);
    let db = Connection::open(path).unwrap();
    db.execute_batch(SAMPLES).unwrap();
    db.execute_batch("INSERT INTO StringIds VALUES (5, '/usr/bin/ptxas'), (6, 'wait4'), (7, 'main')").unwrap();
    db.execute_batch("CREATE TABLE OSRT_API (start, end, globalTid, nameId)").unwrap();
    let samples = "COMPOSITE_EVENTS n, n * 50000 - (n % 2) * 40000, (1000 + n / 2) * 16777216 + 5";
    let waits = "OSRT_API n * 100000 - 90000, n * 100000 - 10000, TID, 6";
    more(path, rows, &[samples, "SAMPLING_CALLCHAINS n, 0, 7, 5", waits]);
}

/// All functions are on the stack of one sample; further samples have the same stack.
fn deep_stacks(path: &Path, rows: i64) {
    write(path, rows, &[KERNELS, LAUNCHES]);
    Connection::open(path).unwrap().execute_batch(SAMPLES).unwrap();
    let samples = "COMPOSITE_EVENTS n, n * 100000 - 50000, TID";
    more(path, rows, &[samples, "SAMPLING_CALLCHAINS n % 10, n / 10, n % 3 + 1, n % 2 + 1"]);
}

/// Every call has a stack, each frame of which names another call.
fn call_frames(path: &Path, rows: i64) {
    write(path, rows, &[KERNELS, LAUNCHES]);
    let columns = "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN callchainId;
        UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = correlationId;
        CREATE TABLE CUDA_CALLCHAINS (id, stackDepth, symbol, module);";
    Connection::open(path).unwrap().execute_batch(columns).unwrap();
    more(path, rows, &["StringIds n + 10, 'cudaCall' || n", "CUDA_CALLCHAINS n, 0, n + 10, 1"]);
}

/// Marked steps of so many kernels each.
pub fn steps(path: &Path, kernels: i64, count: i64) {
    let step = format!(
        "NVTX_EVENTS n * {kernels} * 100000 - 6000, (n + 1) * {kernels} * 100000 - 7000, TID, 59, 'step', NULL, 0"
    );
    more(path, count, &[&step]);
}

/// Kernels on as many GPUs as are told apart.
fn on_gpus() -> String {
    KERNELS.replace("PID, 0,", "PID, n % 32,")
}

/// Every kernel of a step is launched by a thread of its own.
fn played_threads(path: &Path, rows: i64) {
    let rows = rows.min(30_000);
    write(path, rows, &[KERNELS, &LAUNCHES.replace("TID", "PID + n")]);
    steps(path, rows / 5, 5);
}

/// Each stream of a step has two kernels, which overlap, and waits for all of them by the rules of the default stream.
fn played_streams(path: &Path, rows: i64) {
    let rows = rows.min(30_000);
    let kernels = KERNELS.replace("100000 + 1000", "100000 + 250000").replace("1, 7", &format!("1, n % {}", rows / 2));
    write(path, rows, &[&kernels, LAUNCHES]);
    let sql = "CREATE TABLE TARGET_INFO_CUDA_STREAM (processId, contextId, streamId, flag);";
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
    more(path, rows, &["TARGET_INFO_CUDA_STREAM 5, 1, n, 1 + n % 2"]);
    steps(path, rows / 10, 10);
}

fn played_gpus(path: &Path, rows: i64) {
    write(path, rows, &[&on_gpus(), LAUNCHES]);
    steps(path, 320, rows / 320);
}

/// Overheads of all threads, while all GPUs wait for hundreds of them.
fn overheads_of_gpus(path: &Path, rows: i64) {
    let sql = "CREATE TABLE PROFILER_OVERHEAD (start, end, globalTid, nameId)";
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
    let overheads = "PROFILER_OVERHEAD n * 50000, n * 50000 + 900000000, NULL, 2";
    write(path, rows, &[&on_gpus(), &LAUNCHES.replace("TID", "PID + n % 900"), overheads]);
}

/// Annotations of which two hundred are open at once, while all GPUs wait.
fn overlaps_of_gpus(path: &Path, rows: i64) {
    let ranges = "NVTX_EVENTS n * 90000, n * 90000 + 17900000, TID, 60, 'r' || (n % 5000), NULL, 0";
    write(path, rows, &[&on_gpus(), LAUNCHES, ranges]);
}

/// As many names of annotations as rows, each open while all of eight GPUs wait.
fn range_names_of_gpus(path: &Path, rows: i64) {
    let kernels = KERNELS.replace("PID, 0,", "PID, n % 8,");
    let ranges = "NVTX_EVENTS n * 100000, n * 100000 + 700000, TID, 60, 'r' || char(97 + n % 26, 97 + n / 26 % 26, 97 + n / 676 % 26, 97 + n / 17576), NULL, 0";
    write(path, rows, &[&kernels, LAUNCHES]);
    more(path, rows, &[ranges]);
}

/// One kernel in each of 64 streams of eight GPUs, and hundreds of waits for all of them, step by step.
fn played_waits(path: &Path, rows: i64) {
    let (streams, waits) = (64, 236);
    let count = rows.min(30_000) / (streams + waits);
    let at = format!("((n - 1) / {streams}) * 10000000 + ((n - 1) % {streams}) * 10000");
    let kernels = format!(
        "CUPTI_ACTIVITY_KIND_KERNEL {at} + 5000, {at} + 9000, PID, n % 8, 1 + n % 8, 100 + n % {streams}, n, 1, 1, 1, 1, 1, 32, 1, 1, 16"
    );
    let launches = format!("CUPTI_ACTIVITY_KIND_RUNTIME {at}, {at} + 3000, TID, n, 2, 0");
    write(path, count * streams, &[&kernels, &launches]);
    let at = format!("((n - 1) / {waits}) * 10000000 + ({streams} + (n - 1) % {waits}) * 10000");
    Connection::open(path).unwrap().execute_batch("INSERT INTO StringIds VALUES (5, 'cudaDeviceSynchronize')").unwrap();
    more(path, count * waits, &[&format!("CUPTI_ACTIVITY_KIND_RUNTIME {at}, {at} + 3000, TID, 1000000 + n, 5, 0")]);
    more(path, count, &["NVTX_EVENTS (n - 1) * 10000000, n * 10000000 - 1000, TID, 59, 'step ' || n, NULL, 0"]);
}

/// Exposed copies within two hundred annotations, each of another name.
fn nested_copies(path: &Path, rows: i64) {
    let copies = "CUPTI_ACTIVITY_KIND_MEMCPY n * 100000, n * 100000 + 1000, PID, 0, 1, 7, n, 64, 1, 0, 2";
    let calls = LAUNCHES.replace("n, 2, 0", "n, 4, 0");
    write(path, rows, &[copies, &calls]);
    more(
        path,
        199,
        &[&format!("NVTX_EVENTS n, {rows} * 100000 - n, TID, 59, 'range ' || char(97 + n % 26, 97 + n / 26), NULL, 0")],
    );
}
