//! Where in the program's code API calls were made, and threads were, as far as call stacks tell.

use std::fmt;

use foldhash::HashMap;

use super::ThreadRanges;
use super::open::Open;
use crate::limits::MAX_CALL_PLACE_COUNT;

/// A line of the program's own code, or a function where stacks name no lines. The names are hostile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLocation {
    /// The file: relative to the project's folder where it lies in it, else its name without folders, which are private.
    /// Without a line it is the program or the library that holds the function.
    pub file: String,
    /// The line, counted from 1; absent where stacks name functions only.
    pub line: Option<u32>,
    /// The function, where the stack names it.
    pub function: Option<String>,
    /// Whether the file lies in the project's folder.
    pub is_in_project: bool,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, &self.function) {
            (Some(line), Some(function)) => write!(f, "{}:{line} ({function})", self.file),
            (Some(line), None) => write!(f, "{}:{line}", self.file),
            (None, Some(function)) => write!(f, "{function} ({})", self.file),
            (None, None) => f.write_str(&self.file),
        }
    }
}

/// The source locations of a timeline's API calls; empty for a recording without call stacks.
#[derive(Debug, Default)]
pub struct CallLocations {
    list: Vec<SourceLocation>,
    of_call: HashMap<u32, u32>,
    /// In the order of the indices of the threads.
    threads: Vec<ThreadRanges>,
}

impl CallLocations {
    /// Locations, and by the index of an API call the index of the one that it was made at.
    pub(crate) const fn new(list: Vec<SourceLocation>, of_call: HashMap<u32, u32>) -> Self {
        Self { list, of_call, threads: Vec::new() }
    }

    /// The same, with when each thread was in the program's own code: the label of a range is the index of a location. Ranges
    /// of one thread are in order, those of an inner function behind those of the outer one.
    pub(crate) fn with_threads(self, mut threads: Vec<ThreadRanges>) -> Self {
        threads.sort_by_key(|ranges| ranges.thread);
        Self { threads, ..self }
    }

    /// The first places, as many as each of so many devices may tell apart: calls at further ones, and threads there, are nowhere that
    /// is known. Returns how many places are left out.
    pub(crate) fn bound(&mut self, device_count: usize) -> u64 {
        let most = MAX_CALL_PLACE_COUNT / device_count.max(1);
        let Some(beyond) = self.list.len().checked_sub(most).filter(|beyond| *beyond > 0) else { return 0 };
        let is_told = |place: u32| (place as usize) < most;
        self.list.truncate(most);
        self.of_call.retain(|_, place| is_told(*place));
        for ranges in &mut self.threads {
            let told = ranges.times.iter().zip(&ranges.label).filter(|(_, place)| is_told(**place));
            let (times, label) = told.map(|(times, place)| (times, *place)).unzip();
            (ranges.times, ranges.label) = (times, label);
        }
        beyond as u64
    }

    pub(super) fn threads_mut(&mut self) -> impl Iterator<Item = &mut ThreadRanges> {
        self.threads.iter_mut()
    }

    /// When a thread was where in the program's own code; `None` where its stacks were not recorded.
    pub fn of_thread(&self, thread: u32) -> Option<&ThreadRanges> {
        let index = self.threads.binary_search_by_key(&thread, |ranges| ranges.thread).ok()?;
        self.threads.get(index)
    }

    /// Whether no call has a location.
    pub fn is_empty(&self) -> bool {
        self.of_call.is_empty()
    }

    /// The index of the location at which an API call was made, if its stack tells.
    pub fn of_call(&self, call: u32) -> Option<u32> {
        self.of_call.get(&call).copied()
    }

    /// The location at that index.
    pub fn get(&self, index: u32) -> Option<&SourceLocation> {
        self.list.get(index as usize)
    }
}

/// Goes along a thread, and tells where in the program's own code it is.
#[derive(Debug)]
pub struct LocationCursor<'all> {
    ranges: &'all ThreadRanges,
    next: usize,
    /// The locations that are open.
    open: Open<u32>,
    most_open: usize,
}

impl<'all> LocationCursor<'all> {
    /// At the beginning of a thread's ranges, of which so many may be open at once.
    pub const fn new(ranges: &'all ThreadRanges, most_open: usize) -> Self {
        Self { ranges, next: 0, open: Open::new(), most_open }
    }

    /// The innermost location at a moment; moments come in order.
    pub fn at(&mut self, moment: i64) -> Option<u32> {
        while self.open.pop_ended(moment).is_some() {}
        while let Some(range) = self.ranges.times.get(self.next).filter(|range| range.start <= moment) {
            let location = self.ranges.label.get(self.next).copied();
            self.next += 1;
            if let Some(location) = location.filter(|_| range.end > moment && self.open.len() < self.most_open) {
                self.open.push(range.end, location);
            }
        }
        self.open.last().copied()
    }

    /// Until when it stays so.
    pub fn until(&self) -> i64 {
        let next = self.ranges.times.get(self.next).map_or(i64::MAX, |range| range.start);
        next.min(self.open.first_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::interval::Interval;

    #[test]
    fn the_innermost_location_counts_until_it_is_left() {
        let times = [(0, 100), (10, 50), (20, 30)].map(|(start, end)| Interval::new(start, end));
        let ranges = ThreadRanges { thread: 0, times: times.into_iter().collect(), label: vec![7, 8, 9] };
        let mut cursor = LocationCursor::new(&ranges, 10);
        let told = [0, 10, 29, 30, 50, 99, 100].map(|moment| (cursor.at(moment), cursor.until()));
        let expected = [
            (Some(7), 10),
            (Some(8), 20),
            (Some(9), 30),
            (Some(8), 50),
            (Some(7), 100),
            (Some(7), 100),
            (None, i64::MAX),
        ];
        assert_eq!(told, expected);
    }
}
