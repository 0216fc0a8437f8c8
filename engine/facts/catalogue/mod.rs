//! The catalogue of facts: name, type, unit, meaning, and what of a capture brings each one.
//!
//! `coldspot facts --list` prints it, and rules are checked against it when they load.

mod accounts;
mod ahead;
mod collectives;
mod compiled;
mod copies;
mod culprits;
mod device;
mod failures;
mod groups;
mod idle;
mod idle_host;
mod kernel_profile;
mod kernels;
mod left_out;
mod notices;
mod outside;
mod patterns;
mod process;
mod replay;
mod run;
mod source;
mod steps;
mod tensors;
mod torch;
mod turns;
mod utilization;

use std::sync::LazyLock;

use foldhash::HashMap;
use serde::Serialize;

use super::value::FactValue;
pub use crate::ledger::accounts::Scaling;
use crate::source::{FORMAT_IDS, KERNELS_FORMAT_ID, can_record};
use crate::timeline::Capability;
pub(super) use kernel_profile::STALL_REASONS;

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
    /// Those of them that have the same grid and block.
    LaunchShape,
    /// Copies on one device with the same direction, host memory kind and API.
    CopyGroup,
    /// Blocking waits of one process through one API, seen from one device.
    SyncGroup,
    /// A range (NVTX) of one name in one process, seen from one device.
    Range,
    /// One round of what the program repeats, on one device.
    Step,
    /// A part of the window of one device before the steady state: set-up, warm-up. Only where the steady state is measured.
    Phase,
}

impl EntityKind {
    /// Every kind, in the order of the facts file.
    pub const ALL: [Self; 11] = [
        Self::Run,
        Self::Process,
        Self::Device,
        Self::Stream,
        Self::Kernel,
        Self::LaunchShape,
        Self::CopyGroup,
        Self::SyncGroup,
        Self::Range,
        Self::Step,
        Self::Phase,
    ];

    /// The name in rules: `copy_group`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Process => "process",
            Self::Device => "device",
            Self::Stream => "stream",
            Self::Kernel => "kernel",
            Self::LaunchShape => "launch_shape",
            Self::CopyGroup => "copy_group",
            Self::SyncGroup => "sync_group",
            Self::Range => "range",
            Self::Step => "step",
            Self::Phase => "phase",
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
            Self::LaunchShape => "launch_shapes",
            Self::CopyGroup => "copy_groups",
            Self::SyncGroup => "sync_groups",
            Self::Range => "ranges",
            Self::Step => "steps",
            Self::Phase => "phases",
        }
    }

    /// The kinds that a rule about this kind may also name, nearest first.
    pub const fn ancestors(self) -> &'static [Self] {
        match self {
            Self::Run => &[],
            Self::Process | Self::Device => &[Self::Run],
            Self::Kernel | Self::CopyGroup | Self::Step | Self::Phase => &[Self::Device, Self::Run],
            Self::LaunchShape => &[Self::Kernel, Self::Device, Self::Run],
            Self::Stream | Self::SyncGroup | Self::Range => &[Self::Device, Self::Process, Self::Run],
        }
    }

    /// The kind with this name in rules.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Whether kernels that were profiled one by one give a fact, with no recording of the program.
pub fn is_of_kernel_profiles(kind: EntityKind, fact: &Fact) -> bool {
    let is_alone = |(of, names): &(EntityKind, &[&str])| *of == kind && names.contains(&fact.name);
    fact.needs == Capability::KernelProfile || kernel_profile::ALONE.iter().any(is_alone)
}

/// The formats whose recordings can give a fact, by id.
pub fn formats_of(kind: EntityKind, fact: &Fact) -> Vec<&'static str> {
    let told = |format: &&str| match *format {
        format if format == KERNELS_FORMAT_ID => is_of_kernel_profiles(kind, fact),
        format => can_record(format, fact.needs),
    };
    FORMAT_IDS.into_iter().filter(told).collect()
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
            (Self::Choice(values), FactValue::Text(text)) => values.contains(&&**text),
            _ => false,
        }
    }

    /// Whether its values are numbers.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Float)
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

/// The unit of a fact, which its name ends in, or is.
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
    /// 1e9 bytes a second (`_gb_per_s`).
    GbPerS,
    /// Times a second (`_per_s`).
    PerSecond,
    /// Megahertz (`_mhz`).
    Mhz,
    /// A plain number without unit (`waves_per_sm`).
    Number,
    /// No amount but what tells things apart: a number that they are called by, a version (`number`, `pid`, `_line`, `_major`,
    /// `_minor`).
    Id,
    /// No number at all: a string or boolean.
    None,
}

