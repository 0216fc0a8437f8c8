//! What a rule file says, before anything is checked: each value with its span, for error messages.
//!
//! The JSON Schema that editors use is made from these structs: their comments are what an editor shows.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::DeTable;

use super::fault::Log;
use super::outcome::{Confidence, Severity};
use super::param_value::ParamValue;
use super::vocabulary::SCHEMA;
use super::{schema, shape};

pub(super) type Text = Spanned<String>;
/// The facts of one entity.
pub(super) type RawFacts = BTreeMap<Text, Spanned<toml::Value>>;
pub(super) type FactTables = BTreeMap<Text, Given>;

/// # A coldspot rule
///
/// What to look for in the facts of one entity, what to say of it, what it can gain, and tests. The file is named after
/// the id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRule {
    /// The version of the rule language: 1.
    #[schemars(schema_with = "schema::version")]
    pub(super) schema: Spanned<i64>,
    /// The rule's name for users, equal to the file's name without `.toml`.
    #[schemars(with = "String")]
    pub(super) id: Text,
    /// What a user would call the problem.
    #[schemars(with = "String")]
    pub(super) title: Text,
    /// The kind of entity that the rule is asked about, one at a time.
    #[schemars(schema_with = "schema::entity")]
    pub(super) for_each: Text,
    /// A condition for the rule to apply at all. Where it does not hold, the answer is "not applicable".
    #[serde(rename = "where")]
    #[schemars(with = "Option<String>")]
    pub(super) condition: Option<Text>,
    /// Facts that the rule can do without, as `entity.fact`. Where any other fact that it names is absent, the answer is
    /// "unknown".
    #[serde(default)]
    #[schemars(schema_with = "schema::fact_names")]
    pub(super) optional: Vec<Text>,
    /// How to capture what the rule needs, where that is more than its facts themselves need: shown when one is absent.
    pub(super) collect: Option<String>,
    /// A fixed severity. Without it, the share of the window that can be gained decides.
    #[schemars(with = "Option<Severity>")]
    pub(super) severity: Option<Text>,
    /// Severities that conditions bring: the first that holds goes before `severity` and before what can be gained.
    #[serde(default)]
    pub(super) severity_when: Vec<RawSeverity>,
    /// `experimental` until the rule has proved itself on real reports; shown as such.
    #[serde(default)]
    #[schemars(schema_with = "schema::status")]
    pub(super) status: Option<Text>,
    /// Whether the cost occurs once in a run, so that a longer run hardly has it.
    #[serde(default)]
    pub(super) once: bool,
    /// For rules about the capture: `repeated` where a review also says it under what the capture was missing, `quoted` where
    /// the finding quotes that.
    #[serde(default)]
    #[schemars(schema_with = "schema::capture_note")]
    pub(super) capture_note: Option<Text>,
    /// Thresholds, by name. Expressions name them `params.NAME`; users override them in coldspot.toml.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, RawParam>")]
    pub(super) params: BTreeMap<Text, RawParam>,
    /// Entities that belong to the one that the rule is asked about, taken together: by name. Expressions name
    /// `groups.NAME.count`, its sums, and `groups.NAME.largest`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, RawGroup>")]
    pub(super) groups: BTreeMap<Text, RawGroup>,
    /// Named intermediate results, by name: expressions over facts, params and groups, not over each other.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub(super) values: BTreeMap<Text, Text>,
    /// Conditions: all must hold. Each says as evidence what it saw.
    pub(super) when: Vec<RawWhen>,
    /// The most that a change can gain.
    pub(super) estimate: Option<RawEstimate>,
    /// How sure the finding is.
    pub(super) confidence: RawConfidence,
    /// What a finding is ranked by beside its gain.
    #[serde(default)]
    pub(super) ranking: RawRanking,
    /// Links to other rules.
    #[serde(default)]
    pub(super) relations: RawRelations,
    /// What the finding says.
    pub(super) message: RawMessage,
    /// What to do, by framework; `default` where a framework has no advice of its own, or none in that case (its text is empty then).
    #[schemars(schema_with = "schema::advice")]
    pub(super) advice: Spanned<BTreeMap<Text, Text>>,
    /// Where the rule's knowledge comes from.
    #[serde(default)]
    pub(super) references: Vec<RawReference>,
    /// Facts for which the rule finds something, by entity. Every test starts from them; the rule's page shows them.
    #[schemars(schema_with = "schema::fact_tables")]
    pub(super) example: Spanned<FactTables>,
    /// Tests: what differs from the example, and the outcome that is expected.
    #[serde(default)]
    pub(super) tests: Vec<RawTest>,
}

/// A threshold, or names to look for
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawParam {
    /// The number, in the unit; with the unit `text` a name, a pattern (`*` is any text), or a list of them.
    #[schemars(with = "ParamValue")]
    pub(super) default: Spanned<toml::Value>,
    /// The unit. Times and sizes are rescaled by the unit probe.
    #[schemars(schema_with = "schema::unit")]
    pub(super) unit: Text,
    /// What it is for, as a sentence.
    #[schemars(with = "String")]
    pub(super) doc: Text,
    /// Why an absolute threshold is right here, as a sentence.
    #[schemars(with = "Option<String>")]
    pub(super) fixed: Option<Text>,
}

