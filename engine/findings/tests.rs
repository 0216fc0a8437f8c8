use super::samples::{Sample, finding, healthy, hostile, nothing, two_gpus};
use super::*;
use crate::facts::{EntityId, EntityKind};
use crate::findings::work::Repeated;
use crate::replay::Change;
use crate::rules::outcome::{Confidence, Outcome, Replayed};
use crate::text::number;
use proptest::prelude::*;

#[test]
fn the_verdict_is_one_true_sentence() {
    let verdict = |sample: Sample| sample.review().verdict.plain();
    assert_eq!(
        verdict(two_gpus()),
        "GPU 0 (NVIDIA A100-SXM4-80GB) computes 36 % of its 9.24 s window; most to gain: copies wait on pageable host memory (up to 4.46 s, 48 %)."
    );
    assert_eq!(
        verdict(healthy()),
        "GPU 0 (NVIDIA H100 PCIe) is busy 99.8 % of its 12.3 s window; no rule found anything that could gain 1 % of it (2 rules evaluated, of which 1 could not be judged fully)."
    );
    assert_eq!(
        verdict(nothing()),
        "No GPU work was recorded, so there is nothing to judge. The profiler says of the driver or device: “CUPTI_ERROR_NOT_INITIALIZED: the driver is older than 470.”"
    );
    assert!(verdict(hostile()).starts_with("Read with care (events were lost): GPU 0"));
}

#[test]
fn a_large_bound_is_told_beside_little_that_is_sure() {
    let sample = two_gpus();
    let first = sample.review().findings.remove(0);
    let is_other = |device: &EntityId| first.subject.device.as_ref().is_some_and(|own| own.entity != *device);
    let another = sample.facts.of_kind(EntityKind::Device).map(|(device, _)| device).find(is_other);
    let with = |share: f64, once: bool, entity: Option<EntityId>| {
        let mut other = first.clone();
        other.severity = Severity::Info;
        other.once = once;
        other.gain = Some(Gain::new((share * 1e9) as i64, 1_000_000_000, "idle".to_owned(), String::new()));
        if let Some(device) = other.subject.device.as_mut() {
            device.entity = entity.unwrap_or(device.entity);
        }
        let findings = [other];
        verdict::larger_bound(&first, &findings).map(|(_, gain)| gain.share)
    };
    assert_eq!(with(0.87, false, None), Some(0.87));
    assert_eq!((with(0.199, false, None), with(0.2, false, None)), (None, Some(0.2)));
    assert_eq!(with(0.87, true, None), None, "that comes once");
    assert!(another.is_some());
    assert_eq!(with(0.87, false, another), None, "of another GPU");
}

#[test]
fn the_verdict_does_not_take_busy_for_healthy() {
    let mut sample = healthy();
    let device = sample.facts.of_kind(EntityKind::Device).next().unwrap().0;
    sample.facts.get_mut(device).set("compute_ns", 100_000_000);
    sample.facts.get_mut(device).set("exposed_copy_ns", 12_222_000_000);
    let verdict = sample.review().verdict.plain();
    assert!(verdict.contains("is busy 99.8 % of its 12.3 s window, 0.8 % with compute; still, no rule"), "{verdict}");
}

