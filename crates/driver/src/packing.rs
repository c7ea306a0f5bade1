//! Compression of what a session sends and receives, as its protocol has it.

use crate::error::ProtocolError;

/// The state of one connection.
#[derive(Debug)]
pub(crate) enum Packing {
    /// Packets in larger packets.
    Mysql(wire_mysql::Compression),
    /// Messages in messages.
    Mongodb(wire_mongodb::Compression),
    /// Blocks in frames.
    Clickhouse(wire_clickhouse::Compression),
}

impl Packing {
    /// Appends a request as it is sent.
    pub fn pack(&mut self, request: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Mysql(compression) => compression.pack(request, out),
            Self::Mongodb(compression) => compression.pack(request, out),
            Self::Clickhouse(compression) => compression.pack(request, out),
        }
    }

    /// Appends what was received as the session reads it, as far as it is complete.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes are invalid.
    pub fn unpack(&mut self, received: &[u8], plain: &mut Vec<u8>) -> Result<(), ProtocolError> {
        match self {
            Self::Mysql(compression) => Ok(compression.unpack(received, plain)?),
            Self::Mongodb(compression) => Ok(compression.unpack(received, plain)?),
            Self::Clickhouse(compression) => Ok(compression.unpack(received, plain)?),
        }
    }
}
