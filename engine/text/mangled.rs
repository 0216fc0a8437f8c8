//! Mangled names of C++ and what they stand for. They come from a stranger: a few bytes can stand for gigabytes of text, or for
//! more ways to read them than there is time.

use std::sync::Arc;

use cpp_demangle::{DemangleNodeType, DemangleOptions, DemangleWrite, ParseOptions, Symbol};
use foldhash::HashMap;

use crate::limits::MAX_DEMANGLED_NAME_COUNT;

/// Longer mangled names stay as they are: real ones are shorter, and what they stand for can be far longer.
const MAX_MANGLED_BYTES: usize = 4 << 10;
/// What one stands for is at most so many times as long; those of 977 kernels of public recordings reach 4.5.
const MAX_TIMES_THE_MANGLED: usize = 8;
/// And longer than that in any case.
const MIN_BOUND_BYTES: usize = 256;
/// Constructs in each other. Real names need about thirty.
const MAX_RECURSION_COUNT: u32 = 96;
/// The codes of `new`, `new[]`, `delete` and `delete[]`, and what the expressions that hold them begin with: template arguments,
/// `decltype`, array bounds, `noexcept`, vectors, integers of any width.
const NEW_AND_DELETE: [&str; 4] = ["nw", "na", "dl", "da"];
const EXPRESSIONS: [&str; 7] = ["X", "DT", "Dt", "A", "DO", "Dv", "DB"];
/// The code of a conversion, as operator or cast.
const CONVERSION: &str = "cv";
/// Names that may take more than that stay as they are. One of these takes about five nanoseconds.
const MAX_EFFORT: usize = 16 << 10;
/// The same of all names of one report together.
const MAX_EFFORT_OF_ALL: usize = 128 << 20;

/// Whether a name begins as mangled ones do.
fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z")
}

/// Reads the mangled names of one report, each once. Of a report of too many, the others stay as they are.
#[derive(Debug, Default)]
pub struct Demangler {
    /// What names that were tried stand for; `None` for those that nobody can read.
    known: HashMap<Arc<str>, Option<Arc<str>>>,
    effort: usize,
}

impl Demangler {
    /// The C++ name that a mangled one stands for; `None` where it stays as it is.
    pub fn read(&mut self, name: &Arc<str>) -> Option<Arc<str>> {
        if !is_mangled(name) {
            return None;
        }
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        if self.known.len() >= MAX_DEMANGLED_NAME_COUNT || self.effort > MAX_EFFORT_OF_ALL {
            return None;
        }
        self.effort += effort(name).min(MAX_EFFORT);
        let read: Option<Arc<str>> = demangled(name).map(Arc::from);
        self.known.insert(Arc::clone(name), read.clone());
        read
    }
}

/// The C++ name that a mangled one stands for; `None` for any other name.
fn demangled(name: &str) -> Option<String> {
    if !is_mangled(name) || name.len() > MAX_MANGLED_BYTES || effort(name) > MAX_EFFORT {
        return None;
    }
    let bounds = ParseOptions::default().recursion_limit(MAX_RECURSION_COUNT);
    let symbol = Symbol::new_with_options(name, &bounds).ok()?;
    let mut text = Bounded { text: String::new(), max_bytes: MIN_BOUND_BYTES + MAX_TIMES_THE_MANGLED * name.len() };
    let options = DemangleOptions::default().recursion_limit(MAX_RECURSION_COUNT);
    // What did not fit is missed at the end, where types of parameters stand.
    let outcome = symbol.structured_demangle(&mut text, &options);
    (outcome.is_ok() || text.is_full()).then_some(text.text).filter(|text| !text.is_empty())
}

