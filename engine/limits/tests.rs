//! The page on security prints the limits as they are.

use super::*;

/// The rows of the table in `docs/security.md`, with the numbers that each must name, in order.
fn rows() -> Vec<Row> {
    [of_recordings(), of_files(), of_people(), of_runs()].concat()
}

/// The beginning of a row, and its numbers.
type Row = (&'static str, Vec<String>);

fn of_recordings() -> Vec<Row> {
    vec![
        ("rows of one table", vec![count(MAX_ROW_COUNT)]),
        ("bytes of one name", vec![count(MAX_NAME_BYTES as u64)]),
        ("different names", vec![count(MAX_NAME_COUNT as u64)]),
        ("mangled names of kernels", vec![count(MAX_DEMANGLED_NAME_COUNT as u64)]),
        ("different ranges", vec![count(MAX_RANGE_LABEL_COUNT as u64)]),
        (
            "different functions that are called",
            vec![count(MAX_CALL_NAME_COUNT as u64), count(USUAL_DEVICE_COUNT as u64)],
        ),
        ("places in the program's own code", vec![count(MAX_CALL_PLACE_COUNT as u64)]),
        ("different frames of the stacks of calls", vec![count(MAX_CALL_FRAME_COUNT as u64)]),
        ("kernels, streams", vec![count(MAX_ENTITY_OF_DEVICE_COUNT as u64), count(MAX_ENTITY_OF_KIND_COUNT as u64)]),
        ("different launches", vec![count(MAX_LAUNCH_SHAPE_COUNT as u64)]),
        ("threads, streams", vec![count(MAX_THREAD_COUNT as u64), count(MAX_STREAM_COUNT as u64)]),
        ("processes", vec![count(MAX_PROCESS_COUNT as u64)]),
        (
            "waits and the ranges that they end in",
            vec![count(MAX_WAIT_IN_RANGE_COUNT as u64), count(USUAL_DEVICE_COUNT as u64)],
        ),
        ("ranges open", vec![count(MAX_OPEN_RANGE_COUNT as u64), count(USUAL_DEVICE_COUNT as u64)]),
        (
            "rows of host threads that are read for each GPU",
            vec![count(MAX_HOST_ROW_COUNT), count(USUAL_DEVICE_COUNT as u64)],
        ),
        (
            "samples of CPU call stacks, OS calls",
            vec![count(MAX_CPU_SAMPLE_COUNT as u64), count(MAX_STACK_FRAME_COUNT as u64)],
        ),
        ("GPUs", vec![count(MAX_DEVICE_COUNT as u64)]),
        (
            "cell, schema entry, schema, columns",
            vec![
                bytes(MAX_CELL_BYTES as u64),
                bytes(MAX_SCHEMA_ENTRY_BYTES as u64),
                bytes(MAX_SCHEMA_BYTES),
                count(MAX_COLUMN_COUNT as u64),
            ],
        ),
    ]
}

fn of_files() -> Vec<Row> {
    vec![
        ("what a compressed trace inflates to", vec![bytes(MAX_INFLATED_BASE_BYTES), count(MAX_INFLATION)]),
        ("window of a trace compressed with Zstandard", vec![bytes(MAX_WINDOW_BYTES)]),
        ("memory that the events of a trace take", vec![bytes(MAX_HELD_BASE_BYTES), count(MAX_HELD_PER_BYTE)]),
        ("different stacks of Python", vec![bytes(MAX_PYTHON_STACKS_BYTES as u64)]),
        ("an event of a trace, its depth", vec![bytes(MAX_TRACE_ITEM_BYTES as u64), count(MAX_TRACE_DEPTH as u64)]),
        (
            "a row of a page of Nsight Compute, its kernels",
            vec![bytes(MAX_PROFILE_ROW_BYTES), count(MAX_KERNEL_PROFILE_COUNT as u64)],
        ),
        ("memory of SQLite", vec![bytes(MAX_SQLITE_BYTES), bytes(MAX_SQLITE_BYTES_OF_A_THREAD)]),
        ("texts that a database hands over", vec![format!("{MAX_TEXT_PER_FILE}"), bytes(MAX_TEXT_ANYWAY_BYTES)]),
        (
            "rows of events and of other tables of a database",
            vec![count(MIN_EVENT_BYTES), count(MIN_ROW_BYTES), count(ROWS_ANYWAY)],
        ),
        (
            "pages of tables that are read without SQLite",
            vec![count(MAX_TABLE_PAGE_BYTES_PER_BYTE), bytes(MAX_TABLE_PAGE_BYTES_ANYWAY)],
        ),
        (
            "memory of the different kernels, streams and threads",
            vec![count(MAX_KEY_BYTES_PER_BYTE), bytes(MAX_KEY_BYTES_ANYWAY)],
        ),
        (
            "processor time of reading a database",
            vec![format!("{} s", MAX_READING_TIME.as_secs()), bytes(MIN_READ_BYTES_PER_SECOND)],
        ),
        (
            "a facts file",
            vec![
                bytes(MAX_FACTS_FILE_BYTES),
                count(MAX_FACTS_FILE_ENTITY_COUNT as u64),
                count(MAX_ENTITY_OF_KIND_COUNT as u64),
                format!("2^{MAX_FACTS_FILE_NUMBER_POWER}"),
            ],
        ),
        (
            "facts files of one history",
            vec![
                count(MAX_HISTORY_FILE_COUNT as u64),
                count(MAX_HISTORY_FINDING_COUNT as u64),
                count(MAX_TREND_COUNT as u64),
                count((MAX_TREND_SHARE_COUNT / MAX_TREND_COUNT) as u64),
            ],
        ),
    ]
}

fn of_people() -> Vec<Row> {
    vec![
        (
            "memory of the runs of a comparison",
            vec![count(MAX_COMPARED_BYTES_PER_BYTE), bytes(MAX_COMPARED_BYTES_ANYWAY)],
        ),
        ("a template, a coldspot.toml", vec![bytes(MAX_TEXT_FILE_BYTES)]),
        ("keys, tables and lists", vec![count(MAX_TOML_KEY_COUNT as u64)]),
        ("budgets of a coldspot.toml", vec![count(MAX_CONFIG_ENTRY_COUNT as u64), count(MAX_PATTERN_BYTES as u64)]),
        (
            "budgets of kernels or ranges by a pattern",
            vec![
                count(MAX_PATTERN_BUDGET_COUNT as u64),
                count(MAX_PATTERN_STAR_COUNT as u64),
                bytes(MAX_MATCHED_NAME_BYTES),
            ],
        ),
        (
            "all folders of rules",
            vec![
                count(MAX_RULE_FOLDER_ENTRY_COUNT as u64),
                bytes(MAX_RULES_BYTES as u64),
                bytes(MAX_RULE_BYTES as u64),
            ],
        ),
        ("rules of all folders", vec![count(MAX_RULE_COUNT as u64), count(MAX_RULES_PIECE_COUNT as u64)]),
        (
            "entries of a list or table of a rule, tests",
            vec![count(MAX_RULE_ENTRY_COUNT as u64), count(MAX_RULE_TEST_COUNT as u64)],
        ),
        ("a text of a rule", vec![bytes(MAX_RULE_TEXT_BYTES as u64)]),
        ("a folder of templates", vec![count(MAX_TEMPLATE_FILE_COUNT as u64)]),
        ("a baseline", vec![bytes(MAX_BASELINE_BYTES), count(MAX_BASELINE_FINDING_COUNT as u64)]),
        ("an expression of a rule, a tag", vec![bytes(MAX_EXPRESSION_BYTES as u64), bytes(MAX_TAG_BYTES as u64)]),
        ("branches (`if`, `elif`)", vec![count(MAX_OPEN_BRANCH_COUNT as u64)]),
        ("brackets and filters", vec![count(MAX_TEMPLATE_NEST_COUNT as u64)]),
        ("macros, includes", vec![count(MAX_TEMPLATE_DEPTH as u64)]),
    ]
}

fn of_runs() -> Vec<Row> {
    vec![
        ("steps of one expression", vec![count(MAX_EXPRESSION_STEP_COUNT)]),
        ("steps of all rules", vec![count(MAX_RULES_STEP_COUNT), count(MAX_TESTING_STEP_COUNT)]),
        ("processor time of all rules", vec![seconds(MAX_RULES_TIME), seconds(MAX_TESTING_TIME)]),
        (
            "findings of one rule on one GPU, on all",
            vec![
                count(MAX_FINDING_OF_RULE_COUNT as u64),
                count(MAX_FINDING_OF_RULE_IN_ALL_COUNT as u64),
                count(MAX_FINDING_COUNT as u64),
            ],
        ),
        ("bytes that one text of a rule quotes", vec![bytes(MAX_QUOTED_BYTES as u64), bytes(MAX_PRINTED_BYTES as u64)]),
        ("steps of a template", vec![count(MAX_TEMPLATE_STEP_COUNT)]),
        ("a page", vec![bytes(MAX_PAGE_BYTES as u64)]),
        (
            "time and memory of printing with templates of the user",
            vec![seconds(MAX_PRINTING_TIME), bytes(MAX_PRINTING_BYTES)],
        ),
        (
            "bytes that nsys or ncu writes",
            vec![bytes(MAX_WRITTEN_ANYWAY_BYTES), count(MAX_WRITTEN_PER_BYTE), bytes(MIN_FREE_DISK_BYTES)],
        ),
        (
            "time and memory of a run",
            vec![
                seconds(MAX_RUN_TIME),
                seconds(MAX_RUN_TIME_PER_GIB),
                seconds(MAX_RUN_PROCESSOR_TIME),
                count(MAX_RUN_PROCESSOR_TIME_PER_REPORT.as_millis() as u64),
                bytes(MIN_RUN_BYTES_PER_PROCESSOR_SECOND),
                bytes(MAX_REPORT_RUN_BYTES),
                count(MAX_RUN_BYTES_PER_BYTE),
                bytes(MAX_RUN_BYTES),
            ],
        ),
    ]
}

fn count(number: u64) -> String {
    crate::text::number::count(number as i64)
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

fn bytes(number: u64) -> String {
    let units = [(GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    let (size, unit) = units.into_iter().find(|(size, _)| number.is_multiple_of(*size)).unwrap();
    format!("{} {unit}", number / size)
}

/// The numbers of a cell, each with its unit.
fn numbers(cell: &str) -> Vec<String> {
    let number = regex::Regex::new(r"\d[\d,]*\b(\^\d+| [KMG]iB| s\b)?").unwrap();
    number.find_iter(cell).map(|found| found.as_str().trim_end_matches(',').to_owned()).collect()
}

#[test]
fn the_page_on_security_names_every_limit_with_its_value() {
    let page = include_str!("../../docs/security.md");
    let table = page.split("\n| limit | at most |").nth(1).unwrap().split("\n\n").next().unwrap();
    let lines: Vec<Vec<&str>> = table.lines().skip(2).map(|line| line.split('|').map(str::trim).collect()).collect();
    let rows = rows();
    assert_eq!(lines.len(), rows.len());
    for (line, (name, expected)) in lines.iter().zip(rows) {
        assert!(line[1].starts_with(name), "{line:?} is not about {name}");
        assert_eq!(numbers(line[2]), expected, "{name}");
    }
}
