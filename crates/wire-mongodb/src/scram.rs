//! The client's side of SCRAM-SHA-256 (RFC 5802, 7677), without channel binding.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Random bytes of a nonce.
const NONCE_SIZE: usize = 24;
/// Fewer rounds than this are refused (the drivers' authentication specification), and more than
/// some seconds take.
const ROUNDS: std::ops::RangeInclusive<u32> = 4096..=2_000_000;
/// "No channel binding" as the messages carry it.
const HEADER: &str = "n,,";

/// Why the server's side is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    /// A message that the exchange does not have here.
    #[error("malformed message in SCRAM-SHA-256")]
    Malformed,
    /// The nonce is not ours continued: it answers somebody else.
    #[error("the server answers another client in SCRAM-SHA-256")]
    OtherNonce,
    /// An absurd number of rounds.
    #[error("the server asks for {0} rounds of SCRAM-SHA-256; expected 4096 to 2000000")]
    Rounds(u32),
    /// It does not know the password either.
    #[error("the server does not prove itself in SCRAM-SHA-256")]
    Unproven,
}

/// An exchange: [`Scram::first`], then [`Scram::answer`] to the server's first message, then
/// [`Scram::finish`] with its last.
#[derive(Debug)]
pub struct Scram {
    first_bare: String,
    nonce: String,
    password: String,
    /// The server's proof that is expected.
    signature: Option<[u8; 32]>,
}

impl Scram {
    /// Begins with a random nonce.
    pub fn new(user: &str, password: &str) -> Self {
        Self::with_nonce(user, password, &BASE64.encode(rand::random::<[u8; NONCE_SIZE]>()))
    }

    fn with_nonce(user: &str, password: &str, nonce: &str) -> Self {
        let name = user.replace('=', "=3D").replace(',', "=2C");
        // A password that SASLprep forbids is taken as it is, as the drivers do.
        let password = stringprep::saslprep(password).map_or(password.into(), String::from);
        let first_bare = format!("n={name},r={nonce}");
        Self { first_bare, nonce: nonce.into(), password, signature: None }
    }

    /// The first message.
    pub fn first(&self) -> Vec<u8> {
        format!("{HEADER}{}", self.first_bare).into_bytes()
    }

    /// The answer to the server's first message.
    ///
    /// # Errors
    /// [`ScramError`].
    pub fn answer(&mut self, message: &[u8]) -> Result<Vec<u8>, ScramError> {
        let message = std::str::from_utf8(message).map_err(|_| ScramError::Malformed)?;
        let nonce = field(message, "r=").ok_or(ScramError::Malformed)?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(ScramError::OtherNonce);
        }
        let salt = field(message, "s=").and_then(|salt| BASE64.decode(salt).ok());
        let salt = salt.ok_or(ScramError::Malformed)?;
        let rounds = field(message, "i=").and_then(|rounds| rounds.parse().ok());
        let rounds = rounds.ok_or(ScramError::Malformed)?;
        if !ROUNDS.contains(&rounds) {
            return Err(ScramError::Rounds(rounds));
        }
        let salted = salted(self.password.as_bytes(), &salt, rounds);
        let last = format!("c={},r={nonce}", BASE64.encode(HEADER));
        let signed = format!("{},{message},{last}", self.first_bare);
        let client_key = keyed(&salted, b"Client Key");
        let stored_key: [u8; 32] = Sha256::digest(client_key).into();
        let signature = keyed(&stored_key, signed.as_bytes());
        let proof: Vec<u8> =
            client_key.iter().zip(signature).map(|(key, sign)| key ^ sign).collect();
        self.signature = Some(keyed(&keyed(&salted, b"Server Key"), signed.as_bytes()));
        Ok(format!("{last},p={}", BASE64.encode(proof)).into_bytes())
    }

    /// Checks the server's last message.
    ///
    /// # Errors
    /// [`ScramError`].
    pub fn finish(&self, message: &[u8]) -> Result<(), ScramError> {
        let message = std::str::from_utf8(message).map_err(|_| ScramError::Malformed)?;
        let proof = field(message, "v=").and_then(|proof| BASE64.decode(proof).ok());
        match (proof, self.signature) {
            (Some(proof), Some(expected)) if proof == expected => Ok(()),
            _ => Err(ScramError::Unproven),
        }
    }
}

/// A field of a message.
fn field<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    message.split(',').find_map(|field| field.strip_prefix(name))
}

fn keyed(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut mac = mac_of(key);
    mac.update(text);
    mac.finalize().into_bytes().into()
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
fn mac_of(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

/// RFC 5802's `Hi`: PBKDF2 with one block.
fn salted(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 32] {
    let keyed_once = mac_of(password);
    let with = |text: &[u8]| -> [u8; 32] {
        let mut mac = keyed_once.clone();
        mac.update(text);
        mac.finalize().into_bytes().into()
    };
    let mut block = with(&[salt, &[0, 0, 0, 1]].concat());
    let mut result = block;
    for _ in 1..rounds {
        block = with(&block);
        for (byte, other) in result.iter_mut().zip(block) {
            *byte ^= other;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const FIRST: &[u8] = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
        s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn the_exchange_is_that_of_the_standard() {
        let mut scram = Scram::with_nonce("user", "pencil", NONCE);
        assert_eq!(scram.first(), b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let last: &[u8] = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(scram.answer(FIRST).unwrap(), last);
        assert_eq!(scram.finish(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
        assert_eq!(
            scram.finish(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
            Err(ScramError::Unproven)
        );
    }

    #[test]
    fn a_server_that_is_not_asked_is_refused() {
        let with =
            |message: &[u8]| Scram::with_nonce("a,b=c", "p", NONCE).answer(message).unwrap_err();
        assert_eq!(with(b"r=other,s=W22Z,i=4096"), ScramError::OtherNonce);
        assert_eq!(with(b"r=rOprNGfwEbeRWgbNEkqO,s=W22Z,i=4096"), ScramError::OtherNonce);
        assert_eq!(with(b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=1"), ScramError::Rounds(1));
        assert_eq!(with(b"r=rOprNGfwEbeRWgbNEkqOx,s=!,i=4096"), ScramError::Malformed);
        assert_eq!(with(b"\xff"), ScramError::Malformed);
        let scram = Scram::with_nonce("a,b=c", "p", NONCE);
        assert!(scram.first().starts_with(b"n,,n=a=2Cb=3Dc,r="));
        assert_eq!(scram.finish(b"v="), Err(ScramError::Unproven), "nothing was proven yet");
        assert_ne!(Scram::new("u", "p").nonce, Scram::new("u", "p").nonce);
    }
}
