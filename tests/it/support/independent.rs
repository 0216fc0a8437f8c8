//! The numbers of a report in the plainest way: plain SQL, a list of events, a walk over all their edges. It shares
//! nothing with the engine, so that both are wrong only where both are wrong.
//!
//! Definitions: a device is the GPU that `TARGET_INFO_CUDA_DEVICE` gives for (process, ordinal), else the ordinal. Its
//! window goes from the first to the last operation. A moment belongs to kernels (graph launches among them), else to
//! copies, else to migrations of unified memory, else to memsets, else it is idle. A row is no operation when a
//! timestamp is 0 (the tool lost it) or the end is before the start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// The numbers of one device; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceNumbers {
    pub window_start_ns: i64,
    pub window_end_ns: i64,
    pub window_ns: i64,
    pub idle_ns: i64,
    pub kernel_count: i64,
    pub kernel_sum_ns: i64,
    /// Kernels and graph launches.
    pub kernel_union_ns: i64,
    pub graph_launch_count: i64,
    pub copy_count: i64,
    pub copy_bytes: i64,
    pub copy_sum_ns: i64,
    pub copy_union_ns: i64,
    pub exposed_copy_ns: i64,
    pub pageable_count: i64,
    pub pageable_bytes: i64,
    pub migration_count: i64,
    pub migration_bytes: i64,
    pub migration_union_ns: i64,
    pub exposed_migration_ns: i64,
    pub memset_count: i64,
    pub memset_bytes: i64,
    pub memset_sum_ns: i64,
    pub memset_union_ns: i64,
    pub exposed_memset_ns: i64,
    /// Streams that ran kernels or graphs.
    pub kernel_stream_count: i64,
    /// Rows that are no operation.
    pub dropped_count: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Kernel,
    Graph,
    Copy { pageable: bool },
    Migration,
    Memset,
}

#[derive(Debug, Clone)]
struct Event {
    class: Class,
    device: i64,
    start_ns: i64,
    end_ns: i64,
    bytes: i64,
    stream: (i64, i64),
}

/// Reckons every device of an export, by its number.
pub fn reckon(path: &Path) -> BTreeMap<i64, DeviceNumbers> {
    let mut devices: BTreeMap<i64, Vec<Event>> = BTreeMap::new();
    for event in events(path) {
        devices.entry(event.device).or_default().push(event);
    }
    devices.into_iter().map(|(device, events)| (device, numbers(&events))).collect()
}

fn events(path: &Path) -> Vec<Event> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let has = |table: &str| {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?";
        db.query_row(sql, [table], |row| row.get::<_, i64>(0)).unwrap() > 0
    };
    // A device's number: looked up by process and ordinal where the report can tell.
    let device = if has("TARGET_INFO_CUDA_DEVICE") {
        "coalesce((SELECT min(gpuId) FROM TARGET_INFO_CUDA_DEVICE
            WHERE cudaId = deviceId AND pid = (globalPid >> 24 & 16777215)), deviceId)"
    } else {
        "deviceId"
    };
    let sources = [
        ("KERNEL", "0", "0", "1 = 0", "1 = 0"),
        ("GRAPH_TRACE", "1", "0", "1 = 0", "1 = 0"),
        ("MEMCPY", "2", "bytes", "srcKind = 0 OR dstKind = 0", "copyKind BETWEEN 11 AND 13"),
        ("MEMSET", "3", "bytes", "1 = 0", "1 = 0"),
    ];
    let mut events = Vec::new();
    for (table, class, bytes, pageable, migration) in sources {
        let table = format!("CUPTI_ACTIVITY_KIND_{table}");
        if !has(&table) {
            continue;
        }
        let sql = format!(
            "SELECT {class}, {device}, start, end, {bytes}, globalPid, streamId,
                coalesce({pageable}, 0), {migration} FROM {table}"
        );
        let mut statement = db.prepare(&sql).unwrap();
        let rows = statement.query_map([], |row| {
            let class = match (row.get::<_, i64>(0)?, row.get(8)?) {
                (0, _) => Class::Kernel,
                (1, _) => Class::Graph,
                (2, true) => Class::Migration,
                (2, false) => Class::Copy { pageable: row.get(7)? },
                _ => Class::Memset,
            };
            let stream = (row.get::<_, Option<i64>>(5)?.unwrap_or(0), row.get(6)?);
            let (start_ns, end_ns) = (row.get(2)?, row.get(3)?);
            Ok(Event { class, device: row.get(1)?, start_ns, end_ns, bytes: row.get(4)?, stream })
        });
        events.extend(rows.unwrap().map(Result::unwrap));
    }
    events
}

