//! Where in the program's code API calls were made, as far as their call stacks tell.

use rustc_hash::FxHashMap;

/// A line of the program's own code. The name of the file is hostile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodePlace {
    /// The file: relative to the project's folder where it lies in it, else its name without folders, which are private.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// Whether the file lies in the project's folder.
    pub is_in_project: bool,
}

/// The places of a timeline's API calls; empty for a report without call stacks.
#[derive(Debug, Default)]
pub struct CodePlaces {
    list: Vec<CodePlace>,
    of_call: FxHashMap<u32, u32>,
}

impl CodePlaces {
    /// Places, and by the place of an API call which of them it was made at.
    pub(crate) fn new(list: Vec<CodePlace>, of_call: FxHashMap<u32, u32>) -> Self {
        Self { list, of_call }
    }

    /// Whether no call has a place.
    pub fn is_empty(&self) -> bool {
        self.of_call.is_empty()
    }

    /// The number of the place at which an API call was made, if its stack tells.
    pub fn of_call(&self, call: u32) -> Option<u32> {
        self.of_call.get(&call).copied()
    }

    /// The place of that number.
    pub fn get(&self, place: u32) -> Option<&CodePlace> {
        self.list.get(place as usize)
    }
}
