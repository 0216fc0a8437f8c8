//! Stretches in which a thread compiles although nothing in them says so: they lead to the link or the load of a kernel that a framework
//! makes at its first launch.

use foldhash::HashMap;

use super::code_waits::{Found, other_ends};
use crate::timeline::api::{ApiClass, classify};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId, Timeline};

/// A framework that compiles kernels as they are launched first.
struct Maker {
    /// Parts of the names of its kernels.
    marks: &'static [&'static str],
    /// Whether it may ask for memory between it begins to make a kernel and loads that.
    allocates: bool,
}

/// Numba tags the functions that it compiles with the flags that it compiles with. CuPy asks for the memory of what a kernel writes before
/// it looks whether it has that kernel.
const MAKERS: [Maker; 2] =
    [Maker { marks: &["cudapy", "cw51cXT"], allocates: false }, Maker { marks: &["cupy_"], allocates: true }];
/// How the call begins with which Numba links what it has compiled.
const LINK: &str = "cuLinkCreate";
/// How calls begin that load compiled code.
const LOADS: [&str; 2] = ["cuLibraryLoadData", "cuModuleLoadData"];
/// How calls begin that ask what the GPU can do, as they do before.
const QUESTIONS: [&str; 4] = ["cuInit", "cuDriverGetVersion", "cuDeviceGet", "cudaMemGetInfo"];
/// A longer call for memory sets something up.
const SHORT_ALLOCATION_NS: i64 = 1_000_000;
/// What was loaded for a launch is launched within this.
const SOON_NS: i64 = 10_000_000;
/// In a shorter time a kernel is looked up that was compiled before.
const LEAST_NS: i64 = 1_000_000;
/// In a longer time a program does something else as well.
const LONGEST_NS: i64 = 1_000_000_000;

/// What a thread does after the last that is known to be something else, a call of CUDA, a sleep, the begin or the end of a range, until
/// a framework links a kernel, or loads one that it launches for the first time; where samples tell what it does, these say more.
pub(super) fn of_frameworks(timeline: &Timeline) -> Vec<Found> {
    MAKERS.iter().flat_map(|maker| of_maker(timeline, maker)).collect()
}

fn of_maker(timeline: &Timeline, maker: &Maker) -> Vec<Found> {
    let shapes = &timeline.kernels.shapes;
    let mut known: HashMap<NameId, bool> = HashMap::default();
    let mut has_mark = |name: NameId| {
        let look = || maker.marks.iter().any(|mark| timeline.name(name).contains(mark));
        *known.entry(name).or_insert_with(look)
    };
    let is_own: Vec<bool> = shapes.iter().map(|shape| has_mark(shape.full_name) || has_mark(shape.name)).collect();
    if !is_own.contains(&true) {
        return Vec::new();
    }
    let launches = first_launches(timeline, &is_own);
    let leads_to_launch = |thread: u32, at: i64| {
        let next = launches.get(launches.partition_point(|launch| *launch < (thread, at)));
        next.is_some_and(|(other, launch)| *other == thread && launch.saturating_sub(at) <= SOON_NS)
    };
    let api = &timeline.api;
    let calls = || api.times.iter().zip(&api.name).zip(&api.thread).filter(|(_, thread)| **thread != NONE);
    let makes = |(call, name): (Interval, NameId), thread: u32| {
        let name = timeline.name(name);
        let loads = || LOADS.iter().any(|begin| name.starts_with(begin));
        name.starts_with(LINK) || (loads() && leads_to_launch(thread, call.end))
    };
    let ends = calls().filter(|((call, name), thread)| makes((*call, **name), **thread));
    let mut marks: Vec<(u32, i64, NameId)> = ends.map(|((call, name), thread)| (*thread, call.start, *name)).collect();
    marks.retain(|(thread, ..)| timeline.cpu_samples.of_thread(*thread).is_empty());
    marks.sort_unstable();
    let threads: Vec<u32> = marks.iter().map(|(thread, ..)| *thread).collect();
    let is_making = |thread: u32| threads.binary_search(&thread).is_ok();
    let asks = |call: Interval, name: &str| {
        let is_short_allocation =
            || maker.allocates && call.len_ns() <= SHORT_ALLOCATION_NS && classify(name) == ApiClass::Allocate;
        QUESTIONS.iter().any(|begin| name.starts_with(begin)) || is_short_allocation()
    };
    let others = calls().filter(|((call, name), thread)| is_making(**thread) && !asks(*call, timeline.name(**name)));
    marks.extend(others.map(|((call, _), thread)| (*thread, call.end, NONE)));
    marks.extend(other_ends(timeline, is_making));
    marks.sort_unstable();
    let stretch = |pair: &[(u32, i64, NameId)]| {
        let [(thread, start, _), (same, end, name)] = pair else { return None };
        let times = Interval::new(*start, *end);
        let is_making = (LEAST_NS..=LONGEST_NS).contains(&times.len_ns());
        (thread == same && *name != NONE && is_making).then_some((*thread, times, *name))
    };
    marks.windows(2).filter_map(stretch).collect()
}

/// The first launch of each own kernel of a process, by thread and time.
fn first_launches(timeline: &Timeline, is_own: &[bool]) -> Vec<(u32, i64)> {
    let kernels = &timeline.kernels;
    let mut first: HashMap<(u32, NameId), (i64, u32)> = HashMap::default();
    for (call, shape) in kernels.ops.call.iter().zip(&kernels.shape) {
        let at = timeline.api.times.get(*call as usize).map(|call| call.start);
        let thread = timeline.api.thread.get(*call as usize).copied().unwrap_or(NONE);
        let shape_of = kernels.shapes.get(*shape as usize);
        let (Some(at), Some(shape_of), Some(true)) = (at, shape_of, is_own.get(*shape as usize)) else { continue };
        if thread != NONE {
            let earliest = first.entry((timeline.process_of(thread), shape_of.full_name)).or_insert((at, thread));
            *earliest = (*earliest).min((at, thread));
        }
    }
    let mut first: Vec<(u32, i64)> = first.into_values().map(|(at, thread)| (thread, at)).collect();
    first.sort_unstable();
    first
}

