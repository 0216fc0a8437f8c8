//! Every limit that keeps a stranger's file, or a stranger's server, from filling or holding up the machine.
//!
//! All of it in one place: `docs/security.md` prints this table, and a test holds the two together. What a page shows at
//! most for the reader's sake, and what an algorithm looks at, is no defence and stays where it is used.

use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

// What a report may hold. The first three are what a user raises with --limit.

/// Rows that are read of one table; further ones are counted.
pub const MAX_ROW_COUNT: u64 = 200_000_000;
/// Bytes of one name; of the rest a mark stays, which tells it from others that begin alike. Those of kernels of public recordings
/// have 4,889 at most. A name is told for each GPU, thread and launch shape that it came on.
pub const MAX_NAME_BYTES: usize = 8 << 10;
/// Different names; further ones are taken for one.
pub const MAX_NAME_COUNT: usize = 2_000_000;
/// Names of kernels that are demangled; further ones stay as they are. Reading one takes tens of microseconds.
pub const MAX_DEMANGLED_NAME_COUNT: usize = 50_000;
/// Different ranges, each with its domain and its process, over all GPUs: each has idle times of its own on each GPU.
pub const MAX_RANGE_LABEL_COUNT: usize = 500_000;
/// Different functions that are called of CUDA, of the operating system and of what the profiler does itself, of up to
/// [`USUAL_DEVICE_COUNT`] GPUs: each has idle times of its own on each GPU. CUDA has two thousand.
pub const MAX_CALL_NAME_COUNT: usize = 10_000;
/// How many functions are told apart in a recording of so many GPUs.
pub const fn max_call_names(device_count: usize) -> usize {
    MAX_CALL_NAME_COUNT * USUAL_DEVICE_COUNT / at_least_usual(device_count)
}
/// Different places in the program's own code that calls are made at, over all GPUs: the same.
pub const MAX_CALL_PLACE_COUNT: usize = 1_000_000;
/// Different frames of the stacks of calls: rows with further ones are not read. Each is kept with its texts while stacks are read.
pub const MAX_CALL_FRAME_COUNT: usize = 200_000;
/// Entities of one kind of one device that have facts of their own: rules are asked about each.
pub const MAX_ENTITY_OF_DEVICE_COUNT: usize = 1_000;
/// Entities of one kind over all devices: nobody reads ten thousand of them.
pub const MAX_ENTITY_OF_KIND_COUNT: usize = 8_000;
/// Different launches (kernel, grid, block) that are told apart: each GPU has a table of them. Further ones of a kernel are
/// taken for one of unknown width.
pub const MAX_LAUNCH_SHAPE_COUNT: usize = 100_000;
/// Threads: what further ones do is told of no thread. A job of a thousand processes has a hundredth.
pub const MAX_THREAD_COUNT: usize = 100_000;
/// Streams: further ones are taken for the first of their process on the device.
pub const MAX_STREAM_COUNT: usize = 100_000;
/// Processes with facts of their own: the first by their ids.
pub const MAX_PROCESS_COUNT: usize = 1_000;
/// Ranges that are open at once on a thread, of up to [`USUAL_DEVICE_COUNT`] GPUs; deeper ones explain no idle time.
pub const MAX_OPEN_RANGE_COUNT: usize = 200;
/// How many ranges may be open at once on a thread of a recording of so many GPUs: each looks at all of them.
pub const fn max_open_ranges(device_count: usize) -> usize {
    MAX_OPEN_RANGE_COUNT * USUAL_DEVICE_COUNT / at_least_usual(device_count)
}
/// Waits and the ranges that they end in, told apart by how long a GPU was idle there, of up to [`USUAL_DEVICE_COUNT`] GPUs: of more
/// those with least time are told of no range.
pub const MAX_WAIT_IN_RANGE_COUNT: usize = 16_384;
/// How many of them are kept in a recording of so many GPUs: each has its own.
pub const fn max_waits_in_ranges(device_count: usize) -> usize {
    MAX_WAIT_IN_RANGE_COUNT * USUAL_DEVICE_COUNT / at_least_usual(device_count)
}
const fn at_least_usual(device_count: usize) -> usize {
    if device_count > USUAL_DEVICE_COUNT { device_count } else { USUAL_DEVICE_COUNT }
}
/// GPUs of an ordinary machine: what is looked at for each GPU may be as much for each of these, and less of more.
pub const USUAL_DEVICE_COUNT: usize = 8;
/// Rows of host threads (calls, ranges, places in the code) that are read for each GPU whose idle time they explain, over all GPUs; up to
/// [`USUAL_DEVICE_COUNT`] GPUs in any case. Of more the idle time of further GPUs is told in sums.
pub const MAX_HOST_ROW_COUNT: u64 = 16_000_000;
/// Samples of CPU call stacks over all GPUs, and as many calls of the OS with stacks: each GPU keeps those of its own idle time.
pub const MAX_CPU_SAMPLE_COUNT: usize = 2_000_000;
/// Functions of one sampled call stack, the innermost; those further out are not told.
pub const MAX_STACK_FRAME_COUNT: usize = 256;
/// GPUs, twice as many as the largest usual machine has: each has tables of its own, and what the host did meanwhile is
/// looked at for each; further ones are left out with all that ran on them, and counted.
pub const MAX_DEVICE_COUNT: usize = 32;
/// Bytes of one cell of a database.
pub const MAX_CELL_BYTES: i32 = 128 << 20;
/// Bytes of one statement of a database's schema.
pub const MAX_SCHEMA_ENTRY_BYTES: i32 = 1 << 20;
/// Bytes of all of a database's schema: that of an export has 140 KB at most, and SQLite keeps up to fifty times as much of one, for
/// each thread.
pub const MAX_SCHEMA_BYTES: u64 = MIB;
/// Bytes that SQLite itself may have in use, beside those of each thread of the machine.
pub const MAX_SQLITE_BYTES: u64 = 192 * MIB;
/// The same of each thread: a page cache of 2 MB, and the schema.
pub const MAX_SQLITE_BYTES_OF_A_THREAD: u64 = 4 * MIB;
/// Bytes of texts that a database may hand over for each byte of its file, no table of which is read more than twice.
pub const MAX_TEXT_PER_FILE: u64 = 2;
/// The same in any case.
pub const MAX_TEXT_ANYWAY_BYTES: u64 = 16 * MIB;
/// Bytes of the file for each row of events that is read, at least: those of real exports take twice as many and more.
/// Values that stand in no row, and pages that rows share, would make rows of nothing.
pub const MIN_EVENT_BYTES: u64 = 24;
/// Bytes of the file for each row of any other table.
pub const MIN_ROW_BYTES: u64 = 12;
/// Rows that are read in any case.
pub const ROWS_ANYWAY: u64 = 1_000_000;
/// Bytes of pages of tables that may be read without SQLite for each byte of the file: each page a few times, since those above
/// others are passed for each stretch of a table.
pub const MAX_TABLE_PAGE_BYTES_PER_BYTE: u64 = 4;
/// The same in any case.
pub const MAX_TABLE_PAGE_BYTES_ANYWAY: u64 = 16 * MIB;
/// Bytes of memory that the different kernels, streams and threads of a database may take for each byte of its file, about.
pub const MAX_KEY_BYTES_PER_BYTE: u64 = 2;
/// The same in any case.
pub const MAX_KEY_BYTES_ANYWAY: u64 = 128 * MIB;
/// Processor time that reading a database may take in any case, all threads together. Steps of SQLite do not tell how many
/// pages each of them reads.
pub const MAX_READING_TIME: Duration = Duration::from_secs(3);
/// Bytes of the file that another second is given for: an honest one takes a tenth of that.
pub const MIN_READ_BYTES_PER_SECOND: u64 = 32 * MIB;
/// Columns of one table.
pub const MAX_COLUMN_COUNT: i32 = 1_000;

