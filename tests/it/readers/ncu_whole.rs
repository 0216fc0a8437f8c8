//! Pages of Nsight Compute that do not tell all of what was profiled: no number may stand for what is missing.

use std::fmt::Write;

use serde_json::Value;

use super::ncu::{facts, number, run};
use crate::support::cli::{Printed, coldspot_in};
use crate::support::formats::Printer;
use crate::support::kernels::{details, transpose};
use crate::support::{Scenario, SchemaVersion, temp};

const IDENTITY: &str = r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC""#;

/// Rows of launches of one kernel, with their durations.
fn rows(durations: &[&str]) -> String {
    let mut rows = String::new();
    for (id, duration) in durations.iter().enumerate() {
        let of = r#""7","app","127.0.0.1","k(int)","1","7","(32, 1, 1)","(512, 1, 1)","0","9.0""#;
        writeln!(rows, "\"{id}\",{of},\"95.5\",\"{duration}\"").unwrap();
    }
    rows
}

const COLUMNS: &str = r#","sm__throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum""#;

/// The page `raw` of such launches.
fn page(durations: &[&str]) -> String {
    let units = "\"\",".repeat(11) + "\"%\",\"us\"";
    format!("{IDENTITY}{COLUMNS}\n{units}\n{}", rows(durations))
}

/// As a spreadsheet writes it: quotation marks stand around what needs them alone.
fn unquoted(page: &str) -> String {
    let marks = regex::Regex::new("\"([^\",]*)\"").unwrap();
    marks.replace_all(page, "$1").into_owned()
}

/// The outcomes of a gate on the verdict of a comparison and of one on findings of a review, and all that was said.
fn gates(base: &str, head: &str) -> (Value, String) {
    let folder = temp::folder();
    for (name, page) in [("base.csv", base), ("head.csv", head)] {
        std::fs::write(folder.path().join(name), page).unwrap();
    }
    let of =
        |arguments: &[&str], format: &str| coldspot_in(folder.path(), &[arguments, &["--format", format]].concat());
    let compare = ["compare", "base.csv", "head.csv", "--fail-on", "slower,never"];
    let review = ["review", "head.csv", "--budget", "window_time<=10s"];
    let outcome = |arguments: &[&str]| of(arguments, "json").json()["gates"][0]["outcome"].clone();
    let said = of(&compare, "markdown").out() + &of(&review, "markdown").out();
    (Value::Array(vec![outcome(&compare), outcome(&review)]), said)
}

fn is_open(base: &str, head: &str) -> bool {
    let (outcomes, said) = gates(base, head);
    assert!(
        outcomes == serde_json::json!(["unknown", "unknown"]) || outcomes == serde_json::json!(["passed", "passed"]),
        "{outcomes}: {said}"
    );
    assert_eq!(outcomes[0] == "unknown", !said.contains("aster: "), "{said}");
    outcomes[0] == "unknown"
}

#[test]
fn a_launch_without_a_duration_takes_an_unknown_time() {
    let base = page(&["1000"; 10]);
    assert!(!is_open(&base, &page(&["5"; 10])), "a whole page");
    for none in ["", "n/a", "(!) n/a", "nan", "-1000", "0", "0.0001", "1e300", "1000 us", "--"] {
        let head = page(&[&["5"; 9][..], &[none]].concat());
        if ["", "n/a", "0"].contains(&none) {
            assert!(is_open(&base, &head), "{none}");
        }
        assert_eq!(run(&facts(&head), "untimed_launch_count"), Some(1), "{none}");
        let review = Printer::new().markdown(&facts(&head), "kernels.csv").unwrap();
        assert!(
            review.contains("1 profiled launch does not tell how long it took: that is in no time here"),
            "{review}"
        );
    }
    assert_eq!(run(&facts(&base), "untimed_launch_count"), None);
    // On the page `details` the number may have no unit that is one of time.
    for (from, to) in [
        ("\"ms\",\"1.06\"", "\"ms\",\"n/a\""),
        ("\"ms\",\"1.06\"", "\"\",\"1.06\""),
        ("\"ms\",\"1.06\"", "\"%\",\"1.06\""),
    ] {
        let head = details().replace(from, to);
        assert_ne!(head, details());
        assert_eq!(run(&facts(head), "untimed_launch_count"), Some(1), "{to}");
    }
}

