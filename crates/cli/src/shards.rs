//! Shards as threads under one coordinator.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use engine::{
    Control, Failure, Message, Outcome, Plan, Probe, ShardView, Workload, coordinate, run_shard,
};
use record::{FatalKind, Record};

use crate::process;

/// Makes a shard's workload, on the shard's own thread: (shard, number of shards).
pub type Make<W> = Arc<dyn Fn(u32, u32) -> Result<W, Failure> + Send + Sync>;

/// Runs a plan on this many shards until all have exited.
pub fn drive<W: Workload + 'static>(
    plan: &Plan,
    shards: u32,
    control: &Arc<Control>,
    make: &Make<W>,
    probe: &dyn Probe,
    emit: &mut dyn FnMut(Record),
) -> Outcome {
    let (messages, inbox) = channel();
    let mut spares = Vec::new();
    for shard in 0..shards {
        // Where each client has a thread there may be thousands, and making them takes its time.
        if probe.interrupted() && shard > 0 {
            break;
        }
        let (spare, back) = channel();
        spares.push(spare);
        let view = (plan.clone(), Arc::clone(control), messages.clone(), back);
        if let Err(error) = spawn(shard, shards, Arc::clone(make), view) {
            fail(&messages, no_thread(shard, shards, &error));
            break;
        }
    }
    drop(messages);
    coordinate(plan, control, &inbox, spares, probe, emit)
    // Threads are not joined: one may hang in a call of its database's, and what was measured has
    // been written.
}

type Parts = (Plan, Arc<Control>, Sender<Message>, Receiver<Box<measure::Recorder>>);

/// Says for a shard that it can't go on.
fn fail(messages: &Sender<Message>, failure: Failure) {
    for message in [Message::Failed(failure), Message::Closed, Message::Finished] {
        let _ = messages.send(message);
    }
}

fn no_thread(made: u32, wanted: u32, error: &std::io::Error) -> Failure {
    Failure {
        kind: FatalKind::Environment,
        message: format!("the system made {made} of {wanted} threads and no more: {error}"),
        hint: Some(
            "use fewer shards, or fewer clients where each has a thread of its own (SQLite), or \
             raise the limits of threads (ulimit -u, pids.max, kernel.threads-max, \
             vm.max_map_count)"
                .to_owned(),
        ),
        traceback: None,
    }
}

fn spawn<W: Workload + 'static>(
    shard: u32,
    shards: u32,
    make: Make<W>,
    parts: Parts,
) -> std::io::Result<()> {
    let (plan, control, messages, spare) = parts;
    let work = move || {
        process::exact_timers();
        let mut view = ShardView::new(&plan, control, shard, shards, messages.clone(), spare);
        let running = AssertUnwindSafe(|| {
            make(shard, shards).map(|mut workload| run_shard(&mut view, &mut workload))
        });
        let failure = match catch_unwind(running) {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(_) => Failure {
                kind: FatalKind::Internal,
                message: format!("shard {shard} failed; its message is above"),
                hint: Some("this is a fault of dbdyno: please report it".to_owned()),
                traceback: None,
            },
        };
        fail(&messages, failure);
    };
    std::thread::Builder::new().name(format!("shard {shard}")).spawn(work).map(drop)
}
