//! Makers of mutants: reports that are nearly right. The same seed makes the same mutant of the same bases.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{KEPT, SchemaVersion, heavy, heavy_gpus, mutate_pages, scenario, scenario_names};

/// A small generator of numbers that is the same everywhere (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Less than `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Heavy reports that are mutated when they are still light.
const SAMPLED: [&str; 6] =
    ["cpu-samples", "deep-stacks", "compilers", "schedule", "played-changes-of-gpus", "functions-called-alike"];

/// Writes the reports that are mutated: the fixtures, every scenario, and some in the old schema, all without the
/// constraints that would refuse wrong values.
pub fn bases(folder: &Path) -> Vec<PathBuf> {
    let mut kept = Vec::new();
    for (stem, name, version) in KEPT {
        let path = folder.join(format!("kept-{stem}.sqlite"));
        scenario(name).write(version, &path);
        kept.push(path);
    }
    for name in scenario_names() {
        let path = folder.join(format!("{name}.sqlite"));
        scenario(&name).write(SchemaVersion::Nsys2025, &path);
        kept.push(path);
    }
    // Samples of call stacks, schedules, several GPUs: tables that no scenario has, and trees of more than one page.
    for (name, make) in heavy::CASES.iter().chain(heavy_gpus::CASES).filter(|(name, _)| SAMPLED.contains(name)) {
        let path = folder.join(format!("heavy-{name}.sqlite"));
        make(&path, 400);
        kept.push(path);
    }
    kept.iter().for_each(|path| loosen(path));
    kept
}

/// Takes the constraints out of a schema.
pub fn loosen(path: &Path) {
    let sql = "PRAGMA writable_schema = ON;
        UPDATE sqlite_master SET sql = replace(replace(sql, ' NOT NULL', ''), ' PRIMARY KEY', '') WHERE type = 'table'
            AND name NOT IN (SELECT tbl_name FROM sqlite_master WHERE type = 'index');
        PRAGMA writable_schema = RESET;";
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Writes the mutant of a seed and says what was done to which base.
pub fn mutant(bases: &[PathBuf], seed: u64, into: &Path) -> String {
    let mut random = Random::new(seed);
    let base = &bases[random.below(bases.len())];
    let mut bytes = fs::read(base).unwrap();
    let done = match random.below(16) {
        10 => mutate_pages::freelist(&mut bytes, &mut random),
        14 => mutate_pages::tree(&mut bytes, &mut random),
        0 | 1 => flip(&mut bytes, &mut random),
        2 => truncate(&mut bytes, &mut random),
        3 => shuffle_pages(&mut bytes, &mut random),
        kind => {
            fs::write(into, &bytes).unwrap();
            let done = match kind {
                11 => mutate_pages::overflow(into, &mut random),
                12 => mutate_pages::schema(into, &mut random),
                13 => mutate_pages::collide(into, &mut random),
                15 => mutate_pages::roots(into, &mut random),
                _ => change_rows(into, &mut random),
            };
            return format!("{}: {done}", base.display());
        }
    };
    fs::write(into, &bytes).unwrap();
    format!("{}: {done}", base.display())
}

pub fn page_size(bytes: &[u8]) -> usize {
    match usize::from(u16::from_be_bytes([bytes[16], bytes[17]])) {
        0 => 512,
        1 => 65_536,
        size => size,
    }
}

/// Anywhere, or where it hurts most: the headers of the file, of pages and of their cells.
fn flip(bytes: &mut [u8], random: &mut Random) -> String {
    let page = page_size(bytes);
    let count = 1 << random.below(8);
    for _ in 0..count {
        let at = match random.below(4) {
            0 => random.below(100),
            1 => random.below(bytes.len() / page) * page + random.below(64),
            _ => random.below(bytes.len()),
        };
        let at = at.min(bytes.len() - 1);
        match random.below(3) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = *random.pick(&[0, 1, 0x7F, 0x80, 0xFF]),
            _ => bytes[at] = random.next() as u8,
        }
    }
    format!("{count} bytes changed")
}

fn truncate(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    let page = page_size(bytes);
    let length = if random.below(2) == 0 { random.below(bytes.len()) } else { random.below(bytes.len() / page) * page };
    bytes.truncate(length);
    // Half of them say in their header that nothing is missing.
    if random.below(2) == 0 && length >= 100 {
        let count = (length / page) as u32;
        bytes[28..32].copy_from_slice(&count.to_be_bytes());
    }
    format!("cut to {length} bytes")
}