#[test]
fn a_healthy_end_is_not_all_of_the_window() {
    let of = |before_ns: i64, told_by: &str| {
        let mut sample = healthy();
        let device = sample.facts.of_kind(EntityKind::Device).next().unwrap().0;
        let own = sample.facts.get_mut(device);
        let window_ns = own.int("window_ns").unwrap();
        own.set("phase", "steady");
        own.set("step_told_by", told_by);
        own.set("step_count", 10_i64);
        own.set("step_median_ns", window_ns / 10);
        own.set("whole_window_ns", window_ns + before_ns);
        let phase = sample.facts.add(EntityKind::Phase, "gpu0/set-up", &[device]);
        let phase = sample.facts.get_mut(phase);
        phase.set("name", "set-up");
        phase.set("start_ns", 0_i64);
        phase.set("duration_ns", before_ns);
        phase.set("compute_ns", before_ns / 2 + 1);
        (sample.review().verdict.plain(), window_ns)
    };
    let (_, window_ns) = of(1, "launches");
    let (verdict, _) = of(5 * window_ns, "launches");
    let whole = number::duration(6 * window_ns);
    let before = number::duration(5 * window_ns);
    let words = format!(
        " Of the GPU's whole window of {whole}, {before} lie before that, most of it compute: `--phase whole` judges them."
    );
    assert!(verdict.ends_with(&words), "{verdict}");
    assert!(!of(5 * window_ns - 10, "launches").0.contains("whole window"));
    assert!(!of(5 * window_ns, "range").0.contains("whole window"));
}

#[test]
fn a_handful_of_operations_is_no_healthy_device() {
    let mut sample = healthy();
    let run = sample.facts.of_kind(EntityKind::Run).next().unwrap().0;
    sample.facts.get_mut(run).set("gpu_op_count", 1);
    sample.facts.get_mut(run).set("duration_ns", 20_000_000_000_000);
    let verdict = sample.review().verdict.plain();
    assert!(
        verdict.starts_with("Next to no GPU work was recorded: 1 operation, 12.3 s of 20,000 s that were recorded."),
        "{verdict}"
    );
}

#[test]
fn findings_are_ranked_and_one_rule_is_one_item() {
    let review = two_gpus().review();
    let order: Vec<&str> = review.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(order, ["pageable-copy", "sync-gap", "launch-bound"]);
    let [copies, waits, launch] = review.findings.as_slice() else { panic!() };
    assert_eq!((copies.severity, waits.severity, launch.severity), (Severity::High, Severity::Medium, Severity::Info));
    assert_eq!(copies.subject.label.plain(), "host to device, pageable, cudaMemcpy on GPU 0");
    assert_eq!(copies.also.len(), 1);
    assert_eq!(copies.also[0].severity, Severity::Low);
    let gain = copies.gain.as_ref().unwrap();
    assert_eq!(number::ratio(gain.speedup_ceiling.unwrap()), "1.9x");
    assert_eq!(review.worst(), Some(Severity::High));
}

#[test]
fn kernels_of_two_rules_share_what_one_change_wins() {
    let mut sample = Sample::default();
    let run = sample.run();
    let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &[("compute_ns", 900_000_000)]);
    for (rule, name, claimed_ns) in [("single-block", "walk", 600_000_000), ("small-grid", "sort", 200_000_000)] {
        let kernel = sample.facts.add(EntityKind::Kernel, name, &[device, run]);
        let rule = sample.rule(rule, rule, EntityKind::Kernel);
        sample.find(rule, kernel, Some(("underfilled", claimed_ns)), name);
        let Some(Judgement { outcome: Outcome::Finding(found), .. }) = sample.judgements.last_mut() else { panic!() };
        let (step_ns, expected_ns, ceiling_ns) = (10_000_000, 6_000_000, 8_000_000);
        let change = Change::FullGrid;
        found.estimate.as_mut().unwrap().replayed = Some(Replayed { change, step_ns, expected_ns, ceiling_ns });
    }
    let told = |finding: Finding| {
        let gain = finding.gain.unwrap();
        (gain.replayed.unwrap().expected_ns, gain.recoverable_ns)
    };
    let told: Vec<(i64, i64)> = sample.review().findings.into_iter().map(told).collect();
    assert_eq!(told, [(4_500_000, 600_000_000), (1_500_000, 200_000_000)]);
}

