//! A client's packets: a tag, then fields by their place.

/// The protocol's revision that this client speaks, that of 18.12: servers from 18 on know it and
/// send what it has (no LowCardinality columns, no logs, one form of settings).
pub const REVISION: u64 = 54_401;

use crate::backend::block_head;
use crate::reader::{Reader, Stop, complete};
use crate::{Extent, NAME_SIZE_MAX, TEXT_SIZE_MAX, WireError};

/// Tags of packets that a client sends.
const HELLO: u64 = 0;
const QUERY: u64 = 1;
const DATA: u64 = 2;
const PING: u64 = 4;

/// The server first reads what is new in this revision, a patch level in the client's version.
const VERSION: [u64; 3] = [18, 12, 0];
const NAME: &[u8] = b"dbdyno";
/// A query of the client's own, not one that a server passes on.
const INITIAL_QUERY: u8 = 1;
const TCP: u8 = 1;
/// The server carries the query out to its end.
const STAGE_COMPLETE: u64 = 2;

/// Appends a number, seven bits a byte.
#[inline]
pub fn number(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a string.
#[inline]
pub fn text(value: &[u8], out: &mut Vec<u8>) {
    number(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// Appends the packet that begins a connection. An empty database: the user's own.
pub fn hello(database: &str, user: &str, password: &str, out: &mut Vec<u8>) {
    number(HELLO, out);
    text(NAME, out);
    number(VERSION[0], out);
    number(VERSION[1], out);
    number(REVISION, out);
    text(database.as_bytes(), out);
    text(user.as_bytes(), out);
    text(password.as_bytes(), out);
}

/// Appends a query without settings of its own, and the end of its (no) external tables. `write`
/// appends the statement.
pub fn query_with(write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    number(QUERY, out);
    text(b"", out); // The server gives the query an identifier.
    out.push(INITIAL_QUERY);
    text(b"", out); // initial user
    text(b"", out); // initial query identifier
    text(b"0.0.0.0:0", out); // initial address
    out.push(TCP);
    text(b"", out); // user of the operating system
    text(b"", out); // host
    text(NAME, out);
    number(VERSION[0], out);
    number(VERSION[1], out);
    number(REVISION, out);
    text(b"", out); // quota key
    number(VERSION[2], out);
    text(b"", out); // end of settings
    number(STAGE_COMPLETE, out);
    out.push(0); // Blocks are not compressed.
    let start = out.len();
    write(out);
    insert_size(start, out);
    end_of_data(out);
}

/// Inserts the size of what follows `start` before it.
fn insert_size(start: usize, out: &mut Vec<u8>) {
    let mut size = (out.len() - start) as u64;
    let (mut digits, mut count) = ([0; 10], 0);
    while size > 0x7f {
        digits[count] = size as u8 | 0x80;
        size >>= 7;
        count += 1;
    }
    digits[count] = size as u8;
    out.splice(start..start, digits[..=count].iter().copied());
}

/// Appends the head of a block; its columns follow, each by [`column`].
pub fn block(columns: u64, rows: u64, out: &mut Vec<u8>) {
    number(DATA, out);
    text(b"", out); // of no external table
    number(1, out); // field: is it made of rows beyond a limit of groups
    out.push(0);
    number(2, out); // field: bucket
    out.extend_from_slice(&(-1_i32).to_le_bytes());
    number(0, out); // end of fields
    number(columns, out);
    number(rows, out);
}

/// Appends the head of a column; its values follow, as many as the block has rows.
pub fn column(name: &[u8], type_name: &[u8], out: &mut Vec<u8>) {
    text(name, out);
    text(type_name, out);
}

/// Appends the block without columns that ends data: its tag, then four zeros, since fields that
/// have their defaults can be left out. A server that has refused a query early has not read it,
/// and takes each byte for a packet of its own, which it refuses.
pub fn end_of_data(out: &mut Vec<u8>) {
    number(DATA, out);
    out.extend_from_slice(&[0; 4]);
}

/// Appends a ping, which the server answers when it has read all that came before.
pub fn ping(out: &mut Vec<u8>) {
    number(PING, out);
}

/// What of a packet of ours changes where blocks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The byte at this offset says whether blocks are compressed.
    Query(usize),
    /// A block begins at this offset.
    Data(usize),
    /// Nothing.
    Other,
}

/// The packet of ours at the front of `bytes`, and its size; `None`: it is incomplete.
pub(crate) fn part(bytes: &[u8]) -> Result<Option<(Part, usize)>, WireError> {
    let mut reader = Reader::new(bytes);
    let read = complete(read_part(&mut reader))?;
    Ok(read.map(|part| (part, reader.at)))
}

fn read_part(reader: &mut Reader<'_>) -> Result<Part, Stop> {
    Ok(match reader.number()? {
        QUERY => {
            reader.text(NAME_SIZE_MAX)?; // query identifier
            reader.byte()?;
            for _ in 0..3 {
                reader.text(NAME_SIZE_MAX)?; // initial user, query identifier, address
            }
            reader.byte()?;
            for _ in 0..3 {
                reader.text(NAME_SIZE_MAX)?; // user of the operating system, host, name
            }
            for _ in 0..3 {
                reader.number()?; // version, revision
            }
            reader.text(NAME_SIZE_MAX)?; // quota key
            reader.number()?; // patch level
            reader.text(NAME_SIZE_MAX)?; // end of settings
            reader.number()?; // stage
            let at = reader.at;
            reader.byte()?;
            reader.text(TEXT_SIZE_MAX)?;
            Part::Query(at)
        }
        DATA => {
            reader.text(NAME_SIZE_MAX)?;
            let at = reader.at;
            let (block, size) = block_head(&reader.bytes[at..])?.ok_or(Stop::More)?;
            reader.take(size)?;
            let mut extent = Extent::default();
            extent.begin(block);
            let (size, ended) = extent.advance(&reader.bytes[reader.at..])?;
            reader.take(size)?;
            ended.then_some(Part::Data(at)).ok_or(Stop::More)?
        }
        _ => Part::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_begin_with_their_tag() {
        let mut out = Vec::new();
        hello("d", "u", "p", &mut out);
        assert_eq!(out, b"\0\x06dbdyno\x12\x0c\x81\xa9\x03\x01d\x01u\x01p");
        out.clear();
        end_of_data(&mut out);
        assert_eq!(out, b"\x02\0\0\0\0");
        out.clear();
        block(1, 2, &mut out);
        assert_eq!(out, b"\x02\0\x01\0\x02\xff\xff\xff\xff\0\x01\x02");
    }

    #[test]
    fn our_own_packets_are_found_again() {
        let mut out = Vec::new();
        query_with(|out| out.extend_from_slice(b"INSERT INTO t VALUES"), &mut out);
        let (Part::Query(at), size) = part(&out).unwrap().unwrap() else { panic!() };
        assert_eq!(out[at..size], *b"\0\x14INSERT INTO t VALUES");
        assert_eq!(part(&out[size..]), Ok(Some((Part::Data(2), 5))));
        for cut in 0..size {
            assert_eq!(part(&out[..cut]), Ok(None), "{cut}");
        }
        out.clear();
        block(1, 2, &mut out);
        column(b"a", b"String", &mut out);
        out.extend_from_slice(b"\x01x\0");
        let whole = out.len();
        ping(&mut out);
        assert_eq!(part(&out), Ok(Some((Part::Data(2), whole))));
        assert_eq!(part(&out[..whole - 1]), Ok(None));
        assert_eq!(part(&out[whole..]), Ok(Some((Part::Other, 1))));
    }

    #[test]
    fn the_size_of_a_statement_precedes_it() {
        for size in [0, 1, 127, 128, 20_000] {
            let statement = vec![b'x'; size];
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            query_with(|out| out.extend_from_slice(&statement), &mut found);
            text(&statement, &mut expected);
            end_of_data(&mut expected);
            assert!(found.ends_with(&expected), "{size}");
        }
    }
}
