//! One event as it is written, and what it means.

use super::args::Args;
use super::cursor::{Cursor, Fault, Value};
use super::event::{
    Activity, Call, Collective, CopyWork, Event, Frame, GpuWork, Id, Kernel, Memory, MemoryKind, MemsetWork, Operator,
    Range, Wait,
};
use super::number::{integer, nanoseconds};
use super::problems::Problem;
use super::text::Text;

/// Longer than any recording: what lasts longer was never given an end, and what is further from the others has no time.
const DAY_NS: i64 = 24 * 3_600 * 1_000_000_000;
/// What the names of steps start with.
const STEP: &[u8] = b"ProfilerStep#";

/// An event, before it is known what it is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Record<'a> {
    phase: u8,
    category: &'a [u8],
    name: Text<'a>,
    pid: Id<'a>,
    tid: Id<'a>,
    start: &'a [u8],
    duration: &'a [u8],
    args: Args<'a>,
}

impl<'a> Record<'a> {
    /// Reads an object.
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        cursor.expect(b'{')?;
        let mut record = Self::default();
        while let Some(key) = cursor.key()? {
            if key == b"args" {
                record.args = Args::read(cursor)?;
                continue;
            }
            let value = cursor.value()?;
            match key {
                b"ph" => record.phase = value.text().and_then(|text| text.raw().first().copied()).unwrap_or(0),
                b"cat" => record.category = value.text().map_or(&[], |text| text.raw()),
                b"name" => record.name = value.text().unwrap_or_default(),
                b"pid" => record.pid = id(value),
                b"tid" => record.tid = id(value),
                b"ts" => record.start = value.digits(),
                b"dur" => record.duration = value.digits(),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Whether it is one that lasts, as opposed to an instant or a label.
    pub(super) const fn has_duration(&self) -> bool {
        self.phase == b'X'
    }

    /// The event, `None` when it is none that coldspot takes, or why it cannot be taken. `origin` is a time within the
    /// recording.
    pub(super) fn event(&self, origin: Option<i64>) -> Result<Option<Event<'a>>, Problem> {
        let activity = match self.phase {
            b'X' => self.lasting()?,
            b'i' | b'I' | b'M' => self.instant(),
            b'B' if self.is_of_kind() => return Err(Problem::Half),
            0 if self.is_of_kind() => return Err(Problem::NoKind),
            _ => None,
        };
        let Some(activity) = activity else { return Ok(None) };
        let (start_ns, duration_ns) = if self.phase == b'M' { (0, 0) } else { self.times(origin)? };
        Ok(Some(Event { start_ns, duration_ns, pid: self.pid, tid: self.tid, name: self.name, activity }))
    }

    /// Whether it is work of a GPU.
    pub(super) const fn is_gpu_op(&self) -> bool {
        matches!(
            self.category,
            b"kernel" | b"Kernel" | b"mtia_ccp_events" | b"gpu_memcpy" | b"Memcpy" | b"gpu_memset" | b"Memset"
        )
    }

    /// Whether its category is one of those that are taken.
    fn is_of_kind(&self) -> bool {
        !matches!(self.lasting(), Ok(None))
    }

    fn times(&self, origin: Option<i64>) -> Result<(i64, i64), Problem> {
        let start = nanoseconds(self.start).ok_or(Problem::NoTime)?;
        if origin.is_some_and(|origin| !is_near(start, origin)) {
            return Err(Problem::AbsurdTime);
        }
        if !self.has_duration() {
            return Ok((start, 0));
        }
        match nanoseconds(self.duration) {
            Some(i64::MIN..=-1) => Err(Problem::NegativeDuration),
            Some(duration @ 0..=DAY_NS) if start.checked_add(duration).is_some() => Ok((start, duration)),
            Some(_) => Err(Problem::AbsurdDuration),
            // Beyond 64 bits, it is a number yet.
            None if self.duration.iter().all(u8::is_ascii_digit) && !self.duration.is_empty() => {
                Err(Problem::AbsurdDuration)
            }
            None => Err(Problem::NoDuration),
        }
    }

    /// Categories in the spelling of today and of 2021.
    fn lasting(&self) -> Result<Option<Activity<'a>>, Problem> {
        Ok(Some(match self.category {
            b"kernel" | b"Kernel" => Activity::Kernel(self.kernel()?),
            b"gpu_memcpy" | b"Memcpy" => Activity::Copy(self.copy()?),
            b"gpu_memset" | b"Memset" => {
                Activity::Memset(MemsetWork { work: self.gpu_work()?, bytes: self.args.bytes })
            }
            b"cuda_runtime" | b"Runtime" | b"xpu_runtime" | b"privateuse1_runtime" => Activity::Call(self.call(false)),
            // Waits, requests and whole jobs lie in one category with what executes: no event of it tells that something ran.
            b"mtia_ccp_events" => Activity::OtherKernel(self.kernel()?),
            b"mtia_runtime" => Activity::OtherAccelerator,
            b"cuda_profiler_range" => Activity::KernelMetrics,
            b"cuda_driver" | b"xpu_driver" | b"privateuse1_driver" => Activity::Call(self.call(true)),
            b"cpu_op" | b"Operator" => self.step().unwrap_or_else(|| Activity::Operator(self.operator())),
            b"user_annotation" => self.step().unwrap_or_else(|| {
                Activity::Range(Range { external_id: self.args.external_id, collective: self.collective() })
            }),
            b"gpu_user_annotation" => Activity::DeviceRange(self.gpu_work()?),
            b"python_function" => Activity::Frame(Frame {
                id: self.args.python_id,
                parent: self.args.python_parent,
                module: self.args.python_module,
            }),
            b"cuda_sync" => Activity::Wait(Wait {
                work: self.gpu_work()?,
                kind: self.args.sync_kind,
                on_stream: self.args.wait_on_stream,
                on_record: self.args.wait_on_record.filter(|id| *id > 0),
            }),
            b"overhead" => Activity::Overhead,
            b"Trace" => Activity::Recorded,
            // Work of a GPU, or the call that asked for it.
            b"" if self.args.correlation.is_some() => return Err(Problem::NoKind),
            _ => return Ok(None),
        }))
    }

