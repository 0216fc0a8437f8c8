//! What would remain of a step without a cause: the recording played again over its dependencies, with a change.
//!
//! [`record`] takes a representative part of a recording, [`build`] finds what each call and each operation waited for,
//! [`model`] plays it again, [`change`] holds the changes, [`gains`] says what each could win. What a recording does not say
//! is an [`Assumption`] with a name. A recording that the model does not explain is not played again at all ([`NoReplay`]).
//!
//! The method is that of Daydream (ATC 2020) and dPRO (MLSys 2022): edges carry what was recorded, a change takes edges or
//! time away, and the longest way through what is left is the new time.

pub mod attention;
mod build;
pub mod cells;
pub mod chains;
mod change;
mod gains;
mod left;
mod model;
mod most;
mod name_marks;
mod record;
mod recording_cost;
mod running;
mod setting;
mod size;
mod typical;
mod waits;

use crate::ledger::{Calls, DeviceOps};
use crate::steps::Step;
use crate::timeline::Timeline;

pub use change::{Change, PieceLoop, SORTING, UNFOLLOWED, gathers};
pub use gains::{Gain, InTurn, Kept, Replay};
pub use most::spread;
pub use name_marks::{MANY_TENSORS, NameMarks};
pub use setting::MANY_TENSORS_BLOCKS;
pub use typical::Alike;

/// The fact of a device that holds what a step of the part played again takes: what gains are told of.
pub const STEP_FACT: &str = "replay_step_ns";

/// What a kernel's name tells a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Any other kernel.
    #[default]
    Compute,
    /// A matrix product in plain fp32.
    Fp32Product,
    /// Attention in one kernel, in plain fp32.
    Fp32Attention,
    /// Any other matrix product.
    Product,
    /// A kernel that reads and writes each element once.
    Elementwise,
    /// The same, by so many blocks as fit on the device, each of which goes on: its grid says nothing of how much that is.
    LoopingElementwise,
    /// It turns the rows of a matrix into weights.
    Softmax,
    /// It sums up rows, as part of what is done with each element.
    Reduction,
    /// It puts tensors side by side in one.
    Join,
    /// It finds out which elements are chosen, or how many.
    Selection,
    /// It moves elements that were chosen.
    Gather,
    /// It changes the layout of tensors around a convolution.
    ConvolutionLayout,
    /// It normalises channel by channel, of a tensor whose channels do not lie together.
    Normalization,
    /// It sends parameters to other GPUs.
    Broadcast,
}

impl Role {
    /// Whether it reads or writes elements one by one, so that it can do so in another type or layout.
    pub(crate) const fn passes_over_elements(self) -> bool {
        matches!(
            self,
            Self::Elementwise
                | Self::LoopingElementwise
                | Self::Softmax
                | Self::Reduction
                | Self::Join
                | Self::Gather
                | Self::Normalization
        )
    }
}

/// What is played again.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'all> {
    /// The recording.
    pub timeline: &'all Timeline,
    /// Its calls.
    pub calls: &'all Calls,
    /// The operations of every device.
    pub devices: &'all [&'all DeviceOps],
    /// The index of the device in `devices` whose steps are looked at.
    pub device: usize,
    /// Its steps, warm-up left out.
    pub steps: &'all [Step],
    /// Whether they are rounds that a sequence of launches tells: between two of them may lie another part of the program.
    pub are_rounds: bool,
    /// What each kernel's name tells, by the index of the name, short or whole.
    pub roles: &'all [Role],
    /// Whether its name tells that it computes in double precision, by the index of the name.
    pub doubles: &'all [bool],
    /// Whether its name tells that it only copies a tensor into another type or layout, by the index of the name.
    pub tensor_copies: &'all [bool],
    /// Whether its name tells that it applies a function to each element of one tensor, by the index of the name.
    pub activations: &'all [bool],
    /// What the words in it tell, by the index of the name, short or whole.
    pub marks: &'all [NameMarks],
}

/// Why a recording is not played again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoReplay {
    /// A part of what ran is missing from it.
    Incomplete,
    /// It holds no calls of the process, or lacks those of many operations.
    NoCalls,
    /// No steps are known.
    NoSteps,
    /// One step is longer, or waits for more, than what is played again.
    TooLong,
    /// Something that the recording does not hold decided when work began.
    Unexplained,
}

impl NoReplay {
    /// Its name in facts.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::NoCalls => "no_calls",
            Self::NoSteps => "no_steps",
            Self::TooLong => "too_long",
            Self::Unexplained => "unexplained",
        }
    }
}

/// What a replay takes for granted, as the recording does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assumption {
    /// What a wait waited for is told from what ended during it.
    WaitTargets,
    /// An operation that began right after one of another stream waited for that.
    OrderAcrossStreams,
    /// Threads that take turns hand over to each other.
    ThreadsTakeTurns,
    /// Collectives take as long as recorded: other ranks are as late as they were.
    OtherRanksUnchanged,
    /// Waits that nothing in the recording explains, less than a twentieth of a step, stay as they are.
    UnexplainedStays,
}

impl Assumption {
    /// Its name in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::WaitTargets => "wait_targets",
            Self::OrderAcrossStreams => "order_across_streams",
            Self::ThreadsTakeTurns => "threads_take_turns",
            Self::OtherRanksUnchanged => "other_ranks_unchanged",
            Self::UnexplainedStays => "unexplained_stays",
        }
    }

    /// What is assumed, in a sentence.
    pub const fn says(self) -> &'static str {
        match self {
            Self::WaitTargets => "a wait waited for what ended last during it",
            Self::OrderAcrossStreams => {
                "what began right after an operation of another stream, or as it ended, waited for that"
            }
            Self::ThreadsTakeTurns => "a silent thread waited for the one that called CUDA meanwhile",
            Self::OtherRanksUnchanged => "collectives take as long as recorded: other ranks are as late as they were",
            Self::UnexplainedStays => "waits that nothing in the recording explains stay as they are",
        }
    }
}
