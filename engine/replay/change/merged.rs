//! What kernels take at best where those that are launched one by one become few: by hand, or by a compiler.

use foldhash::HashMap;

use super::super::Role;
use super::super::model::Play;
use super::super::record::Op;
use super::super::setting::Setting;
use super::MIN_READS_OF_LOOP;
use super::host::is_small_kernel;
use super::programs::data_ns;
use crate::ledger::OpKind;
use crate::steps::rows::rows;
use crate::timeline::NONE;

/// Launches of the same kernel that follow one another on grids which fill no more of the device can be one, where there are so many.
const MERGED_SHARE: f64 = 0.5;
const MIN_KERNELS_IN_ROW: usize = 8;
/// The same few small kernels, at most so many, that come again so often are a loop over what one launch could do at once: layers
/// have more kernels, and there are fewer of them.
const MAX_KERNELS_OF_TURN: usize = 12;
const MIN_TURN_COUNT: usize = 16;

/// Kernels that follow one another in a stream: their step, their shape, and which operations they are.
type Row = (u32, Option<u32>, Vec<u32>);

impl<'model> Play<'model> {
    /// What each kernel takes at best where launches become few, by operation; absent of those that stay as they are. Small kernels
    /// that pass over elements vanish in others, and so do those of a loop; of other small ones, such as a matrix product, what
    /// starting a kernel takes can go, and no more.
    pub(in super::super) fn merged_runs(&self, setting: &Setting<'_>) -> &'model HashMap<u32, i64> {
        self.model.asked.merged_runs.get_or_init(|| self.find_merged_runs(setting))
    }

    fn find_merged_runs(&self, setting: &Setting<'_>) -> HashMap<u32, i64> {
        let mut runs = self.merged_rows(setting);
        runs.extend(self.passes_of_turns(setting).into_iter().map(|index| (index, 0)));
        let in_loop = self.small_of_loops(setting);
        for (index, op) in (0_u32..).zip(&self.model.part.ops) {
            let run_ns = op.end - op.start;
            if is_small_kernel(op, run_ns) {
                let vanishes = in_loop[index as usize] || setting.role_of(op).passes_over_elements();
                let left_ns = if vanishes { 0 } else { data_ns(run_ns) };
                runs.entry(index).and_modify(|ns| *ns = left_ns.min(*ns)).or_insert(left_ns);
            }
        }
        runs
    }

    /// What small kernels take where the cells that launch them become the layer of a library: those that pass over elements become part
    /// of its few kernels, and what starting one takes goes of others. Each element of a sequence still waits for the one before.
    pub(in super::super) fn runs_in_layers(&self, setting: &Setting<'_>) -> HashMap<u32, i64> {
        let ops = (0_u32..).zip(&self.model.part.ops);
        let small = ops.filter(|(_, op)| op.call != NONE && is_small_kernel(op, op.end - op.start));
        let left_ns = |op: &Op| if setting.role_of(op).passes_over_elements() { 0 } else { data_ns(op.end - op.start) };
        small.map(|(index, op)| (index, left_ns(op))).collect()
    }

    /// Element-wise kernels that come once or more for each cell of a sequence, or each piece of data that is chosen, however long they
    /// take: where a turn works on a part of a tensor, its backward pass fills a gradient of all of it, and adds that to those of other
    /// turns. Where one call does all turns, it writes each part once.
    fn passes_of_turns(&self, setting: &Setting<'_>) -> Vec<u32> {
        let turn_count = match setting.looped_cell_count {
            0 if self.piece_loop(setting).is_none() => return Vec::new(),
            0 => MIN_READS_OF_LOOP,
            count => count,
        };
        let least = turn_count.saturating_mul(self.model.part.step_count as usize);
        let ops = || (0_u32..).zip(&self.model.part.ops).filter(|(_, op)| op.call != NONE);
        let shape = |op: &Op| setting.shape_of(op).filter(|_| setting.role_of(op) == Role::Elementwise);
        let mut counts: HashMap<u32, usize> = HashMap::default();
        ops().filter_map(|(_, op)| shape(op)).for_each(|shape| *counts.entry(shape).or_default() += 1);
        let is_of_turns = |op: &Op| shape(op).and_then(|shape| counts.get(&shape)).is_some_and(|count| *count >= least);
        ops().filter(|(_, op)| is_of_turns(op)).map(|(index, _)| index).collect()
    }

    /// Of kernels of one shape that follow one another in a stream on grids which leave most of the device free, what each takes
    /// where one launch does all of them. Whatever else comes between two of them may need the first, or make what the second needs.
    fn merged_rows(&self, setting: &Setting<'_>) -> HashMap<u32, i64> {
        let mut runs = HashMap::default();
        let mut settle = |same: Vec<u32>| {
            let Some(first) = same.first().filter(|_| same.len() >= MIN_KERNELS_IN_ROW) else { return };
            let filled = f64::from(setting.resident_share_of(self.model.op(*first)));
            if filled > 0.0 && filled <= MERGED_SHARE {
                let share = filled.max(1.0 / same.len() as f64);
                let run_ns = |index: u32| self.model.op(index).end - self.model.op(index).start;
                runs.extend(same.into_iter().map(|index| (index, (run_ns(index) as f64 * share) as i64)));
            }
        };
        let mut in_row: HashMap<(u32, u32), Row> = HashMap::default();
        for (index, op) in (0_u32..).zip(&self.model.part.ops) {
            let shape = setting.shape_of(op).filter(|_| op.call != NONE && op.kind == OpKind::Kernel);
            let row = in_row.entry((op.device, op.stream)).or_insert_with(|| (op.step, shape, Vec::new()));
            if (row.0, row.1) != (op.step, shape) {
                settle(std::mem::take(&mut row.2));
                (row.0, row.1) = (op.step, shape);
            }
            if shape.is_some() {
                row.2.push(index);
            }
        }
        in_row.into_values().for_each(|(_, _, same)| settle(same));
        runs
    }

    /// Which operations are small kernels of a loop over pieces of work.
    fn small_of_loops(&self, setting: &Setting<'_>) -> Vec<bool> {
        let part = &self.model.part;
        let mut of_loops = vec![false; part.ops.len()];
        let is_small = |op: &Op| op.call != NONE && is_small_kernel(op, op.end - op.start);
        for ops in self.model.by_stream() {
            let is_of_one = |this: &u32, next: &u32| {
                let (this, next) = (self.model.op(*this), self.model.op(*next));
                this.step == next.step && is_small(this) && is_small(next)
            };
            for chain in ops.chunk_by(is_of_one) {
                let names: Vec<u32> = chain.iter().map(|op| setting.name_of(self.model.op(*op))).collect();
                for row in rows(&names, MAX_KERNELS_OF_TURN, MIN_TURN_COUNT) {
                    chain[row.places()].iter().for_each(|op| of_loops[*op as usize] = true);
                }
            }
        }
        of_loops
    }
}
