//! Rows read from the columns of a reply's blocks, on demand.

use wire_clickhouse::backend::{Block, Packet, column, packet};
use wire_clickhouse::{Extent, Kind, Typed, cell, text, typed};

use crate::error::ProtocolError;
use crate::reply::RowCursor;

const CUT: ProtocolError = ProtocolError::Malformed("reply: it ends within a block");
const UNREAD: ProtocolError = ProtocolError::Misuse(
    "values of this column's type are not read here (arrays, tuples, maps, addresses): select \
     toString(column)",
);

/// The block that is being read, and where its next row is: rows are read one after the other.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Offset of the block's packet, plus one; 0: none is being read.
    block: usize,
    rows: u64,
    /// The next row.
    row: u64,
    /// Offset of the next packet.
    end: usize,
    columns: Vec<Column>,
    /// A value as text.
    shown: Vec<u8>,
}

/// A column of the block.
#[derive(Debug, Clone, Copy)]
struct Column {
    kind: Kind,
    nullable: bool,
    /// Where the arguments of its type stand in the reply, and how long they are.
    arguments: (usize, usize),
    /// Offset of the byte that says whether the next value is NULL, if there is one.
    null: usize,
    /// Offset of the next value.
    value: usize,
}

impl Reading {
    /// Forgets the reply.
    pub fn clear(&mut self) {
        self.block = 0;
    }

    /// See [`crate::Session::row`].
    pub fn row(
        &mut self,
        reply: &[u8],
        cursor: &mut RowCursor,
        mut each: impl FnMut(Option<&[u8]>),
    ) -> Result<bool, ProtocolError> {
        if cursor.offset == 0 && !self.enter(reply, 0)? {
            return Ok(false);
        }
        if cursor.offset == 0 {
            (cursor.offset, cursor.row) = (self.block, 0);
        }
        if self.block != cursor.offset {
            self.index(reply, cursor.offset - 1)?;
        }
        while self.row < cursor.row {
            self.read(reply, |_| ())?;
        }
        if self.row > cursor.row {
            self.index(reply, cursor.offset - 1)?;
            while self.row < cursor.row {
                self.read(reply, |_| ())?;
            }
        }
        if self.row == self.rows {
            if !self.enter(reply, self.end)? {
                return Ok(false);
            }
            cursor.offset = self.block;
        }
        let read = self.read(reply, &mut each);
        if read.is_err() {
            // Its columns stand at different rows now.
            self.clear();
        }
        read?;
        cursor.row = self.row;
        Ok(true)
    }

    /// Moves before the first row of the next block of rows from `offset`; `false`: there is none.
    fn enter(&mut self, reply: &[u8], mut offset: usize) -> Result<bool, ProtocolError> {
        while let Some((packet, head)) = packet(reply.get(offset..).unwrap_or_default())? {
            match packet {
                Packet::Data(block) if block.rows > 0 && block.columns > 0 => {
                    self.index(reply, offset)?;
                    return Ok(true);
                }
                Packet::Data(block) | Packet::Totals(block) | Packet::Extremes(block) => {
                    let mut extent = Extent::default();
                    extent.begin(block);
                    let (size, _) = extent.advance(reply.get(offset + head..).ok_or(CUT)?)?;
                    offset += head + size;
                }
                _ => offset += head,
            }
        }
        Ok(false)
    }

    /// Finds the columns of the block whose packet is at `offset`.
    fn index(&mut self, reply: &[u8], offset: usize) -> Result<(), ProtocolError> {
        let found = packet(reply.get(offset..).unwrap_or_default())?.ok_or(CUT)?;
        let (Packet::Data(Block { columns, rows }), head) = found else { return Err(CUT) };
        self.clear();
        self.columns.clear();
        let mut at = offset + head;
        let mut extent = Extent::default();
        for _ in 0..columns {
            let rest = reply.get(at..).ok_or(CUT)?;
            let (name, type_name, head) = column(rest)?.ok_or(CUT)?;
            let Typed { kind, nullable, arguments } =
                typed(type_name).ok_or(wire_clickhouse::WireError::UnknownType)?;
            // An empty one need not lie within the reply.
            let start = arguments.as_ptr().addr().wrapping_sub(reply.as_ptr().addr());
            let arguments = if arguments.is_empty() { (0, 0) } else { (start, arguments.len()) };
            extent.begin_column(rows, type_name)?;
            let (size, _) = extent.advance(&rest[head..])?;
            let null = at + head;
            let value = if nullable { null.saturating_add(rows as usize) } else { null };
            debug_assert!(name.len() < reply.len());
            self.columns.push(Column { kind, nullable, arguments, null, value });
            at = null + size;
        }
        (self.block, self.rows, self.row, self.end) = (offset + 1, rows, 0, at);
        Ok(())
    }

    /// Reads the next row.
    fn read(
        &mut self,
        reply: &[u8],
        mut each: impl FnMut(Option<&[u8]>),
    ) -> Result<(), ProtocolError> {
        if self.row == self.rows {
            return Err(CUT);
        }
        for column in &mut self.columns {
            let rest = reply.get(column.value..).ok_or(CUT)?;
            let (head, size) = match column.kind.size() {
                Some(size) => (0, size as usize),
                None if column.kind == Kind::Text => cell(rest)?.ok_or(CUT)?,
                None => return Err(UNREAD),
            };
            let value = rest.get(head..).and_then(|rest| rest.get(..size)).ok_or(CUT)?;
            let is_null = column.nullable && *reply.get(column.null).ok_or(CUT)? != 0;
            column.null += 1;
            column.value += head + size;
            if is_null {
                each(None);
            } else if column.kind == Kind::Text {
                each(Some(value));
            } else {
                let (start, length) = column.arguments;
                let arguments = reply.get(start..start + length).ok_or(CUT)?;
                self.shown.clear();
                let typed = Typed { kind: column.kind, nullable: false, arguments };
                text(&typed, value, &mut self.shown).ok_or(UNREAD)?;
                each(Some(&self.shown));
            }
        }
        self.row += 1;
        Ok(())
    }
}
