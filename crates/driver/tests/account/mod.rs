//! Whom a server of the tests runs as, and how long it lives.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Servers refuse to run as root; then they run as Debian's `postgres`, or as `nobody`.
pub fn server_user() -> Option<(u32, u32)> {
    // SAFETY: geteuid can't fail; getpwnam's result is read before any other call.
    unsafe {
        if libc::geteuid() != 0 {
            return None;
        }
        let entry = libc::getpwnam(c"postgres".as_ptr());
        Some(if entry.is_null() { (65_534, 65_534) } else { ((*entry).pw_uid, (*entry).pw_gid) })
    }
}

pub fn as_server_user(mut command: Command) -> Command {
    command.current_dir("/").stdin(Stdio::null());
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    command
}

/// A killed test program leaves no server behind. (The server dies with the thread that started
/// it.)
pub fn die_with_parent(command: &mut Command) {
    // SAFETY: prctl is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGQUIT);
            Ok(())
        });
    }
}
