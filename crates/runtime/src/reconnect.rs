//! Connections: opening, losing and reconnecting, with back-off and a time limit.

use driver::{ConnectError, Connected, Reply, RowCursor, Traits as _};
use engine::{Failure, Message, ShardView};
use reactor::Token;
use record::{ErrorAction, FatalKind, Target};

use crate::bulk::{Bulk, SessionState};
use crate::client::Waiting;
use crate::connector::News;
use crate::drive::{Wake, Woken};
use crate::given_up::over;
use crate::outcome::{Conclusion, Failed, Purpose};
use crate::policy::{Fault, back_off, pause_ns};
use crate::runtime::{Runtime, fault};
use crate::slot::{RowBytes, Slot};

/// Hint for a server that accepts a connection and does not answer.
const SLOW_SERVER: &str = "is it the right port? A server may also be looking up its clients' \
    names (MySQL: skip_name_resolve), be stopped, or be overloaded";

impl Runtime {
    /// Queues the first attempt to reconnect a lost connection; the client waits for it.
    pub(crate) fn begin_reconnect(&mut self, view: &mut ShardView, index: u32) -> Conclusion {
        let now = view.now();
        let Some(slot) = self.slots.get_mut(index) else {
            return Conclusion::Nothing;
        };
        slot.lost_ns = now;
        slot.attempts = 0;
        slot.purpose = Purpose::Adopt;
        let (client, ordinal) = (slot.client, slot.ordinal);
        self.connect_again(index, client, ordinal);
        Conclusion::Later
    }

    /// Queues an attempt to connect a slot once more, to where it was connected.
    fn connect_again(&mut self, index: u32, client: u32, ordinal: u64) {
        let group = self.clients[client as usize].group;
        let elsewhere = self.slots.get(index).and_then(|slot| slot.elsewhere.clone());
        match &self.attempts.connector {
            Some(connector) => connector.connect(again(index), group, ordinal, true, elsewhere),
            None => self.connect_inline(index, ordinal),
        }
    }

    /// Connects to an in-process database at once; the loop finds the attempt like any other.
    fn connect_inline(&mut self, index: u32, ordinal: u64) {
        let settings = &self.settings;
        let outcome = driver::connect(&settings.target, ordinal, settings.connect_timeout);
        self.attempts.inline.push_back((again(index), ordinal, outcome));
    }

    /// Counts a statement on a lost connection and applies the policy.
    #[cold]
    pub(crate) fn lost(&mut self, view: &mut ShardView, index: u32, why: &str) -> Conclusion {
        let under_way = self.slot(index).is_some_and(|slot| slot.purpose != Purpose::Idle);
        if let Some(given_ns) = self.given_ns(index).filter(|_| under_way) {
            let took = view.now().saturating_sub(given_ns);
            self.recorder(view, index).failed_statements.record(took);
        }
        self.drop_socket(index);
        self.forget_under_way(view, index, 1);
        self.recorder(view, index).error("connection");
        let number = self.settings.target.lost_number();
        let fault_seen = Fault { sqlstate: "08006", number, transient: false, lost: true };
        let decision = self.decide(view, &fault_seen, why);
        let failed = Failed {
            decision,
            purpose: Purpose::Statement,
            sqlstate: "08006".into(),
            number,
            rolled_back: false,
            message: format!("connection lost: {why}"),
        };
        self.failures.cause = Some(fault(FatalKind::Connection, failed.message.clone(), None));
        if decision.action == ErrorAction::Stop {
            self.failures.failed = Some(failed);
            if let Some(slot) = self.slot(index) {
                slot.purpose = Purpose::Idle;
            }
            return Conclusion::Failed;
        }
        if let Some(slot) = self.slot(index) {
            slot.failed = Some(failed);
        }
        self.begin_reconnect(view, index)
    }

