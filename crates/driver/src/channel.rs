//! The layer between a session's bytes and its socket's: compression, encryption, or both.

use std::io::{self, Read, Write};

use rustls::ClientConnection;

use crate::error::ProtocolError;
use crate::packing::Packing;

/// Turns requests into the bytes to send, and received bytes into replies. The handshake makes it;
/// from then on all traffic passes through it.
#[derive(Debug)]
pub struct Channel {
    compression: Option<Packing>,
    tls: Option<Box<ClientConnection>>,
    request: Vec<u8>,
    /// Bytes between compression and encryption.
    packed: Vec<u8>,
}

impl Channel {
    /// `None`: the connection is neither compressed nor encrypted.
    pub(crate) fn new(
        compression: Option<Packing>,
        tls: Option<Box<ClientConnection>>,
    ) -> Option<Box<Self>> {
        let needed = compression.is_some() || tls.is_some();
        let channel = Self { compression, tls, request: Vec::new(), packed: Vec::new() };
        needed.then(|| Box::new(channel))
    }

    /// The buffer for the next request.
    pub fn request(&mut self) -> &mut Vec<u8> {
        &mut self.request
    }

    /// Appends to `out` the bytes to send for the request, and clears the request.
    ///
    /// # Errors
    /// [`ProtocolError`] if nothing can be sent any more.
    pub fn seal(&mut self, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        let mut sealed = Ok(());
        match (&mut self.compression, &mut self.tls) {
            (None, None) => out.extend_from_slice(&self.request),
            (Some(compression), None) => compression.pack(&self.request, out),
            (None, Some(tls)) => sealed = encrypt(tls, &self.request, out),
            (Some(compression), Some(tls)) => {
                compression.pack(&self.request, &mut self.packed);
                sealed = encrypt(tls, &self.packed, out);
            }
        }
        for buffer in [&mut self.request, &mut self.packed] {
            buffer.clear();
            buffer.shrink_to(REQUEST_KEEP);
        }
        sealed.map_err(|_| ProtocolError::Malformed("TLS session"))
    }

    /// Appends to `plain` the content of received bytes, as far as it is complete.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes are invalid.
    pub fn open(&mut self, received: &[u8], plain: &mut Vec<u8>) -> Result<(), ProtocolError> {
        let broken = |_| ProtocolError::Malformed("TLS record");
        match (&mut self.compression, &mut self.tls) {
            (None, None) => plain.extend_from_slice(received),
            (Some(compression), None) => compression.unpack(received, plain)?,
            (None, Some(tls)) => decrypt(tls, received, plain).map_err(broken)?,
            (Some(compression), Some(tls)) => {
                decrypt(tls, received, &mut self.packed).map_err(broken)?;
                compression.unpack(&self.packed, plain)?;
                self.packed.clear();
            }
        }
        Ok(())
    }
}

/// A larger request buffer is freed after use, bytes.
const REQUEST_KEEP: usize = 16 * 1024;

/// Appends the TLS records that hold `plain`.
pub(crate) fn encrypt(
    tls: &mut ClientConnection,
    plain: &[u8],
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut rest = plain;
    loop {
        while tls.wants_write() {
            tls.write_tls(out)?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        match tls.writer().write(rest)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => rest = &rest[count..],
        }
    }
}

/// Appends the content of the TLS records in `received`.
pub(crate) fn decrypt(
    tls: &mut ClientConnection,
    received: &[u8],
    plain: &mut Vec<u8>,
) -> Result<(), rustls::Error> {
    let mut rest = received;
    while !rest.is_empty() {
        let taken = tls.read_tls(&mut rest);
        let state = tls.process_new_packets()?;
        let size = state.plaintext_bytes_to_read();
        let start = plain.len();
        plain.resize(start + size, 0);
        let read = tls.reader().read_exact(&mut plain[start..]);
        // Neither can fail: the bytes are in memory and complete.
        taken.and(read).map_err(|error| rustls::Error::General(error.to_string()))?;
    }
    Ok(())
}
