//! Chains of element-wise kernels: those of a stream that follow one another and pass over the same memory, by all that is recorded.

use std::borrow::Cow;
use std::cell::OnceCell;

use foldhash::HashMap;

use super::Role;

/// A thread works on up to so many elements more than one of another kernel.
const ALIKE_RATIO: i64 = 4;
/// A grid so much smaller works on a value a row.
const ROW_RATIO: i64 = 16;
/// Fewer element-wise kernels in a row may be work on different data.
const MIN_CHAIN_COUNT: usize = 3;
/// Two are a chain where the second is a function of each element, and the same two come again so often.
pub(super) const PAIR_COUNT: usize = 2;
const MIN_PAIR_REPEAT_COUNT: usize = 4;
/// The same where grids are alike only, and where sums of rows lie between them: then they are one layer, such as a normalisation.
const MIN_MIXED_CHAIN_COUNT: usize = 6;
const MIN_SUMMED_CHAIN_COUNT: usize = 4;
/// What is shorter takes what starting it takes, not a pass over memory.
pub const MIN_PASS_NS: i64 = 10_000;
/// A copy of what kernels work on is of a type so many times wider than theirs, at most.
const WIDER_RATIO: i64 = 2;
/// A thread works on as many times the elements of another at most, where both load as much at once as they can.
const HALVED_RATIO: i64 = 2;
/// Kernels that last so long and about as long as each other pass over as much memory, however many elements a thread works on.
const LONG_PASS_NS: i64 = 100_000;

/// One operation of a stream.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// What its name tells; of what an optimizer launches, or adds up gradients, [`Role::Compute`].
    pub role: Role,
    /// The index of its name; [`crate::timeline::NONE`] of what is no kernel.
    pub name: u32,
    /// Whether it applies a function to each element of one tensor.
    pub is_activation: bool,
    /// Blocks of its grid; 0 where they are not known.
    pub blocks: i64,
    /// How long it runs.
    pub run_ns: i64,
    /// Its step: a chain lies in one.
    pub step: u32,
    /// Whether it copies or sets memory of the device, as a kernel of one pass could.
    pub is_pass: bool,
}

/// What a chain has summed up so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sum {
    None,
    /// Rows, or all.
    Made,
    OfAll,
}

/// Element-wise kernels that follow one another, on grids of the same size; with what sums up their rows, what works on a value a
/// row, what joins tensors, and what copies or sets memory between them: by their places in the operations of a stream, chain by chain.
/// What is not sure counts where `is_expected` is false.
pub fn each_chain(links: &[Link], is_expected: bool, mut take: impl FnMut(&[usize])) {
    let links = &*with_sizes(links);
    let mut sure = SureChains { links, is_expected, pairs: OnceCell::new(), without_passes: Vec::new() };
    let mut chain: Vec<usize> = Vec::new();
    let (mut largest, mut sum) = (0, Sum::None);
    for (place, link) in links.iter().enumerate() {
        let (is_elementwise, blocks) = (link.role == Role::Elementwise, link.blocks);
        let is_of_rows = link.is_pass
            || matches!(link.role, Role::Join | Role::Reduction)
            || is_elementwise && blocks <= largest / ROW_RATIO;
        let is_alike = blocks.max(largest) <= blocks.min(largest).saturating_mul(ALIKE_RATIO);
        // What needs one sum of all that the chain passed over reads it all once more.
        let is_other_pass = is_expected && sum == Sum::OfAll && is_elementwise && is_alike && blocks > 1;
        let is_of_step = chain.first().is_none_or(|first| links[*first].step == link.step);
        let joins = chain.is_empty() || is_of_step && !is_other_pass && (is_alike || is_of_rows);
        if !((is_elementwise || is_of_rows) && joins) {
            sure.each_of(&chain, &mut take);
            chain.clear();
            (largest, sum) = (0, Sum::None);
        }
        sum = match link.role {
            Role::Reduction => Sum::Made,
            // What works on one value after a sum has one value for all.
            Role::Elementwise if sum == Sum::Made && blocks == 1 && largest > 1 => Sum::OfAll,
            _ => sum,
        };
        if is_elementwise || is_of_rows && !chain.is_empty() {
            largest = largest.max(blocks);
            chain.push(place);
        }
    }
    sure.each_of(&chain, &mut take);
}

