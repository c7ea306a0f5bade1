//! A blocking socket with one deadline for a whole handshake.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use record::{Endpoint, ServerTarget, Tls, TlsMode};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use socket2::Socket;

use crate::channel::{Channel, decrypt, encrypt};
use crate::connect_error::ConnectError;
use crate::packing::Packing;
use crate::peer::{self, Peer};
use crate::socket::{open_socket, time_left};
use crate::tls;
use crate::transport::Transport;

/// Bytes per read; handshakes are a few hundred bytes.
const READ_SIZE: usize = 4096;
/// A server's first message takes milliseconds. After this silence we probe what kind of server it
/// is.
const ASK_AFTER: Duration = Duration::from_secs(2);
/// After this silence we report what we are waiting for.
const TELL_AFTER: Duration = Duration::from_secs(5);

/// One attempt to connect.
pub(crate) struct Attempt<'a> {
    /// The address.
    pub endpoint: &'a Endpoint,
    /// Time limit for the whole attempt.
    pub limit: Duration,
    /// The kind of server expected.
    pub expected: Peer,
    /// Receives messages about the wait. Without it the server is not probed either: this is not
    /// the run's first connection to the endpoint.
    pub tell: Option<&'a mut dyn FnMut(String)>,
}

/// What has been done so far about a server's silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    Waited,
    Asked,
    Told,
}

/// A connected socket during its handshake.
pub(crate) struct Dialled<'a> {
    /// For messages.
    pub address: String,
    /// The message expected from the server, for error texts.
    pub awaited: &'static str,
    /// Bytes received and not yet consumed.
    pub received: Vec<u8>,
    attempt: Attempt<'a>,
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    deadline: Instant,
    /// Whether the server has sent anything.
    heard: bool,
    silence: Silence,
    /// After how long a silence we probe, and report.
    patience: (Duration, Duration),
}

impl<'a> Dialled<'a> {
    /// Connects; the limit covers everything to the end of the handshake. (The system's resolver
    /// looks names up within its own time limits.)
    pub fn open(attempt: Attempt<'a>, awaited: &'static str) -> Result<Self, ConnectError> {
        let deadline = Instant::now() + attempt.limit;
        let address = address_of(attempt.endpoint);
        match open_socket(attempt.endpoint, deadline) {
            Ok(socket) => Ok(Self {
                address,
                awaited,
                received: Vec::new(),
                attempt,
                socket,
                tls: None,
                deadline,
                heard: false,
                silence: Silence::Waited,
                patience: (ASK_AFTER, TELL_AFTER),
            }),
            Err(source) if is_timeout(&source) => {
                Err(ConnectError::Timeout { address, limit: attempt.limit })
            }
            Err(source) => Err(ConnectError::Unreachable { address, source }),
        }
    }

    /// Encrypts at once what such a target asks for: the protocol has no question whether the
    /// server has TLS, so `prefer` connects without it.
    pub fn encrypt_from_start(
        &mut self,
        target: &ServerTarget,
        endpoint: &Endpoint,
    ) -> Result<(), ConnectError> {
        match tls_host(target, endpoint) {
            Some(host) if target.tls.mode != TlsMode::Prefer => {
                self.awaited = "its side of the TLS handshake";
                self.encrypt(host, &target.tls)
            }
            _ => Ok(()),
        }
    }

