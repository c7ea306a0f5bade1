//! A real PostgreSQL for the tests of this folder, started by themselves and gone with them.

#![allow(dead_code, reason = "each program that has this uses its own part of it")]
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::thread::{self, JoinHandle};

use driver::ConnectError;
use record::{Endpoint, ServerTarget, Target, Tls};

use crate::account::{as_server_user, die_with_parent, free_port, installed, server_user};
use crate::client::Client;

/// Roles of the server, each with its own line of `pg_hba.conf`; the password is the role's name
/// behind `secret-`.
pub const ROLES: [(&str, &str); 4] =
    [("trusty", "trust"), ("clear", "password"), ("hash", "md5"), ("scram", "scram-sha-256")];

/// What a server has besides.
#[derive(Default)]
pub struct Extras {
    /// `name=value`.
    pub settings: Vec<String>,
    /// Lines of `pg_hba.conf`.
    pub rules: &'static str,
}

/// A running server. It stops with its last owner.
pub struct Server {
    pub socket: PathBuf,
    pub port: u16,
    stop: mpsc::Sender<()>,
    keeper: Option<JoinHandle<()>>,
}

impl Server {
    /// The server of this test program; `None`: there is no PostgreSQL here, and that was said.
    pub fn get() -> Option<Arc<Self>> {
        static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut running = RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(server) = running.upgrade() {
            return Some(server);
        }
        let binaries = find_binaries()?;
        let server = Arc::new(Self::start(&binaries, |_| Extras::default()));
        *running = Arc::downgrade(&server);
        Some(server)
    }

    /// A server of the caller's own, with more to it.
    pub fn with(extras: fn(&Path) -> Extras) -> Option<Self> {
        find_binaries().map(|binaries| Self::start(&binaries, extras))
    }

    fn start(binaries: &Path, extras: fn(&Path) -> Extras) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let socket = folder.path().join(format!(".s.PGSQL.{port}"));
        let (stop, stopped) = mpsc::channel();
        let binaries = binaries.to_owned();
        let (started, ready) = mpsc::channel();
        // The server dies with the thread that started it, so that thread outlives the tests.
        let keeper = thread::spawn(move || {
            let mut child = start_postgres(&binaries, folder.path(), port, &extras(folder.path()));
            started.send(()).unwrap();
            let _ = stopped.recv();
            // SAFETY: the child is ours and not yet waited for. SIGQUIT: at once, without a
            // checkpoint.
            unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGQUIT) };
            child.wait().unwrap();
        });
        ready.recv().expect("PostgreSQL could not be started: see the messages above");
        let server = Self { socket, port, stop, keeper: Some(keeper) };
        server.create_roles();
        server
    }

    fn create_roles(&self) {
        let mut client = self.wait_until_ready();
        for (role, method) in ROLES {
            let encryption = if method == "md5" { "md5" } else { "scram-sha-256" };
            client.ok(&format!("SET password_encryption = '{encryption}'"));
            client.ok(&format!("CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'secret-{role}'"));
        }
        client.ok("CREATE ROLE lonely LOGIN CONNECTION LIMIT 0");
    }

    fn wait_until_ready(&self) -> Client {
        Client::connect_when_ready(&Target::Postgresql(self.target("postgres")))
            .unwrap_or_else(|error| panic!("no server: {error}"))
    }

    /// Over the Unix socket, without a password.
    pub fn target(&self, user: &str) -> ServerTarget {
        ServerTarget {
            endpoints: vec![Endpoint::Unix(self.socket.clone())],
            user: user.into(),
            password: None,
            database: "postgres".into(),
            prepared_statements: true,
            tls: Tls::default(),
            compression: None,
            asks_for_public_key: false,
            session: Vec::new(),
        }
    }

    /// Over TCP.
    pub fn tcp(&self) -> Endpoint {
        Endpoint::Tcp { host: "127.0.0.1".into(), port: self.port }
    }

    /// A client that needs no password.
    pub fn client(&self) -> Client {
        connect(&self.target("trusty")).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

fn find_binaries() -> Option<PathBuf> {
    let has_server = |folder: &Path| folder.join("postgres").exists();
    installed("DBDYNO_PG_BIN", "/usr/lib/postgresql/15/bin", "postgresql-15", has_server)
}

fn start_postgres(binaries: &Path, folder: &Path, port: u16, extras: &Extras) -> Child {
    let data = folder.join("data");
    if let Some((user, group)) = server_user() {
        chown(folder, Some(user), Some(group)).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
    let mut initdb = as_server_user(Command::new(binaries.join("initdb")));
    initdb.args(["--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8"]);
    initdb.args(["--locale=C", "--pgdata"]).arg(&data).stdout(Stdio::null());
    assert!(initdb.status().unwrap().success(), "initdb failed");
    let rules: String = [("postgres", "trust"), ("lonely", "trust")]
        .iter()
        .chain(&ROLES)
        .map(|(role, method)| {
            format!("local all {role} {method}\nhost all {role} 127.0.0.1/32 {method}\n")
        })
        .collect();
    fs::write(data.join("pg_hba.conf"), rules + extras.rules).unwrap();
    let mut postgres = as_server_user(Command::new(binaries.join("postgres")));
    postgres.arg("-D").arg(&data).arg("-k").arg(folder).args(["-p", &port.to_string()]);
    for setting in ["listen_addresses=127.0.0.1", "fsync=off", "deadlock_timeout=50ms"] {
        postgres.args(["-c", setting]);
    }
    for setting in &extras.settings {
        postgres.args(["-c", setting]);
    }
    postgres.stderr(fs::File::create(folder.join("server.log")).unwrap());
    die_with_parent(&mut postgres);
    postgres.spawn().unwrap()
}

/// A client of the target.
pub fn connect(target: &ServerTarget) -> Result<Client, ConnectError> {
    Client::connect(&Target::Postgresql(target.clone()))
}
