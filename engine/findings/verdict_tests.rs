use crate::facts::EntityKind;
use crate::findings::samples::Sample;
use crate::rules::outcome::{Confidence, Outcome, Severity};

#[test]
fn the_kernel_that_takes_most_is_named_beside_what_can_be_gained() {
    let verdict = |kernel_ns: i64| {
        let mut sample = Sample::default();
        let run = sample.run();
        let accounts = [("compute_ns", 700_000_000), ("exposed_copy_ns", 200_000_000)];
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &accounts);
        let copies = sample.rule("exposed-copy", "The GPU waits for copies", EntityKind::Device);
        sample.find(copies, device, Some(("exposed_copy", 170_000_000)), "copies run alone");
        let inside = sample.rule("dominant-kernel", "Look inside the kernel", EntityKind::Kernel);
        let kernel = sample.facts.add(EntityKind::Kernel, "reduce", &[device, run]);
        sample.facts.get_mut(kernel).set("attributed_ns", kernel_ns);
        sample.find(inside, kernel, None, "reduce takes most");
        if let Some(Outcome::Finding(found)) = sample.judgements.last_mut().map(|judgement| &mut judgement.outcome) {
            found.severity = Some(Severity::Low);
        }
        sample.review().verdict.plain()
    };
    assert!(verdict(500_000_000).ends_with("(up to 170 ms, 17 %). reduce takes most."), "{}", verdict(500_000_000));
    assert!(verdict(499_999_999).ends_with("(up to 170 ms, 17 %)."), "{}", verdict(499_999_999));
}

#[test]
fn what_tells_the_time_before_comes_first_in_the_verdict_where_it_does_in_the_list() {
    let mut sample = Sample::default();
    let run = sample.run();
    let device = sample.device(run, 0, "NVIDIA H200", 20_000_000, &[("compute_ns", 10_000_000)]);
    let copies = sample.rule("pageable-copy", "Copies wait", EntityKind::Device);
    sample.find(copies, device, Some(("idle", 4_000_000)), "copies");
    for other in ["short-gpu-window", "first-batch"] {
        let rule = sample.rule(other, other, EntityKind::Device);
        sample.rules[rule].severity = Some(Severity::Medium);
        sample.find(rule, device, None, &format!("What {other} tells"));
    }
    let verdict = sample.review().verdict.plain();
    assert!(verdict.starts_with("What first-batch tells. GPU 0"), "{verdict}");
    assert_eq!(verdict.matches("first-batch").count(), 1, "{verdict}");
}

#[test]
fn the_verdict_begins_with_what_the_list_does_though_it_has_no_number() {
    let verdict = |gain_ns: i64| {
        let mut sample = Sample::default();
        let run = sample.run();
        let accounts = [("compute_ns", 900_000_000), ("exposed_copy_ns", 90_000_000)];
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &accounts);
        let optimizer = sample.rule("optimizer-dominates", "The optimizer takes much", EntityKind::Device);
        sample.rules[optimizer].severity = Some(Severity::Medium);
        sample.find(optimizer, device, None, "Kernels of Adam take most");
        let copies = sample.rule("exposed-copy", "The GPU waits for copies", EntityKind::Device);
        sample.find(copies, device, Some(("exposed_copy", gain_ns)), "copies run alone");
        if let Some(Outcome::Finding(found)) = sample.judgements.last_mut().map(|judgement| &mut judgement.outcome) {
            found.confidence = Confidence::Low;
        }
        sample.review().verdict.plain()
    };
    let first = "GPU 0 (NVIDIA H200) computes 90 % of its 1 s window. Kernels of Adam take most.";
    assert_eq!(verdict(20_000_000), first);
    let beside = " Beside that, most to gain: the GPU waits for copies (up to 90 ms, 9 %).";
    assert_eq!(verdict(90_000_000), format!("{first}{beside}"));
}
