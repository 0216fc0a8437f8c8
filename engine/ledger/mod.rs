//! Where every nanosecond of a device's window went.
//!
//! [`ops`] lists what a device ran, [`sweep`] walks the list once and hands each moment to exactly one account, and
//! [`idle`] reads the moments in which nothing ran on the thread that ended them, which [`host`] lays out.

pub mod host;
pub mod idle;
pub mod ops;
pub mod sweep;

pub use host::{Activity, Calls};
pub use idle::{IdleReading, Stretch};
pub use ops::{DeviceOps, Op, OpKind, OpRef, Scope};
pub use sweep::{Account, Moment};
