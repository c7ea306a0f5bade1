//! Received bytes that a client reads rows in, until its next event.

use reactor::Chunk;

/// Received bytes held while a client reads rows in them.
#[derive(Debug, Default)]
pub(crate) enum Lent {
    #[default]
    Nothing,
    /// As received.
    Chunk(Chunk),
    /// Decrypted by a channel: in [`Lending::opened`].
    Opened,
}

/// Memory in which the running client may read its rows; it goes back with the next event.
#[derive(Default)]
pub(crate) struct Lending {
    /// Bytes decrypted by a channel, for the session.
    pub(crate) opened: Vec<u8>,
    /// The slot whose rows lie in what is lent.
    to: Option<u32>,
    lent: Lent,
}

impl Lending {
    /// Holds the bytes for the rows of a slot.
    #[inline]
    pub(crate) fn lend(&mut self, slot: u32, lent: Lent) {
        self.lent = lent;
        self.to = Some(slot);
    }

    /// What was lent, and for which slot; `None`: nothing is.
    #[inline]
    pub(crate) fn take_back(&mut self) -> Option<(u32, Lent)> {
        Some((self.to.take()?, std::mem::take(&mut self.lent)))
    }

    /// The bytes held.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.lent.bytes(&self.opened)
    }
}

impl Lent {
    /// The bytes held.
    pub(crate) fn bytes<'a>(&'a self, opened: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Nothing => &[],
            Self::Chunk(chunk) => chunk.bytes(),
            Self::Opened => opened,
        }
    }
}