/// Gives what loops over elements the size of the element-wise kernel right behind it, where both pass over memory for about as long:
/// that works on what it wrote. Any other stays what it is, no link of a chain.
fn with_sizes(links: &[Link]) -> Cow<'_, [Link]> {
    if !links.iter().any(|link| link.role == Role::LoopingElementwise) {
        return Cow::Borrowed(links);
    }
    let mut sized = links.to_vec();
    for (link, next) in sized.iter_mut().zip(links.iter().skip(1)) {
        let (less_ns, more_ns) = (link.run_ns.min(next.run_ns), link.run_ns.max(next.run_ns));
        let is_one_pass = less_ns >= MIN_PASS_NS && more_ns <= less_ns.saturating_mul(ALIKE_RATIO);
        if link.role == Role::LoopingElementwise && next.role == Role::Elementwise && is_one_pass {
            *link = Link { role: Role::Elementwise, blocks: next.blocks, ..*link };
        }
    }
    Cow::Owned(sized)
}

/// How often a function of each element comes right behind each other element-wise kernel.
fn pairs(links: &[Link]) -> HashMap<(u32, u32), usize> {
    let mut counts: HashMap<(u32, u32), usize> = HashMap::default();
    for (one, next) in links.iter().zip(links.iter().skip(1)) {
        if one.role == Role::Elementwise && next.is_activation {
            *counts.entry((one.name, next.name)).or_default() += 1;
        }
    }
    counts
}

/// Tells which parts of what may be a chain are one.
struct SureChains<'all> {
    links: &'all [Link],
    is_expected: bool,
    /// What [`pairs`] gives, once it is asked for.
    pairs: OnceCell<HashMap<(u32, u32), usize>>,
    /// The last chain that was told without some of its passes.
    without_passes: Vec<usize>,
}

impl SureChains<'_> {
    /// All of a chain where most of it works on data of one size; else the rows of kernels with the very same grid.
    fn each_of(&mut self, chain: &[usize], mut take: impl FnMut(&[usize])) {
        // Most kernels stand alone.
        if chain.len() < PAIR_COUNT {
            return;
        }
        if self.is_of_one_size(chain) {
            return take(self.without_other_passes(chain));
        }
        let links = self.links;
        let is_same = |one: &usize, next: &usize| {
            let (one, next) = (&links[*one], &links[*next]);
            let is_same_size = one.blocks == next.blocks
                || are_passes(one, next) && is_like(one.blocks, next.blocks)
                || next.is_activation && are_long_passes(one, next);
            one.role == Role::Elementwise && next.role == Role::Elementwise && is_same_size
        };
        for same in chain.chunk_by(is_same) {
            if same.len() >= MIN_CHAIN_COUNT || self.is_pair(same) {
                take(self.without_other_passes(same));
            }
        }
    }

    fn is_of_one_size(&self, chain: &[usize]) -> bool {
        if chain.len() < MIN_SUMMED_CHAIN_COUNT {
            return false;
        }
        let of_chain = || chain.iter().map(|place| &self.links[*place]);
        let largest = of_chain().map(|link| link.blocks).max().unwrap_or(0);
        let is_large =
            |link: &&Link| link.role == Role::Elementwise && link.blocks.saturating_mul(ALIKE_RATIO) >= largest;
        // Short kernels take what launching them takes, not passes over memory.
        let has_passes = || of_chain().any(|link| link.run_ns >= MIN_PASS_NS);
        let has_sums = of_chain().any(|link| link.role == Role::Reduction) && has_passes();
        let least = if has_sums { MIN_SUMMED_CHAIN_COUNT } else { MIN_MIXED_CHAIN_COUNT };
        of_chain().filter(is_large).count() >= least
    }

    /// Whether some kernels of one size are two, of which the second is a function of each element, and come again.
    fn is_pair(&self, same: &[usize]) -> bool {
        let [one, next] = same else { return false };
        let (one, next) = (&self.links[*one], &self.links[*next]);
        let pairs = || self.pairs.get_or_init(|| pairs(self.links));
        let repeats = || pairs().get(&(one.name, next.name)).is_some_and(|count| *count >= MIN_PAIR_REPEAT_COUNT);
        next.is_activation && are_passes(one, next) && repeats()
    }

    /// A copy that takes longer than the kernels of its chain moves more than they work on, and copies that take longer than all of them
    /// are of other data. At best a copy is of a type twice as wide.
    fn without_other_passes<'of>(&'of mut self, chain: &'of [usize]) -> &'of [usize] {
        let links = self.links;
        if chain.iter().all(|place| !links[*place].is_pass) {
            return chain;
        }
        let kernels = || chain.iter().map(|place| &links[*place]).filter(|link| !link.is_pass).map(|link| link.run_ns);
        let longest_ns = kernels().max().unwrap_or(0);
        let (most_ns, mut left_ns) =
            if self.is_expected { (longest_ns, kernels().sum()) } else { (WIDER_RATIO * longest_ns, i64::MAX) };
        let stays = |place: &&usize| {
            let link = &links[**place];
            let stays = !link.is_pass || link.run_ns <= most_ns.min(left_ns);
            left_ns -= if stays && link.is_pass { link.run_ns } else { 0 };
            stays
        };
        self.without_passes.clear();
        self.without_passes.extend(chain.iter().filter(stays));
        &self.without_passes
    }
}

