//! From a target to an authenticated session.

use std::time::Duration;

use record::{ServerTarget, TlsMode};
use wire_postgres::{Credentials, Handshake, HandshakeError, Step, backend, frontend};

use super::error::server_error;
use super::session::PostgresSession;
use crate::connect_error::{ConnectError, NO_TLS};
use crate::dial::{Attempt, Dialled, address_of, endpoint_of, tls_host};
use crate::error::ProtocolError;
use crate::peer::Peer;
use crate::transport::Opened;

/// Settings every session begins with.
const PARAMETERS: &[(&str, &str)] = &[("client_encoding", "UTF8"), ("application_name", "dbdyno")];

/// The server's first message where TLS is not requested.
const GREETING: &str = "its answer to our log-in";

/// Connects to the endpoint for this ordinal.
pub(crate) fn connect<'a>(
    target: &'a ServerTarget,
    ordinal: u64,
    limit: Duration,
    tell: Option<&'a mut (dyn FnMut(String) + 'a)>,
) -> Result<Opened<PostgresSession>, ConnectError> {
    let endpoint = endpoint_of(target, ordinal)?;
    if let Some(kind) = &target.compression {
        let what = format!("compression `{kind}` to PostgreSQL is not supported");
        return Err(ConnectError::Unsupported { address: address_of(endpoint), what });
    }
    let attempt = Attempt { endpoint, limit, expected: Peer::Postgresql, tell };
    let mut wire = Dialled::open(attempt, GREETING)?;
    if let Some(host) = tls_host(target, endpoint) {
        encrypt(target, host, &mut wire)?;
    }
    let server_version = shake_hands(target, &mut wire)?;
    Ok(Opened {
        session: PostgresSession::new(target.prepared_statements),
        transport: wire.finish(None)?,
        server_version,
    })
}

/// Requests TLS; under `prefer`, a server without TLS is accepted.
fn encrypt(target: &ServerTarget, host: &str, wire: &mut Dialled<'_>) -> Result<(), ConnectError> {
    let mut out = Vec::new();
    frontend::ssl_request(&mut out);
    wire.awaited = "its answer to our request for TLS";
    wire.send(&out)?;
    wire.receive()?;
    match wire.received.remove(0) {
        b'S' => {
            wire.awaited = "its side of the TLS handshake";
            wire.encrypt(host, &target.tls)
        }
        b'N' if target.tls.mode == TlsMode::Prefer => Ok(()),
        b'N' => Err(wire.tls_failed(NO_TLS.into())),
        found => {
            let (address, found) = (wire.address.clone(), char::from(found));
            let source = ProtocolError::Unexpected { found, state: "asking for TLS" };
            Err(ConnectError::Protocol { address, source })
        }
    }
}

/// Returns the server's version.
fn shake_hands(target: &ServerTarget, wire: &mut Dialled<'_>) -> Result<String, ConnectError> {
    wire.awaited = GREETING;
    let credentials = Credentials {
        user: &target.user,
        password: target.password.as_deref(),
        database: &target.database,
    };
    let mut out = Vec::new();
    let session = target.session.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let parameters: Vec<_> = PARAMETERS.iter().copied().chain(session).collect();
    let begun = Handshake::begin(credentials, &parameters, &mut out);
    let mut handshake = begun.map_err(|error| failure(target, wire, error.into()))?;
    let mut ready = false;
    loop {
        if !out.is_empty() {
            wire.send(&out)?;
            out.clear();
        }
        let message = backend::message(&wire.received);
        let message = message.map_err(|error| failure(target, wire, error.into()))?;
        let Some((tag, body)) = message else {
            // Once ready, no bytes may be left for the session.
            if ready && wire.received.is_empty() {
                return Ok(handshake.server_version().to_owned());
            }
            wire.receive()?;
            continue;
        };
        let size = backend::HEADER_SIZE + body.len();
        let step = handshake.step(tag, body, &mut out);
        let step = step.map_err(|error| failure(target, wire, error))?;
        ready |= step == Step::Ready;
        wire.received.drain(..size);
    }
}

fn failure(target: &ServerTarget, wire: &Dialled<'_>, error: HandshakeError) -> ConnectError {
    let address = wire.address.clone();
    let protocol = |source| ConnectError::Protocol { address: wire.address.clone(), source };
    match error {
        HandshakeError::Refused(body) => match server_error(&body) {
            Ok(error) => ConnectError::Refused { address, error },
            Err(error) => protocol(error.into()),
        },
        HandshakeError::PasswordNeeded { method } => {
            ConnectError::PasswordNeeded { address, user: target.user.clone(), method }
        }
        HandshakeError::Unsupported(_) | HandshakeError::Scram(_) => {
            ConnectError::Unsupported { address, what: error.to_string() }
        }
        HandshakeError::Unexpected(found) => {
            protocol(ProtocolError::Unexpected { found, state: "shaking hands" })
        }
        HandshakeError::Wire(error) => protocol(error.into()),
    }
}
