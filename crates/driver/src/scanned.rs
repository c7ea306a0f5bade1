//! How far a reply's bytes have been scanned, and whether they are still there to be read.

use crate::error::ProtocolError;

/// The scanned part of a reply, in one word: a run may have a hundred thousand of them.
///
/// Twice the offset of the first byte not yet scanned (beyond the received bytes if the rest of a
/// value is only skipped), plus one if bytes of this reply were dropped.
#[derive(Debug, Default)]
pub(crate) struct Scanned(usize);

impl Scanned {
    const DISCARDED: usize = 1;

    /// Offset of the first byte not yet scanned.
    pub fn position(&self) -> usize {
        self.0 >> 1
    }

    /// So many bytes more are scanned, or skipped.
    pub fn advance(&mut self, size: usize) {
        self.0 += size << 1;
    }

    /// The reply is over: returns its size, and the next byte is the first again.
    pub fn take_position(&mut self) -> usize {
        let position = self.position();
        self.0 &= Self::DISCARDED;
        position
    }

    /// Another reply begins, of which nothing was dropped.
    pub fn begin(&mut self) {
        self.0 &= !Self::DISCARDED;
    }

    /// Drops scanned bytes: returns how many of the `buffer_size` the caller may drop at the front.
    pub fn discard(&mut self, buffer_size: usize) -> usize {
        let count = self.position().min(buffer_size);
        self.0 -= count << 1;
        if count > 0 {
            self.0 |= Self::DISCARDED;
        }
        count
    }

    /// Fails if the reply's rows or values can't be read any more.
    pub fn check_readable(&self) -> Result<(), ProtocolError> {
        if self.0 & Self::DISCARDED != 0 {
            return Err(ProtocolError::Misuse("the reply's bytes were discarded"));
        }
        Ok(())
    }
}
