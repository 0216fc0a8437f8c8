//! Counts with their noun.

use std::borrow::Cow;

use super::number;

/// What rules count: a noun of theirs ends in one of these.
const NOUNS: [(&str, &str); 53] = [
    ("all-reduces", "all-reduce"),
    ("allocations", "allocation"),
    ("blocks", "block"),
    ("broadcasts", "broadcast"),
    ("calls", "call"),
    ("clusters", "cluster"),
    ("collectives", "collective"),
    ("copies", "copy"),
    ("devices", "device"),
    ("events", "event"),
    ("faults", "fault"),
    ("frees", "free"),
    ("gpus", "GPU"),
    ("instructions", "instruction"),
    ("kernels", "kernel"),
    ("lanes", "lane"),
    ("launches", "launch"),
    ("lines", "line"),
    ("memsets", "memset"),
    ("migrations", "migration"),
    ("modules", "module"),
    ("names", "name"),
    ("nodes", "node"),
    ("operations", "operation"),
    ("operators", "operator"),
    ("parameters", "parameter"),
    ("passes", "pass"),
    ("pieces", "piece"),
    ("processes", "process"),
    ("products", "product"),
    ("ranges", "range"),
    ("ranks", "rank"),
    ("requests", "request"),
    ("read-backs", "read-back"),
    ("registers", "register"),
    ("rounds", "round"),
    ("rows", "row"),
    ("samples", "sample"),
    ("schedulers", "scheduler"),
    ("sectors", "sector"),
    ("shapes", "shape"),
    ("steps", "step"),
    ("storms", "storm"),
    ("streams", "stream"),
    ("stretches", "stretch"),
    ("threads", "thread"),
    ("units", "unit"),
    ("versions", "version"),
    ("warps", "warp"),
    ("times", "time"),
    ("trials", "trial"),
    ("tunings", "tuning"),
    ("waits", "wait"),
];
/// What they do or are.
const VERBS: [(&str, &str); 14] = [
    ("are", "is"),
    ("come", "comes"),
    ("do", "does"),
    ("have", "has"),
    ("hold", "holds"),
    ("keep", "keeps"),
    ("leave", "leaves"),
    ("make", "makes"),
    ("move", "moves"),
    ("run", "runs"),
    ("set", "sets"),
    ("take", "takes"),
    ("use", "uses"),
    ("were", "was"),
];
/// What 1 can be a measure in.
const UNITS: [&str; 12] = ["s", "ms", "µs", "ns", "min", "B", "kB", "MB", "GB", "TB", "KiB", "MiB"];
/// So many words may stand between a count and its noun: `1 small pinned copies`.
const MAX_WORDS_BETWEEN: usize = 3;

/// A text with singular nouns and verbs after each count of 1: `1 memset sets` for `1 memsets set`.
pub fn agreeing(text: &str) -> Cow<'_, str> {
    if !text.split(' ').any(|word| word == "1") {
        return Cow::Borrowed(text);
    }
    let mut words: Vec<Cow<'_, str>> = text.split(' ').map(Cow::Borrowed).collect();
    for one in 0..words.len() {
        if words[one] == "1" {
            agree(&mut words[one + 1..]);
        }
    }
    Cow::Owned(words.join(" "))
}

/// Makes the first noun singular, and the verb behind it.
fn agree(words: &mut [Cow<'_, str>]) {
    // A unit is no adjective, and what follows a verb that agrees already is something else.
    let agrees = |word: &str| VERBS.iter().any(|(_, one)| word == *one);
    let ends_phrase = |word: &str| {
        let is_word = word.chars().all(|letter| letter.is_alphabetic() || letter == '-');
        word == "of" || UNITS.contains(&word) || agrees(word) || !is_word
    };
    // `1 hold` counts what was named before.
    if let Some(verb) = words.first().and_then(|verb| singular(verb, &VERBS)) {
        words[0] = Cow::Owned(verb);
        return;
    }
    for at in 0..words.len().min(MAX_WORDS_BETWEEN + 1) {
        if let Some(one) = singular(&words[at], &NOUNS) {
            let is_followed = words[at].chars().all(|letter| letter.is_alphabetic() || letter == '-');
            words[at] = Cow::Owned(one);
            if is_followed && let Some(verb) = words.get(at + 1).and_then(|verb| singular(verb, &VERBS)) {
                words[at + 1] = Cow::Owned(verb);
            }
            return;
        }
        if ends_phrase(&words[at]) {
            return;
        }
    }
}

/// The singular of a word, with the punctuation that follows it.
fn singular(word: &str, table: &[(&str, &str)]) -> Option<String> {
    let end = word.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let (_, one) = table.iter().find(|(many, _)| end.eq_ignore_ascii_case(many))?;
    Some(format!("{one}{}", &word[end.len()..]))
}

/// `1 kernel`, `3,210 kernels`: for nouns whose plural ends in `s`.
pub fn counted(count: impl TryInto<i64>, one: &str) -> String {
    counted_as(count, one, &format!("{one}s"))
}

/// `1 launch is`, `3 launches are`: for all others.
pub fn counted_as(count: impl TryInto<i64>, one: &str, many: &str) -> String {
    let count = count.try_into().unwrap_or(i64::MAX);
    format!("{} {}", number::count(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_all_else_is_plural() {
        assert_eq!(counted(1, "kernel"), "1 kernel");
        assert_eq!(agreeing("1 of 1 launch has fewer blocks"), "1 of 1 launch has fewer blocks");
        assert_eq!(agreeing("and 1 hold nine tenths"), "and 1 holds nine tenths");
        assert_eq!(agreeing("runs for 1 s on fewer blocks"), "runs for 1 s on fewer blocks");
        assert_eq!(counted(0_usize, "kernel"), "0 kernels");
        assert_eq!(counted(3_210, "kernel"), "3,210 kernels");
        assert_eq!(counted_as(2, "launch is", "launches are"), "2 launches are");
    }

    #[test]
    fn what_follows_a_count_of_one_is_singular() {
        for (text, wanted) in [
            ("In the window 1 memsets set 24 GB.", "In the window 1 memset sets 24 GB."),
            ("1 threads in a block: 97 % of the lanes", "1 thread in a block: 97 % of the lanes"),
            ("1 CUDA calls returned an error.", "1 CUDA call returned an error."),
            ("grids of 1 blocks.", "grids of 1 block."),
            ("1 such calls, 1 small pinned copies are", "1 such call, 1 small pinned copy is"),
            ("1 of 20 copies", "1 of 20 copies"),
            ("11 kernels run, 2 memsets set", "11 kernels run, 2 memsets set"),
            ("less than 1 % of the calls", "less than 1 % of the calls"),
            ("1, 2 and 3 calls", "1, 2 and 3 calls"),
        ] {
            assert_eq!(agreeing(text), wanted);
        }
    }
}
