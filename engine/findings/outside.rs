//! What of a recording lies outside of the work of all devices: how much, and what the program did there.

use super::Finding;
use super::compiled::{compiling, is_compiling};
use super::rank::FASTER;
use crate::facts::{Entity, EntityId, FactValue, Facts};
use crate::ledger::Account;
use crate::text::number::{duration, instant, percent};
use crate::text::spans::Sentence;
use crate::timeline::api::{MemoryCall, memory_call};

/// Where the work covers this share of the recording, there is nothing to say.
const NEARLY_ALL: f64 = 0.9;
/// What takes at least this share of the time outside is named.
const NAMED_SHARE: f64 = 0.1;
/// From this share of the recording on, what lies outside comes before a first finding that gains less than `LITTLE` of the recording.
const MOST: f64 = 0.5;
const LITTLE: f64 = 0.05;
/// The same where so many times what it gains has a name there, in next to all of the recording.
const MANY_TIMES: f64 = 5.0;
/// The same where work repeats, and no finding tells what to look at there.
const NEXT_TO_ALL: f64 = 0.8;

/// How the call ends from which on a thread records a graph: the time is that of what it records.
const BEGINS_RECORDING: &str = "StreamBeginCapture";
/// How a sentence ends that tells what is to be looked at first.
const LOOK_FIRST: &str = ": look there first. ";
/// What is to be looked at first holds at least this part of the time outside.
const MAIN_SHARE: f64 = 0.4;
/// A program that repeats its work this often does more of it in a longer run, and its start-up no more.
const REPEATED: i64 = 5;
/// Less than this, of what nothing names, is what loading a program, setting CUDA up and ending it take.
const START_UP_NS: i64 = 250_000_000;
/// What a program that imports a framework takes to free what that holds, and to end.
const FRAMEWORK_END_NS: i64 = 1_000_000_000;
/// The same as `START_UP_NS`, of what lies before steps that repeat, where the program imports one of these.
const IMPORTED: [(&str, i64); 6] = [
    ("pytorch", 10_000_000_000),
    ("jax", 10_000_000_000),
    ("tensorflow", 10_000_000_000),
    ("julia", 10_000_000_000),
    ("cupy", 3_000_000_000),
    ("numba", 3_000_000_000),
];

/// What lies outside of the work of all devices, with what the launching thread of one of them does there.
struct Outside<'facts> {
    device: &'facts Entity,
    recorded_ns: i64,
    before_ns: i64,
    after_ns: i64,
    /// What the profiler takes of it.
    profiler_ns: i64,
    /// What of it lies before or after the life of the process.
    absent_ns: i64,
    device_count: i64,
    /// Before the first work less than this of what nothing names is an import.
    import_ns: i64,
    /// Whether it is a trace of a framework, whose profiler records no calls of the OS.
    is_trace: bool,
    /// What the runtime of the GPUs is called.
    runtime: &'static str,
    /// Whether waits of the thread would show as host code, as neither OS calls nor its time on a CPU was recorded.
    may_wait: bool,
}

/// A sentence on it; `None` where the work covers nearly all, where a part of it was asked for, and where nothing tells.
pub(super) fn outside(facts: &Facts, device: EntityId) -> Option<Sentence> {
    let outside = Outside::of(facts, device)?;
    let work_ns = outside.recorded_ns - outside.ns();
    ((work_ns as f64) < NEARLY_ALL * outside.recorded_ns as f64).then(|| outside.told())
}

