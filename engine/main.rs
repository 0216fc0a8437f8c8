//! The command line.
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use coldspot::rules::outcome::Outcome;
fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let wants_facts = std::env::args().nth(2).is_some();
    let timeline =
        coldspot::read::read(std::path::Path::new(&path), &coldspot::read::ReadOptions::default(), &()).unwrap();
    let facts = coldspot::facts::extract(&timeline, &coldspot::ledger::Scope::All).unwrap();
    if wants_facts {
        for (_, entity) in facts.iter() {
            println!("{} {}", entity.kind.name(), entity.key);
            for (name, value) in entity.facts() {
                println!("   {name} = {value:?}");
            }
        }
        return;
    }
    let library = match coldspot::rules::Library::builtin() {
        Ok(library) => library,
        Err(faults) => {
            println!("{faults}");
            return;
        }
    };
    let mut found: Vec<_> = coldspot::rules::evaluate(&library, &facts, &coldspot::rules::Params::default());
    found.sort_by_key(|judgement| match &judgement.outcome {
        Outcome::Finding(found) => -found.estimate.as_ref().map_or(0, |estimate| estimate.recoverable_ns),
        _ => 1,
    });
    for judgement in &found {
        let rule = &library.rules()[judgement.rule];
        let entity = facts.get(judgement.entity);
        match &judgement.outcome {
            Outcome::Finding(found) => println!("FINDING {} on {}\n{found:#?}", rule.id(), entity.key),
            Outcome::Unknown { missing } => println!("UNKNOWN {} on {}: {missing:?}", rule.id(), entity.key),
            Outcome::Failed { message } => println!("FAILED {} on {}: {message}", rule.id(), entity.key),
            Outcome::Pass | Outcome::NotApplicable => {}
        }
    }
}
