//! A client's life cycle: events, restarts, sleep, modules.

use std::ffi::c_int;

use engine::ShardView;
use mlua_sys as ffi;
use runtime::{Restart, Step};

use super::argument::slot_argument;
use super::returned::finish;
use super::waiting::may_pause;
use crate::config::GroupConfig;
use crate::host::{Host, death, with, with_view};
use crate::lua::{self, State, set_function};
use crate::source;

// The message below names this limit.
const _: () = assert!(engine::LABELS_MAX == 64);

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"suspend", suspend);
        set_function(state, c"reconnects", reconnects);
        set_function(state, c"reconnect_due", reconnect_due);
        set_function(state, c"failed_on", failed_on);
        set_function(state, c"roll_back", roll_back);
        set_function(state, c"restart", restart);
        set_function(state, c"abandon_event", abandon_event);
        set_function(state, c"done_failed", done_failed);
        set_function(state, c"ready", ready);
        set_function(state, c"looking", looking);
        set_function(state, c"outermost", outermost);
        set_function(state, c"more_events", more_events);
        set_function(state, c"event_start", event_start);
        set_function(state, c"event_stop", event_stop);
        set_function(state, c"label", label);
        set_function(state, c"sleep", sleep);
        set_function(state, c"module", module);
        set_function(state, c"place", place);
    }
}

/// Return values of [`next_event`]; `native.lua` repeats the numbers.
const GO_STOP: c_int = 0;
const GO_START: c_int = 1;
const GO_WAIT: c_int = 2;

/// Ends the current event and begins the next one, unless the load has ended. On `GO_WAIT` the
/// client must suspend itself; it is resumed with true, or with false when the load has ended.
pub(super) extern "C" fn next_event() -> c_int {
    match with_view(|host, view| host.runtime.next_event(view, host.current)) {
        Step::Stop => GO_STOP,
        Step::Start => GO_START,
        Step::Wait => GO_WAIT,
    }
}

/// Suspends the client until its request is done; returns what it is resumed with.
unsafe extern "C-unwind" fn suspend(state: *mut State) -> c_int {
    // SAFETY: called from a coroutine.
    unsafe {
        may_pause(state);
        ffi::lua_yield(state, 0)
    }
}

/// File and line of the running script, as prefixed to messages.
unsafe extern "C-unwind" fn place(state: *mut State) -> c_int {
    // SAFETY: a live state.
    unsafe {
        let place = lua::place(state);
        lua::push_bytes(state, place.as_bytes());
    }
    1
}

/// [`next_event`] for scripts that call `event_stop` themselves: an event still open when the next
/// is asked for is not counted.
unsafe extern "C-unwind" fn more_events(state: *mut State) -> c_int {
    // SAFETY: called from a coroutine.
    unsafe { may_pause(state) };
    with_view(|host, view| host.runtime.abandon_event(view, host.current));
    // SAFETY: called from a coroutine.
    unsafe {
        match next_event() {
            GO_WAIT => ffi::lua_yield(state, 0),
            go => {
                ffi::lua_pushboolean(state, c_int::from(go == GO_START));
                1
            }
        }
    }
}

/// Starts the event now; one that waited in the open loop keeps its intended start.
unsafe extern "C-unwind" fn event_start(_state: *mut State) -> c_int {
    with_view(|host, view| host.runtime.start_event(view, host.current));
    0
}

/// Ends the event now and counts it.
unsafe extern "C-unwind" fn event_stop(_state: *mut State) -> c_int {
    with_view(|host, view| {
        let now = view.now();
        host.runtime.finish_event(view, host.current, now)
    });
    0
}

/// `dbdyno.label(name)`: the label to record the current event under.
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
        match with_view(|host, view| host.label(view, name)) {
            Some(true) => 0,
            Some(false) => {
                lua::raise(state, "dbdyno.label() labels the current event: call it within event()")
            }
            None => lua::raise(
                state,
                "dbdyno.label(): the run has 64 labels already; a label names a kind of event \
                 (`payment`), not one event (`payment 17`)",
            ),
        }
    }
}

fn is_label(name: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b" _-:+#".contains(byte);
    (1..=64).contains(&name.len()) && name.iter().all(fits)
}

impl Host {
    /// Records the running client's event under a label; `Some(false)`: no event is under way,
    /// `None`: there are too many labels.
    fn label(&mut self, view: &mut ShardView, name: &[u8]) -> Option<bool> {
        let group = self.runtime.group(self.current);
        let number = match self.labels[group].get(name) {
            Some(number) => *number,
            None => {
                let number = view.label(group, std::str::from_utf8(name).ok()?)?;
                self.labels[group].insert(name.into(), number);
                number
            }
        };
        Some(self.runtime.label_event(self.current, number))
    }

    /// Why the running client's event can't be restarted.
    fn too_often(&self) -> String {
        let labels = &self.labels[self.runtime.group(self.current)];
        self.runtime.too_often(self.current, |number| {
            let named = labels.iter().find(|(_, label)| **label == number)?;
            Some(String::from_utf8_lossy(named.0).into_owned())
        })
    }

    /// The running client's group.
    fn group(&self) -> &GroupConfig {
        &self.config.groups[self.runtime.group(self.current)]
    }