/// The same in short, where it is more than the first finding is about; `device` is that finding's. It says that this is to be looked at first
/// where that finding tells what to look at there.
pub(super) fn outside_first(
    facts: &Facts,
    device: EntityId,
    first: Option<&Finding>,
    is_found: bool,
) -> Option<Sentence> {
    let outside = Outside::of(facts, device)?;
    let gain_ns = match first {
        Some(finding) if finding.looks_inside() => {
            FASTER * outside.device.int(Account::Compute.fact()).unwrap_or(0) as f64
        }
        Some(finding) => finding.gain.as_ref().map_or(0, |gain| gain.recoverable_ns) as f64,
        None => 0.0,
    };
    let recorded_ns = outside.own_recorded_ns() as f64;
    let (words, main_ns) = outside.in_short();
    let leads = main_ns.is_some();
    let leads_list = is_found && first.is_none_or(Finding::looks_outside);
    let order = |leads| if leads && leads_list { LOOK_FIRST } else { ". " };
    let own_ns = outside.own_ns() as f64;
    // A process does that once for each buffer, whatever the GPU repeats.
    if outside
        .pins()
        .is_some_and(|ns| main_ns == Some(ns) && ns as f64 >= MOST * recorded_ns && ns as f64 >= 2.0 * gain_ns)
    {
        return Some(words.own(order(true)));
    }
    // Whatever the thread does in it.
    if outside.long_pause_ns().is_some() {
        return Some(words.own(order(leads)));
    }
    let is_first = own_ns > 0.0 && own_ns >= MOST * recorded_ns && is_little(gain_ns, recorded_ns, own_ns, main_ns);
    let is_repeated = outside.device.int("repeat_count").is_some_and(|count| count >= REPEATED);
    // Work that comes again and again is the program's, unless next to all of the run lies outside of it.
    let is_most = is_found || own_ns >= NEXT_TO_ALL * recorded_ns;
    (is_first && (leads && is_most || !is_repeated)).then(|| words.own(order(leads)))
}

fn is_pin(call: &str) -> bool {
    matches!(memory_call(call), MemoryCall::HostPin | MemoryCall::HostUnpin)
}

/// Whether what the first finding gains is little of the recording, or of what is to be looked at first where that is next to all.
fn is_little(gain_ns: f64, recorded_ns: f64, own_ns: f64, main_ns: Option<i64>) -> bool {
    let is_many = |ns: i64| ns as f64 >= MANY_TIMES * gain_ns;
    gain_ns < LITTLE * recorded_ns || own_ns >= NEXT_TO_ALL * recorded_ns && main_ns.is_some_and(is_many)
}

/// The same where there is too little work to judge: what fills most of the time outside, by a function or a range, or next to all of it.
pub(super) fn outside_named(facts: &Facts, device: EntityId) -> Option<Sentence> {
    let outside = Outside::of(facts, device)?;
    let host_ns = outside.named_ns("outside_host_ns");
    let sampled = outside.function().or_else(|| outside.module()).and(host_ns);
    let is = |share: f64| outside.own_ns() as f64 >= share * outside.own_recorded_ns() as f64;
    let is_named = is(MOST) && (outside.range().is_some() || sampled.is_some());
    let is_long = is(NEARLY_ALL) && host_ns.is_some_and(|ns| ns >= START_UP_NS);
    (is_named || is_long).then(|| outside.in_short().0.own("."))
}

impl<'facts> Outside<'facts> {
    fn of(facts: &'facts Facts, device: EntityId) -> Option<Self> {
        let (run, device) = (facts.run()?, facts.get(device));
        let (before_ns, after_ns) = (device.int("outside_before_ns")?, device.int("outside_after_ns")?);
        let is_narrowed = run.get("is_window_narrowed") == Some(&FactValue::Bool(true));
        let recorded_ns = run.int("duration_ns").filter(|ns| *ns > 0 && !is_narrowed)?;
        let device_count = run.int("device_count").unwrap_or(1);
        let untraced_ns = device.int("outside_untraced_ns").unwrap_or(0);
        let profiler_ns = device.int("outside_profiler_ns").unwrap_or(0).saturating_add(untraced_ns);
        let is_stepped = device.int("step_count").is_some_and(|count| count >= REPEATED);
        let framework = run.text("framework").filter(|_| is_stepped);
        let import_ns = IMPORTED.iter().find(|(name, _)| Some(*name) == framework).map_or(0, |(_, ns)| *ns);
        let lacks = |fact: &str| device.get(fact) == Some(&FactValue::Bool(false));
        let may_wait = lacks("os_runtime_captured") && lacks("scheduler_captured");
        let is_trace = run.text("format") == Some("kineto");
        let runtime = if run.text("gpu_vendor") == Some("amd") { "HIP" } else { "CUDA" };
        let outside = Self {
            device,
            recorded_ns,
            before_ns,
            after_ns,
            profiler_ns,
            absent_ns: device.int("outside_absent_ns").unwrap_or(0),
            device_count,
            import_ns,
            is_trace,
            runtime,
            may_wait,
        };
        // What is not told of is not taken off either.
        let told_ns = |ns: i64| if outside.takes(ns) { ns } else { 0 };
        let (profiler_ns, absent_ns) = (told_ns(profiler_ns), told_ns(outside.absent_ns));
        Some(Self { profiler_ns, absent_ns, ..outside })
    }

