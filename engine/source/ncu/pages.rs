//! The two pages that a report is printed as: `raw` has a row a launch, `details` a row a number.

use std::collections::HashMap;

use csv::StringRecord;

use super::counters::{self, ESTIMATES, EXCESSES, PIPES, STALL_PHRASES};
use super::lines::RowEnd;
use super::number::{has_decimal_comma, plain, value, volume};
use crate::timeline::{Counter, Counters, Page};

/// No launch has more blocks, nor a block more threads.
const MAX_SIZE: f64 = 1e15;
/// How the rule `WorkloadImbalance` names parts of the GPU that are no SMs.
const L2_SLICES: &str = "L2 Slices";
const UNEVEN_MEMORY: [&str; 2] = [L2_SLICES, "DRAM"];
/// Which pipeline the rule `HighPipeUtilization` means by the one that several share.
const SHARED_PIPE: &str = "Shared ";
const OF_SHARED_PIPE: &str = "dominated by its ";
/// What stands before a share that is rounded to nothing.
const ROUNDED: &str = "close to ";

/// How metrics are called that are worked out of counters of the SMs.
const DERIVED: &str = "derived__sm";
/// What is printed in place of a metric that was asked for and not got; the first with a mark before it, in some versions.
const NOT_GOT: [&str; 3] = ["n/a", "(!) n/a", "no data"];

/// What stands where in a row.
#[derive(Debug)]
pub(super) struct Columns {
    count: usize,
    id: usize,
    kernel: usize,
    /// Absent on pages of versions before 2022, where rows tell them.
    sizes: Option<Sizes>,
    device: Option<usize>,
    launcher: [Option<usize>; 3],
    capability: Option<usize>,
    cells: Cells,
}

/// Where a launch's sizes stand.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    block: usize,
    grid: usize,
}

#[derive(Debug)]
enum Cells {
    Raw {
        counters: Vec<(usize, Counter)>,
        /// Columns that are worked out of counters of the SMs.
        derived: Vec<usize>,
        device_name: Option<usize>,
        /// The units of these columns, once their row was read: a row may have a million others.
        units: Option<Vec<String>>,
    },
    Details(Details),
}

#[derive(Debug)]
struct Details {
    section: usize,
    name: usize,
    unit: usize,
    value: usize,
    rule: Option<usize>,
    description: Option<usize>,
    estimate_kind: Option<usize>,
    estimate: Option<usize>,
}

/// What a row says of the launch that it is about.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Launch {
    pub(super) id: u64,
    pub(super) name: String,
    /// The cells that tell which process launched it, in which context and stream: ids of several processes are the same.
    pub(super) launcher: [String; 3],
    pub(super) device: i64,
    pub(super) compute_capability: Option<(i64, i64)>,
    pub(super) device_name: Option<String>,
    pub(super) grid_blocks: i64,
    pub(super) block_threads: i64,
    pub(super) counters: Counters,
    /// Whether a counter was asked for and not got.
    pub(super) lacks_counters: bool,
}

/// A row.
#[derive(Debug)]
pub(super) enum Row {
    /// Of a launch; several in a row may be of the same.
    Launch(Box<Launch>),
    /// The units of the columns, or a line that the program wrote.
    Other,
    /// One of a launch that does not say of which, or is cut off.
    Broken,
    /// One with a comma before decimals: its points are no decimal points.
    DecimalComma,
}

impl Columns {
    /// From a header; `None` for one of another page.
    pub(super) fn new(header: &StringRecord) -> Option<Self> {
        let mut at: HashMap<&str, usize> = HashMap::new();
        for (index, name) in header.iter().enumerate() {
            at.entry(name.trim()).or_insert(index);
        }
        let find = |name: &str| at.get(name).copied();
        let cells = match (find("Section Name"), find("Metric Name"), find("Metric Unit"), find("Metric Value")) {
            (Some(section), Some(name), Some(unit), Some(value)) => Cells::Details(Details {
                section,
                name,
                unit,
                value,
                rule: find("Rule Name"),
                description: find("Rule Description"),
                estimate_kind: find("Estimated Speedup Type"),
                estimate: find("Estimated Speedup"),
            }),
            _ => Cells::Raw {
                // Each row is asked for each of them: a name that stands in the header again is not.
                counters: header
                    .iter()
                    .enumerate()
                    .filter(|(index, name)| find(name.trim()) == Some(*index))
                    .flat_map(|(index, name)| counters::of_column(name.trim()).map(move |counter| (index, counter)))
                    .collect(),
                derived: (0..header.len()).filter(|at| header[*at].trim().starts_with(DERIVED)).collect(),
                device_name: find("device__attribute_display_name"),
                units: None,
            },
        };
        let sizes = find("Block Size").zip(find("Grid Size")).map(|(block, grid)| Sizes { block, grid });
        if sizes.is_none() && matches!(cells, Cells::Raw { .. }) {
            return None;
        }
        Some(Self {
            count: header.len(),
            id: find("ID")?,
            kernel: find("Kernel Name")?,
            sizes,
            device: find("Device"),
            launcher: ["Process ID", "Context", "Stream"].map(find),
            capability: find("CC"),
            cells,
        })
    }

