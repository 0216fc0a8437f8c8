//! How events name what they refer to, and interning of that within one chunk, so that chunks can be filled on several
//! threads and joined afterwards.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::HashMap;
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::limits::Limits;
use crate::timeline::columns::RangeKind;
use crate::timeline::{Geometry, NONE};

/// A thread, as the events of a recording name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadKey {
    /// Its process: any number that tells it from others in the recording.
    pub process: i64,
    /// Any number that tells it from others of the process.
    pub id: i64,
}

/// A stream, as the events of a recording name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamKey {
    /// Its process; absent in recordings that do not name it.
    pub process: Option<i64>,
    /// Its device, by the number that the process calls it by.
    pub device: i64,
    /// Its CUDA context; 0 where the recording has none.
    pub context: i64,
    /// Its own number.
    pub stream: i64,
}

/// A name, as an event gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKey {
    /// An id of the recording's table of strings; see [`super::Builder::define_string`].
    Id(i64),
    /// A text of the same chunk; see [`super::Chunk::text`].
    Text(TextKey),
    /// The recording gives none.
    Missing,
}

/// One number each: every row is looked up by some. At most two keys have the same.
impl Hash for NameKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(match self {
            Self::Id(id) => id.cast_unsigned(),
            Self::Text(TextKey(text)) => !u64::from(*text),
            Self::Missing => u64::MAX / 2,
        });
    }
}

impl NameKey {
    /// That of an id, if there is one.
    pub fn of_id(id: Option<i64>) -> Self {
        id.map_or(Self::Missing, Self::Id)
    }
}

/// A text of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextKey(pub(super) u32);

/// What a kernel event launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelKey {
    /// Its short name.
    pub name: NameKey,
    /// Its demangled name; the same where the recording has but one.
    pub full_name: NameKey,
    /// How wide it was launched.
    pub geometry: Geometry,
}

/// What a range is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelKey {
    /// Who marked it.
    pub kind: RangeKind,
    /// Its NVTX domain in its process; 0 is the default domain.
    pub domain: i64,
    /// Its text.
    pub name: NameKey,
}

/// The kind and the domain are one number, which at most as many keys share as there are kinds.
impl Hash for LabelKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.domain.cast_unsigned().rotate_left(3) ^ self.kind as u64);
        self.name.hash(state);
    }
}

/// Indices of keys, in the order in which they are first seen.
#[derive(Debug)]
pub(super) struct Intern<K> {
    /// By the hashes of keys, which stand in the list only.
    indices: HashTable<u32>,
    seed: RandomState,
    list: Vec<K>,
    /// What came after each the last time: steps repeat.
    after: Vec<u32>,
    last: u32,
}

impl<K> Default for Intern<K> {
    fn default() -> Self {
        Self { indices: HashTable::new(), seed: RandomState::default(), list: Vec::new(), after: Vec::new(), last: 0 }
    }
}

impl<K: Copy + Eq + Hash> Intern<K> {
    /// Ends interning; what is left is the list.
    pub(super) fn seal(&mut self) {
        self.indices = HashTable::new();
        self.after = Vec::new();
        self.list.shrink_to_fit();
    }

    /// The index of a key. Events that follow each other often have the same one, or one that followed before.
    pub(super) fn index(&mut self, key: K) -> u32 {
        let is = |index: u32| self.list.get(index as usize) == Some(&key);
        if is(self.last) {
            return self.last;
        }
        let next = self.after.get(self.last as usize).copied().filter(|next| is(*next));
        let index = next.unwrap_or_else(|| self.find(key));
        if let Some(after) = self.after.get_mut(self.last as usize) {
            *after = index;
        }
        self.last = index;
        index
    }

    fn find(&mut self, key: K) -> u32 {
        let Self { indices, seed, list, .. } = self;
        let is_same = |index: &u32| list.get(*index as usize) == Some(&key);
        if let Some(index) = indices.find(seed.hash_one(key), is_same) {
            return *index;
        }
        list.push(key);
        let index = (list.len() - 1) as u32;
        self.after.push(index);
        let hash_at = |index: &u32| list.get(*index as usize).map_or(0, |key| seed.hash_one(key));
        *indices.insert_unique(seed.hash_one(key), index, hash_at).get()
    }

    /// The same; `None` of a key that would be one more than there may be.
    pub(super) fn index_within(&mut self, key: K, most: usize) -> Option<u32> {
        (self.list.len() < most || self.has(key)).then(|| self.index(key))
    }

    /// Whether a key has an index.
    pub(super) fn has(&self, key: K) -> bool {
        self.indices.find(self.seed.hash_one(key), |index| self.list.get(*index as usize) == Some(&key)).is_some()
    }

    /// Ends interning: the keys, by index.
    pub(super) fn into_list(mut self) -> Vec<K> {
        self.seal();
        self.list
    }

    /// The keys, by index.
    pub(super) fn list(&self) -> &[K] {
        &self.list
    }
}

/// Everything that the events of a chunk refer to.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Names of API calls, which lose their suffixes.
    pub(super) api_names: Intern<NameKey>,
    /// Names of other calls and of overheads.
    pub(super) names: Intern<NameKey>,
    pub(super) threads: Intern<ThreadKey>,
    pub(super) streams: Intern<StreamKey>,
    pub(super) kernels: Intern<KernelKey>,
    pub(super) labels: Intern<LabelKey>,
    pub(super) texts: Vec<Arc<str>>,
    text_keys: HashMap<Arc<[u8]>, TextKey>,
    /// The label that each text was last, with its index: texts have numbers, which need no hashing.
    labels_of_texts: Vec<(LabelKey, u32)>,
    limits: Limits,
    pub(super) cut_name_count: u64,
}

impl Keys {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Ends interning, when all events are there.
    pub(super) fn seal(&mut self) {
        self.api_names.seal();
        self.names.seal();
        self.threads.seal();
        self.streams.seal();
        self.kernels.seal();
        self.labels.seal();
        self.text_keys = HashMap::default();
        self.labels_of_texts = Vec::new();
    }

    /// The index of a label.
    pub(super) fn label(&mut self, label: LabelKey) -> u32 {
        let NameKey::Text(TextKey(text)) = label.name else { return self.labels.index(label) };
        if let Some((known, index)) = self.labels_of_texts.get(text as usize)
            && *known == label
        {
            return *index;
        }
        let index = self.labels.index(label);
        if self.labels_of_texts.len() <= text as usize {
            self.labels_of_texts.resize(self.texts.len(), (label, index));
        }
        if let Some(known) = self.labels_of_texts.get_mut(text as usize) {
            *known = (label, index);
        }
        index
    }

    /// The index of a thread; [`NONE`] for an event that names none.
    pub(super) fn thread(&mut self, thread: Option<ThreadKey>) -> u32 {
        thread.map_or(NONE, |thread| self.threads.index(thread))
    }

    /// The key of a text; `None` for bytes that are no UTF-8.
    pub(super) fn text(&mut self, text: &[u8]) -> Option<TextKey> {
        if let Some(key) = self.text_keys.get(text) {
            return Some(*key);
        }
        let whole = std::str::from_utf8(text).ok()?;
        let (text, is_cut) = self.limits.cut(whole);
        self.cut_name_count += u64::from(is_cut);
        if let Some(key) = self.text_keys.get(text.as_bytes()).filter(|_| is_cut) {
            return Some(*key);
        }
        let key = TextKey(self.texts.len() as u32);
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.text_keys.insert(text.into(), key);
        Some(key)
    }
}