    fn ns(&self) -> i64 {
        self.before_ns.saturating_add(self.after_ns)
    }

    /// Whether something takes a good part of it.
    fn takes(&self, ns: i64) -> bool {
        ns > 0 && ns as f64 >= NAMED_SHARE * self.ns() as f64
    }

    /// The same without what the profiler takes of it, and without what its process did not live.
    fn own_ns(&self) -> i64 {
        self.ns().saturating_sub(self.profiler_ns).saturating_sub(self.absent_ns).max(0)
    }

    /// What was recorded without those.
    fn own_recorded_ns(&self) -> i64 {
        self.recorded_ns.saturating_sub(self.profiler_ns).saturating_sub(self.absent_ns)
    }

    /// The same where that is a good part of all of it, the profiler's share and what was not recorded among it.
    fn told_ns(&self, fact: &str) -> Option<i64> {
        self.named_ns(fact).filter(|ns| *ns as f64 >= NAMED_SHARE * self.ns() as f64)
    }

    /// Whether it is no longer than loading a program and what it imports, setting CUDA up and ending take.
    fn is_short(&self) -> bool {
        let after_ns = self.own_ns().min(self.after_ns);
        self.own_ns() < START_UP_NS || self.own_ns() - after_ns < self.import_ns && after_ns < FRAMEWORK_END_NS
    }

    /// Whether a pause lies where nothing of the host was recorded.
    fn is_before_record(&self) -> bool {
        self.device.get("is_pause_before_record") == Some(&FactValue::Bool(true))
    }

    /// The time in something, by its fact, where that is a good part.
    fn named_ns(&self, fact: &str) -> Option<i64> {
        self.device.int(fact).filter(|ns| *ns > 0 && *ns as f64 >= NAMED_SHARE * self.own_ns() as f64)
    }

    /// Whether the time of the thread that called CUDA first is told, in place of the launching one's.
    fn is_of_first_caller(&self) -> bool {
        self.device.get("is_outside_of_first_caller") == Some(&FactValue::Bool(true))
    }

    /// What was not recorded of the thread, beside the start and the end of the profiler, where that is a good part.
    fn unknown_ns(&self) -> Option<i64> {
        let untraced_ns = self.device.int("outside_untraced_ns").unwrap_or(0);
        let ns = self.device.int("outside_unknown_ns")?.saturating_sub(untraced_ns);
        (ns > 0 && ns as f64 >= NAMED_SHARE * self.own_ns() as f64).then_some(ns)
    }

    /// A pause of the GPU that is most of the recording, of which the host was recorded.
    fn long_pause_ns(&self) -> Option<i64> {
        let is_long = |ns: &i64| *ns as f64 >= MOST * self.recorded_ns as f64;
        self.device.int("pause_ns").filter(|ns| is_long(ns) && !self.is_before_record())
    }

    /// Whose time there is told.
    fn thread(&self) -> String {
        if self.is_of_first_caller() {
            format!("thread that called {} first", self.runtime)
        } else {
            "launching thread".to_owned()
        }
    }

    /// A call and the time in it, by their facts.
    fn call(&self, name: &str, time: &str) -> Option<(&'facts str, i64)> {
        Some((self.device.text(name)?, self.named_ns(time)?))
    }

    /// How long calls lock pages of the host or free such memory, where that is most of it.
    fn pins(&self) -> Option<i64> {
        let is_named = self.device.text("outside_call").is_some_and(is_pin) && !self.does_call_set_up();
        self.device.int("outside_pin_ns").filter(|ns| is_named && *ns as f64 >= 0.5 * self.own_ns() as f64)
    }

