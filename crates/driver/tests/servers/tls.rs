//! TLS with real servers: every mode, certificates good and bad, and the words for what is wrong.

use std::path::Path;

use crate::certificates::{CLIENT, file, replace};
use crate::client::Client;
use crate::postgres_server::Extras;
use driver::ConnectError;
use record::{Endpoint, ServerTarget, Target, Tls, TlsMode};

/// A server's target over TCP, and how to connect to it.
struct Subject<'a> {
    folder: &'a Path,
    target: ServerTarget,
    wrap: fn(ServerTarget) -> Target,
}

impl Subject<'_> {
    fn connect(&self, host: &str, tls: Tls) -> Result<Client, ConnectError> {
        let mut target = ServerTarget { tls, ..self.target.clone() };
        for endpoint in &mut target.endpoints {
            if let Endpoint::Tcp { host: place, .. } = endpoint {
                *place = host.into();
            }
        }
        Client::connect(&(self.wrap)(target))
    }

    fn tls(&self, mode: TlsMode, ca: Option<&str>) -> Tls {
        Tls { mode, ca: ca.map(|name| file(self.folder, name, "pem")), ..Tls::default() }
    }

    #[track_caller]
    fn fails(&self, host: &str, tls: Tls, expected: &str) {
        match self.connect(host, tls).err() {
            Some(ConnectError::Tls { what, .. }) => {
                assert!(what.contains(expected), "expected {expected:?} in {what:?}");
            }
            other => panic!("expected {expected:?}, found {other:?}"),
        }
    }

    /// What is the same for all servers that have TLS. `cipher` asks the server for its own name of
    /// the session's cipher, empty or NULL for none.
    fn check_modes(&self, cipher: &str) {
        use TlsMode::{Disable, Prefer, Require, VerifyCa, VerifyFull};
        for (mode, ca, host) in [
            (Disable, None, "127.0.0.1"),
            (Prefer, None, "127.0.0.1"),
            (Require, None, "127.0.0.1"),
            (VerifyCa, Some("ca"), "127.0.0.1"),
            (VerifyFull, Some("ca"), "localhost"),
        ] {
            let mut client = self.connect(host, self.tls(mode, ca)).unwrap();
            assert_eq!(client.value(cipher).is_empty(), mode == Disable, "{mode:?}");
            let long = "x".repeat(300_000);
            assert_eq!(client.value(&format!("SELECT '{long}'")), long, "{mode:?}");
            client.piece = 100;
            assert_eq!(client.value("SELECT 7"), "7");
        }
        self.fails(
            "localhost",
            self.tls(VerifyFull, Some("other-ca")),
            "not signed by an authority",
        );
        self.fails("localhost", self.tls(VerifyCa, Some("other-ca")), "other-ca.pem");
        self.fails("127.0.0.1", self.tls(VerifyFull, Some("ca")), "for another host");
        self.fails("localhost", self.tls(VerifyCa, None), "needs tls.ca");
    }

    fn check_ciphers(&self, cipher: &str) {
        for (name, expected) in [
            ("TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
            ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ] {
            let tls = Tls { ciphers: vec![name.into()], ..self.tls(TlsMode::Require, None) };
            assert_eq!(self.connect("localhost", tls).unwrap().value(cipher), expected);
        }
    }

    fn with_certificate(&self, name: &str) -> Tls {
        Tls {
            certificate: Some(file(self.folder, name, "pem")),
            key: Some(file(self.folder, name, "key")),
            ..self.tls(TlsMode::Require, None)
        }
    }
}

fn postgres_extras(folder: &Path) -> Extras {
    crate::certificates::write(folder);
    let path = |name, kind| file(folder, name, kind).display().to_string();
    Extras {
        settings: vec![
            "ssl=on".into(),
            format!("ssl_cert_file={}", path("server", "pem")),
            format!("ssl_key_file={}", path("server", "key")),
            format!("ssl_ca_file={}", path("ca", "pem")),
        ],
        rules: "hostssl all certified 127.0.0.1/32 cert\n",
    }
}