/// The bytes that the parser may look at. It tries several ways to read `new` and `delete` expressions, conversions, and
/// template arguments within a conversion, and the ways multiply: 67 bytes take it longer than anybody waits. A count of letters
/// that may as well stand in identifiers is enough. No other construct was found that multiplies.
fn effort(name: &str) -> usize {
    let count = |code: &str| name.matches(code).count();
    let mut doublings = 0;
    if EXPRESSIONS.iter().any(|code| name.contains(code)) {
        doublings += NEW_AND_DELETE.iter().map(|code| count(code)).sum::<usize>();
    }
    // After a digit an identifier begins, as that of OpenCV.
    let begins_identifier = |at: usize| at > 0 && name.as_bytes()[at - 1].is_ascii_digit();
    let conversions = name.match_indices(CONVERSION).filter(|(at, _)| !begins_identifier(*at)).count();
    if conversions > 0 {
        doublings += conversions + count("I");
    }
    let ways = u32::try_from(doublings).ok().and_then(|count| 1_usize.checked_shl(count)).unwrap_or(usize::MAX);
    ways.saturating_mul(name.len())
}

/// Text up to a length.
struct Bounded {
    text: String,
    max_bytes: usize,
}

impl Bounded {
    fn is_full(&self) -> bool {
        self.text.len() >= self.max_bytes
    }
}

impl DemangleWrite for Bounded {
    fn push_demangle_node(&mut self, _: DemangleNodeType) {}

    fn write_string(&mut self, text: &str) -> std::fmt::Result {
        if self.is_full() {
            return Err(std::fmt::Error);
        }
        self.text.push_str(super::cut::to_bytes(text, self.max_bytes));
        Ok(())
    }

    fn pop_demangle_node(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::kernel_names::called;

    #[test]
    fn mangled_names_are_read() {
        let of = |name: &str| demangled(name).map(|name| called(&name));
        assert_eq!(of("_Z6vecAddPKfS0_Pfi").as_deref(), Some("vecAdd"));
        assert_eq!(
            of("_ZN7cutlass7Kernel2I22cutlass_80_wmma_gemm_aEEvNT_6ParamsE").as_deref(),
            Some("cutlass_80_wmma_gemm_a")
        );
        assert_eq!(of("vecAdd"), None);
        assert_eq!(of("_Z"), None);
        assert_eq!(of(&format!("_ZcvDT{}_", "nw".repeat(30))), None);
        assert_eq!(of(&format!("_Z1fIX{}E", "nadlT_".repeat(30))), None);
        assert_eq!(of(&format!("_ZcvDT{}{}", "nw".repeat(6), "T_".repeat(1_990))), None);
        for explosive in ["T_I", "S_I", "cvS_I", "cvT_I"] {
            assert_eq!(of(&format!("_Zcv{}", explosive.repeat(30))), None);
            assert_eq!(of(&format!("_ZN1acv{}i{}Ev", explosive.repeat(26), "E".repeat(26))), None);
        }
        assert_eq!(of("_ZN2cv4cuda6device6resizeINS1_6PtrStpIfEEEEvT_").as_deref(), Some("resize"));
        // Each `S_` stands for all before it.
        let explosive = format!("_Z1f1aI{}E", "S_IS_".repeat(400));
        assert!(of(&explosive).is_none_or(|name| name.len() <= 16 << 10));
    }

    #[test]
    fn names_are_read_once_and_only_so_many() {
        let mut demangler = Demangler::default();
        let name = |index: usize| Arc::from(format!("_ZN1acvT_IiEEv{}", "i".repeat(index)));
        for index in 0..MAX_DEMANGLED_NAME_COUNT {
            demangler.read(&name(index % 900));
        }
        assert_eq!(demangler.known.len(), 900);
        assert_eq!(demangler.read(&Arc::from("vecAdd")), None);
        let spent = Demangler { effort: MAX_EFFORT_OF_ALL + 1, ..Demangler::default() };
        for mut spent in [spent, Demangler { known: every_name(), effort: 0 }] {
            assert_eq!(spent.read(&Arc::from("_Z6vecAddPKfS0_Pfi")), None);
        }
    }

    fn every_name() -> HashMap<Arc<str>, Option<Arc<str>>> {
        (0..MAX_DEMANGLED_NAME_COUNT).map(|index| (Arc::from(format!("_Z{index}")), None)).collect()
    }
}
