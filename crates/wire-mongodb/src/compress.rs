//! OP_COMPRESSED ("OP_COMPRESSED" of MongoDB's manual, "Wire Compression" of the drivers'
//! specifications): a message whose body is another's, packed by zlib, zstd or snappy.
//!
//! Both sides name their algorithms in `hello`; from then on each message may be packed, but for
//! those that hold secrets.

use std::cell::RefCell;

use flate2::{Compress, Compression as Level, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

use crate::message::{FRONT_SIZE, HEADER_SIZE, OP_MSG};
use crate::{DOCUMENT_SIZE_MAX, MESSAGE_SIZE_MAX, WireError};

/// The operation code.
pub const OP_COMPRESSED: i32 = 2012;
/// Header, the operation code of the message within, its size without header, the algorithm.
const HEAD_SIZE: usize = HEADER_SIZE + 9;
/// The number of what is not packed at all.
const NOOP: u8 = 0;
/// The longest body of an answer: its document and what is around it.
const BODY_SIZE_MAX: usize = DOCUMENT_SIZE_MAX + FRONT_SIZE - HEADER_SIZE;

/// Commands that are never packed: an eavesdropper would learn of secrets from sizes.
const NEVER_PACKED: &[&str] = &[
    "authenticate",
    "copydb",
    "copydbgetnonce",
    "copydbsaslstart",
    "createuser",
    "getnonce",
    "hello",
    "ismaster",
    "saslcontinue",
    "saslstart",
    "updateuser",
];

/// How messages are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Since MongoDB 3.4.
    Snappy = 1,
    /// Since MongoDB 3.6.
    Zlib = 2,
    /// Since MongoDB 4.2.
    Zstd = 3,
}