#[test]
fn a_page_that_is_cut_within_its_last_row_is_not_whole() {
    let whole = page(&["12345.6"; 3]);
    let base = page(&["99999"; 3]);
    // Within the last number, behind its opening mark, and where the row has not come that far.
    for cut in [3, 5, 9, 10, 11, 14, 40, 90] {
        let head = &whole[..whole.len() - cut];
        let facts = facts(head);
        assert!(facts.why_not_whole().is_some(), "{cut}");
        assert_eq!(run(&facts, "dropped_event_count"), Some(1), "{cut}");
        assert_eq!(number(&facts, "sum_ns"), Some(2.0 * 12_345_600.0), "{cut}: the last row is in no number");
        let review = Printer::new().markdown(&facts, "kernels.csv").unwrap();
        assert!(review.contains("The last line of the page has no end"), "{review}");
    }
    // Where nothing shows that the last number is whole, the row is left out too.
    let bare = unquoted(&whole);
    assert!(bare.ends_with(",95.5,12345.6\n"), "{bare}");
    assert!(!is_open(&base, &bare) && is_open(&base, &whole[..whole.len() - 5]));
    for cut in [1, 2, 4, 8, 9] {
        let facts = facts(&bare[..bare.len() - cut]);
        assert!(facts.why_not_whole().is_some(), "{cut}");
        assert_eq!(number(&facts, "sum_ns"), Some(2.0 * 12_345_600.0), "{cut}");
    }
}

#[test]
fn a_page_that_lacks_its_last_line_end_alone_is_whole() {
    let whole = page(&["12345.6"; 3]);
    for page in [whole.clone(), whole.replace('\n', "\r\n")] {
        for end in ["", "\r", "\n\n", "\ndone", "\n==PROF== Disconnected from process 7"] {
            let page = page.trim_end().to_owned() + end;
            let facts = facts(&page);
            assert_eq!(number(&facts, "sum_ns"), Some(3.0 * 12_345_600.0), "{end:?}");
            assert_eq!(run(&facts, "dropped_event_count"), Some(0), "{end:?}");
            assert_eq!(facts.why_not_whole(), None, "{end:?}");
        }
    }
    // A row of a number ends behind a comma where the header goes on.
    for until in ["\"Gbyte/s\",\"594.00\",\n", "\"local\",\"99.33\"\n"] {
        let page = details();
        let end = page.find(until).unwrap() + until.len();
        for (page, is_whole) in
            [(&page[..end], true), (&page[..end - 1], true), (&page[..end - 3], false), (&page[..end - 5], false)]
        {
            let facts = facts(page);
            assert_eq!(facts.why_not_whole().is_none(), is_whole, "{}", &page[page.len() - 30..]);
            assert_eq!(run(&facts, "dropped_event_count"), Some(i64::from(!is_whole)));
            assert_eq!(number(&facts, "profiled_ns"), Some(1_060_000.0), "rows before it stand");
        }
    }
}

#[test]
fn a_page_that_is_cut_anywhere_says_a_smaller_number_only_with_a_word() {
    for whole in [page(&["12345.6"; 3]), unquoted(&page(&["12345.6"; 3]))] {
        let rows = whole.find(",12345.6").or_else(|| whole.find("\"12345.6\"")).unwrap() + 10;
        for end in rows..whole.len() {
            let cut = facts(&whole[..end]);
            let kept = number(&cut, "sum_ns").unwrap() / 12_345_600.0;
            assert_eq!(kept.fract(), 0.0, "{}", &whole[..end]);
            let lines = whole[..end].lines().count() - 2;
            let is_told = cut.why_not_whole().is_some();
            assert!(is_told || kept == lines as f64, "{kept} of {lines}: {}", &whole[..end]);
        }
    }
}

#[test]
fn rows_that_do_not_say_of_which_launch_they_are_are_counted() {
    let base = page(&["99999"; 3]);
    let rest = rows(&["5", "5"]);
    for id in ["\"\"", "\" \"", ""] {
        let head = page(&["5"])
            + &rest.replace("\"0\",\"7\"", &format!("{id},\"7\"")).replace("\"1\",\"7\"", &format!("{id},\"7\""));
        assert_eq!(run(&facts(&head), "dropped_event_count"), Some(2), "{id}");
        assert!(!id.is_empty() || is_open(&base, &head), "{id}");
    }
    let details = details().replacen("\"0\",\"3670\"", "\"\",\"3670\"", 1);
    assert_eq!(run(&facts(details), "dropped_event_count"), Some(1));
    let older = "\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
                 \"0\",\"7\",\"k(int)\",\"GPU Speed Of Light\",\"Duration\",\"nsecond\",\"100\"\n\
                 \"\",\"7\",\"k(int)\",\"GPU Speed Of Light\",\"SM [%]\",\"%\",\"50\"\n";
    assert_eq!(run(&facts(older), "dropped_event_count"), Some(1));
}

