//! A client's life: turns, restarts, sleep, modules, output.

use std::ffi::c_int;

use engine::{Message, Turn};
use mlua_sys as ffi;
use record::PhaseName;

use crate::client::{OpenEvent, Waiting};
use crate::host::{Host, current};
use crate::lua::{self, State, set_function};
use crate::source;

/// Events an in-process client may run before the others get their turn.
const SLICE_EVENTS: u32 = 256;
// The message below says so.
const _: () = assert!(engine::LABELS_MAX == 64);
/// First and longest pause before a retried event, nanoseconds.
const RETRY_NS: (u64, u64) = (1_000_000, 1_000_000_000);

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: the caller's: the table is on top of the stack.
    unsafe {
        set_function(state, c"suspend", suspend);
        set_function(state, c"reconnect_every", reconnect_every);
        set_function(state, c"reconnect_due", reconnect_due);
        set_function(state, c"restart", restart);
        set_function(state, c"abandon_event", abandon_event);
        set_function(state, c"ready", ready);
        set_function(state, c"looking", looking);
        set_function(state, c"more_events", more_events);
        set_function(state, c"event_start", event_start);
        set_function(state, c"event_stop", event_stop);
        set_function(state, c"label", label);
        set_function(state, c"sleep", sleep);
        set_function(state, c"module", module);
        set_function(state, c"print", print);
        set_function(state, c"write", write);
    }
}

/// What [`next_turn`] answers; `native.lua` knows the numbers.
const TURN_STOP: c_int = 0;
const TURN_START: c_int = 1;
const TURN_WAIT: c_int = 2;

/// Ends the event under way and begins the next one, unless the load is over. For `TURN_WAIT` the
/// client has to suspend itself; it is resumed with true, or false when the load is over.
pub(crate) extern "C" fn next_turn() -> c_int {
    let host = current();
    let load = host.load();
    let now = load.now();
    let finished = host.finish_event(now);
    let id = host.current_id();
    let alone = host.clients.len() <= 2;
    let in_process = host.reactor.is_none();
    let client = &mut host.clients[id as usize];
    let group = usize::from(client.group);
    client.slice += 1;
    let think_ns = if finished { load.think_ns(group) } else { 0 };
    if think_ns > 0 {
        client.waiting = Waiting::Turn;
        load.sleep_until(id, now + think_ns);
        return TURN_WAIT;
    }
    if in_process && !alone && client.slice > SLICE_EVENTS {
        client.waiting = Waiting::Turn;
        host.runnable.push_back(id);
        return TURN_WAIT;
    }
    match load.turn(id, group, now) {
        Turn::Start { intended_ns } => {
            client.event = Some(OpenEvent { intended_ns, start_ns: now, label: group });
            TURN_START
        }
        Turn::Stop => TURN_STOP,
        Turn::Wait => {
            client.waiting = Waiting::Turn;
            TURN_WAIT
        }
    }
}

/// The client waits for what it has asked for, and returns what it is resumed with.
unsafe extern "C-unwind" fn suspend(state: *mut State) -> c_int {
    // SAFETY: called from a coroutine.
    unsafe { ffi::lua_yield(state, 0) }
}

/// [`next_turn`] for scripts that say themselves when an event ends: one that is still open when
/// the next is asked for is not counted.
unsafe extern "C-unwind" fn more_events(state: *mut State) -> c_int {
    let host = current();
    let id = host.current;
    host.clients[id].event = None;
    // SAFETY: called from a coroutine.
    unsafe {
        match next_turn() {
            TURN_WAIT => ffi::lua_yield(state, 0),
            turn => {
                ffi::lua_pushboolean(state, c_int::from(turn == TURN_START));
                1
            }
        }
    }
}

