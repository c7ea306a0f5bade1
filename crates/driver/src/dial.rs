//! A blocking socket with one deadline over everything: what a handshake runs on.

use std::io::{self, Read, Write};
use std::net::ToSocketAddrs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use record::{Endpoint, ServerTarget, TlsMode};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::connect::{ConnectError, Transport};

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
            Ok(socket) => Ok(Self { address, received: Vec::new(), socket, deadline, limit }),
            Err(source) => Err(failure(address, limit, source)),
        }
    }

    /// Sends all of `bytes`.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ConnectError> {
        let sent = time_left(self.deadline).and_then(|left| {
            self.socket.set_write_timeout(Some(left))?;
            (&self.socket).write_all(bytes)
        });
        sent.map_err(|source| self.failed(source))
    }

    /// Receives at least one more byte.
    pub fn receive(&mut self) -> Result<(), ConnectError> {
        let start = self.received.len();
        self.received.resize(start + READ_SIZE, 0);
        let got = time_left(self.deadline).and_then(|left| {
            self.socket.set_read_timeout(Some(left))?;
            match (&self.socket).read(&mut self.received[start..])? {
                0 => Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection during the handshake",
                )),
                count => Ok(count),
            }
        });
        self.received.truncate(start + got.as_ref().copied().unwrap_or(0));
        got.map(drop).map_err(|source| self.failed(source))
    }

    /// The handshake is over: from here on the socket doesn't block.
    pub fn finish(self) -> Result<Transport, ConnectError> {
        match self.socket.set_nonblocking(true) {
            Ok(()) => Ok(Transport::Plain(OwnedFd::from(self.socket))),
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

/// Refuses what isn't built yet, before anything is sent.
pub(crate) fn refuse_encryption(
    target: &ServerTarget,
    endpoint: &Endpoint,
    server: &str,
) -> Result<(), ConnectError> {
    let refuse = |what| Err(ConnectError::Unsupported { address: address_of(endpoint), what });
    // A Unix socket never leaves the machine: like the field's clients, it stays plain.
    let over_network = matches!(endpoint, Endpoint::Tcp { .. });
    if over_network && !matches!(target.tls.mode, TlsMode::Disable | TlsMode::Prefer) {
        return refuse(format!("TLS to {server} is not supported yet; set tls.mode to `disable`"));
    }
    match &target.compression {
        Some(kind) => refuse(format!("compression `{kind}` to {server} is not supported")),
        None => Ok(()),
    }
}

/// How an endpoint is named in messages.
fn address_of(endpoint: &Endpoint) -> String {
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
