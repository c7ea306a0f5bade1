//! One shard's host: the Lua state, what runs in it, and the connections it uses.
//!
//! Functions that Lua calls find the host of their thread with [`with`] and [`with_load`], for as
//! long as one access takes. Whatever calls Lua does so outside of them: a collection may run a
//! finaliser of the script's, which may call the host. A second access within the first panics, in
//! every build.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::Arc;

use engine::{Failure, Load};
use mlua_sys as ffi;
use record::FatalKind;
use runtime::{Runtime, fault};

use crate::arena::Lua;
use crate::config::Config;
use crate::interrupter::Interrupter;
use crate::lua::{self, State};
use crate::random::Random;
use crate::settings::NOT_TEXT;

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

/// The Lua side of a client of the runtime.
#[derive(Debug)]
pub(crate) struct Coroutine {
    /// Null before it begins and once it has ended.
    pub(crate) thread: *mut State,
    /// Keeps the coroutine alive.
    reference: c_int,
    /// The client's number within the run, from 0: what scripts call the thread's id.
    pub(crate) number: u32,
    pub(crate) random: Random,
    /// Values taken of `sysbench.rand.unique`.
    pub(crate) unique: u32,
}

/// A row of a result: its values one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) bytes: Vec<u8>,
    /// Where each value ends.
    pub(crate) ends: Vec<u32>,
}

pub(crate) struct Host {
    pub(crate) config: Arc<Config>,
    /// The first client is none of the load's: it runs what comes before and after them.
    pub(crate) runtime: Runtime,
    /// The engine's view of the load, lent for the length of each call from it.
    load: Option<NonNull<Load>>,

    pub(crate) main: *mut State,
    pub(crate) prelude: Prelude,
    pub(crate) metatables: Metatables,
    /// Compiled scripts, one a group.
    pub(crate) scripts: Vec<c_int>,
    /// Compiled modules, by path.
    pub(crate) modules: HashMap<String, c_int>,
    /// The first client's globals: `init` and `done` share them.
    pub(crate) globals: c_int,

    /// By the runtime's number of the client.
    pub(crate) coroutines: Vec<Coroutine>,
    /// The client that runs.
    pub(crate) current: u32,
    pub(crate) launched: u32,
    pub(crate) ready: u32,
    /// The object handed out for results, by connection; 0: not made yet.
    pub(crate) results: Vec<c_int>,
    /// Numbers of the labels that scripts give to events, by group and name.
    pub(crate) labels: Vec<HashMap<Box<[u8]>, usize>>,

    /// The row that was read last.
    pub(crate) row: Row,
    /// Texts that scripts draw, until the next one.
    pub(crate) scratch: Vec<u8>,
    /// What the script wrote without ending the line.
    pub(crate) line: Vec<u8>,
    /// What the script writes now is not for anyone.
    pub(crate) muted: bool,
    /// The way here for other threads.
    pub(crate) interrupter: Interrupter,
    /// What the script was interrupted in.
    pub(crate) stuck: Option<Failure>,
    /// The body runs only to see what the script defines: its connections do nothing.
    pub(crate) looking: bool,
}

/// A host as the workload owns it.
pub(crate) type Shared = Rc<RefCell<Host>>;

thread_local! {
    static CURRENT: Cell<*const RefCell<Host>> = const { Cell::new(ptr::null()) };
}

/// Gives the host of this thread to `access`, which must not call Lua.
///
/// # Panics
/// Within another access, or on a thread without a host.
#[inline]
#[track_caller]
pub(crate) fn with<R>(access: impl FnOnce(&mut Host) -> R) -> R {
    // SAFETY: whoever entered the host owns it and leaves it before it goes.
    let host = unsafe { CURRENT.get().as_ref() }.expect("a host is entered before Lua runs");
    access(&mut host.borrow_mut())
}