#[test]
fn what_rounds_leave_out_is_told_of_the_window() {
    let late_ns = std::cell::Cell::new(0_i64);
    let told = |beside_ns: i64, ceiling_ns: i64| {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &[("compute_ns", 900_000_000)]);
        let own = sample.facts.get_mut(device);
        own.set("beside_rounds_kernel_ns", beside_ns);
        own.set("busy_ns", 900_000_000_i64);
        own.set("late_host_busy_ns", late_ns.get());
        let rule = sample.rule("unfused-optimizer", "An optimizer by parameter", EntityKind::Device);
        sample.find(rule, device, Some(("compute", 200_000_000)), "optimizer");
        let Some(Judgement { outcome: Outcome::Finding(found), .. }) = sample.judgements.last_mut() else { panic!() };
        let (change, step_ns, expected_ns) = (Change::ForEach, 10_000_000, ceiling_ns);
        found.estimate.as_mut().unwrap().replayed = Some(Replayed { change, step_ns, expected_ns, ceiling_ns });
        let finding = sample.review().findings.remove(0);
        let gain = finding.gain.unwrap();
        (gain.replayed.map(|replayed| replayed.is_beside_rounds), gain.recoverable_ns)
    };
    assert_eq!(told(150_000_000, 100_000), (None, 160_000_000));
    assert_eq!(told(300_000_000, 100_000), (None, 200_000_000));
    // Beside rounds too, what the host is late behind wins nothing.
    late_ns.set(850_000_000);
    assert_eq!(told(300_000_000, 100_000), (None, 50_000_000));
    late_ns.set(0);
    assert_eq!(told(99_000_000, 100_000), (Some(false), 10_000_000), "not so much runs beside rounds");
    assert_eq!(told(150_000_000, 1_100_000), (Some(true), 110_000_000), "rounds hold most of it");
    assert_eq!(told(150_000_000, 1_900_000), (Some(false), 190_000_000), "rounds hold nearly all of it");
}

#[test]
fn all_findings_together_gain_no_less_than_one_of_them() {
    let mut sample = Sample::default();
    let run = sample.run();
    let accounts = [("exposed_copy_ns", 100_000_000), ("compute_ns", 700_000_000)];
    let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &accounts);
    let trips = sample.rule("round-trip-copies", "Round trips", EntityKind::Device);
    let copies = sample.rule("exposed-copy", "Copies", EntityKind::Device);
    // The idle time beside the copies is no part of the account that the copies are.
    sample.find_beside(trips, device, ("exposed_copy", 90_000_000), 150_000_000);
    let of = |sample: &Sample| {
        let review = sample.review();
        let gain = review.findings[0].gain.clone().unwrap();
        (gain.recoverable_ns, gain.beside_ns, review.devices[0].recoverable_ns)
    };
    assert_eq!(of(&sample), (240_000_000, 150_000_000, 240_000_000));
    // Two that claim one account share it, and what goes with one of them goes as well.
    sample.find(copies, device, Some(("exposed_copy", 80_000_000)), "copies");
    assert_eq!(of(&sample), (240_000_000, 150_000_000, 250_000_000));
}

#[test]
fn what_wins_nothing_even_at_best_is_not_told() {
    let told = |ceiling_ns: i64| {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &[("compute_ns", 900_000_000)]);
        let rule = sample.rule("tail-effect", "The last wave", EntityKind::Device);
        sample.find(rule, device, Some(("compute", 50_000_000)), "tail");
        let Some(Judgement { outcome: Outcome::Finding(found), .. }) = sample.judgements.last_mut() else { panic!() };
        let (change, step_ns, expected_ns) = (Change::EvenGrid, 10_000_000, 0);
        found.estimate.as_mut().unwrap().replayed = Some(Replayed { change, step_ns, expected_ns, ceiling_ns });
        sample.review().findings.len()
    };
    assert_eq!([9_000, 10_000].map(told), [0, 1]);
}