    /// Whether the running client, having finished an event, is to reconnect.
    fn reconnect_due(&mut self, view: &ShardView) -> bool {
        let (every, every_turns) =
            (self.group().reconnect_every, self.group().reconnect_every_turns);
        let events = self.runtime.events_of(self.current);
        let by_turns = every_turns > 0
            && view.turn_under_way().is_some_and(|turn| {
                self.runtime.enters(self.current, turn) && turn.is_multiple_of(every_turns)
            });
        by_turns || every > 0 && events.is_multiple_of(every)
    }
}

/// Whether clients of the group reconnect now and then.
unsafe extern "C-unwind" fn reconnects(state: *mut State) -> c_int {
    let wanted = with(|host| {
        let group = host.group();
        group.reconnect_every > 0 || group.reconnect_every_turns > 0
    });
    // SAFETY: a live state.
    unsafe { ffi::lua_pushboolean(state, c_int::from(wanted)) };
    1
}

/// Ends the current event; returns an array of the client's connections if a reconnect is due.
unsafe extern "C-unwind" fn reconnect_due(state: *mut State) -> c_int {
    let due = with_view(|host, view| {
        let now = view.now();
        host.runtime.finish_event(view, host.current, now);
        if host.reconnect_due(view) {
            host.runtime.connections_of(host.current).to_vec()
        } else {
            Vec::new()
        }
    });
    // SAFETY: a live state.
    unsafe { push_slots(state, &due) }
}

/// Pushes an array of connections.
unsafe fn push_slots(state: *mut State, slots: &[u32]) -> c_int {
    // SAFETY: upheld by the caller: a live state.
    unsafe {
        ffi::lua_createtable(state, 1, 0);
        for (place, index) in (1..).zip(slots) {
            ffi::lua_pushinteger(state, *index as ffi::lua_Integer);
            ffi::lua_rawseti_(state, -2, place);
        }
    }
    1
}

/// Returns an array of the connections on which the event failed.
unsafe extern "C-unwind" fn failed_on(state: *mut State) -> c_int {
    let slots = with_view(|host, _| host.runtime.failed_on(host.current));
    // SAFETY: a live state.
    unsafe { push_slots(state, &slots) }
}

/// `host.roll_back(slot)`: false if the connection was lost.
unsafe extern "C-unwind" fn roll_back(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        let conclusion = with_view(|host, view| host.runtime.roll_back(view, index));
        finish(state, index, Ok(conclusion))
    }
}

/// Restarts the event: true, or false when the load has ended and the event is given up.
unsafe extern "C-unwind" fn restart(state: *mut State) -> c_int {
    let restart = with_view(|host, view| host.runtime.restart(view, host.current));
    // SAFETY: a live state; yields and errors come last.
    unsafe {
        match restart {
            Restart::Now => ffi::lua_pushboolean(state, 1),
            Restart::Over => ffi::lua_pushboolean(state, 0),
            // Returns true when resumed.
            Restart::Later => return ffi::lua_yield(state, 0),
            Restart::TooOften => lua::raise_message(state, with(|host| host.too_often())),
        }
    }
    1
}

/// Drops the current event without counting it.
unsafe extern "C-unwind" fn abandon_event(_state: *mut State) -> c_int {
    with_view(|host, view| host.runtime.abandon_event(view, host.current));
    0
}

/// `host.done_failed(error)`: `thread_done` failed with this error.
unsafe extern "C-unwind" fn done_failed(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with the error as its only value.
    let failure = unsafe { death(state) };
    with_view(|host, view| host.report_callback(view, "thread_done", failure));
    0
}

/// Marks the client ready; returns when the load begins.
unsafe extern "C-unwind" fn ready(state: *mut State) -> c_int {
    with_view(|host, view| {
        host.ready += 1;
        host.runtime.ready(view, host.current);
    });
    // SAFETY: called from a coroutine.
    unsafe { ffi::lua_yield(state, 0) }
}

/// Whether the script's body runs only to find out what the script defines.
unsafe extern "C-unwind" fn looking(state: *mut State) -> c_int {
    // SAFETY: a live state.
    unsafe { ffi::lua_pushboolean(state, c_int::from(with(|host| host.looking))) };
    1
}

/// Whether the caller is the client itself, not a coroutine that the script made.
unsafe extern "C-unwind" fn outermost(state: *mut State) -> c_int {
    let outermost = with(|host| std::ptr::eq(host.running().thread, state));
    // SAFETY: a live state.
    unsafe { ffi::lua_pushboolean(state, c_int::from(outermost)) };
    1
}

/// `host.sleep(seconds)`: suspends only this client.
unsafe extern "C-unwind" fn sleep(state: *mut State) -> c_int {
    // SAFETY: called from a coroutine.
    unsafe {
        may_pause(state);
        let seconds = ffi::lua_tonumber(state, 1).clamp(0.0, 1e9);
        let pause_ns = (seconds * 1e9) as u64;
        with_view(|host, view| host.runtime.sleep(view, host.current, pause_ns));
        ffi::lua_yield(state, 0)
    }
}

/// `host.module(path)`: a function that makes an instance, or nil and the error.
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
    if let Some(reference) = with(|host| host.modules.get(path).copied()) {
        return Ok(reference);
    }
    let text = std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    // SAFETY: upheld by the caller; the compiled function is popped by `keep`.
    let reference = unsafe {
        source::compile(state, &text, path)?;
        lua::keep(state)
    };
    with(|host| host.modules.insert(path.to_owned(), reference));
    Ok(reference)
}
