//! Test servers: where they are installed, the user they run as, their port, and their lifetime.

#![allow(dead_code, reason = "each program that has this uses its own part of it")]
#![expect(clippy::print_stderr, reason = "it says what it leaves out")]

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A server's program, or the folder of its programs: what the environment's `variable` names, or
/// where Debian's `package` puts it. `None`: it isn't there, and that was printed; in CI it is a
/// failure.
pub fn installed(
    variable: &str,
    debian: &str,
    package: &str,
    is_complete: fn(&Path) -> bool,
) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map_or_else(|| PathBuf::from(debian), PathBuf::from);
    if is_complete(&path) {
        return Some(path);
    }
    let missing =
        format!("no server at {}: install Debian's {package}, or set {variable}", path.display());
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    eprintln!("SKIPPED: {missing}");
    None
}

/// Servers refuse to run as root; then they run as Debian's `postgres`, or as `nobody`.
pub fn server_user() -> Option<(u32, u32)> {
    static USER: OnceLock<Option<(u32, u32)>> = OnceLock::new();
    *USER.get_or_init(|| {
        // SAFETY: geteuid can't fail. getpwnam's result lies in memory that all its callers share:
        // tests run side by side, so it is called once.
        unsafe {
            if libc::geteuid() != 0 {
                return None;
            }
            let entry = libc::getpwnam(c"postgres".as_ptr());
            let nobody = (65_534, 65_534);
            Some(if entry.is_null() { nobody } else { ((*entry).pw_uid, (*entry).pw_gid) })
        }
    })
}

pub fn as_server_user(mut command: Command) -> Command {
    command.current_dir("/").stdin(Stdio::null());
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    command
}

/// A free loopback port that stays free until the server listens: it lies below the kernel's
/// ephemeral range, and each test process searches elsewhere.
pub fn free_port() -> u16 {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    loop {
        let tried = TRIED.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (std::process::id().wrapping_mul(64) + tried) % 20_000;
        let port = u16::try_from(port).unwrap_or(u16::MAX);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Makes the server die with the thread that starts it, so that a killed test program leaves none
/// behind.
pub fn die_with_parent(command: &mut Command) {
    // SAFETY: prctl is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGQUIT);
            Ok(())
        });
    }
}
