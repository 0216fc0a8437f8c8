//! Operators of the forward pass that run again in the backward pass, as activation checkpointing has it. The framework gives a number
//! to every operator that will have a backward one, and to that. In a node of the backward pass numbered forward operators run where
//! the node computes the forward pass again, and where gradients of gradients are wanted: only the first run what the forward pass ran.

use foldhash::{HashMap, HashSet};

use crate::timeline::details::RunsAgain;
use crate::timeline::interval::Interval;

/// So many forward operators in a row, of so many names, are those of a part of a model: the backward of one operator has fewer.
const ROW_COUNT: usize = 4;
const NAME_COUNT: usize = 3;
/// What the framework calls a node of the backward pass that is evaluated.
const NODE: &[u8] = b"autograd::engine::evaluate_function: ";
/// In the names of nodes that compute the forward pass again by themselves: `CheckpointFunctionBackward`.
const CHECKPOINT: &[u8] = b"heckpoint";

/// What an operator with a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is of a forward pass; the name, told apart from others by a hash of it.
    Forward(u64),
    /// A node of the backward pass.
    Node,
    /// A node that computes the forward pass again by itself.
    Checkpoint,
    /// Another operator of the backward pass.
    Backward,
}

impl Kind {
    /// By the name, and the number of the thread of the forward pass that those of the backward pass have.
    pub(super) fn of(name: &[u8], forward_thread: i64) -> Self {
        let holds = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
        match forward_thread > 0 {
            false => Self::Forward(hash(name)),
            true if name.starts_with(NODE) && holds(CHECKPOINT) => Self::Checkpoint,
            true if name.starts_with(NODE) => Self::Node,
            true => Self::Backward,
        }
    }
}

/// FNV-1a: the same in every run.
fn hash(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What runs again on each thread, of the operators with numbers of all threads; `None` where nothing is known of a backward pass.
pub(super) fn recomputed(rows: impl Iterator<Item = (u32, Interval, Kind)>) -> Option<RunsAgain> {
    let mut by_thread: HashMap<u32, Vec<(Interval, Kind)>> = HashMap::default();
    let mut has_nodes = false;
    for (thread, times, kind) in rows.filter(|(_, _, kind)| *kind != Kind::Backward) {
        has_nodes |= !matches!(kind, Kind::Forward(_));
        by_thread.entry(thread).or_default().push((times, kind));
    }
    if !has_nodes {
        return None;
    }
    let threads: Vec<(u32, Thread)> = by_thread.into_iter().map(|(thread, rows)| (thread, Thread::of(rows))).collect();
    let forward: HashSet<[u64; ROW_COUNT]> = threads.iter().flat_map(|(_, thread)| windows(&thread.forward)).collect();
    let of_thread = |(thread, found): (u32, Thread)| {
        let again = found.nodes.into_iter().filter(|node| node.runs_again(&forward));
        let mut times: Vec<Interval> = again.flat_map(|node| node.times).collect();
        times.sort_unstable();
        (!times.is_empty()).then(|| (thread, times.into_iter().collect()))
    };
    Some(RunsAgain::new(threads.into_iter().filter_map(of_thread)))
}

fn windows(names: &[u64]) -> impl Iterator<Item = [u64; ROW_COUNT]> + '_ {
    names.windows(ROW_COUNT).filter_map(|window| window.try_into().ok())
}

/// A node of the backward pass with the forward operators that run in it, and in no other within.
#[derive(Debug, Default)]
struct Node {
    is_checkpoint: bool,
    names: Vec<u64>,
    times: Vec<Interval>,
}

impl Node {
    fn runs_again(&self, forward: &HashSet<[u64; ROW_COUNT]>) -> bool {
        let names: HashSet<u64> = self.names.iter().copied().collect();
        let is_part = self.names.len() >= ROW_COUNT && names.len() >= NAME_COUNT;
        self.is_checkpoint || is_part && windows(&self.names).all(|window| forward.contains(&window))
    }
}

/// The operators of one thread that lie in no other.
#[derive(Debug, Default)]
struct Thread {
    /// Names of those of a forward pass, in their order.
    forward: Vec<u64>,
    nodes: Vec<Node>,
}

