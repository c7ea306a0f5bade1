//! A real Redis or Valkey server, started by the tests and stopped with them.

#![allow(dead_code, reason = "each program that has this uses its own part of it")]
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use record::{Endpoint, ServerTarget, Target, Tls};

use crate::account::{die_with_parent, free_port, installed};
use crate::client::{Client, PATIENCE};

/// A running server. It stops when it is dropped.
pub struct Server {
    pub socket: PathBuf,
    pub port: u16,
    pub folder: tempfile::TempDir,
    child: Child,
}

impl Server {
    /// A server with more arguments, which may name files in its folder; `None`: there is no Redis
    /// here, and that was said.
    pub fn with(arguments: impl Fn(&Path) -> Vec<String>) -> Option<Self> {
        let program = find_program()?;
        let folder = tempfile::tempdir().unwrap();
        let (port, socket) = (free_port(), folder.path().join("socket"));
        let mut command = Command::new(program);
        command.arg("--port").arg(port.to_string()).arg("--unixsocket").arg(&socket);
        command.arg("--dir").arg(folder.path()).args(["--save", "", "--bind", "127.0.0.1"]);
        command.args(arguments(folder.path())).stdin(Stdio::null()).stdout(Stdio::null());
        die_with_parent(&mut command);
        let child = command.spawn().unwrap();
        let mut server = Self { socket, port, folder, child };
        server.wait_until_ready();
        Some(server)
    }

    /// A server without a password.
    pub fn start() -> Option<Self> {
        Self::with(|_| Vec::new())
    }

    fn wait_until_ready(&mut self) {
        let begun = Instant::now();
        while std::os::unix::net::UnixStream::connect(&self.socket).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the server did not start");
            assert!(self.child.try_wait().unwrap().is_none(), "the server has ended");
            std::thread::yield_now();
        }
    }

    /// Over the Unix socket, with no user's name, to the first database.
    pub fn target(&self) -> ServerTarget {
        ServerTarget {
            endpoints: vec![Endpoint::Unix(self.socket.clone())],
            user: String::new(),
            password: None,
            database: String::new(),
            prepared_statements: true,
            tls: Tls::default(),
            compression: None,
            asks_for_public_key: false,
            session: Vec::new(),
        }
    }

    /// Over TCP.
    pub fn over_tcp(&self) -> ServerTarget {
        let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port: self.port };
        ServerTarget { endpoints: vec![endpoint], ..self.target() }
    }

    pub fn client(&self) -> Client {
        Client::connect(&Target::Redis(self.target())).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find_program() -> Option<PathBuf> {
    installed("DBDYNO_REDIS", "/usr/bin/redis-server", "redis-server", Path::exists)
}
