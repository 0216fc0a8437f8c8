//! What to record next: what rules lacked, and the kernels that a profiler of single kernels should look into.

use std::collections::BTreeSet;

use super::{Review, is_of_kernels_alone};
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::rules::outcome::Severity;
use crate::source::{self, FORMAT_IDS, KERNELS_FORMAT_ID, KernelFilter, NameBase, PRINT_ALL_COUNTERS, Script};
use crate::text::shell;
use crate::timeline::Capability;

/// What to record, in the order in which it helps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collection {
    /// What to run.
    pub parts: Vec<Collected>,
    /// What else is to be known, in whole sentences.
    pub remarks: Vec<String>,
}

/// One recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// What it brings, in a few words.
    pub what: String,
    /// The rules that could not be judged without it, by id.
    pub rules: Vec<String>,
    /// The kernels that it profiles, the longest first.
    pub kernels: Vec<KernelToProfile>,
    /// The lines that record it; none where what is there has to be printed or joined in another way.
    pub script: Option<Script>,
    /// The command to run with what came of it.
    pub then: String,
}

/// A kernel that takes much of the time, and of which nothing tells what limits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelToProfile {
    /// Its name. The text is hostile.
    pub name: String,
    /// The part of the window that it takes, in thousandths.
    pub thousandths: i64,
}

/// Findings after which nothing else is worth recording: the program itself has to be recorded again.
const RECORD_AGAIN: [&str; 5] =
    ["no-gpu-work", "failed-before-kernels", "no-kernels", "events-lost", "too-little-work"];
/// What is recorded then: where the GPU has little to show, what the host does tells why.
const AGAIN: [Capability; 4] = [Capability::CudaTrace, Capability::Nvtx, Capability::OsRuntime, Capability::CpuSamples];
/// Kernels that take less of the window are left alone.
const LEAST_SHARE: f64 = 0.05;
/// Where the GPU computes for less of the window, its kernels are not what to look into first.
const LEAST_COMPUTE_SHARE: f64 = 0.5;
/// More kernels in one command take too many runs.
const MOST_KERNELS: usize = 5;
/// Longer functions are no filter that anyone types.
const LONGEST_FUNCTION: usize = 200;
/// More launches under Nsight Compute, each of which is run about forty times, take too long.
const MOST_LAUNCHES: i64 = 40;
/// Rounds of launches that are passed over: warm-up.
const SKIPPED_ROUNDS: i64 = 3;

/// What to record beside a report; `name` is that of its file, as its user wrote it.
pub fn collection(facts: &Facts, review: &Review, name: &str) -> Collection {
    let report = shell::quote(name).unwrap_or_else(|| "REPORT".to_owned());
    let mut collection = Collection::default();
    let format = facts.run().and_then(|run| run.text("format"));
    if is_of_kernels_alone(facts) {
        collection.of_counters(facts, review, &report);
    } else {
        collection.of_timeline(format, facts, review);
        collection.of_kernels(facts, &report);
    }
    collection
}

/// What to record first, where there is no report yet: with each profiler.
pub fn first_recordings() -> Collection {
    let timeline = [Capability::CudaTrace, Capability::Nvtx, Capability::OsRuntime];
    let trace = [Capability::CudaTrace, Capability::CallStacks];
    let wanted = |format: &str| match format {
        KERNELS_FORMAT_ID => ("counters of every kernel: why single kernels are slow", vec![Capability::KernelProfile]),
        "kineto" => ("a trace of a PyTorch program: a few steps of its loop", trace.to_vec()),
        _ => ("a recording of any program in time, from its start to its end", timeline.to_vec()),
    };
    let part = |format: &&str| {
        let (what, needs) = wanted(format);
        let script = source::script(format, &needs)?;
        let then = format!("coldspot review {}", script.output);
        Some(Collected { what: what.to_owned(), rules: Vec::new(), kernels: Vec::new(), script: Some(script), then })
    };
    // The whole first, then single kernels.
    let (kernels, whole): (Vec<&str>, Vec<&str>) = FORMAT_IDS.iter().partition(|format| **format == KERNELS_FORMAT_ID);
    Collection { parts: whole.iter().chain(&kernels).filter_map(part).collect(), remarks: Vec::new() }
}

impl Collection {
    /// What the report's own profiler can record, then what another one can.
    fn of_timeline(&mut self, format: Option<&str>, facts: &Facts, review: &Review) {
        let own = format.unwrap_or(FORMAT_IDS[0]);
        self.again(own, review);
        let mut needs: BTreeSet<Capability> = BTreeSet::new();
        for group in review.unjudged.iter().filter(|group| group.capture.is_some()) {
            needs.extend(group.needs.iter().filter(|needs| **needs != Capability::KernelProfile));
        }
        // What runs in graphs that were recorded as a whole no rule can ask for.
        if facts.run().and_then(|run| run.int("graph_launch_count")).is_some_and(|count| count > 0) {
            needs.insert(Capability::GraphKernels);
        }
        let formats = std::iter::once(own).chain(FORMAT_IDS.into_iter().filter(|format| *format != own));
        for format in formats.filter(|format| *format != KERNELS_FORMAT_ID) {
            let (can, cannot): (Vec<_>, Vec<_>) =
                needs.into_iter().partition(|needs| source::can_record(format, *needs));
            needs = cannot.into_iter().collect();
            let is_new = can.iter().any(|needs| *needs != Capability::Report);
            let is_told = |script: &Script| self.parts.iter().any(|known| known.script.as_ref() == Some(script));
            if let Some(script) = source::script(format, &can).filter(|script| is_new && !is_told(script)) {
                self.parts.push(Collected {
                    what: words(&can),
                    rules: rules_that_need(review, &can),
                    kernels: Vec::new(),
                    then: format!("coldspot review {}", script.output),
                    script: Some(script),
                });
            }
        }
    }

