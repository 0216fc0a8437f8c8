//! Every fact of the catalogue is set: by a scenario, or by a report that reaches the limits.

use std::collections::BTreeSet;
use std::fmt::Write;

use coldspot::analysis::Reading;
use coldspot::facts::{EntityKind, Facts, catalogue};
use coldspot::ledger::Account;
use coldspot::limits::MAX_THREAD_COUNT;
use coldspot::source::{Limits, ReadOptions};
use rusqlite::Connection;

use crate::readers::collective_sizes::gathered as gathered_units;
use crate::readers::kineto_held::{broadcasts, copies_within, zooming};
use crate::readers::kineto_operators::{asked_copies, filled, gathered, loops, made_again, pieces};
use crate::readers::kineto_recomputed::of_several_losses;
use crate::readers::ncu::with_constants;
use crate::readers::ncu_limits::with_atomics;
use crate::readers::reduced_after::reduced_by_hand;
use crate::readers::reduced_again::reduced_each_pass;
use crate::readers::unused_gradients::frozen;
use crate::readers::{self, host_turns, inside_calls, kineto, turns};
use crate::replays::along::{choices, matrices, sorting};
use crate::replays::factorized::factorized;
use crate::replays::typical::of_two_sizes;
use crate::support::analysis::{facts, facts_of, try_timeline};
use crate::support::{Scenario, SchemaVersion, damage, fixture, heavy, kernels, scenario_names, temp, trace};

/// More kernels than get facts of their own, more ranges inside each other than are followed, and more processes than get
/// facts of their own.
fn crowd() -> Facts {
    let mut text = "about = \"A crowd.\"\n[[gpu]]\nid = 0\n[kernel]\n".to_owned();
    for kernel in 0..1_001 {
        writeln!(text, "k{kernel} = {{ run_us = 1, grid = [1, 1, 1], block = [32, 1, 1] }}").unwrap();
    }
    // One launch shape more than there are kernels.
    text.push_str("wide = { name = \"k0\", run_us = 1, grid = [2, 1, 1], block = [32, 1, 1] }\n");
    for process in 0..1_001 {
        writeln!(text, "[[process]]\npid = {}\nname = \"worker\"", 100 + process).unwrap();
        let start = 10_000 + 10 * process;
        writeln!(
            text,
            "[[exact]]\nwhat = \"call\"\nname = \"cudaFree\"\nprocess = {process}\nstart_ns = {start}\nend_ns = {}",
            start + 5
        )
        .unwrap();
    }
    for depth in 0..201 {
        writeln!(text, "[[exact]]\nwhat = \"range\"\nname = \"deeper\"\nstart_ns = {depth}\nend_ns = 9_000_000")
            .unwrap();
    }
    for kernel in 0..1_002 {
        let named = if kernel == 1_001 { "wide".to_owned() } else { format!("k{kernel}") };
        let (call, start) = (100_000 + 3_000 * kernel, 101_000 + 3_000 * kernel);
        for (what, name, start, end) in
            [("call", "cudaLaunchKernel", call, call + 900), ("kernel", &named, start, start + 500)]
        {
            writeln!(
                text,
                "[[exact]]\nwhat = \"{what}\"\nname = \"{name}\"\nstart_ns = {start}\nend_ns = {end}\ncorrelation = {}",
                kernel + 1
            )
            .unwrap();
        }
    }
    let folder = temp::folder();
    let path = folder.path().join("crowd.sqlite");
    Scenario::parse(&text).write(SchemaVersion::Nsys2025, &path);
    facts(&path)
}

/// More threads than are told apart.
fn throng() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("throng.sqlite");
    heavy::write(&path, 5, &[heavy::KERNELS, heavy::LAUNCHES]);
    let ranges = format!(
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {})
         INSERT INTO NVTX_EVENTS SELECT n, n + 9, {} + n, 59, 'r', NULL, 0 FROM c;",
        MAX_THREAD_COUNT + 1,
        heavy::PID
    );
    Connection::open(&path).unwrap().execute_batch(&ranges).unwrap();
    facts(&path)
}

