//! Names: those of all chunks together, and what they are in the end, with the limits on them.

use std::borrow::Cow;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use super::Builder;
use super::keys::{Intern, Keys, NameKey};
use super::limits::Limits;
use crate::limits::max_call_names;
use crate::text::mangled::Demangler;
use crate::text::{cut, kernel_names};
use crate::timeline::api::normal_name;
use crate::timeline::columns::KernelShape;
use crate::timeline::{Geometry, NONE, NameId, Names, Reached};

/// No function of an API has a longer name: what is asked of it is asked for each of its calls.
const MAX_API_NAME_BYTES: usize = 256;
/// Bytes of whole names of kernels that are looked into; those beyond stay as they are. Real recordings have a few megabytes.
const MAX_WHOLE_BYTES: usize = 8 << 20;
/// Stands for the names beyond the limit.
pub(super) const OTHER_NAME: &str = "(another name)";

/// A name of the recording, before its table of strings is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RawName {
    /// An id of the table of strings.
    Id(i64),
    /// The same, for a call of an API: these lose their suffixes.
    ApiId(i64),
    /// An index in the builder's texts.
    Text(NameId),
    /// The recording gives none.
    Missing,
}

/// What was launched, before names are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RawKernel {
    pub(super) name: RawName,
    pub(super) full_name: RawName,
    pub(super) geometry: Geometry,
}

/// Names of ranges and of their domains, by their indices.
#[derive(Debug, Default)]
pub(super) struct LabelNames {
    pub(super) labels: Vec<NameId>,
    pub(super) domains: Vec<NameId>,
}

/// The strings that events refer to by id.
#[derive(Debug, Default)]
pub(super) struct Strings(HashMap<i64, Box<str>>);

impl Strings {
    fn get(&self, id: i64) -> &str {
        self.0.get(&id).map_or("", |text| text)
    }
}

impl RawName {
    /// The name that a key of a chunk stands for.
    pub(super) fn of(key: NameKey, keys: &Keys, is_api_name: bool, texts: &mut Interner<'_>) -> Self {
        match key {
            NameKey::Id(id) if is_api_name => Self::ApiId(id),
            NameKey::Id(id) => Self::Id(id),
            NameKey::Missing => Self::Missing,
            NameKey::Text(text) => match keys.texts.get(text.0 as usize) {
                Some(text) if is_api_name => Self::Text(texts.intern(api_name(text).into_owned())),
                Some(text) => Self::Text(texts.intern(Arc::clone(text))),
                None => Self::Missing,
            },
        }
    }
}

/// The name of a call without its suffixes.
fn api_name(text: &str) -> Cow<'_, str> {
    cut::distinct(normal_name(text), MAX_API_NAME_BYTES)
}

/// Interns names under the limit: those beyond it share one.
pub(super) struct Interner<'all> {
    pub(super) names: &'all mut Names,
    pub(super) limits: &'all Limits,
    pub(super) reached: &'all mut Reached,
    pub(super) demangler: Demangler,
}

impl Interner<'_> {
    fn intern(&mut self, text: impl AsRef<str> + Into<Arc<str>>) -> NameId {
        if self.names.len() < self.limits.names {
            return self.names.intern(text);
        }
        self.names.find(text.as_ref()).unwrap_or_else(|| {
            self.reached.merged_name_count += 1;
            self.names.intern(OTHER_NAME)
        })
    }

    fn resolve(&mut self, name: RawName, strings: &Strings, texts: &Names) -> NameId {
        match name {
            RawName::Id(id) => self.intern(strings.get(id)),
            RawName::ApiId(id) => self.intern(api_name(strings.get(id)).into_owned()),
            RawName::Text(text) if texts.get(text) == OTHER_NAME => self.names.intern(OTHER_NAME),
            RawName::Text(text) => texts.shared(text).map_or(NONE, |text| self.intern(Arc::clone(text))),
            RawName::Missing => self.intern(""),
        }
    }
}

/// What a kernel is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KernelNames {
    name: NameId,
    full_name: NameId,
    function: NameId,
}

impl Interner<'_> {
    /// The name that a mangled one stands for; any other as it is.
    fn demangled(&mut self, name: NameId) -> NameId {
        let read = self.names.shared(name).and_then(|text| self.demangler.read(text));
        read.map_or(name, |text| self.intern(text))
    }
}

/// Resolves the names of kernels. What a whole name tells is worked out once, however many short names stand beside it: that takes
/// a multiple of its length, and a name of a few thousand bytes can be that of every kernel.
struct KernelNaming<'names, 'all> {
    interner: &'names mut Interner<'all>,
    resolved: HashMap<RawName, NameId>,
    /// By the name that was given, mangled or not.
    told: HashMap<NameId, KernelNames>,
    bytes_left: usize,
}

impl<'names, 'all> KernelNaming<'names, 'all> {
    fn new(interner: &'names mut Interner<'all>) -> Self {
        Self { interner, resolved: HashMap::default(), told: HashMap::default(), bytes_left: MAX_WHOLE_BYTES }
    }

    fn resolve(&mut self, name: RawName, strings: &Strings, texts: &Names) -> NameId {
        *self.resolved.entry(name).or_insert_with(|| self.interner.resolve(name, strings, texts))
    }

