//! The command line: one file a subcommand.

mod baseline;
mod collect;
#[cfg(feature = "comment")]
mod comment;
mod compare;
mod config;
mod exit;
mod facts;
mod format;
mod guard;
mod history;
mod output;
mod progress;
mod project;
mod review;
mod rules;
mod signals;
mod tokens;
mod whatif;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use coldspot::analysis::{self, Part};
use coldspot::ledger::Scope;
use coldspot::source::{Limits, Progress, ReadOptions};
use exit::{Exit, Failure};
use guard::Work;
use progress::Bar;

const EXAMPLES: &str = "\
Examples:
  coldspot review run.sqlite                       what to change first
  coldspot review trace.json.gz                    a trace of the PyTorch Profiler
  coldspot review run.nsys-rep --range step/3      the third range named 'step' alone
  coldspot review run.sqlite --fail-on high        exit code 1 when something grave is found
  coldspot compare base.sqlite head.sqlite         what a change did, and why
  coldspot history facts-of-nights                 since when a step takes longer
  coldspot whatif run.sqlite --pin-copies          what a step would take after a change
  coldspot collect run.sqlite                      what to record next, and how
  coldspot facts run.sqlite --format json          all numbers
  coldspot facts --list                            what the numbers mean
  coldspot rules show pageable-copy                what a rule looks for, and why
  coldspot rules new slow-reduce --dir my-rules    begin a rule of one's own
  coldspot rules test my-rules                     run the tests that rule files carry

A report is a trace of the PyTorch Profiler:
  with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler: ...
  profiler.export_chrome_trace('trace.json.gz')
or comes from NVIDIA Nsight Systems:
  nsys profile --trace=cuda,nvtx,osrt -o run ./program
  nsys export --type sqlite run.nsys-rep           (coldspot can do this itself)
";

/// Reads a GPU profile and says where the time went, why, and what to change first.
#[derive(Debug, Parser)]
#[command(name = "coldspot", version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    bounds: guard::Arguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Review a report: where the time of each GPU went, and what to change first.
    Review(review::Arguments),
    /// Compare two reports, or several runs of each side: what changed, why, and whether it may pass.
    Compare(compare::Arguments),
    /// Follow the facts of nightly runs, or of commits: since when a step takes longer.
    History(history::Arguments),
    /// Write down the findings that are known.
    #[command(subcommand)]
    Baseline(baseline::Task),
    /// Print the facts that rules see.
    Facts(facts::Arguments),
    /// Print what to record next, and how: commands for nsys, code for the PyTorch Profiler, ncu for the kernels that matter.
    Collect(collect::Arguments),
    /// Say what a step would take after changes of the program: the recording played again without a cause.
    #[command(name = "whatif")]
    WhatIf(whatif::Arguments),
    /// List, show, write, test and check rules.
    #[command(subcommand)]
    Rules(rules::Task),
    /// Post the comment of a pull request, or update it where it is there already.
    #[cfg(feature = "comment")]
    Comment(comment::Arguments),
    /// Check coldspot.toml, or print its schema.
    #[command(subcommand)]
    Config(config::Task),
}

impl Command {
    /// What there is to do, for the bounds of the run.
    fn work(&self) -> Work {
        match self {
            Self::Review(arguments) => arguments.work(),
            Self::Compare(arguments) => arguments.work(),
            Self::History(arguments) => arguments.work(),
            Self::Baseline(task) => task.work(),
            Self::Facts(arguments) => arguments.work(),
            Self::WhatIf(arguments) => arguments.work(),
            Self::Collect(arguments) => arguments.work(),
            #[cfg(feature = "comment")]
            Self::Comment(arguments) => arguments.work(),
            Self::Rules(_) | Self::Config(_) => Work::default(),
        }
    }
}