/// A report of which some rows, some names and the ends of names are left out.
fn cut_short() -> Facts {
    let limits = Limits { rows: 100, name_bytes: 12, names: 5, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    facts_of(&try_timeline(&fixture("training-step", SchemaVersion::Nsys2025), &options).unwrap())
}

/// Kernels that Nsight Compute profiled, on a page that does not tell how long one of them took.
fn untimed() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("raw.csv");
    std::fs::write(&path, kernels::transpose().replace("\"1.055328\"", "\"n/a\"")).unwrap();
    Reading::default().facts(&path).unwrap()
}

/// The same of a GPU whose counters could not be read.
fn uncounted() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("details.csv");
    std::fs::write(&path, kernels::uncounted()).unwrap();
    Reading::default().facts(&path).unwrap()
}

/// A recording with a page of Nsight Compute that is cut.
fn profiled_in_part() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("raw.csv");
    let whole = kernels::transpose();
    std::fs::write(&path, whole.clone() + &whole[..whole.len() - 5]).unwrap();
    let report = fixture("tiny-kernels", SchemaVersion::Nsys2025);
    Reading { profiles: vec![path], ..Reading::default() }.facts(&report).unwrap()
}

/// An export of more GPUs than are told apart.
fn on_many_gpus() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("gpus.sqlite");
    heavy::write(&path, 80, &[&heavy::KERNELS.replace("PID, 0,", "PID, n % 40,"), heavy::LAUNCHES]);
    facts(&path)
}

/// The same, with more rows of the host than are read for each GPU.
fn on_many_gpus_in_sums() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("gpus.sqlite");
    heavy::write(&path, 80, &[&heavy::KERNELS.replace("PID, 0,", "PID, n % 20,"), heavy::LAUNCHES]);
    let options = ReadOptions { limits: Limits { host_rows: 1, ..Limits::default() }, ..ReadOptions::default() };
    facts_of(&try_timeline(&path, &options).unwrap())
}

/// Kernels that Nsight Compute profiled: both of its pages.
fn profiled() -> Facts {
    let folder = temp::folder();
    let (path, details) = (folder.path().join("raw.csv"), folder.path().join("details.csv"));
    std::fs::write(&path, kernels::transpose()).unwrap();
    std::fs::write(&details, kernels::details()).unwrap();
    Reading { profiles: vec![details], ..Reading::default() }.facts(&path).unwrap()
}

/// A trace of the PyTorch Profiler with all that it can hold.
fn traced() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, trace::framed_trace(8)).unwrap();
    facts(&path)
}

/// A trace whose backward pass computes the forward pass again.
fn checkpointed() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, trace::checkpointed_trace(4, "AddmmBackward0", trace::BLOCK)).unwrap();
    facts(&path)
}

/// A trace in which the last collective, of few bytes, waits for another rank.
fn waiting() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    let text = trace::framed_trace(8).replace("\"In msg nelems\": 1048576", "\"In msg nelems\": 16");
    std::fs::write(&path, trace::with(&text, "\"ts\": 8770, \"dur\": 21", "\"ts\": 8770, \"dur\": 1500")).unwrap();
    facts(&path)
}

/// A trace of some text.
fn of_trace(text: &str) -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, text).unwrap();
    facts(&path)
}

/// A trace without work of the GPU, whose driver is newer than what recorded it.
const NEWER_DRIVER: &str = r#"{"cuda_runtime_version": 12010, "cuda_driver_version": 13000, "traceEvents": [
    {"ph": "X", "pid": 1, "tid": 1, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 10, "dur": 5,
     "args": {"correlation": 1}}]}"#;

/// A trace that is a list without an end.
fn open_ended() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    let text = trace::framed_trace(3);
    let (_, events) = text.split_once("\"traceEvents\": ").unwrap();
    std::fs::write(&path, &events[..events.rfind(']').unwrap()]).unwrap();
    facts(&path)
}

/// A trace in which a tensor grows, and is multiplied whole.
fn growing() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, trace::grown_trace(12)).unwrap();
    facts(&path)
}

/// A trace with host code in a function of PyTorch.
fn saving() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, trace::saving_trace(8)).unwrap();
    facts(&path)
}

/// A trace with convolutions that try kernels, in steps that are marked or not.
fn tuned(is_marked: bool) -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, trace::tuned_trace(8, 8, is_marked)).unwrap();
    facts(&path)
}

