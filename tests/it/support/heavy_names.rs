//! Reports in which few bytes of names come on many threads, domains, launch shapes and GPUs, or stand for far more text.

use std::path::Path;

use rusqlite::Connection;

use super::heavy::{KERNELS, LAUNCHES, Make, more, steps, write};

pub const CASES: &[(&str, Make)] = &[
    ("names-in-domains", names_in_domains),
    ("names-on-threads", names_on_threads),
    ("names-of-shapes", names_of_shapes),
    ("names-of-kernels", names_of_kernels),
    ("shapes-of-one-name", shapes_of_one_name),
    ("mangled-names", mangled_names),
    ("mangled-expressions", mangled_expressions),
    ("turns-of-streams", turns_of_streams),
    ("loading-threads", loading_threads),
    ("names-of-launches", names_of_launches),
];

/// A name of 65 kB, as the string 5.
fn long_name(path: &Path) {
    let sql = "INSERT INTO StringIds VALUES (5, printf('%.65000c', 'x'));";
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn names_in_domains(path: &Path, rows: i64) {
    let ranges = "NVTX_EVENTS n * 1000, n * 1000 + 900, TID, 59, NULL, 5, n";
    write(path, rows, &[KERNELS, LAUNCHES, ranges]);
    long_name(path);
}

fn names_on_threads(path: &Path, rows: i64) {
    let ranges = "NVTX_EVENTS n * 1000, n * 1000 + 900, PID + n, 59, NULL, 5, 0";
    write(path, rows, &[KERNELS, LAUNCHES, ranges]);
    long_name(path);
}

fn names_of_shapes(path: &Path, rows: i64) {
    let shapes = KERNELS.replace("PID, 0,", "PID, n % 8,").replace("n, 1, 1, 1,", "n, 5, 5, 1 + (n / 8) % 1000,");
    write(path, rows, &[&shapes, LAUNCHES]);
    long_name(path);
}

/// A kernel with a long name that is launched in as many large shapes as there are rows, on 32 GPUs.
fn shapes_of_one_name(path: &Path, rows: i64) {
    let shapes = KERNELS.replace("PID, 0,", "PID, n % 32,").replace("n, 1, 1, 1,", "n, 5, 5, 2000000 + n,");
    write(path, rows, &[&shapes, LAUNCHES]);
    long_name(path);
}

/// Hundreds of kernels on each of some GPUs, each with a name of 65 kB.
fn names_of_kernels(path: &Path, rows: i64) {
    let count = rows / 500;
    let names = format!("StringIds 99 + n, n || printf('%.{}c', 'x')", if rows > 10_000 { 65_000 } else { 5_000 });
    let id = format!("100 + (n / 8) % {count}");
    let kernels = KERNELS.replace("PID, 0,", "PID, n % 8,").replace("n, 1, 1, 1,", &format!("n, {id}, {id}, 1,"));
    write(path, rows, &[&kernels, LAUNCHES]);
    more(path, count, &[&names]);
}

/// Names of 120 bytes, each of which stands for 16 kB.
fn mangled_names(path: &Path, rows: i64) {
    let kernels = KERNELS.replace("n, 1, 1, 1,", "n, 99 + n, 99 + n, 1,");
    let name = (0..11).fold("1aIiiE".to_owned(), |name, depth| {
        let inner = char::from_digit(depth, 36).unwrap().to_ascii_uppercase();
        format!("{name}S_IS{inner}_S{inner}_E")
    });
    let names = format!("StringIds 99 + n, '_Z' || length('k' || n) || 'k' || n || '{name}'");
    write(path, rows, &[&kernels, LAUNCHES, &names]);
}

/// What a demangler reads in twice as many ways with each pair of letters.
fn mangled_expressions(path: &Path, rows: i64) {
    let codes = ["nw", "na", "dl", "nadl"].map(|code| format!("_ZcvDT{}_", code.repeat(30)));
    let kernels = KERNELS.replace("n, 1, 1, 1,", "n, 100 + n % 4, 100 + n % 4, 1,");
    write(path, rows.min(10_000), &[&kernels, LAUNCHES]);
    let db = Connection::open(path).unwrap();
    for (id, name) in (100..).zip(codes) {
        db.execute("INSERT INTO StringIds VALUES (?1, ?2)", (id, name)).unwrap();
    }
}

/// A GPU as wide as it likes to be, kernels of one block in a stream each, and a wait after each.
fn turns_of_streams(path: &Path, rows: i64) {
    let kernels = KERNELS.replace("100000 + 1000", "100000 + 60000").replace("1, 7, n", "1, n, n");
    let waits = "CUPTI_ACTIVITY_KIND_RUNTIME n * 100000 + 65000, n * 100000 + 70000, TID, 10000000 + n, 3, 0";
    write(path, rows.min(99_000), &[&kernels, LAUNCHES, waits]);
    Connection::open(path).unwrap().execute_batch("UPDATE TARGET_INFO_GPU SET smCount = 1000000;").unwrap();
}

/// Hundreds of threads that ask for no work, beside one that fetches data again and again, for some GPUs.
fn loading_threads(path: &Path, rows: i64) {
    let kernels = KERNELS.replace("PID, 0,", "PID, n % 32,");
    let calls =
        "CUPTI_ACTIVITY_KIND_RUNTIME n * 100000 - 4000, n * 100000 - 3000, TID + 1 + n % 220, 10000000 + n, 2, 0";
    let ranges = "NVTX_EVENTS n * 1000, n * 1000 + 900, TID, 59, NULL, 5, 0";
    write(path, rows, &[&kernels, LAUNCHES, calls, ranges]);
    let name = "INSERT INTO StringIds VALUES (5, 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__');";
    Connection::open(path).unwrap().execute_batch(name).unwrap();
    steps(path, 100, rows / 100);
}

/// Calls of many processes, of one name that is slow to search, and GPUs whose work may be that of each of them.
fn names_of_launches(path: &Path, rows: i64) {
    let processes = 200;
    let kernels =
        KERNELS.replace("PID, 0,", "NULL, n % 32,").replace("7, n,", &format!("7, 1 + n % {},", rows / processes));
    let process = format!("(1 + n % {processes}) * 16777216 + 1, 1 + n / {processes}");
    let launches = "CUPTI_ACTIVITY_KIND_RUNTIME n, n + 1, TID, n, 5, 0".replace("TID, n", &process);
    write(path, rows, &[&kernels, &launches]);
    let name =
        "INSERT INTO StringIds VALUES (5, 'cuda' || replace(printf('%.400c', 'x'), 'x', 'GGGGGGGGGGhhhhhhhhhh'));";
    Connection::open(path).unwrap().execute_batch(name).unwrap();
}
