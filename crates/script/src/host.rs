//! One shard's host: the Lua state, the scripts in it, and their connections.
//!
//! Functions that Lua calls reach their thread's host through [`with`] and [`with_view`], for one
//! access at a time. Lua itself is called only outside of them, since garbage collection may run a
//! finaliser of the script, which may call the host. A nested access panics in every build.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::Arc;

use engine::{Failure, Message, ShardView};
use mlua_sys as ffi;
use record::FatalKind;
use runtime::{Runtime, fault};

use crate::arena::Lua;
use crate::config::Config;
use crate::documents::{Marks, Scratch};
use crate::interrupter::Interrupter;
use crate::lines::KeptLines;
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

/// References to the metatables of our object types.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Metatables {
    pub(crate) statement: c_int,
    pub(crate) result: c_int,
    pub(crate) result_methods: c_int,
    /// The function that makes a 64-bit integer from its digits.
    pub(crate) integer: c_int,
    /// What a statement without rows returns.
    pub(crate) nothing: c_int,
}

/// The Lua side of a client.
#[derive(Debug)]
pub(crate) struct Coroutine {
    /// Null before it begins and after it has ended.
    pub(crate) thread: *mut State,
    /// Its table of globals when it began.
    pub(crate) globals: *const c_void,
    /// Keeps the coroutine alive.
    reference: c_int,
    /// The client's number within the run, from 0; scripts call it the thread id.
    pub(crate) number: u32,
    pub(crate) random: Random,
    /// Values drawn from `sysbench.rand.unique`.
    pub(crate) unique: u32,
    /// The prepared statement it executed last, by address.
    pub(crate) executed: usize,
    /// What its next event reads, as far as known.
    pub(crate) reads: KeptLines,
}

/// A row of a result; its values are stored end to end.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) bytes: Vec<u8>,
    /// End offset of each value, bytes.
    pub(crate) ends: Vec<u32>,
}

pub(crate) struct Host {
    pub(crate) config: Arc<Config>,
    /// Client 0 runs no load: it runs the hooks before and after it.
    pub(crate) runtime: Runtime,
    /// The shard's view of the load, lent by the engine during each call.
    view: Option<NonNull<ShardView>>,

    pub(crate) main: *mut State,
    pub(crate) prelude: Prelude,
    pub(crate) metatables: Metatables,
    /// Compiled scripts, one per group.
    pub(crate) scripts: Vec<c_int>,
    /// Compiled modules, by path.
    pub(crate) modules: HashMap<String, c_int>,
    /// Client 0's globals: `init` and `done` share them.
    pub(crate) globals: c_int,

    /// By the runtime's client number.
    pub(crate) coroutines: Vec<Coroutine>,
    /// The running client.
    pub(crate) current: u32,
    pub(crate) launched: u32,
    pub(crate) ready: u32,
    /// The result object of each connection; 0: not made yet.
    pub(crate) results: Vec<c_int>,
    /// Label numbers, by group and name.
    pub(crate) labels: Vec<HashMap<Box<[u8]>, usize>>,

    /// The row read last.
    pub(crate) row: Row,
    /// The text a script drew last.
    pub(crate) scratch: Vec<u8>,
    /// Memory for commands of documents, and what marks their values.
    pub(crate) documents: Scratch,
    pub(crate) marks: Marks,
    /// Output not yet ended by a newline.
    pub(crate) line: Vec<u8>,
    /// The script's output is discarded for now.
    pub(crate) muted: bool,
    /// Lets other threads interrupt the script.
    pub(crate) interrupter: Interrupter,
    /// Where the script was interrupted.
    pub(crate) stuck: Option<Failure>,
    /// The body runs only to find out what the script defines: its connections do nothing.
    pub(crate) looking: bool,
    /// The running coroutine was resumed by so many that can't be suspended.
    pub(crate) held: u32,
    /// The error of a finaliser.
    pub(crate) finaliser: Option<String>,
}

/// A host as the workload owns it.
pub(crate) type Shared = Rc<RefCell<Host>>;

thread_local! {
    static CURRENT: Cell<*const RefCell<Host>> = const { Cell::new(ptr::null()) };
}