#[test]
fn the_same_idle_time_is_said_to_be_the_same() {
    let told = |second_ns: i64, replayed: Option<Replayed>| {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &[("compute_ns", 500_000_000)]);
        for (rule, account, ns) in [("waits", "idle_after_sync", 300_000_000), ("tiny", "idle", second_ns)] {
            let rule = sample.rule(rule, rule, EntityKind::Device);
            sample.find(rule, device, Some((account, ns)), "idle");
        }
        let Outcome::Finding(first) = &mut sample.judgements[0].outcome else { panic!() };
        first.estimate.as_mut().unwrap().replayed = replayed;
        let words = |finding: Finding| finding.gain.unwrap().words();
        sample.review().findings.into_iter().map(words).collect::<Vec<_>>()
    };
    assert_eq!(told(200_000_000, None), ["up to 300 ms, 30 %", "up to 200 ms, 20 %"]);
    let shared = "up to 250 ms, 25 %; overlaps the findings above: together at most 500 ms";
    assert_eq!(told(250_000_000, None), ["up to 300 ms, 30 %", shared]);
    // What a replay says is of a round: what all win together is told of that.
    let (step_ns, expected_ns, ceiling_ns) = (10_000_000, 2_900_000, 3_000_000);
    let replayed = Replayed { change: Change::NoSync, step_ns, expected_ns, ceiling_ns };
    let beside = ["about 29 %, at most 30 % of a round", "up to 250 ms, 25 %"];
    assert_eq!(told(250_000_000, Some(replayed)), beside);
}

#[test]
fn what_tells_the_time_outside_comes_before_that_it_lies_there() {
    let order = |others: &[&str]| {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "NVIDIA H200", 20_000_000, &[("compute_ns", 10_000_000)]);
        let copies = sample.rule("pageable-copy", "Copies wait", EntityKind::Device);
        sample.find(copies, device, Some(("idle", 4_000_000)), "copies");
        for other in others {
            let rule = sample.rule(other, other, EntityKind::Device);
            sample.rules[rule].severity = Some(Severity::Medium);
            sample.find(rule, device, None, other);
        }
        sample.review().findings.into_iter().map(|finding| finding.rule).collect::<Vec<_>>()
    };
    assert_eq!(order(&["short-gpu-window", "first-batch"]), ["first-batch", "short-gpu-window", "pageable-copy"]);
    assert_eq!(
        order(&["late-first-work", "short-gpu-window"]),
        ["late-first-work", "short-gpu-window", "pageable-copy"]
    );
    assert_eq!(order(&["first-batch"]), ["pageable-copy", "first-batch"]);
}

#[test]
fn that_no_kernel_ran_comes_first_and_is_said_once() {
    let mut sample = Sample::default();
    let run = sample.run();
    let device = sample.device(run, 0, "Tesla T4", 20_000_000, &[("compute_ns", 0)]);
    let pinning = sample.rule("allocation-stalls", "Memory is allocated", EntityKind::Device);
    sample.find(pinning, device, Some(("idle", 12_000_000)), "set-up");
    let none = sample.rule("no-kernels", "The GPU only copies", EntityKind::Run);
    sample.rules[none].severity = Some(Severity::Medium);
    sample.find(none, run, None, "No kernel was recorded");
    let review = sample.review();
    let rules: Vec<&str> = review.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules, ["no-kernels", "allocation-stalls"]);
    let verdict = review.verdict.plain();
    assert!(verdict.starts_with("No kernel was recorded. "), "{verdict}");
    assert_eq!(verdict.matches("No kernel").count(), 1, "{verdict}");
}

#[test]
fn what_the_user_sets_to_info_leads_no_report() {
    for rule in ["no-kernels", "short-gpu-window", "long-set-up", "late-first-work"] {
        let of = |severity: Option<Severity>| {
            let mut sample = Sample::default();
            let run = sample.run();
            let device = sample.device(run, 0, "Tesla T4", 20_000_000, &[("compute_ns", 0)]);
            let pinning = sample.rule("allocation-stalls", "Memory is allocated", EntityKind::Device);
            sample.find(pinning, device, Some(("idle", 12_000_000)), "set-up");
            for id in [rule, "short-gpu-window"] {
                let leading = sample.rule(id, "The GPU only copies", EntityKind::Run);
                sample.rules[leading].severity = Some(Severity::Medium);
                sample.rules[leading].set_severity = severity;
                sample.find(leading, run, None, "Look elsewhere");
            }
            let review = sample.review();
            (review.findings[0].rule.clone(), review.verdict.plain().contains("Look elsewhere"))
        };
        assert_ne!(of(None).0, "allocation-stalls", "{rule}");
        assert_eq!(of(Some(Severity::Info)), ("allocation-stalls".to_owned(), false), "{rule}");
    }
}

