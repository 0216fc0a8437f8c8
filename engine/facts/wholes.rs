//! What a facts file says must add up: accounts to what they divide, and no part is more than its whole. A ledger that leaves
//! time out, or counts it twice, would be read as a measurement.

use foldhash::HashMap;

use super::catalogue::{self, EntityKind, Unit};
use super::store::{Entity, EntityId, Facts};
use crate::ledger::{Account, Breakdown};

/// Parts of the window whose names do not say it.
const OF_WINDOW: [&str; 8] = [
    // What gains are held against: a longer one would make nothing of each of them.
    "replay_step_ns",
    "replay_recorded_step_ns",
    "replay_least_step_ns",
    "concurrent_stream_ns",
    "concurrent_kernel_ns",
    "copy_overlapped_ns",
    "host_copy_overlapped_ns",
    "overlap_ceiling_ns",
];
/// Parts of the time in which nothing runs whose names do not say it.
const OF_IDLE: [&str; 9] = [
    "scalar_readback_idle_ns",
    "one_time_idle_ns",
    "launch_bound_ns",
    "migration_idle_ns",
    "round_trip_idle_ns",
    "round_trip_host_idle_ns",
    "host_optimizer_idle_ns",
    "collective_row_idle_ns",
    "idle_launch_in_calls_ns",
];
/// What running ahead of the device could win.
const OF_OVERLAP: [&str; 3] = ["sync_run_ahead_ns", "blocking_copy_run_ahead_ns", "scalar_readback_run_ahead_ns"];
/// Parts of other entities: the kind, the part, and the account of the device that it lies in.
const OF_DEVICE: [(EntityKind, &str, Account); 6] = [
    (EntityKind::Stream, "busy_ns", Account::Window),
    (EntityKind::Stream, "kernel_busy_ns", Account::Window),
    (EntityKind::CopyGroup, "busy_ns", Account::Window),
    (EntityKind::SyncGroup, "idle_after_ns", Account::Idle),
    (EntityKind::Range, "idle_ns", Account::Idle),
    (EntityKind::Range, "innermost_idle_ns", Account::Idle),
];
/// What entities own of the time of another, each moment once: they sum to no more than that.
const OWNED: [(EntityKind, &str, EntityKind, &str); 4] = [
    (EntityKind::Kernel, "attributed_ns", EntityKind::Device, "window_ns"),
    (EntityKind::Kernel, "underfilled_ns", EntityKind::Device, "underfilled_ns"),
    (EntityKind::LaunchShape, "attributed_ns", EntityKind::Kernel, "attributed_ns"),
    (EntityKind::CopyGroup, "exposed_ns", EntityKind::Device, "exposed_copy_ns"),
];

/// The facts, where they add up but for what rounding each of them adds; else what does not.
pub(super) fn checked(facts: Facts) -> Result<Facts, String> {
    for (_, device) in facts.of_kind(EntityKind::Device) {
        sums_of(device, Account::Window.fact())?;
        parts_of(device)?;
    }
    for (_, phase) in facts.of_kind(EntityKind::Phase) {
        sums_of(phase, "duration_ns")?;
    }
    for (kind, part, of) in OF_DEVICE {
        for (id, entity) in facts.of_kind(kind) {
            let device = facts.related(id, EntityKind::Device).map(|device| facts.get(device));
            let whole_ns = device.and_then(|device| device.int(of.fact()));
            no_more(entity, part, entity.int(part), (of.fact(), whole_ns))?;
        }
    }
    for (kind, part, owner, whole) in OWNED {
        owned(&facts, (kind, part), (owner, whole))?;
    }
    Ok(facts)
}