/// Calls `access` with this thread's host; it must not call Lua.
///
/// # Panics
/// Inside another access, or on a thread without a host.
#[inline]
#[track_caller]
pub(crate) fn with<R>(access: impl FnOnce(&mut Host) -> R) -> R {
    // SAFETY: whoever entered the host owns it, and leaves it before dropping it.
    let host = unsafe { CURRENT.get().as_ref() }.expect("a host is entered before Lua runs");
    access(&mut host.borrow_mut())
}

/// As [`with`], with the load.
///
/// # Panics
/// As [`with`], and outside of the engine's calls.
#[inline]
#[track_caller]
pub(crate) fn with_view<R>(access: impl FnOnce(&mut Host, &mut ShardView) -> R) -> R {
    with(|host| {
        // Taken for the duration of the access, so that nobody can reach it twice.
        let mut lent = host.view.take().expect("the engine lends the load to each of its calls");
        // SAFETY: `Entered` holds the engine's exclusive reference; this is the only pointer to it.
        let outcome = access(host, unsafe { lent.as_mut() });
        host.view = Some(lent);
        outcome
    })
}

/// Makes a host this thread's host and lends it the load, until dropped.
pub(crate) struct Entered<'a> {
    host: &'a RefCell<Host>,
    before: *const RefCell<Host>,
    _load: std::marker::PhantomData<&'a mut ShardView>,
}

impl<'a> Entered<'a> {
    pub(crate) fn new(host: &'a RefCell<Host>, view: &'a mut ShardView) -> Self {
        host.borrow_mut().view = Some(NonNull::from(view));
        let before = CURRENT.replace(host);
        Self { host, before, _load: std::marker::PhantomData }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        // While a panic unwinds through an access, the host is still borrowed; it is not used
        // again.
        if let Ok(mut host) = self.host.try_borrow_mut() {
            host.view = None;
        }
        CURRENT.set(self.before);
    }
}

/// Makes a host this thread's host without a load: while the prelude runs and the state closes.
pub(crate) fn enter(host: *const RefCell<Host>) {
    CURRENT.set(host);
}

/// LuaJIT's version.
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

/// A bug of ours: the prelude and its helpers must not fail.
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
            view: None,
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
            documents: Scratch::default(),
            marks: Marks::default(),
            line: Vec::new(),
            muted: false,
            interrupter,
            stuck: None,
            looking: false,
            held: 0,
            finaliser: None,
        }))
    }

    /// Adds a client; [`prepare_coroutine`] makes its coroutine.
    pub(crate) fn new_client(&mut self, group: u16, number: u32, place: u32) -> u32 {
        self.coroutines.push(Coroutine {
            thread: ptr::null_mut(),
            globals: ptr::null(),
            reference: 0,
            number,
            random: Random::new(self.config.seed, u64::from(number)),
            unique: 0,
            executed: 0,
            reads: KeptLines::default(),
        });
        self.runtime.add_client(group, place)
    }

    /// Whether the load can be reached: not while the state closes.
    pub(crate) fn is_lent(&self) -> bool {
        self.view.is_some()
    }

    /// Reports a function of the script's that failed after the measurement.
    pub(crate) fn report_callback(&self, view: &ShardView, name: &'static str, failure: Failure) {
        let Failure { mut message, .. } = failure;
        if self.config.context.telling.is_none() {
            message = format!("`{name}` failed: {message}");
        }
        view.send(Message::CallbackFailed(name, Failure { message, ..failure }));
    }

    /// The running client.
    #[inline]
    pub(crate) fn running(&mut self) -> &mut Coroutine {
        &mut self.coroutines[self.current as usize]
    }
}

/// Makes a coroutine for a client, with globals of its own; leaves the function `entry` (a
/// reference) and the script's instance maker on its stack. Returns the coroutine.
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
    // SAFETY: upheld by the caller. Every value pushed on `state` is popped again.
    let (thread, reference) = unsafe {
        let thread = ffi::lua_newthread(state);
        lua::push_kept(state, environment);
        ffi::lua_pushinteger(state, number as ffi::lua_Integer);
        lua::push_bytes(state, config.groups[group].module_path.as_bytes());
        ffi::lua_call(state, 2, 1);
        let globals = ffi::lua_topointer(state, -1);
        ffi::lua_setfenv(state, -2);
        let reference = lua::keep(state);
        lua::push_kept(thread, entry);
        lua::push_kept(thread, script);
        with(|host| host.coroutines[client as usize].globals = globals);
        (thread, reference)
    };
    set_coroutine(client, thread, reference);
    thread
}

