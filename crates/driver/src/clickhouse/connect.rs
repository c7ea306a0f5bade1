//! From a target to a session that the server has let in.

use std::time::Duration;

use record::ServerTarget;
use wire_clickhouse::backend::{Hello, Packet, packet};
use wire_clickhouse::{Compression, Method, frontend};

use super::error::server_error;
use super::session::ClickhouseSession;
use crate::connect_error::ConnectError;
use crate::dial::{Attempt, Dialled, address_of, endpoint_of};
use crate::error::{ProtocolError, ServerError};
use crate::packing::Packing;
use crate::peer::Peer;
use crate::transport::Opened;

/// The server's first message.
const GREETING: &str = "its answer to our Hello";
/// The user that the server assumes where none is named.
const DEFAULT_USER: &str = "default";
/// The server's error where a user needs a password.
const REQUIRED_PASSWORD: i64 = 194;
/// The setting that says how the server packs blocks.
const METHOD: &str = "network_compression_method";
/// The first revision of the protocol that has all that is sent here.
const REVISION_MIN: u64 = wire_clickhouse::REVISION;

/// Connects to the endpoint for this ordinal.
pub(crate) fn connect<'a>(
    target: &'a ServerTarget,
    ordinal: u64,
    limit: Duration,
    tell: Option<&'a mut (dyn FnMut(String) + 'a)>,
) -> Result<Opened<ClickhouseSession>, ConnectError> {
    let endpoint = endpoint_of(target, ordinal)?;
    let unsupported = |what| ConnectError::Unsupported { address: address_of(endpoint), what };
    let wished = target.compression.as_deref().map(|name| {
        Method::named(name).ok_or_else(|| {
            unsupported(format!("compression `{name}` is not supported; `lz4` and `zstd` are"))
        })
    });
    let compression = wished.transpose()?;
    let attempt = Attempt { endpoint, limit, expected: Peer::Clickhouse, tell };
    let mut wire = Dialled::open(attempt, GREETING)?;
    wire.encrypt_from_start(target, endpoint)?;
    wire.awaited = GREETING;
    let mut out = Vec::new();
    let user = if target.user.is_empty() { DEFAULT_USER } else { &target.user };
    let password = target.password.as_deref().unwrap_or_default();
    frontend::hello(&target.database, user, password, &mut out);
    wire.send(&out)?;
    let greeted = answer(&mut wire, |packet| match packet {
        Packet::Hello(Hello { version: [major, minor, patch], revision, timezone, .. }) => {
            Some((format!("{major}.{minor}.{patch}"), revision, is_utc(timezone)))
        }
        _ => None,
    })?;
    let (server_version, revision, utc) = greeted.map_err(|error| {
        let address = wire.address.clone();
        match error.number {
            REQUIRED_PASSWORD if target.password.is_none() => {
                let (user, method) = (user.to_owned(), "native protocol");
                ConnectError::PasswordNeeded { address, user, method }
            }
            _ => ConnectError::Refused { address, error },
        }
    })?;
    if revision < REVISION_MIN {
        return Err(unsupported(format!(
            "ClickHouse {server_version} speaks revision {revision} of its protocol; \
             {REVISION_MIN} and newer are supported (18.12)"
        )));
    }
    // The server's own blocks are packed by a setting; its default may be another method.
    let method = |method: Method| (METHOD.to_owned(), method.name().to_owned());
    let settings: Vec<_> =
        compression.map(method).into_iter().chain(target.session.iter().cloned()).collect();
    if !settings.is_empty() {
        set_session(&settings, &mut wire)?;
    }
    let session = ClickhouseSession::new(utc, compression.is_some());
    let packing = compression.map(Compression::new).map(Packing::Clickhouse);
    Ok(Opened { session, transport: wire.finish(packing)?, server_version })
}

fn is_utc(timezone: &[u8]) -> bool {
    [&b"UTC"[..], b"Etc/UTC", b"UCT", b"Zulu", b"Etc/UCT"].contains(&timezone)
}

/// Reads packets up to the one that `read` knows, or an exception.
fn answer<T>(
    wire: &mut Dialled<'_>,
    read: impl Fn(Packet<'_>) -> Option<T>,
) -> Result<Result<T, ServerError>, ConnectError> {
    loop {
        let protocol = |source| ConnectError::Protocol { address: wire.address.clone(), source };
        match packet(&wire.received).map_err(|error| protocol(error.into()))? {
            None => wire.receive()?,
            Some((Packet::Exception(exception), _)) => return Ok(Err(server_error(exception))),
            Some((found, size)) => {
                let found = read(found);
                // What comes here before the last packet has no rows.
                wire.received.drain(..size);
                if let Some(found) = found {
                    return match wire.received.is_empty() {
                        true => Ok(Ok(found)),
                        false => Err(ConnectError::Protocol {
                            address: wire.address.clone(),
                            source: ProtocolError::Malformed("log-in: bytes follow its end"),
                        }),
                    };
                }
            }
        }
    }
}

/// Sets the session's settings, which hold for all its queries, in one statement.
fn set_session(settings: &[(String, String)], wire: &mut Dialled<'_>) -> Result<(), ConnectError> {
    let mut out = Vec::new();
    let statement = session_statement(settings);
    frontend::query_with(|out| out.extend_from_slice(statement.as_bytes()), &mut out);
    wire.awaited = "its answer to the settings of the session";
    wire.send(&out)?;
    let set = answer(wire, |packet| matches!(packet, Packet::EndOfStream).then_some(()))?;
    set.map_err(|error| ConnectError::Refused { address: wire.address.clone(), error })
}

/// `SET a = 1, b = 'x'`: numbers as they are, all else quoted.
fn session_statement(settings: &[(String, String)]) -> String {
    let assignments = settings.iter().map(|(name, value)| {
        if value.parse::<f64>().is_ok_and(f64::is_finite) {
            return format!("{name} = {value}");
        }
        format!("{name} = '{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
    });
    format!("SET {}", assignments.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::session_statement;

    #[test]
    fn settings_are_quoted_unless_they_are_numbers() {
        let settings = [("max_threads", "1"), ("load_balancing", "it's")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(session_statement(&settings), "SET max_threads = 1, load_balancing = 'it\\'s'");
    }
}
