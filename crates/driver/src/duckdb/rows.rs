//! Rows of the last request, as DuckDB returned them: values become text when they are read.

use std::cell::RefCell;

use super::raw::{Chunk, Outcome};
use super::text::{self, Kind};
use crate::error::ProtocolError;
use crate::reply::{Class, Reply, RowCursor};

const UNREAD: ProtocolError = ProtocolError::Misuse(
    "a column has a nested type or one that is not read (LIST, STRUCT, MAP, BIT, TIME with time \
     zone …): select CAST(column AS VARCHAR)",
);

/// Consecutive result sets, in reused memory.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Declared before the results: fields drop in this order, and chunks must go first.
    parts: Vec<Part>,
    sets: Vec<Set>,
    kinds: Vec<Kind>,
    columns: Vec<Column>,
    /// The text of a value that the result doesn't hold as text.
    scratch: RefCell<Vec<u8>>,
}

#[derive(Debug)]
struct Set {
    rows: u64,
    columns: usize,
    /// Its first kind, and its first part.
    first_kind: usize,
    first_part: usize,
    _outcome: Outcome,
}

/// Some of a set's rows.
#[derive(Debug)]
struct Part {
    /// Rows of the set up to its end.
    end: u64,
    rows: u64,
    first_column: usize,
    _chunk: Chunk,
}

#[derive(Debug)]
struct Column {
    data: *const u8,
    validity: *const u64,
}

// SAFETY: the pointers are into the chunks, which lie beside them in one session.
unsafe impl Send for Column {}

impl Rows {
    /// Drops all rows for a new request; keeps the memory.
    pub fn clear(&mut self) {
        self.columns.clear();
        self.parts.clear();
        self.sets.clear();
        self.kinds.clear();
    }

    /// Adds the rows of a result.
    pub fn push(&mut self, mut outcome: Outcome) {
        let (first_kind, first_part) = (self.kinds.len(), self.parts.len());
        let columns = outcome.columns();
        self.kinds.extend((0..columns).map(|column| Kind::of(&mut outcome, column)));
        let mut end = 0;
        while let Some(chunk) = outcome.next_chunk() {
            let rows = chunk.rows();
            if rows == 0 {
                continue;
            }
            end += rows;
            let first_column = self.columns.len();
            self.columns.extend((0..columns).map(|column| {
                let (data, validity) = chunk.column(column);
                Column { data, validity }
            }));
            self.parts.push(Part { end, rows, first_column, _chunk: chunk });
        }
        let columns = columns as usize;
        self.sets.push(Set { rows: end, columns, first_kind, first_part, _outcome: outcome });
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

    /// See [`crate::Session::row`]; the cursor's offset is the set's number, its `set` that of the
    /// part within the set.
    pub fn row(
        &self,
        cursor: &mut RowCursor,
        mut column: impl FnMut(Option<&[u8]>),
    ) -> Result<bool, ProtocolError> {
        let Some(set) = self.sets.get(cursor.offset) else { return Ok(false) };
        if cursor.row >= set.rows {
            return Ok(false);
        }
        let mut part = &self.parts[set.first_part + cursor.set];
        if cursor.row >= part.end {
            cursor.set += 1;
            part = &self.parts[set.first_part + cursor.set];
        }
        let row = (cursor.row - (part.end - part.rows)) as usize;
        let kinds = &self.kinds[set.first_kind..][..set.columns];
        let columns = &self.columns[part.first_column..][..set.columns];
        let mut scratch = self.scratch.borrow_mut();
        for (kind, Column { data, validity }) in kinds.iter().zip(columns) {
            // SAFETY: the row is one of the chunk's, which lives; its mask has a bit for each.
            let is_null =
                unsafe { !validity.is_null() && *validity.add(row / 64) >> (row % 64) & 1 == 0 };
            if is_null {
                column(None);
                continue;
            }
            // SAFETY: the same, and the value is not NULL.
            let value = unsafe { text::text(kind, *data, row, &mut scratch) };
            column(Some(value.ok_or(UNREAD)?));
        }
        cursor.row += 1;
        Ok(true)
    }

    /// See [`crate::Session::next_result`].
    pub fn next_result(&self, cursor: &mut RowCursor) -> Option<Reply> {
        let reply = self.describe(cursor.offset + 1)?;
        *cursor = RowCursor { offset: cursor.offset + 1, ..RowCursor::default() };
        Some(reply)
    }
}
