//! Reads numbers and strings from bytes of which more may come.

use crate::{TEXT_SIZE_MAX, WireError};

/// Why reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The bytes end here.
    More,
    /// They can't be what was to be read.
    Wrong(WireError),
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        Self::Wrong(error)
    }
}

/// `None` if more bytes are needed.
pub(crate) fn complete<T>(read: Result<T, Stop>) -> Result<Option<T>, WireError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(Stop::More) => Ok(None),
        Err(Stop::Wrong(error)) => Err(error),
    }
}

/// A position in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn take(&mut self, size: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.checked_add(size).ok_or(Stop::More)?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::More)?;
        self.at = end;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn byte(&mut self) -> Result<u8, Stop> {
        Ok(self.array::<1>()?[0])
    }

    /// Seven bits a byte, the least significant first; the highest bit says that more follow.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Stop> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(WireError::Malformed("number").into());
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
    }

    /// The size of a string, then its bytes.
    #[inline]
    pub fn text(&mut self, limit: u64) -> Result<&'a [u8], Stop> {
        let size = self.text_size(limit)?;
        self.take(size)
    }

    #[inline]
    pub fn text_size(&mut self, limit: u64) -> Result<usize, Stop> {
        let found = self.number()?;
        debug_assert!(limit <= TEXT_SIZE_MAX);
        if found > limit {
            return Err(WireError::TooLong { found, limit }.into());
        }
        Ok(found as usize)
    }
}