#[test]
fn a_heading_has_the_name_of_the_culprit() {
    let mut sample = two_gpus();
    for judgement in &mut sample.judgements {
        if let Outcome::Finding(found) = &mut judgement.outcome {
            found.title = Some(Sentence::default().own("The copies of ").code("load*").own(" wait"));
        }
    }
    let review = sample.review();
    assert_eq!(review.findings[0].title, "Copies wait on pageable host memory");
    assert_eq!(review.findings[0].headline.plain(), "The copies of load* wait");
    assert!(review.verdict.plain().contains("most to gain: the copies of load* wait (up to"));
}

#[test]
fn what_cannot_be_judged_is_claimed_by_nobody() {
    let mut sample = two_gpus();
    let none = sample.rule("no-gpu-work", "The report holds no GPU work", EntityKind::Run);
    sample.rules[none].silences_claims_on = vec![EntityKind::Run];
    sample.rules[none].severity = Some(Severity::High);
    let run = sample.facts.of_kind(EntityKind::Run).next().unwrap().0;
    sample.find(none, run, None, "No GPU work was recorded");
    let review = sample.review();
    assert_eq!(review.findings.iter().map(|finding| finding.rule.as_str()).collect::<Vec<_>>(), ["no-gpu-work"]);
    assert_eq!(review.verdict.plain(), "No GPU work was recorded.");
    assert!(review.suppressed.iter().all(|left_out| left_out.by == "no-gpu-work") && !review.suppressed.is_empty());
}

#[test]
fn the_headline_is_of_the_finding_in_whose_place_others_are_left_out() {
    let mut sample = two_gpus();
    let little = sample.rule("too-little-work", "Too little GPU work to judge", EntityKind::Run);
    sample.rules[little].silences_claims_on = vec![EntityKind::Run];
    sample.rules[little].severity = Some(Severity::Medium);
    let run = sample.facts.of_kind(EntityKind::Run).next().unwrap().0;
    sample.find(little, run, None, "The window holds 2 us of GPU work");
    assert_eq!(sample.review().verdict.plain(), "The window holds 2 us of GPU work.");
}

#[test]
fn no_speed_is_told_where_next_to_nothing_would_be_left() {
    let speedup = |recoverable, window| Gain::new(recoverable, window, String::new(), String::new()).speedup_ceiling;
    assert_eq!(speedup(50_000_000, 100_000_000), Some(2.0));
    assert_eq!(speedup(90_000_000, 100_000_000), Some(10.0));
    assert_eq!(speedup(91_000_000, 100_000_000), None);
    assert_eq!(speedup(1_500_000, 2_400_000), None, "the rest is shorter than 1 ms");
}

#[test]
fn claims_on_one_account_share_it() {
    let review = two_gpus().review();
    // exposed_copy is claimed for 4.46 s, and once more by what that explains; waits add 0.9 s, launches 12 ms.
    assert_eq!(review.devices[0].recoverable_ns, 4_460_000_000 + 900_000_000 + 12_000_000);
    assert_eq!(review.devices[1].recoverable_ns, 90_000_000);
}

#[test]
fn what_was_not_judged_names_what_to_capture() {
    let review = two_gpus().review();
    let captures: Vec<_> = review.unjudged.iter().map(|group| group.capture.as_deref()).collect();
    assert_eq!(
        captures,
        [Some("nsys profile --trace=cuda --gpu-metrics-devices=all"), Some("nsys profile --trace=cuda,nvtx")]
    );
    assert_eq!((review.unjudged[1].rules[0].unknown_count, review.unjudged[1].rules[0].asked_count), (1, 2));
    assert_eq!((review.counts.rules, review.counts.rules_judged, review.counts.failed), (7, 4, 2));
    assert_eq!(review.errors[0].entity_count, 2);
}

