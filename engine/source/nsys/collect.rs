//! Rows of tables that are read whole on one thread, and of which something is made: from the pages of the file where they are plain, which
//! costs a fraction of what SQLite takes for a row.

use std::path::Path;

use rusqlite::Connection;

use super::cells::Cells;
use super::database::Schema;
use super::pages::{Pages, Unread};

impl Schema {
    /// Makes something of the rows of a table, up to `most`, in the order of their ids and under the budget. A column that the table lacks is
    /// absent.
    ///
    /// # Errors
    /// When the budget is used up, or SQLite finds damage.
    pub(super) fn collect<T: Default>(
        &self,
        db: &Connection,
        (table, columns): (&str, &[&str]),
        most: u64,
        mut take: impl FnMut(&mut T, &dyn Cells),
    ) -> rusqlite::Result<T> {
        if self.beyond(db, table, most)? == 0
            && let Some(made) = self.collect_from_pages(db, (table, columns), &mut take)?
        {
            return Ok(made);
        }
        let mut made = T::default();
        self.each(db, &self.select(table, columns), most, |cells| take(&mut made, cells))?;
        Ok(made)
    }

    /// The same without SQLite; `None` where something there is not plain.
    fn collect_from_pages<T: Default>(
        &self,
        db: &Connection,
        (table, columns): (&str, &[&str]),
        mut take: impl FnMut(&mut T, &dyn Cells),
    ) -> rusqlite::Result<Option<T>> {
        let budget = self.budget();
        let pages = db.path().and_then(|path| Pages::open(Path::new(path), budget.clone()));
        let Some((mut pages, plain)) = pages.zip(self.plain(table, columns)) else { return Ok(None) };
        let (mut made, mut rows, mut text_bytes, mut checked) = (T::default(), 0, 0, Ok(()));
        let read = pages.rows(&plain, (i64::MIN, i64::MAX), |record| {
            rows += 1;
            checked = budget.check_rows(rows);
            take(&mut made, record);
            text_bytes += record.handed.get();
            if checked.is_ok() { Ok(()) } else { Err(Unread::NotPlain) }
        });
        checked?;
        if read.is_err() {
            return Ok(None);
        }
        budget.hand_over(text_bytes)?;
        Ok(Some(made))
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Budget;
    use super::super::database;
    use super::*;

    /// The ids that are made of a table whose rows are filled in by a statement, and how often there was nothing made yet.
    fn collected(columns: &str, insert: &str, most: u64) -> (Vec<i64>, usize) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let create = format!("CREATE TABLE SAMPLING_CALLCHAINS ({columns}); {insert}");
        Connection::open(file.path()).unwrap().execute_batch(&create).unwrap();
        let budget = Budget::of(file.path());
        let db = database::open(file.path(), &budget).unwrap();
        let schema = Schema::probe(&db, budget).unwrap();
        let mut begun = 0;
        let table = ("SAMPLING_CALLCHAINS", ["id", "symbol", "module"].as_slice());
        let made = schema.collect(&db, table, most, |ids: &mut Vec<i64>, cells| {
            begun += usize::from(ids.is_empty());
            assert_eq!((cells.int(2), cells.bytes(0)), (None, None));
            ids.extend(cells.int(0).zip(cells.int(1)).map(|(id, symbol)| 10 * id + symbol));
        });
        (made.unwrap(), begun)
    }

    #[test]
    fn rows_count_once_whoever_reads_them() {
        let insert = "INSERT INTO SAMPLING_CALLCHAINS (id, symbol) VALUES (1, 2), (3, 4), (5, 6);";
        for columns in ["id INTEGER PRIMARY KEY, symbol INT", "id INT, symbol INT, depth INT, PRIMARY KEY (id, depth)"]
        {
            assert_eq!(collected(columns, insert, 9), (vec![12, 34, 56], 1), "{columns}");
            assert_eq!(collected(columns, insert, 2), (vec![12, 34], 1), "{columns}");
        }
        // The last row goes on on another page, so SQLite reads all of them.
        let long = format!(
            "{insert} INSERT INTO SAMPLING_CALLCHAINS (id, symbol, module) VALUES (7, 8, hex(zeroblob(9000)));"
        );
        assert_eq!(collected("id INTEGER PRIMARY KEY, symbol INT, module TEXT", &long, 9), (vec![12, 34, 56, 78], 2));
        assert_eq!(collected("id INTEGER PRIMARY KEY, symbol INT", "", 9), (vec![], 0));
    }
}