    /// The page that the header is of.
    pub(super) const fn page(&self) -> Page {
        match self.cells {
            Cells::Raw { .. } => Page::Raw,
            Cells::Details(_) => Page::Details,
        }
    }

    /// Reads a row.
    pub(super) fn read(&mut self, row: &StringRecord) -> Row {
        let id = row.get(self.id).unwrap_or_default().trim();
        let Ok(id) = id.parse::<u64>() else {
            // As long as a launch is: one that was damaged.
            let is_launch = row.len() > self.last_needed();
            // Units are of no kernel.
            if let Cells::Raw { counters, units, .. } = &mut self.cells
                && units.is_none()
                && is_launch
                && [self.id, self.kernel].iter().all(|at| row.get(*at).is_some_and(|cell| cell.trim().is_empty()))
            {
                let unit = |(at, _): &(usize, Counter)| row.get(*at).unwrap_or_default().to_owned();
                *units = Some(counters.iter().map(unit).collect());
                return Row::Other;
            }
            return if is_launch { Row::Broken } else { Row::Other };
        };
        if self.has_decimal_comma(row) {
            return Row::DecimalComma;
        }
        self.launch(id, row).map_or(Row::Broken, |launch| Row::Launch(Box::new(launch)))
    }

    /// The last column that no row of a launch lacks.
    fn last_needed(&self) -> usize {
        match (&self.cells, self.sizes) {
            (_, Some(sizes)) => sizes.grid,
            (Cells::Details(details), None) => details.value,
            (Cells::Raw { .. }, None) => self.kernel,
        }
    }

