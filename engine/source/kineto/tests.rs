//! Damage to good traces: what is whole is taken, what is not is counted, nothing panics.

use std::io::{Cursor as Bytes, Read, Write};

use super::document::{State, read_piece};
use super::event::{Activity, Event, Sink};
use super::open::Source;
use super::pipeline::{Summary, read_in_blocks};
use super::problems::{Ending, Problem, Unreadable};
use crate::text::effort;

/// What a byte of debris may take, in bytes of an ordinary trace: as they are counted, and in time of the processor.
const MOST_WORK_OF_A_BYTE: u64 = 32;
const MOST_TIME_OF_A_BYTE: u32 = 64;
/// Kernels of the trace that is damaged.
const KERNELS: usize = 40;

/// What was read, one line an event.
#[derive(Debug, Default, PartialEq, Eq)]
struct Lines(Vec<String>);

impl Sink for Lines {
    fn event(&mut self, event: &Event<'_>) {
        let what = match event.activity {
            Activity::Kernel(kernel) => format!("kernel {:?} {:?}", kernel.work, kernel.grid),
            Activity::Call(call) => format!("call {:?}", call.correlation),
            Activity::Operator(operator) => format!("op {:?}", operator.input_shapes),
            other => format!("{other:?}"),
        };
        self.0.push(format!("{} {}+{} {what}", event.name.to_str(), event.start_ns, event.duration_ns));
    }
}

impl Lines {
    fn add(&mut self, part: Self) -> std::ops::ControlFlow<()> {
        self.0.extend(part.0);
        std::ops::ControlFlow::Continue(())
    }

    fn kernels(&self) -> usize {
        self.0.iter().filter(|line| line.contains(" kernel ")).count()
    }
}

fn read_with(bytes: &[u8], block: usize) -> Result<(Lines, Summary), Unreadable> {
    let mut all = Lines::default();
    let summary = read_in_blocks(bytes, (2, block), |_| Lines::default(), |part, _| all.add(part))?;
    Ok((all, summary))
}

/// Reads in one block, and holds what smaller blocks give against it.
fn read(bytes: &[u8]) -> Result<(Lines, Summary), Unreadable> {
    let whole = read_with(bytes, 1 << 20);
    for block in [50, 333, 2_000] {
        match (&whole, &read_with(bytes, block)) {
            (Ok((lines, summary)), Ok((others, other))) => {
                assert_eq!(lines, others, "blocks of {block}");
                assert_eq!(summary.seen_count, other.seen_count, "blocks of {block}");
                assert_eq!(summary.metadata, other.metadata, "blocks of {block}");
                assert_eq!(summary.ending, other.ending, "blocks of {block}");
            }
            (Err(one), Err(other)) => assert_eq!(format!("{one:?}"), format!("{other:?}"), "blocks of {block}"),
            other => panic!("blocks of {block}: {other:?}"),
        }
    }
    whole
}

fn kernel(number: usize) -> String {
    format!(
        r#"  {{
    "ph": "X", "cat": "kernel", "name": "kernel {number}", "pid": 0, "tid": 7,
    "ts": {}.250, "dur": 3.125,
    "args": {{ "External id": {number}, "device": 0, "stream": 7, "correlation": {}, "grid": [4, 1, 1],
      "block": [256, 1, 1], "shared memory": 0 }}
  }}"#,
        1_000 + number * 10,
        number + 1
    )
}

fn call(number: usize) -> String {
    format!(
        r#"  {{ "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 99, "tid": 99,
    "ts": {}, "dur": 2, "args": {{ "cbid": 211, "correlation": {} }} }}"#,
        995 + number * 10,
        number + 1
    )
}

fn events() -> Vec<String> {
    (0..KERNELS).flat_map(|number| [call(number), kernel(number)]).collect()
}

const HEAD: &str = r#"{
  "schemaVersion": 1,
  "deviceProperties": [
    { "id": 0, "name": "GPU", "numSms": 132 }
  ],
  "baseTimeNanoseconds": 1700000000000000000,
  "traceEvents": [
"#;
const TAIL: &str = r#"
  ],
  "distributedInfo": {"rank": 1, "world_size": 2},
  "traceName": "t.json"
}
"#;

