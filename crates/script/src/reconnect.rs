//! Connections: made, lost and made anew, with back-off and an end to patience.

use driver::{ConnectError, Connected, Reply};
use engine::{Failure, Message};
use mlua_sys as ffi;
use reactor::Token;
use record::{ErrorAction, FatalKind};

use crate::api;
use crate::client::Waiting;
use crate::conclude::Conclusion;
use crate::connector::{Attempt, News};
use crate::fleet::Surroundings;
use crate::host::{Host, HostPointer, end_client, fault, internal, resume};
use crate::network::hand_over;
use crate::policy::{Fault, decide};
use crate::slot::{Bulk, Failed, Purpose, RowBytes, Slot};
use crate::telling;

/// Longest pause between attempts to reconnect: a quarter of the usual interval, so that an outage
/// seems longer than it was by less than an interval.
const BACK_OFF_MAX_NS: u64 = 250_000_000;
/// What to try with a server that takes a connection and does not answer.
const SLOW_SERVER: &str = "is it the right port? A server may also be looking up its clients' \
    names (MySQL: skip_name_resolve), be stopped, or be overloaded";

impl Host {
    /// Lets go of a connection's socket; its session stays, for the statements it knows.
    pub(crate) fn disconnect(&mut self, index: u32) {
        let Some(slot) = self.slots[index as usize].as_deref_mut() else { return };
        slot.broken = true;
        slot.input.clear();
        slot.rows = RowBytes::None;
        if let (Some(token), Some(reactor)) = (slot.token.take(), &mut self.reactor) {
            reactor.remove(token);
        }
    }

    /// Queues the first attempt to make a lost connection anew; the client waits for it.
    pub(crate) fn begin_reconnect(&mut self, index: u32) -> Conclusion {
        let now = self.load().now();
        let Some(slot) = self.slots[index as usize].as_deref_mut() else {
            return Conclusion::Nothing;
        };
        slot.lost_ns = now;
        slot.attempts = 0;
        slot.purpose = Purpose::Adopt;
        let ordinal = slot.ordinal;
        match &self.connector {
            Some(connector) => connector.connect(again(index), ordinal),
            None => self.connect_inline(index, ordinal),
        }
        Conclusion::Later
    }

    /// In-process databases connect at once; the loop finds the attempt like any other.
    fn connect_inline(&mut self, index: u32, ordinal: u64) {
        let outcome = driver::connect(&self.config.target, ordinal, self.config.connect_timeout);
        self.inline_attempts.push_back((again(index), ordinal, outcome));
    }

    /// The script wants a new connection: nothing has failed.
    pub(crate) fn reconnect_at_will(&mut self, index: u32) {
        self.disconnect(index);
        if let Some(slot) = self.slot(index) {
            slot.failed = None;
        }
        self.begin_reconnect(index);
    }

    /// A statement on a connection that is gone: counted, then by policy.
    #[cold]
    pub(crate) fn lost(&mut self, index: u32, why: &str) -> Conclusion {
        self.disconnect(index);
        self.forget_under_way(index, 1);
        let load = self.load();
        load.recorder().error("connection");
        let number = telling::lost_number(&self.config.target);
        let fault_seen = Fault { sqlstate: "08006", number, transient: false, lost: true };
        let decision = decide(&self.config.errors, &fault_seen);
        let failed = Failed {
            decision,
            purpose: Purpose::Statement,
            sqlstate: "08006".into(),
            number,
            message: format!("connection lost: {why}"),
        };
        self.cause = Some(fault(FatalKind::Connection, failed.message.clone(), None));
        if decision.action == ErrorAction::Stop {
            self.failed = Some(failed);
            if let Some(slot) = self.slot(index) {
                slot.purpose = Purpose::Idle;
            }
            return Conclusion::Failed;
        }
        if let Some(slot) = self.slot(index) {
            slot.failed = Some(failed);
        }
        self.begin_reconnect(index)
    }

