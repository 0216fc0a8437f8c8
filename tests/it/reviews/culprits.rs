//! The first finding names the culprit, where the sample reports are there: what engineers found in the tables of each by hand.

use crate::support::cli::{Printed, coldspot};
use crate::support::sample_reports;

/// A report, the rule of its first finding, and what the title or the evidence says.
const CULPRITS: [(&str, &str, &str); 4] = [
    ("117-sglang-a100.x23.sqlite", "host-bound", "sha256_block_data_order_shaext"),
    ("141-raiderstream-v100.x23.sqlite", "host-bound", "__pgi_uacc_move_buffer"),
    ("040-llm27b-clean-a100.sqlite", "fp32-matmul", "TF32"),
    ("157-llmc-t4.x23.sqlite", "no-kernels", "kernel"),
];

/// The review of a sample report, as JSON; `None` where there are none.
fn review(report: &str) -> Option<serde_json::Value> {
    let path = sample_reports()?.join("nsys").join(report);
    let printed = coldspot(&["review", path.to_str().unwrap(), "--quiet", "--format", "json"]).success().out();
    Some(serde_json::from_str(&printed).unwrap())
}

#[test]
fn first_findings_of_sample_reports_name_the_culprit() {
    for (report, rule, culprit) in CULPRITS {
        let Some(review) = review(report) else { return };
        let first = &review["findings"][0];
        assert_eq!(first["rule"], rule, "{report}: {first:#}");
        assert!(first.to_string().contains(culprit), "{report}: {first:#}");
    }
}

#[test]
fn where_no_kernel_ran_the_verdict_says_nothing_of_how_long_the_run_is_beside_its_work() {
    let Some(review) = review("157-llmc-t4.x23.sqlite") else { return };
    let verdict = review["verdict"].to_string();
    assert!(verdict.contains("No kernel was recorded") && !verdict.contains("outside"), "{verdict}");
}
