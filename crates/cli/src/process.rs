//! What the operating system knows of this process and is asked to do for it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::Probe;
use record::CpuTime;

/// CPU, memory and signals of this process.
pub struct Process {
    signals: Arc<AtomicUsize>,
}

impl Process {
    /// Watches for SIGINT and SIGTERM.
    ///
    /// # Errors
    /// If a handler can't be installed.
    pub fn watch() -> io::Result<Self> {
        let signals = Arc::new(AtomicUsize::new(0));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            let count = Arc::clone(&signals);
            // SAFETY: the handler only adds to an atomic.
            unsafe {
                signal_hook::low_level::register(signal, move || {
                    count.fetch_add(1, Ordering::Relaxed);
                })?;
            }
        }
        Ok(Self { signals })
    }

    /// Ends the run as a signal would.
    pub fn interrupt(&self) {
        self.signals.fetch_max(1, Ordering::Relaxed);
    }
}

impl Probe for Process {
    fn cpu(&self) -> CpuTime {
        // SAFETY: the structure is plain data and filled by the call.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        CpuTime { user_us: micros(usage.ru_utime), system_us: micros(usage.ru_stime) }
    }

    fn rss_kb(&self) -> (u64, u64) {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        (field("VmRSS:").unwrap_or(0), field("VmHWM:").unwrap_or(0))
    }

    fn interrupted(&self) -> bool {
        self.signals.load(Ordering::Relaxed) > 0
    }

    fn impatient(&self) -> bool {
        self.signals.load(Ordering::Relaxed) > 1
    }
}

/// Asks for SIGTERM when the parent dies.
pub fn end_with_parent() {
    // SAFETY: plain system calls.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        if libc::getppid() == 1 {
            libc::raise(libc::SIGTERM);
        }
    }
}

/// Raises the soft limit of open files to the hard one: each client needs a socket.
pub fn raise_open_files() {
    // SAFETY: plain system calls on a structure of our own.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Lets timers of the calling thread be exact: the default slack of 50 µs would blur intended
/// start times.
pub fn exact_timers() {
    // SAFETY: plain system call.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
