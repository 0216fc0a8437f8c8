//! Reports made by hand, for tests.

use super::{Ignore, Policy, Review, Scorecard, review};
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::rules::outcome::{Confidence, Estimate, Judgement, Match, Outcome, Severity};
use crate::rules::{CaptureNote, RankedBy, Reference, Relation, RuleInfo, Status};
use crate::text::glob::Glob;
use crate::text::spans::Sentence;

/// Facts with answers to them.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) facts: Facts,
    pub(crate) rules: Vec<RuleInfo>,
    pub(crate) judgements: Vec<Judgement>,
}

impl Sample {
    pub(crate) fn review(&self) -> Review {
        self.review_under(&Policy::default())
    }

    pub(crate) fn review_under(&self, policy: &Policy) -> Review {
        let scorecard = Scorecard::parse(include_str!("../../templates/scorecard.toml"), "scorecard.toml").unwrap();
        review(&self.facts, &self.rules, &self.judgements, &scorecard, policy)
    }

    pub(crate) fn rule(&mut self, id: &str, title: &str, for_each: EntityKind) -> usize {
        self.rules.push(RuleInfo {
            id: id.to_owned(),
            title: title.to_owned(),
            category: "copies".to_owned(),
            for_each,
            severity: None,
            set_severity: None,
            is_own: false,
            once: false,
            status: Status::Stable,
            collect: None,
            rests_on: Vec::new(),
            capture_note: None,
            references: Vec::new(),
            ranking: RankedBy::default(),
            explains: Vec::new(),
            suppressed_by: Vec::new(),
            silences_claims_on: Vec::new(),
        });
        self.rules.len() - 1
    }

    pub(crate) fn judge(&mut self, rule: usize, entity: EntityId, outcome: Outcome) {
        self.judgements.push(Judgement { rule, entity, outcome, entity_count: 1 });
    }

    pub(crate) fn find(&mut self, rule: usize, entity: EntityId, claim: Option<(&str, i64)>, summary: &str) {
        let found = finding(claim, summary);
        self.judge(rule, entity, found);
    }

    /// Finds what takes time of other accounts along.
    pub(crate) fn find_beside(&mut self, rule: usize, entity: EntityId, claim: (&str, i64), beside_ns: i64) {
        let mut found = finding(Some(claim), "it waits");
        if let Outcome::Finding(found) = &mut found
            && let Some(estimate) = &mut found.estimate
        {
            estimate.beside_ns = beside_ns;
        }
        self.judge(rule, entity, found);
    }

    /// A run with one process.
    pub(crate) fn run(&mut self) -> EntityId {
        let run = self.facts.add(EntityKind::Run, "run", &[]);
        let entity = self.facts.get_mut(run);
        for (name, count) in
            [("gpu_op_count", 1_000), ("api_call_count", 2_000), ("range_count", 0), ("metric_sample_count", 0)]
        {
            entity.set(name, count);
        }
        run
    }

    /// A device whose accounts are given as (fact, nanoseconds); the rest of the window is idle, in host code.
    pub(crate) fn device(
        &mut self,
        run: EntityId,
        number: i64,
        name: &str,
        window_ns: i64,
        accounts: &[(&str, i64)],
    ) -> EntityId {
        let device = self.facts.add(EntityKind::Device, number.to_string(), &[run]);
        let entity = self.facts.get_mut(device);
        entity.set("number", number);
        entity.set("name", name);
        entity.set("window_ns", window_ns);
        entity.set("window_start_ns", 1_203_345_678_i64);
        let mut rest = window_ns;
        for (account, ns) in accounts {
            entity.set(account, *ns);
            let is_whole =
                ["compute_ns", "exposed_communication_ns", "exposed_copy_ns", "exposed_memset_ns"].contains(account);
            rest -= if is_whole { *ns } else { 0 };
        }
        entity.set("idle_ns", rest);
        entity.set("busy_ns", window_ns - rest);
        let idle = accounts.iter().filter(|(name, _)| name.starts_with("idle_"));
        let (after, split): (Vec<_>, Vec<_>) = idle.partition(|(name, _)| name.starts_with("idle_after_"));
        entity.set("idle_host_ns", rest - split.into_iter().map(|(_, ns)| ns).sum::<i64>());
        let after = after.into_iter().map(|(_, ns)| ns).sum::<i64>();
        entity.set("idle_after_other_ns", rest - after);
        if after == 0 {
            entity.set("idle_after_sync_ns", 0);
            entity.set("idle_after_copy_call_ns", 0);
        }
        // The waits explain all of it.
        for (won, from) in
            [("sync_run_ahead_ns", "idle_after_sync_ns"), ("blocking_copy_run_ahead_ns", "idle_after_copy_call_ns")]
        {
            entity.set(won, entity.int(from).unwrap_or(0));
        }
        entity.set("sync_late_ns", 0);
        device
    }
}