/// Rounds that launches tell, and one step of an optimizer after the last.
fn in_rounds() -> Facts {
    let mut text =
        "about = \"Rounds.\"\n[kernel]\nadd = { run_us = 3, grid = [864, 1, 1], block = [128, 1, 1] }\n".to_owned();
    let names = ["embed", "project", "attend", "norm", "loss"];
    names.iter().for_each(|name| {
        writeln!(text, "{name} = {{ run_us = 100, grid = [864, 1, 1], block = [128, 1, 1] }}").unwrap()
    });
    let round: String = names.iter().map(|name| format!("{{ launch = {{ kernel = \"{name}\" }} }}, ")).collect();
    text.push_str("[[thread]]\nscript = [\n");
    writeln!(
        text,
        "{{ repeat = {{ times = 24, do = [{round}{{ sync = {{ api = \"cudaDeviceSynchronize\" }} }}] }} }},"
    )
    .unwrap();
    text.push_str("{ range = { name = \"Optimizer.step#SGD.step\", do = [{ repeat = { times = 60, do = [{ launch = { kernel = \"add\" } }] } }] } },\n");
    text.push_str(
        "{ range = { name = \"aten::embedding_dense_backward\", do = [{ launch = { kernel = \"add\" } }] } },\n]\n",
    );
    let folder = temp::folder();
    let path = folder.path().join("rounds.sqlite");
    Scenario::parse(&text).write(SchemaVersion::Nsys2025, &path);
    facts(&path)
}

/// A trace that lacks what a launch started.
fn lossy() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    let kernel = r#""kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1208.125"#;
    let without = trace::with(&trace::trace(6, trace::Spelling::Today), kernel, &kernel.replace("kernel", "none"));
    std::fs::write(&path, without).unwrap();
    facts(&path)
}

/// A trace of two ranks that does not tell which of them launched what.
fn of_either() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, trace::two_ranks(0)).unwrap();
    facts(&path)
}

/// A trace without work of a GPU that tells of one, and of another accelerator.
fn without_work() -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    let text = trace::trace(6, trace::Spelling::Today).replace("\"gpu_memcpy\"", "\"mtia_runtime\"");
    let text = text.replace("\"cuda_runtime\"", "\"mtia_runtime\"");
    let text = text.replace("\"kernel\"", "\"cuda_profiler_range\"");
    std::fs::write(&path, trace::with(&text, "ProfilerStep#2", "aten::cudnn_convolution")).unwrap();
    facts(&path)
}

/// Launches at some times, in one range, with kernels that begin so much later.
fn late(lag_ns: i64, launches: impl Iterator<Item = i64>, read: impl Fn(&std::path::Path) -> Facts) -> Facts {
    let mut text =
        "about = \"Late.\"\n[[gpu]]\nid = 0\n[kernel]\nk = { run_us = 1, grid = [1, 1, 1], block = [32, 1, 1] }\n"
            .to_owned();
    text.push_str("[[exact]]\nwhat = \"range\"\nname = \"solve\"\nstart_ns = 0\nend_ns = 9_000_000\n");
    for (correlation, call) in (1..).zip(launches) {
        let start = call + lag_ns;
        for (what, name, start, end) in
            [("call", "cudaLaunchKernel", call, call + 900), ("kernel", "k", start, start + 5_000)]
        {
            writeln!(
                text,
                "[[exact]]\nwhat = \"{what}\"\nname = \"{name}\"\nstart_ns = {start}\nend_ns = {end}\ncorrelation = {correlation}",
            )
            .unwrap();
        }
    }
    let folder = temp::folder();
    let path = folder.path().join("late.sqlite");
    Scenario::parse(&text).write(SchemaVersion::Nsys2025, &path);
    read(&path)
}