/// The event begins now; one that waited in the open loop keeps its intended start.
unsafe extern "C-unwind" fn event_start(_state: *mut State) -> c_int {
    let host = current();
    let load = host.load();
    let now = load.now();
    let id = host.current;
    let client = &mut host.clients[id];
    let group = usize::from(client.group);
    let open = load.is_open(group);
    let intended = client.event.filter(|_| open).map_or(now, |event| event.intended_ns);
    client.event = Some(OpenEvent { intended_ns: intended, start_ns: now, label: group });
    0
}

/// The event ends now and counts.
unsafe extern "C-unwind" fn event_stop(_state: *mut State) -> c_int {
    let host = current();
    let now = host.load().now();
    host.finish_event(now);
    0
}

/// `dbdyno.label(name)`: what the event under way is recorded as.
unsafe extern "C-unwind" fn label(state: *mut State) -> c_int {
    // SAFETY: called by the script; the name stays on the stack, and nothing with a destructor is
    // alive when an error is raised.
    unsafe {
        let Some(name) = lua::bytes(state, 1).filter(|name| is_label(name)) else {
            lua::raise(
                state,
                "dbdyno.label() needs a name of 1 to 64 letters, digits, spaces or _ - : + #",
            )
        };
        let host = current();
        let id = host.current;
        let group = usize::from(host.clients[id].group);
        let known = host.labels[group].get(name).copied();
        let Some(number) = known.or_else(|| new_label(host, group, name)) else {
            lua::raise(
                state,
                "dbdyno.label(): the run has 64 labels already; a label names a kind of event \
                 (`payment`), not one event (`payment 17`)",
            )
        };
        let Some(event) = &mut host.clients[id].event else {
            lua::raise(state, "dbdyno.label() names the event under way: call it within event()")
        };
        event.label = number;
    }
    0
}

fn is_label(name: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b" _-:+#".contains(byte);
    (1..=64).contains(&name.len()) && name.iter().all(fits)
}

fn new_label(host: &mut Host, group: usize, name: &[u8]) -> Option<usize> {
    let number = host.load().label(group, std::str::from_utf8(name).ok()?)?;
    host.labels[group].insert(name.into(), number);
    Some(number)
}

/// After how many events the client's group reconnects; 0: never.
unsafe extern "C-unwind" fn reconnect_every(state: *mut State) -> c_int {
    let host = current();
    let group = usize::from(host.clients[host.current].group);
    // SAFETY: a live state.
    unsafe { ffi::lua_pushnumber(state, host.config.groups[group].reconnect_every as f64) };
    1
}

/// Ends the event under way; an array of the client's connections if it is time to make them anew.
unsafe extern "C-unwind" fn reconnect_due(state: *mut State) -> c_int {
    let host = current();
    let now = host.load().now();
    host.finish_event(now);
    let id = host.current_id();
    let client = &host.clients[id as usize];
    let every = host.config.groups[usize::from(client.group)].reconnect_every;
    // SAFETY: a live state.
    unsafe {
        ffi::lua_createtable(state, 1, 0);
        if every == 0 || client.events % every != 0 {
            return 1;
        }
        for (place, index) in client.slots.iter().enumerate() {
            ffi::lua_pushinteger(state, *index as ffi::lua_Integer);
            ffi::lua_rawseti_(state, -2, place as c_int + 1);
        }
    }
    1
}

/// The event begins again: true, or false when the load is over and it is given up.
unsafe extern "C-unwind" fn restart(state: *mut State) -> c_int {
    let host = current();
    let load = host.load();
    let now = load.now();
    let id = host.current_id();
    let client = &mut host.clients[id as usize];
    client.attempts += 1;
    load.recorder().counters.restarts += 1;
    // SAFETY: a live state; yields and errors come last.
    unsafe {
        if load.control().stopping() || load.phase() == PhaseName::Drain {
            ffi::lua_pushboolean(state, 0);
            return 1;
        }
        if client.attempts > client.limit {
            lua::raise(
                state,
                "an event failed more often than the error policy lets it be retried",
            );
        }
        if client.back_off {
            let pause = RETRY_NS.0.saturating_mul(1 << client.attempts.min(20)).min(RETRY_NS.1);
            client.waiting = Waiting::Sleep;
            load.sleep_until(id, now + pause);
            // Resumed with true.
            return ffi::lua_yield(state, 0);
        }
        ffi::lua_pushboolean(state, 1);
    }
    1
}