/// The same with the load.
///
/// # Panics
/// As [`with`], and when no call of the engine's is under way.
#[inline]
#[track_caller]
pub(crate) fn with_load<R>(access: impl FnOnce(&mut Host, &mut Load) -> R) -> R {
    with(|host| {
        // Taken for the length of the access, so that nobody reaches it a second time.
        let mut lent = host.load.take().expect("the engine lends the load to each of its calls");
        // SAFETY: `Entered` holds the engine's exclusive reference, and here is the only pointer.
        let outcome = access(host, unsafe { lent.as_mut() });
        host.load = Some(lent);
        outcome
    })
}

/// Makes a host that of this thread, and lends it the load, until it is dropped.
pub(crate) struct Entered<'a> {
    host: &'a RefCell<Host>,
    before: *const RefCell<Host>,
    _load: std::marker::PhantomData<&'a mut Load>,
}

impl<'a> Entered<'a> {
    pub(crate) fn new(host: &'a RefCell<Host>, load: &'a mut Load) -> Self {
        host.borrow_mut().load = Some(NonNull::from(load));
        let before = CURRENT.replace(host);
        Self { host, before, _load: std::marker::PhantomData }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        // While a panic unwinds through an access, the host is still borrowed: it is of no use.
        if let Ok(mut host) = self.host.try_borrow_mut() {
            host.load = None;
        }
        CURRENT.set(self.before);
    }
}

/// Makes a host that of this thread while it has no load: what the prelude calls, and what the
/// state's end calls.
pub(crate) fn enter(host: *const RefCell<Host>) {
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
    fault(FatalKind::Internal, message, None)
}

impl Host {
    pub(crate) fn new(
        config: Arc<Config>,
        runtime: Runtime,
        main: *mut State,
        interrupter: Interrupter,
    ) -> Shared {
        Rc::new(RefCell::new(Self {
            labels: vec![HashMap::new(); config.groups.len()],
            config,
            runtime,
            load: None,
            main,
            prelude: Prelude::default(),
            metatables: Metatables::default(),
            scripts: Vec::new(),
            modules: HashMap::new(),
            globals: 0,
            coroutines: Vec::new(),
            current: 0,
            launched: 0,
            ready: 0,
            results: Vec::new(),
            row: Row::default(),
            scratch: Vec::new(),
            line: Vec::new(),
            muted: false,
            interrupter,
            stuck: None,
            looking: false,
        }))
    }

    /// Makes a client; its coroutine comes with [`prepare_coroutine`].
    pub(crate) fn new_client(&mut self, group: u16, number: u32, place: u32) -> u32 {
        self.coroutines.push(Coroutine {
            thread: ptr::null_mut(),
            reference: 0,
            number,
            random: Random::new(self.config.seed, u64::from(number)),
            unique: 0,
        });
        self.runtime.add_client(group, place)
    }

    /// The client that runs.
    #[inline]
    pub(crate) fn running(&mut self) -> &mut Coroutine {
        &mut self.coroutines[self.current as usize]
    }
}

/// Makes a coroutine for a client, with globals of its own, and leaves on its stack the function
/// `entry` (a reference) and the script's instance maker. Returns the coroutine.
///
/// # Safety
/// The host's state is valid and not running.
pub(crate) unsafe fn prepare_coroutine(client: u32, entry: c_int) -> *mut State {
    let (state, config, environment, number, group, script) = with(|host| {
        let group = host.runtime.group(client);
        let number = host.coroutines[client as usize].number;
        let config = Arc::clone(&host.config);
        (host.main, config, host.prelude.environment, number, group, host.scripts[group])
    });
    // SAFETY: the caller's. Every value pushed on `state` is popped again.
    let (thread, reference) = unsafe {
        let thread = ffi::lua_newthread(state);
        lua::push_kept(state, environment);
        ffi::lua_pushinteger(state, number as ffi::lua_Integer);
        lua::push_bytes(state, config.groups[group].module_path.as_bytes());
        ffi::lua_call(state, 2, 1);
        ffi::lua_setfenv(state, -2);
        let reference = lua::keep(state);
        lua::push_kept(thread, entry);
        lua::push_kept(thread, script);
        (thread, reference)
    };
    set_coroutine(client, thread, reference);
    thread
}