impl Algorithm {
    /// By its name in a target, which is also the one in `hello`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "snappy" => Some(Self::Snappy),
            "zlib" => Some(Self::Zlib),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// The level of MongoDB's own drivers.
const ZSTD_LEVEL: i32 = 3;

thread_local! {
    // They are large and hold nothing between two messages: those of a thread share them.
    static ZLIB: RefCell<(Compress, Decompress)> =
        RefCell::new((Compress::new(Level::default(), true), Decompress::new(true)));
    static ZSTD: RefCell<Option<(Compressor<'static>, Decompressor<'static>)>> = RefCell::new(
        Compressor::new(ZSTD_LEVEL).and_then(|to| Ok((to, Decompressor::new()?))).ok()
    );
    static SNAPPY: RefCell<snap::raw::Encoder> = RefCell::new(snap::raw::Encoder::new());
}

/// The compression state of one session.
#[derive(Debug)]
pub struct Compression {
    algorithm: Algorithm,
    /// Bytes of an incomplete message.
    partial: Vec<u8>,
}

impl Compression {
    /// The state at the start of a session.
    pub fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, partial: Vec::new() }
    }

    /// Appends `messages`, each packed unless it may not be.
    pub fn pack(&mut self, messages: &[u8], out: &mut Vec<u8>) {
        let mut rest = messages;
        while let Some(size) =
            claimed(rest).filter(|size| (HEADER_SIZE..=rest.len()).contains(size))
        {
            let (message, after) = rest.split_at(size);
            let start = out.len();
            if !is_packable(message) || !self.pack_message(message, out) {
                out.truncate(start);
                out.extend_from_slice(message);
            }
            rest = after;
        }
        debug_assert!(rest.is_empty(), "whole messages");
        out.extend_from_slice(rest);
    }

    /// Appends one message; `false`: part of it.
    fn pack_message(&self, message: &[u8], out: &mut Vec<u8>) -> bool {
        let (header, body) = message.split_at(HEADER_SIZE);
        let start = out.len();
        out.extend_from_slice(&header[..12]);
        out.extend_from_slice(&OP_COMPRESSED.to_le_bytes());
        out.extend_from_slice(&header[12..]);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.push(self.algorithm as u8);
        let packed = pack(self.algorithm, body, out);
        let size = (out.len() - start) as u32;
        out[start..start + 4].copy_from_slice(&size.to_le_bytes());
        packed
    }

    /// Appends the content of received bytes, as far as their messages are complete.
    ///
    /// # Errors
    /// [`WireError`] if a message is invalid.
    pub fn unpack(&mut self, received: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        if self.partial.is_empty() {
            let rest = self.unpack_whole(received, out)?;
            self.partial.extend_from_slice(rest);
            return Ok(());
        }
        let mut partial = std::mem::take(&mut self.partial);
        partial.extend_from_slice(received);
        let left = self.unpack_whole(&partial, out)?.len();
        partial.drain(..partial.len() - left);
        self.partial = partial;
        Ok(())
    }

    /// Returns the incomplete rest.
    fn unpack_whole<'a>(&self, bytes: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], WireError> {
        let mut rest = bytes;
        while let Some(header) = rest.first_chunk::<HEADER_SIZE>() {
            let size = claimed(header).unwrap_or(usize::MAX);
            if size > MESSAGE_SIZE_MAX {
                let (found, limit) = (size as u64, MESSAGE_SIZE_MAX as u64);
                return Err(WireError::TooLong { found, limit });
            } else if size < HEADER_SIZE {
                return Err(WireError::Malformed("message's size"));
            }
            let Some((message, after)) = rest.split_at_checked(size) else { break };
            match code(header) {
                OP_COMPRESSED => self.unpack_message(message, out)?,
                _ => out.extend_from_slice(message),
            }
            rest = after;
        }
        Ok(rest)
    }

    fn unpack_message(&self, message: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let Some((head, packed)) = message.split_at_checked(HEAD_SIZE) else {
            return Err(WireError::Malformed("message's size"));
        };
        let within = code(&head[4..]);
        if within != OP_MSG {
            return Err(WireError::NoMessage(within));
        }
        let size = claimed(&head[20..]).unwrap_or(usize::MAX);
        if size > BODY_SIZE_MAX {
            let (found, limit) = (size as u64, BODY_SIZE_MAX as u64);
            return Err(WireError::TooLong { found, limit });
        }
        out.extend_from_slice(&((HEADER_SIZE + size) as u32).to_le_bytes());
        out.extend_from_slice(&head[4..12]);
        out.extend_from_slice(&OP_MSG.to_le_bytes());
        let start = out.len();
        out.resize(start + size, 0);
        let room = &mut out[start..];
        let whole = match head[24] {
            NOOP if packed.len() == size => {
                room.copy_from_slice(packed);
                true
            }
            number if number == self.algorithm as u8 => unpack(self.algorithm, packed, room),
            NOOP => false,
            _ => return Err(WireError::Malformed("compression: by another algorithm than agreed")),
        };
        if whole { Ok(()) } else { Err(WireError::Malformed("compressed message")) }
    }
}

/// The size at the front of `bytes`; `None`: it is negative, or not there.
fn claimed(bytes: &[u8]) -> Option<usize> {
    usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()
}

/// The operation code in a header.
fn code(header: &[u8]) -> i32 {
    header[12..].first_chunk().map_or(0, |code| i32::from_le_bytes(*code))
}

/// Whether a message may be packed: it is an OP_MSG, and its command holds no secret.
fn is_packable(message: &[u8]) -> bool {
    if code(message) != OP_MSG {
        return false;
    }
    // The size of its document and the type of its first element are before the name.
    let Some(behind) = message.get(FRONT_SIZE + 5..) else { return false };
    let name = behind.split(|byte| *byte == 0).next().unwrap_or_default();
    !NEVER_PACKED.iter().any(|never| name.eq_ignore_ascii_case(never.as_bytes()))
}

