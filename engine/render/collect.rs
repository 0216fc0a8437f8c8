//! What to record next, as text and as JSON.

use serde_json::{Value, json};

use crate::findings::{Collected, Collection};
use crate::source::Language;
use crate::text::number::percent;
use crate::text::{cut, escape};

/// The version of the JSON.
const SCHEMA: &str = "coldspot-collect-1";
/// Bytes of a kernel's name that are shown.
const NAME_BYTES: usize = 80;
/// Rules that are named.
const NAMED_RULES: usize = 6;

/// As text, to be copied from.
pub fn collect_text(collection: &Collection) -> String {
    let mut out = String::new();
    if collection.parts.is_empty() {
        out.push_str("Nothing is missing: what rules ask for was recorded, and no kernel of the program's own takes much of the time.\n");
    } else {
        out.push_str("To record, with your own program in the place of PROGRAM. coldspot runs none of it.\n");
    }
    for (index, part) in collection.parts.iter().enumerate() {
        out.push_str(&format!("\n{}. {}\n", index + 1, heading(part)));
        for line in part.script.iter().flat_map(|script| script.text.lines()) {
            // What is not our own in it is quoted for a shell, and holds no character that cannot be seen.
            out.push_str(escape::no_command(&format!("   {line}")).trim_end());
            out.push('\n');
        }
        if part.script.as_ref().is_some_and(|script| script.language == Language::Python) {
            out.push_str("   # then, in a shell:\n");
        }
        out.push_str(&format!("{}\n", escape::no_command(&format!("   {}", part.then))));
    }
    for remark in &collection.remarks {
        out.push_str(&format!("\n{}\n", escape::no_command(remark)));
    }
    out
}

/// What it brings, of which kernels, for which rules.
fn heading(part: &Collected) -> String {
    let mut words: Vec<String> = Vec::new();
    for kernel in &part.kernels {
        let name = escape::plain(cut::to_bytes(&kernel.name, NAME_BYTES));
        words.push(format!("{name} ({})", percent(kernel.thousandths as f64 / 1e3)));
    }
    let kernels = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    let named: Vec<&str> = part.rules.iter().take(NAMED_RULES).map(String::as_str).collect();
    let rules = match part.rules.len().saturating_sub(NAMED_RULES) {
        _ if named.is_empty() => String::new(),
        0 => format!("\n   for {}", named.join(", ")),
        more => format!("\n   for {} and {more} more rules", named.join(", ")),
    };
    format!("{}{kernels}{}{rules}", upper_first(&part.what), if kernels.is_empty() { "." } else { "" })
}

fn upper_first(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// As JSON.
pub fn collect_json(collection: &Collection) -> String {
    let parts: Vec<Value> = collection.parts.iter().map(part_json).collect();
    let all = json!({
        "schema": SCHEMA,
        "coldspot": env!("CARGO_PKG_VERSION"),
        "recordings": parts,
        "remarks": collection.remarks,
    });
    escape::json(format!("{all:#}\n"))
}

fn part_json(part: &Collected) -> Value {
    let kernel = |kernel: &crate::findings::KernelToProfile| json!({ "name": kernel.name, "share": kernel.thousandths as f64 / 1e3 });
    json!({
        "what": part.what,
        "rules": part.rules,
        "kernels": part.kernels.iter().map(kernel).collect::<Vec<_>>(),
        "script": part.script.as_ref().map(|script| json!({
            "profiler": script.profiler,
            "language": script.language.name(),
            "text": script.text,
            "output": script.output,
        })),
        "then": part.then,
    })
}
