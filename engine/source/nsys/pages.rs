//! Reads rows of an ordinary table from the pages of the file itself, which costs a fraction of what SQLite's machine costs
//! for each row. Only what is plain is read: whatever is unusual, or not as SQLite would write it, is left to SQLite, which
//! then reads the same rows again and decides. The format is that of <https://www.sqlite.org/fileformat2.html>.

use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::budget::Budget;
use super::record::{Layouts, Record, varint};

/// Bytes that are read at once where pages that are wanted lie side by side.
const BLOCK_BYTES: usize = 1 << 16;
/// Bytes of pages between two looks at the clock: what they hold takes a millisecond.
const LOOK_BYTES: usize = 1 << 20;
/// No honest table is as deep: four levels hold what a disk holds.
const MAX_DEPTH: usize = 20;
/// The kinds of pages of a table.
const LEAF: u8 = 13;
const INTERIOR: u8 = 5;
/// Where the cells of a leaf, and those of the pages above, begin to be listed.
const LEAF_HEADER: usize = 8;
const INTERIOR_HEADER: usize = 12;
/// Where a page above others names the one behind all its cells.
const RIGHT_MOST: usize = 8;
/// Where a page says at which byte the first of what was deleted lies, if any, and the first cell.
const FIRST_FREED: usize = 1;
const FIRST_CELL: usize = 5;
/// How many bytes of the page belong to nothing, in pieces too small for a cell.
const FRAGMENTS: usize = 7;
/// Bytes of a page that SQLite wants at least.
const LEAST_USABLE: usize = 480;
/// What a cell of a leaf leaves of a page at least, else its row goes on elsewhere.
const LEAST_REST: usize = 35;

/// An ordinary table whose rows are as they were declared: none of its columns is computed, and none that is wanted is converted when it
/// is read.
#[derive(Debug, Clone)]
pub(super) struct PlainTable {
    /// The page that its tree begins with.
    pub(super) root: u32,
    /// Where each column that is wanted stands in a row; absent where the table lacks it.
    pub(super) places: Vec<Option<usize>>,
    /// Which of the wanted columns stands for the row id: it has no place.
    pub(super) row_id: Option<usize>,
}

impl PlainTable {
    /// As many columns of a row must be there.
    fn field_count(&self) -> usize {
        self.places.iter().flatten().max().map_or(0, |last| last + 1)
    }
}

/// Why rows were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// Something that SQLite must look at.
    NotPlain,
    /// Row ids that do not grow as the pages above them say, or pages that list fewer cells than they have: SQLite would leave
    /// rows out without a word.
    OutOfOrder,
}
use Unread::{NotPlain, OutOfOrder};

/// What to do after a row.
pub(super) type Taken = Result<(), Unread>;

/// A database file, page by page.
pub(super) struct Pages {
    file: File,
    budget: Budget,
    page_bytes: usize,
    /// Bytes of a page that hold something.
    usable: usize,
    page_count: u64,
    /// Pages that lie side by side, from `block_first` on.
    block: Vec<u8>,
    block_first: u32,
    /// Bytes of pages since the last look at the clock.
    unlooked_bytes: usize,
    layouts: Layouts,
}

/// The rows that are wanted.
struct Wanted<'a, T> {
    /// Absent where their ids alone are looked at.
    table: Option<&'a PlainTable>,
    first: i64,
    last: i64,
    take: T,
}

/// A page of a table, and what the pages above it say of the row ids below it. No two pages may hold the same, so that none
/// counts twice.
#[derive(Debug, Clone, Copy)]
struct Below {
    page: u32,
    /// All are larger; absent on the left-most way down.
    above: Option<i64>,
    /// None is larger; absent on the right-most way down.
    largest: Option<i64>,
}

impl Below {
    const fn root(page: u32) -> Self {
        Self { page, above: None, largest: None }
    }

