//! The command line.
fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let started = std::time::Instant::now();
    match coldspot::read::read(std::path::Path::new(&path), &coldspot::read::ReadOptions::default(), &()) {
        Ok(t) => {
            eprintln!("read {:?}", started.elapsed());
            let facts = coldspot::facts::extract(&t, &coldspot::ledger::Scope::All).unwrap();
            eprintln!("facts {:?}", started.elapsed());
            for (_, e) in facts.iter() {
                println!("{} {}", e.kind.name(), e.key);
                for (n, v) in e.facts() {
                    println!("   {n} = {v:?}");
                }
            }
        }
        Err(e) => println!("{e}"),
    }
}