    /// Whether a row is the last of the file, and not known to be whole: a number of it may lack its last digits. What the program
    /// wrote is no row.
    pub(super) fn is_cut(&self, row: &StringRecord, end: RowEnd) -> bool {
        let is_whole = match end {
            RowEnd::Line => true,
            RowEnd::Quote { is_comma_behind: false } => row.len() == self.count,
            // Rows of numbers end behind their value.
            RowEnd::Quote { is_comma_behind: true } => match &self.cells {
                Cells::Details(details) => {
                    row.len() == details.value + 2 && row.get(details.name).is_some_and(|name| !name.is_empty())
                }
                Cells::Raw { .. } => false,
            },
            RowEnd::Nothing => false,
        };
        let first = row.get(0).unwrap_or_default().trim();
        !is_whole && ("ID".starts_with(first) || first.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// Whether numbers are read whose units the page does not tell.
    pub(super) const fn lacks_units(&self) -> bool {
        matches!(&self.cells, Cells::Raw { units: None, .. })
    }

    /// Of the cells that are read.
    fn has_decimal_comma(&self, row: &StringRecord) -> bool {
        let shows = |at: usize| row.get(at).is_some_and(has_decimal_comma);
        match &self.cells {
            Cells::Raw { counters, .. } => counters.iter().any(|(at, _)| shows(*at)),
            Cells::Details(details) => {
                let name = |at: usize| row.get(at).unwrap_or_default();
                counters::of_row(name(details.section), name(details.name)).is_some() && shows(details.value)
            }
        }
    }

    fn launch(&self, id: u64, row: &StringRecord) -> Option<Launch> {
        let (grid_blocks, block_threads) = match self.sizes {
            Some(sizes) => (volume(row.get(sizes.grid)?)?, volume(row.get(sizes.block)?)?),
            None => (0, 0),
        };
        let mut launch = Launch {
            id,
            name: row.get(self.kernel).filter(|name| !name.trim().is_empty())?.to_owned(),
            launcher: self.launcher.map(|at| at.and_then(|at| row.get(at)).unwrap_or_default().trim().to_owned()),
            grid_blocks,
            block_threads,
            device: self.device.and_then(|at| row.get(at)).and_then(|text| text.trim().parse().ok()).unwrap_or(0),
            compute_capability: self.capability.and_then(|at| row.get(at)).and_then(capability),
            ..Launch::default()
        };
        match &self.cells {
            Cells::Raw { counters, derived, device_name, units } => {
                let is_missing = |at: &usize| row.get(*at).is_some_and(is_not_got);
                launch.lacks_counters = derived.iter().chain(counters.iter().map(|(at, _)| at)).any(is_missing);
                launch.device_name = device_name.and_then(|at| row.get(at)).map(str::to_owned);
                let units = units.iter().flatten().map(String::as_str).chain(std::iter::repeat(""));
                for ((at, counter), unit) in counters.iter().zip(units) {
                    let known = launch.counters.get(*counter).is_some();
                    match row.get(*at).and_then(|text| value(text, unit, counters::kind(*counter))) {
                        // Of the metrics of tensor cores, and of all units that compute, the largest counts, of any other the first.
                        Some(value) if matches!(counter, Counter::TensorPipe | Counter::ArithmeticPipes) => {
                            launch.counters.raise(*counter, value);
                        }
                        Some(value) if !known => launch.counters.set(*counter, value),
                        _ => {}
                    }
                }
            }
            Cells::Details(details) => {
                launch.lacks_counters = details.read(row, &mut launch.counters)?;
                if self.sizes.is_none() {
                    details.read_sizes(row, &mut launch)?;
                }
            }
        }
        Some(launch)
    }
}

impl Launch {
    /// Whether a row of another number is about the same launch.
    pub(super) fn is_of(&self, next: &Self) -> bool {
        let of = |launch: &Self| (launch.id, launch.device);
        of(self) == of(next) && self.name == next.name && self.launcher == next.launcher
    }

    /// Takes what a further row says of it. Returns whether that is how long it took, which is known to be another time.
    #[must_use]
    pub(super) fn take(&mut self, next: &Self) -> bool {
        let durations = self.counters.get(Counter::Duration).zip(next.counters.get(Counter::Duration));
        let is_contradiction = durations.is_some_and(|(known, told)| known != told);
        self.counters.take(&next.counters);
        self.lacks_counters |= next.lacks_counters;
        // A row tells one of them, or both as every row does.
        self.grid_blocks = self.grid_blocks.max(next.grid_blocks);
        self.block_threads = self.block_threads.max(next.block_threads);
        is_contradiction
    }
}

impl Details {
    /// How large the launch is, where no column tells; `None` for a row that ends before its value.
    fn read_sizes(&self, row: &StringRecord, launch: &mut Launch) -> Option<()> {
        let size = match (row.get(self.section)?, row.get(self.name)?) {
            ("Launch Statistics", "Grid Size") => &mut launch.grid_blocks,
            ("Launch Statistics", "Block Size") => &mut launch.block_threads,
            _ => return Some(()),
        };
        *size = plain(row.get(self.value)?).filter(|size| (1.0..MAX_SIZE).contains(size))? as i64;
        Some(())
    }

    /// Whether the row is of a counter that was not got; `None` for one that ends before its value.
    fn read(&self, row: &StringRecord, counters: &mut Counters) -> Option<bool> {
        let cell = |at: Option<usize>| at.and_then(|at| row.get(at)).unwrap_or_default();
        let (section, name) = (row.get(self.section)?, row.get(self.name)?);
        let text = row.get(self.value)?;
        let counter = counters::of_row(section, name);
        if let Some(counter) = counter
            && let Some(value) = value(text, cell(Some(self.unit)), counters::kind(counter))
        {
            counters.set(counter, value);
        }
        let rule = RuleRow {
            name: cell(self.rule),
            description: cell(self.description),
            // Those that are for a part of the GPU are no gain of the kernel.
            estimate: plain(cell(self.estimate)).filter(|_| cell(self.estimate_kind) == "global"),
        };
        rule.read(counters);
        Some(counter.is_some() && is_not_got(text))
    }
}

/// What one of the profiler's own rules says.
struct RuleRow<'row> {
    name: &'row str,
    description: &'row str,
    /// Percent of the kernel's time.
    estimate: Option<f64>,
}

impl RuleRow<'_> {
    fn read(&self, counters: &mut Counters) {
        // The same rule speaks of local memory too, which is another matter.
        let is_of_local = self.name == "MemoryCacheAccessPattern" && !self.description.contains("for global ");
        // Uneven work of the caches and of memory leaves no SM idle.
        let is_of_memory =
            self.name == "WorkloadImbalance" && UNEVEN_MEMORY.iter().any(|part| self.description.contains(part));
        if let (Some((_, counter)), Some(percent), false) =
            (ESTIMATES.iter().find(|(known, _)| *known == self.name), self.estimate, is_of_local || is_of_memory)
        {
            counters.raise(*counter, (percent * 0.01).min(1.0));
        }
        if let Some((_, all, excess)) = EXCESSES.iter().find(|(known, _, _)| *known == self.name)
            && let Some((excess_count, all_count)) = excess_of(self.description)
        {
            counters.set(*all, all_count);
            counters.set(*excess, excess_count);
        }
        match self.name {
            "CPIStall" => self.read_stall(counters),
            "HighPipeUtilization" => self.read_pipe(counters),
            "SOLFPRoofline" => self.read_roofline(counters),
            "WorkloadImbalance" => self.read_imbalance(counters),
            _ => {}
        }
    }