fn trace() -> String {
    format!("{HEAD}{}{TAIL}", events().join(",\n"))
}

/// The trace with one place replaced, behind the first third.
fn replaced(from: &str, to: &str) -> Vec<u8> {
    let whole = trace();
    let third = whole.len() / 3;
    let at = third + whole[third..].find(from).unwrap();
    [&whole.as_bytes()[..at], to.as_bytes(), &whole.as_bytes()[at + from.len()..]].concat()
}

#[track_caller]
fn taken(bytes: &[u8], kernels: usize, problems: &[(Problem, u64)]) -> (Lines, Summary) {
    let (lines, summary) = read(bytes).unwrap();
    assert_eq!(lines.kernels(), kernels, "{:?}", summary.problems);
    assert_eq!(summary.problems.iter().collect::<Vec<_>>(), problems);
    (lines, summary)
}

#[test]
fn a_good_trace_is_taken_whole_in_blocks_of_any_size() {
    let whole = trace();
    let (lines, summary) = taken(whole.as_bytes(), KERNELS, &[]);
    assert_eq!(lines.0.len(), 2 * KERNELS);
    assert!(lines.0[1].starts_with("kernel 0 1000250+3125"), "{}", lines.0[1]);
    assert_eq!(summary.ending, Ending::Whole);
    assert_eq!(summary.metadata.base_ns, Some(1_700_000_000_000_000_000));
    assert_eq!(summary.metadata.devices[0].sm_count, Some(132));
    assert_eq!(summary.metadata.distributed.and_then(|info| info.rank), Some(1));
}

#[test]
fn documents_come_in_several_forms() {
    let bare = format!("[{}]\n", events().join(","));
    assert_eq!(taken(bare.as_bytes(), KERNELS, &[]).1.ending, Ending::Whole);
    let marked = format!("\u{feff}{}", trace().replace('\n', "\r\n"));
    taken(marked.as_bytes(), KERNELS, &[]);
    let no_spaces: String = trace().replace(['\n', ' '], "");
    taken(no_spaces.as_bytes(), KERNELS, &[]);
    let only_events = format!("{{\"traceEvents\":[{}],\"deviceProperties\":[{{\"id\":3}}]}}", events().join(","));
    assert_eq!(taken(only_events.as_bytes(), KERNELS, &[]).1.metadata.devices[0].id, 3);
    let commas = format!("{HEAD}{},\n  ],\n}}", events().join(",,\n"));
    taken(commas.as_bytes(), KERNELS, &[]);
    let reordered = trace().replace(r#""ph": "X", "cat": "kernel", "#, "").replace(
        r#""shared memory": 0 }"#,
        r#""shared memory": 0 }, "cat": "Kernel", "unknown": {"ph": [1]}, "ph": "X""#,
    );
    taken(reordered.as_bytes(), KERNELS, &[]);
}

#[test]
fn strings_that_are_no_json_are_taken() {
    for name in [r"C:\kernels\x", "tab\there", "nul\0", "line\nbreak", r"\u12"] {
        let (lines, _) = taken(&replaced("\"kernel 20\"", &format!("\"{name}\"")), KERNELS, &[]);
        assert!(lines.0.iter().any(|line| line.starts_with(&format!("{name} "))), "{name:?}");
    }
    let mut bytes = trace().into_bytes();
    let at = trace().find("kernel 20").unwrap();
    bytes[at] = 0xff;
    let (lines, _) = taken(&bytes, KERNELS, &[]);
    assert!(lines.0.iter().any(|line| line.starts_with("\u{fffd}ernel 20 ")));
}

#[test]
fn quotes_without_backslashes_are_mended_where_it_is_clear_what_they_are() {
    let (lines, summary) = taken(&replaced("\"kernel 20\"", "\"say \"hi\" to all\""), KERNELS, &[]);
    assert!(lines.0.iter().any(|line| line.starts_with("say \"hi\" to all ")));
    assert_eq!(summary.problems.mended_count, 1);
    taken(&replaced("\"kernel 20\"", "\"f<\"a\",\"b\">\""), KERNELS - 1, &[(Problem::Broken, 1)]);
}

