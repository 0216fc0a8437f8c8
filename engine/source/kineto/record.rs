//! One event as it is written, and what it means.

use super::args::{self, Args};
use super::cursor::{Cursor, Fault, Value};
use super::event::{Activity, Call, CopyWork, Event, GpuWork, Id, Kernel, Memory, MemoryKind, MemsetWork, Operator};
use super::members::Members;
use super::number::{integer, nanoseconds};
use super::pids;
use super::problems::Problem;
use super::text::Text;

/// Longer than any recording: what lasts longer was never given an end, and what is further from the others has no time.
const DAY_NS: i64 = 24 * 3_600 * 1_000_000_000;
/// What the names of steps start with.
const STEP: &[u8] = b"ProfilerStep#";

/// An event, before it is known what it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Record<'a> {
    phase: u8,
    category: &'a [u8],
    name: Text<'a>,
    pid: Id<'a>,
    tid: Id<'a>,
    start: &'a [u8],
    duration: &'a [u8],
    args: Args<'a>,
    /// Whether it is no event, but a whole trace.
    holds_events: bool,
    members: Members<'a, Key>,
}

/// The keys of an event.
#[derive(Debug, Clone, Copy)]
enum Key {
    Phase,
    Category,
    Name,
    Process,
    Thread,
    Start,
    Duration,
    Args,
    Events,
    Other,
}

impl Key {
    fn of(name: &[u8]) -> Self {
        match name {
            b"ph" => Self::Phase,
            b"cat" => Self::Category,
            b"name" => Self::Name,
            b"pid" => Self::Process,
            b"tid" => Self::Thread,
            b"ts" => Self::Start,
            b"dur" => Self::Duration,
            b"args" => Self::Args,
            b"traceEvents" => Self::Events,
            _ => Self::Other,
        }
    }
}

