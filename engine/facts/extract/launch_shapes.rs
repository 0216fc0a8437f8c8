//! Which kernel was launched how wide: what is an entity of its own, so that nothing of one width is told of another.

use foldhash::HashMap;

use crate::limits::MAX_LAUNCH_SHAPE_COUNT;
use crate::timeline::columns::KernelShape;
use crate::timeline::{NONE, NameId, Timeline};

/// A kernel with a grid and a block. Zero blocks or threads: the report does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LaunchShape {
    pub(super) name: NameId,
    pub(super) grid_blocks: i64,
    pub(super) block_threads: i64,
}

impl LaunchShape {
    fn of(timeline: &Timeline, shape: KernelShape) -> Self {
        let geometry = timeline.geometries.get(shape.geometry as usize);
        let (grid_blocks, block_threads) = geometry.map_or((0, 0), |known| (known.grid_blocks, known.block_threads));
        Self { name: shape.name, grid_blocks, block_threads }
    }

    /// Lanes of the SMs that its blocks use at most, of [`LANES_OF_SM`] an SM.
    pub(super) fn lanes(&self) -> i64 {
        self.grid_blocks.saturating_mul(self.block_threads.clamp(0, LANES_OF_SM))
    }
}

/// Threads that keep all of an SM issuing: a warp for each of its schedulers. With fewer, part of it is empty whatever they do.
pub(super) const LANES_OF_SM: i64 = 128;

/// Every launch shape of a recording. Registers and shared memory are no part of it.
#[derive(Debug, Default)]
pub(super) struct LaunchShapes {
    list: Vec<LaunchShape>,
    /// Their indices, by index in [`crate::timeline::Kernels::shapes`]; [`NONE`] of what is no kernel.
    of_shape: Vec<u32>,
}

impl LaunchShapes {
    /// Beyond the limit, launches of a kernel stand for those of unknown width.
    pub(super) fn new(timeline: &Timeline) -> Self {
        let mut shapes = Self::default();
        let mut indices: HashMap<LaunchShape, u32> = HashMap::default();
        for shape in &timeline.kernels.shapes {
            let mut launch = LaunchShape::of(timeline, *shape);
            if launch.name == NONE {
                shapes.of_shape.push(NONE);
                continue;
            }
            if shapes.list.len() >= MAX_LAUNCH_SHAPE_COUNT && !indices.contains_key(&launch) {
                launch = LaunchShape { grid_blocks: 0, block_threads: 0, ..launch };
            }
            let index = *indices.entry(launch).or_insert_with(|| {
                shapes.list.push(launch);
                (shapes.list.len() - 1) as u32
            });
            shapes.of_shape.push(index);
        }
        shapes
    }

    /// The index of what a kernel was launched as; `None` for one of which nothing is known.
    pub(super) fn index_of(&self, timeline: &Timeline, kernel: u32) -> Option<u32> {
        self.index_of_shape(*timeline.kernels.shape.get(kernel as usize)?)
    }

    /// The same of a kernel shape, by its index.
    pub(super) fn index_of_shape(&self, shape: u32) -> Option<u32> {
        self.of_shape.get(shape as usize).copied().filter(|index| *index != NONE)
    }

    /// The launch shape at an index.
    pub(super) fn get(&self, index: u32) -> Option<LaunchShape> {
        self.list.get(index as usize).copied()
    }
}
