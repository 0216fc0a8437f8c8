//! A queue for things of which mostly one is open at a time, as calls of a thread and operations of a stream are.

use std::collections::BinaryHeap;

/// A queue that gives the greatest item first. That one lies beside the heap, which is not touched where there are no others.
#[derive(Debug)]
pub(super) struct FirstOf<T> {
    first: Option<T>,
    others: BinaryHeap<T>,
}

impl<T: Ord> Default for FirstOf<T> {
    fn default() -> Self {
        Self { first: None, others: BinaryHeap::new() }
    }
}

impl<T: Ord + Copy> FirstOf<T> {
    /// The greatest item.
    #[inline]
    pub(super) const fn peek(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// Adds an item.
    #[inline]
    pub(super) fn push(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            Some(first) if item > first => {
                self.others.push(first);
                self.first = Some(item);
            }
            Some(_) => self.others.push(item),
        }
    }

    /// Takes the greatest item away.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let first = self.first.take();
        if !self.others.is_empty() {
            self.first = self.others.pop();
        }
        first
    }

    /// Takes the greatest items away as long as something holds for them.
    #[inline]
    pub(super) fn drop_while(&mut self, holds: impl Fn(&T) -> bool) {
        while self.first.as_ref().is_some_and(&holds) {
            self.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_come_as_from_a_heap(steps in proptest::collection::vec(proptest::option::of(0..9_u32), 0..200)) {
            let (mut queue, mut heap) = (FirstOf::default(), BinaryHeap::new());
            for step in steps {
                match step {
                    Some(item) => {
                        queue.push(item);
                        heap.push(item);
                    }
                    None => prop_assert_eq!(queue.pop(), heap.pop()),
                }
                prop_assert_eq!(queue.peek(), heap.peek());
            }
        }
    }
}