#[test]
fn without_units_no_number_is_taken_that_needs_one() {
    let whole = transpose();
    let mut lines: Vec<&str> = whole.lines().collect();
    lines.remove(1);
    let without = facts(lines.join("\n") + "\n");
    for (fact, value) in [
        ("compute_throughput_share", 0.06),
        ("l2_hit_share", 0.875_725_28),
        ("profiled_ns", 1_055_328.0),
        ("shared_memory_bytes", 1_024.0),
        ("dram_bytes", 626_863_872.0),
    ] {
        assert_eq!(number(&facts(&whole), fact), Some(value), "{fact}");
        assert_eq!(number(&without, fact), None, "{fact}");
    }
    // What is counted is counted.
    assert_eq!(
        (number(&without, "register_count"), number(&without, "excess_sector_count")),
        (Some(20.0), Some(58_720_256.0))
    );
    let review = Printer::new().markdown(&without, "kernels.csv").unwrap();
    assert!(review.contains("has no row of units") && !review.contains("100 %"), "{review}");
    assert!(without.why_not_whole().is_some());
    // So it is where the row is there, and lacks the one.
    let one = facts(whole.replacen("\"ms\",\"%\"", "\"ms\",\"\"", 1));
    assert_eq!(
        (number(&one, "compute_throughput_share"), number(&one, "memory_throughput_share")),
        (None, Some(0.803_665_83))
    );
}

#[test]
fn rows_and_kernels_beyond_a_limit_leave_gates_open() {
    let folder = temp::folder();
    std::fs::write(folder.path().join("head.csv"), page(&["5"; 30])).unwrap();
    let reviewed = |more: &[&str]| {
        let arguments = ["review", "head.csv", "--budget", "window_time<=10s", "--format", "json"];
        coldspot_in(folder.path(), &[&arguments, more].concat()).json()["gates"][0]["outcome"].clone()
    };
    assert_eq!(reviewed(&[]), "passed");
    assert_eq!(reviewed(&["--limit", "rows=20"]), "unknown");
}

#[test]
fn no_gain_is_a_share_of_a_window_that_is_not_told() {
    let whole = transpose();
    let without = whole.replace("\"1.055328\"", "\"n/a\"");
    let folder = temp::folder();
    std::fs::write(folder.path().join("whole.csv"), &whole).unwrap();
    std::fs::write(folder.path().join("without.csv"), &without).unwrap();
    let share = regex::Regex::new(r"([\d,.]+) %").unwrap();
    for sides in [["whole.csv", "without.csv"], ["without.csv", "whole.csv"]] {
        for format in ["markdown", "text", "comment", "github", "sarif", "json"] {
            let said = coldspot_in(folder.path(), &["compare", sides[0], sides[1], "--format", format]).out();
            let mut shares = share.captures_iter(&said).map(|found| found[1].replace(',', "").parse::<f64>().unwrap());
            assert!(shares.all(|share| share <= 100.0), "{format}: {said}");
        }
        let json = coldspot_in(folder.path(), &["compare", sides[0], sides[1], "--format", "json"]).json();
        let findings = json["findings"].as_array().unwrap();
        let gaining: Vec<&Value> = findings.iter().filter(|finding| !finding["gain"].is_null()).collect();
        assert!(!gaining.is_empty() && gaining.iter().all(|finding| finding["share"].is_null()), "{json:#}");
    }
}

