//! Makers of bad input. Each writes into the given folder and gives the path.
//!
//! The healthy report beneath is the scenario `pageable-copies` in the new schema, unless said otherwise.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{SchemaVersion, scenario};

/// A healthy report, for comparison and as the base of the others.
pub fn healthy(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    scenario("pageable-copies").write(SchemaVersion::Nsys2025, &path);
    path
}

fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path
}

/// A healthy report after some SQL.
fn altered(folder: &Path, name: &str, sql: &str) -> PathBuf {
    let path = healthy(folder, name);
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    path
}

/// Kernels are missing amid others, though the calls that launched them are there.
pub fn every_other_kernel(folder: &Path) -> PathBuf {
    altered(folder, "every-other-kernel.sqlite", "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid % 2 = 0")
}

/// What the GPU did in the second half is missing, though the calls that launched it are there.
pub fn half_of_the_work(folder: &Path) -> PathBuf {
    let half = "(SELECT max(rowid) / 2 FROM CUPTI_ACTIVITY_KIND_KERNEL)";
    let last = "(SELECT max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL)";
    let sql = format!(
        "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid > {half};
         DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE start > {last};"
    );
    altered(folder, "half-of-the-work.sqlite", &sql)
}

/// Each kernel is there twice.
pub fn kernels_twice(folder: &Path) -> PathBuf {
    let twice = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL";
    altered(folder, "kernels-twice.sqlite", twice)
}

// Not a database, or not a whole one.

pub fn empty_file(folder: &Path) -> PathBuf {
    file(folder, "empty.sqlite", "")
}

/// The first `length` bytes of a healthy report.
pub fn truncated_to(folder: &Path, length: usize) -> PathBuf {
    let whole = fs::read(healthy(folder, "whole.sqlite")).unwrap();
    file(folder, &format!("truncated-{length}.sqlite"), &whole[..length.min(whole.len())])
}

/// Truncated in the header, after it, within and between pages, and just before the end.
pub fn truncations(folder: &Path) -> Vec<PathBuf> {
    let length = fs::metadata(healthy(folder, "whole.sqlite")).unwrap().len() as usize;
    let lengths = [1, 15, 16, 99, 100, 512, 1024, 5000, length / 2, length * 9 / 10, length - 1024, length - 1];
    lengths.into_iter().map(|length| truncated_to(folder, length)).collect()
}

/// Right length, but every page after the first half is full of one byte.
pub fn overwritten_pages(folder: &Path) -> PathBuf {
    let mut bytes = fs::read(healthy(folder, "whole.sqlite")).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0xA5);
    file(folder, "overwritten.sqlite", bytes)
}

/// What a checkout without Git LFS leaves in place of a report.
pub fn git_lfs_pointer(folder: &Path) -> PathBuf {
    let oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    let text = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 3850240\n");
    file(folder, "pointer.sqlite", text)
}

/// A report of Nsight Systems under the name of an export.
pub fn nsys_rep_named_sqlite(folder: &Path) -> PathBuf {
    file(folder, "renamed.sqlite", binary_report("2025.5.2.266"))
}

/// A report of Nsight Systems under its right name.
pub fn nsys_rep(folder: &Path, version: &str) -> PathBuf {
    file(folder, "report.nsys-rep", binary_report(version))
}

/// A report whose last bytes are missing.
pub fn nsys_rep_cut_off(folder: &Path, version: &str) -> PathBuf {
    let report = binary_report(version);
    file(folder, "cut.nsys-rep", &report[..report.len() / 2])
}

/// Something else under the name of a report of Nsight Systems.
pub fn noise_named_nsys_rep(folder: &Path) -> PathBuf {
    file(folder, "noise.nsys-rep", noise())
}

/// What is left of a recording when nsys does not find its importer.
pub fn raw_recording(folder: &Path) -> PathBuf {
    let start = b"U3w[END]NVIDIA Nsight Systems Stream 2022.4.2.1-df9881f!";
    file(folder, "recording.qdstrm", start.iter().copied().chain(noise()).collect::<Vec<u8>>())
}

