//! Makes a large report out of a small one: its events repeated one after the other in time, with correlation ids of
//! their own, so that all shares stay as they were and all sums grow.

use std::path::Path;

use rusqlite::Connection;

const TIMES: [&str; 3] = ["start", "end", "timestamp"];
/// Tables that describe the recording and hold no events.
const DESCRIPTIONS: [&str; 8] =
    ["ENUM_", "META_DATA", "EXPORT_META", "TARGET_INFO", "ANALYSIS_", "StringIds", "ThreadNames", "PROCESSES"];

/// Writes `copies` times the events of `source` to `target`.
pub(crate) fn enlarge(source: &Path, target: &Path, copies: u32) -> rusqlite::Result<()> {
    std::fs::copy(source, target).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    let mut db = Connection::open(target)?;
    db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    let tables = event_tables(&db)?;
    let (mut low, mut high, mut last_id) = (i64::MAX, i64::MIN, 0);
    for (table, columns) in &tables {
        let has = |name: &str| columns.iter().any(|column| column == name);
        if has("start") && has("end") {
            let sql = format!("SELECT min(start), max(\"end\") FROM {table} WHERE \"end\" >= start");
            let (first, last): (Option<i64>, Option<i64>) =
                db.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            low = low.min(first.unwrap_or(i64::MAX));
            high = high.max(last.unwrap_or(i64::MIN));
        }
        if has("correlationId") {
            let sql = format!("SELECT coalesce(max(correlationId), 0) FROM {table}");
            last_id = last_id.max(db.query_row(&sql, [], |row| row.get::<_, i64>(0))?);
        }
    }
    let transaction = db.transaction()?;
    for (table, columns) in &tables {
        let shifted: Vec<String> =
            columns.iter().map(|column| shift(column, high - low + 1_000, last_id + 1)).collect();
        let names: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        transaction.execute_batch(&format!("CREATE TEMP TABLE once AS SELECT * FROM main.{table}"))?;
        let sql = format!("INSERT INTO main.{table} ({}) SELECT {} FROM once", names.join(", "), shifted.join(", "));
        let mut insert = transaction.prepare(&sql)?;
        for copy in 1..i64::from(copies) {
            insert.execute([copy])?;
        }
        drop(insert);
        transaction.execute_batch("DROP TABLE once")?;
    }
    transaction.commit()
}

fn shift(column: &str, step: i64, id_step: i64) -> String {
    match column {
        "correlationId" => format!("\"{column}\" + ?1 * {id_step}"),
        time if TIMES.contains(&time) => format!("\"{column}\" + ?1 * {step}"),
        other => format!("\"{other}\""),
    }
}

fn event_tables(db: &Connection) -> rusqlite::Result<Vec<(String, Vec<String>)>> {
    let mut tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    let tables: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for table in tables {
        if DESCRIPTIONS.iter().any(|beginning| table.starts_with(beginning)) {
            continue;
        }
        let mut columns = db.prepare("SELECT name FROM pragma_table_info(?1) WHERE pk = 0")?;
        let columns: Vec<String> = columns.query_map([&table], |row| row.get(0))?.collect::<Result<_, _>>()?;
        if columns.iter().any(|column| TIMES.contains(&column.as_str())) {
            found.push((table, columns));
        }
    }
    Ok(found)
}
