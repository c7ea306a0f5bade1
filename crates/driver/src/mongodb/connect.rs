//! From a target to an authenticated session ("Handshake" and "Authentication" of the drivers'
//! specifications).

use std::time::Duration;

use record::ServerTarget;
use wire_mongodb::answer::answer;
use wire_mongodb::bson::{Element, Value, elements, kind};
use wire_mongodb::{Algorithm, Compression, Scram, ScramError, message, writer};

use super::error::server_error;
use super::session::MongodbSession;
use crate::connect_error::ConnectError;
use crate::dial::{Attempt, Dialled, address_of, endpoint_of};
use crate::error::ProtocolError;
use crate::packing::Packing;
use crate::peer::Peer;
use crate::transport::Opened;

/// The server's first message.
const GREETING: &str = "its answer to our hello";
/// The database of clients that name none, as MongoDB's own.
const DEFAULT_DATABASE: &str = "test";
/// Where users are, unless the target's session says otherwise.
const DEFAULT_SOURCE: &str = "admin";
/// The session's setting for that, by its name in URLs.
const SOURCE: &str = "authSource";
const MECHANISM: &str = "SCRAM-SHA-256";
/// The oldest server that knows OP_MSG, by `maxWireVersion` (MongoDB 3.6).
const WIRE_VERSION_MIN: i64 = 6;

/// Connects to the endpoint for this ordinal.
pub(crate) fn connect<'a>(
    target: &'a ServerTarget,
    ordinal: u64,
    limit: Duration,
    tell: Option<&'a mut (dyn FnMut(String) + 'a)>,
) -> Result<Opened<MongodbSession>, ConnectError> {
    let endpoint = endpoint_of(target, ordinal)?;
    let unsupported = |what| ConnectError::Unsupported { address: address_of(endpoint), what };
    let wished = target.compression.as_deref().map(|name| {
        let known = "`snappy`, `zlib` and `zstd` are";
        Algorithm::named(name)
            .ok_or_else(|| unsupported(format!("compression `{name}` is not supported; {known}")))
    });
    let wished = wished.transpose()?;
    if let Some((name, _)) = target.session.iter().find(|(name, _)| name != SOURCE) {
        return Err(unsupported(format!(
            "a session's own setting (`{name}`) is not in its protocol; expected `{SOURCE}`"
        )));
    }
    let attempt = Attempt { endpoint, limit, expected: Peer::Mongodb, tell };
    let mut wire = Dialled::open(attempt, GREETING)?;
    wire.encrypt_from_start(target, endpoint)?;
    let mut entering = Entering { wire, target, request: 0 };
    let server_version = entering.greet()?;
    if !target.user.is_empty()
        && let Some(password) = &target.password
    {
        entering.authenticate(password)?;
    }
    let Entering { wire, request, .. } = entering;
    let database = match target.database.as_str() {
        "" => DEFAULT_DATABASE,
        database => database,
    };
    let session = MongodbSession::new(database, request);
    let compression = wished.map(Compression::new).map(Packing::Mongodb);
    Ok(Opened { session, transport: wire.finish(compression)?, server_version })
}

/// A connection that is being entered.
struct Entering<'a> {
    wire: Dialled<'a>,
    target: &'a ServerTarget,
    /// Number of the last command.
    request: i32,
}