// What a trace may hold.

/// Bytes that a compressed trace may inflate to, beside [`MAX_INFLATION`] times its size; the rest is not read.
pub const MAX_INFLATED_BASE_BYTES: u64 = 128 * MIB;
/// Times the size of a compressed trace that it may inflate to; real ones reach 40. What reading takes is held to the same bytes,
/// where short and broken events count for more than their own.
pub const MAX_INFLATION: u64 = 100;
/// Bytes that a trace compressed with Zstandard may have its decoder keep: the usual levels take 8 MiB at most.
pub const MAX_WINDOW_BYTES: u64 = 32 * MIB;
/// Bytes of memory that the events of a trace may take in any case; what comes then is not read.
pub const MAX_HELD_BASE_BYTES: u64 = 128 * MIB;
/// The same for each byte of the file as it is stored: real ones take two to four when they are compressed, else less than one.
pub const MAX_HELD_PER_BYTE: u64 = 4;
/// Bytes of all different stacks of Python: of each frame is asked whether its file is one of the project.
pub const MAX_PYTHON_STACKS_BYTES: usize = 32 * MIB as usize;
/// Bytes of one event, or of another member of the document: it bounds what is kept of one that is not whole yet.
pub const MAX_TRACE_ITEM_BYTES: usize = 16 << 20;
/// Lists and objects in each other within an event.
pub const MAX_TRACE_DEPTH: u32 = 24;

