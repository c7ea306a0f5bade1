//! From a target to an authenticated session.

use std::time::Duration;

use record::ServerTarget;
use wire_resp::backend::{Element, element};
use wire_resp::{frontend, reply_size};

use super::error::server_error;
use super::session::RedisSession;
use crate::connect_error::ConnectError;
use crate::dial::{Attempt, Dialled, address_of, endpoint_of};
use crate::error::{ProtocolError, ServerError};
use crate::peer::Peer;
use crate::transport::Opened;

/// The server's first message.
const GREETING: &str = "its answer to our HELLO";
/// The user that the server assumes where a password comes without a name.
const DEFAULT_USER: &str = "default";

/// Connects to the endpoint for this ordinal.
pub(crate) fn connect<'a>(
    target: &'a ServerTarget,
    ordinal: u64,
    limit: Duration,
    tell: Option<&'a mut (dyn FnMut(String) + 'a)>,
) -> Result<Opened<RedisSession>, ConnectError> {
    let endpoint = endpoint_of(target, ordinal)?;
    let unsupported = |what| ConnectError::Unsupported { address: address_of(endpoint), what };
    if let Some(kind) = &target.compression {
        return Err(unsupported(format!("compression `{kind}` is not in its protocol")));
    }
    if let Some((name, _)) = target.session.first() {
        return Err(unsupported(format!(
            "a session's own setting (`{name}`) is not in its protocol"
        )));
    }
    let database = database_of(&target.database).ok_or_else(|| {
        unsupported(format!("database `{}`: expected a number from 0", target.database))
    })?;
    let attempt = Attempt { endpoint, limit, expected: Peer::Redis, tell };
    let mut wire = Dialled::open(attempt, GREETING)?;
    wire.encrypt_from_start(target, endpoint)?;
    wire.awaited = GREETING;
    let (server_version, clustered) = match greet(target, &mut wire)? {
        Some(greeting) => greeting,
        None => (greet_older(target, &mut wire)?, false),
    };
    if database > 0 {
        wire.awaited = "its answer to our SELECT";
        ask(target, &mut wire, &["SELECT", &database.to_string()], |_| ())?;
    }
    let session = RedisSession::new(clustered);
    Ok(Opened { session, transport: wire.finish(None)?, server_version })
}

/// The number of a database; the first if none is named.
fn database_of(name: &str) -> Option<u32> {
    if name.is_empty() { Some(0) } else { name.parse().ok() }
}

fn user_of(target: &ServerTarget) -> &str {
    if target.user.is_empty() { DEFAULT_USER } else { &target.user }
}

/// Logs in by HELLO, which chooses version 3 of the protocol; returns the server's version, and
/// whether it is a node of a cluster. `None`: the server knows no HELLO, or no version 3.
fn greet(
    target: &ServerTarget,
    wire: &mut Dialled<'_>,
) -> Result<Option<(String, bool)>, ConnectError> {
    let mut words = vec!["HELLO", "3"];
    if let Some(password) = &target.password {
        words.extend(["AUTH", user_of(target), password]);
    }
    words.extend(["SETNAME", "dbdyno"]);
    match exchange(wire, &words, read_hello)? {
        Ok(greeting) => Ok(Some(greeting)),
        Err(error) if error.sqlstate == "NOPROTO" || is_unknown(&error) => Ok(None),
        Err(error) => Err(refused(target, wire, error)),
    }
}

/// Logs in to a server without HELLO, from before Redis 6; returns its version.
fn greet_older(target: &ServerTarget, wire: &mut Dialled<'_>) -> Result<String, ConnectError> {
    if let Some(password) = &target.password {
        wire.awaited = "its answer to our AUTH";
        match user_of(target) {
            DEFAULT_USER => ask(target, wire, &["AUTH", password], |_| ())?,
            user => ask(target, wire, &["AUTH", user, password], |_| ())?,
        }
    }
    wire.awaited = "its answer to our INFO";
    ask(target, wire, &["INFO", "server"], version_in_info)
}

fn is_unknown(error: &ServerError) -> bool {
    error.message.to_ascii_lowercase().starts_with("err unknown command")
}

