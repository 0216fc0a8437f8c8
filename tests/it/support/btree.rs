//! Writes tables page by page, as SQLite never would: rows that all continue on the same overflow pages.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

/// A cell of a row.
pub enum Cell {
    Int(i64),
    /// A text that begins like this, and goes on over all the pages that the rows share.
    Long(String),
    /// A number that lies behind them.
    Late,
}

/// Lets the rows of a table, from 1 to `rows`, share one chain of overflow pages.
pub fn share_overflow(path: &Path, table: &str, rows: i64, pages: usize, row: impl Fn(i64) -> Vec<Cell>) {
    let mut file = Pages::of(path);
    let body = vec![b'B'; pages * (file.size - 4)];
    let first = file.chain(&body);
    let cells: Vec<(i64, Vec<u8>)> = (1..=rows).map(|id| (id, file.cell(id, &row(id), pages, first))).collect();
    let root = file.tree(&cells);
    file.write(path);
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA writable_schema = ON;").unwrap();
    db.execute("UPDATE sqlite_master SET rootpage = ?1 WHERE name = ?2", (root, table)).unwrap();
}

struct Pages {
    bytes: Vec<u8>,
    size: usize,
}

impl Pages {
    fn of(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
        Self { bytes, size }
    }

    fn count(&self) -> u32 {
        (self.bytes.len() / self.size) as u32
    }

    fn push(&mut self, page: &[u8]) -> u32 {
        assert!(page.len() <= self.size);
        self.bytes.extend(page);
        self.bytes.resize(self.bytes.len().next_multiple_of(self.size), 0);
        self.count()
    }

    fn write(mut self, path: &Path) {
        let count = self.count();
        self.bytes[28..32].copy_from_slice(&count.to_be_bytes());
        self.bytes.copy_within(24..28, 92);
        fs::write(path, self.bytes).unwrap();
    }

    /// Overflow pages that hold all of it; the number of the first.
    fn chain(&mut self, body: &[u8]) -> u32 {
        let first = self.count() + 1;
        let parts: Vec<&[u8]> = body.chunks(self.size - 4).collect();
        for (index, part) in parts.iter().enumerate() {
            let next = if index + 1 == parts.len() { 0 } else { self.count() + 2 };
            self.push(&[&next.to_be_bytes(), *part].concat());
        }
        first
    }

    /// What SQLite leaves on the page of a row that goes on elsewhere.
    fn local(&self) -> usize {
        (self.size - 12) * 32 / 255 - 23
    }

    fn cell(&self, id: i64, row: &[Cell], pages: usize, overflow: u32) -> Vec<u8> {
        let total = self.local() + pages * (self.size - 4);
        // The header says how long the text is, and its own length depends on that.
        let mut long = total;
        let (mut header, mut body) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            (header, body) = record(row, long);
            let late = 8 * row.iter().filter(|cell| matches!(cell, Cell::Late)).count();
            let ints = 8 * row.iter().filter(|cell| matches!(cell, Cell::Int(_))).count();
            long = total - header.len() - late - ints;
        }
        let mut local = [header, body].concat();
        local.resize(self.local(), b'A');
        [varint(total as u64), varint(id as u64), local, overflow.to_be_bytes().to_vec()].concat()
    }

    /// The pages of a table; the number of its root.
    fn tree(&mut self, cells: &[(i64, Vec<u8>)]) -> u32 {
        let mut level: Vec<(i64, u32)> = Vec::new();
        let per_leaf = (self.size - 8) / (cells.iter().map(|(_, cell)| cell.len()).max().unwrap_or(1) + 2);
        for leaf in cells.chunks(per_leaf) {
            let page = self.node(13, &leaf.iter().map(|(_, cell)| cell.clone()).collect::<Vec<_>>(), None);
            level.push((leaf.last().unwrap().0, page));
        }
        while level.len() > 1 {
            let mut above = Vec::new();
            for group in level.chunks((self.size - 12) / 16) {
                let (last, rest) = group.split_last().unwrap();
                let cells: Vec<Vec<u8>> =
                    rest.iter().map(|(id, page)| [page.to_be_bytes().to_vec(), varint(*id as u64)].concat()).collect();
                above.push((last.0, self.node(5, &cells, Some(last.1))));
            }
            level = above;
        }
        level[0].1
    }

    /// A page of a tree: of rows, or of further pages, of which `last` is behind all cells.
    fn node(&mut self, kind: u8, cells: &[Vec<u8>], last: Option<u32>) -> u32 {
        let mut page = vec![0; self.size];
        let mut at = self.size;
        let header = if last.is_some() { 12 } else { 8 };
        for (index, cell) in cells.iter().enumerate() {
            at -= cell.len();
            page[at..at + cell.len()].copy_from_slice(cell);
            page[header + 2 * index..header + 2 * index + 2].copy_from_slice(&(at as u16).to_be_bytes());
        }
        page[0] = kind;
        page[3..5].copy_from_slice(&(cells.len() as u16).to_be_bytes());
        page[5..7].copy_from_slice(&(at as u16).to_be_bytes());
        if let Some(last) = last {
            page[8..12].copy_from_slice(&last.to_be_bytes());
        }
        self.push(&page)
    }
}

/// The header of a row, and its body as far as the beginning of the long text.
fn record(row: &[Cell], long: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut types, mut body) = (Vec::new(), Vec::new());
    for cell in row {
        match cell {
            Cell::Int(value) => {
                types.extend(varint(6));
                body.extend(value.to_be_bytes());
            }
            Cell::Long(start) => {
                types.extend(varint(2 * long as u64 + 13));
                body.extend(start.as_bytes());
            }
            Cell::Late => types.extend(varint(6)),
        }
    }
    ([varint(types.len() as u64 + 1), types].concat(), body)
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = vec![(number & 0x7F) as u8];
    number >>= 7;
    while number > 0 {
        bytes.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    bytes.reverse();
    bytes
}
