//! Interning within one chunk of a table, so that chunks can be read on several threads and joined afterwards.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::source::Limits;
use crate::timeline::Geometry;

/// Places for keys, in the order in which they are first seen.
#[derive(Debug)]
pub(super) struct Intern<K> {
    places: FxHashMap<K, u32>,
    list: Vec<K>,
    last: Option<(K, u32)>,
}

impl<K> Default for Intern<K> {
    fn default() -> Self {
        Self { places: FxHashMap::default(), list: Vec::new(), last: None }
    }
}

impl<K: Copy + Eq + Hash> Intern<K> {
    /// Ends interning; what is left is the list.
    pub(super) fn seal(&mut self) {
        self.places = FxHashMap::default();
        self.list.shrink_to_fit();
    }

    /// The place of a key. Rows that follow each other often have the same one.
    pub(super) fn place(&mut self, key: K) -> u32 {
        if let Some((last, place)) = self.last
            && last == key
        {
            return place;
        }
        let place = *self.places.entry(key).or_insert_with(|| {
            self.list.push(key);
            (self.list.len() - 1) as u32
        });
        self.last = Some((key, place));
        place
    }

    /// The keys, by place.
    pub(super) fn list(&self) -> &[K] {
        &self.list
    }
}

/// A stream, as a GPU row names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StreamKey {
    /// The process; absent in exports that do not name it.
    pub(super) process: Option<i64>,
    /// The CUDA ordinal in that process.
    pub(super) ordinal: i64,
    pub(super) context: i64,
    pub(super) stream: i64,
}

/// A name: an id of the table of strings, or text in the row itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NameKey {
    Id(i64),
    /// The place in [`Keys::texts`].
    Text(u32),
    /// The report gives none.
    Missing,
}

/// What a kernel row launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct KernelKey {
    /// The id of its short name, in the table of strings.
    pub(super) name: Option<i64>,
    /// The id of its demangled name.
    pub(super) full_name: Option<i64>,
    pub(super) geometry: Geometry,
}

/// Everything that the rows of a chunk refer to.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) names: Intern<NameKey>,
    pub(super) threads: Intern<i64>,
    pub(super) streams: Intern<StreamKey>,
    pub(super) kernels: Intern<KernelKey>,
    /// NVTX domain and place in `names`.
    pub(super) labels: Intern<(i64, u32)>,
    pub(super) texts: Vec<Arc<str>>,
    /// The places of texts in `names`.
    text_places: FxHashMap<Arc<[u8]>, u32>,
    limits: Limits,
    cut_name_count: u64,
}

impl Keys {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Ends interning, when all rows have been read; how many names were cut.
    pub(super) fn seal(&mut self) -> u64 {
        self.names.seal();
        self.threads.seal();
        self.streams.seal();
        self.kernels.seal();
        self.labels.seal();
        self.text_places = FxHashMap::default();
        self.cut_name_count
    }

    /// The place of a name given by id.
    pub(super) fn string_id(&mut self, id: Option<i64>) -> u32 {
        self.names.place(id.map_or(NameKey::Missing, NameKey::Id))
    }

    /// The place of a name given as text; `None` for bytes that are no UTF-8.
    pub(super) fn text(&mut self, text: &[u8]) -> Option<u32> {
        if let Some(place) = self.text_places.get(text) {
            return Some(*place);
        }
        let whole = std::str::from_utf8(text).ok()?;
        let (text, is_cut) = self.limits.cut(whole);
        self.cut_name_count += u64::from(is_cut);
        if let Some(place) = self.text_places.get(text.as_bytes()).filter(|_| is_cut) {
            return Some(*place);
        }
        let name = self.names.place(NameKey::Text(self.texts.len() as u32));
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.text_places.insert(text.into(), name);
        Some(name)
    }
}
