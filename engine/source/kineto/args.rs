//! What stands under `args` of an event, by the keys of every dialect.

use super::cursor::{Cursor, Fault, Value};
use super::event::Collective;
use super::members::Members;
use super::number::{handle, integer};
use super::text::Text;

/// The keys that are taken, whatever they are called in a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    ExternalId,
    Correlation,
    Device,
    Context,
    Stream,
    Bytes,
    Grid,
    Block,
    Registers,
    SharedMemory,
    FromDevice,
    ToDevice,
    InputShapes,
    InputTypes,
    Sequence,
    ForwardThread,
    CallStack,
    DeviceType,
    DeviceId,
    Allocated,
    Reserved,
    Name,
    CollectiveName,
    DataType,
    InputElements,
    OutputElements,
    GroupSize,
}

/// How many there are.
const KEY_COUNT: usize = Key::GroupSize as usize + 1;

impl Key {
    fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"External id" | b"external id" => Self::ExternalId,
            b"correlation" => Self::Correlation,
            b"device" => Self::Device,
            b"context" => Self::Context,
            b"stream" => Self::Stream,
            b"bytes" => Self::Bytes,
            b"grid" => Self::Grid,
            b"block" => Self::Block,
            b"registers per thread" => Self::Registers,
            b"shared memory" => Self::SharedMemory,
            b"fromDevice" => Self::FromDevice,
            b"toDevice" => Self::ToDevice,
            b"Input Dims" | b"Input dims" => Self::InputShapes,
            b"Input type" => Self::InputTypes,
            b"Sequence number" => Self::Sequence,
            b"Fwd thread id" => Self::ForwardThread,
            b"Call stack" => Self::CallStack,
            b"Device Type" => Self::DeviceType,
            b"Device Id" => Self::DeviceId,
            b"Total Allocated" => Self::Allocated,
            b"Total Reserved" => Self::Reserved,
            b"name" => Self::Name,
            b"Collective name" => Self::CollectiveName,
            b"dtype" => Self::DataType,
            b"In msg nelems" => Self::InputElements,
            b"Out msg nelems" => Self::OutputElements,
            b"Group size" => Self::GroupSize,
            _ => return None,
        })
    }
}

/// All that coldspot takes of `args`, as it is written: keys may come before the category that says which of them matter, and
/// what does not is never read as a number.
#[derive(Debug, Clone, Default)]
pub(super) struct Args<'a> {
    values: Vec<Value<'a>>,
    /// By key: one more than where its value stands, or 0 where there is none.
    places: [u8; KEY_COUNT],
    members: Members<'a, Option<Key>>,
}

impl<'a> Args<'a> {
    /// Takes all out again.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.places = [0; KEY_COUNT];
    }

    /// Reads the value of `args`, which may be `null`, in place of what was there.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Fault> {
        self.clear();
        if cursor.peek()? != b'{' {
            cursor.value()?;
            return Ok(());
        }
        cursor.expect(b'{')?;
        self.members.begin();
        while let Some(key) = self.members.key(cursor, Key::of)? {
            let value = cursor.value()?;
            if let Some(key) = key {
                self.set(key, value);
            }
        }
        Ok(())
    }

    /// What comes last holds.
    fn set(&mut self, key: Key, value: Value<'a>) {
        let Some(place) = self.places.get_mut(key as usize) else { return };
        match self.values.get_mut(usize::from(*place).wrapping_sub(1)) {
            Some(known) => *known = value,
            None => {
                self.values.push(value);
                *place = self.values.len() as u8;
            }
        }
    }

    fn get(&self, key: Key) -> Option<Value<'a>> {
        let place = self.places.get(key as usize)?;
        self.values.get(usize::from(*place).checked_sub(1)?).copied()
    }

    /// The whole number of a key.
    pub(super) fn int(&self, key: Key) -> Option<i64> {
        integer(self.get(key)?.digits())
    }

    /// The number of a key that may be written in hexadecimal.
    pub(super) fn handle(&self, key: Key) -> Option<i64> {
        handle(self.get(key)?.digits())
    }

    /// The text of a key, where it is one and not empty.
    pub(super) fn text(&self, key: Key) -> Option<Text<'a>> {
        self.get(key)?.text()
    }

    /// The list or object of a key.
    pub(super) fn nested(&self, key: Key) -> Option<&'a [u8]> {
        nested(self.get(key)?)
    }

    /// The numbers of a key's list, up to three; those that are not there are 1.
    pub(super) fn three(&self, key: Key) -> Option<[u32; 3]> {
        three(self.get(key)?)
    }

    /// What the event communicates, if it does.
    pub(super) fn collective(&self) -> Option<Collective<'a>> {
        Some(Collective {
            name: self.text(Key::CollectiveName)?,
            data_type: self.text(Key::DataType),
            input_elements: self.int(Key::InputElements),
            output_elements: self.int(Key::OutputElements),
            group_size: self.int(Key::GroupSize),
        })
    }
}

fn nested(value: Value<'_>) -> Option<&[u8]> {
    match value {
        Value::Nested(raw) => Some(raw),
        _ => None,
    }
}

/// The numbers of an array, up to three; those that are not there are 1.
fn three(value: Value<'_>) -> Option<[u32; 3]> {
    let inner = nested(value)?.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let mut out = [1; 3];
    for (part, place) in inner.split(|byte| *byte == b',').zip(&mut out) {
        let part = part.trim_ascii();
        let bare = part.strip_prefix(b"\"").and_then(|part| part.strip_suffix(b"\"")).unwrap_or(part);
        *place = u32::try_from(integer(bare.trim_ascii())?).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Args<'_> {
        let mut args = Args::default();
        args.read(&mut Cursor::new(json.as_bytes(), 0)).unwrap();
        args
    }

    #[test]
    fn numbers_come_with_or_without_quotes_and_not_at_all() {
        let args = read(
            r#"{"External id": "12", "stream": "0x10", "grid": [ 4, "2",1 ], "block": ["256"], "bytes": "256",
                "device": N/A, "context": inf, "shared memory": 0.625, "unknown": [{"device": 3}]}"#,
        );
        assert_eq!(args.int(Key::ExternalId), Some(12));
        assert_eq!((args.handle(Key::Stream), args.int(Key::Bytes)), (Some(16), Some(256)));
        assert_eq!((args.three(Key::Grid), args.three(Key::Block)), (Some([4, 2, 1]), Some([256, 1, 1])));
        assert_eq!((args.int(Key::Device), args.int(Key::Context), args.int(Key::SharedMemory)), (None, None, Some(1)));
        assert_eq!(args.int(Key::Correlation), None);
        assert_eq!(read("null }").int(Key::ExternalId), None);
        assert_eq!(read("[1, 2] }").int(Key::ExternalId), None);
        assert_eq!(read(r#"{"grid": [-1, 1, 1], "block": "N/A"}"#).three(Key::Grid), None);
    }

    #[test]
    fn of_a_key_that_comes_twice_the_last_value_holds_and_nothing_stays_of_the_event_before() {
        let mut args = read(r#"{"external id": 1, "device": 2, "External id": 3}"#);
        assert_eq!((args.int(Key::ExternalId), args.int(Key::Device)), (Some(3), Some(2)));
        args.read(&mut Cursor::new(br#"{"device": "N/A", "bytes": 7}"#, 0)).unwrap();
        assert_eq!((args.int(Key::ExternalId), args.int(Key::Device), args.int(Key::Bytes)), (None, None, Some(7)));
    }
}
