//! The verb `speed`: how fast each processor is while others use it, by short bursts of known work.
//!
//! What a processor gets done in a microsecond is not constant. On a virtual machine its other
//! hardware thread may belong to a neighbour, who takes a third of its speed for tenths of a second
//! to minutes, and no account of the kernel shows it. A burst keeps all of the core's execution
//! units busy, so that it slows down as a server does; work that waits for its own results (a hash,
//! a random number) would not. Bursts are timed one by one and the fastest of three counts, so that
//! an interrupt or a switch within one is no slowness.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use record::FatalKind;

use crate::binding::{allowed, set};
use crate::exit::code_of;
use crate::process::unix_ns;
use crate::terminal::complain;

/// From one burst's begin to the next one's. A processor gives some 0.1 % of its time, of which
/// waking up takes more than the work.
const PERIOD: Duration = Duration::from_millis(20);
/// Rounds of a burst, of some 8 instructions that don't wait for one another each: 2.5 µs.
const ROUNDS: u32 = 4_000;
const BURSTS: usize = 3;
/// Bursts kept of each processor: ten minutes.
const KEPT: usize = 30_000;
/// Least priority of a real-time thread: a burst comes when it is due, however busy the processor.
const PRIORITY: libc::c_int = 1;

/// Of one processor: when a burst ended (ns since 1970), and its rounds per microsecond.
type Bursts = Arc<Mutex<VecDeque<(u64, f64)>>>;

/// Measures until standard input ends. For each line `FROM_UNIX_NS TO_UNIX_NS` it answers with a
/// line of JSON: the mean speed of each processor in that stretch, in rounds per microsecond;
/// `null`: no burst.
pub fn speed() -> ExitCode {
    let processors = allowed();
    let measured: Vec<Bursts> = processors.iter().map(|_| Bursts::default()).collect();
    for (processor, bursts) in processors.iter().copied().zip(measured.iter().map(Arc::clone)) {
        // The threads end with the process.
        std::thread::spawn(move || measure(processor, &bursts));
    }
    let mut output = io::stdout().lock();
    for line in io::stdin().lines().map_while(Result::ok) {
        let Some((from, to)) = stretch(&line) else {
            complain(&format!("error: expected `FROM_UNIX_NS TO_UNIX_NS`, found `{line}`\n"));
            return ExitCode::from(code_of(FatalKind::Usage));
        };
        let speeds: Vec<_> = measured.iter().map(|bursts| mean(bursts, from, to)).collect();
        let answer = serde_json::json!(speeds);
        if writeln!(output, "{answer}").and_then(|()| output.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn stretch(line: &str) -> Option<(u64, u64)> {
    let (from, to) = line.trim().split_once(' ')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

fn measure(processor: usize, bursts: &Bursts) {
    set(&[processor]);
    let lowest = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the parameters outlive the call; 0 is the calling thread. Without the right to be a
    // real-time thread it stays an ordinary one, whose bursts may come late.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest) };
    let mut due = Instant::now();
    loop {
        let fastest = (0..BURSTS).map(|_| burst()).min().unwrap_or_default();
        let speed = f64::from(ROUNDS) / (fastest.as_nanos().max(1) as f64 / 1e3);
        {
            let mut kept = bursts.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back((unix_ns(), speed));
        }
        due = (due + PERIOD).max(Instant::now());
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn mean(bursts: &Bursts, from: u64, to: u64) -> Option<f64> {
    let kept = bursts.lock().unwrap_or_else(PoisonError::into_inner);
    let first = kept.partition_point(|(at, _)| *at < from);
    let last = kept.partition_point(|(at, _)| *at <= to);
    let within: Vec<f64> = kept.range(first..last.max(first)).map(|(_, speed)| *speed).collect();
    (!within.is_empty()).then(|| within.iter().sum::<f64>() / within.len() as f64)
}

/// How long the known work took.
fn burst() -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

#[cfg(target_arch = "x86_64")]
fn work() {
    let mut lanes = [1_u64; 8];
    let [a, b, c, d, e, f, g, h] = &mut lanes;
    for _ in 0..ROUNDS {
        // SAFETY: it changes the registers named, and nothing else.
        unsafe {
            std::arch::asm!(
                "add {0}, 1",
                "add {1}, 3",
                "add {2}, 5",
                "add {3}, 7",
                "xor {4}, 9",
                "add {5}, 11",
                "xor {6}, 13",
                "add {7}, 15",
                inout(reg) * a,
                inout(reg) * b,
                inout(reg) * c,
                inout(reg) * d,
                inout(reg) * e,
                inout(reg) * f,
                inout(reg) * g,
                inout(reg) * h,
                options(pure, nomem, nostack)
            );
        }
    }
    std::hint::black_box(lanes);
}

#[cfg(not(target_arch = "x86_64"))]
fn work() {
    let mut lanes = [1_u64; 8];
    for _ in 0..ROUNDS {
        for (number, lane) in lanes.iter_mut().enumerate() {
            *lane = std::hint::black_box(*lane).wrapping_add(number as u64);
        }
    }
    std::hint::black_box(lanes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(of: &[(u64, f64)]) -> Bursts {
        Arc::new(Mutex::new(of.iter().copied().collect()))
    }

    #[test]
    fn a_stretch_has_the_mean_of_its_own_bursts() {
        let found = bursts(&[(10, 1.0), (20, 2.0), (30, 4.0), (40, 8.0)]);
        assert_eq!(mean(&found, 20, 30), Some(3.0));
        assert_eq!(mean(&found, 0, 100), Some(3.75));
        assert_eq!(mean(&found, 21, 29), None);
        assert_eq!(mean(&found, 30, 20), None);
        assert_eq!(mean(&bursts(&[]), 0, 1), None);
    }

    #[test]
    fn a_stretch_is_two_whole_numbers() {
        assert_eq!(stretch("5 17"), Some((5, 17)));
        assert_eq!(stretch("5"), None);
        assert_eq!(stretch("-5 17"), None);
    }

    #[test]
    fn work_takes_time() {
        assert!(burst() > Duration::ZERO);
    }
}
