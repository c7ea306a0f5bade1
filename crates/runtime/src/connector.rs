//! Connects in the background: handshakes block, so a few threads make them.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use driver::{ConnectError, Connected};
use record::Target;

use crate::settings::Settings;
use crate::sizing::connectors;

struct Job {
    slot: u32,
    /// Of the client, which decides where it connects.
    group: u16,
    ordinal: u64,
    /// A reconnect, not a new connection.
    again: bool,
    /// Where it connects instead.
    elsewhere: Option<Arc<Target>>,
}

/// A message from a connecting thread.
pub(crate) enum News {
    /// A server accepted the connection and keeps us waiting.
    Waiting(String),
    /// An attempt has finished.
    Finished(Box<Attempt>),
}

/// A finished attempt.
pub(crate) struct Attempt {
    /// The caller's name for it.
    pub(crate) slot: u32,
    pub(crate) ordinal: u64,
    pub(crate) outcome: Result<Connected, ConnectError>,
}

/// Connections of a shard that are being made, and how many were asked for.
pub(crate) struct Attempts {
    /// The threads that make them; `None`: the database is in process.
    pub(crate) connector: Option<Connector>,
    /// Finished attempts on in-process databases, by ticket and ordinal.
    pub(crate) inline: VecDeque<(u32, u64, Result<Connected, ConnectError>)>,
    /// New connections that closed before use, and why.
    pub(crate) unwelcome: Vec<(u32, String)>,
    /// Connections requested.
    pub(crate) connections: u64,
}

impl Attempts {
    pub(crate) fn new(connector: Option<Connector>) -> Self {
        Self { connector, inline: VecDeque::new(), unwelcome: Vec::new(), connections: 0 }
    }
}

/// The connecting threads of one shard.
pub(crate) struct Connector {
    jobs: Sender<Job>,
    news: Receiver<News>,
}

impl Connector {
    /// `wake` is called after each message.
    pub(crate) fn new(
        settings: &Arc<Settings>,
        clients: u32,
        wake: impl Fn() + Send + Clone + 'static,
    ) -> Self {
        let (jobs, queue) = channel::<Job>();
        let (tell, news) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..connectors(clients) {
            let (queue, tell, wake, settings) =
                (Arc::clone(&queue), tell.clone(), wake.clone(), Arc::clone(settings));
            // If a thread can't be started, the others do its work; the first must start.
            let _ = std::thread::Builder::new()
                .name("connector".into())
                .stack_size(256 * 1024)
                .spawn(move || {
                    loop {
                        let job = match queue.lock() {
                            Ok(queue) => queue.recv(),
                            Err(_) => return,
                        };
                        let Ok(Job { slot, group, ordinal, again, elsewhere }) = job else {
                            return;
                        };
                        let target = elsewhere.as_deref();
                        let target = target.unwrap_or_else(|| settings.target_of(group));
                        let timeout = settings.connect_timeout;
                        let mut say = |text| {
                            let _ = tell.send(News::Waiting(text));
                            wake();
                        };
                        let outcome = match again {
                            true => driver::connect(target, ordinal, timeout),
                            false => driver::connect_telling(target, ordinal, timeout, &mut say),
                        };
                        let attempt = Attempt { slot, ordinal, outcome };
                        if tell.send(News::Finished(Box::new(attempt))).is_err() {
                            return;
                        }
                        wake();
                    }
                });
        }
        Self { jobs, news }
    }

    /// Queues an attempt; `again`: a reconnect. `elsewhere`: not where the group connects.
    pub(crate) fn connect(
        &self,
        slot: u32,
        group: u16,
        ordinal: u64,
        again: bool,
        elsewhere: Option<Arc<Target>>,
    ) {
        let _ = self.jobs.send(Job { slot, group, ordinal, again, elsewhere });
    }

    /// The next message of a thread, if there is one.
    pub(crate) fn news(&self) -> Option<News> {
        self.news.try_recv().ok()
    }
}