/// Entities taken together
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGroup {
    /// The kind of the entities: those that belong to the one that the rule is asked about.
    #[schemars(schema_with = "schema::entity")]
    pub(super) each: Text,
    /// A condition for an entity to be in the group.
    #[serde(rename = "where")]
    #[schemars(with = "Option<String>")]
    pub(super) condition: Option<Text>,
    /// Sums over the entities of the group: expressions by the names of the sums.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub(super) sums: BTreeMap<Text, Text>,
    /// The name of the entity of the group that has the most of something.
    pub(super) largest: Option<RawLargest>,
}

/// The name of the largest of a group
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLargest {
    /// An expression: the entity with the most of it.
    #[schemars(with = "String")]
    pub(super) by: Text,
    /// A text of that entity, such as `kernel.name`.
    #[schemars(with = "String")]
    pub(super) name: Text,
}

/// A condition with its evidence
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWhen {
    /// An expression that gives true or false.
    #[schemars(with = "String")]
    pub(super) expr: Text,
    /// The sentence that is printed when it holds. Values go in as `{{ entity.fact | filter }}`.
    #[schemars(with = "String")]
    pub(super) says: Text,
}

/// The most that a change can gain
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEstimate {
    /// An expression that gives nanoseconds.
    #[schemars(with = "String")]
    pub(super) recoverable_ns: Text,
    /// The account of the device's ledger that it draws on: never more than is in it.
    #[schemars(schema_with = "schema::account")]
    pub(super) claims: Text,
    /// An expression that gives nanoseconds of other accounts that go with the claim; of what occurs once none do.
    #[schemars(with = "Option<String>")]
    pub(super) beside_ns: Option<Text>,
    /// Why it is a bound, as a sentence.
    #[schemars(with = "String")]
    pub(super) basis: Text,
    /// The change that the rule advises, by its name in `coldspot whatif`. Where the recording can be played again with it,
    /// what that gains of a step stands in the place of the claim.
    #[serde(default)]
    #[schemars(schema_with = "schema::change")]
    pub(super) replay: Option<Text>,
    /// An expression that gives true where that holds; without it, it always does.
    #[schemars(with = "Option<String>")]
    pub(super) replay_if: Option<Text>,
    /// An expression that gives true where what is claimed comes again with the work, in however few pieces its account comes.
    #[schemars(with = "Option<String>")]
    pub(super) again_if: Option<Text>,
    /// Whether the claim is a bound as well where the change is played: the most is no less than the claim's part of the window.
    #[serde(default)]
    pub(super) claim_holds: bool,
    /// Whether nothing beyond the claim is won where the change is played: what is advised takes away what is claimed, and nothing else.
    #[serde(default)]
    pub(super) claim_bounds: bool,
}

/// How sure the finding is
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConfidence {
    /// Where nothing lowers it.
    #[schemars(with = "Confidence")]
    pub(super) base: Text,
    /// What lowers it.
    #[serde(default)]
    pub(super) lower: Vec<RawLower>,
}

/// What lowers confidence
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLower {
    /// The confidence then.
    #[schemars(with = "Confidence")]
    pub(super) to: Text,
    /// An expression that gives true or false.
    #[schemars(with = "String")]
    pub(super) when: Text,
    /// Why, as a sentence.
    #[schemars(with = "String")]
    pub(super) because: Text,
}

/// A severity where a condition holds
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSeverity {
    /// The severity then.
    #[schemars(with = "Severity")]
    pub(super) is: Text,
    /// An expression that gives true or false.
    #[schemars(with = "String")]
    pub(super) when: Text,
}

/// Links to other rules
#[derive(Debug, Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRelations {
    /// Symptoms: findings of these rules are shown under this one, as far as it takes their time.
    #[serde(default)]
    pub(super) explains: Vec<RawRelation>,
    /// Where one of these rules finds something, this one is silent.
    #[serde(default)]
    pub(super) suppressed_by: Vec<RawRelation>,
    /// Where this rule finds something, every finding that claims time is left out which is about the same of these.
    #[serde(default)]
    #[schemars(schema_with = "schema::entities")]
    pub(super) silences_claims_on: Vec<Text>,
}

/// A link to another rule
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRelation {
    /// The id of the other rule.
    #[schemars(with = "String")]
    pub(super) rule: Text,
    /// Both findings must be about the same of each of these.
    #[schemars(schema_with = "schema::entities")]
    pub(super) on: Spanned<Vec<Text>>,
    /// Of a rule that is explained: the fact, in nanoseconds, that says how much of the time both findings are about. Without
    /// it that is all that this rule claims.
    #[schemars(with = "Option<String>")]
    pub(super) shares: Option<Text>,
}

/// What a finding is ranked by beside its gain
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRanking {
    /// The fact, a text, that names what the GPU waits for. Where it is known and waited for most of the window, the finding goes before
    /// how much of the run lies outside of the GPU's work.
    #[schemars(with = "Option<String>")]
    pub(super) culprit: Option<Text>,
    /// The fact, in nanoseconds, of the kernels that the finding tells the cause of, where it has no gain.
    #[schemars(with = "Option<String>")]
    pub(super) kernel_time: Option<Text>,
}