    /// The program once more, where what was recorded of it is not enough to judge.
    fn again(&mut self, own: &str, review: &Review) {
        let reasons: BTreeSet<&str> = RECORD_AGAIN
            .into_iter()
            .filter(|rule| {
                review.findings.iter().any(|finding| finding.rule == *rule && finding.severity > Severity::Info)
            })
            .collect();
        let needs = AGAIN.into_iter().filter(|needs| source::can_record(own, *needs));
        let script = source::script(own, &needs.collect::<Vec<_>>()).filter(|_| !reasons.is_empty());
        if let Some(script) = script {
            self.parts.push(Collected {
                what: "the program again, some whole steps of its work: what was recorded is not enough to judge"
                    .to_owned(),
                rules: reasons.into_iter().map(str::to_owned).collect(),
                kernels: Vec::new(),
                then: format!("coldspot review {}", script.output),
                script: Some(script),
            });
        }
    }

    /// What limits the kernels that take most of the time.
    fn of_kernels(&mut self, facts: &Facts, report: &str) {
        for (id, device) in facts.of_kind(EntityKind::Device) {
            let kernels = worth_a_look(facts, id, device);
            if kernels.is_empty() {
                continue;
            }
            let share = |name: &str| Some(device.int(name)? as f64 / device.int("window_ns")? as f64);
            if share("compute_ns").is_some_and(|share| share < LEAST_COMPUTE_SHARE) {
                self.remark("A GPU computes for less than half of the window: `coldspot review` says what comes before its kernels.");
                continue;
            }
            if device.text("name").is_some_and(|name| name.contains("AMD")) {
                self.remark("Kernels of an AMD GPU: `rocprof-compute profile` tells what limits them; coldspot does not read it yet.");
                continue;
            }
            let (can, cannot): (Vec<&Entity>, Vec<&Entity>) = kernels.into_iter().partition(|kernel| is_usable(kernel));
            if !cannot.is_empty() {
                self.remark("Some kernels have names that no command line should hold: `ncu --kernel-id` finds them by their number.");
            }
            let part = profile_of(device, &can, report);
            // Devices of one job run the same.
            let names =
                |part: &Collected| part.kernels.iter().map(|kernel| kernel.name.clone()).collect::<BTreeSet<_>>();
            if let Some(part) = part.filter(|part| self.parts.iter().all(|known| names(known) != names(part))) {
                self.parts.push(part);
            }
        }
    }

    /// What a page of Nsight Compute lacks: other counters, and the program around the kernels.
    fn of_counters(&mut self, facts: &Facts, review: &Review, report: &str) {
        let counters = review.unjudged.iter().filter(|group| !group.needs_timeline && group.capture.is_some());
        let rules = |groups: &mut dyn Iterator<Item = &super::Unjudged>| {
            groups.flat_map(|group| &group.rules).map(|rule| rule.id.clone()).collect::<BTreeSet<_>>()
        };
        let rules: Vec<String> = rules(&mut counters.clone()).into_iter().collect();
        let is_details = super::unjudged::profile_page(facts) == Some("details");
        if !rules.is_empty() {
            let script = source::script(KERNELS_FORMAT_ID, &[Capability::KernelProfile]).filter(|_| !is_details);
            self.parts.push(Collected {
                what: "the other counters of these kernels".to_owned(),
                rules,
                kernels: Vec::new(),
                then: match &script {
                    Some(script) => format!("coldspot review {}", script.output),
                    None => format!("{PRINT_ALL_COUNTERS} > kernels.csv && coldspot review kernels.csv"),
                },
                script,
            });
        }
        let timeline = review.unjudged.iter().filter(|group| group.needs_timeline);
        for group in timeline {
            let is_pytorch = facts.run().and_then(|run| run.text("framework")) == Some("pytorch");
            let format = if is_pytorch { "kineto" } else { FORMAT_IDS[0] };
            let needs = if is_pytorch { &[Capability::CudaTrace][..] } else { &group.needs[..] };
            let script = source::script(format, needs);
            let output = script.as_ref().map_or("REPORT", |script| script.output);
            self.parts.push(Collected {
                what: "the program around these kernels: how much of its time each is".to_owned(),
                rules: group.rules.iter().map(|rule| rule.id.clone()).collect(),
                kernels: Vec::new(),
                then: format!("coldspot review {output} --ncu {report}"),
                script,
            });
        }
    }