#[test]
fn postgresql_speaks_tls_in_every_mode() {
    let Some(server) = crate::postgres_server::Server::with(postgres_extras) else { return };
    let mut client = server.client();
    client.ok(&format!("CREATE ROLE {CLIENT} LOGIN"));
    let target = ServerTarget { endpoints: vec![server.tcp()], ..server.target("scram") };
    let target = ServerTarget { password: Some("secret-scram".into()), ..target };
    let folder = server.socket.parent().unwrap();
    let mut subject = Subject { folder, target, wrap: Target::Postgresql };
    let cipher = "SELECT coalesce(cipher, '') FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    subject.check_modes(cipher);
    subject.check_ciphers(cipher);

    subject.target.user = CLIENT.into();
    let mut certified = subject.connect("localhost", subject.with_certificate("client")).unwrap();
    assert_eq!(certified.value("SELECT current_user"), CLIENT);
    match subject.connect("localhost", subject.tls(TlsMode::Require, None)).err() {
        Some(ConnectError::Refused { error, .. }) => assert_eq!(error.sqlstate, "28000"),
        other => panic!("{other:?}"),
    }
    subject.fails("localhost", subject.with_certificate("stranger"), "ends the TLS handshake");

    subject.target.user = "trusty".into();
    replace(folder, "expired");
    client.ok("SELECT pg_reload_conf()");
    while subject.connect("localhost", subject.tls(TlsMode::VerifyFull, Some("ca"))).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    subject.fails("localhost", subject.tls(TlsMode::VerifyFull, Some("ca")), "has expired");
    subject.connect("localhost", subject.tls(TlsMode::Require, None)).unwrap();
}

fn mariadb_arguments(folder: &Path) -> Vec<String> {
    crate::certificates::write(folder);
    let path = |name, kind| file(folder, name, kind).display().to_string();
    vec![
        format!("--ssl-cert={}", path("server", "pem")),
        format!("--ssl-key={}", path("server", "key")),
        format!("--ssl-ca={}", path("ca", "pem")),
    ]
}

#[test]
fn mariadb_speaks_tls_in_every_mode() {
    let Some(server) = crate::mariadb_server::Server::with(mariadb_arguments) else { return };
    let mut client = server.client();
    client
        .ok(&format!("CREATE USER {CLIENT} IDENTIFIED BY 'secret' REQUIRE SUBJECT '/CN={CLIENT}'"));
    let target = ServerTarget { endpoints: vec![server.tcp()], ..server.target() };
    let folder = server.socket.parent().unwrap();
    let mut subject = Subject { folder, target, wrap: Target::Mysql };
    let cipher = "SELECT variable_value FROM information_schema.session_status
                  WHERE variable_name = 'Ssl_cipher'";
    subject.check_modes(cipher);
    subject.check_ciphers(cipher);

    let certified = subject.with_certificate("client");
    subject.target =
        ServerTarget { user: CLIENT.into(), database: String::new(), ..subject.target };
    let mut client_with = subject.connect("localhost", certified).unwrap();
    assert_eq!(client_with.value("SELECT user()"), format!("{CLIENT}@localhost"));
    match subject.connect("localhost", subject.tls(TlsMode::Require, None)).err() {
        Some(ConnectError::Refused { error, .. }) => assert_eq!(error.number, 1045),
        other => panic!("{other:?}"),
    }
    subject.fails("localhost", subject.with_certificate("stranger"), "ends the TLS handshake");

    subject.target = ServerTarget { user: "native".into(), ..subject.target };
    replace(folder, "expired");
    client.ok("FLUSH SSL");
    subject.fails("localhost", subject.tls(TlsMode::VerifyFull, Some("ca")), "has expired");
    subject.connect("localhost", subject.tls(TlsMode::Require, None)).unwrap();
}

#[test]
fn servers_without_tls_will_do_where_it_is_only_preferred() {
    let check = |target: ServerTarget, wrap| {
        let subject = Subject { folder: Path::new("/"), target, wrap };
        subject.connect("127.0.0.1", subject.tls(TlsMode::Prefer, None)).unwrap();
        let require = subject.tls(TlsMode::Require, None);
        subject.fails("127.0.0.1", require, "the server does not offer TLS");
    };
    if let Some(server) = crate::postgres_server::Server::get() {
        let target = ServerTarget { endpoints: vec![server.tcp()], ..server.target("trusty") };
        check(target, Target::Postgresql);
    }
    if let Some(server) = crate::mariadb_server::Server::get() {
        check(ServerTarget { endpoints: vec![server.tcp()], ..server.target() }, Target::Mysql);
    }
}
