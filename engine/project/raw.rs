//! What a `coldspot.toml` says, before anything is checked. The comments are what an editor shows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::rules::ParamValue;
use crate::rules::fault::Log;
use crate::rules::outcome::Severity;
use crate::rules::shape;

pub(super) type Text = Spanned<String>;
pub(super) type Number = Spanned<toml::Value>;

/// # What a project decides about its coldspot reviews
///
/// The file is named coldspot.toml and is found upward from the working directory. Paths in it are relative to it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConfig {
    /// A folder of templates that replace the built-in ones of the same name.
    #[schemars(with = "Option<String>")]
    pub(super) templates: Option<Text>,
    /// Which rules are in use.
    #[serde(default)]
    pub(super) rules: RawRules,
    /// Thresholds and names to use instead of a rule's own: by rule, then by name. `coldspot rules show ID` lists them.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, ParamValue>>")]
    pub(super) params: BTreeMap<Text, BTreeMap<Text, Number>>,
    /// Severities to use instead of a rule's own, or of what it can gain: by rule.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Severity>")]
    pub(super) severity: BTreeMap<Text, Text>,
    /// How a review ends.
    #[serde(default)]
    pub(super) review: RawReview,
    /// How a comparison ends.
    #[serde(default)]
    pub(super) compare: RawCompare,
    /// How far a number may go in `coldspot compare`, and where it needs no base in `coldspot review`: by name, such as
    /// step_time = "+5%" or findings.new = 0. A list holds several limits of different kinds: ["+5%", "<= 100ms"].
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub(super) budgets: BTreeMap<Text, Number>,
    /// Targets of the scorecard, as shares from 0 to 1: by id, such as gpu_busy.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Share>")]
    pub(super) scorecard: BTreeMap<Text, Number>,
    /// Findings that are accepted: kept and counted, but folded away and left out of `fail_on`.
    #[serde(default)]
    pub(super) ignore: Vec<RawIgnore>,
    /// Files that kernels and ranges come from: annotations of pull requests and SARIF point there.
    #[serde(default)]
    pub(super) source: Vec<RawSource>,
}

/// Which rules are in use
#[derive(Debug, Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRules {
    /// Folders of rules that add to the built-in ones, or replace those of the same id.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) dirs: Vec<Text>,
    /// Ids of rules that are not asked.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) off: Vec<Text>,
}

/// How a review ends
#[derive(Debug, Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReview {
    /// End with exit code 1 when there are findings of this severity or above. `--fail-on` goes before it.
    #[schemars(with = "Option<FailOn>")]
    pub(super) fail_on: Option<Text>,
}

/// How a comparison ends
#[derive(Debug, Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCompare {
    /// End with exit code 1 when findings of this severity or above are new or worse, or the head is slower: high, medium, low
    /// or never, and slower or slower=3%, with commas between them. A severity alone fails a slower head, too. `--fail-on` goes
    /// before it.
    #[schemars(with = "Option<String>")]
    pub(super) fail_on: Option<Text>,
    /// Changes below this share of the base are noise, from 0 to 1: 0.02 is 2 %. Without it 5 % with fewer than four runs a
    /// side, and less with more.
    #[schemars(with = "Option<Share>")]
    pub(super) noise: Option<Number>,
    /// Whether both sides do the same work, or coldspot is to find out. `--same-work` goes before it.
    #[schemars(with = "Option<SameWork>")]
    pub(super) work: Option<Text>,
}

/// The sides of a comparison, as the project knows them.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum SameWork {
    /// coldspot finds out.
    Detect,
    /// Both sides do the same work, whatever they launch.
    Same,
}

/// Findings that are accepted
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawIgnore {
    /// The id of the rule.
    #[schemars(with = "String")]
    pub(super) rule: Text,
    /// Which entities: a pattern over their ids (`subject.id` in the JSON of a review), where `*` is any text. All without
    /// it.
    #[schemars(with = "Option<String>")]
    pub(super) entity: Option<Text>,
    /// Why it is accepted: shown in every review.
    #[schemars(with = "String", length(min = 1))]
    pub(super) reason: Option<Text>,
    /// The last day on which it holds, as 2026-12-31, in UTC. No end without it.
    #[schemars(with = "Option<String>", regex(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub(super) until: Option<Spanned<toml::Value>>,
}

/// A file that kernels or ranges come from. Give either a kernel or a range
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["kernel"] }, { "required": ["range"] }]))]
pub(super) struct RawSource {
    /// Which kernels: a pattern over their names, short or whole, where `*` is any text.
    #[schemars(with = "Option<String>", length(min = 1))]
    pub(super) kernel: Option<Text>,
    /// Which ranges: a pattern over their texts, where `*` is any text.
    #[schemars(with = "Option<String>", length(min = 1))]
    pub(super) range: Option<Text>,
    /// The file, with `/` between folders. It lies in the folder of coldspot.toml or below.
    #[schemars(with = "String", length(min = 1))]
    pub(super) file: Text,
    /// The line, counted from 1. The file as a whole without it.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub(super) line: Option<Number>,
}

/// The severities that a review or a comparison may fail on.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum FailOn {
    /// At least 20 % of a window can be gained, or the capture cannot be trusted.
    High,
    /// At least 5 %.
    Medium,
    /// At least 1 %.
    Low,
    /// Whatever is found.
    Never,
}

/// A part of one.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Share(#[schemars(range(min = 0.0, max = 1.0))] f64);

pub(super) fn read(log: &mut Log<'_>) -> Option<RawConfig> {
    let tree = shape::parse(log)?;
    shape::read(tree, log)
}
