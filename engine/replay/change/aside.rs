//! Host code that goes to other threads, other processes or the device.

use std::ops::Range;

use foldhash::HashSet;

use super::super::model::{Play, What, Why};
use super::super::record::{Op, TO_DEVICE, TO_HOST};
use super::super::setting::Setting;
use super::Extent;
use super::copies::{ASYNC_CALL_NS, COPY_LATENCY_NS, is_large_copy};
use crate::timeline::api::ApiClass;

/// Of host code that other threads or processes do, what stays: taking over what they made. Measured on the machine of docs/gains.md.
const HANDED_OVER_SHARE: f64 = 0.15;
/// Of host code, the least that operators of the CPU take where it is theirs.
const OF_OPERATORS_SHARE: f64 = 0.5;
/// The rate at which a host passes over memory, bytes a nanosecond: that of packing. What is at work for less does not work on all
/// that was copied. Measured on the machine of docs/gains.md.
const PASSING_RATE: f64 = super::copies::PACKING_RATE;
/// Who sends more than so many times the bytes that came back has most of it from elsewhere: the state of a simulation, tables,
/// texts. That stays on the host. Chosen, not measured: results that are worked on go back in the same type, or in one twice as wide.
const OWN_STATE_RATIO: i64 = 2;
/// Beside kernels that take so many times less, being at work at once wins next to nothing: then it is the host code that has to get
/// faster.
const LITTLE_BESIDE_RATIO: i64 = 10;
/// Copies in a row, each with the waits for it, at most.
const MAX_CALLS_OF_COPY: usize = 32;

