//! The script host as a workload of the engine.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{Failure, Load, Turn, Workload};
use mlua_sys as ffi;
use reactor::Reactor;
use record::FatalKind;
use serde_json::Value;

use crate::api;
use crate::client::{OpenEvent, Waiting};
use crate::config::{Config, plain};
use crate::connector::Connector;
use crate::host::{
    Host, HostPointer, Metatables, Prelude, end_client, enter, fault, internal, prepare_coroutine,
    resume,
};
use crate::lua::{self, State};
use crate::network;
use crate::source;

const PRELUDE: &[u8] = include_bytes!("prelude.lua");

/// What scripts see as the version of the tool whose API this is.
const API_VERSION: &str = "1.0.20";

/// One shard's clients, running a script.
pub struct ScriptWorkload {
    host: Box<Host>,
    parallel: bool,
}

impl Drop for ScriptWorkload {
    fn drop(&mut self) {
        // SAFETY: the state is this workload's own and nothing runs in it any more.
        unsafe { ffi::lua_close(self.host.main) };
        enter(std::ptr::null_mut());
    }
}

impl ScriptWorkload {
    /// Makes a shard's Lua state, compiles the scripts and opens the event loop. Call it on the
    /// shard's own thread.
    ///
    /// # Errors
    /// A script that does not compile, or a machine without an event loop.
    pub fn new(config: Arc<Config>, shard: u32, shards: u32) -> Result<Self, Failure> {
        let reactor = if config.networked() {
            Some(Reactor::new(config.reactor).map_err(|error| {
                fault(
                    FatalKind::Environment,
                    format!("no event loop: {error}"),
                    Some("choose another one, or raise the limits of open files and locked memory"),
                )
            })?)
        } else {
            None
        };
        let own = config.clients_of(shard, shards).len() as u32;
        let connector = reactor.as_ref().map(|reactor| {
            let waker = reactor.waker();
            Connector::new(&config.target, config.connect_timeout, own, move || waker.wake())
        });
        // SAFETY: a fresh state.
        let main = unsafe { ffi::luaL_newstate() };
        if main.is_null() {
            return Err(fault(FatalKind::Environment, "no memory for a Lua state".into(), None));
        }
        let mut host = Box::new(Host {
            main,
            config,
            shard,
            shards,
            clients: Vec::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            slot_of: Vec::new(),
            reactor,
            connector,
            inline_attempts: VecDeque::new(),
            load: std::ptr::null_mut(),
            current: 0,
            runnable: VecDeque::new(),
            globals: 0,
            launched: 0,
            ready: 0,
            connections: 0,
            failed: None,
            cause: None,
            prelude: Prelude::default(),
            metatables: Metatables::default(),
            scripts: Vec::new(),
            modules: HashMap::new(),
            scratch: Vec::new(),
            sink: Vec::new(),
            line: Vec::new(),
        });
        enter(&raw mut *host);
        let mut workload = Self { host, parallel: true };
        workload.open()?;
        workload.host.new_client(0, 0);
        Ok(workload)
    }

