//! The script host as an engine workload.

use std::ffi::{CStr, c_int};
use std::sync::Arc;
use std::time::Duration;

use engine::{Failure, Interrupt, ShardView, Workload};
use mlua_sys as ffi;
use record::FatalKind;
use runtime::{Runtime, Waiting, Wake, Woken, fault};

use crate::ahead::{look_ahead, look_ahead_after_wait};
use crate::api;
use crate::arena::Lua;
use crate::config::{Config, Figures};
use crate::host::{
    Entered, Host, Prelude, Shared, end_client, enter, forget_coroutine, internal,
    prepare_coroutine, resume, set_coroutine, with, with_view,
};
use crate::interrupt;
use crate::interrupter::Interrupter;
use crate::lua;
use crate::settings::{push_figures, push_settings};
use crate::source;

const PRELUDE: &[u8] = include_bytes!("prelude.lua");
/// Arguments of the prelude after the host's functions, in this order.
const PARTS: [(&[u8], &CStr); 18] = [
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
    (include_bytes!("integers.lua"), c"=integers"),
    (include_bytes!("errors.lua"), c"=errors"),
    (include_bytes!("keys.lua"), c"=keys"),
    (include_bytes!("documents.lua"), c"=documents"),
    (include_bytes!("document_values.lua"), c"=document_values"),
    (include_bytes!("slots.lua"), c"=slots"),
    (include_bytes!("cluster.lua"), c"=cluster"),
];

/// One shard's clients running a script.
pub struct ScriptWorkload {
    lua: Option<Lua>,
    host: Shared,
    /// All clients run the command in parallel.
    pub(crate) parallel: bool,
}

impl Drop for ScriptWorkload {
    fn drop(&mut self) {
        self.host.borrow().interrupter.close();
        // Closing the state runs the scripts' finalisers, which need the host.
        enter(&raw const *self.host);
        self.lua = None;
        enter(std::ptr::null());
    }
}

impl ScriptWorkload {
    /// Makes a shard's Lua state, compiles the scripts and opens the event loop. Call it on the
    /// shard's own thread.
    ///
    /// # Errors
    /// A script does not compile, or the event loop can't be opened.
    pub fn new(config: Arc<Config>, shard: u32, shards: u32) -> Result<Self, Failure> {
        let own = config.clients_of(shard, shards).len() as u32;
        let runtime = Runtime::new(Arc::clone(&config.connections), shard, shards, own)?;
        let Some(lua) = Lua::new() else {
            return Err(fault(FatalKind::Environment, "no memory for a Lua state".into(), None));
        };
        let interrupter = Interrupter::new(lua.state, interrupt::end);
        let host = Host::new(config, runtime, lua.state, interrupter);
        enter(&raw const *host);
        let workload = Self { lua: Some(lua), host, parallel: true };
        open()?;
        with(|host| host.new_client(0, 0, 0));
        Ok(workload)
    }

    /// `io_uring`, `epoll` or `none`.
    pub fn reactor_name(&self) -> &'static str {
        self.host.borrow().runtime.reactor_name()
    }

    /// Lends the load to functions that Lua calls, until the result is dropped.
    pub(crate) fn enter<'a>(&'a self, view: &'a mut ShardView) -> Entered<'a> {
        Entered::new(&self.host, view)
    }

    /// Runs `init` or `done` with their shared globals, or a report hook with a table of figures,
    /// if the script defines it.
    pub(crate) fn run_hook(
        &self,
        view: &mut ShardView,
        name: &str,
        figures: Option<&Figures>,
    ) -> Result<(), Failure> {
        let _entered = self.enter(view);
        let (main, globals, hook) = with(|host| (host.main, host.globals, host.prelude.hook));
        if globals == 0 {
            return Ok(());
        }
        // SAFETY: the host is not running; the coroutine is kept by its reference until it ends.
        let (thread, reference) = unsafe {
            let thread = ffi::lua_newthread(main);
            lua::push_kept(main, globals);
            ffi::lua_setfenv(main, -2);
            lua::push_kept(thread, hook);
            lua::push_bytes(thread, name.as_bytes());
            push_figures(thread, figures);
            (thread, lua::keep(main))
        };
        set_coroutine(0, thread, reference);
        run_to_end(2)
    }

    /// Runs a hook after the load. Its failure is its own: what was measured stands.
    fn finish_by(&self, view: &mut ShardView, name: &'static str, figures: Option<&Figures>) {
        let outcome = self.run_hook(view, name, figures);
        let _entered = self.enter(view);
        api::output::flush_line();
        if let Err(failure) = outcome {
            with_view(|host, view| host.report_callback(view, name, failure));
        }
    }

    fn launch_clients(&self, view: &mut ShardView) -> Result<(), Failure> {
        let own = {
            let host = self.host.borrow();
            let everyone = self.parallel || host.config.command == "run";
            let (shard, shards) = host.runtime.shard();
            let own = host.config.clients_of(shard, shards);
            own.into_iter().filter(|(_, number)| everyone || *number == 0).collect::<Vec<_>>()
        };
        view.clients = own.len() as u32;
        let _entered = self.enter(view);
        let entry = with(|host| {
            host.launched = own.len() as u32;
            host.prelude.client
        });
        for (place, (group, number)) in own.into_iter().enumerate() {
            if with_view(|_, view| view.control().stopping()) {
                break;
            }
            let client = with(|host| host.new_client(group as u16, number, place as u32));
            // SAFETY: the host is not running.
            unsafe {
                let thread = prepare_coroutine(client, entry);
                ffi::lua_pushinteger(thread, number as ffi::lua_Integer);
            }
            resume(client, 2)?;
        }
        Ok(())
    }
}

