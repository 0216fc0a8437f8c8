//! A review is short enough to be read: of the sample reports, where they are there.

use crate::support::cli::{Printed, coldspot};
use crate::support::sample_reports;

/// Words of the review in the middle, and of the longest.
const MAX_MEDIAN: usize = 450;
const MAX_WORDS: usize = 900;

/// Words and numbers: signs that stand alone, such as those between the cells of a table, are neither.
fn words(report: &std::path::Path) -> usize {
    let printed = coldspot(&["review", report.to_str().unwrap(), "--quiet"]).success().out();
    printed.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

#[test]
fn reviews_of_sample_reports_are_short() {
    let Some(folder) = sample_reports() else { return };
    let mut counted: Vec<(usize, String)> = Vec::new();
    for kind in ["nsys", "kineto", "gains/nsys", "gains/kineto"] {
        let Ok(files) = std::fs::read_dir(folder.join(kind)) else { continue };
        let reports = files.map(|file| file.unwrap().path());
        let reports = reports.filter(|path| path.extension().is_some_and(|end| end == "sqlite" || end == "gz"));
        counted.extend(reports.map(|path| (words(&path), path.display().to_string())));
    }
    assert!(!counted.is_empty(), "{} holds no report", folder.display());
    counted.sort();
    let (longest, name) = counted.last().unwrap();
    assert!(*longest <= MAX_WORDS, "{name}: {longest} words");
    let median = counted[counted.len() / 2].0;
    println!("{} reviews: median {median} words, at most {longest}", counted.len());
    assert!(median <= MAX_MEDIAN, "median {median}: {counted:#?}");
}
