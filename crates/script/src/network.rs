//! From bytes and replies to resumed clients: statements that end, connections that are lost and
//! made anew.

use driver::{Class, ConnectError, Connected, Progress, ProtocolError, Reply, Sent, Transport};
use engine::Failure;
use measure::StatementClass;
use mlua_sys as ffi;
use reactor::{Chunk, EventKind, Token};
use record::{ErrorAction, FatalKind};

use crate::api;
use crate::client::Waiting;
use crate::host::{Host, HostPointer, end_client, fault, internal, resume};
use crate::lua::State;
use crate::policy::{Decision, Fault, decide};
use crate::slot::{Bulk, Failed, Purpose, RowBytes, Slot};

/// A reply's rows are kept whole up to so many bytes; behind that only the last part can be read.
const KEEP_MAX: usize = 64 * 1024 * 1024;
/// An input buffer larger than this is given back between statements.
const INPUT_KEEP: usize = 16 * 1024;
/// Longest pause between attempts to reconnect.
const BACK_OFF_MAX_NS: u64 = 1_000_000_000;

/// What a finished statement gives the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conclusion {
    /// A result set.
    Rows,
    /// Success without one.
    Nothing,
    /// A new prepared statement.
    Prepared(driver::StatementId),
    /// `false`: `host.failed` says why.
    Failed,
    /// The host has something to do before the script hears of it.
    Later,
}

/// Pushes a conclusion for the script.
pub(crate) unsafe fn push_conclusion(
    host: &mut Host,
    state: *mut State,
    slot: u32,
    conclusion: Conclusion,
) {
    // SAFETY: the caller's: a live state with room for one value.
    unsafe {
        match conclusion {
            Conclusion::Rows => {
                let reference = host.slot(slot).map_or(ffi::LUA_REFNIL, |slot| slot.result);
                crate::lua::push_kept(state, reference);
            }
            Conclusion::Prepared(id) => api::statement::push(host, state, slot, id),
            Conclusion::Failed => ffi::lua_pushboolean(state, 0),
            Conclusion::Nothing | Conclusion::Later => ffi::lua_pushnil(state),
        }
    }
}

fn class(class: Class) -> StatementClass {
    match class {
        Class::Read => StatementClass::Read,
        Class::Write => StatementClass::Write,
        Class::Other => StatementClass::Other,
    }
}

impl Host {
    /// Counts a reply and says what becomes of it.
    #[inline]
    pub(crate) fn conclude(&mut self, index: u32, reply: Reply, now: u64) -> Conclusion {
        let load = self.load();
        let Some(slot) = self.slots[index as usize].as_deref_mut() else {
            return Conclusion::Nothing;
        };
        let purpose = std::mem::replace(&mut slot.purpose, Purpose::Idle);
        let recorder = load.recorder();
        recorder.counters.reads += u64::from(reply.tally.reads);
        recorder.counters.writes += u64::from(reply.tally.writes);
        recorder.counters.other += u64::from(reply.tally.other);
        if reply.error.is_some() {
            return self.conclude_error(index, purpose, reply);
        }
        if let Some(of) = reply.class {
            recorder.statement(class(of), now.saturating_sub(slot.started_ns));
        }
        match purpose {
            Purpose::RollBack | Purpose::Adopt => {
                if purpose == Purpose::Adopt {
                    recorder.counters.reconnects += 1;
                }
                self.failed = slot.failed.take();
                // Without a failure it was the script that asked for a new connection.
                let failed = self.failed.is_some();
                return if failed { Conclusion::Failed } else { Conclusion::Nothing };
            }
            Purpose::Prepare(id) => return Conclusion::Prepared(id),
            Purpose::Close => return Conclusion::Nothing,
            Purpose::Statement | Purpose::Idle => {}
        }
        self.cause = None;
        slot.cursor = driver::RowCursor::default();
        let rows = reply.columns > 0;
        slot.reply = reply;
        if rows { Conclusion::Rows } else { Conclusion::Nothing }
    }

