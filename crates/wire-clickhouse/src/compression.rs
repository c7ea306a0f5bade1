//! Compressed blocks: frames of a checksum, a method, two sizes and the content. A block fills one
//! frame or several; what precedes it, and all other packets, are never compressed.

use std::cell::RefCell;

use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size,
};
use zstd::bulk::{Compressor, Decompressor};

use crate::backend::{block_head, uncompressed};
use crate::frontend::{Part, part};
use crate::reader::{Reader, complete};
use crate::{Extent, WireError};

/// Size of a frame's checksum.
const CHECKSUM_SIZE: usize = 16;
/// Size of a frame's method and sizes, which its own size includes.
const SIZES_SIZE: usize = 9;
/// The largest frame that is read, packed or unpacked. Servers fill frames of 1 MiB.
const FRAME_SIZE_MAX: u32 = 16 << 20;
/// Content is packed together up to this size, bytes, as servers do.
const PART_SIZE: usize = 1 << 20;
/// Less content is not worth compressing: what ends a client's data has three bytes.
const SIZE_MIN: usize = 50;
/// The level that servers use unless they are configured otherwise.
const ZSTD_LEVEL: i32 = 1;

/// The methods' bytes.
const NONE: u8 = 0x02;
const LZ4: u8 = 0x82;
const ZSTD: u8 = 0x90;

/// How a client's blocks are packed; those of a server say themselves how they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Quick.
    Lz4,
    /// Smaller.
    Zstd,
}

impl Method {
    /// By its name in a target.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "lz4" => Some(Self::Lz4),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Its name, in a target as in the server's setting `network_compression_method`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

thread_local! {
    // They are large and hold nothing between two frames: those of a thread share them.
    static LZ4_TABLE: RefCell<CompressTable> = RefCell::new(CompressTable::large());
    static ZSTD_CONTEXT: RefCell<Option<(Compressor<'static>, Decompressor<'static>)>> =
        RefCell::new(zstd_context());
}

fn zstd_context() -> Option<(Compressor<'static>, Decompressor<'static>)> {
    Some((Compressor::new(ZSTD_LEVEL).ok()?, Decompressor::new().ok()?))
}

/// What received bytes belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Packets,
    /// A block whose size is not known yet.
    Head,
    Columns {
        /// The block ends after what is still to be skipped.
        ends: bool,
    },
}

/// The compression state of one session.
#[derive(Debug)]
pub struct Compression {
    method: Method,
    /// Bytes of an incomplete packet or frame.
    partial: Vec<u8>,
    within: Within,
    extent: Extent,
    /// Content of the block from where its extent stands.
    held: Vec<u8>,
    /// Content that the extent has passed before it came, bytes.
    skip: usize,
}

impl Compression {
    /// The state at the start of a session.
    pub fn new(method: Method) -> Self {
        let (partial, held) = (Vec::new(), Vec::new());
        let (within, extent, skip) = (Within::Packets, Extent::default(), 0);
        Self { method, partial, within, extent, held, skip }
    }

    /// Appends a client's packets, their blocks packed and their queries asking for the same.
    pub fn pack(&self, packets: &[u8], out: &mut Vec<u8>) {
        let mut rest = packets;
        while let Ok(Some((part, size))) = part(rest) {
            let (packet, next) = rest.split_at(size);
            match part {
                Part::Query(at) => {
                    let start = out.len();
                    out.extend_from_slice(packet);
                    out[start + at] = 1;
                }
                Part::Data(at) => {
                    out.extend_from_slice(&packet[..at]);
                    packet[at..].chunks(PART_SIZE).for_each(|part| frame(self.method, part, out));
                }
                Part::Other => out.extend_from_slice(packet),
            }
            rest = next;
        }
        debug_assert!(rest.is_empty(), "requests are whole packets of our own");
    }

