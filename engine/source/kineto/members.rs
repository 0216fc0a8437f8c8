//! The members of objects that are written alike: events of one kind have the same keys in the same order, with the same
//! spaces between them. What stood before a value is held against what stands there now, which costs less than to read it.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::cursor::{Begin, Cursor, Fault};

/// Different beginnings that are remembered: events of all kinds together have a hundredth as many, but a program may give its own
/// ones keys without end.
const MAX_STOP_COUNT: usize = 4_096;
/// Where so many members of a block came in no order that is known, order tells nothing: the others are read one by one, which
/// costs no more than if nothing were remembered. Of a block of real traces a tenth as many do.
const MAX_MISS_COUNT: u32 = 8_192;
/// No beginning is remembered that is longer.
const MAX_BEGIN_BYTES: usize = 64;
/// What begins every list of stops, before the first member.
const START: usize = 0;

/// What comes between the end of a value and the beginning of the next one.
#[derive(Debug, Clone, Copy)]
struct Stop<'a, K> {
    begin: Begin<'a>,
    /// The key of the next value, or `None` at the end of the object.
    key: Option<K>,
    /// The stops that came next, the last time and before that.
    next: [usize; 2],
}

/// What is known of the members of objects of one kind.
#[derive(Debug, Clone)]
pub(super) struct Members<'a, K> {
    stops: Vec<Stop<'a, K>>,
    /// Those that were read, by their beginnings.
    indices: HashTable<usize>,
    seed: RandomState,
    /// The stop that was passed last.
    at: usize,
    /// Members that came in no order that was known.
    misses: u32,
}

impl<K> Default for Members<'_, K> {
    fn default() -> Self {
        let start = Stop { begin: Begin::default(), key: None, next: [START; 2] };
        Self { stops: vec![start], indices: HashTable::new(), seed: RandomState::default(), at: START, misses: 0 }
    }
}

impl<'a, K: Copy> Members<'a, K> {
    /// Begins an object, whose bracket was stepped over.
    pub(super) fn begin(&mut self) {
        self.at = START;
    }

    /// What the key of the next member stands for, by `of`, or `None` at the object's end, which is stepped over.
    #[inline]
    pub(super) fn key(&mut self, cursor: &mut Cursor<'a>, of: impl Fn(&[u8]) -> K) -> Result<Option<K>, Fault> {
        let [last, before] = self.stops.get(self.at).map_or([START; 2], |stop| stop.next);
        if let Some(stop) = self.stops.get(last)
            && cursor.step_over(&stop.begin)
        {
            self.at = last;
            return Ok(stop.key);
        }
        if let Some(stop) = self.stops.get(before)
            && cursor.step_over(&stop.begin)
        {
            let key = stop.key;
            self.pass(before);
            return Ok(key);
        }
        self.read(cursor, of)
    }

    /// Reads the key, and remembers it.
    #[inline(never)]
    fn read(&mut self, cursor: &mut Cursor<'a>, of: impl Fn(&[u8]) -> K) -> Result<Option<K>, Fault> {
        let from = cursor.at();
        let key = match cursor.key()? {
            Some(name) => {
                let key = of(name);
                cursor.peek()?;
                Some(key)
            }
            None => None,
        };
        self.misses += 1;
        if self.misses > MAX_MISS_COUNT {
            self.at = START;
        } else if let Some(begin) = cursor.stepped_over(from, MAX_BEGIN_BYTES) {
            match self.index(begin, key) {
                Some(index) => self.pass(index),
                None => self.at = START,
            }
        }
        Ok(key)
    }

    /// The index of the stop with a beginning, which is remembered from now on; `None` where there are too many.
    fn index(&mut self, begin: Begin<'a>, key: Option<K>) -> Option<usize> {
        let Self { stops, indices, seed, .. } = self;
        let hash = seed.hash_one(begin.bytes());
        let is_same = |index: &usize| stops.get(*index).is_some_and(|stop| stop.begin == begin);
        if let Some(index) = indices.find(hash, is_same) {
            return Some(*index);
        }
        if stops.len() >= MAX_STOP_COUNT {
            return None;
        }
        stops.push(Stop { begin, key, next: [START; 2] });
        let hash_at = |index: &usize| stops.get(*index).map_or(0, |stop| seed.hash_one(stop.begin.bytes()));
        Some(*indices.insert_unique(hash, stops.len() - 1, hash_at).get())
    }

    fn pass(&mut self, index: usize) {
        if let Some(stop) = self.stops.get_mut(self.at).filter(|stop| stop.next[0] != index) {
            stop.next = [index, stop.next[0]];
        }
        self.at = index;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys and values of the objects of a text, each key by itself and as it is remembered.
    fn read(mut cursor: Cursor<'_>) -> Vec<(String, String)> {
        let (mut members, mut out) = (Members::default(), Vec::new());
        while cursor.peek().is_ok() {
            cursor.expect(b'{').unwrap();
            members.begin();
            let first = |name: &[u8]| name.first().copied();
            loop {
                let mut alone = cursor;
                let name = alone.key().unwrap();
                let key = members.key(&mut cursor, first).unwrap();
                assert_eq!(key, name.map(first), "{name:?}");
                assert_eq!((cursor.peek(), cursor.at()), (alone.peek(), alone.at()));
                let Some(name) = name else { break };
                let value = String::from_utf8_lossy(cursor.value().unwrap().digits()).into_owned();
                out.push((String::from_utf8_lossy(name).into_owned(), value));
            }
        }
        out
    }

    #[test]
    fn objects_that_are_written_alike_or_not_are_read_as_one_by_one() {
        let objects = [
            r#"{"a": 1, "b": 2, "c": 3}"#,
            r#"{"a": 1, "b": 2, "c": 3}"#,
            r#"{"a": 1, "c": 3, "b": 2}"#,
            r#"{"a":  1, "b" : 2,"c":3 }"#,
            r#"{"a": 1, "b": 2, "bb": 4, "c": 3}"#,
            r#"{"a": 1}"#,
            r#"{}"#,
            r#"{"b": 2, "a": 1 , , "c": 3,}"#,
            "{\n  \"a\": 1,\n  \"b\": 2\n}",
            "{\n  \"a\": 1,\n  \"b\": 2\n}",
        ];
        let json = objects.repeat(3).join("\n");
        let strict = |json: &str| read(Cursor::new(json.as_bytes(), 0));
        let expected: Vec<_> = objects.repeat(3).into_iter().flat_map(strict).collect();
        assert_eq!(strict(&json), expected);
        assert_eq!(expected.len(), 72);
        let many: String = (0..MAX_STOP_COUNT + 100).map(|key| format!("{{\"a\": 1, \"{key}\": 2}} ")).collect();
        let repeated = many.repeat(4);
        assert!(8 * MAX_STOP_COUNT > MAX_MISS_COUNT as usize);
        assert_eq!(strict(&repeated).len(), 8 * (MAX_STOP_COUNT + 100));
    }

    #[test]
    fn where_quotes_may_be_stray_nothing_is_remembered() {
        let json = br#"{"a "b" c": 1, "d": 2} {"a "b" c": 1, "d": 2}"#;
        assert_eq!(read(Cursor::with_stray_quotes(json, 0))[2], ("a \"b\" c".to_owned(), "1".to_owned()));
    }
}