    #[cold]
    fn conclude_error(&mut self, index: u32, purpose: Purpose, mut reply: Reply) -> Conclusion {
        let Some(error) = reply.error.take() else { return Conclusion::Nothing };
        let load = self.load();
        load.recorder().error(&error.code());
        let fault_seen = Fault {
            sqlstate: &error.sqlstate,
            number: error.number,
            transient: error.transient,
            lost: error.closes,
        };
        let mut decision = decide(&self.config.errors, &fault_seen);
        if matches!(purpose, Purpose::Adopt | Purpose::Prepare(_)) && !error.closes {
            // What can't be prepared won't be by trying again.
            decision = Decision { action: ErrorAction::Stop, limit: 0 };
        }
        let failed = Failed {
            decision,
            sqlstate: error.sqlstate.clone(),
            number: error.number,
            message: error.message.clone(),
        };
        if decision.action == ErrorAction::Stop {
            let message = format!(
                "the server refused a statement: {} (SQLSTATE {}, number {})",
                error.message, error.sqlstate, error.number
            );
            let hint = "an error policy can ignore, retry or restart on such errors";
            self.cause = Some(fault(FatalKind::Statement, message, Some(hint)));
        }
        let Some(slot) = self.slot(index) else { return Conclusion::Nothing };
        let in_transaction = slot.session.in_transaction();
        if decision.action == ErrorAction::Reconnect {
            slot.failed = Some(failed);
            self.disconnect(index);
            return self.begin_reconnect(index);
        }
        let again = matches!(decision.action, ErrorAction::RestartEvent | ErrorAction::Retry);
        if in_transaction && again && purpose != Purpose::RollBack {
            slot.failed = Some(failed);
            return self.roll_back(index);
        }
        self.failed = Some(failed);
        Conclusion::Failed
    }

    /// Ends a failed transaction, so that the event can begin again.
    fn roll_back(&mut self, index: u32) -> Conclusion {
        match self.send(index, Purpose::RollBack, |session, out| session.query(b"ROLLBACK", out)) {
            Ok(Some(reply)) => {
                let now = self.load().now();
                self.conclude(index, reply, now)
            }
            Ok(None) => Conclusion::Later,
            Err(_) => Conclusion::Later,
        }
    }

    /// Sends a request. `Ok(Some)`: answered at once, by an in-process database.
    ///
    /// # Errors
    /// The session's own objection.
    #[inline]
    pub(crate) fn send(
        &mut self,
        index: u32,
        purpose: Purpose,
        request: impl FnOnce(&mut driver::Session, &mut Vec<u8>) -> Result<Sent, ProtocolError>,
    ) -> Result<Option<Reply>, ProtocolError> {
        let now = self.load().now();
        let Some(slot) = self.slots[index as usize].as_deref_mut() else { return Ok(None) };
        slot.purpose = purpose;
        slot.started_ns = now;
        slot.release_rows();
        let (Some(token), Some(reactor)) = (slot.token, self.reactor.as_mut()) else {
            self.sink.clear();
            return match request(&mut slot.session, &mut self.sink)? {
                Sent::Done(reply) => Ok(Some(reply)),
                Sent::Waiting => Ok(None),
            };
        };
        let out = reactor.output(token);
        out.clear();
        let sent = request(&mut slot.session, out)?;
        let len = out.len() as u64;
        match sent {
            Sent::Done(reply) => Ok(Some(reply)),
            Sent::Waiting => {
                reactor.submit(token);
                // SAFETY: as `load`.
                let load = unsafe { &mut *self.load };
                load.recorder().counters.bytes_sent += len;
                Ok(None)
            }
        }
    }

    /// Lets go of a connection's socket; its session stays, for the statements it knows.
    fn disconnect(&mut self, index: u32) {
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
        self.inline_attempts.push_back((again(index), outcome));
    }

