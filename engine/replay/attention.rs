//! Attention that is written out: a softmax between two matrix products, with what masks, scales and casts beside it.

use super::Role;
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// More kernels between two products are more than attention.
const MAX_BETWEEN: usize = 12;

/// Kernels that pass over one matrix differ by no more than so many times.
const PASS_RATIO: i64 = 4;

/// Attention among the kernels of a stream, by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenOut {
    /// The product before the softmax.
    pub before: usize,
    /// The product after it. What lies between the two works on the matrix that the first one wrote.
    pub after: usize,
    /// From the first to the last product that may write or read that matrix: those right beside these two do so in a backward pass, with
    /// no more than a memset between.
    pub products: (usize, usize),
}

impl WrittenOut {
    /// What lies between the products.
    pub const fn between(self) -> std::ops::Range<usize> {
        self.before + 1..self.after
    }

    /// The products that may write or read the matrix.
    pub fn products(self) -> impl Iterator<Item = usize> {
        let (first, last) = self.products;
        let beside = [Some(first).filter(|first| *first != self.before), Some(last).filter(|last| *last != self.after)];
        let [before, after] = beside;
        before.into_iter().chain([self.before, self.after]).chain(after)
    }

    /// The shortest of kernels that passes over the matrix, by how long those between the products take: what is much shorter than
    /// the longest works on less.
    pub fn shortest_pass_ns(between_ns: &[i64]) -> i64 {
        let longest_ns = between_ns.iter().copied().max().unwrap_or(0);
        let passes = between_ns.iter().copied().filter(|ns| *ns >= longest_ns / PASS_RATIO);
        passes.min().unwrap_or(0)
    }

    /// How much of a product may go at most when it neither writes nor reads that matrix, by the shortest kernel that passes over the matrix,
    /// which reads the matrix and writes it.
    pub fn won_of_product_ns(product_ns: i64, pass_ns: i64) -> i64 {
        product_ns.min(pass_ns / 2)
    }
}

/// Whether a product is one for each head: one of two plain matrices is none. `None` where its sizes are not known.
pub fn is_of_heads(timeline: &Timeline, product: Interval) -> Option<bool> {
    timeline.details.products.of(product).map(|product| product.batch > 1)
}

/// All in the kernels of one stream, in their order, where the second product is one for each head as `may_be_of_heads` says of its
/// place. A product may end one and begin the next. Libraries set the room for flags of a product to zero before it: `is_memset` says of
/// a place that it does no more.
pub fn written_out(
    roles: &[Role],
    may_be_of_heads: impl Fn(usize) -> bool,
    is_memset: impl Fn(usize) -> bool,
) -> Vec<WrittenOut> {
    let is_product = |place: usize| matches!(roles.get(place), Some(Role::Product | Role::Fp32Product));
    let mut found = Vec::new();
    let (mut product, mut has_softmax) = (None, false);
    for (place, role) in roles.iter().enumerate() {
        match role {
            Role::Product | Role::Fp32Product => {
                let before = product.filter(|before| has_softmax && place - before <= MAX_BETWEEN + 1);
                if let Some(before) = before.filter(|_| may_be_of_heads(place)) {
                    let first = (0..before).rev().find(|place| !is_memset(*place)).filter(|place| is_product(*place));
                    let last =
                        (place + 1..roles.len()).find(|place| !is_memset(*place)).filter(|place| is_product(*place));
                    let (first, last) = (first.unwrap_or(before), last.unwrap_or(place));
                    found.push(WrittenOut { before, after: place, products: (first, last) });
                }
                (product, has_softmax) = (Some(place), false);
            }
            Role::Softmax => has_softmax = true,
            Role::Elementwise | Role::Gather => {}
            _ => product = None,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_softmax_between_two_products_is_attention() {
        use Role::{Compute, Elementwise, Fp32Product, Product, Softmax};
        let of = |roles: &[Role]| {
            written_out(roles, |_| true, |_| false)
                .into_iter()
                .map(|found| (found.before, found.after))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&[Product, Elementwise, Elementwise, Softmax, Elementwise, Product]), [(0, 5)]);
        assert_eq!(of(&[Compute, Product, Softmax, Fp32Product, Softmax, Product]), [(1, 3), (3, 5)]);
        // A choice of experts, a loss, and layers without a softmax.
        assert_eq!(of(&[Product, Softmax, Compute, Product]), []);
        assert_eq!(of(&[Softmax, Product, Elementwise, Product]), []);
        let many: Vec<Role> = [Product].into_iter().chain([Softmax; MAX_BETWEEN + 1]).chain([Product]).collect();
        assert_eq!(of(&many), []);
        assert_eq!(of(&many[1..]), []);
        let backward =
            written_out(&[Elementwise, Product, Product, Softmax, Product, Product, Compute], |_| true, |_| false);
        assert_eq!(backward[0].products().collect::<Vec<_>>(), [1, 2, 4, 5]);
        let roles = [Product, Elementwise, Product, Softmax, Product, Elementwise, Product];
        let beside = |is_memset: bool| {
            let found = written_out(&roles, |_| true, |place| is_memset && matches!(place, 1 | 5));
            found[0].products().collect::<Vec<_>>()
        };
        assert_eq!((beside(true), beside(false)), (vec![0, 2, 4, 6], vec![2, 4]));
        let one_matrix = written_out(&[Product, Softmax, Product, Softmax, Product], |place| place != 2, |_| false);
        assert_eq!(one_matrix.iter().map(|found| found.after).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_copy_of_an_operand_is_no_pass_over_the_matrix() {
        assert_eq!(WrittenOut::shortest_pass_ns(&[254, 582, 26]), 254);
        assert_eq!(WrittenOut::shortest_pass_ns(&[146, 582]), 146);
        assert_eq!(WrittenOut::shortest_pass_ns(&[144, 582]), 582);
        assert_eq!(WrittenOut::shortest_pass_ns(&[]), 0);
    }

    #[test]
    fn a_product_loses_no_more_than_it_takes() {
        assert_eq!(WrittenOut::won_of_product_ns(80, 126), 63);
        assert_eq!(WrittenOut::won_of_product_ns(50, 126), 50);
    }
}
