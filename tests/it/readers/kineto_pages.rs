//! What reviews of traces say of what is not in them, in the words of their profiler; and what steps and host code go by.

use coldspot::facts::{EntityKind, Facts};

use super::kineto::{device, facts};
use crate::support::formats::Printer;
use crate::support::trace::Spelling::{Old, Today};
use crate::support::trace::{saving_trace, trace, with};

#[test]
fn a_trace_of_the_cpu_alone_says_so_and_how_to_record_more() {
    let text = trace(6, Today);
    let events = text.lines().filter(|line| line.contains("\"cpu_op\"")).collect::<Vec<_>>().join("\n");
    let facts = facts(format!("[{}]", events.trim_end_matches(',')));
    let page = Printer::new().markdown(&facts, "trace.json").unwrap();
    assert!(page.contains("The trace is CPU only") && page.contains("ProfilerActivity.CUDA"), "{page}");
    assert!(!page.contains("--trace"), "{page}");
}

/// The markdown of a trace whose work of a GPU is replaced by something else.
fn page_without_kernels(category: &str) -> (Facts, String) {
    let text = trace(6, Today).replace("\"kernel\"", category).replace("\"gpu_memcpy\"", "\"none\"");
    let facts = facts(text);
    let page = Printer::new().markdown(&facts, "trace.json").unwrap();
    (facts, page)
}

#[test]
fn what_an_accelerator_did_that_is_no_gpu_is_not_judged() {
    let of_another = |work: &str| {
        let text =
            trace(6, Today).replace("\"cuda_runtime\"", "\"mtia_runtime\"").replace("\"gpu_memcpy\"", "\"none\"");
        let facts = facts(text.replace("\"kernel\"", work));
        assert_eq!(facts.run().unwrap().text("other_accelerator"), Some("MTIA"));
        let page = Printer::new().markdown(&facts, "trace.json").unwrap();
        assert!(page.contains("which is no GPU") && !page.contains("CPU only"), "{page}");
        (facts, page)
    };
    let (facts, page) = of_another("\"none\"");
    assert_eq!(facts.of_kind(EntityKind::Device).count(), 0);
    assert!(page.contains("`no-gpu-work`"), "{page}");
    // Its events are counted as they stand, and no rule about work of a GPU is asked of them.
    let (facts, page) = of_another("\"mtia_ccp_events\"");
    assert_eq!(device(&facts, "kernel_count"), 6);
    assert!(
        !page.contains("| kernel |") && !page.contains("(at least") && !page.contains("could not be judged"),
        "{page}"
    );
    assert!(page.contains("**What was recorded ran on `MTIA`") && page.contains("`other-accelerator`"), "{page}");
    assert_eq!(page.matches("\n### ").count(), 1, "{page}");
    // Beside work of a GPU it changes nothing.
    let both = trace(6, Today).replacen("\"cpu_op\"", "\"mtia_runtime\"", 1);
    assert_eq!(device(&self::facts(both), "kernel_count"), 6);
}

#[test]
fn metrics_in_place_of_kernels_are_not_lost_kernels() {
    let (facts, page) = page_without_kernels("\"cuda_profiler_range\"");
    assert_eq!(facts.run().unwrap().int("kernel_metric_count"), Some(6));
    assert!(page.contains("metrics of 6 kernels or ranges") && page.contains("`profiler_metrics`"), "{page}");
    assert!(!page.contains("lost"), "{page}");
    assert_eq!(self::facts(trace(6, Today)).run().unwrap().int("kernel_metric_count"), None);
}

#[test]
fn an_operator_that_runs_on_a_gpu_alone_tells_that_one_was_used() {
    let of_cpu = |name: &str| {
        let text = trace(6, Today);
        let events = text.lines().filter(|line| line.contains("\"cpu_op\"")).collect::<Vec<_>>().join("\n");
        let facts = facts(format!("[{}]", events.replace("ProfilerStep#2", name).trim_end_matches(',')));
        let page = Printer::new().markdown(&facts, "trace.json").unwrap();
        (facts.run().unwrap().text("gpu_operator").map(str::to_owned), page)
    };
    let (operator, page) = of_cpu("aten::cudnn_convolution");
    assert_eq!(operator.as_deref(), Some("aten::cudnn_convolution"));
    assert!(page.contains("The program used a GPU") && !page.contains("is_available"), "{page}");
    // This one is asked on the CPU as well.
    let (operator, page) = of_cpu("aten::cudnn_is_acceptable");
    assert!(operator.is_none() && page.contains("torch.cuda.is_available()"), "{page}");
    let of_gpu = facts(trace(6, Today).replacen("ProfilerStep#2", "aten::cudnn_convolution", 1));
    assert_eq!(of_gpu.run().unwrap().text("gpu_operator"), None);
}

#[test]
fn what_is_said_of_a_trace_is_said_in_the_words_of_its_profiler() {
    let text = trace(60, Today);
    let no_launch = with(&text, "cudaLaunchKernel", "cudaGetDevice");
    let old = trace(60, Old).into_bytes();
    for bytes in [text.clone().into_bytes(), no_launch, old, text.as_bytes()[..text.len() / 2].to_vec()] {
        let page = Printer::new().markdown(&facts(bytes), "trace.json").unwrap();
        for word in ["NVTX range", "--trace", "--delay", "CUDA API row", "nsys export"] {
            assert!(!page.contains(word), "{word}: {page}");
        }
    }
}

#[test]
fn a_trace_without_operators_is_not_said_to_hold_them() {
    let told = |text: &str| {
        let facts = facts(text);
        let count = facts.run().and_then(|run| run.int("operator_count"));
        (count, Printer::new().markdown(&facts, "trace.json").unwrap())
    };
    let bare = trace(6, Today);
    let (count, review) = told(&bare);
    assert!(count == Some(0) && review.contains("records each call of the runtime"), "{count:?} {review}");
    let (count, review) = told(&bare.replace("ProfilerStep#3", "aten::mm"));
    assert!(count == Some(1) && review.contains("records every operator"), "{count:?} {review}");
}

#[test]
fn steps_go_by_the_number_in_their_name() {
    let numbers = |text: &str| -> Vec<i64> {
        facts(text).of_kind(EntityKind::Step).map(|(_, step)| step.int("number").unwrap()).collect()
    };
    let today = trace(6, Today);
    let later = (0..6).rev().fold(today.clone(), |text, number| {
        text.replace(&format!("ProfilerStep#{number}\""), &format!("ProfilerStep#{}\"", number + 7))
    });
    assert_eq!(numbers(&later), (7..13).collect::<Vec<_>>());
    // One name for two steps tells none of them.
    assert_eq!(numbers(&later.replace("ProfilerStep#8\"", "ProfilerStep#9\"")), (1..7).collect::<Vec<_>>());
}

#[test]
fn host_code_goes_by_what_the_program_calls() {
    let facts = facts(saving_trace(8));
    let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
    assert_eq!(device.text("idle_host_library_call"), Some("serialization.py(945): save"));
    assert!(device.int("idle_host_library_call_ns") > device.int("idle_host_range_ns"));
}
