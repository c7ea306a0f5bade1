//! Rows of the last request, kept by the session in reused buffers.

use crate::reply::{Class, Reply, RowCursor};

/// Consecutive result sets: all values in one buffer, all value ends in another.
#[derive(Debug, Default)]
pub(super) struct Rows {
    sets: Vec<Set>,
    cells: Vec<Cell>,
    data: Vec<u8>,
}

#[derive(Debug)]
struct Set {
    columns: usize,
    rows: u64,
    /// Index of its first cell.
    first_cell: usize,
}

#[derive(Debug)]
struct Cell {
    start: usize,
    end: usize,
    is_null: bool,
}

impl Rows {
    /// Clears all rows for a new request; keeps the memory.
    pub fn clear(&mut self) {
        self.sets.clear();
        self.cells.clear();
        self.data.clear();
    }

    /// Starts the set of a statement that returns rows.
    pub fn begin_set(&mut self, columns: usize) {
        self.sets.push(Set { columns, rows: 0, first_cell: self.cells.len() });
    }

    /// Adds a row to the newest set; `column` returns each of its values.
    pub fn push<'a>(&mut self, column: impl Fn(usize) -> Option<&'a [u8]>) {
        let Some(set) = self.sets.last_mut() else { return };
        set.rows += 1;
        for index in 0..set.columns {
            let value = column(index);
            let start = self.data.len();
            self.data.extend_from_slice(value.unwrap_or_default());
            self.cells.push(Cell { start, end: self.data.len(), is_null: value.is_none() });
        }
    }

    /// A set as a reply; `None`: it does not exist.
    pub fn describe(&self, set: usize) -> Option<Reply> {
        let Set { columns, rows, .. } = self.sets.get(set)?;
        Some(Reply {
            class: Some(Class::Read),
            rows: *rows,
            columns: u16::try_from(*columns).unwrap_or(u16::MAX),
            more: set + 1 < self.sets.len(),
            ..Reply::default()
        })
    }

    /// See [`crate::Session::row`]; the cursor's offset is the set's number.
    pub fn row(&self, cursor: &mut RowCursor, mut column: impl FnMut(Option<&[u8]>)) -> bool {
        let Some(set) = self.sets.get(cursor.offset) else { return false };
        if cursor.row >= set.rows {
            return false;
        }
        let first = set.first_cell + cursor.row as usize * set.columns;
        for cell in &self.cells[first..first + set.columns] {
            column((!cell.is_null).then(|| &self.data[cell.start..cell.end]));
        }
        cursor.row += 1;
        true
    }

    /// See [`crate::Session::next_result`].
    pub fn next_result(&self, cursor: &mut RowCursor) -> Option<Reply> {
        let reply = self.describe(cursor.offset + 1)?;
        *cursor = RowCursor { offset: cursor.offset + 1, ..RowCursor::default() };
        Some(reply)
    }
}
