//! A server's packets: a tag, then fields by their place.

use crate::reader::{Reader, Stop, complete};
use crate::{COLUMN_COUNT_MAX, NAME_SIZE_MAX, TEXT_SIZE_MAX, WireError};

/// Tags of packets that a server sends at this revision.
const HELLO: u64 = 0;
const DATA: u64 = 1;
const EXCEPTION: u64 = 2;
const PROGRESS: u64 = 3;
const PONG: u64 = 4;
const END_OF_STREAM: u64 = 5;
const PROFILE: u64 = 6;
const TOTALS: u64 = 7;
const EXTREMES: u64 = 8;

/// Exceptions that may be the cause of one another.
const CAUSES_MAX: u32 = 100;

/// A packet, or of a block what precedes its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// The server greets.
    Hello(Hello<'a>),
    /// Rows, or with none the columns that a result has or an INSERT takes.
    Data(Block),
    /// The query has failed, and the reply ends.
    Exception(Exception<'a>),
    /// What was read since the last such packet.
    Progress(Read),
    /// The answer to a ping.
    Pong,
    /// The reply ends.
    EndOfStream,
    /// What the result was made of.
    Profile(Read),
    /// The totals of GROUP BY … WITH TOTALS.
    Totals(Block),
    /// The least and greatest values of the result.
    Extremes(Block),
}

/// The server's greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello<'a> {
    /// What the server calls itself.
    pub name: &'a [u8],
    /// Major, minor, patch.
    pub version: [u64; 3],
    /// The protocol's revision that it speaks.
    pub revision: u64,
    /// The time zone in which it writes and reads times.
    pub timezone: &'a [u8],
}

/// The size of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Number of columns.
    pub columns: u64,
    /// Number of rows.
    pub rows: u64,
}

/// An exception; of its causes only the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exception<'a> {
    /// The code.
    pub code: i32,
    /// Its message, which begins with the exception's class.
    pub message: &'a [u8],
}

/// Work that the server reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// Rows.
    pub rows: u64,
    /// Bytes, uncompressed.
    pub bytes: u64,
}

/// The packet at the front of `bytes`, and its size; `None`: it is incomplete.
///
/// # Errors
/// [`WireError`] if no packet begins like that.
pub fn packet(bytes: &[u8]) -> Result<Option<(Packet<'_>, usize)>, WireError> {
    let mut reader = Reader::new(bytes);
    let read = complete(read_packet(&mut reader))?;
    Ok(read.map(|packet| (packet, reader.at)))
}

/// Of the packet at the front of `bytes`: whether a block is to follow, and the size of what
/// precedes that, which is never compressed; of any other packet its size. `None`: it is
/// incomplete.
pub(crate) fn uncompressed(bytes: &[u8]) -> Result<Option<(bool, usize)>, WireError> {
    let mut reader = Reader::new(bytes);
    let mut read = || {
        let is_block = matches!(Reader::new(bytes).number()?, DATA | TOTALS | EXTREMES);
        if is_block {
            reader.number()?;
            reader.text(NAME_SIZE_MAX)?;
        } else {
            read_packet(&mut reader)?;
        }
        Ok(is_block)
    };
    let read = complete(read())?;
    Ok(read.map(|is_block| (is_block, reader.at)))
}

/// A block without the name before it: its size in rows and columns, and that of what precedes its
/// columns in bytes. `None`: it is incomplete.
pub(crate) fn block_head(bytes: &[u8]) -> Result<Option<(Block, usize)>, WireError> {
    let mut reader = Reader::new(bytes);
    let read = complete(nameless_block(&mut reader))?;
    Ok(read.map(|block| (block, reader.at)))
}

fn read_packet<'a>(reader: &mut Reader<'a>) -> Result<Packet<'a>, Stop> {
    Ok(match reader.number()? {
        HELLO => Packet::Hello(hello(reader)?),
        DATA => Packet::Data(block(reader)?),
        TOTALS => Packet::Totals(block(reader)?),
        EXTREMES => Packet::Extremes(block(reader)?),
        EXCEPTION => Packet::Exception(exception(reader)?),
        PROGRESS => {
            let read = Read { rows: reader.number()?, bytes: reader.number()? };
            reader.number()?; // rows in all
            Packet::Progress(read)
        }
        PROFILE => {
            let rows = reader.number()?;
            reader.number()?; // blocks
            let bytes = reader.number()?;
            reader.byte()?; // whether LIMIT was applied
            reader.number()?; // rows before that
            reader.byte()?; // whether those are known
            Packet::Profile(Read { rows, bytes })
        }
        PONG => Packet::Pong,
        END_OF_STREAM => Packet::EndOfStream,
        tag => return Err(WireError::NoPacket(tag).into()),
    })
}

fn hello<'a>(reader: &mut Reader<'a>) -> Result<Hello<'a>, Stop> {
    let name = reader.text(NAME_SIZE_MAX)?;
    let (major, minor, revision) = (reader.number()?, reader.number()?, reader.number()?);
    let timezone = reader.text(NAME_SIZE_MAX)?;
    reader.text(NAME_SIZE_MAX)?; // name for display
    let version = [major, minor, reader.number()?];
    Ok(Hello { name, version, revision, timezone })
}

