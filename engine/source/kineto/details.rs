//! Sizes of matrix products, what collectives move, and how much memory was held: from the arguments of operators and kernels.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use foldhash::HashMap;

use super::cursor::{Cursor, Value};
use super::event::{Collective, Event, Kernel, Memory, Operator};
use super::metadata::Metadata;
use super::number::integer;
use super::places;
use crate::text::cut;
use crate::timeline::Timeline;
use crate::timeline::builder::ThreadKey;
use crate::timeline::details::{
    self, CONVOLUTIONS, Copied, Details, Joined, MAX_COPIED_DIMENSIONS, MemoryPeak, OfKernels, Product,
};
use crate::timeline::interval::Interval;

/// Operators that multiply matrices, and where in their inputs the two stand.
const PRODUCTS: [(&[u8], usize); 4] = [(b"aten::mm", 0), (b"aten::bmm", 0), (b"aten::addmm", 1), (b"aten::baddbmm", 1)];
/// The operator that joins tensors in a new one.
const JOIN: &[u8] = b"aten::cat";
/// The operator that copies a tensor into another, which is its first input.
const COPY: &[u8] = b"aten::copy_";
/// The framework's number of CUDA and HIP devices.
const GPU_TYPE: i64 = 1;
/// Different names of collectives, and bytes of one.
const MAX_NAME_COUNT: usize = 100;
const MAX_NAME_BYTES: usize = 100;
/// Devices whose memory is told.
const MAX_DEVICE_COUNT: usize = 1_024;
/// No job has more processes.
const MAX_RANK_COUNT: i64 = 1 << 24;
/// Bytes that one of each takes until the timeline is told, about.
const OF_KERNEL_BYTES: u64 = 110;
const OF_OPERATOR_BYTES: u64 = 250;
/// More than any tensor has.
const MAX_SIZE: i64 = 1 << 48;

/// What a collective moves, its name by its index.
#[derive(Debug, Clone, Copy)]
struct Moved {
    name: u32,
    bytes: i64,
    group_size: i64,
    is_f32: bool,
}

/// What an operator says of the kernels that are launched while it is the innermost of its kind on its thread. The ids by
/// which operators and kernels name each other count something else in many traces, and are not asked.
#[derive(Debug, Clone, Copy)]
struct Said<T> {
    thread: ThreadKey,
    times: Interval,
    what: T,
}

/// Details of a part of a trace.
#[derive(Debug, Default)]
pub(super) struct Found {
    products: Vec<Said<Product>>,
    joined: Vec<Said<Joined>>,
    copied: Vec<Said<Copied>>,
    /// Of communication kernels that say it themselves.
    moved: Vec<(Interval, Moved)>,
    /// Of operators: those of older traces.
    asked: Vec<Said<Moved>>,
    names: Vec<Box<str>>,
    memory: BTreeMap<i64, (i64, i64)>,
    /// The numbers of the profiler's steps.
    steps: Vec<(Interval, i64)>,
    /// What tells the sizes of each convolution apart.
    convolutions: Vec<(Interval, u64)>,
}

impl Found {
    /// A step of the profiler, by its name: `ProfilerStep#3`.
    pub(super) fn step(&mut self, name: &[u8], times: Interval) {
        let digits = name.iter().position(u8::is_ascii_digit).map(|first| &name[first..]);
        self.steps.extend(digits.and_then(integer).map(|number| (times, number)));
    }

    pub(super) fn kernel(&mut self, kernel: &Kernel<'_>, times: Interval) {
        if let Some(moved) = kernel.collective.as_ref().and_then(|collective| self.moved(collective)) {
            self.moved.push((times, moved));
        }
    }

    pub(super) fn operator(
        &mut self,
        event: &Event<'_>,
        operator: &Operator<'_>,
        (times, thread): (Interval, Option<ThreadKey>),
    ) {
        let Some(thread) = thread else { return };
        if let Some(what) = operator.collective.as_ref().and_then(|collective| self.moved(collective)) {
            self.asked.push(Said { thread, times, what });
        }
        let at = PRODUCTS.iter().find(|(name, _)| *name == event.name.raw()).map(|(_, at)| *at);
        if let (Some(at), Some(shapes)) = (at, operator.input_shapes)
            && let Some(what) = product(shapes, operator.input_types, at)
        {
            self.products.push(Said { thread, times, what });
        }
        if event.name.raw() == JOIN
            && let Some(what) = operator.input_shapes.and_then(joined)
        {
            self.joined.push(Said { thread, times, what });
        }
        if event.name.raw() == COPY
            && let Some(what) = operator.input_shapes.zip(operator.input_types).and_then(copied)
        {
            self.copied.push(Said { thread, times, what });
        }
        let is_convolution = CONVOLUTIONS.iter().any(|begin| event.name.raw().starts_with(begin.as_bytes()));
        if let Some(shapes) = operator.input_shapes.filter(|_| is_convolution) {
            self.convolutions.push((times, BuildHasherDefault::<DefaultHasher>::default().hash_one(shapes)));
        }
    }