/// Launches of a graph of two kernels; the second begins a while after the first has ended.
fn graphs(gaps_ns: &[i64]) -> Facts {
    let mut text = "about = \"Graphs.\"\n[[gpu]]\nid = 0\n[kernel]\n".to_owned();
    for kernel in ["first", "second"] {
        writeln!(text, "{kernel} = {{ run_us = 1, grid = [1, 1, 1], block = [32, 1, 1] }}").unwrap();
    }
    for (correlation, gap_ns) in (1..).zip(gaps_ns) {
        let call = 10_000_000 * correlation;
        let (start, second) = (call + 5_000, call + 10_000 + gap_ns);
        for (what, name, start, end) in [
            ("call", "cudaGraphLaunch", call, call + 900),
            ("kernel", "first", start, start + 5_000),
            ("kernel", "second", second, second + 5_000),
        ] {
            writeln!(
                text,
                "[[exact]]\nwhat = \"{what}\"\nname = \"{name}\"\nstart_ns = {start}\nend_ns = {end}\ncorrelation = {correlation}",
            )
            .unwrap();
        }
    }
    let folder = temp::folder();
    let path = folder.path().join("graphs.sqlite");
    Scenario::parse(&text).write(SchemaVersion::Nsys2025, &path);
    facts(&path)
}

#[test]
fn gaps_of_one_length_within_graphs_are_told() {
    let told = |gaps_ns: &[i64]| {
        let facts = graphs(gaps_ns);
        let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
        (device.int("graph_even_gap_count"), device.int("graph_even_gap_ns"))
    };
    assert_eq!(told(&[2_000_000, 2_010_000, 1_990_000, 2_000_000]), (Some(4), Some(8_000_000)));
    assert_eq!(told(&[2_000_000, 2_010_000, 1_990_000, 3_000_000]), (None, None));
    assert_eq!(told(&[2_000_000, 2_010_000, 1_990_000]), (None, None));
}

fn names_in(facts: &Facts) -> BTreeSet<String> {
    let named = |entity: &coldspot::facts::Entity| {
        let kind = entity.kind.name();
        entity.facts().map(|(fact, _)| format!("{kind}.{fact}")).collect::<Vec<_>>()
    };
    facts.iter().flat_map(|(_, entity)| named(entity)).collect()
}

/// An export of which some kernels make no sense.
fn unusable() -> Facts {
    facts(&damage::reversed_kernels(temp::folder().path()))
}

