//! Changes that no writer of databases makes: pages that rows share, chains and lists that go in circles, and schemas that
//! stand for more than is there.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::bombs::INVERSE;
use super::mutate::{Random, TABLES, columns, page_size};

/// A long text in some rows, whose pages then are those of other rows, or follow each other without end.
pub fn overflow(path: &Path, random: &mut Random) -> String {
    let (table, column) = lengthen(path, random);
    let mut bytes = fs::read(path).unwrap();
    let size = page_size(&bytes);
    let pointers = overflow_pointers(&bytes, size);
    if pointers.is_empty() {
        return format!("{table}.{column} has no long text");
    }
    let count = 1 + random.below(pointers.len());
    for _ in 0..count {
        let (to, from) = (*random.pick(&pointers), *random.pick(&pointers));
        let target: [u8; 4] = bytes[from..from + 4].try_into().unwrap();
        let chain = (u32::from_be_bytes(target) as usize).saturating_sub(1) * size;
        // Either the row goes on where another does, or its pages begin anew.
        let at = if random.below(3) == 0 { chain } else { to };
        if at + 4 <= bytes.len() {
            bytes[at..at + 4].copy_from_slice(&target);
        }
    }
    fs::write(path, bytes).unwrap();
    format!("{count} rows of {table}.{column} go on elsewhere")
}

fn lengthen(path: &Path, random: &mut Random) -> (String, String) {
    let db = Connection::open(path).unwrap();
    let table = there(&db, random);
    let column = random.pick(&columns(&db, &table)).clone();
    let long = "x".repeat(5_000 << random.below(5));
    // Not every column takes a text.
    let _ = db.execute(&format!("UPDATE {table} SET {column} = rowid || ?1 WHERE rowid % 3 = 0"), [long]);
    (table, column)
}

fn there(db: &Connection, random: &mut Random) -> String {
    let has = |table: &&&str| {
        db.prepare(&format!("SELECT rowid FROM {table}")).and_then(|mut rows| rows.exists([])) == Ok(true)
    };
    let there: Vec<&&str> = TABLES.iter().filter(has).collect();
    (**random.pick(&there)).to_owned()
}

/// Where the rows of a database say which page they go on.
fn overflow_pointers(bytes: &[u8], size: usize) -> Vec<usize> {
    let mut pointers = Vec::new();
    for (number, page) in bytes.chunks_exact(size).enumerate().skip(1).filter(|(_, page)| page[0] == 13) {
        let cells = usize::from(u16::from_be_bytes([page[3], page[4]]));
        for cell in page[8..].chunks_exact(2).take(cells) {
            let at = usize::from(u16::from_be_bytes([cell[0], cell[1]]));
            let Some((total, read)) = page.get(at..).and_then(varint) else { continue };
            let Some((_, read_id)) = page.get(at + read..).and_then(varint) else { continue };
            if total <= size - 35 {
                continue;
            }
            let least = (size - 12) * 32 / 255 - 23;
            let local = least + (total - least) % (size - 4);
            let local = if local <= size - 35 { local } else { least };
            let pointer = at + read + read_id + local;
            if pointer + 4 <= size {
                pointers.push(number * size + pointer);
            }
        }
    }
    pointers
}

fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut number = 0_usize;
    for (index, byte) in bytes.iter().take(8).enumerate() {
        number = number << 7 | usize::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    None
}

/// Says that some page is the first of those that are free.
pub fn freelist(bytes: &mut [u8], random: &mut Random) -> String {
    let size = page_size(bytes);
    let first = 1 + random.below(bytes.len() / size) as u32;
    bytes[32..36].copy_from_slice(&first.to_be_bytes());
    bytes[36..40].copy_from_slice(&(random.below(1 << 20) as u32).to_be_bytes());
    if random.below(2) == 0 {
        let at = (first as usize - 1) * size;
        bytes[at..at + 4].copy_from_slice(&first.to_be_bytes());
    }
    format!("the free pages begin at {first}")
}