#[test]
fn values_that_are_no_numbers_cost_no_more_than_their_event() {
    for word in ["inf", "-inf", "Infinity", "NaN", "nan", "N/A", "null", "\"N/A\"", "-nan(ind)"] {
        taken(&replaced("\"dur\": 3.125", &format!("\"dur\": {word}")), KERNELS - 1, &[(Problem::NoDuration, 1)]);
        taken(&replaced("\"shared memory\": 0", &format!("\"shared memory\": {word}")), KERNELS, &[]);
    }
    taken(&replaced("\"dur\": 3.125", "\"dur\": -7"), KERNELS - 1, &[(Problem::NegativeDuration, 1)]);
    taken(&replaced("\"dur\": 3.125", "\"dur\": 9000000000000000"), KERNELS - 1, &[(Problem::AbsurdDuration, 1)]);
    taken(&replaced("\"dur\": 3.125", "\"dur\": \"3.125\""), KERNELS, &[]);
    for ts in ["-9e15", "1e14", "1610366662254362"] {
        taken(&replaced("\"ts\": 1150.250", &format!("\"ts\": {ts}")), KERNELS - 1, &[(Problem::AbsurdTime, 1)]);
    }
    taken(&replaced("\"ts\": 1150.250", "\"ts\": 1e400"), KERNELS - 1, &[(Problem::NoTime, 1)]);
    taken(&replaced("\"pid\": 0", "\"pid\": 123456789012345678901234567890"), KERNELS, &[]);
    taken(&replaced("\"correlation\": ", "\"correlation\": 99999999999999999999"), KERNELS, &[]);
}

/// PyTorch of 2022 wrote when its recording ended by another clock than everything else.
#[test]
fn the_end_of_the_recording_by_another_clock_is_no_damage() {
    let end = r#"{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 1672911076695405},"#;
    let events = "\"traceEvents\": [";
    let whole = trace();
    let at = whole.find(events).unwrap() + events.len();
    taken([&whole[..at], end, &whole[at..]].concat().as_bytes(), KERNELS, &[]);
}