#[test]
fn every_fact_of_the_catalogue_is_set() {
    let mut set = names_in(&crowd());
    set.extend(names_in(&cut_short()));
    set.extend(names_in(&throng()));
    set.extend(names_in(&profiled()));
    set.extend(names_in(&untimed()));
    set.extend(names_in(&uncounted()));
    set.extend(names_in(&readers::ncu::facts(with_constants())));
    set.extend(names_in(&readers::ncu::facts(with_atomics())));
    set.extend(names_in(&profiled_in_part()));
    set.extend(names_in(&on_many_gpus()));
    set.extend(names_in(&on_many_gpus_in_sums()));
    set.extend(names_in(&traced()));
    set.extend(names_in(&checkpointed()));
    set.extend(names_in(&waiting()));
    set.extend(names_in(&open_ended()));
    set.extend(names_in(&growing()));
    set.extend(names_in(&saving()));
    set.extend(names_in(&tuned(true)));
    set.extend(names_in(&tuned(false)));
    set.extend(names_in(&in_rounds()));
    set.extend(names_in(&of_trace(NEWER_DRIVER)));
    set.extend(names_in(&of_trace(&made_again("aten::full"))));
    for text in [
        filled(120, 180),
        broadcasts(1_170),
        zooming(),
        copies_within("CompiledFunction"),
        frozen(),
        reduced_each_pass(),
        gathered_units(1_600, 1_700),
        reduced_by_hand(),
        of_several_losses(),
        asked_copies(),
        gathered(),
        trace::thinned_trace(20),
    ] {
        set.extend(names_in(&of_trace(&text)));
    }
    set.extend(names_in(&of_trace(&trace::casting_trace(6))));
    set.extend(names_in(&of_trace(&kineto::in_operators(&[(99, 1_360)], &kineto::without_a_call()))));
    set.extend(names_in(&of_trace(&pieces("aten::upsample_bilinear2d"))));
    set.extend(names_in(&of_trace(&host_turns::nan_checks(&["aten::isnan", "aten::item"]))));
    let (locked, reads) = (host_turns::two_threads_in_steps(), host_turns::small_reads(2));
    set.extend(names_in(&of_trace(&trace::checkpointed_trace(4, "TanhBackwardBackward0", &[]))));
    let (pages, tried) = (host_turns::locked_pages("pinned"), host_turns::tried_first(1));
    let programs = [locked, reads, pages, tried, host_turns::pool_rounds(1), of_two_sizes(400, 30)];
    let programs = programs.map(|threads| host_turns::program(&threads));
    let exact = [
        turns::gpus_in_turns(0),
        turns::staged("cudaStreamWaitEvent", 1 << 20),
        turns::behind_blocks(10, "cudaEventRecord"),
        turns::sleeping("sem_wait"),
        inside_calls::contending("pthread_mutex_lock", 30),
        inside_calls::printing("fflush", 800),
    ];
    for program in programs.into_iter().chain([host_turns::random_numbers()]).chain(exact) {
        let folder = temp::folder();
        let path = folder.path().join("run.sqlite");
        program.write(SchemaVersion::Nsys2025, &path);
        set.extend(names_in(&facts(&path)));
    }
    set.extend(names_in(&facts(&choices(24).write().1)));
    set.extend(names_in(&facts(&matrices(12).write().1)));
    set.extend(names_in(&facts(&factorized("aten::linalg_inv").write().1)));
    set.extend(names_in(&facts(&sorting("aten::coalesce", "DeviceMergeSortMergeKernel").write().1)));
    set.extend(names_in(&of_trace(&loops(3, 9))));
    set.extend(names_in(&lossy()));
    set.extend(names_in(&of_either()));
    set.extend(names_in(&unusable()));
    set.extend(names_in(&facts(&damage::no_copies(temp::folder().path()))));
    set.extend(names_in(&facts(&damage::every_other_kernel(temp::folder().path()))));
    set.extend(names_in(&without_work()));
    set.extend(names_in(&graphs(&[2_000_000; 4])));
    set.extend(names_in(&late(100_000, (0..12).map(|launch| 300_000 * launch), facts)));
    // A pause that takes nearly all of the time.
    let review = |path: &std::path::Path| Reading::default().facts_for_review(path).unwrap();
    set.extend(names_in(&late(60_000_000, [0].into_iter(), facts)));
    set.extend(names_in(&late(
        100_000,
        (0..120).map(|launch| 6_000 * launch).chain([1_000_000_000, 1_000_300_000]),
        review,
    )));
    for name in scenario_names() {
        for version in SchemaVersion::ALL {
            set.extend(names_in(&facts(&fixture(&name, version))));
        }
        // The steady state has facts that the whole has not.
        set.extend(names_in(&Reading::default().facts_for_review(&fixture(&name, SchemaVersion::Nsys2025)).unwrap()));
    }
    let all = EntityKind::ALL.into_iter().flat_map(|kind| catalogue::of_kind(kind).map(move |fact| (kind, fact)));
    let all = all.map(|(kind, fact)| format!("{}.{}", kind.name(), fact.name));
    // What occurs once is told of every account by the same lines, and of few in any one recording: one of them stands for all.
    assert!(set.iter().any(|name| name.ends_with("_once_ns")) && set.iter().any(|name| name.ends_with("_once_count")));
    let all = all.filter(|name| !name.ends_with("_once_ns") && !name.ends_with("_once_count"));
    // So is where the longest piece of an account lies.
    let place = |name: &String| {
        let stem = name.strip_suffix("_longest_ns").or_else(|| name.strip_suffix("_longest_start_ns"));
        stem.and_then(|stem| Account::parse(stem.strip_prefix("device.")?)).is_some_and(Account::has_place)
    };
    assert!(set.iter().any(place));
    let all = all.filter(|name| !place(name));
    // So are the lines of code that accounts come from.
    assert!(set.contains("device.idle_host_source") && set.contains("device.is_idle_host_source_in_project"));
    let of_source = ["_source", "_source_share", "_source_in_project"];
    let all = all.filter(|name| !name.starts_with("device.") || !of_source.iter().any(|end| name.ends_with(end)));
    let unset: Vec<String> = all.filter(|fact| !set.contains(fact)).collect();
    assert!(unset.is_empty(), "nothing sets {unset:#?}");
}
