//! Whose stack is whose. Some exports hang on each call the stack of the call before it: a stack names the call of CUDA that it was taken
//! in, and that is another then.

use std::num::NonZeroU32;

use foldhash::HashMap;

use crate::timeline::{api, modules};

/// The thread and correlation id of an API call.
pub(super) type CallKey = (i64, i64);

/// Of stacks that name a call, the part that names another one than theirs before they may be those of the calls before, in percent.
const OTHER_PERCENT: usize = 10;
/// They are, where this part of them names the call before.
const BEFORE_PERCENT: usize = 90;
/// From this part on that names another call, none is told.
const NONE_PERCENT: usize = 50;

/// A call of CUDA by its name without version, and whether it is one of the runtime: these are made of calls of the driver. Both are
/// one number, as there may be one for each stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NamedCall(NonZeroU32);

impl NamedCall {
    const fn is_runtime(self) -> bool {
        self.0.get() % 2 == 1
    }
}

/// The calls of CUDA that are named, each once.
#[derive(Default)]
pub(super) struct NamedCalls(HashMap<String, u32>);

impl NamedCalls {
    /// The one that a function is named as.
    pub(super) fn of(&mut self, function: &str) -> Option<NamedCall> {
        let call = api::normal_name(modules::cuda_call(function)?);
        let next = self.0.len() as u32 + 1;
        let name = match self.0.get(call) {
            Some(known) => *known,
            None => *self.0.entry(call.to_owned()).or_insert(next),
        };
        NonZeroU32::new(name.checked_mul(2)? + u32::from(call.starts_with("cuda"))).map(NamedCall)
    }
}

/// The innermost calls that a stack names, with their depths: of the runtime, and of the driver.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Innermost {
    of_runtime: Option<(u32, NamedCall)>,
    of_driver: Option<(u32, NamedCall)>,
}

impl Innermost {
    /// Adds a frame.
    pub(super) fn add(&mut self, depth: u32, call: NamedCall) {
        let known = if call.is_runtime() { &mut self.of_runtime } else { &mut self.of_driver };
        if known.is_none_or(|(at, _)| depth < at) {
            *known = Some((depth, call));
        }
    }

    /// Adds those of another part of the stack.
    pub(super) fn merge(&mut self, other: Self) {
        for (depth, call) in [other.of_runtime, other.of_driver].into_iter().flatten() {
            self.add(depth, call);
        }
    }

    /// Whether it was taken in a call; `None` where it does not tell.
    fn is_of(&self, call: NamedCall) -> Option<bool> {
        let named = if call.is_runtime() { self.of_runtime } else { self.of_driver };
        named.map(|(_, named)| named == call)
    }
}

/// A row that a stack hangs on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) key: CallKey,
    pub(super) start: i64,
    pub(super) call: Option<NamedCall>,
    /// The index of the stack; [`crate::timeline::NONE`] of one that tells nothing.
    pub(super) chain: u32,
}

/// The calls whose stacks are theirs, with these. `named` gives the calls that a stack names.
pub(super) fn chains_of_calls(mut rows: Vec<Row>, named: impl Fn(u32) -> Option<Innermost>) -> Vec<Row> {
    rows.sort_unstable_by_key(|row| (row.key.0, row.start));
    let is_of = |chain: u32, row: &Row| named(chain)?.is_of(row.call?);
    let own = Told::of(rows.iter().map(|row| is_of(row.chain, row)));
    if own.is_other(OTHER_PERCENT) {
        let before = rows.windows(2).filter(|pair| pair[0].key.0 == pair[1].key.0);
        let told = Told::of(before.map(|pair| is_of(pair[1].chain, &pair[0])));
        if told.this * 100 >= (told.this + told.other) * BEFORE_PERCENT && told.this > own.this {
            take_from_next(&mut rows);
        } else if own.is_other(NONE_PERCENT) {
            return Vec::new();
        }
    }
    rows.retain(|row| is_of(row.chain, row) != Some(false));
    rows
}