#[test]
fn events_without_args_are_taken() {
    let whole = trace().replace(r#"{ "cbid": 211, "correlation": 21 }"#, "null");
    taken(whole.as_bytes(), KERNELS, &[]);
}

#[test]
fn text_between_events_costs_no_event() {
    let log = ",\nWARNING:2024-05-22 17:15:23 12:34 {Profiler.cpp:1} \"odd\" [x]\n  {\n    \"ph\"";
    taken(&replaced(",\n  {\n    \"ph\"", log), KERNELS, &[(Problem::Stray, 1)]);
    taken(&replaced(",\n  {\n    \"ph\"", ",\n\0\0\0\0\0\0\n  {\n    \"ph\""), KERNELS, &[(Problem::Stray, 1)]);
    let before = format!("Loading the model\n{}", trace());
    assert_eq!(taken(before.as_bytes(), KERNELS, &[(Problem::Stray, 1)]).1.metadata.devices.len(), 1);
    let keys = trace().replace("  \"schemaVersion\": 1,", "  \"INFO:2024 {x}\" oops,\n  \"WARN\": not, really: this,");
    let (_, summary) = taken(keys.as_bytes(), KERNELS, &[(Problem::Broken, 1)]);
    assert_eq!(summary.metadata.devices.len(), 1);
}

#[test]
fn a_broken_event_costs_no_other() {
    let broken = [(Problem::Broken, 1)];
    taken(&replaced("[256, 1, 1]", "[256, 1, 1"), KERNELS - 1, &broken);
    taken(&replaced("\"name\": \"kernel 20\"", "\"name\": \"kernel 20"), KERNELS - 1, &broken);
    taken(&replaced("\"name\": \"kernel 20\"", "\"name\": kernel 20\""), KERNELS - 1, &broken);
    taken(&replaced("\"name\": \"kernel 20\"", "\"name\" \"kernel 20\""), KERNELS - 1, &broken);
    taken(&replaced("\"cat\": \"kernel\", \"name", "\"cat\": , \"name"), KERNELS - 1, &broken);
    // Without its brace an event runs into the next.
    taken(&replaced("\"shared memory\": 0 }\n  },", "\"shared memory\": 0 }\n  ,"), KERNELS - 1, &broken);
    taken(
        &replaced("  {\n    \"ph\": \"X\", \"cat\": \"kernel\"", "\"cat\": \"kernel\""),
        KERNELS - 1,
        &[(Problem::Stray, 1)],
    );
    // Without the comma between them both are there.
    taken(&replaced("  },\n", "  }\n"), KERNELS, &[]);
    let deep = format!("\"shared memory\": {}0", "[".repeat(5_000));
    taken(&replaced("\"shared memory\": 0", &deep), KERNELS - 1, &broken);
}

#[test]
fn a_trace_may_be_cut_anywhere() {
    let whole = trace();
    let mut last = 0;
    for end in (0..whole.len()).step_by(97) {
        match read(&whole.as_bytes()[..end]) {
            Ok((lines, summary)) => {
                let is_behind_events = whole[..end].trim_end().ends_with("\n  ]") || !whole[end..].contains("\n  ]");
                assert_eq!(summary.ending, if is_behind_events { Ending::Whole } else { Ending::CutOff }, "{end}");
                assert_eq!(summary.is_damaged(), !is_behind_events, "{end}");
                assert!(lines.kernels() >= last, "{end}");
                assert!(summary.problems.iter().all(|(problem, _)| problem == Problem::CutOff), "{end}");
                last = lines.kernels();
            }
            Err(error) => assert_eq!(last, 0, "{error:?}"),
        }
    }
    assert_eq!(last, KERNELS);
    for start in (0..whole.len()).step_by(97) {
        let left = &whole.as_bytes()[start..];
        // One that it starts with is taken for the document.
        let text = String::from_utf8_lossy(&left[left.len().min(3)..]);
        let expected = (0..KERNELS).filter(|number| text.contains(&kernel(*number))).count();
        if let Ok((lines, _)) = read(left) {
            assert_eq!(lines.kernels(), expected, "{start}");
        } else {
            assert_eq!(expected, 0, "{start}");
        }
    }
}

#[test]
fn a_hole_costs_what_is_in_it() {
    let whole = trace();
    for (start, length) in [(3_000, 1), (3_000, 700), (4_321, 40), (2_500, 5_000)] {
        for fill in [&b""[..], b"\0", b"\"", b"{", b"}]", b"\\"] {
            let hole = fill.repeat(length / fill.len().max(1));
            let bytes = [&whole.as_bytes()[..start], &hole, &whole.as_bytes()[start + length..]].concat();
            let (lines, _) = read(&bytes).unwrap();
            // 300 bytes and more an event.
            assert!(lines.kernels() + length / 300 + 2 >= KERNELS, "{start} {length} {fill:?}: {}", lines.kernels());
        }
    }
}

#[test]
fn any_byte_may_be_any_other() {
    let whole = trace();
    let mut seed = 1_u64;
    for _ in 0..3_000 {
        let mut bytes = whole.clone().into_bytes();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (seed >> 33) as usize % bytes.len();
        bytes[at] = b"{}[],:\"\\0a\n\0\xff-"[(seed >> 20) as usize % 14];
        let (lines, _) = read_with(&bytes, 1 << 20).unwrap();
        assert!(lines.kernels() + 3 >= KERNELS, "byte {at}: {}", lines.kernels());
    }
}

/// What reading a document in one piece takes: bytes of an ordinary trace, as they are counted while it is read, and time of
/// the processor.
fn cost(document: &str) -> (u64, std::time::Duration) {
    let piece = || read_piece(document.as_bytes(), (State::START, true), None, &mut Lines::default());
    let ((_, _, found), spent) = effort::measured(piece);
    (found.work_bytes(), spent)
}

#[test]
fn hostile_documents_take_time_in_proportion() {
    let size = 1 << 19;
    let honest = format!("{HEAD}{}{TAIL}", events().join(",\n").repeat(size / 16_000));
    // Debris is read a few times: what is counted for it, and what it takes beside an honest trace of that many bytes.
    let (honest_work, honest_time) = cost(&honest);
    assert!(honest_work < 2 * honest.len() as u64, "{honest_work}");
    let of_a_byte = honest_time / honest.len() as u32;
    for part in [
        "{\"ph\":",
        "{\"ph\":[",
        "[",
        "{",
        "\"",
        "\\",
        "{\"ph\":\"x\"y",
        "{\"ph\":1",
        "{\"ph\":[0,",
        "},{",
        "\"traceEvents\":[",
        "{\"ph\":\"X\",\"args\":{\"a\":",
        "\"distributedInfo\":{",
        "{ ",
        "{\"name\":\"\"\"",
        " ",
        ",",
        "{\"ph\":\"\\",
    ] {
        for head in ["", "{\"traceEvents\":["] {
            let (work, time) = cost(&format!("{head}{}", part.repeat(size / part.len())));
            let most_work = MOST_WORK_OF_A_BYTE * size as u64;
            let most_time = of_a_byte * MOST_TIME_OF_A_BYTE * size as u32;
            assert!(work <= most_work, "{part}: {work}");
            assert!(time <= most_time, "{part}: {time:?}, more than {most_time:?}");
        }
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    assert!(matches!(read(b""), Err(Unreadable::Empty)));
    assert!(matches!(read(b" \n"), Err(Unreadable::Empty)));
    assert!(matches!(read(b"SQLite format 3\0 and more"), Err(Unreadable::NotJson)));
    assert!(matches!(read(b"{\"a\": [1, 2]}"), Err(Unreadable::NoEventList)));
    assert!(matches!(read(b"{\"traceEvents\": []}"), Err(Unreadable::NoEvents { seen: 0, is_bare: false })));
    assert!(matches!(read(b"{\"traceEvents\": null}"), Err(Unreadable::NoEventList)));
    assert!(matches!(read(b"[1, 2, 3]"), Err(Unreadable::NoEvents { seen: 0, is_bare: true })));
    assert!(matches!(read(b"[{\"ph\": \"X\"}]"), Err(Unreadable::NoEvents { seen: 1, .. })));
}

#[test]
fn a_source_that_fails_is_taken_up_to_there() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("bad sector"))
        }
    }
    let whole = trace();
    let half = &whole.as_bytes()[..whole.len() / 2];
    let mut all = Lines::default();
    let source = Bytes::new(half.to_vec()).chain(Failing);
    let summary = read_in_blocks(source, (2, 1_000), |_| Lines::default(), |part, _| all.add(part)).unwrap();
    assert_eq!(summary.ending, Ending::Damaged("bad sector".to_owned()));
    assert!(all.kernels() > KERNELS / 3);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn read_file(bytes: &[u8]) -> Result<(Lines, Summary), Unreadable> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("kineto-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, bytes).unwrap();
    let mut all = Lines::default();
    let source = Source::open(&path).unwrap();
    let summary = super::pipeline::read(source, 2, |_| Lines::default(), |part, _| all.add(part));
    std::fs::remove_file(&path).unwrap();
    Ok((all, summary?))
}

