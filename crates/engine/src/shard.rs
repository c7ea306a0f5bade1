//! One shard: a thread that takes its clients through the stages of a run.

use std::time::Duration;

use crate::control::Stage;
use crate::message::{Failure, Interrupt, Message};
use crate::shard_view::ShardView;

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
    fn initialise(&mut self, view: &mut ShardView) -> Result<(), Failure>;

    /// Starts making clients; they become ready during calls of [`Self::poll`].
    ///
    /// # Errors
    /// Why the run can't go on.
    fn launch(&mut self, view: &mut ShardView) -> Result<(), Failure>;

    /// All clients are ready for their first event.
    fn ready(&self) -> bool;

    /// The load has begun: every client asks for its first event.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn begin(&mut self, view: &mut ShardView) -> Result<(), Failure>;

    /// Waits at most `timeout` for events that wake clients, and runs those.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn poll(&mut self, view: &mut ShardView, timeout: Duration) -> Result<(), Failure>;

    /// Runs a client that [`ShardView::due`] named.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn wake(&mut self, view: &mut ShardView, client: u32) -> Result<(), Failure>;

    /// Ends all clients; their open events count as unfinished.
    fn give_up(&mut self, view: &mut ShardView);

    /// Runs the hooks after all clients (first shard only). Blocks.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn finish(&mut self, view: &mut ShardView) -> Result<(), Failure>;
}

/// Takes a workload through the run. A failure is reported and ends the run in order.
pub fn run_shard<W: Workload>(view: &mut ShardView, workload: &mut W) {
    if let Some(interrupter) = workload.interrupter() {
        view.send(Message::Reachable(interrupter));
    }
    let clients = run_clients(view, workload);
    if let Err(failure) = clients {
        view.send(Message::Failed(failure));
        view.control().stop();
    }
    workload.give_up(view);
    view.close();
    view.send(Message::Closed);
    while view.control().stage() < Stage::Finish {
        std::thread::sleep(Duration::from_nanos(view.pause_ns()));
    }
    if view.shard() == 0
        && !view.control().abandoned()
        && let Err(failure) = workload.finish(view)
    {
        view.send(Message::Failed(failure));
    }
    view.finish();
    view.send(Message::Finished);
}

fn run_clients<W: Workload>(view: &mut ShardView, workload: &mut W) -> Result<(), Failure> {
    if view.shard() == 0 {
        workload.initialise(view)?;
    }
    view.send(Message::Initialised);
    while view.control().stage() < Stage::Clients {
        if view.control().stopping() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_nanos(view.pause_ns()));
    }
    workload.launch(view)?;
    let (mut ready, mut begun, mut idle) = (false, false, false);
    loop {
        if view.control().abandoned() || (view.control().stopping() && !begun) {
            return Ok(());
        }
        if !ready && workload.ready() {
            ready = true;
            view.send(Message::Ready);
        }
        if view.in_turns() {
            view.hear_turn();
            view.now();
            view.settle();
        } else if !begun && view.control().stage() >= Stage::Load {
            view.begin();
            // All shards begin at the same time, a little ahead.
            let ahead = view.control().begin_ns().saturating_sub(view.control().now_ns());
            std::thread::sleep(Duration::from_nanos(ahead));
            view.now();
        }
        if !begun && view.has_begun() {
            begun = true;
            workload.begin(view)?;
        }
        if begun && view.clients == 0 {
            if !idle {
                idle = true;
                view.send(Message::Idle);
            }
            if view.gives_up() {
                return Ok(());
            }
        }
        let now = view.now();
        while let Some(client) = view.due(now) {
            workload.wake(view, client)?;
        }
        let now = view.now();
        let timeout = view.deadline().saturating_sub(now).min(LOOK_NS.max(view.pause_ns()));
        workload.poll(view, Duration::from_nanos(timeout))?;
    }
}
