//! A blocking socket with one deadline over everything: what a handshake runs on.

use std::io::{self, Read, Write};
use std::net::ToSocketAddrs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use record::{Endpoint, ServerTarget, Tls, TlsMode};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use socket2::{Domain, SockAddr, Socket, Type};
use wire_mysql::Compression;

use crate::channel::{Channel, decrypt, encrypt};
use crate::connect::{ConnectError, Transport};
use crate::tls;

/// What one read asks for; handshakes are a few hundred bytes.
const READ_SIZE: usize = 4096;

/// A connected socket during its handshake.
#[derive(Debug)]
pub(crate) struct Dialled {
    /// Where, for messages.
    pub address: String,
    /// Bytes received and not yet taken.
    pub received: Vec<u8>,
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    deadline: Instant,
    limit: Duration,
}

impl Dialled {
    /// Connects; `limit` counts from here to the end of the handshake. (A name is looked up by the
    /// system's resolver, which keeps its own time.)
    pub fn open(endpoint: &Endpoint, limit: Duration) -> Result<Self, ConnectError> {
        let deadline = Instant::now() + limit;
        let address = address_of(endpoint);
        let socket = match endpoint {
            Endpoint::Tcp { host, port } => open_tcp(host, *port, deadline),
            Endpoint::Unix(path) => open_unix(path, deadline),
        };
        match socket {
            Ok(socket) => {
                Ok(Self { address, received: Vec::new(), socket, tls: None, deadline, limit })
            }
            Err(source) => Err(failure(address, limit, source)),
        }
    }

    /// Encrypts all that follows, if nothing has come ahead of it.
    pub fn encrypt(&mut self, host: &str, settings: &Tls) -> Result<(), ConnectError> {
        if !self.received.is_empty() {
            // Somebody in between could have put it there.
            return Err(self.tls_failed("bytes precede the TLS handshake".into()));
        }
        let config = tls::config(settings).map_err(|what| self.tls_failed(what))?;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| self.tls_failed(format!("`{host}` is no name of a TLS server")))?;
        let mut connection = ClientConnection::new(config, name)
            .map_err(|error| self.tls_failed(tls::explain(&error, settings)))?;
        while connection.is_handshaking() {
            self.flush(&mut connection)?;
            if connection.is_handshaking() {
                let bytes = self.receive_bytes()?;
                let opened = decrypt(&mut connection, &bytes, &mut self.received);
                if let Err(error) = opened {
                    // The alert that tells the server why; it may be gone already.
                    let _ = self.flush(&mut connection);
                    return Err(self.tls_failed(tls::explain(&error, settings)));
                }
            }
        }
        self.flush(&mut connection)?;
        self.tls = Some(Box::new(connection));
        Ok(())
    }

    /// The conversation is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Sends all of `bytes`.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ConnectError> {
        let Some(mut connection) = self.tls.take() else { return self.send_bytes(bytes) };
        let mut out = Vec::new();
        let sealed = encrypt(&mut connection, bytes, &mut out);
        self.tls = Some(connection);
        sealed.map_err(|source| self.failed(source))?;
        self.send_bytes(&out)
    }

    /// Receives at least one more byte.
    pub fn receive(&mut self) -> Result<(), ConnectError> {
        let before = self.received.len();
        while self.received.len() == before {
            let bytes = self.receive_bytes()?;
            match &mut self.tls {
                None => self.received.extend_from_slice(&bytes),
                Some(connection) => {
                    let opened = decrypt(connection, &bytes, &mut self.received);
                    // Not only a broken record: a server that dislikes our certificate says so now.
                    opened
                        .map_err(|error| self.tls_failed(tls::explain(&error, &Tls::default())))?;
                }
            }
        }
        Ok(())
    }

    /// TLS doesn't come about.
    pub fn tls_failed(&self, what: String) -> ConnectError {
        ConnectError::Tls { address: self.address.clone(), what }
    }

    fn flush(&mut self, connection: &mut ClientConnection) -> Result<(), ConnectError> {
        let mut out = Vec::new();
        encrypt(connection, &[], &mut out).map_err(|source| self.failed(source))?;
        if out.is_empty() { Ok(()) } else { self.send_bytes(&out) }
    }

    fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), ConnectError> {
        let sent = time_left(self.deadline).and_then(|left| {
            self.socket.set_write_timeout(Some(left))?;
            (&self.socket).write_all(bytes)
        });
        sent.map_err(|source| self.failed(source))
    }

    fn receive_bytes(&mut self) -> Result<Vec<u8>, ConnectError> {
        let mut bytes = vec![0; READ_SIZE];
        let got = time_left(self.deadline).and_then(|left| {
            self.socket.set_read_timeout(Some(left))?;
            match (&self.socket).read(&mut bytes)? {
                0 => Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection during the handshake",
                )),
                count => Ok(count),
            }
        });
        bytes.truncate(got.map_err(|source| self.failed(source))?);
        Ok(bytes)
    }

    /// The handshake is over: from here on the socket doesn't block.
    pub fn finish(self, compression: Option<Compression>) -> Result<Transport, ConnectError> {
        match self.socket.set_nonblocking(true) {
            Ok(()) => {
                let socket = OwnedFd::from(self.socket);
                Ok(match Channel::new(compression, self.tls) {
                    None => Transport::Plain(socket),
                    Some(channel) => Transport::Layered { socket, channel },
                })
            }
            Err(source) => Err(self.failed(source)),
        }
    }

    fn failed(&self, source: io::Error) -> ConnectError {
        failure(self.address.clone(), self.limit, source)
    }
}

/// The endpoint whose turn it is.
pub(crate) fn endpoint_of(target: &ServerTarget, ordinal: u64) -> Result<&Endpoint, ConnectError> {
    let turn = ordinal.checked_rem(target.endpoints.len() as u64).unwrap_or(0);
    target.endpoints.get(turn as usize).ok_or_else(|| ConnectError::Unsupported {
        address: "nowhere".into(),
        what: "the target has no endpoint".into(),
    })
}

/// The host to speak TLS with, if any is wanted: a Unix socket never leaves the machine and, as
/// with the field's clients, stays plain.
pub(crate) fn tls_host<'a>(target: &ServerTarget, endpoint: &'a Endpoint) -> Option<&'a str> {
    match endpoint {
        Endpoint::Tcp { host, .. } if target.tls.mode != TlsMode::Disable => Some(host),
        _ => None,
    }
}

/// How an endpoint is named in messages.
pub(crate) fn address_of(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        Endpoint::Tcp { host, port } => format!("{host}:{port}"),
        Endpoint::Unix(path) => path.display().to_string(),
    }
}

/// The first of the name's addresses that takes the connection.
fn open_tcp(host: &str, port: u16, deadline: Instant) -> io::Result<Socket> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        match socket.connect_timeout(&SockAddr::from(address), time_left(deadline)?) {
            Ok(()) => {
                socket.set_tcp_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A blocking connect under a send timeout: a non-blocking one fails at once when the server's
/// backlog is full, instead of waiting for its turn.
fn open_unix(path: &Path, deadline: Instant) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_write_timeout(Some(time_left(deadline)?))?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(socket)
}

fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left < Duration::from_millis(1) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn failure(address: String, limit: Duration, source: io::Error) -> ConnectError {
    match source.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            ConnectError::Timeout { address, limit }
        }
        _ => ConnectError::Unreachable { address, source },
    }
}
