//! What is said in text of the window of a device: what repeats in it, and what lies before and after what is judged.

use super::spans::words_of;
use crate::findings::{DeviceReview, PhaseWork, StepsOfThreads};
use crate::text::number::{duration, instant, percent};
use crate::text::plural::counted;

/// What comes after the steady state is told where it is such a part of all, and what the last steps launched of it from such a part on:
/// as the template of Markdown does.
const LEAST_AFTER_SHARE: f64 = 0.05;
const LEAST_LAUNCHED_SHARE: f64 = 0.1;

/// The window of a device, and what its work repeats.
pub(super) fn window(device: &DeviceReview) -> String {
    let mut words = duration(device.window_ns);
    if let Some(start) = device.window_start_ns {
        words.push_str(&format!(" from {}", instant(start)));
    }
    if let Some(steps) = &device.steps {
        let what = if steps.is_by_launches { "round" } else { "step" };
        words.push_str(&format!("; {}", counted(steps.count, what)));
        if let Some(name) = &steps.name {
            words.push_str(&format!(" ({})", words_of(name)));
        }
        words.push_str(&steps.of_threads.map_or_else(String::new, StepsOfThreads::words));
        // A step begins where the host enters it: its time is no time of the GPU alone.
        let what = if steps.is_by_launches { "" } else { " span" };
        words.push_str(&format!(", median{what} {}", duration(steps.median_ns)));
        if let (Some(slowest), Some(number)) = (steps.slowest_ns, steps.slowest_number) {
            words.push_str(&format!(", slowest {} (number {number})", duration(slowest)));
        }
    }
    if let Some(phase) = &device.phase {
        words.push_str(&format!("; of {} in all, the {}", duration(phase.whole_ns), phase.name()));
    }
    words.push('.');
    words.push_str(&device.phase.as_ref().map_or_else(String::new, before));
    words.push_str(&device.phase.as_ref().map_or_else(String::new, after));
    if let Some(step) = device.gain_step {
        let of = if device.steps.as_ref().is_some_and(|steps| !steps.is_by_launches) { "step" } else { "round" };
        let played = match (step.count - 1).max(1) {
            1 => "one, replayed".to_owned(),
            count => format!("the mean of {count}, replayed"),
        } + &step.of_count.map_or_else(String::new, |all| format!(", of {all}"));
        words.push_str(&format!(
            " Gains are of a {of} of {}, {played}{}.",
            duration(step.step_ns),
            step.recorded_step_ns.map_or_else(String::new, |recorded_ns| {
                format!(": {} as recorded, less a guess at what recording costs", duration(recorded_ns))
            })
        ));
        if step.is_of_graph_kernels {
            words.push_str(&format!(
                " Kernels of graphs were recorded one by one, which slows building and launching graphs: without that a {of} is shorter."
            ));
        }
        if let Some(share) = step.covered_share {
            words.push_str(&format!(
                " All such {of}s together take {} of the {}.",
                percent(share),
                duration(device.window_ns)
            ));
        }
    }
    for sentence in [&device.products, &device.work_ranges].into_iter().flatten() {
        words.push_str(&format!(" {}", words_of(sentence)));
    }
    if let Some(outside) = &device.outside {
        words.push_str(&format!(" {}", words_of(outside)));
    }
    words
}

/// What lies before a steady state, and where most of that went: it may be more than what is judged.
fn before(phase: &PhaseWork) -> String {
    let told = phase.before.iter().map(|before| {
        let parts: Vec<String> =
            before.parts.iter().map(|part| format!("{} {}", part.label, duration(part.ns))).collect();
        let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        format!("{} {}{parts}", before.name, duration(before.duration_ns))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return String::new();
    }
    let host = phase.before_host.as_ref().map_or_else(String::new, |host| format!(" {}", words_of(host)));
    format!(" Before it {}.{host}", told.join(", "))
}

/// What lies after a steady state and is not judged, where that is no small part of all.
fn after(phase: &PhaseWork) -> String {
    let tear_down_ns = phase.tear_down_ns.filter(|ns| *ns as f64 >= LEAST_AFTER_SHARE * phase.whole_ns as f64);
    let Some(tear_down_ns) = tear_down_ns.filter(|_| phase.judged == "steady") else { return String::new() };
    let is_steady = phase.name() == "steady state";
    let launched = phase.tear_down_from_steps_share.filter(|share| is_steady && *share >= LEAST_LAUNCHED_SHARE);
    let launched =
        launched.map_or_else(String::new, |share| format!("; the last steps launched {} of that work", percent(share)));
    let kernel = phase.tear_down_kernel.as_ref().map_or_else(String::new, |kernel| format!("; {}", words_of(kernel)));
    format!(" What the GPU does after it, {}, is not judged{launched}{kernel}.", duration(tear_down_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Part, PhaseBefore};
    use crate::text::spans::Sentence;

    #[test]
    fn what_lies_before_what_is_judged_is_told_with_where_it_went() {
        let part = |label, ns| Part { account: "idle", of: "idle", label, ns, share: 0.5 };
        let set_up = PhaseBefore {
            name: "set-up".to_owned(),
            duration_ns: 1_720_000_000,
            parts: vec![part("loading modules", 1_340_000_000), part("host code", 373_000_000)],
        };
        let warm_up = PhaseBefore { name: "warm-up".to_owned(), duration_ns: 5_000_000, parts: Vec::new() };
        let phase = |before| PhaseWork {
            judged: "steady".to_owned(),
            is_profiled_region: false,
            is_measured_pass: false,
            may_be_one_pass: false,
            is_marked: true,
            whole_ns: 2_000_000_000,
            before,
            before_host: None,
            tear_down_ns: None,
            tear_down_from_steps_share: None,
            tear_down_kernel: None,
        };
        let told = before(&phase(vec![set_up, warm_up]));
        assert_eq!(told, " Before it set-up 1.72 s (loading modules 1.34 s, host code 373 ms), warm-up 5 ms.");
        assert_eq!(before(&phase(Vec::new())), "");
        let host = Some(Sentence::default().own("90 % of the CPU samples of host code there lie in ").code("load"));
        let warm_up = PhaseBefore { name: "warm-up".to_owned(), duration_ns: 5_000_000, parts: Vec::new() };
        let told = before(&PhaseWork { before_host: host, ..phase(vec![warm_up]) });
        assert_eq!(told, " Before it warm-up 5 ms. 90 % of the CPU samples of host code there lie in `load`");
    }

    #[test]
    fn what_lies_after_what_is_judged_is_told_where_it_is_no_small_part() {
        let phase = |tear_down_ns, share| PhaseWork {
            judged: "steady".to_owned(),
            is_profiled_region: false,
            is_measured_pass: false,
            may_be_one_pass: false,
            is_marked: true,
            whole_ns: 1_000_000_000,
            before: Vec::new(),
            before_host: None,
            tear_down_ns: Some(tear_down_ns),
            tear_down_from_steps_share: Some(share),
            tear_down_kernel: Some(Sentence::default().own("mostly ").code("cat")),
        };
        assert_eq!(after(&phase(49_999_999, 1.0)), "");
        let told = " What the GPU does after it, 50 ms, is not judged; the last steps launched 100 % of that work; mostly `cat`.";
        assert_eq!(after(&phase(50_000_000, 1.0)), told);
        assert_eq!(after(&phase(50_000_000, 0.09)), " What the GPU does after it, 50 ms, is not judged; mostly `cat`.");
    }
}