// What a page of Nsight Compute may hold.

/// Bytes of one row: real ones have 100 KB, of over a thousand numbers.
pub const MAX_PROFILE_ROW_BYTES: u64 = 4 * MIB;
/// Kernels that are told apart by name, grid and block; further ones are counted.
pub const MAX_KERNEL_PROFILE_COUNT: usize = 20_000;

// What a facts file may hold.

/// Bytes of the file.
pub const MAX_FACTS_FILE_BYTES: u64 = 64 * MIB;
/// Entities of all kinds.
pub const MAX_FACTS_FILE_ENTITY_COUNT: usize = 50_000;
/// The power of two that whole numbers reach: sums of all entities stay far from overflow.
pub const MAX_FACTS_FILE_NUMBER_POWER: u32 = 56;
/// That number.
pub const MAX_FACTS_FILE_NUMBER: i64 = 1 << MAX_FACTS_FILE_NUMBER_POWER;

/// Facts files of one history: thirty years of nights.
pub const MAX_HISTORY_FILE_COUNT: usize = 10_000;
/// Different findings of all runs of one history: a program has hundreds in its life.
pub const MAX_HISTORY_FINDING_COUNT: usize = 20_000;
/// Findings of one history that are told: those that weigh and move most.
pub const MAX_TREND_COUNT: usize = 1_000;
/// Shares of all of them together, one for each point: of more than a thousand points fewer findings are told.
pub const MAX_TREND_SHARE_COUNT: usize = 1_000_000;

// What a project's files may hold.

/// Bytes of a baseline: it holds two lines a finding.
pub const MAX_BASELINE_BYTES: u64 = 16 * MIB;

/// Findings of a baseline: ten times those that one run may have.
pub const MAX_BASELINE_FINDING_COUNT: usize = 50_000;

/// Budgets of a coldspot.toml, ignores and sources: each is held against every kernel and finding.
pub const MAX_CONFIG_ENTRY_COUNT: usize = 1_000;
/// Bytes of a pattern of a coldspot.toml.
pub const MAX_PATTERN_BYTES: usize = 1_000;
/// Budgets of kernels or ranges by a pattern, and `*` of such a pattern: each is held against the names of all of them, again for
/// each run.
pub const MAX_PATTERN_BUDGET_COUNT: usize = 100;
/// See [`MAX_PATTERN_BUDGET_COUNT`].
pub const MAX_PATTERN_STAR_COUNT: usize = 16;
/// Bytes of names that patterns of budgets are held against, over all budgets and runs: a second of work. Budgets beyond are not
/// known. Ten patterns over the kernels of two hundred large runs take a fifth.
pub const MAX_MATCHED_NAME_BYTES: u64 = 2 << 30;