#[test]
fn compressed_traces_are_read_as_far_as_they_inflate() {
    let whole = trace();
    let plain = read_file(whole.as_bytes()).unwrap().0;
    let gzipped = gzip(whole.as_bytes());
    assert_eq!(read_file(&gzipped).unwrap().0, plain);
    // Members one behind the other are one document.
    let (one, two) = whole.as_bytes().split_at(whole.len() / 2);
    assert_eq!(read_file(&[gzip(one), gzip(two)].concat()).unwrap().0, plain);
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, level);
    assert_eq!(read_file(&zstd(whole.as_bytes())).unwrap().0, plain);
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2];
    assert_eq!(read_file(&[&skipped[..], &zstd(one), &skipped, &zstd(two)].concat()).unwrap().0, plain);
    // One of which a part is not there may have held, or hidden, more.
    let over = [&zstd(whole.as_bytes())[..], &[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1]].concat();
    assert_eq!(read_file(&over).unwrap().1.ending, Ending::Behind);
    let mut changed = gzipped.clone();
    let checksum = changed.len() - 8;
    changed[checksum] ^= 1;
    let (lines, summary) = read_file(&changed).unwrap();
    assert_eq!((lines, summary.ending), (read_file(whole.as_bytes()).unwrap().0, Ending::Changed));
    for bytes in [gzipped, zstd(whole.as_bytes())] {
        for end in (20..bytes.len()).step_by(37) {
            let Ok((lines, summary)) = read_file(&bytes[..end]) else { continue };
            assert!(lines.0.len() <= plain.0.len());
            // Behind the events nothing is missing, until the whole document is there without the end of what it is compressed in.
            let is_told = matches!(summary.ending, Ending::Damaged(_) | Ending::CutBehind);
            assert!(is_told || (summary.ending == Ending::Whole && lines == plain), "{end}: {summary:?}");
        }
    }
}

