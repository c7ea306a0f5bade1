//! The start of a session: a state machine from the server's greeting to its first OK.
//!
//! The crate `mysql_common` parses the greeting and implements the plugins' cryptography. Passwords
//! are sent in clear only where nobody can listen: over a Unix socket or within TLS. Elsewhere they
//! are not even encrypted for a key that the server sends, unless that is wished for, as in MySQL's
//! own client: anybody can send a key.

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context};
use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket};

use crate::compress::{Algorithm, ZSTD_LEVEL};
use crate::{PACKET_SIZE_MAX, WireError, backend, frontend};

/// utf8mb4_general_ci, which every server since MySQL 5.5 knows.
const COLLATION: u8 = 45;
/// MySQL has this flag for what every server does; MariaDB leaves it out, and only then do the last
/// reserved bytes of greeting and response tell what MariaDB has more than MySQL.
const NOT_MARIADB: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD;
/// What caching_sha2_password says when the scrambled password was enough.
const FAST_AUTHENTICATION: u8 = 3;
/// MariaDB puts it before its version, for replicas that knew no version 10.
const MARIADB_PREFIX: &str = "5.5.5-";

/// Who wants to connect, and to what.
#[derive(Debug, Clone, Copy)]
pub struct Credentials<'a> {
    /// User.
    pub user: &'a str,
    /// The password; none is the empty one.
    pub password: Option<&'a str>,
    /// Database; empty: none.
    pub database: &'a str,
}

/// Features to use if the server offers them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wishes {
    /// Encryption, from before the password.
    pub tls: bool,
    /// Compression, after the handshake.
    pub compression: Option<Algorithm>,
    /// Over a connection that is not private, the server is asked for its public key, and gets the
    /// password encrypted for whatever key it sends: whoever answers can read it.
    pub public_key: bool,
}

/// What both sides agreed on.
#[derive(Debug, Clone, Copy)]
pub struct Agreed {
    /// Rows end with an OK packet instead of EOF, and nothing ends column definitions.
    pub deprecates_eof: bool,
    /// A result set says whether its columns are defined again: MariaDB, since 10.6, leaves that
    /// out of a prepared statement's results as long as nothing has changed.
    pub caches_metadata: bool,
    /// The server executes a prepared statement with many rows of values at once
    /// ([`frontend::bulk_execute`]): MariaDB, since 10.2.
    pub bulk_executes: bool,
    /// The server lets clients send files (LOAD DATA LOCAL).
    pub loads: bool,
    /// The session's `STATUS_…` flags.
    pub status: u16,
    /// All that follows the handshake is compressed.
    pub compression: Option<Algorithm>,
}

/// Whether the session is ready after a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send what was appended, if anything, and read on.
    Continue,
    /// Send what was appended, then speak TLS, then call [`Handshake::encrypted`].
    Encrypt,
    /// The session takes commands.
    Ready,
}

/// Why the handshake failed.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The server's error packet, to be read with [`backend::error_fields`].
    #[error("refused by the server")]
    Refused(Box<[u8]>),
    /// The server asks for something unsupported.
    #[error("the server asks for {0}, which is not supported")]
    Unsupported(String),
    /// The server asks for the password itself where others may listen.
    #[error(
        "{0} asks for the password over a connection that is not encrypted; use TLS (`ssl-mode`), \
         or let any key of the server's be trusted with it (`get-server-public-key=true`)"
    )]
    Exposed(String),
    /// The plugin can't use the server's data.
    #[error("authentication by {plugin} fails: {reason}")]
    Authentication {
        /// By name.
        plugin: String,
        /// The plugin's error.
        reason: String,
    },
    /// A packet that is not allowed here, by its first byte.
    #[error("unexpected packet {0:#04x}")]
    Unexpected(u8),
    /// Invalid bytes.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// The state of the handshake.
#[derive(Debug)]
pub struct Handshake<'a> {
    credentials: Credentials<'a>,
    is_local: bool,
    wishes: Wishes,
    is_encrypted: bool,
    /// Of the response that waits for TLS.
    sequence: u8,
    capabilities: CapabilityFlags,
    /// MariaDB's own.
    extended: MariadbCapabilities,
    server_version: String,
    /// From the first OK.
    status: u16,
    plugin: String,
    procedure: Option<AuthProc>,
    nonce: Vec<u8>,
}

impl<'a> Handshake<'a> {
    /// Waits for the greeting. `is_local`: nobody can listen (a Unix socket). The
    /// wishes are fulfilled if the server offers what they are for.
    pub fn new(credentials: Credentials<'a>, is_local: bool, wishes: Wishes) -> Self {
        Self {
            credentials,
            is_local,
            wishes,
            is_encrypted: false,
            sequence: 0,
            capabilities: CapabilityFlags::empty(),
            extended: MariadbCapabilities::empty(),
            server_version: String::new(),
            status: 0,
            plugin: String::new(),
            procedure: None,
            nonce: Vec::new(),
        }
    }