/// Accounts sum to what they divide; those that a recording does not tell are empty.
fn sums_of(entity: &Entity, window: &'static str) -> Result<(), String> {
    let Some(window_ns) = entity.int(window) else { return Ok(()) };
    for breakdown in Breakdown::ALL {
        let whole = breakdown.whole();
        let (name, whole_ns) = match whole {
            Account::Window => (window, window_ns),
            // What is not told is not divided.
            _ => (whole.fact(), entity.int(whole.fact()).unwrap_or(0)),
        };
        let parts = || breakdown.accounts().filter_map(|account| Some((account.fact(), entity.int(account.fact())?)));
        if let Some((part, _)) = parts().find(|(_, ns)| *ns > whole_ns.saturating_add(1)) {
            return Err(format!("{}: {part} is more than its {name}", entity.key));
        }
        let (sum_ns, count) = parts().fold((0_i64, 0), |(sum, count), (_, ns)| (sum.saturating_add(ns), count + 1));
        // Kernels that were profiled one by one, and phases, are not divided in every way.
        let is_divided = breakdown != Breakdown::Waste && (count > 0 || whole == Account::Window);
        if is_divided && sum_ns.abs_diff(whole_ns) > count {
            return Err(format!("{}: the parts of {name} sum to {sum_ns}, not to its {whole_ns}", entity.key));
        }
    }
    Ok(())
}

/// Facts of a device are no more than what they are parts of.
fn parts_of(device: &Entity) -> Result<(), String> {
    let told = |name: &'static str| (name, device.int(name));
    let window = told(Account::Window.fact());
    for account in Account::all() {
        for part in [account.once_fact(), account.longest_fact()] {
            no_more(device, part, device.int(part), told(account.fact()))?;
        }
    }
    for (name, _) in device.facts() {
        let is_length = Unit::of_name(name) == Unit::Ns && !catalogue::is_instant(name);
        if is_length && (name.starts_with("idle_") || OF_IDLE.contains(&name)) {
            no_more(device, name, device.int(name), told(Account::Idle.fact()))?;
        } else if is_length && (name.ends_with("busy_ns") || OF_WINDOW.contains(&name)) {
            no_more(device, name, device.int(name), window)?;
        } else if OF_OVERLAP.contains(&name) {
            no_more(device, name, device.int(name), told("overlap_ceiling_ns"))?;
        }
    }
    Ok(())
}

/// What entities own of their ancestor is together no more than that.
fn owned(facts: &Facts, (kind, part): (EntityKind, &str), (of, whole): (EntityKind, &str)) -> Result<(), String> {
    let mut sums: HashMap<EntityId, (i64, i64)> = HashMap::default();
    for (id, entity) in facts.of_kind(kind) {
        let Some(owner) = facts.related(id, of) else { continue };
        let (sum_ns, count) = sums.entry(owner).or_default();
        *sum_ns = sum_ns.saturating_add(entity.int(part).unwrap_or(0));
        *count += 1;
    }
    for (id, owner) in facts.of_kind(of) {
        let (Some((sum_ns, count)), Some(whole_ns)) = (sums.get(&id), owner.int(whole)) else { continue };
        if *sum_ns > whole_ns.saturating_add(*count) {
            return Err(format!("{}: the {part} of its {} is more than its {whole}", owner.key, kind.plural()));
        }
    }
    Ok(())
}

