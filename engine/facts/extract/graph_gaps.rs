//! Gaps within graphs that are of one length each time that the graph runs. What waits for something does not wait so evenly: work
//! runs there that the profiler did not record, or a timer.

use foldhash::{HashMap, HashSet};

use super::stats::median;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::api::{ApiClass, is_graph_launch};
use crate::timeline::{NONE, NameId, Timeline};

/// A shorter gap is that between two operations, or a delay of the hardware, which may well be even.
const LEAST_NS: i64 = 50_000;
/// Fewer gaps show no rule.
const MIN_COUNT: usize = 4;
/// The middle eight tenths of gaps of one length lie within this share of it.
const MAX_SPREAD_SHARE: f64 = 0.05;

/// What an operation is.
type Node = (OpKind, NameId);
/// An operation's place in a graph: the graph, what it is, and which of those it is.
type Place = (u32, Node, u32);

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let graph_of = graphs(context, device);
    let is_node = |op: &Op| op.call(context.timeline).is_some_and(|call| graph_of.contains_key(&call));
    let is_kernel = |op: &Op| matches!(op.kind, OpKind::Kernel | OpKind::Communication);
    let kernels = device.ops.in_window().filter(|op| !graph_of.is_empty() && is_kernel(op) && is_node(op));
    let (mut kernel_count, mut launches) = (0, HashSet::default());
    for op in kernels {
        kernel_count += 1;
        launches.extend(op.call(context.timeline));
    }
    if kernel_count > 0 {
        facts.set("graph_kernel_count", kernel_count);
        facts.set("graph_of_kernels_launch_count", launches.len() as i64);
    }
    let gaps = gaps(context, device, &graph_of);
    let even = gaps.into_values().filter(|gaps| is_even(gaps));
    let (count, sum_ns) = even.fold((0, 0_i64), |(count, sum), gaps| {
        (count + gaps.len() as i64, gaps.into_iter().fold(sum, i64::saturating_add))
    });
    if count > 0 {
        facts.set("graph_even_gap_count", count);
        facts.set("graph_even_gap_ns", sum_ns);
    }
}

/// The gaps before operations that a graph had been launched with before they began, by their place in it.
fn gaps(context: &Context<'_>, device: &DeviceContext, graph_of: &HashMap<u32, u32>) -> HashMap<Place, Vec<i64>> {
    let timeline = context.timeline;
    let mut gaps: HashMap<Place, Vec<i64>> = HashMap::default();
    if graph_of.is_empty() {
        return gaps;
    }
    let mut seen: HashMap<(u32, Node), u32> = HashMap::default();
    let mut busy_until = i64::MAX;
    for op in device.ops.in_window() {
        if let Some((call, graph)) = op.call(timeline).and_then(|call| Some((call, *graph_of.get(&call)?))) {
            let node = node_of(timeline, op);
            let number = seen.entry((call, node)).or_default();
            let gap_ns = op.start.saturating_sub(busy_until);
            if gap_ns >= LEAST_NS && timeline.api.times.end(call as usize) <= busy_until {
                gaps.entry((graph, node, *number)).or_default().push(gap_ns);
            }
            *number += 1;
        }
        busy_until = if busy_until == i64::MAX { op.end } else { busy_until.max(op.end) };
    }
    gaps
}

/// Which graph each launch of one runs, told by what runs of it.
fn graphs(context: &Context<'_>, device: &DeviceContext) -> HashMap<u32, u32> {
    let timeline = context.timeline;
    let names = (0..).zip(&context.calls.class).filter(|(_, class)| **class == ApiClass::Launch);
    let launches: HashSet<NameId> =
        names.map(|(name, _)| name).filter(|name| is_graph_launch(timeline.name(*name))).collect();
    let mut nodes: HashMap<u32, Vec<(u8, NameId)>> = HashMap::default();
    for op in device.ops.in_window().filter(|_| !launches.is_empty()) {
        let call = op.call(timeline).filter(|call| launches.contains(&timeline.api.name[*call as usize]));
        if let Some(call) = call {
            let (kind, name) = node_of(timeline, op);
            nodes.entry(call).or_default().push((kind as u8, name));
        }
    }
    let mut known: HashMap<Vec<(u8, NameId)>, u32> = HashMap::default();
    let told = nodes.into_iter().map(|(call, mut nodes)| {
        nodes.sort_unstable();
        let next = known.len() as u32;
        (call, *known.entry(nodes).or_insert(next))
    });
    told.collect()
}

fn node_of(timeline: &Timeline, op: Op) -> Node {
    let is_named = matches!(op.kind, OpKind::Kernel | OpKind::Communication);
    (op.kind, if is_named { timeline.kernels.shape_of(op.index).name } else { NONE })
}

fn is_even(gaps: &[i64]) -> bool {
    let mut sorted = gaps.to_vec();
    let Some(usual_ns) = median(&mut sorted).filter(|_| gaps.len() >= MIN_COUNT) else { return false };
    sorted.sort_unstable();
    let tenth = sorted.len() / 10;
    let spread_ns = sorted[sorted.len() - 1 - tenth] - sorted[tenth];
    spread_ns as f64 <= MAX_SPREAD_SHARE * usual_ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_one_length_are_even() {
        assert!(is_even(&[64_200_000, 63_500_000, 64_700_000, 63_300_000]));
        assert!(!is_even(&[64_200_000, 63_500_000, 64_700_000]), "three show no rule");
        assert!(!is_even(&[100_000, 100_000, 100_000, 106_000]));
        assert!(is_even(&[[100_000; 9].as_slice(), &[900_000]].concat()), "one in ten may be another");
        assert!(!is_even(&[]));
    }
}