impl Unit {
    /// The unit that a name's ending says.
    pub fn of_name(name: &str) -> Self {
        const ENDINGS: [(&str, Unit); 17] = [
            ("_ns", Unit::Ns),
            ("_bytes", Unit::Bytes),
            ("_count", Unit::Count),
            ("_share", Unit::Share),
            ("_gb_per_s", Unit::GbPerS),
            ("_per_s", Unit::PerSecond),
            ("_mhz", Unit::Mhz),
            ("_waves_per_sm", Unit::Number),
            ("_ratio", Unit::Number),
            ("_per_byte", Unit::Number),
            ("_per_dram_byte", Unit::Number),
            ("_per_sector", Unit::Number),
            ("_number", Unit::Id),
            ("_pid", Unit::Id),
            ("_line", Unit::Id),
            ("_major", Unit::Id),
            ("_minor", Unit::Id),
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
            Self::GbPerS => "gb_per_s",
            Self::PerSecond => "per_s",
            Self::Mhz => "mhz",
            Self::Number => "number",
            Self::Id => "id",
            Self::None => "",
        }
    }
}

/// Whether a time is one on the clock of the capture, by its name, and no length.
pub(super) fn is_instant(name: &str) -> bool {
    name.ends_with("start_ns") || name.ends_with("end_ns")
}

/// One entry of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// The name without the entity's own prefix.
    pub name: &'static str,
    /// The type of its value.
    pub kind: FactType,
    /// What of a capture brings it.
    pub needs: Capability,
    /// How it goes with the amount of work.
    pub scaling: Scaling,
    /// What it means, and what its absence means where that is not simply "not captured".
    pub meaning: &'static str,
}

impl Fact {
    /// The unit, which the name says; none of what is no number.
    pub fn unit(&self) -> Unit {
        if self.kind.is_number() { Unit::of_name(self.name) } else { Unit::None }
    }
}

const fn fact(name: &'static str, kind: FactType, needs: Capability, scaling: Scaling, meaning: &'static str) -> Fact {
    Fact { name, kind, needs, scaling, meaning }
}

/// The facts of one kind of entity, in the order in which they are explained.
pub fn of_kind(kind: EntityKind) -> impl Iterator<Item = &'static Fact> {
    let parts: &[&'static [Fact]] = match kind {
        EntityKind::Run => &[run::RUN, left_out::LEFT_OUT, failures::FAILURES, run::PROGRAM, notices::NOTICES],
        EntityKind::Process => &[process::PROCESS],
        EntityKind::Device => device::ALL,
        EntityKind::Stream => &[groups::STREAM],
        EntityKind::Kernel => &[kernels::KERNEL, kernels::WIDTHS, source::SOURCE],
        EntityKind::LaunchShape => &[kernels::LAUNCH_SHAPE, kernel_profile::LAUNCH_SHAPE],
        EntityKind::CopyGroup => &[groups::COPY_GROUP, source::SOURCE],
        EntityKind::SyncGroup => &[groups::SYNC_GROUP, source::SOURCE],
        EntityKind::Range => &[groups::RANGE],
        EntityKind::Step => &[groups::STEP],
        EntityKind::Phase => groups::PHASE,
    };
    parts.iter().copied().flatten()
}

/// The facts of each kind, by name: each value of a facts file is looked up, and each that is set.
static BY_NAME: LazyLock<[HashMap<&str, &Fact>; EntityKind::ALL.len()]> =
    LazyLock::new(|| EntityKind::ALL.map(|kind| of_kind(kind).map(|fact| (fact.name, fact)).collect()));

/// The entry for one fact.
pub fn find(kind: EntityKind, name: &str) -> Option<&'static Fact> {
    BY_NAME.get(kind as usize)?.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Account;

    #[test]
    fn every_account_is_a_fact() {
        for account in Account::all() {
            assert!(find(EntityKind::Device, account.fact()).is_some(), "{}", account.id());
        }
    }

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
                let name = format!("{}.{}", kind.name(), fact.name);
                assert_eq!(fact.unit() == Unit::None, !fact.kind.is_number(), "{name}");
                assert!(fact.kind.is_number() || Unit::of_name(fact.name) == Unit::None, "{name}");
            }
        }
    }

    #[test]
    fn every_account_is_a_fact_of_a_device() {
        let missing: Vec<_> =
            Account::all().filter(|account| find(EntityKind::Device, account.fact()).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?} stand in no list of catalogue/device.rs");
    }

    #[test]
    fn rates_stay_the_same_and_what_is_no_number_cannot_be_compared() {
        for kind in EntityKind::ALL {
            for fact in of_kind(kind) {
                let name = format!("{}.{}", kind.name(), fact.name);
                assert!(fact.kind.is_number() || fact.scaling == Scaling::Incomparable, "{name}");
                if matches!(fact.unit(), Unit::Share | Unit::GbPerS | Unit::PerSecond | Unit::Mhz) {
                    assert_eq!(fact.scaling, Scaling::Intensive, "{name}");
                }
                if fact.unit() == Unit::Id {
                    assert_eq!(fact.scaling, Scaling::Incomparable, "{name}");
                }
            }
        }
    }
}
