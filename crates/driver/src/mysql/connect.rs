//! From a target to an authenticated session.

use std::time::Duration;

use record::{Endpoint, ServerTarget, Tls, TlsMode};
use wire_mysql::{
    Algorithm, Compression, Credentials, Handshake, HandshakeError, Step, Wishes, backend, frontend,
};

use super::error::server_error;
use super::session::MysqlSession;
use crate::connect_error::{ConnectError, NO_TLS};
use crate::dial::{Attempt, Dialled, address_of, endpoint_of, tls_host};
use crate::error::ProtocolError;
use crate::packing::Packing;
use crate::peer::Peer;
use crate::transport::Opened;

/// Packets of a handshake are a few hundred bytes; certificates of plugins a few thousand.
const PACKET_SIZE_MAX: usize = 64 * 1024;

// First bytes of replies to a statement without rows.
const OK: u8 = 0x00;
const ERROR: u8 = 0xff;

/// Connects to the endpoint for this ordinal.
pub(crate) fn connect<'a>(
    target: &'a ServerTarget,
    ordinal: u64,
    limit: Duration,
    tell: Option<&'a mut (dyn FnMut(String) + 'a)>,
) -> Result<Opened<MysqlSession>, ConnectError> {
    let endpoint = endpoint_of(target, ordinal)?;
    let unsupported = |what| ConnectError::Unsupported { address: address_of(endpoint), what };
    let wished = target.compression.as_deref().map(|name| {
        Algorithm::named(name).ok_or_else(|| {
            unsupported(format!("compression `{name}` is not supported; `zlib` and `zstd` are"))
        })
    });
    let wished = wished.transpose()?;
    let attempt = Attempt { endpoint, limit, expected: Peer::Mysql, tell };
    let mut wire = Dialled::open(attempt, "its greeting")?;
    let credentials = Credentials {
        user: &target.user,
        password: target.password.as_deref(),
        database: &target.database,
    };
    let is_local = matches!(endpoint, Endpoint::Unix(_));
    let host = tls_host(target, endpoint);
    let public_key = target.asks_for_public_key;
    let wishes = Wishes { tls: host.is_some(), compression: wished, public_key };
    let mut handshake = Handshake::new(credentials, is_local, wishes);
    shake_hands(&mut handshake, &mut wire, host, &target.tls)?;
    let agreed = handshake.agreed();
    if let (Some(name), None) = (&target.compression, agreed.compression) {
        return Err(unsupported(format!("the server does not offer compression by {name}")));
    }
    if !target.session.is_empty() {
        if agreed.compression.is_some() {
            return Err(unsupported("compression beside settings of sessions".into()));
        }
        set_session(&target.session, &mut wire)?;
    }
    let session = MysqlSession::new(target.prepared_statements, agreed);
    Ok(Opened {
        session,
        transport: wire.finish(agreed.compression.map(Compression::new).map(Packing::Mysql))?,
        server_version: handshake.server_version().to_owned(),
    })
}

fn shake_hands(
    handshake: &mut Handshake<'_>,
    wire: &mut Dialled<'_>,
    host: Option<&str>,
    tls: &Tls,
) -> Result<(), ConnectError> {
    let demands_tls = host.is_some() && tls.mode != TlsMode::Prefer;
    let mut out = Vec::new();
    loop {
        let header = backend::header(&wire.received);
        if let Some(header) = header.filter(|header| header.size > PACKET_SIZE_MAX) {
            let (found, limit) = (header.size as u64, PACKET_SIZE_MAX as u64);
            let source = ProtocolError::TooLong { found, limit };
            return Err(ConnectError::Protocol { address: wire.address.clone(), source });
        }
        let whole = header.and_then(|header| {
            let payload = wire.received.get(backend::HEADER_SIZE..)?.get(..header.size)?;
            Some((header.sequence, payload))
        });
        let Some((sequence, payload)) = whole else {
            wire.receive()?;
            continue;
        };
        let size = backend::HEADER_SIZE + payload.len();
        let step = handshake.step(sequence, payload, &mut out);
        let step = step.map_err(|error| failure(wire, error))?;
        wire.received.drain(..size);
        wire.awaited = "its answer to our log-in";
        match step {
            Step::Encrypt => {
                wire.send(&out)?;
                out.clear();
                wire.awaited = "its side of the TLS handshake";
                wire.encrypt(host.unwrap_or_default(), tls)?;
                handshake.encrypted(&mut out).map_err(|error| failure(wire, error))?;
                wire.send(&out)?;
                out.clear();
            }
            // The password is not sent.
            Step::Continue if demands_tls && !wire.is_encrypted() => {
                return Err(wire.tls_failed(NO_TLS.into()));
            }
            Step::Continue if out.is_empty() => {}
            Step::Continue => {
                wire.send(&out)?;
                out.clear();
            }
            Step::Ready if wire.received.is_empty() => return Ok(()),
            Step::Ready => {
                let source = ProtocolError::Malformed("handshake: bytes follow its end");
                return Err(ConnectError::Protocol { address: wire.address.clone(), source });
            }
        }
    }
}

