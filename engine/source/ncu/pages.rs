//! The two pages that a report is printed as: `raw` has a row a launch, `details` a row a number.

use std::collections::HashMap;

use csv::StringRecord;

use super::counters::{self, ESTIMATES, EXCESSES};
use super::number::{plain, value, volume};
use crate::timeline::{Counter, Counters};

/// What stands where in a row.
#[derive(Debug)]
pub(super) struct Columns {
    id: usize,
    kernel: usize,
    block: usize,
    grid: usize,
    device: Option<usize>,
    capability: Option<usize>,
    page: Page,
}

#[derive(Debug)]
enum Page {
    Raw {
        counters: Vec<(usize, Counter)>,
        device_name: Option<usize>,
        /// The units of all columns, once their row was read.
        units: Vec<String>,
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
    pub(super) device: i64,
    pub(super) compute_capability: Option<(i64, i64)>,
    pub(super) device_name: Option<String>,
    pub(super) grid_blocks: i64,
    pub(super) block_threads: i64,
    pub(super) counters: Counters,
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
}

impl Columns {
    /// From a header; `None` for one of another page.
    pub(super) fn new(header: &StringRecord) -> Option<Self> {
        let mut at: HashMap<&str, usize> = HashMap::new();
        for (index, name) in header.iter().enumerate() {
            at.entry(name.trim()).or_insert(index);
        }
        let find = |name: &str| at.get(name).copied();
        let page = match (find("Section Name"), find("Metric Name"), find("Metric Unit"), find("Metric Value")) {
            (Some(section), Some(name), Some(unit), Some(value)) => Page::Details(Details {
                section,
                name,
                unit,
                value,
                rule: find("Rule Name"),
                description: find("Rule Description"),
                estimate_kind: find("Estimated Speedup Type"),
                estimate: find("Estimated Speedup"),
            }),
            _ => Page::Raw {
                // Each row is asked for each of them: a name that stands in the header again is not.
                counters: header
                    .iter()
                    .enumerate()
                    .filter(|(index, name)| find(name.trim()) == Some(*index))
                    .filter_map(|(index, name)| Some((index, counters::of_metric(name.trim())?)))
                    .collect(),
                device_name: find("device__attribute_display_name"),
                units: Vec::new(),
            },
        };
        Some(Self {
            id: find("ID")?,
            kernel: find("Kernel Name")?,
            block: find("Block Size")?,
            grid: find("Grid Size")?,
            device: find("Device"),
            capability: find("CC"),
            page,
        })
    }

    /// Reads a row.
    pub(super) fn read(&mut self, row: &StringRecord) -> Row {
        let id = row.get(self.id).unwrap_or_default().trim();
        let Ok(id) = id.parse::<u64>() else {
            if let Page::Raw { units, .. } = &mut self.page
                && id.is_empty()
                && units.is_empty()
                && row.len() > self.grid
            {
                *units = row.iter().map(str::to_owned).collect();
            }
            return Row::Other;
        };
        self.launch(id, row).map_or(Row::Broken, |launch| Row::Launch(Box::new(launch)))
    }

    fn launch(&self, id: u64, row: &StringRecord) -> Option<Launch> {
        let mut launch = Launch {
            id,
            name: row.get(self.kernel).filter(|name| !name.trim().is_empty())?.to_owned(),
            grid_blocks: volume(row.get(self.grid)?)?,
            block_threads: volume(row.get(self.block)?)?,
            device: self.device.and_then(|at| row.get(at)).and_then(|text| text.trim().parse().ok()).unwrap_or(0),
            compute_capability: self.capability.and_then(|at| row.get(at)).and_then(capability),
            ..Launch::default()
        };
        match &self.page {
            Page::Raw { counters, device_name, units } => {
                launch.device_name = device_name.and_then(|at| row.get(at)).map(str::to_owned);
                for (at, counter) in counters {
                    let unit = units.get(*at).map_or("", String::as_str);
                    let known = launch.counters.get(*counter).is_some();
                    if let Some(value) = row.get(*at).and_then(|text| value(text, unit)).filter(|_| !known) {
                        launch.counters.set(*counter, value);
                    }
                }
            }
            Page::Details(details) => details.read(row, &mut launch.counters)?,
        }
        Some(launch)
    }
}

impl Details {
    /// `None` for a row that ends before its value.
    fn read(&self, row: &StringRecord, counters: &mut Counters) -> Option<()> {
        let cell = |at: Option<usize>| at.and_then(|at| row.get(at)).unwrap_or_default();
        let (section, name) = (row.get(self.section)?, row.get(self.name)?);
        let text = row.get(self.value)?;
        if let Some(counter) = counters::of_row(section, name)
            && let Some(value) = value(text, cell(Some(self.unit)))
        {
            counters.set(counter, value);
        }
        let (rule, description) = (cell(self.rule), cell(self.description));
        let estimate = plain(cell(self.estimate)).filter(|_| cell(self.estimate_kind) == "global");
        // The same rule speaks of local memory too, which is another matter.
        let is_of_local = rule == "MemoryCacheAccessPattern" && !description.contains("for global ");
        if let (Some((_, counter)), Some(percent), false) =
            (ESTIMATES.iter().find(|(known, _)| *known == rule), estimate, is_of_local)
        {
            counters.raise(*counter, (percent * 0.01).min(1.0));
        }
        if let Some((_, all, excess)) = EXCESSES.iter().find(|(known, _, _)| *known == rule)
            && let Some((excess_count, all_count)) = excess_of(description)
        {
            counters.set(*all, all_count);
            counters.set(*excess, excess_count);
        }
        Some(())
    }
}

/// How many were too many, and of how many: `a total of 512 excessive sectors (40% of the total 1280 sectors)`.
fn excess_of(description: &str) -> Option<(f64, f64)> {
    let number_behind = |mark: &str| {
        let (_, rest) = description.split_once(mark)?;
        plain(rest.split_whitespace().next()?)
    };
    let (excess, all) = (number_behind("a total of ")?, number_behind("of the total ")?);
    (description.contains(" excessive ") && excess <= all).then_some((excess, all))
}

/// `9.0` as 9 and 0.
fn capability(text: &str) -> Option<(i64, i64)> {
    let (major, minor) = text.trim().split_once('.')?;
    let number = |text: &str| text.parse::<i64>().ok().filter(|number| (0..1_000).contains(number));
    Some((number(major)?, number(minor)?))
}