    /// What people call a kernel of a short and a demangled name, and the function that it is. Either may be missing or mangled.
    fn kernel(&mut self, short: NameId, full: NameId) -> KernelNames {
        let is_given = |id: &NameId| !self.interner.names.get(*id).is_empty();
        let Some(given) = [full, short].into_iter().find(is_given) else {
            return KernelNames { name: short, full_name: full, function: short };
        };
        if let Some(told) = self.told.get(&given) {
            return *told;
        }
        let told = self.of_whole(given);
        self.told.insert(given, told);
        told
    }

    fn of_whole(&mut self, given: NameId) -> KernelNames {
        let full = self.interner.demangled(given);
        let text = self.interner.names.shared(full).cloned().unwrap_or_default();
        if &*text == OTHER_NAME {
            return KernelNames { name: full, full_name: full, function: full };
        }
        let [name, function] = match self.bytes_left.checked_sub(text.len()) {
            Some(left) => {
                self.bytes_left = left;
                [Cow::Owned(kernel_names::called(&text)), Cow::Borrowed(kernel_names::function(&text))]
            }
            None => [Cow::Borrowed(&*text), Cow::Borrowed(&*text)],
        };
        let mut intern = |name: Cow<'_, str>| {
            self.interner.intern(cut::distinct(&name, kernel_names::MAX_CALLED_BYTES).into_owned())
        };
        KernelNames { name: intern(name), full_name: full, function: intern(function) }
    }
}

impl Builder {
    /// The ids of the table of strings that events refer to: call stacks can have millions of others.
    pub fn string_ids(&self) -> HashSet<i64> {
        let of_kernels = self.kernels.list().iter().flat_map(|kernel| [kernel.name, kernel.full_name]);
        let of_labels = self.labels.list().iter().map(|label| label.name);
        let of_domains = self.domains.iter().map(|(_, _, name)| *name);
        let all = self.names.list().iter().copied().chain(of_kernels).chain(of_labels).chain(of_domains);
        let id = |name| match name {
            RawName::Id(id) | RawName::ApiId(id) => Some(id),
            RawName::Text(_) | RawName::Missing => None,
        };
        all.filter_map(id).collect()
    }

    /// Says what the string of an id is. One that is never defined is empty.
    pub fn define_string(&mut self, id: i64, text: &str) {
        let (text, is_cut) = self.limits.cut(text);
        self.timeline.reached.cut_name_count += u64::from(is_cut);
        self.strings.0.insert(id, text.as_ref().into());
    }

    /// Resolves the names of kernels, calls, and ranges: returns the timeline's index of each raw name, and the names of
    /// ranges.
    pub(super) fn resolve_names(&mut self) -> (Vec<NameId>, LabelNames) {
        let Self { names, texts, strings, kernels, labels, domains, timeline, limits, .. } = self;
        let mut interner = Interner {
            names: &mut timeline.names,
            limits,
            reached: &mut timeline.reached,
            demangler: Demangler::default(),
        };
        // Those of kernels first: where there are too many names, they tell most.
        let mut geometries: HashMap<Geometry, u32> = HashMap::default();
        let mut naming = KernelNaming::new(&mut interner);
        for RawKernel { name, full_name, geometry } in kernels.list() {
            let geometry = *geometries.entry(*geometry).or_insert_with(|| {
                timeline.geometries.push(*geometry);
                (timeline.geometries.len() - 1) as u32
            });
            let [name, full_name] = [name, full_name].map(|name| naming.resolve(*name, strings, texts));
            let names = naming.kernel(name, full_name);
            let KernelNames { name, full_name, function } = names;
            timeline.kernels.shapes.push(KernelShape { name, full_name, function, geometry });
        }
        let most_called = max_call_names(timeline.devices.len());
        let mut called: HashSet<NameId> = HashSet::default();
        let of_calls = names.list().iter().map(|name| {
            let name = interner.resolve(*name, strings, texts);
            if called.contains(&name) || called.len() < most_called {
                called.insert(name);
                return name;
            }
            interner.reached.merged_name_count += 1;
            interner.names.intern(OTHER_NAME)
        });
        let of_calls = of_calls.collect();
        let of_ranges = LabelNames {
            labels: labels.list().iter().map(|label| interner.resolve(label.name, strings, texts)).collect(),
            domains: domains.iter().map(|(_, _, name)| interner.resolve(*name, strings, texts)).collect(),
        };
        *texts = Names::default();
        *strings = Strings::default();
        *names = Intern::default();
        (of_calls, of_ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_name_tells_the_same_beside_every_short_one_and_so_many_bytes_are_looked_into() {
        let (mut names, limits, mut reached) = (Names::default(), Limits::default(), Reached::default());
        let [whole, other] =
            ["void elementwise_kernel<2, ops::add>(int)", "void f<int>(int)"].map(|name| names.intern(name));
        let shorts = ["a", "b", "c"].map(|name| names.intern(name));
        let demangler = Demangler::default();
        let mut interner = Interner { names: &mut names, limits: &limits, reached: &mut reached, demangler };
        let mut naming = KernelNaming::new(&mut interner);
        let told = shorts.map(|short| naming.kernel(short, whole));
        assert_eq!(MAX_WHOLE_BYTES - naming.bytes_left, 41, "looked into once");
        assert!(told.iter().all(|names| *names == told[0] && names.full_name == whole));
        assert_eq!(naming.interner.names.get(told[0].name), "add");
        naming.bytes_left = 3;
        let beyond = naming.kernel(shorts[0], other);
        assert_eq!(beyond, KernelNames { name: other, full_name: other, function: other });
    }
}