    /// What gives compiling away, and how long it takes: where that is a good part, or as long as the work. A build takes it away.
    fn compile(&self) -> Option<(&'facts str, i64)> {
        let work_ns = self.recorded_ns.saturating_sub(self.ns());
        let ns = self.device.int("outside_compile_ns").filter(|ns| *ns > 0)?;
        let is_told = ns >= work_ns || ns as f64 >= NAMED_SHARE * self.own_ns() as f64;
        is_told.then_some((self.device.text("outside_compile_evidence")?, ns))
    }

    /// A range and the time in it. More than all that is told of would be no part of that.
    fn range(&self) -> Option<(&'facts str, i64)> {
        self.call("outside_range", "outside_range_ns").filter(|(_, ns)| *ns <= self.own_ns())
    }

    /// A function, or a file, that holds much of its host code, with the share of the CPU samples.
    fn sampled(&self, name: &str, share: &str) -> Option<(&'facts str, f64)> {
        Some((self.device.text(name)?, self.device.number(share)?))
    }

    fn function(&self) -> Option<(&'facts str, f64)> {
        self.sampled("outside_function", "outside_function_share")
    }

    fn module(&self) -> Option<(&'facts str, f64)> {
        self.sampled("outside_module", "outside_module_share")
    }

    /// With who calls the function that was named last.
    fn called(&self, words: Sentence) -> Sentence {
        match self.device.text("outside_function_caller") {
            Some(caller) => words.own(", called by ").code(caller),
            None => words,
        }
    }

    /// What its time outside of calls is, with what CPU samples tell of it.
    fn host_code(&self) -> Sentence {
        let of_module = if self.device.get("is_outside_module_program") == Some(&FactValue::Bool(true)) {
            "the program's own binary "
        } else {
            ""
        };
        let words = Sentence::default();
        match (self.module(), self.function()) {
            (Some((module, share)), function) => {
                let words = words.own(&format!("host code with {} of its CPU samples in {of_module}", percent(share)));
                let words = words.code(module);
                match function {
                    Some((function, share)) => {
                        self.called(words.own(&format!(" ({} in ", percent(share))).code(function)).own(")")
                    }
                    None => words,
                }
            }
            (None, Some((function, share))) => {
                let words = words.own(&format!("host code with {} of its CPU samples in ", percent(share)));
                self.called(words.code(function))
            }
            (None, None) if self.may_wait && self.is_trace => words.own(&format!("no {} call", self.runtime)),
            (None, None) if self.may_wait => {
                words.own(&format!("no {} call (calls of the OS were not recorded)", self.runtime))
            }
            (None, None) => words.own("host code"),
        }
    }

    fn told(&self) -> Sentence {
        let (recorded, before) = (duration(self.recorded_ns), duration(self.before_ns));
        let after = if self.after_ns > 0 { duration(self.after_ns) } else { "none".to_owned() };
        let words = match (self.device.int("pause_ns"), self.device.int("pause_start_ns")) {
            (Some(pause_ns), Some(start_ns)) => format!(
                "Events span {recorded}: {before} before this{}; {} of that are one pause of the GPU from {}{}",
                if self.after_ns > 0 { format!(", {after} after it") } else { String::new() },
                duration(pause_ns),
                instant(start_ns),
                if self.is_before_record() { ", and nothing of the host was recorded before its end" } else { "" }
            ),
            _ if self.device_count > 1 => {
                format!("Events span {recorded}: {before} before the first work of any GPU, {after} after the last")
            }
            _ => format!("Events span {recorded}: {before} before the GPU's first work, {after} after its last"),
        };
        let pages = self.device.int("last_pages_ns").map_or_else(String::new, |ns| {
            format!(
                ", {} of that while the host still touches unified memory, whose pages move back to it",
                duration(ns)
            )
        });
        let queued = self.device.int("outside_queued_ns").map_or_else(String::new, |ns| {
            format!("; for {} of that its first recorded work had been launched, and waited", duration(ns))
        });
        let mut words = Sentence::default().own(&words).own(&pages).own(&queued).own(".");
        let parts = self.parts();
        let begin = match self.is_of_first_caller() {
            true => format!(" Of the {}, there: ", self.thread()),
            false => " Of the launching thread there: ".to_owned(),
        };
        for (index, part) in parts.iter().enumerate() {
            words = words.own(if index == 0 { &begin } else { ", " }).sentence(part);
        }
        // A range holds calls and host code: it is no part beside them.
        match self.range() {
            Some((range, ns)) if parts.is_empty() => {
                words.own(&begin).own(&format!("{} in the range ", duration(ns))).code(range).own(".")
            }
            Some((range, ns)) => {
                words.own("; the range ").code(range).own(&format!(" holds {} of all that.", duration(ns)))
            }
            None if parts.is_empty() => words,
            None => words.own("."),
        }
    }

