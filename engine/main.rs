//! The command line.
fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let started = std::time::Instant::now();
    match coldspot::read::read(std::path::Path::new(&path), &coldspot::read::ReadOptions::default(), &()) {
        Ok(t) => println!(
            "{} ops, {} api, {} ranges, {:?} {:?} {:?}",
            t.gpu_op_count(),
            t.api.len(),
            t.ranges.len(),
            started.elapsed(),
            t.devices,
            t.dropped
        ),
        Err(e) => println!("{e}"),
    }
}
