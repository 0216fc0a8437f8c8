//! The whole Markdown of a review, as it was accepted: of every kept report and of every scenario. A changed sentence is
//! seen here; read the difference before accepting it (`cargo insta review`, or `INSTA_UPDATE=always cargo test golden`).

use coldspot::facts::Facts;

use crate::support::analysis::facts;
use crate::support::formats::Printer;
use crate::support::{KEPT, SchemaVersion, fixture, fixtures, scenario_names};

fn markdown(printer: &Printer, facts: &Facts, report: &str) -> String {
    let page = printer.markdown(facts, report).unwrap();
    page.replace(env!("CARGO_PKG_VERSION"), "VERSION")
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