    /// Appends a server's packets as they are without compression, as far as they are complete.
    ///
    /// # Errors
    /// [`WireError`] if a packet or frame is invalid.
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
        while !rest.is_empty() {
            if self.within == Within::Packets {
                let Some((is_block, size)) = uncompressed(rest)? else { break };
                out.extend_from_slice(&rest[..size]);
                rest = &rest[size..];
                if is_block {
                    self.within = Within::Head;
                }
                continue;
            }
            let start = out.len();
            let Some(size) = unpack_frame(rest, out)? else { break };
            rest = &rest[size..];
            self.pass(&out[start..])?;
        }
        Ok(rest)
    }

    /// Passes content of the block, to find its end.
    fn pass(&mut self, content: &[u8]) -> Result<(), WireError> {
        let mut held = std::mem::take(&mut self.held);
        let joined = !held.is_empty();
        if joined {
            held.extend_from_slice(content);
        }
        let whole = if joined { &held[..] } else { content };
        let at = self.pass_from(whole)?;
        self.skip = at.saturating_sub(whole.len());
        let left = whole.len().saturating_sub(at);
        if self.within == (Within::Columns { ends: true }) && self.skip == 0 {
            if left > 0 {
                return Err(WireError::Malformed("compressed block: more follows its end"));
            }
            self.within = Within::Packets;
        }
        if joined {
            held.drain(..held.len() - left);
        } else {
            held.extend_from_slice(&content[content.len() - left..]);
        }
        self.held = held;
        Ok(())
    }

    /// Where in the content the extent stands afterwards, which may be behind it.
    fn pass_from(&mut self, content: &[u8]) -> Result<usize, WireError> {
        let mut at = self.skip;
        if at > content.len() {
            return Ok(at);
        }
        if self.within == Within::Head {
            let Some((block, size)) = block_head(content)? else { return Ok(0) };
            self.extent.begin(block);
            self.within = Within::Columns { ends: false };
            at = size;
        }
        if self.within == (Within::Columns { ends: false }) {
            let (size, ends) = self.extent.advance(&content[at..])?;
            self.within = Within::Columns { ends };
            at = at.checked_add(size).ok_or(WireError::Malformed("size of a block"))?;
        }
        Ok(at)
    }
}

/// Appends a frame of this content.
pub fn frame(method: Method, content: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let sizes = start + CHECKSUM_SIZE;
    let packed = sizes + SIZES_SIZE;
    out.resize(packed, 0);
    out[sizes] = match method {
        _ if content.len() < SIZE_MIN => NONE,
        Method::Lz4 if pack_lz4(content, out) => LZ4,
        Method::Zstd if pack_zstd(content, out) => ZSTD,
        _ => NONE,
    };
    if out[sizes] == NONE {
        out.extend_from_slice(content);
    }
    let size = (out.len() - sizes) as u32;
    out[sizes + 1..sizes + 5].copy_from_slice(&size.to_le_bytes());
    out[sizes + 5..packed].copy_from_slice(&(content.len() as u32).to_le_bytes());
    let checksum = checksum(&out[sizes..]);
    out[start..sizes].copy_from_slice(&checksum);
}

/// CityHash128 1.0.2, its first half first.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_SIZE] {
    cityhash_rs::cityhash_102_128(bytes).rotate_left(64).to_le_bytes()
}

/// Appends the packed content; `false`: it is left out.
fn pack_lz4(content: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + get_maximum_output_size(content.len()), 0);
    let size = LZ4_TABLE
        .with_borrow_mut(|table| compress_into_with_table(content, &mut out[start..], table).ok());
    out.truncate(start + size.unwrap_or(0));
    size.is_some()
}

fn pack_zstd(content: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + zstd::zstd_safe::compress_bound(content.len()), 0);
    let size = ZSTD_CONTEXT.with_borrow_mut(|zstd| {
        let (zstd, _) = zstd.as_mut()?;
        zstd.compress_to_buffer(content, &mut out[start..]).ok()
    });
    out.truncate(start + size.unwrap_or(0));
    size.is_some()
}