    /// Makes a slot of a fresh connection.
    pub(crate) fn adopt_connection(
        &mut self,
        client: u32,
        ordinal: u64,
        connected: Connected,
    ) -> Result<u32, Failure> {
        let Connected { session, transport, .. } = connected;
        let (socket, channel) = transport.into_parts();
        let token = socket.map(|socket| self.add_socket(socket)).transpose()?;
        // SAFETY: the main state has room for one value.
        let result = unsafe { api::result::make(self) };
        let index = self.insert_slot(Box::new(Slot {
            session,
            token,
            channel,
            client,
            ordinal,
            purpose: Purpose::Idle,
            started_ns: 0,
            input: Vec::new(),
            sending: false,
            early: Vec::new(),
            reply: Reply::default(),
            cursor: driver::RowCursor::default(),
            rows: RowBytes::None,
            result,
            broken: false,
            lost_ns: 0,
            attempts: 0,
            failed: None,
            bulk: Bulk::default(),
            pipeline: None,
            surroundings: Surroundings::default(),
        }));
        self.clients[client as usize].slots.push(index);
        // SAFETY: the object was just made for this slot.
        unsafe { api::result::bind(self, result, index) };
        if let Some(token) = token {
            self.bind_token(token, index);
        }
        Ok(index)
    }

    /// The next attempt that has finished; what else the connector has to say is passed on.
    fn finished_attempt(&mut self) -> Option<Attempt> {
        loop {
            match self.connector.as_ref()?.news()? {
                News::Finished(attempt) => return Some(*attempt),
                News::Waiting(text) => {
                    let hint = Some(SLOW_SERVER.to_owned());
                    self.load().send(Message::Warning("connecting", text, hint));
                }
            }
        }
    }

    fn add_socket(&mut self, fd: std::os::fd::OwnedFd) -> Result<Token, Failure> {
        let reactor = self.reactor.as_mut().ok_or_else(|| internal("no reactor".into()))?;
        reactor.add(fd).map_err(|error| {
            fault(
                FatalKind::Environment,
                format!("the event loop refuses a socket: {error}"),
                Some("raise the limit of open files (ulimit -n)"),
            )
        })
    }
}

/// Tickets of the connector: a client's new connection, or a slot's next.
pub(crate) fn fresh(client: u32) -> u32 {
    client << 1
}

fn again(slot: u32) -> u32 {
    (slot << 1) | 1
}

/// Looks at the connections that have been made since, or have not.
pub(crate) fn attempts(pointer: HostPointer) -> Result<(), Failure> {
    while let Some((index, why)) = pointer.get().unwelcome.pop() {
        retry_later(pointer, index, &why)?;
    }
    loop {
        let host = pointer.get();
        let finished = host.inline_attempts.pop_front().or_else(|| {
            let attempt = host.finished_attempt()?;
            Some((attempt.slot, attempt.ordinal, attempt.outcome))
        });
        let Some((ticket, ordinal, outcome)) = finished else { return Ok(()) };
        if ticket & 1 == 0 {
            new_connection(pointer, ticket >> 1, ordinal, outcome)?;
        } else {
            old_connection(pointer, ticket >> 1, outcome)?;
        }
    }
}

fn new_connection(
    pointer: HostPointer,
    client: u32,
    ordinal: u64,
    outcome: Result<Connected, ConnectError>,
) -> Result<(), Failure> {
    let host = pointer.get();
    let waiting = &host.clients[client as usize];
    if waiting.waiting != Waiting::Connection {
        return Ok(());
    }
    let state = waiting.thread;
    // SAFETY: the client is suspended in `connect`, which returns one value.
    match outcome {
        Ok(connected) => {
            let index = host.adopt_connection(client, ordinal, connected)?;
            unsafe { ffi::lua_pushinteger(state, index as ffi::lua_Integer) };
        }
        Err(error) => {
            host.tell(|target| telling::connection(target, &error));
            host.cause = Some(connect_failure(&error));
            unsafe { ffi::lua_pushboolean(state, 0) };
        }
    }
    resume(pointer, client, 1)
}

