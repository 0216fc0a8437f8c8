//! The catalogue of facts: name, type, unit, meaning, and what of a capture brings each one.
//!
//! `coldspot facts --list` prints it, and rules are checked against it when they load.

mod device;
mod groups;
mod run;
mod source;

use serde::Serialize;

use super::store::FactValue;
use crate::timeline::Capability;

/// The kinds of things that facts are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// The whole report.
    Run,
    /// One process that used the GPU.
    Process,
    /// One physical GPU.
    Device,
    /// One CUDA stream that ran work on a device.
    Stream,
    /// All launches of one kernel name on one device.
    Kernel,
    /// Copies on one device with the same direction, host memory kind and API.
    CopyGroup,
    /// Blocking waits of one process through one API, seen from one device.
    SyncGroup,
    /// An annotation (NVTX) of one name in one process, seen from one device.
    Range,
    /// One round of what the program repeats, on one device.
    Step,
}

impl EntityKind {
    /// Every kind, in the order of the facts file.
    pub const ALL: [Self; 9] = [
        Self::Run,
        Self::Process,
        Self::Device,
        Self::Stream,
        Self::Kernel,
        Self::CopyGroup,
        Self::SyncGroup,
        Self::Range,
        Self::Step,
    ];

    /// The name in rules: `copy_group`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Process => "process",
            Self::Device => "device",
            Self::Stream => "stream",
            Self::Kernel => "kernel",
            Self::CopyGroup => "copy_group",
            Self::SyncGroup => "sync_group",
            Self::Range => "range",
            Self::Step => "step",
        }
    }

    /// The name of its array in the facts file: `copy_groups`.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Run => "runs",
            Self::Process => "processes",
            Self::Device => "devices",
            Self::Stream => "streams",
            Self::Kernel => "kernels",
            Self::CopyGroup => "copy_groups",
            Self::SyncGroup => "sync_groups",
            Self::Range => "ranges",
            Self::Step => "steps",
        }
    }

    /// The kinds that a rule about this kind may also name, nearest first.
    pub const fn ancestors(self) -> &'static [Self] {
        match self {
            Self::Run => &[],
            Self::Process | Self::Device => &[Self::Run],
            Self::Kernel | Self::CopyGroup | Self::Step => &[Self::Device, Self::Run],
            Self::Stream | Self::SyncGroup | Self::Range => &[Self::Device, Self::Process, Self::Run],
        }
    }

    /// The kind with this name in rules.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The type of a fact's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactType {
    /// true or false.
    Bool,
    /// A whole number.
    Int,
    /// A finite number.
    Float,
    /// Any string: comes from the report, and is hostile.
    Text,
    /// One of the values listed.
    Choice(&'static [&'static str]),
}

impl FactType {
    /// Whether a value is of this type.
    pub fn accepts(self, value: &FactValue) -> bool {
        match (self, value) {
            (Self::Bool, FactValue::Bool(_))
            | (Self::Int, FactValue::Int(_))
            | (Self::Float, FactValue::Float(_))
            | (Self::Text, FactValue::Text(_)) => true,
            (Self::Choice(values), FactValue::Text(text)) => values.contains(&text.as_str()),
            _ => false,
        }
    }

    /// The name that `facts --list` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "boolean",
            Self::Int => "integer",
            Self::Float => "number",
            Self::Text => "string",
            Self::Choice(_) => "one of",
        }
    }
}

/// The unit of a fact, which its name ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds (`_ns`).
    Ns,
    /// Bytes (`_bytes`).
    Bytes,
    /// How many (`_count`).
    Count,
    /// A part of one, 0 to 1 (`_share`).
    Share,
    /// 1e9 bytes a second (`_gbps`).
    Gbps,
    /// Times a second (`_per_s`).
    PerSecond,
    /// Megahertz (`_mhz`).
    Mhz,
    /// A bare number, string or boolean.
    None,
}

impl Unit {
    /// The unit that a name's ending says.
    pub fn of_name(name: &str) -> Self {
        const ENDINGS: [(&str, Unit); 7] = [
            ("_ns", Unit::Ns),
            ("_bytes", Unit::Bytes),
            ("_count", Unit::Count),
            ("_share", Unit::Share),
            ("_gbps", Unit::Gbps),
            ("_per_s", Unit::PerSecond),
            ("_mhz", Unit::Mhz),
        ];
        ENDINGS
            .into_iter()
            .find(|(ending, _)| name.ends_with(ending) || name == &ending[1..])
            .map_or(Self::None, |(_, unit)| unit)
    }

    /// The word that `facts --list` and error messages print.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::Share => "share",
            Self::Gbps => "gbps",
            Self::PerSecond => "per_s",
            Self::Mhz => "mhz",
            Self::None => "",
        }
    }
}

/// One entry of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// The name without the entity's own prefix.
    pub name: &'static str,
    /// The type of its value.
    pub kind: FactType,
    /// What a recording must hold for it to be there.
    pub needs: Capability,
    /// How it goes with the work that is done; absent for what is no number, and where the unit says it.
    growth: Option<Growth>,
    /// What it means, and what its absence means where that is not simply "not captured".
    pub meaning: &'static str,
}