/// Gives each call the stack that hangs on the next of its thread; the last of a thread has none.
fn take_from_next(rows: &mut Vec<Row>) {
    for at in 1..rows.len() {
        rows[at - 1].chain = rows[at].chain;
    }
    let is_last: Vec<bool> =
        (0..rows.len()).map(|at| rows.get(at + 1).is_none_or(|next| next.key.0 != rows[at].key.0)).collect();
    let mut is_last = is_last.into_iter();
    rows.retain(|_| !is_last.next().unwrap_or(false));
}

/// How many stacks name a call, and how many another one.
#[derive(Debug, Default)]
struct Told {
    this: usize,
    other: usize,
}

impl Told {
    fn of(stacks: impl Iterator<Item = Option<bool>>) -> Self {
        stacks.flatten().fold(Self::default(), |told, is_this| match is_this {
            true => Self { this: told.this + 1, ..told },
            false => Self { other: told.other + 1, ..told },
        })
    }

    const fn is_other(&self, percent: usize) -> bool {
        self.other > 0 && self.other * 100 >= (self.this + self.other) * percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stacks of calls of two threads, `(thread, call, call that the stack names)`: the number of the row whose stack each call gets.
    fn whose(rows: &[(i64, &str, &str)]) -> Vec<Option<i64>> {
        let mut calls = NamedCalls::default();
        let mut named: HashMap<u32, Innermost> = HashMap::default();
        let mut all = Vec::new();
        for (at, (thread, call, in_stack)) in (0_u32..).zip(rows) {
            for (depth, function) in (0..).zip(in_stack.split(' ').filter(|function| !function.is_empty())) {
                let Some(call) = calls.of(function) else { continue };
                named.entry(at).or_default().add(depth, call);
            }
            all.push(Row { key: (*thread, i64::from(at)), start: i64::from(at), call: calls.of(call), chain: at });
        }
        let told = chains_of_calls(all, |chain| named.get(&chain).copied());
        let of = |key: CallKey| told.iter().find(|row| row.key == key).map(|row| i64::from(row.chain));
        (0_i64..).zip(rows).map(|(at, (thread, ..))| of((*thread, at))).collect()
    }

    #[test]
    fn stacks_that_name_the_call_before_are_of_that() {
        let shifted = [
            (1, "cudaMalloc_v3020", ""),
            (1, "cudaMalloc_v3020", "cudaMalloc main"),
            (2, "cuLaunchKernel", ""),
            (1, "cudaMemcpy_v3020", "cudaMalloc main"),
            (1, "cudaLaunchKernel_v7000", "cudaMemcpy main"),
            (2, "cuMemcpyHtoD_v2", "cuLaunchKernel main"),
        ];
        assert_eq!(whose(&shifted), [Some(1), Some(3), Some(5), Some(4), None, None]);
    }

    #[test]
    fn stacks_of_their_own_calls_stay() {
        let own = [
            (1, "cudaMalloc_v3020", "cudaMalloc main"),
            (1, "cudaLaunchKernel_v7000", "cuLaunchKernel cudaLaunchKernel main"),
            (1, "cuLaunchKernel", "cuLaunchKernel cudaLaunchKernel main"),
            (1, "cudaMemcpy_v3020", "main"),
        ];
        assert_eq!(whose(&own), [Some(0), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn one_that_names_another_call_is_told_of_none() {
        let mut rows = vec![(1, "cudaMalloc", "cudaMalloc main"); 12];
        rows[5].2 = "cudaFree main";
        let told = whose(&rows);
        assert_eq!(told.iter().filter(|told| told.is_none()).count(), 1);
        assert_eq!(told[5], None);
        // Stacks of no order at all.
        let mixed = [(1, "cudaMalloc", "cudaMalloc"), (1, "cudaFree", "cudaMemcpy"), (1, "cudaMalloc", "cudaMemset")];
        assert_eq!(whose(&mixed), [None, None, None]);
    }
}