fn block(reader: &mut Reader<'_>) -> Result<Block, Stop> {
    reader.text(NAME_SIZE_MAX)?; // name of an external table
    nameless_block(reader)
}

fn nameless_block(reader: &mut Reader<'_>) -> Result<Block, Stop> {
    loop {
        match reader.number()? {
            0 => break,
            1 => drop(reader.byte()?),
            2 => drop(reader.take(4)?),
            _ => return Err(WireError::Malformed("field of a block").into()),
        }
    }
    let (columns, rows) = (reader.number()?, reader.number()?);
    if columns > COLUMN_COUNT_MAX {
        return Err(WireError::TooLong { found: columns, limit: COLUMN_COUNT_MAX }.into());
    }
    Ok(Block { columns, rows })
}

fn exception<'a>(reader: &mut Reader<'a>) -> Result<Exception<'a>, Stop> {
    let mut first = None;
    for _ in 0..CAUSES_MAX {
        let code = i32::from_le_bytes(reader.array()?);
        reader.text(TEXT_SIZE_MAX)?; // class
        let message = reader.text(TEXT_SIZE_MAX)?;
        reader.text(TEXT_SIZE_MAX)?; // stack trace
        let exception = *first.get_or_insert(Exception { code, message });
        if reader.byte()? == 0 {
            return Ok(exception);
        }
    }
    Err(WireError::Malformed("exception: its causes do not end").into())
}

/// Of a column its name, the name of its type, and the size of both in bytes.
pub type ColumnHead<'a> = (&'a [u8], &'a [u8], usize);

/// The head of the column at the front of `bytes`; `None`: it is incomplete.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn column(bytes: &[u8]) -> Result<Option<ColumnHead<'_>>, WireError> {
    let mut reader = Reader::new(bytes);
    let mut read = || Ok((reader.text(NAME_SIZE_MAX)?, reader.text(NAME_SIZE_MAX)?));
    let read = complete(read())?;
    Ok(read.map(|(name, type_name)| (name, type_name, reader.at)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frontend;

    fn check(bytes: &[u8], expected: Packet<'_>) {
        assert_eq!(packet(bytes), Ok(Some((expected, bytes.len()))));
        for end in 0..bytes.len() {
            assert_eq!(packet(&bytes[..end]), Ok(None), "{bytes:?} to {end}");
        }
    }

    #[test]
    fn packets_are_known_by_their_tag() {
        let hello = b"\0\x0aClickHouse\x12\x10\x8c\xa9\x03\x03UTC\x01h\x01";
        let name = &b"ClickHouse"[..];
        let hello_read = Hello { name, version: [18, 16, 1], revision: 54_412, timezone: b"UTC" };
        check(hello, Packet::Hello(hello_read));
        let fields = b"\x01\0\x01\0\x02\xff\xff\xff\xff\0\x02\x07";
        check(fields, Packet::Data(Block { columns: 2, rows: 7 }));
        check(b"\x03\x05\x28\x09", Packet::Progress(Read { rows: 5, bytes: 40 }));
        check(b"\x04", Packet::Pong);
        check(b"\x05", Packet::EndOfStream);
        check(b"\x06\x05\x01\x28\0\0\x01", Packet::Profile(Read { rows: 5, bytes: 40 }));
        let cause = b"\x3c\0\0\0\x01X\x03why\0";
        let nested = [&b"\x02"[..], cause, b"\x01", b"\x01\0\0\0\x01Y\x01z\0", b"\0"].concat();
        check(&nested, Packet::Exception(Exception { code: 60, message: b"why" }));
    }

    #[test]
    fn what_fits_no_packet_is_refused() {
        assert_eq!(packet(b"\x09"), Err(WireError::NoPacket(9)));
        assert!(packet(b"\x01\0\x03").is_err(), "no such field of a block");
        assert!(packet(b"\x01\0\0\xff\xff\x7f\0").is_err(), "columns");
        assert!(packet(&[0xff; 12]).is_err(), "a number of more than 64 bits");
        assert!(packet(b"\0\xff\xff\xff\xff\x0f").is_err(), "a name too long");
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            cases: if cfg!(miri) { 32 } else { 4096 },
            ..ProptestConfig::default()
        })]

        #[test]
        fn numbers_and_texts_read_back(value in any::<u64>(), text in any::<Vec<u8>>()) {
            let mut out = Vec::new();
            frontend::number(value, &mut out);
            frontend::text(&text, &mut out);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.number(), Ok(value));
            prop_assert_eq!(reader.text(1000), Ok(&text[..]));
        }

        /// Whatever bytes come, they are read, awaited or refused.
        #[test]
        fn no_bytes_are_too_much(
            tag in 0..10u8, bytes in prop::collection::vec(any::<u8>(), 0..100)
        ) {
            let bytes = [&[tag][..], &bytes].concat();
            if let Ok(Some((_, size))) = packet(&bytes) {
                prop_assert!(size <= bytes.len());
            }
            let _ = column(&bytes);
        }
    }
}
