//! Traces that are small on disk, or broken, and much work or much memory: each takes the number of rows that an ordinary
//! heavy report has.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::kernels;

type Make = fn(&Path, i64);

pub const CASES: &[(&str, Make)] = &[
    ("packed-names", packed_names),
    ("packed-streams", packed_streams),
    ("packed-threads", packed_threads),
    ("packed-geometries", packed_geometries),
    ("packed-kernels", packed_kernels),
    ("packed-frames", packed_frames),
    ("packed-frames-of-gpus", packed_frames_of_gpus),
    ("packed-metadata", packed_metadata),
    ("broken-in-broken", broken_in_broken),
    ("stray-quotes", stray_quotes),
    ("quotes-alone", quotes_alone),
    ("nests", nests),
    ("one-string", one_string),
    ("same-keys", same_keys),
    ("wide-window", wide_window),
    ("empty-members", empty_members),
    ("empty-events", empty_events),
    ("wide-events", wide_events),
    ("profiled-gpus", kernels::on_gpus),
    ("wide-units", kernels::wide_units),
];

const START: &str = "{\"traceEvents\": [\n";
const KERNEL: &str = r#"{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0,"stream":7,"correlation":1}}"#;

/// A kernel, and as many texts behind it.
fn pack(path: &Path, count: i64, text: impl Fn(i64) -> String) {
    let mut out = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
    write!(out, "{START}{KERNEL}").unwrap();
    (0..count).for_each(|number| out.write_all(text(number).as_bytes()).unwrap());
    write!(out, "]}}").unwrap();
    out.finish().unwrap();
}

fn kernel(number: i64, name: &str, stream: i64, blocks: i64) -> String {
    format!(
        r#",{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{},"dur":1,"args":{{"device":0,"stream":{stream},"grid":[{blocks},1,1],"block":[256,1,1]}}}}"#,
        number * 2
    )
}

fn range(number: i64, category: &str, thread: i64, length: i64) -> String {
    format!(
        r#",{{"ph":"X","cat":"{category}","name":"f.py({number}): f","pid":1,"tid":{thread},"ts":{number},"dur":{length}}}"#
    )
}

/// Each quote may begin a key behind which to go on.
fn quotes_alone(path: &Path, rows: i64) {
    pack(path, rows, |_| "\"".repeat(10_000));
}

fn packed_names(path: &Path, rows: i64) {
    pack(path, rows * 70, |number| kernel(number, &format!("k{number:x}"), 7, 1));
}

fn packed_streams(path: &Path, rows: i64) {
    pack(path, rows * 60, |number| kernel(number, "k", number, 1));
}

/// Frames of as many functions, two hundred in each other, while two GPUs wait for what they launch.
fn packed_frames_of_gpus(path: &Path, rows: i64) {
    pack(path, rows * 15, |number| {
        let (stack, depth) = (number / 200, number % 200);
        let start = stack * 1_000 + depth;
        let frame = format!(
            r#",{{"ph":"X","cat":"python_function","name":"lib{depth}/x.py({depth}): f{stack}","pid":9,"tid":5,"ts":{start},"dur":{}}}"#,
            999 - 2 * depth
        );
        if depth > 0 {
            return frame;
        }
        let launched = (0..2).map(|gpu| {
            let (id, at) = (stack * 2 + gpu + 1, stack * 1_000 + 300 + gpu);
            format!(
                r#",{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":5,"ts":{at},"dur":1,"args":{{"correlation":{id}}}}},{{"ph":"X","cat":"kernel","name":"k","pid":{gpu},"tid":7,"ts":{},"dur":400,"args":{{"device":{gpu},"stream":7,"correlation":{id}}}}}"#,
                at + 200
            )
        });
        frame + &launched.collect::<String>()
    });
}

fn packed_threads(path: &Path, rows: i64) {
    pack(path, rows * 60, |number| range(number, "cpu_op", number, 1));
}