    /// `io_uring`, `epoll` or `none`.
    pub fn reactor_name(&self) -> &'static str {
        self.host.reactor.as_ref().map_or("none", Reactor::name)
    }

    fn open(&mut self) -> Result<(), Failure> {
        let host = &mut *self.host;
        let state = host.main;
        // SAFETY: a fresh state; the prelude and the scripts are checked before they are called.
        unsafe {
            ffi::luaL_openlibs(state);
            lua::load(state, PRELUDE, c"=prelude").map_err(internal)?;
            api::push_host_table(state);
            push_settings(state, host);
            if ffi::lua_pcall(state, 2, 5, 0) != ffi::LUA_OK {
                return Err(internal(format!("prelude: {}", lua::describe(state, -1))));
            }
            host.prelude.hook = lua::keep(state);
            host.prelude.body = lua::keep(state);
            host.prelude.inspect = lua::keep(state);
            host.prelude.client = lua::keep(state);
            host.prelude.environment = lua::keep(state);
            for index in 0..host.config.groups.len() {
                let config = Arc::clone(&host.config);
                let group = &config.groups[index];
                let path = group.path.display().to_string();
                source::compile(state, &group.source, &path).map_err(|message| {
                    fault(FatalKind::Script, format!("syntax error: {message}"), None)
                })?;
                let reference = lua::keep(state);
                host.scripts.push(reference);
            }
        }
        Ok(())
    }

    fn pointer(&mut self, load: &mut Load) -> HostPointer {
        self.host.load = load;
        HostPointer(&raw mut *self.host)
    }

    /// Runs the first client (which is none) until it ends.
    fn run_to_end(&mut self, load: &mut Load, arguments: c_int) -> Result<(), Failure> {
        let pointer = self.pointer(load);
        resume(pointer, 0, arguments)?;
        while pointer.get().clients[0].waiting != Waiting::Ended {
            if load.control().stopping() {
                end_client(pointer.get(), 0);
                return Ok(());
            }
            self.wait(Duration::from_millis(20))?;
            let now = load.now();
            while let Some(client) = load.due(now) {
                self.wake(load, client)?;
            }
        }
        Ok(())
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), Failure> {
        let pointer = HostPointer(&raw mut *self.host);
        match &mut pointer.get().reactor {
            None => {
                if !timeout.is_zero() && pointer.get().runnable.is_empty() {
                    std::thread::sleep(timeout);
                }
            }
            Some(reactor) => {
                reactor.wait(timeout).map_err(|error| {
                    fault(FatalKind::Environment, format!("the event loop failed: {error}"), None)
                })?;
                network::drain(pointer)?;
            }
        }
        network::attempts(pointer)
    }

    /// Finds out what the script is, in this shard's state.
    fn inspect(&mut self, load: &mut Load) -> Result<(), Failure> {
        let config = Arc::clone(&self.host.config);
        for (index, group) in config.groups.iter().enumerate() {
            let pointer = self.pointer(load);
            let host = pointer.get();
            let client = host.new_client(index as u16, 0);
            host.current = client as usize;
            // SAFETY: the host is not running; the coroutine is thrown away after one call.
            unsafe {
                prepare_coroutine(host, client, host.prelude.inspect);
                let thread = host.clients[client as usize].thread;
                push_options(thread, group.options.iter());
                let status = ffi::lua_resume_(thread, 2);
                let verdict = if status == ffi::LUA_OK {
                    self.verdict(thread, &group.path)
                } else if status == ffi::LUA_YIELD {
                    let message = "the script's body may not query or sleep: move it to a function";
                    Err(fault(FatalKind::Script, message.into(), None))
                } else {
                    Err(script_error(self.host.main, thread))
                };
                let host = pointer.get();
                let reference = host.clients[client as usize].reference;
                lua::forget(host.main, reference);
                host.clients.pop();
                self.parallel = verdict?;
            }
        }
        Ok(())
    }

    /// Reads what the prelude's `inspect` returned.
    unsafe fn verdict(&self, thread: *mut State, path: &Path) -> Result<bool, Failure> {
        // SAFETY: the caller's: the results are on the stack from 1.
        unsafe {
            if ffi::lua_type(thread, 1) != ffi::LUA_TNIL {
                return Ok(ffi::lua_toboolean(thread, 1) != 0);
            }
            let what = lua::describe(thread, 2);
            let name = lua::describe(thread, 3);
            let script = path.display();
            Err(match what.as_str() {
                "unknown" => {
                    let message = format!("{script} has no option `{name}`");
                    let hint = nearest(&name, &keys(thread, 4));
                    Failure { hint, ..fault(FatalKind::Usage, message, None) }
                }
                "value" => {
                    let (found, expected) = (lua::describe(thread, 4), lua::describe(thread, 5));
                    let message = format!("option `{name}` is `{found}`; expected {expected}");
                    fault(FatalKind::Usage, message, None)
                }
                "command" => {
                    let message = format!("{script} has no command `{name}`");
                    let names = keys(thread, 4);
                    let hint = format!("it has: {}", names.join(", "));
                    let hint = if names.is_empty() { "it has none".into() } else { hint };
                    Failure { hint: Some(hint), ..fault(FatalKind::Usage, message, None) }
                }
                _ => fault(FatalKind::Script, format!("{script}: {name}"), None),
            })
        }
    }

    /// Runs `init` or `done` with the globals they share, if the script defines it.
    fn run_hook(&mut self, load: &mut Load, name: &str) -> Result<(), Failure> {
        let pointer = self.pointer(load);
        let host = pointer.get();
        if host.config.command != "run" || host.globals == 0 {
            return Ok(());
        }
        // SAFETY: the host is not running; the coroutine is kept by its reference until it ends.
        unsafe {
            let thread = ffi::lua_newthread(host.main);
            lua::push_kept(host.main, host.globals);
            ffi::lua_setfenv(host.main, -2);
            let first = &mut host.clients[0];
            first.thread = thread;
            first.reference = lua::keep(host.main);
            first.waiting = Waiting::Nothing;
            lua::push_kept(thread, host.prelude.hook);
            lua::push_bytes(thread, name.as_bytes());
        }
        self.run_to_end(load, 1)
    }

    /// Runs the body of the first group's script for the hooks.
    fn make_globals(&mut self, load: &mut Load) -> Result<(), Failure> {
        let pointer = self.pointer(load);
        let host = pointer.get();
        // SAFETY: the host is not running.
        unsafe {
            prepare_coroutine(host, 0, host.prelude.body);
            ffi::lua_pushthread(host.clients[0].thread);
            ffi::lua_xmove(host.clients[0].thread, host.main, 1);
            ffi::lua_getfenv(host.main, -1);
            host.globals = lua::keep(host.main);
            ffi::lua_settop(host.main, -2);
        }
        self.run_to_end(load, 1)
    }

    fn launch_clients(&mut self, load: &mut Load) -> Result<(), Failure> {
        let pointer = self.pointer(load);
        let host = pointer.get();
        let everyone = self.parallel || host.config.command == "run";
        let own = host.config.clients_of(host.shard, host.shards);
        let own: Vec<_> = own.into_iter().filter(|(_, number)| everyone || *number == 0).collect();
        host.launched = own.len() as u32;
        load.clients = own.len() as u32;
        for (group, number) in own {
            let host = pointer.get();
            let client = host.new_client(group as u16, number);
            // SAFETY: the host is not running.
            unsafe {
                prepare_coroutine(host, client, host.prelude.client);
                let thread = host.clients[client as usize].thread;
                ffi::lua_pushinteger(thread, number as ffi::lua_Integer);
            }
            resume(pointer, client, 2)?;
        }
        Ok(())
    }
}

