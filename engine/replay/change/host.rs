//! Changes of what the host does: waits, allocations, launches, its own code.

use std::ops::Range;

use super::super::Role;
use super::super::model::{Play, What, Why};
use super::super::record::{Op, Part, TO_HOST};
use super::super::setting::Setting;
use super::programs::data_ns;
use super::{Extent, MIN_READS_OF_LOOP};
use crate::ledger::OpKind;
use crate::steps::median;
use crate::timeline::NONE;
use crate::timeline::api::{ApiClass, MemoryCall};

/// Read-backs of at most so many bytes are small results: the wait costs more than the bytes.
const MAX_SCALAR_BYTES: i64 = 16 << 10;
/// Reads in so many places of a step could be one at its end.
const MIN_PLACES_OF_READS: usize = 2;
/// Of the host code that leads to a call, so much stays at least when the call before it goes.
const OWN_GAP_SHARE: f64 = 0.7;
/// Launches between two reads that make one result, at most.
const MAX_LAUNCHES_OF_RESULT: usize = 8;
/// The same where it is expected that all results are made at once: comparisons, how they are joined, and the sum. More are an
/// iteration, which may work on what the one before it wrote.
const MAX_LAUNCHES_OF_EXPRESSION: usize = 4;
/// Reads with so many times the usual number of launches between them are of two loops.
const APART_RATIO: usize = 4;
/// So many results that are made and read one after the other are a loop over what one operation could do at once.
const MIN_RESULTS_IN_ROW: usize = 8;
/// A wait that returns so much later than the GPU was done has given the memory of a pool back, where there is one.
const MIN_TRIM_NS: i64 = 50_000;
/// Kernels that are shorter can vanish in others.
const SMALL_KERNEL_NS: i64 = 10_000;