fn numbers(all: &[Event]) -> DeviceNumbers {
    let is_operation = |event: &&Event| event.start_ns != 0 && event.end_ns != 0 && event.end_ns >= event.start_ns;
    let events: Vec<&Event> = all.iter().filter(is_operation).collect();
    let mut out = DeviceNumbers { dropped_count: (all.len() - events.len()) as i64, ..DeviceNumbers::default() };
    let mut kernel_streams = BTreeSet::new();
    for event in &events {
        let duration_ns = event.end_ns - event.start_ns;
        match event.class {
            Class::Kernel => {
                out.kernel_count += 1;
                out.kernel_sum_ns += duration_ns;
                kernel_streams.insert(event.stream);
            }
            Class::Graph => {
                out.graph_launch_count += 1;
                kernel_streams.insert(event.stream);
            }
            Class::Copy { pageable } => {
                out.copy_count += 1;
                out.copy_bytes += event.bytes;
                out.copy_sum_ns += duration_ns;
                out.pageable_count += i64::from(pageable);
                out.pageable_bytes += if pageable { event.bytes } else { 0 };
            }
            Class::Migration => {
                out.migration_count += 1;
                out.migration_bytes += event.bytes;
            }
            Class::Memset => {
                out.memset_count += 1;
                out.memset_bytes += event.bytes;
                out.memset_sum_ns += duration_ns;
            }
        }
    }
    out.kernel_stream_count = kernel_streams.len() as i64;
    out.window_start_ns = events.iter().map(|event| event.start_ns).min().unwrap_or(0);
    out.window_end_ns = events.iter().map(|event| event.end_ns).max().unwrap_or(0);
    out.window_ns = out.window_end_ns - out.window_start_ns;
    sweep(&events, &mut out);
    out
}

/// Walks over the edges in the order of time and knows how many operations of each class run between two of them.
fn sweep(events: &[&Event], out: &mut DeviceNumbers) {
    let class_of = |event: &Event| match event.class {
        Class::Kernel | Class::Graph => 0,
        Class::Copy { .. } => 1,
        Class::Migration => 2,
        Class::Memset => 3,
    };
    let mut edges: Vec<(i64, usize, i64)> = Vec::new();
    for event in events {
        edges.push((event.start_ns, class_of(event), 1));
        edges.push((event.end_ns, class_of(event), -1));
    }
    edges.sort_unstable();
    let mut running = [0_i64; 4];
    let mut unions = [0_i64; 4];
    let mut exposed = [0_i64; 4];
    for (index, (at_ns, class, change)) in edges.iter().enumerate() {
        running[*class] += change;
        let Some((next_ns, _, _)) = edges.get(index + 1) else { break };
        let stretch_ns = next_ns - at_ns;
        let owner = (0..4).find(|class| running[*class] > 0);
        match owner {
            Some(owner) => exposed[owner] += stretch_ns,
            None => out.idle_ns += stretch_ns,
        }
        (0..4).filter(|class| running[*class] > 0).for_each(|class| unions[class] += stretch_ns);
    }
    [out.kernel_union_ns, out.copy_union_ns, out.migration_union_ns, out.memset_union_ns] = unions;
    [_, out.exposed_copy_ns, out.exposed_migration_ns, out.exposed_memset_ns] = exposed;
}
