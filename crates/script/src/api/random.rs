//! `sysbench.rand`: the running client's random numbers.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::host::current;
use crate::lua::{self, State, set_function};
use crate::random::{Distributions, Random, mix, permute};

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: the caller's: the host table is on top of the stack.
    unsafe {
        ffi::lua_createtable(state, 0, 12);
        set_function(state, c"default", default);
        set_function(state, c"uniform", uniform);
        set_function(state, c"gaussian", gaussian);
        set_function(state, c"pareto", pareto);
        set_function(state, c"zipfian", zipfian);
        set_function(state, c"special", special);
        set_function(state, c"unique", unique);
        set_function(state, c"string", string);
        set_function(state, c"varstring", varstring);
        set_function(state, c"uniform_double", uniform_double);
        set_function(state, c"uniform_uint64", uniform_uint64);
        ffi::lua_setfield(state, -2, c"random".as_ptr());
    }
}

#[inline]
unsafe fn ranged(
    state: *mut State,
    draw: impl FnOnce(&mut Random, i64, i64, &Distributions) -> i64,
) -> c_int {
    let host = current();
    let client = &mut host.clients[host.current];
    let with = &host.config.groups[usize::from(client.group)].distributions;
    // SAFETY: called by the script with two numbers; others count as 0.
    unsafe {
        let (low, high) = (ffi::lua_tonumber(state, 1), ffi::lua_tonumber(state, 2));
        let value = draw(&mut client.random, low as i64, high as i64, with);
        ffi::lua_pushnumber(state, value as f64);
    }
    1
}

unsafe extern "C-unwind" fn default(state: *mut State) -> c_int {
    // SAFETY: called by the script.
    unsafe { ranged(state, |random, low, high, with| random.draw(low, high, with)) }
}

unsafe extern "C-unwind" fn uniform(state: *mut State) -> c_int {
    // SAFETY: called by the script.
    unsafe { ranged(state, |random, low, high, _| random.uniform(low, high)) }
}

unsafe extern "C-unwind" fn gaussian(state: *mut State) -> c_int {
    // SAFETY: called by the script.
    unsafe { ranged(state, |random, low, high, with| random.gaussian(low, high, with.iterations)) }
}

unsafe extern "C-unwind" fn pareto(state: *mut State) -> c_int {
    // SAFETY: called by the script.
    unsafe { ranged(state, |random, low, high, with| random.pareto(low, high, with.pareto_h)) }
}

unsafe extern "C-unwind" fn zipfian(state: *mut State) -> c_int {
    // SAFETY: called by the script.
    unsafe {
        ranged(state, |random, low, high, with| random.zipfian(low, high, with.zipfian_exponent))
    }
}

unsafe extern "C-unwind" fn special(state: *mut State) -> c_int {
    // SAFETY: called by the script.
    unsafe { ranged(state, |random, low, high, with| random.special(low, high, with)) }
}

/// A 32-bit number that no client gets twice in a run.
unsafe extern "C-unwind" fn unique(state: *mut State) -> c_int {
    let host = current();
    let clients = host.config.part.clients.max(1);
    let client = &mut host.clients[host.current];
    let start = mix(host.config.seed, 0x756e_6971) as u32;
    let counter = client.unique.wrapping_mul(clients).wrapping_add(client.number);
    client.unique += 1;
    // SAFETY: a live state.
    unsafe { ffi::lua_pushnumber(state, f64::from(permute(start.wrapping_add(counter)))) };
    1
}

/// `sysbench.rand.string(pattern)`.
unsafe extern "C-unwind" fn string(state: *mut State) -> c_int {
    // SAFETY: called by the script; the pattern is checked.
    unsafe {
        let Some(pattern) = lua::bytes(state, 1) else {
            lua::raise(state, "sysbench.rand.string() needs a pattern")
        };
        let host = current();
        let client = &mut host.clients[host.current];
        host.scratch.clear();
        client.random.pattern(pattern, &mut host.scratch);
        lua::push_bytes(state, &host.scratch);
    }
    1
}

/// `sysbench.rand.varstring(min, max)`.
unsafe extern "C-unwind" fn varstring(state: *mut State) -> c_int {
    // SAFETY: called by the script.
    unsafe {
        let len = |index| ffi::lua_tonumber(state, index).clamp(0.0, 1e9) as usize;
        let host = current();
        let client = &mut host.clients[host.current];
        host.scratch.clear();
        client.random.text(len(1), len(2), &mut host.scratch);
        lua::push_bytes(state, &host.scratch);
    }
    1
}

unsafe extern "C-unwind" fn uniform_double(state: *mut State) -> c_int {
    let host = current();
    let value = host.clients[host.current].random.unit();
    // SAFETY: a live state.
    unsafe { ffi::lua_pushnumber(state, value) };
    1
}

/// The two halves of a 64-bit number; the prelude puts them together.
unsafe extern "C-unwind" fn uniform_uint64(state: *mut State) -> c_int {
    let host = current();
    let bits = host.clients[host.current].random.bits();
    // SAFETY: a live state.
    unsafe {
        ffi::lua_pushnumber(state, (bits >> 32) as f64);
        ffi::lua_pushnumber(state, (bits & 0xffff_ffff) as f64);
    }
    2
}