impl Entering<'_> {
    /// Says hello; returns the server's version.
    fn greet(&mut self) -> Result<String, ConnectError> {
        self.wire.awaited = GREETING;
        let compression = self.target.compression.as_deref();
        let hello = self.ask("admin", |out| hello(compression, out))?;
        let wire_version = find(&hello, b"maxWireVersion");
        if let Some(Value::Integer(version @ ..WIRE_VERSION_MIN)) = wire_version {
            let what = format!("it is older than MongoDB 3.6 (wire version {version})");
            return Err(ConnectError::Unsupported { address: self.wire.address.clone(), what });
        }
        if let Some(name) = compression
            && !offers(&hello, name)
        {
            let what = format!("the server does not offer compression by {name}");
            return Err(ConnectError::Unsupported { address: self.wire.address.clone(), what });
        }
        self.wire.awaited = "its answer to our buildInfo";
        let build = self.ask("admin", |out| writer::number(b"buildInfo", 1.0, out));
        // Whoever is not logged in may not ask everywhere.
        let build = match build {
            Err(ConnectError::Refused { .. }) => return Ok("mongodb of unknown version".into()),
            build => build?,
        };
        // The first is FerretDB 1's, the second its 2's.
        let own = find(&build, b"ferretdbVersion").or(find(&build, b"ferretdb"));
        Ok(match (own, find(&build, b"version")) {
            (Some(_), Some(Value::Text(version))) => format!("ferretdb as {}", lossy(version)),
            (None, Some(Value::Text(version))) => format!("mongodb {}", lossy(version)),
            _ => "mongodb of unknown version".into(),
        })
    }

    /// Logs in.
    fn authenticate(&mut self, password: &str) -> Result<(), ConnectError> {
        self.wire.awaited = "its side of SCRAM-SHA-256";
        let named = self.target.session.iter().find(|(name, _)| name == SOURCE);
        let source = named.map_or(DEFAULT_SOURCE, |(_, source)| source).to_owned();
        let mut scram = Scram::new(&self.target.user, password);
        let first = scram.first();
        let begun = self.ask(&source, |out| {
            writer::number(b"saslStart", 1.0, out);
            writer::text(b"mechanism", MECHANISM.as_bytes(), out);
            writer::binary(b"payload", 0, &first, out);
            writer::head(kind::DOCUMENT, b"options", out);
            let options = writer::begin(out);
            writer::boolean(b"skipEmptyExchange", true, out);
            writer::end(options, out);
        })?;
        let proof = self.scram(scram.answer(payload(&begun)))?;
        let mut last = self.go_on(&source, &begun, &proof)?;
        self.scram(scram.finish(payload(&last)))?;
        // A server that doesn't skip it ends with an empty exchange.
        while find(&last, b"done") == Some(Value::Boolean(false)) {
            last = self.go_on(&source, &begun, b"")?;
        }
        Ok(())
    }

    fn go_on(
        &mut self,
        source: &str,
        begun: &[u8],
        payload: &[u8],
    ) -> Result<Vec<u8>, ConnectError> {
        let conversation = match find(begun, b"conversationId") {
            Some(Value::Integer(id)) => id,
            _ => 1,
        };
        self.ask(source, |out| {
            writer::number(b"saslContinue", 1.0, out);
            writer::integer(b"conversationId", conversation, out);
            writer::binary(b"payload", 0, payload, out);
        })
    }

    fn scram<T>(&self, outcome: Result<T, ScramError>) -> Result<T, ConnectError> {
        outcome.map_err(|error| ConnectError::Unsupported {
            address: self.wire.address.clone(),
            what: error.to_string(),
        })
    }

    /// Sends a command and reads its answer; a refusal fails the connection.
    fn ask(
        &mut self,
        database: &str,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Vec<u8>, ConnectError> {
        let mut document = Vec::new();
        let whole = writer::begin(&mut document);
        write(&mut document);
        writer::end(whole, &mut document);
        self.request += 1;
        let mut out = Vec::new();
        let written = message::command(self.request, &document, database.as_bytes(), &mut out);
        written.map_err(|error| self.protocol(error.into()))?;
        self.wire.send(&out)?;
        let document = self.receive()?;
        let answer = answer(&document).map_err(|error| self.protocol(error.into()))?;
        if let Some(refusal) = &answer.refusal {
            let error = server_error(&answer, refusal);
            return Err(ConnectError::Refused { address: self.wire.address.clone(), error });
        }
        Ok(document)
    }

    fn receive(&mut self) -> Result<Vec<u8>, ConnectError> {
        loop {
            let read = message::message(&self.wire.received);
            match read.map_err(|error| self.protocol(error.into()))? {
                Some(message) if message.answers == self.request => {
                    let (document, size) = (message.document.to_vec(), message.size);
                    self.wire.received.drain(..size);
                    return Ok(document);
                }
                Some(_) => {
                    let other = "message: it answers another command than the last";
                    return Err(self.protocol(ProtocolError::Malformed(other)));
                }
                None => self.wire.receive()?,
            }
        }
    }

    fn protocol(&self, source: ProtocolError) -> ConnectError {
        ConnectError::Protocol { address: self.wire.address.clone(), source }
    }
}

/// What every connection says first.
fn hello(compression: Option<&str>, out: &mut Vec<u8>) {
    writer::number(b"hello", 1.0, out);
    writer::head(kind::ARRAY, b"compression", out);
    let algorithms = writer::begin(out);
    if let Some(name) = compression {
        writer::text(b"0", name.as_bytes(), out);
    }
    writer::end(algorithms, out);
    writer::head(kind::DOCUMENT, b"client", out);
    let client = writer::begin(out);
    for (part, name) in [("application", "name"), ("driver", "name"), ("os", "type")] {
        writer::head(kind::DOCUMENT, part.as_bytes(), out);
        let inside = writer::begin(out);
        let value = if part == "os" { std::env::consts::OS } else { "dbdyno" };
        writer::text(name.as_bytes(), value.as_bytes(), out);
        if part == "driver" {
            writer::text(b"version", env!("CARGO_PKG_VERSION").as_bytes(), out);
        }
        writer::end(inside, out);
    }
    writer::end(client, out);
}

/// Whether the server, asked for this algorithm alone, has it.
fn offers(hello: &[u8], algorithm: &str) -> bool {
    let Some(Value::Array(offered)) = find(hello, b"compression") else { return false };
    let is_it = |element: Element<'_>| element.value == Value::Text(algorithm.as_bytes());
    elements(offered).is_ok_and(|mut all| all.any(|element| element.is_ok_and(is_it)))
}

/// The value of this name; `None`: there is none.
fn find<'a>(document: &'a [u8], name: &[u8]) -> Option<Value<'a>> {
    let mut all = elements(document).ok()?.filter_map(Result::ok);
    all.find_map(|Element { name: found, value }| (found == name).then_some(value))
}

fn payload(document: &[u8]) -> &[u8] {
    match find(document, b"payload") {
        Some(Value::Binary(_, bytes)) => bytes,
        _ => &[],
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