// What runs may take that are held against each other.

/// Bytes of memory, about, that the runs of a comparison may take for each byte of their files.
pub const MAX_COMPARED_BYTES_PER_BYTE: u64 = 3;
/// The same whatever their size is: that of two hundred small runs.
pub const MAX_COMPARED_BYTES_ANYWAY: u64 = 96 * MIB;

// What rules and templates may hold and do.

/// Bytes of a template, or of a coldspot.toml.
pub const MAX_TEXT_FILE_BYTES: u64 = MIB;
/// Files and folders that lie in all folders of rules together.
pub const MAX_RULE_FOLDER_ENTRY_COUNT: usize = 20_000;
/// Bytes of one file of rules in such a folder: built-in ones have 32 KB at most.
pub const MAX_RULE_BYTES: usize = 256 * KIB as usize;
/// Bytes of all rule files together.
pub const MAX_RULES_BYTES: usize = 4 * MIB as usize;
/// Expressions and texts of all rules together, the built-in ones among them: each takes about ten KB of memory.
pub const MAX_RULES_PIECE_COUNT: usize = 12_000;
/// Rules of all folders together: each is asked about every entity of its kind.
pub const MAX_RULE_COUNT: usize = 2_000;
/// Entries of one list or table of a rule, such as its conditions, params, groups or links.
pub const MAX_RULE_ENTRY_COUNT: usize = 200;
/// Tests of a rule, and facts of an example or a test.
pub const MAX_RULE_TEST_COUNT: usize = 1_000;
/// Bytes of one text of a rule that is printed.
pub const MAX_RULE_TEXT_BYTES: usize = 16 * KIB as usize;
/// Files of a folder of templates.
pub const MAX_TEMPLATE_FILE_COUNT: usize = 100;
/// Keys, tables and lists of one TOML file, about: each `=` and each `[` counts. A key with a dot takes some KB of memory.
pub const MAX_TOML_KEY_COUNT: usize = 20_000;
/// Unknown keys that are reported of one TOML file: each costs another reading of it.
pub const MAX_UNKNOWN_KEY_COUNT: usize = 20;
/// Faults that are reported of one TOML file: each is held against those before it.
pub const MAX_FAULT_COUNT: usize = 200;
/// Bytes of one expression or tag of a rule: the parser calls itself for each operator.
pub const MAX_EXPRESSION_BYTES: usize = KIB as usize;
/// Bytes of one tag of a template, for the same reason.
pub const MAX_TAG_BYTES: usize = 2 * KIB as usize;
/// Branches (`if`, `elif`) of a text or template that are open at once: the parser calls itself for each.
pub const MAX_OPEN_BRANCH_COUNT: usize = 100;
/// Brackets, filters, `+`, `*` and imports of one template that may stand around one value: values that hold values are printed
/// and let go of by functions that call themselves, up to so often for each level of [`MAX_TEMPLATE_DEPTH`].
pub const MAX_TEMPLATE_NEST_COUNT: usize = 200;
/// How deep macros, includes and loops call each other; a macro counts four, an include ten.
pub const MAX_TEMPLATE_DEPTH: usize = 200;
/// Texts of one param of a rule: each is held against every name.
pub const MAX_PARAM_TEXT_COUNT: usize = 64;
/// Bytes of one of them.
pub const MAX_PARAM_TEXT_BYTES: usize = 512;
/// Steps of one expression or text of a rule.
pub const MAX_EXPRESSION_STEP_COUNT: u64 = 100_000;
/// Steps of all expressions and texts of all rules of a run, over all entities: more than a thousand times what the
/// built-in rules take of a large report. A step that may look at a long text counts for several.
pub const MAX_RULES_STEP_COUNT: u64 = 100_000_000;
/// The same of all tests of all rules, each of which is run with each of its facts changed: those of the built-in rules take
/// two thirds or more.
pub const MAX_TESTING_STEP_COUNT: u64 = 500_000_000;
/// Processor time that all rules of a run may take together: the built-in ones take a few milliseconds of an ordinary report.
pub const MAX_RULES_TIME: Duration = Duration::from_secs(2);
/// The same of all their tests: those of the built-in rules take a tenth of a second.
pub const MAX_TESTING_TIME: Duration = Duration::from_secs(4);
/// Findings of all rules on all devices: ten times those of a large report.
pub const MAX_FINDING_COUNT: usize = 5_000;
/// Bytes that one text of a rule quotes of a report.
pub const MAX_QUOTED_BYTES: usize = MIB as usize;
/// Bytes of the texts of all findings of a run: twenty times those of a report with hundreds of findings.
pub const MAX_PRINTED_BYTES: usize = 48 * MIB as usize;
/// Steps of a template.
pub const MAX_TEMPLATE_STEP_COUNT: u64 = 50_000_000;
/// Findings of one rule on one device: of what comes after so many, each holds less than 1 % of any account.
pub const MAX_FINDING_OF_RULE_COUNT: usize = 100;
/// The same on all devices together: on eight of them, each may have fifty.
pub const MAX_FINDING_OF_RULE_IN_ALL_COUNT: usize = 400;
/// Bytes of a page: two hundred times a long one.
pub const MAX_PAGE_BYTES: usize = 64 * MIB as usize;
/// Processor time that templates of the user may take to print a page: the built-in ones take a hundredth.
pub const MAX_PRINTING_TIME: Duration = Duration::from_secs(5);
/// Bytes that they may take beyond what was in use: twice the largest page.
pub const MAX_PRINTING_BYTES: u64 = 128 * MIB;

