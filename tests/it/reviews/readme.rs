//! The README shows what the tool prints. `COLDSPOT_UPDATE_DOCS=1 cargo test --test it readme` writes it anew.

use std::path::Path;

use crate::support::cli::{Printed, coldspot_in};

const BEGIN: &str = "<!-- begin: review of fixtures/training-step.sqlite -->\n";
const END: &str = "<!-- end -->";
/// The picture ends behind the first finding.
const LAST: &str = "\n### 2.";

#[test]
fn the_picture_in_the_readme_is_what_the_tool_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let printed = coldspot_in(root, &["review", "fixtures/training-step.sqlite"]).success().out();
    let picture = format!("````markdown\n{}\n````\n", printed.split(LAST).next().unwrap().trim_end());
    let path = root.join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = readme.split_once(BEGIN).unwrap_or_else(|| panic!("README.md has no line {BEGIN}"));
    let (shown, tail) = rest.split_once(END).unwrap();
    if std::env::var_os("COLDSPOT_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}{picture}{END}{tail}")).unwrap();
        return;
    }
    assert_eq!(shown, picture, "COLDSPOT_UPDATE_DOCS=1 cargo test --test it readme writes it anew");
}