/// Which report, and how it is read.
#[derive(Debug, Args)]
struct Reading {
    /// Measure between two times since the start of the capture: `1.5s..2s`, `100ms..`, `..2s` (ns, us, ms or s).
    #[arg(long, value_name = "START..END", value_parser = analysis::scope::window, conflicts_with = "range")]
    window: Option<Scope>,
    /// Measure in one range (NVTX range) of this name; `NAME/3` is the third of them in time.
    #[arg(long, value_name = "NAME[/N]", value_parser = analysis::scope::range)]
    range: Option<Scope>,
    /// Which part of the window to look at: `steady`, which a review does by itself, `whole`, `set-up`, `warm-up` or `tear-down`.
    /// Where nothing repeats there are no phases, and it is the whole window, in a review without
    /// pages of unified memory that only the host asks for after the last launched work.
    #[arg(long = "phase", value_name = "PHASE", value_parser = part)]
    part: Option<Part>,
    /// The range that is a step, with or without its numbers: `step`, `token_0_processing`.
    #[arg(long, value_name = "NAME")]
    step: Option<String>,
    /// Look at one GPU only, by the number that the report gives it.
    #[arg(long, value_name = "N")]
    device: Option<i64>,
    /// Threads to work with; as many as the machine has, up to eight, by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// The nsys program that exports .nsys-rep files; looked for on PATH by default.
    #[arg(long, value_name = "PATH")]
    nsys: Option<PathBuf>,
    /// The ncu program that prints .ncu-rep files; looked for on PATH by default.
    #[arg(long, value_name = "PATH")]
    ncu_program: Option<PathBuf>,
    /// A report of Nsight Compute (.ncu-rep), or a page of it as CSV (`ncu --import FILE.ncu-rep --csv --page raw`): tells why
    /// the kernels of the report that have the same name, grid and block are slow. May be given again.
    #[arg(long, value_name = "FILE")]
    ncu: Vec<PathBuf>,
    /// Take in more, or less, of a report than usual: `rows` of one table, `name-bytes` of one name, different `names`,
    /// `host-rows` (those of host threads, for each GPU). Reaching a limit is said in the review. May be given again.
    #[arg(long = "limit", value_name = "NAME=N", value_parser = analysis::scope::limit)]
    limits: Vec<(&'static str, u32)>,
    /// No progress bar and no warnings.
    #[arg(long)]
    quiet: bool,
}

impl Reading {
    /// What is to be read: reports, and what tells more of their kernels.
    fn work<'paths>(&'paths self, reports: impl IntoIterator<Item = &'paths PathBuf>) -> Work {
        Work::of(reports.into_iter().chain(&self.ncu))
    }

    /// The files that are read: these, and what tells more of their kernels.
    fn files<'paths>(
        &'paths self,
        reports: impl IntoIterator<Item = &'paths Path>,
    ) -> impl Iterator<Item = &'paths Path> {
        reports.into_iter().chain(self.ncu.iter().map(PathBuf::as_path))
    }

    fn options(&self) -> analysis::Reading {
        let mut limits = Limits::default();
        for (name, value) in &self.limits {
            limits.set(name, *value);
        }
        let options = ReadOptions {
            threads: self.threads.map(usize::from),
            nsys: self.nsys.clone(),
            ncu: self.ncu_program.clone(),
            limits,
            root: None,
        };
        let scope = self.window.clone().or_else(|| self.range.clone()).unwrap_or_default();
        let progress: fn() -> Box<dyn Progress> = if self.quiet { || Box::new(()) } else { || Box::new(Bar::new()) };
        let profiles = self.ncu.clone();
        analysis::Reading {
            options,
            scope,
            part: self.part,
            step: self.step.clone(),
            device: self.device,
            profiles,
            progress,
        }
    }
}

/// A part of a window by its name.
fn part(name: &str) -> Result<Part, String> {
    let found = Part::ALL.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, part)| part).ok_or_else(|| format!("phases are {}", Part::ALL.map(|(known, _)| known).join(", ")))
}

/// Where the result goes.
#[derive(Debug, Args)]
struct Output {
    /// Write to this file instead of standard output; it is replaced whole or not at all.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command that the arguments name.
pub(crate) fn main() -> ExitCode {
    signals::handle();
    let codes = exit::table();
    let command = Cli::command().after_help(format!("{EXAMPLES}\n{codes}"));
    let examples = |examples: &str| format!("{examples}\n{codes}");
    let mut command = command
        .mut_subcommand("whatif", |whatif| whatif.after_help(examples(whatif::EXAMPLES)))
        .mut_subcommand("collect", |collect| collect.after_help(examples(collect::EXAMPLES)))
        .mut_subcommand("review", |review| review.after_help(examples(review::EXAMPLES)))
        .mut_subcommand("compare", |compare| compare.after_help(examples(compare::EXAMPLES)))
        .mut_subcommand("history", |history| history.after_help(examples(history::EXAMPLES)));
    #[cfg(feature = "comment")]
    {
        command = command.mut_subcommand("comment", |comment| comment.after_help(examples(comment::EXAMPLES)));
    }
    let parsed = command.try_get_matches_from_mut(std::env::args_os()).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        // Help and version are no errors, and clap prints them to standard output.
        Err(error) => {
            let is_error = error.use_stderr();
            if is_error {
                // They quote arguments, which a pattern over the files of a folder may have given.
                output::eprint_message(error.render().to_string().trim_end());
                return Exit::Usage.into();
            }
            // A closed pipe is all that can go wrong here.
            let _ = error.print();
            return Exit::Ok.into();
        }
    };
    guard::watch(&cli.bounds, &cli.command.work());
    let result = match cli.command {
        Command::Review(arguments) => review::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::History(arguments) => history::run(&arguments),
        Command::Baseline(task) => baseline::run(&task),
        Command::Facts(arguments) => facts::run(&arguments),
        Command::WhatIf(arguments) => whatif::run(&arguments),
        Command::Collect(arguments) => collect::run(&arguments),
        Command::Rules(task) => rules::run(&task),
        #[cfg(feature = "comment")]
        Command::Comment(arguments) => comment::run(&arguments),
        Command::Config(task) => config::run(&task),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(Failure { exit, message }) => {
            output::eprint_message(&format!("coldspot: {message}"));
            exit.into()
        }
    }
}