/// A healthy export under the name of a binary report.
pub fn sqlite_named_nsys_rep(folder: &Path) -> PathBuf {
    healthy(folder, "renamed.nsys-rep")
}

/// The format is not public: this begins and ends as real reports do, with nothing of use between.
fn binary_report(version: &str) -> Vec<u8> {
    let tag = format!("NVIDIA Tegra Profiler Report {}-0v0.\n\x0bLocal (CLI)", version.replace('.', "@"));
    tag.into_bytes().into_iter().chain(noise()).chain(*b"U3w[END]").collect()
}

fn noise() -> Vec<u8> {
    (0_u32..4096).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

pub fn directory(folder: &Path) -> PathBuf {
    let path = folder.join("directory.sqlite");
    fs::create_dir(&path).unwrap();
    path
}

pub fn missing(folder: &Path) -> PathBuf {
    folder.join("missing.sqlite")
}

/// A report without permission to read; none where the user may read everything (root).
#[cfg(unix)]
pub fn unreadable(folder: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = healthy(folder, "unreadable.sqlite");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    fs::File::open(&path).is_err().then_some(path)
}

// A database, but not a report.

/// An application's own database.
pub fn foreign_sqlite(folder: &Path) -> PathBuf {
    let path = folder.join("foreign.sqlite");
    let sql = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO users VALUES (1, 'somebody');
        CREATE TABLE StringIds (id TEXT, other BLOB);";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    path
}

/// A database without a table.
pub fn without_tables(folder: &Path) -> PathBuf {
    let path = folder.join("no-tables.sqlite");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE x (y); DROP TABLE x;").unwrap();
    path
}

/// A real export that traced the CPU only.
pub fn without_cuda_tables(folder: &Path) -> PathBuf {
    altered(
        folder,
        "no-cuda.sqlite",
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;
         DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; DROP TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;",
    )
}

/// The CUDA tables exist and are empty, as `nsys export --lazy false` writes them.
pub fn empty_cuda_tables(folder: &Path) -> PathBuf {
    altered(
        folder,
        "empty-cuda.sqlite",
        "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY;
         DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME; DELETE FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;",
    )
}

/// Views under the names of tables: what they compute is not to be trusted.
pub fn views_as_tables(folder: &Path) -> PathBuf {
    altered(
        folder,
        "views.sqlite",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO hidden;
         CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM hidden;",
    )
}

/// A view under the name of a table that never runs out of rows.
pub fn endless_view(folder: &Path) -> PathBuf {
    altered(
        folder,
        "endless.sqlite",
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;
         CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS
         WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 2 FROM n)
         SELECT start, start + 1 AS end, 0 AS deviceId, 1 AS contextId, 7 AS streamId, 103 AS correlationId,
             0 AS globalPid, 0 AS demangledName, 0 AS shortName, 32 AS registersPerThread, 1 AS gridX, 1 AS gridY,
             1 AS gridZ, 1 AS blockX, 1 AS blockY, 1 AS blockZ, 0 AS staticSharedMemory, 0 AS dynamicSharedMemory
         FROM n;",
    )
}

/// A table under the name of another kind of table: the columns that matter are not there.
pub fn missing_columns(folder: &Path) -> PathBuf {
    altered(
        folder,
        "columns.sqlite",
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (begin INTEGER, finish INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2);",
    )
}

// A report, with values that no tool should write.

/// Text, reals and blobs where integers belong.
pub fn text_in_integer_columns(folder: &Path) -> PathBuf {
    altered(
        folder,
        "text.sqlite",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon' WHERE rowid % 5 = 0;
         UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 1.5e300 WHERE rowid % 5 = 1;
         UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = x'00FF' WHERE rowid % 2 = 0;
         UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 'name', correlationId = 'id' WHERE rowid % 3 = 0;
         UPDATE StringIds SET value = x'FFFEFD' WHERE rowid % 2 = 0;",
    )
}