    pub(super) fn memory(&mut self, memory: &Memory) {
        let (Some(GPU_TYPE), Some(device), Some(reserved)) = (memory.device_type, memory.device, memory.reserved)
        else {
            return;
        };
        if self.memory.len() < MAX_DEVICE_COUNT || self.memory.contains_key(&device) {
            let peak = self.memory.entry(device).or_default();
            *peak = (peak.0.max(reserved), peak.1.max(memory.allocated.unwrap_or(0)));
        }
    }

    /// Bytes of memory that it takes, about.
    pub(super) fn held_bytes(&self) -> u64 {
        let of_operators = self.products.len() + self.joined.len() + self.copied.len() + self.asked.len();
        (self.moved.len() + self.steps.len() + self.convolutions.len()) as u64 * OF_KERNEL_BYTES
            + of_operators as u64 * OF_OPERATOR_BYTES
    }

    fn moved(&mut self, collective: &Collective<'_>) -> Option<Moved> {
        let name = collective.name.to_str();
        let elements = collective.input_elements.max(collective.output_elements).filter(|count| *count > 0)?;
        let data_type = collective.data_type?.raw();
        let element_bytes = element_bytes(data_type)?;
        Some(Moved {
            name: self.name(cut::to_bytes(&name, MAX_NAME_BYTES))?,
            bytes: elements.checked_mul(element_bytes)?,
            group_size: collective.group_size.filter(|size| *size > 1)?,
            is_f32: matches!(data_type, b"float" | b"Float"),
        })
    }

    fn name(&mut self, name: &str) -> Option<u32> {
        let known = self.names.iter().position(|known| &**known == name);
        let index = known.or_else(|| {
            (self.names.len() < MAX_NAME_COUNT).then(|| {
                self.names.push(name.into());
                self.names.len() - 1
            })
        });
        index.map(|index| index as u32)
    }

    /// Takes in what comes behind it.
    pub(super) fn merge(&mut self, other: Self) {
        let names: Vec<Option<u32>> = other.names.iter().map(|name| self.name(name)).collect();
        let named = |moved: Moved| Some(Moved { name: (*names.get(moved.name as usize)?)?, ..moved });
        self.products.extend(other.products);
        self.joined.extend(other.joined);
        self.copied.extend(other.copied);
        self.steps.extend(other.steps);
        self.convolutions.extend(other.convolutions);
        self.moved.extend(other.moved.into_iter().filter_map(|(times, moved)| Some((times, named(moved)?))));
        let asked = other.asked.into_iter();
        self.asked.extend(asked.filter_map(|said| Some(Said { what: named(said.what)?, ..said })));
        for (device, (reserved, allocated)) in other.memory {
            if self.memory.len() < MAX_DEVICE_COUNT || self.memory.contains_key(&device) {
                let peak = self.memory.entry(device).or_default();
                *peak = (peak.0.max(reserved), peak.1.max(allocated));
            }
        }
    }

    /// Tells the timeline.
    pub(super) fn describe(self, timeline: &mut Timeline, metadata: &Metadata) {
        let names: Vec<_> = self.names.iter().map(|name| timeline.names.intern(&**name)).collect();
        let collective = |moved: Moved| {
            let name = *names.get(moved.name as usize)?;
            Some(details::Collective { name, bytes: moved.bytes, group_size: moved.group_size, is_f32: moved.is_f32 })
        };
        let told = self.moved.iter().filter_map(|(times, moved)| Some((*times, collective(*moved)?)));
        let asked = of_kernels(timeline, &self.asked).into_iter();
        let asked = asked.filter_map(|(times, moved)| Some((times, collective(moved)?)));
        let collectives = told.chain(asked).collect();
        let memory = self.memory.into_iter();
        let job = metadata.distributed.as_ref();
        timeline.details = Details {
            products: OfKernels::new(of_kernels(timeline, &self.products)),
            joined: OfKernels::new(of_kernels(timeline, &self.joined)),
            copied: OfKernels::new(of_kernels(timeline, &self.copied)),
            collectives: OfKernels::new(collectives),
            step_numbers: OfKernels::new(self.steps),
            recomputed: None,
            repeated_nodes: None,
            convolution_sizes: OfKernels::new(self.convolutions),
            memory: memory
                .map(|(device, (reserved_bytes, allocated_bytes))| MemoryPeak {
                    device,
                    reserved_bytes,
                    allocated_bytes,
                })
                .collect(),
            rank: job.and_then(|job| job.rank).filter(|rank| (0..MAX_RANK_COUNT).contains(rank)),
            world_size: job.and_then(|job| job.world_size).filter(|size| (1..=MAX_RANK_COUNT).contains(size)),
            backend: job.and_then(|job| Some(cut::to_bytes(job.backend.as_deref()?, MAX_NAME_BYTES).to_owned())),
        };
    }
}

