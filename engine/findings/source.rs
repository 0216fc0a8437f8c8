//! Where in the project's code a finding is about: by the kernels and ranges that it names.

use foldhash::HashMap;

use crate::facts::{Entity, EntityId, EntityKind, FactValue, Facts};
use crate::rules::RuleInfo;
use crate::rules::outcome::Match;
use crate::text::glob::Glob;
use crate::text::number::percent;
use crate::text::paths;
use crate::text::spans::Sentence;

/// A place in the project's source code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file, relative to the project's folder, with `/` between folders; never absolute, and never above it. In a
    /// review: from the top of the checkout.
    pub file: String,
    /// The line, counted from 1; absent for the file as a whole.
    pub line: Option<u32>,
}

impl SourceLocation {
    /// The same from the top of the checkout: `folders` lead from there to the project's.
    pub(super) fn below(self, folders: &[String]) -> Self {
        let parts = folders.iter().map(String::as_str).chain([self.file.as_str()]);
        Self { file: parts.collect::<Vec<_>>().join("/"), line: self.line }
    }
}

/// What can be mapped to a source location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeKind {
    /// A kernel.
    Kernel,
    /// A range.
    Range,
}

/// A kernel or range that a finding is about. The names are hostile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeName {
    pub(crate) kind: CodeKind,
    pub(crate) name: String,
    /// The demangled name of a kernel, where the report has it.
    pub(crate) full_name: Option<String>,
}

/// One mapping: names of a kind that match a pattern come from a source location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What is mapped.
    pub kind: CodeKind,
    /// Which names.
    pub pattern: Glob,
    /// Where they come from.
    pub location: SourceLocation,
}

/// Where the code of a project is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    /// Its mappings, in its order.
    pub list: Vec<Source>,
    /// The folders that lead from the top of the checkout to the project's: forges read paths from the top.
    pub folders: Vec<String>,
}

impl Sources {
    /// The source location of the first name that has one: of its mappings the first.
    pub fn find(&self, names: &[CodeName]) -> Option<&SourceLocation> {
        let of_name = |name: &CodeName| self.list.iter().find(|source| source.matches(name));
        names.iter().find_map(of_name).map(|source| &source.location)
    }
}

impl Source {
    fn matches(&self, name: &CodeName) -> bool {
        let mut names = std::iter::once(&name.name).chain(&name.full_name);
        self.kind == name.kind && names.any(|name| self.pattern.matches(name))
    }
}

/// Facts that hold the name of a kernel or range, of entities that are neither.
const NAMING: [(EntityKind, &str, CodeKind); 34] = [
    (EntityKind::Device, "uneven_kernel", CodeKind::Kernel),
    (EntityKind::Device, "tear_down_kernel", CodeKind::Kernel),
    (EntityKind::Run, "failed_launch_range", CodeKind::Range),
    (EntityKind::Run, "main_range", CodeKind::Range),
    (EntityKind::SyncGroup, "range", CodeKind::Range),
    (EntityKind::Device, "data_loading_range", CodeKind::Range),
    (EntityKind::Device, "idle_host_range", CodeKind::Range),
    (EntityKind::Device, "idle_host_held_range", CodeKind::Range),
    (EntityKind::Device, "data_loading_held_range", CodeKind::Range),
    (EntityKind::Device, "idle_blocked_range", CodeKind::Range),
    (EntityKind::Device, "idle_launch_range", CodeKind::Range),
    (EntityKind::Device, "exposed_copy_range", CodeKind::Range),
    (EntityKind::Device, "step_name", CodeKind::Range),
    (EntityKind::Device, "communication_kernel", CodeKind::Kernel),
    (EntityKind::Device, "late_communication_kernel", CodeKind::Kernel),
    (EntityKind::Device, "copying_range", CodeKind::Range),
    (EntityKind::Device, "step_lead_range", CodeKind::Range),
    (EntityKind::Device, "first_batch_range", CodeKind::Range),
    (EntityKind::Device, "outside_range", CodeKind::Range),
    (EntityKind::Device, "late_start_range", CodeKind::Range),
    (EntityKind::Device, "work_range", CodeKind::Range),
    (EntityKind::Device, "work_second_range", CodeKind::Range),
    (EntityKind::Device, "idle_queue_kernel", CodeKind::Kernel),
    (EntityKind::Device, "optimizer_main_kernel", CodeKind::Kernel),
    (EntityKind::Device, "written_attention_kernel", CodeKind::Kernel),
    (EntityKind::Device, "recomputed_kernel", CodeKind::Kernel),
    (EntityKind::Device, "repeated_kernel", CodeKind::Kernel),
    (EntityKind::Device, "kernel_tuning_kernel", CodeKind::Kernel),
    (EntityKind::Device, "before_load_kernel", CodeKind::Kernel),
    (EntityKind::Device, "tiny_kernel_storm_kernel", CodeKind::Kernel),
    (EntityKind::Device, "underfilled_kernel", CodeKind::Kernel),
    (EntityKind::Device, "tensor_copy_kernel", CodeKind::Kernel),
    (EntityKind::Device, "queued_behind_kernel", CodeKind::Kernel),
    (EntityKind::Device, "queued_behind_large_kernel", CodeKind::Kernel),
];