/// Appends the packed bytes; `false`: not all of them.
fn pack(algorithm: Algorithm, plain: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let most = match algorithm {
        Algorithm::Snappy => snap::raw::max_compress_len(plain.len()),
        // Of deflate's blocks that are only stored, and what is around them.
        Algorithm::Zlib => plain.len() + plain.len() / 1000 + 128,
        Algorithm::Zstd => zstd_safe::compress_bound(plain.len()),
    };
    out.resize(start + most, 0);
    let room = &mut out[start..];
    let size = match algorithm {
        Algorithm::Snappy => SNAPPY.with_borrow_mut(|snappy| snappy.compress(plain, room).ok()),
        Algorithm::Zlib => ZLIB.with_borrow_mut(|(zlib, _)| {
            zlib.reset();
            let status = zlib.compress(plain, room, FlushCompress::Finish);
            matches!(status, Ok(Status::StreamEnd)).then(|| zlib.total_out() as usize)
        }),
        Algorithm::Zstd => ZSTD.with_borrow_mut(|zstd| {
            let (zstd, _) = zstd.as_mut()?;
            zstd.compress_to_buffer(plain, room).ok()
        }),
    };
    out.truncate(start + size.unwrap_or(0));
    size.is_some()
}

/// Fills `room` with what is unpacked; `false`: it is not exactly that.
fn unpack(algorithm: Algorithm, packed: &[u8], room: &mut [u8]) -> bool {
    let size = room.len();
    let unpacked = match algorithm {
        // It refuses more than there is room for.
        Algorithm::Snappy => snap::raw::Decoder::new().decompress(packed, room).ok(),
        Algorithm::Zlib => ZLIB.with_borrow_mut(|(_, zlib)| {
            zlib.reset(true);
            let status = zlib.decompress(packed, room, FlushDecompress::Finish);
            matches!(status, Ok(Status::StreamEnd)).then(|| zlib.total_out() as usize)
        }),
        Algorithm::Zstd => ZSTD.with_borrow_mut(|zstd| {
            let (_, zstd) = zstd.as_mut()?;
            zstd.decompress_to_buffer(packed, room).ok()
        }),
    };
    unpacked == Some(size)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{message, writer};

    /// Those that can be tried here: Miri runs no C, which zstd is.
    const ALGORITHMS: &[(Algorithm, &str)] = match cfg!(miri) {
        true => &[(Algorithm::Snappy, "snappy"), (Algorithm::Zlib, "zlib")],
        false => {
            &[(Algorithm::Snappy, "snappy"), (Algorithm::Zlib, "zlib"), (Algorithm::Zstd, "zstd")]
        }
    };
    /// Of a text that is packed.
    const SIZE_MAX: usize = if cfg!(miri) { 500 } else { 100_000 };

    /// `{"find": "c", "comment": "a" * 200}` to `d` as request 7, by pymongo 4.20's
    /// `message._op_msg` and `_compress`.
    const PLAIN: &[u8] = include_bytes!("../tests/pymongo/find.msg");
    const PACKED: [(Algorithm, &[u8]); 3] = [
        (Algorithm::Snappy, include_bytes!("../tests/pymongo/find.snappy.msg")),
        (Algorithm::Zlib, include_bytes!("../tests/pymongo/find.zlib.msg")),
        (Algorithm::Zstd, include_bytes!("../tests/pymongo/find.zstd.msg")),
    ];

    fn command(name: &[u8], text: &[u8]) -> Vec<u8> {
        let (mut document, mut out) = (Vec::new(), Vec::new());
        let whole = writer::begin(&mut document);
        writer::text(name, b"c", &mut document);
        writer::text(b"comment", text, &mut document);
        writer::end(whole, &mut document);
        message::command(7, &document, b"d", &mut out).unwrap();
        out
    }

    fn packed(algorithm: Algorithm, messages: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Compression::new(algorithm).pack(messages, &mut out);
        out
    }

    fn unpacked(algorithm: Algorithm, bytes: &[u8]) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::new();
        Compression::new(algorithm).unpack(bytes, &mut out).map(|()| out)
    }

    #[test]
    fn algorithms_have_the_names_of_hello() {
        for (algorithm, name) in ALGORITHMS {
            assert_eq!(Algorithm::named(name), Some(*algorithm));
        }
        assert_eq!(Algorithm::named("lz4"), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "zstd is C")]
    fn what_pymongo_packed_is_unpacked() {
        assert_eq!(command(b"find", &[b'a'; 200]), PLAIN);
        for (algorithm, bytes) in PACKED {
            assert_eq!(unpacked(algorithm, bytes).unwrap(), PLAIN, "{algorithm:?}");
            let ours = packed(algorithm, PLAIN);
            assert_eq!(ours[4..HEAD_SIZE], bytes[4..HEAD_SIZE], "the same head");
            assert_eq!(claimed(&ours), Some(ours.len()));
        }
    }

    #[test]
    fn secrets_are_not_packed() {
        for name in ["hello", "saslStart", "saslContinue", "createUser", "updateUser", "isMaster"] {
            let message = command(name.as_bytes(), &[b'a'; 200]);
            assert_eq!(packed(Algorithm::Zlib, &message), message, "{name}");
        }
    }

    #[test]
    fn messages_that_lie_are_errors() {
        let whole = packed(Algorithm::Snappy, PLAIN);
        let with = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            unpacked(Algorithm::Snappy, &bytes).map(|_| ())
        };
        assert!(matches!(with(3, 0x7f), Err(WireError::TooLong { .. })));
        assert!(matches!(with(3, 0xff), Err(WireError::TooLong { .. })));
        assert_eq!(with(16, 1), Err(WireError::NoMessage(0x0701)));
        assert!(matches!(with(23, 0x7f), Err(WireError::TooLong { .. })));
        assert!(matches!(with(23, 0xff), Err(WireError::TooLong { .. })));
        let another = "compression: by another algorithm than agreed";
        assert_eq!(with(24, 2), Err(WireError::Malformed(another)));
        assert_eq!(with(24, 0), Err(WireError::Malformed("compressed message")));
        assert_eq!(with(25, 0x7f), Err(WireError::Malformed("compressed message")));
        for short in [0, 15, 20] {
            let mut bytes = whole[..HEAD_SIZE].to_vec();
            bytes[..4].copy_from_slice(&u32::to_le_bytes(short));
            let expected = Err(WireError::Malformed("message's size"));
            assert_eq!(unpacked(Algorithm::Snappy, &bytes), expected, "{short}");
        }
    }

    #[test]
    fn what_is_not_packed_passes() {
        let mut noop = PLAIN[..12].to_vec();
        noop[..4].copy_from_slice(&(PLAIN.len() as u32 + 9).to_le_bytes());
        noop.extend_from_slice(&OP_COMPRESSED.to_le_bytes());
        noop.extend_from_slice(&OP_MSG.to_le_bytes());
        noop.extend_from_slice(&((PLAIN.len() - HEADER_SIZE) as u32).to_le_bytes());
        noop.push(NOOP);
        noop.extend_from_slice(&PLAIN[HEADER_SIZE..]);
        for bytes in [PLAIN, &noop] {
            assert_eq!(unpacked(Algorithm::Zlib, bytes).unwrap(), PLAIN);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            cases: if cfg!(miri) { 4 } else { 64 },
            ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_packed_is_unpacked(
            (algorithm, _) in prop::sample::select(ALGORITHMS),
            texts in prop::collection::vec((any::<u8>(), 0..SIZE_MAX), 1..4),
            cuts in prop::collection::vec(1..SIZE_MAX / 3, 1..5),
        ) {
            let mut messages = Vec::new();
            for (byte, size) in texts {
                // Half of it compresses well, the other half does not.
                let text: Vec<_> = (0..size)
                    .map(|n| if n % 2 == 0 { byte } else { (n * n / 7) as u8 })
                    .collect();
                messages.extend_from_slice(&command(b"find", &text));
            }
            let packed = packed(algorithm, &messages);
            let (mut receiver, mut found) = (Compression::new(algorithm), Vec::new());
            let mut rest = &packed[..];
            for cut in cuts.iter().cycle() {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                receiver.unpack(piece, &mut found).unwrap();
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, messages);
        }

        /// Whatever bytes come, they are unpacked, awaited or refused.
        #[test]
        fn no_bytes_are_too_much(
            (algorithm, _) in prop::sample::select(ALGORITHMS),
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = unpacked(algorithm, &bytes);
        }
    }
}