/// What the finding says
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMessage {
    /// The heading of a finding, where that can say more than the title of the rule: it names the culprit. Printed as empty, it
    /// is the rule's title.
    #[schemars(with = "Option<String>")]
    pub(super) title: Option<Text>,
    /// What it is, in one line.
    #[schemars(with = "String")]
    pub(super) summary: Text,
    /// How to check that the change helped.
    #[schemars(with = "String")]
    pub(super) verify: Text,
    /// Where to look in the profiler: times and names.
    #[schemars(with = "Option<String>")]
    pub(super) look: Option<Text>,
}

/// Where the rule's knowledge comes from
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReference {
    /// An address that begins with https://.
    #[schemars(with = "String", regex(pattern = "^https://"))]
    pub(super) url: Text,
    /// What it says that the rule relies on, as a sentence.
    #[schemars(with = "String")]
    pub(super) supports: Text,
}

/// A test
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTest {
    /// What is tested, in words.
    #[schemars(with = "String", length(min = 1))]
    pub(super) name: Text,
    /// Facts that differ from the example.
    #[serde(default)]
    #[schemars(schema_with = "schema::fact_tables")]
    pub(super) set: FactTables,
    /// Facts of the example that are absent, as `entity.fact`.
    #[serde(default)]
    #[schemars(schema_with = "schema::fact_names")]
    pub(super) unset: Vec<Text>,
    /// Params that differ from their defaults.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, ParamValue>")]
    pub(super) params: BTreeMap<Text, Spanned<toml::Value>>,
    /// What must come out. A test that expects nothing is refused.
    #[schemars(with = "RawExpect")]
    pub(super) expect: Option<Spanned<RawExpect>>,
}

/// What must come out
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExpect {
    /// The answer.
    #[schemars(schema_with = "schema::outcome")]
    pub(super) outcome: Option<Text>,
    /// The estimate of a finding.
    #[schemars(with = "Option<i64>")]
    pub(super) recoverable_ns: Option<Spanned<i64>>,
    /// The confidence of a finding.
    #[schemars(with = "Option<Confidence>")]
    pub(super) confidence: Option<Text>,
    /// The severity of a finding that a condition of `severity_when` brings, or that `severity` fixes.
    #[schemars(with = "Option<Severity>")]
    pub(super) severity: Option<Text>,
    /// The facts that an unknown lacks, as `entity.fact`.
    #[serde(default)]
    #[schemars(schema_with = "schema::fact_names")]
    pub(super) missing: Option<Vec<Text>>,
    /// Words that the summary of a finding holds.
    #[schemars(with = "Option<String>")]
    pub(super) summary: Option<Text>,
    /// Words that the title of a finding holds.
    #[schemars(with = "Option<String>")]
    pub(super) title: Option<Text>,
    /// Words that the evidence of a finding holds.
    #[schemars(with = "Option<String>")]
    pub(super) evidence: Option<Text>,
    /// Words that the advice of a finding holds, for the framework that the facts name.
    #[schemars(with = "Option<String>")]
    pub(super) advice: Option<Text>,
    /// Words that a finding says nowhere: neither title, summary and evidence nor the advice hold them.
    #[schemars(with = "Option<String>")]
    pub(super) unsaid: Option<Text>,
}

/// The facts that a file gives of one kind of entity: of the one that the rule is asked about, or of several in a group.
#[derive(Debug)]
pub(super) enum Given {
    One(RawFacts),
    Several(Vec<RawFacts>),
}

impl Given {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::One(facts) if facts.is_empty())
    }
}

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Facts;
        // Not untagged: that would lose where in the file each value is.
        impl<'de> Visitor<'de> for Facts {
            type Value = Given;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a table of facts, or a list of them")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Given, A::Error> {
                RawFacts::deserialize(MapAccessDeserializer::new(map)).map(Given::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Given, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(Given::Several)
            }
        }
        deserializer.deserialize_any(Facts)
    }
}

/// The JSON Schema (draft 7, which TOML editors read) of rule files.
pub fn rule_schema() -> String {
    schema::document::<RawRule>()
}

/// Reads one file.
pub(super) fn read(log: &mut Log<'_>) -> Option<RawRule> {
    let tree = shape::parse(log)?;
    if newer_schema(&tree, log) {
        return None;
    }
    shape::read(tree, log)
}

/// A file of a newer language may hold anything, so that nothing else of it is reported.
fn newer_schema(tree: &Spanned<DeTable<'_>>, log: &mut Log<'_>) -> bool {
    let Some(value) = tree.get_ref().get("schema") else { return false };
    let number = value.get_ref().as_integer().and_then(|number| number.as_str().parse::<i64>().ok());
    let Some(number) = number.filter(|number| *number > SCHEMA) else { return false };
    let message =
        format!("`schema = {number}` is newer than this coldspot, which reads schema {SCHEMA}: update coldspot");
    log.at(value.span(), message);
    true
}