    /// What its time goes into, each with how much.
    fn parts(&self) -> Vec<Sentence> {
        let mut parts = Vec::new();
        if let Some(ns) = self.told_ns("outside_host_ns") {
            parts.push(Sentence::default().own(&format!("{} in ", duration(ns))).sentence(&self.host_code()));
        }
        let takes_profiler = self.device.int("outside_profiler_ns").is_some_and(|ns| ns > 0);
        if takes_profiler && self.takes(self.profiler_ns) && !self.is_before_record() {
            parts.push(Sentence::default().own(&format!("{} that the profiler takes", duration(self.profiler_ns))));
        }
        if let Some(ns) = self.told_ns("outside_cuda_init_ns") {
            parts.push(Sentence::default().own(&format!("{} in which {} starts", duration(ns), self.runtime)));
        }
        if let Some(ns) = self.told_ns("outside_off_cpu_ns") {
            parts.push(Sentence::default().own(&format!("{} off the CPU in no recorded call", duration(ns))));
        }
        let is_told = |(_, ns): &(&str, i64)| *ns as f64 >= NAMED_SHARE * self.ns() as f64;
        let blocked = self.call("outside_blocked_call", "outside_blocked_call_ns").filter(is_told);
        let called = self.call("outside_call", "outside_call_ns").filter(is_told);
        let called = called.filter(|(call, _)| !is_compiling(self.device, call));
        if let Some((call, ns)) = blocked {
            parts.push(Sentence::default().own(&format!("{} in ", duration(ns))).code(call));
        }
        if let Some((call, ns)) = called {
            parts.push(Sentence::default().own(&format!("{} in ", duration(ns))).sentence(&self.cuda_call(call)));
        }
        let second = self.call("outside_second_call", "outside_second_call_ns").filter(is_told);
        let second = second.filter(|(call, _)| called.is_some() && !is_compiling(self.device, call));
        if let Some((call, ns)) = second {
            parts.push(Sentence::default().own(&format!("{} in ", duration(ns))).code(call));
        }
        if let Some((evidence, ns)) = self.compile() {
            parts.push(
                Sentence::default().own(&format!("{} in ", duration(ns))).sentence(&compiling(self.device, evidence)),
            );
        }
        let unknown_ns = self.unknown_ns().filter(|ns| *ns as f64 >= NAMED_SHARE * self.ns() as f64);
        if let Some(ns) = unknown_ns.filter(|_| !self.is_before_record()) {
            parts.push(Sentence::default().own(&format!("{} that were not recorded", duration(ns))));
        }
        if self.takes(self.absent_ns) {
            let words = format!("{} in which its process did not run", duration(self.absent_ns));
            parts.push(Sentence::default().own(&words));
        }
        parts
    }

    /// A call of CUDA that takes much. One that sets CUDA up does so, whatever it is called.
    fn cuda_call(&self, call: &str) -> Sentence {
        let words = Sentence::default().code(call);
        if call.ends_with(BEGINS_RECORDING) {
            return Sentence::default().own("recording a graph (from ").code(call).own(" on)");
        }
        match memory_call(call) {
            _ if !self.does_call_set_up() && self.does_call_load() => {
                words.own(" (the first launch, which loads code)")
            }
            _ if !self.does_call_set_up() => words,
            MemoryCall::HostPin => {
                words.own(&format!(" (which sets {} up, and locks pages of the host)", self.runtime))
            }
            _ => words.own(&format!(" (which sets {} up)", self.runtime)),
        }
    }

    /// Whether the call that takes most sets CUDA up.
    fn does_call_set_up(&self) -> bool {
        self.device.get("does_outside_call_set_up") == Some(&FactValue::Bool(true))
    }

