//! Interrupts a shard's Lua state from another thread, which may only set a hook.

use std::ffi::c_int;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::Interrupt;
use mlua_sys as ffi;

use crate::lua::State;

/// Instructions a script may still run after it was asked to end: one that is merely slow will have
/// returned by then.
const INSTRUCTIONS: c_int = 5_000_000;

#[derive(Debug)]
struct Reached {
    /// Null once the state is gone.
    state: *mut State,
    /// Called between two instructions.
    hook: ffi::lua_Hook,
    /// How long the engine waited for the script.
    waited: Duration,
}

// SAFETY: other threads use the pointer only to set a hook, which LuaJIT allows.
unsafe impl Send for Reached {}

/// Sets the hook of a Lua state while the state exists.
#[derive(Debug, Clone)]
pub(crate) struct Interrupter(Arc<Mutex<Reached>>);

impl Interrupter {
    pub(crate) fn new(state: *mut State, hook: ffi::lua_Hook) -> Self {
        Self(Arc::new(Mutex::new(Reached { state, hook, waited: Duration::ZERO })))
    }

    /// Called before the state closes.
    pub(crate) fn close(&self) {
        self.lock().state = ptr::null_mut();
    }

    /// How long the engine had waited when it interrupted the script.
    pub(crate) fn waited(&self) -> Duration {
        self.lock().waited
    }

    fn lock(&self) -> MutexGuard<'_, Reached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interrupt for Interrupter {
    fn interrupt(&self, waited: Duration) {
        let mut reached = self.lock();
        reached.waited = waited;
        if !reached.state.is_null() {
            let hook = Some(reached.hook);
            // SAFETY: the state is closed only after `close` has held the lock.
            unsafe { ffi::lua_sethook(reached.state, hook, ffi::LUA_MASKCOUNT, INSTRUCTIONS) };
        }
    }
}
