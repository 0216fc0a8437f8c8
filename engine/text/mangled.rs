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
/// The codes of `new`, `new[]`, `delete`, `delete[]` and conversions: the parser tries several ways to read what follows each, and
/// the ways multiply.
const MULTIPLYING: [&str; 5] = ["nw", "na", "dl", "da", CONVERSION];
/// The code of a conversion, within which template arguments multiply as well.
const CONVERSION: &str = "cv";
/// Names that may take more than that stay as they are. One of these takes about five nanoseconds.
const MAX_EFFORT: usize = 16 << 10;
/// The same of all names of one report together.
const MAX_EFFORT_OF_ALL: usize = 128 << 20;
/// Bytes of all that the names of one report stand for.
const MAX_DEMANGLED_BYTES: usize = 32 << 20;

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
    byte_count: usize,
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
        let is_spent = self.effort > MAX_EFFORT_OF_ALL || self.byte_count > MAX_DEMANGLED_BYTES;
        if is_spent || self.known.len() >= MAX_DEMANGLED_NAME_COUNT || name.len() > MAX_MANGLED_BYTES {
            return None;
        }
        let harmless = Harmless::new(name);
        self.effort += harmless.effort().min(MAX_EFFORT);
        let read: Option<Arc<str>> = harmless.demangled().map(Arc::from);
        self.byte_count += read.as_ref().map_or(0, |read| read.len());
        self.known.insert(Arc::clone(name), read.clone());
        read
    }
}

/// A mangled name whose identifiers hold no code that multiplies: those that do have it in capitals. What is no identifier, though
/// a number before it looks like its length, is no code then either, and the parser takes the name as it is, or refuses it.
struct Harmless {
    name: String,
    /// The identifiers, by what they are now.
    identifiers: HashMap<String, String>,
    is_ambiguous: bool,
}

impl Harmless {
    fn new(name: &str) -> Self {
        let changed = String::with_capacity(name.len());
        let mut harmless = Self { name: changed, identifiers: HashMap::default(), is_ambiguous: false };
        let mut rest = name;
        while let Some(digit) = rest.find(|c: char| c.is_ascii_digit()) {
            let digits = rest[digit..].len() - rest[digit..].trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, after) = rest.split_at(digit + digits);
            let length = number[digit..].parse().ok().filter(|length| after.is_char_boundary(*length));
            // The value of a literal is no length, nor is the number of a substitution or a template parameter.
            let is_reference = number[..digit].ends_with(['S', 'T']) && after.starts_with('_');
            let is_length = !is_literal(&number[..digit]) && !is_reference;
            let identifier = length.filter(|_| is_length).map_or("", |length| &after[..length]);
            harmless.name.push_str(number);
            harmless.push_identifier(identifier);
            rest = &after[identifier.len()..];
        }
        harmless.name.push_str(rest);
        harmless
    }

    fn push_identifier(&mut self, identifier: &str) {
        let mut changed = identifier.to_owned();
        for code in MULTIPLYING.into_iter().filter(|code| identifier.contains(code)) {
            changed = changed.replace(code, &(code[..1].to_owned() + &code[1..].to_ascii_uppercase()));
        }
        self.name.push_str(&changed);
        // Of two that come out alike nobody could tell which is meant.
        let known = self.identifiers.insert(changed, identifier.to_owned());
        self.is_ambiguous |= known.is_some_and(|known| known != identifier);
    }

    /// The bytes that the parser may look at. Besides these codes no construct was found that multiplies.
    fn effort(&self) -> usize {
        let count = |code: &str| self.name.matches(code).count();
        let codes: usize = MULTIPLYING.iter().map(|code| count(code)).sum();
        let doublings = if count(CONVERSION) > 0 { codes + count("I") } else { codes };
        let ways = u32::try_from(doublings).ok().and_then(|count| 1_usize.checked_shl(count)).unwrap_or(usize::MAX);
        ways.saturating_mul(self.name.len())
    }

    /// The C++ name that it stands for; `None` where nobody can read it.
    fn demangled(&self) -> Option<String> {
        if self.is_ambiguous || self.effort() > MAX_EFFORT {
            return None;
        }
        let bounds = ParseOptions::default().recursion_limit(MAX_RECURSION_COUNT);
        let symbol = Symbol::new_with_options(&self.name, &bounds).ok()?;
        let max_bytes = MIN_BOUND_BYTES + MAX_TIMES_THE_MANGLED * self.name.len();
        let mut text = Bounded { text: String::new(), max_bytes };
        let options = DemangleOptions::default().recursion_limit(MAX_RECURSION_COUNT);
        // What did not fit is missed at the end, where types of parameters stand.
        let outcome = symbol.structured_demangle(&mut text, &options);
        let text = (outcome.is_ok() || text.is_full()).then_some(text.text).filter(|text| !text.is_empty())?;
        Some(self.with_identifiers(&text))
    }

    /// A text with the identifiers as they were.
    fn with_identifiers(&self, text: &str) -> String {
        let is_end = |c: char| !(c.is_alphanumeric() || c == '_' || c == '$');
        let words = text.split_inclusive(is_end).map(|word| {
            let identifier = word.trim_end_matches(is_end);
            let end = &word[identifier.len()..];
            self.identifiers.get(identifier).map_or(identifier, String::as_str).to_owned() + end
        });
        words.collect()
    }
}

