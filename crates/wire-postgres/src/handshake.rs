//! The start of a session: a state machine from the startup message to the first ReadyForQuery.
//!
//! Trust, cleartext, MD5 and SCRAM-SHA-256 (without channel binding) are answered; the hashing is
//! the crate `postgres-protocol`'s.

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};

use crate::{WireError, backend, frontend};

/// Who wants to connect, and to what.
#[derive(Debug, Clone, Copy)]
pub struct Credentials<'a> {
    /// Role.
    pub user: &'a str,
    /// Its password, if any.
    pub password: Option<&'a str>,
    /// Database.
    pub database: &'a str,
}

/// Whether the session is ready after a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send what was appended, if anything, and read on.
    Continue,
    /// The session takes requests.
    Ready,
}

/// Why the handshake failed.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The server's ErrorResponse; the text is its body, to be read with [`backend::error_fields`].
    #[error("refused by the server")]
    Refused(Box<[u8]>),
    /// The server asks for a password, and there is none.
    #[error("the server asks for a password ({method}) and none is given")]
    PasswordNeeded {
        /// The authentication method.
        method: &'static str,
    },
    /// The server asks for an unsupported kind of authentication.
    #[error("the server asks for {0}, which is not supported")]
    Unsupported(String),
    /// SCRAM failed on our side: the server doesn't know the password either, or sent invalid data.
    #[error("the server does not prove itself in SCRAM-SHA-256: {0}")]
    Scram(std::io::Error),
    /// A message that is not allowed here.
    #[error("unexpected message `{0}`")]
    Unexpected(char),
    /// Invalid bytes.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// The state of the handshake.
pub struct Handshake<'a> {
    credentials: Credentials<'a>,
    scram: Option<ScramSha256>,
    scram_finished: bool,
    authenticated: bool,
    server_version: String,
}

impl<'a> Handshake<'a> {
    /// Appends the startup message; `parameters` are settings for the session.
    ///
    /// # Errors
    /// [`WireError::TooLong`].
    pub fn begin(
        credentials: Credentials<'a>,
        parameters: &[(&str, &str)],
        out: &mut Vec<u8>,
    ) -> Result<Self, WireError> {
        let mut all = vec![("user", credentials.user), ("database", credentials.database)];
        all.extend_from_slice(parameters);
        frontend::startup(&all, out)?;
        Ok(Self {
            credentials,
            scram: None,
            scram_finished: false,
            authenticated: false,
            server_version: String::new(),
        })
    }