/// A failed connection in words, with what to try.
pub(crate) fn connect_failure(error: &ConnectError) -> Failure {
    let hint = match error {
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
    };
    fault(FatalKind::Connection, error.to_string(), Some(hint))
}

fn old_connection(
    pointer: HostPointer,
    index: u32,
    outcome: Result<Connected, ConnectError>,
) -> Result<(), Failure> {
    let host = pointer.get();
    if host.slot(index).is_none() {
        return Ok(());
    }
    let Connected { session, transport, .. } = match outcome {
        Ok(connected) => connected,
        Err(error) => return retry_later(pointer, index, &error.to_string()),
    };
    let (socket, channel) = transport.into_parts();
    let token = socket.map(|socket| host.add_socket(socket)).transpose()?;
    if let Some(token) = token {
        host.bind_token(token, index);
    }
    let Some(slot) = host.slot(index) else { return Ok(()) };
    slot.token = token;
    slot.channel = channel;
    slot.broken = false;
    slot.early.clear();
    slot.input.clear();
    slot.sending = false;
    let dead = std::mem::replace(&mut slot.session, session);
    slot.session.pipelined(slot.pipeline.is_some());
    let sent = host.send(index, Purpose::Adopt, |session, out| session.adopt(dead, out));
    let conclusion = match sent {
        Ok(Some(reply)) => {
            let now = host.load().now();
            host.conclude(index, reply, now)
        }
        Ok(None) => {
            host.wait_for_reply(index);
            Conclusion::Later
        }
        Err(error) => return retry_later(pointer, index, &error.to_string()),
    };
    hand_over(pointer, index, conclusion)
}

/// Pauses before the next attempt, or gives up.
pub(crate) fn retry_later(pointer: HostPointer, index: u32, why: &str) -> Result<(), Failure> {
    let host = pointer.get();
    let load = host.load();
    let now = load.now();
    let policy = &host.config.errors;
    let (limit_ns, first_ns) = ((policy.reconnect_s * 1e9) as u64, policy.back_off_ms * 1_000_000);
    let Some(slot) = host.slot(index) else { return Ok(()) };
    let client = slot.client;
    slot.attempts += 1;
    let (lost_ns, attempts) = (slot.lost_ns, slot.attempts);
    if load.control().stopping() {
        end_client(host, client);
        return Ok(());
    }
    if now.saturating_sub(lost_ns) > limit_ns {
        let message = format!(
            "a lost connection could not be made anew within {} s: {why}",
            limit_ns as f64 / 1e9
        );
        end_client(host, client);
        return Err(fault(FatalKind::Connection, message, Some("is the server still running?")));
    }
    let pause = first_ns.saturating_mul(1 << attempts.min(20)).clamp(1_000_000, BACK_OFF_MAX_NS);
    // Jitter of ± a quarter keeps thousands of clients from coming back in step.
    let jitter = host.clients[client as usize].random.uniform(0, pause as i64 / 2) as u64;
    host.clients[client as usize].waiting = Waiting::Reconnect(index);
    load.sleep_until(client, now + pause * 3 / 4 + jitter);
    Ok(())
}

/// The pause is over.
pub(crate) fn try_again(pointer: HostPointer, client: u32, index: u32) -> Result<(), Failure> {
    let host = pointer.get();
    host.clients[client as usize].waiting = Waiting::Reply;
    if host.load().control().stopping() {
        end_client(host, client);
        return Ok(());
    }
    let Some(slot) = host.slot(index) else { return Ok(()) };
    let ordinal = slot.ordinal;
    match &host.connector {
        Some(connector) => connector.connect(again(index), ordinal),
        None => host.connect_inline(index, ordinal),
    }
    Ok(())
}
