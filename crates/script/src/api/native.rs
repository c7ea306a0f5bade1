//! Functions that compiled scripts call directly, through LuaJIT's FFI (`native.lua`).
//!
//! They take and return plain numbers and memory. None touches the Lua state, raises an error or
//! suspends the client: compiled code could not continue after that.

use std::ffi::{c_int, c_void};
use std::slice;

use mlua_sys as ffi;

use super::bulk::append_row;
use super::keys::join_command;
use super::life::next_event;
use crate::host::with;
use crate::lua::State;
use crate::random::{Distributions, Random, mix, permute};

/// Leaves a table of the functions' addresses, by name, on the stack.
pub(crate) unsafe fn push(state: *mut State) {
    let named: [(_, *const c_void); 15] = [
        (c"default", default as *const c_void),
        (c"uniform", uniform as *const c_void),
        (c"gaussian", gaussian as *const c_void),
        (c"pareto", pareto as *const c_void),
        (c"zipfian", zipfian as *const c_void),
        (c"special", special as *const c_void),
        (c"unique", unique as *const c_void),
        (c"uniform_double", uniform_double as *const c_void),
        (c"uniform_uint64", uniform_uint64 as *const c_void),
        (c"pattern", pattern as *const c_void),
        (c"text", text as *const c_void),
        (c"fill_pattern", fill_pattern as *const c_void),
        (c"next_event", next_event as *const c_void),
        (c"append_row", append_row as *const c_void),
        (c"join_command", join_command as *const c_void),
    ];
    // SAFETY: upheld by the caller: a live state.
    unsafe {
        ffi::lua_createtable(state, 0, named.len() as c_int);
        for (name, address) in named {
            ffi::lua_pushlightuserdata(state, address.cast_mut());
            ffi::lua_setfield(state, -2, name.as_ptr());
        }
    }
}

#[inline]
fn ranged(
    low: f64,
    high: f64,
    draw: impl FnOnce(&mut Random, i64, i64, &Distributions) -> i64,
) -> f64 {
    with(|host| {
        let group = host.runtime.group(host.current);
        let distributions = &host.config.groups[group].distributions;
        let random = &mut host.coroutines[host.current as usize].random;
        draw(random, low as i64, high as i64, distributions) as f64
    })
}

extern "C" fn default(low: f64, high: f64) -> f64 {
    ranged(low, high, |random, low, high, with| random.draw(low, high, with))
}

extern "C" fn uniform(low: f64, high: f64) -> f64 {
    ranged(low, high, |random, low, high, _| random.uniform(low, high))
}

extern "C" fn gaussian(low: f64, high: f64) -> f64 {
    ranged(low, high, |random, low, high, with| random.gaussian(low, high, with.iterations))
}

extern "C" fn pareto(low: f64, high: f64) -> f64 {
    ranged(low, high, |random, low, high, with| random.pareto(low, high, with.pareto_h))
}

extern "C" fn zipfian(low: f64, high: f64) -> f64 {
    ranged(low, high, |random, low, high, with| random.zipfian(low, high, with.zipfian_exponent))
}

extern "C" fn special(low: f64, high: f64) -> f64 {
    ranged(low, high, |random, low, high, with| random.special(low, high, with))
}

/// A 32-bit number that no client draws twice in a run.
extern "C" fn unique() -> f64 {
    with(|host| {
        let clients = host.config.connections.part.clients.max(1);
        let start = mix(host.config.seed, 0x756e_6971) as u32;
        let client = host.running();
        let counter = client.unique.wrapping_mul(clients).wrapping_add(client.number);
        client.unique += 1;
        f64::from(permute(start.wrapping_add(counter)))
    })
}

extern "C" fn uniform_double() -> f64 {
    with(|host| host.running().random.unit())
}

extern "C" fn uniform_uint64() -> u64 {
    with(|host| host.running().random.bits())
}

/// `sysbench.rand.string`: as many bytes as the pattern, valid until the next call.
unsafe extern "C" fn pattern(pattern: *const u8, len: usize) -> *const u8 {
    // SAFETY: a Lua string, which lives through the call.
    let pattern = unsafe { slice::from_raw_parts(pattern, len) };
    with(|host| {
        host.scratch.clear();
        host.scratch.extend_from_slice(pattern);
        host.coroutines[host.current as usize].random.fill(&mut host.scratch);
        host.scratch.as_ptr()
    })
}

/// `sysbench.rand.varstring`: bytes valid until the next call, and their number.
unsafe extern "C" fn text(least: f64, most: f64, len: *mut usize) -> *const u8 {
    let bound = |bytes: f64| bytes.clamp(0.0, 1e9) as usize;
    with(|host| {
        host.scratch.clear();
        let random = &mut host.coroutines[host.current as usize].random;
        random.text(bound(least), bound(most), &mut host.scratch);
        // SAFETY: a cell owned by `native.lua`.
        unsafe { len.write(host.scratch.len()) };
        host.scratch.as_ptr()
    })
}

/// Draws the first bytes of a pattern into a parameter's memory.
unsafe extern "C" fn fill_pattern(pattern: *const u8, out: *mut u8, len: usize) {
    // SAFETY: the pattern has at least `len` bytes, the parameter room for them; they do not
    // overlap.
    let out = unsafe {
        std::ptr::copy_nonoverlapping(pattern, out, len);
        slice::from_raw_parts_mut(out, len)
    };
    with(|host| host.running().random.fill(out));
}