impl Workload for ScriptWorkload {
    fn initialise(&mut self, load: &mut Load) -> Result<(), Failure> {
        self.inspect(load)?;
        if self.host.config.command == "run" {
            self.make_globals(load)?;
        }
        self.run_hook(load, "init")
    }

    fn launch(&mut self, load: &mut Load) -> Result<(), Failure> {
        if self.host.shard > 0 {
            self.inspect(load)?;
        }
        self.launch_clients(load)
    }

    fn ready(&self) -> bool {
        self.host.ready >= self.host.launched
    }

    fn begin(&mut self, load: &mut Load) -> Result<(), Failure> {
        let pointer = self.pointer(load);
        for client in 1..pointer.get().clients.len() as u32 {
            if pointer.get().clients[client as usize].waiting == Waiting::Begin {
                resume(pointer, client, 0)?;
            }
        }
        Ok(())
    }

    fn turn(&mut self, load: &mut Load, timeout: Duration) -> Result<(), Failure> {
        let pointer = self.pointer(load);
        let timeout = if pointer.get().runnable.is_empty() { timeout } else { Duration::ZERO };
        self.wait(timeout)?;
        for _ in 0..pointer.get().runnable.len() {
            let Some(client) = pointer.get().runnable.pop_front() else { break };
            take_turn(pointer, load, client)?;
        }
        Ok(())
    }

    fn wake(&mut self, load: &mut Load, client: u32) -> Result<(), Failure> {
        let pointer = self.pointer(load);
        match pointer.get().clients[client as usize].waiting {
            Waiting::Turn => take_turn(pointer, load, client),
            Waiting::Sleep => {
                let thread = pointer.get().clients[client as usize].thread;
                // SAFETY: the client is suspended in a call that may return a value.
                unsafe { ffi::lua_pushboolean(thread, 1) };
                resume(pointer, client, 1)
            }
            Waiting::Reconnect(slot) => network::try_again(pointer, client, slot),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, load: &mut Load) -> Result<(), Failure> {
        self.run_hook(load, "done")
    }
}

/// A client that waited for its turn asks for it again.
fn take_turn(pointer: HostPointer, load: &mut Load, client: u32) -> Result<(), Failure> {
    let host = pointer.get();
    let now = load.now();
    let waiting = &mut host.clients[client as usize];
    if waiting.waiting != Waiting::Turn {
        return Ok(());
    }
    let group = usize::from(waiting.group);
    let go = match load.turn(client, group, now) {
        Turn::Wait => return Ok(()),
        Turn::Stop => 0,
        Turn::Start { intended_ns } => {
            waiting.event = Some(OpenEvent { intended_ns, start_ns: now });
            if load.is_open(group) {
                load.recorder().lag.record(now.saturating_sub(intended_ns));
            }
            1
        }
    };
    // SAFETY: the client is suspended in `next_event`, which returns one value.
    unsafe { ffi::lua_pushboolean(waiting.thread, go) };
    resume(pointer, client, 1)
}

/// Names in a table, sorted.
unsafe fn keys(state: *mut State, index: c_int) -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: the caller's; only keys that are strings are read.
    unsafe {
        if ffi::lua_type(state, index) != ffi::LUA_TTABLE {
            return names;
        }
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, index) != 0 {
            ffi::lua_settop(state, -2);
            if ffi::lua_type(state, -1) == ffi::LUA_TSTRING {
                names.extend(lua::text(state, -1));
            }
        }
    }
    names.sort();
    names
}

