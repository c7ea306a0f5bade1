//! The compressed protocol: both sides' packets, packed into larger ones by zlib or zstd.
//!
//! Its packets have their own sequence numbers, from 0 with each command. Short packets, and those
//! that don't get smaller, are sent uncompressed.

use std::cell::RefCell;

use flate2::{Compress, Compression as Level, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::bulk::{Compressor, Decompressor};

use crate::{PACKET_SIZE_MAX, WireError, backend};

/// Size of a packed packet's header: its size, its sequence number, and its unpacked size (0: not
/// compressed).
const HEADER_SIZE: usize = 7;
/// Shorter payloads are not worth compressing; servers use the same limit.
const SIZE_MIN: usize = 50;
/// Packets are packed together up to this size, bytes.
const PART_SIZE: usize = 1 << 20;

/// How packets are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Supported by every server.
    Zlib,
    /// MySQL, since 8.0.18.
    Zstd,
}

impl Algorithm {
    /// By its name in a target.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "zlib" => Some(Self::Zlib),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// The level clients and servers use unless told otherwise.
pub(crate) const ZSTD_LEVEL: u8 = 3;

thread_local! {
    // They are large and hold nothing between two packets: those of a thread share them.
    static ZLIB: RefCell<(Compress, Decompress)> =
        RefCell::new((Compress::new(Level::default(), true), Decompress::new(true)));
    static ZSTD: RefCell<Option<(Compressor<'static>, Decompressor<'static>)>> = RefCell::new(
        Compressor::new(i32::from(ZSTD_LEVEL)).and_then(|to| Ok((to, Decompressor::new()?))).ok()
    );
}

/// The compression state of one session.
#[derive(Debug)]
pub struct Compression {
    algorithm: Algorithm,
    /// Number of the next packet, whoever sends it.
    sequence: u8,
    /// Bytes of an incomplete packet.
    partial: Vec<u8>,
}

impl Compression {
    /// The state at the start of a session.
    pub fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, sequence: 0, partial: Vec::new() }
    }

    /// Appends `packets`, packed. Each command starts a packed packet of its own.
    pub fn pack(&mut self, packets: &[u8], out: &mut Vec<u8>) {
        let (mut start, mut end, mut last) = (0, 0, None);
        while let Some(header) = backend::header(&packets[end..]) {
            // Sequence numbers wrap after 255 within a command.
            if header.sequence == 0 && last != Some(u8::MAX) {
                self.pack_parts(&packets[start..end], out);
                start = end;
                self.sequence = 0;
            }
            last = Some(header.sequence);
            end = (end + backend::HEADER_SIZE + header.size).min(packets.len());
        }
        self.pack_parts(&packets[start..end], out);
    }

    fn pack_parts(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for part in bytes.chunks(PART_SIZE) {
            let start = out.len();
            out.resize(start + HEADER_SIZE, 0);
            let packed = part.len() >= SIZE_MIN && pack(self.algorithm, part, out);
            if !packed {
                out.extend_from_slice(part);
            }
            let size = (out.len() - start - HEADER_SIZE) as u32;
            out[start..start + 3].copy_from_slice(&size.to_le_bytes()[..3]);
            out[start + 3] = self.sequence;
            if packed {
                let size = part.len() as u32;
                out[start + 4..start + 7].copy_from_slice(&size.to_le_bytes()[..3]);
            }
            self.sequence = self.sequence.wrapping_add(1);
        }
    }

    /// Appends the content of received bytes, as far as their packets are complete.
    ///
    /// # Errors
    /// [`WireError::Malformed`] if a packet is invalid.
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
    fn unpack_whole<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<&'a [u8], WireError> {
        let mut rest = bytes;
        loop {
            let [a, b, c, sequence, x, y, z, ref after @ ..] = *rest else { return Ok(rest) };
            let size = |low, middle, high| u32::from_le_bytes([low, middle, high, 0]) as usize;
            let Some((payload, next)) = after.split_at_checked(size(a, b, c)) else {
                return Ok(rest);
            };
            match size(x, y, z) {
                0 => out.extend_from_slice(payload),
                size => unpack(self.algorithm, payload, size, out)?,
            }
            self.sequence = sequence.wrapping_add(1);
            rest = next;
        }
    }
}

/// Appends the compressed bytes if they are fewer; otherwise returns `false` and leaves `out`
/// unchanged.
fn pack(algorithm: Algorithm, plain: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    // At least one byte less, or it does not pay.
    out.resize(start + plain.len() - 1, 0);
    let size = match algorithm {
        Algorithm::Zlib => ZLIB.with_borrow_mut(|(zlib, _)| {
            zlib.reset();
            let status = zlib.compress(plain, &mut out[start..], FlushCompress::Finish);
            matches!(status, Ok(Status::StreamEnd)).then(|| zlib.total_out() as usize)
        }),
        Algorithm::Zstd => ZSTD.with_borrow_mut(|zstd| {
            let (zstd, _) = zstd.as_mut()?;
            zstd.compress_to_buffer(plain, &mut out[start..]).ok()
        }),
    };
    out.truncate(start + size.unwrap_or(0));
    size.is_some()
}