/// Whether two kernels last long enough to pass over memory.
fn are_passes(one: &Link, next: &Link) -> bool {
    one.run_ns.min(next.run_ns) >= MIN_PASS_NS
}

/// Whether two kernels last so long, and about as long, that they pass over as much memory.
fn are_long_passes(one: &Link, next: &Link) -> bool {
    one.run_ns.min(next.run_ns) >= LONG_PASS_NS && is_like(one.run_ns, next.run_ns)
}

/// Whether two grids, or times, may be for the same memory: kernels that pass over it may work on half as many elements a block.
fn is_like(one: i64, next: i64) -> bool {
    one.max(next) <= one.min(next).saturating_mul(HALVED_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chains(links: &[Link], is_expected: bool) -> Vec<Vec<usize>> {
        let mut chains = Vec::new();
        each_chain(links, is_expected, |chain| chains.push(chain.to_vec()));
        chains
    }

    const fn kernel(name: u32, run_us: i64) -> Link {
        let role = Role::Elementwise;
        Link { role, name, is_activation: false, blocks: 4_096, run_ns: 1_000 * run_us, step: 0, is_pass: false }
    }

    const fn activation(name: u32, run_us: i64) -> Link {
        Link { is_activation: true, ..kernel(name, run_us) }
    }

    const PRODUCT: Link = Link { role: Role::Product, ..kernel(9, 500) };

    #[test]
    fn two_kernels_are_a_chain_where_the_second_is_a_function_and_they_come_again() {
        let layers = |first: Link, second: Link, count: usize| {
            let links: Vec<Link> = [PRODUCT, first, second].repeat(count);
            chains(&links, true)
        };
        assert_eq!(layers(kernel(1, 80), activation(2, 40), 4), [[1, 2], [4, 5], [7, 8], [10, 11]]);
        let none = |first, second, count| layers(first, second, count).is_empty();
        assert!(none(kernel(1, 80), activation(2, 40), 3), "so few may be of other data");
        assert!(none(kernel(1, 80), kernel(2, 40), 8), "two sums");
        assert!(none(kernel(1, 8), activation(2, 40), 8), "too short for a pass");
        assert!(none(Link { blocks: 1_000, ..kernel(1, 80) }, activation(2, 40), 8), "of another size");
        let of_fewer = |run_us| Link { blocks: 1_024, ..kernel(1, run_us) };
        assert_eq!(layers(of_fewer(200), activation(2, 100), 4)[0], [1, 2], "as long as a pass over as much");
        assert!(none(of_fewer(201), activation(2, 100), 8) && none(of_fewer(99), activation(2, 99), 8));
    }

    #[test]
    fn what_loops_over_elements_is_of_the_size_of_what_follows() {
        let looping = |run_us: i64| Link { role: Role::LoopingElementwise, blocks: 256, ..kernel(1, run_us) };
        let of = |links: &[Link]| chains(&links.repeat(4), true);
        assert_eq!(of(&[PRODUCT, looping(80), activation(2, 40)])[0], [1, 2]);
        assert_eq!(of(&[PRODUCT, looping(80), kernel(2, 40), kernel(3, 40)])[0], [1, 2, 3]);
        assert!(of(&[PRODUCT, looping(161), activation(2, 40)]).is_empty(), "of far more");
        assert!(of(&[PRODUCT, looping(80), PRODUCT, activation(2, 40)]).is_empty());
        assert!(of(&[PRODUCT, looping(8), activation(2, 8)]).is_empty(), "too short for passes");
    }

    #[test]
    fn grids_of_any_size_are_compared() {
        let huge = |run_us: i64| Link { blocks: i64::MAX, ..kernel(1, run_us) };
        assert_eq!(chains(&[huge(80), huge(80), huge(80)], true), [[0, 1, 2]]);
        assert!(chains(&[huge(80), kernel(2, 80), huge(80)], false).is_empty());
    }
}
