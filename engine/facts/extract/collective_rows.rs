//! Collectives that follow one another with next to nothing between them: pieces of what one could send.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// Fewer in a row are no pieces of one: a step may need a few of its own.
const LEAST_IN_ROW: usize = 16;
/// Kernels between two of them, at most: one may scale or add up what the first brought. A layer has more.
const MOST_BETWEEN: usize = 1;
/// A longer one is a layer's by itself, and so is a graph, whatever runs in it.
const LONG_NS: i64 = 50_000;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !device.passed(context).has_communication {
        return;
    }
    let rows =
        rows(device.ops.in_window().filter(|op| !matches!(op.kind, OpKind::Copy | OpKind::Memset | OpKind::Migration)));
    let (mut count, mut idle_ns, mut exposed_ns) = (0, 0_i64, 0_i64);
    for row in &rows {
        let (idle, exposed) = idle_and_exposed_ns(device, row.iter().map(|op| op.interval()));
        count += row.len();
        idle_ns = idle_ns.saturating_add(idle);
        exposed_ns = exposed_ns.saturating_add(exposed);
    }
    facts.set("collective_row_count", count as i64);
    facts.set("collective_row_idle_ns", idle_ns);
    facts.set("collective_row_exposed_ns", exposed_ns);
}

/// How long the device runs nothing from the begin of the first of some collectives to the end of the last, and how long one of them runs
/// and nothing computes.
pub(super) fn idle_and_exposed_ns(
    device: &DeviceContext,
    collectives: impl Iterator<Item = Interval> + Clone,
) -> (i64, i64) {
    let hull = collectives.clone().reduce(Interval::hull).unwrap_or_default().clip(device.window());
    let run = Union::of(collectives.map(|collective| collective.clip(device.window())));
    (hull.len_ns() - device.busy_within(hull), run.len_ns() - run.common_ns(device.computing()))
}

/// The rows among kernels, which come by start.
fn rows(kernels: impl Iterator<Item = Op>) -> Vec<Vec<Op>> {
    let (mut rows, mut row, mut between) = (Vec::new(), Vec::new(), 0);
    for op in kernels {
        if op.kind != OpKind::Communication {
            let is_layer = op.kind == OpKind::Graph || op.interval().len_ns() > LONG_NS;
            between += if is_layer { MOST_BETWEEN + 1 } else { 1 };
            continue;
        }
        if between > MOST_BETWEEN {
            rows.push(std::mem::take(&mut row));
        }
        row.push(op);
        between = 0;
    }
    rows.push(row);
    rows.retain(|row| row.len() >= LEAST_IN_ROW);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of rows of collectives (`c`), graphs (`g`), and kernels that are long (`l`) or not.
    fn lengths(kinds: &str) -> Vec<usize> {
        let op = |(at, name): (usize, char)| {
            let kind = match name {
                'c' => OpKind::Communication,
                'g' => OpKind::Graph,
                _ => OpKind::Kernel,
            };
            let start = 100_000 * at as i64;
            Op { start, end: start + if name == 'l' { LONG_NS + 1 } else { LONG_NS }, kind, index: at as u32 }
        };
        rows(kinds.chars().enumerate().map(op)).iter().map(Vec::len).collect()
    }

    #[test]
    fn collectives_with_a_kernel_between_are_a_row() {
        assert_eq!(lengths(&"c".repeat(16)), [16]);
        assert_eq!(lengths(&"ck".repeat(16)), [16]);
        assert_eq!(lengths(&format!("{}kk{}", "c".repeat(20), "ck".repeat(17))), [20, 17]);
    }

    #[test]
    fn collectives_of_layers_are_no_row() {
        assert!(lengths(&"ckk".repeat(40)).is_empty());
        assert!(lengths(&"cg".repeat(40)).is_empty() && lengths(&"cl".repeat(40)).is_empty());
        assert!(lengths(&"c".repeat(15)).is_empty() && lengths("").is_empty());
    }
}
