//! Result sets, read from a reply's bytes when somebody wants them.

use std::borrow::Cow;

use wire_mysql::backend::{self, HEADER_SIZE};
use wire_mysql::{PACKET_SIZE_MAX, WireError, binary};

use crate::error::ProtocolError;
use crate::session::{Class, Reply, RowCursor};

/// How a reply is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Rows are in the binary protocol.
    pub binary: bool,
    /// Rows end with an OK packet instead of EOF, and nothing ends column definitions.
    pub deprecates_eof: bool,
}

/// A payload, put together if it came in several packets, and where the next one begins.
struct Payload<'a> {
    bytes: Cow<'a, [u8]>,
    next: usize,
}

impl Payload<'_> {
    fn first(&self) -> u8 {
        self.bytes.first().copied().unwrap_or(backend::OK)
    }
}

impl Layout {
    /// Packets that define so many columns.
    pub fn definitions(self, columns: u16) -> u32 {
        match columns {
            0 => 0,
            columns => u32::from(columns) + u32::from(!self.deprecates_eof),
        }
    }

    /// Whether a packet among the rows, by its first byte and its size, is the end of them: a row
    /// may begin with the same byte, but then it is long.
    pub fn ends_rows(self, first: u8, size: usize) -> bool {
        let size_max = if self.deprecates_eof { PACKET_SIZE_MAX } else { 9 };
        first == backend::ERR || (first == backend::EOF && size < size_max)
    }

    /// The status in the packet that ends the rows.
    pub fn end_status(self, payload: &[u8]) -> Result<u16, WireError> {
        if self.deprecates_eof {
            backend::ok(payload).map(|completion| completion.status)
        } else {
            backend::eof(payload)
        }
    }

    /// See [`crate::Session::row`].
    pub fn row(
        self,
        reply: &[u8],
        cursor: &mut RowCursor,
        column: impl FnMut(Option<&[u8]>),
    ) -> Result<bool, ProtocolError> {
        if cursor.offset == 0 && !self.enter_set(reply, 0, cursor)? {
            return Ok(false);
        }
        let Some(payload) = payload_at(reply, cursor.offset)? else { return Ok(false) };
        if self.ends_rows(payload.first(), payload.bytes.len()) {
            return Ok(false);
        }
        if self.binary {
            let columns = columns_at(reply, cursor.set)?;
            binary::row(&payload.bytes, columns, column)?;
        } else {
            backend::text_row(&payload.bytes, column)?;
        }
        cursor.offset = payload.next;
        cursor.row += 1;
        Ok(true)
    }

    /// See [`crate::Session::next_result`].
    pub fn next_result(
        self,
        reply: &[u8],
        cursor: &mut RowCursor,
    ) -> Result<Option<Reply>, ProtocolError> {
        if cursor.offset == 0 && !self.enter_set(reply, 0, cursor)? {
            return Ok(None);
        }
        let (_, end) = self.skip_rows(reply, cursor.offset)?;
        if !self.enter_set(reply, end, cursor)? {
            return Ok(None);
        }
        let (rows, end) = self.skip_rows(reply, cursor.offset)?;
        let columns = column_count(reply, cursor.set)?.0;
        let more = self.enter_set(reply, end, &mut RowCursor::default())?;
        let class = Some(Class::Read);
        Ok(Some(Reply { class, rows, columns, more, ..Reply::default() }))
    }

    /// Moves before the first row of the next set from `offset` on; `false`: there is none.
    fn enter_set(
        self,
        reply: &[u8],
        mut offset: usize,
        cursor: &mut RowCursor,
    ) -> Result<bool, ProtocolError> {
        while let Some(payload) = payload_at(reply, offset)? {
            match payload.first() {
                backend::OK => offset = payload.next,
                backend::ERR => return Ok(false),
                _ => {
                    let (columns, mut rows) = column_count(reply, offset)?;
                    for _ in 0..self.definitions(columns) {
                        rows = existing(payload_at(reply, rows)?)?.next;
                    }
                    *cursor = RowCursor { offset: rows, row: 0, set: offset };
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// From a set's row to what follows its end: the rows between, and where that is.
    fn skip_rows(self, reply: &[u8], mut offset: usize) -> Result<(u64, usize), ProtocolError> {
        let mut rows = 0;
        while let Some(payload) = payload_at(reply, offset)? {
            offset = payload.next;
            if self.ends_rows(payload.first(), payload.bytes.len()) {
                break;
            }
            rows += 1;
        }
        Ok((rows, offset))
    }
}

/// The number of columns in a set's first packet, and where their definitions begin.
fn column_count(reply: &[u8], set: usize) -> Result<(u16, usize), ProtocolError> {
    let payload = existing(payload_at(reply, set)?)?;
    let count = backend::length(&payload.bytes).and_then(|(count, _)| count);
    let count = count.and_then(|count| u16::try_from(count).ok());
    Ok((count.ok_or(WireError::Malformed("column count"))?, payload.next))
}

/// A set's column definitions, read one by one.
fn columns_at(
    reply: &[u8],
    set: usize,
) -> Result<impl ExactSizeIterator<Item = Result<backend::Column, WireError>>, ProtocolError> {
    let (count, mut offset) = column_count(reply, set)?;
    Ok((0..count).map(move |_| {
        let payload = payload_at(reply, offset)?.ok_or(WireError::Malformed("result set"))?;
        offset = payload.next;
        backend::column(&payload.bytes)
    }))
}

fn existing(payload: Option<Payload<'_>>) -> Result<Payload<'_>, WireError> {
    payload.ok_or(WireError::Malformed("result set"))
}

/// The payload at `offset`; `None` at the end of the reply.
fn payload_at(reply: &[u8], offset: usize) -> Result<Option<Payload<'_>>, WireError> {
    const CUT: WireError = WireError::Malformed("reply: it ends within a packet");
    let rest = reply.get(offset..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(None);
    }
    let mut size = backend::header(rest).ok_or(CUT)?.size;
    let first = rest.get(HEADER_SIZE..HEADER_SIZE + size).ok_or(CUT)?;
    let mut bytes = Cow::Borrowed(first);
    let mut next = offset + HEADER_SIZE + size;
    while size == PACKET_SIZE_MAX {
        let rest = &reply[next..];
        size = backend::header(rest).ok_or(CUT)?.size;
        let part = rest.get(HEADER_SIZE..HEADER_SIZE + size).ok_or(CUT)?;
        bytes.to_mut().extend_from_slice(part);
        next += HEADER_SIZE + size;
    }
    Ok(Some(Payload { bytes, next }))
}