/// Sets the session's settings in one statement.
fn set_session(settings: &[(String, String)], wire: &mut Dialled<'_>) -> Result<(), ConnectError> {
    let mut out = Vec::new();
    frontend::query(session_statement(settings).as_bytes(), &mut out)
        .map_err(|error| failure(wire, error.into()))?;
    wire.awaited = "its answer to the settings of the session";
    wire.send(&out)?;
    loop {
        let reply = backend::header(&wire.received)
            .and_then(|header| wire.received.get(backend::HEADER_SIZE..)?.get(..header.size))
            .map(|payload| (payload.first().copied(), payload.to_vec()));
        match reply {
            None => wire.receive()?,
            Some((Some(OK), payload)) => {
                wire.received.drain(..backend::HEADER_SIZE + payload.len());
                return Ok(());
            }
            Some((Some(ERROR), payload)) => {
                return Err(failure(wire, HandshakeError::Refused(payload.into())));
            }
            Some((found, _)) => {
                let (address, found) = (wire.address.clone(), char::from(found.unwrap_or(0)));
                let source =
                    ProtocolError::Unexpected { found, state: "setting the session's settings" };
                return Err(ConnectError::Protocol { address, source });
            }
        }
    }
}

/// `SET SESSION a = 1, SESSION b = 'x'`: numbers as they are, all else quoted.
fn session_statement(settings: &[(String, String)]) -> String {
    let assignments = settings.iter().map(|(name, value)| {
        if value.parse::<f64>().is_ok_and(f64::is_finite) {
            return format!("SESSION {name} = {value}");
        }
        let quoted = value.replace('\\', "\\\\").replace('\'', "''");
        format!("SESSION {name} = '{quoted}'")
    });
    format!("SET {}", assignments.collect::<Vec<_>>().join(", "))
}

fn failure(wire: &Dialled<'_>, error: HandshakeError) -> ConnectError {
    let address = wire.address.clone();
    let protocol = |source| ConnectError::Protocol { address: wire.address.clone(), source };
    match error {
        HandshakeError::Refused(payload) => match server_error(&payload) {
            Ok(error) => ConnectError::Refused { address, error },
            Err(error) => protocol(error.into()),
        },
        HandshakeError::Unsupported(_)
        | HandshakeError::Exposed(_)
        | HandshakeError::Authentication { .. } => {
            ConnectError::Unsupported { address, what: error.to_string() }
        }
        HandshakeError::Unexpected(found) => {
            protocol(ProtocolError::Unexpected { found: char::from(found), state: "shaking hands" })
        }
        HandshakeError::Wire(error) => protocol(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::session_statement;

    #[test]
    fn settings_of_a_session_are_quoted_unless_they_are_numbers() {
        let settings = [("sort_buffer_size", "65536"), ("sql_mode", "ANSI"), ("init", "a'b\\c")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));

        assert_eq!(
            session_statement(&settings),
            "SET SESSION sort_buffer_size = 65536, SESSION sql_mode = 'ANSI', \
             SESSION init = 'a''b\\\\c'"
        );
    }
}
