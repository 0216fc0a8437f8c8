//! Copies that load what a program works on: it makes them once, however long it computes.

use crate::facts::Entity;
use crate::ledger::Account;

/// Who copies this part of it before the first kernel loads what kernels work on.
const NEARLY_ALL: f64 = 0.9;
/// Beside so much computing what is loaded first is what kernels work on, where nothing tells that they come again.
const COMPUTING_SHARE: f64 = 0.5;

/// Whether a group of copies loads what the kernels that follow work on: a program copies so once, however long it computes. What is
/// claimed of the device's idle time is the cost of calls: then most calls come before the first kernel, not most bytes.
pub(super) fn is_loaded_first(entity: &Entity, account: Account) -> bool {
    let (before, all) = match account.top() {
        Account::Idle => ("before_first_kernel_count", "count"),
        _ => ("before_first_kernel_bytes", "bytes"),
    };
    let (before, all) = (entity.int(before), entity.int(all).filter(|all| *all > 0));
    let share = before.zip(all).map(|(before, all)| before as f64 / all as f64);
    share.is_some_and(|share| share >= NEARLY_ALL)
}

/// Whether a device computes for most of its window.
pub(super) fn computes_most(device: &Entity) -> bool {
    let computing = device.int(Account::Compute.fact()).zip(device.int(Account::Window.fact()));
    computing.is_some_and(|(compute_ns, window_ns)| compute_ns as f64 >= COMPUTING_SHARE * window_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;

    #[test]
    fn what_is_copied_before_the_first_kernel_is_loaded_first() {
        let group = |facts: [(&'static str, i64); 4]| {
            let mut group = Entity::new(EntityKind::CopyGroup, "copies".to_owned(), Vec::new());
            facts.into_iter().for_each(|(name, value)| group.set(name, value));
            group
        };
        let of = |before_bytes, before_count| {
            let before = [("before_first_kernel_bytes", before_bytes), ("before_first_kernel_count", before_count)];
            group([before[0], before[1], ("bytes", 1_000), ("count", 10)])
        };
        assert!(
            is_loaded_first(&of(900, 1), Account::ExposedCopy) && !is_loaded_first(&of(899, 10), Account::ExposedCopy)
        );
        assert!(
            is_loaded_first(&of(0, 9), Account::IdleCopyCall) && !is_loaded_first(&of(1_000, 8), Account::IdleCopyCall)
        );
    }

    #[test]
    fn half_of_the_window_is_most_of_it() {
        let computes = |ns: i64| {
            let mut device = Entity::new(EntityKind::Device, "gpu0".to_owned(), Vec::new());
            device.set("compute_ns", ns);
            device.set("window_ns", 1_000_i64);
            computes_most(&device)
        };
        assert!(computes(500) && !computes(499));
    }
}