/// Runs the prelude and compiles the scripts.
fn open() -> Result<(), Failure> {
    let (state, config) = with(|host| (host.main, Arc::clone(&host.config)));
    // SAFETY: a fresh state; the prelude and the scripts are checked before they are called.
    unsafe {
        ffi::luaL_openlibs(state);
        ffi::lua_checkstack(state, 3 + PARTS.len() as c_int);
        lua::load(state, PRELUDE, c"=prelude").map_err(internal)?;
        api::push_host_table(state);
        push_settings(state, &config);
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
        // In reverse order of the prelude's return values.
        let [describe, hook, body, inspect, client, environment] =
            std::array::from_fn(|_| lua::keep(state));
        with(|host| {
            host.prelude = Prelude { environment, client, inspect, body, hook, describe };
        });
        for group in &config.groups {
            let path = group.path.display().to_string();
            source::compile(state, &group.source, &path).map_err(|message| {
                fault(FatalKind::Script, format!("syntax error: {message}"), None)
            })?;
            let script = lua::keep(state);
            with(|host| host.scripts.push(script));
        }
    }
    Ok(())
}

/// Runs client 0 until it ends.
fn run_to_end(arguments: c_int) -> Result<(), Failure> {
    resume(0, arguments)?;
    while with(|host| host.runtime.waiting(0)) != Waiting::Ended {
        // Hooks after the load must run although the load has been stopped.
        let given_up = with_view(|_, view| {
            let control = view.control();
            let finishing = control.stage() >= engine::Stage::Finish;
            control.abandoned() || (control.stopping() && !finishing)
        });
        if given_up {
            end_client(0);
            return Ok(());
        }
        wait(Duration::from_millis(20))?;
        let now = with_view(|_, view| view.now());
        while let Some(client) = with_view(|_, view| view.due(now)) {
            wake(client)?;
        }
    }
    Ok(())
}

/// Waits for events and resumes the clients they wake.
fn wait(timeout: Duration) -> Result<(), Failure> {
    with_view(|host, view| {
        host.runtime.wait(view, timeout)?;
        look_ahead_after_wait(host);
        Ok(())
    })?;
    let next = |host: &mut Host, view: &mut ShardView| {
        look_ahead(host);
        host.runtime.next(view)
    };
    while let Some(woken) = with_view(next)? {
        go_on(woken)?;
    }
    Ok(())
}

/// Wakes a client whose pause is over.
fn wake(client: u32) -> Result<(), Failure> {
    match with_view(|host, view| host.runtime.wake(view, client))? {
        Some(woken) => go_on(woken),
        None => Ok(()),
    }
}

/// Resumes a client with what it waited for.
fn go_on(Woken { client, why }: Woken) -> Result<(), Failure> {
    let thread = with(|host| host.coroutines[client as usize].thread);
    if thread.is_null() {
        return Ok(());
    }
    // SAFETY: the client is suspended in a call that returns at most one value.
    unsafe {
        match why {
            Wake::Concluded(slot, conclusion) => api::push_conclusion(thread, slot, conclusion),
            Wake::Connected(slot) => api::push_connection(thread, slot),
            Wake::NotConnected => ffi::lua_pushboolean(thread, 0),
            Wake::Slept => ffi::lua_pushboolean(thread, 1),
            Wake::Event(begins) => ffi::lua_pushboolean(thread, c_int::from(begins)),
            Wake::Ended => {
                forget_coroutine(client);
                return Ok(());
            }
        }
    }
    resume(client, 1)
}

/// Runs the body of the first group's script, for the hooks.
fn make_globals() -> Result<(), Failure> {
    let (main, body) = with(|host| (host.main, host.prelude.body));
    // SAFETY: the host is not running.
    let globals = unsafe {
        let thread = prepare_coroutine(0, body);
        globals_of(main, thread)
    };
    with(|host| host.globals = globals);
    run_to_end(1)
}

