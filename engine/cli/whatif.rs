//! `coldspot whatif`.

use std::path::PathBuf;

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use coldspot::analysis::Analysis;
use coldspot::render::whatif::{whatif_json, whatif_text};
use coldspot::replay::Change;
use coldspot::rules::{Library, Rule};

use super::exit::{Exit, Failure};
use super::format::TextOrJson;
use super::guard::Work;
use super::project::ProjectArguments;
use super::{Output, Reading, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  coldspot whatif run.sqlite                            what each change could win
  coldspot whatif run.sqlite --pin-copies --no-sync     what both win together
  coldspot whatif run.sqlite --rule pageable-copy       what the change wins that a rule advises
";

/// What `coldspot whatif` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A report: a trace of the PyTorch Profiler, an .sqlite export of Nsight Systems, or an .nsys-rep.
    report: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// The format.
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
}

/// The changes that are made: one option each, and those that rules advise.
#[derive(Debug)]
struct Changes {
    asked: Vec<Change>,
    /// Ids of rules.
    rules: Vec<String>,
}

const RULE: &str = "rule";

impl Changes {
    fn of(matches: &ArgMatches) -> Self {
        let rules = matches.get_many::<String>(RULE).into_iter().flatten().cloned().collect();
        let asked = Change::ALL.iter().copied().filter(|change| matches.get_flag(change.id())).collect();
        Self { asked, rules }
    }

    /// Those asked for, with those that the rules advise.
    fn all(&self) -> Result<Vec<Change>, Failure> {
        let mut all = self.asked.clone();
        if !self.rules.is_empty() {
            all.extend(self.advised()?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Those that the rules advise.
    fn advised(&self) -> Result<Vec<Change>, Failure> {
        let library = Library::builtin().map_err(|faults| Failure::new(Exit::Rules, faults))?;
        let advised = |id: &String| {
            let change = library.rule(id).and_then(Rule::replay);
            let known = library.rules().iter().filter(|rule| rule.replay().is_some()).map(|rule| rule.id());
            let known: Vec<&str> = known.collect();
            let problem = || {
                format!("--rule {id}: no rule of that name advises what can be played; these do: {}", known.join(", "))
            };
            change.ok_or_else(|| Failure::new(Exit::Usage, problem()))
        };
        self.rules.iter().map(advised).collect()
    }
}

impl FromArgMatches for Changes {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self::of(matches))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::of(matches);
        Ok(())
    }
}

impl Args for Changes {
    fn augment_args(command: Command) -> Command {
        let option = |change: &Change| {
            Arg::new(change.id())
                .long(change.id())
                .action(ArgAction::SetTrue)
                .help(change.help())
                .help_heading("Changes")
        };
        let rule = Arg::new(RULE)
            .long(RULE)
            .value_name("ID")
            .action(ArgAction::Append)
            .help("The changes that a rule advises. May be given again.")
            .help_heading("Changes");
        command.args(Change::ALL.iter().map(option)).arg(rule)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Arguments {
    pub(super) fn work(&self) -> Work {
        self.reading.work([&self.report])
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    output::refuse_overwrite(
        arguments.reading.files([arguments.report.as_path()]),
        arguments.output.output.as_deref(),
    )?;
    let asked = arguments.changes.all()?;
    let changes = if asked.is_empty() { Change::ALL } else { asked.as_slice() };
    let analysis = Analysis::new(ProjectArguments::default().load(&[], None)?, arguments.reading.options());
    let (answers, review) = analysis.what_if(&arguments.report, changes)?;
    let is_combined = !asked.is_empty();
    let text = match arguments.format {
        TextOrJson::Text => whatif_text(&answers, &review, is_combined),
        TextOrJson::Json => whatif_json(&answers, &review, is_combined),
    };
    output::write(&text, arguments.output.output.as_deref())?;
    Ok(Exit::Ok)
}
