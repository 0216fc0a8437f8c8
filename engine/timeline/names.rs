//! Interned strings: each is stored once, columns hold their indices.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The index of a string in [`Names`].
pub type NameId = u32;

/// Every string of a timeline, each once.
#[derive(Debug, Default)]
pub struct Names {
    strings: Vec<Arc<str>>,
    /// By the hashes of the strings.
    ids: HashTable<NameId>,
    seed: RandomState,
    byte_count: usize,
}

impl Names {
    /// The index of a string, which is added when it is new. One that is shared with another table stays shared.
    pub fn intern(&mut self, text: impl AsRef<str> + Into<Arc<str>>) -> NameId {
        if let Some(id) = self.find(text.as_ref()) {
            return id;
        }
        let id = NameId::try_from(self.strings.len()).unwrap_or(NameId::MAX - 1);
        let Self { strings, ids, seed, byte_count } = self;
        let hash = seed.hash_one(text.as_ref());
        *byte_count += text.as_ref().len();
        strings.push(text.into());
        ids.insert_unique(hash, id, |id| strings.get(*id as usize).map_or(0, |text| seed.hash_one(&**text)));
        id
    }

    /// The string at an index, to be shared.
    pub(crate) fn shared(&self, id: NameId) -> Option<&Arc<str>> {
        self.strings.get(id as usize)
    }

    /// The string at an index; empty for one that no string has.
    pub fn get(&self, id: NameId) -> &str {
        self.strings.get(id as usize).map_or("", |text| text)
    }

    /// The index of a string, if some column has it.
    pub fn find(&self, text: &str) -> Option<NameId> {
        self.ids.find(self.seed.hash_one(text), |id| self.get(*id) == text).copied()
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// Bytes of all of them.
    pub(crate) const fn byte_count(&self) -> usize {
        self.byte_count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    /// Every string with its index.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &str)> {
        (0..).zip(self.strings.iter().map(|text| &**text))
    }
}

/// What names tell, each of which is asked about once: columns hold the same few a million times.
#[derive(Debug)]
pub(crate) struct Told<'names, T> {
    names: &'names Names,
    tell: fn(&str) -> T,
    /// By index of the name, once it was asked about.
    known: Vec<Option<T>>,
}

impl<'names, T: Copy> Told<'names, T> {
    /// Of some names, by what tells.
    pub(crate) fn new(names: &'names Names, tell: fn(&str) -> T) -> Self {
        Self { names, tell, known: vec![None; names.len()] }
    }

    /// What a name tells; an index without a string is told as the empty name.
    pub(crate) fn of(&mut self, name: NameId) -> T {
        match self.known.get_mut(name as usize) {
            Some(known) => *known.get_or_insert_with(|| (self.tell)(self.names.get(name))),
            None => (self.tell)(""),
        }
    }
}