fn shuffle_pages(bytes: &mut [u8], random: &mut Random) -> String {
    let page = page_size(bytes);
    let pages = bytes.len() / page;
    let count = 1 + random.below(6);
    for _ in 0..count {
        let (from, to) = (random.below(pages) * page, random.below(pages) * page);
        // The first page keeps the header of the file, so that the rest is looked at.
        let skipped = if from == 0 || to == 0 { 100 } else { 0 };
        let copied = bytes[from + skipped..from + page].to_vec();
        if random.below(2) == 0 {
            bytes.copy_within(to + skipped..to + page, from + skipped);
        }
        bytes[to + skipped..to + page].copy_from_slice(&copied);
    }
    format!("{count} pages moved")
}

pub const TABLES: &[&str] = &[
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_OVERHEAD",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    "OSRT_API",
    "PROFILER_OVERHEAD",
    "NVTX_EVENTS",
    "StringIds",
    "PROCESSES",
    "GPU_METRICS",
    "GENERIC_EVENTS",
    "DIAGNOSTIC_EVENT",
    "META_DATA_CAPTURE",
    "META_DATA_EXPORT",
    "TARGET_INFO_GPU",
    "TARGET_INFO_GPU_METRICS",
    "TARGET_INFO_CUDA_DEVICE",
    "TARGET_INFO_CUDA_STREAM",
    "TARGET_INFO_CUDA_CONTEXT_INFO",
    "COMPOSITE_EVENTS",
    "SAMPLING_CALLCHAINS",
    "SCHED_EVENTS",
];

fn change_rows(path: &Path, random: &mut Random) -> String {
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;").unwrap();
    let mut there: Vec<String> = Vec::new();
    for table in TABLES {
        let found = db.prepare(&format!("SELECT 1 FROM {table} LIMIT 1")).and_then(|mut rows| rows.exists([]));
        if found == Ok(true) {
            there.push((*table).to_owned());
        }
    }
    let mut done = Vec::new();
    for _ in 0..1 + random.below(4) {
        let table = random.pick(&there).clone();
        done.push(change(&db, &table, random));
    }
    db.execute_batch("COMMIT").unwrap();
    done.join("; ")
}

pub fn columns(db: &Connection, table: &str) -> Vec<String> {
    let mut statement = db.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Which rows: all, one in a few, the first.
fn some_rows(random: &mut Random) -> String {
    match random.below(4) {
        0 => String::new(),
        1 => " WHERE rowid <= 3".to_owned(),
        _ => {
            let every = 2 + random.below(9);
            format!(" WHERE rowid % {every} = {}", random.below(every))
        }
    }
}

fn change(db: &Connection, table: &str, random: &mut Random) -> String {
    let columns = columns(db, table);
    let column = random.pick(&columns).clone();
    let rows = some_rows(random);
    let (sql, value) = match random.below(12) {
        0 => (format!("INSERT INTO {table} SELECT * FROM {table}{rows}"), None),
        1 => (format!("DELETE FROM {table}{rows}"), None),
        2 => (format!("UPDATE {table} SET start = end, end = start{rows}"), None),
        3 => (format!("UPDATE {table} SET start = (SELECT min(start) FROM {table}){rows}"), None),
        4 => (format!("UPDATE {table} SET end = start{rows}"), None),
        5 => (format!("UPDATE {table} SET {column} = random(){rows}"), None),
        6 => (format!("UPDATE {table} SET {column} = {column} + rowid * {}{rows}", 1_i64 << random.below(40)), None),
        7 => (format!("UPDATE {table} SET {column} = {column} * -1{rows}"), None),
        _ => (format!("UPDATE {table} SET {column} = ?1{rows}"), Some(value(random))),
    };
    // Not every change fits every table: then nothing changes.
    let result = match &value {
        Some(value) => db.execute(&sql, [value]),
        None => db.execute(&sql, []),
    };
    let shown = value.map_or_else(String::new, |value| format!(" ?1 = {value:.60?}"));
    format!("{sql}{shown} ({})", result.map_or_else(|error| error.to_string(), |rows| format!("{rows} rows")))
}

/// Numbers at which arithmetic goes wrong.
const NUMBERS: &[i64] = &[
    0,
    1,
    -1,
    2,
    11,
    i32::MAX as i64,
    u32::MAX as i64,
    u32::MAX as i64 + 1,
    1 << 24,
    1 << 53,
    8_640_000_000_000_000,
    -8_640_000_000_000_000,
    8_640_000_000_000_001,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
    i64::MIN + 1,
];

fn value(random: &mut Random) -> Value {
    match random.below(9) {
        0 => Value::Null,
        1 => Value::Real(*random.pick(&[1.5e300, -0.0, f64::INFINITY, f64::NEG_INFINITY, 0.1, 9.3e18])),
        2 => Value::Blob(vec![0xFF; random.below(64)]),
        3 => Value::Text((*random.pick(super::hostile::NAMES)).to_owned()),
        4 => Value::Text("x".repeat(1 << random.below(18))),
        5 => Value::Text(random.next().to_string()),
        6 => Value::Integer(random.next() as i64),
        _ => Value::Integer(*random.pick(NUMBERS)),
    }
}
