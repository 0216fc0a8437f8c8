//! Vectors with an entry for each of millions of operations: they grow by a quarter, as doubling would take as much again.

/// Adds one entry.
pub(super) fn push<T>(all: &mut Vec<T>, entry: T) {
    make_room(all, 1);
    all.push(entry);
}

/// Takes in the entries of another.
pub(super) fn append<T>(all: &mut Vec<T>, mut others: Vec<T>) {
    if all.is_empty() {
        *all = others;
        return;
    }
    make_room(all, others.len());
    all.append(&mut others);
}

fn make_room<T>(all: &mut Vec<T>, count: usize) {
    if all.capacity() - all.len() < count {
        all.reserve_exact(count.max(all.len() / 4).max(4));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn room_for_no_more_than_a_quarter_more_is_kept() {
        let mut all = Vec::new();
        (0..10_000).for_each(|entry| super::push(&mut all, entry));
        assert!(all.capacity() <= 12_600, "{}", all.capacity());
        (0..40).for_each(|part| super::append(&mut all, vec![part; 500]));
        assert_eq!((all.len(), all[9_999], all[10_000], all[29_999]), (30_000, 9_999, 0, 39));
        assert!(all.capacity() <= 37_600, "{}", all.capacity());
    }
}