/// Whether a literal of a built-in type ends here, but for its value: `Li`.
fn is_literal(before: &str) -> bool {
    let mut last = before.bytes().rev().skip_while(|byte| *byte == b'n');
    last.next().is_some_and(|byte| byte.is_ascii_lowercase()) && last.next() == Some(b'L')
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
        let of = |name: &str| Demangler::default().read(&Arc::from(name)).map(|name| called(&name));
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
            for begin in ["_ZN1acv", "_ZN2a1cv", "_ZN1aC1cv", "_ZN1aLi99cv", "_Z99cv"] {
                assert_eq!(of(&format!("{begin}{}i{}Ev", explosive.repeat(26), "E".repeat(26))), None);
            }
        }
        for explosive in ["nw", "dl", "na", "da"] {
            for begin in ["_Z1fDU", "_Z1fDB", "_ZcvDU", "_Z1fA90", "_Z1fLi90"] {
                assert_eq!(of(&format!("{begin}{}", explosive.repeat(45))), None);
            }
        }
        assert_eq!(of("_Z5naivedl").as_deref(), Some("naive"));
        assert_eq!(of("_Z3fooP1AP1BP1CP1DS3_dl").as_deref(), Some("foo"));
        assert_eq!(of("_ZN12_GLOBAL__N_16cudaftEv").as_deref(), Some("cudaft"));
        assert_eq!(of("_ZN5nwfoo5nWfooEv"), None);
        let mut demangler = Demangler::default();
        let whole = demangler.read(&Arc::from("_ZN4cuda10data_finalILi128ENS_5daemoEEEvdl"));
        assert_eq!(whole.as_deref(), Some("void cuda::data_final<128, cuda::daemo>(double, long)"));
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
        let tired = Demangler { effort: MAX_EFFORT_OF_ALL + 1, ..Demangler::default() };
        let full = Demangler { byte_count: MAX_DEMANGLED_BYTES + 1, ..Demangler::default() };
        for mut spent in [tired, full, Demangler { known: every_name(), ..Demangler::default() }] {
            assert_eq!(spent.read(&Arc::from("_Z6vecAddPKfS0_Pfi")), None);
        }
    }

    fn every_name() -> HashMap<Arc<str>, Option<Arc<str>>> {
        (0..MAX_DEMANGLED_NAME_COUNT).map(|index| (Arc::from(format!("_Z{index}")), None)).collect()
    }
}
