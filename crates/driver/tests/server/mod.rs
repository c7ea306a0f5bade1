//! A real PostgreSQL for the tests of this folder, started by themselves and gone with them, and a
//! blocking client to drive a session with.

#![allow(dead_code)] // Each test file is a program of its own and uses its own part of this.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // Test code, but in no marked function.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use driver::{
    ConnectError, Connected, Progress, ProtocolError, Reply, RowCursor, Sent, Session, StatementId,
    Transport, Value, connect,
};
use record::{Endpoint, ServerTarget, Target, Tls};
use socket2::Socket;

/// Roles of the server, each with its own line of `pg_hba.conf`; the password is the role's name
/// behind `secret-`.
pub const ROLES: [(&str, &str); 4] =
    [("trusty", "trust"), ("clear", "password"), ("hash", "md5"), ("scram", "scram-sha-256")];

/// How long anything may take here, however slow the machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

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
        let server = Arc::new(Self::start(&binaries));
        *running = Arc::downgrade(&server);
        Some(server)
    }

    fn start(binaries: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let socket = folder.path().join(format!(".s.PGSQL.{port}"));
        let (stop, stopped) = mpsc::channel();
        let binaries = binaries.to_owned();
        let (started, ready) = mpsc::channel();
        // The server dies with the thread that started it, so that thread outlives the tests.
        let keeper = thread::spawn(move || {
            let mut child = start_postgres(&binaries, folder.path(), port);
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
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Client::connect(&self.target("postgres")) {
                Ok(client) => return client,
                Err(error) if Instant::now() > deadline => panic!("no server: {error}"),
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
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
        }
    }

    /// Over TCP.
    pub fn tcp(&self) -> Endpoint {
        Endpoint::Tcp { host: "127.0.0.1".into(), port: self.port }
    }

    /// A client that needs no password.
    pub fn client(&self) -> Client {
        Client::connect(&self.target("trusty")).unwrap()
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
    let told = std::env::var_os("DBDYNO_PG_BIN").map(PathBuf::from);
    let folder = told.unwrap_or_else(|| "/usr/lib/postgresql/15/bin".into());
    if folder.join("postgres").exists() {
        return Some(folder);
    }
    let missing = format!(
        "no PostgreSQL in {}: install Debian's postgresql-15, or set DBDYNO_PG_BIN",
        folder.display()
    );
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    eprintln!("SKIPPED: {missing}");
    None
}

fn start_postgres(binaries: &Path, folder: &Path, port: u16) -> Child {
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
    fs::write(data.join("pg_hba.conf"), rules).unwrap();
    let mut postgres = as_server_user(Command::new(binaries.join("postgres")));
    postgres.arg("-D").arg(&data).arg("-k").arg(folder).args(["-p", &port.to_string()]);
    for setting in ["listen_addresses=127.0.0.1", "fsync=off", "deadlock_timeout=50ms"] {
        postgres.args(["-c", setting]);
    }
    postgres.stderr(fs::File::create(folder.join("server.log")).unwrap());
    // SAFETY: prctl is async-signal-safe. A killed test program leaves no server behind.
    unsafe {
        postgres.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGQUIT);
            Ok(())
        });
    }
    postgres.spawn().unwrap()
}

/// PostgreSQL refuses to run as root; then it runs as Debian's `postgres`, or as `nobody`.
fn server_user() -> Option<(u32, u32)> {
    // SAFETY: geteuid can't fail; getpwnam's result is read before any other call.
    unsafe {
        if libc::geteuid() != 0 {
            return None;
        }
        let entry = libc::getpwnam(c"postgres".as_ptr());
        Some(if entry.is_null() { (65_534, 65_534) } else { ((*entry).pw_uid, (*entry).pw_gid) })
    }
}

fn as_server_user(mut command: Command) -> Command {
    command.current_dir("/").stdin(Stdio::null());
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    command
}

/// A session with its socket and its buffers: what the engine does, blocking and a piece at a time.
pub struct Client {
    pub session: Session,
    pub version: String,
    /// The last reply's bytes.
    pub reply: Vec<u8>,
    /// How many bytes one read asks for.
    pub piece: usize,
    socket: Socket,
    unread: Vec<u8>,
    out: Vec<u8>,
}

impl Client {
    pub fn connect(target: &ServerTarget) -> Result<Self, ConnectError> {
        connect(&Target::Postgresql(target.clone()), 0, PATIENCE).map(Self::new)
    }