/// Sends a command and reads its reply; an error of the server fails the connection.
fn ask<T>(
    target: &ServerTarget,
    wire: &mut Dialled<'_>,
    words: &[&str],
    read: impl FnOnce(&[u8]) -> T,
) -> Result<T, ConnectError> {
    exchange(wire, words, read)?.map_err(|error| refused(target, wire, error))
}

fn refused(target: &ServerTarget, wire: &Dialled<'_>, error: ServerError) -> ConnectError {
    let address = wire.address.clone();
    if error.sqlstate == "NOAUTH" && target.password.is_none() {
        let user = user_of(target).to_owned();
        return ConnectError::PasswordNeeded { address, user, method: "AUTH" };
    }
    ConnectError::Refused { address, error }
}

/// Sends a command and reads its reply, which may be an error.
fn exchange<T>(
    wire: &mut Dialled<'_>,
    words: &[&str],
    read: impl FnOnce(&[u8]) -> T,
) -> Result<Result<T, ServerError>, ConnectError> {
    let mut out = Vec::new();
    frontend::begin(words.len(), &mut out);
    let written = words.iter().try_for_each(|word| frontend::text(word.as_bytes(), &mut out));
    written.map_err(|error| protocol(wire, error.into()))?;
    wire.send(&out)?;
    loop {
        let size = reply_size(&wire.received).map_err(|error| protocol(wire, error.into()))?;
        let Some(size) = size else {
            wire.receive()?;
            continue;
        };
        let reply: Vec<u8> = wire.received.drain(..size).collect();
        return Ok(match element(&reply) {
            Ok(Some((Element::Error(text), _))) => Err(server_error(text)),
            _ => Ok(read(&reply)),
        });
    }
}

fn protocol(wire: &Dialled<'_>, source: ProtocolError) -> ConnectError {
    ConnectError::Protocol { address: wire.address.clone(), source }
}

/// The values of a reply in order, however they nest; those that are no strings are empty.
fn texts(reply: &[u8]) -> Vec<&[u8]> {
    let (mut texts, mut at) = (Vec::new(), 0);
    while let Some(rest) = reply.get(at..)
        && let Ok(Some((element, head))) = element(rest)
    {
        let body = rest.get(head..head + element.body_size()).unwrap_or_default();
        texts.push(match element {
            Element::Text { size, .. } => body.get(..size).unwrap_or_default(),
            Element::Line(text) => text,
            _ => &[],
        });
        at += head + element.body_size();
    }
    texts
}

/// `server` and `version` of HELLO's map (`redis 7.0.15`), and whether its `mode` is that of a node
/// of a cluster.
fn read_hello(reply: &[u8]) -> (String, bool) {
    let texts = texts(reply);
    let value_of = |name: &[u8]| {
        let pair = texts.windows(2).find(|pair| pair[0] == name);
        pair.map_or_else(String::new, |pair| String::from_utf8_lossy(pair[1]).into_owned())
    };
    let version = format!("{} {}", value_of(b"server"), value_of(b"version"));
    (version, value_of(b"mode") == "cluster")
}

/// `redis_version:` of INFO.
fn version_in_info(reply: &[u8]) -> String {
    let text = texts(reply).concat();
    let text = String::from_utf8_lossy(&text);
    let version = text.lines().find_map(|line| line.strip_prefix("redis_version:"));
    format!("redis {}", version.unwrap_or("of unknown version").trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_either_answer() {
        let hello = b"%3\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$5\r\n9.1.2\r\n\
            $4\r\nmode\r\n$7\r\ncluster\r\n";
        assert_eq!(read_hello(hello), ("valkey 9.1.2".to_owned(), true));
        let alone = hello.to_vec();
        let alone = String::from_utf8(alone).unwrap().replace("$7\r\ncluster", "$10\r\nstandalone");
        assert_eq!(read_hello(alone.as_bytes()), ("valkey 9.1.2".to_owned(), false));
        let info = b"$42\r\n# Server\r\nredis_version:5.0.14\r\nredis_x:1\r\n\r\n";
        assert_eq!(version_in_info(info), "redis 5.0.14");
    }

    #[test]
    fn a_database_is_a_number() {
        assert_eq!(database_of(""), Some(0));
        assert_eq!(database_of("15"), Some(15));
        assert_eq!(database_of("sbtest"), None);
        assert_eq!(database_of("-1"), None);
    }
}