    /// The server's version, once it has greeted.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// What was agreed on, once the session is ready.
    pub fn agreed(&self) -> Agreed {
        Agreed {
            deprecates_eof: self.capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF),
            caches_metadata: self
                .extended
                .contains(MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA),
            bulk_executes: self
                .extended
                .contains(MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS),
            loads: self.capabilities.contains(CapabilityFlags::CLIENT_LOCAL_FILES),
            status: self.status,
            compression: self
                .wishes
                .compression
                .filter(|algorithm| self.capabilities.contains(capability(*algorithm))),
        }
    }

    /// Handles one packet; appends the answer, if one is due.
    ///
    /// # Errors
    /// [`HandshakeError`]: the handshake failed.
    pub fn step(
        &mut self,
        sequence: u8,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, HandshakeError> {
        let sequence = sequence.wrapping_add(1);
        let has_greeted = !self.server_version.is_empty();
        match *payload {
            [backend::ERR, ..] => return Err(HandshakeError::Refused(payload.into())),
            [10, ..] if !has_greeted => return self.greeted(sequence, payload, out),
            [backend::OK, ..] if has_greeted => {
                self.status = backend::ok(payload)?.status;
                return Ok(Step::Ready);
            }
            [backend::EOF] if has_greeted => {
                return Err(HandshakeError::Unsupported("mysql_old_password".into()));
            }
            [backend::EOF, ..] if has_greeted => {
                let switch: AuthSwitchRequest<'_> = ParseBuf(payload)
                    .parse(())
                    .map_err(|_| WireError::Malformed("AuthSwitchRequest"))?;
                self.nonce = switch.plugin_data().to_vec();
                self.choose(&switch.auth_plugin())?;
                let answer = self.answer(&self.nonce.clone())?.unwrap_or_default();
                frontend::payload(sequence, |out| out.extend_from_slice(&answer), out)?;
            }
            // AuthMoreData.
            [1, ref data @ ..] if has_greeted => {
                if data != [FAST_AUTHENTICATION] {
                    self.keep_password()?;
                }
                if let Some(answer) = self.answer(data)? {
                    frontend::payload(sequence, |out| out.extend_from_slice(&answer), out)?;
                }
            }
            [first, ..] => return Err(HandshakeError::Unexpected(first)),
            [] => return Err(WireError::Malformed("empty packet").into()),
        }
        Ok(Step::Continue)
    }

    /// Answers the greeting with SSLRequest or HandshakeResponse41.
    fn greeted(
        &mut self,
        sequence: u8,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, HandshakeError> {
        check_challenge_size(payload)?;
        let greeting: HandshakePacket<'_> =
            ParseBuf(payload).parse(()).map_err(|_| WireError::Malformed("greeting"))?;
        let version = greeting.server_version_str();
        self.server_version = version.strip_prefix(MARIADB_PREFIX).unwrap_or(&version).to_owned();
        self.capabilities = self.wanted() & greeting.capabilities();
        if !self.capabilities.contains(CapabilityFlags::CLIENT_PROTOCOL_41) {
            return Err(HandshakeError::Unsupported("the protocol before MySQL 4.1".into()));
        }
        if !self.capabilities.contains(NOT_MARIADB) {
            let wanted = MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA
                | MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS;
            self.extended = wanted & greeting.mariadb_ext_capabilities();
        }
        self.nonce = greeting.nonce();
        // The greeting names the server's own default; the user's plugin may be another, and if it
        // is the server asks for a switch.
        let offered = greeting.auth_plugin().unwrap_or(AuthPlugin::MysqlNativePassword);
        if self.choose(&offered).is_err() {
            self.choose(&AuthPlugin::MysqlNativePassword)?;
        }
        if self.capabilities.contains(CapabilityFlags::CLIENT_SSL) {
            // The first bytes of the response, then the response again within TLS.
            let (capabilities, extended) = (self.capabilities, self.extended);
            frontend::payload(sequence, |out| preamble(capabilities, extended, out), out)?;
            self.sequence = sequence.wrapping_add(1);
            return Ok(Step::Encrypt);
        }
        self.respond(sequence, out)?;
        Ok(Step::Continue)
    }

    /// Answers the greeting after [`Step::Encrypt`]: nobody can listen from here on.
    ///
    /// # Errors
    /// [`HandshakeError`]: the handshake failed.
    pub fn encrypted(&mut self, out: &mut Vec<u8>) -> Result<(), HandshakeError> {
        self.is_encrypted = true;
        self.respond(self.sequence, out)
    }

    fn respond(&mut self, sequence: u8, out: &mut Vec<u8>) -> Result<(), HandshakeError> {
        let answer = self.answer(&self.nonce.clone())?.unwrap_or_default();
        let Credentials { user, database, .. } = self.credentials;
        let (capabilities, extended) = (self.capabilities, self.extended);
        let plugin = self.plugin.as_bytes();
        let write = |out: &mut Vec<u8>| {
            preamble(capabilities, extended, out);
            text(user.as_bytes(), out);
            // Every plugin's first answer is shorter than 251 bytes: with or without the capability
            // for longer ones its size is one byte.
            frontend::length(answer.len(), out);
            out.extend_from_slice(&answer);
            if capabilities.contains(CapabilityFlags::CLIENT_CONNECT_WITH_DB) {
                text(database.as_bytes(), out);
            }
            if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
                text(plugin, out);
            }
            if capabilities.contains(capability(Algorithm::Zstd)) {
                out.push(ZSTD_LEVEL);
            }
        };
        Ok(frontend::payload(sequence, write, out)?)
    }

    fn wanted(&self) -> CapabilityFlags {
        let mut wanted = NOT_MARIADB
            | CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_MULTI_STATEMENTS
            | CapabilityFlags::CLIENT_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PLUGIN_AUTH
            | CapabilityFlags::CLIENT_LOCAL_FILES
            | CapabilityFlags::CLIENT_DEPRECATE_EOF;
        wanted.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, !self.credentials.database.is_empty());
        wanted.set(CapabilityFlags::CLIENT_SSL, self.wishes.tls);
        if let Some(algorithm) = self.wishes.compression {
            wanted |= capability(algorithm);
        }
        wanted
    }

    fn choose(&mut self, plugin: &AuthPlugin<'_>) -> Result<(), HandshakeError> {
        let name = String::from_utf8_lossy(plugin.as_bytes()).into_owned();
        match plugin {
            AuthPlugin::MysqlNativePassword
            | AuthPlugin::CachingSha2Password
            | AuthPlugin::Sha256Password
            | AuthPlugin::Ed25519 => {}
            AuthPlugin::MysqlClearPassword if self.is_encrypted || self.is_local => {}
            _ => return Err(HandshakeError::Unsupported(format!("authentication by {name}"))),
        }
        let procedure = plugin.init();
        self.procedure =
            Some(procedure.map_err(|_| HandshakeError::Unsupported(format!("plugin {name}")))?);
        self.plugin = name;
        Ok(())
    }

    /// Before a packet that may hold the password in clear, or encrypted for an unknown key.
    fn keep_password(&self) -> Result<(), HandshakeError> {
        let is_private = self.is_encrypted || self.is_local || self.wishes.public_key;
        match self.credentials.password {
            Some(password) if !password.is_empty() && !is_private => {
                Err(HandshakeError::Exposed(self.plugin.clone()))
            }
            _ => Ok(()),
        }
    }

    fn answer(&mut self, challenge: &[u8]) -> Result<Option<Vec<u8>>, HandshakeError> {
        let context = PluginContext {
            password: self.credentials.password.unwrap_or_default().as_bytes(),
            nonce: &self.nonce,
            is_local: self.is_local,
            is_encrypted: self.is_encrypted,
        };
        let procedure = self.procedure.as_mut().ok_or(HandshakeError::Unexpected(1))?;
        match procedure.run(context, challenge) {
            Ok(response) => Ok(response.data().map(<[u8]>::to_vec)),
            Err(error) => Err(HandshakeError::Authentication {
                plugin: self.plugin.clone(),
                reason: error.to_string(),
            }),
        }
    }
}