    pub fn new(connected: Connected) -> Self {
        let Transport::Plain(socket) = connected.transport else { panic!("no socket") };
        // SAFETY: the descriptor is open.
        let flags = unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_GETFL) };
        assert!(flags & libc::O_NONBLOCK != 0, "the socket is handed over non-blocking");
        let socket = Socket::from(socket);
        socket.set_nonblocking(false).unwrap();
        Self {
            session: connected.session,
            version: connected.server_version,
            reply: Vec::new(),
            piece: 65_536,
            socket,
            unread: Vec::new(),
            out: Vec::new(),
        }
    }

    pub fn try_query(&mut self, sql: &str) -> Result<Reply, ProtocolError> {
        let sent = self.session.query(sql.as_bytes(), &mut self.out)?;
        self.finish(sent)
    }

    pub fn query(&mut self, sql: &str) -> Reply {
        self.try_query(sql).unwrap()
    }

    /// A query that has to work.
    pub fn ok(&mut self, sql: &str) -> Reply {
        let reply = self.query(sql);
        assert_eq!(reply.error, None, "{sql}");
        reply
    }

    /// The SQLSTATE a query fails with.
    pub fn fails(&mut self, sql: &str) -> String {
        self.query(sql).error.expect(sql).sqlstate
    }

    pub fn try_prepare(&mut self, sql: &str) -> (StatementId, Reply) {
        let (id, sent) = self.session.prepare(sql.as_bytes(), &mut self.out).unwrap();
        (id, self.finish(sent).unwrap())
    }

    pub fn prepare(&mut self, sql: &str) -> StatementId {
        let (id, reply) = self.try_prepare(sql);
        assert_eq!(reply, Reply::default(), "{sql}");
        id
    }

    pub fn execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Reply {
        let sent = self.session.execute(id, values.iter().copied(), &mut self.out).unwrap();
        self.finish(sent).unwrap()
    }

    pub fn close(&mut self, id: StatementId) {
        let sent = self.session.close_statement(id, &mut self.out).unwrap();
        assert_eq!(self.finish(sent).unwrap(), Reply::default());
    }

    pub fn adopt(&mut self, dead: Session) -> Reply {
        let sent = self.session.adopt(dead, &mut self.out).unwrap();
        self.finish(sent).unwrap()
    }

    /// Sends without waiting for the reply.
    pub fn send(&mut self, sql: &str) {
        let sent = self.session.query(sql.as_bytes(), &mut self.out).unwrap();
        assert!(matches!(sent, Sent::Waiting));
        self.flush();
    }

    fn finish(&mut self, sent: Sent) -> Result<Reply, ProtocolError> {
        match sent {
            Sent::Done(reply) => Ok(reply),
            Sent::Waiting => {
                self.flush();
                self.wait()
            }
        }
    }

    fn flush(&mut self) {
        self.socket.write_all(&self.out).unwrap();
        self.out.clear();
    }

    /// Reads until the reply is whole.
    pub fn wait(&mut self) -> Result<Reply, ProtocolError> {
        loop {
            if let Progress::Done { reply, consumed } = self.session.feed(&self.unread)? {
                let rest = self.unread.split_off(consumed);
                self.reply = std::mem::replace(&mut self.unread, rest);
                return Ok(reply);
            }
            let received = self.receive();
            assert!(received > 0, "the server closed the connection within a reply");
        }
    }

    /// The same, but keeps no byte it needn't; returns the most it held.
    pub fn wait_and_discard(&mut self) -> (Reply, usize) {
        let mut most = 0;
        loop {
            most = most.max(self.unread.len());
            if let Progress::Done { reply, consumed } = self.session.feed(&self.unread).unwrap() {
                self.reply = self.unread.drain(..consumed).collect();
                return (reply, most);
            }
            let scanned = self.session.discard_scanned(self.unread.len());
            self.unread.drain(..scanned);
            assert!(self.receive() > 0);
        }
    }

    fn receive(&mut self) -> usize {
        let start = self.unread.len();
        self.unread.resize(start + self.piece, 0);
        let received = self.socket.read(&mut self.unread[start..]).unwrap();
        self.unread.truncate(start + received);
        received
    }

    /// The rows of the set behind `cursor`, as text; NULL is `None`.
    pub fn rows_of(&self, cursor: &mut RowCursor) -> Vec<Vec<Option<String>>> {
        let mut rows = Vec::new();
        loop {
            let mut row = Vec::new();
            let column = |value: Option<&[u8]>| {
                row.push(value.map(|value| String::from_utf8(value.to_vec()).unwrap()));
            };
            if !self.session.row(&self.reply, cursor, column).unwrap() {
                return rows;
            }
            rows.push(row);
        }
    }

    pub fn rows(&self) -> Vec<Vec<Option<String>>> {
        self.rows_of(&mut RowCursor::default())
    }

    /// The only value of a query's only row.
    pub fn value(&mut self, sql: &str) -> String {
        self.ok(sql);
        self.rows()[0][0].clone().unwrap()
    }
}