    /// Turns a new connection into a slot.
    pub(crate) fn adopt_connection(
        &mut self,
        client: u32,
        ordinal: u64,
        connected: Connected,
    ) -> Result<u32, Failure> {
        let Connected { session, transport, .. } = connected;
        let (socket, channel) = transport.into_parts();
        let token = socket.map(|socket| self.add_socket(socket)).transpose()?;
        let elsewhere = self.clients[client as usize].elsewhere.take();
        let index = self.slots.insert(Box::new(Slot {
            session,
            token,
            channel,
            client,
            ordinal,
            elsewhere,
            purpose: Purpose::Idle,
            ready_ns: 0,
            sent: false,
            continued: false,
            input: Vec::new(),
            sending: false,
            early: Vec::new(),
            unasked: None,
            reply: Reply::default(),
            cursor: RowCursor::default(),
            rows: RowBytes::None,
            broken: false,
            lost_ns: 0,
            attempts: 0,
            failed: None,
            bulk: Bulk::default(),
            pipeline: None,
            session_state: SessionState::default(),
        }));
        self.clients[client as usize].slots.push(index);
        if let Some(token) = token {
            self.slots.bind(token, index);
        }
        Ok(index)
    }

    fn add_socket(&mut self, fd: std::os::fd::OwnedFd) -> Result<Token, Failure> {
        let reactor = self
            .reactor
            .as_mut()
            .ok_or_else(|| fault(FatalKind::Internal, "no reactor".into(), None))?;
        reactor.add(fd).map_err(|error| {
            fault(
                FatalKind::Environment,
                format!("the event loop refuses a socket: {error}"),
                Some("raise the limit of open files (ulimit -n)"),
            )
        })
    }

    /// The next finished attempt (ticket, ordinal, outcome); prints the connector's messages.
    pub(crate) fn finished_attempt(&mut self, view: &mut ShardView) -> Option<FinishedAttempt> {
        if let Some(attempt) = self.attempts.inline.pop_front() {
            return Some(attempt);
        }
        loop {
            match self.attempts.connector.as_ref()?.news()? {
                News::Finished(attempt) => {
                    return Some((attempt.slot, attempt.ordinal, attempt.outcome));
                }
                News::Waiting(text) => {
                    let hint = Some(SLOW_SERVER.to_owned());
                    view.send(Message::Warning("connecting", text, hint));
                }
            }
        }
    }

    pub(crate) fn take_attempt(
        &mut self,
        view: &mut ShardView,
        (ticket, ordinal, outcome): FinishedAttempt,
    ) -> Result<Option<Woken>, Failure> {
        if ticket & 1 == 0 {
            self.new_connection(view, ticket >> 1, ordinal, outcome)
        } else {
            self.old_connection(view, ticket >> 1, outcome)
        }
    }

    fn new_connection(
        &mut self,
        view: &mut ShardView,
        client: u32,
        ordinal: u64,
        outcome: Result<Connected, ConnectError>,
    ) -> Result<Option<Woken>, Failure> {
        if self.clients[client as usize].waiting != Waiting::Connection {
            return Ok(None);
        }
        let why = match outcome {
            Ok(connected) => Wake::Connected(self.adopt_connection(client, ordinal, connected)?),
            Err(error) => {
                self.tell_connection(view, &error);
                let elsewhere = self.clients[client as usize].elsewhere.take();
                let group = self.clients[client as usize].group;
                let target = elsewhere.as_deref();
                let target = target.unwrap_or_else(|| self.settings.target_of(group));
                self.failures.cause = Some(connect_failure(target, &error));
                Wake::NotConnected
            }
        };
        Ok(Some(Woken { client, why }))
    }

    fn old_connection(
        &mut self,
        view: &mut ShardView,
        index: u32,
        outcome: Result<Connected, ConnectError>,
    ) -> Result<Option<Woken>, Failure> {
        if !self.has(index) {
            return Ok(None);
        }
        let Connected { session, transport, .. } = match outcome {
            Ok(connected) => connected,
            Err(error) => return self.retry_later(view, index, &error.to_string()),
        };
        let (socket, channel) = transport.into_parts();
        let token = socket.map(|socket| self.add_socket(socket)).transpose()?;
        if let Some(token) = token {
            self.slots.bind(token, index);
        }
        let Some(slot) = self.slot(index) else { return Ok(None) };
        slot.token = token;
        slot.channel = channel;
        slot.broken = false;
        slot.early.clear();
        slot.unasked = None;
        slot.input.clear();
        slot.sending = false;
        let dead = std::mem::replace(&mut slot.session, session);
        slot.session.end_statements_when(over(view));
        slot.session.pipelined(slot.pipeline.is_some());
        let sent = self.send(view, index, Purpose::Adopt, |session, out| session.adopt(dead, out));
        if let Err(error) = sent {
            return self.retry_later(view, index, &error.to_string());
        }
        let conclusion = self.concluded(view, index, sent);
        let conclusion = self.awaited(index, conclusion);
        Ok(self.hand_over(index, conclusion))
    }