    /// Nothing was looked at yet.
    const fn order(self) -> Order {
        Order { previous: self.above, largest: self.largest }
    }
}

/// Ids of a page, of which each is to be larger than the one before.
#[derive(Debug, Clone, Copy)]
struct Order {
    previous: Option<i64>,
    largest: Option<i64>,
}

impl Order {
    /// # Errors
    /// When an id cannot stand here.
    fn next(&mut self, id: Option<i64>) -> Taken {
        let id = id.ok_or(NotPlain)?;
        if self.previous.is_some_and(|previous| id <= previous) || self.largest.is_some_and(|largest| id > largest) {
            return Err(OutOfOrder);
        }
        self.previous = Some(id);
        Ok(())
    }
}

impl Pages {
    /// Opens a file. `None` where it is not as exports are: texts in UTF-8, pages of a size that SQLite knows.
    pub(super) fn open(path: &Path, budget: Budget) -> Option<Self> {
        let mut file = crate::files::open(path).ok()?;
        let mut header = [0_u8; 100];
        file.read_exact(&mut header).ok()?;
        let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            size if size >= 512 && size.is_power_of_two() => usize::from(size),
            _ => return None,
        };
        let usable = page_bytes - usize::from(header[20]);
        let is_utf8 = header[56..60] == [0, 0, 0, 1];
        let page_count = file.metadata().ok()?.len() / page_bytes as u64;
        let block = Vec::with_capacity(BLOCK_BYTES.max(page_bytes));
        let opened = Self {
            file,
            budget,
            page_bytes,
            usable,
            page_count,
            block,
            block_first: 0,
            unlooked_bytes: 0,
            layouts: Layouts::default(),
        };
        (is_utf8 && usable >= LEAST_USABLE).then_some(opened)
    }

    /// Hands on the rows of a table whose ids lie from `first` to `last`, in their order.
    ///
    /// # Errors
    /// When something on the way is not plain; what was handed on before is then to be thrown away.
    pub(super) fn rows(
        &mut self,
        table: &PlainTable,
        (first, last): (i64, i64),
        take: impl FnMut(&Record<'_>) -> Taken,
    ) -> Taken {
        self.layouts.clear();
        let mut wanted = Wanted { table: Some(table), first, last, take };
        self.walk(Below::root(table.root), 1, 0, &mut wanted)
    }

    /// Looks at the ids alone of the rows of a tree from `first` to `last`, and of those beside them.
    ///
    /// # Errors
    /// When they do not grow, or something on the way is not plain.
    pub(super) fn look_at_ids(&mut self, root: u32, (first, last): (i64, i64)) -> Taken {
        let mut wanted = Wanted { table: None, first, last, take: |_: &Record<'_>| Ok(()) };
        self.walk(Below::root(root), 1, 0, &mut wanted)
    }

    /// Everything below a page. `beside` is how many pages after it will be wanted next, as they lie.
    fn walk<T: FnMut(&Record<'_>) -> Taken>(
        &mut self,
        below: Below,
        beside: usize,
        depth: usize,
        wanted: &mut Wanted<'_, T>,
    ) -> Taken {
        let begin = self.load(below.page, beside)?;
        match self.block[begin] {
            LEAF => self.leaf(begin, depth == 0, below, wanted),
            INTERIOR if depth < MAX_DEPTH => {
                let children = self.children(begin, below, (wanted.first, wanted.last))?;
                let most = BLOCK_BYTES / self.page_bytes;
                for (index, child) in children.iter().enumerate() {
                    let next = children[index..].windows(2).take(most);
                    let beside = 1 + next.take_while(|pair| pair[0].page.checked_add(1) == Some(pair[1].page)).count();
                    self.walk(*child, beside, depth + 1, wanted)?;
                }
                Ok(())
            }
            _ => Err(NotPlain),
        }
    }

    /// Where a page begins in the block, which is read anew if it does not hold it.
    fn load(&mut self, page: u32, beside: usize) -> Result<usize, Unread> {
        let held = self.block.len() / self.page_bytes;
        if let Some(index) =
            page.checked_sub(self.block_first).map(|index| index as usize).filter(|index| *index < held)
        {
            self.count(self.page_bytes)?;
            return Ok(index * self.page_bytes);
        }
        // The first page has the header of the file, and pages count from one.
        if page < 2 || u64::from(page) > self.page_count {
            return Err(NotPlain);
        }
        let left = self.page_count - u64::from(page) + 1;
        let count = beside.min(BLOCK_BYTES / self.page_bytes).max(1).min(usize::try_from(left).unwrap_or(usize::MAX));
        self.count(count * self.page_bytes)?;
        self.block.resize(count * self.page_bytes, 0);
        self.block_first = page;
        let at = SeekFrom::Start(u64::from(page - 1) * self.page_bytes as u64);
        let read = self.file.seek(at).and_then(|_| self.file.read_exact(&mut self.block));
        if read.is_err() {
            self.block.clear();
        }
        read.map(|()| 0).map_err(|_| NotPlain)
    }

    /// Counts bytes of pages; where there is no budget for them, SQLite finds that there is none.
    fn count(&mut self, bytes: usize) -> Taken {
        self.unlooked_bytes += bytes;
        if self.unlooked_bytes >= LOOK_BYTES {
            self.unlooked_bytes = 0;
            self.budget.take_time().then_some(()).ok_or(NotPlain)?;
        }
        self.budget.take_pages(bytes).then_some(()).ok_or(NotPlain)
    }

    fn page(&self, begin: usize) -> Option<&[u8]> {
        self.block.get(begin..begin + self.usable)
    }

    /// The pages below one that may hold rows from `first` to `last`.
    fn children(&self, begin: usize, below: Below, (first, last): (i64, i64)) -> Result<Vec<Below>, Unread> {
        let page = self.page(begin).ok_or(NotPlain)?;
        let child = |at: usize| page.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
        let listed = Listed::of(page, INTERIOR_HEADER).ok_or(NotPlain)?;
        // The largest id below.
        let key = |index: usize| Some(varint(page, listed.at(index)? + 4)?.0.cast_signed());
        listed.is_whole().then_some(()).ok_or(OutOfOrder)?;
        let mut order = below.order();
        (0..listed.count).try_for_each(|index| order.next(key(index)))?;
        let mut children = Vec::new();
        let from = listed.first_from(first, key).ok_or(NotPlain)?;
        let mut above = if from == 0 { below.above } else { key(from - 1) };
        for index in from..listed.count {
            let largest = key(index);
            let page = listed.at(index).and_then(child).ok_or(NotPlain)?;
            children.push(Below { page, above, largest });
            if largest.is_some_and(|largest| largest >= last) {
                return Ok(children);
            }
            above = largest;
        }
        children.push(Below { page: child(RIGHT_MOST).ok_or(NotPlain)?, above, largest: below.largest });
        Ok(children)
    }

    fn leaf<T: FnMut(&Record<'_>) -> Taken>(
        &mut self,
        begin: usize,
        is_root: bool,
        below: Below,
        wanted: &mut Wanted<'_, T>,
    ) -> Taken {
        let mut layouts = std::mem::take(&mut self.layouts);
        let listed = self.page(begin).and_then(|page| Listed::of(page, LEAF_HEADER));
        // Only a table without rows has a leaf without any.
        let listed = listed.filter(|listed| is_root || listed.count > 0).ok_or(NotPlain);
        let taken = listed.and_then(|listed| wanted.leaf(&listed, below, &mut layouts));
        self.layouts = layouts;
        taken
    }
}

impl<T: FnMut(&Record<'_>) -> Taken> Wanted<'_, T> {
    fn leaf(&mut self, listed: &Listed<'_>, below: Below, layouts: &mut Layouts) -> Taken {
        listed.is_whole().then_some(()).ok_or(OutOfOrder)?;
        let mut order = below.order();
        let Some(table) = self.table else {
            return (0..listed.count).try_for_each(|index| order.next(listed.id(index)));
        };
        let field_count = table.field_count();
        let begin = listed.first_from(self.first, |index| listed.id(index)).ok_or(NotPlain)?;
        (0..begin).try_for_each(|index| order.next(listed.id(index)))?;
        let mut filled = 0;
        for index in begin..listed.count {
            let (id, bytes, at) = listed.row(index).ok_or(NotPlain)?;
            if id > self.last {
                return (index..listed.count).try_for_each(|index| order.next(listed.id(index)));
            }
            order.next(Some(id))?;
            let (bytes, rest) = listed.rest(bytes, at).ok_or(NotPlain)?;
            let row = rest.get(..bytes).ok_or(NotPlain)?;
            // Rows that share their bytes would make much of a small file.
            filled += row.len();
            if filled > listed.page.len() {
                return Err(NotPlain);
            }
            let fields = layouts.of(row, &table.places, field_count).ok_or(NotPlain)?;
            let row_id = table.row_id.map(|column| (column, id));
            let record = Record { row: rest, fields, handed: Cell::new(0), row_id };
            (self.take)(&record)?;
        }
        Ok(())
    }
}

/// The list of the cells of a page.
struct Listed<'page> {
    page: &'page [u8],
    list: &'page [u8],
    count: usize,
}

impl<'page> Listed<'page> {
    /// `header` is where it begins.
    fn of(page: &'page [u8], header: usize) -> Option<Self> {
        let count = usize::from(u16::from_be_bytes([*page.get(3)?, *page.get(4)?]));
        Some(Self { page, list: page.get(header..header + 2 * count)?, count })
    }

    /// Whether no cell lies before the others of the list: SQLite keeps where the first one begins, so that a count that lost
    /// one shows. What was deleted may lie there, and bytes that are too few for a cell.
    fn is_whole(&self) -> bool {
        let number = |at: usize| Some(usize::from(u16::from_be_bytes([*self.page.get(at)?, *self.page.get(at + 1)?])));
        let (freed, begin) = (number(FIRST_FREED), number(FIRST_CELL));
        // A number of two bytes holds no 65,536.
        let begin = begin.map(|begin| if begin == 0 { 1 << 16 } else { begin });
        let least = (0..self.count).filter_map(|index| self.at(index)).min().unwrap_or(self.page.len());
        let fragments = self.page.get(FRAGMENTS).copied().map(usize::from);
        let apart = begin.and_then(|begin| least.checked_sub(begin));
        freed != Some(0) || apart.zip(fragments).is_some_and(|(apart, fragments)| apart <= fragments)
    }

    /// Where a cell begins.
    fn at(&self, index: usize) -> Option<usize> {
        let at = self.list.get(2 * index..2 * index + 2)?;
        Some(usize::from(u16::from_be_bytes([at[0], at[1]])))
    }

    /// The id of a row of a leaf, how many bytes it has, and where they begin.
    fn row(&self, index: usize) -> Option<(i64, u64, usize)> {
        let (bytes, at) = varint(self.page, self.at(index)?)?;
        let (id, at) = varint(self.page, at)?;
        Some((id.cast_signed(), bytes, at))
    }

    fn id(&self, index: usize) -> Option<i64> {
        self.row(index).map(|(id, ..)| id)
    }

    /// The page from a row on; `None` where the row goes on on another page.
    fn rest(&self, bytes: u64, at: usize) -> Option<(usize, &'page [u8])> {
        let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= self.page.len() - LEAST_REST)?;
        Some((bytes, self.page.get(at..)?))
    }

    /// The index of the first cell whose id is not smaller; the ids are known to grow.
    fn first_from(&self, id: i64, id_at: impl Fn(usize) -> Option<i64>) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if id_at(middle)? < id { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
