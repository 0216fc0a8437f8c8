//! What stands under `args` of an event, by the keys of every dialect.

use super::cursor::{Cursor, Fault, Value};
use super::event::Collective;
use super::number::{handle, integer, thousandths};
use super::text::Text;

/// All that coldspot takes of `args`. Keys may come before the category that says which of them matter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Args<'a> {
    pub(super) external_id: Option<i64>,
    pub(super) correlation: Option<i64>,
    pub(super) device: Option<i64>,
    pub(super) context: Option<i64>,
    pub(super) stream: Option<i64>,
    pub(super) grid: Option<[u32; 3]>,
    pub(super) block: Option<[u32; 3]>,
    pub(super) registers: Option<i64>,
    pub(super) shared_memory: Option<i64>,
    pub(super) blocks_per_sm: Option<i64>,
    pub(super) warps_per_sm: Option<i64>,
    pub(super) occupancy: Option<i64>,
    pub(super) graph_id: Option<i64>,
    pub(super) graph_node_id: Option<i64>,
    pub(super) bytes: Option<i64>,
    pub(super) from_device: Option<i64>,
    pub(super) to_device: Option<i64>,
    pub(super) collective: Collective<'a>,
    pub(super) input_shapes: Option<&'a [u8]>,
    pub(super) input_strides: Option<&'a [u8]>,
    pub(super) input_types: Option<&'a [u8]>,
    pub(super) sequence: Option<i64>,
    pub(super) forward_thread: Option<i64>,
    pub(super) call_stack: Option<Text<'a>>,
    pub(super) kernel_file: Option<Text<'a>>,
    pub(super) python_id: Option<i64>,
    pub(super) python_parent: Option<i64>,
    pub(super) python_module: Option<i64>,
    pub(super) device_type: Option<i64>,
    pub(super) device_id: Option<i64>,
    pub(super) memory_bytes: Option<i64>,
    pub(super) address: Option<i64>,
    pub(super) allocated: Option<i64>,
    pub(super) reserved: Option<i64>,
    pub(super) sync_kind: Option<Text<'a>>,
    pub(super) wait_on_stream: Option<i64>,
    pub(super) wait_on_record: Option<i64>,
    pub(super) name: Option<Text<'a>>,
}

impl<'a> Args<'a> {
    /// Reads the value of `args`, which may be `null`.
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let mut args = Self::default();
        if cursor.peek()? != b'{' {
            cursor.value()?;
            return Ok(args);
        }
        cursor.expect(b'{')?;
        while let Some(key) = cursor.key()? {
            let value = cursor.value()?;
            args.set(key, value);
        }
        Ok(args)
    }

    fn set(&mut self, key: &[u8], value: Value<'a>) {
        let int = |value: Value<'a>| integer(value.digits());
        match key {
            b"External id" | b"external id" => self.external_id = int(value),
            b"correlation" => self.correlation = int(value),
            b"device" => self.device = int(value),
            b"context" => self.context = int(value),
            b"stream" => self.stream = handle(value.digits()),
            b"bytes" => self.bytes = int(value),
            b"grid" => self.grid = three(value),
            b"block" => self.block = three(value),
            b"registers per thread" => self.registers = int(value),
            b"shared memory" => self.shared_memory = int(value),
            b"blocks per SM" => self.blocks_per_sm = thousandths(value.digits()),
            b"warps per SM" => self.warps_per_sm = thousandths(value.digits()),
            b"est. achieved occupancy %" => self.occupancy = int(value),
            b"graph id" => self.graph_id = int(value),
            b"graph node id" => self.graph_node_id = int(value),
            b"fromDevice" => self.from_device = int(value),
            b"toDevice" => self.to_device = int(value),
            _ => self.set_of_host(key, value),
        }
    }

    /// Keys of operators, Python frames, memory and synchronisation.
    fn set_of_host(&mut self, key: &[u8], value: Value<'a>) {
        let int = |value: Value<'a>| integer(value.digits());
        match key {
            b"Input Dims" | b"Input dims" => self.input_shapes = nested(value),
            b"Input Strides" => self.input_strides = nested(value),
            b"Input type" => self.input_types = nested(value),
            b"Sequence number" => self.sequence = int(value),
            b"Fwd thread id" => self.forward_thread = int(value),
            b"Call stack" => self.call_stack = value.text(),
            b"kernel_file" => self.kernel_file = value.text(),
            b"Python id" => self.python_id = int(value),
            b"Python parent id" => self.python_parent = int(value),
            b"Python module id" => self.python_module = int(value),
            b"Device Type" => self.device_type = int(value),
            b"Device Id" => self.device_id = int(value),
            b"Bytes" => self.memory_bytes = int(value),
            b"Addr" => self.address = int(value),
            b"Total Allocated" => self.allocated = int(value),
            b"Total Reserved" => self.reserved = int(value),
            b"cuda_sync_kind" => self.sync_kind = value.text(),
            b"wait_on_stream" => self.wait_on_stream = int(value),
            b"wait_on_cuda_event_record_corr_id" => self.wait_on_record = int(value),
            b"name" => self.name = value.text(),
            _ => self.set_of_collective(key, value),
        }
    }

    fn set_of_collective(&mut self, key: &[u8], value: Value<'a>) {
        let collective = &mut self.collective;
        match key {
            b"Collective name" => collective.name = value.text(),
            b"dtype" => collective.data_type = value.text(),
            b"In msg nelems" => collective.input_elements = integer(value.digits()),
            b"Out msg nelems" => collective.output_elements = integer(value.digits()),
            b"Group size" => collective.group_size = integer(value.digits()),
            b"Process Group Name" => collective.group = value.text(),
            b"Process Group Description" => collective.group_description = value.text(),
            b"Process Group Ranks" => collective.group_ranks = value.text().map(|text| text.raw()).or(nested(value)),
            b"Rank" => collective.rank = integer(value.digits()),
            b"Seq" => collective.sequence = integer(value.digits()),
            _ => {}
        }
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
        Args::read(&mut Cursor::new(json.as_bytes(), 0)).unwrap()
    }

    #[test]
    fn numbers_come_with_or_without_quotes_and_not_at_all() {
        let args = read(
            r#"{"External id": "12", "stream": "0x10", "grid": [ 4, "2",1 ], "block": ["256"], "bytes": "256",
                "device": N/A, "blocks per SM": inf, "warps per SM": 0.0625, "unknown": [{"device": 3}]}"#,
        );
        assert_eq!((args.external_id, args.stream, args.bytes), (Some(12), Some(16), Some(256)));
        assert_eq!((args.grid, args.block), (Some([4, 2, 1]), Some([256, 1, 1])));
        assert_eq!((args.device, args.blocks_per_sm, args.warps_per_sm), (None, None, Some(63)));
        assert!(read("null }").external_id.is_none());
        assert!(read("[1, 2] }").external_id.is_none());
        assert_eq!(read(r#"{"grid": [-1, 1, 1], "block": "N/A"}"#).grid, None);
    }
}
