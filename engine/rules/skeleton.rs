//! A rule to begin with.

const SKELETON: &str = include_str!("skeleton.toml");

/// The file of a new rule: commented, and sound as it is. None when the id is not of lower-case letters, digits and
/// single hyphens between them.
pub fn skeleton(id: &str) -> Option<String> {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    id.split('-').all(is_word).then(|| SKELETON.replacen("id = \"ID\"  ", &format!("id = \"{id}\"  "), 1))
}