impl Play<'_> {
    /// Whether a call reads a single value back, and waits for it.
    pub(super) fn reads_scalar(&self, call: u32) -> bool {
        let row = self.model.call(call);
        let op = self.model.part.ops.get(row.first_op as usize);
        let is_copy = matches!(row.class, ApiClass::CopyBlocking | ApiClass::CopyAsync);
        is_copy && row.op_count == 1 && op.is_some_and(is_scalar_readback)
    }

    pub(super) fn is_wait_or_read(&self, call: u32) -> bool {
        matches!(self.model.call(call).class, ApiClass::Wait(_) | ApiClass::Query) || self.reads_scalar(call)
    }

    pub(super) fn no_sync(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let calls = 0..model.part.calls.len() as u32;
        let mut is_gone: Vec<bool> = calls.map(|call| self.is_wait_or_read(call)).collect();
        let of_results = self.of_results(&is_gone, extent, setting);
        is_gone.iter_mut().zip(&of_results).for_each(|(is_gone, is_of_result)| *is_gone |= *is_of_result);
        let reads = (0..model.part.calls.len() as u32).filter(|call| self.reads_scalar(*call)).count();
        let step_count = model.part.step_count as usize;
        // Of rounds it is enough to read a value in one of many.
        let is_of_step = !setting.subject.are_rounds && self.places_of_reads() >= MIN_PLACES_OF_READS * step_count;
        if extent == Extent::Expected && is_of_step {
            self.keep_last_reads(&mut is_gone);
        }
        self.free_calls(|call| is_gone[call as usize].then_some(0));
        let is_dropped = |op: &Op| is_gone.get(op.call as usize) == Some(&true) && is_scalar_readback(op);
        self.drop_ops(is_dropped);
        self.set_runs(|_, op, run_ns| joined_ns(&of_results, extent, op, run_ns, setting));
        for edge in &mut self.edges {
            if let What::OpStart(op) = model.what[edge.to as usize]
                && of_results.get(model.op(op).call as usize) == Some(&true)
            {
                edge.lag_ns = 0;
            }
        }
        self.close_gaps(&is_gone, extent, setting);
        if extent == Extent::Ceiling && reads >= MIN_READS_OF_LOOP * step_count {
            // Whoever reads so often does so for one thing after the other: for all at once it is one launch. What is launched
            // between two such loops waits for none of it.
            let in_loop = self.loops_of_reads();
            self.graph_of(|call| in_loop.get(call) == Some(&true), extent, setting);
        }
    }

    /// Which calls lie in a loop that reads: between two reads that are no further apart than most, give or take.
    pub(super) fn loops_of_reads(&self) -> Vec<bool> {
        let part = &self.model.part;
        let mut in_loop = vec![false; part.calls.len()];
        for thread in &part.threads {
            let reads: Vec<usize> = thread.clone().filter(|call| self.reads_scalar(*call as u32)).collect();
            let launches =
                |pair: &[usize]| part.calls[pair[0] + 1..pair[1]].iter().filter(|row| row.op_count > 0).count();
            let between: Vec<usize> = reads.windows(2).map(launches).collect();
            let usual = median(between.iter().map(|count| *count as i64)) as usize;
            for (pair, count) in reads.windows(2).zip(&between) {
                if *count <= APART_RATIO * usual.max(1) {
                    in_loop[pair[0]..=pair[1]].fill(true);
                }
            }
        }
        in_loop
    }

    /// In how many places values are read: those that are read one behind the other, with nothing asked for between, are one.
    fn places_of_reads(&self) -> usize {
        let part = &self.model.part;
        let asks = |call: &usize| part.calls[*call].op_count > 0;
        let places_of = |thread: &Range<usize>| {
            let is_read = thread.clone().filter(asks).map(|call| self.reads_scalar(call as u32));
            is_read.scan(false, |before, is_read| Some(!std::mem::replace(before, is_read) && is_read))
        };
        part.threads.iter().flat_map(places_of).filter(|is_first| *is_first).count()
    }

    /// Whoever reads many values here and there in a step still reads them, all at once: the last read of each step stays, with the
    /// wait for it. Results that were made and read in a row have become one value, which is read like any other.
    fn keep_last_reads(&self, is_gone: &mut [bool]) {
        let part = &self.model.part;
        for thread in &part.threads {
            let mut later_step = NONE;
            for call in thread.clone().rev().filter(|call| self.reads_scalar(*call as u32)) {
                let step = part.ops.get(part.calls[call].first_op as usize).map_or(NONE, |op| op.step);
                let asked = (thread.start..call).rev().find(|before| part.calls[*before].op_count > 0);
                let is_in_row = asked.is_some_and(|before| is_gone[before] && !self.reads_scalar(before as u32));
                if std::mem::replace(&mut later_step, step) != step && !is_in_row {
                    let is_wait = |call: &usize| part.calls[*call].op_count == 0;
                    let waits = (call + 1..thread.end).take_while(is_wait).count();
                    is_gone[call..=call + waits].fill(false);
                }
            }
        }
    }

    /// Which calls make results that one launch could make all of: the few small kernels between two reads make the one result
    /// that is read. That is expected where many are made one after the other, unless it is elements that they choose: those are
    /// no results. `is_gone` says which calls wait or read.
    fn of_results(&self, is_gone: &[bool], extent: Extent, setting: &Setting<'_>) -> Vec<bool> {
        let is_ceiling = extent == Extent::Ceiling;
        let (least_count, most) =
            if is_ceiling { (1, MAX_LAUNCHES_OF_RESULT) } else { (MIN_RESULTS_IN_ROW, MAX_LAUNCHES_OF_EXPRESSION) };
        let chooses = |call: usize| self.call_role(call, setting) == Some(Role::Selection);
        let mut of_results = vec![false; is_gone.len()];
        for thread in &self.model.part.threads {
            let mut in_row: Vec<Range<usize>> = Vec::new();
            let mut first = None;
            for read in thread.clone().filter(|call| self.reads_scalar(*call as u32)) {
                let Some(after) = first.replace(read + 1) else { continue };
                if self.makes_one_result(after..read, is_gone, (most, extent), setting)
                    && (is_ceiling || !(after..read).any(chooses))
                {
                    in_row.push(after..read);
                } else {
                    settle_results(&mut in_row, &mut of_results, &self.model.part, least_count);
                }
            }
            settle_results(&mut in_row, &mut of_results, &self.model.part, least_count);
        }
        of_results
    }

    /// What each kernel that makes one of many results takes where one launch makes all of them; absent of every other operation.
    pub(in super::super) fn joined_runs<'setting>(
        &self,
        extent: Extent,
        setting: &'setting Setting<'_>,
    ) -> impl Fn(&Op, i64) -> Option<i64> + use<'setting, '_> {
        let calls = 0..self.model.part.calls.len() as u32;
        let is_gone: Vec<bool> = calls.map(|call| self.is_wait_or_read(call)).collect();
        let of_results = self.of_results(&is_gone, extent, setting);
        move |op, run_ns| joined_ns(&of_results, extent, op, run_ns, setting)
    }

    /// Whether calls between two reads launch nothing but the few small kernels of one result: at most so many, or an expression
    /// that ends in a sum. What a kernel of the program's own does is not known: at best it makes the result alone, and is expected to
    /// do something that the next one needs.
    fn makes_one_result(
        &self,
        calls: Range<usize>,
        is_gone: &[bool],
        (most, extent): (usize, Extent),
        setting: &Setting<'_>,
    ) -> bool {
        let part = &self.model.part;
        let stays = |call: &usize| part.calls[*call].op_count > 0 && !is_gone[*call];
        let op_of = |call: usize| part.ops.get(part.calls[call].first_op as usize);
        let is_small = |op: &Op| op.kind == OpKind::Memset || is_small_kernel(op, op.end - op.start);
        let fits = |call: usize| {
            let row = &part.calls[call];
            let op = op_of(call).filter(|_| row.op_count == 1);
            op.is_some_and(is_small) || row.op_count == 0 && row.class == ApiClass::Other
        };
        let kernels: Vec<Role> = { calls.clone() }
            .filter(stays)
            .filter_map(op_of)
            .filter(|op| op.kind != OpKind::Memset)
            .map(|op| setting.role_of(op))
            .collect();
        let is_known = |role: &Role| makes_results(*role);
        let ends_in_sum = kernels.last() == Some(&Role::Reduction) && kernels.len() <= MAX_LAUNCHES_OF_RESULT;
        let is_one = kernels.len() <= most || ends_in_sum;
        let is_best = extent == Extent::Ceiling && kernels.len() <= 1;
        is_one && (is_best || kernels.iter().all(is_known)) && { calls }.all(|call| is_gone[call] || fits(call))
    }

    /// Takes the host code out that led to calls that are gone: of the code around them the longest stretch stays, as it leads
    /// to the call after them. At best part of that was theirs too.
    pub(super) fn close_gaps(&mut self, is_gone: &[bool], extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let mut gaps: Vec<Option<usize>> = vec![None; model.part.calls.len()];
        for (index, edge) in self.edges.iter().enumerate() {
            if let (Why::Program | Why::HandOver, What::CallStart(call)) = (edge.why, model.what[edge.to as usize])
                && (0..setting.launch_gap_ns).contains(&edge.lag_ns)
            {
                gaps[call as usize] = Some(index);
            }
        }
        for thread in &model.part.threads {
            let mut run: Vec<usize> = Vec::new();
            for call in thread.clone() {
                run.extend(gaps[call]);
                if is_gone[call] {
                    continue;
                }
                let longest = run.iter().map(|index| self.edges[*index].lag_ns).max().unwrap_or(0);
                if call > thread.start && is_gone[call - 1] {
                    let rest =
                        if extent == Extent::Expected { longest } else { (longest as f64 * OWN_GAP_SHARE) as i64 };
                    run.iter().for_each(|index| self.edges[*index].lag_ns = 0);
                    // On the last of them: what comes before the first is at work meanwhile.
                    if let Some(last) = run.last() {
                        self.edges[*last].lag_ns = rest;
                    }
                }
                run.clear();
            }
        }
    }

    /// Calls that allocate and free take no time, and waits do not give the memory of a pool back, which the next allocation would
    /// have to map anew.
    pub(super) fn cache_allocations(&mut self, extent: Extent, setting: &Setting<'_>) {
        let calls = &self.model.part.calls;
        if calls.iter().any(|call| call.memory == Some(MemoryCall::Pool)) {
            let return_ns = setting.return_ns;
            for edge in self.edges.iter_mut().filter(|edge| edge.why == Why::Sync && edge.lag_ns >= MIN_TRIM_NS) {
                if let What::CallEnd(call) = self.model.what[edge.to as usize]
                    && matches!(calls[call as usize].class, ApiClass::Wait(_))
                {
                    edge.lag_ns = return_ns;
                }
            }
        }
        let is_gone: Vec<bool> = calls.iter().map(|call| call.class == ApiClass::Allocate).collect();
        self.free_calls(|call| is_gone[call as usize].then_some(0));
        self.close_gaps(&is_gone, extent, setting);
    }

    /// Calls of a class, which set up or load, go, with the launches between them that a capture records and that run nothing; and a graph that was
    /// made before is launched as fast as others are.
    pub(super) fn make_once(&mut self, made: ApiClass, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let calls = &model.part.calls;
        let mut is_gone = vec![false; calls.len()];
        let mut is_first_launch = vec![false; calls.len()];
        for thread in &self.model.part.threads {
            let mut leads_to_set_up = false;
            for call in thread.clone().rev() {
                let row = &calls[call];
                is_gone[call] = match row.class {
                    class if class == made => true,
                    ApiClass::Launch | ApiClass::Memset | ApiClass::CopyAsync => leads_to_set_up && row.op_count == 0,
                    ApiClass::Other => leads_to_set_up,
                    _ => false,
                };
                leads_to_set_up = is_gone[call];
            }
            for call in thread.clone().skip(1).filter(|call| !is_gone[*call]).collect::<Vec<_>>() {
                let row = &calls[call];
                let follows = is_gone[call - 1];
                is_gone[call] = follows && row.class == ApiClass::Other;
                is_first_launch[call] = follows && row.class == ApiClass::Launch && row.op_count > 1;
            }
        }
        let own_ns = |call: u32| {
            let first = is_first_launch[call as usize].then_some(setting.launch_ns);
            if is_gone[call as usize] { Some(0) } else { first }
        };
        self.free_calls(own_ns);
        if made == ApiClass::Load {
            self.close_between(made, setting.launch_gap_ns);
        }
        // Host code around calls that only ask is not there for them.
        is_gone.iter_mut().zip(calls).for_each(|(is_gone, row)| *is_gone &= !row.asks);
        for edge in self.edges.iter_mut().filter(|edge| edge.why == Why::Launch) {
            if let What::CallStart(call) = model.what[edge.from as usize]
                && is_first_launch[call as usize]
            {
                edge.lag_ns = edge.lag_ns.min(setting.launch_ns);
            }
        }
        self.close_gaps(&is_gone, extent, setting);
    }

    /// Takes the host code out between two calls of a class that have no launch and no wait between them: both belong to one thing, as
    /// the modules of a plan do, and what the host does from one to the other makes that thing. So does what it does right behind a call that
    /// brings code: no profiler records how functions in it are asked for.
    fn close_between(&mut self, made: ApiClass, launch_gap_ns: i64) {
        let part = &self.model.part;
        let mut is_between = vec![false; part.calls.len()];
        let mut is_behind = vec![false; part.calls.len()];
        for thread in &part.threads {
            for call in thread.clone().skip(1) {
                is_behind[call] = part.calls[call - 1].brings_code;
            }
            let mut since: Option<usize> = None;
            for call in thread.clone() {
                match part.calls[call].class {
                    class if class == made => {
                        if let Some(since) = since.replace(call) {
                            is_between[since + 1..=call].fill(true);
                        }
                    }
                    ApiClass::Launch | ApiClass::Wait(_) => since = None,
                    _ => {}
                }
            }
        }
        self.shorten_gaps(|call, gap_ns, _| {
            let goes = is_between[call as usize] || is_behind[call as usize] && gap_ns < launch_gap_ns;
            if goes { 0 } else { gap_ns }
        });
    }

    pub(super) fn no_blocking(&mut self) {
        self.shorten_gaps(|_, gap_ns, blocked_ns| gap_ns - blocked_ns);
    }

    /// Sets the time before calls, from what it is and what of it the thread waits in the operating system.
    pub(super) fn shorten_gaps(&mut self, mut length: impl FnMut(u32, i64, i64) -> i64) {
        let model = self.model;
        for edge in self.edges.iter_mut().filter(|edge| matches!(edge.why, Why::Program | Why::HandOver)) {
            let What::CallStart(call) = model.what[edge.to as usize] else { continue };
            let blocked = model.call(call).blocked_before_ns.min(edge.lag_ns);
            edge.lag_ns = length(call, edge.lag_ns, blocked).clamp(0, edge.lag_ns.max(0));
        }
    }
}

