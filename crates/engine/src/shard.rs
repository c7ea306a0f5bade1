//! One shard: a thread that takes its clients through the stages of a run.

use std::sync::Arc;
use std::time::Duration;

use measure::Recorder;
use record::{ClientTotal, FatalKind, PhaseName};

use crate::control::Stage;
use crate::load::Load;

/// How long a shard sleeps at most before it looks at the stage again.
const LOOK_NS: u64 = 20_000_000;

/// Why a run can't go on.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Whose fault.
    pub kind: FatalKind,
    /// What failed, on what, what was expected.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
    /// Where in the script.
    pub traceback: Option<String>,
}

/// A shard's part of an interval.
#[derive(Debug)]
pub struct ShardInterval {
    /// From 0; the same number means the same stretch of time on every shard.
    pub index: u64,
    /// The phase it lies in.
    pub phase: PhaseName,
    /// The turn it belongs to, in a run by turns.
    pub turn: Option<u32>,
    /// Beginning, on the run's clock.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Clients alive at the end.
    pub clients: u32,
    /// Clients that were in an event or on their way to one.
    pub busy: u32,
    /// What each client did, where the plan asks for it at this interval's end.
    pub totals: Option<Vec<ClientTotal>>,
    /// The shard sends no more intervals.
    pub last: bool,
    /// What was recorded.
    pub recorder: Box<Recorder>,
}

/// Ends what a shard is busy with when it does not come back by itself.
pub trait Interrupt: std::fmt::Debug + Send {
    /// Called by another thread. A shard that is neither given up nor late ([`Load::is_late`]) goes
    /// on. `waited`: since no event may begin any more.
    fn interrupt(&self, waited: Duration);
}

/// What shards tell the coordinator.
#[derive(Debug)]
pub enum Message {
    /// How the shard is reached when it does not listen.
    Reachable(Box<dyn Interrupt>),
    /// What had to come before all clients is done.
    Initialised,
    /// So many more clients are connected and ready.
    ClientsReady(u32),
    /// All of this shard's clients are ready.
    Ready,
    /// Rows loaded since the last message, and into what, if that has a name.
    RowsLoaded(u64, Option<Arc<str>>),
    /// An interval has ended.
    Interval(ShardInterval),
    /// All of this shard's clients have ended.
    Idle,
    /// The run can't go on.
    Failed(Failure),
    /// A line the script printed.
    Output(String),
    /// Something the reader of the numbers should know: code, message, hint.
    Warning(&'static str, String, Option<String>),
    /// The shard has sent its last interval.
    Closed,
    /// What had to come after all clients is done; the shard is gone.
    Finished,
}

/// What a shard drives: its clients, and what wakes them.
pub trait Workload {
    /// What ends a call below that does not return; `None`: nothing does.
    fn interrupter(&self) -> Option<Box<dyn Interrupt>> {
        None
    }

    /// Runs what comes before all clients (first shard only). Blocks.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn initialise(&mut self, load: &mut Load) -> Result<(), Failure>;

    /// Begins to make clients; they get ready while [`Self::turn`] is called.
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

    /// Waits for whatever wakes clients, at most `timeout`, and runs those.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn turn(&mut self, load: &mut Load, timeout: Duration) -> Result<(), Failure>;

    /// Runs a client that [`Load::due`] named.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn wake(&mut self, load: &mut Load, client: u32) -> Result<(), Failure>;

    /// Ends all clients; what they had begun counts as unfinished.
    fn give_up(&mut self, load: &mut Load);

    /// Runs what comes after all clients (first shard only). Blocks.
    ///
    /// # Errors
    /// Why the run can't go on.
    fn finish(&mut self, load: &mut Load) -> Result<(), Failure>;
}

/// Takes a workload through the run. Failures are reported, and the run ends in good order.
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
            // All shards begin at the same time, which lies a little ahead.
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