fn no_more(entity: &Entity, part: &str, ns: Option<i64>, whole: (&str, Option<i64>)) -> Result<(), String> {
    match (ns, whole) {
        (Some(ns), (whole, Some(whole_ns))) if ns > whole_ns.saturating_add(1) => {
            Err(format!("{}: {part} is more than its {whole}", entity.key))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of two seconds, of which it computes for 1.5, with two kernels.
    fn device(changes: &[(&'static str, i64)], of_kernel_ns: i64) -> Result<Facts, String> {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "run", &[]);
        let device = facts.add(EntityKind::Device, "gpu0", &[run]);
        let whole = [
            ("window_ns", 2_000_000_000),
            ("compute_ns", 1_500_000_000),
            ("idle_ns", 500_000_000),
            ("idle_host_ns", 500_000_000),
            ("idle_after_sync_ns", 500_000_000),
            ("underfilled_ns", 1_500_000_000),
        ];
        whole.iter().chain(changes).for_each(|(name, ns)| facts.get_mut(device).set(name, *ns));
        for key in ["a", "b"] {
            let kernel = facts.add(EntityKind::Kernel, key, &[device, run]);
            facts.get_mut(kernel).set("attributed_ns", of_kernel_ns);
        }
        checked(facts)
    }

    fn error(changes: &[(&'static str, i64)]) -> String {
        device(changes, 0).unwrap_err()
    }

    #[test]
    fn accounts_sum_to_what_they_divide() {
        assert!(device(&[("compute_ns", 1_500_000_002)], 0).is_ok());
        for (name, ns, expected) in [
            ("compute_ns", 1_500_000_003, "the parts of window_ns sum to 2000000003, not to its 2000000000"),
            ("compute_ns", 1_000_000_000, "the parts of window_ns sum to 1500000000, not to its 2000000000"),
            ("idle_host_ns", 400_000_000, "the parts of idle_ns sum to 400000000, not to its 500000000"),
            ("idle_launch_ns", 10, "the parts of idle_ns sum to 500000010, not to its 500000000"),
            ("idle_after_sync_ns", 0, "the parts of idle_ns sum to 0, not to its 500000000"),
            ("exposed_copy_h2d_pageable_ns", 2, "exposed_copy_h2d_pageable_ns is more than its exposed_copy_ns"),
        ] {
            assert_eq!(error(&[(name, ns)]), format!("gpu0: {expected}"));
        }
        assert!(error(&[("window_ns", 1)]).contains("is more than its window_ns"));
        // Facts that tell a window and nothing of it.
        let mut empty = Facts::default();
        let device = empty.add(EntityKind::Device, "gpu0", &[]);
        empty.get_mut(device).set("window_ns", 1_000);
        assert!(checked(empty).unwrap_err().contains("sum to 0, not to its 1000"));
    }

    #[test]
    fn accounts_of_a_phase_sum_to_it() {
        let mut facts = Facts::default();
        let phase = facts.add(EntityKind::Phase, "gpu0/warm-up", &[]);
        facts.get_mut(phase).set("duration_ns", 10_000);
        facts.get_mut(phase).set("compute_ns", 9_000);
        assert!(checked(facts.clone()).unwrap_err().contains("the parts of duration_ns sum to 9000, not to its 10000"));
        facts.get_mut(phase).set("idle_ns", 1_000);
        assert!(checked(facts).is_ok());
    }

    #[test]
    fn parts_are_no_more_than_their_wholes() {
        assert!(device(&[], 1_000_000_001).is_ok());
        let of_kernels = device(&[], 1_000_000_002).unwrap_err();
        assert_eq!(of_kernels, "gpu0: the attributed_ns of its kernels is more than its window_ns");
        for (name, ns, whole) in [
            ("underfilled_ns", 1_500_000_002, "compute_ns"),
            ("replay_step_ns", 2_000_000_002, "window_ns"),
            ("copy_busy_ns", 2_000_000_002, "window_ns"),
            ("idle_data_loading_ns", 500_000_002, "idle_ns"),
            ("scalar_readback_idle_ns", 500_000_002, "idle_ns"),
            ("idle_host_once_ns", 500_000_002, "idle_host_ns"),
            ("idle_host_longest_ns", 500_000_002, "idle_host_ns"),
        ] {
            assert_eq!(error(&[(name, ns)]), format!("gpu0: {name} is more than its {whole}"));
        }
        let ahead = [("overlap_ceiling_ns", 10), ("blocking_copy_run_ahead_ns", 12)];
        assert_eq!(error(&ahead), "gpu0: blocking_copy_run_ahead_ns is more than its overlap_ceiling_ns");
        assert!(device(&[("idle_host_longest_start_ns", i64::MAX)], 0).is_ok());
    }
}