// What programs may write that coldspot starts.

/// Bytes of files that nsys or ncu may write to the disk for each byte of the report that they open: an export takes up to ten times
/// its report.
pub const MAX_WRITTEN_PER_BYTE: u64 = 100;
/// The same in any case.
pub const MAX_WRITTEN_ANYWAY_BYTES: u64 = GIB;
/// Bytes that they leave free on that disk: others write to it.
pub const MIN_FREE_DISK_BYTES: u64 = 256 * MIB;

// What a run may take in all, whatever else holds. The command line watches over it.

/// How long a run may take, whatever it reads. What nsys takes does not count.
pub const MAX_RUN_TIME: Duration = Duration::from_secs(600);
/// How much longer it may take for each GiB of the files that it reads.
pub const MAX_RUN_TIME_PER_GIB: Duration = Duration::from_secs(120);
/// Processor time that a run may take that reads reports.
pub const MAX_RUN_PROCESSOR_TIME: Duration = Duration::from_secs(8);
/// The same for each report after the first: ten thousand small ones of a history are judged one by one.
pub const MAX_RUN_PROCESSOR_TIME_PER_REPORT: Duration = Duration::from_millis(5);
/// Bytes of the reports that another second of it is given for.
pub const MIN_RUN_BYTES_PER_PROCESSOR_SECOND: u64 = 32 * MIB;
/// Bytes of memory that a run may take that reads no report.
pub const MAX_RUN_BYTES: u64 = 2 * GIB;
/// Bytes of memory that a run may take that reads reports, beside those for their size.
pub const MAX_REPORT_RUN_BYTES: u64 = 192 * MIB;
/// Bytes more for each byte of the files that it reads.
pub const MAX_RUN_BYTES_PER_BYTE: u64 = 4;

// What the server of a forge may send.

/// Bytes of one answer: a page of 100 comments of the greatest length, in characters of four bytes, twice.
pub const MAX_ANSWER_BYTES: u64 = 64 * MIB;
/// Pages of a list.
pub const MAX_ANSWER_PAGE_COUNT: usize = 100;
/// Characters of an answer that a message quotes.
pub const MAX_QUOTED_ANSWER_CHARS: usize = 200;

#[cfg(test)]
mod tests;