impl Growth {
    /// Whether it is a sum over the work.
    pub(crate) const fn is_per_unit(self) -> bool {
        matches!(self, Self::Work | Self::Span)
    }
}

impl Fact {
    /// The unit, which the name says.
    pub fn unit(&self) -> Unit {
        Unit::of_name(self.name)
    }

    /// How it goes with the work that is done; shares and rates stay the same.
    pub(crate) fn growth(&self) -> Growth {
        match (self.growth, self.unit()) {
            (Some(growth), _) => growth,
            (None, Unit::Share | Unit::Gbps | Unit::PerSecond | Unit::Mhz) => Growth::Same,
            (None, Unit::Ns | Unit::Bytes | Unit::Count | Unit::None) => Growth::Mark,
        }
    }
}

/// How a number goes with the work that is done: what a program that does the same twice would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// Twice as much: a sum over the work.
    Work,
    /// Twice as much, and the time between the two rounds.
    Span,
    /// The same: a size, a median, a share, a rate.
    Same,
    /// Either: of start-up, of one event that is the longest by chance, or of stretches that may join.
    Once,
    /// Nothing that could be said: a moment, an id, a version.
    Mark,
}

const fn fact(name: &'static str, kind: FactType, needs: Capability, meaning: &'static str) -> Fact {
    Fact { name, kind, needs, meaning, growth: None }
}

const fn work(name: &'static str, kind: FactType, needs: Capability, meaning: &'static str) -> Fact {
    Fact { name, kind, needs, meaning, growth: Some(Growth::Work) }
}

const fn span(name: &'static str, kind: FactType, needs: Capability, meaning: &'static str) -> Fact {
    Fact { name, kind, needs, meaning, growth: Some(Growth::Span) }
}

const fn same(name: &'static str, kind: FactType, needs: Capability, meaning: &'static str) -> Fact {
    Fact { name, kind, needs, meaning, growth: Some(Growth::Same) }
}

const fn once(name: &'static str, kind: FactType, needs: Capability, meaning: &'static str) -> Fact {
    Fact { name, kind, needs, meaning, growth: Some(Growth::Once) }
}

const fn mark(name: &'static str, kind: FactType, needs: Capability, meaning: &'static str) -> Fact {
    Fact { name, kind, needs, meaning, growth: Some(Growth::Mark) }
}

/// The facts of one kind of entity, in the order in which they are explained.
pub fn of_kind(kind: EntityKind) -> impl Iterator<Item = &'static Fact> {
    let parts: &[&'static [Fact]] = match kind {
        EntityKind::Run => &[run::RUN],
        EntityKind::Process => &[run::PROCESS],
        EntityKind::Device => device::ALL,
        EntityKind::Stream => &[groups::STREAM],
        EntityKind::Kernel => &[groups::KERNEL, source::SOURCE],
        EntityKind::CopyGroup => &[groups::COPY_GROUP, source::SOURCE],
        EntityKind::SyncGroup => &[groups::SYNC_GROUP, source::SOURCE],
        EntityKind::Range => &[groups::RANGE],
        EntityKind::Step => &[groups::STEP],
    };
    parts.iter().copied().flatten()
}

/// The entry for one fact.
pub fn find(kind: EntityKind, name: &str) -> Option<&'static Fact> {
    of_kind(kind).find(|fact| fact.name == name)
}

/// The ledger accounts that an estimate may claim: the device facts that are parts of the window.
///
/// `claims = "idle_sync"` draws on `device.idle_sync_ns`.
pub fn accounts() -> impl Iterator<Item = &'static str> {
    [device::LEDGER, device::IDLE_ACTIVITY, device::IDLE_TRIGGER, device::COMPUTE_USE]
        .into_iter()
        .flatten()
        .filter_map(|fact| fact.name.strip_suffix("_ns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_end_in_their_unit() {
        for kind in EntityKind::ALL {
            let mut names: Vec<_> = of_kind(kind).map(|fact| fact.name).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(count, names.len(), "{} names a fact twice", kind.name());
            for fact in of_kind(kind) {
                assert!(fact.meaning.ends_with('.'), "{}.{} has no whole sentence", kind.name(), fact.name);
                if matches!(fact.kind, FactType::Bool | FactType::Text | FactType::Choice(_)) {
                    assert_eq!(fact.unit(), Unit::None, "{}.{}", kind.name(), fact.name);
                }
            }
        }
    }

    #[test]
    fn every_amount_of_the_run_and_of_devices_says_how_it_grows() {
        for kind in [EntityKind::Run, EntityKind::Device] {
            for fact in of_kind(kind).filter(|fact| matches!(fact.kind, FactType::Int | FactType::Float)) {
                let is_rate = matches!(fact.unit(), Unit::Share | Unit::Gbps | Unit::PerSecond | Unit::Mhz);
                assert!(is_rate || fact.growth.is_some(), "{}.{}", kind.name(), fact.name);
            }
        }
    }
}