/// Numbers where texts belong, and texts that are not UTF-8.
pub fn broken_strings(folder: &Path) -> PathBuf {
    altered(folder, "strings.sqlite", "UPDATE StringIds SET value = CAST(x'C3286180' AS TEXT);")
}

/// Every column of the GPU tables is NULL in some row. The tables lose their constraints for it.
pub fn nulls(folder: &Path) -> PathBuf {
    let path = healthy(folder, "nulls.sqlite");
    let db = Connection::open(&path).unwrap();
    for table in ["KERNEL", "MEMCPY", "RUNTIME", "SYNCHRONIZATION"].map(|kind| format!("CUPTI_ACTIVITY_KIND_{kind}")) {
        let sql = format!(
            "CREATE TABLE loose AS SELECT * FROM {table}; DROP TABLE {table}; ALTER TABLE loose RENAME TO {table};"
        );
        db.execute_batch(&sql).unwrap();
        let mut statement = db.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
        let columns: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        for (index, column) in columns.iter().enumerate() {
            db.execute(&format!("UPDATE {table} SET {column} = NULL WHERE rowid = {}", index + 1), []).unwrap();
        }
    }
    path
}

/// Every fourth kernel, copy and call ends before it starts.
pub fn reversed_timestamps(folder: &Path) -> PathBuf {
    everywhere(folder, "reversed.sqlite", "SET start = end, end = start WHERE rowid % 4 = 0")
}

/// The healthy report of the fixtures, `healthy.sqlite`, and the same with one kernel that ends before it begins.
pub fn with_a_reversed_kernel(folder: &Path) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/healthy.sqlite");
    for (name, sql) in [
        ("healthy.sqlite", ""),
        ("reversed-kernel.sqlite", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 1 WHERE rowid = 5"),
    ] {
        fs::copy(&fixture, folder.join(name)).unwrap();
        Connection::open(folder.join(name)).unwrap().execute_batch(sql).unwrap();
    }
}

/// Calls copied, and not one copy was recorded.
pub fn no_copies(folder: &Path) -> PathBuf {
    altered(folder, "no-copies.sqlite", "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY")
}

/// One of five kernels ends before it begins.
pub fn reversed_kernels(folder: &Path) -> PathBuf {
    altered(
        folder,
        "reversed-kernels.sqlite",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 1 WHERE rowid % 5 = 0",
    )
}

/// All times lie before the start of the capture.
pub fn negative_timestamps(folder: &Path) -> PathBuf {
    everywhere(folder, "negative.sqlite", "SET start = start - 10000000000, end = end - 10000000000")
}

/// A few rows at both ends of 64 bits: differences and sums overflow.
pub fn huge_timestamps(folder: &Path) -> PathBuf {
    everywhere(
        folder,
        "huge.sqlite",
        "SET start = CASE rowid % 3 WHEN 0 THEN -9223372036854775807 ELSE start END,
             end = CASE rowid % 3 WHEN 1 THEN start ELSE 9223372036854775807 END WHERE rowid < 7",
    )
}

/// Lost timestamps: the tool writes 0.
pub fn zero_timestamps(folder: &Path) -> PathBuf {
    everywhere(folder, "zero.sqlite", "SET start = 0, end = 0 WHERE rowid % 6 = 0")
}

/// All operations of the device overlap, and calls of one thread too.
pub fn overlapping(folder: &Path) -> PathBuf {
    everywhere(folder, "overlapping.sqlite", "SET end = end + 20000000")
}

fn everywhere(folder: &Path, name: &str, change: &str) -> PathBuf {
    let tables = ["KERNEL", "MEMCPY", "RUNTIME"];
    let sql: String = tables.iter().map(|table| format!("UPDATE CUPTI_ACTIVITY_KIND_{table} {change};")).collect();
    altered(folder, name, &sql)
}

