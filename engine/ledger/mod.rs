//! Where every nanosecond of a device's window went.
//!
//! [`ops`] lists what a device ran, and [`sweep`] walks the list once and hands each moment to exactly one account. The
//! moments in which nothing ran are read on the thread that ended them: [`host`] lays the thread out, [`walk`] brings
//! both together, [`annotation`] tells which annotations were open, [`idle`] is what comes of it.

pub mod annotation;
pub mod host;
pub mod idle;
pub mod ops;
pub mod sweep;
pub mod walk;

pub use host::{Activity, Calls};
pub use idle::{IdleReading, Stretch};
pub use ops::{DeviceOps, Op, OpKind, OpRef, Scope};
pub use sweep::{Account, Moment};
pub use walk::Stretches;
