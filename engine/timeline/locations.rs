//! Where in the program's code API calls were made, as far as their call stacks tell.

use foldhash::HashMap;

/// A line of the program's own code. The name of the file is hostile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLocation {
    /// The file: relative to the project's folder where it lies in it, else its name without folders, which are private.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// Whether the file lies in the project's folder.
    pub is_in_project: bool,
}

/// The source locations of a timeline's API calls; empty for a recording without call stacks.
#[derive(Debug, Default)]
pub struct CallLocations {
    list: Vec<SourceLocation>,
    of_call: HashMap<u32, u32>,
}

impl CallLocations {
    /// Locations, and by the index of an API call the index of the one that it was made at.
    pub(crate) const fn new(list: Vec<SourceLocation>, of_call: HashMap<u32, u32>) -> Self {
        Self { list, of_call }
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
