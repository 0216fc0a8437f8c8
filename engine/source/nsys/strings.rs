//! The table of strings.

use rusqlite::Connection;

use super::database::{Cells, Schema};
use crate::timeline::builder::Builder;

/// Tells the builder of the strings that rows refer to by id, and of no others: call chains can have millions.
pub(super) fn read(db: &Connection, schema: &Schema, builder: &mut Builder) -> rusqlite::Result<()> {
    let wanted = builder.string_ids();
    if !schema.has("StringIds") || wanted.is_empty() {
        return Ok(());
    }
    let mut statement = db.prepare(&schema.select("StringIds", &["id", "value"]))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = Cells(row);
        if let Some(id) = cells.int(0).filter(|id| wanted.contains(id))
            && let Some(text) = cells.text(1)
        {
            builder.define_string(id, text);
        }
    }
    Ok(())
}
