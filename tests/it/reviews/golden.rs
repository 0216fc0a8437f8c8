//! The whole Markdown of a review, as it was accepted: of every kept report and of every scenario. A changed sentence is
//! seen here; read the difference before accepting it (`cargo insta review`, or `INSTA_UPDATE=always cargo test --test it golden`).

use coldspot::facts::Facts;
use regex::Regex;

use crate::support::analysis::{builtin, facts};
use crate::support::formats::Printer;
use crate::support::{KEPT, SchemaVersion, fixture, fixtures, scenario_names};

/// The page without what another rule or version would change: how many rules there are, and the answers that they gave.
fn markdown(printer: &Printer, facts: &Facts, report: &str) -> String {
    let count = Regex::new(r"\d+").unwrap();
    let page = printer.markdown(facts, report).unwrap().replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let page = page.replace(&format!("{} rules", builtin().rules().len()), "N rules");
    let line = |line: &str| match line.ends_with("coldspot VERSION") {
        true => count.replace_all(line, "N").into_owned(),
        false => line.to_owned(),
    };
    page.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn kept_reports_read_as_accepted() {
    let printer = Printer::new();
    for (stem, ..) in KEPT {
        let report = format!("{stem}.sqlite");
        let page = markdown(&printer, &facts(&fixtures().join(&report)), &report);
        insta::assert_snapshot!(format!("kept-{stem}"), page);
    }
}

#[test]
fn scenarios_read_as_accepted() {
    let printer = Printer::new();
    let is_kept =
        |name: &str| KEPT.iter().any(|(_, scenario, version)| *scenario == name && *version == SchemaVersion::Nsys2025);
    for name in scenario_names().iter().filter(|name| !is_kept(name)) {
        let report = fixture(name, SchemaVersion::Nsys2025);
        let page = markdown(&printer, &facts(&report), &format!("{name}.sqlite"));
        insta::assert_snapshot!(format!("scenario-{name}"), page);
    }
}