impl Thread {
    fn of(mut rows: Vec<(Interval, Kind)>) -> Self {
        rows.sort_by_key(|(times, _)| (times.start, std::cmp::Reverse(times.end)));
        let mut thread = Self::default();
        // What encloses the next one: until when, and which node it is.
        let mut within: Vec<(i64, Option<usize>)> = Vec::new();
        for (times, kind) in rows {
            while within.last().is_some_and(|(end, _)| *end <= times.start) {
                within.pop();
            }
            let Kind::Forward(name) = kind else {
                within.push((times.end, Some(thread.nodes.len())));
                thread.nodes.push(Node { is_checkpoint: kind == Kind::Checkpoint, ..Node::default() });
                continue;
            };
            match within.last() {
                None => thread.forward.push(name),
                Some((_, Some(node))) => {
                    if let Some(node) = thread.nodes.get_mut(*node) {
                        node.names.push(name);
                        node.times.push(times);
                    }
                }
                Some((_, None)) => {}
            }
            within.push((times.end, None));
        }
        thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: [&str; 5] = ["aten::layer_norm", "aten::linear", "aten::gelu", "aten::linear", "aten::add"];

    /// Operators in a row, one each 10 ns, on a thread.
    fn row(thread: u32, from: i64, names: &[&str]) -> Vec<(u32, Interval, Kind)> {
        let starts = (from..).step_by(10);
        let operator =
            |(name, start): (&&str, i64)| (thread, Interval::new(start, start + 8), Kind::of(name.as_bytes(), 0));
        names.iter().zip(starts).map(operator).collect()
    }

    fn node(name: &str, start: i64, end: i64) -> (u32, Interval, Kind) {
        let name = format!("autograd::engine::evaluate_function: {name}");
        (2, Interval::new(start, end), Kind::of(name.as_bytes(), 1))
    }

    fn again(rows: Vec<(u32, Interval, Kind)>) -> Option<Vec<i64>> {
        let found = recomputed(rows.into_iter())?;
        Some(found.of_thread(2).map(|times| times.iter().map(|times| times.start).collect()).unwrap_or_default())
    }

    #[test]
    fn a_part_of_the_forward_pass_in_a_node_runs_again() {
        let forward = || row(1, 0, &BLOCK);
        let with = |rows: Vec<_>| again(forward().into_iter().chain(rows).collect());
        let in_node = |name: &str, names: &[&str]| {
            with([node(name, 1_000, 1_100)].into_iter().chain(row(2, 1_010, names)).collect())
        };
        assert_eq!(in_node("AddmmBackward0", &BLOCK[..4]), Some(vec![1_010, 1_020, 1_030, 1_040]));
        // What follows the node is of no backward pass, and what lies within an operator is of it.
        let nested = (2, Interval::new(1_011, 1_013), Kind::of(b"aten::native_layer_norm", 0));
        let rows = [node("AddmmBackward0", 1_000, 1_050), nested].into_iter().chain(row(2, 1_010, &BLOCK)).collect();
        assert_eq!(with(rows), Some(vec![1_010, 1_020, 1_030, 1_040]));
        // In another order, too few, of too few names, or nothing.
        let other = ["aten::linear", "aten::layer_norm", "aten::gelu", "aten::linear"];
        for names in [&other[..], &BLOCK[..3], &["aten::t", "aten::mm", "aten::t", "aten::mm", "aten::t"], &[]] {
            assert_eq!(in_node("MmBackward0", names), Some(vec![]), "{names:?}");
        }
        assert_eq!(again(forward()), None);
    }

    #[test]
    fn gradients_of_gradients_are_no_second_forward_pass() {
        // What the backward of a product runs where its own gradient is wanted, in a model that is made of the same operators.
        let names = ["aten::t", "aten::mm", "aten::t", "aten::mm", "aten::t", "aten::mm"];
        let rows =
            row(1, 0, &names).into_iter().chain([node("MmBackward0", 1_000, 1_100)]).chain(row(2, 1_010, &names));
        assert_eq!(again(rows.collect()), Some(vec![]));
    }

    #[test]
    fn a_node_of_checkpointing_runs_all_again_that_is_in_no_node_within() {
        let names = ["aten::linear", "aten::relu"];
        let outer = node("CheckpointFunctionBackward", 1_000, 1_100);
        let inner = node("ReluBackward0", 1_040, 1_090);
        let rows = [outer, inner].into_iter().chain(row(2, 1_010, &names)).chain(row(2, 1_050, &["aten::mul"]));
        assert_eq!(again(rows.collect()), Some(vec![1_010, 1_020]));
        assert_eq!(Kind::of(b"CheckpointFunctionBackward", 1), Kind::Backward);
    }
}
