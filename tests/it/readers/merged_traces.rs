//! Traces of several ranks that were merged into one: whose work is whose.

use std::collections::BTreeMap;

use coldspot::facts::{Entity, EntityKind, Facts};

use super::kineto::{facts, without_kernels};
use crate::support::trace::Spelling::Today;
use crate::support::trace::{ranks, trace, two_ranks};
#[test]
fn each_rank_of_a_merged_trace_launches_the_work_of_its_own_gpu() {
    let alone = facts(trace(6, Today));
    let facts = facts(two_ranks(1_000));
    let run = facts.run().unwrap();
    assert_eq!((run.int("process_count"), run.int("device_count")), (Some(2), Some(2)));
    assert_eq!((run.int("lost_launch_count"), run.get("lost_event_notice")), (None, None));
    let of_alone = alone.of_kind(EntityKind::Device).next().unwrap().1;
    for (_, device) in facts.of_kind(EntityKind::Device) {
        for name in ["window_ns", "step_count", "idle_unknown_ns", "idle_host_ns", "idle_copy_call_ns"] {
            assert_eq!(device.int(name), of_alone.int(name), "{name}");
        }
        assert_eq!((device.int("process_count"), device.int("possible_process_count")), (Some(1), None));
    }
}

#[test]
fn work_that_either_of_two_processes_may_have_launched_is_of_none() {
    let facts = facts(two_ranks(0));
    let run = facts.run().unwrap();
    assert_eq!((run.int("lost_launch_count"), run.get("lost_event_notice")), (None, None));
    for (_, device) in facts.of_kind(EntityKind::Device) {
        assert_eq!(device.int("possible_process_count"), Some(2));
        assert!(device.int("idle_unknown_ns").unwrap() > 0);
    }
}

/// Who merges traces with words in place of process ids leaves each rank's GPU as it was numbered: both are GPU 0 here.
#[test]
fn ranks_that_are_told_apart_by_words_are_those_told_apart_by_numbers() {
    let by_number = two_ranks(1_000);
    let words = [("99", "[TP00] 99"), ("98", "[TP01] 98"), ("0", "[TP00] 0"), ("1", "[TP01] 0")];
    let by_words =
        words.into_iter().fold(by_number.replace("\"device\": 1", "\"device\": 0"), |trace, (pid, words)| {
            trace.replace(&format!("\"pid\": {pid},"), &format!("\"pid\": \"{words}\","))
        });
    assert!(by_words.contains("[TP01] 98") && !by_words.contains("\"pid\": 9"));
    let (by_number, by_words) = (facts(by_number), facts(by_words));
    assert_eq!(by_words.run().unwrap().int("device_count"), Some(2));
    let told = |facts: &Facts| {
        let entities = facts.iter().map(|(_, entity)| entity);
        let of = |entity: &Entity| {
            // What the file is called and how large it is does not matter.
            let own = entity.facts().filter(|(name, _)| !name.starts_with("report_"));
            (entity.key.clone(), own.map(|(name, value)| format!("{name}={value:?}")).collect::<Vec<_>>())
        };
        entities.map(of).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(told(&by_words), told(&by_number));
}

#[test]
fn a_graph_that_copies_is_no_reason_against_the_process_that_launched_it() {
    let facts = facts(two_ranks(1_000).replace("cudaMemcpyAsync", "cudaGraphLaunch"));
    let counts = facts.of_kind(EntityKind::Device).map(|(_, device)| device.int("process_count"));
    assert_eq!(counts.collect::<Vec<_>>(), [Some(1), Some(1)]);
}

#[test]
fn the_second_gpu_of_a_process_is_given_to_no_other() {
    let of = |more: Option<(&str, i64, Option<i64>, i64)>| {
        let one = trace(6, Today);
        // The first process has two GPUs, and the other makes calls with the ids of those for the second.
        let text = ranks(&[(&one, 99, Some(0), 0), (&one, 99, Some(1), 100), (&one, 98, None, 100)]);
        let facts = match more {
            None => facts(text),
            Some(more) => facts(ranks(&[(&one, 99, Some(0), 0), (&one, 98, Some(1), 0), more])),
        };
        let possible = facts.of_kind(EntityKind::Device).map(|(_, device)| device.int("possible_process_count"));
        let run = facts.run().unwrap();
        let notice = run.text("lost_event_notice").unwrap_or_default().to_owned();
        (possible.collect::<Vec<_>>(), run.int("lost_launch_count"), notice)
    };
    assert_eq!(of(None), (vec![None, Some(2)], None, String::new()));
    // Of a process that is known to have launched the work of its GPU, lost launches are told beside others.
    let lossy = without_kernels(6, 2..4);
    let (possible, lost, notice) = of(Some((&lossy, 97, Some(2), 200)));
    assert_eq!((possible, lost), (vec![Some(3), Some(3), None], Some(2)));
    assert!(
        notice.contains("no work of 2 of the 6 calls that launch kernels on GPUs whose process is known"),
        "{notice}"
    );
}