/// What is said of kernels: by the innermost operator that encloses the call that launched each.
fn of_kernels<T: Copy>(timeline: &Timeline, said: &[Said<T>]) -> Vec<(Interval, T)> {
    if said.is_empty() {
        return Vec::new();
    }
    let index_of = places::threads_of(timeline);
    let mut by_thread: HashMap<u32, Vec<(Interval, u32)>> = HashMap::default();
    for (row, index) in said.iter().zip(0_u32..) {
        if let Some(thread) = index_of.get(&row.thread) {
            by_thread.entry(*thread).or_default().push((row.times, index));
        }
    }
    let of_call = places::calls(timeline, &places::in_order(by_thread));
    let ops = &timeline.kernels.ops;
    let of_kernel = |(times, call): (Interval, &u32)| {
        let index = of_call.get(call)?;
        Some((times, said.get(*index as usize)?.what))
    };
    ops.times.iter().zip(&ops.call).filter_map(of_kernel).collect()
}

/// The sizes of the product of the inputs from a position on.
fn product(shapes: &[u8], types: Option<&[u8]>, at: usize) -> Option<Product> {
    let (first, second) = (sizes(nth(shapes, at)?)?, sizes(nth(shapes, at + 1)?)?);
    let (batch, [m, k], [inner, n]) = match (first.as_slice(), second.as_slice()) {
        ([m, k], [inner, n]) => (1, [*m, *k], [*inner, *n]),
        ([batch, m, k], [_, inner, n]) => (*batch, [*m, *k], [*inner, *n]),
        _ => return None,
    };
    let element = types.and_then(|types| nth(types, at)).and_then(|value| element_bytes(value.text()?.raw()));
    let is_sane = [batch, m, n, k].into_iter().all(|size| (1..MAX_SIZE).contains(&size)) && inner == k;
    is_sane.then_some(Product { m, n, k, batch, element_bytes: element.unwrap_or(0) })
}

/// What the tensors hold that are joined, by the sizes of each: the first input is a list of tensors.
fn joined(shapes: &[u8]) -> Option<Joined> {
    let mut tensors = Cursor::new(nth(shapes, 0)?.nested()?, 0);
    tensors.expect(b'[').ok()?;
    let (mut largest, mut all) = (0, 0_i64);
    while let Some(tensor) = tensors.item().ok()? {
        let elements = elements(tensor)?;
        largest = elements.max(largest);
        all = all.checked_add(elements).filter(|all| *all < MAX_SIZE)?;
    }
    (all > 0).then_some(Joined { largest_element_count: largest, element_count: all })
}

/// What is copied, by the sizes and types of where to and where from.
fn copied((shapes, types): (&[u8], &[u8])) -> Option<Copied> {
    let type_at = |index| element_type(nth(types, index)?.text()?.raw());
    let mut cursor = Cursor::new(nth(shapes, 0)?.nested()?, 0);
    cursor.expect(b'[').ok()?;
    let (mut sizes, mut dimension_count) = ([0; MAX_COPIED_DIMENSIONS], 0_u8);
    while let Some(item) = cursor.item().ok()? {
        *sizes.get_mut(usize::from(dimension_count))? =
            integer(item.digits()).filter(|size| (1..MAX_SIZE).contains(size))?;
        dimension_count += 1;
    }
    (dimension_count > 0).then_some(Copied { from: type_at(1)?, to: type_at(0)?, sizes, dimension_count })
}

/// What programs call a type of elements, by what the framework calls it in C++.
fn element_type(name: &[u8]) -> Option<&'static str> {
    Some(match name.strip_prefix(b"c10::").unwrap_or(name) {
        b"double" | b"Double" => "float64",
        b"float" | b"Float" => "float32",
        b"Half" => "float16",
        b"BFloat16" => "bfloat16",
        b"long" | b"Long" | b"long int" => "int64",
        b"int" | b"Int" => "int32",
        b"short" | b"Short" => "int16",
        b"Byte" | b"unsigned char" => "uint8",
        b"Char" | b"signed char" => "int8",
        b"Bool" | b"bool" => "bool",
        name if name.starts_with(b"Float8") => "float8",
        _ => return None,
    })
}