/// Names, processes, streams and correlations that refer to nothing.
pub fn dangling_ids(folder: &Path) -> PathBuf {
    altered(
        folder,
        "dangling.sqlite",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET shortName = 999999, demangledName = -5, correlationId = 888888 + rowid;
         UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET globalPid = 77, streamId = 123456, deviceId = 41, copyKind = 99, srcKind = 55;
         UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 999999 WHERE rowid % 2 = 0;
         DELETE FROM TARGET_INFO_GPU; DELETE FROM TARGET_INFO_CUDA_DEVICE;",
    )
}

/// One correlation id for all calls and all operations of the process.
pub fn duplicate_correlation_ids(folder: &Path) -> PathBuf {
    everywhere(folder, "duplicates.sqlite", "SET correlationId = 1")
}

/// Impossible sizes and launch shapes.
pub fn absurd_sizes(folder: &Path) -> PathBuf {
    altered(
        folder,
        "absurd.sqlite",
        "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = CASE rowid % 2 WHEN 0 THEN -1 ELSE 9223372036854775807 END;
         UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 9223372036854775807, gridY = -1, blockX = 0, registersPerThread = -7,
             dynamicSharedMemory = 9223372036854775807;
         UPDATE TARGET_INFO_GPU SET smCount = 0, maxWarpsPerSm = -1, memoryBandwidth = 9223372036854775807;",
    )
}

/// All reports whose file is a database with CUDA rows, though wrong ones: reading them must end in a review that
/// says what was dropped, or in one message.
pub fn all_strange_reports(folder: &Path) -> Vec<PathBuf> {
    let makers: [fn(&Path) -> PathBuf; 14] = [
        views_as_tables,
        endless_view,
        missing_columns,
        text_in_integer_columns,
        broken_strings,
        nulls,
        reversed_timestamps,
        negative_timestamps,
        huge_timestamps,
        zero_timestamps,
        overlapping,
        dangling_ids,
        duplicate_correlation_ids,
        absurd_sizes,
    ];
    makers.iter().map(|make| make(folder)).collect()
}

/// What `nsys stats` prints.
pub fn summary_of_nsys(folder: &Path) -> PathBuf {
    let text = " ** CUDA GPU Kernel Summary **\n\n Time (%)  Total Time (ns)  Instances  Name\n     99.9  1000000  100  step\n";
    file(folder, "stats.txt", text)
}

/// What ncu prints without `--csv`.
pub fn page_of_ncu_as_text(folder: &Path) -> PathBuf {
    let text =
        "[1] app@host\n  k(int) (1, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\n    Section: Occupancy\n";
    file(folder, "details.txt", text)
}

/// A file that is only named as a report of Nsight Compute.
pub fn noise_named_ncu_rep(folder: &Path) -> PathBuf {
    file(folder, "noise.ncu-rep", "no report")
}

/// A trace of a browser, in the format that traces of PyTorch have.
pub fn trace_of_a_browser(folder: &Path) -> PathBuf {
    let text = r#"{"traceEvents":[{"ph":"X","name":"RunTask","cat":"toplevel","ts":1,"dur":5,"pid":1,"tid":1}]}"#;
    file(folder, "browser.json", text)
}

/// JSON of something else.
pub fn other_json(folder: &Path) -> PathBuf {
    file(folder, "package.json", r#"{"name":"app","version":"1.0"}"#)
}

/// All inputs that are no report at all: reading them must end in one message.
pub fn all_foreign_files(folder: &Path) -> Vec<PathBuf> {
    let makers: [fn(&Path) -> PathBuf; 15] = [
        empty_file,
        overwritten_pages,
        git_lfs_pointer,
        nsys_rep_named_sqlite,
        noise_named_nsys_rep,
        raw_recording,
        directory,
        missing,
        foreign_sqlite,
        without_tables,
        summary_of_nsys,
        page_of_ncu_as_text,
        noise_named_ncu_rep,
        trace_of_a_browser,
        other_json,
    ];
    makers.iter().map(|make| make(folder)).collect()
}