/// A line of the program's own code that something comes from, as facts tell it. The names are hostile.
struct Line<'a> {
    /// The file, with the number of the line; absent where stacks name functions only.
    line: Option<(&'a str, i64)>,
    /// As it is shown.
    place: String,
    share: f64,
    is_in_project: bool,
    /// What comes from it.
    words: &'static str,
    /// Whether that is the host code that the device waits for.
    is_of_host: bool,
    /// The next line, with its share.
    second: Option<(&'a str, f64)>,
}

/// Of an entity: that of its own calls; else that of what the finding claims.
fn line<'a>(entity: &'a Entity, info: &RuleInfo, found: &Match) -> Option<Line<'a>> {
    of_calls(entity).or_else(|| {
        let account = found.estimate.as_ref().map(|estimate| estimate.account.as_str());
        let stems = [Some(info.id.replace('-', "_")), account.map(str::to_owned)];
        stems.into_iter().flatten().find_map(|stem| of_account(entity, &stem))
    })
}

fn of_calls(entity: &Entity) -> Option<Line<'_>> {
    let file = entity.text("source_file")?;
    let place = match (entity.int("source_line"), entity.text("source_function")) {
        (Some(number), Some(function)) => format!("{file}:{number} ({function})"),
        (Some(number), None) => format!("{file}:{number}"),
        (None, function) => format!("{} ({file})", function?),
    };
    let words = match entity.kind {
        EntityKind::Kernel | EntityKind::LaunchShape => "Launched from ",
        _ => "Called from ",
    };
    Some(Line {
        line: entity.int("source_line").map(|number| (file, number)),
        place,
        share: share(entity, "source_share")?,
        is_in_project: entity.get("is_source_in_project") == Some(&FactValue::Bool(true)),
        words,
        is_of_host: false,
        second: None,
    })
}

/// Data loading that is a smaller part of the host code need not be told apart from it.
const LOADING_SHARE: f64 = 0.02;

/// Facts hold the line as it is shown: `train.py:118 (train_step)`, or a function with its file: `load (app)`.
fn of_account<'a>(entity: &'a Entity, stem: &str) -> Option<Line<'a>> {
    let place = entity.text(&format!("{stem}_source"))?;
    let line = place.split(" (").next().and_then(|line| line.rsplit_once(':'));
    Some(Line {
        line: line.and_then(|(file, number)| Some((file, number.parse().ok()?))),
        place: place.to_owned(),
        share: share(entity, &format!("{stem}_source_share"))?,
        is_in_project: entity.get(&format!("is_{stem}_source_in_project")) == Some(&FactValue::Bool(true)),
        words: if stem == "idle_host" && loads(entity) {
            "Most of what is not data loading in "
        } else {
            "Most of it in "
        },
        is_of_host: stem == "idle_host",
        second: entity
            .text(&format!("{stem}_second_source"))
            .zip(share(entity, &format!("{stem}_second_source_share"))),
    })
}

/// Whether a part of the host code that matters fetches data: the lines leave that out.
fn loads(device: &Entity) -> bool {
    let ns = |name: &str| device.int(name).unwrap_or(0) as f64;
    ns("idle_data_loading_host_ns") >= LOADING_SHARE * ns("idle_host_ns").max(1.0)
}

fn share(entity: &Entity, name: &str) -> Option<f64> {
    match entity.get(name) {
        Some(FactValue::Float(share)) => Some(*share),
        _ => None,
    }
}