impl Play<'_> {
    pub(super) fn load_ahead(&mut self, extent: Extent) {
        let model = self.model;
        let gone = if extent == Extent::Expected { 1.0 - HANDED_OVER_SHARE } else { 1.0 };
        for edge in self.edges.iter_mut().filter(|edge| matches!(edge.why, Why::Program | Why::HandOver)) {
            let What::CallStart(call) = model.what[edge.to as usize] else { continue };
            let loading_ns = model.call(call).loading_before_ns.clamp(0, edge.lag_ns.max(0));
            edge.lag_ns -= (loading_ns as f64 * gone) as i64;
        }
    }

    /// Host code between calls, less what is launching, and less what handing its results over takes. What operators of the CPU
    /// do the device can do, and so it can what stands between results that come back and data that is sent: then what they work
    /// on need not come back; at best what they make need not be sent either. Who only works on results hands nothing over, and they
    /// need not be waited for. What has a state of its own, as an environment that is acted on has, stays, and is at work on one part
    /// of it while the GPU is on another: then nobody waits for results. So is compiled code that reads results, at work on those before.
    pub(super) fn host_aside(&mut self, extent: Extent, setting: &Setting<'_>) {
        let left = if extent == Extent::Expected { HANDED_OVER_SHARE } else { 0.0 };
        let is_moved = self.moved_to_device(extent, setting);
        let mut kept = self.kept_on_device(&is_moved, extent);
        let mut reads_only = self.reads_only(setting);
        let mut stays = HashSet::default();
        let sends_ahead = extent == Extent::Expected && self.sends_what_it_made(setting);
        if extent == Extent::Expected {
            stays = self.stays_on_host(&reads_only, setting);
            // What operators of the CPU do the device can do, whatever they send.
            stays.retain(|call| !is_moved[*call as usize]);
            stays.iter().for_each(|call| reads_only[*call as usize] = false);
        }
        self.drop_what_is_read(&reads_only, &mut kept);
        self.wait_for_none(&stays);
        self.shorten_gaps(|call, gap_ns, blocked_ns| {
            let host_ns = gap_ns - blocked_ns;
            let is_gone = is_moved[call as usize] || reads_only[call as usize];
            let left = if stays.contains(&call) {
                1.0
            } else if is_gone {
                0.0
            } else {
                left
            };
            if host_ns >= setting.launch_gap_ns { blocked_ns + (host_ns as f64 * left) as i64 } else { gap_ns }
        });
        if kept.is_gone.contains(&true) {
            self.free_calls(|call| kept.is_gone[call as usize].then_some(0));
            self.drop_ops(|op| kept.is_gone.get(op.call as usize) == Some(&true));
        }
        if sends_ahead {
            // Who makes data ahead sends it ahead as well.
            self.overlap_copies(extent, setting);
        }
        if kept.is_pinned.contains(&true) {
            self.pin_sent(&kept.is_pinned, extent, setting);
        }
    }

    /// Whether that counts copies which run beside kernels: what is made ahead is sent ahead as well.
    pub(in super::super) fn sends_ahead(&self, setting: &Setting<'_>) -> bool {
        self.model.part.ops.iter().any(is_large_copy) && self.sends_what_it_made(setting)
    }

    /// Whether most host code makes what it sends, into memory that is pinned already, and works on no results.
    fn sends_what_it_made(&self, setting: &Setting<'_>) -> bool {
        let part = &self.model.part;
        let is_pinned = |calls: Range<usize>| {
            let ops = calls.filter_map(|call| part.ops.get(part.calls[call].first_op as usize));
            ops.filter(|op| op.lane == Some(TO_DEVICE)).all(|op| !op.is_pageable)
        };
        let (mut made_ns, mut all_ns) = (0, 0);
        for (thread, call, host_ns) in self.host_code(setting) {
            all_ns += host_ns;
            let sent = self.sent_after(&thread, call).filter(|_| self.brought_before(&thread, call).is_none());
            made_ns += if sent.is_some_and(is_pinned) { host_ns } else { 0 };
        }
        all_ns > 0 && 2 * made_ns >= all_ns
    }

    /// What the host only reads either need not come back, as the device can do the work, or comes beside the next work, to
    /// another thread.
    fn drop_what_is_read(&self, reads_only: &[bool], kept: &mut Kept) {
        for thread in &self.model.part.threads {
            for call in thread.clone().filter(|call| reads_only[*call]) {
                if let Some(back) = self.brought_before(thread, call) {
                    kept.is_gone[back].fill(true);
                }
            }
        }
        self.end_like_others(&mut kept.is_gone);
    }

    /// Nobody waits for the results that come back before some calls.
    fn wait_for_none(&mut self, calls: &HashSet<u32>) {
        let model = self.model;
        let mut is_free = vec![false; model.part.calls.len()];
        for thread in &model.part.threads {
            for call in thread.clone().filter(|call| calls.contains(&(*call as u32))) {
                if let Some(back) = self.brought_before(thread, call) {
                    is_free[back].fill(true);
                }
            }
        }
        self.end_like_others(&mut is_free);
        if is_free.contains(&true) {
            self.free_calls(|call| is_free[call as usize].then_some(ASYNC_CALL_NS));
        }
    }

    /// In place of what the host made, in memory that was new, what it was made of is sent: that was there before, and can be pinned.
    fn pin_sent(&mut self, is_pinned: &[bool], extent: Extent, setting: &Setting<'_>) {
        let of_call =
            |op: &Op| op.is_pageable && op.lane == Some(TO_DEVICE) && is_pinned.get(op.call as usize) == Some(&true);
        self.set_runs(|_, op, run_ns| {
            let pinned_ns = (op.bytes as f64 / extent.rate(setting.pinned_rates(op.lane))) as i64 + COPY_LATENCY_NS;
            of_call(op).then(|| run_ns.min(pinned_ns))
        });
        self.free_calls(|call| is_pinned[call as usize].then_some(ASYNC_CALL_NS));
    }

    /// Whether the device could do the host code before a call: it is mostly operators of the CPU, or stands between results that
    /// come back and data that is sent, and has no state of its own; at best all of it, whatever it is, where it may be work on what
    /// the device made: a framework is at work, or results come back. Of a program that only sends, what is sent comes from
    /// elsewhere, and still has to get to the device.
    fn moved_to_device(&self, extent: Extent, setting: &Setting<'_>) -> Vec<bool> {
        let model = self.model;
        let mut is_moved = vec![false; model.part.calls.len()];
        let has_operators = model.part.calls.iter().any(|call| call.operator_count > 0);
        let has_results = model.part.ops.iter().any(|op| op.lane == Some(TO_HOST));
        let is_any = extent == Extent::Ceiling && (has_operators || has_results);
        for (thread, call, host_ns) in self.host_code(setting) {
            let row = &model.part.calls[call];
            let is_of_operators = row.cpu_operators_ns as f64 >= OF_OPERATORS_SHARE * host_ns as f64;
            is_moved[call] = is_of_operators || is_any || self.is_round_trip(&thread, call);
        }
        is_moved
    }

    /// The calls before which the host is at work for longer than launching takes: with their thread, and how long that is.
    fn host_code(&self, setting: &Setting<'_>) -> Vec<(Range<usize>, usize, i64)> {
        let model = self.model;
        let mut found = Vec::new();
        for edge in self.edges.iter().filter(|edge| matches!(edge.why, Why::Program | Why::HandOver)) {
            let What::CallStart(call) = model.what[edge.to as usize] else { continue };
            let (call, row) = (call as usize, model.call(call));
            let host_ns = edge.lag_ns - row.blocked_before_ns.min(edge.lag_ns);
            if host_ns >= setting.launch_gap_ns
                && let Some(thread) = model.part.threads.iter().find(|thread| thread.contains(&call))
            {
                found.push((thread.clone(), call, host_ns));
            }
        }
        found
    }

    /// The bytes that come back right before a call and those that are sent from it on, where the host works on the first and makes
    /// the others in between.
    fn round_trip(&self, thread: &Range<usize>, call: usize) -> Option<(i64, i64)> {
        let part = &self.model.part;
        let bytes = |calls: Range<usize>| -> i64 {
            let ops = calls.filter_map(|call| part.ops.get(part.calls[call].first_op as usize));
            ops.map(|op| op.bytes).fold(0, i64::saturating_add)
        };
        let (back, sent) = (self.brought_before(thread, call)?, self.sent_after(thread, call)?);
        Some((bytes(back), bytes(sent)))
    }

    fn is_round_trip(&self, thread: &Range<usize>, call: usize) -> bool {
        self.round_trip(thread, call).is_some_and(|(back, sent)| sent <= back.saturating_mul(OWN_STATE_RATIO))
    }

    /// The calls before which the host is at work on what stays there: it makes most of what it sends from what did not come back, or
    /// it reads results where no framework has operators that could do the same on the device. None where the device has too little to
    /// do beside it.
    fn stays_on_host(&self, reads_only: &[bool], setting: &Setting<'_>) -> HashSet<u32> {
        let part = &self.model.part;
        let is_interpreted = self.is_interpreted(setting);
        let own = self.host_code(setting).into_iter().filter(|(thread, call, _)| {
            let has_state = self.round_trip(thread, *call).is_some() && !self.is_round_trip(thread, *call);
            has_state || reads_only[*call] && !is_interpreted
        });
        let own: Vec<(u32, i64)> = own.map(|(_, call, host_ns)| (call as u32, host_ns)).collect();
        let host_ns = own.iter().map(|(_, ns)| *ns).fold(0, i64::saturating_add);
        let kernels = part.ops.iter().filter(|op| op.kind.is_kernel());
        let kernels_ns = kernels.map(|op| op.end - op.start).fold(0, i64::saturating_add);
        let is_little = kernels_ns.saturating_mul(LITTLE_BESIDE_RATIO) < host_ns;
        own.into_iter().filter(|_| !is_little).map(|(call, _)| call).collect()
    }

    /// Whether Python launches what runs, by operators or by names of kernels: few recordings hold operators.
    fn is_interpreted(&self, setting: &Setting<'_>) -> bool {
        let part = &self.model.part;
        part.calls.iter().any(|call| call.operator_count > 0) || setting.is_any_of_python(&part.ops)
    }

    /// Before which calls the host does nothing but read results that came back: nothing of that is sent.
    fn reads_only(&self, setting: &Setting<'_>) -> Vec<bool> {
        let mut reads_only = vec![false; self.model.part.calls.len()];
        for (thread, call, _) in self.host_code(setting) {
            let (back, sent) = (self.brought_before(&thread, call), self.sent_after(&thread, call));
            reads_only[call] = back.is_some() && sent.is_none();
        }
        reads_only
    }

    pub(super) fn lane(&self, call: usize) -> Option<u8> {
        let row = &self.model.part.calls[call];
        self.model.part.ops.get(row.first_op as usize).filter(|_| row.op_count == 1).and_then(|op| op.lane)
    }

    pub(super) fn only_waits(&self, call: usize) -> bool {
        let row = &self.model.part.calls[call];
        row.op_count == 0 && matches!(row.class, ApiClass::Wait(_) | ApiClass::Query | ApiClass::Other)
    }

    fn allocates(&self, call: usize) -> bool {
        self.model.part.calls[call].class == ApiClass::Allocate
    }

    /// The calls right before one that bring what the host works on, which takes longer than copying it, with the waits for them.
    /// A value or a few are no such thing: they tell the host what to do.
    fn brought_before(&self, thread: &Range<usize>, call: usize) -> Option<Range<usize>> {
        self.back_before(thread, call).filter(|copies| self.outlasts(thread.start, call, copies.clone()))
    }

    /// The calls right before one that bring data back, with the waits for it.
    fn back_before(&self, thread: &Range<usize>, call: usize) -> Option<Range<usize>> {
        let before = (thread.start..call).rev().take(MAX_CALLS_OF_COPY);
        let back = before.take_while(|call| self.only_waits(*call) || self.lane(*call) == Some(TO_HOST));
        let first = back.filter(|call| self.lane(*call) == Some(TO_HOST)).last()?;
        let brings_data = (first..call).any(|call| self.lane(call) == Some(TO_HOST) && !self.reads_scalar(call as u32));
        Some(first..call).filter(|_| brings_data)
    }

    /// The calls from one on that send what the host made, which took longer than copying it, with the waits for them and those that
    /// allocate where it goes.
    fn sent_after(&self, thread: &Range<usize>, call: usize) -> Option<Range<usize>> {
        let after = (call..thread.end).take(MAX_CALLS_OF_COPY);
        let goes_along = |call: usize| self.only_waits(call) || self.allocates(call);
        let sent = after.take_while(|call| goes_along(*call) || self.lane(*call) == Some(TO_DEVICE));
        let end = sent.last()? + 1;
        let is_sent = (call..end).any(|call| self.lane(call) == Some(TO_DEVICE));
        Some(call..end).filter(|copies| is_sent && self.outlasts(thread.start, call, copies.clone()))
    }

    /// What becomes of copies where host code before some calls runs on the device: those that bring what it works on go, with the
    /// waits for them; at best, and where it stands between both, those as well that send what it made. Others are from pinned memory.
    fn kept_on_device(&self, is_moved: &[bool], extent: Extent) -> Kept {
        let part = &self.model.part;
        let mut kept = Kept { is_gone: vec![false; part.calls.len()], is_pinned: vec![false; part.calls.len()] };
        for thread in &part.threads {
            for call in thread.clone().filter(|call| is_moved[*call]) {
                let (back, sent) = (self.brought_before(thread, call), self.sent_after(thread, call));
                let is_round_trip = self.is_round_trip(thread, call);
                if let Some(back) = back {
                    kept.is_gone[back].fill(true);
                }
                if let Some(sent) = sent {
                    let goes = extent == Extent::Ceiling || is_round_trip;
                    let of_copies = if goes { &mut kept.is_gone } else { &mut kept.is_pinned };
                    sent.filter(|call| goes || !self.allocates(*call)).for_each(|call| of_copies[call] = true);
                }
            }
        }
        self.end_like_others(&mut kept.is_gone);
        kept
    }

    /// What comes back at the very end of what is played goes as well where the same did before: the host code that works on it
    /// is behind that end.
    fn end_like_others(&self, is_gone: &mut [bool]) {
        for thread in &self.model.part.threads {
            let Some(last) = self.back_before(thread, thread.end) else { continue };
            let bytes = self.bytes_back(last.clone());
            // The copies that come back before those.
            let Some(before) = (thread.start..last.start).rev().find(|call| self.lane(*call) == Some(TO_HOST)) else {
                continue;
            };
            let of_waits = (before + 1..last.start).take_while(|call| self.only_waits(*call)).count();
            let is_like = self.back_before(thread, before + 1 + of_waits).is_some_and(|back| {
                is_gone[back.clone()].iter().all(|is_gone| *is_gone) && self.bytes_back(back) == bytes
            });
            if is_like {
                is_gone[last].fill(true);
            }
        }
    }

    /// The bytes of each of some copies to the host.
    fn bytes_back(&self, calls: Range<usize>) -> Vec<i64> {
        let part = &self.model.part;
        let ops = calls.filter(|call| self.lane(*call) == Some(TO_HOST)).map(|call| part.calls[call].first_op);
        ops.filter_map(|op| part.ops.get(op as usize)).map(|op| op.bytes).collect()
    }

    /// Whether the host code before a call is operators of the CPU, or takes longer than passing over what some calls copy: what is
    /// made or read in less time is not what is copied.
    fn outlasts(&self, first_of_thread: usize, call: usize, copies: Range<usize>) -> bool {
        let part = &self.model.part;
        let row = &part.calls[call];
        let before = call.checked_sub(1).filter(|before| *before >= first_of_thread);
        let host_ns = before.map_or(0, |before| row.start - part.calls[before].end);
        let ops = part.calls[copies].iter().filter_map(|call| part.ops.get(call.first_op as usize));
        let copied_ns: i64 = ops.map(|op| (op.end - op.start).min((op.bytes as f64 / PASSING_RATE) as i64)).sum();
        row.cpu_operators_ns as f64 >= OF_OPERATORS_SHARE * host_ns as f64 || host_ns >= copied_ns
    }

    /// Which calls go with what operators of the CPU before some calls work on and make, at best.
    pub(in super::super) fn copies_of_host_code(&self, setting: &Setting<'_>) -> Vec<bool> {
        self.kept_on_device(&self.moved_to_device(Extent::Ceiling, setting), Extent::Ceiling).is_gone
    }
}

/// What becomes of calls that copy, and of the waits for them.
struct Kept {
    is_gone: Vec<bool>,
    is_pinned: Vec<bool>,
}
