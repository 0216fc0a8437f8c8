//! Changes of texts: traces, facts files, pages of Nsight Compute.

use super::mutate::Random;

/// Those at which arithmetic goes wrong, or which are something else than is expected.
const VALUES: [&str; 18] = [
    "-1",
    "0",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "inf",
    "1e308",
    "-9223372036854775808",
    "9223372036854775807",
    "18446744073709551616",
    "0.0000000001",
    "\"\\ud800\"",
    "\"::error::x\"",
    "4294967295",
    "\"72057594037927936\"",
    "\"(4294967295, 4294967295, 4294967295)\"",
];

/// Changes bytes, cuts, doubles, or puts another value in the place of one; returns what was done.
pub fn change(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    let mut done = Vec::new();
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(400)).min(bytes.len());
        match random.below(6) {
            0 => {
                bytes[at] = *random.pick(b"\"{}[],:\\\0\xff0-eE.\n");
                done.push(format!("a byte at {at}"));
            }
            1 => {
                bytes.drain(at..end);
                done.push(format!("{at}..{end} cut out"));
            }
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
                done.push(format!("{at}..{end} doubled"));
            }
            3 => {
                bytes.truncate(at.max(1));
                done.push(format!("cut at {at}"));
            }
            _ => {
                // A value: from behind a colon or comma to the next comma or bracket.
                let Some(before) = bytes[at..].iter().position(|byte| b":,".contains(byte)) else { continue };
                let from = at + before + 1;
                let length = bytes[from..].iter().position(|byte| b",]}\n".contains(byte)).unwrap_or(0);
                let value = *random.pick(&VALUES);
                bytes.splice(from..from + length, value.bytes());
                done.push(format!("{value} at {from}"));
            }
        }
        if bytes.is_empty() {
            bytes.push(b'{');
        }
    }
    done.join(", ")
}