    /// The script wants a new connection: nothing has failed.
    pub(crate) fn reconnect_on_request(&mut self, index: u32) {
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
        let load = self.load();
        load.recorder().error("connection");
        let fault_seen = Fault { sqlstate: "08006", number: 0, transient: false, lost: true };
        let decision = decide(&self.config.errors, &fault_seen);
        let failed = Failed {
            decision,
            sqlstate: "08006".into(),
            number: 0,
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
        let token = match transport {
            Transport::None => None,
            Transport::Plain(fd) => Some(self.add_socket(fd)?),
        };
        // SAFETY: the main state has room for one value.
        let result = unsafe { api::result::make(self) };
        let index = self.insert_slot(Box::new(Slot {
            session,
            token,
            client,
            ordinal,
            purpose: Purpose::Idle,
            started_ns: 0,
            input: Vec::new(),
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
        }));
        // SAFETY: the object was just made for this slot.
        unsafe { api::result::bind(self, result, index) };
        if let Some(token) = token {
            self.bind_token(token, index);
        }
        Ok(index)
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

/// Hands out all that happened on the sockets.
pub(crate) fn drain(pointer: HostPointer) -> Result<(), Failure> {
    while let Some(event) = pointer.get().reactor.as_mut().and_then(reactor::Reactor::next) {
        let slot = pointer.get().slot_of.get(event.token as usize).copied().unwrap_or(u32::MAX);
        match event.kind {
            EventKind::Received(chunk) => received(pointer, slot, chunk)?,
            EventKind::Sent => {}
            EventKind::Closed(error) => closed(pointer, slot, event.token, error)?,
        }
    }
    Ok(())
}

fn received(pointer: HostPointer, index: u32, chunk: Chunk) -> Result<(), Failure> {
    let host = pointer.get();
    let load = host.load();
    load.recorder().counters.bytes_received += chunk.bytes().len() as u64;
    let Some(slot) = host.slots.get_mut(index as usize).and_then(Option::as_deref_mut) else {
        return Ok(());
    };
    if slot.purpose == Purpose::Idle {
        // Notices, or a last word before the server closes: for the next reply to begin with.
        slot.keep_rows();
        slot.early.extend_from_slice(chunk.bytes());
        return Ok(());
    }
    let direct = slot.input.is_empty() && slot.early.is_empty();
    let progress = if direct {
        slot.session.feed(chunk.bytes())
    } else {
        if !slot.early.is_empty() {
            slot.input.append(&mut slot.early);
        }
        slot.input.extend_from_slice(chunk.bytes());
        slot.session.feed(&slot.input)
    };
    match progress {
        Err(error) => {
            let conclusion = host.lost(index, &error.to_string());
            hand_over(pointer, index, conclusion)
        }
        Ok(Progress::More) => {
            if direct {
                slot.input.extend_from_slice(chunk.bytes());
            } else if slot.input.len() > KEEP_MAX {
                let dropped = slot.session.discard_scanned(slot.input.len());
                slot.input.drain(..dropped);
            }
            Ok(())
        }
        Ok(Progress::Done { reply, consumed }) => {
            let rest = if direct { &chunk.bytes()[consumed..] } else { &slot.input[consumed..] };
            slot.early.extend_from_slice(rest);
            slot.rows = match (reply.columns, direct) {
                (0, _) => RowBytes::None,
                (_, true) => RowBytes::Lent(chunk.bytes().as_ptr(), consumed),
                (_, false) => RowBytes::Kept(consumed),
            };
            let now = load.now();
            let conclusion = host.conclude(index, reply, now);
            let outcome = hand_over(pointer, index, conclusion);
            if direct && let Some(slot) = pointer.get().slot(index) {
                slot.keep_rows();
            }
            outcome
        }
    }
}

impl Slot {
    /// Moves rows out of memory that is about to be given back.
    #[inline]
    pub(crate) fn keep_rows(&mut self) {
        if let RowBytes::Lent(_, len) = self.rows {
            let mut input = std::mem::take(&mut self.input);
            input.clear();
            input.extend_from_slice(self.row_bytes());
            self.input = input;
            self.rows = RowBytes::Kept(len);
        }
    }

    /// The next request frees the last result.
    #[inline]
    pub(crate) fn release_rows(&mut self) {
        self.rows = RowBytes::None;
        if !self.input.is_empty() {
            self.input.clear();
            self.input.shrink_to(INPUT_KEEP);
        }
    }
}

/// Gives a conclusion to the client that waits for it.
fn hand_over(pointer: HostPointer, index: u32, conclusion: Conclusion) -> Result<(), Failure> {
    if conclusion == Conclusion::Later {
        return Ok(());
    }
    let host = pointer.get();
    let Some(slot) = host.slot(index) else { return Ok(()) };
    let client = slot.client;
    let state = host.clients[client as usize].thread;
    if state.is_null() {
        return Ok(());
    }
    // SAFETY: the client is suspended in a call that returns one value.
    unsafe { push_conclusion(host, state, index, conclusion) };
    resume(pointer, client, 1)
}

fn closed(
    pointer: HostPointer,
    index: u32,
    token: Token,
    error: Option<std::io::Error>,
) -> Result<(), Failure> {
    let host = pointer.get();
    let why = error.map_or_else(|| "the server closed it".to_owned(), |error| error.to_string());
    let Some(slot) = host.slot(index).filter(|slot| slot.token == Some(token)) else {
        return Ok(());
    };
    if slot.purpose == Purpose::Idle {
        // Nobody waits: the next statement will find out.
        host.disconnect(index);
        return Ok(());
    }
    let adopting = slot.purpose == Purpose::Adopt;
    if adopting {
        host.disconnect(index);
        return retry_later(pointer, index, &why);
    }
    let conclusion = host.lost(index, &why);
    hand_over(pointer, index, conclusion)
}

/// Looks at the connections that have been made since, or have not.
pub(crate) fn attempts(pointer: HostPointer) -> Result<(), Failure> {
    loop {
        let host = pointer.get();
        let finished = host.inline_attempts.pop_front().or_else(|| {
            let attempt = host.connector.as_ref()?.finished()?;
            Some((attempt.slot, attempt.outcome))
        });
        let Some((ticket, outcome)) = finished else { return Ok(()) };
        if ticket & 1 == 0 {
            new_connection(pointer, ticket >> 1, outcome)?;
        } else {
            old_connection(pointer, ticket >> 1, outcome)?;
        }
    }
}

fn new_connection(
    pointer: HostPointer,
    client: u32,
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
            let ordinal = host.connections;
            let index = host.adopt_connection(client, ordinal, connected)?;
            unsafe { ffi::lua_pushinteger(state, index as ffi::lua_Integer) };
        }
        Err(error) => {
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
        ConnectError::Timeout { .. } => {
            "is something between here and the server dropping packets?"
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
    let token = match transport {
        Transport::None => None,
        Transport::Plain(fd) => Some(host.add_socket(fd)?),
    };
    if let Some(token) = token {
        host.bind_token(token, index);
    }
    let Some(slot) = host.slot(index) else { return Ok(()) };
    slot.token = token;
    slot.broken = false;
    slot.early.clear();
    let dead = std::mem::replace(&mut slot.session, session);
    let sent = host.send(index, Purpose::Adopt, |session, out| session.adopt(dead, out));
    let conclusion = match sent {
        Ok(Some(reply)) => {
            let now = host.load().now();
            host.conclude(index, reply, now)
        }
        Ok(None) => Conclusion::Later,
        Err(error) => return retry_later(pointer, index, &error.to_string()),
    };
    hand_over(pointer, index, conclusion)
}

/// Pauses before the next attempt, or gives up.
fn retry_later(pointer: HostPointer, index: u32, why: &str) -> Result<(), Failure> {
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
