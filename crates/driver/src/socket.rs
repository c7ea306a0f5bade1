//! Opens a blocking socket before a deadline.

use std::io;
use std::net::ToSocketAddrs;
use std::path::Path;
use std::time::{Duration, Instant};

use record::Endpoint;
use socket2::{Domain, SockAddr, Socket, Type};

/// A connected socket.
pub(crate) fn open_socket(endpoint: &Endpoint, deadline: Instant) -> io::Result<Socket> {
    match endpoint {
        Endpoint::Tcp { host, port } => open_tcp(host, *port, deadline),
        Endpoint::Unix(path) => open_unix(path, deadline),
    }
}

/// The first of the name's addresses that accepts the connection.
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

/// Connects blocking, under a send timeout: a non-blocking connect fails at once when the server's
/// backlog is full, instead of waiting.
fn open_unix(path: &Path, deadline: Instant) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_write_timeout(Some(time_left(deadline)?))?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(socket)
}

/// The time until a deadline; an error if it has passed.
pub(crate) fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left < Duration::from_millis(1) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