    fn instant(&self) -> Option<Activity<'a>> {
        match (self.phase, self.name.raw()) {
            (b'M', b"process_name") => self.args.name.map(Activity::ProcessName),
            (b'M', b"thread_name") => self.args.name.map(Activity::ThreadName),
            (b'M', _) => None,
            (_, b"[memory]") => Some(Activity::Memory(Memory {
                device_type: self.args.device_type,
                device: self.args.device_id,
                bytes: self.args.memory_bytes,
                address: self.args.address,
                allocated: self.args.allocated,
                reserved: self.args.reserved,
            })),
            (_, b"Record Window End") => Some(Activity::RecordedEnd),
            _ => None,
        }
    }

    fn step(&self) -> Option<Activity<'a>> {
        integer(self.name.raw().strip_prefix(STEP)?).map(Activity::Step)
    }

    /// Devices are numbered by `args`; rows that lack it are filed under the device as their process.
    fn gpu_work(&self) -> Result<GpuWork, Problem> {
        let of_process = || match self.pid {
            Id::Number(number) => Some(number),
            _ => None,
        };
        Ok(GpuWork {
            device: self.args.device.or_else(of_process).filter(|device| *device >= 0).ok_or(Problem::NoDevice)?,
            stream: self.args.stream,
            context: self.args.context,
            correlation: self.correlation(),
            external_id: self.args.external_id,
        })
    }

    fn kernel(&self) -> Result<Kernel<'a>, Problem> {
        let args = &self.args;
        Ok(Kernel {
            work: self.gpu_work()?,
            grid: args.grid,
            block: args.block,
            registers: args.registers,
            shared_memory: args.shared_memory,
            milli_blocks_per_sm: args.blocks_per_sm,
            milli_warps_per_sm: args.warps_per_sm,
            occupancy_percent: args.occupancy,
            graph: args.graph_id.filter(|id| *id > 0),
            graph_node: args.graph_node_id.filter(|id| *id > 0),
            collective: self.collective(),
        })
    }

    fn copy(&self) -> Result<CopyWork, Problem> {
        let args = &self.args;
        let (from, to) = copy_ends(self.name.raw());
        let is_peer = match (args.from_device, args.to_device) {
            (Some(from), Some(to)) => from != to,
            _ => self.name.raw().starts_with(b"Memcpy PtoP"),
        };
        Ok(CopyWork { work: self.gpu_work()?, bytes: args.bytes.filter(|bytes| *bytes >= 0), from, to, is_peer })
    }

    fn call(&self, is_driver: bool) -> Call {
        Call { correlation: self.correlation(), external_id: self.args.external_id, is_driver }
    }

    fn operator(&self) -> Operator<'a> {
        let args = &self.args;
        Operator {
            external_id: args.external_id,
            sequence: args.sequence.filter(|number| *number >= 0),
            forward_thread: args.forward_thread,
            input_shapes: args.input_shapes,
            input_strides: args.input_strides,
            input_types: args.input_types,
            call_stack: args.call_stack,
            kernel_file: args.kernel_file,
            collective: self.collective(),
        }
    }

    /// 0 and less stand for none.
    fn correlation(&self) -> Option<i64> {
        self.args.correlation.filter(|id| *id > 0)
    }

    fn collective(&self) -> Option<Collective<'a>> {
        self.args.collective.name.is_some().then_some(self.args.collective)
    }
}

