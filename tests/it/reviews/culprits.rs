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

#[test]
fn first_findings_of_sample_reports_name_the_culprit() {
    let Some(folder) = sample_reports() else { return };
    for (report, rule, culprit) in CULPRITS {
        let path = folder.join("nsys").join(report);
        let path = path.to_str().unwrap();
        let printed = coldspot(&["review", path, "--quiet", "--format", "json"]).success().out();
        let review: serde_json::Value = serde_json::from_str(&printed).unwrap();
        let first = &review["findings"][0];
        assert_eq!(first["rule"], rule, "{report}: {first:#}");
        assert!(first.to_string().contains(culprit), "{report}: {first:#}");
    }
}
