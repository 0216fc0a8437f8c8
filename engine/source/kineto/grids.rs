//! Grids that a trace of an AMD GPU gives in threads: where the call that launched a kernel counts so.

use std::hash::Hash;

use foldhash::{HashMap, HashSet};

use crate::timeline::columns::KernelShape;
use crate::timeline::{Geometry, NONE, NameId, Timeline};

/// HIP's launches whose sizes are global: in threads (work-items), as OpenCL counts. Profilers hand on what the call was given.
const IN_THREADS: [&str; 2] = ["hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel"];

/// Turns them into blocks.
pub(super) fn count_blocks(timeline: &mut Timeline) {
    let counts_threads: HashSet<NameId> = IN_THREADS.iter().filter_map(|call| timeline.names.find(call)).collect();
    if counts_threads.is_empty() {
        return;
    }
    let mut known = Known {
        geometries: index_of(&timeline.geometries),
        shapes: index_of(&timeline.kernels.shapes),
        in_blocks: HashMap::default(),
    };
    for row in 0..timeline.kernels.shape.len() {
        let call = timeline.kernels.ops.call.get(row).copied().unwrap_or(NONE);
        let name = timeline.api.name.get(call as usize);
        if name.is_some_and(|name| counts_threads.contains(name)) {
            let read = timeline.kernels.shape[row];
            timeline.kernels.shape[row] = known.in_blocks(timeline, read);
        }
    }
}

fn index_of<T: Hash + Eq + Copy>(table: &[T]) -> HashMap<T, u32> {
    table.iter().copied().zip(0_u32..).collect()
}

/// What kernels were launched as, each once.
struct Known {
    geometries: HashMap<Geometry, u32>,
    shapes: HashMap<KernelShape, u32>,
    /// By shape as it was read, the shape in blocks.
    in_blocks: HashMap<u32, u32>,
}

impl Known {
    /// The index of a shape whose grid counts blocks, for one whose grid counts threads.
    fn in_blocks(&mut self, timeline: &mut Timeline, read: u32) -> u32 {
        if let Some(known) = self.in_blocks.get(&read) {
            return *known;
        }
        let shape = self.add(timeline, read).unwrap_or(read);
        self.in_blocks.insert(read, shape);
        shape
    }

    fn add(&mut self, timeline: &mut Timeline, read: u32) -> Option<u32> {
        let shape = timeline.kernels.shapes.get(read as usize).copied()?;
        let geometry = timeline.geometries.get(shape.geometry as usize).copied()?;
        let threads = u64::try_from(geometry.block_threads).ok().filter(|threads| *threads > 0)?;
        let grid_blocks = i64::try_from(geometry.grid_blocks.max(0).unsigned_abs().div_ceil(threads)).ok()?;
        let geometry = interned(&mut timeline.geometries, &mut self.geometries, Geometry { grid_blocks, ..geometry });
        Some(interned(&mut timeline.kernels.shapes, &mut self.shapes, KernelShape { geometry, ..shape }))
    }
}

fn interned<T: Hash + Eq + Copy>(table: &mut Vec<T>, index_of: &mut HashMap<T, u32>, value: T) -> u32 {
    *index_of.entry(value).or_insert_with(|| {
        table.push(value);
        table.len() as u32 - 1
    })
}