/// The line of code that most of what is found comes from, by the call stacks of the report. Facts files can be written by
/// anybody: a file outside of the project is none.
pub(super) fn location(entity: &Entity, info: &RuleInfo, found: &Match) -> Option<SourceLocation> {
    let line = line(entity, info, found).filter(|line| line.is_in_project)?;
    let (file, number) = line.line?;
    let number = u32::try_from(number).ok().filter(|number| *number > 0)?;
    Some(SourceLocation { file: paths::inside(file).ok()?, line: Some(number) })
}

/// The same as evidence, for files outside of the project too.
pub(super) fn evidence(entity: &Entity, info: &RuleInfo, found: &Match) -> Option<Sentence> {
    let line = line(entity, info, found)?;
    let is_all = line.share >= 0.9995;
    let part = if is_all { String::new() } else { format!(" ({} of the time)", percent(line.share)) };
    let words = if is_all { line.words.replace("Most", "All") } else { line.words.to_owned() };
    // Where the finding names the function as a range, that is with all that it calls.
    let is_named = line.line.zip(entity.text("idle_host_range")).is_some_and(|((file, number), range)| {
        range.strip_prefix(file).is_some_and(|rest| rest.starts_with(&format!("({number}): ")))
    });
    let itself = if is_named && line.is_of_host { " itself" } else { "" };
    let sentence = Sentence::default().own(&words).code(&line.place).own(&format!("{itself}{part}"));
    let Some((second, share)) = line.second else { return Some(sentence.own(".")) };
    Some(sentence.own(", then in ").code(second).own(&format!(" ({}).", percent(share))))
}

/// The subject itself where it is a kernel, a range or a step; then the kernels and ranges that the finding
/// prints, in the order in which it does. A name that a fact holds but the finding does not print is not what it is about.
pub(super) fn names(facts: &Facts, kernels: &KernelNames<'_>, id: EntityId, found: &Match) -> Vec<CodeName> {
    let entity = facts.get(id);
    let device = facts.related(id, EntityKind::Device);
    let own = match entity.kind {
        EntityKind::Kernel | EntityKind::LaunchShape => of_entity(entity, CodeKind::Kernel),
        EntityKind::Range => of_entity(entity, CodeKind::Range),
        EntityKind::Step => {
            let name = device.and_then(|device| facts.get(device).text("step_name"));
            name.map(|name| range(name.to_owned()))
        }
        _ => None,
    };
    let mut shown: Vec<(usize, CodeName)> = [Some(id), device]
        .into_iter()
        .flatten()
        .flat_map(|id| named_by(facts, kernels, id))
        .filter_map(|name| Some((shown_at(found, &name.name)?, name)))
        .collect();
    shown.sort_by_key(|(index, _)| *index);
    let mut names: Vec<CodeName> = own.into_iter().collect();
    for (_, name) in shown {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn range(name: String) -> CodeName {
    CodeName { kind: CodeKind::Range, name, full_name: None }
}

fn of_entity(entity: &Entity, kind: CodeKind) -> Option<CodeName> {
    let full_name = entity.text("full_name").map(str::to_owned);
    entity.text("name").map(|name| CodeName { kind, name: name.to_owned(), full_name })
}

fn named_by(facts: &Facts, kernels: &KernelNames<'_>, id: EntityId) -> Vec<CodeName> {
    let entity = facts.get(id);
    let facts_of_kind = NAMING.iter().filter(|(kind, ..)| *kind == entity.kind);
    let named = facts_of_kind.filter_map(|(_, fact, kind)| Some((entity.text(fact)?, *kind)));
    named
        .map(|(name, kind)| match kind {
            CodeKind::Range => range(name.to_owned()),
            CodeKind::Kernel => kernels.code_name(facts, id, name),
        })
        .collect()
}

/// The first kernel of each device and name.
pub(super) struct KernelNames<'a>(HashMap<(EntityId, &'a str), EntityId>);

impl<'a> KernelNames<'a> {
    pub(super) fn new(facts: &'a Facts) -> Self {
        let mut first = HashMap::default();
        for (id, kernel) in facts.of_kind(EntityKind::Kernel) {
            if let (Some(device), Some(name)) = (facts.related(id, EntityKind::Device), kernel.text("name")) {
                first.entry((device, name)).or_insert(id);
            }
        }
        Self(first)
    }