    /// The server's `server_version`, once received.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// Handles one message; appends the answer, if one is due.
    ///
    /// # Errors
    /// [`HandshakeError`]: the handshake failed.
    pub fn step(
        &mut self,
        tag: u8,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, HandshakeError> {
        match tag {
            backend::AUTHENTICATION if !self.authenticated => self.authenticate(body, out)?,
            backend::PARAMETER_STATUS => {
                let (name, value) = backend::parameter_status(body)?;
                if name == b"server_version" {
                    self.server_version = String::from_utf8_lossy(value).into_owned();
                }
            }
            backend::ERROR_RESPONSE => return Err(HandshakeError::Refused(body.into())),
            backend::NOTICE_RESPONSE
            | backend::NOTIFICATION_RESPONSE
            | backend::NEGOTIATE_PROTOCOL_VERSION => {}
            backend::BACKEND_KEY_DATA if self.authenticated => {}
            backend::READY_FOR_QUERY if self.authenticated => {
                backend::transaction_status(body)?;
                return Ok(Step::Ready);
            }
            other => return Err(HandshakeError::Unexpected(char::from(other))),
        }
        Ok(Step::Continue)
    }

    fn authenticate(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), HandshakeError> {
        const MALFORMED: WireError = WireError::Malformed("Authentication");
        let (kind, data) = body.split_first_chunk::<4>().ok_or(MALFORMED)?;
        match u32::from_be_bytes(*kind) {
            0 => self.accept()?,
            3 => frontend::password(self.password("in clear")?, out)?,
            5 => {
                let salt = <[u8; 4]>::try_from(data).map_err(|_| MALFORMED)?;
                let password = self.password("md5")?;
                let answer = md5_hash(self.credentials.user.as_bytes(), password, salt);
                frontend::password(answer.as_bytes(), out)?;
            }
            10 => self.begin_scram(data, out)?,
            11 => {
                let scram = self.scram.as_mut().ok_or(HandshakeError::Unexpected('R'))?;
                scram.update(data).map_err(HandshakeError::Scram)?;
                frontend::sasl(scram.message(), out)?;
            }
            12 => {
                let scram = self.scram.as_mut().ok_or(HandshakeError::Unexpected('R'))?;
                scram.finish(data).map_err(HandshakeError::Scram)?;
                self.scram_finished = true;
            }
            kind => {
                let name = match kind {
                    2 => "Kerberos V5".into(),
                    7 | 8 => "GSSAPI".into(),
                    9 => "SSPI".into(),
                    other => format!("authentication of kind {other}"),
                };
                return Err(HandshakeError::Unsupported(name));
            }
        }
        Ok(())
    }

    /// A server that begins SCRAM must complete it: only its last message proves its identity.
    fn accept(&mut self) -> Result<(), HandshakeError> {
        if self.scram.is_some() && !self.scram_finished {
            return Err(HandshakeError::Unexpected('R'));
        }
        self.authenticated = true;
        Ok(())
    }

    fn begin_scram(&mut self, mechanisms: &[u8], out: &mut Vec<u8>) -> Result<(), HandshakeError> {
        if self.scram.is_some() {
            return Err(HandshakeError::Unexpected('R'));
        }
        let offered = || mechanisms.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        if !offered().any(|name| name == SCRAM_SHA_256.as_bytes()) {
            let names: Vec<_> = offered().map(String::from_utf8_lossy).collect();
            return Err(HandshakeError::Unsupported(format!("SASL by {}", names.join(", "))));
        }
        let password = self.password("scram-sha-256")?;
        let scram = ScramSha256::new(password, ChannelBinding::unsupported());
        frontend::sasl_initial(SCRAM_SHA_256, scram.message(), out)?;
        self.scram = Some(scram);
        Ok(())
    }

    fn password(&self, method: &'static str) -> Result<&'a [u8], HandshakeError> {
        let password =
            self.credentials.password.ok_or(HandshakeError::PasswordNeeded { method })?;
        Ok(password.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITH: Credentials<'_> =
        Credentials { user: "md5_user", password: Some("password"), database: "d" };

    fn handshake(credentials: Credentials<'_>) -> Handshake<'_> {
        Handshake::begin(credentials, &[], &mut Vec::new()).unwrap()
    }

    fn answer(credentials: Credentials<'_>, body: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        let mut out = Vec::new();
        handshake(credentials).step(b'R', body, &mut out).map(|_| out)
    }

    #[test]
    fn passwords_are_answered_as_asked() {
        assert_eq!(answer(WITH, &[0, 0, 0, 3]).unwrap(), b"p\0\0\0\x0dpassword\0");
        // The answer is the one rust-postgres, and libpq, compute.
        assert_eq!(
            answer(WITH, &[0, 0, 0, 5, 0x2a, 0x3d, 0x8f, 0xe0]).unwrap(),
            b"p\0\0\0\x28md562af4dd09bbb41884907a838a3233294\0"
        );
        let without = Credentials { password: None, ..WITH };
        let error = answer(without, &[0, 0, 0, 5, 1, 2, 3, 4]).unwrap_err();
        assert_eq!(error.to_string(), "the server asks for a password (md5) and none is given");
    }

    #[test]
    fn what_we_cannot_do_has_a_name() {
        let error = answer(WITH, &[0, 0, 0, 7]).unwrap_err();
        assert_eq!(error.to_string(), "the server asks for GSSAPI, which is not supported");
        let error = answer(WITH, b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0OAUTHBEARER\0\0").unwrap_err();
        assert!(error.to_string().contains("SASL by SCRAM-SHA-256-PLUS, OAUTHBEARER"));
        assert!(matches!(answer(WITH, &[0, 0, 0, 5, 1]), Err(HandshakeError::Wire(_))));
    }

    #[test]
    fn a_server_that_begins_scram_has_to_prove_itself() {
        let mut out = Vec::new();
        let mut handshake = handshake(WITH);
        handshake.step(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0", &mut out).unwrap();
        assert!(out.starts_with(b"p\0\0\0") && out[5..].starts_with(b"SCRAM-SHA-256\0"));
        let first = String::from_utf8(out[23..].to_vec()).unwrap();
        let nonce = first.split("r=").nth(1).unwrap();
        assert!(matches!(
            handshake.step(b'R', &[0, 0, 0, 0], &mut out),
            Err(HandshakeError::Unexpected('R'))
        ));
        // Servers ask for 4096 rounds, which take Miri a quarter of an hour.
        let rounds = if cfg!(miri) { 2 } else { 4096 };
        let salt = "QSXCR+Q6sek8bf92";
        let challenge = format!("\0\0\0\x0br={nonce}server,s={salt},i={rounds}");
        out.clear();
        handshake.step(b'R', challenge.as_bytes(), &mut out).unwrap();
        assert!(String::from_utf8_lossy(&out).contains("c=biws,r="));
        let forged = b"\0\0\0\x0cv=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let error = handshake.step(b'R', forged, &mut out).unwrap_err();
        assert!(matches!(error, HandshakeError::Scram(_)), "{error}");
    }

    #[test]
    fn nothing_but_a_whole_start_is_ready() {
        let mut out = Vec::new();
        let mut handshake = handshake(WITH);
        assert!(handshake.step(b'Z', b"I", &mut out).is_err());
        assert_eq!(handshake.step(b'R', &[0; 4], &mut out).unwrap(), Step::Continue);
        let version = b"server_version\x0018.1\0";
        assert_eq!(handshake.step(b'S', version, &mut out).unwrap(), Step::Continue);
        assert_eq!(handshake.step(b'K', &[0; 8], &mut out).unwrap(), Step::Continue);
        assert_eq!(handshake.step(b'Z', b"I", &mut out).unwrap(), Step::Ready);
        assert_eq!(handshake.server_version(), "18.1");
        assert!(out.is_empty());
    }
}