/// «did you mean», or all there are.
fn nearest(name: &str, known: &[String]) -> Option<String> {
    let best = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= name.len() / 2);
    match best {
        Some((_, candidate)) => Some(format!("did you mean `{candidate}`?")),
        None if known.is_empty() => Some("it has no options of its own".into()),
        None => Some(format!("it has: {}", known.join(", "))),
    }
}

/// An error in the script's body.
unsafe fn script_error(main: *mut State, thread: *mut State) -> Failure {
    // SAFETY: the caller's: the error value is on top of the stack.
    unsafe {
        let message = lua::describe(thread, -1);
        let traceback = Some(lua::traceback(main, thread).trim().to_owned());
        Failure { traceback, ..fault(FatalKind::Script, message, None) }
    }
}

/// The second argument of the prelude: what it can't find out itself.
unsafe fn push_settings(state: *mut State, host: &Host) {
    let config = &host.config;
    let first = &config.groups[0];
    // SAFETY: the caller's.
    unsafe {
        ffi::lua_createtable(state, 0, 6);
        set_text(state, "command", &config.command);
        set_text(state, "version", API_VERSION);
        set_text(state, "version_string", &format!("sysbench {API_VERSION}"));
        set_text(state, "script_path", &first.path.display().to_string());
        ffi::lua_createtable(state, 1, 0);
        lua::push_bytes(state, first.path.display().to_string().as_bytes());
        ffi::lua_rawseti_(state, -2, 0);
        ffi::lua_setfield(state, -2, c"argv".as_ptr());
        ffi::lua_createtable(state, 0, 24);
        push_general(state, config);
        ffi::lua_setfield(state, -2, c"general".as_ptr());
    }
}

/// Options that every script sees besides its own.
unsafe fn push_general(state: *mut State, config: &Config) {
    use record::{Endpoint, Target};
    let (driver, server) = match &config.target {
        Target::Null => ("null", None),
        Target::Scripted { .. } => ("scripted", None),
        Target::Sqlite(_) => ("sqlite", None),
        Target::Postgresql(server) => ("pgsql", Some(server)),
        Target::Mysql(server) => ("mysql", Some(server)),
    };
    // SAFETY: the caller's: the table is on top of the stack.
    unsafe {
        set_number(state, "threads", f64::from(config.clients()));
        set_number(state, "events", config.events as f64);
        set_number(state, "time", config.measure_s);
        set_number(state, "warmup_time", config.warm_up_s);
        set_number(state, "report_interval", 1.0);
        set_number(state, "percentile", 95.0);
        set_number(state, "rand_seed", config.seed as f64);
        set_number(state, "rate", 0.0);
        set_text(state, "db_driver", driver);
        set_text(state, "db_ps_mode", "auto");
        let Some(server) = server else { return };
        set_text(state, &format!("{driver}_user"), &server.user);
        set_text(state, &format!("{driver}_db"), &server.database);
        if let Some(Endpoint::Tcp { host, port }) = server.endpoints.first() {
            set_text(state, &format!("{driver}_host"), host);
            set_number(state, &format!("{driver}_port"), f64::from(*port));
        }
    }
}

unsafe fn set_text(state: *mut State, name: &str, value: &str) {
    // SAFETY: the caller's: a table is on top of the stack.
    unsafe {
        lua::push_bytes(state, name.as_bytes());
        lua::push_bytes(state, value.as_bytes());
        ffi::lua_rawset(state, -3);
    }
}

unsafe fn set_number(state: *mut State, name: &str, value: f64) {
    // SAFETY: the caller's: a table is on top of the stack.
    unsafe {
        lua::push_bytes(state, name.as_bytes());
        ffi::lua_pushnumber(state, value);
        ffi::lua_rawset(state, -3);
    }
}

/// Pushes a table of the user's options.
unsafe fn push_options<'a>(
    state: *mut State,
    options: impl Iterator<Item = (&'a String, &'a Value)>,
) {
    // SAFETY: the caller's.
    unsafe {
        ffi::lua_createtable(state, 0, 8);
        for (name, value) in options {
            lua::push_bytes(state, name.as_bytes());
            match value {
                Value::Bool(on) => ffi::lua_pushboolean(state, c_int::from(*on)),
                Value::Array(words) => {
                    ffi::lua_createtable(state, words.len() as c_int, 0);
                    for (index, word) in words.iter().enumerate() {
                        lua::push_bytes(state, plain(word).as_bytes());
                        ffi::lua_rawseti_(state, -2, index as c_int + 1);
                    }
                }
                other => lua::push_bytes(state, plain(other).as_bytes()),
            }
            ffi::lua_rawset(state, -3);
        }
    }
}
