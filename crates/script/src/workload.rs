//! The script host as a workload of the engine.

use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, c_int};
use std::sync::Arc;
use std::time::Duration;

use engine::{Failure, Load, Turn, Workload};
use mlua_sys as ffi;
use reactor::Reactor;
use record::FatalKind;

use crate::api;
use crate::arena::Lua;
use crate::client::{OpenEvent, Waiting};
use crate::config::{Config, Figures};
use crate::connector::Connector;
use crate::fleet;
use crate::host::{
    Host, HostPointer, Metatables, Prelude, end_client, enter, fault, internal, prepare_coroutine,
    resume,
};
use crate::lua;
use crate::network;
use crate::reconnect;
use crate::settings::{push_figures, push_settings};
use crate::source;

const PRELUDE: &[u8] = include_bytes!("prelude.lua");
/// What the prelude is given besides the host's functions, in this order.
const PARTS: [(&[u8], &CStr); 11] = [
    (include_bytes!("foreign.lua"), c"=foreign"),
    (include_bytes!("report.lua"), c"=report"),
    (include_bytes!("legacy.lua"), c"=legacy"),
    (include_bytes!("options.lua"), c"=options"),
    (include_bytes!("module.lua"), c"=module"),
    (include_bytes!("own.lua"), c"=own"),
    (include_bytes!("sql.lua"), c"=sql"),
    (include_bytes!("coroutines.lua"), c"=coroutines"),
    (include_bytes!("native.lua"), c"=native"),
    (include_bytes!("names.lua"), c"=names"),
    (include_bytes!("streams.lua"), c"=streams"),
];

/// One shard's clients, running a script.
pub struct ScriptWorkload {
    lua: Option<Lua>,
    pub(crate) host: Box<Host>,
    /// The command is for all clients at once.
    pub(crate) parallel: bool,
}

impl Drop for ScriptWorkload {
    fn drop(&mut self) {
        // Closing the state runs what scripts left to its end, and that finds the host.
        self.lua = None;
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
        let Some(lua) = Lua::new() else {
            return Err(fault(FatalKind::Environment, "no memory for a Lua state".into(), None));
        };
        let mut host = Box::new(Host {
            main: lua.state,
            labels: vec![HashMap::new(); config.groups.len()],
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
            unwelcome: Vec::new(),
            load: std::ptr::null_mut(),
            current: 0,
            runnable: VecDeque::new(),
            globals: 0,
            launched: 0,
            ready: 0,
            connections: 0,
            tickets: 0,
            done: std::sync::mpsc::channel(),
            failed: None,
            cause: None,
            prelude: Prelude::default(),
            metatables: Metatables::default(),
            scripts: Vec::new(),
            modules: HashMap::new(),
            scratch: Vec::new(),
            opened: Vec::new(),
            sink: Vec::new(),
            line: Vec::new(),
            muted: false,
            looking: false,
            told: Vec::new(),
        });
        enter(&raw mut *host);
        let mut workload = Self { lua: Some(lua), host, parallel: true };
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
            for (source, name) in PARTS {
                lua::load(state, source, name).map_err(internal)?;
            }
            if ffi::lua_pcall(state, 2 + PARTS.len() as c_int, 6, 0) != ffi::LUA_OK {
                let message = lua::describe(state, -1);
                return Err(match message.starts_with("--luajit-cmd") {
                    true => fault(FatalKind::Usage, message, None),
                    false => internal(format!("prelude: {message}")),
                });
            }
            host.prelude.describe = lua::keep(state);
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

    pub(crate) fn pointer(&mut self, load: &mut Load) -> HostPointer {
        self.host.load = load;
        HostPointer(&raw mut *self.host)
    }

    /// Runs the first client (which is none) until it ends.
    fn run_to_end(&mut self, load: &mut Load, arguments: c_int) -> Result<(), Failure> {
        let pointer = self.pointer(load);
        resume(pointer, 0, arguments)?;
        while pointer.get().clients[0].waiting != Waiting::Ended {
            // What comes after the load has to run although the load has been stopped.
            let control = load.control();
            let finishing = control.stage() >= engine::Stage::Finish;
            if control.abandoned() || (control.stopping() && !finishing) {
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
                let host = pointer.get();
                let busy = !host.runnable.is_empty()
                    || !host.inline_attempts.is_empty()
                    || !host.unwelcome.is_empty();
                if !timeout.is_zero() && !busy {
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
        reconnect::attempts(pointer)?;
        fleet::arrivals(pointer)
    }

    /// Runs `init` or `done` with the globals they share, if the script defines it.
    /// A report hook gets a table of figures.
    pub(crate) fn run_hook(
        &mut self,
        load: &mut Load,
        name: &str,
        figures: Option<&Figures>,
    ) -> Result<(), Failure> {
        let pointer = self.pointer(load);
        let host = pointer.get();
        if host.globals == 0 {
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
            push_figures(thread, figures);
        }
        self.run_to_end(load, 2)
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
        for (place, (group, number)) in own.into_iter().enumerate() {
            let host = pointer.get();
            let client = host.new_client(group as u16, number);
            host.clients[client as usize].place = place as u32;
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
        self.run_hook(load, "init", None)
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
            Waiting::Planned(slot) => network::planned(pointer, slot),
            Waiting::Reconnect(slot) => reconnect::try_again(pointer, client, slot),
            _ => Ok(()),
        }
    }

    fn give_up(&mut self, load: &mut Load) {
        let pointer = self.pointer(load);
        for client in 1..pointer.get().clients.len() as u32 {
            end_client(pointer.get(), client);
        }
    }

    fn finish(&mut self, load: &mut Load) -> Result<(), Failure> {
        let report = self.host.config.surroundings.final_report.clone();
        let figures = report.and_then(|report| report.lock().ok()?.take());
        if figures.is_some() {
            self.run_hook(load, "report_cumulative", figures.as_ref())?;
        }
        let done = self.run_hook(load, "done", None);
        api::life::flush_line(&mut self.host);
        done
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
            waiting.event = Some(OpenEvent { intended_ns, start_ns: now, label: group });
            if load.is_open(group) {
                load.recorder().lag.record(now.saturating_sub(intended_ns));
            }
            1
        }
    };
    // SAFETY: the client is suspended in its turn, which returns one value.
    unsafe { ffi::lua_pushboolean(waiting.thread, go) };
    resume(pointer, client, 1)
}