/// Appends exactly `size` unpacked bytes.
fn unpack(
    algorithm: Algorithm,
    packed: &[u8],
    size: usize,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    debug_assert!(size <= PACKET_SIZE_MAX, "three bytes hold no more");
    let start = out.len();
    out.resize(start + size, 0);
    let whole = match algorithm {
        Algorithm::Zlib => ZLIB.with_borrow_mut(|(_, zlib)| {
            zlib.reset(true);
            let status = zlib.decompress(packed, &mut out[start..], FlushDecompress::Finish);
            matches!(status, Ok(Status::StreamEnd)) && zlib.total_out() == size as u64
        }),
        Algorithm::Zstd => ZSTD
            .with_borrow_mut(|zstd| {
                let (_, zstd) = zstd.as_mut()?;
                zstd.decompress_to_buffer(packed, &mut out[start..]).ok().filter(|got| *got == size)
            })
            .is_some(),
    };
    if whole { Ok(()) } else { Err(WireError::Malformed("compressed packet")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frontend;

    /// Those that can be tried here: Miri runs no C, which zstd is.
    const ALGORITHMS: &[Algorithm] = match cfg!(miri) {
        true => &[Algorithm::Zlib],
        false => &[Algorithm::Zlib, Algorithm::Zstd],
    };
    /// Of a text that is packed.
    const SIZE_MAX: usize = if cfg!(miri) { 500 } else { 200_000 };

    #[test]
    fn short_packets_travel_as_they_are() {
        let mut request = Vec::new();
        frontend::close(7, &mut request);
        frontend::query(b"DO 1", &mut request).unwrap();
        let mut out = Vec::new();
        Compression::new(Algorithm::Zlib).pack(&request, &mut out);
        let expected = [
            &b"\x09\0\0\0\0\0\0"[..],
            b"\x05\0\0\0\x19\x07\0\0\0",
            b"\x09\0\0\0\0\0\0",
            b"\x05\0\0\0\x03DO 1",
        ];
        assert_eq!(out, expected.concat(), "each command counts from 0");
    }

    #[test]
    fn a_packet_from_the_manual_is_unpacked() {
        // "Compressed Payload" in MySQL's protocol manual.
        let packet = b"\x22\0\0\0\x32\0\0\x78\x9c\xd3\x63\x60\x60\x60\x2e\x4e\xcd\x49\x4d\x2e\x51\
                       \x50\x32\x30\x34\x32\x36\x31\x35\x33\xb7\xb0\xc4\xcd\x52\x02\0\x0c\xd1\x0a\
                       \x6c";
        let mut out = Vec::new();
        let mut compression = Compression::new(Algorithm::Zlib);
        compression.unpack(packet, &mut out).unwrap();
        let digits = "012345678901234567890123456789012345";
        assert_eq!(out[4..], *format!("\x03select \"{digits}\"").as_bytes());
        assert_eq!(compression.sequence, 1);
    }

    #[test]
    fn what_is_sent_later_goes_on_counting() {
        let mut compression = Compression::new(Algorithm::Zlib);
        let mut out = Vec::new();
        compression.unpack(b"\x05\0\0\x01\0\0\0\x01\0\0\x01\xfb", &mut out).unwrap();
        assert_eq!(out, b"\x01\0\0\x01\xfb");
        out.clear();
        let mut rows = Vec::new();
        frontend::file(2, b"1\n", &mut rows);
        compression.pack(&rows, &mut out);
        assert_eq!(out[..7], [10, 0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn packets_that_lie_are_errors() {
        // It claims 16 MB when unpacked; Miri would fill them byte by byte.
        let most = if cfg!(miri) { 0 } else { 0xff };
        let long = [2, 0, 0, 0, 0xff, 0xff, most, 0x78, 0x9c];
        for bad in [&b"\x01\0\0\0\x09\0\0x"[..], &long] {
            for algorithm in ALGORITHMS {
                let mut compression = Compression::new(*algorithm);
                assert!(compression.unpack(bad, &mut Vec::new()).is_err());
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "zstd is C")]
    fn a_frame_of_another_zstd_is_unpacked() {
        // `printf 012345678901234567890123456789012345 | zstd -3 --no-check | xxd`.
        let packet = b"\x19\0\0\x07\x24\0\0\x28\xb5\x2f\xfd\0\x58\x85\0\0\x50\x30\x31\x32\
                       \x33\x34\x35\x36\x37\x38\x39\x01\0\xb5\x0b\x12";
        let (mut compression, mut out) = (Compression::new(Algorithm::Zstd), Vec::new());
        compression.unpack(packet, &mut out).unwrap();
        assert_eq!(out, b"012345678901234567890123456789012345");
        assert_eq!(compression.sequence, 8);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(
            algorithm in prop::sample::select(ALGORITHMS),
            texts in prop::collection::vec((any::<u8>(), 0..SIZE_MAX), 1..4),
            cuts in prop::collection::vec(1..SIZE_MAX / 3, 1..5),
        ) {
            let mut packets = Vec::new();
            for (byte, size) in texts {
                // Half of it compresses well, the other half does not.
                let text: Vec<_> = (0..size)
                    .map(|n| if n % 2 == 0 { byte } else { (n * n / 7) as u8 })
                    .collect();
                frontend::query(&text, &mut packets).unwrap();
            }
            let mut packed = Vec::new();
            Compression::new(algorithm).pack(&packets, &mut packed);
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
            prop_assert_eq!(found, packets);
        }
    }
}
