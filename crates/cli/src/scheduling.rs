//! How the kernel schedules the threads that carry the load.
//!
//! By default Linux lets a thread that wakes up interrupt one that has been running. A load engine
//! wakes up for every reply, and where server and client share processors each reply then costs the
//! server a switch, and the client a sleep and a wake-up of its own. As a batch thread
//! (`sched(7)`, `SCHED_BATCH`) the engine takes its turn instead, and finds the replies of several
//! clients when it comes. On processors of its own it runs at once, as before.

use record::Scheduling;
use script::Config;

/// The policy for shards. In-process databases never wait for a socket, so batch scheduling gains
/// nothing.
pub fn shard_scheduling(config: &Config, wanted: Scheduling) -> Scheduling {
    if config.networked() { wanted } else { Scheduling::Inherit }
}

/// Puts the calling thread under the policy asked for, and names the policy in force: `batch`,
/// `other` (the kernel's default), `idle`, `fifo`, `round-robin` or `deadline`. Threads and
/// programs that it starts inherit it. A policy that somebody else chose (`chrt`) stays.
pub fn schedule(wanted: Scheduling) -> &'static str {
    if wanted == Scheduling::Batch && policy() == libc::SCHED_OTHER {
        let lowest = libc::sched_param { sched_priority: 0 };
        // SAFETY: the parameters outlive the call; 0 is the calling thread. A refusal (seccomp)
        // leaves the policy as it is, which the name then says.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const lowest) };
    }
    match policy() {
        libc::SCHED_BATCH => "batch",
        libc::SCHED_IDLE => "idle",
        libc::SCHED_FIFO => "fifo",
        libc::SCHED_RR => "round-robin",
        libc::SCHED_DEADLINE => "deadline",
        _ => "other",
    }
}

fn policy() -> libc::c_int {
    // SAFETY: it only reads; 0 is the calling thread.
    unsafe { libc::sched_getscheduler(0) }
}

#[cfg(test)]
mod tests {
    use record::Scheduling;

    use super::schedule;

    fn on_a_thread(wanted: Scheduling) -> &'static str {
        std::thread::spawn(move || schedule(wanted)).join().expect("it ends")
    }

    #[test]
    fn batch_is_for_the_thread_that_asks_and_for_no_other() {
        let here = schedule(Scheduling::Inherit);
        let batch = if here == "other" { "batch" } else { here };
        assert_eq!(on_a_thread(Scheduling::Batch), batch);
        assert_eq!(on_a_thread(Scheduling::Inherit), here);
        assert_eq!(schedule(Scheduling::Inherit), here);
    }
}
