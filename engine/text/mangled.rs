//! Mangled names of C++ and what they stand for. They come from a stranger: a few bytes can stand for gigabytes of text, or for
//! more ways to read them than there is time.

use cpp_demangle::{DemangleNodeType, DemangleOptions, DemangleWrite, ParseOptions, Symbol};

/// Longer mangled names stay as they are: real ones are shorter, and what they stand for can be far longer.
const MAX_MANGLED_BYTES: usize = 4 << 10;
/// What one stands for is at most so many times as long; those of 977 kernels of public recordings reach 4.5.
const MAX_TIMES_THE_MANGLED: usize = 8;
/// And longer than that in any case.
const MIN_BOUND_BYTES: usize = 256;
/// Constructs in each other. Real names need about thirty.
const MAX_RECURSION_COUNT: u32 = 96;
/// The codes of `new`, `new[]`, `delete` and `delete[]`.
const NEW_AND_DELETE: [&str; 4] = ["nw", "na", "dl", "da"];
/// Each doubles the ways to read what follows: the bytes of the name, so many times doubled, may be no more than this.
const MAX_WAYS_TIMES_BYTES: usize = 16 << 10;
/// What expressions begin with: template arguments, `decltype`, array bounds, `noexcept`, vectors, integers of any width.
const EXPRESSIONS: [&str; 7] = ["X", "DT", "Dt", "A", "DO", "Dv", "DB"];

/// Whether a name begins as mangled ones do.
pub fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z")
}

/// The C++ name that a mangled one stands for; `None` for any other name.
pub fn demangled(name: &str) -> Option<String> {
    if !is_mangled(name) || name.len() > MAX_MANGLED_BYTES || may_explode(name) {
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

/// Whether a name may hold many `new` and `delete` expressions in each other. The parser tries several ways to read each, and the
/// ways multiply: 67 bytes take it longer than anybody waits. A count of letters that may as well stand in identifiers is enough. No other construct was found that multiplies.
fn may_explode(name: &str) -> bool {
    let count = NEW_AND_DELETE.iter().map(|code| name.matches(code).count()).sum::<usize>();
    let ways = 1_usize.checked_shl(u32::try_from(count).unwrap_or(u32::MAX)).unwrap_or(usize::MAX);
    ways.saturating_mul(name.len()) > MAX_WAYS_TIMES_BYTES && EXPRESSIONS.iter().any(|code| name.contains(code))
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
        // Each `S_` stands for all before it.
        let explosive = format!("_Z1f1aI{}E", "S_IS_".repeat(400));
        assert!(of(&explosive).is_none_or(|name| name.len() <= 16 << 10));
    }
}