/// Sets a client's coroutine; the reference keeps it alive.
pub(crate) fn set_coroutine(client: u32, thread: *mut State, reference: c_int) {
    with(|host| {
        let coroutine = &mut host.coroutines[client as usize];
        coroutine.thread = thread;
        coroutine.reference = reference;
    });
}

/// Releases a client's coroutine.
pub(crate) fn forget_coroutine(client: u32) {
    let (main, reference) = with(|host| {
        let coroutine = &mut host.coroutines[client as usize];
        let running = !coroutine.thread.is_null();
        coroutine.thread = ptr::null_mut();
        (host.main, running.then_some(coroutine.reference))
    });
    if let Some(reference) = reference {
        // SAFETY: the reference was made for this client and is released once.
        unsafe { lua::forget(main, reference) };
    }
}

/// Resumes a client with `arguments` values already on its stack.
///
/// # Errors
/// The error that ended the client.
pub(crate) fn resume(client: u32, arguments: c_int) -> Result<(), Failure> {
    let thread = with(|host| {
        host.current = client;
        host.runtime.runs(client);
        host.coroutines[client as usize].thread
    });
    // SAFETY: the coroutine is alive, suspended or fresh, with its arguments on its stack; no
    // access to the host is under way.
    let status = unsafe { ffi::lua_resume_(thread, arguments) };
    let finaliser = with(|host| host.finaliser.take());
    if status == ffi::LUA_YIELD && finaliser.is_none() {
        return Ok(());
    }
    let outcome = if let Some(message) = finaliser {
        Err(fault(FatalKind::Script, message, Some("a finaliser (`__gc`, `ffi.gc`) failed")))
    } else if status == ffi::LUA_OK {
        Ok(())
    } else {
        // SAFETY: the error value is on the dead coroutine's stack.
        Err(unsafe { death(thread) })
    };
    end_client(client);
    outcome
}

/// Ends a client and closes its connections.
pub(crate) fn end_client(client: u32) {
    with_view(|host, view| host.runtime.end_client(view, client));
    forget_coroutine(client);
}

/// Removes the hook that interrupted the script, and returns what it reported.
pub(crate) fn take_stuck() -> Option<Failure> {
    let (stuck, main) = with(|host| (host.stuck.take(), host.main));
    if stuck.is_some() {
        // SAFETY: a live state that is not running.
        unsafe { ffi::lua_sethook(main, None, 0, 0) };
    }
    stuck
}

/// The failure that ended a coroutine, or that its error value on top of the stack tells of, with
/// its cause.
pub(crate) unsafe fn death(thread: *mut State) -> Failure {
    if let Some(stuck) = take_stuck() {
        return stuck;
    }
    let main = with(|host| host.main);
    // SAFETY: upheld by the caller; fields are read from a table checked to be one.
    let table = unsafe { ffi::lua_type(thread, -1) == ffi::LUA_TTABLE };
    // SAFETY: upheld by the caller.
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
                let told = with(|host| host.config.context.telling.is_some());
                let place = if told { String::new() } else { lua::place(thread) };
                format!("{place}{NOT_TEXT}")
            });
            (message, field(c"traceback"))
        } else {
            (lua::describe(thread, -1), None)
        }
    };
    // SAFETY: upheld by the caller.
    let traceback = traceback.or_else(|| Some(unsafe { lua::traceback(main, thread) }));
    let traceback = traceback.map(|text| text.trim().to_owned());
    // The script's file and line, which Lua has put before the message of a refused request.
    let refusals = ["SQL error, errno = ", "the server refused the command"];
    let place = refusals.iter().find_map(|words| message.split_once(words)).map(|(place, _)| place);
    // The script may have caught that failure and failed for another reason.
    let caught = !table && place.is_none() && !message.contains("connection creation failed");
    let (cause, told) =
        with(|host| (host.runtime.take_cause(), host.config.context.telling.is_some()));
    match cause.filter(|_| !caught) {
        // It has been printed already; add where it happened.
        Some(cause) if told => Failure { message, traceback, ..cause },
        Some(cause) => {
            let message = format!("{}{}", place.unwrap_or_default(), cause.message);
            Failure { message, traceback, ..cause }
        }
        None => Failure { kind: FatalKind::Script, message, hint: None, traceback },
    }
}