/// How many elements a tensor holds.
fn elements(sizes: Value<'_>) -> Option<i64> {
    let mut cursor = Cursor::new(sizes.nested()?, 0);
    cursor.expect(b'[').ok()?;
    let mut count = 1_i64;
    while let Some(item) = cursor.item().ok()? {
        let size = integer(item.digits())?;
        count = count.checked_mul(size).filter(|count| (0..MAX_SIZE).contains(count))?;
    }
    Some(count)
}

fn nth(list: &[u8], index: usize) -> Option<Value<'_>> {
    let mut cursor = Cursor::new(list, 0);
    cursor.expect(b'[').ok()?;
    let mut item = None;
    for _ in 0..=index {
        item = cursor.item().ok()?;
    }
    item
}

/// The sizes of a tensor of up to three dimensions.
fn sizes(value: Value<'_>) -> Option<Vec<i64>> {
    let mut cursor = Cursor::new(value.nested()?, 0);
    cursor.expect(b'[').ok()?;
    let mut sizes = Vec::with_capacity(3);
    while let Some(item) = cursor.item().ok()? {
        if sizes.len() == 3 {
            return None;
        }
        sizes.push(integer(item.digits())?);
    }
    Some(sizes)
}

/// Bytes of an element of a type, as the framework calls it.
fn element_bytes(name: &[u8]) -> Option<i64> {
    let name = name.strip_prefix(b"c10::").unwrap_or(name);
    match name {
        b"double" | b"Double" | b"long" | b"Long" | b"long int" => Some(8),
        b"float" | b"Float" | b"int" | b"Int" => Some(4),
        b"Half" | b"BFloat16" | b"short" | b"Short" => Some(2),
        b"Byte" | b"Char" | b"Bool" | b"unsigned char" | b"signed char" | b"bool" => Some(1),
        _ if name.starts_with(b"Float8") => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tensors_hold_that_are_joined_is_read() {
        let of = |shapes: &str| joined(shapes.as_bytes()).map(|of| (of.largest_element_count, of.element_count));
        assert_eq!(of("[[[64, 16, 1282, 64], [64, 16, 1, 64]], []]"), Some((84_017_152, 84_082_688)));
        // A tensor without sizes is a single value.
        assert_eq!(of("[[[8], [24], []], []]"), Some((24, 33)));
        for odd in ["[]", "[[], []]", "[[[0, 2]], []]", "[[8, 24], []]", "[[[-1]], []]", "[[[281474976710656, 2]], []]"]
        {
            assert_eq!(of(odd), None, "{odd}");
        }
    }

    #[test]
    fn what_is_copied_is_told_by_sizes_and_types() {
        let of = |shapes: &str, types: &str| copied((shapes.as_bytes(), types.as_bytes()));
        let types = r#"["c10::BFloat16", "float", "Scalar"]"#;
        let sizes = [16_384, 40_000, 0, 0, 0];
        let expected = Copied { from: "float32", to: "bfloat16", sizes, dimension_count: 2 };
        assert_eq!(of("[[16384, 40000], [16384, 40000], []]", types), Some(expected));
        for odd in ["[]", "[[], []]", "[[1, 2, 3, 4, 5, 6], []]", "[[0, 2], [0, 2]]", "[[-1], [1]]"] {
            assert_eq!(of(odd, types), None, "{odd}");
        }
        assert_eq!(of("[[8], [8]]", r#"["float"]"#), None);
        assert_eq!(of("[[8], [8]]", r#"["float", "other"]"#), None);
    }

    #[test]
    fn sizes_of_products_are_read_and_what_is_none_is_not() {
        let of = |shapes: &str, at| {
            let types = br#"["float", "c10::Half", "c10::Half"]"#;
            product(shapes.as_bytes(), Some(types), at).map(|of| [of.batch, of.m, of.n, of.k, of.element_bytes])
        };
        assert_eq!(of("[[64, 512], [512, 1000]]", 0), Some([1, 64, 1000, 512, 4]));
        assert_eq!(of("[[1000], [64, 512], [512, 1000], [], []]", 1), Some([1, 64, 1000, 512, 2]));
        assert_eq!(of("[[16, 5185, 64], [16, 64, 5185]]", 0), Some([16, 5185, 5185, 64, 4]));
        for odd in [
            "[]",
            "[[64, 512]]",
            "[[64, 512], [511, 8]]",
            "[[0, 1], [1, 2]]",
            "[[1, 2, 3, 4], [1, 2]]",
            "[[-1, 2], [2, 3]]",
        ] {
            assert_eq!(of(odd, 0), None, "{odd}");
        }
    }
}