/// Gives a client its coroutine, which the reference keeps alive.
pub(crate) fn set_coroutine(client: u32, thread: *mut State, reference: c_int) {
    with(|host| {
        let coroutine = &mut host.coroutines[client as usize];
        coroutine.thread = thread;
        coroutine.reference = reference;
    });
}

/// Lets go of a client's coroutine.
pub(crate) fn forget_coroutine(client: u32) {
    let (main, reference) = with(|host| {
        let coroutine = &mut host.coroutines[client as usize];
        let running = !coroutine.thread.is_null();
        coroutine.thread = ptr::null_mut();
        (host.main, running.then_some(coroutine.reference))
    });
    if let Some(reference) = reference {
        // SAFETY: the reference was made for this client, and is let go of once.
        unsafe { lua::forget(main, reference) };
    }
}

/// Resumes a client with `arguments` values already on its stack.
///
/// # Errors
/// The error the client died of.
pub(crate) fn resume(client: u32, arguments: c_int) -> Result<(), Failure> {
    let thread = with(|host| {
        host.current = client;
        host.runtime.runs(client);
        host.coroutines[client as usize].thread
    });
    // SAFETY: the coroutine is alive, suspended or fresh, with its arguments on its stack; no
    // access to the host is under way.
    let status = unsafe { ffi::lua_resume_(thread, arguments) };
    if status == ffi::LUA_YIELD {
        return Ok(());
    }
    let outcome = if status == ffi::LUA_OK {
        Ok(())
    } else {
        // SAFETY: the error value is on the dead coroutine's stack.
        Err(unsafe { death(thread) })
    };
    end_client(client);
    outcome
}

/// Lets go of a client and its connections.
pub(crate) fn end_client(client: u32) {
    with_load(|host, load| host.runtime.end_client(load, client));
    forget_coroutine(client);
}

/// Takes away the hook that has ended the script, and what it has said of it.
pub(crate) fn take_stuck() -> Option<Failure> {
    let (stuck, main) = with(|host| (host.stuck.take(), host.main));
    if stuck.is_some() {
        // SAFETY: a live state that is not running.
        unsafe { ffi::lua_sethook(main, None, 0, 0) };
    }
    stuck
}

/// What a coroutine died of, in the words of whatever caused it.
unsafe fn death(thread: *mut State) -> Failure {
    if let Some(stuck) = take_stuck() {
        return stuck;
    }
    let main = with(|host| host.main);
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
            let message = message.unwrap_or_else(|| {
                let told = with(|host| host.config.surroundings.tells_failures);
                let place = if told { String::new() } else { lua::place(thread) };
                format!("{place}{NOT_TEXT}")
            });
            (message, field(c"traceback"))
        } else {
            (lua::describe(thread, -1), None)
        }
    };
    // SAFETY: the caller's.
    let traceback = traceback.or_else(|| Some(unsafe { lua::traceback(main, thread) }));
    let traceback = traceback.map(|text| text.trim().to_owned());
    // The script may have caught that failure and died of something else.
    let of_a_statement = ["SQL error, errno = ", "connection creation failed"];
    let caught = !table && !of_a_statement.iter().any(|words| message.contains(words));
    let (cause, told) =
        with(|host| (host.runtime.take_cause(), host.config.surroundings.tells_failures));
    match cause.filter(|_| !caught) {
        // It has been told; here is where it struck.
        Some(cause) if told => Failure { message, traceback, ..cause },
        Some(cause) => {
            // The script's file and line, which Lua has put before its own words.
            let place = message.split_once("SQL error, errno = ").map_or("", |(place, _)| place);
            Failure { message: format!("{place}{}", cause.message), traceback, ..cause }
        }
        None => Failure { kind: FatalKind::Script, message, hint: None, traceback },
    }
}
