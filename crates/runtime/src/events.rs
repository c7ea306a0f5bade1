//! A client's events: turns, restarts, pauses and the client's end.

use engine::{Go, Message, OpenEvent, ShardView};

use crate::client::Waiting;
use crate::drive::{Wake, Woken};
use crate::policy::back_off_ns;
use crate::runtime::Runtime;

/// Events an in-process client may run before it yields to the others.
const SLICE_EVENTS: u32 = 256;
/// First and longest pause before an event is retried, nanoseconds.
const RETRY_NS: (u64, u64) = (1_000_000, 1_000_000_000);

/// What a client does that asks for its next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It ends: the load is over.
    Stop,
    /// It begins the event.
    Start,
    /// It waits, and is woken with [`Wake::Event`].
    Wait,
}

/// What happens to a failed event that is to restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// It restarts at once.
    Now,
    /// It restarts after a pause: the client is woken with [`Wake::Slept`].
    Later,
    /// The load has ended: the event is given up.
    Over,
    /// It failed more often than the error policy allows.
    TooOften,
}

impl Runtime {
    /// Counts the client's event, which ends at `now`; `false`: it had none.
    #[inline]
    pub fn finish_event(&mut self, view: &mut ShardView, client: u32, now: u64) -> bool {
        let client = &mut self.clients[client as usize];
        let Some(event) = client.event.take() else { return false };
        client.attempts = 0;
        client.failed_on.clear();
        client.events += 1;
        let (group, place) = (usize::from(client.group), client.place);
        view.end_event(group, place, event, now);
        true
    }

    /// Ends the client's event and begins the next one, unless the load has ended.
    #[inline]
    pub fn next_event(&mut self, view: &mut ShardView, id: u32) -> Step {
        let now = view.now();
        let finished = self.finish_event(view, id, now);
        let alone = self.clients.len() <= 2;
        let in_process = self.reactor.is_none();
        let client = &mut self.clients[id as usize];
        let group = usize::from(client.group);
        client.slice += 1;
        let think_ns = if finished { view.think_ns(group) } else { 0 };
        if think_ns > 0 {
            client.waiting = Waiting::Event;
            view.think_until(id, now + think_ns);
            return Step::Wait;
        }
        if in_process && !alone && client.slice > SLICE_EVENTS {
            client.waiting = Waiting::Event;
            self.runnable.push_back(id);
            return Step::Wait;
        }
        match view.next_event(id, group, now) {
            Go::Start { intended_ns } => {
                client.event = Some(OpenEvent { intended_ns, start_ns: now, label: group });
                Step::Start
            }
            Go::Stop => {
                client.stopped = true;
                Step::Stop
            }
            Go::Wait => {
                client.waiting = Waiting::Event;
                Step::Wait
            }
        }
    }

    /// Asks again for the next event of a client that waited for it.
    pub(crate) fn ask_again(&mut self, view: &mut ShardView, id: u32) -> Option<Woken> {
        let now = view.now();
        let client = &mut self.clients[id as usize];
        if client.waiting != Waiting::Event {
            return None;
        }
        let group = usize::from(client.group);
        let begins = match view.next_event(id, group, now) {
            Go::Wait => return None,
            Go::Stop => {
                client.stopped = true;
                false
            }
            Go::Start { intended_ns } => {
                client.event = Some(OpenEvent { intended_ns, start_ns: now, label: group });
                if view.is_open(group) {
                    view.recorder().lag.record(now.saturating_sub(intended_ns));
                }
                true
            }
        };
        Some(Woken { client: id, why: Wake::Event(begins) })
    }

    /// Starts the event now; one that waited in the open loop keeps its intended start.
    pub fn start_event(&mut self, view: &mut ShardView, client: u32) {
        let now = view.now();
        let client = &mut self.clients[client as usize];
        let group = usize::from(client.group);
        let open = view.is_open(group);
        if client.event.is_none() {
            view.begin_event();
        }
        let intended_ns = client.event.filter(|_| open).map_or(now, |event| event.intended_ns);
        client.event = Some(OpenEvent { intended_ns, start_ns: now, label: group });
    }

    /// Drops the event under way without counting it.
    pub fn abandon_event(&mut self, view: &mut ShardView, client: u32) {
        if self.clients[client as usize].event.take().is_some() {
            view.drop_event();
        }
    }

    /// Whether the client is executing an event.
    pub fn in_event(&self, client: u32) -> bool {
        self.clients[client as usize].event.is_some()
    }

    /// Records the event under way under a label; `false`: the client has none.
    pub fn label_event(&mut self, client: u32, label: usize) -> bool {
        match &mut self.clients[client as usize].event {
            Some(event) => {
                event.label = label;
                true
            }
            None => false,
        }
    }

    /// The client's connections on which a statement of its event failed since this was last asked.
    /// Their transactions are rolled back before the event restarts, and not sooner: a script that
    /// catches the error may go on in its transaction.
    pub fn failed_on(&mut self, client: u32) -> Vec<u32> {
        std::mem::take(&mut self.clients[client as usize].failed_on)
    }

    /// Restarts the client's event.
    pub fn restart(&mut self, view: &mut ShardView, id: u32) -> Restart {
        let now = view.now();
        let client = &mut self.clients[id as usize];
        client.attempts += 1;
        if view.gives_up() {
            if let Some(event) = client.event.take() {
                view.give_up_event(usize::from(client.group), event);
            }
            return Restart::Over;
        }
        if client.attempts > client.limit {
            return Restart::TooOften;
        }
        view.recorder().counters.restarts += 1;
        if client.back_off {
            let pause = back_off_ns(RETRY_NS.0, client.attempts, RETRY_NS.1);
            client.waiting = Waiting::Sleep;
            view.sleep_until(id, now + pause);
            return Restart::Later;
        }
        Restart::Now
    }

    /// What the client's event failed with more often than it may restart, and how often that is;
    /// with its label, if the host knows one.
    pub fn too_often(&self, client: u32, label: impl FnOnce(usize) -> Option<String>) -> String {
        let client = &self.clients[client as usize];
        let label = client.event.and_then(|event| label(event.label));
        format!(
            "an event{} failed more often than the error policy allows: {}; `limit` of its rule is \
             {}",
            label.map_or_else(String::new, |name| format!(" labelled `{name}`")),
            client.last,
            client.limit
        )
    }

    /// Pauses the client; it is woken with [`Wake::Slept`].
    pub fn sleep(&mut self, view: &mut ShardView, client: u32, pause_ns: u64) {
        self.clients[client as usize].waiting = Waiting::Sleep;
        let now = view.now();
        view.sleep_until(client, now.saturating_add(pause_ns));
    }

    /// Marks the client ready; it waits for the load to begin.
    pub fn ready(&mut self, view: &mut ShardView, client: u32) {
        self.clients[client as usize].waiting = Waiting::Begin;
        view.send(Message::ClientsReady(1));
    }

    /// Ends a client and closes its connections. Client 0, which runs no load, is not counted.
    pub fn end_client(&mut self, view: &mut ShardView, client: u32) {
        let ended = &mut self.clients[client as usize];
        if ended.waiting == Waiting::Ended {
            return;
        }
        ended.waiting = Waiting::Ended;
        let (group, unfinished) = (usize::from(ended.group), ended.event.take());
        let own = std::mem::take(&mut ended.slots);
        own.into_iter().for_each(|index| self.disconnect(index));
        if client > 0 {
            if let Some(event) = unfinished {
                view.give_up_event(group, event);
            }
            view.clients = view.clients.saturating_sub(1);
        }
    }
}
