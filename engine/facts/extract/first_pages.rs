//! What the pages of unified memory that come to a device take on the link at least, whoever asks for them, and however early.

use crate::facts::Entity;
use crate::ledger::Op;
use crate::timeline::Timeline;
use crate::timeline::columns::Direction;
use crate::timeline::interval::Interval;
use crate::timeline::link::LinkRates;
use crate::timeline::union::Union;

use super::DeviceContext;

/// Migrations at least this large run at the rate of the link.
const LINK_BYTES: i64 = 500_000;

/// Sets it where places and the rate of the link are known. Each page counts once, for it may come again because of what a change undoes.
pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let migrations = &timeline.migrations;
    let is_to_device = |op: &Op| migrations.direction.get(op.index as usize) == Some(&Direction::HostToDevice);
    let to_device = || device.ops.migrations_in_window().filter(is_to_device);
    let place = |op: Op| {
        let (address, bytes) = (migrations.address[op.index as usize], migrations.bytes[op.index as usize]);
        Interval::new(address, address.saturating_add(bytes.max(0)))
    };
    let large = to_device().filter(|op| place(*op).len_ns() >= LINK_BYTES && op.interval().len_ns() > 0);
    let fastest = large.map(|op| place(op).len_ns() as f64 / op.interval().len_ns() as f64).reduce(f64::max);
    let Some(measured_gb_per_s) = fastest else { return };
    let gb_per_s = measured_gb_per_s.max(LinkRates::of(device.properties(timeline)).most);
    // What has no known place may have come before.
    let bytes = Union::of(to_device().map(place).filter(|place| place.start > 0)).len_ns();
    if bytes > 0 {
        facts.set("first_pages_link_ns", (bytes as f64 / gb_per_s) as i64);
    }
}
