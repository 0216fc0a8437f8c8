//! What is wrong with files that users write: every fault, with its file and line.

use std::fmt;
use std::ops::Range;

use crate::limits::MAX_FAULT_COUNT;

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// All that is wrong with a set of files; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// An error when there are faults.
    pub(crate) fn check(mut faults: Vec<Fault>) -> Result<(), Self> {
        if faults.is_empty() {
            return Ok(());
        }
        faults.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        Err(Self(faults))
    }

    /// A single fault.
    pub(crate) fn one(fault: Fault) -> Self {
        Self(vec![fault])
    }

    /// The faults, by file and line.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks: Vec<_> = self.0.iter().map(Fault::to_string).collect();
        out.write_str(&blocks.join("\n"))
    }
}

impl std::error::Error for Faults {}

/// Collects the faults of one file.
#[derive(Debug)]
pub(crate) struct Log<'a> {
    pub(crate) file: &'a str,
    pub(crate) source: &'a str,
    pub(crate) faults: Vec<Fault>,
    /// Where lines end.
    ends: Vec<usize>,
    /// How many faults were noted, those that had been noted before among them.
    noted_count: usize,
}

/// The same fault is looked for so often.
const MAX_NOTED_COUNT: usize = 2 * MAX_FAULT_COUNT;

impl<'a> Log<'a> {
    pub(crate) fn new(file: &'a str, source: &'a str) -> Self {
        let ends = memchr::memchr_iter(b'\n', source.as_bytes()).collect();
        Self { file, source, faults: Vec::new(), ends, noted_count: 0 }
    }

    /// The line of a span of the file, from 1.
    pub(crate) fn line(&self, span: &Range<usize>) -> usize {
        self.ends.partition_point(|end| *end < span.start) + 1
    }

    /// Whether no further fault is noted: looking for one would be in vain.
    pub(crate) const fn is_full(&self) -> bool {
        self.faults.len() >= MAX_FAULT_COUNT || self.noted_count >= MAX_NOTED_COUNT
    }

    /// Notes a fault; those beyond the first ones are as good as said.
    pub(crate) fn at(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.at_with(span, || message.into());
    }

    /// The same of a message that takes long to make: it is made only where it is noted.
    pub(crate) fn at_with(&mut self, span: Range<usize>, message: impl FnOnce() -> String) {
        if self.is_full() {
            return;
        }
        self.noted_count += 1;
        let fault = Fault { file: self.file.to_owned(), line: self.line(&span), message: message() };
        // Two expressions on one line may be wrong in the same way: once is enough.
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_makes_no_message() {
        let mut log = Log::new("a", "");
        let mut made = 0;
        for number in 0..2 * MAX_FAULT_COUNT {
            log.at_with(0..0, || {
                made += 1;
                number.to_string()
            });
        }
        assert_eq!((made, log.faults.len()), (MAX_FAULT_COUNT, MAX_FAULT_COUNT));
    }
}
