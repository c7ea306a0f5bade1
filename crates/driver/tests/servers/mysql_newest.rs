//! What only a new MySQL has: `caching_sha2_password` in all its ways, and compression by zstd.
//!
//! The server is the one `dbdyno fetch mysql@sid` gets. Where it can't be had this is skipped, in
//! CI too: a release that is never done may have none on some days.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "test code in no marked function; it says what it leaves out"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::client::Client;
use driver::{ConnectError, Value};
use record::{Endpoint, ServerTarget, Target, Tls, TlsMode};

struct Server {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Server {
    fn start(arguments: &[&str]) -> Option<Self> {
        let told = std::env::var_os("DBDYNO_MYSQLD").filter(|told| !told.is_empty());
        let Some(programs) = told.map(PathBuf::from) else {
            eprintln!("SKIPPED: set DBDYNO_MYSQLD to what `dbdyno fetch mysql@sid` prints");
            return None;
        };
        let base = programs.parent().unwrap();
        let at = |option: &str, place: &str| format!("--{option}={}", base.join(place).display());
        let folder = tempfile::tempdir().unwrap();
        let port = crate::account::free_port();
        let data = folder.path().join("data");
        let mysqld = |log: &str| {
            let mut command = Command::new(programs.join("mysqld"));
            command.args(["--no-defaults", "--user=root", "--innodb-redo-log-capacity=8M"]);
            command.args(["--secure-file-priv=NULL".into(), at("basedir", "")]);
            command.arg(at("plugin-dir", "lib/mysql/plugin"));
            command.arg(at("lc-messages-dir", "share/mysql"));
            command.arg("--datadir").arg(&data).stdout(Stdio::null()).stdin(Stdio::null());
            command.stderr(std::fs::File::create(folder.path().join(log)).unwrap());
            command
        };
        let made = mysqld("made.log").arg("--initialize-insecure").status().unwrap();
        assert!(made.success(), "{}", said(folder.path(), "made.log"));
        let mut command = mysqld("server.log");
        command.arg(format!("--port={port}")).arg("--socket").arg(folder.path().join("socket"));
        command.args(["--bind-address=127.0.0.1", "--mysqlx=OFF", "--local-infile=ON"]);
        command.args(arguments);
        crate::account::die_with_parent(&mut command);
        let server = Self { child: command.spawn().unwrap(), folder, port };
        let mut client = server.wait_until_ready();
        client.ok("CREATE DATABASE d");
        client.ok("CREATE USER u IDENTIFIED WITH caching_sha2_password BY 'secret'");
        client.ok("GRANT ALL ON *.* TO u");
        Some(server)
    }

    fn wait_until_ready(&self) -> Client {
        let root = ServerTarget {
            user: "root".into(),
            password: None,
            database: String::new(),
            ..self.local()
        };
        Client::connect_when_ready(&Target::Mysql(root))
            .unwrap_or_else(|error| panic!("{error}\n{}", said(self.folder.path(), "server.log")))
    }

    fn local(&self) -> ServerTarget {
        ServerTarget {
            endpoints: vec![Endpoint::Unix(self.folder.path().join("socket"))],
            user: "u".into(),
            password: Some("secret".into()),
            database: "d".into(),
            prepared_statements: true,
            tls: Tls::default(),
            compression: None,
            asks_for_public_key: false,
            session: Vec::new(),
        }
    }

    fn tcp(&self) -> ServerTarget {
        let host = "127.0.0.1".into();
        let endpoints = vec![Endpoint::Tcp { host, port: self.port }];
        ServerTarget { endpoints, asks_for_public_key: true, ..self.local() }
    }

