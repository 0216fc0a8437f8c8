//! Nodes of the backward pass that run more than once for one forward pass, as where a program calls `backward()` for each of several
//! losses of one graph. The framework gives a node a number that no other node of the thread of its forward pass has.

use foldhash::HashMap;

use super::recomputed::Kind;
use crate::timeline::details::RunsAgain;
use crate::timeline::interval::Interval;

/// What tells a node from all others: its process, the thread of its forward pass and its number there.
pub(super) type NodeOf = (i64, i64, i64);

/// An operator with a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered {
    pub(super) thread: u32,
    pub(super) times: Interval,
    pub(super) kind: Kind,
    pub(super) of: NodeOf,
}

/// A run of a node.
#[derive(Debug, Clone, Copy)]
struct Run {
    of: NodeOf,
    thread: u32,
    times: Interval,
    /// Operators run in it that will have a backward pass: it is itself a forward pass, of second derivatives.
    is_forward: bool,
}

/// All runs of each node but its first; `None` where nothing is known of a backward pass. Of a node through which gradients of gradients
/// go none: its first run is a forward pass, which has to be.
pub(super) fn repeated(rows: impl Iterator<Item = Numbered>) -> Option<RunsAgain> {
    let mut rows: Vec<Numbered> = rows.filter(|row| !matches!(row.kind, Kind::Backward | Kind::Checkpoint)).collect();
    if !rows.iter().any(|row| row.kind == Kind::Node) {
        return None;
    }
    rows.sort_unstable_by_key(|row| (row.thread, row.times.start, std::cmp::Reverse(row.times.end)));
    let mut runs: Vec<Run> = Vec::new();
    for row in rows {
        let within = runs.last_mut().filter(|run| run.thread == row.thread && row.times.start < run.times.end);
        match (row.kind, within) {
            (Kind::Node, None) => {
                runs.push(Run { of: row.of, thread: row.thread, times: row.times, is_forward: false })
            }
            (Kind::Forward(_), Some(run)) => run.is_forward = true,
            _ => {}
        }
    }
    runs.sort_unstable_by_key(|run| (run.of, run.times.start, run.thread));
    let mut by_thread: HashMap<u32, Vec<Interval>> = HashMap::default();
    for of_node in runs.chunk_by(|one, next| one.of == next.of) {
        if of_node.iter().any(|run| run.is_forward) {
            continue;
        }
        for run in of_node.iter().skip(1) {
            by_thread.entry(run.thread).or_default().push(run.times);
        }
    }
    Some(RunsAgain::new(by_thread.into_iter().map(|(thread, mut times)| {
        times.sort_unstable();
        (thread, times.into_iter().collect())
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: i64, start: i64) -> Numbered {
        let kind = Kind::of(b"autograd::engine::evaluate_function: AddmmBackward0", 1);
        Numbered { thread: 2, times: Interval::new(start, start + 10), kind, of: (3, 1, number) }
    }

    fn starts(rows: &[Numbered]) -> Option<Vec<i64>> {
        let again = repeated(rows.iter().copied())?;
        Some(again.of_thread(2).map(|times| times.iter().map(|times| times.start).collect()).unwrap_or_default())
    }

    #[test]
    fn all_runs_of_a_node_but_the_first_are_told() {
        assert_eq!(starts(&[node(7, 0), node(6, 20), node(7, 40), node(7, 60)]), Some(vec![40, 60]));
        assert_eq!(starts(&[node(7, 0), node(6, 20)]), Some(vec![]));
        // The same number of another thread's forward pass, or of another process, is another node.
        let of = |of| Numbered { of, ..node(7, 40) };
        assert_eq!(starts(&[node(7, 0), of((3, 2, 7)), of((9, 1, 7))]), Some(vec![]));
        assert_eq!(starts(&[]), None);
        assert_eq!(starts(&[Numbered { kind: Kind::of(b"AddmmBackward0", 1), ..node(7, 0) }]), None);
    }

    #[test]
    fn a_node_of_second_derivatives_is_not_repeated() {
        let within = Numbered { times: Interval::new(2, 4), kind: Kind::of(b"aten::mm", 0), ..node(7, 0) };
        assert_eq!(starts(&[node(7, 0), within, node(7, 40), node(5, 60), node(5, 80)]), Some(vec![80]));
        // A forward pass beside the nodes is none of theirs.
        let beside = Numbered { times: Interval::new(12, 14), ..within };
        assert_eq!(starts(&[node(7, 0), beside, node(7, 40)]), Some(vec![40]));
    }
}