fn capability(algorithm: Algorithm) -> CapabilityFlags {
    match algorithm {
        Algorithm::Zlib => CapabilityFlags::CLIENT_COMPRESS,
        Algorithm::Zstd => CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM,
    }
}

/// The crate that reads the greeting reckons with the challenge's announced size as a signed byte,
/// which overflows for some of those that no server sends.
fn check_challenge_size(greeting: &[u8]) -> Result<(), WireError> {
    // Behind the version: connection, first part of the challenge, its end, capabilities,
    // collation, status, capabilities.
    let version = greeting.iter().skip(1).position(|byte| *byte == 0).unwrap_or(0);
    match greeting.get(1 + version + 1 + 4 + 8 + 1 + 2 + 1 + 2 + 2) {
        Some(0x80..) => Err(WireError::Malformed("greeting")),
        _ => Ok(()),
    }
}

/// What SSLRequest and HandshakeResponse41 begin with.
fn preamble(capabilities: CapabilityFlags, extended: MariadbCapabilities, out: &mut Vec<u8>) {
    out.extend_from_slice(&capabilities.bits().to_le_bytes());
    out.extend_from_slice(&(PACKET_SIZE_MAX as u32 + 1).to_le_bytes());
    out.push(COLLATION);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&extended.bits().to_le_bytes());
}

fn text(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(value);
    out.push(0);
}

/// What a plugin may know of the connection.
struct PluginContext<'a> {
    password: &'a [u8],
    nonce: &'a [u8],
    is_local: bool,
    is_encrypted: bool,
}

impl Context for PluginContext<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        self.is_local
    }

    fn is_tls_transport(&self) -> bool {
        self.is_encrypted
    }

    fn scramble(&self) -> &[u8] {
        self.nonce
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

#[cfg(test)]
mod tests;