#[test]
fn what_stands_behind_a_trace_is_no_silence() {
    let whole = trace();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, level);
    let packed = [gzip(whole.as_bytes()), zstd(whole.as_bytes())];
    let plain = read_file(whole.as_bytes()).unwrap().0;
    // Another trace that nothing reads: as text behind compressed data, in another compression, or compressed behind text.
    let more = [whole.clone().into_bytes(), packed[0].clone(), packed[1].clone(), b"not a member at all".to_vec()];
    for (first, own) in [(&packed[0], 1), (&packed[1], 2)] {
        for (index, behind) in more.iter().enumerate().filter(|(index, _)| *index != own) {
            let (lines, summary) = read_file(&[&first[..], behind].concat()).unwrap();
            assert_eq!((&lines, &summary.ending), (&plain, &Ending::Behind), "{own} {index}");
            assert!(summary.is_damaged());
        }
    }
    for behind in &packed {
        assert!(read_file(&[whole.as_bytes(), behind].concat()).unwrap().1.is_damaged());
    }
    // However little of another member is there, or of its own end.
    for behind in (1..packed[0].len()).step_by(29).chain(1..20).map(|count| &packed[0][..count]) {
        let summary = read_file(&[&packed[0][..], behind].concat()).unwrap().1;
        assert!(summary.is_damaged(), "{} bytes: {summary:?}", behind.len());
    }
    for garbage in 1..12 {
        assert!(read_file(&[&packed[0][..], &b"A".repeat(garbage)].concat()).unwrap().1.is_damaged(), "{garbage}");
    }
    for missing in 1..=8 {
        assert!(read_file(&packed[0][..packed[0].len() - missing]).unwrap().1.is_damaged(), "{missing}");
    }
    // What fills a file up is nothing, and so is a line of a log behind text.
    for first in [&packed[0][..], &packed[1], whole.as_bytes()] {
        for padding in [vec![0; 1], vec![0; 9], vec![0; 10_000], vec![0; 600_000], b"\n \r\n".repeat(7), b"\n".to_vec()]
        {
            let (lines, summary) = read_file(&[first, &padding].concat()).unwrap();
            assert_eq!((&lines, &summary.ending), (&plain, &Ending::Whole));
        }
    }
    let log = "\nI0101 12:00:00 all is well with the one who wrote this much of a log behind its trace\n".repeat(3);
    assert_eq!(read_file(&[whole.as_bytes(), log.as_bytes()].concat()).unwrap().1.ending, Ending::Whole);
}

#[test]
fn a_trace_within_a_trace_is_no_event() {
    let whole = trace();
    let events = "\"traceEvents\": [";
    let at = whole.find(events).unwrap() + events.len();
    for inner in [whole.clone(), whole.replacen('{', "{\"ph\": \"M\", ", 1), "{\"traceEvents\":[]}".to_owned()] {
        let nested = [&whole[..at], &inner, ",", &whole[at..]].concat();
        let (_, summary) = taken(nested.as_bytes(), KERNELS, &[(Problem::Nested, 1)]);
        assert_eq!(summary.unusable_count, 1);
    }
    // A member of that name that is no list holds no events.
    let named = [&whole[..at], "{\"traceEvents\": 5},", &whole[at..]].concat();
    taken(named.as_bytes(), KERNELS, &[]);
}