fn packed_geometries(path: &Path, rows: i64) {
    pack(path, rows * 60, |number| kernel(number, "k", 7, number));
}

fn packed_kernels(path: &Path, rows: i64) {
    pack(path, rows * 60, |number| kernel(number, "k", 7, 1));
}

/// Every frame lies in all before it.
fn packed_frames(path: &Path, rows: i64) {
    pack(path, rows * 60, |number| range(number, "python_function", 1, 2 * (rows * 60 - number)));
}

fn packed_metadata(path: &Path, rows: i64) {
    let mut out = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
    write!(out, "{{\"deviceProperties\":[").unwrap();
    (0..rows * 20).for_each(|id| write!(out, "{{\"id\":{id},\"name\":\"GPU {id}\"}},").unwrap());
    write!(out, "],\"traceEvents\":[{KERNEL}]}}").unwrap();
    out.finish().unwrap();
}

/// Every event begins within the one before it, which is broken.
fn broken_in_broken(path: &Path, rows: i64) {
    pack(path, rows * 20, |number| if number == 0 { ",".into() } else { "{\"ph\":".repeat(50) });
}

/// The same, and none of the quotes ends where one may: each event runs to the end of what is looked at.
fn stray_quotes(path: &Path, rows: i64) {
    pack(path, rows * 5, |number| if number == 0 { ",".into() } else { "{\"ph\":\"a\"b".repeat(50) });
}

fn nests(path: &Path, rows: i64) {
    pack(path, rows, |number| format!(",{}", ["[", "{\"a\":"][number as usize % 2].repeat(1_200)));
}

fn one_string(path: &Path, rows: i64) {
    pack(path, rows, |number| if number == 0 { ",{\"name\":\"".into() } else { "a\\\"".repeat(1_200) });
}

fn same_keys(path: &Path, rows: i64) {
    pack(path, rows, |number| if number == 0 { ",{\"ph\":\"X\"".into() } else { ",\"ts\":1".repeat(600) });
}

/// A frame of Zstandard that has all of it kept: blanks, a block of which is four bytes.
fn wide_window(path: &Path, rows: i64) {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3];
    let start = format!("{START}{KERNEL}");
    let raw = (start.len() as u32) << 3;
    out.extend_from_slice(&raw.to_le_bytes()[..3]);
    out.extend_from_slice(start.as_bytes());
    let (length, repeats) = (0x1_ffff_u32, 1 << 1);
    for _ in 0..rows * 4 {
        out.extend_from_slice(&(length << 3 | repeats).to_le_bytes()[..3]);
        out.push(b' ');
    }
    out.extend_from_slice(&[1 << 4 | 1, 0, 0, b']', b'}']);
    std::fs::write(path, out).unwrap();
}

fn empty_members(path: &Path, rows: i64) {
    let member = |text: &str| {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let empty = member("").repeat(rows as usize * 10);
    std::fs::write(path, [member(&format!("{START}{KERNEL}")), empty, member("]}")].concat()).unwrap();
}

/// Members that hold nothing, so that a file may inflate to more: as many bytes as half of the rows' hundreds.
fn pad(path: &Path, rows: i64) {
    let mut empty = GzEncoder::new(Vec::new(), Compression::fast());
    empty.write_all(b"").unwrap();
    let empty = empty.finish().unwrap().repeat(rows as usize * 20);
    File::options().append(true).open(path).unwrap().write_all(&empty).unwrap();
}

/// Events that could not be shorter.
fn empty_events(path: &Path, rows: i64) {
    pack(path, rows * 10, |_| ",{}".repeat(1_000));
    pad(path, rows);
}

/// Events of as many members as fit, which are read once more for each block until they are whole.
fn wide_events(path: &Path, rows: i64) {
    pack(path, rows * 2, |number| match number % 2_000 {
        0 => ",{\"ph\":\"X\"".into(),
        1_999 => "}".into(),
        _ => ",\"ts\":1".repeat(600),
    });
}