/// The event under way is not to be counted.
unsafe extern "C-unwind" fn abandon_event(_state: *mut State) -> c_int {
    let host = current();
    let id = host.current;
    host.clients[id].event = None;
    0
}

/// The client is ready; returns when the load begins.
unsafe extern "C-unwind" fn ready(state: *mut State) -> c_int {
    let host = current();
    let id = host.current;
    host.clients[id].waiting = Waiting::Begin;
    host.ready += 1;
    host.load().send(Message::ClientsReady(1));
    // SAFETY: called from a coroutine.
    unsafe { ffi::lua_yield(state, 0) }
}

/// Whether the script's body runs only to see what the script defines.
unsafe extern "C-unwind" fn looking(state: *mut State) -> c_int {
    // SAFETY: a live state.
    unsafe { ffi::lua_pushboolean(state, c_int::from(current().looking)) };
    1
}

/// `host.sleep(seconds)`: only this client sleeps.
unsafe extern "C-unwind" fn sleep(state: *mut State) -> c_int {
    let host = current();
    let load = host.load();
    let id = host.current_id();
    let now = load.now();
    // SAFETY: called from a coroutine.
    unsafe {
        let seconds = ffi::lua_tonumber(state, 1).clamp(0.0, 1e9);
        host.clients[id as usize].waiting = Waiting::Sleep;
        load.sleep_until(id, now + (seconds * 1e9) as u64);
        ffi::lua_yield(state, 0)
    }
}

/// `host.module(path)`: a function that makes an instance, or nil and what is wrong.
unsafe extern "C-unwind" fn module(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a string.
    unsafe {
        let path = lua::text(state, 1).unwrap_or_default();
        match load_module(state, &path) {
            Ok(reference) => {
                lua::push_kept(state, reference);
                1
            }
            Err(message) => {
                ffi::lua_pushnil(state);
                lua::push_bytes(state, message.as_bytes());
                2
            }
        }
    }
}

unsafe fn load_module(state: *mut State, path: &str) -> Result<c_int, String> {
    let host = current();
    if let Some(reference) = host.modules.get(path) {
        return Ok(*reference);
    }
    let text = std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    // SAFETY: the caller's; the compiled function is popped by `keep`.
    let reference = unsafe {
        source::compile(state, &text, path)?;
        lua::keep(state)
    };
    host.modules.insert(path.to_owned(), reference);
    Ok(reference)
}

/// A whole line of the script's output.
unsafe extern "C-unwind" fn print(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a string.
    let text = unsafe { lua::bytes(state, 1) }.unwrap_or_default();
    let host = current();
    if host.muted {
        return 0;
    }
    host.line.extend_from_slice(text);
    let line = std::mem::take(&mut host.line);
    host.load().send(Message::Output(String::from_utf8_lossy(&line).into_owned()));
    0
}

/// Output without an end of line: kept until there is one.
unsafe extern "C-unwind" fn write(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a string.
    let text = unsafe { lua::bytes(state, 1) }.unwrap_or_default();
    let host = current();
    if host.muted {
        return 0;
    }
    host.line.extend_from_slice(text);
    while let Some(end) = host.line.iter().position(|byte| *byte == b'\n') {
        let rest = host.line.split_off(end + 1);
        let line = std::mem::replace(&mut host.line, rest);
        let line = String::from_utf8_lossy(&line[..end]).into_owned();
        host.load().send(Message::Output(line));
    }
    0
}

/// Hands out what the script wrote without ending the line.
pub(crate) fn flush_line(host: &mut Host) {
    if !host.line.is_empty() && !host.load.is_null() {
        let line = std::mem::take(&mut host.line);
        host.load().send(Message::Output(String::from_utf8_lossy(&line).into_owned()));
    }
}