#[cfg(test)]
mod tests {
    use super::super::code_waits::host::{named, os_call};
    use super::*;
    use crate::timeline::CpuSamples;
    use crate::timeline::columns::KernelShape;
    use crate::timeline::samples::Frame;

    fn api_call(timeline: &mut Timeline, name: &str, start_ms: i64) {
        let name = named(timeline, name);
        timeline.api.times.push(Interval::new(start_ms * 1_000_000, start_ms * 1_000_000 + 10));
        timeline.api.name.push(name);
        timeline.api.thread.push(0);
    }

    fn shape(timeline: &mut Timeline, kernel: &str) {
        let name = named(timeline, kernel);
        timeline.kernels.shapes.push(KernelShape { name, full_name: name, ..KernelShape::default() });
    }

    fn launch(timeline: &mut Timeline, name: &str, start_ms: i64, shape: u32) {
        let call = timeline.api.name.len() as u32;
        api_call(timeline, name, start_ms);
        timeline.kernels.ops.call.push(call);
        timeline.kernels.shape.push(shape);
    }

    fn stretches(timeline: &Timeline) -> Vec<(i64, i64)> {
        of_frameworks(timeline).into_iter().map(|(_, times, _)| (times.start, times.end)).collect()
    }

    #[test]
    fn a_framework_makes_a_kernel_before_it_loads_it_for_its_first_launch() {
        let mut timeline = Timeline::default();
        shape(&mut timeline, "__main__::blur[abi:v2,cw51cXTLSUwv1sDUa](Array<float, 2>)");
        shape(&mut timeline, "daxpy");
        api_call(&mut timeline, "cuMemcpyHtoD_v2", 10);
        api_call(&mut timeline, "cuInit", 300);
        api_call(&mut timeline, "cuLibraryLoadData", 302);
        launch(&mut timeline, "cuLaunchKernelEx", 303, 0);
        // A kernel of something else, and one that was launched before.
        api_call(&mut timeline, "cuLibraryLoadData", 400);
        launch(&mut timeline, "cuLaunchKernel", 401, 1);
        api_call(&mut timeline, "cuLibraryLoadData", 500);
        launch(&mut timeline, "cuLaunchKernelEx", 501, 0);
        assert_eq!(stretches(&timeline), [(10_000_010, 302_000_000)]);
    }

    #[test]
    fn cupy_asks_for_memory_before_it_loads() {
        let mut timeline = Timeline::default();
        shape(&mut timeline, "cupy_copy__uint8_float32");
        shape(&mut timeline, "cupy_true_divide__float32_float_float32");
        api_call(&mut timeline, "cudaMemcpyAsync_v3020", 10);
        api_call(&mut timeline, "cudaMalloc_v3020", 11);
        api_call(&mut timeline, "cudaMemGetInfo_v3020", 40);
        api_call(&mut timeline, "cuModuleLoadData", 41);
        launch(&mut timeline, "cuLaunchKernel", 42, 0);
        api_call(&mut timeline, "cudaMalloc_v3020", 442);
        api_call(&mut timeline, "cuModuleLoadData", 443);
        launch(&mut timeline, "cuLaunchKernel", 444, 1);
        assert_eq!(stretches(&timeline), [(10_000_010, 41_000_000), (42_000_010, 443_000_000)]);
        // A long call for memory sets CUDA up.
        let mut times: Vec<Interval> = timeline.api.times.iter().collect();
        times[5] = Interval::new(440_000_000, 442_000_000);
        timeline.api.times = times.iter().copied().collect();
        assert_eq!(stretches(&timeline), [(10_000_010, 41_000_000), (442_000_000, 443_000_000)]);
        // What was compiled before is only looked up.
        times[5].end += 1;
        timeline.api.times = times.into_iter().collect();
        assert_eq!(stretches(&timeline), [(10_000_010, 41_000_000)]);
    }

    #[test]
    fn numba_compiles_before_it_links() {
        let mut timeline = Timeline::default();
        api_call(&mut timeline, "cuMemAlloc", 10);
        api_call(&mut timeline, "cuInit", 50);
        api_call(&mut timeline, "cuLinkCreate", 100);
        api_call(&mut timeline, "cuLaunchKernel", 110);
        api_call(&mut timeline, "cuLinkCreate", 1_111);
        let kernel = named(&mut timeline, "cudapy::__main__::matmul");
        assert!(of_frameworks(&timeline).is_empty());
        let shape = KernelShape { name: kernel, full_name: kernel, ..KernelShape::default() };
        timeline.kernels.shapes.push(shape);
        let of = |timeline: &Timeline| {
            of_frameworks(timeline).into_iter().map(|(_, times, _)| (times.start, times.end)).collect::<Vec<_>>()
        };
        // Before the second link there is too much time for one kernel.
        assert_eq!(of(&timeline), [(10_000_010, 100_000_000)]);
        os_call(&mut timeline, "nanosleep", 0, 60, 70);
        assert_eq!(of(&timeline), [(70_000_000, 100_000_000)]);
        timeline.cpu_samples = CpuSamples::new(vec![Frame { function: kernel, module: NONE }]);
        timeline.cpu_samples.push(0, 50, [0].into_iter());
        assert!(of(&timeline).is_empty());
    }
}
