//! One shard's host: the Lua state, the clients, their connections, and what resumes them.
//!
//! Lua calls back into the host while the host is resuming a client, so the host is reached through
//! a thread-local pointer ([`current`]) and no reference to it is held across a resume: functions
//! that may resume take a raw [`HostPointer`] and borrow anew for each step.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use driver::{ConnectError, Connected};
use engine::{Failure, Load};
use mlua_sys as ffi;
use reactor::{Reactor, Token};
use record::FatalKind;

use crate::arena::Lua;
use crate::client::{Client, Waiting};
use crate::config::Config;
use crate::connector::Connector;
use crate::loaders::Done;
use crate::lua::{self, State};
use crate::random::Random;
use crate::settings::NOT_TEXT;
use crate::slot::{Failed, Slot};

/// References to the functions the prelude returns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Prelude {
    pub(crate) environment: c_int,
    pub(crate) client: c_int,
    pub(crate) inspect: c_int,
    pub(crate) body: c_int,
    pub(crate) hook: c_int,
    pub(crate) describe: c_int,
}

/// References to the metatables of our objects.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Metatables {
    pub(crate) statement: c_int,
    pub(crate) result: c_int,
    pub(crate) result_methods: c_int,
    /// What a statement without rows returns.
    pub(crate) nothing: c_int,
}

pub(crate) struct Host {
    pub(crate) main: *mut State,
    pub(crate) config: Arc<Config>,
    pub(crate) shard: u32,
    pub(crate) shards: u32,
    /// The first is no client: it runs what comes before and after them.
    pub(crate) clients: Vec<Client>,
    pub(crate) slots: Vec<Option<Box<Slot>>>,
    pub(crate) free_slots: Vec<u32>,
    /// The slot of each of the reactor's tokens.
    pub(crate) slot_of: Vec<u32>,
    pub(crate) reactor: Option<Reactor>,
    pub(crate) connector: Option<Connector>,
    /// Finished attempts of in-process databases, by ticket and ordinal.
    pub(crate) inline_attempts: VecDeque<(u32, u64, Result<Connected, ConnectError>)>,
    /// New connections that were closed before they were of use, and why.
    pub(crate) unwelcome: Vec<(u32, String)>,
    /// Set for the length of each call from the engine.
    pub(crate) load: *mut Load,
    /// The client that runs.
    pub(crate) current: usize,
    /// Clients of in-process drivers whose time slice was up.
    pub(crate) runnable: VecDeque<u32>,
    /// The first client's globals: `init` and `done` share them.
    pub(crate) globals: c_int,
    pub(crate) launched: u32,
    pub(crate) ready: u32,
    pub(crate) connections: u64,
    /// Bulk inserts begun.
    pub(crate) tickets: u64,
    /// What has become of their jobs.
    pub(crate) done: (Sender<Done>, Receiver<Done>),
    /// What the next `host.failure()` tells the script.
    pub(crate) failed: Option<Failed>,
    /// What made the error that the running client may be about to die of.
    pub(crate) cause: Option<Failure>,
    pub(crate) prelude: Prelude,
    pub(crate) metatables: Metatables,
    /// Compiled scripts, one a group.
    pub(crate) scripts: Vec<c_int>,
    /// Numbers of the labels that scripts give to events, by group and name.
    pub(crate) labels: Vec<HashMap<Box<[u8]>, usize>>,
    /// Compiled modules, by path.
    pub(crate) modules: HashMap<String, c_int>,
    pub(crate) scratch: Vec<u8>,
    /// What came through a channel, on its way to the session.
    pub(crate) opened: Vec<u8>,
    /// Requests of sessions without a socket.
    pub(crate) sink: Vec<u8>,
    /// What the script wrote without ending the line.
    pub(crate) line: Vec<u8>,
    /// What the script writes now is not for anyone.
    pub(crate) muted: bool,
    /// The body runs only to see what the script defines: its connections do nothing.
    pub(crate) looking: bool,
    /// The failure that was told last.
    pub(crate) told: Vec<String>,
}

/// A host that is not borrowed at the moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostPointer(pub(crate) *mut Host);

impl HostPointer {
    /// Borrows the host for one step; the borrow must end before anything is resumed.
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn get<'a>(self) -> &'a mut Host {
        // SAFETY: the host is boxed and outlives all its calls; borrows end before a resume, which
        // is the only way to reach the host a second time on this thread.
        unsafe { &mut *self.0 }
    }
}

thread_local! {
    static CURRENT: Cell<*mut Host> = const { Cell::new(ptr::null_mut()) };
}

