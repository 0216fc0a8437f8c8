//! "Did you mean": the known names that look most like one that is not known.

/// Names less alike than this, from 0 to 1, are not worth proposing.
const MIN_LIKENESS: f64 = 0.75;
/// Shorter names say nothing by being a part of another.
const MIN_PART_BYTES: usize = 4;
/// Longer names are compared by nobody: likeness takes time and memory by the product of two lengths.
const MAX_COMPARED_BYTES: usize = 200;
/// Nor are more known names than this.
const MAX_COMPARED_COUNT: usize = 1_000;
/// Nor is any proposed where that takes more steps, each a character of one name beside one of another: files with hundreds of
/// unknown names and as many known ones would take seconds. All facts of an entity take a third of it.
const MAX_STEP_COUNT: usize = 2_000_000;
/// More names than this are not listed in a message.
const MAX_LISTED_COUNT: usize = 24;

/// The known name that looks most like a misspelt one; absent when none is alike.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let compared: Vec<&str> = known
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_COMPARED_BYTES)
        .filter(|candidate| may_be_alike(name, candidate) || is_part(name, candidate))
        .take(MAX_COMPARED_COUNT)
        .collect();
    // The nearest of a part of them may be another than the nearest.
    if compared.iter().map(|candidate| name.len() * candidate.len()).sum::<usize>() > MAX_STEP_COUNT {
        return None;
    }
    compared
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), candidate))
        .filter(|(likeness, candidate)| *likeness >= MIN_LIKENESS || is_part(name, candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Whether their lengths let them be: each character that one has more is a difference.
fn may_be_alike(name: &str, candidate: &str) -> bool {
    let (name, candidate) = (name.chars().count() as f64, candidate.chars().count() as f64);
    name.min(candidate) >= MIN_LIKENESS * name.max(candidate)
}

/// Whether one is a part of the other: `sum` for `kernel_sum_ns`, `compute_ns` for `compute`.
fn is_part(name: &str, candidate: &str) -> bool {
    let (short, long) = if name.len() < candidate.len() { (name, candidate) } else { (candidate, name) };
    short.len() >= MIN_PART_BYTES && long.contains(short)
}

/// The end of a message about an unknown name: the nearest one, or all when they are few, or nothing.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<_> = known.into_iter().collect();
    if let Some(best) = nearest(name, known.iter().copied()) {
        return format!("; did you mean `{best}`?");
    }
    if known.is_empty() || known.len() > MAX_LISTED_COUNT {
        return String::new();
    }
    format!("; known are {}", listed(&known))
}

/// All known names, those that look most like `name` first: those that hold it, then by the letters that differ.
pub fn most_alike_first<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    known.dedup();
    let wanted = name.to_lowercase();
    known.sort_by_cached_key(|known| {
        let is_short = known.len() <= MAX_COMPARED_BYTES && name.len() <= MAX_COMPARED_BYTES;
        let distance = if is_short { strsim::levenshtein(known, name) } else { usize::MAX };
        (!known.to_lowercase().contains(&wanted), distance)
    });
    known
}

/// Names in a row: `a`, `b` and `c`.
pub fn listed(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_names_are_not_compared() {
        let long = "a".repeat(1_000_000);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert_eq!(nearest("aaaa", [long.as_str(), "aaab"]), Some("aaab"));
        let [hold_it, do_not] = ["step", "other"].map(|name| name.to_owned() + &long);
        assert_eq!(most_alike_first("step", [&*do_not, &*hold_it, "stop"]), [&*hold_it, "stop", &*do_not]);
    }

    #[test]
    fn looking_for_a_name_has_an_end() {
        let known: Vec<String> = (0..1_000).map(|number| format!("{number:0200}")).collect();
        let known = || known.iter().map(String::as_str);
        assert_eq!(nearest(&"x".repeat(200), known()), None);
        // 200 times 200 steps each.
        assert_eq!(nearest(&format!("{:0200}", 3), known().take(50)), Some(&*format!("{:0200}", 3)));
        assert_eq!(nearest(&format!("{:0200}", 3), known().take(51)), None);
        assert_eq!(nearest(&"é".repeat(4), ["éééx"]), Some("éééx"));
    }

    #[test]
    fn slips_and_parts_of_names_are_found() {
        let known = ["compute", "exposed_copy", "idle", "kernel_sum_ns"];
        for (name, found) in [
            ("comptue", Some("compute")),
            ("compute_ns", Some("compute")),
            ("sum_ns", Some("kernel_sum_ns")),
            ("idel", Some("idle")),
            ("ns", None),
            ("other", None),
        ] {
            assert_eq!(nearest(name, known), found, "{name}");
        }
    }

    #[test]
    fn few_names_are_listed_and_many_are_not() {
        assert_eq!(did_you_mean("x", ["a", "b", "c"]), "; known are `a`, `b` and `c`");
        assert_eq!(did_you_mean("x", ["a"; MAX_LISTED_COUNT + 1]), "");
        assert_eq!(did_you_mean("x", []), "");
    }

    #[test]
    fn names_that_hold_the_wanted_one_come_first() {
        let names = ["step", "Forward pass", "forwrad", "forwrad"];
        assert_eq!(most_alike_first("forward", names), ["Forward pass", "forwrad", "step"]);
    }
}