/// How a page of a table begins that lists other pages, and where its list of them does.
const INTERIOR: u8 = 5;
const INTERIOR_CELLS: usize = 12;

/// Pages above others list themselves, those above them, or those of others.
pub fn tree(bytes: &mut [u8], random: &mut Random) -> String {
    let size = page_size(bytes);
    let page_count = bytes.len() / size;
    let begin = |page: usize| page * size + if page == 0 { 100 } else { 0 };
    let interior: Vec<usize> = (0..page_count).filter(|page| bytes.get(begin(*page)) == Some(&INTERIOR)).collect();
    if interior.is_empty() {
        return "no page lists others".to_owned();
    }
    let mut done = Vec::new();
    for _ in 0..1 + random.below(4) {
        let page = *random.pick(&interior);
        let start = begin(page);
        let cell_count = usize::from(u16::from_be_bytes([bytes[start + 3], bytes[start + 4]])).max(1);
        let place = start + INTERIOR_CELLS + 2 * random.below(cell_count);
        // The last page that is listed stands in the header of the page.
        let listed = match random.below(3) {
            0 => start + 8,
            _ => page * size + usize::from(u16::from_be_bytes([bytes[place], bytes[place + 1]])),
        };
        let target = match random.below(4) {
            0 => page,
            1 => *random.pick(&interior),
            2 => random.below(page_count),
            _ => page_count + random.below(3),
        };
        if listed + 4 <= bytes.len() {
            bytes[listed..listed + 4].copy_from_slice(&(target as u32 + 1).to_be_bytes());
            done.push(format!("page {page} lists {target}"));
        }
    }
    done.join(", ")
}

/// A table that begins where another does, at a page of another kind, or beyond the file.
pub fn roots(path: &Path, random: &mut Random) -> String {
    let db = Connection::open(path).unwrap();
    let (table, other) = (there(&db, random), there(&db, random));
    let page = match random.below(4) {
        0 => format!("(SELECT rootpage FROM sqlite_master WHERE name = '{other}')"),
        1 => format!("rootpage + {}", random.below(9)),
        2 => random.below(4).to_string(),
        _ => "2147483647".to_owned(),
    };
    let sql = format!("PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = {page} WHERE name = '{table}'");
    let result = db.execute_batch(&sql);
    format!("{sql:.200} ({result:?})")
}

/// A column in place of another that stands in no row, or a table that is made otherwise.
pub fn schema(path: &Path, random: &mut Random) -> String {
    let db = Connection::open(path).unwrap();
    let table = there(&db, random);
    let column = random.pick(&columns(&db, &table)).clone();
    let long = "x".repeat(1 << random.below(20));
    let rename =
        format!("ALTER TABLE {table} RENAME COLUMN {column} TO was_{column}; ALTER TABLE {table} ADD COLUMN {column}");
    let sql = match random.below(6) {
        0 => format!("{rename} TEXT DEFAULT '{long}'"),
        1 => format!("{rename} INTEGER DEFAULT {}", random.next() as i64 >> random.below(60)),
        2 => format!("{rename} AS (abs(-9223372036854775807 - 1))"),
        3 => format!("{rename} AS (printf('%.1000000c', 'x'))"),
        4 => format!("CREATE INDEX extra ON {table} ({column}) WHERE {column} > abs(rowid)"),
        _ => format!(
            "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = sql || ' WITHOUT ROWID' WHERE name = '{table}'"
        ),
    };
    let result = db.execute_batch(&sql);
    format!("{sql:.200} ({result:?})")
}

/// Ids that a hash without a seed would put together.
pub fn collide(path: &Path, random: &mut Random) -> String {
    let db = Connection::open(path).unwrap();
    let table = there(&db, random);
    let column = random.pick(&columns(&db, &table)).clone();
    db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN").unwrap();
    for id in 1..500_i64 {
        let _ =
            db.execute(&format!("UPDATE {table} SET {column} = ?1 WHERE rowid = ?2"), [INVERSE.wrapping_mul(id), id]);
    }
    let _ = db.execute_batch("COMMIT");
    format!("{table}.{column} collide")
}
