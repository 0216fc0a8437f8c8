//! Names without their numbers, so that what a program numbers counts as one thing.

/// A text with each number in it as `#`: `layer_12` and `layer_3` are `layer_#`. A number between letters is a part of a word:
/// `conv2d`, `h2d`.
pub fn numbers_folded(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, tail) = rest.split_at(at);
        plain.push_str(before);
        let length = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, after) = tail.split_at(length);
        let is_in_word = plain.ends_with(char::is_alphabetic) && after.starts_with(char::is_alphabetic);
        if is_in_word {
            plain.push_str(number);
        } else if !plain.ends_with('#') {
            plain.push('#');
        }
        rest = after;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::numbers_folded;

    #[test]
    fn numbers_become_one_sign() {
        for (name, folded) in [
            ("ProfilerStep#17", "ProfilerStep#"),
            ("prefetch_h2d_layer_12", "prefetch_h2d_layer_#"),
            ("step 3 of 90", "step # of #"),
            ("layer7", "layer#"),
            ("forward", "forward"),
        ] {
            assert_eq!(numbers_folded(name), folded);
        }
    }
}
