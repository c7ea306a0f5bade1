//! Reads result sets from a reply's bytes, on demand.

use std::borrow::Cow;

use wire_mysql::backend::{self, Column, HEADER_SIZE, SetHead};
use wire_mysql::{PACKET_SIZE_MAX, WireError, binary};

use crate::error::ProtocolError;
use crate::reply::{Class, Reply, RowCursor};

/// The layout of a reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Rows are in the binary protocol.
    pub binary: bool,
    /// Rows end with an OK packet instead of EOF, and column definitions have no end marker.
    pub deprecates_eof: bool,
    /// Sets say whether their columns are defined again.
    pub caches_metadata: bool,
}

/// A payload, joined if it came in several packets, and the offset of the next one.
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
    /// Reads a set's first payload.
    pub fn head(self, payload: &[u8]) -> Result<SetHead, WireError> {
        backend::set_head(payload, self.caches_metadata)
    }

    /// Packets between a set's first one and its rows.
    pub fn definitions(self, head: SetHead) -> u32 {
        match head {
            SetHead { columns: 0, .. } => 0,
            SetHead { defined: false, .. } => self.ends(),
            SetHead { columns, .. } => u32::from(columns) + self.ends(),
        }
    }

    /// Packets that end definitions.
    pub fn ends(self) -> u32 {
        u32::from(!self.deprecates_eof)
    }

    /// Whether a packet among the rows is their end, by its first byte and size: a row may begin
    /// with the same byte, but is then long.
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

    /// See [`crate::Session::row`]. `known`: the columns of a set that does not define them.
    pub fn row(
        self,
        reply: &[u8],
        cursor: &mut RowCursor,
        known: &[Column],
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
            let (head, definitions) = self.head_at(reply, cursor.set)?;
            if head.defined {
                binary::row(&payload.bytes, columns_at(reply, definitions, head.columns), column)?;
            } else if known.len() == usize::from(head.columns) {
                binary::row(&payload.bytes, known.iter().copied().map(Ok), column)?;
            } else {
                return Err(ProtocolError::Malformed("result set: its columns were never defined"));
            }
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
        let columns = self.head_at(reply, cursor.set)?.0.columns;
        let more = self.enter_set(reply, end, &mut RowCursor::default())?;
        let class = Some(Class::Read);
        Ok(Some(Reply { class, rows, columns, more, ..Reply::default() }))
    }

    /// Moves before the first row of the next set from `offset`; `false`: there is none.
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
                    let (head, mut rows) = self.head_at(reply, offset)?;
                    for _ in 0..self.definitions(head) {
                        rows = existing(payload_at(reply, rows)?)?.next;
                    }
                    *cursor = RowCursor { offset: rows, row: 0, set: offset };
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Skips the rest of a set's rows: returns how many, and the offset after their end.
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

    /// A set's first packet, and the offset of the next.
    fn head_at(self, reply: &[u8], set: usize) -> Result<(SetHead, usize), ProtocolError> {
        let payload = existing(payload_at(reply, set)?)?;
        Ok((self.head(&payload.bytes)?, payload.next))
    }
}

/// Reads this many column definitions from `offset`.
fn columns_at(
    reply: &[u8],
    mut offset: usize,
    count: u16,
) -> impl ExactSizeIterator<Item = Result<Column, WireError>> {
    (0..count).map(move |_| {
        let payload = existing(payload_at(reply, offset)?)?;
        offset = payload.next;
        backend::column(&payload.bytes)
    })
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
