//! Where every nanosecond of a device's window went.
//!
//! [`accounts`] is the table of what time is booked under. [`ops`] lists what a device ran, and [`sweep`] walks the list once
//! and hands each moment to exactly one account. The moments in which nothing ran are read on the thread that ended them:
//! `activity` is what a thread may do, [`compiling`] tells where threads compile or load code, [`host`] holds what is recorded of threads, `layout` lays one out from its `rows`, a long one in `layout_parts`,
//! by what it is `inside`, where `dispatch` tells what prepares a launch, `marks` which calls do something else than their name says, `queued` which launches have a long queue before them, `profiler_calls` which wait for the profiler, and `laid_out` keeps it
//! for all devices; [`between_calls`] finds the pieces of host code between calls of one function of the OS; `stretches` asks the threads, by way of `queries`, and [`walk`] has them
//! answer, a long one in `walk_parts`, each device by the `cursor` that reads what it asked (`question`), which adds up what lies where nothing begins or ends (`calm`), or `in_sums` where `host_rows` are too many: `open_ranges` tells which ranges were open, `of_thread` what a thread does at other times as well, `ahead` how far waits hold a thread up and `wins` what a stretch could win from that, [`idle`] and [`reading`] are
//! what comes of it. `first` and `by_key` are what these count with.

pub mod accounts;
mod activity;
pub mod after_waits;
mod ahead;
pub mod between_calls;
mod by_key;
mod by_thread;
pub mod callers;
mod calm;
mod classes;
mod code_waits;
mod compile_ranges;
pub mod compiling;
mod cursor;
mod dispatch;
mod first;
mod first_uses;
pub mod host;
mod host_rows;
mod host_run;
pub mod idle;
mod in_operators;
mod in_sums;
mod inside;
mod laid_out;
mod layout;
mod layout_parts;
mod marks;
mod of_thread;
mod open_ranges;
pub mod ops;
mod prints;
mod profiler_calls;
mod queries;
mod question;
mod queued;
pub mod reading;
mod rows;
mod sparing;
mod stretches;
pub mod sweep;
pub mod walk;
mod walk_parts;
mod wins;

pub use accounts::{Account, Breakdown};
pub use activity::Activity;
pub use by_key::ByKey;
pub(crate) use code_waits::PROCESS_WAITS;
pub use code_waits::sleeps;
pub use host::Calls;
pub use idle::{IdleReading, Stretch};
pub use in_operators::InOperators;
pub use ops::{DeviceOps, Op, OpKind, OpRef, Scope};
pub use reading::{COLD_PIECES, HostAndRounds, MAX_ONCE_PIECE_COUNT, START_UP_PIECES, TimeSum};
pub use stretches::{Stretches, Unread};
pub use sweep::Moment;

#[cfg(test)]
mod layout_tests;
#[cfg(test)]
mod walk_parts_tests;