#[test]
fn what_was_captured_is_not_asked_for_again() {
    let mut sample = healthy();
    let device = sample.facts.of_kind(EntityKind::Device).next().unwrap().0;
    sample.judge(0, device, Outcome::Unknown { missing: vec!["device.kernel_median_ns".to_owned()] });
    let group = sample.review().unjudged.pop().unwrap();
    assert_eq!((group.capture, group.missing), (None, vec!["device.kernel_median_ns".to_owned()]));
}

#[test]
fn the_parts_sum_to_the_window() {
    for device in two_gpus().review().devices {
        assert_eq!(device.parts.iter().map(|part| part.ns).sum::<i64>(), device.window_ns);
    }
}

#[test]
fn scores_are_held_against_their_targets() {
    let review = two_gpus().review();
    let meets: Vec<_> = review.devices[0].scores.iter().map(|score| score.meets).collect();
    assert_eq!(meets, [Some(false), Some(false), Some(false), Some(true)]);
    assert_eq!(review.devices[0].scores[3].source.as_deref(), Some("derived"));
    assert_eq!(review.devices[1].scores[1].meets, None, "no copies, no overlap");
    // What comes once before and once after the kernels has none to run beside.
    let with_copies = |count: i64| {
        let mut sample = two_gpus();
        let device = sample.facts.of_kind(EntityKind::Device).map(|(id, _)| id).next().unwrap();
        sample.facts.get_mut(device).set("copy_count", count);
        sample.review().devices[0].scores[1].meets
    };
    assert_eq!((with_copies(9), with_copies(10)), (None, Some(false)));
}

#[test]
fn a_scorecard_names_its_faults() {
    let parse = |text: &str| Scorecard::parse(text, "mine.toml").unwrap_err().to_string();
    let entry = "[[score]]\nid = 'x'\ntitle = 'X'\nwhy = 'so'\n";
    assert!(parse(&format!("{entry}at_least = 0.1\nmeasure = {{ fact = 'bsy_ns' }}")).contains("\"bsy_ns\""));
    assert!(parse(&format!("{entry}measure = {{ fact = 'busy_ns' }}")).contains("at_least or at_most"));
    assert!(parse(&format!("{entry}at_leest = 1\nmeasure = {{ fact = 'busy_ns' }}")).contains("at_leest"));
}

proptest! {
    #[test]
    fn the_order_is_total_and_nothing_exceeds_the_window(claims in prop::collection::vec((0usize..4, prop::option::of(0i64..30_000_000_000), 0usize..3), 0..20)) {
        let mut sample = two_gpus();
        sample.judgements.clear();
        let devices: Vec<_> = sample.facts.of_kind(EntityKind::Device).map(|(id, _)| id).collect();
        let accounts = ["exposed_copy", "idle_sync", "window"];
        for (index, (rule, claim, account)) in claims.iter().enumerate() {
            let claim = claim.map(|ns| (accounts[*account], ns));
            // A rule is asked once about an entity.
            if sample.judgements.iter().any(|judgement| (judgement.rule, judgement.entity) == (*rule, devices[index % 2])) {
                continue;
            }
            sample.judge(*rule, devices[index % 2], finding(claim, "x"));
        }
        let review = sample.review();
        for device in &review.devices {
            prop_assert!((0..=device.window_ns).contains(&device.recoverable_ns));
        }
        sample.judgements.reverse();
        let ids = |review: &Review| review.findings.iter().map(|f| (f.rule.clone(), f.gain.clone())).collect::<Vec<_>>();
        prop_assert_eq!(ids(&review), ids(&sample.review()));
    }
}