/// A page that is read with a recording of the program tells what it lacks, and leaves open what rests on it.
#[test]
fn a_page_beside_a_recording_tells_what_it_lacks() {
    let folder = temp::folder();
    let path = |name: &str| folder.path().join(name);
    let run = |size: u64| {
        let text = format!(
            "about = \"One kernel.\"\n[kernel]\n\"k(int)\" = {{ run_us = {size}, grid = [512, 1, 1], block = [32, 1, 1] }}\n\
             [[thread]]\nscript = [{{ repeat = {{ times = 20, do = [{{ launch = {{ kernel = \"k(int)\" }} }}] }} }}]\n"
        );
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &path(&format!("{size}.sqlite")));
    };
    run(100);
    run(101);
    let of = |page: &str, arguments: &[&str]| {
        std::fs::write(path("kernels.csv"), page).unwrap();
        coldspot_in(folder.path(), &[arguments, &["--ncu", "kernels.csv"]].concat())
    };
    let review = |page: &str| of(page, &["review", "100.sqlite", "--format", "markdown"]).out();
    let gates = |page: &str| {
        let reviewed = of(page, &["review", "100.sqlite", "--fail-on", "high", "--format", "json"]).json();
        let compare = ["compare", "100.sqlite", "101.sqlite", "--fail-on", "high", "--format", "json"];
        let compared = of(page, &compare).json();
        let said = compared["work"]["notes"].to_string() + &compared["gates"].to_string();
        (reviewed["gates"][0]["outcome"].clone(), compared["gates"][1]["outcome"].clone(), said)
    };
    let whole = page(&["12345.6"; 3]);
    let says = "What Nsight Compute profiled is not told as a whole";
    assert!(!review(&whole).contains(says));
    let (reviewed, compared, said) = gates(&whole);
    assert_eq!((reviewed, compared), ("passed".into(), "passed".into()), "{said}");
    let without_units = whole.lines().enumerate().filter(|(row, _)| *row != 1).map(|(_, row)| format!("{row}\n"));
    for (page, words) in [
        (whole[..whole.len() - 5].to_owned(), "1 row could not be used. The last line of the page has no end"),
        (page(&["12345.6", "n/a"]), "1 launch without a usable duration"),
        (whole.replace("\n\"1\",", "\n\"\","), "1 row could not be used"),
        (without_units.collect(), "The page has no row of units"),
    ] {
        let told = review(&page);
        assert!(told.contains(says) && told.contains(words), "{words}: {told}");
        let (reviewed, compared, said) = gates(&page);
        assert_eq!((reviewed, compared), ("unknown".into(), "unknown".into()), "{words}: {said}");
        assert!(said.contains("the page of Nsight Compute that was read with the head is not whole"), "{said}");
    }
}

/// Of several processes launches have the same ids.
#[test]
fn launches_of_one_id_are_each_counted() {
    let base = page(&["100"; 10]);
    let (first, last) = (page(&["900"; 10]), rows(&["90"; 10]));
    let by_process = first.clone() + &last.replace("\"7\",\"app\"", "\"8\",\"app\"");
    let sorted = |page: &str| {
        let (head, rows): (Vec<&str>, Vec<&str>) =
            page.lines().partition(|row| !row.starts_with('"') || row.starts_with("\"ID") || row.starts_with("\"\""));
        let mut rows = rows;
        rows.sort_by_key(|row| row.split(',').next().map(str::to_owned));
        [head, rows].concat().join("\n") + "\n"
    };
    for head in [sorted(&by_process), sorted(&(first + &last))] {
        assert_eq!(run(&facts(&head), "dropped_event_count"), Some(0));
        assert_eq!(number(&facts(&head), "sum_ns"), Some(9_900_000.0), "{head}");
        let (outcomes, said) = gates(&base, &head);
        assert_ne!(outcomes[0], "passed", "{said}");
    }
    // On the page `details` a number has a row: told twice and not the same, it is damage.
    let duration = details().lines().find(|row| row.contains("\"Duration\"")).unwrap().to_owned() + "\n";
    let twice = |other: &str| details().replacen(&duration, &(duration.clone() + &duration.replace("1.06", other)), 1);
    assert_eq!(run(&facts(twice("1.06")), "dropped_event_count"), Some(0));
    assert_eq!(run(&facts(twice("0.09")), "dropped_event_count"), Some(1));
    assert!(facts(twice("0.09")).why_not_whole().is_some());
}

#[test]
fn durations_beyond_what_a_sum_holds_are_no_time() {
    let of = |us: &str, count: usize| facts(page(&vec![us; count]));
    assert_eq!(of("1000000000000", 9).why_not_whole(), None);
    let many = of("1000000000000", 9_300);
    assert_eq!(run(&many, "untimed_launch_count"), Some(77));
    assert!(many.why_not_whole().is_some());
}

/// What Nsight Compute says of its own failures stands before, among or behind the rows.
#[test]
fn a_page_in_which_something_failed_is_not_whole() {
    let whole = page(&["500"; 5]);
    let error = "==ERROR== The application returned an error code (11).\n";
    for page in
        [whole.clone() + error, error.to_owned() + &whole, whole.replace("\"3\",\"7\"", &format!("{error}\"3\",\"7\""))]
    {
        let facts = facts(&page);
        assert!(facts.why_not_whole().is_some(), "{page}");
        assert_eq!(number(&facts, "sum_ns"), Some(2_500_000.0));
        let review = Printer::new().markdown(&facts, "kernels.csv").unwrap();
        assert!(review.contains("says in the page that something failed"), "{review}");
    }
    assert_eq!(facts(whole.clone() + "==PROF== Disconnected from process 7\n").why_not_whole(), None);
    assert_eq!(facts("==WARNING== No metrics to collect\n".to_owned() + &whole).why_not_whole(), None);
}
