//! Authorities and certificates of the tests' own making.

#![allow(dead_code, reason = "each program that has this uses its own part of it")]
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use crate::account::server_user;

/// Whom a client's certificate names.
pub const CLIENT: &str = "certified";

/// Writes into the folder: `ca.pem` and the certificates it signs, each with its `.key`: `server`
/// (for `localhost`), `expired`, `client`; then `other-ca.pem`, which signed nothing, and
/// `stranger`, which it did sign.
pub fn write(folder: &Path) {
    let authority = authority("dbdyno's tests");
    let other = self::authority("somebody else");
    fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    fs::write(folder.join("other-ca.pem"), other.pem()).unwrap();
    let server = || {
        let mut server = CertificateParams::new(["localhost".to_owned()]).unwrap();
        server.distinguished_name.push(DnType::CommonName, "localhost");
        server
    };
    sign(folder, "server", &server(), &authority);
    let mut expired = server();
    expired.not_after = date_time_ymd(2001, 1, 1);
    sign(folder, "expired", &expired, &authority);
    let mut client = CertificateParams::default();
    client.distinguished_name.push(DnType::CommonName, CLIENT);
    sign(folder, "client", &client, &authority);
    sign(folder, "stranger", &client, &other);
}

/// Gives the server another certificate, which it reads when it is told to.
pub fn replace(folder: &Path, with: &str) {
    for kind in ["pem", "key"] {
        fs::copy(file(folder, with, kind), file(folder, "server", kind)).unwrap();
    }
}

/// A file in the folder.
pub fn file(folder: &Path, name: &str, kind: &str) -> PathBuf {
    folder.join(format!("{name}.{kind}"))
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, name);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap()
}

fn sign(
    folder: &Path,
    name: &str,
    what: &CertificateParams,
    authority: &CertifiedIssuer<'_, KeyPair>,
) {
    let key = KeyPair::generate().unwrap();
    let certificate = what.signed_by(&key, authority).unwrap();
    fs::write(file(folder, name, "pem"), certificate.pem()).unwrap();
    let key_file = file(folder, name, "key");
    fs::write(&key_file, key.serialize_pem()).unwrap();
    // PostgreSQL takes no key that others may read.
    fs::set_permissions(&key_file, Permissions::from_mode(0o600)).unwrap();
    if let Some((user, group)) = server_user() {
        chown(&key_file, Some(user), Some(group)).unwrap();
    }
}