#[test]
fn a_gain_of_rounds_is_time_of_what_they_take() {
    let replayed = Replayed { change: Change::NoSync, step_ns: 1_000, expected_ns: 500, ceiling_ns: 800 };
    let gain = |unit, covered_share| {
        let repeated = Repeated { unit, steady_ns: 100_000_000, covered_share };
        Gain::replayed(&replayed, repeated, "idle".to_owned(), String::new())
    };
    let step = gain(GainUnit::Step, 1.0);
    assert_eq!((step.recoverable_ns, step.window_ns, step.share), (80_000_000, 100_000_000, 0.8));
    assert_eq!(step.weighing_share(), 0.5);
    let round = gain(GainUnit::Round, 0.4);
    assert_eq!((round.recoverable_ns, round.window_ns, round.share), (32_000_000, 100_000_000, 0.8));
    assert_eq!(round.weighing_share(), 0.2);
    assert_eq!(round.words(), "about 50 %, at most 80 % of a round, and rounds take 40 % of the window");
    assert_eq!(gain(GainUnit::Round, 0.5).words(), "about 50 %, at most 80 % of a round");
    let beside = |covered_share| {
        let gain = gain(GainUnit::Round, covered_share);
        let replayed = gain.replayed.map(|replayed| ReplayedGain { is_beside_rounds: true, ..replayed });
        Gain { replayed, ..gain }.words()
    };
    assert!(beside(0.8).ends_with("of a round, and rounds take 80 % of the window"), "{}", beside(0.8));
    assert!(beside(0.9).ends_with("of a round"), "{}", beside(0.9));
    assert!(round.speedup_ceiling.is_some_and(|ceiling| (1.47..1.48).contains(&ceiling)), "{round:?}");
    let half = round.part(0.5);
    assert_eq!((half.recoverable_ns, half.share, half.weighing_share()), (16_000_000, 0.4, 0.1));
}

#[test]
fn what_comes_after_a_finding_without_a_number_is_not_what_to_change_first() {
    let verdict = |rule: &str, certainty: &str, function: Option<&str>| {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "H200", 1_000_000_000, &[("compute_ns", 300_000_000)]);
        sample.facts.get_mut(device).set("phase_certainty", certainty);
        sample.facts.get_mut(device).set_some("before_steady_function", function);
        let before = sample.rule(rule, "Most of the time passes before", EntityKind::Device);
        sample.rules[before].severity = Some(Severity::Medium);
        let (sure, unsure) = (
            sample.rule("sync-gap", "The device goes idle in waits", EntityKind::Device),
            sample.rule("host-bound", "The device waits for host code", EntityKind::Device),
        );
        let known = sample.rule("known", "Known for sure, without a number", EntityKind::Device);
        sample.rules[known].severity = Some(Severity::Medium);
        sample.find(known, device, None, "known");
        if !rule.is_empty() {
            sample.find(before, device, None, "Before its work repeats the GPU waits");
        }
        sample.find(sure, device, Some(("idle", 200_000_000)), "waits");
        let mut likely = finding(Some(("idle", 400_000_000)), "host code");
        if let Outcome::Finding(found) = &mut likely {
            found.confidence = Confidence::Low;
        }
        sample.judge(unsure, device, likely);
        sample.review().verdict.plain()
    };
    let (before, none) = (verdict("long-set-up", "low", None), verdict("", "low", None));
    assert!(before.contains("the GPU waits. Beside that, to change first: the device goes idle in waits"), "{before}");
    assert!(none.contains("; to change first: the device goes idle in waits"), "{none}");
    // What is known to repeat comes before what occurs once, unless that has a name.
    let named = verdict("long-set-up", "high", Some("poisson_"));
    assert!(named.contains("the GPU waits. Beside that, to change first: the device goes idle in waits"), "{named}");
    let repeats = verdict("long-set-up", "high", None);
    assert!(repeats.contains("; to change first: the device goes idle in waits"), "{repeats}");
}