/// Whether two times can be of one recording.
pub(super) const fn is_near(start: i64, other: i64) -> bool {
    start.abs_diff(other) <= DAY_NS.unsigned_abs()
}

fn id(value: Value<'_>) -> Id<'_> {
    match (integer(value.digits()), value) {
        (Some(number), _) => Id::Number(number),
        (None, Value::Text(text)) => Id::Text(text),
        (None, Value::Bare(b"null")) => Id::Missing,
        (None, Value::Bare(word)) => Id::Text(Text::new(word, false)),
        (None, Value::Nested(_)) => Id::Missing,
    }
}

/// What `Memcpy HtoD (Pageable -> Device)`, or `CopyHostToDevice` of old AMD traces, reads and writes.
fn copy_ends(name: &[u8]) -> (MemoryKind, MemoryKind) {
    let ends = || {
        let inside = name.strip_suffix(b")")?.rsplit(|byte| *byte == b'(').next()?;
        let arrow = memchr::memmem::find(inside, b" -> ")?;
        Some((memory_kind(&inside[..arrow]), memory_kind(&inside[arrow + 4..])))
    };
    let old = || {
        let inside = name.strip_prefix(b"Copy")?;
        let to = memchr::memmem::find(inside, b"To")?;
        Some((memory_kind(&inside[..to]), memory_kind(&inside[to + 2..])))
    };
    ends().or_else(old).unwrap_or_default()
}

fn memory_kind(word: &[u8]) -> MemoryKind {
    match word {
        b"Pageable" => MemoryKind::Pageable,
        b"Pinned" => MemoryKind::Pinned,
        b"Host" => MemoryKind::Host,
        b"Device" | b"Array" | b"Device Static" => MemoryKind::Device,
        b"Managed" | b"Managed Static" => MemoryKind::Managed,
        _ => MemoryKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_say_what_they_read_and_write() {
        assert_eq!(copy_ends(b"Memcpy HtoD (Pageable -> Device)"), (MemoryKind::Pageable, MemoryKind::Device));
        assert_eq!(copy_ends(b"Memcpy DtoH (Device -> Pinned)"), (MemoryKind::Device, MemoryKind::Pinned));
        assert_eq!(copy_ends(b"Memcpy HtoD (Host -> Device)"), (MemoryKind::Host, MemoryKind::Device));
        assert_eq!(copy_ends(b"CopyHostToDevice"), (MemoryKind::Host, MemoryKind::Device));
        assert_eq!(copy_ends(b"Memcpy (?"), (MemoryKind::Unknown, MemoryKind::Unknown));
        assert_eq!(copy_ends(b""), (MemoryKind::Unknown, MemoryKind::Unknown));
    }

    fn problem(members: &str) -> Option<Problem> {
        let json = format!("{{\"ph\": \"X\", \"cat\": \"kernel\", {members}}}");
        Record::read(&mut Cursor::new(json.as_bytes(), 0)).unwrap().event(Some(0)).err()
    }

    #[test]
    fn events_without_sane_times_are_refused_by_reason() {
        assert_eq!(problem(r#""pid": 0, "ts": "5", "dur": 1"#), None);
        assert_eq!(problem(r#""pid": 0, "ts": 5, "dur": -1"#), Some(Problem::NegativeDuration));
        assert_eq!(problem(r#""pid": 0, "ts": 5, "dur": 9e15"#), Some(Problem::AbsurdDuration));
        assert_eq!(problem(r#""pid": 0, "ts": 5, "dur": 18446744073709551615"#), Some(Problem::AbsurdDuration));
        assert_eq!(problem(r#""pid": 0, "ts": 5, "dur": inf"#), Some(Problem::NoDuration));
        assert_eq!(problem(r#""pid": 0, "ts": 5"#), Some(Problem::NoDuration));
        assert_eq!(problem(r#""pid": 0, "ts": "N/A", "dur": 1"#), Some(Problem::NoTime));
        assert_eq!(problem(r#""pid": 0, "ts": 9223372036854775, "dur": 1"#), Some(Problem::AbsurdTime));
        assert_eq!(problem(r#""pid": "CUDA functions", "ts": 5, "dur": 1"#), Some(Problem::NoDevice));
    }

    #[test]
    fn steps_are_known_by_name_in_every_host_category() {
        for (category, is_step) in
            [("Operator", true), ("cpu_op", true), ("user_annotation", true), ("overhead", false)]
        {
            let json = format!(r#"{{"ph": "X", "cat": "{category}", "name": "ProfilerStep#12", "ts": 1.5, "dur": 2}}"#);
            let record = Record::read(&mut Cursor::new(json.as_bytes(), 0)).unwrap();
            let event = record.event(None).unwrap().unwrap();
            assert_eq!(matches!(event.activity, Activity::Step(12)), is_step, "{category}");
            assert_eq!((event.start_ns, event.duration_ns), (1_500, 2_000));
        }
    }
}