    /// Pauses before the next attempt, or gives up.
    pub(crate) fn retry_later(
        &mut self,
        view: &mut ShardView,
        index: u32,
        why: &str,
    ) -> Result<Option<Woken>, Failure> {
        let now = view.now();
        let policy = &self.settings.errors;
        let limit_ns = (policy.reconnect_s * 1e9) as u64;
        let back_off = back_off(policy);
        let Some(slot) = self.slot(index) else { return Ok(None) };
        let client = slot.client;
        slot.attempts += 1;
        let (lost_ns, attempts) = (slot.lost_ns, slot.attempts);
        if view.control().stopping() {
            self.end_client(view, client);
            return Ok(Some(Woken { client, why: Wake::Ended }));
        }
        if now.saturating_sub(lost_ns) > limit_ns {
            let message = format!("could not reconnect within {} s: {why}", limit_ns as f64 / 1e9);
            self.end_client(view, client);
            let hint = Some("is the server still running?");
            return Err(fault(FatalKind::Connection, message, hint));
        }
        let pause = pause_ns(back_off, attempts);
        let jitter = jitter(self.settings.seed, client, attempts) % (pause / 2 + 1);
        self.clients[client as usize].waiting = Waiting::Reconnect(index);
        view.sleep_until(client, now + pause * 3 / 4 + jitter);
        Ok(None)
    }

    /// Tries again after the pause.
    pub(crate) fn try_again(
        &mut self,
        view: &mut ShardView,
        client: u32,
        index: u32,
    ) -> Option<Woken> {
        self.clients[client as usize].waiting = Waiting::Reply;
        if view.control().stopping() {
            self.end_client(view, client);
            return Some(Woken { client, why: Wake::Ended });
        }
        let ordinal = self.slot(index)?.ordinal;
        self.connect_again(index, client, ordinal);
        None
    }
}

/// An attempt's ticket, the ordinal of its connection, and the outcome.
type FinishedAttempt = (u32, u64, Result<Connected, ConnectError>);

/// Tickets of the connector: a client's new connection, or a slot's reconnect.
pub(crate) fn fresh(client: u32) -> u32 {
    client << 1
}

fn again(slot: u32) -> u32 {
    (slot << 1) | 1
}

/// A pseudo-random number for each client and attempt: keeps thousands of clients from reconnecting
/// in step. (SplitMix64's output function; Steele, Lea and Flood 2014.)
fn jitter(seed: u64, client: u32, attempt: u32) -> u64 {
    let place = u64::from(client) << 32 | u64::from(attempt);
    let mut bits = seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A failed connection as a message with a hint.
pub(crate) fn connect_failure(target: &Target, error: &ConnectError) -> Failure {
    let hint = driver::connect_advice(target, error).unwrap_or_else(|| hint_of(error));
    fault(FatalKind::Connection, error.to_string(), Some(hint))
}

/// The hint for a connection error where the target has none of its own.
fn hint_of(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Unreachable { .. } => "is the server running, and is this its address?",
        ConnectError::Refused { error, .. } if error.sqlstate.starts_with("28") => {
            "check the user name and the password"
        }
        ConnectError::Refused { error, .. } if error.sqlstate.starts_with("53") => {
            "the server's connection limit is below the number of clients"
        }
        ConnectError::Refused { .. } => "the server's own message above says what it objects to",
        ConnectError::PasswordNeeded { .. } => "put a password into the target",
        ConnectError::Tls { .. } => {
            "check tls.mode, tls.ca, tls.certificate and tls.key against the server's settings"
        }
        ConnectError::Timeout { .. } => {
            "is something between here and the server dropping packets?"
        }
        ConnectError::Silent { .. } => SLOW_SERVER,
        ConnectError::OtherServer { .. } => {
            "name the port of the server that is meant, or the driver of the one that is there \
             (the URL's scheme, or --db-driver)"
        }
        ConnectError::Unsupported { .. } | ConnectError::Protocol { .. } => {
            "check the address, the driver and the server's authentication settings"
        }
    }
}
