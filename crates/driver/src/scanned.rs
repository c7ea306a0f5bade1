//! How far a reply's bytes have been scanned, and whether they are still there to be read.

use crate::error::ProtocolError;

/// The scanned part of a reply.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    /// Offset of the first byte not yet scanned; beyond the received bytes if the rest of a value
    /// is only skipped.
    pub position: usize,
    /// Bytes of this reply were dropped: its rows or values can't be read.
    pub discarded: bool,
}

impl Scanned {
    /// Drops scanned bytes: returns how many of the `buffer_size` the caller may drop at the front.
    pub fn discard(&mut self, buffer_size: usize) -> usize {
        let count = self.position.min(buffer_size);
        self.position -= count;
        self.discarded |= count > 0;
        count
    }

    /// Fails if the reply's rows or values can't be read any more.
    pub fn check_readable(&self) -> Result<(), ProtocolError> {
        if self.discarded {
            return Err(ProtocolError::Misuse("the reply's bytes were discarded"));
        }
        Ok(())
    }
}