    /// Whether the call that takes most is the first launch of its thread, for most of that time.
    fn does_call_load(&self) -> bool {
        self.device.get("does_outside_call_load") == Some(&FactValue::Bool(true))
    }

    /// What holds it, as far as the recording tells; and how long that takes where it is to be looked at first.
    fn in_short(&self) -> (Sentence, Option<i64>) {
        let place = match self.device.int("pause_ns") {
            Some(pause_ns) => {
                format!("outside of the work judged here, {} in one pause of the GPU", duration(pause_ns))
            }
            None if self.device_count > 1 => "outside of the work of all GPUs".to_owned(),
            None => "outside of the GPU's work".to_owned(),
        };
        let own_recorded_ns = self.own_recorded_ns();
        let share = percent(self.own_ns() as f64 / own_recorded_ns.max(1) as f64);
        let beside = match (self.takes(self.profiler_ns), self.takes(self.absent_ns)) {
            (true, true) => " while the process ran, beside the profiler's own work,",
            (true, false) => " beside the profiler's own work",
            (false, true) => " while the process ran",
            (false, false) => "",
        };
        let words = format!("{share} of the {} that were recorded{beside} lie {place}", duration(own_recorded_ns));
        let words = Sentence::default().own(&words);
        let host = self.named_ns("outside_host_ns");
        let blocked = self.call("outside_blocked_call", "outside_blocked_call_ns");
        let waits = blocked.is_some_and(|(_, ns)| host.is_none_or(|host| host < ns));
        let range = self.range();
        let is_start_up = self.is_short() && range.is_none() && self.function().is_none();
        let call = self.call("outside_call", "outside_call_ns");
        // A range in which CUDA is set up holds no work of its own.
        let range = range.filter(|(_, ns)| call.is_none_or(|(_, in_call)| 2 * in_call <= *ns));
        let of_it = |ns: i64, what: &str| words.clone().own(&format!(", {} of it in {what}", duration(ns)));
        let pins = |ns: i64| {
            let words = of_it(ns, "").code(self.device.text("outside_call").unwrap_or_default());
            let second = self.call("outside_second_call", "outside_second_call_ns").filter(|(call, _)| is_pin(call));
            let words = second.into_iter().fold(words, |words, (call, _)| words.own(" and ").code(call));
            words.own(" for page-locked memory of the host")
        };
        let (words, main_ns) = match (range, blocked.filter(|_| waits), host, call) {
            (Some((range, ns)), ..) => (of_it(ns, "the range ").code(range), Some(ns)),
            _ if let Some(ns) = self.pins() => (pins(ns), Some(ns)),
            (_, Some((call, ns)), ..) => (of_it(ns, "").code(call), Some(ns)),
            (_, _, Some(host), call) if call.is_none_or(|(_, ns)| ns <= host) => {
                (of_it(host, "").sentence(&self.host_code()), Some(host))
            }
            (.., Some((call, ns))) if memory_call(call) == MemoryCall::HostPin && !self.does_call_set_up() => {
                (of_it(ns, "").code(call).own(", which locks pages of the host"), Some(ns))
            }
            // That is start-up: nothing to look at first.
            (.., Some((call, ns))) if is_compiling(self.device, call) => {
                (of_it(ns, "").sentence(&compiling(self.device, call)), None)
            }
            (.., Some((call, ns))) => (of_it(ns, "").sentence(&self.cuda_call(call)), None),
            _ if let Some(ns) = self.named_ns("outside_off_cpu_ns") => {
                (of_it(ns, &format!("which the {} is off the CPU, in no recorded call", self.thread())), None)
            }
            _ if self.unknown_ns().is_some() => {
                (words.own(&format!("; what the {} does there was not recorded", self.thread())), self.long_pause_ns())
            }
            _ => (words, None),
        };
        // Too short to be more than start-up, or the first work of a framework: nothing to look at first.
        let main_ns = main_ns.filter(|_| !is_start_up);
        (words, main_ns.filter(|ns| *ns as f64 >= MAIN_SHARE * self.own_ns() as f64))
    }
}

#[cfg(test)]
#[path = "outside_tests.rs"]
mod tests;
