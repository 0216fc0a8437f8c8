//! Facts made by hand, the built-in rules, and the Markdown that a user reads.

use coldspot::facts::{EntityKind, Facts};
use coldspot::findings::{Policy, review};
use coldspot::gates::Gates;
use coldspot::render::{Context, Format, Templates, render};
use coldspot::report::{Report, ReviewReport};
use coldspot::rules::{Depth, Library, Params, evaluate};

/// One GPU that mostly waits for copies from pageable memory.
fn facts() -> Facts {
    let mut facts = Facts::default();
    let run = facts.add(EntityKind::Run, "run", &[]);
    for (name, count) in [("gpu_op_count", 900), ("api_call_count", 2_000), ("device_count", 1)] {
        facts.get_mut(run).set(name, count);
    }
    facts.get_mut(run).set("framework", "pytorch");
    let device = facts.add(EntityKind::Device, "gpu0", &[run]);
    let entity = facts.get_mut(device);
    entity.set("name", "NVIDIA A100-SXM4-80GB");
    for (name, ns) in [
        ("number", 0),
        ("window_ns", 2_000_000_000),
        ("window_start_ns", 350_000_000),
        ("compute_ns", 1_100_000_000),
        ("exposed_copy_ns", 600_000_000),
        ("exposed_copy_h2d_pageable_ns", 600_000_000),
        ("busy_ns", 1_700_000_000),
        ("idle_ns", 300_000_000),
        ("idle_copy_call_ns", 290_000_000),
        ("idle_inter_kernel_gap_ns", 10_000_000),
        ("idle_after_copy_call_ns", 295_000_000),
        ("idle_while_queued_ns", 5_000_000),
        ("idle_after_sync_ns", 0),
        ("host_copy_busy_ns", 650_000_000),
        ("host_copy_overlapped_ns", 50_000_000),
        ("pipelined_copy_ns", 600_000_000),
        ("exposed_copy_h2d_pinned_ns", 0),
        ("exposed_copy_d2h_pinned_ns", 0),
        ("copy_count", 100),
    ] {
        entity.set(name, ns);
    }
    let copies = facts.add(EntityKind::CopyGroup, "gpu0/h2d/pageable/cudaMemcpyAsync", &[device, run]);
    let entity = facts.get_mut(copies);
    entity.set("name", "host to device, pageable, cudaMemcpyAsync");
    entity.set("host_memory", "pageable");
    entity.set("is_pageable", true);
    entity.set("direction", "host_to_device");
    entity.set("achieved_gb_per_s", 6.0);
    for (name, value) in [
        ("count", 100),
        ("bytes", 3_900_000_000),
        ("exposed_ns", 600_000_000),
        ("longest_ns", 8_000_000),
        ("longest_start_ns", 1_200_000_000),
    ] {
        entity.set(name, value);
    }
    facts
}

#[test]
fn pageable_copies_read_well() {
    let library = Library::with_dirs(&[], Depth::Whole).unwrap();
    // Of the built-in rules only those that this report is about, so that a new rule does not change it.
    let rules = library.infos();
    let index = rules.iter().position(|rule| rule.id == "pageable-copy").unwrap();
    let facts = facts();
    let mut judgements = evaluate(&library, &facts, &Params::default());
    judgements.retain(|judgement| judgement.rule == index);
    judgements.iter_mut().for_each(|judgement| judgement.rule = 0);
    let templates = Templates::load(None).unwrap();
    let review = review(&facts, &rules[index..=index], &judgements, templates.scorecard(), &Policy::default());
    let report = ReviewReport { name: "train.sqlite".to_owned(), review, gates: Gates::none() };
    let context = Context { templates: &templates, library: &library };
    let page = render(&Report::Review(Box::new(report)), Format::Markdown, context).unwrap();
    insta::assert_snapshot!(page.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}