    /// `spends 607.3 cycles being stalled waiting for … of the total average of 875.7 cycles between`.
    fn read_stall(&self, counters: &mut Counters) {
        let known = STALL_PHRASES.iter().find(|(phrase, _)| self.description.contains(phrase));
        let cycles = number_behind(self.description, " spends ");
        let total = number_behind(self.description, "of the total average of ");
        if let (Some((_, counter)), Some(cycles), Some(total)) = (known, cycles, total) {
            counters.raise(*counter, cycles);
            counters.set(Counter::WarpLatency, total);
        }
    }

    /// `One or more L2 Slices have a much higher number of active cycles than the average number of active cycles. Maximum
    /// instance value is 89.01% above the average`: what the average lacks, of the most. The estimate is that times the part of
    /// the time in which the average slice is active.
    fn read_imbalance(&self, counters: &mut Counters) {
        let lacking = self.description.split_once("Maximum instance value is ");
        let lacking = lacking.and_then(|(_, rest)| plain(rest.split('%').next()?)).map(|percent| percent * 0.01);
        let Some((lacking, estimate)) = lacking.filter(|lacking| (0.01..0.9999).contains(lacking)).zip(self.estimate)
        else {
            return;
        };
        if self.description.contains(L2_SLICES) {
            let mean = estimate * 0.01 / lacking;
            counters.set(Counter::SliceActive, mean.min(1.0));
            counters.set(Counter::BusiestSliceActive, (mean / (1.0 - lacking)).min(1.0));
        }
    }

    /// `FMA is the highest-utilized pipeline (76.3%) based on`; of that which several share, the one of them that does most:
    /// `Shared is the … It's dominated by its FP64 sub-pipeline`.
    fn read_pipe(&self, counters: &mut Counters) {
        let shared = self.description.strip_prefix(SHARED_PIPE).and_then(|rest| rest.split_once(OF_SHARED_PIPE));
        let named = shared.map_or(self.description, |(_, part)| part);
        let known = PIPES.iter().find(|(name, _)| named.starts_with(name));
        let share = self.description.split_once("is the highest-utilized pipeline (");
        let percent = share.and_then(|(_, rest)| plain(rest.split('%').next()?));
        if let (Some((_, counter)), Some(percent)) = (known, percent) {
            counters.raise(*counter, percent * 0.01);
            // Older versions count against the cycles in which an SM has a warp.
            if self.description.contains("based on elapsed cycles") && !counter.hands_on() {
                counters.raise(Counter::ArithmeticPipes, percent * 0.01);
            }
        }
    }

    /// `The ratio of peak float (FP32) to double (FP64) performance on this device is 64:1. The workload achieved 18% of …
    /// FP32 peak performance and 0% of its FP64 peak performance`, or `achieved  close to 0%`.
    fn read_roofline(&self, counters: &mut Counters) {
        let text = self.description;
        let percent_behind = |mark: &str| {
            let (_, rest) = text.split_once(mark)?;
            plain(rest.split('%').next()?.trim_start().trim_start_matches(ROUNDED))
        };
        let ratio = text.split_once(" on this device is ").and_then(|(_, rest)| plain(rest.split(':').next()?));
        for (counter, value) in [
            (Counter::Fp32ToFp64, ratio),
            (Counter::Fp32OfPeak, percent_behind(" achieved ").map(|percent| percent * 0.01)),
            (Counter::Fp64OfPeak, percent_behind(" peak performance and ").map(|percent| percent * 0.01)),
        ] {
            if let Some(value) = value {
                counters.set(counter, value);
            }
        }
    }
}

fn is_not_got(text: &str) -> bool {
    NOT_GOT.contains(&text.trim())
}

/// How many were too many, and of how many: `a total of 512 excessive sectors (40% of the total 1280 sectors)`.
fn excess_of(description: &str) -> Option<(f64, f64)> {
    let excess = number_behind(description, "a total of ")?;
    let all = number_behind(description, "of the total ")?;
    (description.contains(" excessive ") && excess <= all).then_some((excess, all))
}

/// The first word behind a mark, as a number.
fn number_behind(text: &str, mark: &str) -> Option<f64> {
    let (_, rest) = text.split_once(mark)?;
    plain(rest.split_whitespace().next()?)
}

/// `9.0` as 9 and 0.
fn capability(text: &str) -> Option<(i64, i64)> {
    let (major, minor) = text.trim().split_once('.')?;
    let number = |text: &str| text.parse::<i64>().ok().filter(|number| (0..1_000).contains(number));
    Some((number(major)?, number(minor)?))
}
