//! OP_MSG: a header of 16 bytes, flags, then a section of kind 0, which is one document. (Sections
//! of kind 1 say the same as an array within the document.)

use crate::bson;
use crate::writer::{self, Begun};
use crate::{MESSAGE_SIZE_MAX, WireError};

/// Bytes of a header: size, request, the request answered, operation code.
pub const HEADER_SIZE: usize = 16;
/// Header, flags and the kind of the first section.
pub(crate) const FRONT_SIZE: usize = HEADER_SIZE + 5;
/// The operation code.
pub const OP_MSG: i32 = 2013;
/// Flag: a checksum follows the sections.
const CHECKSUM_PRESENT: u32 = 1;
/// Flag: the sender has more to say before it listens. Only those who allow it are sent it.
const MORE_TO_COME: u32 = 2;
/// Flags that a receiver must know.
const REQUIRED: u32 = 0xffff;

/// Appends a message with this document, as command for a database.
///
/// # Errors
/// [`WireError::TooLong`]; nothing was appended.
#[inline]
pub fn command(
    request: i32,
    document: &[u8],
    database: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&request.to_le_bytes());
    out.extend_from_slice(&0i32.to_le_bytes());
    out.extend_from_slice(&OP_MSG.to_le_bytes());
    // No flags, and a section of kind 0.
    out.extend_from_slice(&[0; 5]);
    out.extend_from_slice(document);
    let whole: Begun = writer::reopen(document.len(), out);
    writer::text(b"$db", database, out);
    writer::end(whole, out);
    let size = out.len() - start;
    if size > MESSAGE_SIZE_MAX {
        out.truncate(start);
        let (found, limit) = (size as u64, MESSAGE_SIZE_MAX as u64);
        return Err(WireError::TooLong { found, limit });
    }
    out[start..start + 4].copy_from_slice(&(size as u32).to_le_bytes());
    Ok(())
}

/// A complete message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The request it answers.
    pub answers: i32,
    /// Its document.
    pub document: &'a [u8],
    /// Bytes of the whole message.
    pub size: usize,
}

/// Reads the message at the front of `bytes`; `None`: it is incomplete. It must be an answer as
/// servers send them: one document.
///
/// # Errors
/// [`WireError`] if no such message begins like that.
#[inline]
pub fn message(bytes: &[u8]) -> Result<Option<Message<'_>>, WireError> {
    let Some(header) = bytes.first_chunk::<HEADER_SIZE>() else { return Ok(None) };
    let field = |at: usize| i32::from_le_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
    let code = field(12);
    if code != OP_MSG {
        return Err(WireError::NoMessage(code));
    }
    let size = usize::try_from(field(0)).map_err(|_| WireError::Malformed("message's size"))?;
    if size > MESSAGE_SIZE_MAX {
        let (found, limit) = (size as u64, MESSAGE_SIZE_MAX as u64);
        return Err(WireError::TooLong { found, limit });
    }
    if size < FRONT_SIZE + bson::EMPTY_SIZE {
        return Err(WireError::Malformed("message's size"));
    }
    let Some(whole) = bytes.get(..size) else { return Ok(None) };
    let (front, sections) = whole.split_at(FRONT_SIZE);
    let flags = u32::from_le_bytes([0, 1, 2, 3].map(|byte| front[HEADER_SIZE + byte]));
    if flags & REQUIRED & !CHECKSUM_PRESENT != 0 {
        let more = flags & MORE_TO_COME != 0;
        return Err(WireError::Malformed(if more { "answer in parts" } else { "flags" }));
    }
    if front[FRONT_SIZE - 1] != 0 {
        return Err(WireError::Malformed("section"));
    }
    let checksum = if flags & CHECKSUM_PRESENT != 0 { 4 } else { 0 };
    let document = sections.len().checked_sub(checksum).map(|end| &sections[..end]);
    let document = document.ok_or(WireError::Malformed("message's size"))?;
    if bson::size(document)? != Some(document.len()) {
        return Err(WireError::Malformed("document's size"));
    }
    Ok(Some(Message { answers: field(8), document, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"ping": 1}` to `admin`, as request 7: the bytes of pymongo 4.20's `message._op_msg`.
    const PING: &[u8] = include_bytes!("../tests/pymongo/ping.msg");

    fn ping() -> Vec<u8> {
        let mut out = Vec::new();
        let whole = writer::begin(&mut out);
        writer::number(b"ping", 1.0, &mut out);
        writer::end(whole, &mut out);
        out
    }

    #[test]
    fn a_command_is_written_as_pymongo_writes_it() {
        let mut out = Vec::new();
        command(7, &ping(), b"admin", &mut out).unwrap();
        assert_eq!(out, PING);
    }

    #[test]
    fn a_message_is_read_when_it_is_complete() {
        let read = message(PING).unwrap().unwrap();
        assert_eq!((read.answers, read.size), (0, PING.len()));
        let names: Vec<_> =
            bson::elements(read.document).unwrap().map(|element| element.unwrap().name).collect();
        assert_eq!(names, [&b"ping"[..], b"$db"]);
        for end in 0..PING.len() {
            assert_eq!(message(&PING[..end]), Ok(None), "cut at {end}");
        }
        let mut summed = PING.to_vec();
        summed.extend_from_slice(&[1, 2, 3, 4]);
        summed[0] += 4;
        summed[16] = 1;
        assert_eq!(message(&summed).unwrap().unwrap().document, read.document);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let with = |at: usize, byte: u8| {
            let mut bytes = PING.to_vec();
            bytes[at] = byte;
            message(&bytes).map(|read| read.is_some())
        };
        assert_eq!(with(12, 1), Err(WireError::NoMessage(0x0701)));
        assert_eq!(with(16, 2), Err(WireError::Malformed("answer in parts")));
        assert_eq!(with(16, 4), Err(WireError::Malformed("flags")));
        assert_eq!(with(18, 1), Ok(true), "an optional flag");
        assert_eq!(with(20, 1), Err(WireError::Malformed("section")));
        assert_eq!(with(21, 9), Err(WireError::Malformed("document's size")));
        assert!(matches!(with(3, 0x7f), Err(WireError::TooLong { .. })));
        assert_eq!(with(3, 0xff), Err(WireError::Malformed("message's size")));
        assert_eq!(with(0, 20), Err(WireError::Malformed("message's size")));
        let mut out = Vec::new();
        let long = vec![0; MESSAGE_SIZE_MAX];
        assert!(matches!(command(1, &long, b"d", &mut out), Err(WireError::TooLong { .. })));
        assert!(out.is_empty());
    }
}