/// Appends the content of the frame at the front of `bytes`, and returns its size; `None`: it is
/// incomplete.
fn unpack_frame(bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>, WireError> {
    let mut reader = Reader::new(bytes);
    let mut head = || {
        let expected = reader.array::<CHECKSUM_SIZE>()?;
        let method = reader.byte()?;
        let sizes = [u32::from_le_bytes(reader.array()?), u32::from_le_bytes(reader.array()?)];
        Ok((expected, method, sizes))
    };
    let Some((expected, method, [packed, plain])) = complete(head())? else { return Ok(None) };
    for size in [packed, plain] {
        if size > FRAME_SIZE_MAX {
            let (found, limit) = (size.into(), FRAME_SIZE_MAX.into());
            return Err(WireError::TooLong { found, limit });
        }
    }
    let (packed, plain) = (packed as usize, plain as usize);
    if packed < SIZES_SIZE {
        return Err(WireError::Malformed("compressed block: size of a frame"));
    }
    let size = CHECKSUM_SIZE + packed;
    let Some(whole) = bytes.get(CHECKSUM_SIZE..size) else { return Ok(None) };
    if checksum(whole) != expected {
        return Err(WireError::Malformed("compressed block: its checksum is another"));
    }
    let content = &whole[SIZES_SIZE..];
    let start = out.len();
    out.resize(start + plain, 0);
    let unpacked = &mut out[start..];
    let found = match method {
        NONE if content.len() == plain => {
            unpacked.copy_from_slice(content);
            Some(plain)
        }
        LZ4 => decompress_into(content, unpacked).ok(),
        ZSTD => ZSTD_CONTEXT.with_borrow_mut(|zstd| {
            let (_, zstd) = zstd.as_mut()?;
            zstd.decompress_to_buffer(content, unpacked).ok()
        }),
        _ => None,
    };
    match found {
        Some(found) if found == plain => Ok(Some(size)),
        _ => Err(WireError::Malformed("compressed block: its content does not unpack")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frontend;

    /// Those that can be tried here: Miri runs no C, which zstd is.
    const METHODS: &[Method] = match cfg!(miri) {
        true => &[Method::Lz4],
        false => &[Method::Lz4, Method::Zstd],
    };

    /// A server's reply of a block of texts, and of an end.
    fn plain(texts: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![1];
        bytes.extend(content(texts));
        bytes.push(5);
        bytes
    }

    /// Of the block, from the name before it.
    fn content(texts: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        frontend::block(2, texts.len() as u64, &mut bytes);
        bytes.remove(0);
        frontend::column(b"a", b"String", &mut bytes);
        texts.iter().for_each(|text| frontend::text(text, &mut bytes));
        frontend::column(b"b", b"UInt16", &mut bytes);
        bytes.resize(bytes.len() + 2 * texts.len(), 7);
        bytes
    }

    /// The same with the block in frames of this size.
    fn packed(method: Method, texts: &[Vec<u8>], size: usize) -> Vec<u8> {
        let content = content(texts);
        let mut bytes = vec![1, 0];
        content[1..].chunks(size).for_each(|part| frame(method, part, &mut bytes));
        bytes.push(5);
        bytes
    }

    fn unpacked(method: Method, pieces: &[&[u8]]) -> Result<Vec<u8>, WireError> {
        let (mut compression, mut out) = (Compression::new(method), Vec::new());
        for piece in pieces {
            compression.unpack(piece, &mut out)?;
        }
        Ok(out)
    }

    #[test]
    fn checksums_are_those_of_the_server() {
        // An empty block, as a server of 18.16 sends it.
        let mut out = Vec::new();
        frame(Method::Lz4, b"\x01\0\x02\xff\xff\xff\xff\0\0\0", &mut out);
        assert_eq!(
            out[CHECKSUM_SIZE..],
            *b"\x02\x13\0\0\0\x0a\0\0\0\x01\0\x02\xff\xff\xff\xff\0\0\0"
        );
    }

    #[test]
    fn blocks_are_packed_and_other_packets_are_not() {
        for method in METHODS {
            let (mut request, mut out) = (Vec::new(), Vec::new());
            frontend::query_with(|out| out.extend_from_slice(b"SELECT 1"), &mut request);
            frontend::ping(&mut request);
            Compression::new(*method).pack(&request, &mut out);
            let asked = out.windows(10).any(|part| part == b"\x01\x08SELECT 1");
            assert!(asked, "{out:?}");
            assert_eq!(out.last(), Some(&4));
            let mut end = vec![2, 0];
            frame(*method, &[0; 3], &mut end);
            assert!(out[..out.len() - 1].ends_with(&end));
        }
    }

    #[test]
    fn large_blocks_fill_several_frames() {
        let rows = if cfg!(miri) { 100_u32 } else { 40_000 };
        let texts: Vec<_> = (0..rows).map(|n| n.to_string().repeat(8).into_bytes()).collect();
        let mut request = plain(&texts);
        request[0] = 2;
        request.pop();
        for method in METHODS {
            let mut out = Vec::new();
            Compression::new(*method).pack(&request, &mut out);
            assert!(out.len() < request.len() / 2, "{method:?}: {} bytes", out.len());
            out[0] = 1;
            let mut expected = request.clone();
            expected[0] = 1;
            assert!(unpacked(*method, &[&out]).unwrap() == expected);
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let whole = packed(Method::Lz4, &vec![b"abcabcabc".to_vec(); 20], 1000);
        for at in 2..whole.len() - 1 {
            let mut wrong = whole.clone();
            wrong[at] ^= 1;
            // A size may say that more follows.
            if let Ok(out) = unpacked(Method::Lz4, &[&wrong]) {
                assert_eq!(out, [1, 0], "{at}");
            }
        }
        let mut more = vec![1, 0];
        frame(Method::Lz4, b"\0\0\0\0", &mut more);
        let error = unpacked(Method::Lz4, &[&more]).unwrap_err();
        assert!(error.to_string().contains("more follows"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            cases: if cfg!(miri) { 4 } else { 512 },
            ..ProptestConfig::default()
        })]

        #[test]
        fn blocks_read_back(
            texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
            size in 1..2000_usize,
            cut in any::<prop::sample::Index>(),
        ) {
            for method in METHODS {
                let bytes = packed(*method, &texts, size);
                let (first, second) = bytes.split_at(cut.index(bytes.len()));
                prop_assert_eq!(unpacked(*method, &[first, second]), Ok(plain(&texts)));
            }
        }
    }
}
