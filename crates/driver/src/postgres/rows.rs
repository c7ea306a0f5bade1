//! Reads result sets from a reply's bytes, on demand.

use wire_postgres::backend::{self, HEADER_SIZE};

use crate::error::ProtocolError;
use crate::reply::{Class, Reply, RowCursor};

/// A message of a reply.
struct Message<'a> {
    tag: u8,
    body: &'a [u8],
    /// Offset of the next message.
    next: usize,
}

/// The message at `offset`; `None` at the end of the reply.
fn message_at(reply: &[u8], offset: usize) -> Result<Option<Message<'_>>, ProtocolError> {
    let rest = reply.get(offset..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(None);
    }
    match backend::message(rest)? {
        Some((tag, body)) => {
            Ok(Some(Message { tag, body, next: offset + HEADER_SIZE + body.len() }))
        }
        None => Err(ProtocolError::Malformed("reply: it ends within a message")),
    }
}

/// See [`crate::Session::row`].
pub(super) fn row(
    reply: &[u8],
    cursor: &mut RowCursor,
    column: impl FnMut(Option<&[u8]>),
) -> Result<bool, ProtocolError> {
    if cursor.offset == 0 {
        enter_first_set(reply, cursor)?;
    }
    while let Some(Message { tag, body, next }) = message_at(reply, cursor.offset)? {
        if tag == backend::DATA_ROW {
            backend::data_row(body, column)?;
            cursor.offset = next;
            cursor.row += 1;
            return Ok(true);
        }
        if !backend::is_asynchronous(tag) {
            break;
        }
        cursor.offset = next;
    }
    Ok(false)
}

/// See [`crate::Session::next_result`].
pub(super) fn next_result(
    reply: &[u8],
    cursor: &mut RowCursor,
) -> Result<Option<Reply>, ProtocolError> {
    if cursor.offset == 0 {
        enter_first_set(reply, cursor)?;
    }
    let Some((columns, start)) = find_set(reply, cursor.offset)? else { return Ok(None) };
    *cursor = RowCursor { offset: start, ..RowCursor::default() };
    let mut found = Reply { columns, class: Some(Class::Read), ..Reply::default() };
    let mut offset = start;
    while let Some(Message { tag, next, .. }) = message_at(reply, offset)? {
        match tag {
            backend::DATA_ROW => found.rows += 1,
            tag if backend::is_asynchronous(tag) => {}
            _ => break,
        }
        offset = next;
    }
    found.more = find_set(reply, offset)?.is_some();
    Ok(Some(found))
}

/// Moves before the first row. The first set begins with a RowDescription or, in the reply to a
/// prepared statement, with a row.
fn enter_first_set(reply: &[u8], cursor: &mut RowCursor) -> Result<(), ProtocolError> {
    let mut offset = 0;
    while let Some(Message { tag, next, .. }) = message_at(reply, offset)? {
        match tag {
            backend::ROW_DESCRIPTION => {
                offset = next;
                break;
            }
            backend::DATA_ROW => break,
            _ => offset = next,
        }
    }
    *cursor = RowCursor { offset, ..RowCursor::default() };
    Ok(())
}

/// The next RowDescription from `offset`: its columns, and the offset of its rows.
fn find_set(reply: &[u8], mut offset: usize) -> Result<Option<(u16, usize)>, ProtocolError> {
    while let Some(Message { tag, body, next }) = message_at(reply, offset)? {
        if tag == backend::ROW_DESCRIPTION {
            return Ok(Some((backend::column_count(body)?, next)));
        }
        offset = next;
    }
    Ok(None)
}
