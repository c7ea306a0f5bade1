//! What lies between a session's bytes and its socket's: compression, encryption, or both.

use std::io::{self, Read, Write};

use rustls::ClientConnection;
use wire_mysql::Compression;

use crate::error::ProtocolError;

/// Turns requests into what the socket sends, and what it receives into replies. Made by the
/// handshake; from then on it lies in the socket's way, both ways.
#[derive(Debug)]
pub struct Channel {
    compression: Option<Compression>,
    tls: Option<Box<ClientConnection>>,
    request: Vec<u8>,
    /// Between the two.
    packed: Vec<u8>,
}

impl Channel {
    /// `None`: there is nothing to do.
    pub(crate) fn new(
        compression: Option<Compression>,
        tls: Option<Box<ClientConnection>>,
    ) -> Option<Box<Self>> {
        let needed = compression.is_some() || tls.is_some();
        let channel = Self { compression, tls, request: Vec::new(), packed: Vec::new() };
        needed.then(|| Box::new(channel))
    }

    /// Where the next request is to be written.
    pub fn request(&mut self) -> &mut Vec<u8> {
        &mut self.request
    }

    /// Appends to `out` what is to be sent for the request, which is gone then.
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

    /// Appends to `plain` what the received bytes hold, if they complete something.
    ///
    /// # Errors
    /// [`ProtocolError`] if they can't be what they claim to be.
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

/// A request buffer larger than this is given back after use.
const REQUEST_KEEP: usize = 16 * 1024;

/// Appends the records that hold `plain`.
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

/// Appends what the records in `received` hold.
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
        // Neither fails: bytes are read from memory, and as many as there are.
        taken.and(read).map_err(|error| rustls::Error::General(error.to_string()))?;
    }
    Ok(())
}
