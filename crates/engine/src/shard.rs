//! One shard: a thread that takes its clients through the stages of a run.

use std::time::Duration;

use crate::control::Stage;
use crate::load::Load;
use crate::message::{Failure, Interrupt, Message};

/// Longest sleep of a shard before it checks the stage again.
const LOOK_NS: u64 = 20_000_000;

/// What a shard drives: its clients, and the events that wake them.
pub trait Workload {
    /// Interrupts a call of the methods below that does not return; `None`: impossible.
    fn interrupter(&self) -> Option<Box<dyn Interrupt>> {
        None
    }

    /// Runs the hooks before all clients (first shard only). Blocks.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn initialise(&mut self, load: &mut Load) -> Result<(), Failure>;

    /// Starts making clients; they become ready during calls of [`Self::turn`].
    ///
    /// # Errors
    /// Why the run can't go on.
    fn launch(&mut self, load: &mut Load) -> Result<(), Failure>;

    /// All clients are ready for their first event.
    fn ready(&self) -> bool;

    /// The load has begun: every client asks for its first turn.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn begin(&mut self, load: &mut Load) -> Result<(), Failure>;

    /// Waits at most `timeout` for events that wake clients, and runs those.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn turn(&mut self, load: &mut Load, timeout: Duration) -> Result<(), Failure>;

    /// Runs a client that [`Load::due`] named.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn wake(&mut self, load: &mut Load, client: u32) -> Result<(), Failure>;

    /// Ends all clients; their open events count as unfinished.
    fn give_up(&mut self, load: &mut Load);

    /// Runs the hooks after all clients (first shard only). Blocks.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn finish(&mut self, load: &mut Load) -> Result<(), Failure>;
}

/// Takes a workload through the run. A failure is reported and ends the run in order.
pub fn run_shard<W: Workload>(load: &mut Load, workload: &mut W) {
    if let Some(interrupter) = workload.interrupter() {
        load.send(Message::Reachable(interrupter));
    }
    let clients = run_clients(load, workload);
    if let Err(failure) = clients {
        load.send(Message::Failed(failure));
        load.control().stop();
    }
    workload.give_up(load);
    load.close();
    load.send(Message::Closed);
    while load.control().stage() < Stage::Finish {
        std::thread::sleep(Duration::from_nanos(load.pause_ns()));
    }
    if load.shard() == 0
        && !load.control().abandoned()
        && let Err(failure) = workload.finish(load)
    {
        load.send(Message::Failed(failure));
    }
    load.send(Message::Finished);
}

fn run_clients<W: Workload>(load: &mut Load, workload: &mut W) -> Result<(), Failure> {
    if load.shard() == 0 {
        workload.initialise(load)?;
    }
    load.send(Message::Initialised);
    while load.control().stage() < Stage::Clients {
        if load.control().stopping() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_nanos(load.pause_ns()));
    }
    workload.launch(load)?;
    let (mut ready, mut begun, mut idle) = (false, false, false);
    loop {
        if load.control().abandoned() || (load.control().stopping() && !begun) {
            return Ok(());
        }
        if !ready && workload.ready() {
            ready = true;
            load.send(Message::Ready);
        }
        if load.in_turns() {
            load.hear_turn();
            load.now();
            load.settle();
        } else if !begun && load.control().stage() >= Stage::Load {
            load.begin();
            // All shards begin at the same time, a little ahead.
            let ahead = load.control().begin_ns().saturating_sub(load.control().now_ns());
            std::thread::sleep(Duration::from_nanos(ahead));
            load.now();
        }
        if !begun && load.has_begun() {
            begun = true;
            workload.begin(load)?;
        }
        if begun && load.clients == 0 {
            if !idle {
                idle = true;
                load.send(Message::Idle);
            }
            if load.gives_up() {
                return Ok(());
            }
        }
        let now = load.now();
        while let Some(client) = load.due(now) {
            workload.wake(load, client)?;
        }
        let now = load.now();
        let timeout = load.deadline().saturating_sub(now).min(LOOK_NS.max(load.pause_ns()));
        workload.turn(load, Duration::from_nanos(timeout))?;
    }
}