/// The host of this thread, from within a function that Lua called.
#[inline]
pub(crate) fn current<'a>() -> &'a mut Host {
    // SAFETY: Lua functions are only called by a resume of this thread's host, which set it.
    unsafe { &mut *CURRENT.get() }
}

/// Makes a host the one that Lua functions of this thread find.
pub(crate) fn enter(host: *mut Host) {
    CURRENT.set(host);
}

/// The version of LuaJIT, asked of itself.
pub(crate) fn luajit_version() -> String {
    let Some(lua) = Lua::new() else { return "unknown".to_owned() };
    let state = lua.state;
    // SAFETY: a fresh state; `jit.version` is a string.
    unsafe {
        ffi::luaL_openlibs(state);
        ffi::lua_getfield_(state, ffi::LUA_GLOBALSINDEX, c"jit".as_ptr());
        ffi::lua_getfield_(state, -1, c"version".as_ptr());
        lua::describe(state, -1)
    }
}

/// A failure of our own making: the prelude and its helpers do not fail.
pub(crate) fn internal(message: String) -> Failure {
    Failure { kind: FatalKind::Internal, message, hint: None, traceback: None }
}

/// The script's or the user's fault.
pub(crate) fn fault(kind: FatalKind, message: String, hint: Option<&str>) -> Failure {
    Failure { kind, message, hint: hint.map(str::to_owned), traceback: None }
}

