//! `--fail-on` of a comparison: findings from a severity on, a slower head, or both.

use super::Threshold;
use crate::text::quantity::Decimal;

/// What fails beside budgets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailOn {
    /// Findings that are too grave.
    pub findings: Threshold,
    /// A head that takes more time; absent where that passes.
    pub slower: Option<Slower>,
}

/// From when on a head is too slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Slower {
    /// As soon as the verdict says so.
    Verdict,
    /// By more than this share.
    By(f64),
}

impl FailOn {
    /// Whatever is found passes.
    pub const NEVER: Self = Self { findings: Threshold::Never, slower: None };

    /// Of a report alone, which cannot be slower.
    pub const fn findings(findings: Threshold) -> Self {
        Self { findings, slower: None }
    }

    /// Words with commas between them: `high`, `slower`, `slower=3%`, `medium,slower=3%`, `never`. A severity alone fails a
    /// slower head as well.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut findings, mut slower) = (None, None);
        for word in text.split(',').map(str::trim) {
            let is_again = match Word::parse(word)? {
                Word::Findings(threshold) => findings.replace(threshold).is_some(),
                Word::Slower(limit) => slower.replace(limit).is_some(),
            };
            if is_again {
                return Err(format!("`{text}` says the same twice: {HOW}"));
            }
        }
        let implied = matches!(findings, Some(Threshold::At(_))).then_some(Slower::Verdict);
        Ok(Self { findings: findings.unwrap_or(Threshold::Never), slower: slower.or(implied) })
    }
}

const HOW: &str = "write high, medium, low or never, and slower or slower=3%, with commas between them";

/// One of the words.
enum Word {
    Findings(Threshold),
    Slower(Slower),
}

impl Word {
    fn parse(word: &str) -> Result<Self, String> {
        let (name, limit) =
            word.split_once('=').map_or((word, None), |(name, limit)| (name.trim(), Some(limit.trim())));
        let threshold = Threshold::WORDS.into_iter().find(|(known, _)| *known == name);
        match (name, limit, threshold) {
            ("slower", None, _) => Ok(Self::Slower(Slower::Verdict)),
            ("slower", Some(limit), _) => {
                let limit = share(limit).ok_or_else(|| format!("`{word}` needs a share: write slower=3%"))?;
                Ok(Self::Slower(Slower::By(limit)))
            }
            (_, None, Some((_, threshold))) => Ok(Self::Findings(threshold)),
            _ => Err(format!("unknown fail_on `{word}`: {HOW}")),
        }
    }
}

/// `3%` or `0.03`.
fn share(text: &str) -> Option<f64> {
    let (digits, power) = text.strip_suffix('%').map_or((text, 0), |digits| (digits.trim(), -2));
    let share = Decimal::parse(digits)?.shifted(power).to_f64();
    (0.0..=10.0).contains(&share).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::outcome::Severity;

    #[test]
    fn a_severity_alone_fails_a_slower_head_too() {
        let of = |text: &str| FailOn::parse(text).unwrap();
        assert_eq!(of("high"), FailOn { findings: Threshold::At(Severity::High), slower: Some(Slower::Verdict) });
        assert_eq!(of("slower=3%"), FailOn { findings: Threshold::Never, slower: Some(Slower::By(0.03)) });
        let both = FailOn { findings: Threshold::At(Severity::Low), slower: Some(Slower::By(0.03)) };
        assert_eq!((of("low, slower=0.03"), of("slower = 3 %,low")), (both, both));
        assert_eq!((of("never"), of("slower").slower), (FailOn::NEVER, Some(Slower::Verdict)));
        for wrong in ["", "hihg", "slower=", "slower=x", "slower=-3%", "high,low", "high=3%", "slower,slower=2%"] {
            assert!(FailOn::parse(wrong).is_err(), "{wrong}");
        }
    }
}
