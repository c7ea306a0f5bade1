//! Access to the operating system: CPU, memory, signals and limits of this process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{SystemTime, UNIX_EPOCH};

use engine::{Probe, System};
use record::{CpuTime, Order, OrderError};

use crate::exit::INTERRUPTED;
use crate::memory;

/// How long the process may take to end after the second signal, microseconds.
const LAST_WORDS_US: libc::suseconds_t = 400_000;

/// Memory and signals of this process.
pub struct Process {
    signals: Arc<AtomicUsize>,
    /// Orders from standard input, if the run waits for any.
    orders: Option<Receiver<Result<Order, OrderError>>>,
}

/// Nanoseconds since 1970.
pub fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// How the engine reads this process's operating system.
pub fn system() -> System {
    System { uses_counter: counter_is_time(), cpu }
}

/// CPU time of this process so far.
fn cpu() -> CpuTime {
    // SAFETY: the structure is plain data and filled by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    CpuTime { user_us: micros(usage.ru_utime), system_us: micros(usage.ru_stime) }
}

/// Whether the kernel's own clock uses the processor's counter: then its rate is constant and the
/// same on all processors. `false` except on Linux on x86.
fn counter_is_time() -> bool {
    let chosen = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(chosen).is_ok_and(|name| name.trim() == "tsc")
}

impl Process {
    /// Handles SIGINT, SIGTERM and SIGHUP (the terminal has closed; ignored under `nohup`). The
    /// second one ends the process, whatever it is doing: records not written by then are lost.
    ///
    /// # Errors
    /// If a handler can't be installed.
    pub fn watch() -> io::Result<Self> {
        let signals = Arc::new(AtomicUsize::new(0));
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            if signal == libc::SIGHUP && is_ignored(signal) {
                continue;
            }
            let count = Arc::clone(&signals);
            // SAFETY: the handler adds to an atomic and makes a plain system call.
            unsafe {
                signal_hook::low_level::register(signal, move || {
                    if count.fetch_add(1, Ordering::Relaxed) == 1 {
                        end_soon();
                    }
                })?;
            }
        }
        // A kernel timer, because a thread of ours may get no processor: 20,000 can be waiting for
        // one.
        // SAFETY: the handler ends the process by a plain system call.
        unsafe {
            signal_hook::low_level::register(libc::SIGALRM, || {
                libc::_exit(i32::from(INTERRUPTED));
            })?;
        }
        Ok(Self { signals, orders: None })
    }

    /// Reads orders from standard input; its end counts as the last order.
    pub fn hear_orders(&mut self) {
        let (said, heard) = channel();
        self.orders = Some(heard);
        std::thread::spawn(move || {
            let lines = io::stdin().lines().map_while(Result::ok);
            let orders = lines.filter(|line| !line.trim().is_empty()).map(|line| line.parse());
            for order in orders.chain(std::iter::once(Ok(Order::End))) {
                if said.send(order).is_err() {
                    return;
                }
            }
        });
    }

    /// Ends the run as a signal would.
    pub fn interrupt(&self) {
        self.signals.fetch_max(1, Ordering::Relaxed);
    }
}

impl Probe for Process {
    fn settle(&self) {
        memory::into_large_pages();
    }

    fn rss_kb(&self) -> (u64, u64) {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        (field("VmRSS:").unwrap_or(0), field("VmHWM:").unwrap_or(0))
    }

    fn order(&self) -> Option<Result<Order, OrderError>> {
        self.orders.as_ref()?.try_recv().ok()
    }

    fn unix_ns(&self) -> u64 {
        unix_ns()
    }

    fn interrupted(&self) -> bool {
        self.signals.load(Ordering::Relaxed) > 0
    }

    fn impatient(&self) -> bool {
        self.signals.load(Ordering::Relaxed) > 1
    }
}

/// Whether the parent process made the kernel ignore the signal.
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: the structure is plain data and filled by the call, which changes nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}

/// Makes the kernel send SIGALRM. Safe in a signal handler.
fn end_soon() {
    let soon = libc::timeval { tv_sec: 0, tv_usec: LAST_WORDS_US };
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: never, it_value: soon };
    // SAFETY: the structure outlives the call.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

/// Requests SIGKILL when the parent dies. Nobody is left to read the records, and an engine with
/// thousands of threads waiting for one lock takes minutes to end in order.
///
/// A parent that died before has left no reader either. Its number would not tell: 1 is also a
/// parent that lives, in a container whose command it is, and 0 is one outside of the container.
pub fn end_with_parent() {
    // SAFETY: plain system calls.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if has_no_reader(libc::STDOUT_FILENO) {
        // SAFETY: a plain system call.
        unsafe { libc::raise(libc::SIGKILL) };
    }
}

/// Whether this is a pipe whose other end is closed.
fn has_no_reader(descriptor: libc::c_int) -> bool {
    let mut asked = libc::pollfd { fd: descriptor, events: 0, revents: 0 };
    // SAFETY: the structure outlives the call, which does not wait.
    let found = unsafe { libc::poll(&raw mut asked, 1, 0) };
    found == 1 && asked.revents & libc::POLLERR != 0
}

/// Files this process may open after raising its limit; `None`: any number.
pub fn open_files_limit() -> Option<u64> {
    hard_limit_of_open_files().filter(|limit| *limit != libc::RLIM_INFINITY)
}

/// Raises the soft limit of open files to the hard one: each client needs a socket.
pub fn raise_open_files() {
    let Some(most) = hard_limit_of_open_files() else { return };
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: plain system call on a structure of our own.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
}

fn hard_limit_of_open_files() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system call on a structure of our own.
    let done = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    done.then_some(limit.rlim_max)
}

/// Makes timers of the calling thread exact: the default slack of 50 µs would distort intended
/// start times.
pub fn exact_timers() {
    // SAFETY: plain system call.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

#[cfg(test)]
mod tests {
    use std::io::pipe;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn only_a_pipe_that_nobody_reads_has_no_reader() {
        let (reader, writer) = pipe().unwrap();
        assert!(!has_no_reader(writer.as_raw_fd()));
        drop(reader);
        assert!(has_no_reader(writer.as_raw_fd()));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(!has_no_reader(file.as_raw_fd()));
    }
}
