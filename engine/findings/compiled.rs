//! What is said of compiling outside of the work of all devices.

use crate::facts::Entity;
use crate::text::spans::Sentence;

/// Whether what is told as a call is what compiles.
pub(super) fn is_compiling(device: &Entity, call: &str) -> bool {
    device.text("outside_compile_evidence") == Some(call)
}

/// Compiling, by whom or by what gives it away.
pub(super) fn compiling(device: &Entity, evidence: &str) -> Sentence {
    let words = Sentence::default();
    match device.text("outside_compile_by") {
        Some("ptx") => words.own("compiling PTX, of code that was not built for this GPU"),
        Some("nvrtc") => words.own("compiling by NVRTC"),
        Some("numba") => words.own("compiling by Numba"),
        Some("julia") => words.own("compiling by Julia"),
        Some("xla") => words.own("compiling by XLA"),
        Some("triton") => words.own("compiling by Triton"),
        _ => words.own("compiling (").code(evidence).own(")"),
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::{EntityKind, Facts};
    use crate::findings::outside::{outside, outside_first};

    #[test]
    fn compiling_is_told_as_such() {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "", &[]);
        facts.get_mut(run).set("duration_ns", 10_000_000_000_i64);
        let device = facts.add(EntityKind::Device, "gpu0", &[run]);
        let own = facts.get_mut(device);
        own.set("outside_before_ns", 6_000_000_000_i64);
        own.set("outside_after_ns", 3_000_000_000_i64);
        own.set("outside_call", "cudaMalloc");
        own.set("outside_call_ns", 900_000_000_i64);
        own.set("outside_compile_ns", 1_200_000_000_i64);
        own.set("outside_compile_evidence", "libnvidia-ptxjitcompiler.so.1");
        own.set("outside_compile_by", "ptx");
        let told = |facts: &Facts| outside(facts, device).map_or_else(String::new, |words| words.plain());
        let first =
            |facts: &Facts| outside_first(facts, device, None, true).map_or_else(String::new, |words| words.plain());
        let ptx = "1.2 s in compiling PTX, of code that was not built for this GPU";
        assert!(told(&facts).ends_with(&format!(": 900 ms in cudaMalloc, {ptx}.")), "{}", told(&facts));
        assert!(first(&facts).ends_with("900 ms of it in cudaMalloc. "));
        let own = facts.get_mut(device);
        own.set("outside_call", "libnvidia-ptxjitcompiler.so.1");
        own.set("outside_call_ns", 1_200_000_000_i64);
        assert!(told(&facts).ends_with(&format!(" there: {ptx}.")), "{}", told(&facts));
        assert!(first(&facts).ends_with("1.2 s of it in compiling PTX, of code that was not built for this GPU. "));
        facts.get_mut(device).set("outside_compile_by", "other");
        assert!(told(&facts).ends_with(" there: 1.2 s in compiling (libnvidia-ptxjitcompiler.so.1)."));
        facts.get_mut(device).set("outside_before_ns", 6_100_000_000_i64);
        facts.get_mut(device).set("outside_compile_ns", 900_000_000_i64);
        assert!(told(&facts).contains("900 ms in compiling"), "as long as the work: {}", told(&facts));
        facts.get_mut(device).set("outside_compile_ns", 899_999_999_i64);
        assert!(!told(&facts).contains("compiling"));
    }
}