impl<'a> Record<'a> {
    /// Reads an object in place of what was read before: a record is large, and one serves for many events.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Fault> {
        self.clear();
        cursor.expect(b'{')?;
        self.members.begin();
        while let Some(key) = self.members.key(cursor, Key::of)? {
            if matches!(key, Key::Args) {
                self.args.read(cursor)?;
                continue;
            }
            self.holds_events |= matches!(key, Key::Events) && cursor.peek()? == b'[';
            let value = cursor.value()?;
            match key {
                Key::Phase => self.phase = value.text().and_then(|text| text.raw().first().copied()).unwrap_or(0),
                Key::Category => self.category = value.text().map_or(&[], |text| text.raw()),
                Key::Name => self.name = value.text().unwrap_or_default(),
                Key::Process => self.pid = id(value),
                Key::Thread => self.tid = id(value),
                Key::Start => self.start = value.digits(),
                Key::Duration => self.duration = value.digits(),
                Key::Args | Key::Events | Key::Other => {}
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.args.clear();
        self.holds_events = false;
        (self.phase, self.category, self.name) = (0, &[], Text::default());
        (self.pid, self.tid) = (Id::Missing, Id::Missing);
        (self.start, self.duration) = (&[], &[]);
    }

    /// Whether it is one that lasts, as opposed to an instant or a label.
    pub(super) const fn has_duration(&self) -> bool {
        self.phase == b'X'
    }

    /// The event, `None` when it is none that coldspot takes, or why it cannot be taken. `origin` is a time within the
    /// recording.
    pub(super) fn event(&self, origin: Option<i64>) -> Result<Option<Event<'a>>, Problem> {
        if self.holds_events {
            return Err(Problem::Nested);
        }
        let activity = match self.phase {
            b'X' => self.lasting()?,
            b'i' | b'I' | b'M' if !self.is_gpu_op() => self.instant(),
            b'B' if self.is_of_kind() => return Err(Problem::Half),
            0 if self.is_of_kind() => return Err(Problem::NoKind),
            // No profiler writes work of a GPU as anything but what lasts: it is left out, and that is said.
            _ if self.is_gpu_op() => return Err(Problem::NoKind),
            _ => None,
        };
        let Some(activity) = activity else { return Ok(None) };
        let (start_ns, duration_ns) = match self.times(origin) {
            _ if self.phase == b'M' => (0, 0),
            // PyTorch of 2022 and before told it by another clock than all else. Nothing of the program is lost without it.
            Err(Problem::AbsurdTime) if matches!(activity, Activity::RecordedEnd) => return Ok(None),
            times => times?,
        };
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
                Activity::Memset(MemsetWork { work: self.gpu_work()?, bytes: self.args.int(args::Key::Bytes) })
            }
            b"cuda_runtime" | b"Runtime" | b"xpu_runtime" | b"privateuse1_runtime" => Activity::Call(self.call()),
            // Waits, requests and whole jobs lie in one category with what executes: no event of it tells that something ran.
            b"mtia_ccp_events" => Activity::OtherKernel(self.kernel()?),
            b"mtia_runtime" => Activity::OtherAccelerator,
            b"cuda_profiler_range" => Activity::KernelMetrics,
            b"cuda_driver" | b"xpu_driver" | b"privateuse1_driver" => Activity::Call(self.call()),
            b"cpu_op" | b"Operator" if self.is_step() => Activity::Step,
            b"cpu_op" | b"Operator" => Activity::Operator(self.operator()),
            b"user_annotation" if self.is_step() => Activity::Step,
            b"user_annotation" => Activity::Range,
            b"gpu_user_annotation" => self.device().map(|_| Activity::DeviceRange)?,
            b"python_function" => Activity::Frame,
            b"cuda_sync" => self.device().map(|_| Activity::Wait)?,
            b"overhead" => Activity::Overhead,
            b"Trace" => Activity::Recorded,
            // Work of a GPU, or the call that asked for it.
            b"" if self.args.int(args::Key::Correlation).is_some() => return Err(Problem::NoKind),
            _ => return Ok(None),
        }))
    }

    fn instant(&self) -> Option<Activity<'a>> {
        match (self.phase, self.name.raw()) {
            (b'M', b"process_name" | b"thread_name") => self.args.text(args::Key::Name).map(|_| Activity::Named),
            (b'M', _) => None,
            (_, b"[memory]") => Some(Activity::Memory(Memory {
                device_type: self.args.int(args::Key::DeviceType),
                device: self.args.int(args::Key::DeviceId),
                allocated: self.args.int(args::Key::Allocated),
                reserved: self.args.int(args::Key::Reserved),
            })),
            (_, b"Record Window End") => Some(Activity::RecordedEnd),
            _ => None,
        }
    }

    fn is_step(&self) -> bool {
        self.name.raw().strip_prefix(STEP).and_then(integer).is_some()
    }

    /// Devices are numbered by `args`; rows that lack it are filed under the device as their process.
    fn device(&self) -> Result<i64, Problem> {
        let of_process = || match self.pid {
            Id::Number(number) => Some(number),
            Id::Text(words) => pids::numbers(words.raw()).last(),
            Id::Missing => None,
        };
        let device = self.args.int(args::Key::Device).or_else(of_process);
        device.filter(|device| *device >= 0).ok_or(Problem::NoDevice)
    }

    fn gpu_work(&self) -> Result<GpuWork, Problem> {
        Ok(GpuWork {
            device: self.device()?,
            stream: self.args.handle(args::Key::Stream),
            context: self.args.int(args::Key::Context),
            correlation: self.correlation(),
            external_id: self.args.int(args::Key::ExternalId),
        })
    }

    fn kernel(&self) -> Result<Kernel<'a>, Problem> {
        Ok(Kernel {
            work: self.gpu_work()?,
            grid: self.args.three(args::Key::Grid),
            block: self.args.three(args::Key::Block),
            registers: self.args.int(args::Key::Registers),
            shared_memory: self.args.int(args::Key::SharedMemory),
            collective: self.args.collective(),
        })
    }

    fn copy(&self) -> Result<CopyWork, Problem> {
        let args = &self.args;
        let (from, to) = copy_ends(self.name.raw());
        let is_peer = match (args.int(args::Key::FromDevice), args.int(args::Key::ToDevice)) {
            (Some(from), Some(to)) => from != to,
            _ => self.name.raw().starts_with(b"Memcpy PtoP"),
        };
        let bytes = args.int(args::Key::Bytes).filter(|bytes| *bytes >= 0);
        Ok(CopyWork { work: self.gpu_work()?, bytes, from, to, is_peer })
    }

    fn call(&self) -> Call {
        Call { correlation: self.correlation(), external_id: self.args.int(args::Key::ExternalId) }
    }

    fn operator(&self) -> Operator<'a> {
        let args = &self.args;
        Operator {
            external_id: args.int(args::Key::ExternalId).filter(|id| *id > 0),
            sequence: args.int(args::Key::Sequence).filter(|number| *number >= 0),
            forward_thread: args.int(args::Key::ForwardThread),
            input_shapes: args.nested(args::Key::InputShapes),
            input_types: args.nested(args::Key::InputTypes),
            call_stack: args.text(args::Key::CallStack),
            collective: args.collective(),
        }
    }

    /// 0 and less stand for none.
    fn correlation(&self) -> Option<i64> {
        self.args.int(args::Key::Correlation).filter(|id| *id > 0)
    }
}

/// Whether two times can be of one recording.
pub(super) const fn is_near(start: i64, other: i64) -> bool {
    start.abs_diff(other) <= DAY_NS.unsigned_abs()
}

fn id(value: Value<'_>) -> Id<'_> {
    if let Some(number) = integer(value.digits()) {
        return Id::Number(number);
    }
    let word = value.word().filter(|word| *word != b"null").map(|word| Text::new(word, false));
    value.string().or(word).map_or(Id::Missing, Id::Text)
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

    fn read(json: &str) -> Record<'_> {
        let mut record = Record::default();
        record.read(&mut Cursor::new(json.as_bytes(), 0)).unwrap();
        record
    }

    fn problem(members: &str) -> Option<Problem> {
        let json = format!("{{\"ph\": \"X\", \"cat\": \"kernel\", {members}}}");
        read(&json).event(Some(0)).err()
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
            let event = read(&json).event(None).unwrap().unwrap();
            assert_eq!(matches!(event.activity, Activity::Step), is_step, "{category}");
            assert_eq!((event.start_ns, event.duration_ns), (1_500, 2_000));
        }
    }
}