/// Keeps a coroutine's globals; returns their reference.
///
/// # Safety
/// The state is not running.
pub(crate) unsafe fn globals_of(main: *mut lua::State, thread: *mut lua::State) -> c_int {
    // SAFETY: upheld by the caller; what is pushed is popped again.
    unsafe {
        ffi::lua_pushthread(thread);
        ffi::lua_xmove(thread, main, 1);
        ffi::lua_getfenv(main, -1);
        let globals = lua::keep(main);
        ffi::lua_settop(main, -2);
        globals
    }
}

impl Workload for ScriptWorkload {
    fn interrupter(&self) -> Option<Box<dyn Interrupt>> {
        Some(Box::new(self.host.borrow().interrupter.clone()))
    }

    fn initialise(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        self.inspect(view)?;
        if self.host.borrow().config.command == "run" {
            let _entered = self.enter(view);
            make_globals()?;
        }
        self.run_hook(view, "init", None)
    }

    fn launch(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        if view.shard() > 0 {
            self.inspect(view)?;
        }
        self.launch_clients(view)
    }

    fn ready(&self) -> bool {
        let host = self.host.borrow();
        host.ready >= host.launched
    }

    fn begin(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        let _entered = self.enter(view);
        for client in 1..with(|host| host.runtime.clients()) {
            if with(|host| host.runtime.waiting(client)) == Waiting::Begin {
                resume(client, 0)?;
            }
        }
        Ok(())
    }

    fn poll(&mut self, view: &mut ShardView, timeout: Duration) -> Result<(), Failure> {
        let _entered = self.enter(view);
        wait(timeout)?;
        for _ in 0..with(|host| host.runtime.runnable()) {
            if let Some(woken) = with_view(|host, view| host.runtime.next_runnable(view)) {
                go_on(woken)?;
            }
        }
        Ok(())
    }

    fn wake(&mut self, view: &mut ShardView, client: u32) -> Result<(), Failure> {
        let _entered = self.enter(view);
        wake(client)
    }

    fn give_up(&mut self, view: &mut ShardView) {
        let _entered = self.enter(view);
        for client in 1..with(|host| host.runtime.clients()) {
            end_client(client);
        }
    }

    fn finish(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        let report = self.host.borrow().config.context.final_report.clone();
        let figures = report.and_then(|report| report.lock().ok()?.take());
        if figures.is_some() {
            self.finish_by(view, "report_cumulative", figures.as_ref());
        }
        self.finish_by(view, "done", None);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use engine::{Control, Group, Plan, System};
    use record::RunSpec;

    use super::*;
    use crate::config::CommandContext;

    /// A host without a load, and the load.
    fn opened() -> (ScriptWorkload, ShardView) {
        let group = r#"{"name":"g","script":"-","clients":1}"#;
        let (schema, target) = (record::SCHEMA, r#"{"driver":"null"}"#);
        let text = format!(r#"{{"schema":{schema},"target":{target},"groups":[{group}]}}"#);
        let spec = RunSpec::from_json(&text).expect("it is a spec");
        let source = Some(b"function event() end".to_vec());
        let config = Config::new(&spec, CommandContext { source, ..CommandContext::default() });
        let workload = ScriptWorkload::new(Arc::new(config.expect("it is right")), 0, 1);
        let group =
            Group { name: "g".into(), clients: 1, arrivals: None, idle: false, think_ns: 0 };
        let plan = Plan {
            warm_up_ns: 0,
            measure_ns: None,
            interval_ns: u64::MAX,
            drain_ns: 0,
            patience_ns: 0,
            hurried_drain_ns: 0,
            events: None,
            seed: 0,
            groups: vec![group],
            part: (0, 1),
            wait_for_begin: false,
            turns: false,
            client_totals_at: None,
        };
        let control = Arc::new(Control::new(&plan, System::default()));
        let view = ShardView::new(&plan, control, 0, 1, channel().0, channel().1);
        (workload.expect("it opens"), view)
    }

    #[test]
    #[should_panic(expected = "already borrowed")]
    fn an_access_to_the_host_within_another_panics() {
        let (_workload, _load) = opened();

        with(|_| with(|_| ()));
    }

    #[test]
    #[should_panic(expected = "already borrowed")]
    fn an_access_to_the_load_within_another_panics() {
        let (workload, mut view) = opened();
        let _entered = workload.enter(&mut view);

        with_view(|_, _| with_view(|_, _| ()));
    }

    #[test]
    #[should_panic(expected = "lends the load")]
    fn the_load_is_there_for_the_length_of_a_call_alone() {
        let (workload, mut view) = opened();
        drop(workload.enter(&mut view));

        with_view(|_, _| ());
    }

    #[test]
    fn hosts_of_one_thread_are_apart() {
        let (first, mut view) = opened();
        let (second, mut other) = opened();
        let _entered = second.enter(&mut other);
        with(|host| host.current = 7);
        {
            let _entered = first.enter(&mut view);
            assert_eq!(with(|host| host.current), 0);
        }
        assert_eq!(with(|host| host.current), 7);
    }
}