    /// Encrypts everything that follows; fails if bytes have arrived before the TLS handshake.
    pub fn encrypt(&mut self, host: &str, settings: &Tls) -> Result<(), ConnectError> {
        if !self.received.is_empty() {
            // A man in the middle could have injected them.
            return Err(self.tls_failed("bytes precede the TLS handshake".into()));
        }
        let config = tls::config(settings).map_err(|what| self.tls_failed(what))?;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| self.tls_failed(format!("`{host}` is not a valid TLS server name")))?;
        let mut connection = ClientConnection::new(config, name)
            .map_err(|error| self.tls_failed(tls::explain(&error, settings)))?;
        while connection.is_handshaking() {
            self.flush(&mut connection)?;
            if connection.is_handshaking() {
                let bytes = self.receive_bytes()?;
                let opened = decrypt(&mut connection, &bytes, &mut self.received);
                if let Err(error) = opened {
                    // The alert tells the server why; it may have closed already.
                    let _ = self.flush(&mut connection);
                    return Err(self.tls_failed(tls::explain(&error, settings)));
                }
            }
        }
        self.flush(&mut connection)?;
        self.tls = Some(Box::new(connection));
        Ok(())
    }

    /// Whether the connection is encrypted.
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
                    // The cause may be more than a broken record: a server rejects our certificate
                    // only now.
                    opened
                        .map_err(|error| self.tls_failed(tls::explain(&error, &Tls::default())))?;
                }
            }
        }
        Ok(())
    }

    /// TLS could not be established.
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
        let began = Instant::now();
        let count = loop {
            let next = match self.silence {
                Silence::Waited => began + self.patience.0,
                Silence::Asked => began + self.patience.1,
                Silence::Told => self.deadline,
            };
            let until = next.min(self.deadline);
            let got = time_left(until).and_then(|left| {
                self.socket.set_read_timeout(Some(left))?;
                (&self.socket).read(&mut bytes)
            });
            match got {
                Ok(0) => return Err(self.hung_up()),
                Ok(count) => break count,
                Err(error) if is_timeout(&error) && until < self.deadline => self.silent(began)?,
                Err(error) => return Err(self.failed(error)),
            }
        };
        bytes.truncate(count);
        if !std::mem::replace(&mut self.heard, true)
            && let Some(found) = peer::recognise(&bytes)
        {
            self.check(found)?;
        }
        Ok(bytes)
    }

    /// Handles a server that has sent nothing since `began`.
    fn silent(&mut self, began: Instant) -> Result<(), ConnectError> {
        if self.silence == Silence::Waited {
            self.silence = Silence::Asked;
            return self.ask();
        }
        self.silence = Silence::Told;
        if let Some(tell) = &mut self.attempt.tell {
            tell(format!(
                "{} accepted the connection, and for {:.0} s has not sent {}; waiting up to {} s",
                self.address,
                began.elapsed().as_secs_f64(),
                self.awaited,
                self.attempt.limit.as_secs_f64()
            ));
        }
        Ok(())
    }

    /// Probes what kind of server it is, if it has sent nothing.
    fn ask(&self) -> Result<(), ConnectError> {
        if self.heard || self.attempt.tell.is_none() {
            return Ok(());
        }
        peer::ask(self.attempt.endpoint, self.deadline).map_or(Ok(()), |found| self.check(found))
    }

    fn check(&self, found: Peer) -> Result<(), ConnectError> {
        let expected = self.attempt.expected;
        if found == expected {
            return Ok(());
        }
        Err(ConnectError::OtherServer { address: self.address.clone(), found, expected })
    }

    fn hung_up(&self) -> ConnectError {
        let closed = format!("it closed the connection and had not sent {}", self.awaited);
        let source = io::Error::new(io::ErrorKind::UnexpectedEof, closed);
        self.ask().err().unwrap_or_else(|| self.failed(source))
    }

    /// Ends the handshake: from here on the socket doesn't block.
    pub fn finish(self, compression: Option<Packing>) -> Result<Transport, ConnectError> {
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
        let address = self.address.clone();
        match is_timeout(&source) {
            true => {
                ConnectError::Silent { address, awaited: self.awaited, limit: self.attempt.limit }
            }
            false => ConnectError::Unreachable { address, source },
        }
    }
}

/// The endpoint for connection `ordinal`, round-robin.
pub(crate) fn endpoint_of(target: &ServerTarget, ordinal: u64) -> Result<&Endpoint, ConnectError> {
    let place = ordinal.checked_rem(target.endpoints.len() as u64).unwrap_or(0);
    target.endpoints.get(place as usize).ok_or_else(|| ConnectError::Unsupported {
        address: "nowhere".into(),
        what: "the target has no endpoint".into(),
    })
}

/// The host for TLS, if TLS is wanted: a Unix socket never leaves the machine and stays plain, as
/// in the servers' own clients.
pub(crate) fn tls_host<'a>(target: &ServerTarget, endpoint: &'a Endpoint) -> Option<&'a str> {
    match endpoint {
        Endpoint::Tcp { host, .. } if target.tls.mode != TlsMode::Disable => Some(host),
        _ => None,
    }
}

/// An endpoint as named in messages.
pub(crate) fn address_of(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        Endpoint::Tcp { host, port } => format!("{host}:{port}"),
        Endpoint::Unix(path) => path.display().to_string(),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Waits for a greeting until `limit`; returns the messages and the error.
    fn wait(listener: &TcpListener, limit: Duration, first: bool) -> (Vec<String>, ConnectError) {
        let port = listener.local_addr().unwrap().port();
        let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port };
        let mut told = Vec::new();
        let mut tell = |text| told.push(text);
        let expected = Peer::Mysql;
        let tell: Option<&mut dyn FnMut(String)> = if first { Some(&mut tell) } else { None };
        let attempt = Attempt { endpoint: &endpoint, limit, expected, tell };
        let mut wire = Dialled::open(attempt, "its greeting").unwrap();
        wire.patience = (Duration::from_millis(20), Duration::from_millis(40));
        let error = wire.receive().unwrap_err();
        drop(wire);
        (told, error)
    }

    #[test]
    #[cfg_attr(miri, ignore = "connects by TCP")]
    fn a_silent_server_is_told_with_what_it_owes_us() {
        // Accepts connections (in its backlog) and never sends anything.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (told, error) = wait(&listener, Duration::from_secs(2), true);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("has not sent its greeting; waiting up to 2 s"), "{told:?}");
        assert!(matches!(error, ConnectError::Silent { awaited: "its greeting", .. }), "{error}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "connects by TCP")]
    fn only_the_first_connection_tells() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (told, _) = wait(&listener, Duration::from_millis(100), false);
        assert!(told.is_empty(), "{told:?}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "connects by TCP")]
    fn a_server_that_hangs_up_is_told_so() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let closing = std::thread::spawn(move || drop(listener.accept()));
        let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port };
        let (limit, expected) = (Duration::from_secs(5), Peer::Mysql);
        let attempt = Attempt { endpoint: &endpoint, limit, expected, tell: None };
        let error = Dialled::open(attempt, "its greeting").unwrap().receive().unwrap_err();
        assert!(error.to_string().contains("had not sent its greeting"), "{error}");
        closing.join().unwrap();
    }
}
