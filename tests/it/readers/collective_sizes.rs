//! How long collectives take by what they send, and the modules whose parameters are gathered one by one.

use coldspot::facts::EntityKind;

use super::kineto::facts;
use crate::support::trace::{DEVICE, Launches, host_event};

/// Six steps in which the parameters of two modules are gathered, small and large ones, which take so many microseconds.
pub fn gathered(small_us: i64, large_us: i64) -> String {
    let mut events = Vec::new();
    let mut launches = Launches::default();
    let mut launch = |events: &mut Vec<String>, at: i64, kernel: &str, runs: (i64, i64), sent: &str| {
        launches.add(events, (1, at), kernel, runs, sent);
    };
    for step in 0..6 {
        let begin = 10_000 + 10_000 * step;
        events.push(host_event("user_annotation", &format!("ProfilerStep#{step}"), 1, begin, 9_999, ""));
        for (module, elements, length, after) in [("norm", 2_560, small_us, 10), ("up", 6_554_880, large_us, 4_000)] {
            let at = begin + after;
            events.push(host_event(
                "user_annotation",
                &format!("FSDP::pre_forward (blocks.0.{module})"),
                1,
                at,
                50,
                "",
            ));
            let sent = format!(
                r#", "Collective name": "_allgather_base", "In msg nelems": {elements}, "Out msg nelems": {elements}, "dtype": "Float", "Group size": 2"#
            );
            launch(&mut events, at + 5, "ncclDevKernel_AllGather_RING_LL", (at + 20, length), &sent);
            launch(&mut events, at + 60, "forward_kernel", (at + 3_000, 100), "");
        }
    }
    format!("{{\"deviceProperties\": [{DEVICE}], \"traceEvents\": [{}]}}\n", events.join(",\n  "))
}

#[test]
fn small_collectives_are_told_beside_large_ones() {
    let told = |text: String| {
        let facts = facts(text);
        let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
        ["small_collective_median_ns", "small_collective_bytes", "large_collective_median_ns", "large_collective_bytes"]
            .map(|name| device.int(name))
    };
    let (small_bytes, large_bytes) = (Some(4 * 2_560), Some(4 * 6_554_880));
    assert_eq!(told(gathered(1_600, 1_700)), [Some(1_600_000), small_bytes, Some(1_700_000), large_bytes]);
    // What is half as large is no small one.
    let half = gathered(1_600, 1_700).replace("elems\": 2560", "elems\": 3277440");
    assert_eq!(told(half), [None; 4]);
}

#[test]
fn modules_that_are_gathered_by_themselves_are_counted() {
    let told = |text: String| {
        let facts = facts(text);
        let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
        device.int("fsdp_unit_count")
    };
    assert_eq!(told(gathered(20, 1_700)), Some(2));
    assert_eq!(told(gathered(20, 1_700).replace("FSDP::pre_forward", "forward")), None);
}