impl Host {
    /// What the engine knows of the load.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn load<'a>(&self) -> &'a mut Load {
        // SAFETY: the engine holds no reference while it calls the workload, and the pointer is set
        // at the beginning of each such call.
        unsafe { &mut *self.load }
    }

    #[inline]
    pub(crate) fn slot(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize)?.as_deref_mut()
    }

    pub(crate) fn insert_slot(&mut self, slot: Box<Slot>) -> u32 {
        match self.free_slots.pop() {
            Some(index) => {
                self.slots[index as usize] = Some(slot);
                index
            }
            None => {
                self.slots.push(Some(slot));
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// Takes a connection away for good.
    pub(crate) fn drop_slot(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(index as usize).and_then(Option::take) {
            if let (Some(token), Some(reactor)) = (slot.token, &mut self.reactor) {
                reactor.remove(token);
            }
            self.clients[slot.client as usize].slots.retain(|own| *own != index);
            // SAFETY: the reference was made for this slot.
            unsafe { lua::forget(self.main, slot.result) };
            self.free_slots.push(index);
        }
    }

    pub(crate) fn bind_token(&mut self, token: Token, slot: u32) {
        let index = token as usize;
        if self.slot_of.len() <= index {
            self.slot_of.resize(index + 1, u32::MAX);
        }
        self.slot_of[index] = slot;
    }

    /// The slot's client waits for a reply on it.
    pub(crate) fn wait_for_reply(&mut self, slot: u32) {
        let planned = matches!(self.config.target, record::Target::Scripted { .. });
        let Some(owner) = self.slot(slot).map(|slot| slot.client) else { return };
        let client = &mut self.clients[owner as usize];
        client.waiting = if planned { Waiting::Planned(slot) } else { Waiting::Reply };
    }

    /// The client's id as the engine knows it.
    pub(crate) fn current_id(&self) -> u32 {
        self.current as u32
    }

    pub(crate) fn new_client(&mut self, group: u16, number: u32) -> u32 {
        self.clients.push(Client {
            thread: ptr::null_mut(),
            reference: 0,
            group,
            number,
            place: 0,
            waiting: Waiting::Nothing,
            event: None,
            slots: Vec::new(),
            random: Random::new(self.config.seed, u64::from(number)),
            unique: 0,
            slice: 0,
            attempts: 0,
            limit: u32::MAX,
            back_off: false,
            events: 0,
        });
        (self.clients.len() - 1) as u32
    }

    /// Counts an event that has ended.
    #[inline]
    pub(crate) fn finish_event(&mut self, now: u64) -> bool {
        let client = &mut self.clients[self.current];
        let Some(event) = client.event.take() else { return false };
        client.attempts = 0;
        client.events += 1;
        let (group, place) = (usize::from(client.group), client.place);
        let load = self.load();
        if !load.counts() {
            return true;
        }
        let service = now.saturating_sub(event.start_ns);
        load.client_event(place, event.intended_ns, now);
        if load.is_open(group) {
            let wait = event.start_ns.saturating_sub(event.intended_ns);
            load.recorder().open_event(event.label, wait, service);
        } else {
            load.recorder().closed_event(event.label, service);
        }
        true
    }
}

/// Makes a coroutine for a client, with globals of its own, and leaves on its stack the function
/// `entry` (a reference) and the script's instance maker.
///
/// # Safety
/// The host's state is valid and not running.
pub(crate) unsafe fn prepare_coroutine(host: &mut Host, client: u32, entry: c_int) {
    let state = host.main;
    let (group, number) = {
        let client = &host.clients[client as usize];
        (usize::from(client.group), client.number)
    };
    // SAFETY: the caller's. Every value pushed on `state` is popped again.
    unsafe {
        let thread = ffi::lua_newthread(state);
        lua::push_kept(state, host.prelude.environment);
        ffi::lua_pushinteger(state, number as ffi::lua_Integer);
        lua::push_bytes(state, host.config.groups[group].module_path.as_bytes());
        ffi::lua_call(state, 2, 1);
        ffi::lua_setfenv(state, -2);
        let reference = lua::keep(state);
        lua::push_kept(thread, entry);
        lua::push_kept(thread, host.scripts[group]);
        let client = &mut host.clients[client as usize];
        client.thread = thread;
        client.reference = reference;
    }
}

/// Resumes a client with `arguments` values already on its stack.
///
/// # Errors
/// The error the client died of.
pub(crate) fn resume(pointer: HostPointer, client: u32, arguments: c_int) -> Result<(), Failure> {
    let thread = {
        let host = pointer.get();
        host.current = client as usize;
        let client = &mut host.clients[client as usize];
        client.waiting = Waiting::Nothing;
        client.slice = 0;
        client.thread
    };
    // SAFETY: the coroutine is alive, suspended or fresh, with its arguments on its stack; no
    // borrow of the host is held.
    let status = unsafe { ffi::lua_resume_(thread, arguments) };
    if status == ffi::LUA_YIELD {
        return Ok(());
    }
    let host = pointer.get();
    let outcome = if status == ffi::LUA_OK {
        Ok(())
    } else {
        // SAFETY: the error value is on the dead coroutine's stack.
        Err(unsafe { death(host, thread) })
    };
    end_client(host, client);
    outcome
}

/// Lets go of a client and its connections.
pub(crate) fn end_client(host: &mut Host, client: u32) {
    let ended = &mut host.clients[client as usize];
    if ended.waiting == Waiting::Ended {
        return;
    }
    ended.waiting = Waiting::Ended;
    let unfinished = u64::from(ended.event.take().is_some());
    ended.thread = ptr::null_mut();
    let own = std::mem::take(&mut ended.slots);
    // SAFETY: the reference was made for this client.
    unsafe { lua::forget(host.main, ended.reference) };
    own.into_iter().for_each(|index| host.drop_slot(index));
    if client > 0 {
        let load = host.load();
        load.recorder().counters.unfinished += unfinished;
        load.clients = load.clients.saturating_sub(1);
    }
}

/// What a coroutine died of, in the words of whatever caused it.
unsafe fn death(host: &mut Host, thread: *mut State) -> Failure {
    // SAFETY: the caller's; fields are read from a table checked to be one.
    let table = unsafe { ffi::lua_type(thread, -1) == ffi::LUA_TTABLE };
    // SAFETY: the caller's.
    let (message, traceback) = unsafe {
        if table {
            let field = |name: &CStr| {
                ffi::lua_getfield_(thread, -1, name.as_ptr());
                let text = lua::text(thread, -1);
                ffi::lua_settop(thread, -2);
                text
            };
            let message = field(c"message").or_else(|| field(c"sql_errmsg"));
            (message.unwrap_or_else(|| NOT_TEXT.into()), field(c"traceback"))
        } else {
            (lua::describe(thread, -1), None)
        }
    };
    // SAFETY: the caller's.
    let traceback = traceback.or_else(|| Some(unsafe { lua::traceback(host.main, thread) }));
    let traceback = traceback.map(|text| text.trim().to_owned());
    // The script may have caught that failure and died of something else.
    let of_a_statement = ["SQL error, errno = ", "connection creation failed"];
    let caught = !table && !of_a_statement.iter().any(|words| message.contains(words));
    match host.cause.take().filter(|_| !caught) {
        Some(cause) if host.config.surroundings.tells_failures => {
            // It has been told; here is where it struck. The run ends of it: nobody ignored it.
            if cause.kind == FatalKind::Statement {
                let errors = &mut host.load().recorder().counters.errors;
                *errors = errors.saturating_sub(1);
            }
            Failure { message, traceback, ..cause }
        }
        Some(cause) => {
            // The script's file and line, which Lua has put before its own words.
            let place = message.split_once("SQL error, errno = ").map_or("", |(place, _)| place);
            Failure { message: format!("{place}{}", cause.message), traceback, ..cause }
        }
        None => Failure { kind: FatalKind::Script, message, hint: None, traceback },
    }
}