    fn remark(&mut self, sentence: &str) {
        if self.remarks.iter().all(|known| known != sentence) {
            self.remarks.push(sentence.to_owned());
        }
    }
}

/// What these are, in a list.
fn words(needs: &[Capability]) -> String {
    let words = needs.iter().filter(|needs| **needs != Capability::Report).map(|needs| needs.what());
    words.collect::<Vec<_>>().join(", ")
}

fn rules_that_need(review: &Review, needs: &[Capability]) -> Vec<String> {
    let groups = review.unjudged.iter().filter(|group| group.needs.iter().any(|own| needs.contains(own)));
    let rules: BTreeSet<&String> = groups.flat_map(|group| &group.rules).map(|rule| &rule.id).collect();
    rules.into_iter().cloned().collect()
}

/// The kernels of a device that take much of its window, that its program may change, and that were not profiled; the longest first.
fn worth_a_look<'a>(facts: &'a Facts, device_id: EntityId, device: &Entity) -> Vec<&'a Entity> {
    let window_ns = device.int("window_ns").unwrap_or(0) as f64;
    let of_device = |id: EntityId| facts.related(id, EntityKind::Device) == Some(device_id);
    let profiled: BTreeSet<EntityId> = facts
        .of_kind(EntityKind::LaunchShape)
        .filter(|(id, shape)| of_device(*id) && shape.int("profiled_launch_count").is_some())
        .filter_map(|(id, _)| facts.related(id, EntityKind::Kernel))
        .collect();
    let is_worth = |id: EntityId, kernel: &Entity| {
        let ns = kernel.int("attributed_ns").unwrap_or(0) as f64;
        of_device(id) && ns > 0.0 && ns >= LEAST_SHARE * window_ns && !profiled.contains(&id)
    };
    let is_true = |kernel: &Entity, name: &str| kernel.get(name) == Some(&true.into());
    // Products of a library are as fast as they are.
    let is_of_library = |kernel: &Entity| {
        let is_named = kernel.text("precision").is_some() || kernel.name().contains("nvjet");
        is_true(kernel, "is_matrix_product") && is_named
    };
    let is_own = |kernel: &Entity| !is_true(kernel, "is_communication") && !is_of_library(kernel);
    let kernels = facts.of_kind(EntityKind::Kernel);
    let mut kernels: Vec<&Entity> =
        kernels.filter(|(id, kernel)| is_worth(*id, kernel) && is_own(kernel)).map(|(_, kernel)| kernel).collect();
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.int("attributed_ns")));
    kernels.truncate(MOST_KERNELS);
    kernels
}

fn function_of(kernel: &Entity) -> &str {
    kernel.text("function").unwrap_or(kernel.name())
}

/// The functor that its template runs, where a pattern finds that in its whole name and a command line can hold it.
fn functor_of(kernel: &Entity) -> Option<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    kernel.text("functor").filter(|functor| functor.len() <= LONGEST_FUNCTION && functor.chars().all(is_word))
}

/// Whether a command line can hold the name of its function.
fn is_usable(kernel: &Entity) -> bool {
    let function = function_of(kernel);
    let is_fit = !function.is_empty() && function.len() <= LONGEST_FUNCTION;
    is_fit && shell::quote(function).is_some()
}

/// One round of what these kernels repeat, after a few others.
fn profile_of(device: &Entity, kernels: &[&Entity], report: &str) -> Option<Collected> {
    let launches = || kernels.iter().filter_map(|kernel| kernel.int("launch_count")).filter(|count| *count > 0);
    let all = launches().fold(0, i64::saturating_add);
    let least = launches().min()?;
    // At least 1: no kernel has fewer launches than the least.
    let round = all.saturating_add(least - 1) / least;
    // A functor tells a kernel from the others of its template.
    let base = if kernels.iter().any(|kernel| functor_of(kernel).is_some()) {
        NameBase::Demangled
    } else {
        NameBase::Function
    };
    let mut names: Vec<&str> = kernels.iter().map(|kernel| functor_of(kernel).unwrap_or(function_of(kernel))).collect();
    names.sort_unstable();
    names.dedup();
    let skip_count = if all / round > SKIPPED_ROUNDS { round.saturating_mul(SKIPPED_ROUNDS) } else { 0 };
    let filter = KernelFilter { names: &names, base, skip_count, launch_count: round.min(MOST_LAUNCHES) };
    let script = source::script_of_kernels(&filter);
    let window_ns = device.int("window_ns").filter(|ns| *ns > 0)?;
    let kernel = |kernel: &&Entity| KernelToProfile {
        name: kernel.name().to_owned(),
        thousandths: (1e3 * kernel.int("attributed_ns").unwrap_or(0) as f64 / window_ns as f64).round() as i64,
    };
    Some(Collected {
        what: "what limits the kernels that take most of the time".to_owned(),
        rules: Vec::new(),
        kernels: kernels.iter().map(kernel).collect(),
        then: format!("coldspot review {report} --ncu {}", script.output),
        script: Some(script),
    })
}