/// Lets the calls go that make results in a row, where there are enough of them: those that make the first one of each step stay,
/// where many are made as one.
fn settle_results(in_row: &mut Vec<Range<usize>>, of_results: &mut [bool], part: &Part, least_count: usize) {
    if in_row.len() >= least_count {
        let step_of = |calls: &Range<usize>| {
            let asks = calls.clone().map(|call| &part.calls[call]).find(|row| row.op_count > 0);
            asks.and_then(|row| part.ops.get(row.first_op as usize)).map_or(NONE, |op| op.step)
        };
        let mut step = None;
        for calls in in_row.iter() {
            let is_first = step.replace(step_of(calls)) != Some(step_of(calls));
            if !is_first || least_count == 1 {
                of_results[calls.clone()].fill(true);
            }
        }
    }
    in_row.clear();
}

/// What an operation takes where one launch makes all results that some calls make: its data, without what starting and ending a
/// kernel takes; at best nothing, where its name tells that it does nothing but make such a result. Absent where it makes none.
fn joined_ns(of_results: &[bool], extent: Extent, op: &Op, run_ns: i64, setting: &Setting<'_>) -> Option<i64> {
    let is_joined = of_results.get(op.call as usize) == Some(&true) && !is_scalar_readback(op);
    let vanishes = |role: Role| extent == Extent::Ceiling && makes_results(role);
    is_joined.then(|| if op.kind == OpKind::Kernel && !vanishes(setting.role_of(op)) { data_ns(run_ns) } else { 0 })
}

/// Whether kernels of a role can be such as make nothing but a result that is read.
const fn makes_results(role: Role) -> bool {
    role.passes_over_elements() || matches!(role, Role::Selection)
}

/// Whether an operation that takes so long can vanish in others.
pub(in super::super) fn is_small_kernel(op: &Op, run_ns: i64) -> bool {
    op.kind == OpKind::Kernel && run_ns < SMALL_KERNEL_NS
}

/// Whether an operation brings a value or a few back to the host.
pub(in super::super) fn is_scalar_readback(op: &Op) -> bool {
    op.lane == Some(TO_HOST) && op.bytes <= MAX_SCALAR_BYTES
}
