//! A real MariaDB server, started by the tests and stopped with them.

#![allow(dead_code, reason = "each program that has this uses its own part of it")]
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::thread::{self, JoinHandle};

use driver::ConnectError;
use record::{Endpoint, ServerTarget, Target, Tls};

use crate::account::{as_server_user, die_with_parent, free_port, installed, server_user};
use crate::client::Client;

/// Where Debian puts the system tables' definitions.
const SYSTEM_TABLES: [&str; 2] = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"];

/// A running server. It stops with its last owner.
pub struct Server {
    pub socket: PathBuf,
    pub port: u16,
    stop: mpsc::Sender<()>,
    keeper: Option<JoinHandle<()>>,
}

impl Server {
    /// The server of this test program; `None`: there is no MariaDB here, and that was said.
    pub fn get() -> Option<Arc<Self>> {
        static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut running = RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(server) = running.upgrade() {
            return Some(server);
        }
        let program = find_program()?;
        let server = Arc::new(Self::start(&program, |_| Vec::new()));
        *running = Arc::downgrade(&server);
        Some(server)
    }

    /// A server of the caller's own, with more arguments.
    pub fn with(arguments: fn(&Path) -> Vec<String>) -> Option<Self> {
        find_program().map(|program| Self::start(&program, arguments))
    }

    fn start(program: &Path, arguments: fn(&Path) -> Vec<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let socket = folder.path().join("socket");
        let (stop, stopped) = mpsc::channel();
        let (started, ready) = mpsc::channel();
        let program = program.to_owned();
        // The server dies with the thread that started it, so that thread outlives the tests.
        let keeper = thread::spawn(move || {
            let mut child = start_mariadb(&program, folder.path(), port, &arguments(folder.path()));
            started.send(()).unwrap();
            let _ = stopped.recv();
            child.kill().unwrap();
            child.wait().unwrap();
        });
        ready.recv().expect("MariaDB could not be started: see the messages above");
        let server = Self { socket, port, stop, keeper: Some(keeper) };
        let mut client = server.wait_until_ready();
        client.ok("CREATE DATABASE d; CREATE USER native IDENTIFIED BY 'secret';
                   GRANT ALL ON *.* TO native; CREATE USER lonely IDENTIFIED BY 'secret'");
        server
    }

    fn wait_until_ready(&self) -> Client {
        let root = ServerTarget {
            user: "root".into(),
            password: None,
            database: String::new(),
            ..self.target()
        };
        Client::connect_when_ready(&Target::Mysql(root))
            .unwrap_or_else(|error| panic!("no server: {error}"))
    }

    /// Over the Unix socket.
    pub fn target(&self) -> ServerTarget {
        ServerTarget {
            endpoints: vec![Endpoint::Unix(self.socket.clone())],
            user: "native".into(),
            password: Some("secret".into()),
            database: "d".into(),
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

    pub fn client(&self) -> Client {
        connect(&self.target()).unwrap()
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

/// A client of the target.
pub fn connect(target: &ServerTarget) -> Result<Client, ConnectError> {
    Client::connect(&Target::Mysql(target.clone()))
}

fn find_program() -> Option<PathBuf> {
    installed("DBDYNO_MARIADB", "/usr/sbin/mariadbd", "mariadb-server-core", Path::exists)
}

fn start_mariadb(program: &Path, folder: &Path, port: u16, arguments: &[String]) -> Child {
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    if let Some((user, group)) = server_user() {
        chown(folder, Some(user), Some(group)).unwrap();
        chown(&data, Some(user), Some(group)).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
    let mariadb = || {
        let mut command = as_server_user(Command::new(program));
        command.arg("--no-defaults").arg("--datadir").arg(&data).arg("--tmpdir").arg(folder);
        command.args(["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"]);
        command.stdout(Stdio::null());
        command
    };
    let log = |name: &str| File::create(folder.join(name)).unwrap();
    let mut bootstrap = mariadb()
        .arg("--bootstrap")
        .stdin(Stdio::piped())
        .stderr(log("bootstrap.log"))
        .spawn()
        .unwrap();
    let mut input = bootstrap.stdin.take().unwrap();
    input.write_all(b"create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n").unwrap();
    for name in SYSTEM_TABLES {
        input.write_all(&fs::read(Path::new("/usr/share/mysql").join(name)).unwrap()).unwrap();
    }
    drop(input);
    assert!(bootstrap.wait().unwrap().success(), "mariadbd --bootstrap failed");
    let mut server = mariadb();
    server.arg(format!("--port={port}")).arg("--socket").arg(folder.join("socket"));
    server.args(["--bind-address=127.0.0.1", "--innodb-lock-wait-timeout=1"]);
    server.args(arguments);
    server.stderr(log("server.log"));
    die_with_parent(&mut server);
    server.spawn().unwrap()
}