/// An entity of the first device with some facts.
pub(crate) fn entity(kind: EntityKind, facts: &[(&'static str, i64)]) -> Entity {
    let mut entity = Entity::new(kind, "gpu0".to_owned(), Vec::new());
    facts.iter().for_each(|(name, value)| entity.set(name, *value));
    entity
}

pub(crate) fn finding(claim: Option<(&str, i64)>, summary: &str) -> Outcome {
    let sentence = |words: &str| Sentence::default().own(words);
    Outcome::Finding(Box::new(Match {
        title: None,
        summary: sentence(summary),
        evidence: vec![sentence("4.46 s of the window waits for these copies")],
        estimate: claim.map(|(account, recoverable_ns)| Estimate {
            recoverable_ns,
            beside_ns: 0,
            account: account.to_owned(),
            basis: "Exposed copy time shrinks with the bandwidth gap; overlap is not counted.".to_owned(),
            replayed: None,
            comes_again: false,
        }),
        confidence: Confidence::High,
        because: Vec::new(),
        severity: None,
        advice: sentence("Copy from page-locked memory, allocated once and reused."),
        verify: sentence("The next report lists these copies as pinned."),
        look: Some(sentence("1.500000s: the longest of them")),
    }))
}

/// Two GPUs: copies on both, a symptom of them, tiny findings, rules that lack facts, a rule that fails.
pub(crate) fn two_gpus() -> Sample {
    let mut sample = Sample::default();
    let run = sample.run();
    let accounts = [
        ("compute_ns", 3_321_456_789),
        ("exposed_copy_ns", 4_500_000_000),
        ("exposed_copy_h2d_pageable_ns", 4_400_000_000),
        ("exposed_copy_d2h_pinned_ns", 100_000_000),
        ("exposed_memset_ns", 1_234),
        ("idle_sync_ns", 600_000_000),
        ("idle_launch_ns", 12_000_000),
        ("idle_after_sync_ns", 1_100_000_000),
        ("idle_after_copy_call_ns", 100_000_000),
        ("host_copy_busy_ns", 5_000_000_000),
        ("exposed_copy_h2d_pinned_ns", 0),
        ("pipelined_copy_ns", 4_000_000_000),
        ("host_copy_overlapped_ns", 500_000_000),
        ("host_copy_amid_kernels_ns", 5_000_000_000),
        ("copy_count", 400),
    ];
    let first = sample.device(run, 0, "NVIDIA A100-SXM4-80GB", 9_240_000_000, &accounts);
    let device = sample.facts.get_mut(first);
    device.set("sm_active_share", 0.91);
    device.set("sm_active_source", "derived");
    let second = sample.device(
        run,
        1,
        "NVIDIA A100-SXM4-80GB",
        8_000_000_000,
        &[("compute_ns", 7_800_000_000), ("exposed_copy_ns", 100_000_000)],
    );
    let copies = copy_group(&mut sample, first, run, "host to device, pageable, cudaMemcpy");
    let others = copy_group(&mut sample, second, run, "host to device, pageable, cudaMemcpyAsync");

    judge_two_gpus(&mut sample, [first, second], [copies, others]);
    sample
}

fn judge_two_gpus(sample: &mut Sample, [first, second]: [EntityId; 2], [copies, others]: [EntityId; 2]) {
    let pageable = sample.rule("pageable-copy", "Copies wait on pageable host memory", EntityKind::CopyGroup);
    let idle = sample.rule("copy-bound", "The device waits for copies", EntityKind::Device);
    let waits = sample.rule("sync-gap", "The device goes idle in waits", EntityKind::Device);
    let spacing = sample.rule("launch-bound", "Launching takes longer than the kernels", EntityKind::Device);
    let sampled = sample.rule("dram-bound", "Memory bandwidth is the limit", EntityKind::Device);
    let ranges = sample.rule("host-bound", "Host code between launches", EntityKind::Device);
    let broken = sample.rule("broken", "A rule that divides by nothing", EntityKind::Device);
    sample.rules[pageable].explains =
        vec![Relation { rule: "copy-bound".to_owned(), on: vec![EntityKind::Device], shares: None }];
    sample.rules[pageable].references = vec![Reference {
        url: "https://docs.nvidia.com/cuda/".to_owned(),
        supports: "pinned against pageable".to_owned(),
    }];
    sample.rules[spacing].once = true;

    sample.find(
        waits,
        first,
        Some(("idle_after_sync", 900_000_000)),
        "The device went idle in `cudaStreamSynchronize`, 400 times",
    );
    sample.find(idle, first, Some(("exposed_copy", 4_400_000_000)), "Nothing but copies runs for 4.5 s");
    sample.find(
        pageable,
        others,
        Some(("exposed_copy", 90_000_000)),
        "`cudaMemcpyAsync` moves 1 GB from pageable memory",
    );
    sample.find(
        pageable,
        copies,
        Some(("exposed_copy", 4_460_000_000)),
        "`cudaMemcpy` moves 55.2 GB from pageable memory",
    );
    sample.find(spacing, first, Some(("idle_launch", 12_000_000)), "12 ms pass in launches");
    sample.judge(spacing, second, Outcome::Pass);
    sample.judge(waits, second, Outcome::Pass);
    sample.judge(idle, second, Outcome::NotApplicable);
    for entity in [first, second] {
        sample.judge(sampled, entity, Outcome::Unknown { missing: vec!["device.sampled_dram_share".to_owned()] });
        sample.judge(broken, entity, Outcome::Failed { message: "estimate: not a finite number".to_owned() });
    }
    sample.judge(ranges, first, Outcome::Unknown { missing: vec!["device.idle_host_range".to_owned()] });
    sample.judge(ranges, second, Outcome::Pass);
}

fn copy_group(sample: &mut Sample, device: EntityId, run: EntityId, name: &str) -> EntityId {
    let group = sample.facts.add(EntityKind::CopyGroup, name, &[device, run]);
    sample.facts.get_mut(group).set("name", name);
    group
}

/// Names chosen by an enemy of whoever reads the report.
pub(crate) fn hostile() -> Sample {
    let mut sample = Sample::default();
    let run = sample.run();
    let attack = "</details><img src=x onerror=alert(1)> @octocat fixes #1 `x` | [y](https://evil.example)\n::error::\u{1b}[31m\u{202e}";
    let device = sample.device(run, 0, attack, 1_000_000_000, &[("compute_ns", 400_000_000)]);
    let range = sample.facts.add(EntityKind::Range, attack, &[device, run]);
    sample.facts.get_mut(range).set("name", attack);
    let kernel = sample.facts.add(EntityKind::Kernel, attack, &[device, run]);
    sample.facts.get_mut(kernel).set("name", attack);
    let entity = sample.facts.get_mut(run);
    entity.set("lost_event_notice", attack);
    entity.set("dropped_event_count", 1);
    entity.set("graph_launch_count", 12_000);
    let late = sample.rule("host-bound", "Host code between `launch` calls | is late", EntityKind::Range);
    let tiny = sample.rule("tiny", "Tiny kernels", EntityKind::Kernel);
    let lost = sample.rule("events-lost", "Events were lost", EntityKind::Run);
    sample.rules[lost].severity = Some(Severity::High);
    sample.rules[lost].capture_note = Some(CaptureNote::Repeated);
    sample.find(late, range, Some(("idle_host", 600_000_000)), "host code");
    sample.find(tiny, kernel, Some(("compute", 5_000_000)), "a kernel");
    sample.find(lost, run, None, "The profiler lost events");
    sample
}

/// A device that is always busy.
pub(crate) fn healthy() -> Sample {
    let mut sample = Sample::default();
    let run = sample.run();
    let device = sample.device(run, 0, "NVIDIA H100 PCIe", 12_345_678_901, &[("compute_ns", 12_322_000_000)]);
    let waits = sample.rule("sync-gap", "The device goes idle in waits", EntityKind::Device);
    let sampled = sample.rule("dram-bound", "Memory bandwidth is the limit", EntityKind::Device);
    sample.judge(waits, device, Outcome::Pass);
    sample.judge(sampled, device, Outcome::Unknown { missing: vec!["device.sampled_dram_share".to_owned()] });
    sample
}

/// A capture without GPU work.
pub(crate) fn nothing() -> Sample {
    let mut sample = Sample::default();
    let run = sample.facts.add(EntityKind::Run, "run", &[]);
    let entity = sample.facts.get_mut(run);
    entity.set("gpu_op_count", 0);
    entity.set("api_call_count", 0);
    entity.set("driver_notice", "CUPTI_ERROR_NOT_INITIALIZED: the driver is older than 470.");
    let none = sample.rule("no-gpu-work", "The driver kept the profiler from recording", EntityKind::Run);
    sample.rules[none].severity = Some(Severity::High);
    sample.rules[none].capture_note = Some(CaptureNote::Quoted);
    sample.find(none, run, None, "Not one GPU operation was recorded");
    sample
}

/// Accepts the copies of the first GPU, and two things that there are not.
pub(crate) fn policy() -> Policy {
    let ignore = |rule: &str, entity: Option<&str>, until: Option<&str>, is_expired| Ignore {
        rule: rule.to_owned(),
        entity: entity.map(Glob::new),
        reason: "The <loader> is being @rewritten.".to_owned(),
        until: until.map(str::to_owned),
        is_expired,
    };
    Policy {
        ignores: vec![
            ignore("pageable-copy", Some("* cudaMemcpy"), Some("2026-12-31"), false),
            ignore("sync-gap", None, Some("2025-12-31"), true),
            ignore("launch-bound", Some("gpu7"), None, false),
        ],
        rules_off: vec!["tiny".to_owned()],
        ..Policy::default()
    }
}