    /// A kernel that a device names; its entity may have been left out.
    fn code_name(&self, facts: &Facts, device: EntityId, name: &str) -> CodeName {
        let kernel = self.0.get(&(device, name)).map(|id| facts.get(*id));
        let full_name = kernel.and_then(|kernel| kernel.text("full_name")).map(str::to_owned);
        CodeName { kind: CodeKind::Kernel, name: name.to_owned(), full_name }
    }
}

/// Where the finding first shows a name as code, counted through its summary and its evidence.
fn shown_at(found: &Match, name: &str) -> Option<usize> {
    let sentences = std::iter::once(&found.summary).chain(&found.evidence);
    sentences.flat_map(Sentence::codes).position(|shown| shown == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::catalogue::{self, FactType};
    use crate::findings::samples::{Sample, finding};
    use crate::rules::outcome::Outcome;

    #[test]
    fn every_fact_that_names_code_is_known() {
        for kind in EntityKind::ALL {
            for fact in catalogue::of_kind(kind).filter(|fact| matches!(fact.kind, FactType::Text)) {
                let names_code = ["range", "kernel"].iter().any(|word| fact.name.ends_with(word));
                let is_known = NAMING.iter().any(|(of, name, _)| (*of, *name) == (kind, fact.name));
                assert!(is_known || !names_code, "{}.{}", kind.name(), fact.name);
            }
        }
        for (kind, name, _) in NAMING {
            assert!(catalogue::find(kind, name).is_some(), "{}.{name}", kind.name());
        }
    }

    fn found(summary: Sentence) -> Match {
        match finding(None, "") {
            Outcome::Finding(found) => Match { summary, ..*found },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_finding_names_what_it_prints_and_nothing_else() {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "A100", 1_000, &[]);
        let kernel = sample.facts.add(EntityKind::Kernel, "k", &[device, run]);
        sample.facts.get_mut(kernel).set("name", "saxpy");
        sample.facts.get_mut(kernel).set("full_name", "void saxpy<float>(int)");
        let entity = sample.facts.get_mut(device);
        entity.set("tiny_kernel_storm_kernel", "saxpy");
        entity.set("idle_host_range", "load");
        entity.set("idle_blocked_range", "step");
        let texts = |found: &Match| -> Vec<String> {
            names(&sample.facts, &KernelNames::new(&sample.facts), device, found)
                .into_iter()
                .map(|name| name.name)
                .collect()
        };
        let words = Sentence::default;
        assert_eq!(
            texts(&found(words().own("Most of it in ").code("load").own(", then ").code("saxpy"))),
            ["load", "saxpy"]
        );
        // A word of the sentence is no name, nor is a part of a longer one.
        assert!(
            texts(&found(words().own("Each `step` loads ").value("step").own(" and ").code("load more"))).is_empty()
        );
        let full =
            &names(&sample.facts, &KernelNames::new(&sample.facts), device, &found(words().code("saxpy")))[0].full_name;
        assert_eq!(full.as_deref(), Some("void saxpy<float>(int)"));
        assert_eq!(
            names(&sample.facts, &KernelNames::new(&sample.facts), kernel, &found(words().own("A kernel")))[0].name,
            "saxpy"
        );
    }

    #[test]
    fn the_first_name_decides_and_of_its_mappings_the_first() {
        let source = |kind, pattern: &str, line| Source {
            kind,
            pattern: Glob::new(pattern),
            location: SourceLocation { file: "a.cu".to_owned(), line: Some(line) },
        };
        let list = vec![
            source(CodeKind::Range, "sax*", 1),
            source(CodeKind::Kernel, "void saxpy<*", 2),
            source(CodeKind::Kernel, "saxpy", 3),
            source(CodeKind::Range, "step", 4),
        ];
        let sources = Sources { list, folders: Vec::new() };
        let kernel = |full: Option<&str>| CodeName {
            kind: CodeKind::Kernel,
            name: "saxpy".to_owned(),
            full_name: full.map(str::to_owned),
        };
        let line = |names: &[CodeName]| sources.find(names).and_then(|location| location.line);
        assert_eq!(line(&[kernel(Some("void saxpy<float>(int)")), range("step".to_owned())]), Some(2));
        assert_eq!(line(&[kernel(None)]), Some(3));
        assert_eq!(line(&[range("step".to_owned()), kernel(None)]), Some(4));
        assert_eq!(line(&[range("other".to_owned())]), None);
    }
}
