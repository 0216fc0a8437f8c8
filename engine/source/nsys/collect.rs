//! Rows of tables that are read whole on one thread, and of which something is made: from the pages of the file where they are plain, which
//! costs a fraction of what SQLite takes for a row.

use std::path::Path;

use rusqlite::Connection;

use super::cells::Cells;
use super::database::Schema;
use super::pages::{Pages, Unread};

impl Schema {
    /// Makes something of the rows of a table, up to `most`, each once and under the budget; with how many lie beyond. A column that the
    /// table lacks is absent.
    ///
    /// # Errors
    /// When the budget is used up, or SQLite finds damage.
    pub(super) fn collect<T: Default>(
        &self,
        db: &Connection,
        (table, columns): (&str, &[&str]),
        most: u64,
        mut take: impl FnMut(&mut T, &dyn Cells),
    ) -> rusqlite::Result<(T, u64)> {
        let beyond = self.beyond(db, table, most)?;
        if beyond == 0
            && let Some(made) = self.collect_from_pages(db, (table, columns), &mut take)?
        {
            return Ok((made, beyond));
        }
        let mut made = T::default();
        self.each(db, &self.select(table, columns), most, |cells| take(&mut made, cells))?;
        Ok((made, beyond))
    }

    /// The same without SQLite; `None` where something there is not plain, or not as SQLite would write it: that tells what it can of it.
    fn collect_from_pages<T: Default>(
        &self,
        db: &Connection,
        (table, columns): (&str, &[&str]),
        mut take: impl FnMut(&mut T, &dyn Cells),
    ) -> rusqlite::Result<Option<T>> {
        let budget = self.budget();
        let Some(plain) = self.plain(table, columns) else { return Ok(None) };
        let pages = db.path().and_then(|path| Pages::open(Path::new(path), budget.clone()));
        let Some(mut pages) = pages else { return Ok(None) };
        let (mut made, mut rows, mut text_bytes, mut checked) = (T::default(), 0, 0, Ok(()));
        let read = pages.rows(&plain, (i64::MIN, i64::MAX), |record| {
            rows += 1;
            checked = budget.check_rows(rows);
            if checked.is_err() {
                return Err(Unread::NotPlain);
            }
            take(&mut made, record);
            text_bytes += record.handed.get();
            Ok(())
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

    /// What is made of a table whose rows are filled in by a statement, how many rows lie beyond, and how often nothing was made yet.
    fn collected(columns: &str, insert: &str, most: u64) -> (Vec<i64>, u64, usize) {
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
        let (made, beyond) = made.unwrap();
        (made, beyond, begun)
    }

    #[test]
    fn rows_count_once_whoever_reads_them() {
        let insert = "INSERT INTO SAMPLING_CALLCHAINS (id, symbol) VALUES (1, 2), (3, 4), (5, 6);";
        for columns in ["id INTEGER PRIMARY KEY, symbol INT", "id INT, symbol INT, depth INT, PRIMARY KEY (id, depth)"]
        {
            assert_eq!(collected(columns, insert, 9), (vec![12, 34, 56], 0, 1), "{columns}");
            assert_eq!(collected(columns, insert, 2), (vec![12, 34], 1, 1), "{columns}");
        }
        // The last row goes on on another page, so SQLite reads all of them.
        let long = format!(
            "{insert} INSERT INTO SAMPLING_CALLCHAINS (id, symbol, module) VALUES (7, 8, hex(zeroblob(9000)));"
        );
        assert_eq!(
            collected("id INTEGER PRIMARY KEY, symbol INT, module TEXT", &long, 9),
            (vec![12, 34, 56, 78], 0, 2)
        );
        assert_eq!(collected("id INTEGER PRIMARY KEY, symbol INT", "", 9), (vec![], 0, 0));
    }
}
