//! The counters that sysbench scripts increment through FFI.

use std::ffi::c_int;

use measure::Counters;
use mlua_sys as ffi;

use crate::host::with_view;
use crate::lua::{self, State, set_function};

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"count", count);
        set_function(state, c"counted", counted);
    }
}

/// sysbench's number for the counter of events.
const EVENTS: i64 = 3;

/// The counter with sysbench's number.
fn counter(counters: &mut Counters, number: i64) -> Option<&mut u64> {
    Some(match number {
        0 => &mut counters.other,
        1 => &mut counters.reads,
        2 => &mut counters.writes,
        EVENTS => &mut counters.events,
        4 => &mut counters.errors,
        5 => &mut counters.reconnects,
        6 => &mut counters.bytes_received,
        7 => &mut counters.bytes_sent,
        _ => return None,
    })
}

/// `host.count(counter, amount)`.
unsafe extern "C-unwind" fn count(state: *mut State) -> c_int {
    // SAFETY: called by a script; the number is checked.
    unsafe {
        let (number, amount) = (ffi::lua_tonumber(state, 1), ffi::lua_tonumber(state, 2));
        let known = with_view(|host, view| {
            view.now();
            let counters = &mut host.runtime.script_recorder(view, host.current).counters;
            let amount = amount.max(0.0) as u64;
            if number as i64 == EVENTS {
                // An event counted by the script alone begins and ends at once.
                counters.begun += amount;
            }
            counter(counters, number as i64).map(|counter| *counter += amount).is_some()
        });
        if !known {
            lua::raise(state, "no counter has this number: see SB_CNT_*");
        }
    }
    0
}

/// `host.counted(counter)`: the count of this shard's clients in the current interval.
unsafe extern "C-unwind" fn counted(state: *mut State) -> c_int {
    // SAFETY: called by a script; the number is checked.
    unsafe {
        let number = ffi::lua_tonumber(state, 1) as i64;
        let value = with_view(|_, view| {
            counter(&mut view.recorder().counters, number).map_or(0, |value| *value)
        });
        ffi::lua_pushnumber(state, value as f64);
    }
    1
}
