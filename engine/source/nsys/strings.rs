//! The table of strings.

use rusqlite::Connection;

use super::database::Schema;
use crate::timeline::builder::Builder;

/// Tells the builder of the strings that rows refer to by id, and of no others: call chains can have millions.
pub(super) fn read(db: &Connection, schema: &Schema, builder: &mut Builder) -> rusqlite::Result<()> {
    let wanted = builder.string_ids();
    if !schema.has("StringIds") || wanted.is_empty() {
        return Ok(());
    }
    schema.each(db, &schema.select("StringIds", &["id", "value"]), u64::MAX, |cells| {
        let (id, text) = (cells.int(0), cells.text(1));
        if let (Some(id), Some(text)) = (id.filter(|id| wanted.contains(id)), text) {
            builder.define_string(id, text);
        }
    })
}