    fn encrypted(&self) -> ServerTarget {
        let tls = Tls { mode: TlsMode::Require, ..Tls::default() };
        ServerTarget { tls, ..self.tcp() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(folder: &Path, log: &str) -> String {
    std::fs::read_to_string(folder.join(log)).unwrap_or_default()
}

fn connect(target: &ServerTarget) -> Result<Client, ConnectError> {
    Client::connect(&Target::Mysql(target.clone()))
}

/// The server forgets whose password it has seen.
fn forget(server: &Server) {
    connect(&server.local()).unwrap().ok("FLUSH PRIVILEGES");
}

#[test]
fn passwords_are_proved_in_every_way_and_sessions_compressed_in_both() {
    let Some(server) = Server::start(&["--max-allowed-packet=64M"]) else { return };
    check_passwords(&server);
    check_compression(&server);
}

/// In full, and then fast.
fn check_passwords(server: &Server) {
    forget(server);
    let unasked = ServerTarget { asks_for_public_key: false, ..server.tcp() };
    match connect(&unasked).err() {
        Some(ConnectError::Unsupported { what, .. }) => assert!(what.contains("not encrypted")),
        other => panic!("{other:?}"),
    }
    // By the server's RSA key; within TLS; in clear, over the socket.
    for target in [server.tcp(), server.encrypted(), server.local()] {
        forget(server);
        for _ in 0..2 {
            let mut client = connect(&target).unwrap();
            assert_eq!(client.value("SELECT current_user()"), "u@%");
        }
        for password in [Some("other"), None] {
            forget(server);
            let wrong = ServerTarget { password: password.map(str::to_owned), ..target.clone() };
            match connect(&wrong).err() {
                Some(ConnectError::Refused { error, .. }) => assert_eq!(error.sqlstate, "28000"),
                other => panic!("{other:?}"),
            }
        }
    }
}

fn check_compression(server: &Server) {
    for (algorithm, plain) in
        [("zstd", server.local()), ("zstd", server.encrypted()), ("zlib", server.local())]
    {
        let target = ServerTarget { compression: Some(algorithm.into()), ..plain };
        let mut client = connect(&target).unwrap();
        client.ok("SHOW STATUS LIKE 'Compression_algorithm'");
        assert_eq!(client.rows()[0][1].as_deref(), Some(algorithm));
        for size in [0, 10, 49, 50, 1000, 3_000_000, 17_000_000] {
            let text = "long ".repeat(size / 5);
            assert_eq!(client.value(&format!("SELECT '{text}'")), text, "{size}");
        }
        let select = client.prepare("SELECT ?");
        client.execute(select, &[Value::Int(5)]);
        assert_eq!(client.rows(), [vec![Some("5".to_owned())]]);
        client.ok("CREATE TABLE packed (id int PRIMARY KEY, c varchar(500))");
        let rows: Vec<_> =
            (0..5000).map(|id| format!("({id}, '{}')", "x".repeat(id % 500))).collect();
        let sql = format!("INSERT INTO packed(id, c) VALUES {}", rows.join(","));
        let reply = client.load(&sql).unwrap();
        assert_eq!((reply.error, reply.affected), (None, 5000));
        client.piece = 11;
        assert_eq!(client.query("SELECT * FROM packed WHERE id < 400").rows, 400);
        assert_eq!(client.fails("SELECT * FROM nowhere"), "42S02");
        client.ok("DROP TABLE packed");
    }
}

/// Without a key of the server's a password can't travel in the open, and a second login needs
/// none: the server knows it by then.
#[test]
fn what_a_server_does_not_have_is_said_or_done_without() {
    let arguments = [
        "--caching-sha2-password-auto-generate-rsa-keys=OFF",
        "--caching-sha2-password-private-key-path=none.pem",
        "--caching-sha2-password-public-key-path=none.pem",
        "--protocol-compression-algorithms=zlib,uncompressed",
    ];
    let Some(server) = Server::start(&arguments) else { return };
    forget(&server);
    match connect(&server.tcp()).err() {
        Some(ConnectError::Refused { error, .. }) => assert_eq!(error.sqlstate, "28000"),
        other => panic!("no way to prove the password: {other:?}"),
    }
    connect(&server.local()).unwrap();
    assert_eq!(connect(&server.tcp()).unwrap().value("SELECT 1"), "1");
    let target = ServerTarget { compression: Some("zstd".into()), ..server.local() };
    let error = connect(&target).err().unwrap().to_string();
    assert!(error.contains("does not offer compression by zstd"), "{error}");
    connect(&ServerTarget { compression: Some("zlib".into()), ..server.local() }).unwrap();
}
